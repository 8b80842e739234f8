/* SPDX-License-Identifier: Apache-2.0 */
/* test_preempt_again.c - a taker that was blocked looks again when victims would do now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/fake_core.h"
#include "../fake/invariant.h"
#include "core/backfill.h"

enum { LOW = 100, HIGH = 800 };

static struct job *submit(struct core *c, const char *tenant, const char *name, int32_t priority,
                          uint32_t pods)
{
    struct spec *s = site_spec(name, pods, 8);

    s->tenant = s->ns = arena_strdup(&s->arena, tenant);
    s->priority = priority;
    return core_job(c, core_submit(c, s));
}

/* A gang that has run longer than minRuntime. */
static struct job *running(struct core *c, const char *tenant, const char *name, int32_t priority,
                           uint32_t pods)
{
    struct job *j = submit(c, tenant, name, priority, pods);

    (void)core_cycle(c);
    assert_int_equal(j->state, JOB_BINDING);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    assert_int_equal(j->state, JOB_RUNNING);
    return j;
}

static int set_up(void **state)
{
    struct core *c;

    if (core_set_up(state))
        return -1;
    c = *state;
    site_tenant(&c->settings, "a");
    site_tenant(&c->settings, "b");
    for (uint32_t t = 1; t < c->settings.n_tenants; t++)
        c->settings.tenants[t].quota.gpus[SITE_H100] = 16;
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
    return 0;
}

static void check(struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
}

static void a_taker_looks_again_when_what_was_to_end_anyway_is_no_help(void **state)
{
    struct core *c = *state;
    struct job *low = running(c, "b", "low", LOW, 2), *other = running(c, "a", "other", LOW, 2);
    struct job *taker;
    struct node_fact *f;

    (void)core_cancel(c, low->id);
    taker = submit(c, "a", "taker", HIGH, 2);
    assert_int_equal(core_cycle(c), 0); /* low's nodes are enough */
    f = site_node("n0", "b0", "r0", SITE_H100, 8);
    f->is_cordoned = true;
    core_node(c, f);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(other->state, JOB_PREEMPTING);
    assert_non_null(taker->claim);
    check(c);
}

static void a_taker_looks_again_when_nodes_are_not_reserved_any_more(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("fixed", 2, 8);
    struct job *fixed, *low, *ahead, *taker;

    s->tenant = s->ns = "a";
    s->preemptible = SPEC_NO;
    s->max_runtime_us *= 9;
    fixed = core_job(c, core_submit(c, s));
    (void)core_cycle(c);
    core_see_all(c, fixed->id, POD_RUNNING);
    low = running(c, "a", "low", LOW, 2);
    s = site_spec("ahead", 2, 8);
    s->tenant = s->ns = "b";
    s->priority = HIGH + 1;
    s->preemption_policy = "Never";
    ahead = core_job(c, core_submit(c, s));
    taker = submit(c, "b", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, ahead, NULL));
    (void)core_cancel(c, ahead->id);
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal(low->state, JOB_PREEMPTING);
    check(c);
}

static void a_taker_looks_again_when_a_node_helps_beside_what_victims_give(void **state)
{
    struct core *c = *state;
    struct job *fixed[2], *low, *taker;

    for (uint32_t i = 0; i < 2; i++) {
        struct spec *s = site_spec("fixed", i + 1, 8);

        s->tenant = s->ns = "b";
        s->preemptible = SPEC_NO;
        s->max_runtime_us *= 9;
        c->settings.tenants[2].quota.gpus[SITE_H100] = 24;
        fixed[i] = core_job(c, core_submit(c, s));
        (void)core_cycle(c);
        core_see_all(c, fixed[i]->id, POD_RUNNING);
    }
    low = running(c, "a", "low", LOW, 1);
    taker = submit(c, "a", "taker", HIGH, 2);
    assert_int_equal(core_cycle(c), 0);
    (void)core_cancel(c, fixed[0]->id);
    core_gone_all(c, fixed[0]->id);
    core_service_gone(c, fixed[0]->id);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
    assert_non_null(taker->claim);
    check(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, core_tear_down)

static void a_taker_whose_tenant_is_at_its_limit_takes_from_its_own(void **state)
{
    struct core *c = *state;
    struct job *low, *taker;

    c->settings.tenants[1].limit.gpus[SITE_H100] = 24;
    low = running(c, "a", "low", LOW, 2);
    taker = submit(c, "a", "taker", HIGH, 2); /* two nodes are free */
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    check(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_taker_whose_tenant_is_at_its_limit_takes_from_its_own),
        TEST(a_taker_looks_again_when_what_was_to_end_anyway_is_no_help),
        TEST(a_taker_looks_again_when_nodes_are_not_reserved_any_more),
        TEST(a_taker_looks_again_when_a_node_helps_beside_what_victims_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
