/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - head of line, skipping and EASY backfill over one sorted list.
 *
 * EASY: Lifka, "The ANL/IBM SP Scheduling System", 1995, with exact run times: the first job that
 * does not fit is reserved for at the earliest instant at which it fits as running jobs end; a
 * later one may start if it ends by then, or fits beside the reservation on the cluster of that
 * instant.
 */
#include "core/plain.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/cycle.h"
#include "core/order.h"

struct ending {
    usec_t at;
    struct job *job;
};

typedef VEC(const struct demand *) demand_list;

struct plain {
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
    VEC(struct ending) ends;
};

struct plain *plain_create(void)
{
    return xcalloc(1, sizeof(struct plain));
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

/* Position of the first job of the list that is not before j. */
static size_t find(const struct state *s, const struct job *j)
{
    const struct plain *p = s->plain;
    size_t from = 0, to = p->jobs.n;

    while (from < to) {
        size_t middle = (from + to) / 2;

        if (order_is_plainly_before(s->settings->order, p->jobs.v[middle], j))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void plain_add(struct state *s, struct job *j)
{
    struct plain *p = s->plain;
    size_t at = find(s, j);

    (void)vec_push(&p->jobs);
    memmove(&p->jobs.v[at + 1], &p->jobs.v[at], (p->jobs.n - 1 - at) * sizeof(p->jobs.v[0]));
    p->jobs.v[at] = j;
}

void plain_remove(struct state *s, struct job *j)
{
    size_t at = find(s, j);

    assert(at < s->plain->jobs.n && s->plain->jobs.v[at] == j);
    vec_remove(&s->plain->jobs, at);
}

struct job *plain_first(const struct state *s)
{
    return s->plain && s->plain->jobs.n ? s->plain->jobs.v[0] : NULL;
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
static bool try_now(struct state *s, struct job *j, const struct cluster_room *room,
                    struct event *ev)
{
    bool is_beside = room->n_beside > 0;
    demand_list *bad = is_beside ? &s->plain->bad_long : &s->plain->bad;

    if (has_demand(&s->plain->bad, j->demand) || (is_beside && has_demand(bad, j->demand)))
        return false;
    if (cycle_try(s, j, room, ev))
        return true;
    *vec_push(bad) = j->demand;
    return false;
}

static void hold(struct cluster *fork, const struct job *j, const struct event *ev)
{
    uint32_t at = 0;

    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        struct resources asks = j->demand->roles[r].each;

        if (ev->u.placed.fixed_cpu_milli[r] >= 0)
            asks.amount[RES_CPU] = ev->u.placed.fixed_cpu_milli[r];
        if (ev->u.placed.fixed_memory_bytes[r] >= 0)
            asks.amount[RES_MEMORY] = ev->u.placed.fixed_memory_bytes[r];
        for (uint32_t i = 0; i < j->demand->roles[r].replicas; i++)
            cluster_hold(fork, ev->u.placed.members[at++].node_ix, &asks);
    }
}

static int by_end(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->job->id.v < y->job->id.v ? -1 : x->job->id.v > y->job->id.v;
}

static void list_ends(struct state *s)
{
    struct plain *p = s->plain;

    p->ends.n = 0;
    for (size_t i = 0; i < s->active.n; i++) {
        struct job *j = s->active.v[i];

        if (j->n_done < j->n_members)
            *vec_push(&p->ends) = (struct ending){j->attempt_at + j->max_runtime_us, j};
    }
    if (p->ends.n)
        qsort(p->ends.v, p->ends.n, sizeof(p->ends.v[0]), by_end);
}

static void release(struct cluster *fork, const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct resources asks;

        if (j->members[i].phase >= MEMBER_SUCCEEDED)
            continue; /* holds nothing any more */
        state_pod_asks(j, j->members[i].role, &asks);
        cluster_release(fork, j->members[i].node_ix, &asks);
    }
}

/* The earliest instant at which the head fits; INT64_MAX: it never will, and holds nobody up. */
static void reserve(struct state *s)
{
    struct plain *p = s->plain;
    struct event ev;
    bool is_placed = false;
    size_t i = 0;

    if (!p->reserved)
        p->reserved = cluster_fork(&s->cluster);
    else
        cluster_fork_copy(p->reserved, &s->cluster);
    list_ends(s);
    p->reserved_at = INT64_MAX;
    while (i < p->ends.n && !is_placed) {
        usec_t at = p->ends.v[i].at;

        for (; i < p->ends.n && p->ends.v[i].at == at; i++)
            release(p->reserved, p->ends.v[i].job);
        is_placed = cycle_try(s, p->head, &(struct cluster_room){.on = p->reserved}, &ev);
        if (is_placed)
            p->reserved_at = at;
    }
    if (!is_placed)
        return;
    hold(p->reserved, p->head, &ev);
    event_fini(&ev);
}

/* Behind a reservation. */
static bool try_behind(struct state *s, struct job *j, usec_t now, struct event *ev)
{
    const struct cluster *beside[] = {s->plain->reserved};
    struct cluster_room room = {.on = &s->cluster, .beside = beside};

    if (now + j->max_runtime_us <= s->plain->reserved_at)
        return try_now(s, j, &room, ev);
    room.n_beside = 1;
    if (!try_now(s, j, &room, ev))
        return false;
    hold(s->plain->reserved, j, ev);
    return true;
}

/* The list in its order; a job that is placed leaves it, so that ix is then the next one. */
static bool next_in_list(struct state *s, usec_t now, struct event *ev)
{
    const struct settings *set = s->settings;
    const struct cluster_room room = {.on = &s->cluster};
    struct plain *p = s->plain;

    for (; p->ix < p->jobs.n; p->ix++) {
        struct job *j = p->jobs.v[p->ix];

        if (p->head && set->depth && p->seen++ >= set->depth)
            return false;
        if (p->head && set->queue == QUEUE_EASY ? try_behind(s, j, now, ev)
                                                : try_now(s, j, &room, ev))
            return true;
        if (set->queue == QUEUE_HOL)
            return false;
        if (p->head)
            continue;
        p->head = j;
        if (set->queue == QUEUE_EASY)
            reserve(s);
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
static size_t poorest(const struct state *s)
{
    const struct plain *p = s->plain;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < p->jobs.n; i++) {
        uint32_t tenant = p->jobs.v[i]->tenant_ix;

        if ((i && p->jobs.v[i - 1]->tenant_ix == tenant) || is_blocked(p, tenant))
            continue;
        if (best == SIZE_MAX || held_by(s, tenant) < held_by(s, p->jobs.v[best]->tenant_ix))
            best = i;
    }
    return best;
}

static bool next_in_tenants(struct state *s, struct event *ev)
{
    const struct cluster_room room = {.on = &s->cluster};
    struct plain *p = s->plain;

    for (size_t i = poorest(s); i != SIZE_MAX; i = poorest(s)) {
        uint32_t tenant = p->jobs.v[i]->tenant_ix;

        for (; i < p->jobs.n && p->jobs.v[i]->tenant_ix == tenant; i++) {
            if (try_now(s, p->jobs.v[i], &room, ev))
                return true;
            if (s->settings->queue == QUEUE_HOL)
                break;
        }
        p->blocked[tenant / 64] |= UINT64_C(1) << (tenant % 64);
    }
    return false;
}

bool plain_next(struct state *s, usec_t now, struct event *ev)
{
    struct plain *p = s->plain;

    if (!p->is_open || p->at != now) {
        p->at = now;
        p->ix = p->bad.n = p->bad_long.n = p->seen = 0;
        p->head = NULL;
        memset(p->blocked, 0, sizeof(p->blocked));
    }
    p->is_open =
        s->settings->order == ORDER_FAIR ? next_in_tenants(s, ev) : next_in_list(s, now, ev);
    s->is_quiet = !p->is_open;
    return p->is_open;
}
