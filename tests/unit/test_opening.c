/* SPDX-License-Identifier: Apache-2.0 */
/* test_opening.c - time windows of tenants: who starts when, what is kept for whom, what is said.
 *
 * Four nodes of 8 GPUs; the clock begins on a Monday at 14:13:20. Tenant "t" starts jobs from 20:00
 * to 06:00, of Monday to Friday; "day" at any time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/backfill.h"
#include "life/state_apply.h"
#include "util/mem.h"
#include "view/estimate.h"
#include "view/explain.h"

#include "../fake/fake_core.h"
#include "../fake/invariant.h"

#define MINUTE (60 * USEC_PER_SEC)
#define HOUR   (60 * MINUTE)

static const usec_t night = 5 * HOUR + 46 * MINUTE + 40 * USEC_PER_SEC; /* from the begin on */

static struct opening_setting *window(struct core *c)
{
    return &c->settings.tenants[0].windows[0];
}

static void restart(struct core *c)
{
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
}

static int set_up(void **state)
{
    struct core *c = xcalloc(1, sizeof(*c));
    struct opening_setting *w;

    core_init(c);
    (void)site_tenant(&c->settings, "day");
    w = window(c);
    *w = (struct opening_setting){
        .name = "night", .days = 0x1f, .from_min = 20 * 60, .to_min = 6 * 60};
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        w->quota.gpus[m] = w->limit.gpus[m] = -1;
    c->settings.tenants[0].n_windows = 1;
    restart(c);
    *state = c;
    return 0;
}

static struct job *submitted(struct core *c, const char *tenant, uint32_t pods, usec_t takes)
{
    struct spec *s = site_spec("job", pods, 8);

    s->tenant = tenant;
    s->max_runtime_us = takes - 10 * MINUTE;
    s->start_timeout_us = 10 * MINUTE;
    s->checkpoint_grace_us = 0;
    return core_job(c, core_submit(c, s));
}

static void a_job_starts_when_the_window_opens_and_not_before(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "t", 1, 100 * HOUR);
    struct explain x;

    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "BeginTime");
    assert_string_equal(x.text, "jobs of t start in its windows only (night: Mon-Fri 20:00-06:00 "
                                "UTC+00:00); the next is at 2026-09-21T20:00:00Z");
    assert_non_null(strstr(x.next_step, "queuectl tenant get t"));
    assert_int_equal(state_next_wake(c->state, c->now) <= c->now + night, true);
    core_pass(c, night - 1);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 1);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, 10 * HOUR); /* what runs goes on */
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(j->state, JOB_RUNNING);
}

static void the_daemon_wakes_at_the_instant_of_a_window(void **state)
{
    struct core *c = *state;
    usec_t at = c->now + night, wake;

    core_pass(c, 1); /* no sweep is at that instant by chance */
    (void)submitted(c, "t", 1, HOUR);
    for (int i = 0; i < 10000 && c->now < at && core_cycle(c) == 0; i++) {
        wake = state_next_wake(c->state, c->now); /* sweeps come in between */
        core_pass(c, wake - c->now);
    }
    assert_int_equal(c->now, at);
    assert_int_equal(core_cycle(c), 1);
}

