/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - nodes and counted pods; the one place where `used` and the histograms move.
 *
 * Every change of a node goes between count_out() and count_in(), or is recounted, so the
 * histograms follow.
 */
#include "cluster/cluster.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/gpus.h"
#include "spec/mig.h"
#include "util/str.h"

void cluster_init(struct cluster *c, const struct settings *settings)
{
    *c = (struct cluster){.settings = settings};
    resource_names_init(&c->names);
    topology_init(&c->topology, settings, (struct node *const *const *)&c->nodes.v);
}

static void node_destroy(struct node *n)
{
    node_fact_destroy(n->fact);
    free(n->name);
    free(n);
}

static void counted_pod_destroy(struct counted_pod *p)
{
    free(p->key);
    free(p);
}

static void drain_drop(struct cluster *c, struct drain *d)
{
    HASH_DELETE(hh, c->drains, d);
    free(d->node);
    free(d->text);
    free(d);
}

void cluster_fini(struct cluster *c)
{
    struct counted_pod *p, *next;

    HASH_ITER(hh, c->pods, p, next)
    {
        HASH_DELETE(hh, c->pods, p);
        counted_pod_destroy(p);
    }
    while (c->drains)
        drain_drop(c, c->drains);
    HASH_CLEAR(hh, c->node_by_name);
    topology_fini(&c->topology);
    for (size_t i = 0; i < c->nodes.n; i++)
        if (c->nodes.v[i])
            node_destroy(c->nodes.v[i]);
    vec_fini(&c->nodes);
    vec_fini(&c->free_slots);
    vec_fini(&c->by_name);
    vec_fini(&c->free_of);
    for (size_t i = 0; i < c->drivers.n; i++)
        free(c->drivers.v[i].version);
    vec_fini(&c->drivers);
    constraint_table_fini(&c->constraints);
}

struct node *cluster_node(const struct cluster *c, uint32_t ix)
{
    return ix < c->nodes.n ? c->nodes.v[ix] : NULL;
}

struct node *cluster_find(const struct cluster *c, const char *name)
{
    struct node *n = NULL;

    HASH_FIND_STR(c->node_by_name, name, n);
    return n;
}

static void log_changed(struct cluster *c, const struct node *n)
{
    c->changed_log[c->changed++ % CHANGED_LOG] = n->ix;
}

/* Every change of a node but of what is used begins here. */
static void count_out(struct cluster *c, struct node *n)
{
    log_changed(c, n);
    if (n->is_counted)
        topology_count(&c->topology, n, n->counted_free, -1);
    n->is_counted = false;
}

void cluster_set_free(struct cluster *c, uint32_t node_ix, uint8_t free_gpus)
{
    uint8_t *at = &c->free_of.v[node_ix];

    if (*at != FREE_NONE)
        c->n_free[*at]--;
    *at = free_gpus;
    if (free_gpus != FREE_NONE)
        c->n_free[free_gpus]++;
}

static void count_in(struct cluster *c, struct node *n)
{
    assert(!n->is_counted);
    cluster_set_free(c, n->ix, n->is_usable ? (uint8_t)node_free_gpus(n) : FREE_NONE);
    if (!n->is_usable || n->model >= MODELS_MAX)
        return;
    n->is_counted = true;
    n->counted_free = node_free_gpus(n);
    topology_count(&c->topology, n, n->counted_free, 1);
}

void cluster_fork_close(struct cluster *fork, uint32_t node_ix)
{
    struct node *n = fork->nodes.v[node_ix];

    count_out(fork, n);
    n->is_usable = false;
    cluster_set_free(fork, node_ix, FREE_NONE);
}

/* Capacity of this node may serve somebody now. */
static void wake_for(struct cluster *c, const struct node *n)
{
    c->freed_gen[n->model]++;
    c->freed_log[c->freed_any++ % FREED_LOG] = n->ix;
}

static struct node *node_create(struct cluster *c, const char *name)
{
    struct node *n = xcalloc(1, sizeof(*n));

