/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint.c - a job says that it has saved: what it loses, and when its grace ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gang.h"
#include "life/job_life.h"

#include "../fake/two_tenants.h"

enum { LOW = 100, HIGH = 800 };

static void a_victim_is_chosen_by_what_it_lost_since_its_checkpoint(void **state)
{
    struct core *c = *state;
    struct job *old = two_running(c, "a", "old", LOW, 2), *young;

    young = two_running(c, "a", "young", LOW, 2); /* it would lose less */
    assert_int_equal(core_verb(c, old->id, VERB_CHECKPOINTED).code, ERR_OK);
    (void)two_submit(c, "a", "taker", HIGH, 2);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(young->state, JOB_RUNNING);
    assert_int_equal(old->state, JOB_PREEMPTING);
    two_check(c);
}

static void a_taker_that_bounds_the_loss_looks_again_after_a_checkpoint(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4), *taker; /* 5.9 GPU hours */
    struct spec *s = site_spec("taker", 1, 8);

    s->tenant = s->ns = "a";
    s->priority = HIGH;
    s->max_lost_gpu_hours = 5;
    taker = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(core_verb(c, low->id, VERB_CHECKPOINTED).code, ERR_OK);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
    assert_non_null(taker->claim);
    two_check(c);
}

/* What the cluster is told to stop. */
static void stop_of(struct core *c, const struct job *j, struct gang *g)
{
    struct gang whole;

    gang_init(&whole, c->state, j, NULL, true);
    *g = whole;
    gang_fini(&whole);
}

static void a_heartbeat_after_the_notice_ends_the_grace(void **state)
{
    struct core *c = *state;
    struct job *j = two_running(c, "a", "job", LOW, 2);
    struct gang g;

    j->grace_us = 300 * USEC_PER_SEC;
    (void)core_verb(c, j->id, VERB_CHECKPOINTED); /* before it: the grace stays */
    core_pass(c, USEC_PER_SEC);
    (void)core_verb(c, j->id, VERB_PREEMPT);
    stop_of(c, j, &g);
    assert_true(!g.cut_us && g.grace_us == 300 * USEC_PER_SEC);
    core_pass(c, 20 * USEC_PER_SEC);
    core_forget(c);
    assert_int_equal(core_verb(c, j->id, VERB_CHECKPOINTED).code, ERR_OK);
    assert_int_equal(j->state, JOB_PREEMPTING);
    assert_string_equal(j->reason.code, "Preempted");
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_EVENT), 1);
    stop_of(c, j, &g);
    assert_true(g.cut_us && g.grace_us == USEC_PER_SEC);
    core_pass(c, USEC_PER_SEC);
    core_forget(c);
    (void)core_verb(c, j->id, VERB_CHECKPOINTED); /* said already */
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 0);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
}

/* What the cluster is told to start, or to do for what has started. */
static usec_t told_by_start(struct core *c, const struct job *j)
{
    struct gang g;
    usec_t told;

    gang_init(&g, c->state, j, NULL, false);
    told = g.asked_us;
    gang_fini(&g);
    return told;
}

static void a_job_is_told_before_its_end_once_and_not_again_at_it(void **state)
{
    struct core *c = *state;
    struct job *j = two_running(c, "a", "job", LOW, 1);
    usec_t at;
    struct gang g;

    j->is_asked = true;
    j->before_end_us = 600 * USEC_PER_SEC;
    job_set_timer(c->state, j);
    at = job_run_end(j) - j->before_end_us;
    assert_true(j->timer_at == at);
    assert_true(told_by_start(c, j) == 0);
    core_pass(c, at - c->now - 1);
    core_forget(c);
    core_pass(c, 1);
    assert_true(j->is_told && told_by_start(c, j) == at);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_JOB), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_EVENT), 1);
    core_pass(c, USEC_PER_SEC);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    core_pass(c, job_run_end(j) - c->now);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_TIMED_OUT);
    stop_of(c, j, &g);
    assert_true(g.asked_us == 0);
}

static void one_that_was_told_before_its_end_is_asked_anew_when_it_has_to_leave(void **state)
{
    struct core *c = *state;
    struct job *j = two_running(c, "a", "job", LOW, 1);
    struct gang g;

    j->is_asked = true;
    j->before_end_us = 600 * USEC_PER_SEC;
    job_set_timer(c->state, j);
    core_pass(c, job_run_end(j) - j->before_end_us - c->now);
    assert_true(j->is_told);
    (void)core_verb(c, j->id, VERB_PREEMPT);
    assert_false(j->is_told);
    stop_of(c, j, &g);
    assert_true(g.asked_us == j->state_since);
}

static void a_job_with_a_signal_is_asked_when_it_has_to_leave_and_not_in_a_cancel(void **state)
{
    struct core *c = *state;
    struct job *j = two_running(c, "a", "job", LOW, 2), *other;
    struct gang g;

    j->is_asked = true;
    (void)core_verb(c, j->id, VERB_PREEMPT);
    stop_of(c, j, &g);
    assert_true(g.asked_us == j->state_since);
    (void)core_verb(c, j->id, VERB_CHECKPOINTED); /* it knows */
    stop_of(c, j, &g);
    assert_true(g.asked_us == 0);
    other = two_running(c, "a", "other", LOW, 1);
    other->is_asked = true;
    (void)core_verb(c, other->id, VERB_CANCEL);
    assert_int_equal(other->state, JOB_STOPPING);
    stop_of(c, other, &g);
    assert_true(g.asked_us == 0);
}

