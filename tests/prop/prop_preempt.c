/* SPDX-License-Identifier: Apache-2.0 */
/* prop_preempt.c - random small sites under preemption: nobody leaves in vain, nobody who could be
 * given back, nobody too young, no gang while surplus is enough, and it comes to an end.
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
#include "core/elastic.h"
#include "core/future.h"
#include "../fake/invariant.h"
#include "core/preempt.h"
#include "core/surplus.h"
#include "life/job_life.h"
#include "life/state_apply.h"
#include "util/mem.h"
#include "../fake/fake_core.h"
#include "../sim/rng.h"

enum { SEEDS = 600, STEPS = 25, SETTLE = 12, NODES = 6 };

static const int32_t priorities[] = {100, 100, 500, 800, 1000};

static uint64_t n_claims, n_reclaims, n_crossed, n_several, n_shrinks, n_of_user;

static bool has_user_limits; /* in these runs */

static void make(struct core *c, struct rng *g, bool is_priority_first)
{
    core_init(c);
    c->settings.is_priority_first = is_priority_first;
    c->settings.node_lost_us = INT64_C(1000) * 3600 * USEC_PER_SEC; /* no claim ends by time */
    site_tenant(&c->settings, "a");
    site_tenant(&c->settings, "b");
    site_tenant(&c->settings, "b/in");
    for (uint32_t t = 0; t < c->settings.n_tenants; t++) {
        if (!rng_one_in(g, 4))
            c->settings.tenants[t].quota.gpus[SITE_H100] = 8 * rng_between(g, 0, 3);
        if (rng_one_in(g, 4))
            c->settings.tenants[t].limit.gpus[SITE_H100] = 8 * rng_between(g, 1, NODES);
        if (has_user_limits && rng_one_in(g, 2))
            c->settings.tenants[t].user_limit.gpus[SITE_H100] = 8 * rng_between(g, 1, NODES / 2);
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
    uint32_t each = gpus[rng_below(g, 5)];
    struct spec *s = site_spec("job", 1 + rng_below(g, 4), each);
    struct event ev = {0};

    s->tenant = tenants[rng_below(g, 4)];
    s->priority = priorities[rng_below(g, ARRAY_LEN(priorities))];
    s->preemptible = rng_one_in(g, 6) ? SPEC_NO : SPEC_YES;
    s->max_runtime_us = INT64_C(1000) * 3600 * USEC_PER_SEC;
    if (rng_one_in(g, 3))
        s->topology_required = levels[rng_below(g, 3)];
    if (s->roles[0].replicas > 1 && rng_one_in(g, 2)) {
        s->roles[0].min_replicas = 1 + rng_below(g, s->roles[0].replicas - 1);
        s->elastic_step = 1 + rng_below(g, 2);
    }
    if (!has_user_limits) {
        (void)core_submit(c, s);
        return;
    }
    ev.u.submit.spec = s;
    ev.u.submit.caller.uid = 1 + rng_below(g, 2);
    c->n_requests++;
    memcpy(ev.u.submit.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    (void)core_ask(c, &ev);
}

/* In a shadow: what v gives back of what the taker's user holds. */
static void spare_user(struct state *shadow, const struct job *taker, const struct job *v,
                       uint64_t parts)
{
    if (shadow->tenants.counts_of_user && v->uid == taker->uid)
        tenant_add_of_user(&shadow->tenants, v->tenant_ix, SITE_H100, -(int64_t)parts);
}

static bool is_out(const struct ev_claimed *e, const struct job *j, uint32_t but)
{
    for (uint32_t i = 0; i < e->n_victims; i++)
        if (i != but && !e->victims[i].pod && e->victims[i].job.v == j->id.v)
            return true;
    return false;
}

/* A fork that pods leave, and tenants that are no longer charged for them. */
struct future {
    struct cluster *fork;
    struct state *shadow;
    const struct job *taker;
};

static void release_pod(const struct job *v, uint32_t member, const struct future *f)
{
    struct resources asks;

    state_pod_asks(v, v->members[member].role, &asks);
    cluster_release(f->fork, v->members[member].node_ix, &asks);
    job_count_pods(&f->shadow->tenants, v, v->members[member].role, 1, tenant_refund);
    spare_user(f->shadow, f->taker, v, job_pod_parts(v, v->members[member].role));
}

/* Pods that are victims, but for one, or for the step that it is of. */
static void release_pods(const struct ev_claimed *e, uint32_t but, const struct future *f)
{
    for (uint32_t i = 0; i < e->n_victims; i++) {
        const struct job *v = state_job(f->shadow, e->victims[i].job);
        bool is_kept = i == but || (but < e->n_victims && v->demand->step > 1 &&
                                    e->victims[but].job.v == v->id.v);

        if (e->victims[i].pod && !is_kept)
            release_pod(v, e->victims[i].pod - 1, f);
    }
}

/* All that gangs of the taker's tenant have beyond their need, if it may take it by priority. */
static void release_surplus(const struct core *c, const struct future *f)
{
    const struct state *shadow = f->shadow;
    const struct job *taker = f->taker;
    struct surplus all = {0};

    for (size_t i = 0; i < shadow->active.n; i++) {
        const struct job *v = shadow->active.v[i];
        uint32_t *domains = xcalloc(v->n_members + 1, sizeof(*domains));

        all.steps.n = all.pods.n = 0;
        if (v->tenant_ix == taker->tenant_ix && v->priority < taker->priority && !v->is_leaving &&
            v->demand->is_preemptible && v->running_at + c->settings.min_runtime_us <= c->now)
            surplus_list(v, domains, &all);
        for (size_t k = 0; k < all.pods.n; k++)
            release_pod(v, all.pods.v[k], f);
        free(domains);
    }
    vec_fini(&all.pods);
    vec_fini(&all.steps);
}

/* Would the taker fit if these victims, but for one, were gone with all that leaves anyway? None
 * given: without the surplus of its tenant. */
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
    if (has_user_limits)
        tenant_count_user(&shadow.tenants, taker->uid);
    for (size_t i = 0; i < shadow.active.n; i++) {
        const struct job *v = shadow.active.v[i];
        bool goes = v->state == JOB_STOPPING || v->state == JOB_PREEMPTING;
        uint64_t all[MODELS_MAX], stays[MODELS_MAX];

        job_all_gpus(v, all);
        job_gpus(v, v->models, stays);
        spare_user(&shadow, taker, v, all[SITE_H100] - stays[SITE_H100]);
        elastic_end_going(v, &c->state->cluster, fork);
        if (!goes && !v->is_leaving && (!e || !is_out(e, v, but)))
            continue;
        future_release(fork, v);
        spare_user(&shadow, taker, v, stays[SITE_H100]);
        if (!v->is_leaving)
            job_count_gpus(&shadow.tenants, v, tenant_refund);
    }
    if (e)
        release_pods(e, but, &(struct future){fork, &shadow, taker});
    else
        release_surplus(c, &(struct future){fork, &shadow, taker});
    backfill_close(c->state, taker, closed);
    room.on = fork;
    fits = cycle_try(&shadow, taker, &room, &ev);
    event_fini(&ev);
    cluster_fork_free(fork);
    free(shadow.tenants.v);
    *taker->bucket = was;
    return fits;
}

static uint32_t n_pods_of(const struct ev_claimed *e, const struct job *v)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->n_victims; i++)
        n += e->victims[i].job.v == v->id.v;
    return n;
}

