/* SPDX-License-Identifier: Apache-2.0 */
/* place_fill.c - which hosts of a domain take how many pods.
 *
 * Filling a run of hosts takes the fullest unit that holds all that is left, else the unit that
 * holds the most, and recurses over levels (at most LEVELS_MAX deep); at the bottom pods are spread
 * evenly over the fewest hosts. The plain rules of simulators are beside it.
 */
#include "core/place_fill.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A run of hosts that share a domain (or one host). */
struct unit {
    size_t first, n;
    uint64_t slots;
    int64_t free_gpus;
};

typedef VEC(struct unit) unit_list;

static bool is_open(const struct paper *p, uint32_t node_ix)
{
    const struct place_wish *w = p->wish;
    const struct topology *t = &p->c->topology;

    if (p->c->free_of.v[node_ix] == FREE_NONE || place_excludes(w->excluded, node_ix))
        return false;
    if (w->closed && (w->closed[node_ix / 64] >> (node_ix % 64) & 1))
        return false;
    return !w->within || topology_domain_at(t, p->c->nodes.v[node_ix], w->within->hierarchy,
                                            w->within->level) == w->within->ix;
}

static int64_t free_of(const struct paper *p, const struct node *n, uint32_t dim)
{
    int64_t least = n->total.amount[dim] - (p->wish->on_empty ? 0 : n->used.amount[dim]);

    for (uint32_t i = 0; i < p->wish->n_beside; i++) {
        const struct node *o = p->wish->beside[i]->nodes.v[n->ix];
        int64_t other = o->total.amount[dim] - o->used.amount[dim];

        least = other < least ? other : least;
    }
    return least < 0 ? 0 : least; /* foreign pods may have taken more than there is */
}

/* GPUs free on an open host, the least of all forks, where that is known without a look at it. */
static uint32_t free_at_a_glance(const struct paper *p, uint32_t node_ix)
{
    uint32_t least = p->c->free_of.v[node_ix];

    for (uint32_t i = 0; i < p->wish->n_beside; i++) {
        uint32_t other = p->wish->beside[i]->free_of.v[node_ix];

        least = other < least ? other : least; /* FREE_NONE is more than any */
    }
    return least;
}

static void gather_host(struct paper *p, uint32_t node_ix, uint32_t domain)
{
    const struct node *n = p->c->nodes.v[node_ix];
    uint32_t free_gpus = free_at_a_glance(p, node_ix);
    struct place_host *h;

    if ((p->only_free && p->c->free_of.v[node_ix] == 0) || !is_open(p, node_ix))
        return;
    vec_reserve(&p->hosts, p->hosts.n + 1); /* what is not set here is set before it is read */
    h = &p->hosts.v[p->hosts.n++];
    h->node_ix = node_ix;
    h->domain = domain;
    h->pods = 0;
    h->gpus = h->cpu_milli = 0;
    h->free.amount[RES_GPUS] = free_gpus;
    if (free_gpus < p->least_gpus)
        return; /* it has no slot for any role, and counts for what is free around it */
    for (uint32_t k = 0; k < p->n_dims; k++)
        h->free.amount[p->dims[k]] = free_of(p, n, p->dims[k]);
}

void gather_node(struct paper *p, uint32_t node_ix)
{
    gather_host(p, node_ix, p->c->nodes.v[node_ix]->domain[p->wish->demand->hierarchy]);
}

/* All usable nodes of a domain, narrower domains first, in path order. */
void gather_domain(struct paper *p, uint32_t domain_ix)
{
    const struct domain *d = p->c->topology.domains.v[domain_ix];

    if (p->only_free && p->c->topology.free_of.v[domain_ix] == 0)
        return;
    for (size_t i = 0; i < d->children.n; i++)
        gather_domain(p, d->children.v[i]);
    for (size_t i = 0; i < d->nodes.n; i++)
        gather_host(p, d->nodes.v[i], domain_ix);
}

