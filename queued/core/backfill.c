/* SPDX-License-Identifier: Apache-2.0 */
/* backfill.c - replay the latest ends onto a fork until the blocked gang fits (EASY backfill,
 * Mu'alem and Feitelson 2001, with hosts instead of counts).
 *
 * Ends only free, so the first that suffices is found without a look at each. A reservation is kept
 * as it is while its hosts hold it; a new look replaces it only by an earlier one.
 */
#include "core/backfill.h"

#include <stdlib.h>
#include <string.h>

#include "core/cycle.h"
#include "core/future.h"
#include "core/order.h"
#include "core/place.h"
#include "core/window.h"

enum { SLOTS = MODELS_MAX + 1 /* the last: gangs without GPUs */, HEIRS_MAX = 8 };
/* A plan that holds is looked at again for an earlier one at most so often. */
#define REPLAN_US (10 * USEC_PER_SEC)

#define SPAN_MAX (INT64_C(100) * 366 * 86400 * USEC_PER_SEC)

struct held {
    uint32_t node_ix;
    struct resources asks;
};

struct reservation {
    struct job_id job; /* 0: none */
    usec_t at;
    usec_t planned_at; /* last look for an earlier one */
    VEC(struct held) held;
    struct cluster *fork; /* the cluster at `at`, with the gang in place */
    uint64_t stamp;       /* of the cluster that fork was made of; 0: not made */
    bool fits;            /* the gang had room on its hosts then */
    bool is_inside;       /* its tenant had quota left at the last cycle */
};

struct backfill {
    struct reservation of[SLOTS];
    const struct cluster *beside[SLOTS];
    struct cluster *scratch; /* of plan() */
    uint64_t gen;
};

struct backfill *backfill_create(uint64_t gen)
{
    struct backfill *b = xcalloc(1, sizeof(*b));

    b->gen = gen;
    return b;
}

static void reservation_drop(struct backfill *b, struct reservation *r)
{
    vec_fini(&r->held);
    cluster_fork_free(r->fork);
    *r = (struct reservation){0};
    b->gen++;
}

void backfill_destroy(struct backfill *b)
{
    for (int m = 0; m < SLOTS; m++)
        reservation_drop(b, &b->of[m]);
    cluster_fork_free(b->scratch);
    free(b);
}

void backfill_copy(struct state *s, const struct state *from)
{
    s->backfill->gen = from->backfill->gen;
    for (int m = 0; m < SLOTS; m++) {
        const struct reservation *r = &from->backfill->of[m];
        struct reservation *to = &s->backfill->of[m];

        if (!state_job(s, r->job)) {
            s->backfill->gen += r->job.v != 0; /* it holds nobody back there */
            continue;
        }
        *to = *r;
        to->fork = r->fork ? cluster_fork(r->fork) : NULL;
        memset(&to->held, 0, sizeof(to->held));
        for (size_t i = 0; i < r->held.n; i++)
            *vec_push(&to->held) = r->held.v[i];
    }
}

uint64_t backfill_gen(const struct state *s)
{
    return s->backfill->gen;
}

static usec_t span(usec_t d)
{
    return d < 0 ? 0 : d > SPAN_MAX ? SPAN_MAX : d;
}

void backfill_moved(struct state *s)
{
    s->backfill->gen++;
    s->is_quiet = false;
}

usec_t backfill_end_from(const struct job *j, usec_t start)
{
    usec_t running = start + span(j->start_timeout_us), end = running + span(j->max_runtime_us);

    if (j->deadline_at && j->deadline_at < end)
        end = j->deadline_at > running ? j->deadline_at : running;
    return end + span(j->grace_us);
}

usec_t backfill_last_start(const struct job *j, usec_t end)
{
    bool is_cut = j->deadline_at && j->deadline_at <= end - span(j->grace_us);

    return end - span(j->grace_us) - span(j->start_timeout_us) -
           (is_cut ? 0 : span(j->max_runtime_us));
}

usec_t backfill_end(const struct job *j, usec_t now)
{
    usec_t start = j->n_members ? j->attempt_at : now;

    if (j->n_members && j->running_at && j->running_at < start + span(j->start_timeout_us))
        start = j->running_at - span(j->start_timeout_us);
    return backfill_end_from(j, start);
}