static struct answer cancel_within(struct core *c, struct job *j, usec_t grace_us)
{
    struct event ev = {.kind = EV_JOB_VERB,
                       .u.verb = {.job = j->id,
                                  .verb = VERB_CANCEL,
                                  .grace_us = grace_us,
                                  .ref.reply_token = 1,
                                  .caller.user = "alice"}};

    c->n_requests++;
    memcpy(ev.u.verb.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    core_forget(c);
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer;
}

static void a_cancel_may_leave_less_grace_and_a_second_one_still_less(void **state)
{
    struct core *c = *state;
    struct job *j = two_running(c, "a", "job", LOW, 2), *other;
    struct gang g;

    j->grace_us = 300 * USEC_PER_SEC;
    (void)cancel_within(c, j, 0);
    stop_of(c, j, &g);
    assert_true(!g.cut_us && g.grace_us == 300 * USEC_PER_SEC);
    core_pass(c, USEC_PER_SEC);
    assert_true(cancel_within(c, j, 600 * USEC_PER_SEC).is_again); /* never more */
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 0);
    assert_false(cancel_within(c, j, USEC_PER_SEC).is_again);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 1);
    assert_int_equal(j->outcome, JOB_CANCELLED);
    stop_of(c, j, &g);
    assert_true(g.cut_us == USEC_PER_SEC && g.grace_us == USEC_PER_SEC);
    assert_true(cancel_within(c, j, USEC_PER_SEC).is_again);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
    assert_true(cancel_within(c, j, USEC_PER_SEC).is_again);

    other = two_running(c, "a", "other", LOW, 2);
    other->grace_us = 300 * USEC_PER_SEC;
    (void)core_verb(c, other->id, VERB_REQUEUE);
    (void)cancel_within(c, other, 9 * USEC_PER_SEC);
    assert_int_equal(other->outcome, JOB_CANCELLED);
    stop_of(c, other, &g);
    assert_true(g.cut_us == 9 * USEC_PER_SEC);
}

static void heartbeats_are_stored_once_a_minute_and_make_no_event(void **state)
{
    struct core *c = *state;
    struct job *j = two_running(c, "a", "job", LOW, 1);
    unsigned saved = 0;

    for (int i = 0; i < 60; i++) {
        core_pass(c, 5 * USEC_PER_SEC);
        core_forget(c);
        assert_int_equal(core_verb(c, j->id, VERB_CHECKPOINTED).code, ERR_OK);
        assert_true(j->checkpointed_at == c->now);
        saved += core_count(c, EFFECT_SAVE_JOB);
        assert_int_equal(core_count(c, EFFECT_SAVE_EVENT) + core_count(c, EFFECT_SAVE_REQUEST), 0);
    }
    assert_in_range(saved, 5, 6);
}

static struct job *preempted(struct core *c, const char *exit_zero)
{
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;

    s->tenant = s->ns = "a";
    s->exit_zero = exit_zero;
    j = core_job(c, core_submit(c, s));
    (void)core_cycle(c);
    core_see_all(c, j->id, POD_RUNNING);
    (void)core_verb(c, j->id, VERB_PREEMPT);
    assert_int_equal(j->state, JOB_PREEMPTING);
    return j;
}

static void exit_zero_after_a_notice_is_saved_unless_the_job_says_done(void **state)
{
    struct core *c = *state;
    struct job *saved = preempted(c, NULL), *done, *half;

    core_see_all(c, saved->id, POD_SUCCEEDED);
    core_gone_all(c, saved->id);
    assert_int_equal(saved->state, JOB_PENDING);
    (void)core_cancel(c, saved->id);

    done = preempted(c, "done");
    core_see(c, done, 0, POD_SUCCEEDED, 0);
    core_see(c, done, 1, POD_SUCCEEDED, 0);
    core_gone_all(c, done->id);
    core_service_gone(c, done->id);
    assert_int_equal(done->state, JOB_SUCCEEDED);
    assert_int_equal(done->exit_code, 0);

    half = preempted(c, "done");
    core_see(c, half, 0, POD_SUCCEEDED, 0);
    core_see(c, half, 1, POD_FAILED, 143);
    core_gone_all(c, half->id);
    assert_int_equal(half->state, JOB_PENDING);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, two_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_victim_is_chosen_by_what_it_lost_since_its_checkpoint),
        TEST(a_taker_that_bounds_the_loss_looks_again_after_a_checkpoint),
        TEST(a_heartbeat_after_the_notice_ends_the_grace),
        TEST(a_cancel_may_leave_less_grace_and_a_second_one_still_less),
        TEST(heartbeats_are_stored_once_a_minute_and_make_no_event),
        TEST(a_job_is_told_before_its_end_once_and_not_again_at_it),
        TEST(one_that_was_told_before_its_end_is_asked_anew_when_it_has_to_leave),
        TEST(a_job_with_a_signal_is_asked_when_it_has_to_leave_and_not_in_a_cancel),
        TEST(exit_zero_after_a_notice_is_saved_unless_the_job_says_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
