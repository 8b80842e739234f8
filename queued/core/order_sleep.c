/* SPDX-License-Identifier: Apache-2.0 */
/* order_sleep.c - what puts a bucket to sleep, and until when.
 *
 * What one gang has found out holds for all of its demand: a verdict "no room", on the cluster or
 * on what reservations leave, stays while nothing that became free could be what was missing.
 * Whoever sleeps for that alone is passed over without a look at it.
 */
#include "core/order_sleep.h"

#include <utlist.h>

#include "cluster/room.h"
#include "core/backfill.h"
#include "core/future.h"
#include "core/opening.h"
#include "core/preempt.h"
#include "core/rights.h"

static uint64_t released_sum(const struct state *s, uint32_t tenant_ix)
{
    uint64_t sum = s->licence_gen;

    for (; tenant_ix != IX_NONE; tenant_ix = s->settings->tenants[tenant_ix].parent)
        sum += s->tenants.v[tenant_ix].released_gen;
    return sum;
}

/* May a node with more room than when the verdict was reached be what was missing? */
static bool helps(const struct state *s, const struct demand *d, const struct room_verdict *v,
                  uint32_t node_ix, uint64_t *poor)
{
    return room_may_help(&s->cluster, d, node_ix, poor) &&
           backfill_leaves(s, v->reserved, &d->roles[0], node_ix);
}

/* Does it still hold, whatever has become free since? */
static bool still_holds(const struct state *s, const struct demand *d, struct room_verdict *v)
{
    const struct cluster *c = &s->cluster;
    uint64_t freed = room_freed_for(c, d), poor = 0;

    if (!v->is_known || (v->shape == c->shape_gen && v->freed == freed))
        return v->is_known;
    if (v->shape != c->shape_gen || d->n_roles > 1 || freed - v->freed > FREED_LOG)
        v->is_known = false;
    for (uint64_t i = v->freed; v->is_known && i < freed; i++) {
        uint32_t ix = c->freed_log[i % FREED_LOG];

        if (i > v->freed && ix == c->freed_log[(i - 1) % FREED_LOG])
            continue;
        v->is_known = !helps(s, d, v, ix, &poor);
    }
    v->freed = freed;
    return v->is_known;
}

/* Does it, whatever room the reservations have left since, up to this pass? */
static bool still_beside(const struct state *s, const struct demand *d, struct room_verdict *v)
{
    uint64_t poor = 0;

    if (s->pass_gen > v->backfill && backfill_gen(s) - v->backfill > BACKFILL_LOG)
        v->is_known = false;
    for (; v->is_known && v->backfill < s->pass_gen; v->backfill++) {
        uint32_t ix = backfill_opened(s, v->backfill);

        v->is_known = ix == IX_NONE || (d->n_roles == 1 && !helps(s, d, v, ix, &poor));
    }
    return v->is_known;
}

bool order_has_no_room(const struct state *s, struct demand *d)
{
    return still_holds(s, d, &d->no_room);
}

bool order_is_behind(const struct state *s, struct demand *d, uint64_t reserved)
{
    return d->behind.is_known && d->behind.reserved == reserved && still_beside(s, d, &d->behind) &&
           still_holds(s, d, &d->behind);
}

static struct room_verdict verdict_now(const struct state *s, const struct demand *d)
{
    return (struct room_verdict){
        .is_known = true, .shape = s->cluster.shape_gen, .freed = room_freed_for(&s->cluster, d)};
}

void order_learn_behind(struct state *s, const struct bucket *b, uint64_t backfill)
{
    struct demand *d = b->key.demand;

    d->behind = verdict_now(s, d);
    d->behind.is_short = b->is_short;
    d->behind.reserved = b->reserved;
    d->behind.backfill = backfill;
    s->wakes += d->full_beside && d->full_beside != b->reserved;
    d->full_beside = b->reserved;
}

bool order_is_known(struct state *s, struct job *j)
{
    struct bucket *b = j->bucket;
    uint64_t reserved = backfill_ahead_of(s, j, backfill_end(j, s->now));
    bool is_held_back = reserved && order_is_behind(s, j->demand, reserved);

    if (!is_held_back && !order_has_no_room(s, j->demand))
        return false;
    b->reserved = reserved;
    b->is_held_back = is_held_back;
    b->is_limited = b->is_shut = false;
    b->is_short = !is_held_back || j->demand->behind.is_short;
    b->seen_backfill_gen = is_held_back ? j->demand->behind.backfill : backfill_gen(s);
    return true;
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
    struct order_queue *q = &s->queues.v[b->key.tenant_ix];
    struct order_entry *e = order_entry_of(q, b);

    b->is_blocked = true;
    b->seen_shape_gen = s->cluster.shape_gen;
    b->seen_released_gen = released_sum(s, b->key.tenant_ix);
    b->may_take = false;
    b->seen_takes = takes_gen(s, b);
    b->seen_freed_any = s->cluster.freed_any;
    b->seen_freed_gen = room_freed_sum(&s->cluster, d);
    e->is_alike =
        !b->is_limited && !b->is_shut && !b->has_victims && (!b->is_held_back || b->reserved);
    e->reserved = b->is_held_back ? b->reserved : 0;
    q->inside &= e->reserved ? tenant_inside(&s->tenants, b->key.tenant_ix) : UINT64_MAX;
    if (b->is_limited || b->is_held_back)
        return;
    d->no_room = verdict_now(s, d);
    d->is_full = true;
}

