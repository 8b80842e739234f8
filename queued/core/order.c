/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - buckets of equal pending gangs and the choice of the next one.
 *
 * One pass over the buckets lists the candidates, which are sorted by tenant; for each choice one
 * pass from the leaves of the tenant tree to its root compares children (parents come before
 * children in the settings).
 */
#include "core/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "core/backfill.h"
#include "core/share.h"

bool order_is_before(const struct job *a, const struct job *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->submitted_at != b->submitted_at)
        return a->submitted_at < b->submitted_at;
    return a->id.v < b->id.v;
}

bool order_is_plainly_before(enum order_rule rule, const struct job *a, const struct job *b)
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

static struct bucket *bucket_of(struct state *s, const struct job *j)
{
    struct bucket_key key;
    struct bucket *b = NULL;

    memset(&key, 0, sizeof(key)); /* the padding is part of the hash */
    key.tenant_ix = j->tenant_ix;
    key.priority = j->priority;
    key.demand = j->demand;
    HASH_FIND(hh, s->buckets, &key, sizeof(key), b);
    if (b)
        return b;
    b = xcalloc(1, sizeof(*b));
    b->key = key;
    HASH_ADD(hh, s->buckets, key, sizeof(b->key), b);
    return b;
}

void order_add(struct state *s, struct job *j)
{
    struct bucket *b;
    struct job *after;

    if (j->waits.n)
        return;
    b = bucket_of(s, j);
    after = b->head;
    if (!b->head || order_is_before(b->head->prev, j)) {
        DL_APPEND(b->head, j); /* the common case: the youngest */
    } else {
        while (order_is_before(after, j))
            after = after->next;
        DL_PREPEND_ELEM(b->head, after, j);
    }
    b->n++;
    b->is_blocked &= !b->is_held_back; /* a shorter run may fit before the reservation */
    j->bucket = b;
    s->is_quiet = false;
}

void order_remove(struct state *s, struct job *j)
{
    struct bucket *b = j->bucket;

    if (!b)
        return;
    DL_DELETE(b->head, j);
    j->prev = j->next = NULL;
    j->bucket = NULL;
    if (--b->n == 0) {
        HASH_DELETE(hh, s->buckets, b);
        free(b->verdict);
        free(b);
    }
}

static uint64_t released_sum(const struct state *s, uint32_t tenant_ix)
{
    uint64_t sum = 0;

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

void order_block(struct state *s, struct bucket *b)
{
    b->is_blocked = true;
    b->seen_backfill_gen = backfill_gen(s);
    b->seen_shape_gen = s->cluster.shape_gen;
    b->seen_released_gen = released_sum(s, b->key.tenant_ix);
    b->seen_freed_gen = freed_sum(s, b->key.demand);
}

bool order_is_awake(const struct state *s, const struct bucket *b)
{
    if (b->key.tenant_ix == IX_NONE)
        return false; /* its tenant left the configuration */
    if (!b->is_blocked)
        return true;
    return (b->is_held_back && b->seen_backfill_gen != backfill_gen(s)) ||
           b->seen_shape_gen != s->cluster.shape_gen ||
           b->seen_released_gen != released_sum(s, b->key.tenant_ix) ||
           b->seen_freed_gen != freed_sum(s, b->key.demand);
}

/* First of the bucket whose back-off is over. */
static struct job *eligible(const struct bucket *b, usec_t now)
{
    struct job *j;

    DL_FOREACH(b->head, j)
    if (j->not_before <= now)
        return j;
    return NULL;
}

/* Candidates of one tenant that are left: positions at..end. */
struct order_run {
    size_t at, end;
};

static int by_tenant(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;

    if (x->tenant_ix != y->tenant_ix)
        return x->tenant_ix < y->tenant_ix ? -1 : 1;
    return order_is_before(x, y) ? -1 : order_is_before(y, x);
}

void order_scan_init(struct order_scan *o, const struct state *s, usec_t now)
{
    uint32_t n = s->settings->n_tenants;

    *o = (struct order_scan){.state = s};
    for (struct bucket *b = s->buckets; b; b = b->hh.next) {
        struct job *j = order_is_awake(s, b) ? eligible(b, now) : NULL;

        if (j)
            *vec_push(&o->jobs) = j;
    }
    if (o->jobs.n == 0)
        return;
    qsort(o->jobs.v, o->jobs.n, sizeof(o->jobs.v[0]), by_tenant);
    o->runs = xcalloc(n, sizeof(*o->runs));
    o->best = xcalloc(n + 1, sizeof(*o->best));
    for (size_t i = 0; i < o->jobs.n; i++) {
        struct order_run *r = &o->runs[o->jobs.v[i]->tenant_ix];

        r->at = r->end ? r->at : i;
        r->end = i + 1;
    }
}

void order_scan_fini(struct order_scan *o)
{
    vec_fini(&o->jobs);
    free(o->runs);
    free(o->best);
}

struct job *order_scan_next(struct order_scan *o)
{
    const struct settings *settings = o->state->settings;
    uint32_t n = settings->n_tenants;
    struct contender *best = o->best; /* below each tenant; last: the root */
    struct job *winner;

    if (!best)
        return NULL;
    memset(best, 0, (n + 1) * sizeof(*best));
    for (uint32_t t = n; t-- > 0;) {
        uint32_t parent = settings->tenants[t].parent;
        struct contender *at = &best[parent == IX_NONE ? n : parent];
        const struct order_run *r = &o->runs[t];
        struct contender own = {.tenant = t, .is_own = true}, whole = {.tenant = t};

        if (r->at < r->end) {
            own.job = o->jobs.v[r->at];
            if (!best[t].job || share_goes_first(o->state, &own, &best[t]))
                best[t] = own;
        }
        whole.job = best[t].job;
        if (whole.job && (!at->job || share_goes_first(o->state, &whole, at)))
            *at = whole;
    }
    winner = best[n].job;
    if (winner)
        o->runs[winner->tenant_ix].at++;
    return winner;
}

struct job *order_next(const struct state *s, usec_t now)
{
    struct order_scan o;
    struct job *j;

    order_scan_init(&o, s, now);
    j = order_scan_next(&o);
    order_scan_fini(&o);
    return j;
}
