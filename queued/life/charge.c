/* SPDX-License-Identifier: Apache-2.0 */
/* charge.c - what a gang is charged: all its members, and pods that were told to go and are still
 * there, of which the tenant counts that their charge ends.
 */
#include <string.h>

#include "core/share.h"
#include "life/job_life.h"

/* Before what its tenant holds of a model changes: the past up to then, and its user's part. */
static void settle(struct state *s, const struct job *j, uint32_t model, int64_t parts, usec_t at)
{
    share_settle(&s->tenants, j->tenant_ix, model, at);
    s->tenants.v[j->tenant_ix].saved_turn = s->turn;
    if (s->settings->shares_users)
        share_charge_user(s, j, model, parts, at);
    tenant_charge_user(&s->tenants, job_account(j), model, parts);
}

void job_charge(struct state *s, struct job *j)
{
    uint64_t parts[MODELS_MAX];

    j->charged_parts = 0;
    if (j->n_members == 0)
        return;
    job_all_gpus(j, parts);
    for (uint32_t m = 0; m < MODELS_MAX; m++) {
        j->charged_parts += parts[m];
        if (parts[m] && j->tenant_ix != IX_NONE)
            settle(s, j, m, (int64_t)parts[m], j->attempt_at);
    }
    job_count_gpus(&s->tenants, j, tenant_charge);
    job_count_going(&s->tenants, j, tenant_charge);
    job_count_going(&s->tenants, j, tenant_spare);
}

void job_refund(struct state *s, struct job *j)
{
    uint64_t parts[MODELS_MAX];

    job_all_gpus(j, parts);
    for (uint32_t m = 0; m < MODELS_MAX && j->charged_parts; m++)
        if (parts[m] && j->tenant_ix != IX_NONE)
            settle(s, j, m, -(int64_t)parts[m], s->now);
    if (j->charged_parts)
        job_count_gpus(&s->tenants, j, tenant_refund);
    job_count_going(&s->tenants, j, tenant_refund);
    job_count_going(&s->tenants, j, tenant_expect);
    memset(j->going, 0, sizeof(j->going));
    for (uint32_t i = 0; i < j->n_members; i++)
        j->members[i].is_going = false;
    if (j->is_leaving && !j->move)
        job_count_gpus(&s->tenants, j, tenant_expect);
    j->is_leaving = false;
    j->charged_parts = 0;
}

static void recharge(struct state *s, struct job *j, uint32_t role, bool is_more)
{
    uint32_t parts = job_pod_parts(j, role), m = j->models[role];

    if (parts == 0)
        return;
    j->charged_parts += is_more ? parts : 0 - (uint64_t)parts;
    if (j->tenant_ix == IX_NONE)
        return;
    settle(s, j, m, is_more ? (int64_t)parts : -(int64_t)parts, s->now);
    (is_more ? tenant_charge : tenant_refund)(&s->tenants, j->tenant_ix, m, parts);
}

void job_resize(struct state *s, struct job *j, uint32_t role, bool is_more)
{
    recharge(s, j, role, is_more);
    if (j->is_leaving)
        job_count_pods(&s->tenants, j, role, 1, is_more ? tenant_spare : tenant_expect);
}

void job_member_goes(struct state *s, struct job *j, struct member *m)
{
    m->is_going = true;
    j->going[m->role]++;
    if (!j->is_leaving)
        job_count_pods(&s->tenants, j, m->role, 1, tenant_spare);
}

void job_member_went(struct state *s, struct job *j, struct member *m, struct effects *fx)
{
    if (!m->is_going)
        return;
    m->is_going = false;
    j->going[m->role]--;
    job_count_pods(&s->tenants, j, m->role, 1, tenant_expect);
    recharge(s, j, m->role, false);
    s->is_quiet = false;
    job_save(s, j, fx);
    job_check_gone(s, j, fx);
}
