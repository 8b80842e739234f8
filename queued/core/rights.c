/* SPDX-License-Identifier: Apache-2.0 */
/* rights.c - by priority inside what one quota judges, by quota between two that do.
 *
 * With priorityScope cluster a tenant without a quota has nothing that is its own: a strictly
 * higher gang takes from it whatever the shares are. And shares take from no higher gang. Between
 * two that have quotas these go first all the same: by both rules at once three gangs take from
 * each other for ever.
 */
#include "core/rights.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide_t;

bool rights_by_priority(const struct state *s, const struct job *j)
{
    uint32_t normal = settings_class(s->settings, "normal");

    return j->demand->preempts == PREEMPTS_LOWER ||
           (j->demand->preempts == PREEMPTS_BY_CLASS && normal != IX_NONE &&
            j->priority > s->settings->classes[normal].value);
}

bool rights_guess(const struct state *s, const struct job *j, uint32_t nth,
                  uint64_t ret[MODELS_MAX])
{
    uint8_t models[JOB_ROLES_MAX];
    bool is_new = nth == 0;

    memset(models, MODELS_MAX, sizeof(models));
    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        const struct demand_role *role = &j->demand->roles[r];
        uint32_t n = role->n_models ? role->n_models : s->settings->n_models, seen = 0;

        for (uint32_t i = 0; i < n && seen <= nth && role->takes_gpus; i++) {
            uint32_t m = role->n_models ? role->models[i] : i;

            if (m >= s->settings->n_models || !cluster_has_model(&s->cluster, role, m))
                continue;
            models[r] = (uint8_t)m;
            seen++;
        }
        is_new = is_new || seen > nth;
    }
    job_gpus(j, models, ret);
    return is_new;
}

static bool is_inside(const struct tenants *t, const struct job *j, const uint64_t *gpus)
{
    bool has_gpus = false;

    for (uint32_t m = 0; m < MODELS_MAX; m++) {
        if (gpus[m] && !tenant_in_quota(t, j->tenant_ix, m, gpus[m]))
            return false;
        has_gpus = has_gpus || gpus[m];
    }
    return has_gpus;
}

/* What the tenant that judges ix uses of a model, and its quota; the tenant. */
static uint32_t judge(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t *used,
                      uint64_t *quota)
{
    uint32_t at;

    *quota = tenant_quota(t, ix, model, &at);
    at = at == IX_NONE ? ix : at;
    *used = t->v[at].used[model];
    return at;
}

/* Is some tenant so far above its quota that the taker's would stay below it? */
static bool is_any_above(const struct state *s, const struct job *j, const uint64_t *gpus)
{
    const struct tenants *t = &s->tenants;

    for (uint32_t m = 0; m < MODELS_MAX; m++) {
        uint64_t used, quota, v_used, v_quota;

        if (!gpus[m])
            continue;
        (void)judge(t, j->tenant_ix, m, &used, &quota);
        for (uint32_t ix = 0; ix < s->settings->n_tenants && quota; ix++) {
            (void)judge(t, ix, m, &v_used, &v_quota);
            if (v_used > v_quota && (wide_t)(used + gpus[m]) * v_quota < (wide_t)v_used * quota)
                return true;
        }
    }
    return false;
}

bool rights_may(const struct state *s, const struct job *j)
{
    uint64_t gpus[MODELS_MAX];

    if (j->demand->preempts == PREEMPTS_NOBODY)
        return false;
    if (rights_by_priority(s, j))
        return true;
    for (uint32_t nth = 0;
         tenant_has_quota(&s->tenants, j->tenant_ix) && rights_guess(s, j, nth, gpus); nth++)
        if (is_inside(&s->tenants, j, gpus) || is_any_above(s, j, gpus))
            return true;
    return false;
}

enum reclaim rights_reclaims(const struct tenants *t, const struct reclaim_of *of, uint32_t model,
                             uint64_t loses)
{
    uint64_t used, quota, v_used, v_quota;
    bool is_higher = of->taker->priority > of->victim->priority;

    if (judge(t, of->taker->tenant_ix, model, &used, &quota) ==
        judge(t, of->victim->tenant_ix, model, &v_used, &v_quota))
        return RECLAIM_BY_PRIORITY;
    if (v_used <= v_quota)
        return RECLAIM_NO;
    if (is_inside(t, of->taker, of->gpus))
        return RECLAIM_YES;
    if (t->settings->is_priority_first && is_higher && v_quota == 0)
        return RECLAIM_BY_PRIORITY;
    if (t->settings->is_priority_first && of->taker->priority < of->victim->priority)
        return RECLAIM_NO;
    return (wide_t)(used + of->gpus[model]) * v_quota < (wide_t)(v_used - loses) * quota
               ? RECLAIM_YES
               : RECLAIM_NO;
}
