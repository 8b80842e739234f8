/* SPDX-License-Identifier: Apache-2.0 */
/* victims.c - who may be taken for a gang, domain by domain, and at what cost. */
#include "core/victims.h"

#include <stdlib.h>
#include <string.h>

#include "core/elastic.h"
#include "core/preempt.h"
#include "core/rights.h"

static bool is_lower(const struct plan *p, const struct job *v)
{
    return rights_by_priority(p->s, p->taker) && v->priority < p->taker->priority;
}

/* May the taker have this victim's GPUs of a model, as the tenants are now? */
static bool may_take(const struct plan *p, const struct job *v, uint32_t model, uint64_t gpus)
{
    struct reclaim_of of = {p->taker, p->gpus, v};
    enum reclaim r = rights_reclaims(&p->shadow.tenants, &of, model, gpus);

    return r == RECLAIM_BY_PRIORITY ? is_lower(p, v) : r == RECLAIM_YES;
}

uint32_t part_size(const struct part *v)
{
    return v->n_pods ? v->n_pods : v->job->n_members;
}

struct member *part_member(const struct plan *p, const struct part *v, uint32_t i)
{
    return &v->job->members[v->n_pods ? p->surplus.pods.v[v->from + i] : i];
}

/* What it would give back now: a gang without the pods that are out already. */
static void part_gpus(const struct plan *p, const struct part *v, uint64_t ret[MODELS_MAX])
{
    const struct job *j = v->job;

    memset(ret, 0, MODELS_MAX * sizeof(ret[0]));
    if (!v->n_pods)
        job_gpus(j, j->models, ret);
    for (uint32_t i = 0; i < part_size(v) && j->n_members > j->demand->pods; i++) {
        const struct member *m = part_member(p, v, i);
        uint64_t parts = job_pod_parts(j, m->role);

        if (j->models[m->role] != MODELS_MAX && v->n_pods)
            ret[j->models[m->role]] += parts;
        else if (j->models[m->role] != MODELS_MAX && m->is_out == AS_POD)
            ret[j->models[m->role]] -= parts;
    }
}

bool part_is_legal(const struct plan *p, const struct part *part)
{
    const struct job *v = part->job;
    uint64_t gpus[MODELS_MAX];
    bool is_judged = false;

    part_gpus(p, part, gpus);
    for (uint32_t m = 0; m < MODELS_MAX; m++) {
        if (!gpus[m] || !p->gpus[m])
            continue;
        if (may_take(p, v, m, gpus[m]))
            return true;
        is_judged = true;
    }
    /* what it gives is CPU and memory: there is no quota of these to reclaim */
    return !is_judged && is_lower(p, v) &&
           (v->tenant_ix == p->taker->tenant_ix ||
            (p->s->settings->is_priority_first && !v->charged_parts));
}

static uint32_t domain_of(const struct plan *p, const struct node *n)
{
    const struct demand *d = p->taker->demand;

    if (d->required == IX_NONE || p->is_wide)
        return 0;
    if (d->required >= p->s->settings->hierarchies[d->hierarchy].n_levels)
        return n->ix;
    return topology_domain_at(&p->s->cluster.topology, n, d->hierarchy, d->required);
}

/* Could any pod of the taker go there, were it empty? Or may it be charged what goes there? */
static bool is_of_use(struct plan *p, const struct node *n)
{
    const struct demand *d = p->taker->demand;
    bool has_model = n->model < MODELS_MAX && p->gpus[n->model];

    if (p->is_wide && has_model)
        return true;
    for (uint32_t r = 0; r < d->n_roles; r++)
        if ((has_model || !d->roles[r].takes_gpus) && role_allows(&d->roles[r], n))
            return true;
    p->is_parted |= has_model;
    return false;
}

/* Of all members: where they are of use. */
static uint32_t *list_domains(struct plan *p, const struct job *v)
{
    uint32_t *ret = xcalloc(v->n_members, sizeof(*ret));

    for (uint32_t i = 0; i < v->n_members; i++) {
        const struct node *n = cluster_node(&p->s->cluster, v->members[i].node_ix);

        ret[i] =
            n && job_member_holds(&v->members[i]) && is_of_use(p, n) ? domain_of(p, n) : IX_NONE;
    }
    return ret;
}

static void add_gain(const struct plan *p, struct part *part, const struct member *m)
{
    const struct node *n = cluster_node(&p->s->cluster, m->node_ix);
    uint64_t most = p->taker->demand->gpus;

    if (n->model < MODELS_MAX && p->gpus[n->model])
        part->gain += (uint64_t)part->job->demand->roles[m->role].each.amount[RES_GPUS];
    part->gain = part->gain < most ? part->gain : most;
}

/* The whole gang, in each domain that it is in. */
static void add_gang(struct plan *p, const struct part *gang, const uint32_t *domains)
{
    const struct job *v = gang->job;
    size_t first = p->parts.n;

    for (uint32_t i = 0; i < v->n_members; i++) {
        size_t at = first;

        if (domains[i] == IX_NONE)
            continue;
        while (at < p->parts.n && p->parts.v[at].domain != domains[i])
            at++;
        if (at == p->parts.n) {
            *vec_push(&p->parts) = *gang;
            p->parts.v[at].domain = domains[i];
        }
        add_gain(p, &p->parts.v[at], &v->members[i]);
    }
}

