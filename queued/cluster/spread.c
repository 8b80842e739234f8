/* SPDX-License-Identifier: Apache-2.0 */
/* spread.c - groups of nodes and even shares.
 *
 * Even shares are those of filling all groups with water to one height: no other shares have a
 * smaller skew.
 */
#include "cluster/spread.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"

void spread_fini(struct spread *s)
{
    free(s->key);
    free(s->group);
}

struct labelled {
    const char *value;
    uint32_t node_ix;
};

static int by_value(const void *a, const void *b)
{
    const struct labelled *x = a, *y = b;

    return strcmp(x->value, y->value);
}

static void group_by_label(const struct cluster *c, struct spread *s)
{
    struct labelled *v = xcalloc(c->by_name.n + 1, sizeof(*v));
    size_t n = 0;

    for (size_t i = 0; i < c->by_name.n; i++) {
        v[n].node_ix = c->by_name.v[i];
        v[n].value = node_label(c->nodes.v[v[n].node_ix], s->key);
        n += v[n].value != NULL;
    }
    qsort(v, n, sizeof(*v), by_value);
    for (size_t i = 0; i < n; i++) {
        s->n_groups += i == 0 || strcmp(v[i].value, v[i - 1].value) != 0;
        s->group[v[i].node_ix] = s->n_groups - 1;
    }
    free(v);
}

static void group_by_level(const struct cluster *c, struct spread *s, uint32_t h, uint32_t level)
{
    bool is_host = level == c->settings->hierarchies[h].n_levels;

    s->n_groups = (uint32_t)(is_host ? c->nodes.n : c->topology.domains.n);
    for (size_t i = 0; i < c->by_name.n; i++) {
        const struct node *n = c->nodes.v[c->by_name.v[i]];

        s->group[n->ix] = is_host ? n->ix : topology_domain_at(&c->topology, n, h, level);
    }
}

const struct spread *spread_groups(const struct cluster *c, const struct demand_role *role)
{
    struct spread *s = (struct spread *)&role->spread; /* only what it remembers is written */
    uint32_t h, level;

    if (s->group && s->gen == c->shape_gen)
        return s;
    s->gen = c->shape_gen;
    s->n_groups = 0;
    s->n_nodes = (uint32_t)c->nodes.n;
    s->group = xrealloc(s->group, (c->nodes.n + 1) * sizeof(*s->group));
    memset(s->group, 0xff, (c->nodes.n + 1) * sizeof(*s->group)); /* IX_NONE */
    if (settings_level(c->settings, s->key, &h, &level))
        group_by_level(c, s, h, level);
    else
        group_by_label(c, s);
    return s;
}

uint32_t spread_group(const struct spread *s, uint32_t node_ix)
{
    return node_ix < s->n_nodes ? s->group[node_ix] : IX_NONE;
}

struct tally {
    const struct cluster *c;
    const struct spread_scope *scope;
    const struct spread *groups;
    bool *seen;
    uint32_t n;
};

static void count_node(struct tally *t, uint32_t node_ix)
{
    const struct node *n = t->c->nodes.v[node_ix];
    uint32_t g = spread_group(t->groups, node_ix);

    if (g == IX_NONE || t->seen[g] || !role_allows(t->scope->role, n))
        return;
    if ((t->scope->model != MODELS_MAX && n->model != t->scope->model) ||
        (t->scope->role->same_driver && t->scope->driver != IX_NONE &&
         n->driver != t->scope->driver))
        return;
    t->seen[g] = true;
    t->n++;
}

/* At most LEVELS_MAX deep. */
static void count_domain(struct tally *t, const struct domain *d)
{
    for (size_t i = 0; i < d->children.n; i++)
        count_domain(t, t->c->topology.domains.v[d->children.v[i]]);
    for (size_t i = 0; i < d->nodes.n; i++)
        count_node(t, d->nodes.v[i]);
}

uint32_t spread_count(const struct cluster *c, const struct spread_scope *scope)
{
    struct tally t = {.c = c, .scope = scope, .groups = spread_groups(c, scope->role)};

    t.seen = xcalloc(t.groups->n_groups + 1, sizeof(*t.seen));
    if (scope->home != IX_NONE)
        count_domain(&t, c->topology.domains.v[scope->home]);
    for (size_t i = 0; i < c->by_name.n && scope->home == IX_NONE; i++)
        count_node(&t, c->by_name.v[i]);
    free(t.seen);
    return t.n;
}

static int by_group(const void *a, const void *b)
{
    const struct spread_share *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

uint32_t spread_merge(struct spread_share *v, uint32_t n)
{
    uint32_t kept = 0;

    qsort(v, n, sizeof(*v), by_group);
    for (uint32_t i = 0; i < n; i++) {
        if (kept && v[kept - 1].group == v[i].group) {
            v[kept - 1].room += v[i].room;
            v[kept - 1].free_gpus += v[i].free_gpus;
            v[kept - 1].last = v[i].last;
        } else {
            v[kept++] = v[i];
        }
    }
    return kept;
}

static int fullest_first(const void *a, const void *b)
{
    const struct spread_share *x = *(struct spread_share *const *)a,
                              *y = *(struct spread_share *const *)b;

    if (x->free_gpus != y->free_gpus)
        return x->free_gpus < y->free_gpus ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Pods that fit when no group gets more than this. */
static uint64_t held_at(const struct spread_share *v, uint32_t n, uint32_t most)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += v[i].room < most ? v[i].room : most;
    return sum;
}

uint32_t spread_evenly(struct spread_share *v, uint32_t n, uint32_t n_counting, uint32_t want)
{
    uint32_t most = 1, fewest = UINT32_MAX, left, n_open = 0;
    struct spread_share **open; /* with room for one more */

    if (held_at(v, n, want) < want)
        return UINT32_MAX;
    while (held_at(v, n, most) < want)
        most++;
    left = want - (uint32_t)held_at(v, n, most - 1);
    open = xmalloc((n + 1) * sizeof(struct spread_share *));
    for (uint32_t i = 0; i < n; i++) {
        v[i].pods = v[i].room < most - 1 ? v[i].room : most - 1;
        if (v[i].room >= most)
            open[n_open++] = &v[i];
    }
    qsort(open, n_open, sizeof(struct spread_share *), fullest_first);
    while (left)
        open[--left]->pods++;
    free(open);
    for (uint32_t i = 0; i < n; i++)
        fewest = v[i].pods < fewest ? v[i].pods : fewest;
    return most - (n < n_counting ? 0 : fewest);
}

uint32_t spread_skew(const uint32_t *pods, uint32_t n_groups, uint32_t n_counting)
{
    uint32_t most = 0, fewest = UINT32_MAX, used = 0;

    for (uint32_t i = 0; i < n_groups; i++) {
        most = pods[i] > most ? pods[i] : most;
        fewest = pods[i] && pods[i] < fewest ? pods[i] : fewest;
        used += pods[i] > 0;
    }
    return most - (used < n_counting ? 0 : used ? fewest : 0);
}
