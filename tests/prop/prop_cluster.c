/* SPDX-License-Identifier: Apache-2.0 */
/* prop_cluster.c - used amounts and histograms against a recount after every random step, of the
 * cluster and of a fork that follows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"

#include "../fake/fake_site.h"
#include "../sim/rng.h"

enum { SEEDS = 60, STEPS = 400, NODES = 8, PODS = 12, HOLDS = 32 };

/* The ten-line model: what is on each node by name. */
struct model {
    struct rng rng;
    struct settings settings;
    struct cluster cluster;
    int64_t pod_gpus[PODS];
    int pod_node[PODS]; /* -1 none */
    int64_t hold_gpus[HOLDS];
    int hold_node[HOLDS];
    uint32_t hold_ix[HOLDS];
    int n_holds;
};

static const char *node_name(char buf[8], int node)
{
    (void)snprintf(buf, 8, "n%d", node);
    return buf;
}

static void see_node(struct model *m, int node)
{
    static const char *const blocks[] = {"b0", "b1", NULL};
    static const char *const racks[] = {"r0", "r1", NULL};
    static const uint32_t models[] = {SITE_H100, SITE_H100, SITE_H200, MODELS_MAX};
    char name[8];
    struct node_fact *f = site_node(node_name(name, node), blocks[rng_below(&m->rng, 3)],
                                    racks[rng_below(&m->rng, 3)], models[rng_below(&m->rng, 4)], 8);

    if (rng_one_in(&m->rng, 3))
        site_node_set(f, "nvidia.com/gpu", rng_between(&m->rng, 0, 12));
    f->is_ready = !rng_one_in(&m->rng, 4);
    (void)cluster_node_seen(&m->cluster, f);
}

static void see_pod(struct model *m, int pod)
{
    int node = (int)rng_below(&m->rng, NODES + 2); /* some on nodes that were never seen */
    int64_t gpus = rng_between(&m->rng, 0, 4);
    char name[8], pod_name[8];
    struct pod_fact *p;

    (void)snprintf(pod_name, sizeof(pod_name), "p%d", pod);
    p = site_pod(pod_name, node_name(name, node), gpus);
    if (rng_one_in(&m->rng, 5))
        p->phase = POD_SUCCEEDED;
    cluster_pod_seen(&m->cluster, p);
    m->pod_node[pod] = p->phase == POD_SUCCEEDED ? -1 : node;
    m->pod_gpus[pod] = gpus;
    pod_fact_destroy(p);
}

static void lose_pod(struct model *m, int pod)
{
    char name[8], uid[16];

    (void)snprintf(name, sizeof(name), "p%d", pod);
    (void)snprintf(uid, sizeof(uid), "uid-p%d", pod);
    cluster_pod_gone(&m->cluster, "other", name, uid);
    m->pod_node[pod] = -1;
}

static void hold(struct model *m)
{
    char name[8];
    int node = (int)rng_below(&m->rng, NODES);
    uint32_t ix = cluster_node_named(&m->cluster, node_name(name, node));
    struct resources r = {.amount = {[RES_GPUS] = rng_between(&m->rng, 0, 3)}};

    m->hold_node[m->n_holds] = node;
    m->hold_ix[m->n_holds] = ix;
    m->hold_gpus[m->n_holds++] = r.amount[RES_GPUS];
    cluster_hold(&m->cluster, ix, &r);
}

static void release(struct model *m)
{
    int i = (int)rng_below(&m->rng, (uint32_t)m->n_holds);
    struct resources r = {.amount = {[RES_GPUS] = m->hold_gpus[i]}};

    cluster_release(&m->cluster, m->hold_ix[i], &r);
    m->n_holds--;
    m->hold_gpus[i] = m->hold_gpus[m->n_holds];
    m->hold_node[i] = m->hold_node[m->n_holds];
    m->hold_ix[i] = m->hold_ix[m->n_holds];
}

