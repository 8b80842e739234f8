/* SPDX-License-Identifier: Apache-2.0 */
/* mend.c - which running gangs lack members, and hosts for these. */
#include "core/mend.h"

#include <stdlib.h>

#include "core/place.h"
#include "core/replace.h"
#include "util/mem.h"

uint32_t mend_missing(const struct job *j)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < j->n_members && j->lost_at; i++)
        n += j->members[i].mend != MEND_NONE;
    return n;
}

usec_t mend_due(const struct state *s, const struct job *j)
{
    if (!j->lost_at)
        return 0;
    if (j->not_before > s->now)
        return j->not_before;
    return j->lost_at + j->start_timeout_us;
}

/* The host of a spare of its role that nobody has taken yet; who that is goes into found[].rank. */
static uint32_t spare_host(const struct state *s, const struct job *j, const struct member *m,
                           struct placement_member *found)
{
    for (uint32_t i = 0; i < j->n_members && j->n_spare; i++) {
        const struct member *spare = &j->members[i];
        const struct node *n = cluster_node(&s->cluster, spare->node_ix);

        if (spare->phase != MEMBER_SPARE || spare->role != m->role || found[i].rank ||
            !replace_is_good(s, j, spare->node_ix) || !replace_joins(s, j, m, n))
            continue;
        found[i].rank = 1;
        found[m - j->members].rank = i + 1;
        return n->ix;
    }
    return IX_NONE;
}

/* Is the host that it was on held for it, and any good? */
static bool is_kept(const struct state *s, const struct job *j, const struct member *m,
                    uint32_t node_ix)
{
    return m->phase == MEMBER_KEPT && replace_is_good(s, j, node_ix) &&
           replace_joins(s, j, m, cluster_node(&s->cluster, node_ix));
}

/* Where a member was, put back when hosts were looked for. */
struct stood {
    uint32_t node_ix;
    uint8_t phase; /* enum member_phase */
};

/* Hosts of the lost members into their node_ix: where they were, else of spares, else near the
 * others. What is kept for a member does not count for it on another host. */
static bool find_hosts(const struct state *s, struct job *j, const struct stood *was,
                       struct placement_member *found)
{
    bool fits = true;

    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].mend == MEND_HOSTLESS)
            j->members[i].node_ix = IX_NONE;
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct member *m = &j->members[i];
        uint32_t at = was[i].node_ix;

        if (m->mend == MEND_HOSTLESS && (is_kept(s, j, m, at) || replace_fits(s, j, m, at)))
            m->node_ix = at;
        else if (m->mend == MEND_HOSTLESS)
            m->phase = MEMBER_GONE;
    }
    for (uint32_t i = 0; i < j->n_members && fits; i++) {
        struct member *m = &j->members[i];

        if (m->mend == MEND_HOSTLESS && m->node_ix == IX_NONE)
            m->node_ix = spare_host(s, j, m, found);
        if (m->mend == MEND_HOSTLESS && m->node_ix == IX_NONE)
            m->node_ix = replace_host(s, j, m);
        fits = m->mend != MEND_HOSTLESS || m->node_ix != IX_NONE;
    }
    return fits;
}

bool mend_hosts(const struct state *s, struct job *j, struct ev_placed *ret)
{
    struct stood *was = xcalloc(j->n_members, sizeof(*was));
    bool fits;

    *ret = (struct ev_placed){.job = j->id, .n = j->n_members};
    ret->members = xcalloc(ret->n, sizeof(*ret->members));
    for (uint32_t i = 0; i < ret->n; i++)
        was[i] = (struct stood){j->members[i].node_ix, j->members[i].phase};
    fits = find_hosts(s, j, was, ret->members);
    for (uint32_t i = 0; i < ret->n; i++) {
        struct member *m = &j->members[i];

        ret->members[i].node_ix = m->mend == MEND_HOSTLESS ? m->node_ix : IX_NONE;
        m->node_ix = was[i].node_ix;
        m->phase = was[i].phase;
    }
    free(was);
    if (!fits)
        free(ret->members);
    return fits;
}

static bool find(struct state *s, struct job *j, struct event *ev)
{
    uint32_t waiting = 0, hostless = 0;

    for (uint32_t i = 0; i < j->n_members; i++) {
        waiting += j->members[i].mend == MEND_RECALLED;
        hostless += j->members[i].mend == MEND_HOSTLESS;
    }
    *ev = (struct event){.kind = EV_GANG_MENDED, .at = s->now};
    return !waiting && hostless && mend_hosts(s, j, &ev->u.placed);
}

bool mend_next(struct state *s, usec_t now, struct event *ev)
{
    bool has_missing = false, found = false;

    for (size_t i = 0; s->has_missing && i < s->active.n && !found; i++) {
        struct job *j = s->active.v[i];

        if (j->state != JOB_RUNNING || !j->lost_at)
            continue;
        has_missing = true;
        found = j->not_before <= now && !j->is_leaving && find(s, j, ev);
    }
    s->has_missing = has_missing;
    return found;
}
