/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_out_tenant.c - tenants as messages: quota, use, share, place in the order, stop. */
#include "core/order.h"
#include "core/share.h"
#include "rpc/rpc_auth.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_out.h"
#include "rpc/rpc_spec.h"
#include "spec/week.h"

/* Past use of a model by a tenant with all below it, in units of 2^-SHARE_BITS GPUs. The core's
 * own sum is only as new as its last decision. */
static uint64_t past_of(const struct state *s, uint32_t tenant, uint32_t model, usec_t now)
{
    uint64_t sum = 0;

    for (uint32_t i = tenant; i < s->settings->n_tenants; i++) { /* children come later */
        const struct tenant *t = &s->tenants.v[i];

        if (rpc_auth_is_within(s->settings->tenants[i].path, s->settings->tenants[tenant].path))
            sum += share_usage(&t->past[model], t->own[model], s->settings->half_life_us, now);
    }
    return sum;
}

static uint64_t milli(uint64_t value)
{
    return value * 125 >> (SHARE_BITS - 3); /* times 1000 / 2^SHARE_BITS */
}

static Queued__V1__TenantModel *tenant_model(struct arena *a, const struct state *s, uint32_t ix,
                                             uint32_t model, usec_t now)
{
    int64_t quota = tenant_own_quota(&s->tenants, ix, model);
    int64_t limit = tenant_own_limit(&s->tenants, ix, model);
    const struct tenant *t = &s->tenants.v[ix];
    const struct free_histogram *h = s->cluster.topology.all[model];
    uint64_t total = (uint64_t)s->cluster.model_parts[model], free = h ? h->free_gpus : 0, idle;
    uint64_t past = past_of(s, ix, model, now);
    Queued__V1__TenantModel *m = arena_alloc(a, sizeof(*m));

    queued__v1__tenant_model__init(m);
    m->model = rpc_text(s->settings->models[model].name);
    m->has_quota = quota >= 0;
    m->quota = quota / GPU_PARTS;
    m->has_limit = limit >= 0;
    m->limit = limit / GPU_PARTS;
    m->has_used = true;
    m->used = t->used[model] / GPU_PARTS;
    m->used_milli = mig_milli(t->used[model] % GPU_PARTS);
    m->has_used_milli = m->used_milli > 0;
    m->has_past_milli = m->has_share_permille = m->has_lent = true;
    m->past_milli = milli(past);
    m->share_permille = total ? (milli(past) + mig_milli(t->used[model])) * GPU_PARTS / total : 0;
    idle = quota > 0 && t->used[model] < (uint64_t)quota
               ? ((uint64_t)quota - t->used[model]) / GPU_PARTS
               : 0;
    m->lent = idle > free ? idle - free : 0;
    return m->has_quota || m->has_limit || t->used[model] > 0 || m->past_milli > 0 ? m : NULL;
}

static const struct job *head_of(const struct state *s, uint32_t tenant)
{
    const struct order_queue *q = &s->queues.v[tenant];

    return q->entries.n ? q->entries.v[0].bucket->head : NULL;
}

/* Place of its first waiting job among the first ones of all tenants; 0: none waits. */
static uint32_t rank_of(const struct state *s, uint32_t tenant)
{
    const struct job *own = head_of(s, tenant);
    uint32_t rank = own ? 1 : 0;

    for (uint32_t i = 0; i < s->settings->n_tenants && own; i++)
        if (i != tenant && head_of(s, i))
            rank += share_precedes(s, head_of(s, i), own);
    return rank;
}

static void add_windows(struct arena *a, const struct settings *s, uint32_t ix, usec_t now,
                        Queued__V1__Tenant *m)
{
    const struct tenant_setting *t = &s->tenants[ix];
    usec_t closes = week_closes(s, ix, now);
    char text[WEEK_TEXT_MAX];

    m->windows = arena_alloc(a, (t->n_windows + 1) * sizeof(*m->windows));
    for (uint32_t i = 0; i < t->n_windows; i++)
        m->windows[m->n_windows++] = arena_strdup(a, week_text(text, &t->windows[i]));
    if (t->n_windows)
        m->utc_offset = arena_strdup(a, week_offset_text(text, s->utc_offset_min));
    m->has_opens_us = closes <= now;
    m->opens_us = (uint64_t)week_next(s, ix, now, 0);
    m->has_closes_us = closes > now && closes < INT64_MAX;
    m->closes_us = (uint64_t)closes;
}

void rpc_out_add_tenant(struct rpc_out *o, const struct state *s, uint32_t tenant, usec_t now)
{
    Queued__V1__Tenant *m = arena_alloc(&o->arena, sizeof(*m));

    queued__v1__tenant__init(m);
    m->path = rpc_text(s->settings->tenants[tenant].path);
    m->has_weight = m->has_pending = m->has_active = true;
    m->weight = s->settings->tenants[tenant].weight;
    m->pending = s->tenants.v[tenant].pending;
    m->active = s->tenants.v[tenant].active;
    m->has_rank = true;
    m->rank = rank_of(s, tenant);
    m->usual_permille = tenant_usual(&s->tenants, tenant);
    m->has_usual_permille = m->usual_permille > 0;
    m->stopped = rpc_text(s->tenants.v[tenant].stopped_why);
    m->has_stopped_us = s->tenants.v[tenant].stopped_at != 0;
    m->stopped_us = (uint64_t)s->tenants.v[tenant].stopped_at;
    add_windows(&o->arena, s->settings, tenant, now, m);
    m->models = arena_alloc(&o->arena, s->settings->n_models * sizeof(*m->models));
    for (uint32_t i = 0; i < s->settings->n_models; i++) {
        Queued__V1__TenantModel *model = tenant_model(&o->arena, s, tenant, i, now);

        if (model)
            m->models[m->n_models++] = model;
    }
    rpc_message_add(o, &m->base);
}

void rpc_out_tenants(struct rpc_out *o, const struct rpc_head *h)
{
    Queued__V1__TenantsReply m = QUEUED__V1__TENANTS_REPLY__INIT;

    m.header = rpc_message_head(o, h);
    m.n_tenants = o->items.n;
    m.tenants = (Queued__V1__Tenant **)o->items.v;
    rpc_message_close(o, RPC_TENANTS, &m.base);
}
