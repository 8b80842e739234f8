/* SPDX-License-Identifier: Apache-2.0 */
/* test_verbs.c - hold, release and requeue: what each does, keeps and refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "view/explain.h"
#include "util/mem.h"
#include "util/str.h"
#include "../fake/fake_core.h"

static struct job *submitted(struct core *c, const char *name)
{
    return core_job(c, core_submit(c, site_spec(name, 2, 8)));
}

static void a_held_job_is_not_started_and_says_who_held_it(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job");
    struct explain x;

    assert_int_equal(core_verb(c, j->id, VERB_HOLD).code, ERR_OK);
    assert_int_equal(j->state, JOB_HELD);
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "Held");
    assert_non_null(strstr(x.text, "by alice"));
}

/* What is answered to the same verb for all of them. */
static const char *select_all(struct core *c, enum job_verb verb, struct job **jobs, size_t n)
{
    struct event ev = {.kind = EV_JOBS_SELECTED};
    struct ev_selected *all = ev.u.selected = xcalloc(1, sizeof(*all));

    *all = (struct ev_selected){.verb = verb, .ref.reply_token = 1, .caller.user = "alice"};
    memcpy(all->ref.request_id, &c->n_requests, sizeof(c->n_requests));
    for (size_t i = 0; i < n; i++)
        *vec_push(&all->jobs) = jobs[i]->id;
    core_forget(c);
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer.text;
}

static void many_are_changed_in_one_turn_and_others_left_as_they_are(void **state)
{
    struct core *c = *state;
    struct job *jobs[] = {submitted(c, "runs"), submitted(c, "a"), submitted(c, "b")};
    const char *text;

    assert_int_equal(core_verb(c, jobs[1]->id, VERB_HOLD).code, ERR_OK);
    assert_int_equal(core_verb(c, jobs[2]->id, VERB_HOLD).code, ERR_OK);
    assert_int_equal(core_cycle(c), 1);
    c->n_requests++;
    text = select_all(c, VERB_RELEASE, jobs, 3);
    assert_non_null(strstr(text, "2 jobs changed, 1 left as they are; the first is runs-"));
    assert_non_null(strstr(text, "which is Binding"));
    assert_int_equal(jobs[1]->state, JOB_PENDING);
    assert_int_equal(jobs[2]->state, JOB_PENDING);
    assert_int_equal(core_count(c, EFFECT_SAVE_JOB), 2);
    assert_int_equal(core_count(c, EFFECT_SAVE_REQUEST), 1);
    assert_int_equal(core_verb(c, jobs[1]->id, VERB_HOLD).code, ERR_OK);
    c->n_requests--; /* asked once more: answered, and not done again */
    assert_non_null(strstr(select_all(c, VERB_RELEASE, jobs, 3), "2 jobs changed"));
    assert_int_equal(jobs[1]->state, JOB_HELD);
    c->n_requests += 2;
    assert_string_equal(select_all(c, VERB_CANCEL, jobs, 3), "3 jobs changed");
    assert_int_equal(jobs[0]->state, JOB_STOPPING);
    assert_int_equal(jobs[1]->state, JOB_CANCELLED);
    assert_int_equal(core_cycle(c), 0);
}

static void a_long_reason_is_cut_between_characters(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job");
    char why[REASON_TEXT_MAX + 1] = "";
    struct event ev = {
        .kind = EV_JOB_VERB,
        .u.verb = {.job = j->id, .verb = VERB_HOLD, .caller.user = "alice", .why = why}};
    const char *text;

    for (size_t i = 0; i + 2 <= REASON_TEXT_MAX; i += 2)
        memcpy(&why[i], "\xc3\xa4", 2);
    ev.u.verb.why = xstrdup(why);
    (void)core_apply(c, &ev);
    text = job_reason_text(j);
    assert_in_range(strlen(text), REASON_TEXT_MAX - 1, REASON_TEXT_MAX);
    assert_true(str_is_clean_utf8(text, strlen(text)));
}

static void a_job_held_twice_runs_after_one_release(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job");

    (void)core_verb(c, j->id, VERB_HOLD);
    assert_true(core_verb(c, j->id, VERB_HOLD).is_again);
    assert_int_equal(core_verb(c, j->id, VERB_RELEASE).code, ERR_OK);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void a_job_that_is_submitted_held_waits_for_its_release(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;
    struct explain x;

    s->is_held = true;
    j = core_job(c, core_submit(c, s));
    assert_int_equal(j->state, JOB_HELD);
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "Held");
    assert_non_null(strstr(x.text, "submitted so"));
    assert_int_equal(core_verb(c, j->id, VERB_RELEASE).code, ERR_OK);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void a_released_job_has_the_age_that_it_had(void **state)
{
    struct core *c = *state;
    struct job *old = core_job(c, core_submit(c, site_spec("old", 4, 8))), *young;

    (void)core_verb(c, old->id, VERB_HOLD);
    core_pass(c, 60 * USEC_PER_SEC);
    young = core_job(c, core_submit(c, site_spec("young", 4, 8)));
    (void)core_verb(c, old->id, VERB_RELEASE);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(old->state, JOB_BINDING);
    assert_int_equal(young->state, JOB_PENDING);
}

static void a_held_job_counts_as_pending_and_can_be_cancelled(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job");
    const struct tenant *t = &c->state->tenants.v[j->tenant_ix];

    (void)core_verb(c, j->id, VERB_HOLD);
    assert_int_equal(t->pending, 1);
    assert_int_equal(core_cancel(c, j->id).code, ERR_OK);
    assert_int_equal(j->state, JOB_CANCELLED);
    assert_int_equal(t->pending, 0);
}

static void a_requeued_gang_waits_again_with_its_age_and_no_restart_counted(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job");
    usec_t age = j->submitted_at;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(core_verb(c, j->id, VERB_REQUEUE).code, ERR_OK);
    assert_int_equal(j->state, JOB_RESTARTING);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(j->submitted_at, age);
    assert_int_equal(j->restarts, 0);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->attempt, 2);
    (void)core_verb(c, j->id, VERB_REQUEUE); /* while its pods are bound */
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
}

static void what_a_state_does_not_allow_is_refused_with_what_to_do(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job");
    struct answer a;

    assert_true(core_verb(c, j->id, VERB_RELEASE).is_again);
    assert_true(core_verb(c, j->id, VERB_REQUEUE).is_again);
    assert_int_equal(core_cycle(c), 1);
    a = core_verb(c, j->id, VERB_HOLD);
    assert_int_equal(a.code, ERR_CONFLICT);
    assert_non_null(strstr(a.text, "requeue a running one first"));
    (void)core_cancel(c, j->id);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    for (enum job_verb v = VERB_HOLD; v <= VERB_CHECKPOINTED; v++)
        assert_int_equal(core_verb(c, j->id, v).code, ERR_CONFLICT);
    assert_int_equal(core_verb(c, (struct job_id){7}, VERB_HOLD).code, ERR_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_held_job_is_not_started_and_says_who_held_it),
        TEST(many_are_changed_in_one_turn_and_others_left_as_they_are),
        TEST(a_long_reason_is_cut_between_characters),
        TEST(a_job_held_twice_runs_after_one_release),
        TEST(a_job_that_is_submitted_held_waits_for_its_release),
        TEST(a_released_job_has_the_age_that_it_had),
        TEST(a_held_job_counts_as_pending_and_can_be_cancelled),
        TEST(a_requeued_gang_waits_again_with_its_age_and_no_restart_counted),
        TEST(what_a_state_does_not_allow_is_refused_with_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
