/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_wire.c - frame header, unpacking inside a capped arena, copying into struct rpc_request.
 *
 * Order: header, unpack with all bounds (rpc_check.c), copy. Says nothing about who asks.
 */
#include "rpc/rpc_wire.h"

#include <string.h>

#include "core/job_fsm.h"
#include "queue.pb-c.h"
#include "rpc/rpc_check.h"
#include "rpc/rpc_spec.h"
#include "util/str.h"

static const char *copy(struct arena *a, const char *s)
{
    return s ? arena_strdup(a, s) : "";
}

static int fill_none(struct rpc_request *r, const ProtobufCMessage *m, struct err *err)
{
    (void)r;
    (void)m;
    (void)err;
    return 0;
}

static int fill_submit(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__SubmitRequest *m = (const Queued__V1__SubmitRequest *)base;

    if (!m->spec)
        return err_set(err, ERR_INVALID, "spec: missing from the request");
    r->u.submit.spec = rpc_spec_from(m->spec);
    r->u.submit.is_dry_run = m->dry_run;
    r->u.submit.require_feasible = m->require_feasible;
    return 0;
}

static int fill_estimate(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__EstimateRequest *m = (const Queued__V1__EstimateRequest *)base;

    if (!m->spec)
        return err_set(err, ERR_INVALID, "spec: missing from the request");
    if (m->added_nodes == 0 && ((m->added_like && *m->added_like) || m->n_added_domains))
        return err_set(err, ERR_INVALID, "added_nodes: missing, and it is said what they are like");
    r->u.estimate.without = arena_alloc(&r->arena, (m->n_without_nodes + 1) * sizeof(char *));
    for (size_t i = 0; i < m->n_without_nodes; i++)
        r->u.estimate.without[i] = copy(&r->arena, m->without_nodes[i]);
    r->u.estimate.n_without = (uint32_t)m->n_without_nodes;
    r->u.estimate.n_added = m->added_nodes;
    r->u.estimate.like = copy(&r->arena, m->added_like);
    r->u.estimate.domains = rpc_pairs_from(&r->arena, m->added_domains, m->n_added_domains);
    r->u.estimate.spec = rpc_spec_from(m->spec);
    return 0;
}

static int fill_change(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__ChangeRequest *m = (const Queued__V1__ChangeRequest *)base;

    if (m->reason && r->method_number == RPC_CHECKPOINTED)
        return err_set(err, ERR_INVALID, "reason: a job has saved without one");
    if (m->has_grace_us && r->method_number != RPC_CANCEL)
        return err_set(err, ERR_INVALID, "grace_us: of a cancel only");
    r->job = copy(&r->arena, m->job);
    r->u.change.reason = copy(&r->arena, m->reason);
    r->u.change.grace_us = (usec_t)m->grace_us;
    return 0;
}

static int fill_update(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__UpdateRequest *m = (const Queued__V1__UpdateRequest *)base;

    (void)err;
    r->job = copy(&r->arena, m->job);
    r->u.update.reason = copy(&r->arena, m->reason);
    r->u.update.priority_class = copy(&r->arena, m->priority_class);
    r->u.update.tenant = copy(&r->arena, m->tenant);
    r->u.update.required = copy(&r->arena, m->topology_required);
    r->u.update.preferred = copy(&r->arena, m->topology_preferred);
    r->u.update.max_runtime_us = (usec_t)m->max_runtime_us;
    return 0;
}

static int fill_drain(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__DrainRequest *m = (const Queued__V1__DrainRequest *)base;

    if (!m->node || !*m->node)
        return err_set(err, ERR_INVALID, "node: missing from the request");
    if (m->reason && r->method_number == RPC_UNDRAIN)
        return err_set(err, ERR_INVALID, "reason: a node is given back without one");
    r->u.drain.node = copy(&r->arena, m->node);
    r->u.drain.reason = copy(&r->arena, m->reason);
    return 0;
}

static int fill_reserve(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__ReserveRequest *m = (const Queued__V1__ReserveRequest *)base;

    if (!m->name || !*m->name)
        return err_set(err, ERR_INVALID, "name: missing from the request");
    if ((m->n_nodes > 0) == (m->domain || m->n_labels))
        return err_set(err, ERR_INVALID, "nodes: give names, or else a domain or labels");
    r->u.window.name = copy(&r->arena, m->name);
    r->u.window.tenant = copy(&r->arena, m->tenant);
    r->u.window.domain = copy(&r->arena, m->domain);
    r->u.window.reason = copy(&r->arena, m->reason);
    r->u.window.from = (usec_t)m->from_us;
    r->u.window.to = (usec_t)m->to_us;
    r->u.window.is_dry_run = m->dry_run;
    r->u.window.nodes = arena_alloc(&r->arena, (m->n_nodes + 1) * sizeof(char *));
    for (size_t i = 0; i < m->n_nodes; i++)
        r->u.window.nodes[i] = copy(&r->arena, m->nodes[i]);
    r->u.window.n_nodes = (uint32_t)m->n_nodes;
    r->u.window.labels = rpc_pairs_from(&r->arena, m->labels, m->n_labels);
    return 0;
}

