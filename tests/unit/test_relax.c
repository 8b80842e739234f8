/* SPDX-License-Identifier: Apache-2.0 */
/* test_relax.c - what time changes of a job's wishes: topology.maxWait and deadline.
 *
 * Four nodes of 8 GPUs, two a rack: four pods of 8 never fit one rack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/backfill.h"
#include "core/relax.h"
#include "life/state_apply.h"
#include "view/estimate.h"
#include "view/explain.h"

#include "../fake/fake_core.h"

#define MINUTE (60 * USEC_PER_SEC)

static struct job *in_a_rack(struct core *c, uint32_t pods)
{
    struct spec *s = site_spec("rack", pods, 8);

    s->topology_required = "rack";
    s->max_wait_us = 5 * MINUTE;
    return core_job(c, core_submit(c, s));
}

static struct job *until(struct core *c, usec_t deadline, bool is_held)
{
    struct spec *s = site_spec("until", 1, 8);

    s->deadline_us = deadline;
    s->is_held = is_held;
    return core_job(c, core_submit(c, s));
}

static void a_required_level_is_preferred_once_max_wait_is_over(void **state)
{
    struct core *c = *state;
    struct job *j = in_a_rack(c, 4);
    usec_t over = c->now + 5 * MINUTE;
    struct explain x;

    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "TopologyUnavailable");
    assert_non_null(strstr(x.asks, "in one rack until "));
    assert_non_null(strstr(x.asks, ", then preferred"));
    assert_non_null(strstr(x.next_step, "on the level is preferred only"));
    assert_true(state_next_wake(c->state, c->now) <= over);
    core_pass(c, 5 * MINUTE - 1);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 1);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void it_is_told_when_it_will_start_so(void **state)
{
    struct core *c = *state;
    struct job *j = in_a_rack(c, 4);
    struct estimates *e = estimates_create();
    struct estimate eta;

    assert_int_equal(core_cycle(c), 0);
    estimate_of(e, c->state, j, c->now, &eta);
    assert_int_equal(eta.kind, ESTIMATE_START);
    assert_int_equal(eta.at, c->now + 5 * MINUTE);
    assert_false(j->is_relaxed);
    estimates_destroy(e);
}

static void a_wait_that_begins_anew_begins_with_the_required_level(void **state)
{
    struct core *c = *state;
    struct job *j = in_a_rack(c, 4);

    core_pass(c, 5 * MINUTE);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    assert_true(j->is_relaxed);
    (void)core_verb(c, j->id, VERB_REQUEUE);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    assert_false(j->is_relaxed);
    core_pass(c, MINUTE);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 4 * MINUTE);
    assert_int_equal(core_cycle(c), 1);
}

static void one_that_fits_its_level_stays_in_it(void **state)
{
    struct core *c = *state;
    struct job *j = in_a_rack(c, 2);
    const struct cluster *k = &c->state->cluster;

    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(cluster_node(k, j->members[0].node_ix)->domain[0],
                     cluster_node(k, j->members[1].node_ix)->domain[0]);
    core_pass(c, 6 * MINUTE);
    assert_false(j->is_relaxed);
}

static void a_deadline_ends_what_waits_what_is_held_and_what_runs(void **state)
{
    struct core *c = *state;
    struct job *runs = until(c, c->now + 20 * MINUTE, false), *waits, *held, *fill;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, runs->id, POD_RUNNING);
    fill = core_job(c, core_submit(c, site_spec("fill", 3, 8)));
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, fill->id, POD_RUNNING);
    waits = until(c, c->now + 10 * MINUTE, false);
    held = until(c, c->now + 10 * MINUTE, true);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 10 * MINUTE);
    assert_int_equal(waits->state, JOB_TIMED_OUT);
    assert_int_equal(held->state, JOB_TIMED_OUT);
    assert_string_equal(waits->reason.code, "Deadline");
    assert_int_equal(runs->state, JOB_RUNNING);
    core_pass(c, 10 * MINUTE);
    assert_int_equal(runs->outcome, JOB_TIMED_OUT);
    core_gone_all(c, runs->id);
    assert_int_equal(runs->state, JOB_TIMED_OUT);
    assert_int_equal(fill->state, JOB_RUNNING);
}

static void what_is_late_never_starts_and_stops_nobody_alike(void **state)
{
    struct core *c = *state;
    struct job *j = until(c, c->now + 5 * MINUTE, false), *alike;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(core_verb(c, j->id, VERB_REQUEUE).code, ERR_OK);
    core_pass(c, 5 * MINUTE);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(core_cycle(c), 0);
    alike = until(c, 0, false);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(alike->state, JOB_BINDING);
    core_pass(c, 1);
    assert_int_equal(j->state, JOB_TIMED_OUT);
}

static void the_latest_end_of_a_run_is_its_deadline_when_that_is_earlier(void **state)
{
    struct core *c = *state;
    struct job *j = until(c, c->now + 20 * MINUTE, false);
    usec_t deadline = c->now + 20 * MINUTE;

    assert_true(j->max_runtime_us > 20 * MINUTE && j->start_timeout_us < 20 * MINUTE);
    assert_int_equal(backfill_end(j, c->now), deadline + j->grace_us);
    /* what has no time left is stopped once it runs */
    assert_int_equal(backfill_end_from(j, deadline), deadline + j->start_timeout_us + j->grace_us);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_required_level_is_preferred_once_max_wait_is_over),
        TEST(it_is_told_when_it_will_start_so),
        TEST(a_wait_that_begins_anew_begins_with_the_required_level),
        TEST(one_that_fits_its_level_stays_in_it),
        TEST(a_deadline_ends_what_waits_what_is_held_and_what_runs),
        TEST(what_is_late_never_starts_and_stops_nobody_alike),
        TEST(the_latest_end_of_a_run_is_its_deadline_when_that_is_earlier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
