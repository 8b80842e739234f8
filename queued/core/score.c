/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - cost of a set of hosts, and its terms.
 *
 * A host without the label of a level counts as a domain of its own there.
 */
#include "core/score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Sort, and keep one of each; returns how many. */
static uint32_t distinct(uint32_t *v, uint32_t n)
{
    uint32_t kept = 0, sorted = 1;

    while (sorted < n && v[sorted - 1] <= v[sorted])
        sorted++;
    if (sorted < n)
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

void score_cost(const struct cluster *c, const struct demand *d, uint32_t *hosts, uint32_t n,
                struct score *ret)
{
    const struct hierarchy_setting *h = &c->settings->hierarchies[d->hierarchy];
    struct host_set set = {.c = c, .hierarchy = d->hierarchy, .v = hosts};

    set.n = ret->hosts = distinct(hosts, n);
    set.scratch = xcalloc(n, sizeof(*set.scratch));
    ret->domain = IX_NONE;
    ret->cost = SCORE_LEAST_COST + (uint64_t)SCORE_HOST_COST * (ret->hosts - 1);
    for (uint32_t l = 0; l < h->n_levels; l++) {
        uint32_t one;
        uint32_t used = domains_of(&set, l, &one);

        ret->cost += (uint64_t)h->levels[l].cost * (used - 1);
        if (one != IX_NONE)
            ret->domain = one;
    }
    free(set.scratch);
}

uint64_t score_best(const struct cluster *c, const struct place_wish *wish)
{
    struct demand *d = (struct demand *)wish->demand; /* only what it remembers is written */
    bool is_kept = !wish->counts && !wish->is_relaxed;
    struct place_wish empty = {.demand = d,
                               .models = wish->models,
                               .counts = wish->counts,
                               .is_relaxed = wish->is_relaxed,
                               .on_empty = true};
    struct place_result r = {0};
    struct score score = {0};
    uint32_t *hosts, pods = 0;

    if (is_kept && d->best_cost && d->best_gen == c->shape_gen &&
        memcmp(d->best_models, wish->models, d->n_roles) == 0)
        return d->best_cost;
    if (!place_gang(c, &empty, &r))
        return 0;
    for (uint32_t i = 0; i < d->n_roles; i++)
        pods += wish->counts ? wish->counts[i] : d->roles[i].replicas;
    hosts = xcalloc(pods, sizeof(*hosts));
    for (uint32_t i = 0; i < pods; i++)
        hosts[i] = r.members[i].node_ix;
    score_cost(c, d, hosts, pods, &score);
    free(hosts);
    free(r.members);
    if (is_kept) {
        d->best_cost = score.cost;
        d->best_gen = c->shape_gen;
        memcpy(d->best_models, wish->models, d->n_roles);
    }
    return score.cost;
}

/* No more than this of one host, so that no sum wraps: 4 million cores. */
#define AMOUNT_MAX (INT64_C(1) << 32)

void share_add(struct share_in_use *share, int64_t has, int64_t takes)
{
    has = has < AMOUNT_MAX ? has : AMOUNT_MAX;
    share->total += has;
    share->used += takes < has ? takes : has;
}

void score_sum(const struct settings *s, uint64_t best, const struct share_in_use *share,
               struct score *ret)
{
    ret->best = best && best < ret->cost ? best : ret->cost; /* a greedy choice may be beaten */
    ret->topology = (uint32_t)(ret->best * 1000 / ret->cost);
    ret->packing = share->total > 0 ? (uint32_t)(share->used * 1000 / share->total) : 0;
    ret->total = (ret->topology * s->weight_topology + ret->packing * s->weight_packing) / 1000;
    ret->total = ret->total < 1000 ? ret->total : 1000;
}

uint32_t score_most(const struct settings *s, uint64_t packing)
{
    uint64_t most = s->weight_topology + packing * s->weight_packing / 1000;

    return most < 1000 ? (uint32_t)most : 1000;
}

void score_job(const struct state *s, const struct job *j, struct score *ret)
{
    struct place_wish wish = {.demand = j->demand,
                              .models = j->models,
                              .counts = j->demand->most > j->demand->pods ? j->size : NULL};
    uint32_t n_hosts = 0;
    int resource = j->demand->gpus ? RES_GPUS : RES_CPU;
    uint32_t *hosts = xcalloc(j->n_members, sizeof(*hosts));
    struct share_in_use share = {0};

    *ret = (struct score){0};
    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct member *m = &j->members[i];

        if (m->phase == MEMBER_ABSENT)
            continue;
        ret->liking += role_liking(&j->demand->roles[m->role], s->cluster.nodes.v[m->node_ix]);
        hosts[n_hosts++] = m->node_ix;
    }
    ret->liking /= n_hosts ? n_hosts : 1;
    score_cost(&s->cluster, j->demand, hosts, n_hosts, ret);
    for (uint32_t i = 0; i < ret->hosts; i++) {
        const struct node *n = s->cluster.nodes.v[hosts[i]];

        share_add(&share, n->total.amount[resource], n->used.amount[resource]);
    }
    score_sum(s->settings, score_best(&s->cluster, &wish), &share, ret);
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
    if (j->demand->has_likings)
        (void)snprintf(buf + strlen(buf), SCORE_TEXT_MAX + 1 - strlen(buf), ", preferred %u",
                       score->liking);
    return buf;
}
