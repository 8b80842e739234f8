/* SPDX-License-Identifier: Apache-2.0 */
/* test_cycle.c - which gang is decided next, and which sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/cycle.h"
#include "../fake/invariant.h"
#include "life/state_apply.h"

#include "../fake/fake_core.h"

static struct job *submit(struct core *c, uint32_t replicas, uint32_t gpus)
{
    core_pass(c, USEC_PER_SEC);
    return core_job(c, core_submit(c, site_spec("job", replicas, gpus)));
}

static struct job *submit_as(struct core *c, const char *tenant, int32_t priority)
{
    struct spec *s = site_spec("job", 2, 8);

    core_pass(c, USEC_PER_SEC);
    s->tenant = tenant;
    s->priority = priority;
    return core_job(c, core_submit(c, s));
}

static void end(struct core *c, struct job *j)
{
    core_see_all(c, j->id, POD_SUCCEEDED);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_SUCCEEDED);
}

static void two_gangs_that_each_half_fit_never_leave_a_partial_one(void **state)
{
    struct core *c = *state;
    struct job *a = submit(c, 3, 8), *b = submit(c, 3, 8);

    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(a->state, JOB_BINDING);
    assert_int_equal(b->state, JOB_PENDING);
    assert_null(b->members);
    assert_int_equal(c->state->tenants.v[0].used[SITE_H100], 24 * GPU_PARTS);
    end(c, a);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(b->state, JOB_BINDING);
    assert_int_equal(b->n_members, 3);
}

static void a_gang_of_another_model_is_not_blocked(void **state)
{
    struct core *c = *state;
    struct job *big = submit(c, 5, 8), *other;
    struct spec *s = site_spec("other", 1, 8);
    const char *model = "H200";

    core_node(c, site_node("h200", "b0", "r0", SITE_H200, 8));
    s->roles[0].gpu_models = (struct spec_strings){&model, 1};
    other = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(big->state, JOB_PENDING);
    assert_int_equal(other->state, JOB_BINDING);
}

static void one_cycle_starts_all_that_fits(void **state)
{
    struct core *c = *state;

    for (int i = 0; i < 40; i++)
        (void)submit(c, 1, 1);
    assert_int_equal(core_cycle(c), 32);
    assert_int_equal(core_cycle(c), 0);
}

static void nothing_is_decided_before_the_lists_are_complete_or_without_the_api(void **state)
{
    struct core *c = *state;
    struct event down = {.kind = EV_CLUSTER};
    struct job *j = submit(c, 1, 1);

    (void)core_apply(c, &down);
    assert_int_equal(core_cycle(c), 0);
    core_up(c);
    c->state->is_synced = false;
    assert_int_equal(core_cycle(c), 0);
    core_up(c);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void equal_gangs_are_judged_once(void **state)
{
    struct core *c = *state;

    for (int i = 0; i < 50; i++)
        (void)submit(c, 5, 8);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(c->state->n_evaluations, 1);
}

static void a_sleeping_gang_is_not_looked_at_until_something_was_freed(void **state)
{
    struct core *c = *state;
    struct job *first = submit(c, 4, 8), *waits = submit(c, 4, 8);
    uint64_t n;

    assert_int_equal(core_cycle(c), 1);
    n = c->state->n_evaluations;
    core_pass(c, 60 * USEC_PER_SEC);
    core_see_all(c, first->id, POD_RUNNING);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(c->state->n_evaluations, n);
    end(c, first);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(waits->state, JOB_BINDING);
}

static void a_new_node_wakes_who_waits_for_it(void **state)
{
    struct core *c = *state;
    struct job *j = submit(c, 5, 8);

    assert_int_equal(core_cycle(c), 0);
    core_node(c, site_node("n9", "b9", "r9", SITE_H100, 8));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void roles_of_any_model_find_the_one_that_is_free(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 1, 8);
    struct job *j;

    (void)submit(c, 4, 8); /* all H100 */
    assert_int_equal(core_cycle(c), 1);
    for (int i = 0; i < 4; i++) {
        char name[8] = {'a', (char)('0' + i)};

        core_node(c, site_node(name, "b7", "r7", SITE_A100, 8));
    }
    core_node(c, site_node("h", "b8", "r8", SITE_H200, 4)); /* too small */
    site_role(s, "one", 1, 8);
    site_role(s, "two", 1, 8);
    site_role(s, "three", 1, 8);
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void the_heartbeat_of_a_node_wakes_nobody(void **state)
{
    struct core *c = *state;
    struct node_fact *sick[2];
    uint64_t n;

    for (int i = 0; i < 2; i++) {
        sick[i] = site_node("n0", "b0", "r0", SITE_H100, 8);
        sick[i]->is_ready = false;
    }

    (void)submit(c, 5, 8);
    assert_int_equal(core_cycle(c), 0);
    n = c->state->n_evaluations;
    core_node(c, site_node("n0", "b0", "r0", SITE_H100, 8));
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(c->state->n_evaluations, n);
    core_node(c, sick[0]);
    core_node(c, site_node("n0", "b0", "r0", SITE_H100, 8));
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(c->state->n_evaluations, n); /* four hosts are not five */
    core_node(c, sick[1]);
    (void)submit(c, 4, 8);
    assert_int_equal(core_cycle(c), 0);
    core_node(c, site_node("n0", "b0", "r0", SITE_H100, 8));
    assert_int_equal(core_cycle(c), 1);
}

