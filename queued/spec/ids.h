/* SPDX-License-Identifier: Apache-2.0 */
/* ids.h - identifiers as types of their own, so that they cannot be mixed.
 *
 * Indices (node_ix, tenant_ix ...) are plain uint32_t positions in the tables of the core;
 * they mean nothing outside one process.
 */
#ifndef QUEUED_CORE_IDS_H
#define QUEUED_CORE_IDS_H

#include <stdbool.h>
#include <stdint.h>

/* A job: max(last + 1, unix_ms << 12), so ids sort by time and are never used twice.
 * 0 is no job. Shown as 13 characters of 0-9a-v whose order is the order of time. */
struct job_id {
    uint64_t v;
};

enum { JOB_ID_TEXT = 13 };

#define IX_NONE UINT32_MAX

/* Writes 13 characters and a NUL. Returns buf. */
const char *job_id_format(char buf[JOB_ID_TEXT + 1], struct job_id id);
/* -1 when text is not exactly the 13 characters of an id. */
int job_id_parse(const char *text, struct job_id *ret);

#endif
