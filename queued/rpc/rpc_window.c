/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_window.c - reservations of operators: made, cancelled, listed. Which nodes a domain or labels
 * mean is settled here, once: nodes that come later are not reserved.
 */
#include <stdlib.h>
#include <string.h>

#include "core/window.h"
#include "rpc/rpc_call.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_spec.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"
#include "view/explain.h"

static bool is_in_domain(const struct state *s, const struct node *n, const char *path)
{
    for (uint32_t h = 0; h < s->settings->n_hierarchies; h++)
        for (uint32_t ix = n->domain[h]; ix != IX_NONE;
             ix = s->cluster.topology.domains.v[ix]->parent)
            if (strcmp(s->cluster.topology.domains.v[ix]->path, path) == 0)
                return true;
    return false;
}

static bool is_meant(const struct rpc_call *c, const struct node *n)
{
    const struct spec_pairs *labels = &c->req->u.window.labels;

    if (*c->req->u.window.domain && !is_in_domain(c->state, n, c->req->u.window.domain))
        return false;
    for (size_t i = 0; i < labels->n; i++) {
        const char *value = node_label(n, labels->v[i].key);

        if (!value || strcmp(value, labels->v[i].value) != 0)
            return false;
    }
    return labels->n || *c->req->u.window.domain;
}

/* Names of the nodes, each ended by '\n', and their indices; those that are not known have none. */
static void find_nodes(struct rpc_call *c, struct ev_window *w)
{
    const struct cluster *cluster = &c->state->cluster;
    uint64_t *seen = xcalloc(cluster->nodes.n / 64 + 1, sizeof(*seen));
    struct str names = {0};

    for (uint32_t i = 0; i < c->req->u.window.n_nodes; i++) {
        const struct node *n = cluster_find(cluster, c->req->u.window.nodes[i]);

        if (n && window_has(seen, n->ix))
            continue; /* named twice */
        str_addf(&names, "%s\n", c->req->u.window.nodes[i]);
        if (!n)
            continue; /* window_check() refuses it */
        seen[n->ix / 64] |= UINT64_C(1) << n->ix % 64;
        *vec_push(&w->window.nodes) = n->ix;
    }
    free(seen);
    for (size_t i = 0; i < cluster->by_name.n && names.len == 0; i++) {
        const struct node *n = cluster_node(cluster, cluster->by_name.v[i]);

        if (is_meant(c, n))
            *vec_push(&w->window.nodes) = n->ix;
    }
    for (size_t i = 0; i < w->window.nodes.n && c->req->u.window.n_nodes == 0; i++)
        str_addf(&names, "%s\n", cluster_node(cluster, w->window.nodes.v[i])->name);
    c->work += cluster->by_name.n;
    w->nodes = names.len ? str_take(&names) : xstrdup("");
}

static int fill(struct rpc_call *c, struct ev_window *w, struct err *err)
{
    w->caller = c->who->caller;
    w->is_over = c->req->method == RPC_UNRESERVE;
    (void)str_copy(w->window.name, sizeof(w->window.name), c->req->u.window.name);
    if (w->is_over)
        return 0;
    (void)str_copy(w->window.tenant, sizeof(w->window.tenant), c->req->u.window.tenant);
    w->window.from = c->req->u.window.from;
    w->window.to = c->req->u.window.to;
    w->window.tenant_ix = settings_tenant(c->state->settings, w->window.tenant);
    if (*c->req->u.window.reason)
        w->why = xstrdup(c->req->u.window.reason);
    find_nodes(c, w);
    if (w->nodes[0] == '\0')
        return err_set(err, ERR_NOT_FOUND,
                       "no node is meant: name nodes, a domain as 'queuectl topology' writes its "
                       "path, or labels that some node has");
    w->warning = window_warning(c->state, &w->window);
    vec_fini(&w->window.nodes);
    return 0;
}

/* What would be answered; nothing is stored. */
static int try_it(struct rpc_call *c, const struct ev_window *w, struct err *err)
{
    if (window_check(c->state, w, err))
        return -1;
    c->head.text = w->warning ? w->warning : "";
    rpc_out_change(c->out, c->req->method, &c->head, NULL);
    return 0;
}

int rpc_window_change(struct rpc_call *c, struct err *err)
{
    struct rpc_pending p = rpc_job_pending(c);
    struct event ev = {.kind = EV_WINDOW, .u.window = xcalloc(1, sizeof(struct ev_window))};
    int rc = fill(c, ev.u.window, err);
    bool is_posted = false;

    if (rc == 0 && c->req->u.window.is_dry_run) {
        rc = try_it(c, ev.u.window, err);
    } else if (rc == 0) {
        rc = rpc_job_post(c, &ev, &ev.u.window->ref, &p, err);
        is_posted = rc == 0;
    }
    if (is_posted)
        log_info(c->req->method == RPC_RESERVE ? "nodes are to be reserved"
                                               : "a reservation is to be cancelled",
                 "name=%s user=%s", c->req->u.window.name, c->who->caller.user);
    else
        event_fini(&ev);
    return rc;
}

static Queued__V1__Reservation *make_message(struct rpc_call *c, const struct window *w)
{
    struct arena *a = &c->out->arena;
    const struct state *s = c->state;
    Queued__V1__Reservation *m = arena_alloc(a, sizeof(*m));

    queued__v1__reservation__init(m);
    m->name = rpc_text(w->name);
    m->tenant = *w->tenant ? rpc_text(w->tenant) : NULL;
    m->has_from_us = m->has_to_us = m->has_made_us = true;
    m->from_us = (uint64_t)w->from;
    m->to_us = (uint64_t)w->to;
    m->made_us = (uint64_t)w->made_at;
    m->text = rpc_text(w->text);
    m->nodes = arena_alloc(a, w->nodes.n * sizeof(*m->nodes));
    for (size_t i = 0; i < w->nodes.n; i++)
        m->nodes[m->n_nodes++] = rpc_text(cluster_node(&s->cluster, w->nodes.v[i])->name);
    m->jobs = arena_alloc(a, s->active.n * sizeof(*m->jobs));
    for (size_t i = 0; i < s->active.n; i++)
        if (window_is_overlapped(s, w, s->active.v[i]) &&
            rpc_auth_sees(c->who, s->active.v[i]->tenant))
            m->jobs[m->n_jobs++] = rpc_text(s->active.v[i]->name);
    return m;
}

int rpc_window_list(struct rpc_call *c, struct err *err)
{
    Queued__V1__ReservationsReply m = QUEUED__V1__RESERVATIONS_REPLY__INIT;
    const struct windows *all = c->state->windows;

    (void)err;
    m.header = rpc_message_head(c->out, &c->head);
    m.reservations = arena_alloc(&c->out->arena, all->v.n * sizeof(*m.reservations));
    for (size_t i = 0; i < all->v.n; i++) {
        const struct window *w = all->v.v[i];

        c->work += w->nodes.n / 16 + c->state->active.n;
        if (w->to > c->now && (!*w->tenant || rpc_auth_sees(c->who, w->tenant)))
            m.reservations[m.n_reservations++] = make_message(c, w);
    }
    rpc_message_close(c->out, RPC_RESERVATIONS, &m.base);
    return 0;
}
