/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_dispatch.c - one row a method. What rows do not allow is denied. */
#include "rpc/rpc_dispatch.h"

#include "util/mem.h"

static const struct rpc_method_row rows[] = {
    {RPC_HELLO, "hello", RPC_VIEWER, rpc_tenant_hello},
    {RPC_SUBMIT, "submit", RPC_SUBMITTER, rpc_job_submit},
    {RPC_ESTIMATE, "estimate", RPC_SUBMITTER, rpc_job_try},
    {RPC_CANCEL, "cancel", RPC_SUBMITTER, rpc_job_change},
    {RPC_GET, "get", RPC_VIEWER, rpc_job_get},
    {RPC_LIST, "list", RPC_VIEWER, rpc_job_list},
    {RPC_WHY, "why", RPC_VIEWER, rpc_job_why},
    {RPC_WATCH, "watch", RPC_VIEWER, rpc_watch_open},
    {RPC_NODES, "nodes", RPC_VIEWER, rpc_node_list},
    {RPC_TOPOLOGY, "topology", RPC_VIEWER, rpc_node_topology},
    {RPC_TENANTS, "tenants", RPC_VIEWER, rpc_tenant_list},
    {RPC_HOLD, "hold", RPC_SUBMITTER, rpc_job_change},
    {RPC_RELEASE, "release", RPC_SUBMITTER, rpc_job_change},
    {RPC_REQUEUE, "requeue", RPC_SUBMITTER, rpc_job_change},
    {RPC_PREEMPT, "preempt", RPC_SUBMITTER, rpc_job_change},
    {RPC_CHECKPOINTED, "checkpointed", RPC_SUBMITTER, rpc_job_change},
    {RPC_UPDATE, "update", RPC_SUBMITTER, rpc_job_update},
    {RPC_DRAIN, "drain", RPC_ADMIN, rpc_node_drain},
    {RPC_UNDRAIN, "undrain", RPC_ADMIN, rpc_node_drain},
    {RPC_TENANT_STOP, "tenant stop", RPC_TENANT_ADMIN, rpc_tenant_stop},
    {RPC_TENANT_RESUME, "tenant resume", RPC_TENANT_ADMIN, rpc_tenant_stop},
    {RPC_RESERVE, "reserve", RPC_ADMIN, rpc_window_change},
    {RPC_UNRESERVE, "reserve cancel", RPC_ADMIN, rpc_window_change},
    {RPC_RESERVATIONS, "reserve list", RPC_VIEWER, rpc_window_list},
    {RPC_DEFRAG, "defrag plan", RPC_ADMIN, rpc_defrag_plan},
    {RPC_CHANGE_SELECTED, "change selected", RPC_SUBMITTER, rpc_job_change_selected},
    {RPC_CONFIG, "config diff", RPC_ADMIN, rpc_config_get},
};

const struct rpc_method_row *rpc_methods(unsigned *ret_n)
{
    *ret_n = ARRAY_LEN(rows);
    return rows;
}

static const struct rpc_method_row *row_of(unsigned method)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].method == method)
            return &rows[i];
    return NULL;
}

int rpc_dispatch(struct rpc_call *c, struct err *err)
{
    const struct rpc_method_row *row = row_of(c->req->method);

    if (!row)
        return err_set(err, ERR_DENIED, "method %u may not be called", c->req->method);
    if (rpc_auth_role(c->who, row->role, row->name, err))
        return -1;
    return row->handler(c, err);
}
