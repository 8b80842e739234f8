/* SPDX-License-Identifier: Apache-2.0 */
/* test_array.c - job arrays: indices begin one after the other, each once, never more than may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/array.h"
#include "spec/indices.h"
#include "view/explain.h"
#include "../fake/fake_array.h"
#include "util/mem.h"

static uint32_t n_jobs(const struct core *c)
{
    return (uint32_t)c->state->by_id.n;
}

static void an_array_is_one_record_until_an_index_has_its_turn(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-49", 2));

    assert_int_equal(n_jobs(c), 1);
    array_cycle(c);
    assert_int_equal(n_jobs(c), 3);
    assert_int_equal(a->array->waiting.n, 48);
    assert_int_equal(a->array->waiting.ranges.n, 1);
    assert_string_equal(array_job(c, a, 1)->base, a->name);
    array_run(c, array_job(c, a, 0));
    assert_int_equal(array_shown_state(a), JOB_RUNNING);
}

static void never_more_indices_run_than_max_parallel_allows(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 3));
    struct explain x;

    for (uint32_t i = 0; i < 10; i++) {
        uint32_t begun = i + 3 < 10 ? i + 3 : 10;

        array_cycle(c);
        assert_int_equal(a->array->waiting.n, 10 - begun);
        assert_int_equal(a->array->live.n, begun - i);
        array_run(c, array_job(c, a, i));
        if (i == 0) {
            explain_job(c->state, a, c->now, &x);
            assert_string_equal(x.code, "ArrayLimit");
            assert_string_equal(x.text, "3 of 3 indices running");
        }
        array_end(c, array_job(c, a, i), 0);
    }
    assert_int_equal(a->state, JOB_SUCCEEDED);
    assert_int_equal(a->exit_code, 0);
    assert_int_equal(a->array->succeeded.n, 10);
}

static void an_array_waits_for_what_its_next_index_waits_for(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 0));
    struct explain x;

    array_cycle(c);
    core_pass(c, 1);
    assert_int_equal(a->array->live.n, 5); /* four nodes, and the next that waits for one */
    explain_job(c->state, a, c->now, &x);
    assert_string_equal(x.code, "InsufficientGpus");
    assert_int_equal(x.position, 1);
    assert_string_equal(array_job(c, a, 3)->name + strlen(a->name), "[3]");
}

static void the_highest_exit_code_of_its_indices_is_the_arrays(void **state)
{
    struct core *c = *state;
    struct spec *s = array_spec("1,4,7", 3);
    struct job *a;

    s->max_restarts = 0;
    a = array_submitted(c, s);
    array_cycle(c);
    for (uint32_t i = 1; i <= 7; i += 3)
        array_run(c, array_job(c, a, i));
    array_end(c, array_job(c, a, 1), 3);
    array_end(c, array_job(c, a, 4), 7);
    assert_int_equal(array_shown_state(a), JOB_RUNNING);
    array_end(c, array_job(c, a, 7), 0);
    assert_int_equal(a->state, JOB_FAILED);
    assert_int_equal(a->exit_code, 7);
    assert_string_equal(a->reason.code, "IndicesFailed");
    assert_string_equal(job_reason_text(a), "2 of 3 indices failed: 1,4");
}

static void fail_fast_cancels_what_runs_and_what_waits(void **state)
{
    struct core *c = *state;
    struct spec *s = array_spec("0-99", 3);
    struct job *a;

    s->max_restarts = 0;
    s->array_fails_fast = true;
    a = array_submitted(c, s);
    array_cycle(c);
    for (uint32_t i = 0; i < 3; i++)
        array_run(c, array_job(c, a, i));
    array_end(c, array_job(c, a, 1), 9);
    assert_int_equal(a->state, JOB_STOPPING);
    assert_int_equal(array_job(c, a, 0)->state, JOB_STOPPING);
    assert_int_equal(array_job(c, a, 2)->outcome, JOB_CANCELLED);
    core_gone_all(c, array_job(c, a, 0)->id);
    core_gone_all(c, array_job(c, a, 2)->id);
    array_cycle(c);
    assert_int_equal(a->state, JOB_FAILED);
    assert_int_equal(a->exit_code, 9);
    assert_int_equal(a->array->n_cancelled, 99);
    assert_string_equal(a->reason.code, "ArrayFailed");
}

