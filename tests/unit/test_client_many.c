/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_many.c - several changes on their way at once, to a daemon that answers out of order,
 * loses answers or dies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/fake_daemon.h"

enum { N = 3 };

static const struct queued_change changes[N] = {
    {QUEUED_CANCEL, "a", NULL, 0}, {QUEUED_HOLD, "b", NULL, 0}, {QUEUED_CANCEL, "c", "no need", 0}};

/* To the request that came as the i-th, with that in the name. */
static void answer(struct fake_daemon *f, size_t i, uint32_t code)
{
    Queued__V1__ChangeReply m = QUEUED__V1__CHANGE_REPLY__INIT;
    Queued__V1__ReplyHeader h = fake_daemon_header(f, f->seen[i].id, code, "so it is");
    char name[16];

    (void)snprintf(name, sizeof(name), "job-%zu", i);
    m.header = &h;
    m.name = name;
    fake_daemon_reply(f, f->seen[i].method, &m.base);
}

static void backwards_when_all_are_there(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    (void)s;
    if (n < N - 1)
        return;
    answer(f, 2, 0);
    answer(f, 1, QUEUED_CONFLICT);
    answer(f, 0, 0);
}

static void all_are_asked_before_one_is_answered_and_each_gets_its_own(void **state)
{
    struct fake_daemon *f = fake_daemon_start(backwards_when_all_are_there);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_changed done[N] = {0};
    struct queued_error errors[N];
    int rc = queued_change_all(c, changes, N, done, errors);
    size_t n = atomic_load(&f->n);

    (void)state;
    queued_close(c);
    fake_daemon_stop(f);
    assert_int_equal(rc, -1);
    assert_int_equal(n, N);
    assert_int_equal(errors[0].code, QUEUED_OK);
    assert_string_equal(done[0].name, "job-0");
    assert_int_equal(errors[1].code, QUEUED_CONFLICT);
    assert_string_equal(errors[1].text, "so it is");
    assert_int_equal(errors[2].code, QUEUED_OK);
    assert_string_equal(done[2].name, "job-2");
}

static void lose_the_second(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    (void)s;
    if (n != 1)
        answer(f, n, 0);
}

static void only_what_was_not_answered_is_asked_again(void **state)
{
    struct fake_daemon *f = fake_daemon_start(lose_the_second);
    struct queued_client *c = fake_daemon_connect(f, 300);
    struct queued_changed done[N] = {0};
    struct queued_error errors[N];
    int rc = queued_change_all(c, changes, N, done, errors);
    size_t n = atomic_load(&f->n);
    int differ = memcmp(f->seen[1].id, f->seen[N].id, FAKE_ID_BYTES);

    (void)state;
    queued_close(c);
    fake_daemon_stop(f);
    assert_int_equal(rc, 0);
    assert_int_equal(n, N + 1);
    assert_int_equal(differ, 0);
    assert_string_equal(done[1].name, "job-3");
}

static void die_at_the_third(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    (void)s;
    if (n == N - 1)
        fake_daemon_restart(f);
    else if (n >= N)
        answer(f, n, 0);
}

static void a_restarted_daemon_is_asked_for_all_again_at_once(void **state)
{
    struct fake_daemon *f = fake_daemon_start(die_at_the_third);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_changed done[N] = {0};
    struct queued_error errors[N];
    int rc = queued_change_all(c, changes, N, done, errors);
    int differ = memcmp(f->seen[0].id, f->seen[N].id, FAKE_ID_BYTES);

    (void)state;
    queued_close(c);
    fake_daemon_stop(f);
    assert_int_equal(rc, 0);
    assert_int_equal(differ, 0);
    assert_string_equal(done[0].name, "job-3");
    assert_string_equal(done[2].name, "job-5");
}

static void more_than_may_be_asked_at_once_is_refused(void **state)
{
    struct fake_daemon *f = fake_daemon_start(lose_the_second);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_change many[QUEUED_CHANGES_MAX + 1];
    struct queued_changed done[QUEUED_CHANGES_MAX + 1];
    struct queued_error errors[QUEUED_CHANGES_MAX + 1];
    size_t n;
    int rc;

    (void)state;
    for (size_t i = 0; i <= QUEUED_CHANGES_MAX; i++)
        many[i] = changes[0];
    rc = queued_change_all(c, many, QUEUED_CHANGES_MAX + 1, done, errors);
    n = atomic_load(&f->n);
    queued_close(c);
    fake_daemon_stop(f);
    assert_int_equal(rc, -1);
    assert_int_equal(n, 0);
    assert_int_equal(errors[QUEUED_CHANGES_MAX].code, QUEUED_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_asked_before_one_is_answered_and_each_gets_its_own),
        cmocka_unit_test(only_what_was_not_answered_is_asked_again),
        cmocka_unit_test(a_restarted_daemon_is_asked_for_all_again_at_once),
        cmocka_unit_test(more_than_may_be_asked_at_once_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
