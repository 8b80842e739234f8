/* SPDX-License-Identifier: Apache-2.0 */
/* claim.c - which claim is ready, which has come to nothing, and who is to be told. */
#include "core/claim.h"

#include <stdlib.h>

#include "core/licence.h"
#include "core/opening.h"
#include "core/window.h"

struct job *claim_victim(const struct state *s, const struct victim *v)
{
    struct job *j = state_job(s, v->job);

    return j && j->attempt == v->attempt && job_state_is_active(j->state) ? j : NULL;
}

uint64_t claim_moves_left(const struct state *s, usec_t now)
{
    uint64_t all = s->settings->defrag_gpu_us, lost = s->meta.moves_lost;

    if (s->meta.moves_day != now / (CLAIM_DAY_S * USEC_PER_SEC))
        lost = 0;
    return all > lost ? all - lost : 0;
}

/* How many victims from this one on are of one gang. */
static uint32_t n_alike(const struct claim *k, uint32_t from)
{
    uint32_t n = from + 1;

    while (n < k->n_victims && k->victims[n].job.v == k->victims[from].job.v)
        n++;
    return n - from;
}

enum verdict { WAITS, READY, LOST };

static bool is_any_leaving(const struct state *s)
{
    for (size_t i = 0; i < s->active.n; i++)
        if (s->active.v[i]->is_leaving || s->active.v[i]->state > JOB_RUNNING ||
            job_is_going(s->active.v[i]))
            return true;
    return false;
}

/* May it be charged for so many of a model? What cannot be taken and has still to leave counts. */
static bool has_room(const struct state *s, const struct job *j, uint32_t model, uint64_t gpus)
{
    uint32_t judge, other;
    uint64_t quota = tenant_quota(&s->tenants, j->tenant_ix, model, &judge), held[MODELS_MAX];

    if (!tenant_has_room(&s->tenants, j->tenant_ix, model, gpus))
        return false;
    for (size_t i = 0; i < s->active.n && !j->demand->is_preemptible; i++) {
        const struct job *o = s->active.v[i];

        if (!o->charged_parts || o->demand->is_preemptible || o->tenant_ix == IX_NONE)
            continue;
        (void)tenant_quota(&s->tenants, o->tenant_ix, model, &other);
        job_gpus(o, o->models, held);
        gpus += other == judge ? held[model] : 0;
    }
    return j->demand->is_preemptible || gpus <= quota;
}

/* Pods beyond what their gangs need do not outlive their grace, whatever becomes of the gangs. */
static bool has_pods(const struct claim *k)
{
    for (uint32_t i = 0; i < k->n_victims; i++)
        if (k->victims[i].pod)
            return true;
    return false;
}

/* Are both in one domain of a level? A node without one stands alone. */
static bool is_shared(const struct state *s, const struct demand *d, uint32_t level,
                      const struct node *a, const struct node *b)
{
    const struct topology *t = &s->cluster.topology;
    uint32_t home = topology_domain_at(t, a, d->hierarchy, level);

    return a == b || (home != IX_NONE && home == topology_domain_at(t, b, d->hierarchy, level));
}

/* In the domain that the gang must not leave, and in that of the slice that both are of? */
static bool are_together(const struct state *s, const struct job *j, const struct member *a,
                         const struct member *b)
{
    const struct demand *d = j->demand;
    const struct node *m = cluster_node(&s->cluster, a->node_ix),
                      *n = cluster_node(&s->cluster, b->node_ix);

    return (d->required == IX_NONE || is_shared(s, d, d->required, m, n)) &&
           (!job_shares_slice(j, a, b) || is_shared(s, d, d->slice_level, m, n));
}

/* Nodes change while they are held, a reboot brings another driver: do its hosts, all known, still
 * go together? A skew is judged when they are chosen: it changes with nodes that are not its own.
 */
static bool go_together(const struct state *s, const struct job *j)
{
    const struct member *before = NULL;
    uint32_t driver = IX_NONE;

    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct member *m = &j->members[i];
        const struct node *n = cluster_node(&s->cluster, m->node_ix);

        if (m->phase == MEMBER_ABSENT)
            continue;
        if (j->models[m->role] != MODELS_MAX && n->model != j->models[m->role])
            return false;
        if (before && !are_together(s, j, before, m))
            return false;
        before = m;
        if (!j->demand->roles[m->role].same_driver)
            continue;
        if (driver != IX_NONE && n->driver != driver)
            return false;
        driver = n->driver;
    }
    return true;
}

/* Nothing else may be left where it is to run, and no limit be passed on the way, nor one of
 * settings that were changed since. A tenant that was stopped meanwhile, or whose window has
 * closed, starts nothing. */
static enum verdict look(const struct state *s, const struct job *j)
{
    const uint64_t *closed = window_closed(s, j, s->now);
    uint64_t gpus[MODELS_MAX];
    bool fits = true;

