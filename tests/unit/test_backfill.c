/* SPDX-License-Identifier: Apache-2.0 */
/* test_backfill.c - room kept for the first blocked gang, and who may use it until then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/backfill.h"
#include "view/estimate.h"
#include "view/explain.h"

#include "../fake/fake_core.h"

#define HOUR (3600 * USEC_PER_SEC)

/* A gang of n whole nodes that may run for so long, of a priority. */
static struct job *submit(struct core *c, uint32_t nodes, usec_t runtime, int32_t priority)
{
    struct spec *s = site_spec("job", nodes, 8);

    core_pass(c, USEC_PER_SEC);
    s->max_runtime_us = runtime;
    s->priority = priority;
    return core_job(c, core_submit(c, s));
}

static void end(struct core *c, struct job *j)
{
    core_see_all(c, j->id, POD_SUCCEEDED);
    core_service_gone(c, j->id);
}

static void a_stream_of_small_jobs_does_not_starve_a_large_one(void **state)
{
    struct core *c = *state;
    struct job *first = submit(c, 3, 2 * HOUR, 500), *large, *small;
    struct explain x;

    (void)core_cycle(c);
    large = submit(c, 4, HOUR, 500);
    (void)core_cycle(c);
    assert_true(backfill_own(c->state, large, NULL));
    small = submit(c, 1, 5 * HOUR, 500);
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, small, c->now, &x);
    assert_string_equal(x.code, "ReservedForLarger");
    end(c, first);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(large->state, JOB_BINDING);
    assert_int_equal(small->state, JOB_PENDING);
}

static void a_job_that_ends_before_the_reservation_starts(void **state)
{
    struct core *c = *state;
    struct job *large, *longer, *shorter;

    (void)submit(c, 3, 2 * HOUR, 500);
    (void)core_cycle(c);
    large = submit(c, 4, HOUR, 500);
    longer = submit(c, 1, 5 * HOUR, 500); /* equal demand: one bucket */
    (void)core_cycle(c);
    shorter = submit(c, 1, HOUR, 500);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(shorter->state, JOB_BINDING);
    assert_int_equal(longer->state, JOB_PENDING);
    assert_int_equal(large->state, JOB_PENDING);
}

static void a_job_beside_the_reserved_hosts_starts(void **state)
{
    struct core *c = *state;
    struct job *small;

    (void)submit(c, 3, 2 * HOUR, 500);
    (void)core_cycle(c);
    (void)submit(c, 3, HOUR, 500); /* of four nodes, one stays */
    (void)core_cycle(c);
    small = submit(c, 1, 50 * HOUR, 500);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(small->state, JOB_BINDING);
}

static void a_reservation_yields_to_higher_priority(void **state)
{
    struct core *c = *state;
    struct job *urgent;

    (void)submit(c, 3, 2 * HOUR, 500);
    (void)core_cycle(c);
    (void)submit(c, 4, HOUR, 500);
    (void)core_cycle(c);
    urgent = submit(c, 1, 50 * HOUR, 900);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(urgent->state, JOB_BINDING);
}

static void a_gang_that_can_never_run_keeps_no_room(void **state)
{
    struct core *c = *state;
    struct job *never = submit(c, 9, HOUR, 500), *small;

    (void)core_cycle(c);
    assert_false(backfill_own(c->state, never, NULL));
    small = submit(c, 1, 50 * HOUR, 500);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(small->state, JOB_BINDING);
}

static void a_gang_outside_its_quota_keeps_no_room(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("kept", 4, 8);
    struct job *kept, *small;

    s->preemptible = SPEC_NO;
    core_pass(c, USEC_PER_SEC);
    kept = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 0);
    assert_false(backfill_own(c->state, kept, NULL));
    small = submit(c, 1, 50 * HOUR, 500);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(small->state, JOB_BINDING);
}

