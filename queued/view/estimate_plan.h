/* SPDX-License-Identifier: Apache-2.0 */
/* estimate_plan.h - the copy that an estimate is played on. Private to estimate.
 *
 * Shared with the original, and only read: texts of jobs, keys and constraints of demands, facts of
 * nodes.
 */
#ifndef QUEUED_VIEW_ESTIMATE_PLAN_H
#define QUEUED_VIEW_ESTIMATE_PLAN_H

#include "view/estimate.h"

struct planned {
    struct job_id job;
    enum estimate_kind kind;
    usec_t at;
    /* of an array: when the first and the last index start, and the last ends; 0 unknown */
    usec_t first_at, last_at, end_at;
};

struct estimates {
    uint64_t turn;
    usec_t made_at;
    VEC(struct planned) of;  /* ascending id */
    struct estimates *usual; /* the same where runs take their usual part; NULL: none is known */
};

struct plan {
    struct state *s;      /* the copy */
    struct cluster *fork; /* NULL: the copy has a cluster of its own */
    VEC(struct job *) waiting;
    VEC(struct job *) arrays; /* of which indices will begin */
    VEC(struct job *) begun;  /* indices that are no copies */
    struct estimates *to;
    struct effects fx; /* nobody runs them */
    struct job *tried; /* not a copy; NULL none */
    struct job wish;   /* what it waits for, while it is none yet */
    uint32_t looks;    /* left */
    uint16_t *usual;   /* of each tenant (tenant_usual()); NULL: runs end at their maxRuntime */
    usec_t made_at;
    usec_t until; /* by then the windows of tenants have all been tried on what is left */
};

/* When its nodes are free again in the plan: at the latest; or at the usual part of its run, unless
 * it has lasted longer already. */
usec_t plan_expected_end(const struct plan *p, const struct job *j);
/* NULL: it is not in the plan. */
struct planned *plan_entry(const struct estimates *e, struct job_id id);
/* An array whose indices go on to begin. */
bool plan_plays_on(const struct job *j);
void plan_ends_by(struct planned *to, usec_t end);
/* Nodes make a look dear: fewer of them on a big cluster. */
uint32_t plan_looks(const struct state *s);
/* Is it known of some tenant how long its runs usually are? */
bool plan_has_usual(const struct state *s);
enum plan_kind { PLAN_FORK, PLAN_CLONE };
/* with_usual: runs take the usual part of their maxRuntime, where that is known. */
void plan_init(struct plan *p, const struct state *s, usec_t now, enum plan_kind kind,
               bool with_usual);
void plan_fini(struct plan *p);

#endif
