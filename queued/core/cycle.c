/* SPDX-License-Identifier: Apache-2.0 */
/* cycle.c - take the next gang in order, ask limit and cluster, decide.
 *
 * A gang that cannot start never stops a later one: its bucket goes to sleep with the verdict
 * and the next one is asked, until one is placed or all sleep.
 */
#include "core/cycle.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/backfill.h"
#include "core/claim.h"
#include "core/elastic.h"
#include "core/future.h"
#include "core/licence.h"
#include "core/mend.h"
#include "core/opening.h"
#include "core/order.h"
#include "core/place.h"
#include "core/preempt.h"
#include "core/share.h"
#include "core/window.h"

enum { COMBINATIONS_MAX = 64 };

/* Models that a role with GPUs may be tried on now, in order; a role without GPUs has the one
 * MODELS_MAX. */
struct choices {
    uint32_t n[JOB_ROLES_MAX];
    uint8_t v[JOB_ROLES_MAX][MODELS_MAX];
    uint32_t at[JOB_ROLES_MAX]; /* odometer */
    bool is_short;              /* some model has no room for its role */
};

/* Has the cluster as it is now room for the role alone on this model, by free GPUs? */
static bool may_hold(const struct cluster *c, const struct demand_role *role, uint32_t model)
{
    const struct free_histogram *h = c->topology.all[model];

    uint32_t gpus = (uint32_t)role->each.amount[RES_GPUS];

    return gpus ? histogram_slots(h, gpus) >= role->replicas : cluster_has_model(c, role, model);
}

static void role_choices(const struct cluster *c, const struct demand_role *role, uint32_t r,
                         struct choices *ret)
{
    uint32_t n = role->n_models ? role->n_models : c->settings->n_models;

    if (!role->takes_gpus) {
        ret->v[r][ret->n[r]++] = MODELS_MAX;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t m = role->n_models ? role->models[i] : i;

        if (m < MODELS_MAX && may_hold(c, role, m))
            ret->v[r][ret->n[r]++] = (uint8_t)m;
        else
            ret->is_short |= m < MODELS_MAX && cluster_has_model(c, role, m);
    }
    ret->is_short |= role->each.amount[RES_GPUS] == 0; /* by free GPUs it is not known */
}

static void list_choices(const struct cluster *on, const struct demand *d, struct choices *c)
{
    *c = (struct choices){0};
    for (uint32_t r = 0; r < d->n_roles; r++)
        role_choices(on, &d->roles[r], r, c);
}

/* Models of the present combination; false when some role has none. */
static bool combination(const struct choices *c, const struct demand *d, uint8_t *ret_models)
{
    memset(ret_models, MODELS_MAX, JOB_ROLES_MAX);
    for (uint32_t r = 0; r < d->n_roles; r++) {
        if (c->n[r] == 0)
            return false;
        ret_models[r] = c->v[r][c->at[r]];
    }
    return true;
}

static bool advance(struct choices *c, const struct demand *d)
{
    for (uint32_t r = d->n_roles; r-- > 0;) {
        if (++c->at[r] < c->n[r])
            return true;
        c->at[r] = 0;
    }
    return false;
}

uint64_t cycle_unlent(const struct state *s, const struct cluster *on, const struct job *j,
                      uint32_t model, uint64_t *ret_free)
{
    struct pool_gpus apart = {.pools = settings_closed_pools(s->settings, j->tenant_ix)};

    *ret_free = on->topology.all[model] ? on->topology.all[model]->free_gpus * GPU_PARTS : 0;
    for (size_t i = 0; i < on->nodes.n && apart.pools; i++) {
        const struct node *n = on->nodes.v[i];

        if (!n || !n->is_counted || n->model != model || n->pool == IX_NONE ||
            !(apart.pools >> n->pool & 1))
            continue;
        apart.free[n->pool] += (uint64_t)n->counted_free * GPU_PARTS;
        *ret_free -= (uint64_t)n->counted_free * GPU_PARTS;
    }
    return tenant_unlent(&s->tenants, j->tenant_ix, model, &apart);
}

/* What so many pods of each role are charged, and what of it is whole GPUs. */
struct charge {
    uint64_t all[MODELS_MAX], whole[MODELS_MAX];
};

