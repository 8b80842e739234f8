/* SPDX-License-Identifier: Apache-2.0 */
/* test_licence.c - licences of the cluster: who holds them, who waits for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/licence.h"
#include "view/explain.h"

#include "../fake/fake_core.h"

static int set_up(void **state)
{
    struct core *c;

    if (core_set_up(state))
        return -1;
    c = *state;
    c->settings.n_licences = 2;
    c->settings.licences[0] = (struct licence_setting){"abaqus", 5};
    c->settings.licences[1] = (struct licence_setting){"matlab", 1};
    return 0;
}

static struct spec *wants(const char *name, const char *licence, int64_t n)
{
    struct spec *s = site_spec(name, 1, 1);

    s->n_licences = 1;
    s->licences = arena_alloc(&s->arena, sizeof(*s->licences));
    s->licences[0] = (struct spec_extended){licence, n};
    return s;
}

static struct job *submit(struct core *c, struct spec *spec)
{
    struct job *j = core_job(c, core_submit(c, spec));

    core_cycle(c);
    core_forget(c);
    return j;
}

static void a_gang_waits_while_others_hold_the_licences(void **state)
{
    struct core *c = *state;
    struct job *a = submit(c, wants("a", "abaqus", 3)), *b = submit(c, wants("b", "abaqus", 3));
    struct job *d = submit(c, wants("d", "abaqus", 2)), *e = submit(c, wants("e", "matlab", 1));

    assert_int_equal(a->state, JOB_BINDING);
    assert_int_equal(b->state, JOB_PENDING);
    assert_int_equal(d->state, JOB_BINDING); /* what fits goes on */
    assert_int_equal(e->state, JOB_BINDING);
    assert_int_equal(licence_held(c->state, 0, NULL), 5);
    core_see_all(c, a->id, POD_RUNNING);
    assert_int_equal(core_cycle(c), 0);
    core_see_all(c, a->id, POD_SUCCEEDED);
    core_service_gone(c, a->id);
    assert_int_equal(core_cycle(c), 1); /* it wakes by that alone */
    assert_int_equal(b->state, JOB_BINDING);
    assert_int_equal(licence_held(c->state, 0, NULL), 5);
}

static void licences_are_held_until_the_last_pod_is_gone(void **state)
{
    struct core *c = *state;
    struct job *a = submit(c, wants("a", "matlab", 1)), *b = submit(c, wants("b", "matlab", 1));

    core_see_all(c, a->id, POD_RUNNING);
    core_cancel(c, a->id);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(licence_held(c->state, 1, NULL), 1); /* it is stopping */
    core_gone_all(c, a->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(b->state, JOB_BINDING);
}

static void why_says_who_holds_them_and_who_is_next(void **state)
{
    struct core *c = *state;
    struct job *a = submit(c, wants("a", "abaqus", 4)), *b, *d;
    struct explain x;
    char words[128];

    b = submit(c, wants("b", "abaqus", 2));
    d = submit(c, wants("d", "abaqus", 3));
    explain_job(c->state, d, c->now, &x);
    assert_string_equal(x.code, "LicencesInUse");
    (void)snprintf(words, sizeof(words), "needs 3 of licence abaqus, 4 of 5 are held: 4 by %s (t);",
                   a->name);
    assert_non_null(strstr(x.text, words));
    (void)snprintf(words, sizeof(words), "next is %s", b->name);
    assert_non_null(strstr(x.text, words));
    explain_job(c->state, b, c->now, &x);
    assert_non_null(strstr(x.text, "next is this job"));
}

static void what_the_site_does_not_have_is_refused_at_once(void **state)
{
    struct core *c = *state;
    struct spec *bad[] = {wants("a", "ansys", 1), wants("a", "abaqus", 6), wants("a", "abaqus", 0)};
    struct err err;

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(spec_check(bad[i], &c->settings, &err), -1);
        assert_int_equal(err.code, i < 2 ? ERR_REFUSED : ERR_INVALID);
        assert_non_null(strstr(err.text, "spec.licences"));
        spec_destroy(bad[i]);
    }
}

static void no_victim_is_taken_for_a_licence(void **state)
{
    struct core *c = *state;
    struct spec *s = wants("urgent", "matlab", 1);
    struct job *a = submit(c, wants("a", "matlab", 1)), *b;

    core_see_all(c, a->id, POD_RUNNING);
    core_pass(c, 900 * USEC_PER_SEC);
    s->priority_class = "urgent";
    b = submit(c, s);
    assert_int_equal(b->state, JOB_PENDING);
    assert_int_equal(a->state, JOB_RUNNING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gang_waits_while_others_hold_the_licences),
        TEST(licences_are_held_until_the_last_pod_is_gone),
        TEST(why_says_who_holds_them_and_who_is_next),
        TEST(what_the_site_does_not_have_is_refused_at_once),
        TEST(no_victim_is_taken_for_a_licence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
