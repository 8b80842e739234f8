/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - buckets of equal pending gangs and the choice of the next one.
 *
 * Each tenant has its buckets in order of their heads, and the next choice goes on behind those
 * that sleep; one pass from the leaves of the tenant tree to its root compares children (parents
 * come before children in the settings).
 */
#include "core/order.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/array.h"
#include "core/backfill.h"
#include "core/opening.h"
#include "core/rights.h"
#include "core/preempt.h"
#include "core/share.h"

bool order_is_before(const struct job *a, const struct job *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->submitted_at != b->submitted_at)
        return a->submitted_at < b->submitted_at;
    return a->id.v < b->id.v;
}

static struct bucket *bucket_of(struct state *s, const struct job *j)
{
    struct bucket_key key;
    struct bucket *b = NULL;

    memset(&key, 0, sizeof(key)); /* the padding is part of the hash */
    key.tenant_ix = j->tenant_ix;
    key.priority = j->priority;
    key.demand = j->demand;
    key.uid = tenant_splits_users(&s->tenants, j->tenant_ix) ? j->uid : 0;
    HASH_FIND(hh, s->buckets, &key, sizeof(key), b);
    if (b)
        return b;
    b = xcalloc(1, sizeof(*b));
    b->key = key;
    HASH_ADD(hh, s->buckets, key, sizeof(b->key), b);
    return b;
}

