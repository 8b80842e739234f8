/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_out_node.c - the messages about nodes, domains and tenants. */
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_message.h"
#include "rpc/rpc_spec.h"
#include "spec/mig.h"
#include "util/mem.h"

static int64_t amount_of(const struct resource_amount *v, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return v[i].amount;
    return 0;
}

static void fill_gpus(const struct node *n, Queued__V1__Node *m)
{
    const struct node_fact *f = n->fact;

    m->has_gpus_capacity = m->has_gpus_allocatable = m->has_gpus_expected = true;
    m->has_gpus_used = m->has_gpus_free = true;
    if (f) {
        m->gpus_capacity = amount_of(f->capacity, f->n_capacity, "nvidia.com/gpu");
        m->gpus_allocatable = amount_of(f->allocatable, f->n_allocatable, "nvidia.com/gpu");
    }
    m->gpus_expected = n->expected_gpus;
    m->gpus_used = n->used.amount[RES_GPUS];
    m->gpus_free = node_free_gpus(n);
}

static void fill_mig(struct arena *a, const struct state *s, const struct node *n,
                     Queued__V1__Node *m)
{
    const struct resource_names *names = &s->cluster.names;
    const struct node_fact *f = n->fact;

    m->mig = arena_alloc(a, names->n * sizeof(*m->mig));
    for (uint32_t i = RES_EXTENDED; i < names->n && f; i++) {
        int64_t amount = amount_of(f->allocatable, f->n_allocatable, names->name[i]);
        Queued__V1__Device *d;

        if (!mig_is(names->name[i]) || (!amount && !n->used.amount[i]))
            continue;
        d = arena_alloc(a, sizeof(*d));
        queued__v1__device__init(d);
        d->resource = rpc_text(names->name[i]);
        d->has_allocatable = d->has_used = true;
        d->allocatable = amount;
        d->used = n->used.amount[i];
        m->mig[m->n_mig++] = d;
    }
}

static void fill_taints(struct arena *a, const struct node_fact *f, Queued__V1__Node *m)
{
    m->taints = arena_alloc(a, f->n_taints * sizeof(*m->taints));
    for (uint32_t i = 0; i < f->n_taints; i++) {
        const struct node_taint *t = &f->taints[i];
        bool has_value = t->value && *t->value;
        char *text = xasprintf("%s%s%s:%s", t->key, has_value ? "=" : "", has_value ? t->value : "",
                               t->effect);

        m->taints[m->n_taints++] = arena_strdup(a, text);
        free(text);
    }
}

static void fill_domains(struct arena *a, const struct state *s, const struct node *n,
                         Queued__V1__Node *m)
{
    m->domains = arena_alloc(a, HIERARCHIES_MAX * sizeof(*m->domains));
    for (uint32_t h = 0; h < s->settings->n_hierarchies; h++)
        if (n->domain[h] != IX_NONE)
            m->domains[m->n_domains++] =
                rpc_text(s->cluster.topology.domains.v[n->domain[h]]->path);
}

void rpc_out_add_node(struct rpc_out *o, const struct state *s, const struct node *n,
                      const char *const *jobs, uint32_t n_jobs)
{
    Queued__V1__Node *m = arena_alloc(&o->arena, sizeof(*m));
    const char *trouble = node_trouble(n);

    queued__v1__node__init(m);
    m->name = rpc_text(n->name);
    m->model =
        n->model < s->settings->n_models ? rpc_text(s->settings->models[n->model].name) : NULL;
    fill_gpus(n, m);
    fill_mig(&o->arena, s, n, m);
    m->has_usable = m->has_pods = m->has_known = true;
    m->usable = n->is_usable;
    m->trouble = rpc_text(trouble);
    m->pool = n->pool == IX_NONE ? NULL : rpc_text(s->settings->pools[n->pool].name);
    m->pods = n->n_gangs + n->n_pods;
    m->known = n->is_known;
    if (n->drain) {
        m->drained = rpc_text(n->drain->text);
        m->has_drained_us = true;
        m->drained_us = (uint64_t)n->drain->since;
    }
    m->has_cpu_milli = m->has_cpu_milli_used = true;
    m->cpu_milli = n->total.amount[RES_CPU];
    m->cpu_milli_used = n->used.amount[RES_CPU];
    m->has_memory_bytes = m->has_memory_bytes_used = true;
    m->memory_bytes = n->total.amount[RES_MEMORY];
    m->memory_bytes_used = n->used.amount[RES_MEMORY];
    fill_domains(&o->arena, s, n, m);
    if (n->fact)
        fill_taints(&o->arena, n->fact, m);
    m->n_jobs = n_jobs;
    m->jobs = arena_alloc(&o->arena, n_jobs * sizeof(*m->jobs));
    for (uint32_t i = 0; i < n_jobs; i++)
        m->jobs[i] = rpc_text(jobs[i]);
    rpc_message_add(o, &m->base);
}

