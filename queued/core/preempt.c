/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.c - victims by domain of the required level, the domains by a bound of their cost.
 *
 * Cost, compared in this order: highest priority, number of gangs, GPU time lost. In a domain the
 * shortest run of victims, cheapest first, with which the taker fits is found by halving (more
 * victims never hurt); then each is given back, the dearest first, if the taker still fits.
 */
#include "core/preempt.h"

#include <stdlib.h>
#include <string.h>

#include "core/backfill.h"
#include "core/cycle.h"
#include "core/future.h"
#include "core/job_life.h"

enum { DOMAINS_MAX = 16 /* looked at for one plan */, LOOK_AGAIN_US = 5 * USEC_PER_SEC };

__extension__ typedef unsigned __int128 wide_t;

/* What a gang gives in one domain. */
struct part {
    struct job *job;
    uint32_t domain;
    uint64_t gain; /* GPUs that the taker may use, at most what it needs */
    uint64_t lost; /* GPU-microseconds since its start */
};

struct cost {
    int32_t priority;
    uint64_t gangs, lost;
};

/* The parts of one domain. */
struct choice {
    size_t from, to;
    struct cost bound;
};

struct plan {
    struct state *s;
    struct state shadow; /* s, but for what tenants use once the victims are gone */
    struct job *taker;
    usec_t now;
    struct tenant *base; /* the tenants before any victim */
    struct cluster *fork;
    uint64_t *closed;
    uint64_t need;
    uint64_t gpus[MODELS_MAX]; /* that the taker would be charged */
    VEC(struct part) parts;
    VEC(struct choice) choices;
    VEC(struct part *) out; /* victims in order; the first n_out are gone from the fork */
    size_t n_out;
    struct event found; /* placement of the last try that fitted */
    struct event best;
    struct cost best_cost;
};

static bool goes_by_priority(const struct state *s, const struct job *j)
{
    uint32_t normal = settings_class(s->settings, "normal");

    return normal != IX_NONE && j->priority > s->settings->classes[normal].value;
}

/* The models that its roles would take: the first that each may use and the cluster has. */
static void guess_models(const struct state *s, const struct job *j, uint8_t *ret)
{
    memset(ret, MODELS_MAX, JOB_ROLES_MAX);
    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        const struct demand_role *role = &j->demand->roles[r];
        uint32_t n = role->n_models ? role->n_models : s->settings->n_models;

        for (uint32_t i = n; i-- > 0 && role->each.amount[RES_GPUS];) {
            uint32_t m = role->n_models ? role->models[i] : i;

            if (m < s->settings->n_models && s->cluster.model_gpus[m] > 0)
                ret[r] = (uint8_t)m;
        }
    }
}

static bool is_inside(const struct tenants *t, const struct job *j, const uint64_t *gpus)
{
    bool has_gpus = false;

    for (uint32_t m = 0; m < MODELS_MAX; m++) {
        if (gpus[m] && !tenant_in_quota(t, j->tenant_ix, m, gpus[m]))
            return false;
        has_gpus = has_gpus || gpus[m];
    }
    return has_gpus;
}

bool preempt_may(const struct state *s, const struct job *j)
{
    uint8_t models[JOB_ROLES_MAX];
    uint64_t gpus[MODELS_MAX];

    guess_models(s, j, models);
    job_gpus(j, models, gpus);
    return goes_by_priority(s, j) || is_inside(&s->tenants, j, gpus);
}

