/* SPDX-License-Identifier: Apache-2.0 */
/* prop_estimate.c - over random runs: what is predicted comes true, and predicting changes nothing.
 *
 * Run times are exact, pods start at once, nothing new arrives and no node fails: all that a
 * prediction rests on. The world is then played by events, as an engine would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "view/estimate.h"
#include "core/backfill.h"
#include "core/order.h"
#include "spec/week.h"

#include "../fake/fake_core.h"
#include "../sim/rng.h"

enum { SEEDS = 200, STEPS = 25, JOBS = 200 };

static struct spec *random_spec(const struct core *c, struct rng *g)
{
    static const char *const tenants[] = {"t", "u", "u/v"};
    uint32_t gpus = rng_one_in(g, 3) ? (uint32_t)rng_between(g, 1, 4) : 8;
    struct spec *s = site_spec("job", (uint32_t)rng_between(g, 1, 5), gpus);

    s->max_runtime_us = rng_between(g, 1, 40) * 300 * USEC_PER_SEC;
    s->priority = c->settings.classes[settings_class(&c->settings, "normal")].value +
                  rng_one_in(g, 3); /* above normal: it may preempt */
    s->tenant = tenants[rng_below(g, 3)];
    s->topology_required = rng_one_in(g, 4) ? "rack" : NULL;
    if (rng_one_in(g, 6))
        s->max_queue_us = rng_between(g, 1, 20) * 300 * USEC_PER_SEC;
    return s;
}

static void submit(struct core *c, struct rng *g)
{
    (void)core_submit(c, random_spec(c, g));
}

/* All pods that were decided run at once. */
static void run_placed(struct core *c)
{
    for (size_t i = 0; i < c->state->active.n; i++)
        if (c->state->active.v[i]->state == JOB_BINDING)
            core_see_all(c, c->state->active.v[i]->id, POD_RUNNING);
}

/* Of each tenant, what part of its maxRuntime a run takes that has not lasted longer at usual_from;
 * 0: all of it. */
static usec_t usual[3], usual_from;

/* A victim takes all of its grace. */
static usec_t end_of(const struct job *j)
{
    usec_t end = j->running_at + j->max_runtime_us / 1000 * usual[j->tenant_ix];

    if (j->state == JOB_PREEMPTING)
        return j->state_since + j->grace_us;
    return usual[j->tenant_ix] && end > usual_from ? end : j->running_at + j->max_runtime_us;
}

/* From now on runs are shorter, and that is known. */
static void shorten(struct core *c)
{
    usual_from = c->now;
    usual[0] = 500;
    usual[1] = 250;
    for (uint32_t t = 0; t < c->settings.n_tenants; t++) {
        struct tenant_pace *p = &c->state->tenants.v[t].pace;

        *p = (struct tenant_pace){0};
        for (int run = 0; usual[t] && run < PACE_RUNS_MIN; run++)
            tenant_ran(&c->state->tenants, t, usual[t] * USEC_PER_SEC, 1000 * USEC_PER_SEC);
    }
}

static void end_due(struct core *c)
{
    for (size_t i = c->state->active.n; i-- > 0;) {
        struct job *j = c->state->active.v[i];

        if (end_of(j) > c->now)
            continue;
        if (j->state == JOB_PREEMPTING) {
            core_gone_all(c, j->id);
            continue;
        }
        core_see_all(c, j->id, POD_SUCCEEDED);
        core_service_gone(c, j->id);
    }
}

static usec_t until; /* then all windows were tried on what is left */

/* To the next end, or time to give up, or begin or end of a window. false: there is none. */
static bool to_next(struct core *c)
{
    usec_t at = INT64_MAX;

    for (size_t i = 0; i < c->state->active.n; i++)
        at = end_of(c->state->active.v[i]) < at ? end_of(c->state->active.v[i]) : at;
    for (size_t i = 0; i < c->state->by_id.n; i++) {
        const struct job *j = c->state->by_id.v[i];

        if (j->state == JOB_PENDING && j->max_queue_us && j->queued_at + j->max_queue_us < at)
            at = j->queued_at + j->max_queue_us;
    }
    if (c->state->mature_at > c->now && c->state->mature_at < at)
        at = c->state->mature_at;
    until = at < INT64_MAX ? at + WEEK_US : until;
    for (uint32_t t = 0; t < c->settings.n_tenants; t++) {
        usec_t changes = week_changes(&c->settings, t, c->now);

        at = changes < at && changes <= until ? changes : at;
    }
    if (at == INT64_MAX)
        return false;
    c->now = at > c->now ? at : c->now;
    end_due(c);
    core_pass(c, 0);
    return true;
}

