/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_node.c - nodes in pages by name, with the jobs on them that the caller may see; topology;
 * draining. */
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_call.h"
#include "util/log.h"
#include "util/mem.h"

/* A page of nodes and the names of the jobs on each. */
struct page {
    const struct rpc_call *call;
    size_t first, n;   /* positions in by_name */
    uint32_t *slot_of; /* by node_ix: 1 + position in the page; 0 not in it */
    struct node_jobs {
        VEC(const char *) names;
        const struct job *last; /* a job is named once a node */
    } * jobs;
};

static void add_job(struct page *p, const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        uint32_t ix = j->members[i].node_ix;
        uint32_t slot = ix < p->call->state->cluster.nodes.n ? p->slot_of[ix] : 0;
        struct node_jobs *on = slot ? &p->jobs[slot - 1] : NULL;

        if (!on || on->last == j || j->members[i].phase > MEMBER_RUNNING)
            continue;
        *vec_push(&on->names) = j->name;
        on->last = j;
    }
}

static void page_init(struct page *p, struct rpc_call *c, size_t first)
{
    const struct cluster *cluster = &c->state->cluster;
    size_t left = cluster->by_name.n - first;

    *p = (struct page){.call = c, .first = first};
    p->n = left < c->req->u.nodes.limit ? left : c->req->u.nodes.limit;
    p->slot_of = xcalloc(cluster->nodes.n + 1, sizeof(*p->slot_of));
    p->jobs = xcalloc(p->n + 1, sizeof(*p->jobs));
    for (size_t i = 0; i < p->n; i++)
        p->slot_of[cluster->by_name.v[first + i]] = (uint32_t)i + 1;
    for (size_t i = 0; i < c->state->active.n; i++) {
        c->work += c->state->active.v[i]->n_members;
        if (rpc_auth_sees(c->who, c->state->active.v[i]->tenant))
            add_job(p, c->state->active.v[i]);
    }
}

static void page_fini(struct page *p)
{
    for (size_t i = 0; i < p->n; i++)
        vec_fini(&p->jobs[i].names);
    free(p->jobs);
    free(p->slot_of);
}

/* Position of the first node whose name is above `after`. */
static size_t first_after(const struct cluster *c, const char *after)
{
    size_t low = 0, high = c->by_name.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(cluster_node(c, c->by_name.v[mid])->name, after) > 0)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

int rpc_node_list(struct rpc_call *c, struct err *err)
{
    const struct cluster *cluster = &c->state->cluster;
    struct page p;

    (void)err;
    page_init(&p, c, first_after(cluster, c->req->u.nodes.after));
    for (size_t i = 0; i < p.n; i++)
        rpc_out_add_node(c->out, c->state, cluster_node(cluster, cluster->by_name.v[p.first + i]),
                         p.jobs[i].names.v, (uint32_t)p.jobs[i].names.n);
    rpc_out_nodes(c->out, &c->head, p.first + p.n < cluster->by_name.n);
    c->work += p.n;
    page_fini(&p);
    return 0;
}

int rpc_node_topology(struct rpc_call *c, struct err *err)
{
    (void)err;
    rpc_out_topology(c->out, &c->head, c->state);
    c->work += c->state->cluster.nodes.n + c->state->cluster.topology.domains.n;
    return 0;
}

int rpc_node_drain(struct rpc_call *c, struct err *err)
{
    struct rpc_pending p = rpc_job_pending(c);
    struct event ev = {.kind = EV_NODE_DRAIN};
    struct ev_drain *drain = &ev.u.drain;

    drain->caller = c->who->caller;
    drain->is_back = c->req->method == RPC_UNDRAIN;
    drain->node = xstrdup(c->req->u.drain.node);
    if (*c->req->u.drain.reason)
        drain->why = xstrdup(c->req->u.drain.reason);
    if (rpc_job_post(c, &ev, &drain->ref, &p, err)) {
        event_fini(&ev);
        return -1;
    }
    log_info(drain->is_back ? "a node is to be given back" : "a node is to be drained",
             "node=%s user=%s reason=\"%s\"", c->req->u.drain.node, c->who->caller.user,
             c->req->u.drain.reason);
    return 0;
}