static uint64_t stamp_of(const struct cluster *c)
{
    return c->freed_any + c->taken_any + c->fact_gen + 1;
}

static bool role_may_use(const struct demand_role *role, uint32_t model)
{
    return role->n_models == 0 || memchr(role->models, (int)model, role->n_models);
}

/* May its GPUs be judged by this slot? */
static bool is_of_slot(const struct demand *d, uint32_t slot)
{
    for (uint32_t r = 0; r < d->n_roles && d->gpus; r++)
        if (d->roles[r].each.amount[RES_GPUS] && slot < MODELS_MAX &&
            role_may_use(&d->roles[r], slot))
            return true;
    return d->gpus == 0 && slot == MODELS_MAX;
}

/* Models of a gang planned in a slot; false: a limit stops it, not the cluster. */
static bool models_of(const struct state *s, const struct job *j, uint32_t slot, uint8_t *ret)
{
    memset(ret, MODELS_MAX, JOB_ROLES_MAX);
    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        const struct demand_role *role = &j->demand->roles[r];

        if (role->each.amount[RES_GPUS] == 0)
            continue;
        ret[r] = role_may_use(role, slot) ? (uint8_t)slot : role->models[0];
        if (ret[r] >= s->settings->n_models)
            return false;
    }
    return cycle_admits(s, j, ret);
}

static struct cluster *fork_anew(struct cluster **fork, const struct cluster *c)
{
    if (*fork)
        cluster_fork_copy(*fork, c);
    else
        *fork = cluster_fork(c);
    return *fork;
}

/* Has an operator reserved one of its hosts for that time? */
static bool is_shut(const struct state *s, const struct reservation *r)
{
    const struct job *j = state_job(s, r->job);
    const uint64_t *closed = j ? window_closed(s, j, r->at > s->now ? r->at : s->now) : NULL;

    for (size_t i = 0; i < r->held.n && closed; i++)
        if (window_has(closed, r->held.v[i].node_ix))
            return true;
    return false;
}

/* Fork at r->at with the gang in place. false: its hosts have no room for it at that time. */
static bool rebuild(const struct state *s, struct reservation *r)
{
    uint64_t stamp = stamp_of(&s->cluster);
    bool fits = true;

    if (r->stamp == stamp)
        return r->fits && !is_shut(s, r);
    r->stamp = stamp;
    (void)fork_anew(&r->fork, &s->cluster);
    for (size_t i = 0; i < s->active.n; i++)
        if (backfill_end(s->active.v[i], 0) <= r->at)
            future_release(r->fork, s->active.v[i]);
    for (size_t i = 0; i < r->held.n && fits; i++) {
        const struct node *n = cluster_node(r->fork, r->held.v[i].node_ix);
        struct resources left;

        fits = n && n->is_usable;
        if (!fits)
            break;
        node_free(n, &left);
        fits = resources_fit(&r->held.v[i].asks, &left);
        cluster_hold(r->fork, n->ix, &r->held.v[i].asks);
    }
    r->fits = fits;
    return fits && !is_shut(s, r);
}

static void keep_plan(struct reservation *r, const struct job *j, struct place_result *p)
{
    uint32_t at = 0;

    r->held.n = 0;
    for (uint32_t k = 0; k < j->demand->n_roles; k++) {
        struct resources asks;

        role_asks(&j->demand->roles[k], p->fixed_cpu_milli[k], p->fixed_memory_bytes[k], &asks);
        for (uint32_t i = 0; i < j->demand->roles[k].replicas; i++, at++)
            *vec_push(&r->held) = (struct held){p->members[at].node_ix, asks};
    }
    free(p->members);
    *p = (struct place_result){0};
}

static usec_t latest_end(const struct job *j)
{
    return backfill_end(j, 0);
}

struct search {
    struct place_wish wish;
    struct cluster *fork; /* with the first `given` ends given back */
    ending_list ends;
    size_t given;
    usec_t from; /* not before it */
    struct reservation *found;
};

