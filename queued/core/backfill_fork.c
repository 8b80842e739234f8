/* SPDX-License-Identifier: Apache-2.0 */
/* backfill_fork.c - the cluster at a reserved time, kept in step with the cluster of now.
 *
 * Each reservation has a fork with all that has ended by then given back and its gang in place.
 * What starts, leaves or is known to end earlier is followed there; anything else makes the fork
 * anew when it is next asked for. Both ways end in the same fork.
 */
#include "core/backfill_slots.h"

#include <stdlib.h>

#include "core/future.h"
#include "core/window.h"

static uint64_t stamp_of(const struct cluster *c)
{
    return c->freed_any + c->taken_any + c->fact_gen + 1;
}

struct cluster *backfill_fork(struct cluster **fork, const struct cluster *c)
{
    if (*fork)
        cluster_fork_copy(*fork, c);
    else
        *fork = cluster_fork(c);
    return *fork;
}

/* Has an operator reserved one of its hosts for that time, or a gang before it? */
static bool is_shut(const struct state *s, const struct reservation *r)
{
    const struct job *j = state_job(s, r->job);
    uint32_t model = backfill_model_of(s->backfill, (uint32_t)(r - s->backfill->of));
    const uint64_t *closed =
        j ? backfill_closed_to(s, model, j, r->at > s->now ? r->at : s->now) : NULL;

    for (size_t i = 0; i < r->held.n && closed; i++)
        if (window_has(closed, r->held.v[i].node_ix))
            return true;
    return false;
}

void backfill_fork_over(struct backfill *b, struct cluster *fork)
{
    if (b->scratch)
        cluster_fork_free(fork);
    else
        b->scratch = fork;
}

/* Its gang on its hosts, as long as they hold it; false: they do not. */
static bool put_in_place(struct reservation *r)
{
    bool fits = true;

    for (size_t i = 0; i < r->held.n && fits; i++) {
        const struct node *n = cluster_node(r->fork, r->held.v[i].node_ix);
        struct resources left;

        fits = n && n->is_usable;
        if (!fits)
            break;
        node_free(n, &left);
        fits = resources_fit(&r->held.v[i].asks, &left);
        cluster_hold(r->fork, n->ix, &r->held.v[i].asks);
    }
    return fits;
}

void backfill_fork_keep(const struct state *s, struct reservation *r)
{
    r->fork = s->backfill->scratch;
    s->backfill->scratch = NULL;
    r->stamp = stamp_of(&s->cluster);
    r->fits = put_in_place(r);
}

bool backfill_fits(const struct state *s, struct reservation *r)
{
    uint64_t stamp = stamp_of(&s->cluster);

    if (r->stamp == stamp)
        return r->fits && !is_shut(s, r);
    r->stamp = stamp;
    (void)backfill_fork(&r->fork, &s->cluster);
    for (size_t i = 0; i < s->active.n; i++)
        if (backfill_end(s->active.v[i], 0) <= r->at)
            future_release(r->fork, s->active.v[i]);
    r->fits = put_in_place(r);
    return r->fits && !is_shut(s, r);
}

uint32_t backfill_beside(const struct state *s, uint64_t reserved,
                         const struct cluster *const **ret)
{
    struct backfill *b = s->backfill;
    uint32_t n = 0;

    for (uint32_t m = 0; m < s->backfill->n; m++)
        if (reserved >> m & 1 && b->of[m].job.v && backfill_fits(s, &b->of[m]))
            b->beside[n++] = b->of[m].fork;
    *ret = b->beside;
    return n;
}

bool backfill_leaves(const struct state *s, uint64_t reserved, const struct demand_role *role,
                     uint32_t node_ix)
{
    const struct cluster *const *beside;
    uint32_t n = backfill_beside(s, reserved, &beside);
    bool leaves = true;

    for (uint32_t i = 0; i < n && leaves; i++) {
        struct resources left;

        node_free(cluster_node(beside[i], node_ix), &left);
        leaves = resources_fit(&role->each, &left);
    }
    return leaves;
}

/* Does a node of j have less than is taken there? */
static bool is_overfull(const struct cluster *fork, const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct node *n = cluster_node(fork, j->members[i].node_ix);

        if (n && !resources_fit(&n->used, &n->total))
            return true;
    }
    return false;
}

void backfill_started(struct state *s, const struct job *j)
{
    uint64_t stamp = stamp_of(&s->cluster);

    for (uint32_t m = 0; m < s->backfill->n; m++) {
        struct reservation *r = &s->backfill->of[m];
        const struct job *has = state_job(s, r->job);

        if (!has || has == j || has->tenant_ix == IX_NONE || !r->fits ||
            r->stamp + j->n_members - j->n_absent != stamp)
            continue;
        if (backfill_end(j, 0) > r->at)
            future_hold(r->fork, j);
        /* one that goes first may have taken the reserved hosts: look at them again */
        r->stamp = backfill_end(j, 0) > r->at && is_overfull(r->fork, j) ? 0 : stamp;
    }
}

void backfill_claimed(struct state *s)
{
    for (uint32_t m = 0; m < s->backfill->n; m++)
        s->backfill->of[m].stamp = 0;
}

void backfill_left(struct state *s, const struct job *j, uint32_t node_ix,
                   const struct resources *asks)
{
    uint64_t stamp = stamp_of(&s->cluster);

    for (uint32_t m = 0; m < s->backfill->n; m++) {
        struct reservation *r = &s->backfill->of[m];

        if (!r->job.v || !r->fits || r->stamp + 1 != stamp || !job_state_is_active(j->state))
            continue;
        if (backfill_end(j, 0) > r->at) /* or it had left there already */
            cluster_release(r->fork, node_ix, asks);
        r->stamp = stamp;
    }
}

/* A gang ends before the reserved time, which it did not until now. */
static void ends_before(struct state *s, struct reservation *r, const struct job *j)
{
    bool is_current = r->fits && r->stamp == stamp_of(&s->cluster);
    uint64_t gen = s->backfill->gen;

    for (uint32_t i = 0; i < j->n_members && is_current; i++) {
        const struct member *m = &j->members[i];
        struct resources now, then;

        if (m->phase > MEMBER_RUNNING)
            continue; /* it holds nothing */
        node_free(cluster_node(&s->cluster, m->node_ix), &now);
        node_free(cluster_node(r->fork, m->node_ix), &then);
        if (!resources_fit(&now, &then)) /* others may have what is free there by then */
            backfill_log(s->backfill, m->node_ix);
    }
    if (is_current) {
        future_release(r->fork, j);
    } else {
        r->stamp = 0;
        backfill_slot_moved(s->backfill, r);
    }
    s->is_quiet &= gen == s->backfill->gen;
}

void backfill_runs(struct state *s, const struct job *j)
{
    usec_t at = backfill_end(j, 0), was = backfill_end_from(j, j->attempt_at);

    for (uint32_t m = 0; m < s->backfill->n; m++) {
        struct reservation *r = &s->backfill->of[m];

        if (r->job.v && at <= r->at && r->at < was)
            ends_before(s, r, j);
    }
}
