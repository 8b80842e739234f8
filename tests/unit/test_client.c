/* SPDX-License-Identifier: Apache-2.0 */
/* test_client.c - libqueued against a small server that misbehaves on purpose: lost, late, doubled
 * and foreign answers, restarts, refusals, silence.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "client_link.h"
#include "queued.h"
#include "util/mem.h"

enum { ID_BYTES = 16, CALLS_MAX = 64, PEER_MAX = 64 };

/* One request as the server saw it. */
struct seen {
    uint16_t method;
    uint8_t id[ID_BYTES];
    uint64_t after_seq;
    uint32_t credit;
    char token[16];
};

struct fake {
    char dir[64];
    char endpoint[128];
    void *zmq, *router;
    pthread_t thread;
    atomic_bool stop;
    /* Called for each request but HELLO; n: how many came before it. */
    void (*handle)(struct fake *f, const struct seen *s, size_t n);
    uint8_t instance[ID_BYTES];
    uint8_t peer[PEER_MAX]; /* of the present request */
    size_t peer_len;
    struct seen seen[CALLS_MAX];
    atomic_size_t n;
};

static void send_bytes(struct fake *f, const void *p, size_t len)
{
    (void)zmq_send(f->router, f->peer, f->peer_len, ZMQ_SNDMORE);
    (void)zmq_send(f->router, p, len, 0);
}

static void send_reply(struct fake *f, uint16_t method, const ProtobufCMessage *m)
{
    uint8_t frame[4096] = {'Q', 'D', 1, 0, (uint8_t)(method >> 8), (uint8_t)method, 0, 1};

    assert_true(protobuf_c_message_get_packed_size(m) < sizeof(frame) - 8);
    send_bytes(f, frame, 8 + protobuf_c_message_pack(m, frame + 8));
}

static Queued__V1__ReplyHeader header_for(struct fake *f, const uint8_t *id, uint32_t code,
                                          const char *text)
{
    Queued__V1__ReplyHeader h = QUEUED__V1__REPLY_HEADER__INIT;
    static char copy[128];

    (void)snprintf(copy, sizeof(copy), "%s", text);
    h.has_request_id = true;
    h.request_id = (ProtobufCBinaryData){ID_BYTES, (uint8_t *)(uintptr_t)id};
    h.has_server_instance = true;
    h.server_instance = (ProtobufCBinaryData){ID_BYTES, f->instance};
    h.has_code = true;
    h.code = code;
    h.text = copy;
    h.has_as_of_seq = true;
    h.as_of_seq = 7;
    return h;
}

static void answer_submit(struct fake *f, const uint8_t *id, uint32_t code, const char *text)
{
    Queued__V1__SubmitReply r = QUEUED__V1__SUBMIT_REPLY__INIT;
    Queued__V1__ReplyHeader h = header_for(f, id, code, text);
    char name[] = "resnet-7f3k", job_id[] = "0123456789abc";

    r.header = &h;
    r.name = name;
    r.id = job_id;
    send_reply(f, QUEUED__V1__METHOD__METHOD_SUBMIT, &r.base);
}

static void answer_get(struct fake *f, const uint8_t *id, char *name, char *state)
{
    Queued__V1__GetReply r = QUEUED__V1__GET_REPLY__INIT;
    Queued__V1__ReplyHeader h = header_for(f, id, 0, "");
    Queued__V1__Job job = QUEUED__V1__JOB__INIT;
    char job_id[] = "0123456789abc";

    job.id = job_id;
    job.name = name;
    job.state = state;
    job.has_exit_code = true;
    job.exit_code = 3;
    r.header = &h;
    r.job = &job;
    send_reply(f, QUEUED__V1__METHOD__METHOD_GET, &r.base);
}

static void answer_hello(struct fake *f, const uint8_t *id)
{
    Queued__V1__HelloReply r = QUEUED__V1__HELLO_REPLY__INIT;
    Queued__V1__ReplyHeader h = header_for(f, id, 0, "");
    char user[] = "alice";

    r.header = &h;
    r.user = user;
    send_reply(f, QUEUED__V1__METHOD__METHOD_HELLO, &r.base);
}

/* The fields of a request that the tests look at; header, after_seq and credit by descriptor. */
static struct seen read_request(const uint8_t *p, size_t len)
{
    struct seen s = {.method = (uint16_t)(p[4] << 8 | p[5])};
    Queued__V1__WatchRequest *w;
    Queued__V1__ListRequest *l;
    /* every request has its header as field 1: a HelloRequest reads it from any */
    Queued__V1__HelloRequest *h = queued__v1__hello_request__unpack(NULL, len - 8, p + 8);

