/* SPDX-License-Identifier: Apache-2.0 */
/* state_apply.h - the one door through which the state changes.
 *
 * state_admit() refuses what may be refused, with a reply; state_apply() cannot fail.
 */
#ifndef QUEUED_LIFE_STATE_APPLY_H
#define QUEUED_LIFE_STATE_APPLY_H

#include "core/state.h"

/* May this event be applied? false: it was refused, and the reply is among the effects. */
bool state_admit(struct state *s, struct event *ev, struct effects *fx);
/* Change the state. Cannot fail; facts that no longer matter are ignored. Takes ev's pointers. */
void state_apply(struct state *s, struct event *ev, struct effects *fx);
/* Transitions that only time makes: start time-outs, maxRuntime, maxQueueTime, back-off, expiry. */
void state_tick(struct state *s, usec_t now, struct effects *fx);
/* When something is due next by time alone; INT64_MAX: never. */
usec_t state_next_wake(const struct state *s, usec_t now);

/* Loading (store_load.c): in any order of tables, jobs by ascending id. The job was filled from its
 * record; spec gives the demand and stays the caller's. -1 INVALID: inconsistent; nothing changed.
 */
int state_load_job(struct state *s, struct job *job, const struct spec *spec, struct err *err);
void state_load_answer(struct state *s, const struct answer *a);

#endif
