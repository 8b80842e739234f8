/* SPDX-License-Identifier: Apache-2.0 */
/* test_completion.c - completion.policy and roles[].leader: whose end is the job's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/fake_core.h"

/* Two workers of 8 GPUs, and a launcher that leads where this is said. */
static struct spec *mpi(const char *policy, bool leads)
{
    struct spec *s = site_spec("mpi", 2, 8);

    site_role(s, "launcher", 1, 0);
    s->roles[1].cpu_milli = 100;
    s->roles[1].is_leader = leads;
    s->completion = policy;
    s->max_restarts = 0;
    return s;
}

enum { LAUNCHER = 2 };

static struct job *run(struct core *c, struct spec *spec)
{
    struct job *j = core_job(c, core_submit(c, spec));

    core_cycle(c);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
    core_forget(c);
    return j;
}

static void stop(struct core *c, struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase <= MEMBER_RUNNING)
            core_see(c, j, i, POD_FAILED, 143);
    core_service_gone(c, j->id);
}

static void the_end_of_the_leader_is_the_end_of_the_job_and_the_rest_is_stopped(void **state)
{
    struct core *c = *state;
    struct job *j = run(c, mpi("leader", true));

    core_see(c, j, LAUNCHER, POD_SUCCEEDED, 0);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_SUCCEEDED);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 1);
    assert_non_null(strstr(job_reason_text(j), "launcher-0-1 has ended, 2 other pods are stopped"));
    stop(c, j);
    assert_int_equal(j->state, JOB_SUCCEEDED);
    assert_int_equal(j->exit_code, 0); /* not that of those who were stopped */
}

static void without_the_policy_all_must_end(void **state)
{
    struct core *c = *state;
    struct job *j = run(c, mpi(NULL, true));

    core_see(c, j, LAUNCHER, POD_SUCCEEDED, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    core_see(c, j, 0, POD_SUCCEEDED, 0);
    core_see(c, j, 1, POD_SUCCEEDED, 0);
    assert_int_equal(j->outcome, JOB_SUCCEEDED);
}

static void the_first_role_leads_where_none_is_said_to(void **state)
{
    struct core *c = *state;
    struct job *j = run(c, mpi("leader", false));

    core_see(c, j, LAUNCHER, POD_SUCCEEDED, 0);
    core_see(c, j, 1, POD_SUCCEEDED, 0); /* its second pod does not */
    assert_int_equal(j->state, JOB_RUNNING);
    core_see(c, j, 0, POD_SUCCEEDED, 0);
    assert_int_equal(j->outcome, JOB_SUCCEEDED);
}

static void the_exit_code_of_a_leader_that_fails_is_the_jobs(void **state)
{
    struct core *c = *state;
    struct job *j = run(c, mpi("leader", true));

    core_see(c, j, LAUNCHER, POD_FAILED, 3);
    assert_int_equal(j->outcome, JOB_FAILED);
    stop(c, j);
    assert_int_equal(j->state, JOB_FAILED);
    assert_int_equal(j->exit_code, 3);
}

static void a_worker_that_fails_is_judged_by_the_failure_policy(void **state)
{
    struct core *c = *state;
    struct job *j = run(c, mpi("leader", true));

    core_see(c, j, 0, POD_FAILED, 7);
    assert_int_equal(j->outcome, JOB_FAILED);
    core_see(c, j, LAUNCHER, POD_SUCCEEDED, 0); /* told to go */
    stop(c, j);
    assert_int_equal(j->state, JOB_FAILED);
    assert_int_equal(j->exit_code, 7);
}

static void a_leader_that_ends_before_all_run_is_waited_for_no_longer_than_that(void **state)
{
    struct core *c = *state;
    struct job *j = core_job(c, core_submit(c, mpi("leader", true)));

    core_cycle(c);
    core_see(c, j, LAUNCHER, POD_SUCCEEDED, 0);
    core_see(c, j, 0, POD_RUNNING, -1);
    assert_int_equal(j->state, JOB_BINDING);
    core_see(c, j, 1, POD_RUNNING, -1);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_SUCCEEDED);
}

static void so_many_pods_that_succeed_are_enough(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("race", 4, 8);
    struct job *j;

    s->completion = "min";
    s->completion_min = 2;
    j = run(c, s);
    core_see(c, j, 3, POD_SUCCEEDED, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    core_see(c, j, 1, POD_SUCCEEDED, 0);
    assert_int_equal(j->outcome, JOB_SUCCEEDED);
    assert_string_equal(job_reason_text(j), "2 pods have succeeded, 2 others are stopped");
    stop(c, j);
    assert_int_equal(j->state, JOB_SUCCEEDED);
    assert_int_equal(j->exit_code, 0);
}

static void what_makes_no_sense_is_refused_with_its_path(void **state)
{
    static const struct {
        const char *policy, *path;
        uint32_t n, leaders;
    } rows[] = {
        {"some", "spec.completion.policy: 'some' is none of", 0, 0},
        {"min", "spec.completion.n: must be 1 to 3", 0, 0},
        {"min", "spec.completion.n: must be 1 to 3", 4, 0},
        {"leader", "spec.completion.n: goes with policy min", 1, 0},
        {NULL, "spec.completion.n: goes with policy min", 1, 0},
        {"leader", "spec.roles[1].leader: another role leads", 0, 2},
    };
    struct core *c = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct spec *s = mpi(rows[i].policy, rows[i].leaders > 1);
        struct err err;

        s->roles[0].is_leader = rows[i].leaders > 0;
        s->completion_min = rows[i].n;
        assert_int_equal(spec_check(s, &c->settings, &err), -1);
        assert_non_null(strstr(err.text, rows[i].path));
        spec_destroy(s);
    }
}

static void sink(void *ctx, const void *p, size_t len)
{
    uint64_t *h = ctx;
    const unsigned char *b = p;

    for (size_t i = 0; i < len; i++)
        *h = *h * 31 + b[i];
}

static void the_digest_knows_each_of_them(void **state)
{
    uint64_t seen[5] = {0};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct spec *s = mpi(i == 1 ? "leader" : i > 2 ? "min" : NULL, i == 2);

        s->completion_min = i > 2 ? (uint32_t)i : 0;
        spec_feed(s, sink, &seen[i]);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(seen[i], seen[k]);
        spec_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)
        T(the_end_of_the_leader_is_the_end_of_the_job_and_the_rest_is_stopped),
        T(without_the_policy_all_must_end),
        T(the_first_role_leads_where_none_is_said_to),
        T(the_exit_code_of_a_leader_that_fails_is_the_jobs),
        T(a_worker_that_fails_is_judged_by_the_failure_policy),
        T(a_leader_that_ends_before_all_run_is_waited_for_no_longer_than_that),
        T(so_many_pods_that_succeed_are_enough),
        T(what_makes_no_sense_is_refused_with_its_path),
        T(the_digest_knows_each_of_them),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
