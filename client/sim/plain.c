/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - head of line, skipping and EASY backfill over one sorted list.
 *
 * EASY: Lifka, "The ANL/IBM SP Scheduling System", 1995, with exact run times: the first job that
 * does not fit is reserved for at the earliest instant at which it fits as running jobs end; a
 * later one may start if it ends by then, or fits beside the reservation on the cluster of that
 * instant.
 */
#include "plain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/future.h"

typedef VEC(const struct demand *) demand_list;

struct plain {
    struct state *state;
    const struct policy *policy;
    VEC(struct job *) jobs; /* pending, in order */
    /* the pass */
    bool is_open;
    usec_t at;
    size_t ix;            /* next to look at */
    uint32_t seen;        /* looked at behind the head */
    struct job *head;     /* the first that did not fit; NULL: all did */
    demand_list bad;      /* do not fit now */
    demand_list bad_long; /* do not fit beside the reservation */
    uint64_t blocked[TENANTS_MAX / 64];
    usec_t reserved_at;
    struct cluster *reserved; /* as it is then, with the head on it */
    ending_list ends;
};

struct plain *plain_create(struct state *s, const struct policy *policy)
{
    struct plain *p = xcalloc(1, sizeof(*p));

    p->state = s;
    p->policy = policy;
    return p;
}

void plain_destroy(struct plain *p)
{
    if (!p)
        return;
    vec_fini(&p->jobs);
    vec_fini(&p->bad);
    vec_fini(&p->bad_long);
    vec_fini(&p->ends);
    cluster_fork_free(p->reserved);
    free(p);
}

static bool is_before(enum order_rule rule, const struct job *a, const struct job *b)
{
    if (rule == ORDER_FAIR && a->tenant_ix != b->tenant_ix)
        return a->tenant_ix < b->tenant_ix;
    if (rule == ORDER_SJF && a->max_runtime_us != b->max_runtime_us)
        return a->max_runtime_us < b->max_runtime_us;
    if (rule == ORDER_PRIO && a->priority != b->priority)
        return a->priority > b->priority;
    if (a->submitted_at != b->submitted_at)
        return a->submitted_at < b->submitted_at;
    return a->id.v < b->id.v;
}

/* Position of the first job of the list that is not before j. */
static size_t find(const struct plain *p, const struct job *j)
{
    size_t from = 0, to = p->jobs.n;

    while (from < to) {
        size_t middle = (from + to) / 2;

        if (is_before(p->policy->order, p->jobs.v[middle], j))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void plain_add(struct plain *p, struct job *j)
{
    size_t at = find(p, j);

    (void)vec_push(&p->jobs);
    memmove(&p->jobs.v[at + 1], &p->jobs.v[at], (p->jobs.n - 1 - at) * sizeof(p->jobs.v[0]));
    p->jobs.v[at] = j;
}

void plain_remove(struct plain *p, struct job *j)
{
    size_t at = find(p, j);

    assert(at < p->jobs.n && p->jobs.v[at] == j);
    vec_remove(&p->jobs, at);
}

struct job *plain_first(const struct plain *p)
{
    return p->jobs.n ? p->jobs.v[0] : NULL;
}

static bool has_demand(const demand_list *list, const struct demand *d)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] == d)
            return true;
    return false;
}

static bool is_blocked(const struct plain *p, uint32_t tenant)
{
    return p->blocked[tenant / 64] >> (tenant % 64) & 1;
}

/* Place j now. Equal demands are asked once a pass. */
static bool try_now(struct plain *p, struct job *j, const struct cluster_room *room,
                    struct event *ev)
{
    bool is_beside = room->n_beside > 0;
    demand_list *bad = is_beside ? &p->bad_long : &p->bad;

    if (has_demand(&p->bad, j->demand) || (is_beside && has_demand(bad, j->demand)))
        return false;
    if (cycle_try(p->state, j, room, ev))
        return true;
    *vec_push(bad) = j->demand;
    return false;
}

static void hold(struct cluster *fork, const struct job *j, const struct event *ev)
{
    uint32_t at = 0;

    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        struct resources asks;

        role_asks(&j->demand->roles[r], ev->u.placed.fixed_cpu_milli[r],
                  ev->u.placed.fixed_memory_bytes[r], &asks);
        for (uint32_t i = 0; i < j->demand->roles[r].replicas; i++)
            cluster_hold(fork, ev->u.placed.members[at++].node_ix, &asks);
    }
}

static usec_t exact_end(const struct job *j)
{
    return j->attempt_at + j->max_runtime_us;
}

