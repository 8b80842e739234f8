/* SPDX-License-Identifier: Apache-2.0 */
/* test_failure.c - what failurePolicy makes of members that fail or are gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec/failure.h"
#include "core/place.h"
#include "util/mem.h"

#include "../fake/fake_core.h"

static struct spec_rule *add_rule(struct spec *s, enum spec_action action)
{
    struct spec_rule *old = s->failure.rules;

    s->failure.rules = arena_alloc(&s->arena, (s->failure.n_rules + 1) * sizeof(*old));
    if (s->failure.n_rules)
        memcpy(s->failure.rules, old, s->failure.n_rules * sizeof(*old));
    s->failure.rules[s->failure.n_rules] = (struct spec_rule){.action = action};
    return &s->failure.rules[s->failure.n_rules++];
}

static void on_code(struct spec *s, uint32_t code, enum spec_action action)
{
    struct spec_rule *rule = add_rule(s, action);

    rule->codes = arena_alloc(&s->arena, sizeof(*rule->codes));
    rule->codes[rule->n_codes++] = code;
}

static void on_reason(struct spec *s, const char *reason, enum spec_action action)
{
    struct spec_rule *rule = add_rule(s, action);

    rule->reasons.v = arena_alloc(&s->arena, sizeof(*rule->reasons.v));
    rule->reasons.v[rule->reasons.n++] = reason;
}

/* All its pods are gone, its back-off is over, it is placed again and runs. */
static void come_back(struct core *c, struct job *j)
{
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    core_pass(c, 600 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
}

static void the_first_rule_that_matches_an_exit_code_ends_the_job(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;

    on_code(s, 4, SPEC_RESTART_FREE);
    on_code(s, 3, SPEC_FAIL);
    on_code(s, 3, SPEC_RESTART_FREE);
    j = core_running(c, s);
    core_see(c, j, 0, POD_FAILED, 3);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_FAILED);
    assert_int_equal(j->restarts, 0);
    assert_non_null(strstr(j->reason.text, "exit code 3 on"));
    assert_non_null(strstr(j->reason.text, "failurePolicy.rules[1]: Fail"));
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_FAILED);
}

static void a_free_restart_does_not_count_but_waits(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;

    s->max_restarts = 0;
    on_code(s, 75, SPEC_RESTART_FREE);
    j = core_running(c, s);
    for (int i = 0; i < 3; i++) {
        core_see(c, j, 1, POD_FAILED, 75);
        assert_int_equal(j->state, JOB_RESTARTING);
        assert_true(j->not_before == c->now + 30 * USEC_PER_SEC);
        come_back(c, j);
    }
    assert_int_equal(j->restarts, 0);
    core_see(c, j, 1, POD_FAILED, 76); /* no rule: it counts, and none is left */
    assert_int_equal(j->outcome, JOB_FAILED);
}

static void a_node_is_excluded_when_a_rule_says_so(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    uint32_t node_ix;
    struct job *j;

    s->max_restarts = 0;
    on_code(s, 94, SPEC_EXCLUDE);
    j = core_running(c, s);
    node_ix = j->members[1].node_ix;
    core_see(c, j, 1, POD_FAILED, 94);
    assert_int_equal(j->state, JOB_RESTARTING);
    assert_true(place_excludes(j->excluded, node_ix));
    come_back(c, j);
    assert_true(j->members[0].node_ix != node_ix && j->members[1].node_ix != node_ix);
}

static void a_lost_member_counts_when_a_rule_says_so_and_the_last_is_lost(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 1, 8);
    struct job *j;

    s->max_restarts = 1;
    on_reason(s, "NodeLost", SPEC_RESTART);
    j = core_running(c, s);
    core_gone_all(c, j->id);
    assert_int_equal(j->restarts, 1);
    core_pass(c, 600 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_LOST);
}

static void a_rule_counts_for_a_gang_that_is_still_starting_too(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct answer a;

    on_code(s, 3, SPEC_FAIL);
    a = core_submit(c, s);
    assert_int_equal(core_cycle(c), 1);
    core_see(c, core_job(c, a), 0, POD_FAILED, 3);
    assert_int_equal(core_job(c, a)->state, JOB_STOPPING);
    assert_int_equal(core_job(c, a)->outcome, JOB_FAILED);
}

