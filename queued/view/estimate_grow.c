/* SPDX-License-Identifier: Apache-2.0 */
/* estimate_grow.c - nodes that are not there: copies of one that is, empty and healthy, in its
 * domains or in those that are named.
 */
#include "view/estimate_grow.h"

#include <stdio.h>
#include <string.h>

#include "util/str.h"

/* The one that is named; else the first by name, fit for use, that some role with GPUs (without
 * any: some role) accepts. */
static const struct node *shape_of(const struct cluster *c, const struct estimate_growth *g,
                                   const struct demand *d)
{
    const struct node *n = g->like && *g->like ? cluster_find(c, g->like) : NULL;

    if (g->like && *g->like)
        return n && n->is_known ? n : NULL;
    for (size_t i = 0; i < c->by_name.n; i++) {
        n = c->nodes.v[c->by_name.v[i]];
        for (uint32_t r = 0; r < d->n_roles; r++)
            if (n->is_usable && (d->roles[r].each.amount[RES_GPUS] || d->gpus == 0) &&
                role_allows(&d->roles[r], n))
                return n;
    }
    return NULL;
}

static void set_label(struct node_fact *f, const char *key, const char *value)
{
    uint32_t at = 0;

    while (at < f->n_labels && strcmp(f->labels[at].key, key) != 0)
        at++;
    if (at < f->n_labels) {
        free(f->labels[at].value);
        f->labels[at].value = xstrdup(value);
        return;
    }
    f->labels = xrealloc(f->labels, (at + 1) * sizeof(*f->labels));
    f->labels[at] = (struct node_label){xstrdup(key), xstrdup(value)};
    f->n_labels++;
}

/* The label that decides where the node is at this level, else the first. */
static const char *level_key(const struct level_setting *level, const struct node *n)
{
    for (uint32_t i = 0; i < level->n_labels; i++)
        if (node_label(n, level->labels[i]))
            return level->labels[i];
    return level->labels[0];
}

static void add_node(struct cluster *c, const struct estimate_growth *g, const struct node *like,
                     uint32_t number)
{
    struct node_fact *f = node_fact_copy(like->fact);
    uint32_t h, l;

    do
        (void)snprintf(f->name, sizeof(f->name), "what-if-%u", number++);
    while (cluster_find(c, f->name));
    (void)str_copy(f->uid, sizeof(f->uid), f->name);
    f->is_ready = true;
    f->is_cordoned = f->is_deleting = false;
    f->not_ready_since = 0;
    set_label(f, "kubernetes.io/hostname", f->name);
    for (uint32_t i = 0; i < g->domains.n; i++)
        if (settings_level(c->settings, g->domains.v[i].key, &h, &l))
            set_label(f, level_key(&c->settings->hierarchies[h].levels[l], like),
                      g->domains.v[i].value);
    (void)cluster_node_seen(c, f);
}

/* Is it a value of a label, and of no level that stands before it? */
static bool is_domain(const struct spec_pairs *domains, uint32_t i)
{
    const char *value = domains->v[i].value;

    for (uint32_t k = 0; k < i; k++)
        if (strcmp(domains->v[k].key, domains->v[i].key) == 0)
            return false;
    return *value && strlen(value) <= LABEL_MAX && !strpbrk(value, "/ \t\n");
}

int estimate_growth_check(const struct cluster *c, const struct estimate_growth *g, struct err *err)
{
    uint32_t h, l;

    for (uint32_t i = 0; i < g->domains.n; i++)
        if (!settings_level(c->settings, g->domains.v[i].key, &h, &l) ||
            l >= c->settings->hierarchies[h].n_levels)
            return err_set(err, ERR_INVALID, "no level %s: 'queuectl topology' shows them",
                           g->domains.v[i].key);
    for (uint32_t i = 0; i < g->domains.n; i++)
        if (!is_domain(&g->domains, i))
            return err_set(err, ERR_INVALID, "%s: name one domain of it, as a label's value",
                           g->domains.v[i].key);
    if (g->like && *g->like && !(cluster_find(c, g->like) && cluster_find(c, g->like)->is_known))
        return err_set(err, ERR_INVALID, "no node %s: 'queuectl nodes' shows them", g->like);
    return 0;
}

void estimate_grow(struct cluster *c, const struct estimate_growth *g, const struct demand *d)
{
    const struct node *like = shape_of(c, g, d);

    for (uint32_t i = 0; i < g->n && like; i++)
        add_node(c, g, like, i + 1);
}
