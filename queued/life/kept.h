/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h - a gang that lost a host restarts as a whole on the hosts it has, with its spares.
 *
 * While its pods go, the hosts of those that are gone stay held (MEMBER_KEPT). Then spares take the
 * parts of what was lost, and the gang is Pending with a claim on its new place: it does not queue.
 */
#ifndef QUEUED_LIFE_KEPT_H
#define QUEUED_LIFE_KEPT_H

#include "life/job_life.h"

/* A running gang has lost a host and is to restart: will it keep its place? */
bool kept_begin(struct state *s, struct job *j);
/* Hold the host of a member that has just been lost again, before anybody looked: MEMBER_KEPT, if
 * it is any good. */
void kept_hold(struct state *s, struct job *j, struct member *m);
/* The pod is gone, or nothing of it is left to wait for; the host stays held if it is any good.
 * false: the gang does not keep its place. */
bool kept_gone(struct state *s, struct job *j, struct member *m);
/* It has another end: what was kept is free. */
void kept_drop(struct state *s, struct job *j);
/* All pods are gone: to Pending, with a claim on its place if there is one. */
void kept_end(struct state *s, struct job *j, struct effects *fx);

#endif
