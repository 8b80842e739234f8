/* SPDX-License-Identifier: Apache-2.0 */
/* prop_order.c - the next gang by buckets against a choice that looks at every pending job.
 *
 * Flat tenants without quota and one model, so that "over quota" is the same for all and the
 * share alone decides between tenants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/backfill.h"
#include "core/cycle.h"
#include "core/opening.h"
#include "core/order.h"
#include "core/share.h"
#include "life/state_apply.h"
#include "spec/week.h"

#include "../fake/fake_core.h"
#include "../sim/rng.h"

enum { SEEDS = 1000, STEPS = 60, TENANTS = 4, USERS = 3 };

typedef VEC(struct job *) awake_list;

static void make(struct core *c, struct rng *g)
{
    core_init(c);
    c->settings.shares_users = rng_one_in(g, 2);
    c->settings.half_life_us = rng_one_in(g, 2) ? 0 : 10 * USEC_PER_SEC;
    for (uint32_t i = 1; i < TENANTS; i++) {
        char name[4];
        struct tenant_setting *t;

        (void)snprintf(name, sizeof(name), "t%u", (unsigned)i);
        t = &c->settings.tenants[site_tenant(&c->settings, name)];
        t->weight = rng_below(g, 4);
        if (rng_one_in(g, 2))
            t->limit.gpus[SITE_H100] = rng_between(g, 0, 24);
        if (rng_one_in(g, 4))
            site_windows(t, g->s, MODELS_MAX);
    }
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
}

static void submit(struct core *c, struct rng *g)
{
    uint32_t each = rng_one_in(g, 2) ? 8 : 4;
    struct spec *s = site_spec("job", 1 + rng_below(g, 3), each);

    struct event ev = {.u.submit = {.spec = s, .caller.uid = rng_below(g, USERS)}};

    s->tenant = c->settings.tenants[rng_below(g, TENANTS)].path;
    s->priority = rng_one_in(g, 3) ? 900 : 500;
    c->n_requests++;
    memcpy(ev.u.submit.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    (void)core_ask(c, &ev);
}

static void end_some(struct core *c, struct rng *g)
{
    struct job *j;

    if (c->state->active.n == 0)
        return;
    j = c->state->active.v[rng_below(g, (uint32_t)c->state->active.n)];
    if (rng_one_in(g, 3)) {
        core_refuse(c, j, 0, REFUSAL_TRY_LATER);
        core_gone_all(c, j->id);
    } else {
        core_see_all(c, j->id, POD_SUCCEEDED);
        core_service_gone(c, j->id);
    }
}

/* Does job a of its tenant go before b of another: smaller share for its weight, then age. */
static bool tenant_goes_before(const struct core *c, const struct job *a, const struct job *b)
{
    const struct job *of[2] = {a, b};
    uint64_t share[2], weight[2];

    for (int i = 0; i < 2; i++) {
        const struct tenant *t = &c->state->tenants.v[of[i]->tenant_ix];

        share[i] = share_held(t->used[SITE_H100] + of[i]->demand->gpus * GPU_PARTS) +
                   share_usage(&t->past[SITE_H100], t->used[SITE_H100], c->settings.half_life_us,
                               c->now); /* of the same total: exact */
        weight[i] = c->settings.tenants[of[i]->tenant_ix].weight;
    }
    if ((weight[0] == 0) != (weight[1] == 0))
        return weight[0] != 0;
    if (weight[0] && share[0] * weight[1] != share[1] * weight[0])
        return share[0] * weight[1] < share[1] * weight[0];
    if (a->submitted_at != b->submitted_at)
        return a->submitted_at < b->submitted_at;
    return a->id.v < b->id.v;
}

/* Of two users' first jobs in one tenant: priority, then the smaller share, then age. */
static bool user_goes_before(const struct core *c, const struct job *a, const struct job *b)
{
    const struct job *of[2] = {a, b};
    uint64_t share[2] = {0};

    if (!c->settings.shares_users || a->priority != b->priority)
        return order_is_before(a, b);
    for (int i = 0; i < 2; i++) {
        const struct user_share *u = tenant_account(&c->state->tenants, job_account(of[i]))->share;
        uint64_t held = 0;

        for (size_t k = 0; k < c->state->active.n; k++) {
            const struct job *j = c->state->active.v[k];

            held += j->uid == of[i]->uid && j->tenant_ix == of[i]->tenant_ix ? j->charged_parts : 0;
        }
        share[i] = share_held(held + of[i]->demand->gpus * GPU_PARTS) +
                   share_usage(&u->past[SITE_H100], held, c->settings.half_life_us, c->now);
    }
    return share[0] != share[1] ? share[0] < share[1] : order_is_before(a, b);
}

static struct job *naive_next(const struct core *c)
{
    struct job *of_user[TENANTS][USERS] = {{NULL}};
    struct job *best[TENANTS] = {NULL};
    struct job *winner = NULL;

    for (size_t i = 0; i < c->state->by_id.n; i++) {
        struct job *j = c->state->by_id.v[i];

        if (j->state != JOB_PENDING || j->not_before > c->now ||
            !order_is_awake(c->state, j->bucket) ||
            week_next(&c->settings, j->tenant_ix, c->now, backfill_end(j, c->now) - c->now) !=
                c->now)
            continue;
        if (!of_user[j->tenant_ix][j->uid] || order_is_before(j, of_user[j->tenant_ix][j->uid]))
            of_user[j->tenant_ix][j->uid] = j;
    }
    for (int t = 0; t < TENANTS; t++)
        for (int u = 0; u < USERS; u++)
            if (of_user[t][u] && (!best[t] || user_goes_before(c, of_user[t][u], best[t])))
                best[t] = of_user[t][u];
    for (int t = 0; t < TENANTS; t++)
        if (best[t] && (!winner || tenant_goes_before(c, best[t], winner)))
            winner = best[t];
    return winner;
}

