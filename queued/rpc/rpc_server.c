/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_server.c - the ROUTER socket: receive, identify, dispatch, answer.
 *
 * Nothing here blocks: what a peer's queue does not take is dropped and counted (the client asks
 * again with the same id). No byte from outside reaches an assert.
 */
#include "rpc/rpc_server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "rpc/rpc_bind.h"
#include "rpc/rpc_dispatch.h"
#include "rpc/rpc_watch.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"

enum {
    PEER_BYTES = 5, /* routing id that ZeroMQ makes: 0 and a number */
    /* ZeroMQ gives room back in lumps of half the mark, so that answers to all the requests that
     * a peer may have unanswered always fit, the mark is twice their number. */
    SEND_MARK = 2 * RPC_PEER_TOKENS_MAX,
    RECEIVE_MARK = 256,
    WORK_MAX = 50000, /* of reads in one rpc_server_read() */
    LOG_EVERY_SEC = 10,
    ENDPOINTS_MAX = 4,
};

/* Trouble that strangers can cause: one line in LOG_EVERY_SEC, with a count. */
struct complaint {
    usec_t next_at;
    uint64_t n;
};

struct rpc_server {
    struct rpc_setup setup;
    void *zmq;
    void *socket;
    int locks[ENDPOINTS_MAX];
    uint8_t instance[REQUEST_ID_BYTES];
    struct rpc_auth auth;
    struct rpc_tokens tokens;
    struct rpc_watches *watches;
    struct estimates *estimates;
    struct rpc_out out;
    struct arena scratch; /* of a message while it is unpacked */
    usec_t now;           /* of the last call that was given one */
    struct complaint malformed, refused, dropped;
};

static void complain(struct rpc_server *r, struct complaint *c, const char *msg, const char *why)
{
    char shown[128];

    c->n++;
    if (r->now < c->next_at)
        return;
    (void)str_copy(shown, sizeof(shown), why); /* a cut reason is still one */
    log_warn(msg, "count=%llu err=\"%s\"", (unsigned long long)c->n, shown);
    c->n = 0;
    c->next_at = r->now + LOG_EVERY_SEC * USEC_PER_SEC;
}

static enum rpc_sent send_to(void *ctx, uint32_t peer, const void *bytes, size_t len)
{
    struct rpc_server *r = ctx;
    uint8_t id[PEER_BYTES] = {0, (uint8_t)(peer >> 24), (uint8_t)(peer >> 16), (uint8_t)(peer >> 8),
                              (uint8_t)peer};

