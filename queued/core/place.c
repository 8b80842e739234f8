/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - one gang onto the cluster, on paper.
 *
 * The histograms of a domain reject and rank it; then the nodes of the chosen domain alone are
 * looked at (place_fill.c).
 */
#include "core/place.h"

#include <stdlib.h>
#include <string.h>

#include "core/place_fill.h"

enum { LIKINGS_TRIED = 4 };

bool place_excludes(const uint32_t *excluded, uint32_t node_ix)
{
    for (int i = 0; excluded && i < JOB_EXCLUDED_MAX; i++)
        if (excluded[i] == node_ix)
            return true;
    return false;
}

/* Could each role with GPUs fit by free GPUs alone? ix: a domain, or IX_NONE for all. */
static bool may_hold_on(const struct paper *p, const struct cluster *c, uint32_t ix,
                        uint64_t *ret_free)
{
    const struct topology *t = &c->topology;
    struct free_histogram *const *by_model = ix == IX_NONE ? t->all : t->domains.v[ix]->by_model;
    const struct demand *d = p->wish->demand;

    *ret_free = 0;
    for (uint32_t r = 0; r < d->n_roles; r++) {
        uint8_t m = p->wish->models[r];
        uint32_t gpus = (uint32_t)d->roles[r].each.amount[RES_GPUS];

        if (gpus == 0 || p->counts[r] == 0)
            continue;
        if (p->wish->on_empty && by_model[m] && /* the histograms know of what is free only */
            by_model[m]->nodes * ((uint64_t)c->most_gpus / gpus) >= p->counts[r])
            continue;
        if (p->wish->on_empty || !by_model[m] ||
            by_model[m]->free_gpus < (uint64_t)gpus * p->counts[r] ||
            histogram_slots(by_model[m], gpus) < p->counts[r] ||
            (ix != IX_NONE &&
             role_slots_within(&d->roles[r], c, t->domains.v[ix], p->counts[r]) < p->counts[r]))
            return false;
        *ret_free += by_model[m]->free_gpus;
    }
    return true;
}

static bool may_hold(const struct paper *p, uint32_t ix, uint64_t *ret_free)
{
    uint64_t free_beside;

    *ret_free = 0;
    for (uint32_t i = 0; i < p->wish->n_beside; i++)
        if (!may_hold_on(p, p->wish->beside[i], ix, &free_beside))
            return false;
    return may_hold_on(p, p->c, ix, ret_free);
}

struct candidate {
    uint64_t free_gpus, around;
    uint32_t order; /* path order on its level */
    uint32_t ix;
};

typedef VEC(struct candidate) candidate_list;

/* GPUs free in the domain around a candidate: of equal ones that in the fullest is taken, so that
 * large holes survive. Outside of any: 0. */
static uint64_t free_around(const struct paper *p, uint32_t ix)
{
    uint8_t model = p->wish->models[p->order[0]];

    if (ix == IX_NONE || model == MODELS_MAX || p->wish->on_empty ||
        !p->c->topology.domains.v[ix]->by_model[model])
        return 0;
    return p->c->topology.domains.v[ix]->by_model[model]->free_gpus;
}

static bool is_tighter(const struct candidate *x, const struct candidate *y)
{
    if (x->free_gpus != y->free_gpus)
        return x->free_gpus < y->free_gpus;
    if (x->around != y->around)
        return x->around < y->around;
    return x->order < y->order;
}

/* Take out the one with the best fit. */
static uint32_t take_tightest(candidate_list *list)
{
    struct candidate *best = &list->v[0];
    uint32_t ix;

    for (struct candidate *x = best; x < list->v + list->n; x++)
        if (is_tighter(x, best))
            best = x;
    ix = best->ix;
    *best = list->v[--list->n];
    return ix;
}

/* Is this domain (IX_NONE: none) inside one of the required level? A level that is asked for is
 * asked of every host, also where a narrower preferred level is tried. */
static bool is_inside_required(const struct paper *p, uint32_t ix)
{
    const struct topology *t = &p->c->topology;

    if (p->required >= p->c->settings->hierarchies[p->wish->demand->hierarchy].n_levels)
        return true; /* none, or the host itself */
    while (ix != IX_NONE && t->domains.v[ix]->level > p->required)
        ix = t->domains.v[ix]->parent;
    return ix != IX_NONE && t->domains.v[ix]->level == p->required;
}