    assert_non_null(h);
    memcpy(s.id, h->header->request_id.data, ID_BYTES);
    queued__v1__hello_request__free_unpacked(h, NULL);
    if (s.method == QUEUED__V1__METHOD__METHOD_WATCH) {
        w = queued__v1__watch_request__unpack(NULL, len - 8, p + 8);
        s.after_seq = w->after_seq;
        s.credit = w->credit;
        queued__v1__watch_request__free_unpacked(w, NULL);
    }
    if (s.method == QUEUED__V1__METHOD__METHOD_LIST) {
        l = queued__v1__list_request__unpack(NULL, len - 8, p + 8);
        if (l->has_page_token)
            memcpy(s.token, l->page_token.data, l->page_token.len);
        queued__v1__list_request__free_unpacked(l, NULL);
    }
    return s;
}

static void open_router(struct fake *f)
{
    int timeout = 10, zero = 0;

    f->router = zmq_socket(f->zmq, ZMQ_ROUTER);
    (void)zmq_setsockopt(f->router, ZMQ_RCVTIMEO, &timeout, sizeof(timeout));
    (void)zmq_setsockopt(f->router, ZMQ_LINGER, &zero, sizeof(zero));
    assert_int_equal(zmq_bind(f->router, f->endpoint), 0);
}

/* The old daemon dies, a new one takes its place. */
static void restart(struct fake *f)
{
    (void)zmq_close(f->router);
    (void)usleep(300000); /* long enough for the client to see it */
    f->instance[0]++;
    open_router(f);
}

static void *serve(void *arg)
{
    struct fake *f = arg;

    while (!atomic_load(&f->stop)) {
        uint8_t frame[65536];
        int peer_len = zmq_recv(f->router, f->peer, sizeof(f->peer), 0);
        int len = peer_len < 0 ? -1 : zmq_recv(f->router, frame, sizeof(frame), 0);
        struct seen s;
        size_t n;

        if (len < 8)
            continue;
        f->peer_len = (size_t)peer_len;
        s = read_request(frame, (size_t)len);
        if (s.method == QUEUED__V1__METHOD__METHOD_HELLO && f->handle) {
            answer_hello(f, s.id);
            continue;
        }
        n = atomic_load(&f->n);
        if (n < CALLS_MAX) {
            f->seen[n] = s;
            atomic_store(&f->n, n + 1);
        }
        if (f->handle)
            f->handle(f, &f->seen[n], n);
    }
    return NULL;
}

static struct fake *fake_start(void (*handle)(struct fake *, const struct seen *, size_t))
{
    struct fake *f = xcalloc(1, sizeof(*f));

    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/test_client.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->endpoint, sizeof(f->endpoint), "ipc://%s/sock", f->dir);
    f->handle = handle;
    f->zmq = zmq_ctx_new();
    open_router(f);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
    return f;
}

static void fake_stop(struct fake *f)
{
    char path[160];

    atomic_store(&f->stop, true);
    assert_int_equal(pthread_join(f->thread, NULL), 0);
    (void)zmq_close(f->router);
    (void)zmq_ctx_term(f->zmq);
    (void)snprintf(path, sizeof(path), "%s/sock", f->dir);
    (void)unlink(path);
    (void)rmdir(f->dir);
    free(f);
}

static struct queued_client *connect_to(const struct fake *f, uint32_t retry_ms)
{
    struct queued_options o = {.endpoint = f->endpoint,
                               .connect_ms = 3000,
                               .call_ms = 5000,
                               .retry_first_ms = retry_ms,
                               .retry_max_ms = retry_ms * 4};
    struct queued_client *c = NULL;
    struct queued_error e;

    if (queued_connect(&c, &o, &e))
        fail_msg("%s", e.text);
    return c;
}

static const struct queued_role role = {.image = "registry.example.com/a:1"};
static const struct queued_spec spec = {.name = "resnet", .n_roles = 1, .roles = &role};

/* ---- handlers and tests */

static void lose_two(struct fake *f, const struct seen *s, size_t n)
{
    if (n >= 2)
        answer_submit(f, s->id, 0, "");
}