static int fill_unreserve(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__UnreserveRequest *m = (const Queued__V1__UnreserveRequest *)base;

    if (!m->name || !*m->name)
        return err_set(err, ERR_INVALID, "name: missing from the request");
    r->u.window.name = copy(&r->arena, m->name);
    return 0;
}

static int fill_stop(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__TenantStopRequest *m = (const Queued__V1__TenantStopRequest *)base;

    if (!m->tenant || !*m->tenant)
        return err_set(err, ERR_INVALID, "tenant: missing from the request");
    if (m->reason && r->method_number == RPC_TENANT_RESUME)
        return err_set(err, ERR_INVALID, "reason: a tenant is resumed without one");
    r->u.drain.node = copy(&r->arena, m->tenant);
    r->u.drain.reason = copy(&r->arena, m->reason);
    return 0;
}

static int fill_get(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    (void)err;
    r->job = copy(&r->arena, ((const Queued__V1__GetRequest *)base)->job);
    return 0;
}

static int fill_why(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    (void)err;
    r->job = copy(&r->arena, ((const Queued__V1__WhyRequest *)base)->job);
    return 0;
}

static int fill_states(struct rpc_filter *f, const Queued__V1__JobFilter *m, struct err *err)
{
    for (size_t i = 0; i < m->n_states; i++) {
        enum job_state state;

        if (strcmp(m->states[i], "active") == 0) {
            for (int s = JOB_HELD; s < JOB_OUTCOME; s++)
                f->states |= job_state_is_terminal((enum job_state)s) ? 0 : UINT32_C(1) << s;
        } else if (job_state_parse(m->states[i], &state) == 0) {
            f->states |= UINT32_C(1) << state;
        } else {
            return err_set(err, ERR_INVALID,
                           "filter.states[%zu]: no such state: use active, or a name as list "
                           "shows it (Pending, Running, Failed ...)",
                           i);
        }
    }
    return 0;
}

static int fill_filter(struct rpc_request *r, const Queued__V1__JobFilter *m, struct err *err)
{
    struct rpc_filter *f = &r->filter;

    f->tenant = f->user = f->array = "";
    if (!m)
        return 0;
    f->all = m->all;
    f->tenant = copy(&r->arena, m->tenant);
    f->user = copy(&r->arena, m->user);
    f->labels = rpc_pairs_from(&r->arena, m->labels, m->n_labels);
    f->array = copy(&r->arena, m->array);
    return fill_states(f, m, err);
}

static int fill_list(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__ListRequest *m = (const Queued__V1__ListRequest *)base;

    r->u.list.limit = m->limit ? m->limit : LIST_PAGE_MAX;
    r->u.list.full = m->full;
    r->u.list.has_token = m->page_token.len > 0;
    if (m->page_token.len > 0 && m->page_token.len != RPC_TOKEN_BYTES)
        return err_set(err, ERR_INVALID,
                       "page_token: not one of this server's: begin the list again");
    if (m->page_token.len > 0)
        memcpy(r->u.list.token, m->page_token.data, RPC_TOKEN_BYTES);
    return fill_filter(r, m->filter, err);
}

static int fill_watch(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__WatchRequest *m = (const Queued__V1__WatchRequest *)base;

    r->job = copy(&r->arena, m->job);
    r->u.watch.after_seq = m->after_seq;
    r->u.watch.from_now = m->from_now;
    r->u.watch.credit = m->credit;
    if (!m->has_credit)
        return err_set(err, ERR_INVALID, "credit: say how many events you will take, 1..%d",
                       RPC_CREDIT_MAX);
    if (m->filter && m->filter->array && *m->filter->array)
        return err_set(err, ERR_INVALID, "filter.array: goes with a list only");
    return fill_filter(r, m->filter, err);
}