static void without_fail_fast_the_others_go_on(void **state)
{
    struct core *c = *state;
    struct spec *s = array_spec("0-4", 2);
    struct job *a;

    s->max_restarts = 0;
    a = array_submitted(c, s);
    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    array_end(c, array_job(c, a, 0), 1);
    assert_int_equal(a->array->waiting.n, 2);
    assert_int_equal(a->array->live.n, 2);
}

static void cancel_ends_the_array_and_all_of_it(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 2));

    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    assert_int_equal(core_cancel(c, a->id).code, ERR_OK);
    array_cycle(c);
    assert_int_equal(a->state, JOB_STOPPING);
    core_gone_all(c, array_job(c, a, 0)->id);
    core_gone_all(c, array_job(c, a, 1)->id);
    array_cycle(c);
    assert_int_equal(a->state, JOB_CANCELLED);
    assert_int_equal(a->array->n_cancelled, 10);
}

static void a_held_array_starts_no_index_and_a_released_one_does(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 6)), *next;
    struct explain x;

    array_cycle(c);
    for (uint32_t i = 0; i < 4; i++)
        array_run(c, array_job(c, a, i));
    next = array_job(c, a, 4);
    assert_non_null(next->bucket);
    assert_int_equal(core_verb(c, a->id, VERB_HOLD).code, ERR_OK);
    array_cycle(c);
    assert_null(next->bucket);
    explain_job(c->state, next, c->now, &x);
    assert_string_equal(x.code, "Held");
    assert_int_equal(array_shown_state(a), JOB_RUNNING);
    array_end(c, array_job(c, a, 0), 0);
    assert_int_equal(next->state, JOB_PENDING);
    assert_int_equal(core_verb(c, a->id, VERB_RELEASE).code, ERR_OK);
    array_cycle(c);
    assert_int_equal(next->state, JOB_BINDING);
}

static void an_array_that_is_held_while_its_last_index_runs_ends_well(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("3", 0));

    array_cycle(c);
    array_run(c, array_job(c, a, 3));
    (void)core_verb(c, a->id, VERB_HOLD);
    array_end(c, array_job(c, a, 3), 0);
    assert_int_equal(a->state, JOB_SUCCEEDED);
}

static void one_index_is_cancelled_and_the_others_go_on(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-2", 1));

    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    (void)core_cancel(c, array_job(c, a, 0)->id);
    core_gone_all(c, array_job(c, a, 0)->id);
    array_cycle(c);
    array_run(c, array_job(c, a, 1));
    array_end(c, array_job(c, a, 1), 0);
    array_run(c, array_job(c, a, 2));
    array_end(c, array_job(c, a, 2), 0);
    assert_int_equal(a->state, JOB_CANCELLED);
    assert_string_equal(job_reason_text(a), "1 of 3 indices were cancelled");
}

static void an_index_that_restarts_keeps_its_place(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-2", 1)), *j;

    array_cycle(c);
    j = array_job(c, a, 0);
    array_run(c, j);
    core_see(c, j, 0, POD_FAILED, 1);
    core_gone_all(c, j->id);
    array_cycle(c);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(a->array->live.n, 1);
    assert_int_equal(array_shown_state(a), JOB_PENDING);
    core_pass(c, 60 * USEC_PER_SEC);
    array_cycle(c);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->attempt, 2);
}

