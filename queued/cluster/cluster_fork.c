/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_fork.c - a copy of a cluster to plan on.
 *
 * What holds and releases change is copied, in four blocks: nodes, domains, histograms, free GPUs.
 * What only facts about nodes change (names, labels, lists, constraints) is the original's. No node
 * of a fork is ever forgotten: each counts as named once more than in the original. Both keep a log
 * of the nodes that change, by which the fork catches up.
 */
#include "cluster/cluster.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct fork {
    struct cluster cluster; /* first: what the caller has */
    VEC(struct node) nodes;
    VEC(struct domain) domains;
    VEC(struct free_histogram) histograms;
    VEC(uint8_t) free_of;
    VEC(uint64_t) domain_free;
    const struct cluster *origin; /* of the last copy */
    uint64_t seen, own;  /* its `changed`, and the fork's own, that are undone or followed */
    VEC(uint64_t) marks; /* by node_ix: in `again` */
    VEC(uint32_t) again;
};

/* Sum of the tables that there are, or with `to` also copied there. */
static size_t copy_tables(struct free_histogram *by_model[MODELS_MAX], struct free_histogram *to)
{
    size_t n = 0;

    for (int m = 0; m < MODELS_MAX; m++) {
        if (!by_model[m])
            continue;
        if (to) {
            to[n] = *by_model[m];
            by_model[m] = &to[n];
        }
        n++;
    }
    return n;
}

static size_t count_tables(const struct cluster *c)
{
    struct topology t = c->topology;
    size_t n = copy_tables(t.all, NULL);

    for (size_t i = 0; i < t.domains.n; i++)
        if (t.domains.v[i])
            n += copy_tables(t.domains.v[i]->by_model, NULL);
    return n;
}

/* All that holds and releases change of the nodes. */
static void copy_used(struct fork *f, const struct cluster *c)
{
    for (size_t i = 0; i < c->nodes.n; i++) {
        const struct node *from = c->nodes.v[i];
        struct node *to = &f->nodes.v[i];

        if (!from)
            continue;
        memcpy(to->used.amount, from->used.amount, c->names.n * sizeof(to->used.amount[0]));
        to->is_usable = from->is_usable;
        to->is_counted = from->is_counted;
        to->counted_free = from->counted_free;
        to->n_gangs = from->n_gangs;
    }
}

static void copy_nodes(struct fork *f, const struct cluster *c)
{
    struct node **v = f->cluster.nodes.v;

    vec_reserve(&f->nodes, c->nodes.n);
    for (size_t i = 0; i < c->nodes.n; i++) {
        v[i] = NULL;
        if (!c->nodes.v[i])
            continue;
        v[i] = &f->nodes.v[i];
        *v[i] = *c->nodes.v[i];
        v[i]->n_named++;
    }
}

static void copy_domains(struct fork *f, const struct cluster *c)
{
    const struct domain *const *from = (const struct domain *const *)c->topology.domains.v;
    struct topology *t = &f->cluster.topology;
    size_t at;

    vec_reserve(&f->domains, c->topology.domains.n);
    vec_reserve(&f->histograms, count_tables(c) + 1);
    at = copy_tables(t->all, f->histograms.v);
    for (size_t i = 0; i < c->topology.domains.n; i++) {
        t->domains.v[i] = NULL;
        if (!from[i])
            continue;
        t->domains.v[i] = &f->domains.v[i];
        f->domains.v[i] = *from[i];
        at += copy_tables(f->domains.v[i].by_model, &f->histograms.v[at]);
    }
}

/* List the nodes of the log that changed since; false: it does not reach back so far, or too many
 * for this to be worth it. */
static bool list_changed(struct fork *f, const struct cluster *c, uint64_t since)
{
    uint64_t n = c->changed - since;

    if (n > CHANGED_LOG || n > 64 + c->nodes.n / 4)
        return false;
    for (uint64_t i = since; i < c->changed; i++) {
        uint32_t ix = c->changed_log[i % CHANGED_LOG];
        uint64_t *word = &f->marks.v[ix / 64], bit = UINT64_C(1) << ix % 64;

        if (!(*word & bit))
            *vec_push(&f->again) = ix;
        *word |= bit;
    }
    return true;
}

static void unmark(struct fork *f)
{
    for (size_t i = 0; i < f->again.n; i++)
        f->marks.v[f->again.v[i] / 64] = 0;
}

/* Of the same cluster with the same nodes? Then what changed is in the logs. */
static bool is_near(const struct fork *f, const struct cluster *c)
{
    return f->origin == c && f->cluster.list_gen == c->list_gen;
}

