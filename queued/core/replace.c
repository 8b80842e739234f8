/* SPDX-License-Identifier: Apache-2.0 */
/* replace.c - one look over the nodes, with the rules of place.c for a single pod. */
#include "core/replace.h"

#include "cluster/cluster.h"
#include "core/place.h"
#include "core/window.h"

/* How good a host is; compared in this order, more is better but for free_gpus. */
struct merit {
    uint32_t shared; /* levels that it shares with the neighbour */
    bool is_used;    /* by the gang */
    int64_t free_gpus;
};

static bool is_better(const struct merit *a, const struct merit *b)
{
    if (a->shared != b->shared)
        return a->shared > b->shared;
    if (a->is_used != b->is_used)
        return a->is_used;
    return a->free_gpus < b->free_gpus;
}

/* The node of the member nearest by rank, in its slice, that sits on another known host; else its
 * own. */
static const struct node *neighbour_of(const struct state *s, const struct job *j,
                                       const struct member *m)
{
    const struct node *best = cluster_node(&s->cluster, m->node_ix);
    uint32_t best_gap = UINT32_MAX;
    bool is_sliced = job_slice(j, m);

    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct member *o = &j->members[i];
        const struct node *n = cluster_node(&s->cluster, o->node_ix);
        uint32_t gap = o->rank > m->rank ? o->rank - m->rank : m->rank - o->rank;

        if (o->node_ix == m->node_ix || !n || !n->is_known || gap >= best_gap ||
            (is_sliced && !job_shares_slice(j, m, o)))
            continue;
        best = n;
        best_gap = gap;
    }
    return best && best->is_known ? best : NULL;
}

/* Levels from the widest on at which both are in the same domain. */
static uint32_t shared_levels(const struct state *s, const struct demand *d, const struct node *a,
                              const struct node *b)
{
    uint32_t n = 0;

    for (uint32_t l = 0; l < s->settings->hierarchies[d->hierarchy].n_levels; l++) {
        uint32_t ix = topology_domain_at(&s->cluster.topology, a, d->hierarchy, l);

        n += ix != IX_NONE && ix == topology_domain_at(&s->cluster.topology, b, d->hierarchy, l);
    }
    return n;
}

static bool is_used(const struct job *j, uint32_t node_ix)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].node_ix == node_ix)
            return true;
    return false;
}

/* The driver of the hosts of the gang's other pods; IX_NONE: any will do. */
static uint32_t driver_of(const struct state *s, const struct job *j, const struct member *m)
{
    for (uint32_t i = 0; i < j->n_members && j->demand->roles[m->role].same_driver; i++) {
        const struct node *n = cluster_node(&s->cluster, j->members[i].node_ix);

        if (&j->members[i] != m && n && n->is_known && j->members[i].phase != MEMBER_SPARE &&
            j->demand->roles[j->members[i].role].same_driver)
            return n->driver;
    }
    return IX_NONE;
}

/* Does the skew of a role hold in this scope with its members on these nodes? */
static bool is_spread(const struct state *s, const struct job *j, const struct spread_scope *scope,
                      const uint32_t *at)
{
    const struct spread *groups = spread_groups(&s->cluster, scope->role);
    uint32_t *pods = xcalloc(groups->n_groups + 1, sizeof(*pods)), skew;

    for (uint32_t i = 0; i < j->n_members; i++) {
        uint32_t g = spread_group(groups, at[i]);

        if (&j->demand->roles[j->members[i].role] == scope->role && g != IX_NONE)
            pods[g]++;
    }
    skew = spread_skew(pods, groups->n_groups, spread_count(&s->cluster, scope));
    free(pods);
    return skew <= scope->role->spread.max_skew;
}

static bool must_spread(const struct demand_role *role)
{
    return role->spread.key && !role->spread.is_soft;
}

/* Its label may have been taken away. */
static bool is_grouped(const struct state *s, const struct demand_role *role, const struct node *n)
{
    return spread_group(spread_groups(&s->cluster, role), n->ix) != IX_NONE;
}

bool replace_keeps_spreads(const struct state *s, const struct job *j, const uint32_t *at)
{
    const struct demand *d = j->demand;
    bool is_bound = d->required != IX_NONE;

    if (is_bound && d->required >= s->settings->hierarchies[d->hierarchy].n_levels)
        return true; /* one host for all */
    for (uint32_t r = 0; r < d->n_roles; r++) {
        struct spread_scope scope = {&d->roles[r], j->models[r], IX_NONE, IX_NONE};

        for (uint32_t i = 0; i < j->n_members && must_spread(scope.role); i++) {
            const struct node *n = cluster_node(&s->cluster, at[i]);

            if (!n || j->members[i].role != r)
                continue;
            if (!is_grouped(s, scope.role, n))
                return false;
            scope.driver = n->driver;
            if (is_bound)
                scope.home = topology_domain_at(&s->cluster.topology, n, d->hierarchy, d->required);
        }
        if (must_spread(scope.role) && !is_spread(s, j, &scope, at))
            return false;
    }
    return true;
}

