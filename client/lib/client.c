/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - connect, ask, wait, ask again.
 *
 * Silence is answered by the same request with the same id; so is UNAVAILABLE, whose outcome is not
 * known. Every other answer, good or bad, ends the call.
 */
#include "client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client_endpoint.h"
#include "util/mem.h"
#include "util/str.h"

enum { CONNECT_MS = 5000, CALL_MS = 30000, RETRY_FIRST_MS = 2000, RETRY_MAX_MS = 30000 };
enum { REQUEST_BYTES_MAX = 65536 - 64 }; /* docs/protocol.md, less frame and header */

const char *queued_version(void)
{
    return QUEUED_VERSION;
}

int client_fail(struct queued_error *out, const struct err *err)
{
    if (out) {
        out->code = (int)err->code;
        (void)str_copy(out->text, sizeof(out->text), err->text);
    }
    return -1;
}

int client_refused(const Queued__V1__ReplyHeader *h, struct err *err)
{
    bool is_known = h->code > 0 && strcmp(err_word((int)h->code), "UNKNOWN") != 0;

    return err_set(err, is_known ? (enum err_code)h->code : ERR_INTERNAL, "%s",
                   h->text && *h->text ? h->text : err_word((int)h->code));
}

void client_draw_id(uint8_t id[REQUEST_ID_BYTES])
{
    if (getrandom(id, REQUEST_ID_BYTES, 0) != REQUEST_ID_BYTES)
        abort(); /* so few bytes always come whole */
}

uint64_t client_next_wait(struct queued_client *c, uint64_t *wait_ms)
{
    uint64_t wait = *wait_ms, half = wait / 2 + 1;

    c->rng ^= c->rng << 13;
    c->rng ^= c->rng >> 7;
    c->rng ^= c->rng << 17;
    *wait_ms = wait * 2 < c->options.retry_max_ms ? wait * 2 : c->options.retry_max_ms;
    return wait - half + c->rng % half + 1;
}

/* One call on its way. */
struct call {
    uint16_t method;
    ProtobufCMessage *request;
    Queued__V1__RequestHeader header;
    uint8_t id[REQUEST_ID_BYTES];
    uint64_t start_ms, end_ms;
    uint64_t send_ms; /* when to send next */
    uint64_t wait_ms; /* how long to wait after that */
    struct err last;  /* the last "not now" of the daemon; code OK: none */
    bool is_over;
    ProtobufCMessage *reply; /* of one that is over; NULL: it failed with err */
    struct err err;
};

static void attach_header(struct call *k)
{
    Queued__V1__RequestHeader *h = &k->header;
    const ProtobufCFieldDescriptor *f = &k->request->descriptor->fields[0];

    queued__v1__request_header__init(h);
    client_draw_id(k->id);
    h->has_request_id = true;
    h->request_id = (ProtobufCBinaryData){REQUEST_ID_BYTES, k->id};
    h->has_deadline_ms = true;
    assert(strcmp(f->name, "header") == 0);
    memcpy((char *)k->request + f->offset, &h, sizeof(h));
}

/* On a new connection everything is due. */
static void send_due(struct queued_client *c, struct call *v, size_t n, uint64_t now)
{
    for (size_t i = 0; i < n; i++) {
        struct call *k = &v[i];

        if (k->is_over || (now < k->send_ms && !c->link.has_come_back))
            continue;
        k->header.deadline_ms = (uint32_t)(k->end_ms - now);
        if (!link_send(&c->link, k->method, k->request))
            return; /* no connection: try again when there is one */
        k->send_ms = now + client_next_wait(c, &k->wait_ms);
    }
    c->link.has_come_back = false;
}

static bool is_mine(const struct call *k, const struct link_reply *r)
{
    return r->method == k->method && r->header->has_request_id &&
           r->header->request_id.len == REQUEST_ID_BYTES &&
           memcmp(r->header->request_id.data, k->id, REQUEST_ID_BYTES) == 0;
}