static void an_offset_from_utc_moves_the_window(void **state)
{
    struct core *c = *state;
    struct job *j;

    c->settings.utc_offset_min = 5 * 60 + 47; /* it is 20:00:20 there */
    restart(c);
    j = submitted(c, "t", 1, HOUR);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void a_night_of_friday_is_open_on_saturday_morning_and_not_on_saturday_evening(void **state)
{
    struct core *c = *state;

    core_pass(c, 4 * 24 * HOUR + night + 9 * HOUR);
    (void)submitted(c, "t", 1, HOUR);
    assert_int_equal(core_cycle(c), 1);
    core_pass(c, 15 * HOUR);
    (void)submitted(c, "t", 1, HOUR);
    assert_int_equal(core_cycle(c), 0);
}

static void a_closed_parent_closes_its_children(void **state)
{
    struct core *c = *state;
    struct job *j;

    (void)site_tenant(&c->settings, "t/child");
    restart(c);
    j = submitted(c, "t/child", 1, HOUR);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, night);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void a_job_that_has_to_fit_starts_while_the_window_has_time_for_it(void **state)
{
    struct core *c = *state;
    struct job *longer, *shorter, *never;
    struct explain x;

    window(c)->must_fit = true;
    restart(c);
    core_pass(c, night + 8 * HOUR);
    longer = submitted(c, "t", 1, 2 * HOUR + 1);
    shorter = submitted(c, "t", 1, 2 * HOUR);
    never = submitted(c, "t", 1, 10 * HOUR + 1);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(shorter->state, JOB_BINDING);
    explain_job(c->state, longer, c->now, &x);
    assert_string_equal(x.code, "BeginTime");
    assert_non_null(strstr(x.text, "the window of t closes in 2h"));
    assert_non_null(strstr(x.next_step,
                           "a maxRuntime of at most 1h50m would fit; else it starts no "
                           "earlier than 2026-09-22T20:00:00Z"));
    explain_job(c->state, never, c->now, &x);
    assert_non_null(strstr(x.text, "no window of t is open for that long: can never run"));
    assert_non_null(strstr(x.next_step, "at most 9h50m"));
    core_pass(c, 16 * HOUR);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(longer->state, JOB_BINDING);
    assert_int_equal(never->state, JOB_PENDING);
}

static void no_room_is_kept_for_a_gang_outside_its_window(void **state)
{
    struct core *c = *state;
    struct job *fill = submitted(c, "day", 3, 20 * HOUR), *big, *small;
    struct reserved r;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, fill->id, POD_RUNNING);
    big = submitted(c, "t", 4, HOUR);
    small = submitted(c, "day", 1, 100 * HOUR);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(small->state, JOB_BINDING);
    assert_false(backfill_own(c->state, big, &r));
    core_pass(c, night); /* nor for one that could start only after it */
    assert_int_equal(core_cycle(c), 0);
    assert_false(backfill_own(c->state, big, &r));
    assert_int_equal(big->state, JOB_PENDING);
}

static void room_is_kept_while_the_window_is_open_and_no_longer(void **state)
{
    struct core *c = *state;
    struct job *fill = submitted(c, "day", 3, 20 * HOUR), *big, *small;
    struct reserved r;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, fill->id, POD_RUNNING);
    core_pass(c, night);
    big = submitted(c, "t", 4, HOUR);
    fill->max_runtime_us = night + 9 * HOUR;
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, big, &r));
    small = submitted(c, "day", 1, 100 * HOUR);
    assert_int_equal(core_cycle(c), 0);
    fill->max_runtime_us = 1000 * HOUR;
    core_pass(c, 10 * HOUR);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(small->state, JOB_BINDING);
    assert_false(backfill_own(c->state, big, &r));
}

static void nobody_is_preempted_for_a_gang_outside_its_window(void **state)
{
    struct core *c = *state;
    struct job *fill, *taker;
    struct spec *s;

    c->settings.tenants[0].quota.gpus[SITE_H100] = 32;
    restart(c);
    fill = submitted(c, "day", 4, 1000 * HOUR);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, fill->id, POD_RUNNING);
    core_pass(c, HOUR);
    s = site_spec("taker", 1, 8);
    s->tenant = "t";
    taker = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(fill->state, JOB_RUNNING);
    core_pass(c, night - HOUR);
    assert_int_not_equal(core_cycle(c), 0);
    assert_int_equal(fill->state, JOB_PREEMPTING);
    assert_non_null(taker->claim);
}

/* The night is over in ten minutes, a victim may take fifteen. */
static void nobody_is_preempted_for_a_gang_whose_window_is_about_to_close(void **state)
{
    struct core *c = *state;
    struct job *fill;
    struct spec *s;

    c->settings.tenants[0].quota.gpus[SITE_H100] = 32;
    restart(c);
    fill = submitted(c, "day", 4, 1000 * HOUR);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, fill->id, POD_RUNNING);
    core_pass(c, night + 10 * HOUR - 10 * MINUTE);
    s = site_spec("taker", 1, 8);
    s->tenant = "t";
    (void)core_submit(c, s);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(fill->state, JOB_RUNNING);
}