/* By priority from another tenant that has no quota, where no share is due to the taker's. */
static void check_crossing(const struct core *c, const struct ev_claimed *e, const struct job *v)
{
    const struct tenants *t = &c->state->tenants;
    const struct job *taker = state_job(c->state, e->placed.job);
    uint32_t at, v_at;
    uint64_t quota = tenant_quota(t, taker->tenant_ix, SITE_H100, &at);
    uint64_t v_quota = tenant_quota(t, v->tenant_ix, SITE_H100, &v_at);

    at = at == IX_NONE ? taker->tenant_ix : at;
    v_at = v_at == IX_NONE ? v->tenant_ix : v_at;
    if (at == v_at)
        return;
    assert_true(t->v[v_at].used[SITE_H100] + (uint64_t)t->v[v_at].coming[SITE_H100] > v_quota);
    if (quota > 0)
        return;
    n_crossed++;
    assert_true(c->settings.is_priority_first);
    assert_int_equal(v_quota, 0);
}

static void check_claim(struct core *c, const struct ev_claimed *e)
{
    struct job *taker = state_job(c->state, e->placed.job);
    bool is_any_whole = false;

    n_claims++;
    n_several += e->n_victims > 1;
    n_of_user += !tenant_admits_user(&c->state->tenants, job_account(taker), SITE_H100,
                                     taker->demand->gpus * GPU_PARTS, NULL);
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
        } else
            check_crossing(c, e, v);
        assert_false(would_fit(c, taker, e, i)); /* could be given back */
        is_any_whole |= !e->victims[i].pod;
        if (e->victims[i].pod) {
            n_shrinks++;
            assert_true(elastic_surplus(v, 0) >= n_pods_of(e, v));
        }
    }
    if (is_any_whole && taker->priority > 500)
        assert_false(would_fit(c, taker, NULL, UINT32_MAX));
}