    if (j->tenant_ix == IX_NONE || tenant_stopped(&s->tenants, j->tenant_ix) != IX_NONE ||
        !opening_admits(s, j, s->now) || !licence_admits(s, j, NULL))
        return LOST;
    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct node *n = cluster_node(&s->cluster, j->members[i].node_ix);

        if (j->members[i].phase == MEMBER_ABSENT)
            continue;
        if (!n || !n->is_usable || window_has(closed, n->ix) ||
            !role_allows(&j->demand->roles[j->members[i].role], n))
            return LOST;
        fits = fits && resources_fit(&n->used, &n->total);
    }
    if (!go_together(s, j))
        return LOST;
    job_gpus(j, j->models, gpus);
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        fits = fits && (!gpus[m] || has_room(s, j, m, gpus[m]));
    fits = fits && tenant_user_fits(&s->tenants, job_account(j));
    if (fits)
        return READY;
    return is_any_leaving(s) || (has_pods(j->claim) && s->now < j->claim->until) ? WAITS : LOST;
}

/* The next victim that is to hear of it; NULL: all that run have. */
static struct job *tell_next(const struct state *s, struct claim *k)
{
    while (k->n_told < k->n_victims) {
        struct job *victim = claim_victim(s, &k->victims[k->n_told]);

        k->n_told += n_alike(k, k->n_told);
        if (victim && victim->state == JOB_RUNNING)
            return victim;
    }
    return NULL;
}

/* What gangs that have yet to be told hold of a tenant's limit; pods count once they are told. */
static uint64_t untold(const struct state *s, const struct claim *k, uint32_t tenant,
                       uint32_t model)
{
    uint64_t sum = 0, gpus[MODELS_MAX];

    for (uint32_t i = k->n_told; i < k->n_victims; i++) {
        const struct job *v = k->victims[i].pod ? NULL : claim_victim(s, &k->victims[i]);

        if (!v || !v->is_leaving || v->move ||
            !settings_is_above(s->settings, tenant, v->tenant_ix))
            continue;
        job_gpus(v, v->models, gpus);
        sum += gpus[model];
    }
    return sum;
}

/* Can they stay? Other claims may count on the limits that they were to leave. */
static bool may_stay(const struct state *s, const struct job *taker)
{
    const struct claim *k = taker->claim;

    for (uint32_t t = 0; t < s->settings->n_tenants && k->n_told < k->n_victims; t++) {
        const struct tenant *tenant = &s->tenants.v[t];
        bool is_takers = settings_is_above(s->settings, t, taker->tenant_ix);

        for (uint32_t m = 0; m < s->settings->n_models; m++) {
            int64_t limit = tenant_own_limit(&s->tenants, t, m);
            int64_t stays = limit < 0 ? 0 : (int64_t)untold(s, k, t, m);

            if (limit >= 0 && (stays > 0 || is_takers) &&
                (int64_t)tenant->used[m] + tenant->coming[m] + stays > limit)
                return false;
        }
    }
    return true;
}

bool claim_next(struct state *s, usec_t now, struct event *ev)
{
    uint64_t stamp = s->cluster.freed_any + s->cluster.fact_gen + s->turn;

    *ev = (struct event){.at = now};
    for (size_t i = 0; i < s->claims.n; i++) {
        struct job *j = s->claims.v[i], *victim;
        struct claim *k = j->claim;
        enum verdict v = k->seen == stamp ? WAITS : look(s, j);

        ev->u.claim.taker = j->id;
        k->seen = stamp;
        victim = v == READY && may_stay(s, j) ? NULL : tell_next(s, k);
        if (victim) {
            ev->kind = EV_GANG_PREEMPTED;
            ev->u.claim.victim = victim->id;
            return true;
        }
        if (v == WAITS)
            continue;
        ev->kind = EV_CLAIM_OVER;
        ev->u.claim.is_ready = v == READY;
        return true;
    }
    return false;
}

uint64_t claim_left(const struct state *s, const struct job *j, uint32_t *ret_gangs)
{
    const struct job *last = NULL;
    uint64_t parts = 0;

    *ret_gangs = 0;
    for (uint32_t i = 0; i < j->claim->n_victims; i++) {
        const struct victim *v = &j->claim->victims[i];
        const struct job *o = claim_victim(s, v);
        const struct member *m =
            o && v->pod && v->pod <= o->n_members ? &o->members[v->pod - 1] : NULL;

        if (!o || (v->pod && (!m || !m->is_going)))
            continue;
        parts += m ? job_pod_parts(o, m->role) : o->charged_parts;
        *ret_gangs += last != o;
        last = o;
    }
    return parts;
}

struct claim *claim_copy(const struct claim *from)
{
    struct claim *k = xmalloc(sizeof(*k));

    *k = *from;
    k->victims = xcalloc(k->n_victims + 1, sizeof(*k->victims));
    for (uint32_t i = 0; i < k->n_victims; i++)
        k->victims[i] = from->victims[i];
    return k;
}
