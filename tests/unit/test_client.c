/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c - calls of libqueued against a daemon that misbehaves on purpose: lost, late,
 * doubled and foreign answers, restarts, refusals, silence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

#include "../fake/fake_daemon.h"
#include "util/mem.h"

static const struct queued_role role = {.image = "registry.example.com/a:1"};
static const struct queued_spec spec = {.name = "resnet", .n_roles = 1, .roles = &role};

static void lose_two(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    if (n >= 2)
        fake_daemon_submit(f, s->id, 0, "");
}

static void a_lost_answer_is_asked_for_again_under_the_same_id(void **state)
{
    struct fake_daemon *f = fake_daemon_start(lose_two);
    struct queued_client *c = fake_daemon_connect(f, 50);
    struct queued_submitted job;
    struct queued_error e;

    (void)state;
    assert_string_equal(queued_server(c)->user, "alice");
    assert_int_equal(queued_submit(c, &spec, NULL, &job, &e), 0);
    assert_string_equal(job.name, "resnet-7f3k");
    assert_int_equal(atomic_load(&f->n), 3);
    assert_memory_equal(f->seen[0].id, f->seen[1].id, FAKE_ID_BYTES);
    assert_memory_equal(f->seen[0].id, f->seen[2].id, FAKE_ID_BYTES);
    assert_int_equal(queued_submit(c, &spec, NULL, &job, &e), 0);
    assert_memory_not_equal(f->seen[0].id, f->seen[3].id, FAKE_ID_BYTES); /* another intent */
    queued_close(c);
    fake_daemon_stop(f);
}

static void answer_late(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    if (n == 0)
        return;
    fake_daemon_get(f, f->seen[0].id, "late", "Running");
    fake_daemon_get(f, s->id, "right", "Running");
    fake_daemon_get(f, s->id, "doubled", "Running");
}

static void a_late_answer_of_an_earlier_call_is_dropped(void **state)
{
    struct fake_daemon *f = fake_daemon_start(answer_late);
    struct queued_options o = {.endpoint = f->endpoint, .call_ms = 200, .retry_first_ms = 60000};
    struct queued_client *c = NULL;
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_connect(&c, &o, &e), 0);
    assert_int_equal(queued_get(c, "a", &jobs, &e), -1);
    assert_int_equal(e.code, QUEUED_UNAVAILABLE);
    assert_non_null(strstr(e.text, "no answer from ipc://"));
    assert_non_null(strstr(e.text, "in 0.2s: is the daemon running?"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(queued_get(c, "a", &jobs, &e), 0);
        assert_string_equal(jobs->v[0].name, "right");
        queued_jobs_free(jobs);
    }
    queued_close(c);
    fake_daemon_stop(f);
}

static void die_once(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    if (n == 0)
        fake_daemon_restart(f);
    else
        fake_daemon_submit(f, s->id, 0, "");
}

static void a_restarted_daemon_is_asked_again_at_once(void **state)
{
    struct fake_daemon *f = fake_daemon_start(die_once);
    struct queued_client *c =
        fake_daemon_connect(f, 60000); /* only the new connection can cause a resend */
    struct queued_submitted job;
    struct queued_error e;

    (void)state;
    if (queued_submit(c, &spec, NULL, &job, &e))
        fail_msg("%s", e.text);
    assert_memory_equal(f->seen[0].id, f->seen[1].id, FAKE_ID_BYTES);
    queued_close(c);
    fake_daemon_stop(f);
}

static void not_now_then_refuse(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    if (n == 0)
        fake_daemon_submit(f, s->id, QUEUED_UNAVAILABLE, "commit in flight");
    else
        fake_daemon_submit(f, s->id, QUEUED_REFUSED, "tenant vison does not exist");
}

static void not_now_is_retried_and_a_refusal_is_final(void **state)
{
    struct fake_daemon *f = fake_daemon_start(not_now_then_refuse);
    struct queued_client *c = fake_daemon_connect(f, 20);
    struct queued_submitted job;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_submit(c, &spec, NULL, &job, &e), -1);
    assert_int_equal(e.code, QUEUED_REFUSED);
    assert_string_equal(e.text, "tenant vison does not exist");
    assert_true(atomic_load(&f->n) >= 2); /* once more where an answer took longer than the wait */
    assert_memory_equal(f->seen[0].id, f->seen[1].id, FAKE_ID_BYTES);
    queued_close(c);
    fake_daemon_stop(f);
}

static void never(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    (void)n;
    fake_daemon_submit(f, s->id, QUEUED_UNAVAILABLE, "the store is being checked");
}

static void a_daemon_that_never_can_is_quoted_at_the_end(void **state)
{
    struct fake_daemon *f = fake_daemon_start(never);
    struct queued_options o = {.endpoint = f->endpoint, .call_ms = 200, .retry_first_ms = 20};
    struct queued_client *c = NULL;
    struct queued_submitted job;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_connect(&c, &o, &e), 0);
    assert_int_equal(queued_submit(c, &spec, NULL, &job, &e), -1);
    assert_int_equal(e.code, QUEUED_UNAVAILABLE);
    assert_string_equal(e.text, "the store is being checked");
    queued_close(c);
    fake_daemon_stop(f);
}

