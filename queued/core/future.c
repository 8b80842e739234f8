/* SPDX-License-Identifier: Apache-2.0 */
/* future.c - ends and holds on a fork. */
#include "core/future.h"

#include <stdlib.h>

#include "core/backfill.h"

static int by_end(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->job->id.v < y->job->id.v ? -1 : x->job->id.v > y->job->id.v;
}

void future_ends(const struct state *s, usec_t (*end)(const struct job *j), ending_list *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < s->active.n; i++) {
        const struct job *j = s->active.v[i];

        if (j->n_done + j->n_gone < job_size(j))
            *vec_push(ret) = (struct ending){end(j), j};
    }
    if (ret->n)
        qsort(ret->v, ret->n, sizeof(ret->v[0]), by_end);
}

static void change(struct cluster *fork, const struct job *j,
                   void (*what)(struct cluster *, uint32_t, const struct resources *))
{
    uint32_t role = IX_NONE;
    struct resources asks;

    for (uint32_t i = 0; i < j->n_members; i++) {
        const struct member *m = &j->members[i];

        if (m->phase > MEMBER_RUNNING)
            continue; /* holds nothing any more */
        if (m->role != role)
            state_pod_asks(j, m->role, &asks);
        role = m->role;
        what(fork, m->node_ix, &asks);
    }
}

void future_put(struct cluster *fork, const struct demand *d, const struct ev_placed *at,
                void (*what)(struct cluster *, uint32_t, const struct resources *))
{
    uint32_t m = 0;

    for (uint32_t r = 0; r < d->n_roles; r++) {
        struct resources asks;

        role_asks(&d->roles[r], at->fixed_cpu_milli[r], at->fixed_memory_bytes[r], &asks);
        for (uint32_t i = 0; i < d->roles[r].most; i++, m++)
            if (at->members[m].node_ix != IX_NONE)
                what(fork, at->members[m].node_ix, &asks);
    }
}

void future_release(struct cluster *fork, const struct job *j)
{
    change(fork, j, cluster_release);
}

void future_hold(struct cluster *fork, const struct job *j)
{
    change(fork, j, cluster_hold);
}

struct job *future_shortest(const struct job *j, usec_t now)
{
    struct job *best = NULL;

    for (struct job *o = j->bucket->head; o; o = o->next)
        if (o->not_before <= now && !job_is_overdue(o, now) &&
            (!best || backfill_end(o, now) < backfill_end(best, now)))
            best = o;
    return best;
}
