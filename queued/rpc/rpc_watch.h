/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_watch.h - streams of events: replay from the store, then live, never more than the credit.
 *
 * A watch has one cursor: the next event number. It moves only over events that were sent or
 * filtered out, so nothing is lost or doubled; a reader that is slow has no credit and costs no
 * memory. Events are filtered by the rights that the caller has at that moment.
 */
#ifndef QUEUED_RPC_RPC_WATCH_H
#define QUEUED_RPC_RPC_WATCH_H

#include "core/effect.h"
#include "rpc/rpc_auth.h"
#include "rpc/rpc_out.h"

enum {
    RPC_WATCHES_MAX = 1024,
    RPC_PEER_WATCHES_MAX = 4,
    RPC_KEEPALIVE_SEC = 10,
    RPC_SLOW_SEC = 30, /* of a full queue, then the watch is dropped */
};

enum rpc_sent { RPC_SENT, RPC_FULL, RPC_GONE };

struct rpc_watch_env {
    const struct rpc_setup *setup;
    struct rpc_auth *auth;
    const uint8_t *instance; /* 16 bytes */
    enum rpc_sent (*send)(void *ctx, uint32_t peer, const void *bytes, size_t len);
    void *send_ctx;
};

struct rpc_watches;

struct rpc_watches *rpc_watches_create(const struct rpc_watch_env *env);
void rpc_watches_destroy(struct rpc_watches *w);
/* A durable event has just been committed. */
void rpc_watches_note(struct rpc_watches *w, const struct job_note *note, usec_t now);
/* Replays, keep-alives, slow readers. Returns when to be called again. */
usec_t rpc_watches_tick(struct rpc_watches *w, usec_t now);
size_t rpc_watches_count(const struct rpc_watches *w);

#endif