static void step(struct model *m)
{
    char name[8];

    switch (rng_below(&m->rng, 6)) {
    case 0:
        see_node(m, (int)rng_below(&m->rng, NODES));
        break;
    case 1:
        if (rng_one_in(&m->rng, 3))
            cluster_node_gone(&m->cluster, node_name(name, (int)rng_below(&m->rng, NODES)));
        break;
    case 2:
        see_pod(m, (int)rng_below(&m->rng, PODS));
        break;
    case 3:
        lose_pod(m, (int)rng_below(&m->rng, PODS));
        break;
    case 4:
        if (m->n_holds < HOLDS)
            hold(m);
        break;
    default:
        if (m->n_holds > 0)
            release(m);
    }
}

static int64_t used_of(const struct model *m, int node)
{
    int64_t sum = 0;

    for (int i = 0; i < PODS; i++)
        sum += m->pod_node[i] == node ? m->pod_gpus[i] : 0;
    for (int i = 0; i < m->n_holds; i++)
        sum += m->hold_node[i] == node ? m->hold_gpus[i] : 0;
    return sum;
}

static bool is_inside(const struct topology *t, const struct node *n, const struct domain *d)
{
    for (uint32_t ix = n->domain[d->hierarchy]; ix != IX_NONE; ix = t->domains.v[ix]->parent)
        if (ix == d->ix)
            return true;
    return false;
}

/* The histogram of a domain (NULL: of all) for a model, from scratch. */
static void recount(const struct model *m, const struct domain *d, uint8_t model,
                    struct free_histogram *ret)
{
    *ret = (struct free_histogram){0};
    for (size_t i = 0; i < m->cluster.nodes.n; i++) {
        const struct node *n = m->cluster.nodes.v[i];

        if (!n || !n->is_usable || n->model != model ||
            (d && !is_inside(&m->cluster.topology, n, d)))
            continue;
        ret->nodes++;
        ret->free_gpus += (uint64_t)node_free_gpus(n);
        ret->count[node_free_gpus(n)]++;
    }
}

static bool agrees(const struct model *m, const struct domain *d,
                   struct free_histogram *const by_model[MODELS_MAX])
{
    static const struct free_histogram nothing;
    struct free_histogram want;

    for (uint8_t k = 0; k < MODELS_MAX; k++) {
        recount(m, d, k, &want);
        for (uint32_t f = 1; f <= NODE_GPUS_MAX; f++)
            want.most = want.count[f] ? f : want.most;
        if (memcmp(&want, by_model[k] ? by_model[k] : &nothing, sizeof(want)) != 0)
            return false;
    }
    return true;
}

static const char *check_used(const struct model *m)
{
    for (int i = 0; i < NODES + 2; i++) {
        char name[8];
        const struct node *n = cluster_find(&m->cluster, node_name(name, i));

        if ((n ? n->used.amount[RES_GPUS] : 0) != used_of(m, i))
            return "used GPUs of a node";
    }
    return NULL;
}