/* May the taker have this victim's GPUs of a model, as the tenants are now? */
static bool may_take(const struct plan *p, const struct job *v, uint32_t model)
{
    const struct tenants *t = &p->shadow.tenants;
    const struct job *j = p->taker;
    bool is_lower = goes_by_priority(p->s, j) && v->priority < j->priority;
    uint64_t gpus[MODELS_MAX], own, other, own_used, other_used;
    uint32_t own_at, other_at;

    own = tenant_quota(t, j->tenant_ix, model, &own_at);
    other = tenant_quota(t, v->tenant_ix, model, &other_at);
    if (own_at == other_at && (own_at != IX_NONE || j->tenant_ix == v->tenant_ix))
        return is_lower;
    other_used = t->v[other_at == IX_NONE ? v->tenant_ix : other_at].used[model];
    if (other_used <= other)
        return false;
    if (is_inside(t, j, p->gpus))
        return true;
    job_gpus(v, v->models, gpus);
    own_used = t->v[own_at == IX_NONE ? j->tenant_ix : own_at].used[model] + p->gpus[model];
    other_used -= gpus[model];
    return is_lower && own > 0 && (wide_t)own_used * other < (wide_t)other_used * own;
}

static bool is_legal(const struct plan *p, const struct job *v)
{
    uint64_t gpus[MODELS_MAX];

    if (p->need == 0) /* CPU alone: nothing to reclaim */
        return v->tenant_ix == p->taker->tenant_ix && goes_by_priority(p->s, p->taker) &&
               v->priority < p->taker->priority;
    job_gpus(v, v->models, gpus);
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        if (gpus[m] && p->gpus[m] && may_take(p, v, m))
            return true;
    return false;
}

static bool is_candidate(const struct plan *p, const struct job *v)
{
    return v->state == JOB_RUNNING && v->demand->is_preemptible && !v->is_leaving &&
           v->tenant_ix != IX_NONE && v->running_at + p->s->settings->min_runtime_us <= p->now &&
           is_legal(p, v);
}

static uint32_t domain_of(const struct plan *p, const struct node *n)
{
    const struct demand *d = p->taker->demand;

    if (d->required == IX_NONE)
        return 0;
    if (d->required >= p->s->settings->hierarchies[d->hierarchy].n_levels)
        return n->ix;
    return topology_domain_at(&p->s->cluster.topology, n, d->hierarchy, d->required);
}

