/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.c - charges along the path from a tenant to the root. */
#include "core/tenant.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

void tenants_init(struct tenants *t, const struct settings *settings)
{
    *t = (struct tenants){.settings = settings};
    t->v = xcalloc(settings->n_tenants, sizeof(*t->v));
    t->changes_at = INT64_MAX;
    for (uint32_t i = 0; i < settings->n_tenants; i++) {
        const struct tenant_setting *s = &settings->tenants[i];

        t->v[i].closes_at = s->parent == IX_NONE ? INT64_MAX : t->v[s->parent].closes_at;
        if (s->n_windows) /* opening_tick() looks which are open */
            t->v[i].closes_at = t->changes_at = 0;
        for (uint32_t m = 0; m < settings->n_models; m++) {
            t->has_unlent |= s->unlent.gpus[m] > 0;
            t->has_quotas |= s->quota.gpus[m] > 0;
            for (uint32_t w = 0; w < s->n_windows; w++) {
                t->has_unlent |= s->windows[w].unlent.gpus[m] > 0;
                t->has_quotas |= s->windows[w].quota.gpus[m] > 0;
            }
        }
    }
}

void tenants_fini(struct tenants *t)
{
    struct account *a, *next;

    HASH_ITER(hh, t->accounts, a, next)
    {
        HASH_DELETE(hh, t->accounts, a);
        free(a->share);
        free(a);
    }
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

static int64_t in_window(const struct model_amounts *own, const struct model_amounts *instead,
                         uint32_t model)
{
    int64_t gpus = instead && instead->gpus[model] >= 0 ? instead->gpus[model] : own->gpus[model];

    return gpus < 0 ? gpus : gpus * GPU_PARTS;
}

int64_t tenant_own_limit(const struct tenants *t, uint32_t ix, uint32_t model)
{
    const struct opening_setting *w = t->v[ix].window;

    return in_window(&t->settings->tenants[ix].limit, w ? &w->limit : NULL, model);
}

int64_t tenant_own_quota(const struct tenants *t, uint32_t ix, uint32_t model)
{
    const struct opening_setting *w = t->v[ix].window;

    return in_window(&t->settings->tenants[ix].quota, w ? &w->quota : NULL, model);
}

int64_t tenant_most_limit(const struct tenants *t, uint32_t ix, uint32_t model)
{
    const struct tenant_setting *s = &t->settings->tenants[ix];
    int64_t most = s->n_windows ? 0 : in_window(&s->limit, NULL, model);

    for (uint32_t w = 0; w < s->n_windows && most >= 0; w++) {
        int64_t limit = in_window(&s->limit, &s->windows[w].limit, model);

        most = limit < 0 || limit > most ? limit : most;
    }
    return most;
}

/* First tenant on the path whose limit is below held + parts; IX_NONE. */
static uint32_t full_at(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts,
                        enum counting what)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix)) {
        int64_t limit = what == COUNT_NOTHING ? tenant_most_limit(t, ix, model)
                                              : tenant_own_limit(t, ix, model);
        uint64_t used = what == COUNT_COMING ? taken(&t->v[ix], model)
                        : what == COUNT_USED ? t->v[ix].used[model]
                                             : 0;

        if (limit >= 0 && used + parts > (uint64_t)limit)
            return ix;
    }
    return IX_NONE;
}

bool tenant_admits(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts,
                   uint32_t *ret_at)
{
    uint32_t at = full_at(t, ix, model, parts, COUNT_COMING);

    if (at != IX_NONE && ret_at)
        *ret_at = at;
    return at == IX_NONE;
}

bool tenant_could_admit(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts,
                        uint32_t *ret_at)
{
    uint32_t at = full_at(t, ix, model, parts, COUNT_NOTHING);

    if (at != IX_NONE && ret_at)
        *ret_at = at;
    return at == IX_NONE;
}

bool tenant_has_room(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts)
{
    return full_at(t, ix, model, parts, COUNT_USED) == IX_NONE;
}

void tenant_charge(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts)
{
    t->share_gen++;
    t->v[ix].own[model] += parts;
    for (; ix != IX_NONE; ix = parent_of(t, ix))
        t->v[ix].used[model] += parts;
}

void tenant_refund(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts)
{
    assert(t->v[ix].own[model] >= parts);
    t->share_gen++;
    t->v[ix].own[model] -= parts;
    for (; ix != IX_NONE; ix = parent_of(t, ix)) {
        assert(t->v[ix].used[model] >= parts);
        t->v[ix].used[model] -= parts;
        t->v[ix].released_gen++;
    }
}