static void one_inside_its_quota_is_not_held_back_by_one_beyond(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("inside", 1, 8);
    struct job *large, *inside;

    (void)site_tenant(&c->settings, "u");
    for (uint32_t t = 0; t < 2; t++)
        c->settings.tenants[t].quota.gpus[SITE_H100] = 16;
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
    (void)submit(c, 3, 2 * HOUR, 500);
    (void)core_cycle(c);
    large = submit(c, 4, HOUR, 500);
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, large, NULL));
    s->tenant = s->ns = "u";
    s->max_runtime_us = 50 * HOUR;
    core_pass(c, USEC_PER_SEC);
    inside = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(inside->state, JOB_BINDING);
}

static void a_reservation_for_one_model_leaves_the_others_alone(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("other", 1, 8);
    const char *model = "A100";
    struct job *other;

    core_node(c, site_node("a100", "b9", "r9", SITE_A100, 8));
    (void)submit(c, 3, 2 * HOUR, 500);
    (void)core_cycle(c);
    (void)submit(c, 4, HOUR, 500);
    (void)core_cycle(c);
    s->roles[0].gpu_models = (struct spec_strings){&model, 1};
    s->max_runtime_us = 50 * HOUR;
    core_pass(c, USEC_PER_SEC);
    other = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(other->state, JOB_BINDING);
}

static void a_cancelled_head_hands_its_room_to_the_next(void **state)
{
    struct core *c = *state;
    struct job *head, *next, *small;

    (void)submit(c, 3, 2 * HOUR, 500);
    (void)core_cycle(c);
    head = submit(c, 4, HOUR, 500);
    (void)core_cycle(c);
    next = submit(c, 2, HOUR, 500);
    small = submit(c, 1, 50 * HOUR, 500);
    assert_int_equal(core_cycle(c), 0);
    (void)core_cancel(c, head->id);
    (void)core_cycle(c);
    assert_true(next->state == JOB_BINDING || backfill_own(c->state, next, NULL));
    assert_int_equal(small->state, JOB_BINDING); /* two of four nodes are enough for next */
}

static void a_held_head_gives_up_its_room_at_once(void **state)
{
    struct core *c = *state;
    struct estimates *e = estimates_create();
    struct estimate eta;
    struct job *large, *small;

    (void)submit(c, 3, 2 * HOUR, 500);
    (void)core_cycle(c);
    large = submit(c, 4, HOUR, 500);
    (void)core_cycle(c);
    small = submit(c, 1, 50 * HOUR, 500);
    assert_int_equal(core_cycle(c), 0);
    (void)core_verb(c, large->id, VERB_HOLD);
    estimate_of(e, c->state, small, c->now, &eta); /* before anything is decided */
    assert_int_equal(eta.kind, ESTIMATE_START);
    assert_int_equal(eta.at, c->now);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(small->state, JOB_BINDING);
    estimates_destroy(e);
}

static void an_endless_run_is_cut_to_a_span_that_adds_up(void **state)
{
    struct core *c = *state;
    struct job *j = submit(c, 1, HOUR, 500);

    j->max_runtime_us = INT64_MAX;
    j->start_timeout_us = INT64_MAX;
    assert_true(backfill_end(j, c->now) > c->now);
}

static int set_up_two_slots(void **state)
{
    struct core *c;

    if (core_set_up(state))
        return -1;
    c = *state;
    c->settings.backfill_reservations = 2;
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
    return 0;
}

/* Two gangs end after 2 and 4 hours; two equal ones wait for what each has. */
static void fill(struct core *c, struct job **ret_first, struct job **ret_second)
{
    (void)submit(c, 2, 2 * HOUR, 500);
    (void)submit(c, 2, 4 * HOUR, 500);
    assert_int_equal(core_cycle(c), 2);
    *ret_first = submit(c, 2, HOUR, 500);
    *ret_second = submit(c, 2, HOUR, 500);
    (void)core_cycle(c);
    (void)submit(c, 4, HOUR, 500);
    (void)core_cycle(c);
}

