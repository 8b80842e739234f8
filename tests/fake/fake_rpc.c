/* SPDX-License-Identifier: Apache-2.0 */
/* fake_rpc.c - the rig: one thread plays server and clients in turn. */
#include "fake_rpc.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <zmq.h>

#include "fake_site.h"
#include "util/log.h"
#include "util/mem.h"

static void run_effects(void *ctx, const struct effects *fx)
{
    struct fake_rpc *f = ctx;

    for (size_t i = 0; i < fx->list.n && f->server; i++) {
        const struct effect *e = &fx->list.v[i];

        if (e->kind == EFFECT_REPLY)
            rpc_server_reply(f->server, e->u.reply);
        else if (e->kind == EFFECT_SAVE_EVENT)
            rpc_server_note(f->server, e->u.note);
    }
}

static bool find_user(void *ctx, const char *name, struct rpc_user *ret)
{
    struct fake_rpc *f = ctx;

    if (!f->has_alice || strcmp(name, "alice") != 0)
        return false;
    *ret = f->alice;
    return true;
}

static void turn(struct fake_rpc *f)
{
    usec_t wake;
    struct err err;

    if (engine_turn(&f->engine, &wake, &err))
        abort();
    if (f->engine.in_flight)
        engine_acked(&f->engine);
}

static void post(struct fake_rpc *f, struct event *ev)
{
    bool was_taken = inbox_push(f->inbox, ev);

    assert(was_taken);
    turn(f);
}

static void add_nodes(struct fake_rpc *f)
{
    struct event synced = {.kind = EV_SYNCED};
    struct event up = {.kind = EV_CLUSTER};

    for (int i = 0; i < 2; i++) {
        struct event ev = {.kind = EV_NODE_SEEN};

        ev.u.node = site_node(i ? "n2" : "n1", "block-1", i ? "rack-2" : "rack-1", SITE_H100, 8);
        post(f, &ev);
    }
    up.u.cluster.is_up = true;
    post(f, &up);
    post(f, &synced);
}

static unsigned free_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int rc = bind(fd, (struct sockaddr *)&a, len);

    assert(rc == 0);
    rc = getsockname(fd, (struct sockaddr *)&a, &len);
    assert(rc == 0);
    (void)close(fd); /* was only asked for a number */
    return ntohs(a.sin_port);
}

void fake_rpc_init(struct fake_rpc *f)
{
    static const char *const vision[] = {"vision"};
    const char *dir;

    *f = (struct fake_rpc){.alice = {RPC_SUBMITTER, 1, vision}, .has_alice = true, .replicas = 1};
    site_settings_init(&f->settings);
    (void)site_tenant(&f->settings, "vision");
    (void)site_tenant(&f->settings, "other");
    (void)site_tenant(&f->settings, "vision/inner");
    fake_clock_init(&f->clock);
    f->store = fake_store_create(1);
    f->state = state_create(&f->settings);
    f->inbox = inbox_create(INBOX_MAX);
    f->engine = (struct engine){.state = f->state,
                                .inbox = f->inbox,
                                .clock = fake_clock_port(&f->clock),
                                .store = fake_store_port(f->store),
                                .out = {f, run_effects}};
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/queued-rpc-XXXXXX");
    dir = mkdtemp(f->dir);
    assert(dir);
    (void)snprintf(f->ipc, sizeof(f->ipc), "ipc://%s/q.sock", f->dir);
    (void)snprintf(f->tcp, sizeof(f->tcp), "tcp://127.0.0.1:%u", free_port());
    f->zmq = zmq_ctx_new();
    add_nodes(f);
}

void fake_rpc_fini(struct fake_rpc *f)
{
    char *lock = xasprintf("%s/q.sock.lock", f->dir);

    rpc_server_destroy(f->server);
    (void)zmq_ctx_term(f->zmq); /* the sockets are closed by the tests */
    engine_fini(&f->engine);
    inbox_destroy(f->inbox);
    state_destroy(f->state);
    fake_store_destroy(f->store);
    site_settings_fini(&f->settings);
    (void)unlink(lock);                      /* left behind by design */
    (void)unlink(f->ipc + strlen("ipc://")); /* and so is the socket: the next daemon replaces it */
    (void)rmdir(f->dir);
    free(lock);
}

static void no_config(void *ctx, struct rpc_config *ret)
{
    (void)ctx;
    str_add(&ret->text, "{}");
    ret->file = ret->refusal = "";
}

struct rpc_setup fake_rpc_setup(struct fake_rpc *f)
{
    return (struct rpc_setup){.state = f->state,
                              .inbox = f->inbox,
                              .store = fake_store_port(f->store),
                              .n_endpoints = 2,
                              .endpoints = {f->ipc, f->tcp},
                              .loopback_user = "alice",
                              .user = find_user,
                              .config = no_config,
                              .user_ctx = f};
}

