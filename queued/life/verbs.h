/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.h - what clients do to a job: cancel, hold, release, requeue, preempt, change what it asks
 * for; and what operators do to a node.
 *
 * The age of a job (submitted_at) stays, and with it its place among equals. Each at most once per
 * request id. admit is false when it was answered already (known request, refusal, it is so
 * already); nothing changes then.
 */
#ifndef QUEUED_LIFE_VERBS_H
#define QUEUED_LIFE_VERBS_H

#include "core/state.h"

/* Is it so already? A job that is on its way to an end keeps that end. */
bool verb_is_done(enum job_verb verb, const struct job *j);
/* May it be done to a job in this state? */
bool verb_fits(enum job_verb verb, const struct job *j);
/* Which states it takes, as a sentence; what its reason is called. */
const char *verb_advice(enum job_verb verb);
const char *verb_code(enum job_verb verb);
/* Do it to one that it fits; text: by whom, why. */
void verb_do(struct state *s, struct job *j, enum job_verb verb, const char *text,
             struct effects *fx);
bool verbs_admit(struct state *s, const struct ev_verb *ev, struct effects *fx);
void verbs_apply(struct state *s, const struct ev_verb *ev, struct effects *fx);
/* Of many: those that it does not fit are left as they are, and counted in the answer. */
bool selected_admit(struct state *s, const struct ev_selected *ev, struct effects *fx);
void selected_apply(struct state *s, const struct ev_selected *ev, struct effects *fx);
/* update.c: a waiting job takes a whole new spec, which the caller made, checked and allowed.
 * Submit key and digest stay: the same file, submitted to the same tenant, is the same job. */
bool update_admit(struct state *s, const struct ev_update *ev, struct effects *fx);
void update_apply(struct state *s, struct ev_update *ev, struct effects *fx);
/* An index of an array that was updated while it waited takes what the array has by now. */
void update_index(struct state *s, struct job *j, const struct job *parent, struct effects *fx);
/* drain.c: a node takes no new members from us, until it is given back; what runs there runs on. */
bool drain_admit(struct state *s, const struct ev_drain *ev, struct effects *fx);
void drain_apply(struct state *s, const struct ev_drain *ev, struct effects *fx);
/* The same of a tenant with all below it: no gang starts until it is resumed. */
bool stop_admit(struct state *s, const struct ev_drain *ev, struct effects *fx);
void stop_apply(struct state *s, const struct ev_drain *ev, struct effects *fx);

#endif
