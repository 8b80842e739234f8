/* SPDX-License-Identifier: Apache-2.0 */
/* gang.c - the order for the cluster adapter, from the job as it is now. */
#include "gang.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/score.h"
#include "life/job_life.h"
#include "util/str.h"

static bool is_wanted(const struct job *j, const struct member *m, bool is_stop)
{
    if (m->phase == MEMBER_ABSENT || m->phase == MEMBER_SPARE)
        return false;
    if (!is_stop)
        return true;
    if (m->phase == MEMBER_GONE || m->phase == MEMBER_KEPT)
        return false;
    /* finished pods of an end stay for their logs; a requeue and an expiry clean all */
    return m->phase <= MEMBER_RUNNING || job_wants_all_gone(j) ||
           (job_state_is_terminal(j->state) && !j->has_pods);
}

_Static_assert((int)GANG_SCORE_TEXT_MAX == (int)SCORE_TEXT_MAX, "a score's sentence fits a gang");

static void rate(struct gang *g, const struct state *s, const struct job *j)
{
    struct score score;

    score_job(s, j, &score);
    g->score = score.total;
    (void)score_text(g->score_text, s, j, &score);
}

static usec_t asked(const struct job *j, bool is_stop)
{
    if (is_stop)
        return job_is_asked(j) ? j->state_since : 0;
    return j->is_told ? job_tell_at(j) : 0;
}

void gang_init(struct gang *g, const struct state *s, const struct job *j, const struct spec *spec,
               bool is_stop)
{
    const struct job *parent = array_parent(s, j);
    uint32_t cls = settings_class(s->settings, j->priority_class);

    *g = (struct gang){.job = j->id,
                       .attempt = j->attempt,
                       .spec = spec,
                       .cut_us = is_stop ? job_cut_us(j) : 0,
                       .asked_us = asked(j, is_stop),
                       .has_service = j->has_service || (parent && parent->has_service),
                       .has_budget = j->has_budget,
                       .min_available = j->demand->min_available,
                       .array = parent ? parent->id : (struct job_id){0},
                       .array_index = j->array_index,
                       .size = j->n_members};
    g->grace_us = g->cut_us ? g->cut_us : j->grace_us;
    (void)str_copy(g->job_name, sizeof(g->job_name), j->base); /* same bounds */
    (void)str_copy(g->ns, sizeof(g->ns), j->ns);
    (void)str_copy(g->tenant, sizeof(g->tenant), j->tenant);
    g->kubernetes_class = cls == IX_NONE ? "" : s->settings->classes[cls].kubernetes;
    g->latest_end_us = j->attempt_at + j->start_timeout_us + j->max_runtime_us + j->grace_us;
    if (j->run_until && j->run_until + j->grace_us < g->latest_end_us)
        g->latest_end_us = j->run_until + j->grace_us;
    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        struct resources asks;

        state_pod_asks(j, r, &asks);
        g->cpu_milli[r] = asks.amount[RES_CPU];
        g->memory_bytes[r] = asks.amount[RES_MEMORY];
        g->first_index[r] = j->array_index * j->demand->roles[r].most;
        g->size -= j->n_members ? j->demand->roles[r].spares : 0;
        memcpy(g->role_names[r], j->demand->roles[r].name, sizeof(g->role_names[r]));
    }
    g->pods = xcalloc(j->n_members, sizeof(*g->pods));
    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct member *m = &j->members[i];
        const struct node *n = cluster_node(&s->cluster, m->node_ix);
        struct gang_pod *p = &g->pods[g->n_pods];

        if (!is_wanted(j, m, is_stop))
            continue;
        *p = (struct gang_pod){
            .member = i, .role = m->role, .index = m->index, .rank = m->rank, .run = m->run};
        if (n)
            (void)str_copy(p->node, sizeof(p->node), n->name);
        memcpy(p->uid, m->uid, sizeof(p->uid));
        p->is_bound = m->phase == MEMBER_BOUND || m->phase == MEMBER_RUNNING;
        p->has_ended = m->phase == MEMBER_SUCCEEDED || m->phase == MEMBER_FAILED ||
                       (!is_stop && (m->phase == MEMBER_GONE || m->phase == MEMBER_KEPT ||
                                     m->mend == MEND_RECALLED));
        p->waits = m->waits;
        g->n_pods++;
    }
    if (!is_stop)
        rate(g, s, j);
}

bool gang_is_wanted(const struct job *j, bool is_stop)
{
    /* a running gang may have grown, and one that starts may have roles that come later */
    return is_stop != (j->state == JOB_BINDING || j->state == JOB_RUNNING ||
                       (j->state == JOB_STARTING && j->demand->has_after));
}

void gang_fini(struct gang *g)
{
    free(g->pods);
    *g = (struct gang){0};
}
