/* SPDX-License-Identifier: Apache-2.0 */
/* estimate.h - when a pending gang will start: the cycle itself, played forward on a copy.
 *
 * Basis: a gang that runs ends at its maxRuntime, one that starts runs that long, one that is
 * preempted takes its grace, nothing new arrives and nothing fails. Where it is known what part of
 * maxRuntime the runs of a tenant usually take (tenant_usual()), a second plan has them end there;
 * a run that has lasted longer ends at its maxRuntime in it, too. The plan is bounded in gangs,
 * steps and looks, and says when that cut it short. It is made when somebody asks, never in a
 * decision, and changes nothing it reads.
 */
#ifndef QUEUED_VIEW_ESTIMATE_H
#define QUEUED_VIEW_ESTIMATE_H

#include "core/state.h"
#include "view/estimate_grow.h"
#include "view/explain.h"

enum {
    ESTIMATE_GANGS_MAX = 1000,
    ESTIMATE_STEPS_MAX = 1000,
    ESTIMATE_LOOKS_MAX = 2000, /* up to 1,000 nodes; fewer on more */
    ESTIMATE_TEXT_MAX = 200,
};

enum estimate_kind {
    ESTIMATE_NONE,      /* it does not wait for nodes, or nothing can be decided now */
    ESTIMATE_START,     /* at `at` */
    ESTIMATE_TIMES_OUT, /* its maxQueueTime is over before, at `at` */
    ESTIMATE_NEVER,     /* all known ends do not suffice */
    ESTIMATE_CUT,       /* the plan was cut at `at`, before it started */
    ESTIMATE_LEFT_OUT,  /* not in the plan: too many wait before it in its tenant */
};

struct estimate {
    enum estimate_kind kind;
    usec_t at;
    usec_t last_at, end_at; /* of an array: its last index starts, and ends; 0 unknown */
    usec_t made_at;         /* state of the plan */
    usec_t usual_at;     /* it starts, if runs last as long as usual in their tenants; 0 unknown */
    uint32_t usual_part; /* of maxRuntime in its own tenant, 1/1000; 0: not known, all of it */
};

/* The last plan. */
struct estimates *estimates_create(void);
void estimates_destroy(struct estimates *e);
/* Of a pending gang, or of an array of which indices wait (`at` is then when the next one starts),
 * from a plan of this turn or, up to 1,000 nodes, of the last second. */
void estimate_of(struct estimates *e, const struct state *s, const struct job *j, usec_t now,
                 struct estimate *ret);

/* A job that is not submitted, or nodes that are away: told of as if it were so. */
struct estimate_wish {
    struct spec *spec; /* checked by spec_check(); taken, unless it fails */
    struct caller caller;
    uint32_t n_without;
    const char *const *without;  /* names of nodes that take nothing new; unknown ones are none */
    struct estimate_growth more; /* nodes that are not there */
};
struct estimate_try {
    struct job job;
    struct explain why;
    struct estimate eta;
    struct plan *plan; /* what the above point to */
    uint64_t work;     /* nodes and jobs that were looked at, roughly */
};
/* Fails when it depends on a job that is not there, or that has ended otherwise, or names a node or
 * level that there is none of. */
int estimate_try(const struct state *s, const struct estimate_wish *wish, usec_t now,
                 struct estimate_try *ret, struct err *err);
void estimate_try_fini(struct estimate_try *t);
/* In words: the assumption it rests on, or why there is none. */
const char *estimate_text(char buf[ESTIMATE_TEXT_MAX], const struct estimate *e);
/* The assumption that usual_at rests on. */
const char *estimate_usual_text(char buf[ESTIMATE_TEXT_MAX], const struct estimate *e);

#endif
