/* SPDX-License-Identifier: Apache-2.0 */
/* store_tenant.c - tenants between memory and record: past use, the part of maxRuntime that their
 * runs take, and whether they are stopped; and the past use of one user in a tenant.
 *
 * Quota and the like come from the configuration, charges from the jobs.
 */
#include <string.h>

#include "core/share.h"
#include "store/store_pack.h"
#include "util/parse.h"

enum { PAST_MAX = 2 * MODELS_MAX }; /* of a configuration that named other models */

void store_make_past(Queued__Record__TenantRecord *r, const struct settings *settings,
                     const struct share_past *past, struct arena *a)
{
    r->past = arena_alloc(a, settings->n_models * sizeof(*r->past));
    for (uint32_t m = 0; m < settings->n_models; m++) {
        Queued__Record__PastRecord *p;

        if (past[m].stamp == 0)
            continue;
        p = arena_alloc(a, sizeof(*p));
        queued__record__past_record__init(p);
        p->model = store_text(settings->models[m].name);
        PACK(p, value, past[m].value);
        PACK(p, stamp, past[m].stamp);
        r->past[r->n_past++] = p;
    }
}

void store_make_tenant(Queued__Record__TenantRecord *r, const struct settings *settings,
                       const struct tenant *t, struct arena *a)
{
    PACK(r, stopped_at, t->stopped_at);
    PACK(r, pace, t->pace.mean);
    PACK(r, pace_runs, t->pace.n);
    r->stopped_why = store_text(t->stopped_why);
    store_make_past(r, settings, t->past, a);
}

static int take_past(struct share_past *past, const struct settings *settings,
                     const Queued__Record__TenantRecord *r, struct err *err)
{
    if (r->n_past > PAST_MAX)
        return err_set(err, ERR_INVALID, "past use of %zu models", r->n_past);
    for (size_t i = 0; i < r->n_past; i++) {
        const Queued__Record__PastRecord *p = r->past[i];
        uint32_t m = settings_model(settings, p->model ? p->model : "");

        if (p->value >> (SHARE_BITS + 23) || p->stamp < 0)
            return err_set(err, ERR_INVALID, "past use that cannot be");
        if (m != IX_NONE)
            past[m] = (struct share_past){.value = p->value, .stamp = p->stamp};
    }
    return 0;
}

static int take(struct tenant *t, const struct settings *settings,
                const Queued__Record__TenantRecord *r, struct err *err)
{
    if (store_take_text(t->stopped_why, sizeof(t->stopped_why), r->stopped_why, "reason", err) < 0)
        return -1;
    if (r->pace > 1000 << PACE_BITS || r->pace_runs > PACE_RUNS_MAX)
        return err_set(err, ERR_INVALID, "run times that cannot be");
    t->stopped_at = r->stopped_at;
    t->pace = (struct tenant_pace){.mean = r->pace, .n = r->pace_runs};
    return take_past(t->past, settings, r, err);
}

/* A user's in a tenant: kept for later where users do not share, or the tenant is not configured.
 */
static int take_user(struct tenants *t, const char *path, const char *uid,
                     const Queued__Record__TenantRecord *r, struct err *err)
{
    struct account_key who = {.tenant = settings_tenant(t->settings, path)};
    struct share_past past[MODELS_MAX] = {{0}};
    uint64_t n;

    if (parse_u64(uid, 0, UINT32_MAX, &n, err) || take_past(past, t->settings, r, err))
        return -1;
    who.uid = (uint32_t)n;
    if (who.tenant != IX_NONE && t->settings->shares_users)
        memcpy(tenant_user(t, who)->past, past, sizeof(past));
    return 0;
}

int store_decode_tenant(struct store_bytes key, struct store_bytes value, struct tenants *t,
                        struct err *err)
{
    const Queued__Record__TenantRecord *r;
    ProtobufCMessage *m =
        store_unpack(STORE_TENANTS, key, value, &queued__record__tenant_record__descriptor, err);
    char path[TENANT_PATH_MAX + 1 + 10 + 1] = "", *uid;
    struct tenant taken = {0};
    uint32_t ix;
    int rc = 0;

    if (!m)
        return -1;
    r = (const Queued__Record__TenantRecord *)m;
    if (key.len < sizeof(path))
        memcpy(path, key.p, key.len);
    uid = strchr(path, '\n');
    if (uid)
        *uid++ = '\0';
    ix = settings_tenant(t->settings, path);
    if (ix != IX_NONE)
        taken = t->v[ix];
    if (*path == '\0')
        rc = err_set(err, ERR_INVALID, "a key of %zu bytes is no tenant", key.len);
    else
        rc = uid ? take_user(t, path, uid, r, err) : take(&taken, t->settings, r, err);
    if (rc == 0 && !uid && ix != IX_NONE)
        t->v[ix] = taken;
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}