void rpc_out_nodes(struct rpc_out *o, const struct rpc_head *h, bool more)
{
    Queued__V1__NodesReply m = QUEUED__V1__NODES_REPLY__INIT;

    m.header = rpc_message_head(o, h);
    m.n_nodes = o->items.n;
    m.nodes = (Queued__V1__Node **)o->items.v;
    m.has_more = true;
    m.more = more;
    rpc_message_close(o, RPC_NODES, &m.base);
}

/* GPUs of usable nodes by model: [0] of the whole cluster, [1 + i] of domain i. */
struct totals {
    uint64_t gpus[MODELS_MAX];
};

static void count_totals(const struct state *s, struct totals *t)
{
    const struct topology *topology = &s->cluster.topology;

    for (size_t i = 0; i < s->cluster.nodes.n; i++) {
        const struct node *n = s->cluster.nodes.v[i];

        if (!n || !n->is_usable || n->model >= s->settings->n_models)
            continue;
        t[0].gpus[n->model] += (uint64_t)n->total.amount[RES_GPUS];
        for (uint32_t h = 0; h < s->settings->n_hierarchies; h++)
            for (uint32_t d = n->domain[h]; d != IX_NONE; d = topology->domains.v[d]->parent)
                t[1 + d].gpus[n->model] += (uint64_t)n->total.amount[RES_GPUS];
    }
}

/* One entry for each model that has a histogram. Returns how many. */
static size_t free_of(struct arena *a, const struct state *s, const struct totals *t,
                      struct free_histogram *const *by_model, Queued__V1__ModelFree ***ret)
{
    Queued__V1__ModelFree **v = arena_alloc(a, s->settings->n_models * sizeof(*v));
    size_t n = 0;

    for (uint32_t i = 0; i < s->settings->n_models; i++) {
        Queued__V1__ModelFree *m;

        if (!by_model[i] || (by_model[i]->nodes == 0 && t->gpus[i] == 0))
            continue;
        m = arena_alloc(a, sizeof(*m));
        queued__v1__model_free__init(m);
        m->model = rpc_text(s->settings->models[i].name);
        m->has_nodes = m->has_gpus = m->has_free = true;
        m->nodes = by_model[i]->nodes;
        m->gpus = t->gpus[i];
        m->free = by_model[i]->free_gpus;
        m->has_slots_1 = m->has_slots_2 = m->has_slots_4 = m->has_slots_8 = true;
        m->slots_1 = histogram_slots(by_model[i], 1);
        m->slots_2 = histogram_slots(by_model[i], 2);
        m->slots_4 = histogram_slots(by_model[i], 4);
        m->slots_8 = histogram_slots(by_model[i], 8);
        v[n++] = m;
    }
    *ret = v;
    return n;
}

