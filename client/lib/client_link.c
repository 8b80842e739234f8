/* SPDX-License-Identifier: Apache-2.0 */
/* client_link.c - the DEALER socket, its options and the 8-byte frame header.
 *
 * Options: queue only into a finished connection, heartbeats, back-off of reconnects, no linger.
 */
#include "client_link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client_endpoint.h"
#include "util/mem.h"

enum {
    HEADER_BYTES = 8,
    MAJOR = 1,
    FLAG_REPLY = 1,
    MESSAGE_MAX = 64 * 1024 * 1024,
};

/* Reply type of a method; NULL for a number that is none. */
static const ProtobufCMessageDescriptor *reply_type(uint16_t method)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        [QUEUED__V1__METHOD__METHOD_HELLO] = &queued__v1__hello_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_ESTIMATE] = &queued__v1__why_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_SUBMIT] = &queued__v1__submit_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_CANCEL] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_GET] = &queued__v1__get_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_LIST] = &queued__v1__list_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_WHY] = &queued__v1__why_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_WATCH] = &queued__v1__watch_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_NODES] = &queued__v1__nodes_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_TOPOLOGY] = &queued__v1__topology_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_TENANTS] = &queued__v1__tenants_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_HOLD] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_RELEASE] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_REQUEUE] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_PREEMPT] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_CHECKPOINTED] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_UPDATE] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_RESERVE] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_UNRESERVE] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_RESERVATIONS] = &queued__v1__reservations_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_DEFRAG] = &queued__v1__defrag_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_CHANGE_SELECTED] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_CONFIG] = &queued__v1__config_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_DRAIN] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_UNDRAIN] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_TENANT_STOP] = &queued__v1__change_reply__descriptor,
        [QUEUED__V1__METHOD__METHOD_TENANT_RESUME] = &queued__v1__change_reply__descriptor,
    };

    return method < ARRAY_LEN(types) ? types[method] : NULL;
}

uint64_t link_now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* always there on Linux */
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void set_options(void *socket)
{
    static const struct {
        int option, value;
    } options[] = {
        {ZMQ_LINGER, 0},
        {ZMQ_IMMEDIATE, 1},
        {ZMQ_RECONNECT_IVL, LINK_SLICE_MS},
        {ZMQ_RECONNECT_IVL_MAX, 5000},
        {ZMQ_HANDSHAKE_IVL, 5000},
        {ZMQ_HEARTBEAT_IVL, 10000},
        {ZMQ_HEARTBEAT_TIMEOUT, 30000},
        {ZMQ_CONNECT_TIMEOUT, 5000},
        {ZMQ_IPV6, 1},
    };
    int64_t max = MESSAGE_MAX;

    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (zmq_setsockopt(socket, options[i].option, &options[i].value, sizeof(int)))
            abort(); /* a bug of ours: libzmq 4.3 knows them all */
    if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max, sizeof(max)))
        abort();
}

int link_open(struct link *l, void *zmq_context, const char *endpoint, struct err *err)
{
    *l = (struct link){0};
    if (endpoint_check(endpoint, err))
        return -1;
    l->socket = zmq_socket(zmq_context, ZMQ_DEALER);
    if (!l->socket)
        return err_set(err, ERR_INTERNAL, "cannot make a socket: %s", zmq_strerror(errno));
    l->endpoint = xstrdup(endpoint);
    set_options(l->socket);
    if (zmq_connect(l->socket, endpoint)) {
        (void)err_set(err, ERR_INVALID, "endpoint %.200s: %s", endpoint, zmq_strerror(errno));
        link_close(l);
        return -1;
    }
    return 0;
}

void link_close(struct link *l)
{
    if (l->socket)
        (void)zmq_close(l->socket); /* fails only for what is no socket */
    free(l->endpoint);
    *l = (struct link){0};
}

