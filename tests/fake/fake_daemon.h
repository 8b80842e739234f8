/* SPDX-License-Identifier: Apache-2.0 */
/* fake_daemon.h - a ROUTER in a thread that answers as the test's handler wants: late, twice,
 * damaged or not at all. HELLO is answered by itself. For tests of libqueued only.
 */
#ifndef QUEUED_FAKE_DAEMON_H
#define QUEUED_FAKE_DAEMON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "queue.pb-c.h"
#include "queued.h"

enum { FAKE_ID_BYTES = 16, FAKE_CALLS_MAX = 64, FAKE_PEER_MAX = 64 };

/* One request as the server saw it. */
struct fake_seen {
    uint16_t method;
    uint8_t id[FAKE_ID_BYTES];
    uint64_t after_seq;
    uint32_t credit;
    char token[16];
};

struct fake_daemon {
    char dir[64];
    char endpoint[128];
    void *zmq, *router;
    pthread_t thread;
    atomic_bool stop;
    /* Called for each request but HELLO; n: how many came before it. */
    void (*handle)(struct fake_daemon *f, const struct fake_seen *s, size_t n);
    uint8_t instance[FAKE_ID_BYTES];
    uint8_t peer[FAKE_PEER_MAX]; /* of the present request */
    size_t peer_len;
    struct fake_seen seen[FAKE_CALLS_MAX];
    atomic_size_t n;
};

/* Bytes, or a framed reply, to the peer of the present request. */
void fake_daemon_send(struct fake_daemon *f, const void *p, size_t len);
void fake_daemon_reply(struct fake_daemon *f, uint16_t method, const ProtobufCMessage *m);
/* A header for that request; text is copied. */
Queued__V1__ReplyHeader fake_daemon_header(struct fake_daemon *f, const uint8_t *id, uint32_t code,
                                           const char *text);
void fake_daemon_submit(struct fake_daemon *f, const uint8_t *id, uint32_t code, const char *text);
void fake_daemon_get(struct fake_daemon *f, const uint8_t *id, char *name, char *state);
/* The old daemon dies, a new one takes its place. */
void fake_daemon_restart(struct fake_daemon *f);

struct fake_daemon *fake_daemon_start(void (*handle)(struct fake_daemon *, const struct fake_seen *,
                                                     size_t));
void fake_daemon_stop(struct fake_daemon *f);
/* A client of it. retry_ms: silence before a resend. */
struct queued_client *fake_daemon_connect(const struct fake_daemon *f, uint32_t retry_ms);

#endif
