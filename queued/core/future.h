/* SPDX-License-Identifier: Apache-2.0 */
/* future.h - a fork of the cluster as it will be: running gangs end, planned ones are in place.
 *
 * What ends when is the caller's: the latest end (backfill.h) or the exact one (plain.h).
 */
#ifndef QUEUED_CORE_FUTURE_H
#define QUEUED_CORE_FUTURE_H

#include "core/state.h"

struct ending {
    usec_t at;
    const struct job *job;
};

typedef VEC(struct ending) ending_list;

/* Gangs that hold something, in order of their ends (then id); ret is used again. */
void future_ends(const struct state *s, usec_t (*end)(const struct job *j), ending_list *ret);
/* Give back what the members of a gang hold, or hold it. */
void future_release(struct cluster *fork, const struct job *j);
void future_hold(struct cluster *fork, const struct job *j);
/* The same for a placement that was found for a demand: cluster_hold or cluster_release. */
void future_put(struct cluster *fork, const struct demand *d, const struct ev_placed *at,
                void (*what)(struct cluster *, uint32_t, const struct resources *));

/* The one in j's bucket, eligible now, with the shortest run: what j may not, it may. */
struct job *future_shortest(const struct job *j, usec_t now);

#endif
