/* SPDX-License-Identifier: Apache-2.0 */
/* array_life.h - what happens to job arrays (core/array.h): their steps, and what they hear. */
#ifndef QUEUED_LIFE_ARRAY_LIFE_H
#define QUEUED_LIFE_ARRAY_LIFE_H

#include "core/state.h"

/* A job took a transition; of an index: its array hears of it. */
void array_moved(struct state *s, struct job *j, enum job_state from, struct effects *fx);
/* A loaded array, or index of one; -1 INVALID: there is no such array, or the index waits in it. */
int array_load(struct state *s, struct job *j, const struct spec *spec, struct err *err);
/* The record of an index goes. */
void array_forget(struct state *s, struct job *j);
/* Do the next thing. */
void array_step(struct state *s, struct job_id id, struct effects *fx);

#endif