static int fill_selected(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__SelectedRequest *m = (const Queued__V1__SelectedRequest *)base;

    if (fill_filter(r, m->filter, err))
        return -1;
    if (!r->filter.labels.n && !*r->filter.tenant)
        return err_set(err, ERR_INVALID, "filter: give labels or a tenant");
    if (*r->filter.array)
        return err_set(err, ERR_INVALID, "filter.array: name the array in a change of its own");
    if (m->has_grace_us && m->method != RPC_CANCEL)
        return err_set(err, ERR_INVALID, "grace_us: of a cancel only");
    if (m->reason && m->method == RPC_CHECKPOINTED)
        return err_set(err, ERR_INVALID, "reason: a job has saved without one");
    r->u.change.method = m->method;
    r->u.change.reason = copy(&r->arena, m->reason);
    r->u.change.grace_us = (usec_t)m->grace_us;
    return 0;
}

static int fill_nodes(struct rpc_request *r, const ProtobufCMessage *base, struct err *err)
{
    const Queued__V1__NodesRequest *m = (const Queued__V1__NodesRequest *)base;

    (void)err;
    r->u.nodes.after = copy(&r->arena, m->after);
    r->u.nodes.limit = m->limit ? m->limit : LIST_PAGE_MAX;
    return 0;
}

/* By method number. Every request has its header as field 1, the first member. */
static const struct shape {
    const ProtobufCMessageDescriptor *message;
    bool is_strict; /* a changing call: unknown fields are refused */
    bool needs_job;
    int (*fill)(struct rpc_request *r, const ProtobufCMessage *m, struct err *err);
} shapes[RPC_METHODS] = {
    [RPC_HELLO] = {&queued__v1__hello_request__descriptor, false, false, fill_none},
    [RPC_SUBMIT] = {&queued__v1__submit_request__descriptor, true, false, fill_submit},
    [RPC_ESTIMATE] = {&queued__v1__estimate_request__descriptor, true, false, fill_estimate},
    [RPC_CANCEL] = {&queued__v1__change_request__descriptor, true, true, fill_change},
    [RPC_GET] = {&queued__v1__get_request__descriptor, false, true, fill_get},
    [RPC_LIST] = {&queued__v1__list_request__descriptor, false, false, fill_list},
    [RPC_WHY] = {&queued__v1__why_request__descriptor, false, true, fill_why},
    [RPC_WATCH] = {&queued__v1__watch_request__descriptor, false, false, fill_watch},
    [RPC_NODES] = {&queued__v1__nodes_request__descriptor, false, false, fill_nodes},
    [RPC_TOPOLOGY] = {&queued__v1__topology_request__descriptor, false, false, fill_none},
    [RPC_TENANTS] = {&queued__v1__tenants_request__descriptor, false, false, fill_none},
    [RPC_HOLD] = {&queued__v1__change_request__descriptor, true, true, fill_change},
    [RPC_RELEASE] = {&queued__v1__change_request__descriptor, true, true, fill_change},
    [RPC_REQUEUE] = {&queued__v1__change_request__descriptor, true, true, fill_change},
    [RPC_PREEMPT] = {&queued__v1__change_request__descriptor, true, true, fill_change},
    [RPC_CHECKPOINTED] = {&queued__v1__change_request__descriptor, true, true, fill_change},
    [RPC_UPDATE] = {&queued__v1__update_request__descriptor, true, true, fill_update},
    [RPC_DRAIN] = {&queued__v1__drain_request__descriptor, true, false, fill_drain},
    [RPC_UNDRAIN] = {&queued__v1__drain_request__descriptor, true, false, fill_drain},
    [RPC_TENANT_STOP] = {&queued__v1__tenant_stop_request__descriptor, true, false, fill_stop},
    [RPC_TENANT_RESUME] = {&queued__v1__tenant_stop_request__descriptor, true, false, fill_stop},
    [RPC_RESERVE] = {&queued__v1__reserve_request__descriptor, true, false, fill_reserve},
    [RPC_UNRESERVE] = {&queued__v1__unreserve_request__descriptor, true, false, fill_unreserve},
    [RPC_RESERVATIONS] = {&queued__v1__reservations_request__descriptor, false, false, fill_none},
    [RPC_DEFRAG] = {&queued__v1__defrag_request__descriptor, false, false, fill_none},
    [RPC_CHANGE_SELECTED] = {&queued__v1__selected_request__descriptor, true, false, fill_selected},
    [RPC_CONFIG] = {&queued__v1__config_request__descriptor, false, false, fill_none},
};

_Static_assert(offsetof(Queued__V1__HelloRequest, header) ==
                       offsetof(Queued__V1__WatchRequest, header) &&
                   offsetof(Queued__V1__HelloRequest, header) ==
                       offsetof(Queued__V1__SubmitRequest, header),
               "the header is the first member of every request");

