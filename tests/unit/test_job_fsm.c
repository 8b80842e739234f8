/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_fsm.c - the table of states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/job_fsm.h"

static const struct job_fsm_row *row_of(enum job_state from, enum job_event event)
{
    unsigned n;
    const struct job_fsm_row *rows = job_fsm_rows(&n);

    for (unsigned i = 0; i < n; i++)
        if (rows[i].from == from && rows[i].event == event)
            return &rows[i];
    return NULL;
}

static void every_row_is_taken_and_what_has_no_row_is_refused(void **state)
{
    (void)state;
    for (int from = 0; from < JOB_OUTCOME; from++) {
        for (int ev = 0; ev <= JOB_EV_UPDATE; ev++) {
            const struct job_fsm_row *row = row_of((enum job_state)from, (enum job_event)ev);
            enum job_state to = JOB_OUTCOME;
            bool has = job_fsm_next((enum job_state)from, (enum job_event)ev, JOB_LOST, &to);

            assert_int_equal(has, row != NULL);
            if (!has)
                assert_int_equal(to, JOB_OUTCOME);
            else
                assert_int_equal(to, row->to == JOB_OUTCOME ? JOB_LOST : row->to);
        }
    }
}

static void no_pair_of_state_and_event_has_two_rows(void **state)
{
    unsigned n;
    const struct job_fsm_row *rows = job_fsm_rows(&n);

    (void)state;
    for (unsigned i = 0; i < n; i++)
        assert_ptr_equal(row_of(rows[i].from, rows[i].event), &rows[i]);
}

static void stopping_ends_where_the_outcome_says(void **state)
{
    enum job_state to;

    (void)state;
    assert_true(job_fsm_next(JOB_STOPPING, JOB_EV_ALL_GONE, JOB_PENDING, &to));
    assert_int_equal(to, JOB_PENDING);
    assert_true(job_fsm_next(JOB_STOPPING, JOB_EV_ALL_GONE, JOB_SUCCEEDED, &to));
    assert_int_equal(to, JOB_SUCCEEDED);
}

static void terminal_states_have_no_way_out_and_all_others_can_be_left(void **state)
{
    (void)state;
    for (int s = JOB_HELD; s <= JOB_REJECTED; s++) {
        int ways = 0;

        for (int ev = 1; ev <= JOB_EV_UPDATE; ev++)
            ways += row_of((enum job_state)s, (enum job_event)ev) != NULL;
        assert_int_equal(job_state_is_terminal((enum job_state)s), ways == 0);
    }
}

static void a_live_job_can_always_be_cancelled(void **state)
{
    (void)state;
    for (int s = JOB_PENDING; s <= JOB_STOPPING; s++)
        assert_non_null(row_of((enum job_state)s, JOB_EV_CANCEL));
}

static void active_states_are_those_that_hold_nodes(void **state)
{
    (void)state;
    assert_false(job_state_is_active(JOB_HELD));
    assert_false(job_state_is_active(JOB_PENDING));
    for (int s = JOB_BINDING; s <= JOB_STOPPING; s++)
        assert_true(job_state_is_active((enum job_state)s));
    for (int s = JOB_SUCCEEDED; s <= JOB_REJECTED; s++)
        assert_false(job_state_is_active((enum job_state)s));
}

static void names_of_states_are_read_back_in_any_case(void **state)
{
    enum job_state s;

    (void)state;
    for (int i = JOB_HELD; i <= JOB_REJECTED; i++) {
        assert_int_equal(job_state_parse(job_state_name((enum job_state)i), &s), 0);
        assert_int_equal(s, i);
    }
    assert_int_equal(job_state_parse("timedOUT", &s), 0);
    assert_int_equal(s, JOB_TIMED_OUT);
    assert_int_equal(job_state_parse("Done", &s), -1);
    assert_string_equal(job_state_name((enum job_state)99), "Unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_taken_and_what_has_no_row_is_refused),
        cmocka_unit_test(no_pair_of_state_and_event_has_two_rows),
        cmocka_unit_test(stopping_ends_where_the_outcome_says),
        cmocka_unit_test(terminal_states_have_no_way_out_and_all_others_can_be_left),
        cmocka_unit_test(a_live_job_can_always_be_cancelled),
        cmocka_unit_test(active_states_are_those_that_hold_nodes),
        cmocka_unit_test(names_of_states_are_read_back_in_any_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