/* The earliest instant at which the head fits; INT64_MAX: it never will, and holds nobody up. */
static void reserve(struct plain *p)
{
    struct cluster_room room = {.rule = p->policy->place};
    struct state *s = p->state;
    struct event ev;
    bool is_placed = false;
    size_t i = 0;

    if (!p->reserved)
        p->reserved = cluster_fork(&s->cluster);
    else
        cluster_fork_copy(p->reserved, &s->cluster);
    future_ends(s, exact_end, &p->ends);
    p->reserved_at = INT64_MAX;
    while (i < p->ends.n && !is_placed) {
        usec_t at = p->ends.v[i].at;

        for (; i < p->ends.n && p->ends.v[i].at == at; i++)
            future_release(p->reserved, p->ends.v[i].job);
        room.on = p->reserved;
        is_placed = cycle_try(s, p->head, &room, &ev);
        if (is_placed)
            p->reserved_at = at;
    }
    if (!is_placed)
        return;
    hold(p->reserved, p->head, &ev);
    event_fini(&ev);
}

/* Behind a reservation. */
static bool try_behind(struct plain *p, struct job *j, usec_t now, struct event *ev)
{
    const struct cluster *beside[] = {p->reserved};
    struct cluster_room room = {
        .on = &p->state->cluster, .beside = beside, .rule = p->policy->place};

    if (now + j->max_runtime_us <= p->reserved_at)
        return try_now(p, j, &room, ev);
    room.n_beside = 1;
    if (!try_now(p, j, &room, ev))
        return false;
    hold(p->reserved, j, ev);
    return true;
}

/* The list in its order; a job that is placed leaves it, so that ix is then the next one. */
static bool next_in_list(struct plain *p, usec_t now, struct event *ev)
{
    const struct cluster_room room = {.on = &p->state->cluster, .rule = p->policy->place};

    for (; p->ix < p->jobs.n; p->ix++) {
        struct job *j = p->jobs.v[p->ix];

        if (p->head && p->policy->depth && p->seen++ >= p->policy->depth)
            return false;
        if (p->head && p->policy->queue == QUEUE_EASY ? try_behind(p, j, now, ev)
                                                      : try_now(p, j, &room, ev))
            return true;
        if (p->policy->queue == QUEUE_HOL)
            return false;
        if (p->head)
            continue;
        p->head = j;
        if (p->policy->queue == QUEUE_EASY)
            reserve(p);
    }
    return false;
}

static uint64_t held_by(const struct state *s, uint32_t tenant)
{
    uint64_t sum = 0;

    for (uint32_t m = 0; m < s->settings->n_models; m++)
        sum += s->tenants.v[tenant].used[m];
    return sum;
}

/* The tenant that holds the fewest GPUs and has jobs, not yet blocked; jobs are sorted by tenant.
 * Returns the position of its first. */
static size_t poorest(const struct plain *p)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < p->jobs.n; i++) {
        uint32_t tenant = p->jobs.v[i]->tenant_ix;

        if ((i && p->jobs.v[i - 1]->tenant_ix == tenant) || is_blocked(p, tenant))
            continue;
        if (best == SIZE_MAX ||
            held_by(p->state, tenant) < held_by(p->state, p->jobs.v[best]->tenant_ix))
            best = i;
    }
    return best;
}

static bool next_in_tenants(struct plain *p, struct event *ev)
{
    const struct cluster_room room = {.on = &p->state->cluster, .rule = p->policy->place};

    for (size_t i = poorest(p); i != SIZE_MAX; i = poorest(p)) {
        uint32_t tenant = p->jobs.v[i]->tenant_ix;

        for (; i < p->jobs.n && p->jobs.v[i]->tenant_ix == tenant; i++) {
            if (try_now(p, p->jobs.v[i], &room, ev))
                return true;
            if (p->policy->queue == QUEUE_HOL)
                break;
        }
        p->blocked[tenant / 64] |= UINT64_C(1) << (tenant % 64);
    }
    return false;
}

bool plain_next(struct plain *p, usec_t now, struct event *ev)
{
    p->state->now = now;

    if (!p->is_open || p->at != now) {
        p->at = now;
        p->ix = p->bad.n = p->bad_long.n = p->seen = 0;
        p->head = NULL;
        memset(p->blocked, 0, sizeof(p->blocked));
    }
    p->is_open = p->policy->order == ORDER_FAIR ? next_in_tenants(p, ev) : next_in_list(p, now, ev);
    return p->is_open;
}
