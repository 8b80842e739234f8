/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - waits for sockets, signals and time, and runs one turn after the other.
 *
 * The order of a turn is written in loop_run() and nowhere else. Knows nothing of jobs.
 */
#ifndef QUEUED_LOOP_H
#define QUEUED_LOOP_H

#include "engine.h"
#include "kube/kube.h"
#include "rpc/rpc_server.h"

struct loop {
    struct rpc_server *rpc; /* borrowed, like all here */
    struct kube *kube;
    struct engine *engine;
    int signal_fd; /* SIGTERM, SIGINT and SIGHUP, blocked elsewhere */
    bool (*is_low)(
        void *ctx); /* is the space of the store below its reserve? Asked once a second */
    void *is_low_ctx;
    void (*look_at_config)(void *ctx, bool is_asked); /* once a second; asked: on SIGHUP, at once */
    void *config_ctx;
};

/* Run until SIGTERM or SIGINT: 0. -1: a commit failed, the process must end with code 75. */
int loop_run(struct loop *l, struct err *err);

#endif