static int fill_header(struct rpc_request *r, const ProtobufCMessage *m, struct err *err)
{
    const Queued__V1__RequestHeader *h = ((const Queued__V1__HelloRequest *)m)->header;

    if (!h || h->request_id.len != REQUEST_ID_BYTES)
        return err_set(err, ERR_INVALID, "header.request_id: missing, must be %d bytes",
                       REQUEST_ID_BYTES);
    memcpy(r->request_id, h->request_id.data, REQUEST_ID_BYTES);
    r->deadline_ms = h->deadline_ms;
    return 0;
}

/* Of a message that is refused, what is needed to answer its sender. */
static void peek_request_id(const uint8_t *p, size_t len, uint8_t id[REQUEST_ID_BYTES])
{
    /* field 1 (header) first, and in it field 1 (id) first: as every encoder writes it */
    if (len >= 4 + REQUEST_ID_BYTES && p[0] == 0x0a && p[2] == 0x0a && p[3] == REQUEST_ID_BYTES)
        memcpy(id, p + 4, REQUEST_ID_BYTES);
}

static int read_frame(const uint8_t *p, size_t len, struct rpc_request *ret, struct err *err)
{
    unsigned flags;

    if (len < RPC_FRAME_BYTES || p[0] != 'Q' || p[1] != 'D')
        return err_set(err, ERR_INVALID,
                       "not a message of this protocol: it begins with QD and "
                       "a header of %d bytes",
                       RPC_FRAME_BYTES);
    ret->method_number = (uint16_t)(p[4] << 8 | p[5]);
    flags = (unsigned)p[6] << 8 | p[7];
    peek_request_id(p + RPC_FRAME_BYTES, len - RPC_FRAME_BYTES, ret->request_id);
    if (p[2] != RPC_MAJOR)
        return err_set(err, ERR_INVALID,
                       "protocol %u.%u is not spoken here, only %d.x: use a "
                       "client of the server's version",
                       p[2], p[3], RPC_MAJOR);
    if (len > RPC_MESSAGE_MAX)
        return err_set(err, ERR_INVALID, "a message of %zu bytes, allowed are %d", len,
                       RPC_MESSAGE_MAX);
    if (flags != 0)
        return err_set(err, ERR_INVALID, "flags 0x%04x in a request, must be 0", flags);
    if (ret->method_number >= RPC_METHODS || !shapes[ret->method_number].message)
        return err_set(err, ERR_INVALID,
                       "method %u is not known to this server (protocol %d.%d); "
                       "it may be older than the client",
                       ret->method_number, RPC_MAJOR, RPC_MINOR);
    return 0;
}

int rpc_wire_decode(struct arena *scratch, const void *bytes, size_t len, struct rpc_request *ret,
                    struct err *err)
{
    const uint8_t *p = bytes;
    const struct shape *shape;
    ProtobufCMessage *m;

    *ret = (struct rpc_request){.job = "", .filter = {.tenant = "", .user = "", .array = ""}};
    if (read_frame(p, len, ret, err))
        return -1;
    shape = &shapes[ret->method_number];
    arena_reset(scratch);
    scratch->cap = RPC_UNPACK_BYTES_MAX;
    m = rpc_check(scratch, shape->message,
                  (struct rpc_bytes){p + RPC_FRAME_BYTES, len - RPC_FRAME_BYTES}, shape->is_strict,
                  err);
    if (!m)
        return -1;
    if (fill_header(ret, m, err) || shape->fill(ret, m, err))
        return -1;
    if (shape->needs_job && *ret->job == '\0')
        return err_set(err, ERR_INVALID, "job: missing from the request");
    ret->method = (enum rpc_method)ret->method_number;
    return 0;
}

void rpc_request_fini(struct rpc_request *r)
{
    if (r->method_number == RPC_SUBMIT)
        spec_destroy(r->u.submit.spec);
    if (r->method_number == RPC_ESTIMATE)
        spec_destroy(r->u.estimate.spec);
    arena_fini(&r->arena);
    *r = (struct rpc_request){.job = ""};
}

void rpc_frame_write(uint8_t frame[RPC_FRAME_BYTES], uint16_t method, uint16_t flags)
{
    frame[0] = 'Q';
    frame[1] = 'D';
    frame[2] = RPC_MAJOR;
    frame[3] = RPC_MINOR;
    frame[4] = (uint8_t)(method >> 8);
    frame[5] = (uint8_t)method;
    frame[6] = (uint8_t)(flags >> 8);
    frame[7] = (uint8_t)flags;
}