static void add_parts(struct plan *p, struct job *v)
{
    uint64_t lost = (uint64_t)(p->now - v->running_at) * v->charged_gpus;
    size_t first = p->parts.n;

    for (uint32_t i = 0; i < v->n_members; i++) {
        const struct member *m = &v->members[i];
        const struct node *n = cluster_node(&p->s->cluster, m->node_ix);
        uint32_t domain = n && job_member_holds(m) ? domain_of(p, n) : IX_NONE;
        uint64_t gpus = (uint64_t)v->demand->roles[m->role].each.amount[RES_GPUS];
        size_t at = first;

        if (domain == IX_NONE ||
            (p->need && (v->models[m->role] == MODELS_MAX || !p->gpus[v->models[m->role]])))
            continue;
        while (at < p->parts.n && p->parts.v[at].domain != domain)
            at++;
        if (at == p->parts.n)
            *vec_push(&p->parts) = (struct part){v, domain, 0, lost};
        p->parts.v[at].gain += gpus;
        if (p->parts.v[at].gain > p->need)
            p->parts.v[at].gain = p->need;
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_domain_and_cost(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    if (x->job->priority != y->job->priority)
        return x->job->priority < y->job->priority ? -1 : 1;
    if (x->gain != y->gain)
        return compare(y->gain, x->gain);
    if (x->lost != y->lost)
        return compare(x->lost, y->lost);
    return compare(x->job->id.v, y->job->id.v);
}

static int by_cost(const struct cost *x, const struct cost *y)
{
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return x->gangs != y->gangs ? compare(x->gangs, y->gangs) : compare(x->lost, y->lost);
}

static int by_bound(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    int c = by_cost(&x->bound, &y->bound);

    return c ? c : compare(x->from, y->from);
}

static void add_cost(struct cost *c, const struct part *v)
{
    if (c->gangs == 0 || v->job->priority > c->priority)
        c->priority = v->job->priority;
    c->gangs++;
    c->lost += v->lost;
}

/* GPUs of a domain that are free on the fork. */
static uint64_t free_in(const struct plan *p, uint32_t domain)
{
    const struct demand *d = p->taker->demand;
    const struct topology *t = &p->fork->topology;
    struct free_histogram *const *h = t->all;
    uint64_t sum = 0;

    if (d->required != IX_NONE && d->required >= p->s->settings->hierarchies[d->hierarchy].n_levels)
        return (uint64_t)node_free_gpus(cluster_node(p->fork, domain));
    if (d->required != IX_NONE)
        h = t->domains.v[domain]->by_model;
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        sum += p->gpus[m] && h[m] ? h[m]->free_gpus : 0;
    return sum;
}

/* The domains that have enough, the cheapest bound first. */
static void list_choices(struct plan *p)
{
    qsort(p->parts.v, p->parts.n, sizeof(p->parts.v[0]), by_domain_and_cost);
    for (size_t i = 0; i < p->parts.n;) {
        uint32_t domain = p->parts.v[i].domain;
        struct choice c = {.from = i};
        uint64_t have = free_in(p, domain);

        for (; i < p->parts.n && p->parts.v[i].domain == domain; i++) {
            if (have >= p->need && c.bound.gangs)
                continue;
            add_cost(&c.bound, &p->parts.v[i]);
            have += p->parts.v[i].gain;
        }
        c.to = i;
        if (have >= p->need)
            *vec_push(&p->choices) = c;
    }
    if (p->choices.n)
        qsort(p->choices.v, p->choices.n, sizeof(p->choices.v[0]), by_bound);
}

static void take(struct plan *p, const struct job *v)
{
    future_release(p->fork, v);
    job_count_gpus(&p->shadow.tenants, v, tenant_refund);
}

static void give(struct plan *p, const struct job *v)
{
    future_hold(p->fork, v);
    job_count_gpus(&p->shadow.tenants, v, tenant_charge);
}

static bool fits(struct plan *p)
{
    struct cluster_room room = {.on = p->fork, .closed = p->closed};
    struct event ev;

    if (!cycle_try(&p->shadow, p->taker, &room, &ev))
        return false;
    event_fini(&p->found);
    p->found = ev;
    return true;
}

static bool fits_without(struct plan *p, size_t n)
{
    while (p->n_out < n)
        take(p, p->out.v[p->n_out++]->job);
    while (p->n_out > n)
        give(p, p->out.v[--p->n_out]->job);
    return fits(p);
}

/* Victims of a domain in order, each legal after those before it. */
static void list_victims(struct plan *p, const struct choice *c)
{
    size_t n = p->s->settings->n_tenants * sizeof(*p->base);

    p->out.n = p->n_out = 0;
    for (size_t i = c->from; i < c->to; i++) {
        if (!is_legal(p, p->parts.v[i].job))
            continue;
        *vec_push(&p->out) = &p->parts.v[i];
        job_count_gpus(&p->shadow.tenants, p->parts.v[i].job, tenant_refund);
    }
    memcpy(p->shadow.tenants.v, p->base, n);
}

/* The shortest run of victims that lets the taker in. */
static bool find_run(struct plan *p, const struct choice *c)
{
    size_t lo = 0, hi = p->out.n, mid = c->bound.gangs < hi ? c->bound.gangs : hi;
    bool is_known = false; /* that hi is enough */

    while (lo < hi || !is_known) {
        if (fits_without(p, mid)) {
            hi = mid;
            is_known = true;
        } else if (mid >= hi) {
            return false;
        } else {
            lo = mid + 1;
        }
        mid = is_known ? lo + (hi - lo) / 2 : hi;
    }
    return fits_without(p, hi);
}

static bool is_overfull(const struct plan *p, const struct job *v)
{
    for (uint32_t i = 0; i < v->n_members; i++) {
        const struct node *n = cluster_node(p->fork, v->members[i].node_ix);

        if (job_member_holds(&v->members[i]) && n && !resources_fit(&n->used, &n->total))
            return true;
    }
    return false;
}

/* The placement that was found, held on the fork or given back. */
static void put(struct plan *p, void (*what)(struct cluster *, uint32_t, const struct resources *))
{
    const struct ev_placed *e = &p->found.u.placed;
    uint32_t at = 0;

    for (uint32_t r = 0; r < p->taker->demand->n_roles; r++) {
        struct resources asks;

        role_asks(&p->taker->demand->roles[r], e->fixed_cpu_milli[r], e->fixed_memory_bytes[r],
                  &asks);
        for (uint32_t i = 0; i < p->taker->demand->roles[r].replicas; i++)
            what(p->fork, e->members[at++].node_ix, &asks);
    }
}

/* Give back all that are not in the way; then all but for whom another placement is found. */
static void prune(struct plan *p)
{
    size_t n = p->n_out, kept = 0;

    put(p, cluster_hold);
    for (size_t i = n; i-- > 0;) {
        struct part *v = p->out.v[i];

        give(p, v->job);
        if (!is_overfull(p, v->job) && cycle_admits(&p->shadow, p->taker, p->found.u.placed.models))
            p->out.v[i] = NULL;
        else
            take(p, v->job);
    }
    put(p, cluster_release);
    for (size_t i = n; i-- > 0;) {
        if (!p->out.v[i])
            continue;
        give(p, p->out.v[i]->job);
        if (fits(p))
            p->out.v[i] = NULL;
        else
            take(p, p->out.v[i]->job);
    }
    for (size_t i = 0; i < n; i++)
        if (p->out.v[i])
            p->out.v[kept++] = p->out.v[i];
    p->n_out = kept;
}

/* Once more on the final set, with the models that the placement has. */
static bool is_set_legal(struct plan *p)
{
    bool is_fine = p->n_out > 0;

    memcpy(p->shadow.tenants.v, p->base, p->s->settings->n_tenants * sizeof(*p->base));
    job_gpus(p->taker, p->found.u.placed.models, p->gpus);
    for (size_t i = 0; i < p->n_out; i++) {
        is_fine = is_fine && is_legal(p, p->out.v[i]->job);
        job_count_gpus(&p->shadow.tenants, p->out.v[i]->job, tenant_refund);
    }
    return is_fine;
}

static void keep(struct plan *p, const struct cost *cost)
{
    struct ev_claimed *e = &p->best.u.claimed;

    event_fini(&p->best);
    p->best = (struct event){.kind = EV_GANG_CLAIMED, .at = p->now};
    e->placed = p->found.u.placed;
    p->found = (struct event){0};
    e->victims = xcalloc(p->n_out, sizeof(*e->victims));
    for (size_t i = 0; i < p->n_out; i++) {
        const struct job *v = p->out.v[i]->job;

        e->victims[e->n_victims++] = (struct victim){v->id, v->attempt};
        if (p->now + v->grace_us > e->until)
            e->until = p->now + v->grace_us;
    }
    p->best_cost = *cost;
}

static void try_choice(struct plan *p, const struct choice *c)
{
    uint64_t gpus[MODELS_MAX];
    struct cost cost = {0};

    memcpy(gpus, p->gpus, sizeof(gpus));
    list_victims(p, c);
    if (find_run(p, c)) {
        prune(p);
        for (size_t i = 0; i < p->n_out; i++)
            add_cost(&cost, p->out.v[i]);
        if (is_set_legal(p) && (!p->best.kind || by_cost(&cost, &p->best_cost) < 0))
            keep(p, &cost);
    }
    for (size_t i = 0; i < p->n_out; i++)
        future_hold(p->fork, p->out.v[i]->job);
    memcpy(p->shadow.tenants.v, p->base, p->s->settings->n_tenants * sizeof(*p->base));
    memcpy(p->gpus, gpus, sizeof(gpus));
}

/* The cluster and the tenants once all that leaves anyway has left. */
static void begin(struct plan *p)
{
    struct state *s = p->s;
    uint32_t n = s->settings->n_tenants;

    p->fork = cluster_fork(&s->cluster);
    p->closed = xcalloc(s->cluster.nodes.n / 64 + 1, sizeof(*p->closed));
    backfill_close(s, p->taker, p->closed);
    for (size_t i = 0; i < s->active.n; i++) {
        const struct job *v = s->active.v[i];

        if (!v->is_leaving && v->state != JOB_STOPPING && v->state != JOB_PREEMPTING)
            continue;
        future_release(p->fork, v);
        if (!v->is_leaving && v->charged_gpus)
            job_count_gpus(&p->shadow.tenants, v, tenant_refund);
    }
    memcpy(p->base, p->shadow.tenants.v, n * sizeof(*p->base));
}

static void copy_tenants(struct plan *p)
{
    uint32_t n = p->s->settings->n_tenants;

    p->shadow = *p->s;
    p->shadow.tenants.v = xcalloc(n, sizeof(*p->base));
    p->base = xcalloc(n, sizeof(*p->base));
    memcpy(p->shadow.tenants.v, p->s->tenants.v, n * sizeof(*p->base));
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t m = 0; m < MODELS_MAX; m++)
            p->shadow.tenants.v[t].used[m] += (uint64_t)p->shadow.tenants.v[t].coming[m];
        memset(p->shadow.tenants.v[t].coming, 0, sizeof(p->base->coming));
    }
}

