/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - the plain policies of simulators: one list in one order, with a queue rule.
 *
 * In force when settings->order is not ORDER_TENANTS. They exist to compare the core with others
 * on the same jobs, and know nothing of quotas. A pass goes through the list once, from the first
 * decision of an instant to the one that is not taken; run time is maxRuntime, taken as exact.
 */
#ifndef QUEUED_CORE_PLAIN_H
#define QUEUED_CORE_PLAIN_H

#include "core/state.h"

struct plain;

struct plain *plain_create(void);
void plain_destroy(struct plain *p); /* NULL allowed */
/* A job became pending, or is no longer. */
void plain_add(struct state *s, struct job *j);
void plain_remove(struct state *s, struct job *j);
/* The first of the list; NULL: it is empty. */
struct job *plain_first(const struct state *s);
/* The next decision, as cycle_next(). */
bool plain_next(struct state *s, usec_t now, struct event *ev);

#endif
