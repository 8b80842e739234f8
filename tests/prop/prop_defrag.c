/* SPDX-License-Identifier: Apache-2.0 */
/* prop_defrag.c - random small sites with gangs that may be moved: every plan is legal by a count
 * of its own, whoever is moved starts again where its place was held, and where one move is
 * enough by trying all of them, a plan is found.
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
#include "core/claim.h"
#include "core/cycle.h"
#include "core/future.h"
#include "life/state_apply.h"
#include "view/defrag.h"
#include "../fake/fake_core.h"
#include "../fake/invariant.h"
#include "../sim/rng.h"

enum { SEEDS = 120, STEPS = 30, NODES = 6, GPUS = 8 };

#define HOUR_US (INT64_C(3600) * USEC_PER_SEC)

static uint64_t n_plans, n_moves, n_singles, n_missed, n_racks;

static void make(struct core *c)
{
    core_init(c);
    c->settings.node_lost_us = 1000 * HOUR_US; /* no claim ends by time */
    c->settings.defrag_gpu_us = UINT64_C(40) * HOUR_US;
    core_nodes(c, NODES);
    core_up(c);
}

static void submit(struct core *c, struct rng *g)
{
    static const uint32_t gpus[] = {1, 2, 3, 4, 5, 8, 8};
    bool is_large = rng_one_in(g, 4);
    struct spec *s = site_spec("job", is_large ? 1 + rng_below(g, 3) : 1,
                               is_large ? GPUS : gpus[rng_below(g, ARRAY_LEN(gpus))]);

    s->priority = rng_one_in(g, 4) ? 100 : 500;
    s->preemptible = SPEC_YES;
    s->is_movable = rng_below(g, 3) > 0;
    s->max_runtime_us = 1000 * HOUR_US;
    if (rng_one_in(g, 3))
        s->topology_required = rng_one_in(g, 2) ? "rack" : "block";
    (void)core_submit(c, s);
}

/* Two nodes a rack, two racks a block: core_nodes(). */
static uint32_t domain_at(const struct job *j, const struct core *c, uint32_t node)
{
    const struct hierarchy_setting *h = &c->settings.hierarchies[0];
    const char *level;

    if (j->demand->required == IX_NONE)
        return 0;
    level = h->levels[j->demand->required].name;
    return strcmp(level, "rack") == 0 ? node / 2 : node / 4;
}

static void count(const struct job *j, const struct core *c, const struct ev_placed *at,
                  int64_t free[NODES])
{
    uint32_t domain = domain_at(j, c, at->members[0].node_ix);

    assert_int_equal(at->n, j->demand->pods);
    for (uint32_t i = 0; i < at->n; i++) { /* all jobs here have one role */
        uint32_t node = at->members[i].node_ix;

        assert_true(node < NODES);
        assert_int_equal(domain_at(j, c, node), domain);
        free[node] -= j->demand->roles[0].each.amount[RES_GPUS];
        assert_true(free[node] >= 0);
    }
}

static void check_plan(const struct core *c, const struct ev_claimed *e)
{
    const struct job *taker = state_job(c->state, e->placed.job);
    int64_t free[NODES] = {0};
    uint64_t lost = 0;

    n_plans++;
    n_racks += taker->demand->required != IX_NONE;
    for (uint32_t ix = 0; ix < NODES; ix++)
        free[ix] = node_free_gpus(cluster_node(&c->state->cluster, ix));
    assert_true(e->n_victims > 0);
    for (uint32_t i = 0; i < e->n_victims; i++) {
        const struct job *v = state_job(c->state, e->victims[i].job);

        n_moves++;
        assert_int_equal(v->state, JOB_RUNNING);
        assert_true(v->is_movable && v->demand->is_preemptible);
        assert_true(v->priority <= taker->priority);
        assert_true(v->running_at + c->settings.min_runtime_us <= c->now);
        lost += (uint64_t)(c->now - v->running_at) * (v->charged_parts / GPU_PARTS);
        for (uint32_t k = 0; k < v->n_members; k++)
            free[v->members[k].node_ix] += v->demand->roles[0].each.amount[RES_GPUS];
    }
    assert_int_equal(lost, e->lost);
    assert_true(lost <= claim_moves_left(c->state, c->now));
    count(taker, c, &e->placed, free);
    for (uint32_t i = 0; i < e->n_victims; i++)
        count(state_job(c->state, e->victims[i].job), c, &e->moves[i], free);
}

static bool fits(const struct core *c, const struct cluster *fork, const struct job *j)
{
    uint64_t closed[1] = {0};
    struct state shadow = *c->state;
    struct bucket bucket = *j->bucket;
    struct job copy = *j;
    struct cluster_room room = {.on = fork, .closed = closed};
    struct event ev = {0};
    bool is_fit;

    backfill_close(c->state, j, closed);
    copy.bucket = &bucket;
    shadow.now = c->now;
    is_fit = cycle_try(&shadow, &copy, &room, &ev);
    event_fini(&ev);
    return is_fit;
}