static void an_array_begins_when_what_it_depends_on_has_succeeded(void **state)
{
    struct core *c = *state;
    struct job *first = array_submitted(c, site_spec("first", 1, 8)), *a, *last;
    struct spec *s = array_spec("0-1", 0), *t = site_spec("last", 1, 8);

    s->depends_on.n = t->depends_on.n = 1;
    s->depends_on.v = arena_alloc(&s->arena, sizeof(*s->depends_on.v));
    s->depends_on.v[0] = (struct spec_pair){"first", "succeeded"};
    t->depends_on.v = arena_alloc(&t->arena, sizeof(*t->depends_on.v));
    t->depends_on.v[0] = (struct spec_pair){"sweep", "succeeded"};
    a = array_submitted(c, s);
    last = array_submitted(c, t);
    array_cycle(c);
    assert_int_equal(a->array->waiting.n, 2);
    array_run(c, first);
    array_end(c, first, 0);
    core_pass(c, 1);
    array_cycle(c);
    assert_int_equal(a->array->waiting.n, 0);
    for (uint32_t i = 0; i < 2; i++) {
        array_run(c, array_job(c, a, i));
        array_end(c, array_job(c, a, i), 0);
    }
    core_pass(c, 1);
    array_cycle(c);
    assert_int_equal(last->state, JOB_BINDING);
}

static void the_indices_of_an_array_share_its_service(void **state)
{
    struct core *c = *state;
    struct spec *s = array_spec("0-1", 0);
    struct job *a;

    s->roles[0].replicas = 2;
    a = array_submitted(c, s);
    array_cycle(c);
    assert_true(a->has_service);
    for (uint32_t i = 0; i < 2; i++) {
        struct job *j = array_job(c, a, i);
        char name[POD_NAME_TEXT], wanted[POD_NAME_TEXT];

        (void)snprintf(wanted, sizeof(wanted), "%s-worker-%u-1", a->name, (unsigned)i * 2 + 1);
        assert_string_equal(job_pod_name(name, j, &j->members[1]), wanted);
        array_run(c, j);
        core_see_all(c, j->id, POD_SUCCEEDED);
        array_cycle(c);
        assert_int_equal(j->state, JOB_SUCCEEDED);
    }
    assert_int_equal(a->state, JOB_STOPPING);
    assert_true(core_last(c, EFFECT_GANG_STOP)->u.with_service);
    assert_int_equal(core_last(c, EFFECT_GANG_STOP)->job.v, a->id.v);
    core_service_gone(c, a->id);
    assert_int_equal(a->state, JOB_SUCCEEDED);
}

static void an_array_counts_as_many_waiting_jobs_as_it_has_indices(void **state)
{
    struct core *c = *state;

    c->settings.tenants[0].max_pending = 12;
    (void)array_submitted(c, array_spec("0-9", 1));
    assert_int_equal(core_submit(c, array_spec("0-2", 1)).code, ERR_EXHAUSTED);
    (void)array_submitted(c, array_spec("0-1", 1));
    assert_int_equal(core_submit(c, site_spec("one", 1, 1)).code, ERR_EXHAUSTED);
    array_cycle(c);
    assert_int_equal(core_submit(c, array_spec("0-1", 1)).code, ERR_OK);
}

static void what_is_updated_holds_for_the_indices_that_wait(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 0));
    struct event ev = {.kind = EV_JOB_UPDATE, .u.update = {.ref.reply_token = 1}};
    struct job *waits;

    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    waits = array_job(c, a, 4);
    ev.u.update.spec = array_spec("0-9", 0);
    ev.u.update.spec->priority = 100;
    ev.u.update.spec->priority_class = "low";
    ev.u.update.spec->max_runtime_us = 7 * USEC_PER_SEC;
    ev.u.update.spec->topology_required = "rack";
    ev.u.update.job = a->id;
    assert_true(core_apply(c, &ev));
    array_cycle(c);
    assert_int_equal(a->priority, 100);
    assert_int_equal(waits->priority, 100);
    assert_string_equal(waits->priority_class, "low");
    assert_int_equal(waits->max_runtime_us, 7 * USEC_PER_SEC);
    assert_ptr_equal(waits->demand, a->demand);
    assert_int_not_equal(array_job(c, a, 0)->priority, 100); /* it runs */
    array_end(c, array_job(c, a, 0), 0);
    assert_int_equal(waits->state, JOB_BINDING);
    assert_int_equal(array_job(c, a, 5)->priority, 100);
}