static void candidate_domains(const struct paper *p, uint32_t level, candidate_list *ret)
{
    const struct topology *t = &p->c->topology;
    uint32_t h = p->wish->demand->hierarchy;

    for (size_t i = 0; i < t->by_level[h][level].n; i++) {
        uint32_t ix = t->by_level[h][level].v[i];
        uint64_t free_gpus;

        if (!p->wish->on_empty && t->free_of.v[ix] < p->gpus)
            continue;
        if (is_inside_required(p, ix) && may_hold(p, ix, &free_gpus))
            *vec_push(ret) = (struct candidate){.free_gpus = free_gpus,
                                                .around = free_around(p, t->domains.v[ix]->parent),
                                                .order = (uint32_t)i,
                                                .ix = ix};
    }
}

/* The terms of the candidate at hand. */
static void rate(const struct paper *p, struct score *ret)
{
    const struct demand *d = p->wish->demand;
    uint32_t *hosts = xcalloc(p->hosts.n + 1, sizeof(*hosts));
    int resource = d->gpus ? RES_GPUS : RES_CPU;
    struct share_in_use share = {0};
    uint32_t n = 0;

    for (size_t i = 0; i < p->hosts.n; i++) {
        const struct place_host *h = &p->hosts.v[i];
        const struct node *node;
        int64_t used;

        if (!h->pods)
            continue;
        node = p->c->nodes.v[h->node_ix];
        used = p->wish->on_empty ? 0 : node->used.amount[resource];
        hosts[n++] = h->node_ix;
        share_add(&share, node->total.amount[resource], used + (d->gpus ? h->gpus : h->cpu_milli));
    }
    score_cost(p->c, d, hosts, n, ret);
    free(hosts);
    score_sum(p->c->settings, p->wish->on_empty ? 1000 : score_best(p->c, p->wish), &share, ret);
}

/* The hosts gathered are the next candidate, of those that are left the first in a tie. */
static bool try_gathered(struct paper *p, uint32_t level)
{
    struct placement_member *swap = p->best_members;
    struct score score = {0};

    if (!fit_gathered(p, level))
        return false;
    if (p->wish->rule == PLACE_SCORE && !p->wish->is_check)
        rate(p, &score);
    if (!p->is_found ||
        (p->wish->on_empty ? score.cost < p->best.cost : score.total > p->best.total)) {
        p->is_found = true;
        p->best = score;
        p->best_members = p->members;
        p->members = swap;
    }
    return true;
}

/* No placement costs less: of what is so large, by what hosts and domains have at most. */
static uint64_t least_cost(const struct paper *p)
{
    const struct topology *t = &p->c->topology;
    uint32_t h = p->wish->demand->hierarchy;
    const struct hierarchy_setting *setting = &p->c->settings->hierarchies[h];
    uint64_t most = (uint64_t)p->c->most_gpus, cost = SCORE_LEAST_COST;

    if (p->gpus <= most || !most)
        return cost;
    cost += (p->gpus - 1) / most * SCORE_HOST_COST;
    for (uint32_t l = 0; l < setting->n_levels; l++) {
        uint32_t nodes = 1;

        for (size_t i = 0; i < t->by_level[h][l].n; i++) {
            const struct domain *d = t->domains.v[t->by_level[h][l].v[i]];

            nodes = d->n_nodes > nodes ? d->n_nodes : nodes;
        }
        cost += (p->gpus - 1) / (most * nodes) * (uint64_t)setting->levels[l].cost;
    }
    return cost;
}

/* Can nothing that is still tried win? */
static bool is_unbeatable(const struct paper *p)
{
    uint64_t has = (uint64_t)p->c->most_gpus, packing = 1000;

    if (!p->is_found || p->wish->is_check || p->wish->rule != PLACE_SCORE)
        return p->is_found && p->wish->is_check;
    if (p->wish->on_empty)
        return p->best.cost <= p->least_cost;
    if (p->least_free) /* no host for it has less free, nor more GPUs */
        packing = (has - p->least_free + p->gpus) * 1000 / has;
    return p->best.total >= score_most(p->c->settings, packing);
}

