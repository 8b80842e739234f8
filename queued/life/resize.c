/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c - an elastic gang becomes larger or smaller. */
#include "life/resize.h"

#include <stdio.h>

#include "core/elastic.h"
#include "core/preempt.h"
#include "life/job_life.h"
#include "life/mended.h"

static void resized(struct state *s, struct job *j, const char *code, const char *text,
                    struct effects *fx)
{
    j->resized_at = s->now;
    mended_settle(s, j);
    s->is_quiet = false;
    (void)job_move(s, j, &(struct job_step){.event = JOB_EV_RESIZED, .code = code, .text = text},
                   fx);
}

void resize_apply(struct state *s, struct ev_placed *more, struct effects *fx)
{
    struct job *j = state_job(s, more->job);
    uint32_t before = job_size(j);
    char text[REASON_TEXT_MAX + 1];

    for (uint32_t i = 0; i < more->n; i++) {
        struct member *m = &j->members[i];
        struct resources asks;

        if (more->members[i].node_ix == IX_NONE)
            continue;
        m->node_ix = more->members[i].node_ix;
        m->is_new = !job_is_spare(j, m);
        m->is_seen = false;
        m->exit_code = -1;
        job_set_phase(j, m, m->is_new ? MEMBER_PLACED : MEMBER_SPARE);
        state_pod_asks(j, m->role, &asks);
        cluster_name(&s->cluster, m->node_ix);
        cluster_hold(&s->cluster, m->node_ix, &asks);
        job_resize(s, j, m->role, true);
    }
    if (job_size(j) == before) {
        (void)snprintf(text, sizeof(text), "%u spare hosts are held again", j->n_spare);
        resized(s, j, "SpareHeld", text, fx);
        return;
    }
    (void)snprintf(text, sizeof(text), "from %u to %u pods, of at most %u", before, job_size(j),
                   j->n_members);
    resized(s, j, "Grown", text, fx);
    (void)effects_add(fx, EFFECT_GANG_START, j->id);
}

/* It is absent from now on. Its name is taken while a pod of it is known. */
static void leave(struct state *s, struct job *j, struct member *m, struct effects *fx)
{
    bool is_there = m->uid[0] && job_member_holds(m);
    char name[POD_NAME_TEXT], key[POD_KEY_TEXT];
    struct resources asks;

    if (is_there) { /* its GPUs count on the node until the pod is gone */
        state_pod_asks(j, m->role, &asks);
        cluster_pod_left(&s->cluster, job_pod_key(key, j, m), m->uid, m->node_ix, &asks);
    }
    if (m->uid[0])
        effects_delete_pod(fx, j->ns, job_pod_name(name, j, m), m->uid);
    job_release(s, j, m, MEMBER_ABSENT);
    cluster_unname(&s->cluster, m->node_ix);
    m->node_ix = IX_NONE;
    m->is_new = false;
    if (is_there)
        job_member_goes(s, j, m);
    else
        job_resize(s, j, m->role, false);
}

void resize_drop(struct state *s, struct job *j, const struct member *m, const char *why,
                 struct effects *fx)
{
    bool was_growing = elastic_is_growing(j), all_new = !m || m->is_new;
    uint32_t before = job_size(j);
    char text[REASON_TEXT_MAX + 1];

    for (uint32_t i = 0; i < j->n_members; i++)
        if ((m && &j->members[i] == m) || (all_new && j->members[i].is_new))
            leave(s, j, &j->members[i], fx);
    (void)snprintf(text, sizeof(text), "from %u to %u pods: %.180s", before, job_size(j), why);
    resized(s, j, "Shrunk", text, fx);
    if (was_growing)
        preempt_may_change(s);
    if (was_growing)
        (void)effects_add(fx, EFFECT_GANG_START, j->id); /* without them */
    job_check_progress(s, j, fx);
}

void resize_give(struct state *s, struct job *j, const struct claim *to, const char *why,
                 struct effects *fx)
{
    uint32_t before = job_size(j);
    char text[REASON_TEXT_MAX + 1];

    for (uint32_t i = 0; i < to->n_victims; i++) {
        const struct victim *v = &to->victims[i];
        struct member *m = v->job.v == j->id.v && v->pod && v->pod <= j->n_members
                               ? &j->members[v->pod - 1]
                               : NULL;

        if (m && m->phase == MEMBER_RUNNING && elastic_surplus(j, m->role) &&
            elastic_may_drop(j, m))
            leave(s, j, m, fx);
    }
    if (job_size(j) == before)
        return;
    (void)snprintf(text, sizeof(text), "from %u to %u pods, %.180s", before, job_size(j), why);
    resized(s, j, "Shrunk", text, fx);
}
