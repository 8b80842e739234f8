/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c - what a gang keeps while all of its pods are made anew. */
#include "life/kept.h"

#include <stdlib.h>
#include <string.h>

#include "core/mend.h"
#include "core/replace.h"
#include "life/claimed.h"
#include "life/mended.h"
#include "spec/failure.h"
#include "util/mem.h"

void kept_hold(struct state *s, struct job *j, struct member *m)
{
    const struct node *n = cluster_node(&s->cluster, m->node_ix);
    struct resources asks, free_now;

    if (job_member_holds(m) || !replace_is_good(s, j, m->node_ix))
        return;
    state_pod_asks(j, m->role, &asks);
    node_free(n, &free_now);
    if (!resources_times(&asks, &free_now, 1))
        return;
    cluster_hold(&s->cluster, m->node_ix, &asks);
    job_set_phase(j, m, MEMBER_KEPT);
}

bool kept_begin(struct state *s, struct job *j)
{
    if (!j->n_spare || failure_scope(j->failure) != SPEC_SCOPE_GANG)
        return false;
    j->keeps = true;
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase == MEMBER_GONE)
            kept_hold(s, j, &j->members[i]);
    return true;
}

bool kept_gone(struct state *s, struct job *j, struct member *m)
{
    if (!j->keeps || j->state != JOB_RESTARTING)
        return false;
    if (job_member_holds(m) && replace_is_good(s, j, m->node_ix)) {
        job_set_phase(j, m, MEMBER_KEPT);
        m->uid[0] = '\0';
    } else {
        job_release(s, j, m, MEMBER_GONE);
    }
    return true;
}

void kept_drop(struct state *s, struct job *j)
{
    j->keeps = false;
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase == MEMBER_KEPT)
            job_release(s, j, &j->members[i], MEMBER_GONE);
    mended_free_spares(s, j);
}

/* Nodes may have come, gone or changed their labels while it ran, and a spare be elsewhere. */
static bool is_spread(const struct state *s, const struct job *j, const struct ev_placed *to)
{
    uint32_t *at = xcalloc(to->n, sizeof(*at));
    bool is_so;

    for (uint32_t i = 0; i < to->n; i++)
        at[i] = to->members[i].node_ix;
    is_so = replace_keeps_spreads(s, j, at);
    free(at);
    return is_so;
}

/* Its hosts from now on: its own, else of spares, else near the others; false: there are not
 * enough.
 */
static bool find_place(struct state *s, struct job *j, struct ev_placed *ret)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct member *m = &j->members[i];

        if (m->phase == MEMBER_GONE ||
            (m->phase == MEMBER_KEPT && !replace_is_good(s, j, m->node_ix)))
            m->mend = MEND_HOSTLESS;
    }
    if (!mend_hosts(s, j, ret))
        return false;
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct member *m = &j->members[i];
        struct placement_member *p = &ret->members[i];
        bool is_left = m->phase == MEMBER_KEPT ||
                       (m->phase == MEMBER_SPARE && !p->rank && replace_is_good(s, j, m->node_ix));

        if (m->mend != MEND_HOSTLESS)
            p->node_ix = is_left ? m->node_ix : IX_NONE;
        p->rank = m->rank;
    }
    memcpy(ret->models, j->models, sizeof(ret->models));
    memcpy(ret->fixed_cpu_milli, j->fixed_cpu_milli, sizeof(ret->fixed_cpu_milli));
    memcpy(ret->fixed_memory_bytes, j->fixed_memory_bytes, sizeof(ret->fixed_memory_bytes));
    if (is_spread(s, j, ret))
        return true;
    free(ret->members);
    return false;
}

void kept_end(struct state *s, struct job *j, struct effects *fx)
{
    struct ev_placed to = {.job = j->id, .n = j->n_members};
    bool has_place = find_place(s, j, &to);
    usec_t until = job_run_end(j);

    kept_drop(s, j);
    (void)job_move(s, j, &(struct job_step){.event = JOB_EV_ALL_GONE}, fx);
    if (!has_place)
        return;
    j->run_until = until;
    claim_place(s, j, &to);
    job_set_timer(s, j);
}
