/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.c - the sizes that an elastic gang may have, and its moves from one to another. */
#include "core/elastic.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/job_life.h"
#include "util/mem.h"

void elastic_least(const struct demand *d, uint32_t ret_counts[JOB_ROLES_MAX])
{
    for (uint32_t r = 0; r < d->n_roles; r++)
        ret_counts[r] = d->roles[r].replicas;
}

uint32_t elastic_steps(const struct demand *d, uint32_t role)
{
    return (d->roles[role].most - d->roles[role].replicas + d->step - 1) / d->step;
}

uint32_t elastic_count(const struct demand *d, uint32_t role, uint32_t steps)
{
    uint64_t n = d->roles[role].replicas + (uint64_t)steps * d->step;

    return n < d->roles[role].most ? (uint32_t)n : d->roles[role].most;
}

void elastic_lay_out(const struct demand *d, const uint32_t *counts, struct place_result *r)
{
    struct placement_member *laid = xcalloc(d->most, sizeof(*laid));
    uint32_t from = 0, to = 0;

    for (uint32_t k = 0; k < d->n_roles; k++) {
        for (uint32_t i = 0; i < d->roles[k].most; i++, to++)
            laid[to] = i < counts[k] ? r->members[from++] : (struct placement_member){IX_NONE, 0};
    }
    free(r->members);
    r->members = laid;
}

bool elastic_may_drop(const struct job *j, const struct member *m)
{
    /* the first pod of a role is where the others meet */
    return j->state == JOB_RUNNING && m->index > 0 && !j->demand->slice_size &&
           j->size[m->role] > j->demand->roles[m->role].replicas;
}

void elastic_drop(struct state *s, struct job *j, struct member *m, struct effects *fx)
{
    const struct node *n = cluster_node(&s->cluster, m->node_ix);
    char text[REASON_TEXT_MAX + 1], name[POD_NAME_TEXT];

    (void)snprintf(text, sizeof(text), "from %u to %u pods: lost %s on %.100s", job_size(j),
                   job_size(j) - 1, job_pod_name(name, j, m), n ? n->name : "?");
    if (m->uid[0])
        effects_delete_pod(fx, j->ns, name, m->uid);
    job_set_phase(j, m, MEMBER_ABSENT);
    cluster_unname(&s->cluster, m->node_ix);
    m->node_ix = IX_NONE;
    job_refund_pod(s, j, m->role);
    s->is_quiet = false;
    (void)job_move(s, j,
                   &(struct job_step){.event = JOB_EV_RESIZED, .code = "Shrunk", .text = text}, fx);
}