    if (zmq_send(r->socket, id, sizeof(id), ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return zmq_errno() == EAGAIN ? RPC_FULL : RPC_GONE;
    /* once the id is taken the payload is, too, or the pipe died: then the client asks again */
    if (zmq_send(r->socket, bytes, len, ZMQ_DONTWAIT) < 0)
        return RPC_GONE;
    return RPC_SENT;
}

static void send_out(struct rpc_server *r, uint32_t peer)
{
    if (send_to(r, peer, r->out.bytes, r->out.len) == RPC_FULL)
        complain(r, &r->dropped, "answer dropped: the client does not read", "queue full");
}

static struct rpc_head head_for(const struct rpc_server *r, const uint8_t *request_id)
{
    struct rpc_head h = {.instance = r->instance, .text = ""};

    h.as_of_seq = r->setup.state->meta.next_seq - 1;
    memcpy(h.request_id, request_id, REQUEST_ID_BYTES);
    return h;
}

static void send_error(struct rpc_server *r, const struct rpc_call *c, uint16_t method,
                       const struct err *err)
{
    struct rpc_head h = c->head;

    h.code = err->code;
    h.text = err->text;
    rpc_out_begin(&r->out);
    rpc_out_head(&r->out, method, &h);
    send_out(r, c->peer);
}

/* Decode, identify, dispatch. Fills err and returns -1 for what is answered as an error. */
static int handle(struct rpc_server *r, struct rpc_call *c, zmq_msg_t *payload, struct err *err)
{
    const char *address = zmq_msg_gets(payload, "Peer-Address");
    struct rpc_who who;

    if (rpc_auth_peer(&r->auth, address, r->now, &who, err)) {
        complain(r, &r->refused, "caller refused", err->text);
        return -1;
    }
    c->who = &who;
    return rpc_dispatch(c, err);
}

static uint64_t serve(struct rpc_server *r, uint32_t peer, zmq_msg_t *payload)
{
    struct rpc_request req;
    struct rpc_call c = {.setup = &r->setup,
                         .state = r->setup.state,
                         .req = &req,
                         .peer = peer,
                         .now = r->now,
                         .out = &r->out,
                         .tokens = &r->tokens,
                         .watches = r->watches,
                         .estimates = r->estimates};
    struct err err;
    uint16_t method;
    int rc;

    rpc_out_begin(&r->out);
    rc = rpc_wire_decode(&r->scratch, zmq_msg_data(payload), zmq_msg_size(payload), &req, &err);
    c.head = head_for(r, req.request_id);
    method = req.method_number; /* a watch takes the request over */
    if (rc)
        complain(r, &r->malformed, "message refused", err.text);
    else
        rc = handle(r, &c, payload, &err);
    if (!rc && !c.is_later && r->out.len > RPC_REPLY_MAX)
        rc = err_set(&err, ERR_EXHAUSTED, "the answer has %zu bytes, more than %d: ask for less",
                     r->out.len, RPC_REPLY_MAX);
    if (rc)
        send_error(r, &c, method, &err);
    else if (!c.is_later)
        send_out(r, peer);
    rpc_request_fini(&req);
    return c.work;
}

/* Number of a peer from its routing id; only those that ZeroMQ made itself. */
static bool peer_of(zmq_msg_t *id, uint32_t *ret)
{
    const uint8_t *p = zmq_msg_data(id);

    if (zmq_msg_size(id) != PEER_BYTES || p[0] != 0)
        return false;
    *ret = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
    return true;
}

/* Receive one message: id and first payload frame; further frames are thrown away and counted.
 * false: nothing is there. */
static bool receive(struct rpc_server *r, zmq_msg_t *id, zmq_msg_t *payload, unsigned *ret_frames)
{
    zmq_msg_t more;

    *ret_frames = 0;
    if (zmq_msg_recv(id, r->socket, ZMQ_DONTWAIT) < 0)
        return false;
    if (!zmq_msg_more(id) || zmq_msg_recv(payload, r->socket, ZMQ_DONTWAIT) < 0)
        return true;
    *ret_frames = 1;
    if (!zmq_msg_more(payload))
        return true;
    (void)zmq_msg_init(&more); /* cannot fail */
    do {
        if (zmq_msg_recv(&more, r->socket, ZMQ_DONTWAIT) < 0)
            break;
        ++*ret_frames;
    } while (zmq_msg_more(&more));
    (void)zmq_msg_close(&more); /* cannot fail on what was initialised */
    return true;
}

bool rpc_server_read(struct rpc_server *r, usec_t now)
{
    zmq_msg_t id, payload;
    uint64_t work = 0;
    size_t bytes = 0;
    bool more = true;

    r->now = now;
    (void)zmq_msg_init(&id); /* cannot fail */
    (void)zmq_msg_init(&payload);
    for (int n = 0; n < RPC_READ_MAX && bytes < RPC_READ_BYTES_MAX && work < WORK_MAX &&
                    inbox_room(r->setup.inbox) > 0;
         n++) {
        unsigned frames;
        uint32_t peer;

        more = receive(r, &id, &payload, &frames);
        if (!more)
            break;
        bytes += frames ? zmq_msg_size(&payload) : 0;
        if (!peer_of(&id, &peer))
            complain(r, &r->malformed, "message dropped", "the client set a routing id");
        else if (frames != 1)
            complain(r, &r->malformed, "message dropped", "not exactly one payload frame");
        else
            work += 1 + serve(r, peer, &payload);
    }
    (void)zmq_msg_close(&id); /* cannot fail on what was initialised */
    (void)zmq_msg_close(&payload);
    return more;
}

static void reply_submit(struct rpc_server *r, const struct rpc_head *h,
                         const struct rpc_pending *p, const struct answer *a)
{
    const struct job *j = a->job.v ? state_job(r->setup.state, a->job) : NULL;
    struct rpc_submitted s = {
        .name = "", .ns = p->ns, .tenant = p->tenant, .gpus = p->gpus, .existed = a->is_again};

    if (a->job.v && !p->is_dry_run)
        (void)job_id_format(s.id, a->job);
    if (j) {
        s.name = j->name;
        s.ns = j->ns;
        s.tenant = j->tenant;
        s.gpus = j->demand->gpus;
    }
    rpc_out_submit(&r->out, h, &s);
}

void rpc_server_reply(struct rpc_server *r, const struct reply *reply)
{
    const struct answer *a = &reply->answer;
    struct rpc_pending p;
    struct rpc_head h;

    if (!rpc_tokens_give(&r->tokens, reply->token, &p))
        return;
    h = head_for(r, p.request_id);
    h.code = a->code;
    h.text = a->text ? a->text : "";
    if (a->code == ERR_EXHAUSTED || a->code == ERR_UNAVAILABLE)
        h.retry_after_ms = RPC_RETRY_MS;
    rpc_out_begin(&r->out);
    if (a->code != ERR_OK)
        rpc_out_head(&r->out, (uint16_t)p.method, &h);
    else if (p.method == RPC_SUBMIT)
        reply_submit(r, &h, &p, a);
    else
        rpc_out_change(
            &r->out, p.method, &h,
            &(struct rpc_changed){r->setup.state, state_job(r->setup.state, a->job), p.part});
    send_out(r, p.peer);
}

void rpc_server_note(struct rpc_server *r, const struct job_note *note)
{
    rpc_watches_note(r->watches, note, r->now);
}

usec_t rpc_server_tick(struct rpc_server *r, usec_t now)
{
    usec_t watches, tokens;

    r->now = now;
    watches = rpc_watches_tick(r->watches, now);
    tokens = rpc_tokens_expire(&r->tokens, now);
    return watches < tokens ? watches : tokens;
}

void *rpc_server_socket(struct rpc_server *r)
{
    return r->socket;
}

static int set_options(struct rpc_server *r, struct err *err)
{
    static const struct {
        int option, value;
    } options[] = {
        {ZMQ_ROUTER_MANDATORY, 1},  {ZMQ_ROUTER_HANDOVER, 0},
        {ZMQ_SNDHWM, SEND_MARK},    {ZMQ_RCVHWM, RECEIVE_MARK},
        {ZMQ_LINGER, 1000},         {ZMQ_HANDSHAKE_IVL, 5000},
        {ZMQ_HEARTBEAT_IVL, 5000},  {ZMQ_HEARTBEAT_TIMEOUT, 15000},
        {ZMQ_HEARTBEAT_TTL, 30000}, {ZMQ_BACKLOG, 1024},
        {ZMQ_TCP_KEEPALIVE, 1},     {ZMQ_TCP_KEEPALIVE_IDLE, 60},
    };
    int64_t max = RPC_MESSAGE_MAX;

    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (zmq_setsockopt(r->socket, options[i].option, &options[i].value, sizeof(int)))
            return err_set(err, ERR_INTERNAL, "socket option %d: %s", options[i].option,
                           zmq_strerror(zmq_errno()));
    if (zmq_setsockopt(r->socket, ZMQ_MAXMSGSIZE, &max, sizeof(max)))
        return err_set(err, ERR_INTERNAL, "socket option: %s", zmq_strerror(zmq_errno()));
    return 0;
}

/* The I/O thread inherits the signal mask: signals are for the loop's signalfd alone. */
static int open_socket(struct rpc_server *r, struct err *err)
{
    sigset_t all, old;

    (void)sigfillset(&all); /* cannot fail */
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    r->zmq = zmq_ctx_new();
    if (r->zmq && zmq_ctx_set(r->zmq, ZMQ_IO_THREADS, 1) == 0 &&
        zmq_ctx_set(r->zmq, ZMQ_MAX_SOCKETS, 64) == 0)
        r->socket = zmq_socket(r->zmq, ZMQ_ROUTER);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!r->socket)
        return err_set(err, ERR_INTERNAL, "open a ZeroMQ socket: %s", zmq_strerror(zmq_errno()));
    return set_options(r, err);
}

int rpc_server_create(struct rpc_server **ret, const struct rpc_setup *setup, struct err *err)
{
    struct rpc_server *r = xcalloc(1, sizeof(*r));
    bool has_loopback_user = setup->loopback_user && *setup->loopback_user;

    r->setup = *setup;
    for (size_t i = 0; i < ENDPOINTS_MAX; i++)
        r->locks[i] = -1;
    if (sodium_init() < 0) {
        err_set(err, ERR_INTERNAL, "libsodium finds no source of random bytes");
        goto fail;
    }
    randombytes_buf(r->instance, sizeof(r->instance));
    rpc_auth_init(&r->auth, &r->setup);
    r->estimates = estimates_create();
    r->watches = rpc_watches_create(&(struct rpc_watch_env){.setup = &r->setup,
                                                            .auth = &r->auth,
                                                            .instance = r->instance,
                                                            .send = send_to,
                                                            .send_ctx = r});
    if (open_socket(r, err))
        goto fail;
    for (uint32_t i = 0; i < setup->n_endpoints; i++)
        if (rpc_endpoint_bind(r->socket, setup->endpoints[i], has_loopback_user, &r->locks[i], err))
            goto fail;
    *ret = r;
    return 0;

fail:
    rpc_server_destroy(r);
    return -1;
}

void rpc_server_destroy(struct rpc_server *r)
{
    if (!r)
        return;
    /* no unbind before: it loses answers that are on their way; linger sends them */
    if (r->socket)
        (void)zmq_close(r->socket); /* fails only on what is no socket */
    if (r->zmq)
        (void)zmq_ctx_term(r->zmq); /* at most the linger of a second */
    for (size_t i = 0; i < ENDPOINTS_MAX; i++)
        if (r->locks[i] >= 0)
            (void)close(r->locks[i]); /* gives the lock back, after the socket is gone */
    rpc_watches_destroy(r->watches);
    estimates_destroy(r->estimates);
    rpc_tokens_fini(&r->tokens);
    rpc_out_fini(&r->out);
    arena_fini(&r->scratch);
    free(r);
}
