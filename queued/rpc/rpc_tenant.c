/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_tenant.c - who the caller is, and the tenants that exist for them. */
#include "rpc/rpc_call.h"

int rpc_tenant_hello(struct rpc_call *c, struct err *err)
{
    const struct settings *settings = c->state->settings;
    struct rpc_hello hello = {
        .user = c->who->caller.user, .is_admin = c->who->caller.is_admin, .state = c->state};
    const char **all = arena_alloc(&c->out->arena, settings->n_tenants * sizeof(*all));

    (void)err;
    hello.tenants = all;
    for (uint32_t i = 0; i < settings->n_tenants; i++)
        if (c->who->user.role >= RPC_SUBMITTER && rpc_auth_sees(c->who, settings->tenants[i].path))
            all[hello.n_tenants++] = settings->tenants[i].path;
    rpc_out_hello(c->out, &c->head, &hello);
    return 0;
}

int rpc_tenant_list(struct rpc_call *c, struct err *err)
{
    (void)err;
    for (uint32_t i = 0; i < c->state->settings->n_tenants; i++)
        if (rpc_auth_sees(c->who, c->state->settings->tenants[i].path))
            rpc_out_add_tenant(c->out, c->state, i);
    rpc_out_tenants(c->out, &c->head);
    return 0;
}
