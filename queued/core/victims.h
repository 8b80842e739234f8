/* SPDX-License-Identifier: Apache-2.0 */
/* victims.h - what a plan of preemption chooses from: gangs, and steps of what elastic gangs have
 * beyond their need, as parts of the domains that they are in; and a fork that they leave.
 */
#ifndef QUEUED_CORE_VICTIMS_H
#define QUEUED_CORE_VICTIMS_H

#include "core/surplus.h"

struct cost {
    int32_t priority, pods_priority; /* INT32_MIN: of none */
    uint64_t gangs, lost;
};

/* What a gang gives in one domain. */
struct part {
    struct job *job;
    uint32_t domain;
    uint32_t from, n_pods; /* of plan->surplus; 0: the whole gang */
    uint64_t parts;        /* of GPUs, that it is charged for */
    uint64_t gain;         /* GPUs that the taker may use, at most what it needs */
    uint64_t lost;         /* GPU-microseconds since its checkpoint or start */
};

/* Why a member is out of the fork. */
enum { IN, AS_POD, AS_GANG };

/* The parts of one domain. */
struct choice {
    struct cost bound;
    size_t n_bound; /* parts in it */
    size_t from, to;
};

struct plan {
    struct state *s;
    struct state shadow; /* s, but for what the tenants use once the victims are gone */
    struct tenant *base; /* the tenants before any victim */
    size_t base_size;
    struct cluster *fork;
    uint64_t *closed; /* nodes that are reserved for others */
    struct job *taker;
    usec_t now;
    uint64_t gpus[MODELS_MAX]; /* that the taker would be charged */
    bool is_limited;           /* it may not be charged for them as the tenants are */
    bool is_parted;            /* some victims are where it would not run */
    bool is_wide;              /* all are looked at as if they were in one domain */
    VEC(struct part) parts;
    struct surplus surplus; /* of those that are steps */
    VEC(struct choice) choices;
    VEC(struct part *) out; /* victims in order; the first n_out are gone from the fork */
    size_t n_out;
    struct event found, best; /* the last placement that fitted; the plan */
    struct cost best_cost;
};

static const struct cost cost_none = {.priority = INT32_MIN, .pods_priority = INT32_MIN};
void cost_add(struct cost *c, const struct part *v);
int cost_compare(const struct cost *x, const struct cost *y);

/* Its members, one by one. */
uint32_t part_size(const struct part *v);
struct member *part_member(const struct plan *p, const struct part *v, uint32_t i);
/* May the taker have it, as the tenants are now? */
bool part_is_legal(const struct plan *p, const struct part *part);
/* Its members leave the fork, or are there again; what it is charged is counted; both. */
void part_move(struct plan *p, const struct part *v, bool is_out);
void part_count(struct plan *p, const struct part *v, bool is_out);
void part_take(struct plan *p, const struct part *v);
void part_give(struct plan *p, const struct part *v);

/* The taker's user, if it is his, no longer holds so much of it, or does again. */
void plan_spare_user(struct plan *p, const struct job *v, const uint64_t *gpus, bool is_spared);
/* All that a running gang could give, where the taker could use it. */
void plan_add_victim(struct plan *p, struct job *v);
/* The domains that have enough GPUs, free or from victims, the cheapest bound first. */
void plan_list_choices(struct plan *p);

#endif
