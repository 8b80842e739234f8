/* SPDX-License-Identifier: Apache-2.0 */
/* prop_tenant.c - charges of a random tree against the sum of what is held below each tenant. */
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

enum { SEEDS = 200, STEPS = 300, HELD = 40 };

struct held {
    uint32_t tenant, model;
    uint64_t gpus;
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
        for (uint32_t m = 0; m < 3; m++)
            t->limit.gpus[m] = rng_one_in(g, 2) ? rng_between(g, 0, 60) : -1;
    }
}

static bool is_below(const struct settings *s, uint32_t tenant, uint32_t top)
{
    for (; tenant != IX_NONE; tenant = s->tenants[tenant].parent)
        if (tenant == top)
            return true;
    return false;
}

static void used_is_the_sum_of_what_is_held_below_and_never_passes_a_limit(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct settings s;
        struct tenants t;
        struct held held[HELD];
        uint32_t n = 0;

        site_settings_init(&s);
        make_tree(&s, &g);
        tenants_init(&t, &s);
        for (int step = 0; step < STEPS; step++) {
            struct held h = {.tenant = rng_below(&g, s.n_tenants),
                             .model = rng_below(&g, 3),
                             .gpus = 1 + rng_below(&g, 20)};

            if (n < HELD && rng_one_in(&g, 2)) {
                bool could = tenant_could_admit(&t, h.tenant, h.model, h.gpus, NULL);

                if (tenant_admits(&t, h.tenant, h.model, h.gpus, NULL)) {
                    assert_true(could);
                    tenant_charge(&t, h.tenant, h.model, h.gpus);
                    held[n++] = h;
                }
            } else if (n > 0) {
                uint32_t i = rng_below(&g, n);

                tenant_refund(&t, held[i].tenant, held[i].model, held[i].gpus);
                held[i] = held[--n];
            }
            for (uint32_t k = 0; k < s.n_tenants; k++) {
                uint64_t sum[3] = {0};

                for (uint32_t i = 0; i < n; i++)
                    if (is_below(&s, held[i].tenant, k))
                        sum[held[i].model] += held[i].gpus;
                for (uint32_t m = 0; m < 3; m++)
                    if (t.v[k].used[m] != sum[m] ||
                        (s.tenants[k].limit.gpus[m] >= 0 &&
                         sum[m] > (uint64_t)s.tenants[k].limit.gpus[m]))
                        fail_msg("seed %llu step %d", (unsigned long long)seed, step);
            }
        }
        tenants_fini(&t);
        site_settings_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_is_the_sum_of_what_is_held_below_and_never_passes_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