static void settle(struct core *c)
{
    (void)core_cycle(c);
    run_placed(c);
    core_forget(c);
}

static void begin(struct core *c, struct rng *g, bool has_windows)
{
    core_init(c);
    (void)site_tenant(&c->settings, "u");
    (void)site_tenant(&c->settings, "u/v");
    until = INT64_MAX;
    memset(usual, 0, sizeof(usual));
    for (uint32_t t = 0; t < c->settings.n_tenants && has_windows; t++)
        if (rng_one_in(g, 2))
            site_windows(&c->settings.tenants[t], g->s, SITE_H100);
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 6);
    core_up(c);
    for (int step = 0; step < STEPS; step++) {
        for (uint32_t n = rng_below(g, 4); n > 0; n--)
            submit(c, g);
        settle(c);
        if (rng_one_in(g, 2))
            (void)to_next(c);
        settle(c);
    }
}

struct guess {
    struct job_id job;
    struct estimate e;
    usec_t started_at;    /* first, later it may have to make room; 0: never */
    enum job_state state; /* the last that was seen: its record goes some time after its end */
    uint32_t attempt;
};

static void see_starts(const struct core *c, struct guess *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct job *j = state_job(c->state, v[i].job);

        if (!j)
            continue;
        v[i].state = j->state;
        v[i].attempt = j->attempt;
        if (!v[i].started_at && j->state == JOB_RUNNING)
            v[i].started_at = j->attempt_at;
    }
}

static uint32_t guess_all(const struct core *c, struct guess ret[JOBS])
{
    struct estimates *e = estimates_create();
    uint32_t n = 0;

    for (size_t i = 0; i < c->state->by_id.n && n < JOBS; i++) {
        const struct job *j = c->state->by_id.v[i];

        if (j->state != JOB_PENDING)
            continue;
        ret[n] = (struct guess){.job = j->id};
        estimate_of(e, c->state, j, c->now, &ret[n++].e);
    }
    estimates_destroy(e);
    return n;
}

static bool is_right(const struct guess *g)
{
    if (g->e.kind == ESTIMATE_START)
        return g->started_at == g->e.at;
    if (g->e.kind == ESTIMATE_NEVER)
        return g->state == JOB_PENDING;
    return g->e.kind == ESTIMATE_TIMES_OUT && g->state == JOB_TIMED_OUT && !g->started_at;
}

static void compare(uint64_t seed, const struct guess *g)
{
    char text[ESTIMATE_TEXT_MAX];

    if (!is_right(g))
        fail_msg("seed %llu: %llx (%s): predicted %lld (%s), was %lld", (unsigned long long)seed,
                 (unsigned long long)g->job.v, job_state_name(g->state), (long long)g->e.at,
                 estimate_text(text, &g->e), (long long)g->started_at);
}

/* What came of predictions, in all runs. */
struct tally {
    uint64_t compared, timed_out, preempted, late, earlier;
};

static void predict(uint64_t seed, bool has_windows, struct tally *t)
{
    static struct guess guesses[JOBS];
    struct rng g = {seed};
    struct core c;
    uint32_t n;

    begin(&c, &g, has_windows);
    n = guess_all(&c, guesses);
    do {
        settle(&c);
        see_starts(&c, guesses, n);
    } while (to_next(&c));
    for (uint32_t i = 0; i < n; i++) {
        const struct guess *v = &guesses[i];

        compare(seed, v);
        t->timed_out += v->e.kind == ESTIMATE_TIMES_OUT;
        t->preempted += v->attempt > 1;
        t->late += v->started_at > 0 && v->started_at / USEC_PER_SEC % 60 == 0; /* as windows */
    }
    t->compared += n;
    core_fini(&c);
}

static void predicted_starts_come_true_when_run_times_are_exact(void **state)
{
    struct tally t = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        predict(seed, false, &t);
    assert_true(t.compared > 10 * SEEDS);
    assert_true(t.timed_out > SEEDS / 4);
    assert_true(t.preempted > SEEDS / 4);
}

