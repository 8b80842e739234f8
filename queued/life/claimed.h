/* SPDX-License-Identifier: Apache-2.0 */
/* claimed.h - a claim (core/claim.h) is made, its victims are told, it ends. */
#ifndef QUEUED_LIFE_CLAIMED_H
#define QUEUED_LIFE_CLAIMED_H

#include "core/state.h"

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
/* A pending job claims this place, of which nobody has to leave; takes to->members. */
void claim_place(struct state *s, struct job *j, struct ev_placed *to);

#endif