static void rubbish(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    uint8_t frame[16] = {'Q', 'D', 1, 0, 0, 4, 0, 1, 0xff, 0xff, 0xff};

    (void)n;
    fake_daemon_send(f, frame, 11); /* damaged message */
    frame[7] = 0;
    fake_daemon_send(f, frame, 8); /* a request */
    frame[5] = 99;
    frame[7] = 1;
    fake_daemon_send(f, frame, 8); /* no such method */
    (void)zmq_send(f->router, f->peer, f->peer_len, ZMQ_SNDMORE);
    (void)zmq_send(f->router, frame, 8, ZMQ_SNDMORE);
    (void)zmq_send(f->router, frame, 8, 0); /* two parts */
    fake_daemon_get(f, s->id, "right", "Running");
}

static void damaged_answers_are_dropped(void **state)
{
    struct fake_daemon *f = fake_daemon_start(rubbish);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_get(c, "a", &jobs, &e), 0);
    assert_string_equal(jobs->v[0].name, "right");
    queued_jobs_free(jobs);
    queued_close(c);
    fake_daemon_stop(f);
}

static void greet_in_http(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    (void)s;
    (void)n;
    fake_daemon_send(f, "HTTP/1.1 400 Bad Request", 24);
}

static void answer_in_protocol_2(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    (void)s;
    (void)n;
    fake_daemon_send(f, "QD\x02\x00\x00\x01\x00\x01", 8);
}

static void whoever_speaks_another_language_is_named(void **state)
{
    struct fake_daemon *f = fake_daemon_start(greet_in_http);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_get(c, "a", &jobs, &e), -1);
    assert_int_equal(e.code, QUEUED_UNAVAILABLE);
    assert_non_null(strstr(e.text, "is no queued"));
    queued_close(c);
    fake_daemon_stop(f);

    f = fake_daemon_start(answer_in_protocol_2);
    c = fake_daemon_connect(f, 60000);
    assert_int_equal(queued_get(c, "a", &jobs, &e), -1);
    assert_non_null(strstr(e.text, "speaks protocol 2, this program 1"));
    queued_close(c);
    fake_daemon_stop(f);
}

static void endpoints_without_a_daemon_say_what_to_do(void **state)
{
    static const struct {
        const char *endpoint;
        int code;
        const char *want;
    } rows[] = {
        {"ipc:///nonexistent/queued.sock", QUEUED_UNAVAILABLE, "there is no socket"},
        {"ipc:///etc/passwd", QUEUED_INVALID, "is no socket"},
        {"ipc://relative", QUEUED_INVALID, "must begin with /"},
        {"http://localhost:1", QUEUED_INVALID, "write ipc:///path/of/socket or tcp://HOST:PORT"},
        {"tcp://localhost", QUEUED_INVALID, "write tcp://HOST:PORT"},
        {"tcp://localhost:99999", QUEUED_INVALID, "write tcp://HOST:PORT"},
        {"tcp://no-such-host.invalid:1", QUEUED_UNAVAILABLE, "cannot find host"},
        {"tcp://127.0.0.1:1", QUEUED_UNAVAILABLE, "in 0.2s: is the daemon running?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct queued_options o = {.endpoint = rows[i].endpoint, .connect_ms = 200};
        struct queued_client *c = NULL;
        struct queued_error e = {0};

        assert_int_equal(queued_connect(&c, &o, &e), -1);
        assert_null(c);
        if (e.code != rows[i].code || !strstr(e.text, rows[i].want))
            fail_msg("%s: code %d: %s", rows[i].endpoint, e.code, e.text);
    }
}

static void page(struct fake_daemon *f, const struct fake_seen *s, size_t n)
{
    Queued__V1__ListReply r = QUEUED__V1__LIST_REPLY__INIT;
    Queued__V1__ReplyHeader h = fake_daemon_header(f, s->id, 0, "");
    Queued__V1__Job job = QUEUED__V1__JOB__INIT, *jobs[] = {&job};
    char name[] = "a";
    uint8_t token[] = "token1";

    job.name = name;
    r.header = &h;
    r.jobs = jobs;
    r.n_jobs = 1;
    r.has_page_token = n < 2;
    r.page_token = (ProtobufCBinaryData){sizeof(token), token};
    token[5] = (uint8_t)('1' + n);
    fake_daemon_reply(f, QUEUED__V1__METHOD__METHOD_LIST, &r.base);
}

static void a_list_goes_on_where_the_page_ended(void **state)
{
    struct fake_daemon *f = fake_daemon_start(page);
    struct queued_client *c = fake_daemon_connect(f, 60000);
    struct queued_query query = {.filter = {.all = true}, .limit = 1};
    struct queued_cursor *cursor = NULL;
    size_t pages = 0;

    (void)state;
    do {
        struct queued_jobs *jobs = NULL;

        assert_int_equal(queued_list(c, &query, &cursor, &jobs, NULL), 0);
        assert_int_equal(jobs->n, 1);
        queued_jobs_free(jobs);
        pages++;
    } while (cursor);
    assert_int_equal(pages, 3);
    assert_string_equal(f->seen[0].token, "");
    assert_string_equal(f->seen[1].token, "token1");
    assert_string_equal(f->seen[2].token, "token2");
    queued_close(c);
    fake_daemon_stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_answer_is_asked_for_again_under_the_same_id),
        cmocka_unit_test(a_late_answer_of_an_earlier_call_is_dropped),
        cmocka_unit_test(a_restarted_daemon_is_asked_again_at_once),
        cmocka_unit_test(not_now_is_retried_and_a_refusal_is_final),
        cmocka_unit_test(a_daemon_that_never_can_is_quoted_at_the_end),
        cmocka_unit_test(damaged_answers_are_dropped),
        cmocka_unit_test(whoever_speaks_another_language_is_named),
        cmocka_unit_test(endpoints_without_a_daemon_say_what_to_do),
        cmocka_unit_test(a_list_goes_on_where_the_page_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
