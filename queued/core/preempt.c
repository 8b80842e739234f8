/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.c - victims by domain of the required level, the domains by a bound of their cost.
 *
 * Cost, compared in this order: highest priority, number of gangs, GPU time lost. In a domain
 * victims go, cheapest first, in doubling numbers until the taker fits; then each is given back,
 * the dearest first, if the taker still fits. If that ends in no legal set, all go first.
 */
#include "core/preempt.h"

#include <stdlib.h>
#include <string.h>

#include "core/backfill.h"
#include "core/cycle.h"
#include "core/future.h"
#include "core/licence.h"
#include "core/window.h"

enum { DOMAINS_MAX = 16 /* looked at for one plan */, LOOK_AGAIN_US = 5 * USEC_PER_SEC };

__extension__ typedef unsigned __int128 wide_t;

struct cost {
    int32_t priority;
    uint64_t gangs, lost;
};

/* What a gang gives in one domain. */
struct part {
    struct job *job;
    uint32_t domain;
    uint64_t gain; /* GPUs that the taker may use, at most what it needs */
    uint64_t lost; /* GPU-microseconds since its checkpoint or start */
};

/* The parts of one domain. */
struct choice {
    struct cost bound;
    size_t from, to;
};

struct plan {
    struct state *s;
    struct state shadow; /* s, but for what the tenants use once the victims are gone */
    struct tenant *base; /* the tenants before any victim */
    size_t base_size;
    struct cluster *fork;
    uint64_t *closed; /* nodes that are reserved for others */
    struct job *taker;
    usec_t now;
    uint64_t gpus[MODELS_MAX]; /* that the taker would be charged */
    VEC(struct part) parts;
    VEC(struct choice) choices;
    VEC(struct part *) out; /* victims in order; the first n_out are gone from the fork */
    size_t n_out;
    struct event found, best; /* the last placement that fitted; the plan */
    struct cost best_cost;
};

static bool goes_by_priority(const struct state *s, const struct job *j)
{
    uint32_t normal = settings_class(s->settings, "normal");

    return j->demand->preempts == PREEMPTS_LOWER ||
           (j->demand->preempts == PREEMPTS_BY_CLASS && normal != IX_NONE &&
            j->priority > s->settings->classes[normal].value);
}

/* GPUs that it would be charged, each role on the nth model that it may use and the cluster has, or
 * its last. false: no role has so many. */
static bool guess_gpus(const struct state *s, const struct job *j, uint32_t nth,
                       uint64_t ret[MODELS_MAX])
{
    uint8_t models[JOB_ROLES_MAX];
    bool is_new = nth == 0;

    memset(models, MODELS_MAX, sizeof(models));
    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        const struct demand_role *role = &j->demand->roles[r];
        uint32_t n = role->n_models ? role->n_models : s->settings->n_models, seen = 0;

        for (uint32_t i = 0; i < n && seen <= nth && role->each.amount[RES_GPUS]; i++) {
            uint32_t m = role->n_models ? role->models[i] : i;

            if (m >= s->settings->n_models || s->cluster.model_gpus[m] <= 0)
                continue;
            models[r] = (uint8_t)m;
            seen++;
        }
        is_new = is_new || seen > nth;
    }
    job_gpus(j, models, ret);
    return is_new;
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

/* What the tenant that judges ix uses of a model, and its quota; the tenant. */
static uint32_t judge(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t *used,
                      uint64_t *quota)
{
    uint32_t at;

    *quota = tenant_quota(t, ix, model, &at);
    at = at == IX_NONE ? ix : at;
    *used = t->v[at].used[model];
    return at;
}

/* Is some tenant so far above its quota that the taker's would stay below it? */
static bool is_any_above(const struct state *s, const struct job *j, const uint64_t *gpus)
{
    const struct tenants *t = &s->tenants;

    for (uint32_t m = 0; m < MODELS_MAX; m++) {
        uint64_t used, quota, v_used, v_quota;

        if (!gpus[m])
            continue;
        (void)judge(t, j->tenant_ix, m, &used, &quota);
        for (uint32_t ix = 0; ix < s->settings->n_tenants && quota; ix++) {
            (void)judge(t, ix, m, &v_used, &v_quota);
            if (v_used > v_quota && (wide_t)(used + gpus[m]) * v_quota < (wide_t)v_used * quota)
                return true;
        }
    }
    return false;
}

