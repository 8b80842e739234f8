/* SPDX-License-Identifier: Apache-2.0 */
/* print_job.h - jobs as documents (JSON, YAML) and as rows of the table of `queuectl list`. */
#ifndef QUEUED_CLI_PRINT_JOB_H
#define QUEUED_CLI_PRINT_JOB_H

#include "document.h"
#include "print_table.h"
#include "queued.h"

/* {apiVersion, kind: GangJob, metadata, spec, status}; what is unknown is absent. */
struct document *job_document(struct arena *a, const struct queued_job *job);
/* {apiVersion, kind, items} with an empty list of items, which is handed out. */
struct document *list_document(struct arena *a, const char *kind, struct document **ret_items);

/* {apiVersion, kind: GangJobEvent, ...} */
struct document *event_document(struct arena *a, const struct queued_event *e);
/* One line of `queuectl watch` (cmd_watch.c). */
void event_print(const struct queued_event *e);

struct table *job_table(bool is_wide);
void job_table_add(struct table *t, const struct queued_job *job, bool is_wide, int64_t now_us);
/* "~20m", "now"; NULL: unknown, or it does not wait. */
enum { JOB_ETA_MAX = 48 };
const char *job_eta(char buf[JOB_ETA_MAX], int64_t start_us, int64_t now_us);
/* "Code: text", the exit code of a finished job, or "". */
const char *job_reason(struct arena *a, const struct queued_job *job);

/* cmd_show.c: the answer of why and estimate, for people and for programs. */
void why_print(const struct queued_why *w);
struct document *why_document(struct arena *a, const struct queued_why *w);

#endif
