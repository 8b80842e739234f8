/* SPDX-License-Identifier: Apache-2.0 */
/* prop_backfill.c - over random runs: a reserved start never moves later while its gang waits, and
 * what a reservation leaves is what it would be if it were counted anew.
 *
 * One tenant, nodes that stay; for the first also one priority: what may move a start later (a gang
 * that goes first, lost capacity) does not happen, so that only backfilled gangs could.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/backfill.h"

#include "../fake/fake_core.h"
#include "../sim/rng.h"

enum { SEEDS = 150, STEPS = 60 };

static void make(struct core *c)
{
    core_init(c);
    core_nodes(c, 4);
    core_up(c);
}

static void submit(struct core *c, struct rng *g, int32_t priority)
{
    uint32_t each = rng_one_in(g, 3) ? 4 : 8;
    struct spec *s = site_spec("job", 1 + rng_below(g, 4), each);

    s->max_runtime_us = rng_between(g, 1, 20) * 600 * USEC_PER_SEC;
    s->priority = priority;
    (void)core_submit(c, s);
}

/* Ends come at the latest end or before, as the kubelet and maxRuntime make them. */
static void end_some(struct core *c, struct rng *g)
{
    for (size_t i = c->state->active.n; i-- > 0;) {
        struct job *j = c->state->active.v[i];

        if (c->now + 600 * USEC_PER_SEC < backfill_end(j, 0) && !rng_one_in(g, 8))
            continue;
        core_see_all(c, j->id, POD_SUCCEEDED);
        core_service_gone(c, j->id);
    }
}

struct watch {
    struct job_id job; /* whose reservation was seen last */
    usec_t at;
    uint64_t compared, held_back;
};

/* The reservation against the one seen after the last step. */
static void look(const struct core *c, struct watch *w, uint64_t seed)
{
    for (size_t i = 0; i < c->state->by_id.n; i++) {
        struct job *j = c->state->by_id.v[i];
        struct reserved r;

        w->held_back += j->bucket && j->bucket->is_held_back;
        if (j->state != JOB_PENDING || !backfill_own(c->state, j, &r))
            continue;
        if (w->job.v == j->id.v && r.at > w->at)
            fail_msg("seed %llu: %s from %lld to %lld", (unsigned long long)seed, j->name,
                     (long long)w->at, (long long)r.at);
        w->compared += w->job.v == j->id.v;
        w->job = j->id;
        w->at = r.at;
    }
}

static void a_reserved_start_never_moves_later(void **state)
{
    struct watch w = {.compared = 0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct core c;

        make(&c);
        w.job.v = 0;
        for (int step = 0; step < STEPS; step++) {
            core_pass(&c, rng_between(&g, 1, 300) * USEC_PER_SEC);
            end_some(&c, &g);
            for (uint32_t n = rng_below(&g, 3); n > 0; n--)
                submit(&c, &g, 500);
            (void)core_cycle(&c);
            look(&c, &w, seed);
            core_forget(&c);
        }
        core_fini(&c);
    }
    assert_true(w.compared > SEEDS);
    assert_true(w.held_back > SEEDS);
}

/* Some run from now on: their latest ends move earlier. */
static void run_some(struct core *c, struct rng *g)
{
    for (size_t i = 0; i < c->state->active.n; i++)
        if (c->state->active.v[i]->state == JOB_BINDING && rng_one_in(g, 2))
            core_see_all(c, c->state->active.v[i]->id, POD_RUNNING);
}

typedef VEC(struct resources) used_list;

/* What is taken of each node at the reserved times. */
static void note_used(const struct core *c, used_list *ret)
{
    const struct cluster *const *beside;
    uint32_t n = backfill_beside(c->state, UINT64_MAX, &beside);

    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < c->state->cluster.nodes.n; k++)
            *vec_push(ret) = beside[i]->nodes.v[k]->used;
}

/* The forks as they were followed, and made anew. */
static uint64_t compare_forks(struct core *c, uint64_t seed)
{
    used_list were = {0}, are = {0};
    uint64_t n;

    note_used(c, &were);
    backfill_claimed(c->state);
    note_used(c, &are);
    n = were.n;
    if (were.n != are.n || (n && memcmp(were.v, are.v, n * sizeof(were.v[0])) != 0))
        fail_msg("seed %llu: a reservation leaves something else", (unsigned long long)seed);
    vec_fini(&were);
    vec_fini(&are);
    return n;
}

static void what_a_reservation_leaves_follows_the_cluster(void **state)
{
    uint64_t compared = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct core c;

        make(&c);
        for (int step = 0; step < STEPS; step++) {
            core_pass(&c, rng_between(&g, 1, 300) * USEC_PER_SEC);
            run_some(&c, &g);
            compared += compare_forks(&c, seed);
            end_some(&c, &g);
            compared += compare_forks(&c, seed);
            for (uint32_t n = rng_below(&g, 3); n > 0; n--)
                submit(&c, &g, rng_one_in(&g, 3) ? 900 : 500);
            (void)core_cycle(&c);
            compared += compare_forks(&c, seed);
            core_forget(&c);
        }
        core_fini(&c);
    }
    assert_true(compared > SEEDS * STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reserved_start_never_moves_later),
        cmocka_unit_test(what_a_reservation_leaves_follows_the_cluster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
