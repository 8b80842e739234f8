/* SPDX-License-Identifier: Apache-2.0 */
/* site_vary.c - other sites than the one of wish.c: what may be configured, with its edges.
 *
 * Quotas of zero and beyond the limit or the cluster, children that were promised more than their
 * parent, nothing lent, no weight, no least run time, priority before shares, no memory of the
 * past.
 */
#include "wish.h"

#include "rng.h"

enum { MODELS = 2 /* that the nodes have */ };

static int64_t some_gpus(struct rng *g)
{
    static const int64_t amounts[] = {-1, -1, -1, 0, 4, 8, 8, 16, 24, 64, 1000};

    return amounts[rng_below(g, sizeof(amounts) / sizeof(amounts[0]))];
}

static void vary_tenant(struct tenant_setting *t, struct rng *g)
{
    static const uint32_t weights[] = {0, 1, 1, 1, 2, 5, 1000000};

    t->weight = weights[rng_below(g, sizeof(weights) / sizeof(weights[0]))];
    t->max_pending = rng_one_in(g, 6) ? 1 + rng_below(g, 6) : 0;
    for (uint32_t m = 0; m < MODELS; m++) {
        t->quota.gpus[m] = some_gpus(g);
        t->limit.gpus[m] = rng_one_in(g, 2) ? -1 : some_gpus(g);
        t->unlent.gpus[m] = 0;
        if (t->quota.gpus[m] > 0 && rng_one_in(g, 4))
            t->unlent.gpus[m] = rng_between(g, 1, t->quota.gpus[m]);
        t->user_limit.gpus[m] = rng_one_in(g, 6) ? rng_between(g, 1, 16) : 0;
    }
}

void site_vary(struct settings *s, uint64_t seed)
{
    static const usec_t least[] = {0, 1, 20, 20, 120, 600}, lives[] = {0, 30, 3600, 24 * 3600};
    struct rng g = {seed};

    s->min_runtime_us = least[rng_below(&g, 6)] * USEC_PER_SEC;
    s->half_life_us = lives[rng_below(&g, 4)] * USEC_PER_SEC;
    s->grace_cap_us = rng_between(&g, 120, 240) * USEC_PER_SEC;
    s->node_lost_us = rng_between(&g, 1, 10) * 60 * USEC_PER_SEC;
    s->is_priority_first = rng_one_in(&g, 3);
    s->weight_topology = 1000 * rng_below(&g, 5) / 4;
    s->weight_packing = 1000 - s->weight_topology;
    for (uint32_t i = 0; i < s->n_tenants; i++)
        vary_tenant(&s->tenants[i], &g);
}