void fake_rpc_serve(struct fake_rpc *f)
{
    struct rpc_setup setup = fake_rpc_setup(f);
    struct err err;

    if (rpc_server_create(&f->server, &setup, &err)) {
        (void)fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

const struct job *fake_rpc_job(struct fake_rpc *f, const char *tenant, const char *name,
                               uint32_t uid)
{
    static uint8_t serial;
    struct event ev = {.kind = EV_JOB_SUBMIT};
    struct ev_submit *submit = &ev.u.submit;
    struct err err;
    int rc;

    submit->spec = site_spec(name, f->replicas, 8);
    submit->spec->tenant = arena_strdup(&submit->spec->arena, tenant);
    submit->spec->ns = NULL;
    submit->spec->roles[0].image = "registry.local/train:1";
    rc = spec_check(submit->spec, &f->settings, &err);
    assert(rc == 0);
    submit->caller = (struct caller){.uid = uid, .user = "alice"};
    submit->ref.uid = uid;
    submit->ref.request_id[0] = ++serial;
    submit->ref.request_id[1] = 0xee;
    post(f, &ev);
    return f->state->by_id.v[f->state->by_id.n - 1];
}

void fake_rpc_cancel(struct fake_rpc *f, struct job_id id)
{
    struct event ev = {.kind = EV_JOB_VERB, .u.verb.verb = VERB_CANCEL};

    ev.u.verb.job = id;
    ev.u.verb.ref.request_id[0] = (uint8_t)id.v;
    ev.u.verb.ref.request_id[1] = 0xcc;
    post(f, &ev);
}

void fake_rpc_turn(struct fake_rpc *f)
{
    zmq_pollitem_t item = {.socket = rpc_server_socket(f->server), .events = ZMQ_POLLIN};
    int quiet = 0;

    while (quiet < 2) {
        quiet = zmq_poll(&item, 1, 30) > 0 ? 0 : quiet + 1;
        (void)rpc_server_read(f->server, f->clock.now); /* what is left comes in the next round */
        turn(f);
        (void)rpc_server_tick(f->server, f->clock.now); /* the clock stands: no wake to keep */
    }
}

void *fake_rpc_connect(struct fake_rpc *f, const char *endpoint)
{
    void *dealer = zmq_socket(f->zmq, ZMQ_DEALER);
    int zero = 0;
    int rc = zmq_setsockopt(dealer, ZMQ_LINGER, &zero, sizeof(zero));

    assert(rc == 0);
    rc = zmq_connect(dealer, endpoint);
    assert(rc == 0);
    return dealer;
}

void fake_rpc_send(void *dealer, enum rpc_method method, uint8_t id, ProtobufCMessage *m)
{
    Queued__V1__RequestHeader header = QUEUED__V1__REQUEST_HEADER__INIT;
    uint8_t request_id[REQUEST_ID_BYTES];
    size_t size;
    uint8_t *bytes;
    int rc;

    memset(request_id, id, sizeof(request_id));
    header.has_request_id = true;
    header.request_id.data = request_id;
    header.request_id.len = sizeof(request_id);
    ((Queued__V1__HelloRequest *)m)->header = &header; /* the first field of every request */
    size = protobuf_c_message_get_packed_size(m);
    bytes = xmalloc(RPC_FRAME_BYTES + size);
    rpc_frame_write(bytes, (uint16_t)method, 0);
    (void)protobuf_c_message_pack(m, bytes + RPC_FRAME_BYTES);
    rc = zmq_send(dealer, bytes, RPC_FRAME_BYTES + size, ZMQ_DONTWAIT);
    assert(rc >= 0);
    free(bytes);
}

void *fake_rpc_receive(struct fake_rpc *f, void *dealer, const ProtobufCMessageDescriptor *d)
{
    zmq_pollitem_t item = {.socket = dealer, .events = ZMQ_POLLIN};
    void *m = NULL;
    zmq_msg_t msg;

    /* the request may still be on its way when the turn before found nothing */
    for (int n = 0; zmq_poll(&item, 1, 100) <= 0; n++) {
        if (n == 8)
            return NULL;
        if (!f->engine.in_flight)
            fake_rpc_turn(f);
    }
    (void)zmq_msg_init(&msg); /* cannot fail */
    if (zmq_msg_recv(&msg, dealer, ZMQ_DONTWAIT) >= RPC_FRAME_BYTES)
        m = protobuf_c_message_unpack(d, NULL, zmq_msg_size(&msg) - RPC_FRAME_BYTES,
                                      (const uint8_t *)zmq_msg_data(&msg) + RPC_FRAME_BYTES);
    (void)zmq_msg_close(&msg); /* cannot fail on what was initialised */
    return m;
}

int fake_rpc_set_up(void **state)
{
    struct fake_rpc *f = xcalloc(1, sizeof(*f));

    log_setup(LOG_LEVEL_ERROR, false);
    fake_rpc_init(f);
    fake_rpc_serve(f);
    *state = f;
    return 0;
}

int fake_rpc_tear_down(void **state)
{
    fake_rpc_fini(*state);
    free(*state);
    return 0;
}