void gather_all(struct paper *p)
{
    const struct topology *t = &p->c->topology;
    uint32_t h = p->wish->demand->hierarchy;

    for (size_t i = 0; i < t->top[h].n; i++)
        gather_domain(p, t->top[h].v[i]);
    for (size_t i = 0; i < t->bare[h].n; i++)
        gather_node(p, t->bare[h].v[i]);
}

/* Cut a run into units by the domain of a level; hosts without one stand alone. */
static void split(const struct paper *p, size_t first, size_t n, uint32_t level, unit_list *ret)
{
    uint32_t last = IX_NONE;

    for (size_t i = first; i < first + n; i++) {
        const struct place_host *h = &p->hosts.v[i];
        uint32_t d = topology_around(&p->c->topology, h->domain, level);
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

/* Slots of each domain of the slice level, cut to whole slices; returns their sum. */
static uint64_t cut_to_slices(struct paper *p)
{
    const struct demand *d = p->wish->demand;
    bool is_host = d->slice_level == p->c->settings->hierarchies[d->hierarchy].n_levels;
    unit_list units = {0};
    uint64_t sum = 0;

    p->together = is_host ? d->slice_size : 1;
    split(p, 0, p->hosts.n, d->slice_level, &units);
    for (size_t i = 0; i < units.n; i++) {
        const struct unit *u = &units.v[i];
        uint64_t keep = u->slots - u->slots % d->slice_size;

        if (!is_host && topology_around(&p->c->topology, p->hosts.v[u->first].domain,
                                        d->slice_level) == IX_NONE)
            keep = 0;
        sum += keep;
        for (size_t k = u->first; k < u->first + u->n; k++) {
            struct place_host *h = &p->hosts.v[k];

            h->slots = h->slots < keep ? h->slots : (uint32_t)keep;
            keep -= h->slots;
        }
    }
    vec_fini(&units);
    return sum;
}

/* A spare can take over in its domain of the slice level alone: where the gang stands, if there is
 * room for all of them. */
static uint64_t keep_near_slices(struct paper *p, uint64_t all)
{
    uint64_t near = 0;
    unit_list units = {0};

    split(p, 0, p->hosts.n, p->wish->demand->slice_level, &units);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < units.n && (!pass || near >= p->n_apart); i++) {
            struct place_host *h = &p->hosts.v[units.v[i].first];
            uint32_t pods = 0;

            for (size_t k = 0; k < units.v[i].n; k++)
                pods += h[k].pods;
            near += !pass && pods ? units.v[i].slots : 0;
            for (size_t k = 0; k < units.v[i].n && pass && !pods; k++)
                h[k].slots = 0;
        }
    vec_fini(&units);
    return near >= p->n_apart ? near : all;
}

static uint32_t times(const struct paper *p, uint32_t role, const struct place_host *h)
{
    const struct resources *each = &p->each[role];
    int64_t n = p->counts[role];

    for (uint32_t k = 0; k < p->n_dims && n > 0; k++) {
        uint32_t dim = p->dims[k];

        if (each->amount[dim] > 0 && h->free.amount[dim] / each->amount[dim] < n)
            n = h->free.amount[dim] / each->amount[dim];
    }
    return (uint32_t)n;
}

/* Slots of every gathered host for the role at hand; returns their sum. */
static uint64_t count_slots(struct paper *p, uint32_t role)
{
    const struct demand_role *r = &p->wish->demand->roles[role];
    uint8_t model = p->wish->models[role];
    uint64_t sum = 0;

    p->together = 1;
    for (size_t i = 0; i < p->hosts.n; i++) {
        struct place_host *h = &p->hosts.v[i];
        const struct node *n = p->c->nodes.v[h->node_ix];

        h->taken = h->slots = 0;
        if (h->free.amount[RES_GPUS] < r->each.amount[RES_GPUS])
            continue;
        if (model != MODELS_MAX && n->model != model)
            continue;
        if (p->driver != IX_NONE && r->same_driver && n->driver != p->driver)
            continue;
        h->slots = times(p, role, h);
        if (h->slots && (!role_allows(r, n) || (p->least && role_liking(r, n) < p->least)))
            h->slots = 0;
        sum += h->slots;
    }
    if (!p->wish->demand->slice_size || r->each.amount[RES_GPUS] == 0)
        return sum;
    return p->n_apart ? keep_near_slices(p, sum) : cut_to_slices(p);
}

/* The fullest unit that holds want, else the one that holds the most; NULL: nothing is left. */
static struct unit *choose_unit(unit_list *units, uint64_t want, bool is_fullest)
{
    struct unit *best = NULL;

    for (size_t i = 0; i < units->n; i++) {
        struct unit *u = &units->v[i];
        bool holds = u->slots >= want;
        bool best_holds = best && best->slots >= want;
        bool is_better = !best || (holds && !best_holds);

        if (u->slots == 0)
            continue;
        if (!is_better && holds == best_holds && u->slots != best->slots)
            is_better = holds == (u->slots < best->slots);
        else if (!is_better && holds == best_holds)
            is_better = is_fullest && u->free_gpus < best->free_gpus;
        if (is_better)
            best = u;
    }
    return best;
}

static int by_most_slots(const void *a, const void *b)
{
    const struct place_host *x = *(const struct place_host *const *)a,
                            *y = *(const struct place_host *const *)b;

    if (x->slots != y->slots)
        return x->slots > y->slots ? -1 : 1;
    return x < y ? -1 : x > y; /* position in the run: name order */
}

/* Fewest slots first: the fullest hosts. */
static int by_least_slots(const void *a, const void *b)
{
    const struct place_host *x = *(const struct place_host *const *)a,
                            *y = *(const struct place_host *const *)b;

    if (x->slots != y->slots)
        return x->slots < y->slots ? -1 : 1;
    if (x->free.amount[RES_GPUS] != y->free.amount[RES_GPUS])
        return x->free.amount[RES_GPUS] < y->free.amount[RES_GPUS] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Put share pods each on `hosts` of the fullest hosts that hold so many; false: not so many. */
static bool spread(struct place_host **v, size_t n, uint32_t share, size_t hosts)
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
    struct place_host **v = xmalloc(n * sizeof(struct place_host *));
    uint32_t hosts = 0, held = 0;
    uint32_t base, extra;

    want /= p->together;
    for (size_t i = 0; i < n; i++) {
        v[i] = &p->hosts.v[first + i];
        v[i]->slots /= p->together;
    }
    qsort(v, n, sizeof(struct place_host *), by_most_slots);
    while (held < want)
        held += v[hosts++]->slots;
    assert(hosts); /* nobody asks for no pod */
    base = want / hosts;
    extra = want % hosts;
    qsort(v, n, sizeof(struct place_host *), by_least_slots);
    if (!spread(v, n, base + 1, extra) || !spread(v, n, base, hosts - extra)) {
        /* uneven hosts: the biggest ones full, the last one takes the rest */
        qsort(v, n, sizeof(struct place_host *), by_most_slots);
        for (size_t i = 0; i < n; i++) {
            v[i]->taken = want < v[i]->slots ? want : v[i]->slots;
            want -= v[i]->taken;
        }
    }
    for (size_t i = 0; i < n; i++)
        v[i]->taken *= p->together;
    free(v);
}

/* Below the last level PLACE_TOPO takes hosts like domains. */
static void fill(struct paper *p, const struct unit *run, uint32_t level, uint32_t want)
{
    uint32_t n_levels = p->c->settings->hierarchies[p->wish->demand->hierarchy].n_levels;
    bool is_topo = p->wish->rule == PLACE_TOPO;
    unit_list units = {0};

    if (level >= n_levels && !is_topo) {
        fill_hosts(p, run->first, run->n, want);
        return;
    }
    if (level > n_levels) {
        p->hosts.v[run->first].taken = want;
        return;
    }
    split(p, run->first, run->n, level, &units);
    while (want) {
        struct unit *u = choose_unit(&units, want, !is_topo || level == n_levels);
        uint32_t part;

        assert(u); /* the caller has counted the slots */
        part = u->slots < want ? (uint32_t)u->slots : want;
        fill(p, u, level + 1, part);
        u->slots = 0; /* used up, or nothing is wanted any more */
        want -= part;
    }
    vec_fini(&units);
}

struct rule_order {
    int64_t key;
    const char *name;
    struct place_host *host;
};

static int by_rule_order(const void *a, const void *b)
{
    const struct rule_order *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* PLACE_BESTFIT and PLACE_SPREAD: hosts one after the other, full. */
static void fill_in_order(struct paper *p, uint32_t want)
{
    struct rule_order *v = xmalloc((p->hosts.n + 1) * sizeof(*v));

    for (size_t i = 0; i < p->hosts.n; i++) {
        struct place_host *h = &p->hosts.v[i];
        int64_t gpus = h->free.amount[RES_GPUS];

        v[i].host = h;
        v[i].name = p->c->nodes.v[h->node_ix]->name;
        v[i].key = p->wish->rule == PLACE_SPREAD ? -gpus : gpus;
    }
    qsort(v, p->hosts.n, sizeof(*v), by_rule_order);
    for (size_t i = 0; want; i++) {
        struct place_host *h = v[i].host;

        h->taken = want < h->slots ? want : h->slots;
        want -= h->taken;
    }
    free(v);
}

/* PLACE_TOPO on one host: the fullest, then the first by name, that holds all. */
static bool fill_one_host(struct paper *p, uint32_t want)
{
    struct place_host *best = NULL;

    for (size_t i = 0; i < p->hosts.n; i++) {
        struct place_host *h = &p->hosts.v[i];
        int64_t spare = best ? h->free.amount[RES_GPUS] - best->free.amount[RES_GPUS] : -1;

        if (h->slots >= want &&
            (spare < 0 || (spare == 0 && strcmp(p->c->nodes.v[h->node_ix]->name,
                                                p->c->nodes.v[best->node_ix]->name) < 0)))
            best = h;
    }
    if (best)
        best->taken = want;
    return best != NULL;
}

/* The smallest level with a domain that holds all; there the one with the least spare slots. */
static void fill_topo(struct paper *p, const struct unit *all, uint32_t want)
{
    uint32_t level = p->c->settings->hierarchies[p->wish->demand->hierarchy].n_levels;
    bool is_found = fill_one_host(p, want);

    while (!is_found && level-- > 0) {
        unit_list units = {0};
        const struct unit *u;

        split(p, all->first, all->n, level, &units);
        u = choose_unit(&units, want, false);
        is_found = u && u->slots >= want;
        if (is_found)
            fill(p, u, level + 1, want);
        vec_fini(&units);
    }
    if (!is_found)
        fill(p, all, 0, want);
}

/* As the members of a role from this one on. */
static void write_members(struct paper *p, uint32_t role, uint32_t at)
{
    for (size_t i = 0; i < p->hosts.n; i++) {
        struct place_host *h = &p->hosts.v[i];

        h->pods += h->taken;
        h->gpus += h->taken * p->each[role].amount[RES_GPUS];
        h->cpu_milli += h->taken * p->each[role].amount[RES_CPU];
        for (uint32_t k = 0; h->taken && k < p->n_dims; k++)
            h->free.amount[p->dims[k]] -= h->taken * p->each[role].amount[p->dims[k]];
        for (uint32_t k = 0; k < h->taken; k++) {
            p->members[at] = (struct placement_member){.node_ix = h->node_ix, .rank = at};
            at++;
        }
    }
}

/* Groups over which a role spreads, inside the required domain that the hosts share. */
static uint32_t count_groups(struct paper *p, uint32_t role)
{
    const struct demand *d = p->wish->demand;
    struct spread_scope scope = {&d->roles[role], p->wish->models[role], p->driver, IX_NONE};
    const struct node *n = p->c->nodes.v[p->hosts.v[0].node_ix];

    if (p->required < p->c->settings->hierarchies[d->hierarchy].n_levels)
        scope.home = topology_domain_at(&p->c->topology, n, d->hierarchy, p->required);
    else if (p->required != IX_NONE)
        return 1; /* one host for all */
    if (scope.home != IX_NONE)
        return spread_count(p->c, &scope);
    if (!p->n_counting[role])
        p->n_counting[role] = spread_count(p->c, &scope);
    return p->n_counting[role];
}

/* The hosts that have room, by group; returns how many groups. */
static uint32_t list_shares(const struct paper *p, const struct spread *s, bool any,
                            struct spread_share *ret)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->hosts.n; i++) {
        const struct place_host *h = &p->hosts.v[i];
        uint32_t g = spread_group(s, h->node_ix);

        if (h->slots && (g != IX_NONE || any))
            ret[n++] = (struct spread_share){.group = g,
                                             .first = i,
                                             .last = i,
                                             .room = h->slots,
                                             .free_gpus = h->free.amount[RES_GPUS]};
    }
    return spread_merge(ret, n);
}