    c->list_gen++;
    n->name = xstrdup(name);
    n->drain = cluster_drained(c, name);
    n->model = MODELS_MAX;
    n->pool = IX_NONE;
    for (int h = 0; h < HIERARCHIES_MAX; h++)
        n->domain[h] = IX_NONE;
    if (c->free_slots.n) {
        n->ix = c->free_slots.v[--c->free_slots.n];
    } else {
        n->ix = (uint32_t)c->nodes.n;
        (void)vec_push(&c->nodes);
        *vec_push(&c->free_of) = FREE_NONE;
    }
    c->nodes.v[n->ix] = n;
    HASH_ADD_KEYPTR(hh, c->node_by_name, n->name, strlen(n->name), n);
    return n;
}

uint32_t cluster_node_named(struct cluster *c, const char *name)
{
    struct node *n;

    if (!*name)
        return IX_NONE;
    n = cluster_find(c, name);
    return n ? n->ix : node_create(c, name)->ix;
}

/* An imaginary node with nothing on it is forgotten. */
static void forget_if_idle(struct cluster *c, struct node *n)
{
    if (n->is_known || n->n_gangs || n->n_pods || n->n_named)
        return;
    c->list_gen++;
    HASH_DELETE(hh, c->node_by_name, n);
    c->nodes.v[n->ix] = NULL;
    *vec_push(&c->free_slots) = n->ix;
    node_destroy(n);
}

static void set_total(struct cluster *c, struct node *n)
{
    n->total = (struct resources){0};
    for (uint32_t i = 0; i < n->fact->n_allocatable; i++) {
        int d = resource_index(&c->names, n->fact->allocatable[i].name, true);

        if (d >= 0) /* beyond the table: nothing of this node can be asked for by that name */
            n->total.amount[d] = n->fact->allocatable[i].amount;
    }
    n->total.amount[RES_ALONE] = WHOLE_NODE;
    gpus_share(n);
    n->expected_gpus = gpus_expected(n);
    if (n->total.amount[RES_GPUS] > n->expected_gpus)
        n->total.amount[RES_GPUS] = n->expected_gpus;
    if (n->total.amount[RES_GPUS] > NODE_GPUS_MAX)
        n->total.amount[RES_GPUS] = NODE_GPUS_MAX;
    if (c->most_gpus < n->total.amount[RES_GPUS])
        c->most_gpus = n->total.amount[RES_GPUS];
}

static void rank_from(struct cluster *c, size_t at)
{
    for (size_t i = at; i < c->by_name.n; i++)
        c->nodes.v[c->by_name.v[i]]->rank = (uint32_t)i;
}

