/* SPDX-License-Identifier: Apache-2.0 */
/* prop_sleep.c - kept verdicts against a cycle that forgets them all.
 *
 * When a cycle has ended with nothing to start, every gang that waits is tried as if nobody had
 * looked at it before: none may start. What only a reservation holds back is apart: to look again
 * may move the reservation. What only an operator's window holds back is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/cycle.h"
#include "core/order.h"
#include "core/window.h"
#include "util/mem.h"
#include "util/str.h"

#include "../fake/fake_core.h"
#include "../fake/invariant.h"
#include "../sim/rng.h"

enum { SEEDS = 200, STEPS = 60, TENANTS = 3 };

static void make(struct core *c, struct rng *g)
{
    core_init(c);
    for (uint32_t i = 1; i < TENANTS; i++) {
        char name[4];
        struct tenant_setting *t;

        (void)snprintf(name, sizeof(name), "t%u", (unsigned)i);
        t = &c->settings.tenants[site_tenant(&c->settings, name)];
        t->weight = 1 + rng_below(g, 3);
        if (rng_one_in(g, 2))
            t->limit.gpus[SITE_H100] = rng_between(g, 8, 32);
        if (rng_one_in(g, 3))
            t->quota.gpus[SITE_H100] = rng_between(g, 8, 32);
        if (rng_one_in(g, 3))
            site_windows(t, g->s, MODELS_MAX);
    }
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 7);
    core_node(c, site_node("h", "b9", "r0", SITE_H200, 8));
    core_up(c);
}

static void submit(struct core *c, struct rng *g)
{
    static const char *const levels[] = {NULL, NULL, "rack", "block", "host"};
    const char *model = rng_one_in(g, 2) ? "H100" : "H200";
    uint32_t each = 1u << rng_below(g, 4);
    struct spec *s = site_spec("job", 1 + rng_below(g, 4), each);

    s->topology_required = levels[rng_below(g, 5)];
    if (rng_one_in(g, 3))
        s->roles[0].gpu_models = (struct spec_strings){&model, 1};
    if (rng_one_in(g, 3))
        s->roles[0].cpu_milli = rng_between(g, 1, 50) * 1000;
    if (rng_one_in(g, 8)) {
        each = 1u << rng_below(g, 4);
        site_role(s, "more", 1 + rng_below(g, 2), each);
    }
    s->tenant = c->settings.tenants[rng_below(g, c->settings.n_tenants)].path;
    s->priority = rng_one_in(g, 3) ? 900 : 500;
    s->preemptible = rng_one_in(g, 5) ? SPEC_NO : SPEC_YES;
    s->max_runtime_us = rng_between(g, 1, 20) * 600 * USEC_PER_SEC;
    (void)core_submit(c, s);
}

static void change_node(struct core *c, struct rng *g)
{
    uint32_t i = rng_below(g, 7);
    char name[8], rack[8], block[8];
    struct node_fact *f;

    (void)snprintf(name, sizeof(name), "n%u", (unsigned)i);
    (void)snprintf(rack, sizeof(rack), "r%u", (unsigned)(i / 2 % 2));
    (void)snprintf(block, sizeof(block), "b%u", (unsigned)(i / 4));
    f = site_node(name, block, rack, SITE_H100, rng_one_in(g, 4) ? 4 : 8);
    f->is_ready = !rng_one_in(g, 3);
    core_node(c, f);
}

static void end_some(struct core *c, struct rng *g)
{
    struct job *j;

    if (c->state->active.n == 0)
        return;
    j = c->state->active.v[rng_below(g, (uint32_t)c->state->active.n)];
    if (rng_one_in(g, 4)) {
        core_refuse(c, j, 0, REFUSAL_TRY_LATER);
        core_gone_all(c, j->id);
    } else {
        core_see_all(c, j->id, rng_one_in(g, 3) ? POD_RUNNING : POD_SUCCEEDED);
        core_service_gone(c, j->id);
    }
}

/* An operator reserves some nodes for a time, for a tenant or for nobody, or does so no more. */
static void reserve(struct core *c, struct rng *g)
{
    struct event ev = {.kind = EV_WINDOW, .u.window = xcalloc(1, sizeof(struct ev_window))};
    struct ev_window *w = ev.u.window;
    struct str nodes = {0};

    c->n_requests++;
    memcpy(w->ref.request_id, &c->n_requests, sizeof(c->n_requests));
    w->is_over = rng_one_in(g, 3);
    (void)snprintf(w->window.name, sizeof(w->window.name), "w%u", (unsigned)rng_below(g, 4));
    if (rng_one_in(g, 2))
        (void)str_copy(w->window.tenant, sizeof(w->window.tenant),
                       c->settings.tenants[rng_below(g, c->settings.n_tenants)].path);
    w->window.from = c->now + rng_below(g, 180) * 60 * USEC_PER_SEC;
    w->window.to = w->window.from + rng_between(g, 1, 120) * 60 * USEC_PER_SEC;
    for (uint32_t i = rng_below(g, 7), n = 1 + rng_below(g, 7); n > 0; i = (i + 1) % 7, n--)
        str_addf(&nodes, "n%u\n", (unsigned)i);
    w->nodes = str_take(&nodes);
    (void)core_apply(c, &ev);
}

/* What happens in a step, by chance. */
static void disturb(struct core *c, struct rng *g)
{
    core_pass(c, rng_between(g, 0, 200) * USEC_PER_SEC);
    if (rng_one_in(g, 8))
        reserve(c, g);
    for (uint32_t n = rng_below(g, 4); n > 0; n--)
        submit(c, g);
    for (uint32_t n = rng_below(g, 3); n > 0; n--)
        end_some(c, g);
    if (rng_one_in(g, 10))
        change_node(c, g);
}

/* Try every gang that waits, and leave its bucket as it was; how many. */
static uint64_t try_all(struct core *c, uint64_t seed, uint64_t *n_shut)
{
    uint64_t n = 0;

    for (size_t i = 0; i < c->state->by_id.n; i++) {
        struct job *j = c->state->by_id.v[i];
        struct event ev = {0};
        struct bucket was;

        if (!j->bucket || j->not_before > c->now ||
            (j->bucket->is_held_back && !j->bucket->is_shut))
            continue;
        *n_shut += j->bucket->is_shut;
        was = *j->bucket;
        if (cycle_try(c->state, j, NULL, &ev))
            fail_msg("seed %llu: job of %u pods sleeps", (unsigned long long)seed,
                     (unsigned)j->demand->pods);
        *j->bucket = was;
        n++;
    }
    return n;
}

static void who_sleeps_could_not_start(void **state)
{
    uint64_t decided = 0, tried = 0, looks = 0, shut = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct core c;
        struct err err;

        make(&c, &g);
        for (int step = 0; step < STEPS; step++) {
            uint64_t before = c.state->n_evaluations;

            disturb(&c, &g);
            decided += (uint64_t)core_cycle(&c);
            looks += c.state->n_evaluations - before;
            tried += try_all(&c, seed, &shut);
            if (state_check(c.state, &err))
                fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
            core_forget(&c);
        }
        core_fini(&c);
    }
    assert_true(decided > SEEDS * STEPS / 2);
    assert_true(looks < tried / 2); /* they did sleep */
    assert_true(shut > SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_sleeps_could_not_start)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
