/* SPDX-License-Identifier: Apache-2.0 */
/* prop_tenant.c - charges of a random tree against the sum of what is held below each tenant, by
 * all and by each user; and what is kept from others against the rule, top down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/tenant.h"

#include "../fake/fake_site.h"
#include "../sim/rng.h"

enum { SEEDS = 200, STEPS = 300, HELD = 40, USERS = 3 };

struct held {
    uint32_t tenant, model, uid;
    uint64_t parts;
};

static void make_tree(struct settings *s, struct rng *g)
{
    uint32_t n = 1 + rng_below(g, 8);

    for (uint32_t i = 0; i < n; i++) {
        char path[TENANT_PATH_MAX + 1], parent[TENANT_PATH_MAX + 1] = "";
        struct tenant_setting *t;

        if (i > 0 && rng_one_in(g, 2))
            (void)snprintf(parent, sizeof(parent), "%.40s/", s->tenants[rng_below(g, i)].path);
        (void)snprintf(path, sizeof(path), "%.50st%u", parent, (unsigned)i);
        t = &s->tenants[site_tenant(s, path)];
        for (uint32_t m = 0; m < 3; m++) {
            t->limit.gpus[m] = rng_one_in(g, 2) ? rng_between(g, 0, 60) : -1;
            t->user_limit.gpus[m] = rng_one_in(g, 3) ? rng_between(g, 1, 30) : 0;
            t->unlent.gpus[m] = rng_one_in(g, 2) ? rng_between(g, 0, 30) : 0;
        }
    }
}

static bool is_below(const struct settings *s, uint32_t tenant, uint32_t top)
{
    for (; tenant != IX_NONE; tenant = s->tenants[tenant].parent)
        if (tenant == top)
            return true;
    return false;
}

struct holdings {
    struct held v[HELD];
    uint32_t n;
};

/* Take a random charge that is admitted, or give one back. */
static void step(struct tenants *t, struct holdings *all, struct rng *g)
{
    struct held h = {.tenant = rng_below(g, t->settings->n_tenants),
                     .model = rng_below(g, 3),
                     .uid = rng_below(g, USERS),
                     .parts = 120 * (1 + rng_below(g, 140))};

    if (all->n < HELD && rng_one_in(g, 2)) {
        struct account_key who = {h.tenant, h.uid};

        if (!tenant_admits(t, h.tenant, h.model, h.parts, NULL) ||
            !tenant_admits_user(t, who, h.model, h.parts, NULL))
            return;
        tenant_charge_user(t, who, h.model, (int64_t)h.parts);
        assert_true(tenant_could_admit(t, h.tenant, h.model, h.parts, NULL));
        tenant_charge(t, h.tenant, h.model, h.parts);
        all->v[all->n++] = h;
    } else if (all->n > 0) {
        uint32_t i = rng_below(g, all->n);

        tenant_refund(t, all->v[i].tenant, all->v[i].model, all->v[i].parts);
        tenant_charge_user(t, (struct account_key){all->v[i].tenant, all->v[i].uid},
                           all->v[i].model, -(int64_t)all->v[i].parts);
        all->v[i] = all->v[--all->n];
    }
}

/* Is a tenant charged what is held below it, and within its limit? */
static bool is_right(const struct tenants *t, uint32_t tenant, const struct holdings *all)
{
    const struct settings *s = t->settings;
    uint64_t sum[3] = {0};
    bool right = true;

    for (uint32_t i = 0; i < all->n; i++)
        if (is_below(s, all->v[i].tenant, tenant))
            sum[all->v[i].model] += all->v[i].parts;
    for (uint32_t m = 0; m < 3; m++) {
        int64_t limit = s->tenants[tenant].limit.gpus[m];

        right &=
            t->v[tenant].used[m] == sum[m] && (limit < 0 || sum[m] <= (uint64_t)limit * GPU_PARTS);
    }
    return right;
}

/* Does each user hold in the tenant what is held below it for them, within the limit? */
static bool is_right_for_users(const struct tenants *t, uint32_t tenant, const struct holdings *all)
{
    const struct settings *s = t->settings;
    bool right = true;

    for (uint32_t k = 0; k < USERS * 3; k++) {
        const struct account *a = tenant_account(t, (struct account_key){tenant, k / 3});
        int64_t limit = s->tenants[tenant].user_limit.gpus[k % 3];
        uint64_t sum = 0;

        for (uint32_t i = 0; i < all->n; i++)
            if (all->v[i].uid == k / 3 && all->v[i].model == k % 3 &&
                is_below(s, all->v[i].tenant, tenant))
                sum += all->v[i].parts;
        right &=
            (a ? a->used[k % 3] : 0) == sum && (limit == 0 || sum <= (uint64_t)limit * GPU_PARTS);
    }
    return right;
}

/* What is kept in a tenant and below it from one outside or elsewhere in it: its own or the sum of
 * its children's. The tree is small and made here. */
static uint64_t kept_from(const struct tenants *t, uint32_t tenant, uint32_t taker, uint32_t model)
{
    const struct settings *s = t->settings;
    uint64_t unlent = (uint64_t)s->tenants[tenant].unlent.gpus[model] * GPU_PARTS, sum = 0;
    uint64_t used = t->v[tenant].used[model];

    if (tenant == taker)
        unlent = 0;
    for (uint32_t i = 0; i < s->n_tenants; i++)
        if (s->tenants[i].parent == tenant)
            sum += kept_from(t, i, taker, model);
    if (is_below(s, taker, tenant))
        return sum;
    return unlent > used && unlent - used > sum ? unlent - used : sum;
}

static bool is_kept_right(const struct tenants *t, uint32_t taker)
{
    const struct settings *s = t->settings;

    for (uint32_t m = 0; m < 3; m++) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < s->n_tenants; i++)
            if (s->tenants[i].parent == IX_NONE)
                sum += kept_from(t, i, taker, m);
        if (tenant_unlent(t, taker, m, &(struct pool_gpus){0}) != sum)
            return false;
    }
    return true;
}

static void one_tree(uint64_t seed)
{
    struct rng g = {seed};
    struct holdings all = {.n = 0};
    struct settings s;
    struct tenants t;

    site_settings_init(&s);
    make_tree(&s, &g);
    tenants_init(&t, &s);
    for (int i = 0; i < STEPS; i++) {
        step(&t, &all, &g);
        for (uint32_t k = 0; k < s.n_tenants; k++)
            if (!is_right(&t, k, &all) || !is_right_for_users(&t, k, &all) || !is_kept_right(&t, k))
                fail_msg("seed %llu step %d", (unsigned long long)seed, i);
    }
    tenants_fini(&t);
    site_settings_fini(&s);
}

static void used_is_the_sum_of_what_is_held_below_and_never_passes_a_limit(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        one_tree(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_is_the_sum_of_what_is_held_below_and_never_passes_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