static void add_domain(struct rpc_out *o, const struct state *s, const struct totals *t,
                       uint32_t ix)
{
    const struct domain *d = s->cluster.topology.domains.v[ix];
    const struct hierarchy_setting *h = &s->settings->hierarchies[d->hierarchy];
    Queued__V1__Domain *m = arena_alloc(&o->arena, sizeof(*m));

    queued__v1__domain__init(m);
    m->hierarchy = rpc_text(h->name);
    m->level = rpc_text(h->levels[d->level].name);
    m->path = rpc_text(d->path);
    m->has_depth = true;
    for (uint32_t p = d->parent; p != IX_NONE; p = s->cluster.topology.domains.v[p]->parent)
        m->depth++;
    m->n_models = free_of(&o->arena, s, &t[1 + ix], d->by_model, &m->models);
    rpc_message_add(o, &m->base);
}

/* A hierarchy depth first, siblings in path order, with a stack of our own. */
static void add_hierarchy(struct rpc_out *o, const struct state *s, const struct totals *t,
                          uint32_t h)
{
    const struct topology *topology = &s->cluster.topology;
    VEC(uint32_t) todo = {0};

    for (size_t i = topology->top[h].n; i > 0; i--)
        *vec_push(&todo) = topology->top[h].v[i - 1];
    while (todo.n > 0) {
        uint32_t ix = todo.v[--todo.n];
        const struct domain *d = topology->domains.v[ix];

        add_domain(o, s, t, ix);
        for (size_t i = d->children.n; i > 0; i--)
            *vec_push(&todo) = d->children.v[i - 1];
    }
    vec_fini(&todo);
}

struct pool_counts {
    struct totals totals;
    struct free_histogram *by_model[MODELS_MAX];
};

static void count_pools(const struct state *s, struct pool_counts *ret)
{
    for (size_t i = 0; i < s->cluster.nodes.n; i++) {
        const struct node *n = s->cluster.nodes.v[i];

        if (!n || !n->is_counted || n->pool == IX_NONE || n->model >= s->settings->n_models)
            continue;
        ret[n->pool].totals.gpus[n->model] += (uint64_t)n->total.amount[RES_GPUS];
        histogram_count(&ret[n->pool].by_model[n->model], n->counted_free, 1);
    }
}

/* Pools as one more hierarchy with one level. */
static void add_pools(struct rpc_out *o, const struct state *s)
{
    struct pool_counts *counts = xcalloc(s->settings->n_pools + 1, sizeof(*counts));

    count_pools(s, counts);
    for (uint32_t i = 0; i < s->settings->n_pools; i++) {
        const struct pool_setting *p = &s->settings->pools[i];
        Queued__V1__Domain *m = arena_alloc(&o->arena, sizeof(*m));

        queued__v1__domain__init(m);
        m->hierarchy = rpc_text("pool");
        m->level = rpc_text("pool");
        m->path = rpc_text(p->name);
        m->has_depth = true;
        m->n_models = free_of(&o->arena, s, &counts[i].totals, counts[i].by_model, &m->models);
        m->exclusive = arena_alloc(&o->arena, POOL_TENANTS_MAX * sizeof(*m->exclusive));
        for (; m->n_exclusive < p->n_exclusive; m->n_exclusive++)
            m->exclusive[m->n_exclusive] =
                rpc_text(s->settings->tenants[p->exclusive[m->n_exclusive]].path);
        rpc_message_add(o, &m->base);
        for (uint32_t k = 0; k < MODELS_MAX; k++)
            free(counts[i].by_model[k]);
    }
    free(counts);
}

void rpc_out_topology(struct rpc_out *o, const struct rpc_head *h, const struct state *s)
{
    Queued__V1__TopologyReply m = QUEUED__V1__TOPOLOGY_REPLY__INIT;
    struct totals *t = xcalloc(1 + s->cluster.topology.domains.n, sizeof(*t));

    count_totals(s, t);
    m.header = rpc_message_head(o, h);
    m.n_cluster = free_of(&o->arena, s, &t[0], s->cluster.topology.all, &m.cluster);
    for (uint32_t i = 0; i < s->settings->n_hierarchies; i++)
        add_hierarchy(o, s, t, i);
    add_pools(o, s);
    m.n_domains = o->items.n;
    m.domains = (Queued__V1__Domain **)o->items.v;
    rpc_message_close(o, RPC_TOPOLOGY, &m.base);
    free(t);
}
