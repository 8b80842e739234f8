/* SPDX-License-Identifier: Apache-2.0 */
/* topology.c - making and dropping domains as nodes come and go, and the histograms.
 *
 * Lists are kept sorted (paths, node names), so that whatever walks them gets the same order
 * whatever the order of events was.
 */
#include "cluster/topology.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/node.h"
#include "util/str.h"

void topology_init(struct topology *t, const struct settings *settings,
                   struct node *const *const *nodes)
{
    *t = (struct topology){.settings = settings, .nodes = nodes};
}

static void domain_destroy(struct domain *d)
{
    for (int m = 0; m < MODELS_MAX; m++)
        free(d->by_model[m]);
    vec_fini(&d->children);
    vec_fini(&d->nodes);
    free(d->path);
    free(d->key);
    free(d);
}

void topology_fini(struct topology *t)
{
    for (uint32_t h = 0; h < HIERARCHIES_MAX; h++) {
        HASH_CLEAR(hh, t->by_key[h]);
        vec_fini(&t->top[h]);
        vec_fini(&t->bare[h]);
        for (uint32_t l = 0; l < LEVELS_MAX; l++)
            vec_fini(&t->by_level[h][l]);
    }
    for (size_t i = 0; i < t->domains.n; i++)
        if (t->domains.v[i])
            domain_destroy(t->domains.v[i]);
    for (int m = 0; m < MODELS_MAX; m++)
        free(t->all[m]);
    vec_fini(&t->domains);
    vec_fini(&t->free_of);
}

typedef VEC(uint32_t) ix_list;

/* Insert ix where less() puts it; both lists of this file are short or nearly sorted. */
static void insert_at(void *list, size_t pos, uint32_t ix)
{
    ix_list *a = list;

    (void)vec_push(a);
    memmove(&a->v[pos + 1], &a->v[pos], (a->n - 1 - pos) * sizeof(a->v[0]));
    a->v[pos] = ix;
}

