/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - which pending gang is next: buckets, tenants, age.
 *
 * Between tenants, at every level of the tree: first those inside their quota with the
 * candidate, then by the smallest dominant share including it, divided by weight. Inside a
 * tenant: priority, submission time, id.
 */
#ifndef QUEUED_CORE_ORDER_H
#define QUEUED_CORE_ORDER_H

#include "core/state.h"

/* Put a pending job into its bucket (made where missing), at the place of its age. */
void order_add(struct state *s, struct job *j);
/* Take it out; an empty bucket is dropped. */
void order_remove(struct state *s, struct job *j);
/* First job of the next bucket that is awake and whose back-off is over; NULL: none. */
struct job *order_next(const struct state *s, usec_t now);
/* Put the bucket to sleep with a verdict, until something it was judged from moves. */
void order_block(struct state *s, struct bucket *b, const char *code);
bool order_is_awake(const struct state *s, const struct bucket *b);
/* Is a before b, both of one tenant? */
bool order_is_before(const struct job *a, const struct job *b);

#endif
