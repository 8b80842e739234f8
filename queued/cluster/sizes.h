/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h - the numbers of pods that a role of an elastic gang may have: what it needs, and steps
 * above, up to the most.
 */
#ifndef QUEUED_CLUSTER_SIZES_H
#define QUEUED_CLUSTER_SIZES_H

#include "cluster/demand.h"

/* Pods of each role that the gang needs. */
void elastic_least(const struct demand *d, uint32_t ret_counts[JOB_ROLES_MAX]);
/* Steps from what a role needs to the most that it may have; the last one may be shorter. */
uint32_t elastic_steps(const struct demand *d, uint32_t role);
/* Pods of the role so many steps above what it needs. */
uint32_t elastic_count(const struct demand *d, uint32_t role, uint32_t steps);

#endif
