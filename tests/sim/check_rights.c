/* SPDX-License-Identifier: Apache-2.0 */
/* check_rights.c - what tenants were promised: limits, quotas, nodes that preemption may take.
 *
 * Counted anew from the jobs, not from the tables of the core.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "core/backfill.h"
#include "core/order.h"
#include "core/preempt.h"
#include "life/job_life.h"
#include "spec/week.h"

static int passed(struct sim *s, const char *what, uint32_t tenant, uint32_t model)
{
    return err_set(&s->err, ERR_INTERNAL, "tenant %s is beyond its %s of %s",
                   s->settings->tenants[tenant].path, what, s->settings->models[model].name);
}

/* Whose quota judges its gangs at all times; IX_NONE: nobody's, or another's in some window, and
 * gangs that were begun by that one hold on. */
static uint32_t judge_of(const struct settings *s, uint32_t tenant, uint32_t model)
{
    for (; tenant != IX_NONE; tenant = s->tenants[tenant].parent) {
        const struct tenant_setting *t = &s->tenants[tenant];

        if (t->quota.gpus[model] >= 0)
            return tenant;
        for (uint32_t w = 0; w < t->n_windows; w++)
            if (t->windows[w].quota.gpus[model] >= 0)
                return IX_NONE;
    }
    return IX_NONE;
}

/* What all gangs of a tenant and below it hold of a model; firm: of those that cannot be taken,
 * and that this tenant's quota judges. 0: all of it was decided under other rights. */
static uint64_t held(const struct sim *s, uint32_t tenant, uint32_t model, bool is_firm)
{
    uint64_t sum = 0;
    bool is_judged = false;

    for (size_t i = 0; i < s->state->active.n; i++) {
        const struct job *j = s->state->active.v[i];
        uint64_t gpus[MODELS_MAX];
        uint32_t t = j->tenant_ix;

        if (!j->charged_parts || (is_firm && j->demand->is_preemptible))
            continue;
        if (is_firm)
            t = judge_of(s->settings, t, model) == tenant ? tenant : IX_NONE;
        while (t != IX_NONE && t != tenant)
            t = s->settings->tenants[t].parent;
        if (t == IX_NONE)
            continue;
        job_all_gpus(j, gpus);
        sum += gpus[model];
        is_judged |= gpus[model] && j->config_generation == s->state->meta.config_generation;
    }
    return is_judged ? sum : 0;
}

/* Of the tenant itself, in the window where that is most; -1: it has none. */
static int64_t most_quota(const struct settings *s, uint32_t tenant, uint32_t model)
{
    const struct tenant_setting *t = &s->tenants[tenant];
    int64_t most = t->quota.gpus[model];

    for (uint32_t w = 0; w < t->n_windows; w++)
        if (t->windows[w].quota.gpus[model] > most)
            most = t->windows[w].quota.gpus[model];
    return most;
}

int check_rights(struct sim *s)
{
    for (uint32_t t = 0; t < s->settings->n_tenants; t++)
        for (uint32_t m = 0; m < s->settings->n_models; m++) {
            int64_t limit = tenant_most_limit(&s->state->tenants, t, m);
            int64_t quota = most_quota(s->settings, t, m);

            if (limit >= 0 && held(s, t, m, false) > (uint64_t)limit)
                return passed(s, "limit", t, m);
            if (quota >= 0 && held(s, t, m, true) > (uint64_t)quota * GPU_PARTS)
                return passed(s, "quota, with gangs that cannot be taken,", t, m);
        }
    return 0;
}

/* By the calendar itself: a gang that was decided in this turn, and by this calendar, was inside
 * its tenant's windows, and no room is kept for one outside them. */
int check_windows(struct sim *s)
{
    bool has_cycled = s->state->is_synced && s->state->is_cluster_up && s->state->is_quiet;

    for (size_t i = 0; i < s->state->by_id.n; i++) {
        const struct job *j = s->state->by_id.v[i];
        struct reserved r = {.at = j->attempt_at};
        bool is_new = job_state_is_active(j->state) && j->attempt_at == s->state->now &&
                      j->config_generation == s->state->meta.config_generation;

        if (j->tenant_ix == IX_NONE || !(is_new || (has_cycled && j->bucket)))
            continue;
        if (!is_new && week_shut(s->settings, j->tenant_ix, s->now) != IX_NONE)
            sim_met(s, "(outside its windows)", 1);
        if ((is_new || backfill_own(s->state, j, &r)) &&
            week_next(s->settings, j->tenant_ix, r.at, backfill_end_from(j, r.at) - r.at) != r.at)
            return err_set(&s->err, ERR_INTERNAL, "job %s %s outside its windows", j->name,
                           is_new ? "was started" : "has room kept for it");
    }
    return 0;
}

static bool is_taken(struct sim *s, const struct job_note *note)
{
    bool is_shrunk = strcmp(note->reason, "Shrunk") == 0 && strstr(note->text, "pods, for ");

    if (is_shrunk)
        sim_met(s, "(shrunk for a taker)", 1);
    return is_shrunk ||
           (note->event == JOB_EV_PREEMPT && (strcmp(note->reason, "PreemptedByPriority") == 0 ||
                                              strcmp(note->reason, "Reclaimed") == 0));
}

/* A gang that is told to leave for another, or to give up pods, was taken rightly. */
void check_taken(struct sim *s, const struct job_note *note)
{
    const struct job *j = state_job(s->state, note->job);

    if (!is_taken(s, note) || !j)
        return;
    if (!j->demand->is_preemptible)
        s->failed = err_set(&s->err, ERR_INTERNAL, "%s cannot be taken, and was", note->job_name);
    else if (s->now - j->running_at < s->settings->min_runtime_us)
        s->failed = err_set(&s->err, ERR_INTERNAL, "%s was taken too young", note->job_name);
}

static bool is_all_told(const struct state *s)
{
    if (s->mature_at || s->claims.n)
        return false; /* somebody grows old enough, or leaves: they are asked again */
    for (size_t i = 0; i < s->active.n; i++)
        if (s->active.v[i]->state != JOB_RUNNING)
            return false;
    return true;
}

/* Nobody sleeps who could take what he needs. */
int check_takers(struct sim *s)
{
    if (!s->state->is_synced || !s->state->is_cluster_up || !s->state->is_quiet ||
        s->wake <= s->now || !is_all_told(s->state))
        return 0;
    sim_met(s, "(takers asked)", 1);
    for (size_t i = 0; i < s->state->by_id.n; i++) {
        struct job *j = s->state->by_id.v[i];
        struct event ev = {0};
        struct bucket was;
        bool is_found;

        if (!j->bucket || j->bucket->head != j || j->not_before > s->now || j->tenant_ix == IX_NONE)
            continue;
        was = *j->bucket;
        is_found = preempt_plan(s->state, j, s->now, &ev);
        *j->bucket = was;
        event_fini(&ev);
        if (is_found)
            return err_set(&s->err, ERR_INTERNAL, "job %s sleeps and could take what it needs",
                           j->name);
    }
    return 0;
}
