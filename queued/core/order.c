/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - buckets of equal pending gangs and the choice of the next one.
 *
 * Each tenant has its buckets in order of their heads, and the next choice goes on behind those
 * that sleep; one pass from the leaves of the tenant tree to its root compares children (parents
 * come before children in the settings).
 */
#include "core/order_sleep.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/array.h"
#include "core/rights.h"
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

struct order_entry *order_entry_of(struct order_queue *q, const struct bucket *b)
{
    return &q->entries.v[place_of(q, b->head)];
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
    s->n_greedy -= b->key.demand->n_roles > 1;
    q->n_takers -= b->is_taker;
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
    s->n_greedy += b->key.demand->n_roles > 1;
    b->is_taker = rights_by_priority(s, b->head);
    q->n_takers += b->is_taker;
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
    if (b->head && !b->is_blocked)
        order_entry_of(q, b)->is_alike = false;
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

/* The first of a tenant, of buckets that are awake and have one whose back-off is over. */
static struct job *first_of(struct state *s, uint32_t tenant_ix, usec_t now)
{
    struct order_queue *q = &s->queues.v[tenant_ix];
    struct round round = {.gen = ++s->tenants.seen_gen};
    struct job *best = NULL;

    order_tell_apart(s, tenant_ix, q);
    if (q->wakes != s->wakes || (q->has_others && q->at_sum != s->glance_sum + q->takes))
        q->at = 0;
    q->wakes = s->wakes;
    q->at_sum = s->glance_sum + q->takes;
    q->has_others &= q->at > 0;
    for (size_t i = q->at; i < q->entries.n; i++) {
        struct order_entry *e = &q->entries.v[i];
        struct job *j;

        if (is_behind_own(&round, e))
            continue;
        if (is_beyond(s, best, e->bucket))
            break;
        if (order_is_asleep(s, e, now, &j)) {
            q->has_others |= !e->is_alike;
            q->at += q->at == i;
            continue;
        }
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

struct order_pass {
    struct state *state;
    usec_t now;
    bool has_begun;
    uint64_t glance, wakes; /* while nothing of this moves, who sleeps goes on to */
    uint32_t last;          /* tenant of the last one */
    struct place {
        struct job *first;      /* of the tenant itself */
        struct contender whole; /* of those below it, weighed */
        struct contender best;  /* the same, as it is looked for; of the last place: the root */
        bool is_stale;          /* the first of it or of one below it is another */
    } of[];
};

struct order_pass *order_begin(struct state *s, usec_t now)
{
    uint32_t n = s->settings->n_tenants;
    struct order_pass *p = xcalloc(1, sizeof(*p) + (n + 1) * sizeof(p->of[0]));

    p->state = s;
    p->now = now;
    return p;
}

void order_end(struct order_pass *p)
{
    free(p);
}

/* Is the first of a tenant still what it was? Where users share, one that sleeps may let another
 * user's go first. */
static bool is_first(const struct order_pass *p, uint32_t t, bool has_moved)
{
    const struct job *j = p->of[t].first;

    return !has_moved && t != p->last && !p->state->settings->shares_users &&
           (!j || (!j->demand->is_full && !j->demand->full_beside));
}

/* The first of the tenant itself against the best of those below it. */
static void settle(struct order_pass *p, uint32_t t)
{
    const struct state *s = p->state;
    struct place *of = &p->of[t];
    struct contender own = {.job = of->first, .tenant = t, .is_own = true};

    if (own.job && of->best.job)
        share_weigh(s, &own);
    if (own.job && (!of->best.job || share_goes_first(s, &own, &of->best)))
        of->best = own;
    if (of->best.job && of->whole.job != of->best.job) {
        of->whole = (struct contender){.job = of->best.job, .tenant = t};
        share_weigh(s, &of->whole);
    }
}

/* Who is first of each tenant now; a tenant of which nothing is another keeps its best. */
static void find_firsts(struct order_pass *p, bool has_moved)
{
    struct state *s = p->state;
    uint32_t n = s->settings->n_tenants;

    for (uint32_t t = n; t-- > 0;) {
        uint32_t parent = s->settings->tenants[t].parent;
        struct place *of = &p->of[t];
        struct job *was = of->first;

        if (!is_first(p, t, has_moved))
            of->first = first_of(s, t, p->now);
        of->is_stale |= of->first != was;
        p->of[parent == IX_NONE ? n : parent].is_stale |= of->is_stale;
    }
    for (uint32_t t = 0; t <= n; t++)
        if (p->of[t].is_stale)
            p->of[t].best.job = NULL;
}

struct job *order_go_on(struct order_pass *p)
{
    struct state *s = p->state;
    uint32_t n = s->settings->n_tenants;
    struct job *winner;
    bool has_moved;

    order_glance(s);
    has_moved = !p->has_begun || p->glance != s->glance_sum || p->wakes != s->wakes;
    p->glance = s->glance_sum;
    p->wakes = s->wakes;
    p->has_begun = true;
    find_firsts(p, has_moved);
    for (uint32_t t = n; t-- > 0;) {
        uint32_t parent = s->settings->tenants[t].parent;
        struct place *of = &p->of[t], *above = &p->of[parent == IX_NONE ? n : parent];

        if (of->is_stale)
            settle(p, t);
        of->is_stale = false;
        if (above->is_stale && of->best.job &&
            (!above->best.job || share_goes_first(s, &of->whole, &above->best)))
            above->best = of->whole;
    }
    p->of[n].is_stale = false;
    winner = p->of[n].best.job;
    p->last = winner ? winner->tenant_ix : IX_NONE;
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
