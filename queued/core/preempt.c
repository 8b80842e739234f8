/* SPDX-License-Identifier: Apache-2.0 */
/* preempt.c - victims by domain of the required level, the domains by a bound of their cost.
 *
 * A victim is a whole gang, or a step of what an elastic one has beyond its need. Cost, compared in
 * this order: highest priority of gangs, their number, highest priority of steps, GPU time lost. In
 * a domain victims go, cheapest first, in doubling numbers until the taker fits, then in halves to
 * as few as do; then each is given back, the dearest first, if the taker still fits. If that ends
 * in no legal set, all go first. What a limit or quota stops is planned over all domains as one,
 * too.
 */
#include "core/preempt.h"

#include <stdlib.h>
#include <string.h>

#include "core/backfill.h"
#include "core/cycle.h"
#include "core/elastic.h"
#include "core/future.h"
#include "core/licence.h"
#include "core/opening.h"
#include "core/rights.h"
#include "core/victims.h"
#include "core/window.h"

enum { DOMAINS_MAX = 16 /* looked at for one plan */, LOOK_AGAIN_US = 5 * USEC_PER_SEC };

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
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

/* The first n of those that were taken are gone. */
static void keep_out(struct plan *p, size_t n)
{
    while (p->n_out < n)
        part_take(p, p->out.v[p->n_out++]);
    while (p->n_out > n)
        part_give(p, p->out.v[--p->n_out]);
}

/* As few as do, of which `less` do not: one that was taken in vain may be dearer, and be placed on.
 */
static bool take_fewest(struct plan *p, size_t less)
{
    size_t enough = p->n_out;

    while (enough - less > 1) {
        size_t mid = less + (enough - less) / 2;

        keep_out(p, mid);
        if (fits(p))
            enough = mid;
        else
            less = mid;
    }
    keep_out(p, enough);
    return true;
}

/* Take victims of a domain, each legal after those before it, until the taker fits; or all. */
static bool take_enough(struct plan *p, const struct choice *c, bool is_all)
{
    size_t next = is_all ? SIZE_MAX : c->n_bound, less = 0;

    p->out.n = p->n_out = 0;
    for (size_t i = c->from; i < c->to; i++) {
        if (!is_all && !part_is_legal(p, &p->parts.v[i]))
            continue;
        *vec_push(&p->out) = &p->parts.v[i];
        part_take(p, p->out.v[p->n_out++]);
        if (p->n_out < next)
            continue;
        if (fits(p))
            return take_fewest(p, less);
        less = p->n_out;
        next = 2 * p->n_out;
    }
    return p->n_out > less && fits(p) && (is_all || take_fewest(p, less));
}

/* Whoever was taken is there again. */
static void undo(struct plan *p)
{
    while (p->n_out > 0)
        part_move(p, p->out.v[--p->n_out], false);
    memcpy(p->shadow.tenants.v, p->base, p->base_size);
}

static int by_size(const void *a, const void *b)
{
    const struct part *x = *(struct part *const *)a, *y = *(struct part *const *)b;

    if (x->parts != y->parts)
        return compare(x->parts, y->parts);
    return x->job == y->job ? compare(x->from, y->from) : compare(x->job->id.v, y->job->id.v);
}

/* Steps first, those of one gang after each other. */
static int by_telling(const void *a, const void *b)
{
    const struct part *x = *(struct part *const *)a, *y = *(struct part *const *)b;

    if (!x->n_pods != !y->n_pods)
        return x->n_pods ? -1 : 1;
    return x->n_pods && x->job != y->job ? compare(x->job->id.v, y->job->id.v) : by_size(a, b);
}

static bool is_overfull(const struct plan *p, const struct part *v)
{
    for (uint32_t i = 0; i < part_size(v); i++) {
        const struct member *m = part_member(p, v, i);
        const struct node *n = cluster_node(p->fork, m->node_ix);

        if (job_member_holds(m) && n && !resources_fit(&n->used, &n->total))
            return true;
    }
    return false;
}

