/* SPDX-License-Identifier: Apache-2.0 */
/* prop_reclaim.c - a tenant has its quota within the grace: if any set of gangs that may be taken
 * makes room for a gang inside the quota, it runs once they had their grace, whoever lent what.
 *
 * What may be taken is judged by trying every subset of the running gangs, without the planner.
 * That one looks at three sets of each domain only: of 20,000 seeds it missed two, of 10,014 that
 * need a victim.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cycle.h"
#include "core/future.h"
#include "core/place.h"
#include "core/share.h"

#include "../fake/fake_core.h"
#include "../fake/invariant.h"
#include "../sim/rng.h"

enum { SEEDS = 3500, MISSED_OF = 1000, NODES = 6, TURNS = 4, SUBSETS_MAX = 1 << 14 };

static const char *const tenants[] = {"t", "a", "b", "b/in", "idle"};
static unsigned n_missed, n_asked, n_by_eviction, n_in_a_rack;

static void make(struct core *c, struct rng *g)
{
    uint64_t left = 8 * NODES; /* quotas are never more than there is */

    core_init(c);
    for (size_t i = 1; i < ARRAY_LEN(tenants); i++)
        (void)site_tenant(&c->settings, tenants[i]);
    c->settings.tenants[settings_tenant(&c->settings, "idle")].weight = 0;
    c->settings.shares_users = rng_one_in(g, 3);
    for (uint32_t t = 0; t < 3; t++) { /* b/in has none of its own, idle none at all */
        uint64_t quota = 8 * (uint64_t)rng_between(g, 0, 3);

        quota = quota < left ? quota : left;
        c->settings.tenants[t].quota.gpus[SITE_H100] = (int64_t)quota;
        left -= quota;
    }
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, NODES);
    core_up(c);
}

static struct job *submit(struct core *c, struct rng *g, const char *tenant, uint64_t most)
{
    static const uint32_t gpus[] = {2, 4, 8, 8};
    uint32_t each = gpus[rng_below(g, ARRAY_LEN(gpus))], pods = 1 + rng_below(g, 3);
    struct spec *s;

    while (each > 2 && each > most)
        each /= 2;
    while (pods > 1 && (uint64_t)pods * each > most)
        pods--;
    s = site_spec("job", pods, each);
    s->tenant = tenant;
    s->priority = rng_one_in(g, 3) ? 100 : 500;
    s->max_runtime_us = INT64_C(1000) * 3600 * USEC_PER_SEC;
    if (most < UINT64_MAX && rng_one_in(g, 2))
        s->topology_required = "rack";
    return core_job(c, core_submit(c, s));
}

/* Everybody takes what there is, and has run for long enough to be taken. */
static void fill(struct core *c, struct rng *g)
{
    for (uint32_t n = 4 + rng_below(g, 12); n > 0; n--)
        (void)submit(c, g, tenants[rng_below(g, ARRAY_LEN(tenants))], UINT64_MAX);
    (void)core_cycle(c);
    for (size_t i = 0; i < c->state->active.n; i++)
        core_see_all(c, c->state->active.v[i]->id, POD_RUNNING);
    core_forget(c);
    core_pass(c, 660 * USEC_PER_SEC);
}

/* Who waits keeps room for itself, also inside its quota: nobody else is to wait. */
static void cancel_waiting(struct core *c)
{
    for (size_t i = c->state->by_id.n; i-- > 0;)
        if (c->state->by_id.v[i]->state == JOB_PENDING)
            (void)core_cancel(c, c->state->by_id.v[i]->id);
    core_forget(c);
}

/* Whose quota judges a tenant. */
static uint32_t judge_of(const struct core *c, uint32_t tenant)
{
    uint32_t at;

    (void)tenant_quota(&c->state->tenants, tenant, SITE_H100, &at);
    return at == IX_NONE ? tenant : at;
}

/* May this set leave for the taker? One after the other, each from beyond a quota that is not the
 * taker's: so the largest of each tenant is the last. */
