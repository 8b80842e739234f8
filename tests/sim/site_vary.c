/* SPDX-License-Identifier: Apache-2.0 */
/* site_vary.c - other sites than the one of wish.c: what may be configured, with its edges.
 *
 * Quotas of zero and beyond the limit or the cluster, children that were promised more than their
 * parent, nothing lent, no weight, no least run time, priority before shares, no memory of the
 * past.
 */
#include "wish.h"

#include <stdlib.h>

#include "util/mem.h"
#include "util/str.h"

#include "../fake/fake_site.h"
#include "rng.h"

enum { MODELS = 2 /* that the nodes have */ };

static int64_t some_gpus(struct rng *g)
{
    static const int64_t amounts[] = {-1, -1, -1, 0, 4, 8, 8, 16, 24, 64, 1000};

    return amounts[rng_below(g, sizeof(amounts) / sizeof(amounts[0]))];
}

/* By a chance of its own: the runs of seeds that are kept stay as they are but for the windows. */
static void vary_windows(struct tenant_setting *t, const struct rng *g)
{
    struct rng own = {g->s ^ 0x77696e646f7773};

    t->n_windows = 0;
    if (rng_one_in(&own, 4))
        site_windows(t, own.s, rng_below(&own, MODELS));
    for (uint32_t i = 0; i < t->n_windows; i++)
        for (uint32_t m = 0; m < MODELS; m++)
            t->windows[i].unlent.gpus[m] = t->unlent.gpus[m] && t->windows[i].quota.gpus[m] > 0;
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
    vary_windows(t, g);
}

void site_vary(struct settings *s, uint64_t seed)
{
    static const usec_t least[] = {0, 1, 20, 20, 120, 600}, lives[] = {0, 30, 3600, 24 * 3600};
    struct rng g = {seed}, h = {~seed};

    s->min_runtime_us = least[rng_below(&g, 6)] * USEC_PER_SEC;
    s->half_life_us = lives[rng_below(&g, 4)] * USEC_PER_SEC;
    s->grace_cap_us = rng_between(&g, 120, 240) * USEC_PER_SEC;
    s->node_lost_us = rng_between(&g, 1, 10) * 60 * USEC_PER_SEC;
    s->is_priority_first = rng_one_in(&g, 3);
    s->weight_topology = 1000 * rng_below(&g, 5) / 4;
    s->weight_packing = 1000 - s->weight_topology;
    s->max_lost_gpu_us = rng_one_in(&h, 4) ? rng_below(&h, 60) * GPU_HOUR_US / 60 : 0;
    for (uint32_t i = 0; i < s->n_tenants; i++)
        vary_tenant(&s->tenants[i], &g);
}

/* The same tenants but for one that may have left; the last two may have changed places. */
static void some_tenants(struct settings *s, const struct settings *all, struct rng *g)
{
    uint32_t gone = rng_one_in(g, 2) ? IX_NONE : 3 + rng_below(g, 3); /* beta, gamma, idle */

    s->n_tenants = 0;
    for (uint32_t i = 0; i < all->n_tenants; i++)
        if (i != gone)
            s->tenants[s->n_tenants++] = all->tenants[i];
    if (rng_one_in(g, 2)) {
        struct tenant_setting last = s->tenants[s->n_tenants - 1];

        s->tenants[s->n_tenants - 1] = s->tenants[s->n_tenants - 2];
        s->tenants[s->n_tenants - 2] = last;
    }
    for (uint32_t i = 0; i < s->n_tenants; i++)
        if (rng_one_in(g, 3))
            vary_tenant(&s->tenants[i], g);
}

struct settings *site_change(const struct settings *all, uint64_t seed)
{
    static const usec_t lives[] = {0, 30, 3600, 24 * 3600};
    struct settings *s = xmalloc(sizeof(*s));
    struct rng g = {seed};
    uint32_t beta;

    *s = *all;
    s->tenants = xcalloc(all->n_tenants, sizeof(*s->tenants));
    some_tenants(s, all, &g);
    beta = settings_tenant(s, "beta");
    s->pools = xcalloc(1, sizeof(*s->pools));
    s->pools[0] = all->pools[0];
    s->pools[0].exclusive[0] = beta;
    s->n_pools = beta != IX_NONE && !rng_one_in(&g, 3);
    s->half_life_us = lives[rng_below(&g, 4)] * USEC_PER_SEC;
    s->is_priority_first = rng_one_in(&g, 3);
    s->backfill_reservations = 1 + rng_below(&g, 4);
    s->weight_topology = 1000 * rng_below(&g, 5) / 4;
    s->weight_packing = 1000 - s->weight_topology;
    s->n_licences = 1 + rng_below(&g, 2);
    s->licences[1] = s->licences[0];
    s->licences[1].count = s->licences[0].count = 1 + rng_below(&g, 4);
    if (s->n_licences == 2)
        (void)str_copy(s->licences[0].name, sizeof(s->licences[0].name), "other");
    return s;
}

void site_free(struct settings *s)
{
    if (s)
        site_fini(s);
    free(s);
}