/* The earliest plan with at least lo and less than hi ends given back. */
static bool search(const struct state *s, struct search *f, const struct job *j, size_t lo,
                   size_t hi)
{
    size_t mid = lo;

    while (lo < hi) {
        struct place_result p = {0};

        for (; f->given < mid; f->given++)
            future_release(f->fork, f->ends.v[f->given].job);
        for (; f->given > mid; f->given--)
            future_hold(f->fork, f->ends.v[f->given - 1].job);
        if (cycle_leaves_unlent(s, f->fork, j, f->wish.models) &&
            place_gang(f->fork, &f->wish, &p)) {
            keep_plan(f->found, j, &p);
            f->found->at = mid && f->ends.v[mid - 1].at > f->from ? f->ends.v[mid - 1].at : f->from;
            f->found->job = j->id;
            hi = mid;
        } else {
            lo = mid + 1;
        }
        /* in growing steps up to the first that suffices, then by halving */
        mid = f->found->job.v ? lo + (hi - lo) / 2 : lo * 2 < hi ? lo * 2 : hi - 1;
    }
    return f->found->job.v != 0;
}

/* The earliest plan for j in a slot; false: the ends that are known do not suffice. While no window
 * changes, ends only free: each such time is searched by itself. */
static bool plan(const struct state *s, const struct job *j, uint32_t slot, usec_t now,
                 struct reservation *ret)
{
    uint8_t models[JOB_ROLES_MAX];
    struct search f = {.wish = {.demand = j->demand, .models = models}, .found = ret};
    usec_t until = now;
    size_t lo, hi = 0;

    if ((slot < MODELS_MAX && s->cluster.model_gpus[slot] == 0) || !models_of(s, j, slot, models))
        return false;
    f.wish.n_beside = backfill_beside(s, backfill_ahead_of(s, j, INT64_MAX), &f.wish.beside);
    future_ends(s, latest_end, &f.ends);
    f.fork = fork_anew(&s->backfill->scratch, &s->cluster);
    ret->planned_at = now;
    do {
        f.from = until;
        until = window_changes(s, j, f.from);
        f.wish.closed = window_closed(s, j, f.from);
        for (lo = hi; hi < f.ends.n && f.ends.v[hi].at < until;)
            hi++;
    } while (!search(s, &f, j, lo, hi + 1) && until < INT64_MAX);
    vec_fini(&f.ends);
    return ret->job.v != 0;
}

static struct reservation *own_of(const struct state *s, const struct job *j)
{
    for (int m = 0; m < SLOTS; m++)
        if (s->backfill->of[m].job.v == j->id.v)
            return &s->backfill->of[m];
    return NULL;
}

static bool is_inside(const struct state *s, uint32_t slot, const struct job *j)
{
    return slot < MODELS_MAX && tenant_in_quota(&s->tenants, j->tenant_ix, slot, 1);
}

/* Does its tenant's quota, or the other's, decide who keeps room for itself? */
static bool is_by_quota(const struct state *s, uint32_t slot, const struct job *a,
                        const struct job *b)
{
    return is_inside(s, slot, a) != is_inside(s, slot, b) &&
           !(s->settings->is_priority_first && a->priority != b->priority);
}

/* Who keeps room for itself: one whose tenant has quota left, then by priority and age, where users
 * share by their shares before age. Past use, by which tenants take turns, would move a reservation
 * back and forth before it comes. */
static bool goes_first(const struct state *s, uint32_t slot, const struct job *a,
                       const struct job *b)
{
    return is_by_quota(s, slot, a, b) ? is_inside(s, slot, a) : share_is_before(s, a, b);
}

/* Must j leave the room to the one that has it? Between users of a tenant not by their shares,
 * which move without waking anybody. */
static bool comes_behind(const struct state *s, uint32_t slot, const struct job *j,
                         const struct job *has)
{
    if (is_by_quota(s, slot, j, has))
        return is_inside(s, slot, has);
    return order_is_before(has, j) ||
           (s->settings->shares_users && j->uid != has->uid && j->tenant_ix == has->tenant_ix &&
            j->priority == has->priority);
}

/* Is the slot free for j, or taken by one that comes after it? */
static bool is_open(const struct state *s, uint32_t slot, const struct job *j)
{
    const struct job *has = state_job(s, s->backfill->of[slot].job);

    return !has || has == j || goes_first(s, slot, j, has);
}