static void a_turn_looks_at_a_bounded_number_of_gangs_and_asks_for_another(void **state)
{
    struct core *c = *state;
    int turns = 0;

    for (int i = 0; i < 3000; i++) {
        struct spec *s = site_spec("job", 5, 8);

        s->roles[0].cpu_milli = 1000 + i; /* none is like another */
        (void)core_submit(c, s);
        core_forget(c);
    }
    do {
        uint64_t before = c->state->n_evaluations;

        core_pass(c, 1000);
        assert_int_equal(core_cycle(c), 0);
        assert_true(c->state->n_evaluations - before <= TURN_EVALUATIONS_MAX);
        turns++;
    } while (state_next_wake(c->state, c->now) <= c->now);
    assert_int_equal(turns, 3);
    assert_int_equal(c->state->n_evaluations, 3000);
}

static void inside_a_tenant_priority_goes_before_age(void **state)
{
    struct core *c = *state;
    struct job *all = submit(c, 4, 8), *old, *young, *important;

    core_cycle(c);
    old = submit_as(c, "t", 500);
    young = submit_as(c, "t", 500);
    important = submit_as(c, "t", 900);
    end(c, all);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(important->state, JOB_BINDING);
    assert_int_equal(old->state, JOB_BINDING);
    assert_int_equal(young->state, JOB_PENDING);
}