static void follow_node(struct cluster *fork, const struct cluster *c, uint32_t ix)
{
    const struct node *from = c->nodes.v[ix];
    struct node *n = fork->nodes.v[ix];

    if (!from || !n)
        return;
    if (n->is_counted)
        topology_count(&fork->topology, n, n->counted_free, -1);
    *n = *from;
    n->n_named++;
    if (n->is_counted)
        topology_count(&fork->topology, n, n->counted_free, 1);
    cluster_set_free(fork, ix, c->free_of.v[ix]);
}

/* The nodes listed, and what is not of one node. */
static void follow(struct fork *f, const struct cluster *c)
{
    struct cluster *fork = &f->cluster;

    for (size_t i = 0; i < f->again.n; i++)
        follow_node(fork, c, f->again.v[i]);
    if (fork->names.n != c->names.n)
        fork->names = c->names;
    memcpy(fork->model_gpus, c->model_gpus, sizeof(fork->model_gpus));
    memcpy(fork->freed_gen, c->freed_gen, sizeof(fork->freed_gen));
    memcpy(fork->freed_log, c->freed_log, sizeof(fork->freed_log));
    fork->freed_any = c->freed_any;
    fork->taken_any = c->taken_any;
    fork->shape_gen = c->shape_gen;
    fork->fact_gen = c->fact_gen;
    fork->most_gpus = c->most_gpus;
    fork->node_by_name = c->node_by_name;
    fork->pods = c->pods;
    fork->drains = c->drains;
    fork->constraints = c->constraints;
    f->seen = c->changed;
}

/* Undo what the fork did, and follow. */
static bool catch_up(struct fork *f, const struct cluster *c)
{
    bool suffices;

    f->again.n = 0;
    if (!is_near(f, c))
        return false;
    suffices = list_changed(f, c, f->seen) && list_changed(f, &f->cluster, f->own);
    unmark(f);
    if (!suffices)
        return false;
    follow(f, c);
    f->own = f->cluster.changed;
    return true;
}

static void copy_all(struct fork *f, const struct cluster *c)
{
    struct cluster *fork = &f->cluster;
    struct cluster own = *fork; /* its two tables of pointers live on */
    bool is_told = f->origin == c && fork->fact_gen == c->fact_gen &&
                   fork->list_gen == c->list_gen && fork->names.n == c->names.n;

    vec_reserve(&own.nodes, c->nodes.n);
    vec_reserve(&own.topology.domains, c->topology.domains.n);
    *fork = *c;
    fork->nodes.v = own.nodes.v;
    fork->nodes.room = own.nodes.room;
    fork->topology.domains.v = own.topology.domains.v;
    fork->topology.domains.room = own.topology.domains.room;
    fork->topology.nodes = (struct node *const *const *)&fork->nodes.v;
    if (is_told)
        copy_used(f, c);
    else
        copy_nodes(f, c);
    copy_domains(f, c);
    vec_reserve(&f->free_of, c->free_of.n + 1);
    vec_reserve(&f->domain_free, c->topology.free_of.n + 1);
    fork->free_of.v = f->free_of.v;
    fork->topology.free_of.v = f->domain_free.v;
    if (c->free_of.n)
        memcpy(f->free_of.v, c->free_of.v, c->free_of.n);
    for (size_t i = 0; i < c->topology.free_of.n; i++)
        f->domain_free.v[i] = c->topology.free_of.v[i];
    f->origin = c;
    f->seen = f->own = c->changed;
    while (f->marks.n <= c->nodes.n / 64)
        *vec_push(&f->marks) = 0;
}

struct cluster *cluster_fork(const struct cluster *c)
{
    struct fork *f = xcalloc(1, sizeof(*f));

    copy_all(f, c);
    return &f->cluster;
}

void cluster_fork_copy(struct cluster *fork, const struct cluster *c)
{
    struct fork *f = (struct fork *)fork;

    assert(fork != c);
    if (!catch_up(f, c))
        copy_all(f, c);
}

void cluster_fork_free(struct cluster *fork)
{
    struct fork *f = (struct fork *)fork;

    if (!f)
        return;
    vec_fini(&f->nodes);
    vec_fini(&f->domains);
    vec_fini(&f->histograms);
    vec_fini(&f->free_of);
    vec_fini(&f->domain_free);
    vec_fini(&f->marks);
    vec_fini(&f->again);
    vec_fini(&fork->nodes);
    vec_fini(&fork->topology.domains);
    free(f);
}