static void charge_of(const struct demand *d, const uint8_t *models, const uint32_t *counts,
                      struct charge *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (uint32_t r = 0; r < d->n_roles; r++) {
        const struct demand_role *role = &d->roles[r];
        uint8_t m = models[r];

        if (m == MODELS_MAX)
            continue;
        ret->all[m] += (uint64_t)counts[r] * role->parts[m];
        ret->whole[m] += (uint64_t)counts[r] * (uint64_t)role->each.amount[RES_GPUS] * GPU_PARTS;
    }
}

/* What others keep is whole GPUs: MIG devices are none of those that are free. */
static bool leaves_unlent(const struct state *s, const struct cluster *on, const struct job *j,
                          const struct charge *c)
{
    uint64_t unlent, is_free;

    for (uint32_t m = 0; m < s->settings->n_models && s->tenants.has_unlent; m++) {
        if (!c->whole[m] || tenant_in_quota(&s->tenants, j->tenant_ix, m, c->all[m]))
            continue;
        unlent = cycle_unlent(s, on, j, m, &is_free);
        if (is_free < c->whole[m] + unlent)
            return false;
    }
    return true;
}

bool cycle_leaves_unlent(const struct state *s, const struct cluster *on, const struct job *j,
                         const uint8_t *models)
{
    uint32_t counts[JOB_ROLES_MAX];
    struct charge c;

    if (!s->tenants.has_unlent)
        return true;
    for (uint32_t r = 0; r < j->demand->n_roles; r++)
        counts[r] = j->n_members ? j->size[r] : j->demand->roles[r].replicas;
    charge_of(j->demand, models, counts, &c);
    return leaves_unlent(s, on, j, &c);
}

static bool admits(const struct state *s, const struct job *j, const uint64_t *gpus)
{
    if (tenant_stopped(&s->tenants, j->tenant_ix) != IX_NONE || !opening_admits(s, j, s->now) ||
        !licence_admits(s, j, NULL) || job_is_overdue(j, s->now))
        return false;
    for (uint32_t m = 0; m < s->settings->n_models; m++)
        if (gpus[m] && (!tenant_admits(&s->tenants, j->tenant_ix, m, gpus[m], NULL) ||
                        !tenant_admits_user(&s->tenants, job_account(j), m, gpus[m], NULL) ||
                        (!j->demand->is_preemptible &&
                         !tenant_in_quota(&s->tenants, j->tenant_ix, m, gpus[m]))))
            return false;
    return true;
}

bool cycle_admits_gpus(const struct state *s, const struct job *j, const uint64_t *gpus)
{
    uint64_t whole = j->demand->gpus * GPU_PARTS; /* of whatever models */
    struct charge c;

    for (uint32_t m = 0; m < MODELS_MAX; m++) {
        c.all[m] = gpus[m];
        c.whole[m] = gpus[m] < whole ? gpus[m] : whole;
    }
    return admits(s, j, gpus) && leaves_unlent(s, &s->cluster, j, &c);
}

bool cycle_admits_pods(const struct state *s, const struct job *j, const uint8_t *models,
                       const uint32_t *counts)
{
    struct charge c;

    charge_of(j->demand, models, counts, &c);
    return admits(s, j, c.all) && leaves_unlent(s, &s->cluster, j, &c);
}

bool cycle_admits(const struct state *s, const struct job *j, const uint8_t *models)
{
    uint64_t gpus[MODELS_MAX];

    job_gpus(j, models, gpus);
    return admits(s, j, gpus);
}

void cycle_refresh_shares(const struct state *s, struct demand *d)
{
    for (uint32_t r = 0; r < d->n_roles; r++) {
        struct demand_role *role = &d->roles[r];

        if ((role->has_cpu && role->has_memory) ||
            (role->has_share && role->share_gen == s->cluster.shape_gen))
            continue;
        role->share_gen = s->cluster.shape_gen;
        role->has_share =
            demand_share(&s->cluster, role, &role->share_cpu_milli, &role->share_memory_bytes);
    }
}

static bool is_any_excluded(const struct job *j)
{
    return j->excluded[0] != IX_NONE;
}

/* On other hosts than the excluded ones, if it can be: a host that refused is better than none,
 * back-off spaces it. Surplus is not worth one. */
static bool place_somewhere(const struct cluster *on, const struct job *j, struct place_wish *wish,
                            struct place_result *ret)
{
    wish->excluded = j->excluded;
    if (place_gang(on, wish, ret))
        return true;
    wish->excluded = NULL;
    return is_any_excluded(j) && !wish->counts && place_gang(on, wish, ret);
}

