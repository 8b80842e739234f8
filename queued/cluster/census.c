/* SPDX-License-Identifier: Apache-2.0 */
/* census.c - counting nodes for one role. */
#include "cluster/census.h"

#include <string.h>

#include "util/str.h"

/* Would a pod fit by GPUs were the node empty? CPU-only pods fit anywhere known. */
static bool has_gpus(const struct demand_role *role, const struct node *n)
{
    int64_t gpus = role->each.amount[RES_GPUS];
    enum refusal why = role_refusal(role, n, NULL);

    return gpus == 0 || (why != REFUSED_UNKNOWN && why != REFUSED_MODEL && why != REFUSED_SHARED &&
                         n->expected_gpus >= gpus);
}

static uint64_t gpu_times(int64_t free_gpus, int64_t gpus)
{
    return gpus ? (uint64_t)(free_gpus / gpus) : 0;
}

static void count_free(const struct node *n, const struct resources *asks, struct census *ret,
                       uint32_t lacking[RESOURCES_MAX])
{
    struct resources free_now;
    int64_t gpus = asks->amount[RES_GPUS];
    uint32_t times;
    int dim;

    node_free(n, &free_now);
    times = resources_times(asks, &free_now, JOB_PODS_MAX);
    ret->healed_slots += times;
    if (!n->is_usable)
        return;
    ret->free_gpus += (uint64_t)free_now.amount[RES_GPUS];
    ret->gpu_slots += gpus ? gpu_times(free_now.amount[RES_GPUS], gpus) : times;
    ret->all_slots += times;
    if (free_now.amount[RES_GPUS] < gpus && free_now.amount[RES_GPUS] > ret->near_free) {
        ret->near_free = free_now.amount[RES_GPUS];
        (void)str_copy(ret->near_node, sizeof(ret->near_node), n->name);
    }
    dim = resources_lacking(asks, &n->total); /* what never fits weighs more than what is used up */
    if (dim <= RES_GPUS)
        dim = resources_lacking(asks, &free_now);
    if (dim > RES_GPUS)
        lacking[dim]++;
}

/* What is counted apart before it is summed up. */
struct apart {
    uint32_t lacking[RESOURCES_MAX];
    uint64_t closed[POOLS_MAX];
};

/* Pods that it could hold when empty, by GPUs. */
static uint64_t capacity_slots(const struct node *n, const struct resources *asks)
{
    return asks->amount[RES_GPUS] ? gpu_times(n->expected_gpus, asks->amount[RES_GPUS])
                                  : resources_times(asks, &n->total, JOB_PODS_MAX);
}

bool census_suffices(const struct cluster *c, const struct demand_role *role,
                     const struct resources *asks)
{
    uint64_t slots = 0;

    for (size_t i = 0; i < c->by_name.n && slots < role->replicas; i++) {
        const struct node *n = c->nodes.v[c->by_name.v[i]];

        if (has_gpus(role, n) && role_allows(role, n))
            slots += capacity_slots(n, asks);
    }
    return slots && slots >= role->replicas;
}

static void count_node(const struct demand_role *role, const struct resources *asks,
                       const struct node *n, struct census *ret, struct apart *apart)
{
    const char *key = NULL;
    enum refusal why = role_refusal(role, n, &key);

    if (!has_gpus(role, n))
        return;
    ret->nodes++;
    if (why != REFUSAL_OF_NONE) {
        if (why == REFUSED_POOL && n->is_usable)
            apart->closed[n->pool] += (uint64_t)node_free_gpus(n);
        ret->out[why]++;
        ret->key[why] = key;
        return;
    }
    ret->allowed++;
    ret->capacity_slots += capacity_slots(n, asks);
    ret->size_slots += resources_times(asks, &n->total, JOB_PODS_MAX);
    if (!n->is_usable) {
        ret->unhealthy++;
        ret->drained += n->drain != NULL;
        ret->trouble = node_trouble(n);
        (void)str_copy(ret->trouble_node, sizeof(ret->trouble_node), n->name);
    } else if (n->total.amount[RES_GPUS] < n->expected_gpus && asks->amount[RES_GPUS]) {
        ret->unhealthy++;
        ret->trouble = "GPUs missing";
        (void)str_copy(ret->trouble_node, sizeof(ret->trouble_node), n->name);
    }
    count_free(n, asks, ret, apart->lacking);
}

void census_take(const struct cluster *c, const struct demand_role *role,
                 const struct resources *asks, struct census *ret)
{
    struct apart apart = {0};

    *ret = (struct census){.lacking = -1, .closed_pool = IX_NONE};
    for (size_t i = 0; i < c->by_name.n; i++)
        count_node(role, asks, c->nodes.v[c->by_name.v[i]], ret, &apart);
    for (int d = 0; d < RESOURCES_MAX; d++)
        if (apart.lacking[d] &&
            (ret->lacking < 0 || apart.lacking[d] > apart.lacking[ret->lacking]))
            ret->lacking = d;
    for (uint32_t i = 0; i < POOLS_MAX; i++) {
        if (apart.closed[i] <= ret->closed_gpus)
            continue;
        ret->closed_gpus = apart.closed[i];
        ret->closed_pool = i;
    }
}

void census_domains(const struct cluster *c, const struct demand *d, uint32_t role,
                    const struct resources *asks, struct census_domains *ret)
{
    const struct topology *t = &c->topology;
    bool is_host = ret->level >= c->settings->hierarchies[d->hierarchy].n_levels;
    uint64_t *slots = xcalloc(t->domains.n + c->nodes.n + 1, sizeof(*slots));

    for (size_t i = 0; i < c->by_name.n; i++) {
        const struct node *n = c->nodes.v[c->by_name.v[i]];
        uint32_t ix = is_host ? n->ix : topology_domain_at(t, n, d->hierarchy, ret->level);
        struct resources free_now;

        if (!n->is_usable || !role_allows(&d->roles[role], n) || ix == IX_NONE)
            continue;
        node_free(n, &free_now);
        ret->slices -= d->slice_size ? slots[ix] / d->slice_size : 0;
        slots[ix] += resources_times(asks, &free_now, JOB_PODS_MAX);
        ret->slices += d->slice_size ? slots[ix] / d->slice_size : 0;
        if (slots[ix] > ret->best || !ret->path) {
            ret->best = slots[ix];
            ret->path = is_host ? n->name : t->domains.v[ix]->path;
        }
    }
    free(slots);
}
