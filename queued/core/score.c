/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - cost of a set of hosts, and its terms.
 *
 * A host without the label of a level counts as a domain of its own there.
 */
#include "core/score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/place.h"
#include "util/mem.h"

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Sort, and keep one of each; returns how many. */
static uint32_t distinct(uint32_t *v, uint32_t n)
{
    uint32_t kept = 0;

    qsort(v, n, sizeof(*v), by_number);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || v[i] != v[kept - 1])
            v[kept++] = v[i];
    return kept;
}

struct host_set {
    const struct cluster *c;
    uint32_t hierarchy;
    uint32_t *v, n;    /* node_ix, distinct */
    uint32_t *scratch; /* n entries */
};

/* Domains of a level that the hosts use. *ret: the only one; IX_NONE: there are several. */
static uint32_t domains_of(const struct host_set *h, uint32_t level, uint32_t *ret)
{
    uint32_t found = 0, bare = 0, all;

    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t d =
            topology_domain_at(&h->c->topology, h->c->nodes.v[h->v[i]], h->hierarchy, level);

        if (d == IX_NONE)
            bare++;
        else
            h->scratch[found++] = d;
    }
    all = distinct(h->scratch, found);
    *ret = all == 1 && !bare ? h->scratch[0] : IX_NONE;
    return all + bare;
}

/* Fills hosts, cost and domain of ret; takes the order of hosts away. */
static void cost_hosts(const struct cluster *c, const struct demand *d, uint32_t *hosts, uint32_t n,
                       struct score *ret)
{
    const struct hierarchy_setting *h = &c->settings->hierarchies[d->hierarchy];
    struct host_set set = {.c = c, .hierarchy = d->hierarchy, .v = hosts};

    set.n = ret->hosts = distinct(hosts, n);
    set.scratch = xcalloc(n, sizeof(*set.scratch));
    ret->domain = IX_NONE;
    ret->cost = 1000 + (uint64_t)SCORE_HOST_COST * (ret->hosts - 1);
    for (uint32_t l = 0; l < h->n_levels; l++) {
        uint32_t one;
        uint32_t used = domains_of(&set, l, &one);

        ret->cost += (uint64_t)h->levels[l].cost * (used - 1);
        if (one != IX_NONE)
            ret->domain = one;
    }
    free(set.scratch);
}

/* The cost on the empty cluster, once a shape of it and choice of models. */
static uint64_t best_cost(const struct state *s, const struct job *j)
{
    struct demand *d = j->demand;
    struct place_wish wish = {
        .within = IX_NONE, .demand = d, .models = j->models, .on_empty = true};
    struct place_result r = {0};
    struct score empty;
    uint32_t *hosts;

    if (d->best_cost && d->best_gen == s->cluster.shape_gen &&
        memcmp(d->best_models, j->models, sizeof(d->best_models)) == 0)
        return d->best_cost;
    if (!place_gang(&s->cluster, &wish, &r))
        return 0;
    hosts = xcalloc(d->pods, sizeof(*hosts));
    for (uint32_t i = 0; i < d->pods; i++)
        hosts[i] = r.members[i].node_ix;
    cost_hosts(&s->cluster, d, hosts, d->pods, &empty);
    free(hosts);
    free(r.members);
    d->best_cost = empty.cost;
    d->best_gen = s->cluster.shape_gen;
    memcpy(d->best_models, j->models, sizeof(d->best_models));
    return d->best_cost;
}

/* No more than this of one host, so that no sum wraps: 4 million cores. */
#define AMOUNT_MAX (INT64_C(1) << 32)

static uint32_t share_in_use(const struct cluster *c, const uint32_t *hosts, uint32_t n,
                             int resource)
{
    int64_t used = 0, total = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct node *node = c->nodes.v[hosts[i]];
        int64_t has = node->total.amount[resource], takes = node->used.amount[resource];

        has = has < AMOUNT_MAX ? has : AMOUNT_MAX;
        total += has;
        used += takes < has ? takes : has;
    }
    return total > 0 ? (uint32_t)(used * 1000 / total) : 0;
}

void score_job(const struct state *s, const struct job *j, struct score *ret)
{
    const struct cluster *c = &s->cluster;
    uint32_t *hosts = xcalloc(j->n_members, sizeof(*hosts));

    *ret = (struct score){0};
    for (uint32_t i = 0; i < j->n_members; i++)
        hosts[i] = j->members[i].node_ix;
    cost_hosts(c, j->demand, hosts, j->n_members, ret);
    ret->best = best_cost(s, j);
    if (!ret->best || ret->best > ret->cost)
        ret->best = ret->cost; /* a greedy choice may have been beaten */
    ret->topology = (uint32_t)(ret->best * 1000 / ret->cost);
    ret->packing = share_in_use(c, hosts, ret->hosts, j->demand->gpus ? RES_GPUS : RES_CPU);
    ret->total =
        (ret->topology * SCORE_TOPOLOGY_WEIGHT + ret->packing * SCORE_PACKING_WEIGHT) / 1000;
    free(hosts);
}

const char *score_text(char buf[SCORE_TEXT_MAX + 1], const struct state *s, const struct job *j,
                       const struct score *score)
{
    const struct domain *d =
        score->domain == IX_NONE ? NULL : s->cluster.topology.domains.v[score->domain];
    const struct hierarchy_setting *h = &s->settings->hierarchies[j->demand->hierarchy];

    (void)snprintf(
        buf, SCORE_TEXT_MAX + 1,
        "score %u (topology %u = best %llu / cost %llu, packing %u): %u host%s in %s%s%s",
        score->total, score->topology, (unsigned long long)score->best,
        (unsigned long long)score->cost, score->packing, score->hosts, score->hosts == 1 ? "" : "s",
        d ? h->levels[d->level].name : "no common domain", d ? " " : "", d ? d->path : "");
    return buf;
}
