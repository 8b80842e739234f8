/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.c - charges along the path from a tenant to the root. */
#include "core/tenant.h"

#include <assert.h>
#include <stdlib.h>

#include "util/mem.h"

void tenants_init(struct tenants *t, const struct settings *settings)
{
    t->settings = settings;
    t->v = xcalloc(settings->n_tenants, sizeof(*t->v));
}

void tenants_fini(struct tenants *t)
{
    free(t->v);
    t->v = NULL;
}

static uint32_t parent_of(const struct tenants *t, uint32_t ix)
{
    return t->settings->tenants[ix].parent;
}

enum counting { COUNT_NOTHING, COUNT_USED, COUNT_COMING };

/* With what claims will charge; what their victims give back counts when it is back. */
static uint64_t taken(const struct tenant *t, uint32_t model)
{
    return t->used[model] + (t->coming[model] > 0 ? (uint64_t)t->coming[model] : 0);
}

/* First tenant on the path whose limit is below held + gpus; IX_NONE. */
static uint32_t full_at(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus,
                        enum counting what)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix)) {
        int64_t limit = t->settings->tenants[ix].limit.gpus[model];
        uint64_t used = what == COUNT_COMING ? taken(&t->v[ix], model)
                        : what == COUNT_USED ? t->v[ix].used[model]
                                             : 0;

        if (limit >= 0 && used + gpus > (uint64_t)limit)
            return ix;
    }
    return IX_NONE;
}

bool tenant_admits(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus,
                   uint32_t *ret_at)
{
    uint32_t at = full_at(t, ix, model, gpus, COUNT_COMING);

    if (at != IX_NONE && ret_at)
        *ret_at = at;
    return at == IX_NONE;
}

bool tenant_could_admit(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus,
                        uint32_t *ret_at)
{
    uint32_t at = full_at(t, ix, model, gpus, COUNT_NOTHING);

    if (at != IX_NONE && ret_at)
        *ret_at = at;
    return at == IX_NONE;
}

bool tenant_has_room(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus)
{
    return full_at(t, ix, model, gpus, COUNT_USED) == IX_NONE;
}

void tenant_charge(struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus)
{
    t->share_gen++;
    t->v[ix].own[model] += gpus;
    for (; ix != IX_NONE; ix = parent_of(t, ix))
        t->v[ix].used[model] += gpus;
}

void tenant_refund(struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus)
{
    assert(t->v[ix].own[model] >= gpus);
    t->share_gen++;
    t->v[ix].own[model] -= gpus;
    for (; ix != IX_NONE; ix = parent_of(t, ix)) {
        assert(t->v[ix].used[model] >= gpus);
        t->v[ix].used[model] -= gpus;
        t->v[ix].released_gen++;
    }
}

void tenant_expect(struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix))
        t->v[ix].coming[model] += (int64_t)gpus;
}

void tenant_spare(struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix)) {
        t->v[ix].coming[model] -= (int64_t)gpus;
        t->v[ix].released_gen++;
    }
}

uint64_t tenant_quota(const struct tenants *t, uint32_t ix, uint32_t model, uint32_t *ret_at)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix)) {
        int64_t quota = t->settings->tenants[ix].quota.gpus[model];

        if (quota >= 0) {
            if (ret_at)
                *ret_at = ix;
            return (uint64_t)quota;
        }
    }
    if (ret_at)
        *ret_at = IX_NONE;
    return 0;
}

bool tenant_in_quota(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t gpus)
{
    uint32_t judge;
    uint64_t quota = tenant_quota(t, ix, model, &judge);

    return judge != IX_NONE && taken(&t->v[judge], model) + gpus <= quota;
}