static void insert_domain(const struct topology *t, void *list, uint32_t ix)
{
    ix_list *a = list;
    size_t lo = 0, hi = a->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (strcmp(t->domains.v[a->v[mid]]->key, t->domains.v[ix]->key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    insert_at(a, lo, ix);
}

static void insert_node(const struct topology *t, void *list, const struct node *n)
{
    ix_list *a = list;
    size_t lo = 0, hi = a->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (strcmp((*t->nodes)[a->v[mid]]->name, n->name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    insert_at(a, lo, n->ix);
}

static void remove_ix(void *list, uint32_t ix)
{
    ix_list *a = list;
    size_t i = 0;

    while (i < a->n && a->v[i] != ix)
        i++;
    assert(i < a->n); /* what is removed was added */
    vec_remove(a, i);
}

static const char *level_value(const struct level_setting *l, const struct node *n)
{
    for (uint32_t i = 0; i < l->n_labels; i++) {
        const char *v = node_label(n, l->labels[i]);

        if (v)
            return v;
    }
    return NULL;
}

static uint32_t new_index(struct topology *t)
{
    for (size_t i = 0; i < t->domains.n; i++)
        if (!t->domains.v[i])
            return (uint32_t)i;
    (void)vec_push(&t->domains);
    (void)vec_push(&t->free_of);
    return (uint32_t)t->domains.n - 1;
}

/* The domain of this key below parent, made where missing. */
static struct domain *domain_get(struct topology *t, uint32_t hierarchy, uint32_t level,
                                 uint32_t parent, const char *key)
{
    struct domain *d = NULL;
    struct str path = {0};

    HASH_FIND_STR(t->by_key[hierarchy], key, d);
    if (d)
        return d;
    d = xcalloc(1, sizeof(*d));
    d->key = xstrdup(key);
    if (parent != IX_NONE)
        str_addf(&path, "%s/", t->domains.v[parent]->path);
    str_add(&path, strrchr(key, '\x1f') + 1);
    d->path = str_take(&path);
    d->name = parent == IX_NONE ? d->path : d->path + strlen(t->domains.v[parent]->path) + 1;
    d->hierarchy = hierarchy;
    d->level = level;
    d->parent = parent;
    d->ix = new_index(t);
    t->domains.v[d->ix] = d;
    HASH_ADD_KEYPTR(hh, t->by_key[hierarchy], d->key, strlen(d->key), d);
    insert_domain(t, &t->by_level[hierarchy][level], d->ix);
    if (parent == IX_NONE)
        insert_domain(t, &t->top[hierarchy], d->ix);
    else
        insert_domain(t, &t->domains.v[parent]->children, d->ix);
    return d;
}

static void add_to_hierarchy(struct topology *t, struct node *n, uint32_t h)
{
    const struct hierarchy_setting *hs = &t->settings->hierarchies[h];
    struct str key = {0};
    uint32_t parent = IX_NONE;

    for (uint32_t l = 0; l < hs->n_levels; l++) {
        const char *value = level_value(&hs->levels[l], n);
        struct domain *d;

        if (!value)
            continue;
        /* unit separators cannot be part of a label value */
        str_addf(&key, "\x1e%u\x1f%s", l, value);
        d = domain_get(t, h, l, parent, key.s);
        d->n_nodes++;
        parent = d->ix;
    }
    n->domain[h] = parent;
    if (parent == IX_NONE)
        insert_node(t, &t->bare[h], n);
    else
        insert_node(t, &t->domains.v[parent]->nodes, n);
    str_fini(&key);
}

void topology_add(struct topology *t, struct node *n)
{
    for (uint32_t h = 0; h < t->settings->n_hierarchies; h++)
        add_to_hierarchy(t, n, h);
    for (uint32_t h = t->settings->n_hierarchies; h < HIERARCHIES_MAX; h++)
        n->domain[h] = IX_NONE;
}

static void domain_drop(struct topology *t, struct domain *d)
{
    HASH_DELETE(hh, t->by_key[d->hierarchy], d);
    remove_ix(&t->by_level[d->hierarchy][d->level], d->ix);
    if (d->parent == IX_NONE)
        remove_ix(&t->top[d->hierarchy], d->ix);
    else
        remove_ix(&t->domains.v[d->parent]->children, d->ix);
    t->domains.v[d->ix] = NULL;
    domain_destroy(d);
}

void topology_remove(struct topology *t, struct node *n)
{
    for (uint32_t h = 0; h < t->settings->n_hierarchies; h++) {
        uint32_t ix = n->domain[h];

        if (ix == IX_NONE)
            remove_ix(&t->bare[h], n->ix);
        else
            remove_ix(&t->domains.v[ix]->nodes, n->ix);
        while (ix != IX_NONE) {
            struct domain *d = t->domains.v[ix];

            ix = d->parent;
            if (--d->n_nodes == 0)
                domain_drop(t, d);
        }
        n->domain[h] = IX_NONE;
    }
}

void histogram_count(struct free_histogram **h, int64_t free_gpus, int delta)
{
    size_t f = free_gpus > NODE_GPUS_MAX ? NODE_GPUS_MAX : (size_t)free_gpus;

    if (!*h)
        *h = xcalloc(1, sizeof(**h));
    (*h)->nodes += (uint32_t)delta;
    (*h)->free_gpus += (uint64_t)((int64_t)f * delta);
    (*h)->count[f] += (uint32_t)delta;
    if ((*h)->most < f)
        (*h)->most = (uint32_t)f;
    while ((*h)->most && !(*h)->count[(*h)->most])
        (*h)->most--;
}

void topology_count(struct topology *t, const struct node *n, int64_t free_gpus, int delta)
{
    if (n->model >= MODELS_MAX)
        return;
    histogram_count(&t->all[n->model], free_gpus, delta);
    for (uint32_t h = 0; h < t->settings->n_hierarchies; h++)
        for (uint32_t ix = n->domain[h]; ix != IX_NONE; ix = t->domains.v[ix]->parent) {
            histogram_count(&t->domains.v[ix]->by_model[n->model], free_gpus, delta);
            t->free_of.v[ix] += (uint64_t)(free_gpus * delta);
        }
}

static void histogram_move(struct free_histogram *h, size_t from, size_t to)
{
    h->count[from]--;
    h->count[to]++;
    h->free_gpus += to - from; /* wraps around for less */
    if (h->most < to)
        h->most = (uint32_t)to;
    while (h->most && !h->count[h->most])
        h->most--;
}

void topology_recount(struct topology *t, const struct node *n, int64_t was, int64_t free_gpus)
{
    size_t from = was > NODE_GPUS_MAX ? NODE_GPUS_MAX : (size_t)was;
    size_t to = free_gpus > NODE_GPUS_MAX ? NODE_GPUS_MAX : (size_t)free_gpus;

    if (was == free_gpus || n->model >= MODELS_MAX)
        return;
    histogram_move(t->all[n->model], from, to);
    for (uint32_t h = 0; h < t->settings->n_hierarchies; h++)
        for (uint32_t ix = n->domain[h]; ix != IX_NONE; ix = t->domains.v[ix]->parent) {
            histogram_move(t->domains.v[ix]->by_model[n->model], from, to);
            t->free_of.v[ix] += (uint64_t)(free_gpus - was);
        }
}

uint64_t histogram_slots(const struct free_histogram *h, uint32_t gpus)
{
    uint64_t slots = 0;

    if (!h || gpus == 0)
        return 0;
    for (uint32_t f = gpus; f <= h->most; f++)
        if (h->count[f])
            slots += (uint64_t)h->count[f] * (f / gpus);
    return slots;
}

uint32_t topology_around(const struct topology *t, uint32_t domain_ix, uint32_t level)
{
    while (domain_ix != IX_NONE && t->domains.v[domain_ix]->level > level)
        domain_ix = t->domains.v[domain_ix]->parent;
    return domain_ix != IX_NONE && t->domains.v[domain_ix]->level == level ? domain_ix : IX_NONE;
}

uint32_t topology_domain_at(const struct topology *t, const struct node *n, uint32_t hierarchy,
                            uint32_t level)
{
    return topology_around(t, n->domain[hierarchy], level);
}