static const char *check_tables(const struct model *m)
{
    const struct topology *t = &m->cluster.topology;
    uint32_t n_free[NODE_GPUS_MAX + 1] = {0};

    if (!agrees(m, NULL, t->all))
        return "the histogram of the cluster";
    for (size_t i = 0; i < t->domains.n; i++)
        if (t->domains.v[i] && !agrees(m, t->domains.v[i], t->domains.v[i]->by_model))
            return "the histogram of a domain";
    for (size_t i = 0; i < t->domains.n; i++) {
        uint64_t sum = 0;

        for (int k = 0; t->domains.v[i] && k < MODELS_MAX; k++)
            sum += t->domains.v[i]->by_model[k] ? t->domains.v[i]->by_model[k]->free_gpus : 0;
        if (t->domains.v[i] && sum != t->free_of.v[i])
            return "the free GPUs of a domain";
    }
    for (size_t i = 0; i < m->cluster.by_name.n; i++) {
        const struct node *n = m->cluster.nodes.v[m->cluster.by_name.v[i]];

        if (n->rank != i)
            return "the order of names";
    }
    for (size_t i = 0; i < m->cluster.nodes.n; i++) {
        const struct node *n = m->cluster.nodes.v[i];

        if (m->cluster.free_of.v[i] != (n && n->is_usable ? (uint8_t)node_free_gpus(n) : FREE_NONE))
            return "the free GPUs of a node";
        if (m->cluster.free_of.v[i] != FREE_NONE)
            n_free[m->cluster.free_of.v[i]]++;
    }
    if (memcmp(n_free, m->cluster.n_free, sizeof(n_free)) != 0)
        return "nodes by free GPUs";
    for (size_t i = 1; i < m->cluster.by_name.n; i++)
        if (strcmp(m->cluster.nodes.v[m->cluster.by_name.v[i - 1]]->name,
                   m->cluster.nodes.v[m->cluster.by_name.v[i]]->name) >= 0)
            return "the order of names";
    return NULL;
}

static void model_init(struct model *m, uint64_t seed)
{
    *m = (struct model){.rng = {seed}};
    for (int i = 0; i < PODS; i++)
        m->pod_node[i] = -1;
    site_settings_init(&m->settings);
    cluster_init(&m->cluster, &m->settings);
}

static void model_fini(struct model *m)
{
    cluster_fini(&m->cluster);
    site_settings_fini(&m->settings);
}

static void tables_equal_a_recount_after_every_step(void **state)
{
    static struct model m;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        model_init(&m, seed);
        for (int i = 0; i < STEPS; i++) {
            const char *broken;

            step(&m);
            broken = check_used(&m);
            broken = broken ? broken : check_tables(&m);
            if (broken)
                fail_msg("seed %llu step %d: %s", (unsigned long long)seed, i, broken);
        }
        model_fini(&m);
    }
}

/* Something that a plan does to its fork, and that it forgets when it catches up. */
static void hold_aside(struct cluster *fork, struct model *m)
{
    uint32_t ix = rng_below(&m->rng, (uint32_t)m->cluster.nodes.n);
    struct resources r = {.amount = {[RES_GPUS] = rng_between(&m->rng, 0, 3)}};

    if (cluster_node(fork, ix))
        cluster_hold(fork, ix, &r);
}

static const char *compare(const struct cluster *fork, const struct model *m)
{
    static struct model other;

    for (uint32_t ix = 0; ix < m->cluster.nodes.n; ix++) {
        const struct node *a = cluster_node(&m->cluster, ix), *b = cluster_node(fork, ix);

        if (!a != !b)
            return "a node is in one alone";
        if (a && (a->name != b->name || a->is_usable != b->is_usable ||
                  memcmp(&a->total, &b->total, sizeof(a->total)) != 0 ||
                  memcmp(&a->used, &b->used, sizeof(a->used)) != 0))
            return "a node of the fork";
    }
    other = *m;
    other.cluster = *fork;
    return check_tables(&other);
}

static void a_fork_that_catches_up_is_like_a_fresh_one(void **state)
{
    static struct model m;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct cluster *fork;

        model_init(&m, seed);
        see_node(&m, 0);
        fork = cluster_fork(&m.cluster);
        for (int i = 0; i < STEPS; i++) {
            const char *broken;

            for (uint32_t k = rng_below(&m.rng, 4); k > 0; k--)
                step(&m);
            cluster_fork_copy(fork, &m.cluster);
            broken = compare(fork, &m);
            if (broken)
                fail_msg("seed %llu step %d: %s", (unsigned long long)seed, i, broken);
            for (uint32_t k = rng_below(&m.rng, 4); k > 0; k--)
                hold_aside(fork, &m);
        }
        cluster_fork_free(fork);
        model_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_equal_a_recount_after_every_step),
        cmocka_unit_test(a_fork_that_catches_up_is_like_a_fresh_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