bool preempt_may(const struct state *s, const struct job *j)
{
    uint64_t gpus[MODELS_MAX];

    if (j->demand->preempts == PREEMPTS_NOBODY)
        return false;
    if (goes_by_priority(s, j))
        return true;
    for (uint32_t nth = 0;
         tenant_has_quota(&s->tenants, j->tenant_ix) && guess_gpus(s, j, nth, gpus); nth++)
        if (is_inside(&s->tenants, j, gpus) || is_any_above(s, j, gpus))
            return true;
    return false;
}

enum reclaim preempt_reclaims(const struct tenants *t, const struct reclaim_of *of, uint32_t model,
                              uint64_t loses)
{
    uint64_t used, quota, v_used, v_quota;

    if (judge(t, of->taker->tenant_ix, model, &used, &quota) ==
        judge(t, of->victim->tenant_ix, model, &v_used, &v_quota))
        return RECLAIM_SAME;
    if (v_used > v_quota &&
        (is_inside(t, of->taker, of->gpus) ||
         (wide_t)(used + of->gpus[model]) * v_quota < (wide_t)(v_used - loses) * quota))
        return RECLAIM_YES;
    return RECLAIM_NO;
}

/* May the taker have this victim's GPUs of a model, as the tenants are now? */
static bool may_take(const struct plan *p, const struct job *v, uint32_t model, uint64_t gpus)
{
    struct reclaim_of of = {p->taker, p->gpus, v};
    enum reclaim r = preempt_reclaims(&p->shadow.tenants, &of, model, gpus);

    if (r == RECLAIM_SAME)
        return goes_by_priority(p->s, p->taker) && v->priority < p->taker->priority;
    return r == RECLAIM_YES;
}