/* Place it where it leaves reserved room; what only a reservation stops is noted in its bucket. */
static bool place_beside(const struct state *s, struct job *j, struct place_wish *wish,
                         struct place_result *ret)
{
    bool is_shut, fits = false;

    j->bucket->reserved = backfill_ahead_of(s, j, backfill_end(j, s->now));
    wish->n_beside = backfill_beside(s, j->bucket->reserved, &wish->beside);
    wish->closed = window_closed(s, j, s->now);
    wish->is_check = false;
    if (place_somewhere(&s->cluster, j, wish, ret))
        return true;
    is_shut = wish->closed;
    wish->closed = NULL;
    wish->is_check = true;
    if (is_shut)
        fits = place_somewhere(&s->cluster, j, wish, ret);
    if (!fits && wish->n_beside) {
        wish->n_beside = 0;
        is_shut = false;
        fits = place_somewhere(&s->cluster, j, wish, ret);
    }
    if (fits)
        free(ret->members);
    j->bucket->is_held_back |= fits;
    j->bucket->is_shut |= fits && is_shut;
    j->bucket->is_short |= !fits;
    return false;
}

/* Place it in the room and nowhere else. */
static bool place_in(const struct cluster_room *room, const struct job *j, struct place_wish *wish,
                     struct place_result *ret)
{
    wish->beside = room->beside;
    wish->n_beside = room->n_beside;
    wish->closed = room->closed;
    return place_somewhere(room->on, j, wish, ret);
}

/* The surplus beyond what each role needs, role after role: as many steps as fit, which is looked
 * for by halves. */
static void widen(struct state *s, struct job *j, struct place_wish *wish, struct place_result *r,
                  bool has_surplus)
{
    uint32_t counts[JOB_ROLES_MAX];
    struct place_result wider;

    if (j->demand->most == j->demand->pods)
        return;
    elastic_least(j->demand, counts);
    wish->counts = counts;
    for (uint32_t i = 0; has_surplus && i < j->demand->n_roles; i++) {
        uint32_t fits = 0, try = elastic_steps(j->demand, i), above = try + 1;

        while (fits + 1 < above) {
            counts[i] = elastic_count(j->demand, i, try);
            if (cycle_admits_pods(s, j, wish->models, counts) && place_beside(s, j, wish, &wider)) {
                free(r->members);
                *r = wider;
                fits = try;
            } else {
                above = try;
            }
            try = fits + (above - fits) / 2;
        }
        counts[i] = elastic_count(j->demand, i, fits);
    }
    elastic_lay_out(j->demand, counts, r);
}

bool cycle_try(struct state *s, struct job *j, const struct cluster_room *room, struct event *ev)
{
    struct choices c;
    struct place_result r = {0};
    int n = 0;

    s->n_evaluations++;
    s->turn_evaluations++;
    cycle_refresh_shares(s, j->demand);
    list_choices(room ? room->on : &s->cluster, j->demand, &c);
    j->bucket->is_limited = j->bucket->is_held_back = j->bucket->is_shut = false;
    j->bucket->is_short = c.is_short;
    do {
        uint8_t models[JOB_ROLES_MAX];
        struct place_wish wish = {
            .demand = j->demand, .models = models, .rule = room ? room->rule : PLACE_SCORE};

        if (!combination(&c, j->demand, models))
            continue;
        if (!cycle_admits(s, j, models)) {
            j->bucket->is_limited = true;
            continue;
        }
        if (!cycle_leaves_unlent(s, room ? room->on : &s->cluster, j, models)) {
            j->bucket->is_limited = j->bucket->is_short = true;
            continue;
        }
        if (room ? !place_in(room, j, &wish, &r) : !place_beside(s, j, &wish, &r))
            continue;
        widen(s, j, &wish, &r, !room);
        *ev = (struct event){.kind = EV_GANG_PLACED, .at = s->now};
        ev->u.placed.job = j->id;
        ev->u.placed.n = j->demand->most;
        ev->u.placed.members = r.members;
        memcpy(ev->u.placed.models, models, sizeof(models));
        memcpy(ev->u.placed.fixed_cpu_milli, r.fixed_cpu_milli, sizeof(r.fixed_cpu_milli));
        memcpy(ev->u.placed.fixed_memory_bytes, r.fixed_memory_bytes, sizeof(r.fixed_memory_bytes));
        return true;
    } while (++n < COMBINATIONS_MAX && advance(&c, j->demand));
    return false;
}

