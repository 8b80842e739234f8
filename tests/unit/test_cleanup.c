/* SPDX-License-Identifier: Apache-2.0 */
/* test_cleanup.c - what of a job is kept after its end, and how long: its pods and its record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/mem.h"

#include "../fake/fake_core.h"

/* A job that has ended, its service gone too. */
static struct job *ended(struct core *c, struct spec *s, int16_t exit_code)
{
    struct job *j;

    s->max_restarts = 0;
    assert_int_equal(spec_check(s, &c->settings, NULL), 0);
    j = core_running(c, s);
    for (uint32_t i = 0; i < j->n_members; i++)
        core_see(c, j, i, exit_code ? POD_FAILED : POD_SUCCEEDED, exit_code);
    core_service_gone(c, j->id);
    core_forget(c);
    assert_int_equal(j->state, exit_code ? JOB_FAILED : JOB_SUCCEEDED);
    return j;
}

static void pods_and_record_are_kept_as_long_as_the_job_says(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;
    struct job_id id;

    s->pod_ttl_us = 600 * USEC_PER_SEC;
    s->ttl_us = 1200 * USEC_PER_SEC;
    j = ended(c, s, 0);
    id = j->id;
    core_pass(c, 600 * USEC_PER_SEC - 1);
    assert_true(j->has_pods);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 0);
    core_pass(c, 1);
    assert_false(j->has_pods);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 1);
    core_pass(c, 600 * USEC_PER_SEC - 1);
    assert_non_null(state_job(c->state, id));
    core_pass(c, 1);
    assert_null(state_job(c->state, id));
}

static void pods_are_no_longer_kept_than_the_record(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;

    s->ttl_us = 1200 * USEC_PER_SEC;
    j = ended(c, s, 0);
    assert_true(j->has_pods && j->timer_at == j->ended_at + 1200 * USEC_PER_SEC);
}

static void failed_keeps_the_pods_of_a_job_that_has_not_succeeded(void **state)
{
    struct core *c = *state;

    for (int16_t code = 0; code < 2; code++) {
        struct spec *s = site_spec("job", 2, 8);
        struct job *j;

        s->keep_pods = "failed";
        j = ended(c, s, code);
        core_pass(c, USEC_PER_SEC);
        assert_int_equal(j->has_pods, code);
        assert_int_equal(core_count(c, EFFECT_GANG_STOP), !code);
    }
}

static void none_keeps_no_pod(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;

    s->keep_pods = "none";
    j = ended(c, s, 1);
    core_pass(c, USEC_PER_SEC);
    assert_false(j->has_pods);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 1);
}

static void times_that_contradict_each_other_are_refused(void **state)
{
    static const struct {
        usec_t ttl_s, pod_ttl_s;
        const char *keep, *want;
    } rows[] = {
        {0, 72 * 3600 + 1, NULL, "spec.cleanup.podTTL: is longer"},
        {60, 61, NULL, "spec.cleanup.podTTL: is longer"},
        {0, 60, "none", "spec.cleanup.podTTL: is given"},
        {367 * 24 * 3600, 0, NULL, "spec.cleanup.ttlAfterFinish: must be"},
        {0, 0, "some", "spec.cleanup.keepPods: must be"},
        {60, 60, "all", NULL},
    };
    struct core *c = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct spec *s = site_spec("job", 2, 8);
        struct err err = {.code = ERR_OK};
        int rc;

        s->ttl_us = rows[i].ttl_s * USEC_PER_SEC;
        s->pod_ttl_us = rows[i].pod_ttl_s * USEC_PER_SEC;
        s->keep_pods = rows[i].keep;
        rc = spec_check(s, &c->settings, &err);
        if (rows[i].want ? rc == 0 || !strstr(err.text, rows[i].want) : rc != 0)
            fail_msg("row %zu: %d, %s", i, rc, err.text);
        spec_destroy(s);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pods_and_record_are_kept_as_long_as_the_job_says),
        TEST(pods_are_no_longer_kept_than_the_record),
        TEST(failed_keeps_the_pods_of_a_job_that_has_not_succeeded),
        TEST(none_keeps_no_pod),
        TEST(times_that_contradict_each_other_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
