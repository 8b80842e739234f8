/* SPDX-License-Identifier: Apache-2.0 */
/* test_later.c - roles whose pods are made once another role runs (roles[].startAfter). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gang.h"
#include "spec/spec_check.h"
#include "util/mem.h"
#include "view/explain.h"

#include "../fake/fake_core.h"
#include "../fake/invariant.h"

/* Member 0 is the launcher, 1 and 2 are workers. */
static struct spec *driven(void)
{
    struct spec *s = site_spec("j", 1, 0);

    s->roles[0].name = "launcher";
    s->roles[0].start_after = "worker";
    site_role(s, "worker", 2, 8);
    return s;
}

static struct job *placed(struct core *c, struct spec *s)
{
    struct job *j = core_job(c, core_submit(c, s));

    assert_int_equal(core_cycle(c), 1);
    core_forget(c);
    return j;
}

static void check(const struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
}

/* The order that the adapter gets. */
static void order(const struct core *c, const struct job *j, bool *ret_waits)
{
    struct spec *s = driven();
    struct gang g;

    gang_init(&g, c->state, j, s, false);
    assert_int_equal(g.n_pods, j->n_members);
    for (uint32_t i = 0; i < g.n_pods; i++)
        ret_waits[i] = g.pods[i].waits;
    gang_fini(&g);
    spec_destroy(s);
}

static void its_pods_are_asked_for_when_all_of_the_other_role_run(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, driven());
    bool waits[3];
    struct explain x;

    assert_int_equal(j->charged_parts, 16 * GPU_PARTS);
    order(c, j, waits);
    assert_true(waits[0] && !waits[1] && !waits[2]);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.text,
                        "0 of 3 pods bound; role launcher waits for role worker to be Running");
    core_see(c, j, 1, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_BINDING);
    core_see(c, j, 2, POD_PENDING, 0);
    assert_int_equal(j->state, JOB_STARTING);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 0);
    explain_job(c->state, j, c->now, &x);
    assert_non_null(strstr(x.text, "1 of 3 pods Running; role launcher waits"));
    check(c);
    core_see(c, j, 2, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_STARTING);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    assert_true(gang_is_wanted(j, false));
    order(c, j, waits);
    assert_false(waits[0]);
    check(c);
    core_see(c, j, 0, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
}

static void roles_may_form_a_chain_and_one_that_has_ended_well_counts_as_running(void **state)
{
    struct core *c = *state;
    struct spec *s = driven();
    struct job *j;

    site_role(s, "last", 1, 0);
    s->roles[2].start_after = "launcher";
    j = placed(c, s);
    core_see(c, j, 1, POD_RUNNING, 0);
    core_see(c, j, 2, POD_SUCCEEDED, 0);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    assert_false(j->members[0].waits);
    assert_true(j->members[3].waits);
    check(c);
    core_see(c, j, 0, POD_SUCCEEDED, 0);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 2);
    core_see(c, j, 3, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    check(c);
}

static void one_that_cannot_be_made_undoes_the_gang_that_starts(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, driven());

    core_see(c, j, 1, POD_RUNNING, 0);
    core_see(c, j, 2, POD_RUNNING, 0);
    core_refuse(c, j, 0, REFUSAL_TRY_LATER);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_PENDING);
    assert_string_equal(j->reason.code, "CreateRefused");
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    check(c);
}

static void a_host_that_refuses_it_is_replaced(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, driven());
    uint32_t host = j->members[0].node_ix;

    core_see(c, j, 1, POD_RUNNING, 0);
    core_see(c, j, 2, POD_RUNNING, 0);
    core_refuse(c, j, 0, REFUSAL_HOST);
    assert_int_equal(j->state, JOB_STARTING);
    (void)core_cycle(c);
    assert_int_equal(j->state, JOB_STARTING);
    assert_string_equal(j->reason.code, "HostReplaced");
    assert_int_not_equal(j->members[0].node_ix, host);
    check(c);
}

static void what_the_api_refuses_for_good_ends_the_job(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, driven());

    core_see(c, j, 1, POD_RUNNING, 0);
    core_see(c, j, 2, POD_RUNNING, 0);
    core_refuse(c, j, 0, REFUSAL_REJECTED);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_REJECTED);
}

static void the_start_timeout_counts_from_the_decision_and_names_who_waits(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, driven());

    core_see(c, j, 1, POD_RUNNING, 0);
    core_see(c, j, 2, POD_PENDING, 0);
    core_pass(c, j->start_timeout_us);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_string_equal(j->reason.code, "StartTimeout");
    assert_non_null(strstr(job_reason_text(j), "role launcher waits for role worker"));
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
}

static void a_job_is_cancelled_before_a_part_of_it_was_made(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, driven());
    struct gang g;

    core_see(c, j, 1, POD_RUNNING, 0);
    (void)core_cancel(c, j->id);
    assert_int_equal(j->state, JOB_STOPPING);
    gang_init(&g, c->state, j, NULL, true);
    assert_int_equal(g.n_pods, 3); /* one of a life before may be there */
    gang_fini(&g);
    core_see(c, j, 2, POD_RUNNING, 0);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 0);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
    check(c);
}

/* The worker and the launcher are lost together. */
static void a_pod_made_again_waits_for_the_other_role_too(void **state)
{
    struct core *c = *state;
    struct spec *s = driven();
    struct explain x;
    struct job *j;

    s->failure.scope = SPEC_SCOPE_POD;
    j = placed(c, s);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
    core_gone(c, j, 0);
    core_gone(c, j, 1);
    core_forget(c);
    assert_int_equal(core_cycle(c), 1);
    assert_true(j->members[0].waits);
    assert_false(j->members[1].waits);
    explain_job(c->state, j, c->now, &x);
    assert_non_null(strstr(x.text, "waits for another role"));
    core_forget(c);
    core_see(c, j, 1, POD_RUNNING, 0);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    assert_false(j->members[0].waits);
    core_see(c, j, 0, POD_RUNNING, 0);
    assert_int_equal(j->lost_at, 0);
    check(c);
}

static void refuse(const char *first, const char *second, const char *wanted)
{
    struct core c;
    struct spec *s = driven();
    struct err err = {0};

    core_init(&c);
    s->roles[0].start_after = first;
    s->roles[1].start_after = second;
    assert_int_equal(spec_check(s, &c.settings, &err), -1);
    assert_string_equal(err.text, wanted);
    spec_destroy(s);
    core_fini(&c);
}

static void an_order_without_a_beginning_is_refused(void **state)
{
    (void)state;
    refuse("nobody", NULL, "spec.roles[0].startAfter: no role of the job has this name");
    refuse(NULL, "wrker", "spec.roles[1].startAfter: no role of the job has this name");
    refuse("launcher", NULL, "spec.roles[0].startAfter: the role would wait for itself");
    refuse("worker", "launcher", "spec.roles[0].startAfter: the role would wait for itself");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(its_pods_are_asked_for_when_all_of_the_other_role_run),
        TEST(roles_may_form_a_chain_and_one_that_has_ended_well_counts_as_running),
        TEST(one_that_cannot_be_made_undoes_the_gang_that_starts),
        TEST(a_host_that_refuses_it_is_replaced),
        TEST(what_the_api_refuses_for_good_ends_the_job),
        TEST(the_start_timeout_counts_from_the_decision_and_names_who_waits),
        TEST(a_job_is_cancelled_before_a_part_of_it_was_made),
        TEST(a_pod_made_again_waits_for_the_other_role_too),
        cmocka_unit_test(an_order_without_a_beginning_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