/* At most `left` domains fit: those with the best fit. */
static bool try_domains(struct paper *p, uint32_t level, uint32_t left)
{
    candidate_list list = {0};
    bool fits = false;

    candidate_domains(p, level, &list);
    while (list.n && left && !is_unbeatable(p)) {
        p->hosts.n = 0;
        gather_domain(p, take_tightest(&list));
        if (try_gathered(p, level + 1)) {
            fits = true;
            left--;
        }
    }
    vec_fini(&list);
    return fits;
}

static bool try_empty_host(struct paper *p, uint64_t gpus)
{
    uint32_t h = p->wish->demand->hierarchy;

    for (size_t i = 0; i < p->c->by_name.n; i++) {
        const struct node *n = p->c->nodes.v[p->c->by_name.v[i]];

        p->hosts.n = 0;
        if (n->total.amount[RES_GPUS] >= (int64_t)gpus && is_inside_required(p, n->domain[h]))
            gather_node(p, n->ix);
        if (p->hosts.n && try_gathered(p, p->c->settings->hierarchies[h].n_levels + 1))
            return true;
    }
    return false;
}

/* May all of the gang go to this host, but for what its pods ask besides GPUs? */
static bool host_may_hold(const struct paper *p, const struct node *n)
{
    const struct place_wish *w = p->wish;

    for (uint32_t i = 0; i < w->n_beside; i++)
        if (w->beside[i]->free_of.v[n->ix] < p->gpus)
            return false;
    for (uint32_t r = 0; r < w->demand->n_roles; r++)
        if (p->counts[r] && ((w->models[r] != MODELS_MAX && w->models[r] != n->model) ||
                             !role_allows(&w->demand->roles[r], n) ||
                             (p->least && role_liking(&w->demand->roles[r], n) < p->least)))
            return false;
    return is_inside_required(p, n->domain[w->demand->hierarchy]);
}

/* Go on to the next of the hosts with so many GPUs free, in order of fit; at->ix IX_NONE: to the
 * first. false: there is no other. */
static bool next_host(const struct paper *p, uint32_t free_gpus, struct candidate *at)
{
    uint32_t h = p->wish->demand->hierarchy, domain = IX_NONE;
    const uint8_t *v = p->c->free_of.v, *end = v + p->c->nodes.n, *f = v;
    struct candidate best = {.ix = IX_NONE}, x = {0};

    for (uint32_t k = p->c->n_free[free_gpus]; k; k--, f++) {
        const struct node *n;

        f = memchr(f, (int)free_gpus, (size_t)(end - f));
        n = p->c->nodes.v[f - v];
        if (n->domain[h] != domain)
            x.around = free_around(p, n->domain[h]);
        domain = n->domain[h];
        x.order = n->rank;
        x.ix = n->ix;
        if ((best.ix == IX_NONE || is_tighter(&x, &best)) &&
            (at->ix == IX_NONE || is_tighter(at, &x)) && host_may_hold(p, n))
            best = x;
    }
    *at = best;
    return best.ix != IX_NONE;
}

static bool try_hosts_with(struct paper *p, uint32_t free_gpus, uint32_t *left)
{
    uint32_t level = p->c->settings->hierarchies[p->wish->demand->hierarchy].n_levels + 1;
    struct candidate at = {.ix = IX_NONE};
    bool fits = false;

    while (*left && !is_unbeatable(p) && next_host(p, free_gpus, &at)) {
        p->hosts.n = 0;
        gather_node(p, at.ix);
        if (!p->hosts.n || !try_gathered(p, level))
            continue;
        fits = true;
        --*left;
        if (p->pods == 1 && !p->least_free)
            p->least_free = free_gpus;
    }
    return fits;
}

