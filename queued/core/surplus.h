/* SPDX-License-Identifier: Apache-2.0 */
/* surplus.h - what a plan may take of an elastic gang so that it runs on: steps of pods of one
 * role.
 */
#ifndef QUEUED_CORE_SURPLUS_H
#define QUEUED_CORE_SURPLUS_H

#include "core/state.h"

/* Pods that go together: positions in the gang are list->pods[from .. from + n - 1]. */
struct surplus_step {
    uint32_t domain, role;
    uint32_t from, n;
};

struct surplus {
    VEC(uint32_t) pods;
    VEC(struct surplus_step) steps;
};

/* Add the steps by which a gang may shrink in each domain, one after the other: domains of all its
 * members, IX_NONE where it is of no use. Those of the highest index go first; what a step lacks in
 * the domain comes from elsewhere. */
void surplus_list(const struct job *j, const uint32_t *domains, struct surplus *ret);

#endif