/* Pods of a share onto its hosts, as without that wish. */
static void fill_share(struct paper *p, const struct spread *s, const struct spread_share *share,
                       uint32_t level)
{
    struct unit run = {.first = share->first, .n = share->last - share->first + 1};
    uint32_t *slots = xcalloc(run.n, sizeof(*slots)), *taken = xcalloc(run.n, sizeof(*taken));
    struct place_host *h = &p->hosts.v[run.first];

    for (size_t i = 0; i < run.n; i++) {
        slots[i] = h[i].slots;
        taken[i] = h[i].taken;
        h[i].taken = 0;
        h[i].slots = spread_group(s, h[i].node_ix) == share->group ? slots[i] : 0;
    }
    fill(p, &run, level, share->pods);
    for (size_t i = 0; i < run.n; i++) {
        h[i].slots = slots[i];
        h[i].taken += taken[i];
    }
    free(slots);
    free(taken);
}

static bool fill_spread(struct paper *p, uint32_t role, uint32_t level, uint32_t want)
{
    const struct spread *s = spread_groups(p->c, &p->wish->demand->roles[role]);
    struct spread_share *v = xcalloc(p->hosts.n + 1, sizeof(*v));
    bool any = p->any_skew && s->is_soft, holds;
    uint32_t n = list_shares(p, s, any, v), skew = spread_evenly(v, n, UINT32_MAX, want);

    if (skew != UINT32_MAX && skew > s->max_skew && !any)
        skew = spread_evenly(v, n, count_groups(p, role), want);
    holds = skew != UINT32_MAX && (any || skew <= s->max_skew);
    for (uint32_t i = 0; i < n && holds; i++)
        if (v[i].pods)
            fill_share(p, s, &v[i], level);
    free(v);
    return holds;
}