/* The same with hosts, on which all GPUs of the gang must be. */
static bool try_hosts(struct paper *p, uint32_t left)
{
    bool fits = false;

    if (p->wish->on_empty) /* one that is free holds it as well as another */
        return p->gpus <= (uint64_t)p->c->most_gpus && try_empty_host(p, p->gpus);
    for (uint64_t f = p->gpus; f <= NODE_GPUS_MAX && left; f++)
        if (p->c->n_free[f])
            fits |= try_hosts_with(p, (uint32_t)f, &left);
    return fits;
}

/* The tightest two of a level; plain rules take the first. */
static bool try_level(struct paper *p, uint32_t level)
{
    uint32_t left = p->wish->rule == PLACE_SCORE ? 2 : 1;

    if (level == p->c->settings->hierarchies[p->wish->demand->hierarchy].n_levels)
        return try_hosts(p, left);
    return try_domains(p, level, left);
}

static void try_cluster(struct paper *p)
{
    p->hosts.n = 0;
    gather_all(p);
    (void)try_gathered(p, 0);
}

/* From the narrowest level to the widest; what fits at or below the preferred one ends it. */
static void try_levels(struct paper *p)
{
    uint32_t n_levels = p->c->settings->hierarchies[p->wish->demand->hierarchy].n_levels;
    uint32_t stop = p->required == IX_NONE ? 0 : p->required;
    bool is_widest = p->wish->rule != PLACE_SCORE || p->any_skew; /* and no narrower one */
    uint64_t free_gpus;

    memset(p->n_counting, 0, sizeof(p->n_counting));
    p->least_free = 0;
    if (!may_hold(p, IX_NONE, &free_gpus))
        return; /* nor will any part of it */
    if (is_widest && p->required != IX_NONE)
        (void)try_level(p, p->required);
    for (uint32_t l = n_levels + 1; !is_widest && l-- > stop;)
        if ((try_level(p, l) ? p->preferred != IX_NONE && l >= p->preferred
                             : p->pods == 1 && l == n_levels && !p->is_found) ||
            is_unbeatable(p))
            return; /* a single pod has no host, or what is wider is no better */
    if (p->required == IX_NONE)
        try_cluster(p);
}

static bool driver_may_hold(const struct paper *p)
{
    const struct demand *d = p->wish->demand;

    for (uint32_t r = 0; r < d->n_roles; r++)
        if (d->roles[r].same_driver && p->counts[r] && p->wish->models[r] < MODELS_MAX &&
            p->c->drivers.v[p->driver].nodes[p->wish->models[r]] == 0)
            return false;
    return true;
}

/* One driver for the gang: each by itself, the newest first; the best placement of all. */
static void try_drivers(struct paper *p)
{
    bool any = !p->wish->demand->same_driver || p->c->drivers.n < 2;

    p->driver = any ? IX_NONE : cluster_older_driver(p->c, IX_NONE);
    if (any)
        try_levels(p);
    for (; p->driver != IX_NONE; p->driver = cluster_older_driver(p->c, p->driver))
        if (driver_may_hold(p))
            try_levels(p);
}

/* The most that a role likes a host it may use, below a bound. */
static uint32_t next_liking(const struct paper *p, uint32_t bound)
{
    const struct demand *d = p->wish->demand;
    uint32_t best = 0;

    for (size_t i = 0; i < p->c->by_name.n; i++) {
        const struct node *n = p->c->nodes.v[p->c->by_name.v[i]];

        for (uint32_t r = 0; r < d->n_roles && n->is_usable; r++) {
            uint32_t likes = role_liking(&d->roles[r], n);

            if (likes > best && likes < bound && constraint_likes_some(d->roles[r].constraint) &&
                role_allows(&d->roles[r], n))
                best = likes;
        }
    }
    return best;
}

/* The same on preferred hosts alone, the best liked first, where the topology is none the worse. */
static void try_preferred(struct paper *p)
{
    struct placement_member *any_members = p->best_members;
    struct score any = p->best;

    p->best_members = xcalloc(p->pods, sizeof(*p->best_members));
    p->least = 1001;
    for (int tries = 0; tries < LIKINGS_TRIED; tries++) {
        p->least = next_liking(p, p->least);
        p->is_found = false;
        if (p->least)
            try_drivers(p);
        if (!p->least || (p->is_found && p->best.topology >= any.topology))
            break;
        p->is_found = false;
    }
    free(p->is_found ? any_members : p->best_members);
    if (p->is_found)
        return;
    p->is_found = true;
    p->best = any;
    p->best_members = any_members;
}