static void a_requeued_gang_keeps_its_age(void **state)
{
    struct core *c = *state;
    struct job *old = submit(c, 4, 8), *young;

    core_cycle(c);
    young = submit(c, 4, 8);
    core_refuse(c, old, 0, REFUSAL_TRY_LATER);
    core_pass(c, 60 * USEC_PER_SEC); /* its back-off is over when its pods are gone */
    core_gone_all(c, old->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(old->state, JOB_BINDING);
    assert_int_equal(young->state, JOB_PENDING);
}

static void a_gang_that_backs_off_does_not_delay_others(void **state)
{
    struct core *c = *state;
    struct job *old = submit(c, 4, 8), *young;

    core_cycle(c);
    young = submit(c, 4, 8);
    core_refuse(c, old, 0, REFUSAL_TRY_LATER);
    core_gone_all(c, old->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(young->state, JOB_BINDING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

/* A core with tenants of its own: a (quota 16), a/x, b. */
static void with_tenants(struct core *c)
{
    core_init(c);
    c->settings.tenants[site_tenant(&c->settings, "a")].quota.gpus[SITE_H100] = 16;
    (void)site_tenant(&c->settings, "a/x");
    (void)site_tenant(&c->settings, "b");
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
}

static void a_tenant_inside_its_quota_goes_first(void **state)
{
    struct core c;
    struct job *b, *a;

    (void)state;
    with_tenants(&c);
    b = submit_as(&c, "b", 500);
    a = submit_as(&c, "a/x", 500);
    struct event ev;
    assert_true(cycle_next(c.state, c.now, &ev));
    assert_int_equal(ev.u.placed.job.v, a->id.v);
    assert_int_equal(b->state, JOB_PENDING);
    event_fini(&ev);
    core_fini(&c);
}

static void of_two_over_quota_the_smaller_share_goes_first(void **state)
{
    struct core c;
    struct job *first, *second, *b;
    struct event ev;

    (void)state;
    with_tenants(&c);
    first = submit_as(&c, "t", 500);
    assert_int_equal(core_cycle(&c), 1);
    second = submit_as(&c, "t", 500);
    b = submit_as(&c, "b", 500);
    assert_int_equal(first->state, JOB_BINDING);
    assert_true(cycle_next(c.state, c.now, &ev));
    assert_int_equal(ev.u.placed.job.v, b->id.v);
    assert_int_equal(second->state, JOB_PENDING);
    event_fini(&ev);
    core_fini(&c);
}

/* A third at weight 1 and all at weight 3 are the same: no rounding comes before age. */
static void equal_shares_of_odd_totals_go_by_age(void **state)
{
    struct core c;
    struct event ev;
    struct job *b;
    uint32_t at;

    (void)state;
    core_init(&c);
    at = site_tenant(&c.settings, "b");
    c.settings.tenants[at].weight = 3;
    c.settings.half_life_us = 0; /* what is allocated, alone */
    state_destroy(c.state);
    c.state = state_create(&c.settings);
    core_nodes(&c, 6);
    core_up(&c);
    b = submit_as(&c, "b", 500);
    (void)submit_as(&c, "t", 500);
    assert_int_equal(b->demand->gpus * 3, c.state->cluster.model_gpus[SITE_H100]);
    tenant_charge(&c.state->tenants, at, SITE_H100, 2 * b->demand->gpus * GPU_PARTS);
    assert_true(cycle_next(c.state, c.now, &ev));
    assert_int_equal(ev.u.placed.job.v, b->id.v);
    event_fini(&ev);
    tenant_refund(&c.state->tenants, at, SITE_H100, 2 * b->demand->gpus * GPU_PARTS);
    core_fini(&c);
}

static void a_limit_is_never_passed_and_its_release_wakes(void **state)
{
    struct core c;
    struct job *first, *second;

    (void)state;
    with_tenants(&c);
    c.settings.tenants[settings_tenant(&c.settings, "a")].limit.gpus[SITE_H100] = 16;
    first = submit_as(&c, "a", 500);
    second = submit_as(&c, "a/x", 500);
    assert_int_equal(core_cycle(&c), 1);
    assert_int_equal(first->state == JOB_BINDING, second->state == JOB_PENDING);
    end(&c, first->state == JOB_BINDING ? first : second);
    assert_int_equal(core_cycle(&c), 1);
    core_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_gangs_that_each_half_fit_never_leave_a_partial_one),
        TEST(a_gang_of_another_model_is_not_blocked),
        TEST(one_cycle_starts_all_that_fits),
        TEST(nothing_is_decided_before_the_lists_are_complete_or_without_the_api),
        TEST(equal_gangs_are_judged_once),
        TEST(a_sleeping_gang_is_not_looked_at_until_something_was_freed),
        TEST(a_new_node_wakes_who_waits_for_it),
        TEST(roles_of_any_model_find_the_one_that_is_free),
        TEST(the_heartbeat_of_a_node_wakes_nobody),
        TEST(a_turn_looks_at_a_bounded_number_of_gangs_and_asks_for_another),
        TEST(inside_a_tenant_priority_goes_before_age),
        TEST(a_requeued_gang_keeps_its_age),
        TEST(a_gang_that_backs_off_does_not_delay_others),
        cmocka_unit_test(a_tenant_inside_its_quota_goes_first),
        cmocka_unit_test(of_two_over_quota_the_smaller_share_goes_first),
        cmocka_unit_test(equal_shares_of_odd_totals_go_by_age),
        cmocka_unit_test(a_limit_is_never_passed_and_its_release_wakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