/* What it can give up and run on. */
static void add_steps(struct plan *p, struct job *v, const uint32_t *domains)
{
    p->surplus.steps.n = 0;
    surplus_list(v, domains, &p->surplus);
    for (size_t i = 0; i < p->surplus.steps.n; i++) {
        const struct surplus_step *step = &p->surplus.steps.v[i];
        struct part part = {.job = v, .domain = step->domain, .from = step->from};

        part.n_pods = step->n;
        part.parts = (uint64_t)job_pod_parts(v, step->role) * step->n;
        part.lost = preempt_loss_of(v, p->now, part.parts);
        if (!part_is_legal(p, &part))
            continue;
        for (uint32_t k = 0; k < step->n; k++) {
            uint32_t at = p->surplus.pods.v[step->from + k];

            if (domains[at] == step->domain)
                add_gain(p, &part, &v->members[at]);
        }
        *vec_push(&p->parts) = part;
    }
}

void plan_add_victim(struct plan *p, struct job *v)
{
    struct part gang = {.job = v, .parts = v->charged_parts, .lost = preempt_loss(v, p->now)};
    /* while pods join it, it is not known what it can give up and run on */
    bool has_surplus = false, goes = !elastic_is_growing(v) && part_is_legal(p, &gang);
    uint32_t *domains;

    for (uint32_t r = 0; r < v->demand->n_roles && v->demand->most > v->demand->pods; r++)
        has_surplus |= elastic_surplus(v, r) > 0;
    if (!goes && !has_surplus)
        return;
    domains = list_domains(p, v);
    if (has_surplus)
        add_steps(p, v, domains);
    if (goes)
        add_gang(p, &gang, domains);
    free(domains);
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
    if (!x->n_pods != !y->n_pods)
        return x->n_pods ? -1 : 1;
    if (x->job->priority != y->job->priority)
        return x->job->priority < y->job->priority ? -1 : 1;
    if (x->gain != y->gain)
        return compare(y->gain, x->gain);
    if (x->lost != y->lost)
        return compare(x->lost, y->lost);
    return x->job == y->job ? compare(x->from, y->from) : compare(x->job->id.v, y->job->id.v);
}

int cost_compare(const struct cost *x, const struct cost *y)
{
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->gangs != y->gangs)
        return compare(x->gangs, y->gangs);
    if (x->pods_priority != y->pods_priority)
        return x->pods_priority < y->pods_priority ? -1 : 1;
    return compare(x->lost, y->lost);
}

static int by_bound(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    int c = cost_compare(&x->bound, &y->bound);

    return c ? c : compare(x->from, y->from);
}

void cost_add(struct cost *c, const struct part *v)
{
    int32_t *priority = v->n_pods ? &c->pods_priority : &c->priority;

    c->gangs += !v->n_pods;
    if (v->job->priority > *priority)
        *priority = v->job->priority;
    c->lost += v->lost;
}

void plan_list_choices(struct plan *p)
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
        struct choice c = {.bound = cost_none, .from = i};

        for (; i < p->parts.n && p->parts.v[i].domain == domain; i++) {
            if (c.n_bound == 0 || have[domain] < p->taker->demand->gpus) {
                cost_add(&c.bound, &p->parts.v[i]);
                c.n_bound++;
            }
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

void part_move(struct plan *p, const struct part *v, bool is_out)
{
    uint8_t out = v->n_pods ? AS_POD : AS_GANG;

    for (uint32_t i = 0; i < part_size(v); i++) {
        struct member *m = part_member(p, v, i);
        struct resources asks;

        if (m->is_out != (is_out ? IN : out))
            continue;
        m->is_out = is_out ? out : IN;
        if (!job_member_holds(m))
            continue;
        state_pod_asks(v->job, m->role, &asks);
        (is_out ? cluster_release : cluster_hold)(p->fork, m->node_ix, &asks);
    }
}

void plan_spare_user(struct plan *p, const struct job *v, const uint64_t *gpus, bool is_spared)
{
    struct tenants *t = &p->shadow.tenants;

    for (uint32_t m = 0; m < MODELS_MAX && t->counts_of_user && v->uid == p->taker->uid; m++)
        if (gpus[m])
            tenant_add_of_user(t, v->tenant_ix, m,
                               is_spared ? -(int64_t)gpus[m] : (int64_t)gpus[m]);
}

void part_count(struct plan *p, const struct part *v, bool is_out)
{
    uint64_t gpus[MODELS_MAX];

    part_gpus(p, v, gpus);
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        if (gpus[m])
            (is_out ? tenant_refund : tenant_charge)(&p->shadow.tenants, v->job->tenant_ix, m,
                                                     gpus[m]);
    plan_spare_user(p, v->job, gpus, is_out);
}

void part_take(struct plan *p, const struct part *v)
{
    part_move(p, v, true);
    part_count(p, v, true);
}

void part_give(struct plan *p, const struct part *v)
{
    part_move(p, v, false);
    part_count(p, v, false);
}
