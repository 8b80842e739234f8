/* SPDX-License-Identifier: Apache-2.0 */
/* test_depend.c - dependsOn: what a job waits for, when that is met, and when it never is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "life/state_apply.h"
#include "view/explain.h"
#include "../fake/invariant.h"
#include "util/mem.h"
#include "../fake/fake_core.h"

static struct job *submitted(struct core *c, const char *name)
{
    return core_job(c, core_submit(c, site_spec(name, 1, 8)));
}

static struct answer submit_after(struct core *c, const char *name, const char *on,
                                  const char *condition)
{
    struct spec *s = site_spec(name, 1, 8);

    s->depends_on.n = 1;
    s->depends_on.v = arena_alloc(&s->arena, sizeof(*s->depends_on.v));
    s->depends_on.v[0].key = arena_strdup(&s->arena, on);
    s->depends_on.v[0].value = condition;
    return core_submit(c, s);
}

static struct job *after(struct core *c, const char *name, const char *on, const char *condition)
{
    struct answer a = submit_after(c, name, on, condition);

    assert_int_equal(a.code, ERR_OK);
    return core_job(c, a);
}

static void check(struct core *c)
{
    struct err err;

    assert_int_equal(state_check(c->state, &err), 0);
}

static void run(struct core *c, struct job *j)
{
    (void)core_cycle(c);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
    core_pass(c, 1);
}

static void succeed(struct core *c, struct job *j)
{
    core_see_all(c, j->id, POD_SUCCEEDED);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_SUCCEEDED);
    core_pass(c, 1);
}

static void cancel(struct core *c, struct job *j)
{
    (void)core_cancel(c, j->id);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
    core_pass(c, 1);
}

static void a_job_waits_until_the_other_has_succeeded(void **state)
{
    struct core *c = *state;
    struct job *first = submitted(c, "first"), *second = after(c, "second", "first", "succeeded");
    struct explain x;

    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(second->state, JOB_PENDING);
    run(c, first);
    core_pass(c, 40 * 60 * USEC_PER_SEC);
    explain_job(c->state, second, c->now, &x);
    assert_string_equal(x.code, "Dependency");
    assert_non_null(strstr(x.text, first->name));
    assert_non_null(strstr(x.text, "(Running for 40m) to succeed"));
    check(c);
    succeed(c, first);
    check(c);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(second->state, JOB_BINDING);
}

static void what_a_condition_means(void **state)
{
    struct core *c = *state;
    struct job *first = submitted(c, "first");
    struct job *started = after(c, "started", "first", "started");
    struct job *finished = after(c, "finished", "first", "finished");
    struct job *failed = after(c, "failed", "first", "failed");
    struct job *succeeded = after(c, "succeeded", "first", "succeeded");

    run(c, first);
    assert_int_equal(started->waits.n, 0);
    assert_int_equal(core_cycle(c), 1);
    cancel(c, first);
    assert_int_equal(finished->waits.n + failed->waits.n, 0);
    assert_int_equal(succeeded->state, JOB_FAILED);
    assert_int_equal(core_cycle(c), 2);
    check(c);
}

static void what_can_no_longer_be_met_ends_all_that_wait_for_it(void **state)
{
    struct core *c = *state;
    struct job *first = submitted(c, "first"), *chain[50];
    const char *before = "first";

    for (size_t i = 0; i < ARRAY_LEN(chain); i++) {
        chain[i] = after(c, "chain", before, i % 2 ? "started" : "succeeded");
        before = chain[i]->name;
    }
    (void)core_verb(c, chain[3]->id, VERB_HOLD);
    cancel(c, first);
    for (size_t i = 0; i < ARRAY_LEN(chain); i++) {
        assert_int_equal(chain[i]->state, JOB_FAILED);
        assert_string_equal(chain[i]->reason.code, "DependencyFailed");
    }
    assert_non_null(strstr(job_reason_text(chain[0]), "to succeed, and that is Cancelled"));
    assert_int_equal(c->state->dependents.n, 0);
    assert_int_equal(c->state->tenants.v[first->tenant_ix].pending, 0);
}

static void a_name_means_the_newest_job_of_it_in_the_tenant(void **state)
{
    struct core *c = *state;
    struct job *old = submitted(c, "data"), *new, *j;
    char id[JOB_ID_TEXT + 1];

    core_pass(c, USEC_PER_SEC);
    new = submitted(c, "data");
    (void)submitted(c, "data-two"); /* another name that begins so */
    j = after(c, "a", "data", "succeeded");
    assert_int_equal(j->waits.v[0].on.v, new->id.v);
    j = after(c, "b", old->name, "succeeded");
    assert_int_equal(j->waits.v[0].on.v, old->id.v);
    j = after(c, "c", job_id_format(id, old->id), "succeeded");
    assert_int_equal(j->waits.v[0].on.v, old->id.v);
    assert_int_equal(submit_after(c, "d", "dat", "succeeded").code, ERR_INVALID);
}

