/* SPDX-License-Identifier: Apache-2.0 */
/* order_sleep.h - what the two files of order.h have of each other. Nobody else includes it.
 *
 * An entry of a queue is alike when it sleeps while its demand has no room, and for no other
 * reason: then the verdicts of the demands, looked at once, tell of all that are.
 */
#ifndef QUEUED_CORE_ORDER_SLEEP_H
#define QUEUED_CORE_ORDER_SLEEP_H

#include "core/order.h"

/* That of a bucket with a head. */
struct order_entry *order_entry_of(struct order_queue *q, const struct bucket *b);
/* The verdicts of all demands at a glance. */
void order_glance(struct state *s);
/* A tenant may be owed more, or a victim be old enough, or the cluster be another, or a reservation
 * is no longer ahead: who has that to wake for is not alike. */
void order_tell_apart(const struct state *s, uint32_t tenant_ix, struct order_queue *q);
/* Does the entry sleep, or does it now? *ret: else its first whose back-off is over. */
bool order_is_asleep(struct state *s, struct order_entry *e, usec_t now, struct job **ret);

#endif