/* So many pods of a role, which are its members from `first` on. */
static bool fit_pods(struct paper *p, uint32_t role, uint32_t level, uint32_t first, uint32_t want)
{
    struct unit all = {.n = p->hosts.n, .slots = count_slots(p, role)};

    if (all.slots < want)
        return false;
    if (p->wish->demand->roles[role].spread.key) {
        if (!fill_spread(p, role, level, want))
            return false;
    } else if (p->wish->rule == PLACE_SCORE)
        fill(p, &all, level, want);
    else if (p->wish->rule == PLACE_TOPO)
        fill_topo(p, &all, want);
    else
        fill_in_order(p, want);
    write_members(p, role, first);
    return true;
}

bool fit_gathered(struct paper *p, uint32_t level)
{
    const struct demand *d = p->wish->demand;

    for (uint32_t i = 0; i < d->n_roles; i++) {
        uint32_t role = p->order[i], want = p->counts[role], first = 0;
        uint32_t apart =
            d->slice_size && d->roles[role].each.amount[RES_GPUS] ? d->roles[role].spares : 0;

        for (uint32_t r = 0; r < role; r++)
            first += p->counts[r];
        p->n_apart = 0;
        if (want > apart && !fit_pods(p, role, level, first, want - apart))
            return false;
        p->n_apart = apart;
        if (want && apart && !fit_pods(p, role, level, first + want - apart, apart))
            return false;
    }
    return true;
}