static void a_claim_is_given_up_when_the_window_is_gone(void **state)
{
    struct core *c = *state;
    struct job *fill, *taker;
    struct spec *s;

    c->settings.tenants[0].quota.gpus[SITE_H100] = 32;
    restart(c);
    fill = submitted(c, "day", 4, 1000 * HOUR);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, fill->id, POD_RUNNING);
    core_pass(c, night);
    s = site_spec("taker", 1, 8);
    s->tenant = "t";
    taker = core_job(c, core_submit(c, s));
    assert_int_not_equal(core_cycle(c), 0);
    assert_non_null(taker->claim);
    window(c)->days = 0; /* as another configuration may have it */
    c->state->tenants.changes_at = c->now;
    core_pass(c, 1);
    (void)core_cycle(c);
    assert_null(taker->claim);
    assert_int_equal(taker->state, JOB_PENDING);
    core_gone_all(c, fill->id);
    core_pass(c, HOUR);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_PENDING);
}

static void a_window_has_a_limit_and_a_quota_of_its_own(void **state)
{
    struct core *c = *state;
    struct opening_setting *w = window(c);
    struct job *first, *second;
    struct explain x;

    w[1] = w[0];
    w[1].days = 0x7f;
    w[1].from_min = 0;
    w[1].to_min = 24 * 60;
    w->limit.gpus[SITE_H100] = 16;
    c->settings.tenants[0].n_windows = 2;
    c->settings.tenants[0].limit.gpus[SITE_H100] = 8;
    restart(c);
    first = submitted(c, "t", 1, 100 * HOUR);
    second = submitted(c, "t", 1, 100 * HOUR);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(first->state, JOB_BINDING);
    explain_job(c->state, second, c->now, &x);
    assert_string_equal(x.code, "TenantLimit");
    assert_non_null(strstr(x.text, "its limit of 8 H100"));
    core_pass(c, night);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(second->state, JOB_BINDING);
    core_pass(c, 10 * HOUR); /* beyond the limit of the day, and left alone */
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(c->state->tenants.v[0].used[SITE_H100], 16 * GPU_PARTS);
    submitted(c, "t", 3, HOUR); /* more than in any window */
    explain_job(c->state, c->state->by_id.v[2], c->now, &x);
    assert_string_equal(x.code, "ExceedsTenantLimit");
}

static void what_a_tenant_keeps_in_its_window_is_for_others_when_that_closes(void **state)
{
    struct core *c = *state;
    struct job *j;

    window(c)->quota.gpus[SITE_H100] = window(c)->unlent.gpus[SITE_H100] = 32;
    restart(c);
    core_pass(c, night);
    j = submitted(c, "day", 1, HOUR);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 10 * HOUR - 1);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 1);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void the_estimate_waits_for_the_window(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "t", 1, HOUR), *never = submitted(c, "t", 9, HOUR);
    struct estimates *e = estimates_create();
    struct estimate eta;

    assert_int_equal(core_cycle(c), 0);
    estimate_of(e, c->state, j, c->now, &eta);
    assert_int_equal(eta.kind, ESTIMATE_START);
    assert_int_equal(eta.at, c->now + night);
    estimate_of(e, c->state, never, c->now, &eta);
    assert_int_equal(eta.kind, ESTIMATE_NEVER);
    estimates_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, core_tear_down)
        TEST(a_job_starts_when_the_window_opens_and_not_before),
        TEST(the_daemon_wakes_at_the_instant_of_a_window),
        TEST(an_offset_from_utc_moves_the_window),
        TEST(a_night_of_friday_is_open_on_saturday_morning_and_not_on_saturday_evening),
        TEST(a_closed_parent_closes_its_children),
        TEST(a_job_that_has_to_fit_starts_while_the_window_has_time_for_it),
        TEST(no_room_is_kept_for_a_gang_outside_its_window),
        TEST(room_is_kept_while_the_window_is_open_and_no_longer),
        TEST(nobody_is_preempted_for_a_gang_outside_its_window),
        TEST(nobody_is_preempted_for_a_gang_whose_window_is_about_to_close),
        TEST(a_claim_is_given_up_when_the_window_is_gone),
        TEST(a_window_has_a_limit_and_a_quota_of_its_own),
        TEST(what_a_tenant_keeps_in_its_window_is_for_others_when_that_closes),
        TEST(the_estimate_waits_for_the_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
