/* SPDX-License-Identifier: Apache-2.0 */
/* depend.h - dependsOn: a job waits until others have started, finished, succeeded or failed.
 *
 * Names are resolved once, at submission. What is met is forgotten; what can no longer be met ends
 * the job. A job that still waits for others is in no bucket and in state->dependents.
 */
#ifndef QUEUED_LIFE_DEPEND_H
#define QUEUED_LIFE_DEPEND_H

#include "core/state.h"

/* Find the jobs that the spec names; into j, unless NULL, go those not met yet. -1: INVALID, no
 * such job; REFUSED, it has ended otherwise. */
int depend_resolve(const struct state *s, const struct spec *spec, struct job *j, struct err *err);
/* A new or loaded job begins to wait for what it names. */
void depend_add(struct state *s, struct job *j);
/* It does not wait any more: it ends. */
void depend_drop(struct state *s, struct job *j);
/* A job runs or has ended: remember to look at those that wait for it. */
void depend_moved(struct state *s, const struct job *j);
/* Look at them, as many as the turn has room for. */
void depend_settle(struct state *s, struct effects *fx);

#endif
