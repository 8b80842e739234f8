/* SPDX-License-Identifier: Apache-2.0 */
/* mended.c - lost members: marked, started on their hosts, or given up together with their gang. */
#include "life/mended.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/elastic.h"
#include "core/mend.h"
#include "core/replace.h"
#include "life/kept.h"
#include "life/later.h"
#include "life/resize.h"
#include "spec/failure.h"
#include "util/mem.h"

/* One that had only joined is given up, not made again. */
static bool is_lost(const struct member *m)
{
    return (m->phase == MEMBER_FAILED || m->phase == MEMBER_GONE) && m->mend == MEND_NONE &&
           !m->is_new;
}

static bool has_lost(const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (is_lost(&j->members[i]))
            return true;
    return false;
}

/* Is its role one that restarts as a whole? */
static bool is_recalled(const struct job *j, const struct member *m)
{
    bool is_hit = false;

    for (uint32_t i = 0; i < j->n_members && failure_scope(j->failure) == SPEC_SCOPE_ROLE; i++)
        is_hit |= j->members[i].role == m->role && is_lost(&j->members[i]);
    return is_hit && m->phase != MEMBER_ABSENT && m->phase != MEMBER_SPARE && m->mend == MEND_NONE;
}

/* The gang goes on if a pod stays that is not recalled, nor has only joined. */
static bool is_left(const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct member *m = &j->members[i];

        if (job_member_holds(m) && m->phase != MEMBER_SPARE && !m->is_new && m->mend == MEND_NONE &&
            !is_recalled(j, m))
            return true;
    }
    return false;
}

static void delete_pod(const struct job *j, const struct member *m, struct effects *fx)
{
    char name[POD_NAME_TEXT];

    if (m->uid[0])
        effects_delete_pod(fx, j->ns, job_pod_name(name, j, m), m->uid);
}

/* From now on it is another pod, which needs a host. */
static void need_host(struct job *j, struct member *m)
{
    if (m->phase != MEMBER_KEPT)
        job_set_phase(j, m, MEMBER_GONE);
    m->mend = MEND_HOSTLESS;
    m->run++;
    m->uid[0] = '\0';
    m->is_seen = false;
    m->exit_code = -1;
}

bool mended_begin(struct state *s, struct job *j, const struct job_step *step, struct effects *fx)
{
    bool by_role = failure_scope(j->failure) == SPEC_SCOPE_ROLE;
    char text[REASON_TEXT_MAX + 1];

    if (j->state != JOB_RUNNING || failure_scope(j->failure) == SPEC_SCOPE_GANG)
        return false;
    if (!is_left(j))
        return false;
    if (elastic_is_growing(j))
        resize_drop(s, j, NULL, has_lost(j) ? "it has lost others" : step->text, fx);
    if (!has_lost(j))
        return true;
    for (uint32_t i = 0; i < j->n_members && by_role; i++) {
        struct member *m = &j->members[i];

        if (!is_lost(m) && is_recalled(j, m))
            m->mend = MEND_RECALLED;
    }
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct member *m = &j->members[i];

        if (!is_lost(m) && m->mend != MEND_RECALLED)
            continue;
        if (m->phase != MEMBER_GONE)
            delete_pod(j, m, fx); /* one that was asked before is asked again */
        if (job_member_holds(m))
            continue;
        kept_hold(s, j, m);
        need_host(j, m);
    }
    j->lost_at = j->lost_at ? j->lost_at : s->now;
    if (j->not_before > j->lost_at)
        j->lost_at = j->not_before; /* a refusal's back-off, later, does not put the end off */
    s->has_missing = true;
    s->is_quiet = false;
    (void)snprintf(text, sizeof(text), "%.200s; %s made again, the others run on", step->text,
                   by_role ? "its role is" : "it is");
    (void)job_move(s, j, &(struct job_step){JOB_EV_REPLACED, 0, step->code, text}, fx);
    return true;
}

void mended_lost(struct state *s, struct job *j, struct member *m, struct effects *fx)
{
    delete_pod(j, m, fx);
    if (m->mend == MEND_RECALLED && replace_is_good(s, j, m->node_ix))
        job_set_phase(j, m, MEMBER_KEPT); /* nobody else is to have it meanwhile */
    else
        job_release(s, j, m, MEMBER_GONE);
    need_host(j, m);
    s->has_missing = true;
    s->is_quiet = false;
    job_save(s, j, fx);
}