/* One decision; false when there is none to take. */
static bool decide(struct core *c)
{
    struct event ev;

    if (!cycle_next(c->state, c->now, &ev))
        return false;
    state_apply(c->state, &ev, &c->fx);
    event_fini(&ev);
    return true;
}

static void note_awake(const struct core *c, awake_list *ret)
{
    for (size_t i = 0; i < c->state->by_id.n; i++) {
        struct job *j = c->state->by_id.v[i];

        if (j->bucket && j->not_before <= c->now && order_is_awake(c->state, j->bucket))
            *vec_push(ret) = j;
    }
}

/* Of those that were awake, those that sleep now could not start: tried as if nobody knew. Behind a
 * reservation only the first of them counts, a later one may end before it. */
static uint64_t try_dozing(struct core *c, const awake_list *were, uint64_t seed)
{
    uint64_t n = 0;

    for (size_t i = 0; i < were->n; i++) {
        struct job *j = were->v[i];
        struct event ev = {0};
        struct bucket was = *j->bucket;
        size_t first = 0;

        while (were->v[first]->bucket != j->bucket)
            first++;
        if (order_is_awake(c->state, j->bucket) || (was.is_held_back && first != i))
            continue;
        if (cycle_try(c->state, j, NULL, &ev))
            fail_msg("seed %llu: %s dozes", (unsigned long long)seed, j->name);
        *j->bucket = was;
        n++;
    }
    return n;
}

static void expect_first(struct core *c, const struct job *got, uint64_t seed)
{
    const struct job *want = naive_next(c);

    if (want != got)
        fail_msg("seed %llu: %s, not %s", (unsigned long long)seed, got ? got->name : "none",
                 want ? want->name : "none");
}

/* Block all that do not fit, one after the other, as a cycle does; how many. */
static uint64_t block_all(struct core *c, uint64_t seed)
{
    struct order_pass *p = order_begin(c->state, c->now);
    struct job *got = order_go_on(p);
    struct event ev = {0};
    uint64_t n = 0;

    expect_first(c, got, seed);
    while (got) {
        struct bucket *b = got->bucket;
        uint64_t gen = backfill_gen(c->state);

        b->is_blocked = false;
        b->seen_backfill_gen = gen;
        if (cycle_try(c->state, got, NULL, &ev))
            break;
        if (b->is_held_back && !b->is_limited && !b->is_shut)
            order_learn_behind(c->state, b, gen);
        backfill_blocked(c->state, got, c->now);
        order_block(c->state, b);
        got = order_go_on(p);
        expect_first(c, got, seed);
        n++;
    }
    if (got) { /* it is not started here, and so its bucket is to be looked at again */
        event_fini(&ev);
        order_wake(c->state, got->bucket);
    }
    order_end(p);
    return n;
}

struct found {
    uint64_t compared, dozed, blocked;
};

/* Decide all that can be decided, each time compared with the naive choice; how often, and how many
 * fell asleep without a turn, or were blocked while one pass went on. */
static void compare(struct core *c, uint64_t seed, struct found *f)
{
    do {
        struct order_pass *pass;
        struct job *got;
        awake_list were = {0};

        c->state->now = c->now;
        share_refresh(&c->state->tenants, c->now);
        backfill_begin(c->state, c->now); /* as a cycle begins */
        c->state->pass_gen = backfill_gen(c->state);
        note_awake(c, &were);
        pass = order_begin(c->state, c->now);
        got = order_go_on(pass); /* who is known to have no room sleeps after it */
        order_end(pass);
        expect_first(c, got, seed);
        f->dozed += try_dozing(c, &were, seed);
        f->compared += got != NULL;
        f->blocked += block_all(c, seed);
        vec_fini(&were);
    } while (decide(c));
}

static void try_seed(uint64_t seed, struct found *f)
{
    struct rng g = {seed};
    struct core c;

    make(&c, &g);
    for (int step = 0; step < STEPS; step++) {
        core_pass(&c, rng_between(&g, 0, (rng_one_in(&g, 8) ? 1200 : 3) * USEC_PER_SEC));
        for (uint32_t n = rng_below(&g, 4); n > 0; n--)
            submit(&c, &g);
        if (rng_one_in(&g, 2))
            end_some(&c, &g);
        compare(&c, seed, f);
        core_forget(&c);
    }
    core_fini(&c);
}

static void the_next_gang_is_the_one_that_a_look_at_all_would_choose(void **state)
{
    struct found f = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        try_seed(seed, &f);
    assert_true(f.compared > SEEDS * STEPS / 4);
    assert_true(f.dozed > SEEDS);
    assert_true(f.blocked > SEEDS);
}

/* Its head was in its back-off, and had no reservation before it. */
static void a_bucket_sleeps_by_the_gang_that_could_start(void **state)
{
    struct found f = {0};

    (void)state;
    try_seed(50346, &f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_gang_is_the_one_that_a_look_at_all_would_choose),
        cmocka_unit_test(a_bucket_sleeps_by_the_gang_that_could_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