static void a_lost_answer_is_asked_for_again_under_the_same_id(void **state)
{
    struct fake *f = fake_start(lose_two);
    struct queued_client *c = connect_to(f, 50);
    struct queued_submitted job;
    struct queued_error e;

    (void)state;
    assert_string_equal(queued_server(c)->user, "alice");
    assert_int_equal(queued_submit(c, &spec, NULL, &job, &e), 0);
    assert_string_equal(job.name, "resnet-7f3k");
    assert_int_equal(atomic_load(&f->n), 3);
    assert_memory_equal(f->seen[0].id, f->seen[1].id, ID_BYTES);
    assert_memory_equal(f->seen[0].id, f->seen[2].id, ID_BYTES);
    assert_int_equal(queued_submit(c, &spec, NULL, &job, &e), 0);
    assert_memory_not_equal(f->seen[0].id, f->seen[3].id, ID_BYTES); /* another intent */
    queued_close(c);
    fake_stop(f);
}

static void answer_late(struct fake *f, const struct seen *s, size_t n)
{
    if (n == 0)
        return;
    answer_get(f, f->seen[0].id, "late", "Running");
    answer_get(f, s->id, "right", "Running");
    answer_get(f, s->id, "doubled", "Running");
}

static void a_late_answer_of_an_earlier_call_is_dropped(void **state)
{
    struct fake *f = fake_start(answer_late);
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
    fake_stop(f);
}

static void die_once(struct fake *f, const struct seen *s, size_t n)
{
    if (n == 0)
        restart(f);
    else
        answer_submit(f, s->id, 0, "");
}

static void a_restarted_daemon_is_asked_again_at_once(void **state)
{
    struct fake *f = fake_start(die_once);
    struct queued_client *c = connect_to(f, 60000); /* only the new connection can cause a resend */
    struct queued_submitted job;
    struct queued_error e;

    (void)state;
    if (queued_submit(c, &spec, NULL, &job, &e))
        fail_msg("%s", e.text);
    assert_memory_equal(f->seen[0].id, f->seen[1].id, ID_BYTES);
    queued_close(c);
    fake_stop(f);
}

static void not_now_then_refuse(struct fake *f, const struct seen *s, size_t n)
{
    if (n == 0)
        answer_submit(f, s->id, QUEUED_UNAVAILABLE, "commit in flight");
    else
        answer_submit(f, s->id, QUEUED_REFUSED, "tenant vison does not exist");
}

static void not_now_is_retried_and_a_refusal_is_final(void **state)
{
    struct fake *f = fake_start(not_now_then_refuse);
    struct queued_client *c = connect_to(f, 20);
    struct queued_submitted job;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_submit(c, &spec, NULL, &job, &e), -1);
    assert_int_equal(e.code, QUEUED_REFUSED);
    assert_string_equal(e.text, "tenant vison does not exist");
    assert_int_equal(atomic_load(&f->n), 2);
    assert_memory_equal(f->seen[0].id, f->seen[1].id, ID_BYTES);
    queued_close(c);
    fake_stop(f);
}

static void never(struct fake *f, const struct seen *s, size_t n)
{
    (void)n;
    answer_submit(f, s->id, QUEUED_UNAVAILABLE, "the store is being checked");
}

static void a_daemon_that_never_can_is_quoted_at_the_end(void **state)
{
    struct fake *f = fake_start(never);
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
    fake_stop(f);
}

static void rubbish(struct fake *f, const struct seen *s, size_t n)
{
    uint8_t frame[16] = {'Q', 'D', 1, 0, 0, 4, 0, 1, 0xff, 0xff, 0xff};

    (void)n;
    send_bytes(f, frame, 11); /* damaged message */
    frame[7] = 0;
    send_bytes(f, frame, 8); /* a request */
    frame[5] = 99;
    frame[7] = 1;
    send_bytes(f, frame, 8); /* no such method */
    (void)zmq_send(f->router, f->peer, f->peer_len, ZMQ_SNDMORE);
    (void)zmq_send(f->router, frame, 8, ZMQ_SNDMORE);
    (void)zmq_send(f->router, frame, 8, 0); /* two parts */
    answer_get(f, s->id, "right", "Running");
}

static void damaged_answers_are_dropped(void **state)
{
    struct fake *f = fake_start(rubbish);
    struct queued_client *c = connect_to(f, 60000);
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_get(c, "a", &jobs, &e), 0);
    assert_string_equal(jobs->v[0].name, "right");
    queued_jobs_free(jobs);
    queued_close(c);
    fake_stop(f);
}

