/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_fork.c - a copy of a cluster to plan on.
 *
 * What holds and releases change is copied, in four blocks: nodes, domains, histograms, free GPUs.
 * What only facts about nodes change (names, labels, lists, constraints) is the original's. No node
 * of a fork is ever forgotten: each counts as named once more than in the original.
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
    VEC(uint8_t) free_by_name;
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

struct cluster *cluster_fork(const struct cluster *c)
{
    struct fork *f = xcalloc(1, sizeof(*f));

    cluster_fork_copy(&f->cluster, c);
    return &f->cluster;
}

void cluster_fork_copy(struct cluster *fork, const struct cluster *c)
{
    struct fork *f = (struct fork *)fork;
    struct cluster own = *fork; /* its two tables of pointers live on */

    assert(fork != c);
    vec_reserve(&own.nodes, c->nodes.n);
    vec_reserve(&own.topology.domains, c->topology.domains.n);
    *fork = *c;
    fork->nodes.v = own.nodes.v;
    fork->nodes.room = own.nodes.room;
    fork->topology.domains.v = own.topology.domains.v;
    fork->topology.domains.room = own.topology.domains.room;
    fork->topology.nodes = (struct node *const *const *)&fork->nodes.v;
    copy_nodes(f, c);
    copy_domains(f, c);
    vec_reserve(&f->free_by_name, c->by_name.n + 1);
    fork->free_by_name.v = f->free_by_name.v;
    if (c->by_name.n)
        memcpy(fork->free_by_name.v, c->free_by_name.v, c->by_name.n);
}

void cluster_fork_free(struct cluster *fork)
{
    struct fork *f = (struct fork *)fork;

    if (!f)
        return;
    vec_fini(&f->nodes);
    vec_fini(&f->domains);
    vec_fini(&f->histograms);
    vec_fini(&f->free_by_name);
    vec_fini(&fork->nodes);
    vec_fini(&fork->topology.domains);
    free(f);
}