/* First position in the queue whose head does not go before j. */
static size_t place_of(const struct order_queue *q, const struct job *j)
{
    size_t lo = 0, hi = q->entries.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (order_is_before(q->entries.v[mid].bucket->head, j))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct order_queue *queue_of(const struct state *s, const struct bucket *b)
{
    return b->key.tenant_ix == IX_NONE ? NULL : &s->queues.v[b->key.tenant_ix];
}

/* Before its head changes. */
static void unqueue(struct state *s, struct bucket *b)
{
    struct order_queue *q = queue_of(s, b);
    size_t at = q && b->head ? place_of(q, b->head) : 0;

    if (!q || !b->head)
        return;
    vec_remove(&q->entries, at);
    q->at -= at < q->at;
    q->n_greedy -= b->key.demand->n_roles > 1;
}

static void enqueue(struct state *s, struct bucket *b)
{
    struct order_queue *q = queue_of(s, b);
    size_t at = q && b->head ? place_of(q, b->head) : 0;

    if (!q || !b->head)
        return;
    (void)vec_push(&q->entries);
    memmove(&q->entries.v[at + 1], &q->entries.v[at],
            (q->entries.n - 1 - at) * sizeof(q->entries.v[0]));
    q->entries.v[at] = (struct order_entry){
        .bucket = b, .demand = b->key.demand, .user = share_user(&s->tenants, b->head)};
    q->n_greedy += b->key.demand->n_roles > 1;
    order_wake(s, b);
}

void order_wake(struct state *s, struct bucket *b)
{
    struct order_queue *q = queue_of(s, b);

    b->is_blocked &= !b->is_held_back; /* a shorter run may fit before the reservation */
    s->is_quiet = false;
    if (!q)
        return;
    q->at = 0;
    if (b->head)
        q->entries.v[place_of(q, b->head)].is_alike = false;
}

void order_add(struct state *s, struct job *j)
{
    struct bucket *b;
    struct job *after;

    if (j->array)
        array_due(s, j);
    if (j->waits.n || j->array || array_keeps_back(s, j))
        return;
    b = bucket_of(s, j);
    after = b->head;
    j->bucket = b;
    b->n++;
    if (b->head && order_is_before(b->head->prev, j)) {
        DL_APPEND(b->head, j); /* the common case: the youngest */
        order_wake(s, b);
        return;
    }
    unqueue(s, b);
    while (after && order_is_before(after, j))
        after = after->next;
    DL_PREPEND_ELEM(b->head, after, j);
    enqueue(s, b);
}

void order_remove(struct state *s, struct job *j)
{
    struct bucket *b = j->bucket;
    bool is_head = b && b->head == j;

    if (!b)
        return;
    s->is_quiet = false; /* it may have had a reservation */
    if (is_head)
        unqueue(s, b);
    DL_DELETE(b->head, j);
    j->prev = j->next = NULL;
    j->bucket = NULL;
    if (is_head)
        enqueue(s, b);
    else
        order_wake(s, b); /* a shorter one was placed: its head is looked at again */
    if (--b->n == 0) {
        HASH_DELETE(hh, s->buckets, b);
        free(b->verdict);
        free(b);
    }
}

static uint64_t released_sum(const struct state *s, uint32_t tenant_ix)
{
    uint64_t sum = s->licence_gen;

    for (; tenant_ix != IX_NONE; tenant_ix = s->settings->tenants[tenant_ix].parent)
        sum += s->tenants.v[tenant_ix].released_gen;
    return sum;
}

/* Sum over the models that the gang may use; of all models when a role has no GPUs or any model.
 * Several roles are placed greedily, so that even what others take may make room for them. */
static uint64_t freed_sum(const struct state *s, const struct demand *d)
{
    uint64_t sum = 0;

    if (d->n_roles > 1)
        return s->cluster.freed_any + s->cluster.taken_any;
    for (uint32_t r = 0; r < d->n_roles; r++) {
        const struct demand_role *role = &d->roles[r];

        if (role->each.amount[RES_GPUS] == 0 || role->n_models == 0)
            return s->cluster.freed_any;
        for (uint32_t i = 0; i < role->n_models; i++)
            sum += role->models[i] < MODELS_MAX ? s->cluster.freed_gen[role->models[i]] : 0;
    }
    return sum;
}

/* Could what has become free on this node be what the only role waited for? */
static bool may_help(const struct cluster *c, const struct demand *d, uint32_t node_ix)
{
    const struct demand_role *role = &d->roles[0];
    uint32_t gpus = (uint32_t)role->each.amount[RES_GPUS];
    uint32_t n_levels = c->settings->hierarchies[d->hierarchy].n_levels, at;
    const struct node *n = cluster_node(c, node_ix);
    const struct free_histogram *h;
    struct resources left;

    if (!n || !n->is_usable || node_free_gpus(n) < gpus || !role_allows(role, n))
        return false;
    node_free(n, &left);
    if (d->required == n_levels)
        return resources_times(&role->each, &left, role->replicas) == role->replicas;
    if (gpus == 0 || n->model >= MODELS_MAX || !resources_fit(&role->each, &left))
        return gpus == 0;
    h = c->topology.all[n->model];
    if (d->required != IX_NONE) {
        at = topology_domain_at(&c->topology, n, d->hierarchy, d->required);
        h = at == IX_NONE ? NULL : c->topology.domains.v[at]->by_model[n->model];
    }
    return histogram_slots(h, gpus) >= role->replicas;
}

static uint64_t freed_for(const struct state *s, const struct demand *d)
{
    return d->n_roles > 1 ? freed_sum(s, d) : s->cluster.freed_any;
}

/* Does it still hold, whatever has become free since? */
static bool still_holds(const struct state *s, const struct demand *d, struct room_verdict *v)
{
    const struct cluster *c = &s->cluster;
    uint64_t freed = freed_for(s, d);

    if (!v->is_known || (v->shape == c->shape_gen && v->freed == freed))
        return v->is_known;
    if (v->shape != c->shape_gen || d->n_roles > 1 || freed - v->freed > FREED_LOG)
        v->is_known = false;
    for (uint64_t i = v->freed; v->is_known && i < freed; i++) {
        uint32_t ix = c->freed_log[i % FREED_LOG];

        v->is_known = !may_help(c, d, ix) || !backfill_leaves(s, v->reserved, &d->roles[0], ix);
    }
    v->freed = freed;
    return v->is_known;
}

bool order_has_no_room(const struct state *s, struct demand *d)
{
    return still_holds(s, d, &d->no_room);
}

bool order_is_behind(const struct state *s, struct demand *d, uint64_t reserved)
{
    return d->behind.reserved == reserved && d->behind.backfill >= s->pass_gen &&
           still_holds(s, d, &d->behind);
}

static struct room_verdict verdict_now(const struct state *s, const struct demand *d)
{
    return (struct room_verdict){
        .is_known = true, .shape = s->cluster.shape_gen, .freed = freed_for(s, d)};
}

void order_learn_behind(struct state *s, const struct bucket *b, uint64_t backfill)
{
    struct demand *d = b->key.demand;

    d->behind = verdict_now(s, d);
    d->behind.is_short = b->is_short;
    d->behind.reserved = b->reserved;
    d->behind.backfill = backfill;
}

/* Moves when a tenant may be owed more, or there may be victims that were none before: a checkpoint
 * lowers what would be lost. */
static uint64_t takes_gen(const struct state *s, const struct bucket *b)
{
    return s->mature_gen + released_sum(s, b->key.tenant_ix) +
           (preempt_bound(s, b->key.demand) == UINT64_MAX ? 0 : s->checkpoint_gen);
}

void order_block(struct state *s, struct bucket *b)
{
    struct demand *d = b->key.demand;
    struct order_queue *q = queue_of(s, b);
    struct order_entry *e = &q->entries.v[place_of(q, b->head)];

    b->is_blocked = true;
    b->seen_shape_gen = s->cluster.shape_gen;
    b->seen_released_gen = released_sum(s, b->key.tenant_ix);
    b->may_take = false;
    b->seen_takes = takes_gen(s, b);
    b->seen_freed_any = s->cluster.freed_any;
    b->seen_freed_gen = freed_sum(s, d);
    e->is_alike =
        !b->is_limited && !b->is_shut && !b->has_victims && (!b->is_held_back || b->reserved);
    e->reserved = b->is_held_back ? b->reserved : 0;
    if (!b->is_limited && !b->is_held_back)
        d->no_room = verdict_now(s, d);
}

void order_copy_verdict(struct bucket *b, const struct bucket *from)
{
    struct bucket own = *b;

    *b = *from;
    b->head = own.head;
    b->n = own.n;
    b->verdict = NULL;
    b->hh = own.hh;
    b->key = own.key;
}

/* May it take from others what it could not when it fell asleep? */
static bool takes_anew(const struct state *s, const struct bucket *b)
{
    if (b->may_take)
        return true;
    return (b->seen_takes != takes_gen(s, b) ||
            (b->has_victims &&
             (b->seen_freed_any != s->cluster.freed_any || b->seen_backfill_gen < s->pass_gen))) &&
           rights_may(s, b->head);
}

/* Does a gang that is held back still have to leave room for the same reservations? Inside its
 * quota it need not. */
static bool stands_back(const struct state *s, const struct bucket *b)
{
    return (b->seen_released_gen == released_sum(s, b->key.tenant_ix) &&
            b->seen_backfill_gen == backfill_gen(s)) ||
           b->reserved == backfill_ahead_of(s, b->head, backfill_end(b->head, s->now));
}

bool order_is_awake(const struct state *s, const struct bucket *b)
{
    if (b->key.tenant_ix == IX_NONE || tenant_stopped(&s->tenants, b->key.tenant_ix) != IX_NONE ||
        s->tenants.v[b->key.tenant_ix].closes_at <= s->now)
        return false; /* its tenant left the configuration, is stopped, or outside its windows */
    if (!b->is_blocked || b->seen_shape_gen != s->cluster.shape_gen)
        return true;
    if (takes_anew(s, b))
        return true;
    if (!b->is_limited && !b->is_held_back)
        return !order_has_no_room(s, b->key.demand);
    if (!b->is_limited && !b->is_shut &&
        (order_has_no_room(s, b->key.demand) ||
         (order_is_behind(s, b->key.demand, b->reserved) && stands_back(s, b))))
        return false;
    return (b->is_held_back && b->seen_backfill_gen < s->pass_gen) ||
           ((b->is_limited || b->is_held_back) &&
            b->seen_released_gen != released_sum(s, b->key.tenant_ix)) ||
           ((b->is_held_back || b->is_short) && b->seen_freed_gen != freed_sum(s, b->key.demand));
}

/* First of the bucket whose back-off is over and that its tenant's window has time for. */
static struct job *eligible(const struct state *s, const struct bucket *b, usec_t now)
{
    struct job *j;

    DL_FOREACH(b->head, j)
    if (j->not_before <= now && opening_admits(s, j, now))
        return j;
    return NULL;
}

/* Can none of these and those behind them be the first any more? */
static bool is_beyond(const struct state *s, const struct job *best, const struct bucket *b)
{
    if (!best)
        return false;
    return s->settings->shares_users ? best->priority > b->head->priority
                                     : order_is_before(best, b->head);
}

/* Of the users of a tenant: each by the first of his jobs that could start. */
struct round {
    uint64_t gen;
    VEC(struct user_share *) users;
};

static void enter(const struct state *s, struct round *r, struct job *j)
{
    struct user_share *u = share_user(&s->tenants, j);

    if (u && u->seen_gen != r->gen) {
        u->seen_gen = r->gen;
        u->first = j;
        *vec_push(&r->users) = u;
    } else if (u && order_is_before(j, u->first)) {
        u->first = j;
    }
    if (u)
        u->is_final = j == j->bucket->head;
}

/* Has its user entered with one that all of this entry come after? */
static bool is_behind_own(const struct round *r, const struct order_entry *e)
{
    return e->user && e->user->seen_gen == r->gen && e->user->is_final;
}

/* Whose turn it is of those who have entered; NULL: nobody has. */
static struct job *winner_of(const struct state *s, struct round *r)
{
    struct contender best = {.job = NULL};

    for (size_t i = 0; i < r->users.n; i++) {
        struct user_share *u = r->users.v[i];
        struct contender c = {.job = u->first, .tenant = u->first->tenant_ix, .user = u};

        share_weigh(s, &c);
        if (!best.job || share_goes_first(s, &c, &best))
            best = c;
    }
    vec_fini(&r->users);
    return best.job;
}

/* The same as order_is_awake(), at a glance where that suffices. */
static bool entry_is_awake(const struct state *s, const struct order_entry *e)
{
    if (e->is_alike &&
        (order_has_no_room(s, e->demand) ||
         (e->reserved && order_is_behind(s, e->demand, e->reserved) && stands_back(s, e->bucket))))
        return false;
    return order_is_awake(s, e->bucket);
}

/* A tenant may be owed more, or a victim be old enough, or the cluster be another: who has that to
 * wake for is not alike. */
static void tell_apart(const struct state *s, struct order_queue *q, uint64_t takes)
{
    if (q->takes == takes && q->shape == s->cluster.shape_gen)
        return;
    q->takes = takes;
    q->shape = s->cluster.shape_gen;
    for (size_t i = 0; i < q->entries.n; i++) {
        struct order_entry *e = &q->entries.v[i];
        struct bucket *b = e->bucket;

        b->may_take = b->is_blocked && takes_anew(s, b);
        b->seen_takes = takes_gen(s, b);
        e->is_alike &= !b->may_take && b->seen_shape_gen == q->shape;
        e->is_alike = e->is_alike && (!e->reserved || stands_back(s, b));
        if (e->is_alike)
            b->seen_released_gen = released_sum(s, b->key.tenant_ix);
    }
}

/* The first of a tenant, of buckets that are awake and have one whose back-off is over. */
static struct job *first_of(struct state *s, uint32_t tenant_ix, usec_t now)
{
    struct order_queue *q = &s->queues.v[tenant_ix];
    uint64_t takes = s->mature_gen + s->checkpoint_gen + released_sum(s, tenant_ix);
    uint64_t sum = s->cluster.freed_any + s->cluster.shape_gen + s->pass_gen + backfill_gen(s) +
                   takes + (q->n_greedy ? s->cluster.taken_any : 0);
    struct round round = {.gen = ++s->tenants.seen_gen};
    struct job *best = NULL;
    size_t i;

    if (q->at_sum != sum)
        q->at = 0;
    q->at_sum = sum;
    tell_apart(s, q, takes);
    for (i = q->at; i < q->entries.n; i++) {
        const struct order_entry *e = &q->entries.v[i];
        struct job *j;

        if (is_behind_own(&round, e))
            continue;
        if (is_beyond(s, best, e->bucket))
            break;
        if (!entry_is_awake(s, e)) {
            q->at += q->at == i;
            continue;
        }
        j = eligible(s, e->bucket, now);
        if (!j)
            continue;
        enter(s, &round, j);
        if (!best || order_is_before(j, best))
            best = j;
        if (best == e->bucket->head && !s->settings->shares_users)
            break; /* all others come after it */
    }
    return s->settings->shares_users ? winner_of(s, &round) : best;
}

struct job *order_next(struct state *s, usec_t now)
{
    const struct settings *settings = s->settings;
    uint32_t n = settings->n_tenants;
    struct contender *best = xcalloc(n + 1, sizeof(*best)); /* below each; last: the root */
    struct job *winner;

    for (uint32_t t = n; t-- > 0;) {
        uint32_t parent = settings->tenants[t].parent;
        struct contender *at = &best[parent == IX_NONE ? n : parent];
        struct contender own = {.tenant = t, .is_own = true}, whole = {.tenant = t};

        own.job = first_of(s, t, now);
        if (own.job)
            share_weigh(s, &own);
        if (own.job && (!best[t].job || share_goes_first(s, &own, &best[t])))
            best[t] = own;
        whole.job = best[t].job;
        if (whole.job)
            share_weigh(s, &whole);
        if (whole.job && (!at->job || share_goes_first(s, &whole, at)))
            *at = whole;
    }
    winner = best[n].job;
    free(best);
    return winner;
}

static int by_order(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    return order_is_before(x, y) ? -1 : order_is_before(y, x);
}

static int by_turns(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    if (x->priority == y->priority && x->turn_share != y->turn_share)
        return x->turn_share < y->turn_share ? -1 : 1;
    return by_order(a, b);
}

uint32_t order_number(const struct state *s)
{
    struct positions *p = s->positions;
    uint32_t *in_tenant;

    if (p->turn == s->turn)
        return (uint32_t)p->order.n;
    p->turn = s->turn;
    p->order.n = 0;
    for (size_t i = 0; i < s->by_id.n; i++)
        if (s->by_id.v[i]->state == JOB_PENDING && !s->by_id.v[i]->array)
            *vec_push(&p->order) = s->by_id.v[i];
    if (p->order.n)
        qsort(p->order.v, p->order.n, sizeof(struct job *), by_order);
    for (size_t i = 0; i < p->order.n; i++)
        p->order.v[i]->position_overall = (uint32_t)i + 1;
    share_line_up(s, p->order.v, p->order.n);
    if (s->settings->shares_users && p->order.n)
        qsort(p->order.v, p->order.n, sizeof(struct job *), by_turns);
    in_tenant = xcalloc(s->settings->n_tenants + 1, sizeof(*in_tenant));
    for (size_t i = 0; i < p->order.n; i++) {
        struct job *j = p->order.v[i];
        uint32_t t = j->tenant_ix == IX_NONE ? s->settings->n_tenants : j->tenant_ix;

        j->position = ++in_tenant[t];
    }
    free(in_tenant);
    return (uint32_t)p->order.n;
}