static void greet_in_http(struct fake *f, const struct seen *s, size_t n)
{
    (void)s;
    (void)n;
    send_bytes(f, "HTTP/1.1 400 Bad Request", 24);
}

static void answer_in_protocol_2(struct fake *f, const struct seen *s, size_t n)
{
    (void)s;
    (void)n;
    send_bytes(f, "QD\x02\x00\x00\x01\x00\x01", 8);
}

static void whoever_speaks_another_language_is_named(void **state)
{
    struct fake *f = fake_start(greet_in_http);
    struct queued_client *c = connect_to(f, 60000);
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_get(c, "a", &jobs, &e), -1);
    assert_int_equal(e.code, QUEUED_UNAVAILABLE);
    assert_non_null(strstr(e.text, "is no queued"));
    queued_close(c);
    fake_stop(f);

    f = fake_start(answer_in_protocol_2);
    c = connect_to(f, 60000);
    assert_int_equal(queued_get(c, "a", &jobs, &e), -1);
    assert_non_null(strstr(e.text, "speaks protocol 2, this program 1"));
    queued_close(c);
    fake_stop(f);
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

static void page(struct fake *f, const struct seen *s, size_t n)
{
    Queued__V1__ListReply r = QUEUED__V1__LIST_REPLY__INIT;
    Queued__V1__ReplyHeader h = header_for(f, s->id, 0, "");
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
    send_reply(f, QUEUED__V1__METHOD__METHOD_LIST, &r.base);
}

static void a_list_goes_on_where_the_page_ended(void **state)
{
    struct fake *f = fake_start(page);
    struct queued_client *c = connect_to(f, 60000);
    struct queued_filter filter = {.all = true};
    struct queued_cursor *cursor = NULL;
    size_t pages = 0;

    (void)state;
    do {
        struct queued_jobs *jobs = NULL;

        assert_int_equal(queued_list(c, &filter, 1, false, &cursor, &jobs, NULL), 0);
        assert_int_equal(jobs->n, 1);
        queued_jobs_free(jobs);
        pages++;
    } while (cursor);
    assert_int_equal(pages, 3);
    assert_string_equal(f->seen[0].token, "");
    assert_string_equal(f->seen[1].token, "token1");
    assert_string_equal(f->seen[2].token, "token2");
    queued_close(c);
    fake_stop(f);
}

static void send_events(struct fake *f, const uint8_t *id, uint64_t first, uint64_t last)
{
    for (uint64_t seq = first; seq <= last; seq++) {
        Queued__V1__WatchReply r = QUEUED__V1__WATCH_REPLY__INIT;
        Queued__V1__ReplyHeader h = header_for(f, id, 0, "");
        Queued__V1__JobEvent e = QUEUED__V1__JOB_EVENT__INIT, *events[] = {&e};
        char job_id[] = "0123456789abc";

        e.has_seq = true;
        e.seq = seq;
        e.job_id = job_id;
        r.header = &h;
        r.n_events = 1;
        r.events = events;
        send_reply(f, QUEUED__V1__METHOD__METHOD_WATCH, &r.base);
    }
}

static void stream_and_die(struct fake *f, const struct seen *s, size_t n)
{
    if (n == 0) {
        send_events(f, s->id, 11, 14);
        (void)usleep(100000); /* let them arrive before the end */
        restart(f);
    } else if (memcmp(s->id, f->seen[n - 1].id, ID_BYTES) != 0) {
        send_events(f, s->id, s->after_seq - 1, s->after_seq + 2); /* two of them are old */
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
    struct fake *f = fake_start(stream_and_die);
    struct queued_client *c = connect_to(f, 100);
    struct queued_watch_options o = {.after_seq = 10, .credit = 4};
    struct collected got = {.stop_at = 6};
    struct queued_watch *w = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_watch_open(c, &o, &w, &e), 0);
    assert_int_equal(queued_watch_next(w, 5000, collect, &got, &e), 1);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(got.seq[i], 11 + i);
    assert_int_equal(queued_watch_seq(w), 16);
    assert_int_equal(f->seen[0].credit, 4);
    assert_int_equal(f->seen[0].after_seq, 10);
    queued_watch_close(w);
    queued_close(c);
    fake_stop(f);
}

