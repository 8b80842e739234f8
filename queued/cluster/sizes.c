/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.c - counts of pods by a demand alone. */
#include "cluster/sizes.h"

void elastic_least(const struct demand *d, uint32_t ret_counts[JOB_ROLES_MAX])
{
    for (uint32_t r = 0; r < d->n_roles; r++)
        ret_counts[r] = d->roles[r].replicas;
}

uint32_t elastic_steps(const struct demand *d, uint32_t role)
{
    return (d->roles[role].most - d->roles[role].replicas + d->step - 1) / d->step;
}

uint32_t elastic_count(const struct demand *d, uint32_t role, uint32_t steps)
{
    uint64_t n = d->roles[role].replicas + (uint64_t)steps * d->step;

    return n < d->roles[role].most ? (uint32_t)n : d->roles[role].most;
}