static void predicted_starts_come_true_where_tenants_have_windows(void **state)
{
    struct tally t = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        predict(seed, true, &t);
    assert_true(t.compared > 10 * SEEDS);
    assert_true(t.late > SEEDS);
}

/* What is said of the usual run, when all runs are so, where that is known. */
static void predicted_starts_come_true_when_runs_are_as_long_as_usual(void **state)
{
    static struct guess guesses[JOBS];
    struct tally t = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct core c;
        uint32_t n;

        begin(&c, &g, seed % 2);
        shorten(&c);
        n = guess_all(&c, guesses);
        do {
            settle(&c);
            see_starts(&c, guesses, n);
        } while (to_next(&c));
        for (uint32_t i = 0; i < n; i++) {
            struct guess v = guesses[i];

            v.e.at = v.e.usual_at;
            v.e.kind = v.e.usual_at ? ESTIMATE_START : v.e.kind;
            if (v.e.usual_at)
                compare(seed, &v);
            t.compared += v.e.usual_at > 0;
            t.earlier += v.e.usual_at && v.e.usual_at < guesses[i].e.at;
        }
        core_fini(&c);
    }
    assert_true(t.compared > 10 * SEEDS);
    assert_true(t.earlier > 5 * SEEDS);
}

/* At the instant at which its victims have gone. */
static void a_job_with_a_claim_is_predicted_to_time_out_as_it_does(void **state)
{
    struct tally t = {0};

    (void)state;
    predict(1577, true, &t);
    predict(2073, true, &t);
}

static uint64_t mix(uint64_t h, const void *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        h = (h ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Of every byte of the state that a decision reads. */
static uint64_t digest(const struct state *s)
{
    uint64_t h = mix(UINT64_C(0xcbf29ce484222325), s, sizeof(*s));

    for (size_t i = 0; i < s->by_id.n; i++) {
        h = mix(h, s->by_id.v[i], sizeof(*s->by_id.v[i]));
        h = mix(h, s->by_id.v[i]->members, s->by_id.v[i]->n_members * sizeof(struct member));
    }
    for (size_t i = 0; i < s->cluster.nodes.n; i++)
        h = mix(h, s->cluster.nodes.v[i], sizeof(*s->cluster.nodes.v[i]));
    for (size_t i = 0; i < s->cluster.topology.domains.n; i++)
        h = mix(h, s->cluster.topology.domains.v[i], sizeof(struct domain));
    for (int m = 0; m < MODELS_MAX; m++)
        if (s->cluster.topology.all[m])
            h = mix(h, s->cluster.topology.all[m], sizeof(struct free_histogram));
    for (const struct bucket *b = s->buckets; b; b = b->hh.next)
        h = mix(h, b, sizeof(*b));
    for (const struct demand *d = s->demands; d; d = d->hh.next)
        h = mix(h, &d->n_jobs, sizeof(d->n_jobs));
    h = mix(h, s->tenants.v, s->settings->n_tenants * sizeof(*s->tenants.v));
    return mix(h, &(uint64_t){backfill_gen(s)}, sizeof(uint64_t));
}

static void try_one(struct core *c, struct rng *g)
{
    const char *const without[] = {"n1", "nope"};
    struct estimate_wish wish = {
        .spec = random_spec(c, g), .n_without = rng_below(g, 3), .without = without};
    struct spec_pair rack = {"rack", "new"};
    struct estimate_try t;

    wish.more = (struct estimate_growth){rng_below(g, 3), "n0", {&rack, rng_below(g, 2)}};
    (void)snprintf(wish.caller.user, sizeof(wish.caller.user), "alice");
    assert_int_equal(estimate_try(c->state, &wish, c->now, &t, NULL), 0);
    assert_true(t.eta.kind != ESTIMATE_NONE);
    assert_true(t.work > c->state->cluster.nodes.n); /* so that no caller has the loop for itself */
    estimate_try_fini(&t);
}

/* The prediction for a job that is not submitted is what the same job then does. */
static void a_job_that_is_tried_starts_when_it_was_said(void **state)
{
    uint64_t compared = 0, usual_compared = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed}, again;
        struct estimate_wish wish = {.n_without = 0};
        struct estimate_try t;
        struct guess guess;
        struct core c;

        begin(&c, &g, false);
        if (seed % 2)
            shorten(&c);
        again = g;
        wish.spec = random_spec(&c, &g);
        (void)snprintf(wish.caller.user, sizeof(wish.caller.user), "alice");
        assert_int_equal(estimate_try(c.state, &wish, c.now, &t, NULL), 0);
        guess = (struct guess){.e = t.eta};
        if (t.eta.usual_at)
            guess.e = (struct estimate){.kind = ESTIMATE_START, .at = t.eta.usual_at};
        estimate_try_fini(&t);
        if (seed % 2 && !t.eta.usual_at) { /* when it will not start is not told */
            core_fini(&c);
            continue;
        }
        usual_compared += seed % 2;
        submit(&c, &again);
        guess.job = c.state->by_id.v[c.state->by_id.n - 1]->id;
        do {
            settle(&c);
            see_starts(&c, &guess, 1);
        } while (to_next(&c));
        compare(seed, &guess);
        compared += guess.e.kind == ESTIMATE_START;
        core_fini(&c);
    }
    assert_true(compared > SEEDS / 2);
    assert_true(usual_compared > SEEDS / 4);
}

