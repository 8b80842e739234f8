/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.h - which running gangs must leave so that a blocked one starts: whole, legal, minimal.
 *
 * By priority: preemptible gangs of strictly lower priority, of the same quota, or of a tenant
 * that is above its own and stays relatively further above it than the taker's (saturation).
 * By quota (reclaim): a taker inside its tenant's quota takes preemptible gangs of tenants above
 * theirs, of any priority. None is taken before preemption.minRuntime. Nothing changes here: the
 * plan is made on a fork, and names a placement for the taker.
 */
#ifndef QUEUED_CORE_PREEMPT_H
#define QUEUED_CORE_PREEMPT_H

#include "core/state.h"

/* May the gang take from others at all? */
bool preempt_may(const struct state *s, const struct job *j);
/* Victims and the placement that they make possible, as EV_GANG_CLAIMED; false: no legal set does,
 * or what ends anyway is enough. */
bool preempt_plan(struct state *s, struct job *j, usec_t now, struct event *ev);
/* A gang has begun to run: a victim after minRuntime. */
void preempt_matures(struct state *s, const struct job *j);
/* Wake those who may take from gangs that have become old enough. */
void preempt_tick(struct state *s, usec_t now);

#endif