static void room_is_kept_for_one_gang_where_nothing_else_is_said(void **state)
{
    struct core *c = *state;
    struct job *first, *second;

    fill(c, &first, &second);
    assert_true(backfill_own(c->state, first, NULL));
    assert_false(backfill_own(c->state, second, NULL));
}

static void room_is_kept_for_the_first_gangs_on_hosts_of_their_own(void **state)
{
    struct core *c = *state;
    struct job *first, *second, *third;
    struct reserved a, b;

    fill(c, &first, &second);
    third = c->state->by_id.v[c->state->by_id.n - 1];
    assert_true(backfill_own(c->state, first, &a));
    assert_true(backfill_own(c->state, second, &b));
    assert_false(backfill_own(c->state, third, NULL));
    assert_int_equal(a.n_nodes, 2);
    assert_int_equal(b.n_nodes, 2);
    assert_string_not_equal(a.node, b.node);
    assert_true(b.at - a.at > HOUR);
}

static void a_long_job_does_not_pass_the_second_gang(void **state)
{
    struct core *c = *state;
    struct job *first, *second, *small;
    struct reserved b;

    (void)submit(c, 1, 2 * HOUR, 500);
    (void)submit(c, 2, 4 * HOUR, 500);
    assert_int_equal(core_cycle(c), 2);
    first = submit(c, 2, HOUR, 500); /* on what is free and what ends first */
    second = submit(c, 2, HOUR, 500);
    (void)core_cycle(c);
    (void)core_cycle(c);
    assert_true(backfill_own(c->state, first, NULL));
    small = submit(c, 1, HOUR, 500);
    (void)core_cycle(c);
    assert_true(backfill_own(c->state, second, &b));
    assert_int_equal(small->state, JOB_BINDING); /* it ends before */
    core_pass(c, USEC_PER_SEC);
    (void)core_cycle(c);
    assert_true(backfill_own(c->state, second, &b));
}

/* A host kept for the first of a bucket is none for a shorter one of it. */
static void what_a_shorter_one_must_leave_does_not_make_the_first_sleep(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("other", 1, 8);
    struct job *other, *first, *shorter;

    (void)site_tenant(&c->settings, "u");
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 5);
    core_up(c);
    s->tenant = s->ns = "u";
    s->max_runtime_us = 4 * HOUR;
    (void)submit(c, 2, 2 * HOUR, 500);
    other = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 2);
    (void)submit(c, 4, HOUR, 500); /* on what is free and what ends first */
    (void)core_cycle(c);
    first = submit(c, 1, 10 * HOUR, 500);
    (void)core_cycle(c);
    shorter = submit(c, 1, 9 * HOUR, 500);
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, first, NULL));
    end(c, other);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(first->state, JOB_BINDING);
    assert_int_equal(shorter->state, JOB_PENDING);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)
    const struct CMUnitTest tests[] = {
        T(a_stream_of_small_jobs_does_not_starve_a_large_one),
        T(a_job_that_ends_before_the_reservation_starts),
        T(a_job_beside_the_reserved_hosts_starts),
        T(a_reservation_yields_to_higher_priority),
        T(a_gang_that_can_never_run_keeps_no_room),
        T(a_gang_outside_its_quota_keeps_no_room),
        T(one_inside_its_quota_is_not_held_back_by_one_beyond),
        T(a_reservation_for_one_model_leaves_the_others_alone),
        T(a_cancelled_head_hands_its_room_to_the_next),
        T(a_held_head_gives_up_its_room_at_once),
        T(an_endless_run_is_cut_to_a_span_that_adds_up),
        cmocka_unit_test_setup_teardown(room_is_kept_for_one_gang_where_nothing_else_is_said,
                                        core_set_up, core_tear_down),
        cmocka_unit_test_setup_teardown(room_is_kept_for_the_first_gangs_on_hosts_of_their_own,
                                        set_up_two_slots, core_tear_down),
        cmocka_unit_test_setup_teardown(a_long_job_does_not_pass_the_second_gang, set_up_two_slots,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(what_a_shorter_one_must_leave_does_not_make_the_first_sleep,
                                        set_up_two_slots, core_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
