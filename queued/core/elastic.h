/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.h - gangs of a variable size: each role has between `replicas` and `most` pods.
 *
 * A gang's members are an array of `most` pods a role, in which those that it has no pod for are
 * absent. Its surplus is what it has beyond `replicas`, and changes by `step`.
 */
#ifndef QUEUED_CORE_ELASTIC_H
#define QUEUED_CORE_ELASTIC_H

#include "cluster/sizes.h"
#include "core/effect.h"
#include "core/place.h"
#include "core/state.h"

/* Members of a placement of so many pods a role, at the positions that they have in the job. */
void elastic_lay_out(const struct demand *d, const uint32_t *counts, struct place_result *r);

/* Have pods joined that do not run yet? */
bool elastic_is_growing(const struct job *j);
/* A gang that may grow is looked at when its cooldown is over, */
void elastic_watch(struct state *s, const struct job *j);
void elastic_tick(struct state *s, usec_t now);
/* after a cycle in which nobody else could start: a step more, with the rules of replace.h. */
bool elastic_next(struct state *s, usec_t now, struct event *ev);
/* May the gang run on without this member? */
bool elastic_may_drop(const struct job *j, const struct member *m);
/* How many pods of a role may be taken from it, so that it runs on. */
uint32_t elastic_surplus(const struct job *j, uint32_t role);
/* On a fork of the cluster, or a clone: the pods that are going have gone. */
void elastic_end_going(const struct job *j, const struct cluster *c, struct cluster *fork);

#endif
