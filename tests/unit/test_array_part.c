/* SPDX-License-Identifier: Apache-2.0 */
/* test_array_part.c - verbs and other terms for some indices of a job array, begun or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/fake_array.h"
#include "util/mem.h"

static void an_index_that_waits_is_cancelled_and_never_begins(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-3", 1));

    array_cycle(c);
    assert_int_equal(array_ask(c, a, VERB_CANCEL, "1-2").code, ERR_OK);
    array_cycle(c);
    assert_int_equal(a->array->n_cancelled, 2);
    assert_int_equal(tenant_account(&c->state->tenants, job_account(a))->pending, 1);
    array_run(c, array_job(c, a, 0));
    array_end(c, array_job(c, a, 0), 0);
    array_run(c, array_job(c, a, 3));
    array_end(c, array_job(c, a, 3), 0);
    assert_null(array_job(c, a, 1));
    assert_int_equal(a->state, JOB_CANCELLED);
    assert_string_equal(job_reason_text(a), "2 of 4 indices were cancelled");
}

static void one_call_cancels_those_that_run_and_those_that_wait(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 2));

    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    array_run(c, array_job(c, a, 1));
    assert_int_equal(array_ask(c, a, VERB_CANCEL, "1-8").code, ERR_OK);
    array_cycle(c);
    assert_int_equal(array_job(c, a, 0)->state, JOB_RUNNING);
    assert_int_equal(array_job(c, a, 1)->outcome, JOB_CANCELLED);
    assert_int_equal(a->array->n_cancelled, 7);
    assert_int_equal(a->array->parts.n, 0);
    assert_true(array_ask(c, a, VERB_CANCEL, "1-8").is_again);
    core_gone_all(c, array_job(c, a, 1)->id);
    array_cycle(c);
    array_run(c, array_job(c, a, 9));
    array_end(c, array_job(c, a, 9), 0);
    array_end(c, array_job(c, a, 0), 0);
    assert_int_equal(a->state, JOB_CANCELLED);
}

static void held_indices_are_left_out_until_they_are_released(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-3", 1));

    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    assert_int_equal(array_ask(c, a, VERB_HOLD, "1-2").code, ERR_OK);
    assert_true(array_ask(c, a, VERB_HOLD, "1").is_again);
    assert_int_equal(array_ask(c, a, VERB_HOLD, "0").code, ERR_CONFLICT); /* it runs */
    array_end(c, array_job(c, a, 0), 0);
    array_run(c, array_job(c, a, 3));
    array_end(c, array_job(c, a, 3), 0);
    assert_int_equal(a->state, JOB_PENDING); /* two are left */
    assert_int_equal(tenant_account(&c->state->tenants, job_account(a))->pending, 2);
    assert_int_equal(array_ask(c, a, VERB_RELEASE, "2").code, ERR_OK);
    array_cycle(c);
    array_run(c, array_job(c, a, 2));
    assert_int_equal(array_ask(c, a, VERB_RELEASE, NULL).code, ERR_OK); /* all that are held */
    array_end(c, array_job(c, a, 2), 0);
    array_run(c, array_job(c, a, 1));
    array_end(c, array_job(c, a, 1), 0);
    assert_int_equal(a->state, JOB_SUCCEEDED);
}

static void the_index_that_is_next_is_held_and_another_takes_its_turn(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 0)), *next;

    array_cycle(c);
    next = array_job(c, a, 4); /* nodes for four */
    assert_ptr_equal(a->array->next, next);
    assert_int_equal(array_ask(c, a, VERB_HOLD, "4-6").code, ERR_OK);
    array_cycle(c);
    assert_int_equal(next->state, JOB_HELD);
    assert_ptr_equal(a->array->next, array_job(c, a, 7));
    assert_int_equal(array_ask(c, a, VERB_RELEASE, "4-6").code, ERR_OK);
    array_cycle(c);
    assert_int_equal(next->state, JOB_PENDING);
    assert_int_equal(a->array->waiting.n, 4);
}