/* Levels and counts as the wish changes them. */
static void read_wish(struct paper *p)
{
    const struct place_wish *w = p->wish;
    const struct demand *d = w->demand;
    int64_t least = FREE_NONE;

    p->only_free = !w->on_empty;
    p->required = w->is_relaxed ? IX_NONE : d->required;
    p->preferred = w->is_relaxed && d->preferred == IX_NONE ? d->required : d->preferred;
    for (uint32_t r = 0; r < d->n_roles; r++) {
        p->counts[r] = w->counts ? w->counts[r] : d->roles[r].replicas;
        p->pods += p->counts[r];
        p->gpus += p->counts[r] * (uint64_t)d->roles[r].each.amount[RES_GPUS];
        p->only_free &= p->counts[r] == 0 || d->roles[r].each.amount[RES_GPUS] > 0;
        if (p->counts[r] && d->roles[r].each.amount[RES_GPUS] < least)
            least = d->roles[r].each.amount[RES_GPUS];
    }
    p->least_gpus = p->only_free ? (uint32_t)least : 0;
}

/* What one pod of each role takes, shares filled in. false: not known yet. */
static bool resolve_shares(struct paper *p, struct place_result *r)
{
    const struct demand *d = p->wish->demand;

    for (uint32_t i = 0; i < d->n_roles; i++) {
        const struct demand_role *role = &d->roles[i];

        p->each[i] = role->each;
        r->fixed_cpu_milli[i] = r->fixed_memory_bytes[i] = -1;
        if (role->has_cpu && role->has_memory)
            continue;
        if (!role->has_share)
            return false;
        if (!role->has_cpu)
            p->each[i].amount[RES_CPU] = r->fixed_cpu_milli[i] = role->share_cpu_milli;
        if (!role->has_memory)
            p->each[i].amount[RES_MEMORY] = r->fixed_memory_bytes[i] = role->share_memory_bytes;
    }
    return true;
}

/* The dimensions that some pod asks for, and GPUs. */
static void list_dims(struct paper *p)
{
    for (uint32_t k = 0; k < RESOURCES_MAX; k++) {
        int64_t asks = k == RES_GPUS;

        for (uint32_t r = 0; r < p->wish->demand->n_roles; r++)
            asks |= p->each[r].amount[k];
        if (asks)
            p->dims[p->n_dims++] = k;
    }
}

static void order_roles(struct paper *p)
{
    const struct demand *d = p->wish->demand;

    for (uint32_t i = 0; i < d->n_roles; i++) {
        uint32_t at = i;

        while (at > 0 && d->roles[p->order[at - 1]].each.amount[RES_GPUS] <
                             d->roles[i].each.amount[RES_GPUS]) {
            p->order[at] = p->order[at - 1];
            at--;
        }
        p->order[at] = i;
    }
}

bool place_gang(const struct cluster *c, const struct place_wish *wish, struct place_result *ret)
{
    struct paper p = {.c = c, .wish = wish};
    struct place_result r = {0};

    if (wish->demand->has_unknown_level || c->settings->n_hierarchies == 0)
        return false;
    if (!resolve_shares(&p, &r))
        return false;
    order_roles(&p);
    list_dims(&p);
    read_wish(&p);
    p.least_cost = wish->on_empty ? least_cost(&p) : 0;
    p.members = xcalloc(p.pods, sizeof(*p.members));
    p.best_members = xcalloc(p.pods, sizeof(*p.best_members));
    try_drivers(&p);
    p.any_skew = !p.is_found && wish->demand->has_soft_spread;
    if (p.any_skew)
        try_drivers(&p);
    if (p.is_found && wish->demand->has_likings && !wish->on_empty)
        try_preferred(&p);
    free(p.members);
    vec_fini(&p.hosts);
    if (!p.is_found) {
        free(p.best_members);
        return false;
    }
    r.members = p.best_members;
    r.score = p.best.total;
    r.topology = p.best.topology;
    r.packing = p.best.packing;
    *ret = r;
    return true;
}