static void what_is_met_already_is_not_waited_for_and_what_never_will_be_is_refused(void **state)
{
    struct core *c = *state;
    struct job *first = submitted(c, "first");
    struct answer a;

    run(c, first);
    succeed(c, first);
    assert_int_equal(after(c, "a", "first", "succeeded")->waits.n, 0);
    assert_int_equal(after(c, "b", "first", "started")->waits.n, 0);
    a = submit_after(c, "c", "first", "failed");
    assert_int_equal(a.code, ERR_REFUSED);
    assert_non_null(strstr(a.text, "is Succeeded, so waiting for it to fail would never end"));
}

static void the_wait_for_nodes_begins_when_the_other_has_ended(void **state)
{
    struct core *c = *state;
    struct job *first = submitted(c, "first"), *second;
    struct spec *s = site_spec("second", 1, 8);

    s->max_queue_us = 60 * USEC_PER_SEC;
    s->depends_on.n = 1;
    s->depends_on.v = arena_alloc(&s->arena, sizeof(*s->depends_on.v));
    s->depends_on.v[0] = (struct spec_pair){"first", "succeeded"};
    second = core_job(c, core_submit(c, s));
    run(c, first);
    core_pass(c, 3000 * USEC_PER_SEC);
    assert_int_equal(second->state, JOB_PENDING);
    succeed(c, first);
    core_pass(c, 59 * USEC_PER_SEC);
    assert_int_equal(second->state, JOB_PENDING);
    core_pass(c, 2 * USEC_PER_SEC);
    assert_int_equal(second->state, JOB_TIMED_OUT);
}

static void a_job_that_waits_can_be_held_released_and_cancelled(void **state)
{
    struct core *c = *state;
    struct job *first = submitted(c, "first"), *a = after(c, "a", "first", "succeeded");
    struct job *b = after(c, "b", "first", "succeeded");

    (void)core_verb(c, a->id, VERB_HOLD);
    (void)core_verb(c, b->id, VERB_HOLD);
    (void)core_verb(c, b->id, VERB_RELEASE);
    assert_null(b->bucket);
    check(c);
    (void)core_cancel(c, b->id);
    assert_int_equal(first->n_waiters, 1);
    run(c, first);
    succeed(c, first);
    assert_int_equal(a->state, JOB_HELD);
    (void)core_verb(c, a->id, VERB_RELEASE);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(a->state, JOB_BINDING);
}

/* Jobs as a store gives them back: one that has ended, and one that had not been told. */
static void after_a_restart_the_same_jobs_are_waited_for(void **state)
{
    struct core *c = *state;
    const struct job_texts texts = {"job-1", "t", "t", "alice", "normal", NULL};
    const struct job_texts later = {"job-2", "t", "t", "alice", "normal", NULL};
    struct spec *spec = site_spec("job", 1, 8);

    for (int i = 0; i < 3; i++) {
        struct state *s = state_create(&c->settings);
        struct job *first = job_create(&texts), *second = job_create(&later);
        struct effects fx = {0};

        first->id.v = 5 << 12;
        first->state = i == 0 ? JOB_HELD : i == 1 ? JOB_SUCCEEDED : JOB_CANCELLED;
        second->id.v = 6 << 12;
        second->state = JOB_PENDING;
        *vec_push(&second->waits) = (struct dependency){first->id, SPEC_SUCCEEDED};
        assert_int_equal(state_load_job(s, first, spec, NULL), 0);
        assert_int_equal(state_load_job(s, second, spec, NULL), 0);
        state_tick(s, 1, &fx);
        assert_int_equal(second->waits.n, i == 0);
        assert_int_equal(second->bucket != NULL, i == 1);
        assert_int_equal(second->state, i == 2 ? JOB_FAILED : JOB_PENDING);
        assert_int_equal(state_check(s, NULL), 0);
        effects_fini(&fx);
        state_destroy(s);
    }
    spec_destroy(spec);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_waits_until_the_other_has_succeeded),
        TEST(what_a_condition_means),
        TEST(what_can_no_longer_be_met_ends_all_that_wait_for_it),
        TEST(a_name_means_the_newest_job_of_it_in_the_tenant),
        TEST(what_is_met_already_is_not_waited_for_and_what_never_will_be_is_refused),
        TEST(the_wait_for_nodes_begins_when_the_other_has_ended),
        TEST(a_job_that_waits_can_be_held_released_and_cancelled),
        TEST(after_a_restart_the_same_jobs_are_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
