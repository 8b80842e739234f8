/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_dispatch.h - the table of methods: number, name, role, handler. */
#ifndef QUEUED_RPC_RPC_DISPATCH_H
#define QUEUED_RPC_RPC_DISPATCH_H

#include "rpc/rpc_call.h"

struct rpc_method_row {
    enum rpc_method method;
    const char *name;
    enum rpc_role role; /* least role that may call it */
    int (*handler)(struct rpc_call *c, struct err *err);
};

const struct rpc_method_row *rpc_methods(unsigned *ret_n);
/* Check the role and run the handler; returns what that does. */
int rpc_dispatch(struct rpc_call *c, struct err *err);

#endif
