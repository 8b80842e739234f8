/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_port.h - what is asked of the cluster: start a gang, stop it, delete a stray pod.
 *
 * Each call may be repeated; answers come back as events (EV_POD_BOUND, EV_POD_REFUSED,
 * EV_POD_GONE, EV_SERVICE_GONE, EV_BUDGET). Calls copy what they keep and return at once. A later
 * call for the same job replaces an earlier one: stop cancels what start has not sent yet, waits
 * for the answers of what it has, and then deletes. A start of what is started says which hosts
 * have changed, which pods no longer wait, and whether those that run are asked to save.
 */
#ifndef QUEUED_PORT_CLUSTER_PORT_H
#define QUEUED_PORT_CLUSTER_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/ids.h"
#include "spec/limits.h"
#include "spec/spec.h"

struct gang_pod {
    uint32_t member; /* position in the job, for the answers */
    uint32_t role, index, rank;
    uint32_t run; /* how often it was made again in this attempt: part of its name */
    char node[NODE_NAME_MAX + 1];
    char uid[UID_MAX + 1]; /* "" unknown */
    bool has_ended;        /* start: there for its name only; it is not made again */
    bool is_bound;         /* start: seen on its node; there is nothing to do */
    bool waits;            /* start: there for its name only; a later start asks for it */
};

enum { GANG_SCORE_TEXT_MAX = 511 };

struct gang {
    struct job_id job;
    char job_name[JOB_NAME_MAX + 1]; /* of an index: its array's */
    char ns[LABEL_MAX + 1];
    char tenant[TENANT_PATH_MAX + 1];
    struct job_id array;  /* of an index of a job array: whose service and names it has; 0 none */
    uint32_t array_index; /* and which one it is */
    uint32_t first_index[JOB_ROLES_MAX]; /* of the pods of each role, in names */
    uint32_t attempt;
    const struct spec *spec; /* for a start; NULL for a stop unless role names are needed */
    int64_t cpu_milli[JOB_ROLES_MAX]; /* of one pod, resolved */
    int64_t memory_bytes[JOB_ROLES_MAX];
    char role_names[JOB_ROLES_MAX][ROLE_NAME_MAX + 1];
    const char *kubernetes_class;             /* priorityClassName; "" none */
    usec_t grace_us;                          /* terminationGracePeriodSeconds, rounded up */
    usec_t latest_end_us;                     /* of this attempt, since 1970: QUEUED_END_TIME */
    usec_t cut_us;                            /* stop: grace_us is less than the pods have; or 0 */
    usec_t asked_us;                          /* when pods are asked to save; 0: they are not */
    bool has_service;                         /* start: make it. stop: remove it, too */
    bool has_budget;                          /* the same of the PodDisruptionBudget */
    uint32_t min_available;                   /* of that */
    uint32_t n_pods;                          /* start: all; stop: those that may still exist */
    uint32_t size;                            /* members that it may have: ranks are below */
    uint32_t score;                           /* start: of the placement, 0..1000 (score.h) */
    char score_text[GANG_SCORE_TEXT_MAX + 1]; /* start: its terms in one sentence */
    struct gang_pod *pods;
};

struct cluster_port {
    void *ctx;
    void (*gang_start)(void *ctx, const struct gang *gang);
    void (*gang_stop)(void *ctx, const struct gang *gang);
    /* Delete one pod by name with its uid as precondition. */
    void (*pod_delete)(void *ctx, const char *ns, const char *name, const char *uid);
};

#endif
