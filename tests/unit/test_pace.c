/* SPDX-License-Identifier: Apache-2.0 */
/* test_pace.c - what part of maxRuntime the runs of a tenant usually take, and what is predicted
 * from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/fake_core.h"
#include "core/tenant.h"
#include "view/estimate.h"

#define HOUR (3600 * USEC_PER_SEC)

/* Four hosts for an hour at most. */
static struct spec *all_of_it(void)
{
    struct spec *s = site_spec("job", 4, 8);

    s->max_runtime_us = HOUR;
    return s;
}

static uint32_t usual(const struct core *c)
{
    return tenant_usual(&c->state->tenants, settings_tenant(&c->settings, "t"));
}

static void finish(struct core *c, struct job *j)
{
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    core_budget_gone(c, j->id);
}

/* A run of so many seconds that ends well. */
static void run(struct core *c, int64_t seconds)
{
    struct job *j = core_running(c, all_of_it());

    core_pass(c, seconds * USEC_PER_SEC);
    core_see_all(c, j->id, POD_SUCCEEDED);
    finish(c, j);
    assert_int_equal(j->state, JOB_SUCCEEDED);
}

static void five_runs_tell_what_is_usual(void **state)
{
    struct core *c = *state;

    for (int i = 0; i < PACE_RUNS_MIN; i++) {
        assert_int_equal(usual(c), 0);
        run(c, i % 2 ? 900 : 1800); /* 0.25 and 0.5 of the hour */
    }
    assert_int_equal(usual(c), 400);
}

/* Whatever was before: forty runs later less than a seventh of it is left. */
static void old_runs_are_forgotten(void **state)
{
    struct core *c = *state;

    for (int i = 0; i < PACE_RUNS_MAX; i++)
        run(c, 3240);
    assert_int_equal(usual(c), 900);
    for (int i = 0; i < 2 * PACE_RUNS_MAX; i++)
        run(c, 360);
    assert_in_range(usual(c), 101, 100 + 800 / 7);
    assert_int_equal(c->state->tenants.v[0].pace.n, PACE_RUNS_MAX);
}

/* What others ended says nothing; what its owner ended does. */
static void a_run_that_was_cut_short_by_others_is_not_counted(void **state)
{
    struct core *c = *state;
    struct job *j;

    for (int i = 0; i < PACE_RUNS_MIN; i++)
        run(c, 1800);
    j = core_running(c, all_of_it());
    core_pass(c, 36 * USEC_PER_SEC);
    assert_int_equal(core_verb(c, j->id, VERB_REQUEUE).code, ERR_OK);
    finish(c, j);
    assert_int_equal(usual(c), 500);
    assert_int_equal(c->state->tenants.v[0].pace.n, PACE_RUNS_MIN);
    (void)core_cycle(c); /* it is placed again, and has not run when it is cancelled */
    assert_int_equal(core_cancel(c, j->id).code, ERR_OK);
    finish(c, j);
    assert_int_equal(j->state, JOB_CANCELLED);
    assert_int_equal(c->state->tenants.v[0].pace.n, PACE_RUNS_MIN);
    j = core_running(c, all_of_it());
    core_pass(c, 720 * USEC_PER_SEC);
    assert_int_equal(core_cancel(c, j->id).code, ERR_OK);
    finish(c, j);
    assert_int_equal(j->state, JOB_CANCELLED);
    assert_int_equal(usual(c), 450); /* (5 * 0.5 + 0.2) / 6 */
}

static void a_start_is_predicted_by_both(void **state)
{
    char text[ESTIMATE_TEXT_MAX];
    struct core *c = *state;
    struct job *running, *waiting;
    struct estimate e;
    usec_t began;

    running = core_running(c, all_of_it());
    began = running->running_at;
    waiting = core_job(c, core_submit(c, all_of_it()));
    (void)core_cycle(c);
    e = core_estimate(c, waiting);
    assert_int_equal(e.kind, ESTIMATE_START);
    assert_int_equal(e.at, began + HOUR);
    assert_int_equal(e.usual_at, 0);
    for (int i = 0; i < PACE_RUNS_MIN; i++)
        tenant_ran(&c->state->tenants, 0, 1001, 4000);
    e = core_estimate(c, waiting);
    assert_int_equal(e.at, began + HOUR);
    assert_int_equal(e.usual_at, began + HOUR / 4);
    assert_string_equal(estimate_usual_text(text, &e),
                        "if gangs run as long as usual in their tenants (in its own: 25.0 % of "
                        "maxRuntime) and nothing new arrives");
    core_pass(c, HOUR / 4); /* it lasts longer than usual */
    e = core_estimate(c, waiting);
    assert_int_equal(e.usual_at, began + HOUR);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, core_set_up, core_tear_down)
    const struct CMUnitTest tests[] = {
        T(five_runs_tell_what_is_usual),
        T(old_runs_are_forgotten),
        T(a_run_that_was_cut_short_by_others_is_not_counted),
        T(a_start_is_predicted_by_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
