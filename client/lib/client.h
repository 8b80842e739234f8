/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the inside of libqueued: one request and its answer, over retries and restarts.
 *
 * The request id is drawn once per intent and kept over resends; answers to other ids are dropped,
 * so a late answer of an earlier call does no harm.
 */
#ifndef QUEUED_CLIENT_CLIENT_H
#define QUEUED_CLIENT_CLIENT_H

#include "client_link.h"
#include "queued.h"
#include "util/err.h"

enum { REQUEST_ID_BYTES = 16 };

struct queued_client {
    void *zmq;
    struct link link;
    char *endpoint;
    struct queued_options options; /* with the defaults filled in */
    uint64_t rng;                  /* of the jitter */
    Queued__V1__HelloReply *hello;
    struct queued_server server; /* view of hello */
};

/* Ask and wait for the answer. request: its header field is set here. 0: *ret is the reply message,
 * which the caller frees with protobuf_c_message_free_unpacked(). -1: the daemon's refusal, or
 * UNAVAILABLE. *ret_header (may be NULL) points into the message. */
int client_call(struct queued_client *c, uint16_t method, ProtobufCMessage *request,
                ProtobufCMessage **ret, struct err *err);
/* One of several requests that are on their way at once. */
struct client_asked {
    uint16_t method;
    ProtobufCMessage *request; /* as for client_call() */
    ProtobufCMessage *reply;   /* the caller frees it; NULL: err says why */
    struct err err;
};
/* Ask all, then wait for the answers. At most QUEUED_CHANGES_MAX. */
void client_call_all(struct queued_client *c, struct client_asked *v, size_t n);
/* 16 random bytes. */
void client_draw_id(uint8_t id[REQUEST_ID_BYTES]);
/* The next wait in a row of resends: half of it fixed, half random. Doubles *wait_ms to the max. */
uint64_t client_next_wait(struct queued_client *c, uint64_t *wait_ms);

/* Hand an error to the caller of the public interface. Returns -1. */
int client_fail(struct queued_error *out, const struct err *err);
/* The code of a reply as our own error; an unknown number is INTERNAL. Returns -1. */
int client_refused(const Queued__V1__ReplyHeader *h, struct err *err);

#endif
