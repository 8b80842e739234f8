/* SPDX-License-Identifier: Apache-2.0 */
/* rights.h - who may take nodes from whom: those of lower priority, or of tenants above their
 * quota.
 */
#ifndef QUEUED_CORE_RIGHTS_H
#define QUEUED_CORE_RIGHTS_H

#include "core/state.h"

/* May the gang take from others at all? */
bool rights_may(const struct state *s, const struct job *j);
/* From lower priorities. */
bool rights_by_priority(const struct state *s, const struct job *j);
/* GPUs that it would be charged, each role on the nth model that it may use and the cluster has, or
 * its last. false: no role has so many. */
bool rights_guess(const struct state *s, const struct job *j, uint32_t nth,
                  uint64_t ret[MODELS_MAX]);
/* By quota: may a gang that is charged so many GPUs take a victim's of this model, of which the
 * victim's tenant would lose so many? */
struct reclaim_of {
    const struct job *taker;
    const uint64_t *gpus; /* by model */
    const struct job *victim;
};
enum reclaim {
    RECLAIM_NO,
    RECLAIM_YES,
    RECLAIM_BY_PRIORITY /* from a lower one: one quota judges both, or priority goes first */
};
enum reclaim rights_reclaims(const struct tenants *t, const struct reclaim_of *of, uint32_t model,
                             uint64_t loses);

#endif
