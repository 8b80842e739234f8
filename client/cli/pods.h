/* SPDX-License-Identifier: Apache-2.0 */
/* pods.h - the pods of a job for commands that reach into them, which kubectl does underneath. */
#ifndef QUEUED_CLI_PODS_H
#define QUEUED_CLI_PODS_H

#include "cli.h"
#include "queued.h"

struct pod_choice {
    const char *job;   /* "job/NAME" or NAME */
    const char *role;  /* NULL: any */
    const char *ranks; /* "0-3,7"; NULL: any */
};

struct pod_list {
    struct queued_jobs *jobs; /* the one job */
    const char *ns;
    VEC(const struct queued_pod *) pods; /* by rank; of the present or last attempt */
};

/* The program that reaches pods: $QUEUED_KUBECTL, else kubectl. */
const char *pods_program(void);
/* Ask the daemon. 0, or the exit code after a message; no pod matches: NOT_FOUND. */
int pods_find(const char *command, const struct pod_choice *choice, struct pod_list *ret);
void pods_fini(struct pod_list *l);

#endif
