/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_server.h - the door for clients: one ROUTER socket, requests in, replies and watch events
 * out.
 *
 * Reads are answered at once from the state (between turns, so they show only what is stored);
 * changes go into the inbox and are answered by rpc_server_reply() after the commit.
 */
#ifndef QUEUED_RPC_RPC_SERVER_H
#define QUEUED_RPC_RPC_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "port/inbox.h"
#include "core/state.h"
#include "port/store_port.h"
#include "util/err.h"
#include "util/str.h"

/* Role of a caller, from the configuration. */
enum rpc_role { RPC_VIEWER, RPC_SUBMITTER, RPC_TENANT_ADMIN, RPC_ADMIN };

struct rpc_user {
    enum rpc_role role;
    uint32_t n_tenants;
    const char *const *tenants; /* paths; each with its subtree */
};

/* The configuration in force. */
struct rpc_config {
    struct str text; /* the caller's */
    const char *file;
    uint64_t n_good, n_refused; /* readings since the start */
    const char *refusal;        /* of the last reading; "" it was good */
};

struct rpc_setup {
    const struct state *state;
    struct inbox *inbox;
    struct store_port store; /* read_spec, read_notes */
    uint32_t n_endpoints;
    const char *endpoints[4];  /* ipc:///path or tcp://127.0.0.1:port */
    const char *loopback_user; /* identity of TCP callers; "" : TCP is refused */
    /* Configuration of a user by name; false: none, the caller may do nothing. root and the
     * daemon's own uid are admin without it. */
    bool (*user)(void *ctx, const char *name, struct rpc_user *ret);
    void (*config)(void *ctx, struct rpc_config *ret);
    void *user_ctx;  /* of both */
    uint64_t now_us; /* for the instance id only */
};

struct rpc_server;

/* Bind all endpoints: ipc paths are locked first (PATH.lock), mode 0660.
 * -1 UNAVAILABLE: an address is taken (exit code 69); INVALID: not an allowed endpoint. */
int rpc_server_create(struct rpc_server **ret, const struct rpc_setup *setup, struct err *err);
void rpc_server_destroy(struct rpc_server *r);
/* The ROUTER socket, for zmq_poll(). */
void *rpc_server_socket(struct rpc_server *r);
/* Take up to RPC_READ_MAX messages of together RPC_READ_BYTES_MAX (the last may pass it), as long
 * as the inbox has room. true: more may be waiting. */
bool rpc_server_read(struct rpc_server *r, usec_t now);
/* Answer a changing call. A token whose caller is gone is ignored. */
void rpc_server_reply(struct rpc_server *r, const struct reply *reply);
/* Tell watchers about a durable event. */
void rpc_server_note(struct rpc_server *r, const struct job_note *note);
/* Keep-alives, replay for slow watchers, forgotten tokens. Returns when to be called again. */
usec_t rpc_server_tick(struct rpc_server *r, usec_t now);

#endif
