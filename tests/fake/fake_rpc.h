/* SPDX-License-Identifier: Apache-2.0 */
/* fake_rpc.h - the real engine and the real RPC server in one process, with a fake clock and store.
 *
 * Tenants vision and other, two H100 nodes. Callers over ipc are this process's user, so admin;
 * over TCP they are "alice" with the role that a test gives her.
 */
#ifndef QUEUED_TESTS_FAKE_RPC_H
#define QUEUED_TESTS_FAKE_RPC_H

#include <stdbool.h>

#include "engine.h"
#include "fake_clock.h"
#include "fake_store.h"
#include "queue.pb-c.h"
#include "rpc/rpc_server.h"
#include "rpc/rpc_wire.h"

struct fake_rpc {
    struct settings settings;
    struct fake_clock clock;
    struct fake_store *store;
    struct state *state;
    struct inbox *inbox;
    struct engine engine;
    struct rpc_server *server; /* NULL until fake_rpc_serve() */
    struct rpc_user alice;     /* what the configuration says about her */
    bool has_alice;
    uint32_t replicas; /* of the jobs of fake_rpc_job(), 8 GPUs each; 1 */
    char dir[32];      /* of the socket */
    char ipc[80];
    char tcp[40];
    void *zmq; /* context of the clients */
};

void fake_rpc_init(struct fake_rpc *f);
void fake_rpc_fini(struct fake_rpc *f);
/* One that serves, as the state of a test. */
int fake_rpc_set_up(void **state);
int fake_rpc_tear_down(void **state);
/* Bind both endpoints. */
void fake_rpc_serve(struct fake_rpc *f);
struct rpc_setup fake_rpc_setup(struct fake_rpc *f);

/* A job of alice's (uid) in a tenant, stored. Returns it. */
const struct job *fake_rpc_job(struct fake_rpc *f, const char *tenant, const char *name,
                               uint32_t uid);
/* A change of state: the job is cancelled. */
void fake_rpc_cancel(struct fake_rpc *f, struct job_id id);

/* Read requests and run turns until nothing is left to do, waiting a little for the network. */
void fake_rpc_turn(struct fake_rpc *f);

/* Clients. */
void *fake_rpc_connect(struct fake_rpc *f, const char *endpoint);
/* Send one request; id: one byte, repeated. m gets its header. */
void fake_rpc_send(void *dealer, enum rpc_method method, uint8_t id, ProtobufCMessage *m);
/* The next answer within a second, unpacked by the caller's descriptor; NULL: none came. */
void *fake_rpc_receive(struct fake_rpc *f, void *dealer, const ProtobufCMessageDescriptor *d);

#endif
