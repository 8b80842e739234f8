/* SPDX-License-Identifier: Apache-2.0 */
/* elastic.c - the sizes that an elastic gang may have, and its moves from one to another. */
#include "core/elastic.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/hardware.h"
#include "core/cycle.h"
#include "core/replace.h"
#include "util/mem.h"

void elastic_lay_out(const struct demand *d, const uint32_t *counts, struct place_result *r)
{
    struct placement_member *laid = xcalloc(d->most, sizeof(*laid));
    uint32_t from = 0, to = 0, rank = 0;

    for (uint32_t k = 0; k < d->n_roles; k++)
        rank += counts[k];
    for (uint32_t k = 0; k < d->n_roles; k++) {
        for (uint32_t i = 0; i < d->roles[k].most; i++, to++)
            laid[to] =
                i < counts[k] ? r->members[from++] : (struct placement_member){IX_NONE, rank++};
    }
    free(r->members);
    r->members = laid;
}

bool elastic_is_growing(const struct job *j)
{
    bool is_growing = false;

    for (uint32_t i = 0; i < j->n_members && j->demand->most > j->demand->pods; i++)
        is_growing |= j->members[i].is_new;
    return is_growing;
}

/* Does it lack pods, and not spares alone? */
static bool is_elastic(const struct job *j)
{
    for (uint32_t r = 0; r < j->demand->n_roles; r++)
        if (j->demand->roles[r].replicas < j->demand->roles[r].most)
            return true;
    return false;
}

/* When it may grow; 0: not from here. Slices keep the shape that they began with. */
static usec_t due_at(const struct job *j)
{
    if (j->state != JOB_RUNNING || !j->n_absent || j->is_leaving || j->n_done || j->lost_at ||
        j->tenant_ix == IX_NONE || (j->demand->slice_size && is_elastic(j)) ||
        elastic_is_growing(j))
        return 0;
    return (j->resized_at > j->running_at ? j->resized_at : j->running_at) + j->demand->cooldown_us;
}

void elastic_watch(struct state *s, const struct job *j)
{
    usec_t at = due_at(j);

    if (at && (!s->grow_at || at < s->grow_at))
        s->grow_at = at;
}

void elastic_tick(struct state *s, usec_t now)
{
    if (!s->grow_at || now < s->grow_at)
        return;
    s->grow_at = 0;
    s->has_growers = true;
    s->is_quiet = false;
}

/* Does a gang wait for nodes of the model, or one of its tenant for its limit on them? */
static bool is_wanted(const struct state *s, const struct job *j, uint32_t model)
{
    for (const struct bucket *b = s->buckets; b; b = b->hh.next) {
        struct demand *d = b->key.demand;
        char text[REASON_TEXT_MAX + 1];

        if (!b->n || !(b->is_short || b->is_held_back || b->key.tenant_ix == j->tenant_ix) ||
            !hardware_exists(&s->cluster, d, text, sizeof(text)))
            continue;
        for (uint32_t r = 0; r < d->n_roles; r++)
            if (model == MODELS_MAX ||
                (d->roles[r].takes_gpus &&
                 (!d->roles[r].n_models ||
                  memchr(d->roles[r].models, (int)model, d->roles[r].n_models))))
                return true;
    }
    return false;
}

/* A step more of a role, at its first positions of which no pod is left. Absent members carry the
 * hosts that were found while the next is looked for. */
static bool grow(struct state *s, struct job *j, uint32_t role, struct event *ev)
{
    uint32_t left = j->demand->roles[role].most - j->size[role], n = 0;
    uint32_t counts[JOB_ROLES_MAX] = {0};
    struct ev_placed p = {.job = j->id, .n = j->n_members};
    bool fits = true;

    counts[role] = left < j->demand->step ? left : j->demand->step;
    if (!left || is_wanted(s, j, j->models[role]) || !cycle_admits_pods(s, j, j->models, counts))
        return false;
    p.members = xcalloc(p.n, sizeof(*p.members));
    for (uint32_t i = 0; i < p.n && fits && n < counts[role]; i++) {
        struct member *m = &j->members[i];

        if (m->role != role || m->phase != MEMBER_ABSENT || m->uid[0])
            continue;
        m->node_ix = replace_host(s, j, m);
        fits = m->node_ix != IX_NONE;
        n += fits;
    }
    for (uint32_t i = 0; i < p.n; i++) {
        struct member *m = &j->members[i];

        p.members[i].node_ix = m->phase == MEMBER_ABSENT ? m->node_ix : IX_NONE;
        m->node_ix = m->phase == MEMBER_ABSENT ? IX_NONE : m->node_ix;
    }
    if (n == counts[role])
        *ev = (struct event){.kind = EV_GANG_RESIZED, .at = s->now, .u.placed = p};
    else
        free(p.members);
    return n == counts[role];
}

bool elastic_next(struct state *s, usec_t now, struct event *ev)
{
    bool has_growers = false, grows = false;

    for (size_t i = 0; s->has_growers && i < s->active.n && !grows; i++) {
        struct job *j = s->active.v[i];
        usec_t at = due_at(j);

        if (at > now)
            elastic_watch(s, j);
        for (uint32_t r = 0; at && at <= now && r < j->demand->n_roles && !grows; r++)
            grows = grow(s, j, r, ev);
        has_growers |= at && at <= now;
    }
    s->has_growers = has_growers;
    s->is_quiet &= !grows;
    return grows;
}

bool elastic_may_drop(const struct job *j, const struct member *m)
{
    uint32_t needs = j->demand->roles[m->role].replicas;

    /* those that have only joined may never run */
    for (uint32_t i = 0; i < j->n_members && !m->is_new; i++)
        needs += j->members[i].role == m->role && j->members[i].is_new;
    /* the first pod of a role is where the others meet */
    return j->state == JOB_RUNNING && m->index > 0 && !j->demand->slice_size &&
           j->size[m->role] > needs;
}

uint32_t elastic_surplus(const struct job *j, uint32_t role)
{
    uint32_t needs = j->demand->roles[role].replicas;

    if (j->state != JOB_RUNNING || j->n_done || j->demand->slice_size || j->size[role] <= needs ||
        elastic_is_growing(j))
        return 0;
    return j->size[role] - needs;
}

void elastic_end_going(const struct job *j, const struct cluster *c, struct cluster *fork)
{
    char key[POD_KEY_TEXT];

    for (uint32_t i = 0; i < j->n_members && job_is_going(j); i++)
        if (j->members[i].is_going)
            cluster_pod_ends(fork, c, job_pod_key(key, j, &j->members[i]));
}
