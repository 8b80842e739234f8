/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cluster.h - the cluster port over the simulated world: the adapter's part of a simulation.
 *
 * Plays queued/kube at the granularity of the port: requests of a gang with what may happen to
 * each, and the watch of nodes and pods. Its memory is the adapter's and is lost in a crash
 * (destroy and create again); the world stays. Deterministic: chance comes from the world's
 * generator alone. For tests/sim, which has the world.
 */
#ifndef QUEUED_FAKE_CLUSTER_H
#define QUEUED_FAKE_CLUSTER_H

#include <stdbool.h>

#include "port/inbox.h"
#include "port/cluster_port.h"

#include "../sim/world.h"

struct fake_cluster;

/* Both are borrowed and must outlive it. Begins to list at once. */
struct fake_cluster *fake_cluster_create(struct world *w, struct inbox *inbox);
/* is_crash: requests under way may be carried out later. */
void fake_cluster_destroy(struct fake_cluster *fc, bool is_crash);
struct cluster_port fake_cluster_port(struct fake_cluster *fc);
/* Send, answer and watch what is due at world->now, as far as the inbox has room. */
void fake_cluster_step(struct fake_cluster *fc);
/* Take the API server away for a while. */
void fake_cluster_cut(struct fake_cluster *fc, usec_t how_long_us);
/* List everything again. */
void fake_cluster_relist(struct fake_cluster *fc);
/* When something is due by time alone; INT64_MAX never. */
usec_t fake_cluster_next(const struct fake_cluster *fc);
/* Has all been told that there is to tell? Then the daemon can know the world as it is. */
bool fake_cluster_is_told(const struct fake_cluster *fc);
/* Is a gang of this job being started or stopped? */
bool fake_cluster_works_on(const struct fake_cluster *fc, struct job_id job);
/* Nothing under way, nothing to tell, and the API server is there. */
bool fake_cluster_is_idle(const struct fake_cluster *fc);

#endif