static void list_by_name(struct cluster *c, const struct node *n)
{
    size_t lo = 0, hi = c->by_name.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (strcmp(c->nodes.v[c->by_name.v[mid]]->name, n->name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    (void)vec_push(&c->by_name);
    memmove(&c->by_name.v[lo + 1], &c->by_name.v[lo],
            (c->by_name.n - 1 - lo) * sizeof(c->by_name.v[0]));
    c->by_name.v[lo] = n->ix;
    rank_from(c, lo);
}

static void unlist_by_name(struct cluster *c, const struct node *n)
{
    vec_remove(&c->by_name, n->rank);
    rank_from(c, n->rank);
}

/* Its health may have changed: count it in again, wake who may use it now. */
static void judge(struct cluster *c, struct node *n)
{
    bool was_usable = n->is_usable;

    n->is_usable = node_trouble(n) == NULL;
    count_in(c, n);
    c->taken_any += was_usable && !n->is_usable;
    if (!n->is_usable || was_usable)
        return;    /* what else may help has moved shape_gen; most is heartbeat */
    c->list_gen++; /* its domains may have histograms that they did not have */
    wake_for(c, n);
}

const struct drain *cluster_drained(const struct cluster *c, const char *node)
{
    struct drain *d = NULL;

    HASH_FIND_STR(c->drains, node, d);
    return d;
}

void cluster_drain(struct cluster *c, const char *node, const char *text, usec_t since)
{
    struct node *n = cluster_find(c, node);
    struct drain *d = NULL;

    HASH_FIND_STR(c->drains, node, d);
    if (d)
        drain_drop(c, d);
    d = NULL;
    if (text) {
        d = xcalloc(1, sizeof(*d));
        *d = (struct drain){.node = xstrdup(node), .text = xstrdup(text), .since = since};
        HASH_ADD_KEYPTR(hh, c->drains, d->node, strlen(d->node), d);
    }
    if (!n)
        return;
    c->fact_gen++;
    count_out(c, n);
    n->drain = d;
    judge(c, n);
}

/* All of its GPUs, whole or cut up. No node has more MIG devices than this. */
static int64_t parts_of(const struct cluster *c, const struct node *n)
{
    const int64_t most = (int64_t)NODE_GPUS_MAX * 7;
    int64_t parts = n->total.amount[RES_GPUS] * GPU_PARTS;

    for (uint32_t i = RES_EXTENDED; i < c->names.n; i++) {
        int64_t devices = n->total.amount[i] < most ? n->total.amount[i] : most;

        if (c->names.slices[i])
            parts += devices * mig_parts(c->settings, n->model, c->names.slices[i]);
    }
    return parts;
}

/* In the counts of its model, or out (-1) of them. */
static void count_model(struct cluster *c, const struct node *n, int sign)
{
    if (n->model >= MODELS_MAX)
        return;
    c->model_gpus[n->model] += sign * n->total.amount[RES_GPUS];
    c->model_parts[n->model] += sign * parts_of(c, n);
    c->drivers.v[n->driver].nodes[n->model] += (uint32_t)sign;
}

/* What pods ask is not checked by anybody before they are bound: count no more than keeps every sum
 * on the node exact, so that it can be given back, and leave half of the range to gangs. */
static void cap_asks(const struct node *n, struct resources *asks)
{
    for (int i = 0; i < RESOURCES_MAX; i++) {
        int64_t room = RESOURCE_AMOUNT_MAX / 2 - n->used.amount[i];

        if (asks->amount[i] > room)
            asks->amount[i] = room > 0 ? room : 0;
    }
}

/* A share whose memory nobody said counts for its part of the GPU. */
static void count_shares(const struct node *n, struct resources *asks)
{
    int64_t each = n ? n->share_bytes : 0, shares = asks->amount[RES_SHARES];

    asks->amount[RES_GPU_BYTES] =
        each && shares > RESOURCE_AMOUNT_MAX / each ? RESOURCE_AMOUNT_MAX : shares * each;
}

/* What its shares count for has changed. */
static void recount_shares(struct cluster *c, struct node *n)
{
    struct counted_pod *p, *next;

    HASH_ITER(hh, c->pods, p, next)
    { /* NOLINT(clang-analyzer-core.NullDereference) */
        if (p->node_ix != n->ix || p->asks.amount[RES_SHARES] == 0)
            continue;
        n->used.amount[RES_GPU_BYTES] -= p->asks.amount[RES_GPU_BYTES];
        count_shares(n, &p->asks);
        cap_asks(n, &p->asks);
        n->used.amount[RES_GPU_BYTES] += p->asks.amount[RES_GPU_BYTES];
    }
}

struct node *cluster_node_seen(struct cluster *c, struct node_fact *fact)
{
    struct node *n = c->nodes.v ? cluster_find(c, fact->name) : NULL;
    bool moved, reshaped;
    struct node_marks marks;
    struct resources before;
    int64_t expected_before, share_before;

    if (!n)
        n = node_create(c, fact->name);
    if (n->fact && strcmp(n->fact->uid, fact->uid) != 0)
        n->expected_gpus = 0; /* another machine under this name */
    assert(n->fact || !n->is_known);
    moved = !n->is_known || !node_fact_same_labels(n->fact, fact);
    reshaped =
        moved || !node_fact_same_taints(n->fact, fact) || n->fact->bad_picks != fact->bad_picks;
    before = n->total;
    expected_before = n->expected_gpus;
    share_before = n->share_bytes;
    c->fact_gen++;
    count_out(c, n);
    count_model(c, n, -1);
    c->list_gen += moved;
    if (n->is_known && moved)
        topology_remove(&c->topology, n);
    node_fact_destroy(n->fact);
    n->fact = fact;
    n->bad_picks = fact->bad_picks;
    if (!n->is_known)
        list_by_name(c, n);
    n->is_known = true;
    if (moved) {
        n->is_shared_gpu = gpus_are_shared(n);
        n->model = n->is_shared_gpu ? MODELS_MAX : gpus_model(c->settings, n);
        marks = node_marks_of(n);
        n->pool = node_marks_pool(&marks, c->settings);
        n->driver = cluster_driver_of(c, n);
        topology_add(&c->topology, n);
    }
    set_total(c, n);
    if (n->share_bytes != share_before)
        recount_shares(c, n);
    if (reshaped)
        constraint_forget(&c->constraints, n->ix);
    if (reshaped || expected_before != n->expected_gpus ||
        memcmp(&before, &n->total, sizeof(before)) != 0)
        c->shape_gen++;
    count_model(c, n, 1);
    judge(c, n);
    return n;
}

void cluster_node_gone(struct cluster *c, const char *name)
{
    struct node *n = cluster_find(c, name);

    if (!n || !n->is_known)
        return;
    c->fact_gen++;
    c->list_gen++;
    count_out(c, n);
    count_model(c, n, -1);
    topology_remove(&c->topology, n);
    unlist_by_name(c, n);
    node_fact_destroy(n->fact);
    n->fact = NULL;
    n->is_known = n->is_usable = false;
    cluster_set_free(c, n->ix, FREE_NONE);
    n->total = (struct resources){0};
    n->model = MODELS_MAX;
    n->expected_gpus = 0;
    c->shape_gen++;
    forget_if_idle(c, n);
}

void cluster_reset(struct cluster *c, const struct settings *settings)
{
    c->settings = c->topology.settings = settings;
    for (size_t i = 0; i < c->by_name.n; i++) {
        struct node *n = c->nodes.v[c->by_name.v[i]];
        struct node_marks marks = node_marks_of(n);

        n->pool = node_marks_pool(&marks, settings);
        constraint_forget(&c->constraints, n->ix);
    }
    c->shape_gen++;
    c->fact_gen++;
    c->list_gen++;
}

/* What is used of it has changed, and nothing else. */
static void recount(struct cluster *c, struct node *n)
{
    int64_t free_gpus = node_free_gpus(n);

    log_changed(c, n);
    if (n->is_usable)
        cluster_set_free(c, n->ix, (uint8_t)free_gpus);
    if (!n->is_counted)
        return;
    topology_recount(&c->topology, n, n->counted_free, free_gpus);
    n->counted_free = free_gpus;
}

static void take(struct cluster *c, struct node *n, const struct resources *asks)
{
    resources_add(&n->used, asks);
    recount(c, n);
    c->taken_any++;
}

static void give(struct cluster *c, struct node *n, const struct resources *asks)
{
    bool is_exact = resources_sub(&n->used, asks);

    assert(is_exact);
    recount(c, n);
    wake_for(c, n);
}

void cluster_hold(struct cluster *c, uint32_t node_ix, const struct resources *asks)
{
    struct node *n = cluster_node(c, node_ix);

    assert(n);
    n->n_gangs++;
    take(c, n, asks);
}

void cluster_release(struct cluster *c, uint32_t node_ix, const struct resources *asks)
{
    struct node *n = cluster_node(c, node_ix);

    assert(n && n->n_gangs > 0);
    n->n_gangs--;
    give(c, n, asks);
    forget_if_idle(c, n);
}

void cluster_name(struct cluster *c, uint32_t node_ix)
{
    cluster_node(c, node_ix)->n_named++;
}

void cluster_unname(struct cluster *c, uint32_t node_ix)
{
    struct node *n = cluster_node(c, node_ix);

    assert(n && n->n_named > 0);
    n->n_named--;
    forget_if_idle(c, n);
}

static const char *pod_key(char *buf, size_t size, const char *ns, const char *name)
{
    (void)str_join(buf, size, ns, '/', name); /* both are bounded by their fields */
    return buf;
}

enum { POD_KEY = LABEL_MAX + 1 + NODE_NAME_MAX + 1 };

static void uncount(struct cluster *c, struct counted_pod *p)
{
    struct node *n = cluster_node(c, p->node_ix);

    HASH_DELETE(hh, c->pods, p);
    n->n_pods--;
    give(c, n, &p->asks);
    forget_if_idle(c, n);
    counted_pod_destroy(p);
}

static void pod_asks(struct cluster *c, const struct pod_fact *pod, struct resources *ret)
{
    *ret = (struct resources){.amount = {[RES_PODS] = 1, [RES_ALONE] = !pod->is_daemon}};
    for (uint32_t i = 0; i < pod->n_requests; i++) {
        int d = resource_index(&c->names, pod->requests[i].name, true);

        if (d >= 0 && d != RES_PODS && d != RES_ALONE)
            ret->amount[d] = pod->requests[i].amount;
    }
    count_shares(cluster_find(c, pod->node), ret);
}

void cluster_pod_seen(struct cluster *c, const struct pod_fact *pod)
{
    bool holds = pod->node[0] && pod->phase != POD_SUCCEEDED && pod->phase != POD_FAILED;
    struct counted_pod *p = NULL;
    struct resources asks;
    char key[POD_KEY];

    HASH_FIND_STR(c->pods, pod_key(key, sizeof(key), pod->ns, pod->name), p);
    pod_asks(c, pod, &asks);
    if (p && holds && strcmp(cluster_node(c, p->node_ix)->name, pod->node) == 0 &&
        memcmp(&p->asks, &asks, sizeof(asks)) == 0) {
        memcpy(p->uid, pod->uid, sizeof(p->uid));
        return;
    }
    if (p)
        uncount(c, p);
    if (!holds)
        return;
    cluster_pod_left(c, key, pod->uid, cluster_node_named(c, pod->node), &asks);
}

void cluster_pod_left(struct cluster *c, const char *key, const char *uid, uint32_t node_ix,
                      const struct resources *asks)
{
    struct counted_pod *p = NULL;

    HASH_FIND_STR(c->pods, key, p);
    if (p)
        return; /* counted already */
    p = xcalloc(1, sizeof(*p));
    p->key = xstrdup(key);
    (void)str_copy(p->uid, sizeof(p->uid), uid); /* bounded by UID_MAX */
    p->node_ix = node_ix;
    p->asks = *asks;
    cap_asks(c->nodes.v[node_ix], &p->asks);
    HASH_ADD_KEYPTR(hh, c->pods, p->key, strlen(p->key), p);
    c->nodes.v[node_ix]->n_pods++;
    take(c, c->nodes.v[node_ix], &p->asks);
}

void cluster_pod_ends(struct cluster *fork, const struct cluster *c, const char *key)
{
    struct counted_pod *p = NULL;

    HASH_FIND_STR(c->pods, key, p);
    if (p)
        give(fork, cluster_node(fork, p->node_ix), &p->asks);
}

void cluster_pod_gone(struct cluster *c, const char *ns, const char *name, const char *uid)
{
    struct counted_pod *p = NULL;
    char key[POD_KEY];

    HASH_FIND_STR(c->pods, pod_key(key, sizeof(key), ns, name), p);
    if (p && (!*uid || strcmp(p->uid, uid) == 0))
        uncount(c, p);
}