/* The same, when the nodes come that it was told of. */
static void nodes_that_are_added_in_an_estimate_do_what_real_ones_do(void **state)
{
    uint64_t compared = 0, earlier = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed}, again;
        struct estimate_wish wish = {.more = {(uint32_t)(1 + seed % 3), "n0", {NULL, 0}}};
        struct estimate_try t, without;
        struct guess guess;
        struct core c;
        char name[16];

        begin(&c, &g, false);
        again = g;
        wish.spec = random_spec(&c, &g);
        (void)snprintf(wish.caller.user, sizeof(wish.caller.user), "alice");
        assert_int_equal(estimate_try(c.state, &wish, c.now, &t, NULL), 0);
        guess = (struct guess){.e = t.eta};
        estimate_try_fini(&t);
        g = again;
        wish.spec = random_spec(&c, &g);
        wish.more.n = 0;
        assert_int_equal(estimate_try(c.state, &wish, c.now, &without, NULL), 0);
        earlier += guess.e.kind == ESTIMATE_START &&
                   (without.eta.kind != ESTIMATE_START || guess.e.at < without.eta.at);
        estimate_try_fini(&without);
        submit(&c, &again);
        guess.job = c.state->by_id.v[c.state->by_id.n - 1]->id;
        for (uint64_t i = 0; i < 1 + seed % 3; i++) {
            (void)snprintf(name, sizeof(name), "what-if-%u", (unsigned)i + 1);
            core_node(&c, site_node(name, "b0", "r0", SITE_H100, 8));
        }
        do {
            settle(&c);
            see_starts(&c, &guess, 1);
        } while (to_next(&c));
        compare(seed, &guess);
        compared += guess.e.kind == ESTIMATE_START;
        core_fini(&c);
    }
    assert_true(compared > SEEDS / 2);
    assert_true(earlier > SEEDS / 8);
}

static void an_estimate_leaves_every_byte_of_the_state(void **state)
{
    static struct guess guesses[JOBS];

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS / 4; seed++) {
        struct rng g = {seed};
        struct core c;
        uint64_t before;

        begin(&c, &g, false);
        submit(&c, &g);
        (void)order_number(c.state); /* positions are kept in the jobs, for whoever asks first */
        before = digest(c.state);
        (void)guess_all(&c, guesses);
        try_one(&c, &g);
        if (digest(c.state) != before)
            fail_msg("seed %llu", (unsigned long long)seed);
        core_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predicted_starts_come_true_when_run_times_are_exact),
        cmocka_unit_test(predicted_starts_come_true_where_tenants_have_windows),
        cmocka_unit_test(predicted_starts_come_true_when_runs_are_as_long_as_usual),
        cmocka_unit_test(a_job_with_a_claim_is_predicted_to_time_out_as_it_does),
        cmocka_unit_test(a_job_that_is_tried_starts_when_it_was_said),
        cmocka_unit_test(nodes_that_are_added_in_an_estimate_do_what_real_ones_do),
        cmocka_unit_test(an_estimate_leaves_every_byte_of_the_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
