/* SPDX-License-Identifier: Apache-2.0 */
/* client_job.h - what others need of results with jobs. */
#ifndef QUEUED_CLIENT_JOB_H
#define QUEUED_CLIENT_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "queued.h"

/* One result of n results of one job each. Takes the parts, not the array. */
struct queued_jobs *jobs_join(struct queued_jobs *const *parts, size_t n);
/* Is what is waited for there, or can it not come any more? */
bool job_has_reached(const struct queued_job *job, enum queued_wait_for what);

#endif
