/* SPDX-License-Identifier: Apache-2.0 */
/* cycle.h - the next decision that can be taken, or none.
 *
 * Only the heads of buckets that are not asleep are looked at; a verdict "does not fit" puts
 * its bucket to sleep until something that could change it has changed.
 */
#ifndef QUEUED_CORE_CYCLE_H
#define QUEUED_CORE_CYCLE_H

#include "core/place.h"
#include "core/state.h"

/* Where a gang may be placed: on a cluster, or a fork of it, and on other forks as well. */
struct cluster_room {
    const struct cluster *on;
    const struct cluster *const *beside;
    uint32_t n_beside;
    enum place_rule rule;
    const uint64_t *closed; /* as in struct place_wish */
};
/* Place one gang; false: it does not fit, or its limit is full. No room given: on the cluster,
 * where it leaves what is reserved. */
bool cycle_try(struct state *s, struct job *j, const struct cluster_room *room, struct event *ev);
/* Fills ev with a decision (event.h: "the cycle") and returns true, or returns false: nothing can
 * be decided now, or this turn has looked at TURN_EVALUATIONS_MAX gangs (state_next_wake() then
 * asks for another). */
bool cycle_next(struct state *s, usec_t now, struct event *ev);

/* GPUs of a model that others do not lend to the tenant of j and have to find where it may go, too;
 * what is free there. */
uint64_t cycle_unlent(const struct state *s, const struct cluster *on, const struct job *j,
                      uint32_t model, uint64_t *ret_free);
/* CPU and memory that a demand leaves out, once per shape of the cluster: before place_gang(). */
void cycle_refresh_shares(const struct state *s, struct demand *d);
/* Does a gang that goes beyond its tenant's quota leave free there what others do not lend? */
bool cycle_leaves_unlent(const struct state *s, const struct cluster *on, const struct job *j,
                         const uint8_t *models);
/* May the tenant of j be charged for it on these models (per role): its limits, its user's, and its
 * quota for what is not preemptible. */
bool cycle_admits(const struct state *s, const struct job *j, const uint8_t *models);
/* The same for so many parts of GPUs of each model, of what it needs, or pods of each role, which
 * leave what is not lent. */
bool cycle_admits_gpus(const struct state *s, const struct job *j, const uint64_t *gpus);
bool cycle_admits_pods(const struct state *s, const struct job *j, const uint8_t *models,
                       const uint32_t *counts);

#endif
