/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_watch.c - streams of events that break and resume, and waiting for jobs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fake/fake_daemon.h"
#include "util/mem.h"

static void send_events(struct fake_daemon *f, const uint8_t *id, uint64_t first, uint64_t last)
{
    for (uint64_t seq = first; seq <= last; seq++) {
        Queued__V1__WatchReply r = QUEUED__V1__WATCH_REPLY__INIT;
        Queued__V1__ReplyHeader h = fake_daemon_header(f, id, 0, "");
        Queued__V1__JobEvent e = QUEUED__V1__JOB_EVENT__INIT, *events[] = {&e};
        char job_id[] = "0123456789abc";

        e.has_seq = true;
        e.seq = seq;
        e.job_id = job_id;
        r.header = &h;
        r.n_events = 1;
        r.events = events;
        fake_daemon_reply(f, QUEUED__V1__METHOD__METHOD_WATCH, &r.base);
    }
}

static void stream_and_die(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    if (n == 0) {
        send_events(f, s->id, 11, 14);
        (void)usleep(100000); /* let them arrive before the end */
        fake_daemon_restart(f);
    } else if (memcmp(s->id, f->seen[0].id, FAKE_ID_BYTES) != 0 && s->after_seq > 0) {
        /* each time that it is opened again: a slow answer makes the client ask once more */
        send_events(f, s->id, s->after_seq - 1, 16); /* two of them are old */
    }
}

struct collected {
    uint64_t seq[32];
    size_t n;
    size_t stop_at;
};

static int collect(const struct queued_event *e, void *ctx)
{
    struct collected *got = ctx;

    got->seq[got->n++] = e->seq;
    return got->n == got->stop_at;
}

static void a_stream_resumes_without_loss_or_doubles(void **state)
{
    struct fake_daemon *f = fake_daemon_start(stream_and_die);
    struct queued_client *c = fake_daemon_connect(f, 100);
    struct queued_watch_options o = {.after_seq = 10, .credit = 4};
    struct collected got = {.stop_at = 6};
    struct queued_watch *w = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_watch_open(c, &o, &w, &e), 0);
    assert_int_equal(queued_watch_next(w, 30000, collect, &got, &e), 1);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(got.seq[i], 11 + i);
    assert_int_equal(queued_watch_seq(w), 16);
    assert_int_equal(f->seen[0].credit, 4);
    assert_int_equal(f->seen[0].after_seq, 10);
    queued_watch_close(w);
    queued_close(c);
    fake_daemon_stop(f);
}

static void stream_by_credit(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    uint64_t first = 1;

    for (size_t i = 0; i < n; i++) /* a stream that is opened again begins again */
        first = memcmp(s->id, f->seen[i].id, FAKE_ID_BYTES) == 0 ? first + f->seen[i].credit : 1;
    send_events(f, s->id, first, first + s->credit - 1);
}

static void credit_is_given_back_under_the_same_id(void **state)
{
    struct fake_daemon *f = fake_daemon_start(stream_by_credit);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_watch_options o = {.credit = 4};
    struct collected got = {.stop_at = 20};
    struct queued_watch *w = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_watch_open(c, &o, &w, &e), 0);
    assert_int_equal(queued_watch_next(w, 30000, collect, &got, &e), 1);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(got.seq[i], 1 + i);
    assert_memory_equal(f->seen[0].id, f->seen[1].id, FAKE_ID_BYTES);
    queued_watch_close(w);
    queued_close(c);
    fake_daemon_stop(f);
}

static void too_old(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    Queued__V1__WatchReply r = QUEUED__V1__WATCH_REPLY__INIT;
    Queued__V1__ReplyHeader h = fake_daemon_header(f, s->id, QUEUED_OUT_OF_RANGE, "too old");

    (void)n;
    r.header = &h;
    r.has_oldest_seq = true;
    r.oldest_seq = 500;
    fake_daemon_reply(f, QUEUED__V1__METHOD__METHOD_WATCH, &r.base);
}

static void history_that_is_gone_is_said(void **state)
{
    struct fake_daemon *f = fake_daemon_start(too_old);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_watch_options o = {.after_seq = 3};
    struct collected got = {.stop_at = 1};
    struct queued_watch *w = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_watch_open(c, &o, &w, &e), 0);
    assert_int_equal(queued_watch_next(w, 30000, collect, &got, &e), -1);
    assert_int_equal(e.code, QUEUED_OUT_OF_RANGE);
    assert_non_null(strstr(e.text, "events after 3 are gone, the oldest is 500"));
    queued_watch_close(w);
    queued_close(c);
    fake_daemon_stop(f);
}

static void keep_few(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    if (s->after_seq < 499)
        too_old(f, s, n);
    else
        send_events(f, s->id, s->after_seq + 1, s->after_seq + 3);
}

static void a_stream_of_all_begins_with_the_oldest_that_is_kept(void **state)
{
    struct fake_daemon *f = fake_daemon_start(keep_few);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_watch_options o = {.after_seq = 0};
    struct collected got = {.stop_at = 3};
    struct queued_watch *w = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_watch_open(c, &o, &w, &e), 0);
    assert_int_equal(queued_watch_next(w, 5000, collect, &got, &e), 1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(got.seq[i], 500 + i);
    queued_watch_close(w);
    queued_close(c);
    fake_daemon_stop(f);
}

static void run_and_fail(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    if (s->method == QUEUED__V1__METHOD__METHOD_WATCH)
        send_events(f, s->id, 8, 8);
    else
        fake_daemon_get(f, s->id, "a-7f3k", n == 0 ? "Running" : "Failed");
}

static void waiting_is_judged_by_the_present_state(void **state)
{
    struct fake_daemon *f = fake_daemon_start(run_and_fail);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    const char *const names[] = {"a"};
    struct queued_wait_options o = {.n = 1, .jobs = names, .wait_ms = 5000};
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_wait(c, &o, &jobs, &e), 0);
    assert_string_equal(jobs->v[0].state, "Failed");
    assert_int_equal(jobs->v[0].exit_code, 3);
    queued_jobs_free(jobs);
    assert_int_equal(atomic_load(&f->n), 3); /* get, watch, get */
    assert_int_equal(f->seen[1].after_seq, 7);
    queued_close(c);
    fake_daemon_stop(f);
}

static void stay(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    (void)n;
    if (s->method == QUEUED__V1__METHOD__METHOD_GET)
        fake_daemon_get(f, s->id, "a-7f3k", "Running");
}

static void waiting_ends_when_time_is_up(void **state)
{
    struct fake_daemon *f = fake_daemon_start(stay);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    const char *const names[] = {"a", "b"};
    struct queued_wait_options o = {.n = 2, .jobs = names, .wait_ms = 150};
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_wait(c, &o, &jobs, &e), -1);
    assert_int_equal(e.code, QUEUED_DEADLINE);
    o.what = QUEUED_WAIT_RUNNING;
    assert_int_equal(queued_wait(c, &o, &jobs, &e), 0);
    assert_int_equal(jobs->n, 2);
    queued_jobs_free(jobs);
    queued_close(c);
    fake_daemon_stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_resumes_without_loss_or_doubles),
        cmocka_unit_test(credit_is_given_back_under_the_same_id),
        cmocka_unit_test(history_that_is_gone_is_said),
        cmocka_unit_test(a_stream_of_all_begins_with_the_oldest_that_is_kept),
        cmocka_unit_test(waiting_is_judged_by_the_present_state),
        cmocka_unit_test(waiting_ends_when_time_is_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
