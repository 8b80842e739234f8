/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - which pending gang is next: buckets, tenants, age.
 *
 * Between tenants, at every level of the tree: first those inside their quota with the
 * candidate, then by the smallest dominant share including it, divided by weight. Inside a
 * tenant: priority, submission time, id.
 */
#ifndef QUEUED_CORE_ORDER_H
#define QUEUED_CORE_ORDER_H

#include "core/share.h"
#include "core/state.h"

/* Put a pending job into its bucket (made where missing), at the place of its age; not yet one that
 * waits for other jobs. */
void order_add(struct state *s, struct job *j);
/* Take it out, if it is in one; an empty bucket is dropped. */
void order_remove(struct state *s, struct job *j);
/* The first job of every bucket that is awake and has one whose back-off is over, best first in
 * its tenant: what one cycle chooses from. Valid while nothing changes but by order_block(). */
struct order_scan {
    const struct state *state;
    VEC(struct job *) jobs;
    struct order_run *runs; /* by tenant: its part of jobs */
    struct contender *best; /* scratch */
};
void order_scan_init(struct order_scan *o, const struct state *s, usec_t now);
void order_scan_fini(struct order_scan *o);
/* The next in order, and not again; NULL: none is left. */
struct job *order_scan_next(struct order_scan *o);
/* The first of a new scan. */
struct job *order_next(const struct state *s, usec_t now);
/* Put the bucket to sleep, until something it was judged from moves. */
void order_block(struct state *s, struct bucket *b);
bool order_is_awake(const struct state *s, const struct bucket *b);
/* Is a before b, both of one tenant? */
bool order_is_before(const struct job *a, const struct job *b);

/* The orders of plain policies, with which simulators compare (client/sim/plain.h). */
enum order_rule {
    ORDER_FIFO, /* by submission */
    ORDER_SJF,  /* by maxRuntime, then submission */
    ORDER_PRIO, /* by priority, then submission */
    ORDER_FAIR, /* by tenant, then submission */
};
/* The same in one of them. */
bool order_is_plainly_before(enum order_rule rule, const struct job *a, const struct job *b);

#endif
