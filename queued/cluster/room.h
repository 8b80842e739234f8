/* SPDX-License-Identifier: Apache-2.0 */
/* room.h - could what has become free make room for a demand that had none?
 *
 * A verdict "no room" holds while nothing of these sums has moved, or no node that became free
 * since could be what was missing.
 */
#ifndef QUEUED_CLUSTER_ROOM_H
#define QUEUED_CLUSTER_ROOM_H

#include "cluster/cluster.h"

/* Sum of what was freed over the models that the gang may use; of all models when a role has no
 * GPUs or any model. Several roles are placed greedily, so that even what others take may make room
 * for them. */
uint64_t room_freed_sum(const struct cluster *c, const struct demand *d);
/* The same where nodes are looked at one by one: freed_any, but for several roles. */
uint64_t room_freed_for(const struct cluster *c, const struct demand *d);
/* Could what has become free on this node be what the only role waited for? *poor: 0, and then kept
 * from node to node: what is around the last one is too little. */
bool room_may_help(const struct cluster *c, const struct demand *d, uint32_t node_ix,
                   uint64_t *poor);

#endif
