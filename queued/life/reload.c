/* SPDX-License-Identifier: Apache-2.0 */
/* reload.c - tables by tenant, pool and licence, made again from the jobs.
 *
 * Levels and models keep their indices, tenants are found by their paths. Buckets, reservations and
 * plans are dropped: the next cycle makes them.
 */
#include "life/reload.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/backfill.h"
#include "life/job_life.h"
#include "core/opening.h"
#include "core/order.h"
#include "core/share.h"
#include "core/window.h"

/* What was used so far decayed by the old half-life. */
static void settle(struct state *s)
{
    struct tenants *t = &s->tenants;

    for (uint32_t i = 0; i < s->settings->n_tenants; i++)
        for (uint32_t m = 0; m < s->settings->n_models; m++)
            if (t->v[i].past[m].stamp)
                share_settle(t, i, m, s->now);
    for (struct account *a = t->accounts; a; a = a->hh.next)
        for (uint32_t m = 0; m < s->settings->n_models && a->share; m++)
            if (a->share->past[m].stamp)
                share_settle_user(a->share, m, s->settings->half_life_us, s->now);
}

static void drop_buckets(struct state *s)
{
    struct bucket *b, *next;

    for (size_t i = 0; i < s->by_id.n; i++) {
        s->by_id.v[i]->bucket = NULL;
        s->by_id.v[i]->prev = s->by_id.v[i]->next = NULL;
    }
    HASH_ITER(hh, s->buckets, b, next)
    {
        HASH_DELETE(hh, s->buckets, b);
        free(b->verdict);
        free(b);
    }
    for (size_t t = 0; t < s->queues.n; t++)
        vec_fini(&s->queues.v[t].entries);
    s->queues.n = 0;
    s->n_greedy = 0;
    for (uint32_t t = 0; t < s->settings->n_tenants; t++)
        *vec_push(&s->queues) = (struct order_queue){.at = 0};
}

/* The same tenants with their past and whether they are stopped; nothing is charged yet. */
static void move_tenants(struct state *s, const struct tenants *old)
{
    struct tenants *t = &s->tenants;

    tenants_init(t, s->settings);
    t->share_gen = old->share_gen;
    t->seen_gen = old->seen_gen;
    t->users_turn = s->turn;
    for (uint32_t i = 0; i < s->settings->n_tenants; i++) {
        uint32_t ix = settings_tenant(old->settings, s->settings->tenants[i].path);

        t->v[i].saved_turn = s->turn;
        if (ix == IX_NONE)
            continue;
        memcpy(t->v[i].past, old->v[ix].past, sizeof(t->v[i].past));
        t->v[i].pace = old->v[ix].pace;
        t->v[i].stopped_at = old->v[ix].stopped_at;
        memcpy(t->v[i].stopped_why, old->v[ix].stopped_why, sizeof(t->v[i].stopped_why));
    }
    for (const struct account *a = old->accounts; a; a = a->hh.next) {
        struct account_key who = a->key;

        who.tenant = settings_tenant(s->settings, old->settings->tenants[who.tenant].path);
        if (who.tenant != IX_NONE && a->share && s->settings->shares_users)
            memcpy(tenant_user(t, who)->past, a->share->past, sizeof(a->share->past));
    }
}

/* What a job counts for in its tenant, and in its user's account. */
static void count(struct state *s, const struct job *j)
{
    struct tenants *t = &s->tenants;
    struct account_key who = job_account(j);
    uint64_t gpus[MODELS_MAX];

    if (job_state_is_waiting(j->state))
        tenant_wait(t, who, (int)array_weight(j));
    t->v[j->tenant_ix].active += job_state_is_active(j->state);
    if (j->claim)
        job_count_gpus(t, j, tenant_expect);
    if (j->is_leaving && !j->move)
        job_count_gpus(t, j, tenant_spare);
    job_count_going(t, j, tenant_spare);
    job_all_gpus(j, gpus);
    for (uint32_t m = 0; m < MODELS_MAX && (j->charged_parts || j->claim); m++) {
        if (!gpus[m])
            continue;
        tenant_charge_user(t, who, m, (int64_t)gpus[m]);
        if (!j->charged_parts)
            continue;
        share_settle(t, j->tenant_ix, m, s->now);
        tenant_charge(t, j->tenant_ix, m, gpus[m]);
        if (s->settings->shares_users)
            share_charge_user(s, j, m, (int64_t)gpus[m], s->now);
    }
}

static void move_job(struct state *s, struct job *j)
{
    uint64_t closed;

    j->tenant_ix = settings_tenant(s->settings, j->tenant);
    closed = s->settings->n_pools ? settings_closed_pools(s->settings, j->tenant_ix) : 0;
    j->demand = demand_reclose(&s->cluster, &s->demands, j->demand, closed);
    if (j->other)
        j->other = demand_reclose(&s->cluster, &s->demands, j->other, closed);
    if (j->tenant_ix != IX_NONE)
        count(s, j);
}

static void put_in_force(struct state *s, const struct settings *settings)
{
    struct tenants old = s->tenants;

    s->settings = settings;
    cluster_reset(&s->cluster, settings);
    cluster_fork_free(s->plan_fork);
    s->plan_fork = NULL;
    drop_buckets(s);
    move_tenants(s, &old);
    tenants_fini(&old);
    for (size_t i = 0; i < s->by_id.n; i++)
        move_job(s, s->by_id.v[i]);
    for (struct demand *d = s->demands; d; d = d->hh.next)
        demand_find_licences(&s->cluster, d);
}

/* No reservation is left, nor what they were planned on. */
static void replace_backfill(struct state *s)
{
    uint64_t gen = backfill_gen(s);

    backfill_destroy(s->backfill);
    s->backfill = backfill_create(s->settings, gen);
    s->is_quiet = false;
}

void reload_started(struct state *s, uint64_t digest)
{
    s->meta.config_generation += s->meta.config_digest != digest || !s->meta.config_generation;
    s->meta.config_digest = digest;
}

void reload_apply(struct state *s, const struct ev_config *ev, struct effects *fx)
{
    settle(s);
    put_in_force(s, ev->settings);
    for (struct account *a = s->tenants.accounts; a; a = a->hh.next)
        if (a->share)
            a->share->saved_turn = s->turn;
    for (size_t i = 0; i < s->by_id.n; i++)
        if (s->by_id.v[i]->state == JOB_PENDING && !s->by_id.v[i]->claim)
            order_add(s, s->by_id.v[i]);
    for (size_t i = 0; i < s->windows->v.n; i++)
        s->windows->v.v[i]->tenant_ix = settings_tenant(s->settings, s->windows->v.v[i]->tenant);
    replace_backfill(s);
    share_refresh(&s->tenants, s->now);
    opening_tick(s, s->now);
    s->licence_gen++;
    s->mature_at = s->now;
    s->positions->turn = 0;
    reload_started(s, ev->digest);
    effects_add(fx, EFFECT_SAVE_CONFIG, (struct job_id){0});
}