static bool is_legal(const struct plan *p, const struct job *v)
{
    uint64_t gpus[MODELS_MAX];
    bool is_judged = false;

    job_gpus(v, v->models, gpus);
    for (uint32_t m = 0; m < MODELS_MAX; m++) {
        if (!gpus[m] || !p->gpus[m])
            continue;
        if (may_take(p, v, m, gpus[m]))
            return true;
        is_judged = true;
    }
    /* what it gives is CPU and memory: there is no quota of these to reclaim */
    return !is_judged && v->tenant_ix == p->taker->tenant_ix && goes_by_priority(p->s, p->taker) &&
           v->priority < p->taker->priority;
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

/* Could any pod of the taker go there, were it empty? */
static bool is_of_use(const struct plan *p, const struct node *n)
{
    const struct demand *d = p->taker->demand;
    bool has_model = n->model < MODELS_MAX && p->gpus[n->model];

    for (uint32_t r = 0; r < d->n_roles; r++)
        if ((has_model || !d->roles[r].each.amount[RES_GPUS]) && role_allows(&d->roles[r], n))
            return true;
    return false;
}

static void add_parts(struct plan *p, struct job *v)
{
    const struct demand *d = p->taker->demand;
    uint64_t lost = preempt_loss(v, p->now);
    size_t first = p->parts.n;

    for (uint32_t i = 0; i < v->n_members; i++) {
        const struct node *n = cluster_node(&p->s->cluster, v->members[i].node_ix);
        uint32_t domain = n && job_member_holds(&v->members[i]) ? domain_of(p, n) : IX_NONE;
        struct part *part;
        size_t at = first;

        if (domain == IX_NONE || !is_of_use(p, n))
            continue;
        while (at < p->parts.n && p->parts.v[at].domain != domain)
            at++;
        if (at == p->parts.n)
            *vec_push(&p->parts) = (struct part){v, domain, 0, lost};
        part = &p->parts.v[at];
        if (n->model < MODELS_MAX && p->gpus[n->model])
            part->gain += (uint64_t)v->demand->roles[v->members[i].role].each.amount[RES_GPUS];
        part->gain = part->gain < d->gpus ? part->gain : d->gpus;
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
    return x->lost != y->lost ? compare(x->lost, y->lost) : compare(x->job->id.v, y->job->id.v);
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
    if (c->gangs++ == 0 || v->job->priority > c->priority)
        c->priority = v->job->priority;
    c->lost += v->lost;
}

/* The domains that have enough GPUs, free or from victims, the cheapest bound first. */
static void list_choices(struct plan *p)
{
    uint64_t *have = xcalloc(p->fork->nodes.n + p->fork->topology.domains.n, sizeof(*have));

    for (size_t i = 0; i < p->fork->nodes.n; i++) {
        const struct node *n = p->fork->nodes.v[i];
        uint32_t domain = n && n->is_counted && p->gpus[n->model] ? domain_of(p, n) : IX_NONE;

        if (domain != IX_NONE)
            have[domain] += (uint64_t)n->counted_free;
    }
    qsort(p->parts.v, p->parts.n, sizeof(p->parts.v[0]), by_domain_and_cost);
    for (size_t i = 0; i < p->parts.n;) {
        uint32_t domain = p->parts.v[i].domain;
        struct choice c = {.from = i};

        for (; i < p->parts.n && p->parts.v[i].domain == domain; i++) {
            if (c.bound.gangs == 0 || have[domain] < p->taker->demand->gpus)
                add_cost(&c.bound, &p->parts.v[i]);
            have[domain] += p->parts.v[i].gain;
        }
        c.to = i;
        if (have[domain] >= p->taker->demand->gpus)
            *vec_push(&p->choices) = c;
    }
    if (p->choices.n)
        qsort(p->choices.v, p->choices.n, sizeof(p->choices.v[0]), by_bound);
    free(have);
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

/* Take victims of a domain, each legal after those before it, until the taker fits; or all. */
static bool take_enough(struct plan *p, const struct choice *c, bool is_all)
{
    size_t next = is_all ? SIZE_MAX : c->bound.gangs;

    p->out.n = p->n_out = 0;
    for (size_t i = c->from; i < c->to; i++) {
        if (!is_all && !is_legal(p, p->parts.v[i].job))
            continue;
        *vec_push(&p->out) = &p->parts.v[i];
        take(p, p->out.v[p->n_out++]->job);
        if (p->n_out < next)
            continue;
        if (fits(p))
            return true;
        next = 2 * p->n_out;
    }
    return p->n_out && fits(p);
}

/* Whoever was taken is there again. */
static void undo(struct plan *p)
{
    while (p->n_out > 0)
        future_hold(p->fork, p->out.v[--p->n_out]->job);
    memcpy(p->shadow.tenants.v, p->base, p->base_size);
}

static int by_size(const void *a, const void *b)
{
    const struct part *x = *(struct part *const *)a, *y = *(struct part *const *)b;
    int c = compare(x->job->charged_gpus, y->job->charged_gpus);

    return c ? c : compare(x->job->id.v, y->job->id.v);
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

/* Give back whom the placement leaves room for, or any other placement. */
static void give_back(struct plan *p, bool is_placed)
{
    size_t kept = 0;

    for (size_t i = p->n_out; i-- > 0;) {
        const struct job *v = p->out.v[i]->job;

        give(p, v);
        if (is_placed
                ? !is_overfull(p, v) && cycle_admits(&p->shadow, p->taker, p->found.u.placed.models)
                : fits(p))
            p->out.v[i] = NULL;
        else
            take(p, v);
    }
    for (size_t i = 0; i < p->n_out; i++)
        if (p->out.v[i])
            p->out.v[kept++] = p->out.v[i];
    p->n_out = kept;
}

/* Once more on the final set, with the models that the placement has. The small ones go first: the
 * last one that a tenant above its quota gives may be a large one. */
static bool is_set_legal(struct plan *p)
{
    bool is_fine = p->n_out > 0;

    memcpy(p->shadow.tenants.v, p->base, p->base_size);
    job_gpus(p->taker, p->found.u.placed.models, p->gpus);
    if (p->n_out)
        qsort(p->out.v, p->n_out, sizeof(struct part *), by_size);
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
    p->best_cost = *cost;
    e->placed = p->found.u.placed;
    p->found = (struct event){0};
    e->victims = xcalloc(p->n_out, sizeof(*e->victims));
    for (size_t i = 0; i < p->n_out; i++) {
        const struct job *v = p->out.v[i]->job;

        e->victims[e->n_victims++] = (struct victim){v->id, v->attempt};
        e->until = e->until < p->now + v->grace_us ? p->now + v->grace_us : e->until;
    }
}

/* A plan with the victims of one choice; false: none that is legal. */
static bool plan_choice(struct plan *p, const struct choice *c, bool is_all)
{
    struct cost cost = {0};

    if (!take_enough(p, c, is_all))
        return false;
    future_put(p->fork, p->taker->demand, &p->found.u.placed, cluster_hold);
    give_back(p, true);
    future_put(p->fork, p->taker->demand, &p->found.u.placed, cluster_release);
    give_back(p, false);
    for (size_t i = 0; i < p->n_out; i++)
        add_cost(&cost, p->out.v[i]);
    if (!is_set_legal(p) || cost.lost > p->taker->demand->max_lost)
        return false;
    if (!p->best.kind || by_cost(&cost, &p->best_cost) < 0)
        keep(p, &cost);
    return true;
}

static void try_choice(struct plan *p, const struct choice *c)
{
    uint64_t gpus[MODELS_MAX];
    bool is_planned = false;

    memcpy(gpus, p->gpus, sizeof(gpus));
    for (int i = 0; i < 2 && !is_planned; i++) {
        /* a cheap one that was of no use may have spent what is legal: all, and most are given back
         */
        is_planned = plan_choice(p, c, i == 1);
        undo(p);
        memcpy(p->gpus, gpus, sizeof(gpus));
    }
}

/* The tenants once all victims of claims are gone. */
static void begin(struct plan *p)
{
    struct state *s = p->s;
    uint32_t n = s->settings->n_tenants;

    p->base_size = n * sizeof(*p->base);
    p->base = xcalloc(n, sizeof(*p->base));
    p->shadow = *s;
    p->shadow.tenants.v = xcalloc(n, sizeof(*p->base));
    memcpy(p->shadow.tenants.v, s->tenants.v, p->base_size);
    for (uint32_t t = 0; t < n; t++) {
        struct tenant *tenant = &p->shadow.tenants.v[t];

        for (uint32_t m = 0; m < MODELS_MAX; m++)
            tenant->used[m] += (uint64_t)tenant->coming[m];
        memset(tenant->coming, 0, sizeof(tenant->coming));
    }
    for (size_t i = 0; i < s->active.n; i++) {
        struct job *v = s->active.v[i];

        if (v->state == JOB_RUNNING && v->demand->is_preemptible && !v->is_leaving &&
            v->tenant_ix != IX_NONE && v->running_at + s->settings->min_runtime_us <= p->now &&
            is_legal(p, v))
            add_parts(p, v);
    }
}

/* Cluster and tenants once all that leaves anyway has left. */
static void fork_future(struct plan *p)
{
    struct state *s = p->s;

    if (s->plan_fork)
        cluster_fork_copy(s->plan_fork, &s->cluster);
    else
        s->plan_fork = cluster_fork(&s->cluster);
    p->fork = s->plan_fork;
    p->closed = xcalloc(s->cluster.nodes.n / 64 + 1, sizeof(*p->closed));
    backfill_close(s, p->taker, p->closed);
    windows_close(s, p->taker, p->now,
                  p->closed); /* victims may leave at once, or in their grace */
    windows_close(s, p->taker, p->now + s->settings->grace_cap_us, p->closed);
    for (size_t i = 0; i < s->active.n; i++) {
        const struct job *v = s->active.v[i];

        if (v->is_leaving)
            future_release(p->fork, v);
        else if ((v->state == JOB_STOPPING || v->state == JOB_PREEMPTING) &&
                 (v->charged_gpus || !v->demand->gpus))
            take(p, v);
    }
    memcpy(p->base, p->shadow.tenants.v, p->base_size);
}

/* With the models that were guessed. false: what ends anyway is enough. */
static bool plan_with_these(struct plan *p, bool *ret_has_victims)
{
    bool is_needed = true;

    p->parts.n = p->choices.n = 0;
    begin(p);
    if (p->parts.n) {
        *ret_has_victims = true;
        fork_future(p);
        list_choices(p);
        is_needed = !fits(p);
        for (size_t i = 0; is_needed && i < p->choices.n && i < DOMAINS_MAX; i++)
            if (!p->best.kind || by_cost(&p->choices.v[i].bound, &p->best_cost) < 0)
                try_choice(p, &p->choices.v[i]);
        free(p->closed);
    }
    free(p->base);
    free(p->shadow.tenants.v);
    return is_needed;
}

bool preempt_plan(struct state *s, struct job *j, usec_t now, struct event *ev)
{
    struct plan p;
    struct bucket was = *j->bucket; /* its verdict stays the one without victims */
    uint32_t nth = 0;

    j->bucket->has_victims = was.has_victims = false;
    if (!preempt_may(s, j) || !licence_admits(s, j, NULL)) /* no victim is taken for a licence */
        return false;
    p = (struct plan){.s = s, .taker = j, .now = now};
    while (guess_gpus(s, j, nth++, p.gpus) && plan_with_these(&p, &was.has_victims))
        ;
    event_fini(&p.found);
    vec_fini(&p.parts);
    vec_fini(&p.choices);
    vec_fini(&p.out);
    *j->bucket = was;
    *ev = p.best;
    return ev->kind != EV_NONE;
}

void preempt_matures(struct state *s, const struct job *j)
{
    usec_t at = j->running_at + s->settings->min_runtime_us;

    if (j->running_at && (!s->mature_at || at < s->mature_at))
        s->mature_at = at;
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