void order_copy_verdict(struct bucket *b, const struct bucket *from)
{
    struct bucket own = *b;

    *b = *from;
    b->head = own.head;
    b->n = own.n;
    b->verdict = NULL;
    b->is_taker = own.is_taker; /* its queue counts it */
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

/* Has its tenant left the configuration, is it stopped, or outside its windows? */
static bool is_shut_out(const struct state *s, uint32_t tenant_ix)
{
    return tenant_ix == IX_NONE || tenant_stopped(&s->tenants, tenant_ix) != IX_NONE ||
           s->tenants.v[tenant_ix].closes_at <= s->now;
}

/* First of the bucket whose back-off is over and that its tenant's window has time for; what stops
 * one of them alone is no verdict on the others. */
static struct job *eligible(const struct state *s, const struct bucket *b, usec_t now)
{
    struct job *j;

    DL_FOREACH(b->head, j)
    if (j->not_before <= now && !job_is_overdue(j, now) && opening_admits(s, j, now))
        return j;
    return NULL;
}

/* Does a gang that is held back still have to leave room for the same reservations? Inside its
 * quota it need not. It was judged by the one that could start, not by one in its back-off. */
static bool stands_back(const struct state *s, const struct bucket *b)
{
    const struct job *j;

    if (b->seen_released_gen == released_sum(s, b->key.tenant_ix) &&
        b->seen_backfill_gen == backfill_gen(s))
        return true;
    j = eligible(s, b, s->now);
    return !j || b->reserved == backfill_ahead_of(s, j, backfill_end(j, s->now));
}

bool order_is_awake(const struct state *s, const struct bucket *b)
{
    if (is_shut_out(s, b->key.tenant_ix))
        return false;
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
           ((b->is_held_back || b->is_short) &&
            b->seen_freed_gen != room_freed_sum(&s->cluster, b->key.demand));
}

void order_glance(struct state *s)
{
    uint64_t sum = s->cluster.freed_any + s->cluster.shape_gen + s->pass_gen + backfill_gen(s);

    s->taken_seen = s->n_greedy ? s->cluster.taken_any : s->taken_seen;
    sum += s->taken_seen;
    if (s->glance_sum == sum)
        return;
    s->glance_sum = sum;
    for (struct demand *d = s->demands; d; d = d->hh.next) {
        bool is_full = order_has_no_room(s, d);
        bool is_behind = !is_full && order_is_behind(s, d, d->behind.reserved);
        uint64_t beside = is_behind ? d->behind.reserved : 0;

        s->wakes += !is_full && (d->is_full || d->full_beside != beside);
        d->is_full = is_full;
        d->full_beside = beside;
    }
}

/* Does it sleep while its demand has no room, and is that so? */
static bool sleeps_alike(const struct order_entry *e)
{
    const struct demand *d = e->demand;

    return e->is_alike && (d->is_full || (e->reserved && e->reserved == d->full_beside));
}

void order_tell_apart(const struct state *s, uint32_t tenant_ix, struct order_queue *q)
{
    uint64_t takes = s->mature_gen + s->checkpoint_gen + released_sum(s, tenant_ix), inside;
    bool is_anew = q->shape != s->cluster.shape_gen, may_take = is_anew;
    bool has_moved = is_anew || q->reservations != backfill_gen(s);

    if (q->takes == takes && !has_moved)
        return;
    inside = tenant_inside(&s->tenants, tenant_ix);
    may_take |= q->takes != takes && (q->n_takers || tenant_has_quota(&s->tenants, tenant_ix));
    has_moved |= inside & ~q->inside;
    q->inside = inside;
    q->takes = takes;
    q->shape = s->cluster.shape_gen;
    q->reservations = backfill_gen(s);
    for (size_t i = 0; i < q->entries.n && (may_take || has_moved); i++) {
        struct order_entry *e = &q->entries.v[i];
        struct bucket *b = e->bucket;
        bool was_alike = e->is_alike;

        if (may_take) {
            b->may_take = b->is_blocked && takes_anew(s, b);
            b->seen_takes = takes_gen(s, b);
            e->is_alike &= !b->may_take && b->seen_shape_gen == q->shape;
        }
        e->is_alike = e->is_alike && (!has_moved || !e->reserved || stands_back(s, b));
        q->at = was_alike && !e->is_alike && i < q->at ? i : q->at;
    }
}

/* Put j's bucket to sleep if none of it is known to have room. It counts as a look of the turn. */
static bool doze(struct state *s, struct job *j, usec_t now)
{
    const struct job *shortest;
    uint64_t reserved;

    if (s->turn_evaluations >= TURN_EVALUATIONS_MAX || rights_may(s, j) || backfill_may_keep(s, j))
        return false;
    reserved = backfill_ahead_of(s, j, backfill_end(j, now));
    shortest = reserved ? future_shortest(j, now) : j;
    if ((shortest != j &&
         backfill_ahead_of(s, shortest, backfill_end(shortest, now)) != reserved) ||
        !order_is_known(s, j))
        return false;
    s->turn_evaluations++;
    j->bucket->has_victims = false;
    order_block(s, j->bucket);
    return true;
}

bool order_is_asleep(struct state *s, struct order_entry *e, usec_t now, struct job **ret)
{
    struct bucket *b = e->bucket;

    if (sleeps_alike(e))
        return true;
    if (!order_is_awake(s, b)) {
        /* held back by other reservations than its demand: those may go alone */
        e->is_alike = b->is_blocked && !b->is_limited && !b->is_held_back && !b->is_shut &&
                      !b->has_victims && !is_shut_out(s, b->key.tenant_ix);
        return true;
    }
    *ret = eligible(s, b, now);
    return *ret && (e->demand->is_full || e->demand->full_beside) && doze(s, *ret, now);
}
