/* SPDX-License-Identifier: Apache-2.0 */
/* estimate_plan.c - copies of the gangs that run and wait, and of the arrays whose indices will, on
 * a fork of the cluster.
 */
#include "view/estimate_plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/backfill.h"
#include "core/claim.h"
#include "core/elastic.h"
#include "core/order.h"
#include "core/relax.h"
#include "core/window.h"
#include "life/job_life.h"

static bool is_stopping(const struct job *j)
{
    return j->state > JOB_RUNNING;
}

/* When its run is usually over; INT64_MAX: not known, or it lasts already longer. */
static usec_t usual_end(const struct plan *p, const struct job *j, usec_t began)
{
    usec_t part = p->usual && j->tenant_ix != IX_NONE ? p->usual[j->tenant_ix] : 0, end;

    end = began + j->max_runtime_us / 1000 * part + j->max_runtime_us % 1000 * part / 1000;
    return part && end > p->made_at ? end : INT64_MAX;
}

usec_t plan_expected_end(const struct plan *p, const struct job *j)
{
    usec_t began = j->running_at ? j->running_at : j->attempt_at, end;

    if (is_stopping(j))
        return j->state_since + (job_cut_us(j) ? job_cut_us(j) : j->grace_us);
    end = began + j->max_runtime_us;
    end = usual_end(p, j, began) < end ? usual_end(p, j, began) : end;
    end = j->run_until && j->run_until < end ? j->run_until : end;
    return j->deadline_at && j->deadline_at < end ? j->deadline_at : end;
}

struct planned *plan_entry(const struct estimates *e, struct job_id id)
{
    size_t lo = 0, hi = e->of.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (e->of.v[mid].job.v < id.v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < e->of.n && e->of.v[lo].job.v == id.v ? &e->of.v[lo] : NULL;
}

static struct demand *copy_demand(struct plan *p, const struct demand *from)
{
    struct demand *d = NULL;

    HASH_FIND_STR(p->s->demands, from->key, d);
    if (d)
        return d;
    d = xmalloc(sizeof(*d));
    *d = *from; /* with its verdict, which goes its own way */
    for (uint32_t r = 0; r < d->n_roles; r++) {
        d->roles[r].spread.group = NULL;
        if (!p->fork)
            d->roles[r].constraint =
                constraint_copy(&p->s->cluster.constraints, from->roles[r].constraint);
    }
    HASH_ADD_KEYPTR(hh, p->s->demands, d->key, strlen(d->key), d);
    return d;
}

bool plan_plays_on(const struct job *j)
{
    return j->array && j->state == JOB_PENDING && !j->waits.n;
}

void plan_ends_by(struct planned *to, usec_t end)
{
    if (end > to->end_at)
        to->end_at = end;
}

/* A copy of an index belongs to the copy of its array. */
static void join_array(struct plan *p, struct job *j)
{
    struct job *parent = array_parent(p->s, j);
    struct planned *to = parent ? plan_entry(p->to, parent->id) : NULL;

    if (!to)
        return;
    *vec_push(&parent->array->live) = j;
    array_consider(parent->array, j);
    if (job_state_is_active(j->state))
        plan_ends_by(to, plan_expected_end(p, j));
}

/* One that waits and is not in the plan: those after it are not, either. */
static void leave_out(struct plan *p, const struct job *j)
{
    struct job *parent = array_parent(p->s, j);
    struct planned *to = parent ? plan_entry(p->to, parent->id) : NULL;

    if (!to || job_state_is_terminal(j->state))
        return;
    to->kind = ESTIMATE_LEFT_OUT;
    indices_fini(&parent->array->waiting);
}

static struct job *copy_job(struct plan *p, const struct job *from)
{
    struct job *j = xmalloc(sizeof(*j));