static void stream_by_credit(struct fake *f, const struct seen *s, size_t n)
{
    uint64_t first = 1;

    for (size_t i = 0; i < n; i++)
        first += f->seen[i].credit;
    send_events(f, s->id, first, first + s->credit - 1);
}

static void credit_is_given_back_under_the_same_id(void **state)
{
    struct fake *f = fake_start(stream_by_credit);
    struct queued_client *c = connect_to(f, 60000);
    struct queued_watch_options o = {.credit = 4};
    struct collected got = {.stop_at = 20};
    struct queued_watch *w = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_watch_open(c, &o, &w, &e), 0);
    assert_int_equal(queued_watch_next(w, 5000, collect, &got, &e), 1);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(got.seq[i], 1 + i);
    assert_memory_equal(f->seen[0].id, f->seen[1].id, ID_BYTES);
    queued_watch_close(w);
    queued_close(c);
    fake_stop(f);
}

static void too_old(struct fake *f, const struct seen *s, size_t n)
{
    Queued__V1__WatchReply r = QUEUED__V1__WATCH_REPLY__INIT;
    Queued__V1__ReplyHeader h = header_for(f, s->id, QUEUED_OUT_OF_RANGE, "too old");

    (void)n;
    r.header = &h;
    r.has_oldest_seq = true;
    r.oldest_seq = 500;
    send_reply(f, QUEUED__V1__METHOD__METHOD_WATCH, &r.base);
}

static void history_that_is_gone_is_said(void **state)
{
    struct fake *f = fake_start(too_old);
    struct queued_client *c = connect_to(f, 60000);
    struct queued_watch_options o = {.after_seq = 3};
    struct collected got = {.stop_at = 1};
    struct queued_watch *w = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_watch_open(c, &o, &w, &e), 0);
    assert_int_equal(queued_watch_next(w, 5000, collect, &got, &e), -1);
    assert_int_equal(e.code, QUEUED_OUT_OF_RANGE);
    assert_non_null(strstr(e.text, "events after 3 are gone, the oldest is 500"));
    queued_watch_close(w);
    queued_close(c);
    fake_stop(f);
}

static void run_and_fail(struct fake *f, const struct seen *s, size_t n)
{
    if (s->method == QUEUED__V1__METHOD__METHOD_WATCH)
        send_events(f, s->id, 8, 8);
    else
        answer_get(f, s->id, "a-7f3k", n == 0 ? "Running" : "Failed");
}

static void waiting_is_judged_by_the_present_state(void **state)
{
    struct fake *f = fake_start(run_and_fail);
    struct queued_client *c = connect_to(f, 60000);
    struct queued_wait_options o = {.wait_ms = 5000};
    const char *const names[] = {"a"};
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_wait(c, names, 1, &o, &jobs, &e), 0);
    assert_string_equal(jobs->v[0].state, "Failed");
    assert_int_equal(jobs->v[0].exit_code, 3);
    queued_jobs_free(jobs);
    assert_int_equal(atomic_load(&f->n), 3); /* get, watch, get */
    assert_int_equal(f->seen[1].after_seq, 7);
    queued_close(c);
    fake_stop(f);
}

static void stay(struct fake *f, const struct seen *s, size_t n)
{
    (void)n;
    if (s->method == QUEUED__V1__METHOD__METHOD_GET)
        answer_get(f, s->id, "a-7f3k", "Running");
}

static void waiting_ends_when_time_is_up(void **state)
{
    struct fake *f = fake_start(stay);
    struct queued_client *c = connect_to(f, 60000);
    struct queued_wait_options o = {.wait_ms = 150};
    const char *const names[] = {"a", "b"};
    struct queued_jobs *jobs = NULL;
    struct queued_error e;

    (void)state;
    assert_int_equal(queued_wait(c, names, 2, &o, &jobs, &e), -1);
    assert_int_equal(e.code, QUEUED_DEADLINE);
    o.what = QUEUED_WAIT_RUNNING;
    assert_int_equal(queued_wait(c, names, 2, &o, &jobs, &e), 0);
    assert_int_equal(jobs->n, 2);
    queued_jobs_free(jobs);
    queued_close(c);
    fake_stop(f);
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
        cmocka_unit_test(a_stream_resumes_without_loss_or_doubles),
        cmocka_unit_test(credit_is_given_back_under_the_same_id),
        cmocka_unit_test(history_that_is_gone_is_said),
        cmocka_unit_test(waiting_is_judged_by_the_present_state),
        cmocka_unit_test(waiting_ends_when_time_is_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
