/* SPDX-License-Identifier: Apache-2.0 */
/* test_budget.c - the PodDisruptionBudget of a job: made with an attempt, gone before the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gang.h"

#include "../fake/fake_core.h"

static struct job *placed(struct core *c, enum spec_choice pdb, uint32_t pods)
{
    struct spec *s = site_spec("guarded", pods, 8);
    struct job *j;

    s->pdb = pdb;
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    c->keeps_budgets = true;
    return j;
}

static void a_job_that_may_not_be_evicted_or_is_elastic_has_a_budget(void **state)
{
    struct core *c = *state;
    static const struct {
        enum spec_choice preemptible, pdb;
        uint32_t least, said, is;
    } rows[] = {
        {SPEC_YES, SPEC_UNSAID, 0, 0, 0}, {SPEC_NO, SPEC_UNSAID, 0, 0, 8},
        {SPEC_YES, SPEC_UNSAID, 6, 0, 6}, {SPEC_NO, SPEC_UNSAID, 6, 0, 6},
        {SPEC_YES, SPEC_YES, 0, 0, 8},    {SPEC_YES, SPEC_YES, 0, 5, 5},
        {SPEC_NO, SPEC_YES, 6, 8, 8},     {SPEC_NO, SPEC_NO, 6, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct spec *s = site_spec("job", 8, 8);

        s->preemptible = rows[i].preemptible;
        s->pdb = rows[i].pdb;
        s->min_available = rows[i].said;
        s->roles[0].min_replicas = rows[i].least;
        s->roles[0].spares = 0;
        s->tenant = s->ns = "t";
        assert_int_equal(spec_check(s, &c->settings, NULL), 0);
        assert_int_equal(spec_min_available(s), rows[i].is);
        spec_destroy(s);
    }
}

static void a_budget_of_more_pods_than_there_are_is_refused(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 8, 8);
    struct err err = {0};

    s->pdb = SPEC_YES;
    s->min_available = 9;
    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    assert_non_null(strstr(err.text, "spec.disruption.pdb: 9 pods are more than the 8"));
    s->pdb = SPEC_NO;
    s->min_available = 8;
    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    spec_destroy(s);
}

static void sum(void *ctx, const void *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        *(uint64_t *)ctx = *(uint64_t *)ctx * 31 + ((const unsigned char *)p)[i];
}

static uint64_t digest(enum spec_choice pdb, uint32_t min_available)
{
    struct spec *s = site_spec("job", 8, 8);
    uint64_t ret = 0;

    s->pdb = pdb;
    s->min_available = min_available;
    spec_feed(s, sum, &ret);
    spec_destroy(s);
    return ret;
}

static void each_form_of_it_is_another_job(void **state)
{
    (void)state;
    assert_true(digest(SPEC_UNSAID, 0) != digest(SPEC_YES, 0));
    assert_true(digest(SPEC_YES, 0) != digest(SPEC_NO, 0));
    assert_true(digest(SPEC_YES, 0) != digest(SPEC_YES, 1));
}

/* What the cluster is told of it. */
static uint32_t told(struct core *c, const struct job *j, bool is_stop)
{
    struct gang g;
    uint32_t ret;

    gang_init(&g, c->state, j, NULL, is_stop);
    ret = g.has_budget ? g.min_available : 0;
    gang_fini(&g);
    return ret;
}

static const char *last_note(const struct core *c)
{
    return core_last(c, EFFECT_SAVE_EVENT)->u.note->reason;
}

static void it_is_made_with_the_attempt_and_awaited_at_the_end(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, SPEC_YES, 1);

    assert_true(j->has_budget);
    assert_int_equal(told(c, j, false), 1);
    core_see_all(c, j->id, POD_RUNNING);
    core_see_all(c, j->id, POD_SUCCEEDED);
    assert_int_equal(j->state, JOB_STOPPING); /* a daemon that ends here knows what is left */
    assert_int_equal(told(c, j, true), 1);
    core_budget_gone(c, j->id);
    assert_int_equal(j->state, JOB_SUCCEEDED);
}

static void it_goes_before_the_next_attempt(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, SPEC_YES, 2);

    core_refuse(c, j, 0, REFUSAL_TRY_LATER);
    assert_int_equal(told(c, j, true), 2);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_STOPPING);
    core_budget_gone(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    assert_true(!j->has_budget && j->has_service);
}

static void a_preemptible_gang_of_one_size_has_none(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, SPEC_UNSAID, 2);

    assert_false(j->has_budget);
    assert_int_equal(told(c, j, false), 0);
}

static void one_that_is_refused_is_remarked_and_the_gang_runs(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, SPEC_YES, 2);
    struct event ev = {
        .kind = EV_BUDGET,
        .u.budget = {.job = j->id, .attempt = j->attempt, .trouble = xstrdup("no right")}};

    (void)core_apply(c, &ev);
    assert_string_equal(last_note(c), "NoDisruptionBudget");
    assert_int_equal(j->state, JOB_BINDING);
    assert_string_equal(j->reason.code, "WaitingForBind");
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_true(j->has_budget); /* an answer that was lost: it is looked for at the end */
}

static void what_is_said_of_an_earlier_attempt_or_too_early_counts_for_nothing(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, SPEC_YES, 2);
    struct event early = {.kind = EV_BUDGET, .u.budget = {.job = j->id, .attempt = j->attempt}};
    struct event old = {.kind = EV_BUDGET, .u.budget = {.job = j->id, .attempt = j->attempt - 1}};

    (void)core_apply(c, &early);
    assert_true(j->has_budget);
    assert_int_equal(core_cancel(c, j->id).code, ERR_OK);
    (void)core_apply(c, &old);
    assert_true(j->has_budget);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_STOPPING);
    core_budget_gone(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_may_not_be_evicted_or_is_elastic_has_a_budget),
        TEST(a_budget_of_more_pods_than_there_are_is_refused),
        TEST(each_form_of_it_is_another_job),
        TEST(it_is_made_with_the_attempt_and_awaited_at_the_end),
        TEST(it_goes_before_the_next_attempt),
        TEST(a_preemptible_gang_of_one_size_has_none),
        TEST(one_that_is_refused_is_remarked_and_the_gang_runs),
        TEST(what_is_said_of_an_earlier_attempt_or_too_early_counts_for_nothing),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
