/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_clone.c - a cluster of its own that is equal to another, to which nodes may be added.
 *
 * Dearer than a fork, which shares all lists with its original. Its generations are later than the
 * original's: no verdict that was reached there holds here.
 */
#include <assert.h>
#include <stdio.h>

#include "cluster/cluster.h"

static void clone_node(struct cluster *to, const struct node *n)
{
    uint32_t ix = cluster_node_named(to, n->name);
    struct node *copy = to->nodes.v[ix];

    assert(ix == n->ix);
    copy->expected_gpus = n->expected_gpus;
    if (n->is_known)
        (void)cluster_node_seen(to, node_fact_copy(n->fact));
    cluster_hold(to, ix, &n->used);
    copy->n_gangs = n->n_gangs;
    copy->n_pods = n->n_pods;
    copy->n_named = n->n_named + 1; /* it is never forgotten */
    copy->lost_at = n->lost_at;
}

void cluster_clone(struct cluster *to, const struct cluster *c)
{
    char gap[24];

    assert(to->nodes.n == 0);
    to->names = c->names;
    for (const struct drain *d = c->drains; d; d = d->hh.next)
        cluster_drain(to, d->node, d->text, d->since);
    for (size_t ix = 0; ix < c->nodes.n; ix++) {
        if (c->nodes.v[ix]) {
            clone_node(to, c->nodes.v[ix]);
            continue;
        }
        (void)snprintf(gap, sizeof(gap), "\n%zu", ix); /* nobody's name: keeps the next index */
        (void)cluster_node_named(to, gap);
    }
    to->shape_gen = c->shape_gen + 1;
    for (int m = 0; m <= MODELS_MAX; m++)
        to->freed_gen[m] = c->freed_gen[m] + 1;
    to->freed_any = c->freed_any + FREED_LOG + 1;
    to->taken_any = c->taken_any + 1;
    to->fact_gen = c->fact_gen + 1;
    to->list_gen = c->list_gen + 1;
}