void mended_runs(struct state *s, struct job *j, struct member *m, struct effects *fx)
{
    m->mend = MEND_NONE;
    mended_settle(s, j);
    job_save(s, j, fx);
}

void mended_settle(struct state *s, struct job *j)
{
    if (!mend_missing(j))
        j->lost_at = 0;
    job_set_timer(s, j);
}

void mended_time_up(struct state *s, struct job *j, struct effects *fx)
{
    char text[REASON_TEXT_MAX + 1], d[FORMAT_MAX];

    if (mend_due(s, j) > s->now) { /* its back-off is over */
        s->has_missing = true;
        s->is_quiet = false;
        job_set_timer(s, j);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "%u of %u pods were lost and do not run again after gang.startTimeout %s",
                   mend_missing(j), job_size(j), format_duration(d, j->start_timeout_us));
    (void)job_move(s, j, &(struct job_step){JOB_EV_MEMBER_LOST, 0, "ReplaceTimeout", text}, fx);
}

void mended_apply(struct state *s, struct ev_placed *p, struct effects *fx)
{
    struct job *j = state_job(s, p->job);
    char text[REASON_TEXT_MAX + 1], name[POD_NAME_TEXT];
    uint32_t n = 0, moved = 0;

    for (uint32_t i = 0; i < p->n; i++) {
        struct member *m = &j->members[i];
        uint32_t to = p->members[i].node_ix;
        struct resources asks;

        if (to == IX_NONE)
            continue;
        moved += to != m->node_ix;
        if (m->phase == MEMBER_KEPT)
            job_release(s, j, m, MEMBER_GONE);
        (void)snprintf(text, sizeof(text), "%s on %.100s", job_pod_name(name, j, m),
                       cluster_node(&s->cluster, to)->name);
        cluster_name(&s->cluster, to);
        cluster_unname(&s->cluster, m->node_ix);
        if (p->members[i].rank) /* the spare whose host it takes */
            mended_free_spare(s, j, &j->members[p->members[i].rank - 1]);
        m->node_ix = to;
        m->mend = MEND_STARTING;
        job_set_phase(j, m, MEMBER_PLACED);
        state_pod_asks(j, m->role, &asks);
        cluster_hold(&s->cluster, to, &asks);
        n++;
    }
    later_mark(j);
    if (n > 1)
        (void)snprintf(text, sizeof(text), "%u pods, %u of them on other hosts", n, moved);
    j->n_replaced += moved;
    s->is_quiet = false;
    (void)job_move(s, j, &(struct job_step){JOB_EV_REPLACED, 0, "HostReplaced", text}, fx);
    (void)effects_add(fx, EFFECT_GANG_START, j->id);
}

void mended_load_spares(struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase == MEMBER_PLACED && job_is_spare(j, &j->members[i]))
            job_set_phase(j, &j->members[i], MEMBER_SPARE);
}

void mended_set_aside(struct job *j)
{
    uint32_t *at, rank = 0;

    mended_load_spares(j);
    if (!j->n_spare)
        return;
    at = xcalloc(j->n_members, sizeof(*at));
    for (uint32_t i = 0; i < j->n_members; i++)
        at[j->members[i].rank] = i;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < j->n_members; i++)
            if ((j->members[at[i]].phase == MEMBER_SPARE) == (pass == 1))
                j->members[at[i]].rank = rank++;
    free(at);
}

void mended_free_spare(struct state *s, struct job *j, struct member *m)
{
    job_release(s, j, m, MEMBER_ABSENT);
    cluster_unname(&s->cluster, m->node_ix);
    m->node_ix = IX_NONE;
    job_resize(s, j, m->role, false);
}

void mended_free_spares(struct state *s, struct job *j)
{
    for (uint32_t i = 0; i < j->n_members && j->n_spare; i++)
        if (j->members[i].phase == MEMBER_SPARE)
            mended_free_spare(s, j, &j->members[i]);
}

bool mended_resume(struct job *j, struct member *m, struct effects *fx)
{
    if (m->mend == MEND_RECALLED && m->is_seen)
        delete_pod(j, m, fx);
    return m->mend == MEND_HOSTLESS || m->mend == MEND_STARTING || m->phase == MEMBER_SPARE;
}
