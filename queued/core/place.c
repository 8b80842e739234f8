/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - one gang onto the cluster, on paper.
 *
 * The histograms of a domain reject and rank it; then the nodes of the chosen domain alone are
 * looked at, in depth-first path order, so that each narrower domain is one run of the list.
 * Filling a run takes the fullest unit that holds all that is left, else the unit that holds the
 * most, and recurses over levels (at most LEVELS_MAX deep); at the bottom pods are spread evenly
 * over the fewest hosts.
 */
#include "core/place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

/* A node of the domain under trial. */
struct host {
    uint32_t node_ix;
    uint32_t slots; /* pods of the role at hand that still fit */
    uint32_t taken; /* pods of the role at hand that were put here */
    struct resources free;
};

struct paper {
    const struct cluster *c;
    const struct place_wish *wish;
    const struct demand_role *role; /* at hand */
    struct resources each[JOB_ROLES_MAX];
    VEC(struct host) hosts;
    uint32_t order[JOB_ROLES_MAX]; /* roles, most GPUs first */
    struct placement_member *members;
};

/* A run of hosts that share a domain (or one host). */
struct unit {
    size_t first, n;
    uint64_t slots;
    int64_t free_gpus;
};

typedef VEC(struct unit) unit_list;

bool place_excludes(const uint32_t *excluded, uint32_t node_ix)
{
    for (int i = 0; excluded && i < JOB_EXCLUDED_MAX; i++)
        if (excluded[i] == node_ix)
            return true;
    return false;
}

static void gather_node(struct paper *p, uint32_t node_ix)
{
    const struct node *n = p->c->nodes.v[node_ix];
    struct host *h;

    if (!n->is_usable || place_excludes(p->wish->excluded, node_ix))
        return;
    h = vec_push(&p->hosts);
    h->node_ix = node_ix;
    if (p->wish->on_empty)
        h->free = n->total;
    else
        node_free(n, &h->free);
}

/* All usable nodes of a domain, narrower domains first, in path order. */
static void gather_domain(struct paper *p, uint32_t domain_ix)
{
    const struct domain *d = p->c->topology.domains.v[domain_ix];

    for (size_t i = 0; i < d->children.n; i++)
        gather_domain(p, d->children.v[i]);
    for (size_t i = 0; i < d->nodes.n; i++)
        gather_node(p, d->nodes.v[i]);
}

static void gather_all(struct paper *p)
{
    const struct topology *t = &p->c->topology;
    uint32_t h = p->wish->demand->hierarchy;

    for (size_t i = 0; i < t->top[h].n; i++)
        gather_domain(p, t->top[h].v[i]);
    for (size_t i = 0; i < t->bare[h].n; i++)
        gather_node(p, t->bare[h].v[i]);
}

/* Slots of every gathered host for the role at hand; returns their sum. */
static uint64_t count_slots(struct paper *p, uint32_t role)
{
    const struct demand_role *r = &p->wish->demand->roles[role];
    uint8_t model = p->wish->models[role];
    uint64_t sum = 0;

    p->role = r;
    for (size_t i = 0; i < p->hosts.n; i++) {
        struct host *h = &p->hosts.v[i];
        const struct node *n = p->c->nodes.v[h->node_ix];

        h->taken = h->slots = 0;
        if (model != MODELS_MAX && n->model != model)
            continue;
        h->slots = resources_times(&p->each[role], &h->free, r->replicas);
        if (h->slots && !role_allows(r, n))
            h->slots = 0;
        sum += h->slots;
    }
    return sum;
}

/* Cut a run into units by the domain of a level; hosts without one stand alone. */
static void split(const struct paper *p, size_t first, size_t n, uint32_t level, unit_list *ret)
{
    uint32_t hierarchy = p->wish->demand->hierarchy;
    uint32_t last = IX_NONE;

    for (size_t i = first; i < first + n; i++) {
        const struct host *h = &p->hosts.v[i];
        uint32_t d =
            topology_domain_at(&p->c->topology, p->c->nodes.v[h->node_ix], hierarchy, level);
        struct unit *u;

        if (d == IX_NONE || d != last)
            *vec_push(ret) = (struct unit){.first = i};
        last = d;
        u = &ret->v[ret->n - 1];
        u->n++;
        u->slots += h->slots;
        u->free_gpus += h->free.amount[RES_GPUS];
    }
}

/* The fullest unit that holds want, else the one that holds the most; NULL: nothing is left. */
static struct unit *choose_unit(unit_list *units, uint64_t want)
{
    struct unit *best = NULL;