void tenant_expect(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix))
        t->v[ix].coming[model] += (int64_t)parts;
}

void tenant_spare(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix)) {
        t->v[ix].coming[model] -= (int64_t)parts;
        t->v[ix].released_gen++;
    }
}

bool tenant_has_quota(const struct tenants *t, uint32_t ix)
{
    bool has_any = false;

    for (uint32_t m = 0; m < t->settings->n_models && t->has_quotas && !has_any; m++)
        has_any = tenant_quota(t, ix, m, NULL) > 0;
    return has_any;
}

uint64_t tenant_quota(const struct tenants *t, uint32_t ix, uint32_t model, uint32_t *ret_at)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix)) {
        int64_t quota = tenant_own_quota(t, ix, model);

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

uint64_t tenant_most_quota(const struct tenants *t, uint32_t ix, uint32_t model)
{
    int64_t most = -1;

    for (; ix != IX_NONE && most < 0; ix = parent_of(t, ix)) {
        const struct tenant_setting *s = &t->settings->tenants[ix];

        most = s->quota.gpus[model];
        for (uint32_t w = 0; w < s->n_windows; w++)
            if (s->windows[w].quota.gpus[model] > most)
                most = s->windows[w].quota.gpus[model];
    }
    return most < 0 ? 0 : (uint64_t)most * GPU_PARTS;
}

bool tenant_in_quota(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts)
{
    uint32_t judge;
    uint64_t quota = tenant_quota(t, ix, model, &judge);

    return judge != IX_NONE && taken(&t->v[judge], model) + parts <= quota;
}

uint64_t tenant_inside(const struct tenants *t, uint32_t ix)
{
    uint64_t inside = 0;

    for (uint32_t m = 0; m < t->settings->n_models; m++)
        inside |= (uint64_t)tenant_in_quota(t, ix, m, 1) << m;
    return inside;
}

const struct account *tenant_account(const struct tenants *t, struct account_key who)
{
    struct account *a = NULL;

    HASH_FIND(hh, t->accounts, &who, sizeof(who), a);
    return a;
}

static struct account *account_of(struct tenants *t, struct account_key who)
{
    struct account *a = NULL;

    HASH_FIND(hh, t->accounts, &who, sizeof(who), a);
    if (a)
        return a;
    a = xcalloc(1, sizeof(*a));
    a->key = who;
    if (t->settings->shares_users)
        a->share = xcalloc(1, sizeof(*a->share));
    HASH_ADD(hh, t->accounts, key, sizeof(a->key), a);
    return a;
}

struct user_share *tenant_user(struct tenants *t, struct account_key who)
{
    return account_of(t, who)->share;
}

void tenants_copy(struct tenants *t, const struct tenants *from)
{
    struct tenant *v = t->v;

    *t = *from;
    t->v = v;
    t->accounts = NULL;
    memcpy(t->v, from->v, t->settings->n_tenants * sizeof(*t->v));
    for (const struct account *a = from->accounts; a; a = a->hh.next) {
        struct account *to = account_of(t, a->key);

        memcpy(to->used, a->used, sizeof(to->used));
        to->pending = a->pending;
        if (a->share)
            *to->share = *a->share;
    }
}

uint64_t tenant_user_limit(const struct tenants *t, uint32_t ix, uint32_t model)
{
    return (uint64_t)t->settings->tenants[ix].user_limit.gpus[model] * GPU_PARTS;
}

static uint64_t used_by(const struct tenants *t, struct account_key who, uint32_t model)
{
    const struct account *a = t->counts_of_user ? NULL : tenant_account(t, who);

    if (t->counts_of_user)
        return t->v[who.tenant].of_user[model];
    return a ? a->used[model] : 0;
}

void tenant_count_user(struct tenants *t, uint32_t uid)
{
    for (uint32_t ix = 0; ix < t->settings->n_tenants; ix++)
        for (uint32_t m = 0; m < t->settings->n_models; m++)
            t->v[ix].of_user[m] = used_by(t, (struct account_key){ix, uid}, m);
    t->counts_of_user = true;
}

void tenant_add_of_user(struct tenants *t, uint32_t ix, uint32_t model, int64_t parts)
{
    for (; ix != IX_NONE; ix = parent_of(t, ix))
        t->v[ix].of_user[model] += (uint64_t)parts;
}

bool tenant_user_fits(const struct tenants *t, struct account_key who)
{
    for (uint32_t m = 0; m < t->settings->n_models; m++)
        if (!tenant_admits_user(t, who, m, 0, NULL))
            return false;
    return true;
}

bool tenant_admits_user(const struct tenants *t, struct account_key who, uint32_t model,
                        uint64_t parts, uint32_t *ret_at)
{
    for (; who.tenant != IX_NONE; who.tenant = parent_of(t, who.tenant)) {
        uint64_t limit = tenant_user_limit(t, who.tenant, model);

        if (limit && used_by(t, who, model) + parts > limit) {
            if (ret_at)
                *ret_at = who.tenant;
            return false;
        }
    }
    return true;
}

void tenant_wait(struct tenants *t, struct account_key who, int n)
{
    t->v[who.tenant].pending += (uint32_t)n;
    for (; who.tenant != IX_NONE; who.tenant = parent_of(t, who.tenant))
        account_of(t, who)->pending += (uint32_t)n;
}

void tenant_charge_user(struct tenants *t, struct account_key who, uint32_t model, int64_t parts)
{
    for (; who.tenant != IX_NONE; who.tenant = parent_of(t, who.tenant))
        account_of(t, who)->used[model] += (uint64_t)parts;
}

bool tenant_splits_users(const struct tenants *t, uint32_t ix)
{
    if (t->settings->shares_users)
        return true;
    for (; ix != IX_NONE; ix = parent_of(t, ix))
        for (uint32_t m = 0; m < t->settings->n_models; m++)
            if (t->settings->tenants[ix].user_limit.gpus[m])
                return true;
    return false;
}

/* How much of what a tenant keeps is apart for it. */
static uint64_t draw(const struct tenants *t, uint32_t ix, uint64_t kept, struct pool_gpus *apart)
{
    uint64_t left = kept, may = 0;

    if (kept && apart->pools)
        may = apart->pools & ~settings_closed_pools(t->settings, ix);
    for (uint32_t p = 0; p < POOLS_MAX && may >> p; p++) {
        uint64_t n = left < apart->free[p] ? left : apart->free[p];

        if (!(may >> p & 1))
            continue;
        apart->free[p] -= n;
        left -= n;
    }
    return kept - left;
}

static uint64_t own_unlent(const struct tenants *t, uint32_t ix, uint32_t model)
{
    const struct opening_setting *w = t->v[ix].window;
    bool is_of_window = w && w->quota.gpus[model] >= 0;

    return (uint64_t)(is_of_window ? w->unlent : t->settings->tenants[ix].unlent).gpus[model] *
           GPU_PARTS;
}

uint64_t tenant_unlent(const struct tenants *t, uint32_t ix, uint32_t model,
                       struct pool_gpus *apart)
{
    struct {
        uint64_t kept, drawn; /* at a tenant and below; last: in all */
    } at[TENANTS_MAX + 1];
    uint32_t n = t->settings->n_tenants;

    memset(at, 0, (n + 1) * sizeof(at[0]));
    for (uint32_t i = n; i-- > 0;) { /* children come after their parents */
        uint64_t unlent = own_unlent(t, i, model);
        uint64_t gone = t->v[i].used[model] + at[i].drawn, drawn;
        uint32_t parent = parent_of(t, i), up = parent == IX_NONE ? n : parent;

        if (i == ix)
            ix = parent; /* its own, or an ancestor's: not kept from it */
        else if (unlent > gone && unlent - gone > at[i].kept)
            at[i].kept = unlent - gone;
        drawn = draw(t, i, at[i].kept, apart);
        at[up].kept += at[i].kept - drawn;
        at[up].drawn += at[i].drawn + drawn;
    }
    return at[n].kept;
}

uint32_t tenant_stopped(const struct tenants *t, uint32_t ix)
{
    while (ix != IX_NONE && t->v[ix].stopped_at == 0)
        ix = parent_of(t, ix);
    return ix;
}

void tenant_ran(struct tenants *t, uint32_t ix, usec_t ran, usec_t most)
{
    struct tenant_pace *p = &t->v[ix].pace;
    usec_t part = ran >= most ? 1000 : ran > 0 ? ran * 1000 / most : 0;

    p->n += p->n < PACE_RUNS_MAX;
    p->mean = (uint32_t)(p->mean + ((part << PACE_BITS) - p->mean) / p->n);
}

uint32_t tenant_usual(const struct tenants *t, uint32_t ix)
{
    const struct tenant_pace *p = &t->v[ix].pace;

    if (p->n < PACE_RUNS_MIN)
        return 0;
    return p->mean >> PACE_BITS ? p->mean >> PACE_BITS : 1;
}
