/* SPDX-License-Identifier: Apache-2.0 */
/* test_array_estimate.c - when the indices of a job array will start and end, against what then
 * happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/fake_array.h"
#include "view/estimate.h"

#define HOUR (3600 * USEC_PER_SEC)

static struct spec *hours(const char *indices, uint32_t parallel)
{
    struct spec *s = array_spec(indices, parallel);

    s->max_runtime_us = HOUR;
    return s;
}

/* Each index runs for its hour: start what is placed, end what is over, until nothing is left. */
static void happen(struct core *c, const struct job *a, usec_t *ret_last, usec_t *ret_end)
{
    *ret_last = *ret_end = c->now;
    for (int hour = 0; hour < 20 && a->state == JOB_PENDING; hour++) {
        for (size_t i = 0; i < c->state->by_id.n; i++) {
            struct job *j = c->state->by_id.v[i];

            if (j->array_id.v == a->id.v && j->state == JOB_BINDING) {
                array_run(c, j);
                *ret_last = c->now;
            }
        }
        core_pass(c, HOUR - USEC_PER_SEC);
        for (size_t i = 0; i < c->state->by_id.n; i++) {
            struct job *j = c->state->by_id.v[i];

            if (j->array_id.v == a->id.v && j->state == JOB_RUNNING) {
                core_see(c, j, 0, POD_SUCCEEDED, 0);
                *ret_end = c->now;
            }
        }
        array_cycle(c);
    }
    assert_int_equal(a->state, JOB_SUCCEEDED);
}

/* The gang of an hour is over a second early; so is each that follows. */
static void assert_near(usec_t predicted, usec_t met)
{
    assert_in_range(predicted, met, met + 20 * USEC_PER_SEC);
}

static void the_end_of_an_array_is_predicted_as_it_comes(void **state)
{
    static const uint32_t parallel[] = {1, 2, 3, 0}; /* 0: the four nodes are the bound */
    struct core *c = *state;

    for (size_t i = 0; i < sizeof(parallel) / sizeof(parallel[0]); i++) {
        struct job *a = array_submitted(c, hours("0-9", parallel[i]));
        struct estimate e;
        usec_t last, end;

        array_cycle(c);
        for (uint32_t k = 0; k < 4 && array_job(c, a, k); k++)
            if (array_job(c, a, k)->state == JOB_BINDING)
                array_run(c, array_job(c, a, k));
        array_check(c);
        e = core_estimate(c, a);
        assert_int_equal(e.kind, ESTIMATE_START);
        assert_near(e.at, c->now + HOUR - USEC_PER_SEC); /* the first that waits */
        happen(c, a, &last, &end);
        assert_near(e.last_at, last);
        assert_near(e.end_at, end);
        core_pass(c, 1);
    }
}

static void held_indices_are_not_in_the_estimate(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, hours("0-9", 1));
    struct estimate e;

    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    assert_int_equal(array_ask(c, a, VERB_HOLD, "1-7").code, ERR_OK);
    array_cycle(c);
    e = core_estimate(c, a);
    assert_near(e.last_at, c->now + 2 * (HOUR - USEC_PER_SEC));
    assert_near(e.end_at, c->now + 3 * (HOUR - USEC_PER_SEC));
    assert_int_equal(array_ask(c, a, VERB_HOLD, NULL).code, ERR_OK); /* and none of a held array */
    array_cycle(c);
    assert_int_equal(core_estimate(c, a).kind, ESTIMATE_NONE);
}

static void a_job_behind_an_array_waits_for_its_indices(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, hours("0-7", 0)), *later;
    struct estimate e;

    array_cycle(c);
    for (uint32_t k = 0; k < 4; k++)
        array_run(c, array_job(c, a, k));
    core_pass(c, USEC_PER_SEC); /* its indices are as old as their array */
    later = array_submitted(c, site_spec("later", 1, 8));
    array_cycle(c);
    e = core_estimate(c, later);
    assert_int_equal(e.kind, ESTIMATE_START);
    assert_near(e.at, c->now + 2 * (HOUR - USEC_PER_SEC)); /* four more go before it */
}

static void an_array_too_long_for_the_plan_still_has_a_start(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, hours("0-4999", 0));
    struct estimate e;

    array_cycle(c);
    for (uint32_t k = 0; k < 4; k++)
        array_run(c, array_job(c, a, k));
    e = core_estimate(c, a);
    assert_int_equal(e.kind, ESTIMATE_START);
    assert_near(e.at, c->now + HOUR - USEC_PER_SEC);
    assert_int_equal(e.last_at, 0);
    assert_int_equal(e.end_at, 0);
    array_check(c);
}

#define T(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_end_of_an_array_is_predicted_as_it_comes),
        T(held_indices_are_not_in_the_estimate),
        T(a_job_behind_an_array_waits_for_its_indices),
        T(an_array_too_long_for_the_plan_still_has_a_start),
    };

    return cmocka_run_group_tests_name("array_estimate", tests, NULL, NULL);
}