/* Does the skew of its role hold with m on this node? */
static bool keeps_spread(const struct state *s, const struct job *j, const struct member *m,
                         const struct node *n, uint32_t home)
{
    const struct demand_role *role = &j->demand->roles[m->role];
    struct spread_scope scope = {role, j->models[m->role], n->driver, home};
    uint32_t *at;
    bool keeps;

    if (!must_spread(role))
        return true;
    if (!is_grouped(s, role, n))
        return false;
    at = xcalloc(j->n_members, sizeof(*at));
    for (uint32_t i = 0; i < j->n_members; i++)
        at[i] = &j->members[i] == m ? n->ix : j->members[i].node_ix;
    keeps = is_spread(s, j, &scope, at);
    free(at);
    return keeps;
}

bool replace_is_good(const struct state *s, const struct job *j, uint32_t node_ix)
{
    const struct node *n = cluster_node(&s->cluster, node_ix);

    return n && n->is_usable && !place_excludes(j->excluded, node_ix);
}

static bool may_take(const struct job *j, const struct member *m, const struct node *n)
{
    const struct demand_role *role = &j->demand->roles[m->role];
    struct resources asks, others, free_now;

    if (!n->is_usable || n->ix == m->node_ix || place_excludes(j->excluded, n->ix))
        return false;
    if (j->models[m->role] != MODELS_MAX && n->model != j->models[m->role])
        return false;
    state_pod_asks(j, m->role, &asks);
    node_free(n, &free_now);
    if (resources_times(&asks, &free_now, 1) == 0 || !role_allows(role, n))
        return false;
    for (uint32_t i = 0; i < j->n_members; i++) { /* with those that may join there */
        const struct member *o = &j->members[i];

        if (o == m || o->node_ix != n->ix ||
            (o->phase != MEMBER_ABSENT && (o->mend != MEND_HOSTLESS || o->phase == MEMBER_KEPT)))
            continue;
        state_pod_asks(j, o->role, &others);
        resources_add(&asks, &others);
    }
    return resources_times(&asks, &free_now, 1) == 1;
}

/* What binds the member to the others. */
struct ties {
    const struct node *near; /* whose domain it must be in; NULL: out of sight */
    uint32_t level;          /* of that domain, the narrower one; IX_NONE: none */
    uint32_t home;           /* the domain itself */
    uint32_t driver;         /* of the gang's other hosts; IX_NONE: any will do */
};

static struct ties ties_of(const struct state *s, const struct job *j, const struct member *m)
{
    const struct demand *d = j->demand;
    struct ties t = {neighbour_of(s, j, m), job_slice(j, m) ? d->slice_level : d->required, IX_NONE,
                     driver_of(s, j, m)};

    if (t.level != IX_NONE && t.near)
        t.home = topology_domain_at(&s->cluster.topology, t.near, d->hierarchy, t.level);
    return t;
}

static bool joins(const struct state *s, const struct job *j, const struct ties *t,
                  const struct node *n)
{
    uint32_t h = j->demand->hierarchy;

    if (t->driver != IX_NONE && n->driver != t->driver)
        return false;
    return t->level == IX_NONE || n == t->near ||
           (t->home != IX_NONE &&
            topology_domain_at(&s->cluster.topology, n, h, t->level) == t->home);
}

bool replace_joins(const struct state *s, const struct job *j, const struct member *m,
                   const struct node *n)
{
    struct ties t = ties_of(s, j, m);

    if (!t.near)
        t.level = IX_NONE; /* nobody knows a better one */
    return joins(s, j, &t, n);
}

bool replace_fits(const struct state *s, const struct job *j, const struct member *m,
                  uint32_t node_ix)
{
    const struct node *n = cluster_node(&s->cluster, node_ix);

    return n && may_take(j, m, n) && replace_joins(s, j, m, n) &&
           !window_has(window_closed(s, j, s->now), node_ix);
}

uint32_t replace_host(const struct state *s, const struct job *j, const struct member *m)
{
    const struct ties t = ties_of(s, j, m);
    const uint64_t *closed = window_closed(s, j, s->now);
    uint32_t best = IX_NONE;
    struct merit best_merit = {0};

    for (size_t i = 0; i < s->cluster.by_name.n; i++) {
        const struct node *n = s->cluster.nodes.v[s->cluster.by_name.v[i]];
        struct merit merit = {.free_gpus = node_free_gpus(n)};

        if (!joins(s, j, &t, n) || !may_take(j, m, n) || window_has(closed, n->ix) ||
            !keeps_spread(s, j, m, n, t.home))
            continue;
        merit.shared = t.near ? shared_levels(s, j->demand, t.near, n) : 0;
        merit.is_used = is_used(j, n->ix);
        if (best == IX_NONE || is_better(&merit, &best_merit)) {
            best = n->ix;
            best_merit = merit;
        }
    }
    return best;
}