/* Does the waiting gang start when this one goes to some other node? */
static bool is_enough(const struct core *c, const struct job *j, const struct job *v)
{
    struct cluster *fork = cluster_fork(&c->state->cluster);
    struct resources asks;
    uint64_t closed[1] = {0};
    bool is_fit = false;

    backfill_close(c->state, j, closed);
    state_pod_asks(v, 0, &asks);
    future_release(fork, v);
    for (uint32_t ix = 0; ix < NODES && !is_fit; ix++) {
        if (ix == v->members[0].node_ix || (closed[0] >> ix & 1) ||
            node_free_gpus(cluster_node(fork, ix)) < asks.amount[RES_GPUS])
            continue;
        cluster_hold(fork, ix, &asks);
        is_fit = fits(c, fork, j);
        cluster_release(fork, ix, &asks);
    }
    cluster_fork_free(fork);
    return is_fit;
}

/* For the first gang of each demand: where one move of one pod is enough, there is a plan. */
static void check_singles(const struct core *c)
{
    struct defrag_plan p;

    for (size_t i = 0; i < c->state->active.n; i++)
        if (c->state->active.v[i]->is_leaving || c->state->active.v[i]->state > JOB_RUNNING)
            return; /* that may be enough already */
    for (const struct bucket *b = c->state->buckets; b; b = b->hh.next) {
        const struct job *j = b->head;
        bool is_enough_here = false;

        if (fits(c, &c->state->cluster, j))
            continue;
        for (size_t i = 0; i < c->state->active.n && !is_enough_here; i++) {
            const struct job *v = c->state->active.v[i];

            is_enough_here = v->state == JOB_RUNNING && v->is_movable && v->n_members == 1 &&
                             v->priority <= j->priority && !v->is_leaving &&
                             v->running_at + c->settings.min_runtime_us <= c->now &&
                             is_enough(c, j, v);
        }
        if (!is_enough_here)
            continue;
        n_singles++;
        n_missed += !defrag_plan_for(c->state, j, c->now, UINT64_MAX, &p);
        if (p.taker)
            defrag_plan_fini(&p);
    }
}

static void check(const struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
    assert_true(c->state->meta.moves_lost <= c->settings.defrag_gpu_us);
}

static void decide(struct core *c, bool may_move)
{
    struct event ev;

    while (cycle_next(c->state, c->now, &ev) || (may_move && defrag_next(c->state, c->now, &ev))) {
        if (ev.kind == EV_GANG_CLAIMED && ev.u.claimed.moves)
            check_plan(c, &ev.u.claimed);
        if (ev.kind == EV_CLAIM_OVER)
            assert_true(ev.u.claim.is_ready); /* nobody was moved in vain, or to nowhere */
        state_apply(c->state, &ev, &c->fx);
        event_fini(&ev);
        check(c);
    }
}

/* What was placed runs; some end; those who were told are gone, not always at once. */
static void live(struct core *c, struct rng *g)
{
    for (size_t i = c->state->active.n; i-- > 0;) {
        struct job *j = i < c->state->active.n ? c->state->active.v[i] : NULL;

        if (!j)
            continue;
        if (j->state == JOB_BINDING)
            core_see_all(c, j->id, POD_RUNNING);
        else if (j->state == JOB_PREEMPTING && rng_one_in(g, 2))
            core_gone_all(c, j->id);
        else if (j->state == JOB_RUNNING && !j->is_leaving && rng_one_in(g, 12)) {
            core_see_all(c, j->id, POD_SUCCEEDED);
            core_service_gone(c, j->id);
        }
    }
    core_forget(c);
}

static void every_plan_is_legal_and_comes_true(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct core c;

        make(&c);
        for (int step = 0; step < STEPS; step++) {
            core_pass(&c, rng_between(&g, 1, 900) * USEC_PER_SEC);
            for (uint32_t n = rng_below(&g, 4); n > 0; n--)
                submit(&c, &g);
            decide(&c, false);
            check_singles(&c);
            decide(&c, true);
            live(&c, &g);
        }
        core_fini(&c);
    }
    printf("%llu plans, %llu moves, %llu for a level; %llu where one is enough, %llu missed\n",
           (unsigned long long)n_plans, (unsigned long long)n_moves, (unsigned long long)n_racks,
           (unsigned long long)n_singles, (unsigned long long)n_missed);
    assert_true(n_plans > SEEDS / 4);
    assert_true(n_moves > n_plans && n_racks > SEEDS / 20);
    assert_true(n_singles > SEEDS / 4);
    assert_int_equal(n_missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_plan_is_legal_and_comes_true)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