static void a_long_run_gives_the_restarts_back_and_back_off_is_the_jobs(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;

    s->max_restarts = 1;
    s->max_runtime_us = 86400 * USEC_PER_SEC;
    s->failure = (struct spec_failure){.reset_after_us = 3600 * USEC_PER_SEC,
                                       .backoff_us = 5 * USEC_PER_SEC,
                                       .backoff_max_us = 8 * USEC_PER_SEC};
    j = core_running(c, s);
    for (int i = 0; i < 3; i++) {
        core_pass(c, 3600 * USEC_PER_SEC);
        core_see(c, j, 0, POD_FAILED, 1);
        assert_int_equal(j->restarts, 1);
        assert_true(j->not_before == c->now + 5 * USEC_PER_SEC);
        come_back(c, j);
    }
    core_pass(c, 3599 * USEC_PER_SEC);
    core_see(c, j, 0, POD_FAILED, 1);
    assert_int_equal(j->outcome, JOB_FAILED);
}

static void the_kubelets_words_are_gathered_in_two_classes(void **state)
{
    static const struct {
        const char *reason;
        enum spec_action action;
    } rows[] = {
        {"OutOfcpu", SPEC_FAIL},
        {"UnexpectedAdmissionError", SPEC_FAIL},
        {"NodeShutdown", SPEC_RESTART},
        {NULL, SPEC_RESTART},
        {"OOMKilled", SPEC_RESTART_FREE},
        {"OutOfMemory", SPEC_RESTART},
        {"", SPEC_RESTART},
    };
    struct spec *s = site_spec("job", 1, 8);
    struct failure *f;

    (void)state;
    on_reason(s, "Rejected", SPEC_FAIL);
    on_reason(s, "NodeLost", SPEC_RESTART);
    on_reason(s, "OOMKilled", SPEC_RESTART_FREE);
    f = failure_of(&s->failure);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(failure_judge(f, &(struct fault){rows[i].reason, 137, 0}).action,
                         rows[i].action);
    assert_int_equal(failure_judge(NULL, &(struct fault){"OutOfcpu", -1, 0}).action, SPEC_EXCLUDE);
    assert_int_equal(failure_judge(NULL, &(struct fault){NULL, -1, 0}).action, SPEC_RESTART_FREE);
    failure_destroy(f);
    s->failure = (struct spec_failure){.excludes_nodes = SPEC_NO};
    f = failure_of(&s->failure);
    assert_int_equal(failure_judge(f, &(struct fault){"OutOfcpu", -1, 0}).action,
                     SPEC_RESTART_FREE);
    failure_destroy(f);
    spec_destroy(s);
}

static void rules_without_sense_are_refused_with_their_path(void **state)
{
    struct settings settings;
    uint32_t code = 256;
    struct err err;

    (void)state;
    site_settings_init(&settings);
    (void)site_tenant(&settings, "t");
    for (int i = 0; i < 4; i++) {
        struct spec *s = site_spec("job", 1, 8);

        on_code(s, 1, SPEC_FAIL);
        on_reason(s, i == 0 ? "Preempted" : "two words", SPEC_FAIL);
        if (i == 2)
            s->failure.rules[1].codes = s->failure.rules[0].codes;
        if (i == 2)
            s->failure.rules[1].n_codes = 1;
        if (i == 3) {
            s->failure.rules[1].reasons.n = 0;
            s->failure.rules[1].codes = &code;
            s->failure.rules[1].n_codes = 1;
        }
        assert_int_equal(spec_check(s, &settings, &err), -1);
        assert_int_equal(err.code, ERR_INVALID);
        assert_non_null(strstr(err.text, "spec.failurePolicy.rules[1]: "));
        spec_destroy(s);
    }
    site_settings_fini(&settings);
}

static void a_back_off_that_would_be_cut_is_refused(void **state)
{
    struct settings settings;
    struct spec *s = site_spec("job", 1, 8);
    struct err err;

    (void)state;
    site_settings_init(&settings);
    (void)site_tenant(&settings, "t");
    s->failure.backoff_us = 601 * USEC_PER_SEC;
    assert_int_equal(spec_check(s, &settings, &err), -1);
    assert_non_null(strstr(err.text, "spec.failurePolicy.backoff.initial: "));
    s->failure.backoff_max_us = 600 * USEC_PER_SEC;
    assert_int_equal(spec_check(s, &settings, &err), -1);
    s->failure.backoff_max_us = 601 * USEC_PER_SEC;
    assert_int_equal(spec_check(s, &settings, &err), 0);
    spec_destroy(s);
    site_settings_fini(&settings);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_rule_that_matches_an_exit_code_ends_the_job),
        TEST(a_free_restart_does_not_count_but_waits),
        TEST(a_node_is_excluded_when_a_rule_says_so),
        TEST(a_lost_member_counts_when_a_rule_says_so_and_the_last_is_lost),
        TEST(a_rule_counts_for_a_gang_that_is_still_starting_too),
        TEST(a_long_run_gives_the_restarts_back_and_back_off_is_the_jobs),
        TEST(the_kubelets_words_are_gathered_in_two_classes),
        TEST(rules_without_sense_are_refused_with_their_path),
        TEST(a_back_off_that_would_be_cut_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