static bool is_not_now(uint32_t code)
{
    return code == ERR_UNAVAILABLE || code == ERR_NOT_LEADER;
}

static void end_call(struct call *k, ProtobufCMessage *reply)
{
    k->is_over = true;
    k->reply = reply;
}

/* An answer to this call. Takes the message. */
static void judge(struct queued_client *c, struct call *k, struct link_reply *r)
{
    if (r->header->code == ERR_OK) {
        end_call(k, r->message);
        return;
    }
    if (is_not_now(r->header->code)) {
        uint64_t own = client_next_wait(c, &k->wait_ms);

        (void)client_refused(r->header, &k->last);
        k->send_ms =
            link_now_ms() + (r->header->has_retry_after_ms ? r->header->retry_after_ms : own);
    } else {
        (void)client_refused(r->header, &k->err);
        end_call(k, NULL);
    }
    protobuf_c_message_free_unpacked(r->message, NULL);
}

static void take_reply(struct queued_client *c, struct call *v, size_t n, struct link_reply *r)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].is_over || !is_mine(&v[i], r))
            continue;
        judge(c, &v[i], r);
        return;
    }
    protobuf_c_message_free_unpacked(r->message, NULL);
}

static void begin_call(struct queued_client *c, struct call *k, uint64_t budget_ms)
{
    k->start_ms = k->send_ms = link_now_ms();
    k->end_ms = k->start_ms + budget_ms;
    k->wait_ms = c->options.retry_first_ms;
    k->last.code = ERR_OK;
    attach_header(k);
}

/* When the next one is to be sent, or given up. 0: all are over. */
static uint64_t next_due(const struct call *v, size_t n, uint64_t now)
{
    uint64_t until = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t own =
            v[i].send_ms > now && v[i].send_ms < v[i].end_ms ? v[i].send_ms : v[i].end_ms;

        if (!v[i].is_over && (until == 0 || own < until))
            until = own;
    }
    return until;
}

/* err: NULL, or what fails all that are not over. */
static void give_up(const struct queued_client *c, struct call *v, size_t n, const struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct call *k = &v[i];

        if (k->is_over)
            continue;
        if (err)
            k->err = *err;
        else if (k->last.code != ERR_OK)
            k->err = k->last;
        else
            (void)endpoint_fail_silent(c->endpoint, (unsigned)(k->end_ms - k->start_ms), &k->err);
        end_call(k, NULL);
    }
}

/* Calls that began together, and so end together. */
static void run_calls(struct queued_client *c, struct call *v, size_t n)
{
    uint64_t now = link_now_ms(), due = next_due(v, n, now);
    struct err err;
    int rc = 0;

    c->link.has_come_back = false;
    while (rc >= 0 && due && now < v[0].end_ms) {
        struct link_reply r;

        send_due(c, v, n, now);
        due = next_due(v, n, now);
        rc = link_receive(&c->link, due - now, &r, &err);
        if (rc > 0)
            take_reply(c, v, n, &r);
        now = link_now_ms();
        due = next_due(v, n, now);
    }
    give_up(c, v, n, rc < 0 ? &err : NULL);
}

static int run_call(struct queued_client *c, struct call *k, uint64_t budget_ms,
                    ProtobufCMessage **ret, struct err *err)
{
    begin_call(c, k, budget_ms);
    run_calls(c, k, 1);
    *ret = k->reply;
    if (!k->reply)
        *err = k->err;
    return k->reply ? 0 : -1;
}

static int check_size(const ProtobufCMessage *request, struct err *err)
{
    size_t len = protobuf_c_message_get_packed_size(request);

    if (len <= REQUEST_BYTES_MAX)
        return 0;
    return err_set(err, ERR_INVALID, /* its connection would end without an answer */
                   "the request has %zu bytes, at most %d: name fewer at once", len,
                   REQUEST_BYTES_MAX);
}

