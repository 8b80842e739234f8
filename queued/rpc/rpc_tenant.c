/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_tenant.c - who the caller is, the tenants that exist for them, and stopping one. */
#include "rpc/rpc_call.h"

#include "util/log.h"
#include "util/mem.h"

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
            rpc_out_add_tenant(c->out, c->state, i, c->now);
    rpc_out_tenants(c->out, &c->head);
    return 0;
}

int rpc_tenant_stop(struct rpc_call *c, struct err *err)
{
    struct rpc_pending p = rpc_job_pending(c);
    struct event ev = {.kind = EV_TENANT_STOP};
    struct ev_drain *stop = &ev.u.drain;

    if (!rpc_auth_sees(c->who, c->req->u.drain.node))
        return err_set(err, ERR_NOT_FOUND, "no tenant %s that you may see: 'queuectl tenant get'",
                       c->req->u.drain.node);
    stop->caller = c->who->caller;
    stop->is_back = c->req->method == RPC_TENANT_RESUME;
    stop->node = xstrdup(c->req->u.drain.node);
    if (*c->req->u.drain.reason)
        stop->why = xstrdup(c->req->u.drain.reason);
    if (rpc_job_post(c, &ev, &stop->ref, &p, err)) {
        event_fini(&ev);
        return -1;
    }
    log_info(stop->is_back ? "a tenant is to be resumed" : "a tenant is to be stopped",
             "tenant=%s user=%s reason=\"%s\"", c->req->u.drain.node, c->who->caller.user,
             c->req->u.drain.reason);
    return 0;
}
