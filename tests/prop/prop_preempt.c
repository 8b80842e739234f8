/* SPDX-License-Identifier: Apache-2.0 */
/* prop_preempt.c - random small sites under preemption: nobody leaves in vain, nobody who could be
 * given back, nobody too young, and it comes to an end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/backfill.h"
#include "core/cycle.h"
#include "core/future.h"
#include "../fake/invariant.h"
#include "core/preempt.h"
#include "life/job_life.h"
#include "life/state_apply.h"
#include "util/mem.h"
#include "../fake/fake_core.h"
#include "../sim/rng.h"

enum { SEEDS = 150, STEPS = 25, SETTLE = 12, NODES = 6 };

static const int32_t priorities[] = {100, 100, 500, 800, 1000};

static uint64_t n_claims, n_reclaims, n_several;

static void make(struct core *c, struct rng *g)
{
    core_init(c);
    c->settings.node_lost_us = INT64_C(1000) * 3600 * USEC_PER_SEC; /* no claim ends by time */
    site_tenant(&c->settings, "a");
    site_tenant(&c->settings, "b");
    site_tenant(&c->settings, "b/in");
    for (uint32_t t = 0; t < c->settings.n_tenants; t++) {
        if (!rng_one_in(g, 4))
            c->settings.tenants[t].quota.gpus[SITE_H100] = 8 * rng_between(g, 0, 3);
        if (rng_one_in(g, 4))
            c->settings.tenants[t].limit.gpus[SITE_H100] = 8 * rng_between(g, 1, NODES);
    }
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, NODES);
    core_up(c);
}

static void submit(struct core *c, struct rng *g)
{
    static const char *const levels[] = {"host", "rack", "block"};
    static const char *const tenants[] = {"t", "a", "b", "b/in"};
    static const uint32_t gpus[] = {1, 2, 4, 8, 8};
    struct spec *s = site_spec("job", 1 + rng_below(g, 4), gpus[rng_below(g, 5)]);

    s->tenant = tenants[rng_below(g, 4)];
    s->priority = priorities[rng_below(g, ARRAY_LEN(priorities))];
    s->preemptible = rng_one_in(g, 6) ? SPEC_NO : SPEC_YES;
    s->max_runtime_us = INT64_C(1000) * 3600 * USEC_PER_SEC;
    if (rng_one_in(g, 3))
        s->topology_required = levels[rng_below(g, 3)];
    (void)core_submit(c, s);
}

static bool is_out(const struct ev_claimed *e, const struct job *j, uint32_t but)
{
    for (uint32_t i = 0; i < e->n_victims; i++)
        if (i != but && e->victims[i].job.v == j->id.v)
            return true;
    return false;
}

/* Would the taker fit if these victims, but for one, were gone with all that leaves anyway? */
static bool would_fit(struct core *c, struct job *taker, const struct ev_claimed *e, uint32_t but)
{
    struct state shadow = *c->state;
    struct bucket was = *taker->bucket;
    uint32_t n = c->settings.n_tenants;
    uint64_t closed[1] = {0};
    struct cluster_room room = {.closed = closed};
    struct cluster *fork = cluster_fork(&c->state->cluster);
    struct event ev = {0};
    bool fits;

    shadow.tenants.v = xcalloc(n, sizeof(*shadow.tenants.v));
    memcpy(shadow.tenants.v, c->state->tenants.v, n * sizeof(*shadow.tenants.v));
    for (uint32_t t = 0; t < n; t++) {
        shadow.tenants.v[t].used[SITE_H100] += (uint64_t)shadow.tenants.v[t].coming[SITE_H100];
        shadow.tenants.v[t].coming[SITE_H100] = 0;
    }
    for (size_t i = 0; i < shadow.active.n; i++) {
        const struct job *v = shadow.active.v[i];
        bool goes = v->state == JOB_STOPPING || v->state == JOB_PREEMPTING;

        if (!goes && !v->is_leaving && !is_out(e, v, but))
            continue;
        future_release(fork, v);
        if (!v->is_leaving)
            job_count_gpus(&shadow.tenants, v, tenant_refund);
    }
    backfill_close(c->state, taker, closed);
    room.on = fork;
    fits = cycle_try(&shadow, taker, &room, &ev);
    event_fini(&ev);
    cluster_fork_free(fork);
    free(shadow.tenants.v);
    *taker->bucket = was;
    return fits;
}