void backfill_blocked(struct state *s, struct job *j, usec_t now)
{
    struct backfill *b = s->backfill;
    struct reservation best = {0}, *own = own_of(s, j), *to = own;

    if (own && now - own->planned_at < REPLAN_US && rebuild(s, own))
        return;
    if (own)
        own->planned_at = now;
    for (uint32_t m = 0; m < SLOTS; m++) {
        struct reservation r = {0};

        if ((own && own != &b->of[m]) || !is_of_slot(j->demand, m) || !is_open(s, m, j))
            continue;
        if (plan(s, j, m, now, &r) && (!best.job.v || r.at < best.at)) {
            struct reservation swap = best;

            best = r;
            r = swap;
            to = &b->of[m];
        }
        vec_fini(&r.held);
    }
    if (own && rebuild(s, own) && (!best.job.v || best.at >= own->at)) {
        vec_fini(&best.held);
    } else if (to) {
        best.fork = to->fork; /* memory that is used again */
        to->fork = NULL;
        reservation_drop(b, to);
        *to = best;
        to->is_inside = is_inside(s, (uint32_t)(to - b->of), j);
    }
}

/* Earliest in order, after `last`, of the blocked ones that a slot may serve. One that is awake may
 * start in this very cycle, when its turn comes. */
static struct job *next_heir(const struct state *s, uint32_t slot, const struct job *last)
{
    struct job *best = NULL;

    for (struct bucket *k = s->buckets; k; k = k->hh.next)
        if (k->key.tenant_ix != IX_NONE && !order_is_awake(s, k) &&
            is_of_slot(k->key.demand, slot) && (!last || goes_first(s, slot, last, k->head)) &&
            (!best || goes_first(s, slot, k->head, best)))
            best = k->head;
    return best;
}

void backfill_begin(struct state *s, usec_t now)
{
    struct backfill *b = s->backfill;
    uint8_t models[JOB_ROLES_MAX];

    for (uint32_t m = 0; m < SLOTS; m++) {
        struct reservation *r = &b->of[m];
        struct job *j = state_job(s, r->job);

        if (r->job.v == 0)
            continue;
        if (j && j->bucket && j->tenant_ix != IX_NONE && models_of(s, j, m, models)) {
            b->gen += r->is_inside != is_inside(s, m, j); /* others go first now, or no more */
            r->is_inside = is_inside(s, m, j);
            /* its hosts are gone, or taken by one that goes first; or ends have come early */
            if (now - r->planned_at >= REPLAN_US || !rebuild(s, r))
                backfill_blocked(s, j, now);
            if (r->job.v)
                continue;
        } else {
            reservation_drop(b, r);
        }
        j = next_heir(s, m, NULL);
        for (int n = 0; j && r->job.v == 0 && n < HEIRS_MAX; n++) {
            backfill_blocked(s, j, now);
            j = next_heir(s, m, j);
        }
    }
}

static bool holds_back(const struct state *s, uint32_t slot, const struct job *j, usec_t end)
{
    const struct reservation *r = &s->backfill->of[slot];
    const struct job *has = r->job.v ? state_job(s, r->job) : NULL;

    return has && has != j && end > r->at && has->tenant_ix != IX_NONE &&
           comes_behind(s, slot, j, has);
}

uint64_t backfill_ahead_of(const struct state *s, const struct job *j, usec_t end)
{
    uint64_t ahead = 0;

    for (uint32_t m = 0; m < SLOTS; m++)
        if (holds_back(s, m, j, end))
            ahead |= UINT64_C(1) << m;
    return ahead;
}

uint32_t backfill_beside(const struct state *s, uint64_t reserved,
                         const struct cluster *const **ret)
{
    struct backfill *b = s->backfill;
    uint32_t n = 0;

    for (uint32_t m = 0; m < SLOTS; m++)
        if (reserved >> m & 1 && rebuild(s, &b->of[m]))
            b->beside[n++] = b->of[m].fork;
    *ret = b->beside;
    return n;
}

bool backfill_leaves(const struct state *s, uint64_t reserved, const struct demand_role *role,
                     uint32_t node_ix)
{
    const struct cluster *const *beside;
    uint32_t n = backfill_beside(s, reserved, &beside);
    bool leaves = true;

    for (uint32_t i = 0; i < n && leaves; i++) {
        struct resources left;

        node_free(cluster_node(beside[i], node_ix), &left);
        leaves = resources_fit(&role->each, &left);
    }
    return leaves;
}

