/* SPDX-License-Identifier: Apache-2.0 */
/* room.c - what became free, seen from one demand. */
#include "cluster/room.h"

uint64_t room_freed_sum(const struct cluster *c, const struct demand *d)
{
    uint64_t sum = 0;

    if (d->n_roles > 1)
        return c->freed_any + c->taken_any;
    for (uint32_t r = 0; r < d->n_roles; r++) {
        const struct demand_role *role = &d->roles[r];

        if (role->each.amount[RES_GPUS] == 0 || role->n_models == 0)
            return c->freed_any;
        for (uint32_t i = 0; i < role->n_models; i++)
            sum += role->models[i] < MODELS_MAX ? c->freed_gen[role->models[i]] : 0;
    }
    return sum;
}

bool room_may_help(const struct cluster *c, const struct demand *d, uint32_t node_ix,
                   uint64_t *poor)
{
    const struct demand_role *role = &d->roles[0];
    uint32_t gpus = (uint32_t)role->each.amount[RES_GPUS];
    uint32_t n_levels = c->settings->hierarchies[d->hierarchy].n_levels, at = IX_NONE;
    const struct node *n = cluster_node(c, node_ix);
    const struct free_histogram *h;
    struct resources left;
    uint64_t key;

    if (c->free_of.v[node_ix] < gpus || !n || !n->is_usable || node_free_gpus(n) < gpus)
        return false;
    if (d->required < n_levels)
        at = topology_domain_at(&c->topology, n, d->hierarchy, d->required);
    key = 1 + (uint64_t)at * (MODELS_MAX + 1) + n->model;
    if (key == *poor || !role_allows(role, n))
        return false;
    node_free(n, &left);
    if (d->required == n_levels)
        return resources_times(&role->each, &left, role->replicas) == role->replicas;
    if (gpus == 0 || n->model >= MODELS_MAX || !resources_fit(&role->each, &left))
        return gpus == 0;
    h = d->required == IX_NONE ? c->topology.all[n->model] : NULL;
    if (at != IX_NONE)
        h = c->topology.domains.v[at]->by_model[n->model];
    if (histogram_slots(h, gpus) >= role->replicas)
        return true;
    *poor = key;
    return false;
}

uint64_t room_freed_for(const struct cluster *c, const struct demand *d)
{
    return d->n_roles > 1 ? room_freed_sum(c, d) : c->freed_any;
}
