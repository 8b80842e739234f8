/* SPDX-License-Identifier: Apache-2.0 */
/* backfill.c - replay the latest ends onto a fork until the blocked gang fits (EASY backfill,
 * Mu'alem and Feitelson 2001, with hosts instead of counts).
 *
 * Ends only free, so the first that suffices is found without a look at each. A reservation is kept
 * as it is while its hosts hold it; a new look replaces it only by an earlier one.
 */
#include "core/backfill_slots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/cycle.h"
#include "core/future.h"
#include "core/opening.h"
#include "core/order.h"
#include "core/place.h"
#include "core/window.h"

enum { SLOTS = BACKFILL_SLOTS_MAX, HEIRS_MAX = 8 };
/* A plan that holds is looked at again for an earlier one at most so often. */
#define REPLAN_US (10 * USEC_PER_SEC)

struct backfill *backfill_create(const struct settings *settings, uint64_t gen)
{
    struct backfill *b = xcalloc(1, sizeof(*b));

    b->gen = gen + BACKFILL_LOG + 1;
    b->width = settings->n_models + 1;
    b->n = b->width * settings->backfill_reservations;
    return b;
}

void backfill_log(struct backfill *b, uint32_t opened_ix)
{
    b->opened[b->gen++ % BACKFILL_LOG] = opened_ix;
}

void backfill_slot_moved(struct backfill *b, const struct reservation *r)
{
    backfill_log(b, IX_NONE);
    for (size_t i = 0; i < r->held.n; i++)
        if (i == 0 || r->held.v[i].node_ix != r->held.v[i - 1].node_ix)
            backfill_log(b, r->held.v[i].node_ix);
}

/* A plan that is not needed. */
static void plan_drop(struct backfill *b, struct reservation *plan)
{
    vec_fini(&plan->held);
    backfill_fork_over(b, plan->fork);
}

/* Its fork stays with the slot, as memory for the next one. */
static void reservation_drop(struct backfill *b, struct reservation *r)
{
    backfill_slot_moved(b, r);
    vec_fini(&r->held);
    *r = (struct reservation){.fork = r->fork};
}

void backfill_destroy(struct backfill *b)
{
    for (int m = 0; m < SLOTS; m++) {
        reservation_drop(b, &b->of[m]);
        cluster_fork_free(b->of[m].fork);
    }
    cluster_fork_free(b->scratch);
    vec_fini(&b->closed);
    free(b);
}