/* A refused host waited for the facts of its turn, so that the next one has room for sure. */
static bool next_refused_host(struct state *s, usec_t now, struct event *ev)
{
    if (!s->refused_hosts.n)
        return false;
    *ev = (struct event){.kind = EV_HOST_WANTED, .at = now, .u.answer = s->refused_hosts.v[0]};
    vec_remove(&s->refused_hosts, 0);
    return true;
}

/* Place one gang of a bucket, or leave the verdict there; another bucket's gang may have found out
 * that there is no room for any. */
static bool try_one(struct state *s, struct job *j, struct event *ev)
{
    uint64_t gen = backfill_gen(s);
    struct bucket *b = j->bucket;

    if (order_is_known(s, j)) {
        s->turn_evaluations++;
        return false;
    }
    if (cycle_try(s, j, NULL, ev))
        return true;
    if (b->is_held_back && !b->is_limited && !b->is_shut)
        order_learn_behind(s, b, gen);
    return false;
}

/* The shortest of a bucket whose first is held back: where it has to leave at least the same room
 * it has none either. */
static bool try_shortest(struct state *s, struct job *j, struct event *ev)
{
    struct bucket *b = j->bucket;
    uint64_t first = b->reserved, own = backfill_ahead_of(s, j, backfill_end(j, s->now));

    if (!b->is_limited && !b->is_shut && j->demand->n_roles == 1 && (own & first) == first)
        return false;
    if (try_one(s, j, ev))
        return true;
    if (own & ~first) /* what this one has to leave may be what the first waits for */
        b->reserved = 0;
    return false;
}

/* Place the gang, or else the shortest one of its bucket; neither: the bucket sleeps. */
static bool try_bucket(struct state *s, struct job *j, struct event *ev)
{
    struct bucket *b = j->bucket;
    struct job *shortest;
    uint64_t gen;

    b->is_blocked = false; /* the verdict below is no longer the one that it slept by */
    b->seen_backfill_gen = backfill_gen(s);
    if (try_one(s, j, ev))
        return true;
    shortest = b->is_held_back ? future_shortest(j, s->now) : NULL;
    if (shortest && shortest != j && try_shortest(s, shortest, ev))
        return true;
    if (preempt_plan(s, j, s->now, ev))
        return true;
    gen = backfill_gen(s);
    backfill_blocked(s, j, s->now);
    order_block(s, b);
    /* users: it may have taken the place of one that held it back */
    if (b->seen_backfill_gen == gen && !s->settings->shares_users)
        b->seen_backfill_gen = backfill_gen(s);
    return false;
}

/* One pass over the buckets that are awake. */
static bool pass_once(struct state *s, usec_t now, struct event *ev)
{
    struct order_pass *pass = order_begin(s, now);
    bool placed = false;

    s->pass_gen = backfill_gen(s);
    while (!placed && s->turn_evaluations < TURN_EVALUATIONS_MAX) {
        struct job *j = order_go_on(pass);

        s->is_quiet = !j;
        if (!j)
            break;
        placed = try_bucket(s, j, ev);
    }
    order_end(pass);
    return placed;
}

bool cycle_next(struct state *s, usec_t now, struct event *ev)
{
    bool placed;

    if (array_next(s, now, ev) || next_refused_host(s, now, ev))
        return true;
    if (!s->is_synced || !s->is_cluster_up)
        return false;
    s->now = now;
    share_refresh(&s->tenants, now);
    opening_tick(s, now);
    if (claim_next(s, now, ev))
        return true;
    preempt_tick(s, now);
    windows_tick(s, now);
    elastic_tick(s, now);
    if (s->is_quiet)
        return false;
    if (mend_next(s, now, ev))
        return true;
    backfill_begin(s, now);
    do /* a reservation that moved wakes those behind it */
        placed = pass_once(s, now, ev);
    while (!placed && s->pass_gen != backfill_gen(s) && s->turn_evaluations < TURN_EVALUATIONS_MAX);
    return placed || (s->is_quiet && elastic_next(s, now, ev));
}
