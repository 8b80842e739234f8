/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_token.h - who waits for the answer of a change that is on its way through a turn.
 *
 * A token is slot and generation, so a late answer never reaches another caller. Bounded: in
 * all, and per peer; a token is forgotten when its caller's deadline is over.
 */
#ifndef QUEUED_RPC_RPC_TOKEN_H
#define QUEUED_RPC_RPC_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "util/hash.h"

#include "spec/limits.h"
#include "rpc/rpc_wire.h"
#include "util/parse.h"
#include "util/vec.h"

enum {
    RPC_TOKENS_MAX = INBOX_MAX,
    RPC_PEER_TOKENS_MAX = 64, /* unanswered changes of one connection */
    RPC_TOKEN_KEEP_SEC = 300, /* of a caller without deadline */
};

/* What the answer needs beside the decision. */
struct rpc_pending {
    uint32_t peer;
    uint8_t request_id[REQUEST_ID_BYTES];
    enum rpc_method method;
    usec_t expire_at;
    char part[16];   /* the indices of an array that are changed; "" none, "..." too many to name */
    bool is_dry_run; /* then, of the spec: */
    uint64_t gpus;
    char tenant[TENANT_PATH_MAX + 1];
    char ns[LABEL_MAX + 1];
};

struct rpc_peer_count;

struct rpc_tokens {
    VEC(struct rpc_slot {
        uint32_t generation; /* odd: in use */
        struct rpc_pending pending;
    })
    slots;
    VEC(uint32_t) unused;
    struct rpc_peer_count *peers;
    usec_t next_sweep;
};

void rpc_tokens_fini(struct rpc_tokens *t);
/* A token for p; 0: the peer, or the server, has too many unanswered already. */
uint64_t rpc_tokens_take(struct rpc_tokens *t, const struct rpc_pending *p);
/* Give it back. false: forgotten or never given; *ret untouched. */
bool rpc_tokens_give(struct rpc_tokens *t, uint64_t token, struct rpc_pending *ret);
/* Unanswered changes of a peer. */
uint32_t rpc_tokens_of(const struct rpc_tokens *t, uint32_t peer);
/* Forget what is past its time; looks once a second. Returns when to be called again. */
usec_t rpc_tokens_expire(struct rpc_tokens *t, usec_t now);

#endif
