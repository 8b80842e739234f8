/* SPDX-License-Identifier: Apache-2.0 */
/* test_preempt_again.c - a taker that was blocked looks again when victims would do now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/two_tenants.h"
#include "core/backfill.h"

enum { LOW = 100, HIGH = 800 };

static void a_taker_looks_again_when_what_was_to_end_anyway_is_no_help(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "b", "low", LOW, 2),
               *other = two_running(c, "a", "other", LOW, 2);
    struct job *taker;
    struct node_fact *f;

    (void)core_cancel(c, low->id);
    taker = two_submit(c, "a", "taker", HIGH, 2);
    assert_int_equal(core_cycle(c), 0); /* low's nodes are enough */
    f = site_node("n0", "b0", "r0", SITE_H100, 8);
    f->is_cordoned = true;
    core_node(c, f);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(other->state, JOB_PREEMPTING);
    assert_non_null(taker->claim);
    two_check(c);
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
    low = two_running(c, "a", "low", LOW, 2);
    s = site_spec("ahead", 2, 8);
    s->tenant = s->ns = "b";
    s->priority = HIGH + 1;
    s->preemption_policy = "Never";
    ahead = core_job(c, core_submit(c, s));
    taker = two_submit(c, "b", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, ahead, NULL));
    (void)core_cancel(c, ahead->id);
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal(low->state, JOB_PREEMPTING);
    two_check(c);
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
    low = two_running(c, "a", "low", LOW, 1);
    taker = two_submit(c, "a", "taker", HIGH, 2);
    assert_int_equal(core_cycle(c), 0);
    (void)core_cancel(c, fixed[0]->id);
    core_gone_all(c, fixed[0]->id);
    core_service_gone(c, fixed[0]->id);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
    assert_non_null(taker->claim);
    two_check(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, two_set_up, core_tear_down)

static void a_taker_whose_tenant_is_at_its_limit_takes_from_its_own(void **state)
{
    struct core *c = *state;
    struct job *low, *taker;

    c->settings.tenants[1].limit.gpus[SITE_H100] = 24;
    low = two_running(c, "a", "low", LOW, 2);
    taker = two_submit(c, "a", "taker", HIGH, 2); /* two nodes are free */
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

/* What a running gang of b says when a's taker has looked, with priorities over the cluster. */
static enum job_state low_after(struct core *c, int64_t b_quota, uint32_t pods)
{
    struct job *low;

    c->settings.is_priority_first = true;
    c->settings.tenants[2].quota.gpus[SITE_H100] = b_quota;
    low = two_running(c, "b", "low", LOW, 4);
    (void)two_submit(c, "a", "taker", HIGH, pods);
    (void)core_cycle(c);
    two_check(c);
    return low->state;
}

static void in_a_cluster_of_priorities_a_lower_gang_of_another_tenant_leaves(void **state)
{
    struct core *c = *state;
    struct job *taker;

    c->settings.tenants[1].quota.gpus[SITE_H100] = 0; /* a share would give it nothing */
    assert_int_equal(low_after(c, 0, 2), JOB_PREEMPTING);
    taker = c->state->claims.v[0];
    core_gone_all(c, taker->claim->victims[0].job);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    core_see_all(c, taker->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_RUNNING); /* it is not reclaimed */
    two_check(c);
}

static void in_a_cluster_of_priorities_a_quota_holds(void **state)
{
    struct core *c = *state;

    assert_int_equal(low_after(c, 32, 2), JOB_RUNNING);
}

static void in_a_cluster_of_priorities_what_has_no_quota_leaves(void **state)
{
    struct core *c = *state;

    c->settings.tenants[1].quota.gpus[SITE_H100] = 0;
    assert_int_equal(low_after(c, 0, 3), JOB_PREEMPTING);
}

static void in_a_cluster_of_priorities_equal_ones_stay(void **state)
{
    struct core *c = *state;
    struct job *equal;

    c->settings.is_priority_first = true;
    c->settings.tenants[2].quota.gpus[SITE_H100] = 32;
    equal = two_running(c, "b", "equal", HIGH, 4);
    (void)two_submit(c, "a", "taker", HIGH, 1);
    (void)core_cycle(c);
    assert_int_equal(equal->state, JOB_RUNNING);
    two_check(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_taker_whose_tenant_is_at_its_limit_takes_from_its_own),
        TEST(a_taker_looks_again_when_what_was_to_end_anyway_is_no_help),
        TEST(a_taker_looks_again_when_nodes_are_not_reserved_any_more),
        TEST(a_taker_looks_again_when_a_node_helps_beside_what_victims_give),
        TEST(in_a_cluster_of_priorities_a_lower_gang_of_another_tenant_leaves),
        TEST(in_a_cluster_of_priorities_a_quota_holds),
        TEST(in_a_cluster_of_priorities_what_has_no_quota_leaves),
        TEST(in_a_cluster_of_priorities_equal_ones_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