/* What a user's gangs in a tenant and below it are charged. */
static uint64_t held_by(const struct core *c, uint32_t uid, uint32_t tenant)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < c->state->active.n; i++) {
        const struct job *j = c->state->active.v[i];

        if (j->uid == uid && settings_is_above(&c->settings, tenant, j->tenant_ix))
            sum += j->charged_parts;
    }
    return sum;
}

static void check(const struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
    for (uint32_t t = 0; t < c->settings.n_tenants; t++) {
        int64_t limit = c->settings.tenants[t].limit.gpus[SITE_H100];

        assert_true(limit < 0 ||
                    c->state->tenants.v[t].used[SITE_H100] <= (uint64_t)limit * GPU_PARTS);
        limit = c->settings.tenants[t].user_limit.gpus[SITE_H100];
        for (uint32_t uid = 1; uid < 3 && limit; uid++)
            assert_true(held_by(c, uid, t) <= (uint64_t)limit * GPU_PARTS);
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

/* Pods that joined run; of those that were told to go, some or all have gone. */
static void live_on(struct core *c, struct rng *g, const struct job *j, bool is_all)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        if (j->members[i].is_new)
            core_see(c, j, i, POD_RUNNING, 0);
        else if (j->members[i].is_going && (is_all || rng_one_in(g, 2)))
            core_gone(c, j, i);
    }
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
        else if (j->state == JOB_RUNNING)
            live_on(c, g, j, is_all);
    }
    core_forget(c);
}

static void run_with(uint64_t seed, bool is_priority_first)
{
    struct rng g = {seed};
    struct core c;
    unsigned told = 0;

    make(&c, &g, is_priority_first);
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

static void run(uint64_t seed)
{
    run_with(seed, false);
}

static void nobody_leaves_in_vain_or_for_ever(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run(seed);
    assert_true(n_claims > SEEDS);
    assert_true(n_reclaims > SEEDS / 10);
    assert_true(n_several > SEEDS / 10);
    assert_true(n_shrinks > SEEDS / 10);
}

static void so_it_is_with_priorities_over_the_cluster(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run_with(seed, true);
    assert_true(n_crossed > SEEDS / 10);
}

static void so_it_is_where_users_have_limits(void **state)
{
    (void)state;
    has_user_limits = true;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run_with(seed, seed % 4 == 0);
    has_user_limits = false;
    assert_true(n_of_user > SEEDS / 4);
}

/* Surplus in another rack made room below the tenant's limit. */
static void what_a_limit_stops_takes_surplus_of_other_domains_too(void **state)
{
    (void)state;
    run(50972);
}

/* The surplus on one node was enough, but a whole gang that went with it left another. */
static void no_gang_leaves_for_having_been_looked_at_with_enough_surplus(void **state)
{
    (void)state;
    run(5015);
}

/* A claim found room without its victim, a gang or a pod, which others counted on. */
static void a_victim_that_is_spared_leaves_the_room_of_others(void **state)
{
    (void)state;
    run(575);
    run(1538);
    run(2153);
    run_with(21046, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_leaves_in_vain_or_for_ever),
        cmocka_unit_test(so_it_is_with_priorities_over_the_cluster),
        cmocka_unit_test(so_it_is_where_users_have_limits),
        cmocka_unit_test(what_a_limit_stops_takes_surplus_of_other_domains_too),
        cmocka_unit_test(no_gang_leaves_for_having_been_looked_at_with_enough_surplus),
        cmocka_unit_test(a_victim_that_is_spared_leaves_the_room_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