static void requeue_of_an_array_takes_the_nodes_of_all_its_indices(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 2));

    assert_int_equal(array_ask(c, a, VERB_REQUEUE, NULL).code, ERR_CONFLICT); /* none has any */
    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    assert_int_equal(array_job(c, a, 1)->state, JOB_BINDING);
    assert_int_equal(array_ask(c, a, VERB_REQUEUE, NULL).code, ERR_OK);
    array_cycle(c);
    assert_int_equal(array_job(c, a, 0)->state, JOB_RESTARTING);
    assert_int_equal(array_job(c, a, 1)->state, JOB_STOPPING);
    core_gone_all(c, array_job(c, a, 0)->id);
    core_gone_all(c, array_job(c, a, 1)->id);
    array_cycle(c);
    assert_int_equal(array_job(c, a, 0)->state, JOB_BINDING); /* once, not again and again */
    assert_int_equal(array_job(c, a, 0)->attempt, 2);
    array_run(c, array_job(c, a, 0));
    assert_int_equal(array_ask(c, a, VERB_PREEMPT, NULL).code, ERR_OK);
    array_cycle(c);
    assert_int_equal(array_job(c, a, 0)->state, JOB_PREEMPTING);
    assert_int_equal(array_job(c, a, 1)->state, JOB_BINDING); /* only running ones have to save */
}

static struct answer change(struct core *c, const struct job *a, const char *indices,
                            const char *class, usec_t max_runtime_us)
{
    struct event ev = {.kind = EV_JOB_UPDATE, .u.update = {.ref.reply_token = 1, .job = a->id}};
    struct ev_update *u = &ev.u.update;

    c->n_requests++;
    memcpy(u->ref.request_id, &c->n_requests, sizeof(c->n_requests));
    u->spec = array_spec("0-9", 0);
    u->n_updates = a->n_updates;
    u->has_class = class != NULL;
    u->has_runtime = max_runtime_us > 0;
    u->spec->priority_class = class ? class : "normal";
    u->spec->priority = class && strcmp(class, "high") == 0 ? 1000 : 10;
    u->spec->max_runtime_us = max_runtime_us;
    assert_int_equal(indices_parse(&u->part, indices, NULL), 0);
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer;
}

static void an_index_of_a_higher_class_begins_before_the_others(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-9", 0)), *seven;

    array_cycle(c);
    array_run(c, array_job(c, a, 0));
    assert_int_equal(change(c, a, "0", "high", 0).code, ERR_CONFLICT); /* it runs */
    assert_int_equal(change(c, a, "7-8", "high", 0).code, ERR_OK);
    assert_int_equal(change(c, a, "8", NULL, 5 * USEC_PER_SEC).code, ERR_OK);
    array_cycle(c);
    seven = array_job(c, a, 7);
    assert_non_null(seven);
    assert_int_equal(seven->priority, 1000);
    assert_string_equal(seven->priority_class, "high");
    array_end(c, array_job(c, a, 0), 0);
    assert_int_equal(seven->state, JOB_BINDING);
    assert_int_equal(array_job(c, a, 4)->state, JOB_PENDING);
    assert_int_equal(array_job(c, a, 8)->priority, 1000);
    assert_int_equal(array_job(c, a, 8)->max_runtime_us, 5 * USEC_PER_SEC);
    assert_int_equal(change(c, a, "4", "low", 0).code, ERR_OK); /* it has a job, and waits */
    array_cycle(c);
    assert_int_equal(array_job(c, a, 4)->priority, 10);
}

static void different_wishes_for_one_array_are_bounded(void **state)
{
    struct core *c = *state;
    struct job *a = array_submitted(c, array_spec("0-99", 1));
    struct answer got = {.code = ERR_OK};
    uint32_t n = 0;

    array_cycle(c);
    for (uint32_t i = 1; i < 99 && got.code == ERR_OK; i++, n++) {
        char index[8];

        (void)snprintf(index, sizeof(index), "%u", i);
        got = change(c, a, index, NULL, i * USEC_PER_SEC);
    }
    assert_int_equal(got.code, ERR_EXHAUSTED);
    assert_in_range(n, 30, ARRAY_PARTS_MAX);
    array_check(c);
    assert_int_equal(array_ask(c, a, VERB_CANCEL, NULL).code, ERR_OK);
    array_cycle(c);
    assert_int_equal(a->array->parts.n, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_index_that_waits_is_cancelled_and_never_begins),
        T(one_call_cancels_those_that_run_and_those_that_wait),
        T(held_indices_are_left_out_until_they_are_released),
        T(the_index_that_is_next_is_held_and_another_takes_its_turn),
        T(requeue_of_an_array_takes_the_nodes_of_all_its_indices),
        T(an_index_of_a_higher_class_begins_before_the_others),
        T(different_wishes_for_one_array_are_bounded),
    };

    return cmocka_run_group_tests_name("array_part", tests, NULL, NULL);
}