int client_call(struct queued_client *c, uint16_t method, ProtobufCMessage *request,
                ProtobufCMessage **ret, struct err *err)
{
    struct call k = {.method = method, .request = request};

    if (check_size(request, err))
        return -1;
    return run_call(c, &k, c->options.call_ms, ret, err);
}

void client_call_all(struct queued_client *c, struct client_asked *v, size_t n)
{
    struct call *calls = xcalloc(n, sizeof(*calls));

    for (size_t i = 0; i < n; i++) {
        calls[i].method = v[i].method;
        calls[i].request = v[i].request;
        begin_call(c, &calls[i], c->options.call_ms);
        if (check_size(v[i].request, &calls[i].err))
            end_call(&calls[i], NULL);
    }
    if (n)
        run_calls(c, calls, n);
    for (size_t i = 0; i < n; i++) {
        v[i].reply = calls[i].reply;
        v[i].err = calls[i].err;
    }
    free(calls);
}

static int say_hello(struct queued_client *c, struct err *err)
{
    Queued__V1__HelloRequest request = QUEUED__V1__HELLO_REQUEST__INIT;
    struct call k = {.method = QUEUED__V1__METHOD__METHOD_HELLO, .request = &request.base};
    ProtobufCMessage *reply = NULL;
    Queued__V1__HelloReply *h;

    if (run_call(c, &k, c->options.connect_ms, &reply, err))
        return -1;
    assert(reply);
    h = (Queued__V1__HelloReply *)reply;
    c->hello = h;
    c->server = (struct queued_server){
        .version = h->version,
        .user = h->user,
        .is_admin = h->is_admin,
        .is_cluster_up = h->cluster_up,
        .is_synced = h->synced,
        .cluster_trouble = h->cluster_trouble,
        .spec_bytes_max = h->spec_bytes_max,
        .list_page_max = h->list_page_max,
        .n_tenants = h->n_tenants,
        .tenants = (const char *const *)h->tenants,
    };
    return 0;
}

static struct queued_options fill_in(const struct queued_options *given)
{
    struct queued_options o = given ? *given : (struct queued_options){0};

    o.connect_ms = o.connect_ms ? o.connect_ms : CONNECT_MS;
    o.call_ms = o.call_ms ? o.call_ms : CALL_MS;
    o.retry_first_ms = o.retry_first_ms ? o.retry_first_ms : RETRY_FIRST_MS;
    o.retry_max_ms = o.retry_max_ms ? o.retry_max_ms : RETRY_MAX_MS;
    return o;
}

int queued_connect(struct queued_client **ret, const struct queued_options *options,
                   struct queued_error *error)
{
    struct queued_client *c = xcalloc(1, sizeof(*c));
    struct err err;

    c->options = fill_in(options);
    c->endpoint = xstrdup(endpoint_choose(c->options.endpoint));
    c->options.endpoint = c->endpoint;
    if (getrandom(&c->rng, sizeof(c->rng), 0) != sizeof(c->rng) || c->rng == 0)
        c->rng = 1; /* any start but 0 will do */
    c->zmq = zmq_ctx_new();
    if (!c->zmq)
        abort(); /* out of memory or descriptors */
    if (link_open(&c->link, c->zmq, c->endpoint, &err) || say_hello(c, &err)) {
        queued_close(c);
        return client_fail(error, &err);
    }
    *ret = c;
    return 0;
}

void queued_close(struct queued_client *c)
{
    if (!c)
        return;
    link_close(&c->link);
    if (c->zmq)
        (void)zmq_ctx_term(c->zmq); /* no socket is open and nothing lingers */
    if (c->hello)
        queued__v1__hello_reply__free_unpacked(c->hello, NULL);
    free(c->endpoint);
    free(c);
}

const struct queued_server *queued_server(const struct queued_client *c)
{
    return &c->server;
}

const char *queued_endpoint(const struct queued_client *c)
{
    return c->endpoint;
}
