/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.h - which running gangs must leave so that a blocked one starts: whole, legal, minimal.
 *
 * By priority: preemptible gangs of strictly lower priority and of the same quota.
 * By quota (reclaim): preemptible gangs, of any priority, of tenants above their quota. A taker
 * that stays inside its own needs no more; one that goes beyond must afterwards use less of its
 * quota, as a ratio, than the loser still does of its own (saturation), so that no gang
 * swings. None is taken before preemption.minRuntime. Nothing changes here: the plan is made on a
 * fork, and names a placement for the taker.
 */
#ifndef QUEUED_CORE_PREEMPT_H
#define QUEUED_CORE_PREEMPT_H

#include "core/state.h"

/* Victims and the placement that they make possible, as EV_GANG_CLAIMED; false: no legal set does,
 * or what ends anyway is enough. */
bool preempt_plan(struct state *s, struct job *j, usec_t now, struct event *ev);
/* GPU-microseconds that a running gang would lose: since its last checkpoint or its start. */
static inline uint64_t preempt_loss_of(const struct job *v, usec_t now, uint64_t parts)
{
    usec_t since = v->checkpointed_at > v->running_at ? v->checkpointed_at : v->running_at;

    uint64_t us = now > since ? (uint64_t)(now - since) : 0;

    return us * (parts / GPU_PARTS) + us * (parts % GPU_PARTS) / GPU_PARTS;
}
static inline uint64_t preempt_loss(const struct job *v, usec_t now)
{
    return preempt_loss_of(v, now, v->charged_parts);
}
/* GPU-microseconds that the victims of a taker may lose together; UINT64_MAX: no bound. */
static inline uint64_t preempt_bound(const struct state *s, const struct demand *d)
{
    return d->max_lost != UINT64_MAX || !s->settings->max_lost_gpu_us
               ? d->max_lost
               : s->settings->max_lost_gpu_us;
}
/* There may be victims that were none: those who may take from others are woken. */
static inline void preempt_may_change(struct state *s)
{
    s->mature_gen++;
    s->is_quiet = false;
}
/* A gang has begun to run: a victim after minRuntime. */
void preempt_matures(struct state *s, const struct job *j);
/* Wake those who may take from gangs that have become old enough. */
void preempt_tick(struct state *s, usec_t now);

#endif