bool preempt_plan(struct state *s, struct job *j, usec_t now, struct event *ev)
{
    struct plan p = {.s = s, .taker = j, .now = now, .need = j->demand->gpus};
    struct bucket was = *j->bucket; /* its verdict stays the one without victims */
    uint8_t models[JOB_ROLES_MAX];

    if (!preempt_may(s, j))
        return false;
    guess_models(s, j, models);
    job_gpus(j, models, p.gpus);
    copy_tenants(&p);
    for (size_t i = 0; i < s->active.n; i++)
        if (is_candidate(&p, s->active.v[i]))
            add_parts(&p, s->active.v[i]);
    if (p.parts.n) {
        begin(&p);
        list_choices(&p);
        if (fits(&p))
            p.choices.n = 0; /* what ends anyway is enough */
        for (size_t i = 0; i < p.choices.n && i < DOMAINS_MAX; i++)
            if (!p.best.kind || by_cost(&p.choices.v[i].bound, &p.best_cost) < 0)
                try_choice(&p, &p.choices.v[i]);
    }
    event_fini(&p.found);
    cluster_fork_free(p.fork);
    free(p.closed);
    free(p.base);
    free(p.shadow.tenants.v);
    vec_fini(&p.parts);
    vec_fini(&p.choices);
    vec_fini(&p.out);
    *j->bucket = was;
    *ev = p.best;
    return p.best.kind != EV_NONE;
}

void preempt_matures(struct state *s, const struct job *j)
{
    usec_t at = j->running_at + s->settings->min_runtime_us;

    if (j->state == JOB_RUNNING || j->running_at)
        s->mature_at = s->mature_at && s->mature_at < at ? s->mature_at : at;
}

void preempt_tick(struct state *s, usec_t now)
{
    if (!s->mature_at || now < s->mature_at)
        return;
    s->mature_at = 0;
    s->mature_gen++;
    s->is_quiet = false;
    for (size_t i = 0; i < s->active.n; i++)
        if (s->active.v[i]->running_at + s->settings->min_runtime_us > now)
            preempt_matures(s, s->active.v[i]);
    if (s->mature_at && s->mature_at < now + LOOK_AGAIN_US)
        s->mature_at = now + LOOK_AGAIN_US;
}