bool link_send(struct link *l, uint16_t method, const ProtobufCMessage *request)
{
    size_t len = HEADER_BYTES + protobuf_c_message_get_packed_size(request);
    uint8_t *frame = xmalloc(len);
    int rc;

    memcpy(frame,
           (const uint8_t[HEADER_BYTES]){'Q', 'D', MAJOR, 0, (uint8_t)(method >> 8),
                                         (uint8_t)method, 0, 0},
           HEADER_BYTES);
    (void)protobuf_c_message_pack(request, frame + HEADER_BYTES);
    do
        rc = zmq_send(l->socket, frame, len, ZMQ_DONTWAIT);
    while (rc < 0 && errno == EINTR);
    free(frame);
    l->is_up = l->is_up || rc >= 0; /* what was taken had a connection: nothing has come back */
    return rc >= 0;
}

/* Look whether there is a connection: with ZMQ_IMMEDIATE only one that is finished can be sent to.
 */
static void look(struct link *l)
{
    int events = 0;
    size_t size = sizeof(events);
    bool is_up;

    if (zmq_getsockopt(l->socket, ZMQ_EVENTS, &events, &size))
        return; /* interrupted; the next look will tell */
    is_up = (events & ZMQ_POLLOUT) != 0;
    l->has_come_back = l->has_come_back || (is_up && !l->is_up);
    l->is_up = is_up;
}

static int fail_stranger(const struct link *l, const uint8_t *p, size_t len, struct err *err)
{
    if (len > 2 && p[0] == 'Q' && p[1] == 'D')
        return err_set(
            err, ERR_UNAVAILABLE,
            "the daemon at %.200s speaks protocol %u, this program %d; use a queuectl of "
            "the daemon's version",
            l->endpoint, p[2], MAJOR);
    return err_set(err, ERR_UNAVAILABLE,
                   "what answers at %.200s is no queued; check --endpoint or QUEUED_ENDPOINT",
                   l->endpoint);
}

/* 1: a reply; 0: damaged, or not for us; -1: a stranger. */
static int decode(const struct link *l, const uint8_t *p, size_t len, struct link_reply *ret,
                  struct err *err)
{
    const ProtobufCMessageDescriptor *type;
    struct link_reply r = {0};

    if (len < HEADER_BYTES || p[0] != 'Q' || p[1] != 'D' || p[2] != MAJOR)
        return fail_stranger(l, p, len, err);
    r.method = (uint16_t)(p[4] << 8 | p[5]);
    type = reply_type(r.method);
    if (!(p[7] & FLAG_REPLY) || !type)
        return 0;
    r.message = protobuf_c_message_unpack(type, NULL, len - HEADER_BYTES, p + HEADER_BYTES);
    if (!r.message)
        return 0;
    assert(strcmp(type->fields[0].name, "header") == 0);
    memcpy(&r.header, (const char *)r.message + type->fields[0].offset, sizeof(r.header));
    if (!r.header) {
        protobuf_c_message_free_unpacked(r.message, NULL);
        return 0;
    }
    *ret = r;
    return 1;
}

/* Take the message that is there, all its parts; only one of exactly one part counts. */
static int take(struct link *l, struct link_reply *ret, struct err *err)
{
    zmq_msg_t msg;
    bool is_single = true, has_more = true;
    int rc = 0;

    while (has_more) {
        (void)zmq_msg_init(&msg); /* cannot fail */
        if (zmq_msg_recv(&msg, l->socket, ZMQ_DONTWAIT) < 0) {
            (void)zmq_msg_close(&msg);
            return 0;
        }
        has_more = zmq_msg_more(&msg);
        is_single = is_single && !has_more;
        if (is_single)
            rc = decode(l, zmq_msg_data(&msg), zmq_msg_size(&msg), ret, err);
        (void)zmq_msg_close(&msg);
        if (has_more)
            is_single = false;
    }
    return rc;
}

int link_receive(struct link *l, uint64_t wait_ms, struct link_reply *ret, struct err *err)
{
    zmq_pollitem_t item = {.socket = l->socket, .events = ZMQ_POLLIN};
    long slice = (long)(wait_ms < LINK_SLICE_MS ? wait_ms : LINK_SLICE_MS);

    if (!l->is_up)
        item.events |= ZMQ_POLLOUT;  /* wake up as soon as the connection is made */
    (void)zmq_poll(&item, 1, slice); /* interrupted is as good as nothing yet */
    look(l);
    return item.revents & ZMQ_POLLIN ? take(l, ret, err) : 0;
}
