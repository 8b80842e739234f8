/* SPDX-License-Identifier: Apache-2.0 */
/* claim.h - nodes held for a gang that waits until its victims have left them.
 *
 * Decided and stored with its placement and its victims before any of them is told. From then on
 * the taker's members hold their nodes (of which less than nothing may be free meanwhile), and the
 * tenants count what is coming. Victims of defragmentation have their own new places held as well,
 * and once they have left claim those. It ends in the placement, or comes to nothing: a node that
 * was lost, a taker that left the queue, or no room long after the grace. Victims not yet told are
 * spared then.
 */
#ifndef QUEUED_CORE_CLAIM_H
#define QUEUED_CORE_CLAIM_H

#include "core/state.h"

/* The next step of some claim: a victim to tell, a claim that is ready or over. false: none. */
bool claim_next(struct state *s, usec_t now, struct event *ev);
/* EV_GANG_CLAIMED, EV_GANG_PREEMPTED, EV_CLAIM_OVER. */
void claim_apply(struct state *s, struct event *ev, struct effects *fx);
/* Give back what is held for a pending job; it waits in its bucket again. */
void claim_drop(struct state *s, struct job *j);
/* A job that was loaded with a claim, and all of them once their victims are loaded too. */
void claim_load(struct state *s, struct job *j);
void claims_synced(struct state *s);
/* A victim that is moved has a place elsewhere from the claim on: hold it after a load, give it
 * back, or claim it, for a job that waits now. Nothing, if it has none. */
void claim_hold_move(struct state *s, const struct job *j);
void claim_drop_move(struct state *s, struct job *j);
void claim_move(struct state *s, struct job *j);
/* GPU-microseconds that moves may still lose on the day of now. */
uint64_t claim_moves_left(const struct state *s, usec_t now);
/* GPUs that its victims still hold, and how many they are. */
uint64_t claim_left(const struct state *s, const struct job *j, uint32_t *ret_gangs);

/* For a copy of its job. */
struct claim *claim_copy(const struct claim *from);

#endif