static void the_same_key_gives_the_same_array(void **state)
{
    struct core *c = *state;
    struct spec *s = array_spec("0-9", 1), *again = array_spec("0-9", 1);
    struct spec *other = array_spec("0-8", 1);
    struct job *a;

    s->submit_key = again->submit_key = other->submit_key = "k";
    a = array_submitted(c, s);
    array_cycle(c);
    assert_int_equal(core_submit(c, again).job.v, a->id.v);
    assert_int_equal(core_submit(c, other).code, ERR_CONFLICT);
}

static void max_queue_time_of_an_index_ends_the_wait_of_all(void **state)
{
    struct core *c = *state;
    struct spec *s = array_spec("0-9", 0);
    struct job *a;

    s->max_queue_us = 600 * USEC_PER_SEC;
    a = array_submitted(c, s);
    array_cycle(c);
    for (uint32_t i = 0; i < 4; i++)
        array_run(c, array_job(c, a, i));
    core_pass(c, 601 * USEC_PER_SEC);
    array_cycle(c);
    assert_int_equal(a->state, JOB_STOPPING);
    assert_int_equal(a->outcome, JOB_TIMED_OUT);
    assert_int_equal(a->array->waiting.n, 0);
}

static void the_records_of_ended_indices_go_and_the_array_stays(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-2", 1));

    for (uint32_t i = 0; i < 3; i++) {
        array_cycle(c);
        array_run(c, array_job(c, a, i));
        array_end(c, array_job(c, a, i), 0);
    }
    assert_int_equal(n_jobs(c), 4);
    core_pass(c, 2 * 3600 * USEC_PER_SEC);
    core_pass(c, 2 * USEC_PER_SEC);
    assert_int_equal(n_jobs(c), 1);
    array_check(c);
    assert_int_equal(a->array->succeeded.n, 3);
    core_pass(c, INT64_C(72) * 3600 * USEC_PER_SEC);
    assert_int_equal(n_jobs(c), 0);
}

/* A clock that jumps over days: the array may not go before its indices. */
static void an_array_outlives_its_indices_over_any_jump_of_time(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-2", 1));

    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    array_end(c, array_job(c, a, 0), 0);
    (void)core_cancel(c, a->id);
    array_cycle(c);
    core_gone_all(c, array_job(c, a, 1)->id);
    array_cycle(c);
    assert_int_equal(a->state, JOB_CANCELLED);
    for (int i = 0; i < 5; i++) {
        core_pass(c, INT64_C(100) * 3600 * USEC_PER_SEC);
        for (size_t k = 0; k < c->state->by_id.n; k++)
            assert_true(!c->state->by_id.v[k]->array_id.v || c->state->by_id.v[0]->array);
        array_check(c);
    }
    assert_int_equal(n_jobs(c), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)
        T(an_array_is_one_record_until_an_index_has_its_turn),
        T(never_more_indices_run_than_max_parallel_allows),
        T(an_array_waits_for_what_its_next_index_waits_for),
        T(the_highest_exit_code_of_its_indices_is_the_arrays),
        T(fail_fast_cancels_what_runs_and_what_waits),
        T(without_fail_fast_the_others_go_on),
        T(cancel_ends_the_array_and_all_of_it),
        T(a_held_array_starts_no_index_and_a_released_one_does),
        T(an_array_that_is_held_while_its_last_index_runs_ends_well),
        T(one_index_is_cancelled_and_the_others_go_on),
        T(an_index_that_restarts_keeps_its_place),
        T(an_array_begins_when_what_it_depends_on_has_succeeded),
        T(the_indices_of_an_array_share_its_service),
        T(an_array_counts_as_many_waiting_jobs_as_it_has_indices),
        T(what_is_updated_holds_for_the_indices_that_wait),
        T(the_same_key_gives_the_same_array),
        T(max_queue_time_of_an_index_ends_the_wait_of_all),
        T(the_records_of_ended_indices_go_and_the_array_stays),
        T(an_array_outlives_its_indices_over_any_jump_of_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
