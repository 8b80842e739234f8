/* SPDX-License-Identifier: Apache-2.0 */
/* change_jobs.h - the same change for several jobs, and what is printed of it. */
#ifndef QUEUED_CLI_CHANGE_JOBS_H
#define QUEUED_CLI_CHANGE_JOBS_H

#include <stddef.h>

#include "cli.h"
#include "queued.h"

struct job_change {
    enum queued_verb verb;
    const struct queued_update *update; /* instead of verb and reason; NULL none */
    const char *reason;                 /* NULL none */
    int64_t grace_us;                   /* of a cancel; 0: as the job says */
    enum cli_format format;
    void (*print)(const struct queued_changed *job); /* its line in a table */
};

/* A command that does one thing to jobs: named ones, or those that --all or -l select among the
 * states in which it can be done. */
struct job_command {
    const char *name;
    const char *states; /* "Binding,Running" */
    struct job_change *change;
};

/* Options, selection, question and the change; the exit code. */
int change_command(const struct job_command *x, int argc, char **argv);
/* Read -o into x->format. -1: a format that is not for this, told already. */
int change_format(struct job_change *x);
/* All of them, also after one was refused. Returns the exit code: that of the first trouble. */
int change_jobs(const struct job_change *x, struct queued_client *c, const char *const *names,
                size_t n);

#endif