    *j = *from; /* texts are the original's */
    j->texts = j->reason.text = NULL;
    j->demand = copy_demand(p, from->demand);
    j->other = from->other ? copy_demand(p, from->other) : NULL;
    memset(&j->waits, 0, sizeof(j->waits));
    j->bucket = NULL;
    j->failure = NULL;
    j->array = plan_plays_on(from) ? array_copy(from->array) : NULL;
    j->prev = j->next = NULL;
    j->timer_ix = SIZE_MAX;
    j->timer_at = 0;
    j->saved_turn = j->moved_turn = 0;
    j->members = NULL;
    if (from->n_members) {
        j->members = xcalloc(from->n_members, sizeof(*j->members));
        memcpy(j->members, from->members, from->n_members * sizeof(*j->members));
    }
    if (from->claim)
        j->claim = claim_copy(from->claim);
    if (from->move) {
        j->move = xmalloc(sizeof(*j->move));
        *j->move = *from->move;
        j->move->members = xcalloc(j->move->n, sizeof(*j->move->members));
        memcpy(j->move->members, from->move->members, j->move->n * sizeof(*j->move->members));
    }
    *vec_push(&p->s->by_id) = j;
    *vec_push(&p->s->ids) = j->id.v;
    if (j->array)
        *vec_push(&p->arrays) = j;
    join_array(p, j);
    return j;
}

uint32_t plan_looks(const struct state *s)
{
    size_t nodes = s->cluster.nodes.n > 1000 ? s->cluster.nodes.n : 1000;

    return (uint32_t)(ESTIMATE_LOOKS_MAX * (size_t)1000 / nodes) + 1;
}

/* Is it too much to plan the first `share` of each tenant? A step looks at each bucket. */
static bool is_too_much(const struct state *s, uint32_t share)
{
    uint32_t gangs = 0, buckets = 0;

    for (const struct bucket *b = s->buckets; b; b = b->hh.next) {
        uint32_t room = b->head->position <= share ? share - b->head->position + 1 : 0;

        gangs += b->n < room ? b->n : room;
        buckets += room > 0;
    }
    return gangs > ESTIMATE_GANGS_MAX || buckets > plan_looks(s) / 32;
}

/* How many of each tenant are in the plan. */
static uint32_t share_of_tenant(const struct state *s, uint32_t n_waiting)
{
    uint32_t share = n_waiting;

    while (share > 1 && is_too_much(s, share))
        share /= 2;
    return share;
}

static bool is_waited_for(const struct plan *p, const struct job *j)
{
    for (size_t i = 0; i < p->wish.waits.n; i++)
        if (p->wish.waits.v[i].on.v == j->id.v)
            return true;
    return false;
}

static void copy_jobs(struct plan *p, const struct state *s)
{
    uint32_t share = share_of_tenant(s, order_number(s));

    for (size_t i = 0; i < s->by_id.n; i++) {
        const struct job *j = s->by_id.v[i];

        if (job_state_is_active(j->state)) {
            (void)copy_job(p, j);
        } else if (j->claim || (j->bucket && j->position <= share)) {
            *vec_push(&p->waiting) = copy_job(p, j);
            *vec_push(&p->to->of) = (struct planned){.job = j->id, .kind = ESTIMATE_NEVER};
        } else if (plan_plays_on(j)) {
            (void)copy_job(p, j);
            *vec_push(&p->to->of) = (struct planned){.job = j->id, .kind = ESTIMATE_NEVER};
        } else if (is_waited_for(p, j) || (j->state == JOB_HELD && array_parent(p->s, j))) {
            (void)copy_job(p, j);
        } else {
            leave_out(p, j);
        }
    }
    for (size_t i = 0; i < p->arrays.n; i++)
        array_due(p->s, p->arrays.v[i]);
    for (size_t i = 0; i < s->active.n; i++)
        *vec_push(&p->s->active) = state_job(p->s, s->active.v[i]->id);
    for (size_t i = 0; i < s->claims.n; i++)
        *vec_push(&p->s->claims) = state_job(p->s, s->claims.v[i]->id);
    for (size_t i = 0; i < p->waiting.n; i++)
        if (!p->waiting.v[i]->claim)
            order_add(p->s, p->waiting.v[i]);
    for (size_t i = 0; i < p->waiting.n; i++) /* what sleeps goes on sleeping */
        if (p->waiting.v[i]->bucket && p->fork)
            order_copy_verdict(p->waiting.v[i]->bucket, state_job(s, p->waiting.v[i]->id)->bucket);
    p->s->has_missing = s->has_missing;
    p->s->is_quiet = s->is_quiet && p->fork;
}

/* In the plan no pod outlives its place, and one that was told to go has gone. */
static void end_pods(struct plan *p, const struct state *s)
{
    for (size_t i = 0; i < p->s->active.n; i++) {
        struct job *j = p->s->active.v[i];

        elastic_end_going(j, &s->cluster, &p->s->cluster);
        for (uint32_t k = 0; k < j->n_members; k++) {
            job_member_went(p->s, j, &j->members[k], &p->fx);
            j->members[k].uid[0] = '\0';
        }
    }
}

bool plan_has_usual(const struct state *s)
{
    for (uint32_t t = 0; t < s->settings->n_tenants; t++)
        if (tenant_usual(&s->tenants, t))
            return true;
    return false;
}

void plan_init(struct plan *p, const struct state *s, usec_t now, enum plan_kind kind,
               bool with_usual)
{
    p->s = state_create(s->settings);
    p->made_at = now;
    p->usual = with_usual ? xcalloc(s->settings->n_tenants, sizeof(*p->usual)) : NULL;
    for (uint32_t t = 0; t < s->settings->n_tenants && p->usual; t++)
        p->usual[t] = (uint16_t)tenant_usual(&s->tenants, t);
    if (kind == PLAN_CLONE) {
        cluster_clone(&p->s->cluster, &s->cluster);
    } else {
        p->fork = cluster_fork(&s->cluster);
        p->s->cluster = *p->fork;
        p->s->cluster.constraints = NULL; /* those of a job that is tried are its own */
    }
    p->s->meta = s->meta;
    p->s->is_synced = p->s->is_cluster_up = true;
    p->s->now = now;
    p->s->turn = s->turn + 1;
    p->s->pass_gen = s->pass_gen;
    p->s->mature_at = s->mature_at;
    p->s->mature_gen = s->mature_gen;
    p->s->checkpoint_gen = s->checkpoint_gen;
    p->s->licence_gen = s->licence_gen;
    tenants_copy(&p->s->tenants, &s->tenants);
    copy_jobs(p, s);
    end_pods(p, s);
    backfill_copy(p->s, s);
    windows_borrow(p->s, s);
}

void plan_fini(struct plan *p)
{
    struct state *s = p->s;
    struct demand *d, *next;

    if (p->tried)
        relax_fini(s, p->tried);
    for (size_t i = 0; i < p->begun.n; i++)
        relax_fini(s, p->begun.v[i]);
    HASH_CLEAR(hh_name, s->jobs_by_name); /* before its first element goes */
    for (size_t i = 0; i < s->by_id.n; i++)
        job_destroy(s->by_id.v[i]);
    s->by_id.n = 0;
    HASH_ITER(hh, s->demands, d, next)
    {
        HASH_DELETE(hh, s->demands, d);
        for (uint32_t r = 0; r < d->n_roles; r++)
            free(d->roles[r].spread.group);
        free(d);
    }
    if (p->fork)
        cluster_init(&s->cluster, s->settings); /* all of it is the fork's */
    cluster_fork_free(p->fork);
    state_destroy(s);
    free(p->usual);
    vec_fini(&p->waiting);
    vec_fini(&p->arrays);
    vec_fini(&p->begun);
    vec_fini(&p->wish.waits);
    effects_fini(&p->fx);
}
