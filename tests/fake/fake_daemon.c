/* SPDX-License-Identifier: Apache-2.0 */
/* fake_daemon.c - a ROUTER in a thread, with a handler of the test for each request.
 *
 * It knows the frame and the few fields that the tests look at; it stores nothing.
 */
#include "fake_daemon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

#include "util/mem.h"

void fake_daemon_send(struct fake_daemon *f, const void *p, size_t len)
{
    (void)zmq_send(f->router, f->peer, f->peer_len, ZMQ_SNDMORE);
    (void)zmq_send(f->router, p, len, 0);
}

void fake_daemon_reply(struct fake_daemon *f, uint16_t method, const ProtobufCMessage *m)
{
    uint8_t frame[4096] = {'Q', 'D', 1, 0, (uint8_t)(method >> 8), (uint8_t)method, 0, 1};

    assert_true(protobuf_c_message_get_packed_size(m) < sizeof(frame) - 8);
    fake_daemon_send(f, frame, 8 + protobuf_c_message_pack(m, frame + 8));
}

Queued__V1__ReplyHeader fake_daemon_header(struct fake_daemon *f, const uint8_t *id, uint32_t code,
                                           const char *text)
{
    Queued__V1__ReplyHeader h = QUEUED__V1__REPLY_HEADER__INIT;
    static char copy[128];

    (void)snprintf(copy, sizeof(copy), "%s", text);
    h.has_request_id = true;
    h.request_id = (ProtobufCBinaryData){FAKE_ID_BYTES, (uint8_t *)(uintptr_t)id};
    h.has_server_instance = true;
    h.server_instance = (ProtobufCBinaryData){FAKE_ID_BYTES, f->instance};
    h.has_code = true;
    h.code = code;
    h.text = copy;
    h.has_as_of_seq = true;
    h.as_of_seq = 7;
    return h;
}

void fake_daemon_submit(struct fake_daemon *f, const uint8_t *id, uint32_t code, const char *text)
{
    Queued__V1__SubmitReply r = QUEUED__V1__SUBMIT_REPLY__INIT;
    Queued__V1__ReplyHeader h = fake_daemon_header(f, id, code, text);
    char name[] = "resnet-7f3k", job_id[] = "0123456789abc";

    r.header = &h;
    r.name = name;
    r.id = job_id;
    fake_daemon_reply(f, QUEUED__V1__METHOD__METHOD_SUBMIT, &r.base);
}

void fake_daemon_get(struct fake_daemon *f, const uint8_t *id, char *name, char *state)
{
    Queued__V1__GetReply r = QUEUED__V1__GET_REPLY__INIT;
    Queued__V1__ReplyHeader h = fake_daemon_header(f, id, 0, "");
    Queued__V1__Job job = QUEUED__V1__JOB__INIT;
    char job_id[] = "0123456789abc";

    job.id = job_id;
    job.name = name;
    job.state = state;
    job.has_exit_code = true;
    job.exit_code = 3;
    r.header = &h;
    r.job = &job;
    fake_daemon_reply(f, QUEUED__V1__METHOD__METHOD_GET, &r.base);
}

static void answer_hello(struct fake_daemon *f, const uint8_t *id)
{
    Queued__V1__HelloReply r = QUEUED__V1__HELLO_REPLY__INIT;
    Queued__V1__ReplyHeader h = fake_daemon_header(f, id, 0, "");
    char user[] = "alice";

    r.header = &h;
    r.user = user;
    fake_daemon_reply(f, QUEUED__V1__METHOD__METHOD_HELLO, &r.base);
}

/* The fields of a request that the tests look at; header, after_seq and credit by descriptor. */
static struct fake_seen read_request(const uint8_t *p, size_t len)
{
    struct fake_seen s = {.method = (uint16_t)(p[4] << 8 | p[5])};
    Queued__V1__WatchRequest *w;
    Queued__V1__ListRequest *l;
    /* every request has its header as field 1: a HelloRequest reads it from any */
    Queued__V1__HelloRequest *h = queued__v1__hello_request__unpack(NULL, len - 8, p + 8);

    assert_non_null(h);
    memcpy(s.id, h->header->request_id.data, FAKE_ID_BYTES);
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

static void open_router(struct fake_daemon *f)
{
    int timeout = 10, zero = 0;

    f->router = zmq_socket(f->zmq, ZMQ_ROUTER);
    (void)zmq_setsockopt(f->router, ZMQ_RCVTIMEO, &timeout, sizeof(timeout));
    (void)zmq_setsockopt(f->router, ZMQ_LINGER, &zero, sizeof(zero));
    assert_int_equal(zmq_bind(f->router, f->endpoint), 0);
}

/* The old daemon dies, a new one takes its place. */
void fake_daemon_restart(struct fake_daemon *f)
{
    (void)zmq_close(f->router);
    (void)usleep(300000); /* long enough for the client to see it */
    f->instance[0]++;
    open_router(f);
}

static void *serve(void *arg)
{
    struct fake_daemon *f = arg;

    while (!atomic_load(&f->stop)) {
        uint8_t frame[65536];
        int peer_len = zmq_recv(f->router, f->peer, sizeof(f->peer), 0);
        int len = peer_len < 0 ? -1 : zmq_recv(f->router, frame, sizeof(frame), 0);
        struct fake_seen s;
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
        if (n < FAKE_CALLS_MAX) {
            f->seen[n] = s;
            atomic_store(&f->n, n + 1);
        }
        if (f->handle)
            f->handle(f, &f->seen[n], n);
    }
    return NULL;
}

struct fake_daemon *fake_daemon_start(void (*handle)(struct fake_daemon *, const struct fake_seen *,
                                                     size_t))
{
    struct fake_daemon *f = xcalloc(1, sizeof(*f));

    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/test_client.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->endpoint, sizeof(f->endpoint), "ipc://%s/sock", f->dir);
    f->handle = handle;
    f->zmq = zmq_ctx_new();
    open_router(f);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
    return f;
}

void fake_daemon_stop(struct fake_daemon *f)
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

struct queued_client *fake_daemon_connect(const struct fake_daemon *f, uint32_t retry_ms)
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