static bool is_legal(const struct core *c, const struct job *taker, struct job *const *v, size_t n,
                     uint32_t set)
{
    uint64_t sum[8] = {0}, most[8] = {0};

    for (size_t i = 0; i < n; i++) {
        uint32_t at = judge_of(c, v[i]->tenant_ix);

        if (!(set >> i & 1))
            continue;
        if (at == judge_of(c, taker->tenant_ix))
            return false;
        sum[at] += v[i]->charged_parts;
        most[at] = v[i]->charged_parts > most[at] ? v[i]->charged_parts : most[at];
    }
    for (uint32_t t = 0; t < c->settings.n_tenants; t++)
        if (sum[t] && c->state->tenants.v[t].used[SITE_H100] + most[t] - sum[t] <=
                          tenant_quota(&c->state->tenants, t, SITE_H100, NULL))
            return false;
    return true;
}

static bool fits_without(const struct core *c, const struct job *taker, struct job *const *v,
                         size_t n, uint32_t set)
{
    uint8_t models[JOB_ROLES_MAX] = {SITE_H100};
    struct place_wish wish = {.demand = taker->demand, .models = models};
    struct cluster *fork = cluster_fork(&c->state->cluster);
    struct place_result r;
    bool fits;

    for (size_t i = 0; i < n; i++)
        if (set >> i & 1)
            future_release(fork, v[i]);
    fits = place_gang(fork, &wish, &r);
    if (fits)
        free(r.members);
    cluster_fork_free(fork);
    return fits;
}

/* Is there a set of gangs that may leave and makes room? */
static bool could_have_room(const struct core *c, const struct job *taker, bool *ret_by_eviction)
{
    size_t n = c->state->active.n;

    assert_true(n < 32 && UINT32_C(1) << n <= SUBSETS_MAX);
    for (uint32_t set = 0; set < UINT32_C(1) << n; set++) {
        *ret_by_eviction = set != 0;
        if (is_legal(c, taker, c->state->active.v, n, set) &&
            fits_without(c, taker, c->state->active.v, n, set))
            return true;
    }
    return false;
}

/* Those who were told are gone when their grace is over. */
static void let_go(struct core *c)
{
    for (size_t i = c->state->active.n; i-- > 0;)
        if (i < c->state->active.n && c->state->active.v[i]->state == JOB_PREEMPTING)
            core_gone_all(c, c->state->active.v[i]->id);
    core_forget(c);
}

static void ask(struct core *c, struct rng *g, uint64_t seed)
{
    uint32_t t = rng_below(g, 4);
    uint64_t quota = tenant_quota(&c->state->tenants, t, SITE_H100, NULL) / GPU_PARTS;
    uint64_t used = c->state->tenants.v[judge_of(c, t)].used[SITE_H100] / GPU_PARTS;
    bool by_eviction, could;
    struct job *taker;
    struct err err = {0};

    cancel_waiting(c);
    if (quota < used + 2 || c->state->active.n > 13)
        return;
    taker = submit(c, g, tenants[t], quota - used);
    could = could_have_room(c, taker, &by_eviction);
    for (int turn = 0; turn < TURNS && taker->state == JOB_PENDING; turn++) {
        (void)core_cycle(c);
        let_go(c);
    }
    if (could && taker->state == JOB_PENDING)
        n_missed++;
    n_asked++;
    n_by_eviction += could && by_eviction;
    n_in_a_rack += could && by_eviction && taker->demand->required != IX_NONE;
    if (state_check(c->state, &err))
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
}

static void a_quota_is_met_within_the_grace(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct core c;

        make(&c, &g);
        fill(&c, &g);
        for (int i = 0; i < 3; i++) {
            ask(&c, &g, seed);
            for (size_t k = 0; k < c.state->active.n; k++)
                core_see_all(&c, c.state->active.v[k]->id, POD_RUNNING);
            core_pass(&c, 660 * USEC_PER_SEC);
        }
        core_fini(&c);
    }
    assert_true(n_missed * MISSED_OF <= n_by_eviction);
    assert_true(n_asked > SEEDS / 2);
    assert_true(n_by_eviction > SEEDS / 8);
    assert_true(n_in_a_rack > SEEDS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_quota_is_met_within_the_grace)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