    for (size_t i = 0; i < units->n; i++) {
        struct unit *u = &units->v[i];
        bool holds = u->slots >= want;
        bool best_holds = best && best->slots >= want;

        if (u->slots == 0)
            continue;
        if (!best || (holds && !best_holds))
            best = u;
        else if (holds && (u->slots < best->slots ||
                           (u->slots == best->slots && u->free_gpus < best->free_gpus)))
            best = u;
        else if (!holds && !best_holds && u->slots > best->slots)
            best = u;
    }
    return best;
}

static int by_most_slots(const void *a, const void *b)
{
    const struct host *x = *(const struct host *const *)a, *y = *(const struct host *const *)b;

    if (x->slots != y->slots)
        return x->slots > y->slots ? -1 : 1;
    return x < y ? -1 : x > y; /* position in the run: name order */
}

/* Fewest slots first: the fullest hosts. */
static int by_least_slots(const void *a, const void *b)
{
    const struct host *x = *(const struct host *const *)a, *y = *(const struct host *const *)b;

    if (x->slots != y->slots)
        return x->slots < y->slots ? -1 : 1;
    if (x->free.amount[RES_GPUS] != y->free.amount[RES_GPUS])
        return x->free.amount[RES_GPUS] < y->free.amount[RES_GPUS] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Put share pods each on `hosts` of the fullest hosts that hold so many; false: not so many. */
static bool spread(struct host **v, size_t n, uint32_t share, size_t hosts)
{
    size_t found = 0;

    for (size_t i = 0; i < n && found < hosts; i++) {
        if (v[i]->slots >= share && v[i]->taken == 0) {
            v[i]->taken = share;
            found++;
        }
    }
    return found == hosts;
}

/* want pods over the fewest hosts of a run, evenly and on the fullest; the run holds them. */
static void fill_hosts(struct paper *p, size_t first, size_t n, uint32_t want)
{
    struct host **v = xmalloc(n * sizeof(struct host *));
    uint32_t hosts = 0, held = 0;
    uint32_t base, extra;

    for (size_t i = 0; i < n; i++)
        v[i] = &p->hosts.v[first + i];
    qsort(v, n, sizeof(struct host *), by_most_slots);
    while (held < want)
        held += v[hosts++]->slots;
    assert(hosts); /* nobody asks for no pod */
    base = want / hosts;
    extra = want % hosts;
    qsort(v, n, sizeof(struct host *), by_least_slots);
    if (!spread(v, n, base + 1, extra) || !spread(v, n, base, hosts - extra)) {
        /* uneven hosts: the biggest ones full, the last one takes the rest */
        qsort(v, n, sizeof(struct host *), by_most_slots);
        for (size_t i = 0; i < n; i++) {
            v[i]->taken = want < v[i]->slots ? want : v[i]->slots;
            want -= v[i]->taken;
        }
    }
    free(v);
}

/* want pods of the role at hand into a run of hosts that holds them. */
static void fill(struct paper *p, const struct unit *run, uint32_t level, uint32_t want)
{
    uint32_t n_levels = p->c->settings->hierarchies[p->wish->demand->hierarchy].n_levels;
    unit_list units = {0};

    if (level >= n_levels) {
        fill_hosts(p, run->first, run->n, want);
        return;
    }
    split(p, run->first, run->n, level, &units);
    while (want) {
        struct unit *u = choose_unit(&units, want);
        uint32_t part;

        assert(u); /* the caller has counted the slots */
        part = u->slots < want ? (uint32_t)u->slots : want;
        fill(p, u, level + 1, part);
        u->slots = 0; /* used up, or nothing is wanted any more */
        want -= part;
    }
    vec_fini(&units);
}

static void write_members(struct paper *p, uint32_t role)
{
    const struct demand *d = p->wish->demand;
    uint32_t at = 0;

    for (uint32_t r = 0; r < role; r++)
        at += d->roles[r].replicas;
    for (size_t i = 0; i < p->hosts.n; i++) {
        struct host *h = &p->hosts.v[i];

        for (uint32_t k = 0; k < h->taken; k++) {
            (void)resources_sub(&h->free, &p->each[role]);
            p->members[at] = (struct placement_member){.node_ix = h->node_ix, .rank = at};
            at++;
        }
    }
}

/* All roles into the hosts gathered; false: some role does not fit. */
static bool fit_gathered(struct paper *p, uint32_t level)
{
    const struct demand *d = p->wish->demand;

    for (uint32_t i = 0; i < d->n_roles; i++) {
        uint32_t role = p->order[i];
        struct unit all = {.n = p->hosts.n};

        all.slots = count_slots(p, role);
        if (all.slots < d->roles[role].replicas)
            return false;
        fill(p, &all, level, d->roles[role].replicas);
        write_members(p, role);
    }
    return true;
}

/* Could each role with GPUs fit by free GPUs alone? Histograms of a domain, or of all. */
static bool may_hold(const struct paper *p, struct free_histogram *const by_model[MODELS_MAX],
                     uint64_t *ret_free)
{
    const struct demand *d = p->wish->demand;

    *ret_free = 0;
    if (p->wish->on_empty)
        return true; /* the histograms know of what is free only */
    for (uint32_t r = 0; r < d->n_roles; r++) {
        uint8_t m = p->wish->models[r];
        uint32_t gpus = (uint32_t)d->roles[r].each.amount[RES_GPUS];

        if (m == MODELS_MAX)
            continue;
        if (histogram_slots(by_model[m], gpus) < d->roles[r].replicas)
            return false;
        *ret_free += by_model[m]->free_gpus;
    }
    return true;
}

struct candidate {
    uint64_t free_gpus;
    uint32_t order; /* path order on its level */
    uint32_t ix;    /* domain, or node on the host level */
};

typedef VEC(struct candidate) candidate_list;

static int by_best_fit(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->free_gpus != y->free_gpus)
        return x->free_gpus < y->free_gpus ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Is this domain (IX_NONE: none) inside one of the required level? A level that is asked for is
 * asked of every host, also where a narrower preferred level is tried. */
static bool is_inside_required(const struct paper *p, uint32_t ix)
{
    const struct demand *d = p->wish->demand;
    const struct topology *t = &p->c->topology;

    if (d->required >= p->c->settings->hierarchies[d->hierarchy].n_levels)
        return true; /* none, or the host itself */
    while (ix != IX_NONE && t->domains.v[ix]->level > d->required)
        ix = t->domains.v[ix]->parent;
    return ix != IX_NONE && t->domains.v[ix]->level == d->required;
}

static void candidate_domains(const struct paper *p, uint32_t level, candidate_list *ret)
{
    const struct topology *t = &p->c->topology;
    uint32_t h = p->wish->demand->hierarchy;

    for (size_t i = 0; i < t->by_level[h][level].n; i++) {
        uint32_t ix = t->by_level[h][level].v[i];
        uint64_t free_gpus;

        if (is_inside_required(p, ix) && may_hold(p, t->domains.v[ix]->by_model, &free_gpus))
            *vec_push(ret) =
                (struct candidate){.free_gpus = free_gpus, .order = (uint32_t)i, .ix = ix};
    }
}

/* On the host level every usable node that could take all GPUs of the gang. */
static void candidate_hosts(const struct paper *p, candidate_list *ret)
{
    const struct demand *d = p->wish->demand;

    for (size_t i = 0; i < p->c->by_name.n; i++) {
        const struct node *n = p->c->nodes.v[p->c->by_name.v[i]];
        int64_t free_gpus = p->wish->on_empty ? n->total.amount[RES_GPUS] : node_free_gpus(n);

        if (n->is_usable && (uint64_t)free_gpus >= d->gpus &&
            is_inside_required(p, n->domain[d->hierarchy]))
            *vec_push(ret) = (struct candidate){
                .free_gpus = (uint64_t)free_gpus, .order = (uint32_t)i, .ix = n->ix};
    }
}

static bool try_level(struct paper *p, uint32_t level)
{
    uint32_t n_levels = p->c->settings->hierarchies[p->wish->demand->hierarchy].n_levels;
    candidate_list list = {0};
    bool fits = false;

    if (level == n_levels)
        candidate_hosts(p, &list);
    else
        candidate_domains(p, level, &list);
    if (list.n)
        qsort(list.v, list.n, sizeof(list.v[0]), by_best_fit);
    for (size_t i = 0; i < list.n && !fits; i++) {
        p->hosts.n = 0;
        if (level == n_levels)
            gather_node(p, list.v[i].ix);
        else
            gather_domain(p, list.v[i].ix);
        fits = fit_gathered(p, level + 1);
    }
    vec_fini(&list);
    return fits;
}

static bool try_cluster(struct paper *p)
{
    p->hosts.n = 0;
    gather_all(p);
    return fit_gathered(p, 0);
}

static bool try_levels(struct paper *p)
{
    const struct demand *d = p->wish->demand;
    uint32_t stop = d->required == IX_NONE ? 0 : d->required;
    uint64_t free_gpus;

    if (!may_hold(p, p->c->topology.all, &free_gpus))
        return false; /* nor will any part of it */
    if (d->preferred != IX_NONE)
        for (uint32_t l = d->preferred + 1; l > stop; l--)
            if (try_level(p, l - 1))
                return true;
    if (d->preferred == IX_NONE && d->required != IX_NONE)
        return try_level(p, d->required);
    return d->required == IX_NONE && try_cluster(p);
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
    p.members = xcalloc(wish->demand->pods, sizeof(*p.members));
    if (!try_levels(&p)) {
        free(p.members);
        vec_fini(&p.hosts);
        return false;
    }
    vec_fini(&p.hosts);
    r.members = p.members;
    *ret = r;
    return true;
}