/* Does all of its gang go? */
static bool is_covered(const struct part *v)
{
    return v->n_pods && v->job->members[0].is_out == AS_GANG;
}

static void drop_empty(struct plan *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n_out; i++)
        if (p->out.v[i])
            p->out.v[kept++] = p->out.v[i];
    p->n_out = kept;
}

/* Give back whom the placement leaves room for, or any other placement. */
static void give_back(struct plan *p, bool is_placed)
{
    for (size_t i = p->n_out; i-- > 0;) {
        const struct part *v = p->out.v[i];

        if (is_covered(v))
            continue;
        part_give(p, v);
        if (is_placed
                ? !is_overfull(p, v) && cycle_admits(&p->shadow, p->taker, p->found.u.placed.models)
                : fits(p))
            p->out.v[i] = NULL;
        else
            part_take(p, v);
    }
    drop_empty(p);
}

/* Steps of a gang that goes as a whole are part of it. */
static void merge(struct plan *p)
{
    for (size_t i = 0; i < p->n_out; i++) {
        const struct part *v = p->out.v[i];

        if (!is_covered(v))
            continue;
        for (uint32_t k = 0; k < v->n_pods; k++)
            part_member(p, v, k)->is_out = AS_GANG;
        p->out.v[i] = NULL;
    }
    drop_empty(p);
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
        is_fine = is_fine && part_is_legal(p, p->out.v[i]);
        part_count(p, p->out.v[i], true);
    }
    return is_fine;
}

static void keep(struct plan *p, const struct cost *cost)
{
    struct ev_claimed *e = &p->best.u.claimed;
    size_t n = 0;

    event_fini(&p->best);
    p->best = (struct event){.kind = EV_GANG_CLAIMED, .at = p->now};
    p->best_cost = *cost;
    e->placed = p->found.u.placed;
    p->found = (struct event){0};
    for (size_t i = 0; i < p->n_out; i++)
        n += p->out.v[i]->n_pods ? p->out.v[i]->n_pods : 1;
    e->victims = xcalloc(n, sizeof(*e->victims));
    qsort(p->out.v, p->n_out, sizeof(struct part *), by_telling);
    for (size_t i = 0; i < p->n_out; i++) {
        const struct part *part = p->out.v[i];
        const struct job *v = part->job;

        for (uint32_t k = 0; k < part->n_pods; k++)
            e->victims[e->n_victims++] =
                (struct victim){v->id, v->attempt, p->surplus.pods.v[part->from + k] + 1};
        if (!part->n_pods)
            e->victims[e->n_victims++] = (struct victim){v->id, v->attempt, 0};
        e->until = e->until < p->now + v->grace_us ? p->now + v->grace_us : e->until;
    }
}