void backfill_copy(struct state *s, const struct state *from)
{
    s->backfill->gen = from->backfill->gen;
    memcpy(s->backfill->opened, from->backfill->opened, sizeof(s->backfill->opened));
    for (uint32_t m = 0; m < s->backfill->n; m++) {
        const struct reservation *r = &from->backfill->of[m];
        struct reservation *to = &s->backfill->of[m];

        if (!state_job(s, r->job)) {
            if (r->job.v)
                backfill_slot_moved(s->backfill, r); /* it holds nobody back there */
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

uint32_t backfill_opened(const struct state *s, uint64_t gen)
{
    assert(gen < s->backfill->gen && s->backfill->gen - gen <= BACKFILL_LOG);
    return s->backfill->opened[gen % BACKFILL_LOG];
}

void backfill_moved(struct state *s)
{
    s->backfill->gen += BACKFILL_LOG + 1; /* anything may be open */
    s->is_quiet = false;
}

static bool role_may_use(const struct demand_role *role, uint32_t model)
{
    return role->n_models == 0 || memchr(role->models, (int)model, role->n_models);
}

/* The model of a slot; MODELS_MAX: gangs without GPUs. */
uint32_t backfill_model_of(const struct backfill *b, uint32_t slot)
{
    uint32_t m;

    assert(b->width > 0);
    m = slot % b->width;
    return m == b->width - 1 ? MODELS_MAX : m;
}

/* As bits; none where a model has one slot. */
static uint64_t slots_of(const struct backfill *b, uint32_t model)
{
    uint64_t slots = 0;

    for (uint32_t m = 0; m < b->n && b->n > b->width; m++)
        slots |= (uint64_t)(backfill_model_of(b, m) == model) << m;
    return slots;
}

/* May its GPUs be judged by slots of this model? */
bool backfill_is_of(const struct demand *d, uint32_t slot)
{
    for (uint32_t r = 0; r < d->n_roles; r++)
        if (d->roles[r].takes_gpus && slot < MODELS_MAX && role_may_use(&d->roles[r], slot))
            return true;
    return !d->takes_gpus && slot == MODELS_MAX;
}

/* Models of a gang planned in a slot; false: a limit stops it, not the cluster. */
static bool models_of(const struct state *s, const struct job *j, uint32_t slot, uint8_t *ret)
{
    memset(ret, MODELS_MAX, JOB_ROLES_MAX);
    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        const struct demand_role *role = &j->demand->roles[r];

        if (!role->takes_gpus)
            continue;
        ret[r] = role_may_use(role, slot) ? (uint8_t)slot : role->models[0];
        if (ret[r] >= s->settings->n_models)
            return false;
    }
    return cycle_admits(s, j, ret);
}

const uint64_t *backfill_closed_to(const struct state *s, uint32_t model, const struct job *j,
                                   usec_t start)
{
    const uint64_t *closed = window_closed(s, j, start);
    size_t words = s->cluster.nodes.n / 64 + 1;
    struct backfill *b = s->backfill;

    if (b->n == b->width)
        return closed;
    vec_reserve(&b->closed, words);
    if (closed)
        memcpy(b->closed.v, closed, words * sizeof(*closed));
    else
        memset(b->closed.v, 0, words * sizeof(*closed));
    for (uint32_t m = 0; m < b->n; m++)
        for (size_t i = 0; backfill_model_of(b, m) == model && i < b->of[m].held.n; i++)
            if (backfill_holds_back(s, m, j, INT64_MAX))
                b->closed.v[b->of[m].held.v[i].node_ix / 64] |= UINT64_C(1)
                                                                << b->of[m].held.v[i].node_ix % 64;
    return b->closed.v;
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

/* The first `given` ends given back, and no others. */
static void give_back(struct search *f, size_t given)
{
    for (; f->given < given; f->given++)
        future_release(f->fork, f->ends.v[f->given].job);
    for (; f->given > given; f->given--)
        future_hold(f->fork, f->ends.v[f->given - 1].job);
}

/* The earliest plan with at least lo and less than hi ends given back. */
static bool search(const struct state *s, struct search *f, const struct job *j, size_t lo,
                   size_t hi)
{
    size_t mid = lo;

    while (lo < hi) {
        struct place_result p = {0};

        give_back(f, mid);
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
static bool plan(const struct state *s, const struct job *j, uint32_t model, usec_t now,
                 struct reservation *ret)
{
    uint8_t models[JOB_ROLES_MAX];
    struct search f = {.wish = {.demand = j->demand, .models = models}, .found = ret};
    usec_t until = now;
    size_t lo, hi = 0;

    if ((model < MODELS_MAX && s->cluster.model_parts[model] == 0) ||
        !models_of(s, j, model, models))
        return false;
    f.wish.n_beside = backfill_beside(
        s, backfill_ahead_of(s, j, INT64_MAX) & ~slots_of(s->backfill, model), &f.wish.beside);
    future_ends(s, latest_end, &f.ends);
    f.fork = backfill_fork(&s->backfill->scratch, &s->cluster);
    ret->planned_at = now;
    do {
        f.from = until;
        until = window_changes(s, j, f.from);
        f.wish.closed = backfill_closed_to(s, model, j, f.from);
        for (lo = hi; hi < f.ends.n && f.ends.v[hi].at < until;)
            hi++;
    } while (!search(s, &f, j, lo, hi + 1) && until < s->tenants.v[j->tenant_ix].closes_at);
    /* outside its tenant's windows nothing is kept for it */
    if (ret->job.v && !opening_admits(s, j, ret->at)) {
        vec_fini(&ret->held);
        *ret = (struct reservation){0};
    }
    for (hi = 0; ret->job.v && hi < f.ends.n && f.ends.v[hi].at <= ret->at;)
        hi++;
    if (ret->job.v) {
        give_back(&f, hi);
        backfill_fork_keep(s, ret);
    }
    vec_fini(&f.ends);
    return ret->job.v != 0;
}

struct reservation *backfill_own_of(const struct state *s, const struct job *j)
{
    for (uint32_t m = 0; m < s->backfill->n; m++)
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

/* The slot of this model that j may have: its own, a free one, or that of the last of those that
 * come after it. IX_NONE: none. */
static uint32_t open_slot(const struct state *s, uint32_t model, const struct job *j)
{
    const struct job *last = NULL;
    uint32_t open = IX_NONE, taken = IX_NONE;

    for (uint32_t m = 0; m < s->backfill->n; m++) {
        const struct job *has = state_job(s, s->backfill->of[m].job);

        if (backfill_model_of(s->backfill, m) != model)
            continue;
        if (has == j)
            return m;
        if (!has && open == IX_NONE)
            open = m;
        if (!has || !goes_first(s, model, last ? last : j, has))
            continue;
        last = has;
        taken = m;
    }
    return open != IX_NONE ? open : taken;
}

bool backfill_may_keep(const struct state *s, const struct job *j)
{
    bool may = backfill_own_of(s, j) != NULL;

    for (uint32_t i = 0; i < s->backfill->width && !may; i++) {
        uint32_t model = backfill_model_of(s->backfill, i);

        may = (model == MODELS_MAX || s->cluster.model_parts[model]) &&
              backfill_is_of(j->demand, model) && open_slot(s, model, j) != IX_NONE;
    }
    return may;
}

void backfill_blocked(struct state *s, struct job *j, usec_t now)
{
    struct backfill *b = s->backfill;
    struct reservation best = {0}, *own = backfill_own_of(s, j), *to = own;

    if (own && now - own->planned_at < REPLAN_US && backfill_fits(s, own))
        return;
    if (own)
        own->planned_at = now;
    for (uint32_t i = 0; i < b->width; i++) {
        uint32_t model = backfill_model_of(b, i), m = open_slot(s, model, j);
        struct reservation r = {0};

        if (m == IX_NONE || (own && own != &b->of[m]) || !backfill_is_of(j->demand, model))
            continue;
        if (plan(s, j, model, now, &r) && (!best.job.v || r.at < best.at)) {
            struct reservation swap = best;

            best = r;
            r = swap;
            to = &b->of[m];
        }
        plan_drop(b, &r);
    }
    if (own && backfill_fits(s, own) && (!best.job.v || best.at >= own->at)) {
        plan_drop(b, &best);
    } else if (to) {
        reservation_drop(b, to);
        backfill_fork_over(b, to->fork);
        *to = best;
        to->is_inside = is_inside(s, backfill_model_of(b, (uint32_t)(to - b->of)), j);
    }
}

/* The first of a tenant that may have the slot after `last`, if it goes before best. One that is
 * awake may start in this very cycle, when its turn comes. */
static struct job *heir_of(const struct state *s, uint32_t model, const struct order_queue *q,
                           const struct job *last, struct job *best)
{
    bool is_alone = s->backfill->n == s->backfill->width;

    for (size_t i = 0; i < q->entries.n; i++) {
        const struct bucket *k = q->entries.v[i].bucket;
        struct job *j = k->head;

        if (is_alone && !s->settings->shares_users && best && !goes_first(s, model, j, best))
            break; /* nor do those behind it */
        while (!is_alone && j && backfill_own_of(s, j))
            j = j->next;
        if (j && backfill_is_of(k->key.demand, model) && (!last || goes_first(s, model, last, j)) &&
            (!best || goes_first(s, model, j, best)) && !order_is_awake(s, k))
            best = j;
    }
    return best;
}

/* Earliest in order, after `last`, of the blocked ones that a slot may serve. */
static struct job *next_heir(const struct state *s, uint32_t model, const struct job *last)
{
    struct job *best = NULL;

    for (size_t t = 0; t < s->queues.n; t++)
        best = heir_of(s, model, &s->queues.v[t], last, best);
    return best;
}

/* A slot beside others of its model is filled as soon as there is a gang for it; one for which no
 * plan was found is looked at again after a while. */
static bool wants_heir(const struct state *s, uint32_t slot, usec_t now)
{
    const struct reservation *r = &s->backfill->of[slot];

    return r->job.v || (slot >= s->backfill->width && now - r->planned_at >= REPLAN_US);
}

void backfill_begin(struct state *s, usec_t now)
{
    struct backfill *b = s->backfill;
    uint8_t models[JOB_ROLES_MAX];

    for (uint32_t m = 0; m < s->backfill->n; m++) {
        struct reservation *r = &b->of[m];
        struct job *j = state_job(s, r->job);
        uint32_t model = backfill_model_of(b, m);

        if (!wants_heir(s, m, now))
            continue;
        if (j && j->bucket && j->tenant_ix != IX_NONE && models_of(s, j, model, models)) {
            /* others go first now, or no more */
            if (r->is_inside != is_inside(s, model, j))
                backfill_log(b, IX_NONE);
            r->is_inside = is_inside(s, model, j);
            /* its hosts are gone, or taken by one that goes first; or ends have come early */
            if (now - r->planned_at >= REPLAN_US || !backfill_fits(s, r))
                backfill_blocked(s, j, now);
            if (r->job.v)
                continue;
        } else if (r->job.v) {
            reservation_drop(b, r);
        }
        j = next_heir(s, model, NULL);
        for (int n = 0; j && r->job.v == 0 && n < HEIRS_MAX; n++) {
            r->planned_at = now;
            backfill_blocked(s, j, now);
            j = next_heir(s, model, j);
        }
    }
}

bool backfill_holds_back(const struct state *s, uint32_t slot, const struct job *j, usec_t end)
{
    const struct reservation *r = &s->backfill->of[slot];
    const struct job *has = r->job.v ? state_job(s, r->job) : NULL;

    return has && has != j && end > r->at && has->tenant_ix != IX_NONE &&
           comes_behind(s, backfill_model_of(s->backfill, slot), j, has);
}

uint64_t backfill_ahead_of(const struct state *s, const struct job *j, usec_t end)
{
    uint64_t ahead = 0;

    for (uint32_t m = 0; m < s->backfill->n; m++)
        if (backfill_holds_back(s, m, j, end))
            ahead |= UINT64_C(1) << m;
    return ahead;
}

void backfill_forget(struct state *s, const struct job *j)
{
    struct reservation *own = backfill_own_of(s, j);

    if (own)
        own->job.v = UINT64_MAX; /* of no job: backfill_begin() looks for an heir */
}