void backfill_forget(struct state *s, const struct job *j)
{
    struct reservation *own = own_of(s, j);

    if (own)
        own->job.v = UINT64_MAX; /* of no job: backfill_begin() looks for an heir */
}

void backfill_close(const struct state *s, const struct job *j, uint64_t *closed)
{
    for (uint32_t m = 0; m < SLOTS; m++) {
        const struct reservation *r = &s->backfill->of[m];

        for (size_t i = 0; i < r->held.n && holds_back(s, m, j, INT64_MAX); i++)
            closed[r->held.v[i].node_ix / 64] |= UINT64_C(1) << r->held.v[i].node_ix % 64;
    }
}

struct job *backfill_shortest(const struct job *j, usec_t now)
{
    struct job *best = NULL;

    for (struct job *o = j->bucket->head; o; o = o->next)
        if (o->not_before <= now && (!best || backfill_end(o, now) < backfill_end(best, now)))
            best = o;
    return best;
}

void backfill_started(struct state *s, const struct job *j)
{
    uint64_t stamp = stamp_of(&s->cluster);

    for (uint32_t m = 0; m < SLOTS; m++) {
        struct reservation *r = &s->backfill->of[m];
        const struct job *has = state_job(s, r->job);

        /* one that goes first may have taken the reserved hosts: look at them again */
        if (!has || has == j || has->tenant_ix == IX_NONE || !comes_behind(s, m, j, has) ||
            !r->fits || r->stamp + j->n_members - j->n_absent != stamp)
            continue;
        if (backfill_end(j, 0) > r->at)
            future_hold(r->fork, j);
        r->stamp = stamp;
    }
}

void backfill_claimed(struct state *s)
{
    for (uint32_t m = 0; m < SLOTS; m++)
        s->backfill->of[m].stamp = 0;
}

void backfill_left(struct state *s, const struct job *j, uint32_t node_ix,
                   const struct resources *asks)
{
    uint64_t stamp = stamp_of(&s->cluster);

    for (uint32_t m = 0; m < SLOTS; m++) {
        struct reservation *r = &s->backfill->of[m];

        if (!r->job.v || !r->fits || r->stamp + 1 != stamp || !job_state_is_active(j->state))
            continue;
        if (backfill_end(j, 0) > r->at) /* or it had left there already */
            cluster_release(r->fork, node_ix, asks);
        r->stamp = stamp;
    }
}

void backfill_runs(struct state *s, const struct job *j)
{
    usec_t at = backfill_end(j, 0),
           was = at + j->attempt_at + span(j->start_timeout_us) - j->running_at;

    for (uint32_t m = 0; m < SLOTS; m++) {
        struct reservation *r = &s->backfill->of[m];

        if (r->job.v && at <= r->at && r->at < was) {
            r->stamp = 0; /* others may have what is free by then: look at them again */
            s->backfill->gen++;
            s->is_quiet = false;
        }
    }
}

static void tell(const struct state *s, const struct reservation *r, struct reserved *ret)
{
    const struct node *n = r->held.n ? cluster_node(&s->cluster, r->held.v[0].node_ix) : NULL;

    *ret = (struct reserved){.job = state_job(s, r->job), .at = r->at, .node = n ? n->name : "?"};
    for (size_t i = 0; i < r->held.n; i++)
        ret->n_nodes += i == 0 || r->held.v[i].node_ix != r->held.v[i - 1].node_ix;
}

bool backfill_ahead(const struct state *s, const struct job *j, usec_t end, struct reserved *ret)
{
    const struct reservation *found = NULL;
    bool is_own = false;

    for (uint32_t m = 0; m < SLOTS && !is_own; m++) {
        if (!holds_back(s, m, j, end) || (found && !is_of_slot(j->demand, m)))
            continue;
        found = &s->backfill->of[m]; /* one for other GPUs may keep the CPUs of its hosts */
        is_own = is_of_slot(j->demand, m);
    }
    if (found)
        tell(s, found, ret);
    return found != NULL;
}

bool backfill_own(const struct state *s, const struct job *j, struct reserved *ret)
{
    const struct reservation *r = own_of(s, j);

    if (r && ret)
        tell(s, r, ret);
    return r != NULL;
}