/* A plan with the victims of one choice; false: none that is legal. */
static bool plan_choice(struct plan *p, const struct choice *c, bool is_all)
{
    struct cost cost = cost_none;

    if (!take_enough(p, c, is_all))
        return false;
    future_put(p->fork, p->taker->demand, &p->found.u.placed, cluster_hold);
    give_back(p, true);
    future_put(p->fork, p->taker->demand, &p->found.u.placed, cluster_release);
    give_back(p, false);
    merge(p);
    for (size_t i = 0; i < p->n_out; i++)
        cost_add(&cost, p->out.v[i]);
    if (!is_set_legal(p) || cost.lost > preempt_bound(p->s, p->taker->demand))
        return false;
    if (!p->best.kind || cost_compare(&cost, &p->best_cost) < 0)
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

/* What a victim of a claim, or pods that go, will give back to the taker's user. */
static void spare_leaving(struct plan *p, const struct job *v)
{
    uint64_t all[MODELS_MAX], stays[MODELS_MAX];

    job_all_gpus(v, all);
    job_gpus(v, v->models, stays);
    for (uint32_t m = 0; m < MODELS_MAX && (!v->is_leaving || v->move); m++)
        all[m] -= stays[m];
    if (v->charged_parts)
        plan_spare_user(p, v, all, true);
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
    if (tenant_splits_users(&s->tenants, p->taker->tenant_ix))
        tenant_count_user(&p->shadow.tenants, p->taker->uid);
    for (size_t i = 0; i < s->active.n && p->shadow.tenants.counts_of_user; i++)
        if (s->active.v[i]->tenant_ix != IX_NONE)
            spare_leaving(p, s->active.v[i]);
    p->is_limited = !cycle_admits_gpus(&p->shadow, p->taker, p->gpus);
    for (size_t i = 0; i < s->active.n; i++) {
        struct job *v = s->active.v[i];

        if (v->state == JOB_RUNNING && v->demand->is_preemptible && !v->is_leaving &&
            v->tenant_ix != IX_NONE && v->running_at + s->settings->min_runtime_us <= p->now)
            plan_add_victim(p, v);
    }
}

/* What holds nothing that is charged was refunded, or never was charged. */
static bool ends_anyway(const struct job *v)
{
    bool is_charged = false;

    for (uint32_t r = 0; r < v->demand->n_roles; r++)
        is_charged = is_charged || v->models[r] != MODELS_MAX;
    return (v->state == JOB_STOPPING || v->state == JOB_PREEMPTING) &&
           (v->charged_parts || !is_charged);
}

/* Cluster and tenants once all that leaves anyway has left. */
static void fork_future(struct plan *p)
{
    struct state *s = p->s;
    uint64_t gpus[MODELS_MAX];

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

        elastic_end_going(v, &s->cluster, p->fork);
        if (v->is_leaving || ends_anyway(v))
            future_release(p->fork, v);
        if (!v->is_leaving && ends_anyway(v)) {
            job_gpus(v, v->models, gpus);
            job_count_gpus(&p->shadow.tenants, v, tenant_refund);
            plan_spare_user(p, v, gpus, true);
        }
    }
    memcpy(p->base, p->shadow.tenants.v, p->base_size);
}

/* Domain by domain, or all as one. false: what ends anyway is enough. */
static bool look(struct plan *p, bool is_wide, bool *ret_has_victims)
{
    bool is_needed = true;

    p->is_wide = is_wide;
    p->parts.n = p->choices.n = p->surplus.pods.n = 0;
    begin(p);
    if (p->parts.n) {
        *ret_has_victims = true;
        fork_future(p);
        plan_list_choices(p);
        is_needed = !fits(p);
        for (size_t i = 0; is_needed && i < p->choices.n && i < DOMAINS_MAX; i++)
            if (!p->best.kind || cost_compare(&p->choices.v[i].bound, &p->best_cost) < 0)
                try_choice(p, &p->choices.v[i]);
        free(p->closed);
    }
    free(p->base);
    free(p->shadow.tenants.v);
    return is_needed;
}

/* With the models that were guessed. A limit is full of GPUs wherever they are: whom it stops may
 * need victims where it would not run. */
static bool plan_with_these(struct plan *p, bool *ret_has_victims)
{
    p->is_parted = p->taker->demand->required != IX_NONE;
    return look(p, false, ret_has_victims) &&
           (!p->is_limited || !p->is_parted || look(p, true, ret_has_victims));
}

bool preempt_plan(struct state *s, struct job *j, usec_t now, struct event *ev)
{
    struct plan p;
    struct bucket was = *j->bucket; /* its verdict stays the one without victims */
    uint32_t nth = 0;

    j->bucket->has_victims = was.has_victims = false;
    if (!rights_may(s, j) || !licence_admits(s, j, NULL) || /* no victim is taken for a licence */
        !opening_admits(s, j, now + s->settings->grace_cap_us)) /* nor to start too late */
        return false;
    p = (struct plan){.s = s, .taker = j, .now = now};
    while (rights_guess(s, j, nth++, p.gpus) && plan_with_these(&p, &was.has_victims))
        ;
    event_fini(&p.found);
    vec_fini(&p.parts);
    vec_fini(&p.surplus.pods);
    vec_fini(&p.surplus.steps);
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
