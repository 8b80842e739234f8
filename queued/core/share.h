/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - fair share: what tenants used in the past, decayed, and the load they compete with.
 *
 * Usage is in GPUs with SHARE_BITS bits behind the point, in integers: a pure function of what was
 * written back at the last charge or release, when, and of what is charged since. Each tenant keeps
 * that of its own jobs; a subtree's is the exact sum.
 */
#ifndef QUEUED_CORE_SHARE_H
#define QUEUED_CORE_SHARE_H

#include "core/state.h"

enum { SHARE_BITS = 32 };

/* Usage of one who always held so many parts of GPUs. */
static inline uint64_t share_held(uint64_t parts)
{
    return (parts / GPU_PARTS << SHARE_BITS) + (parts % GPU_PARTS << SHARE_BITS) / GPU_PARTS;
}

/* Usage now of one who holds parts since p was written; 0 when half_life is (past does not count).
 */
uint64_t share_usage(const struct share_past *p, uint64_t parts, usec_t half_life, usec_t now);
/* Write back the past of a tenant's own jobs: before its charge of the model changes. */
void share_settle(struct tenants *t, uint32_t ix, uint32_t model, usec_t now);
/* The same of a user. */
void share_settle_user(struct user_share *u, uint32_t model, usec_t half_life, usec_t now);
/* The same of a job's user, whom it is charged so many more from then on. Only where users share.
 */
void share_charge_user(struct state *s, const struct job *j, uint32_t model, int64_t parts,
                       usec_t at);
/* The share of the submitter in the tenant of a job that waits or holds GPUs, as last refreshed;
 * NULL where users do not share. */
struct user_share *share_user(const struct tenants *t, const struct job *j);
/* Bring the usage that orders up to now; it moves in steps of half_life / 2^16. */
void share_refresh(struct tenants *t, usec_t now);
/* Allocated and used, as last refreshed: of a tenant with all below it, or of its own jobs. */
uint64_t share_load(const struct tenants *t, uint32_t ix, bool is_own, uint32_t model);

/* One that competes: a tenant with all below it, the jobs of an inner tenant itself, or one user of
 * a tenant. */
struct contender {
    struct job *job; /* NULL: nobody competes */
    uint32_t tenant;
    bool is_own; /* the inner tenant's own jobs: one more child of it, with weight 1 */
    struct user_share
        *user; /* NULL: not users of one tenant. Each weighs 1, quota is the tenant's */
    struct standing {
        bool is_over;         /* above its quota with the candidate */
        uint64_t load, total; /* dominant share with the candidate, as an exact fraction */
        uint32_t weight;      /* 0: idle capacity only */
    } standing;               /* of share_weigh() */
};
/* Where it stands with its job; before it is compared. */
void share_weigh(const struct state *s, struct contender *c);
/* Of two children of one tenant: the one inside its quota with its job, then the smaller dominant
 * share including it, divided by weight, then age. With priorityScope cluster, and between users,
 * priority is first. */
bool share_goes_first(const struct state *s, const struct contender *a, const struct contender *b);
/* A total order of pending jobs of known tenants, by what is now: priority, where users share the
 * share that each has in his tenant, then age. */
bool share_is_before(const struct state *s, const struct job *a, const struct job *b);
/* Of two pending jobs of known tenants, wherever in the tree. */
bool share_precedes(const struct state *s, const struct job *a, const struct job *b);
/* Of all that wait, by priority and age: the share that the user of each would have in his tenant,
 * had all of his before it started. They will go by that. Nothing where users do not share. */
void share_line_up(const struct state *s, struct job *const *v, size_t n);

#endif
