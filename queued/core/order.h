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
 * waits for other jobs, or whose array is held; never an array. */
void order_add(struct state *s, struct job *j);
/* Take it out, if it is in one; an empty bucket is dropped. */
void order_remove(struct state *s, struct job *j);
/* One look at all who wait: again and again the next in order, of the buckets that are awake and
 * have one whose back-off is over; NULL: none. It is to be blocked before the pass goes on, and
 * nothing else may happen in between: what was found out of the other tenants holds. */
struct order_pass *order_begin(struct state *s, usec_t now);
struct job *order_go_on(struct order_pass *p);
void order_end(struct order_pass *p);
/* Put the bucket to sleep, judged by reservations of seen_backfill_gen, until something that
 * stopped it moves: what is_limited, is_short and is_held_back say. What is short on every model is
 * the demand's verdict, for all its buckets. */
void order_block(struct state *s, struct bucket *b);
/* Something of its jobs has changed: look again. */
void order_wake(struct state *s, struct bucket *b);
/* Sleep as a bucket of another state sleeps, all of whose counts were copied. */
void order_copy_verdict(struct bucket *b, const struct bucket *from);
bool order_is_awake(const struct state *s, const struct bucket *b);
/* Is it known that no gang of this demand has room, whatever its tenant may? On the cluster as it
 * is; or on what these reservations leave (backfill_ahead_of()). */
bool order_has_no_room(const struct state *s, struct demand *d);
bool order_is_behind(const struct state *s, struct demand *d, uint64_t reserved);
/* Is one of these the verdict of j's bucket? Then it is written there. */
bool order_is_known(struct state *s, struct job *j);
/* It has none there: what was learned when the reservations were of this generation. */
void order_learn_behind(struct state *s, const struct bucket *b, uint64_t backfill);
/* Is a before b, both of one tenant? */
bool order_is_before(const struct job *a, const struct job *b);

/* Number all pending jobs, in their tenant and over all, once a turn; how many. */
uint32_t order_number(const struct state *s);

#endif