static void check_claim(struct core *c, const struct ev_claimed *e)
{
    struct job *taker = state_job(c->state, e->placed.job);

    n_claims++;
    n_several += e->n_victims > 1;
    assert_true(e->n_victims > 0);
    assert_true(would_fit(c, taker, e, UINT32_MAX));
    for (uint32_t i = 0; i < e->n_victims; i++) {
        const struct job *v = state_job(c->state, e->victims[i].job);
        uint64_t quota = tenant_quota(&c->state->tenants, v->tenant_ix, SITE_H100, NULL);
        bool is_lower = v->priority < taker->priority && taker->priority > 500;

        assert_int_equal(v->state, JOB_RUNNING);
        assert_true(v->demand->is_preemptible);
        assert_true(v->running_at + c->settings.min_runtime_us <= c->now);
        if (!is_lower) { /* reclaimed, so from beyond a quota */
            n_reclaims++;
            assert_false(v->tenant_ix == taker->tenant_ix);
            assert_false(tenant_in_quota(&c->state->tenants, v->tenant_ix, SITE_H100, 0) &&
                         quota > 0);
        }
        assert_false(would_fit(c, taker, e, i)); /* could be given back */
    }
}

static void check(const struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
    for (uint32_t t = 0; t < c->settings.n_tenants; t++) {
        int64_t limit = c->settings.tenants[t].limit.gpus[SITE_H100];

        assert_true(limit < 0 || c->state->tenants.v[t].used[SITE_H100] <= (uint64_t)limit);
    }
}

/* Decide all that can be decided; how many were told to leave. */
static unsigned decide(struct core *c)
{
    unsigned told = 0;
    struct event ev;

    while (cycle_next(c->state, c->now, &ev)) {
        if (ev.kind == EV_GANG_CLAIMED)
            check_claim(c, &ev.u.claimed);
        if (ev.kind == EV_CLAIM_OVER)
            assert_true(ev.u.claim.is_ready); /* nobody has left in vain */
        told += ev.kind == EV_GANG_PREEMPTED;
        state_apply(c->state, &ev, &c->fx);
        event_fini(&ev);
        check(c);
    }
    return told;
}

/* What was placed runs; of those who were told, some or all are gone. */
static void live(struct core *c, struct rng *g, bool is_all)
{
    for (size_t i = c->state->active.n; i-- > 0;) {
        struct job *j = i < c->state->active.n ? c->state->active.v[i] : NULL;

        if (!j)
            continue;
        if (j->state == JOB_BINDING)
            core_see_all(c, j->id, POD_RUNNING);
        else if (j->state == JOB_PREEMPTING && (is_all || rng_one_in(g, 2)))
            core_gone_all(c, j->id);
    }
    core_forget(c);
}

static void nobody_leaves_in_vain_or_for_ever(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct core c;
        unsigned told = 0;

        make(&c, &g);
        for (int step = 0; step < STEPS; step++) {
            core_pass(&c, rng_between(&g, 1, 400) * USEC_PER_SEC);
            for (uint32_t n = rng_below(&g, 3); n > 0; n--)
                submit(&c, &g);
            (void)decide(&c);
            live(&c, &g, false);
        }
        for (int step = 0; step < SETTLE; step++) { /* nobody comes, nobody ends: it must rest */
            live(&c, &g, true);
            (void)decide(&c);
            live(&c, &g, true);
            core_pass(&c, 700 * USEC_PER_SEC);
            told = decide(&c);
        }
        assert_int_equal(told, 0);
        assert_int_equal(c.state->claims.n, 0);
        core_fini(&c);
    }
    assert_true(n_claims > SEEDS);
    assert_true(n_reclaims > SEEDS / 10);
    assert_true(n_several > SEEDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_leaves_in_vain_or_for_ever)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
