/* SPDX-License-Identifier: Apache-2.0 */
/* backfill_tell.c - latest ends of gangs, and what there is to say of reservations. */
#include "core/backfill_slots.h"

#define SPAN_MAX (INT64_C(100) * 366 * 86400 * USEC_PER_SEC)

usec_t backfill_span(usec_t d)
{
    return d < 0 ? 0 : d > SPAN_MAX ? SPAN_MAX : d;
}

usec_t backfill_end_from(const struct job *j, usec_t start)
{
    usec_t running = start + backfill_span(j->start_timeout_us),
           end = running + backfill_span(j->max_runtime_us);

    if (j->run_until && j->run_until < end)
        end = j->run_until > running ? j->run_until : running;
    if (j->deadline_at && j->deadline_at < end)
        end = j->deadline_at > running ? j->deadline_at : running;
    return end + backfill_span(j->grace_us);
}

usec_t backfill_last_start(const struct job *j, usec_t end)
{
    bool is_cut = j->deadline_at && j->deadline_at <= end - backfill_span(j->grace_us);

    return end - backfill_span(j->grace_us) - backfill_span(j->start_timeout_us) -
           (is_cut ? 0 : backfill_span(j->max_runtime_us));
}

usec_t backfill_end(const struct job *j, usec_t now)
{
    usec_t start = j->n_members ? j->attempt_at : now;

    if (j->n_members && j->running_at && j->running_at < start + backfill_span(j->start_timeout_us))
        start = j->running_at - backfill_span(j->start_timeout_us);
    return backfill_end_from(j, start);
}

void backfill_close(const struct state *s, const struct job *j, uint64_t *closed)
{
    for (uint32_t m = 0; m < s->backfill->n; m++) {
        const struct reservation *r = &s->backfill->of[m];

        for (size_t i = 0; i < r->held.n && backfill_holds_back(s, m, j, INT64_MAX); i++)
            closed[r->held.v[i].node_ix / 64] |= UINT64_C(1) << r->held.v[i].node_ix % 64;
    }
}

static void tell(const struct state *s, const struct reservation *r, struct reserved *ret)
{
    const struct node *n = r->held.n ? cluster_node(&s->cluster, r->held.v[0].node_ix) : NULL;

    *ret = (struct reserved){.job = state_job(s, r->job), .at = r->at, .node = n ? n->name : "?"};
    for (size_t i = 0; i < r->held.n; i++)
        ret->n_nodes += i == 0 || r->held.v[i].node_ix != r->held.v[i - 1].node_ix;
}

bool backfill_ahead(const struct state *s, const struct job *j, usec_t end, struct reserved *ret)
{
    const struct reservation *found = NULL;
    bool is_own = false;

    for (uint32_t m = 0; m < s->backfill->n && !is_own; m++) {
        if (!backfill_holds_back(s, m, j, end) ||
            (found && !backfill_is_of(j->demand, backfill_model_of(s->backfill, m))))
            continue;
        found = &s->backfill->of[m]; /* one for other GPUs may keep the CPUs of its hosts */
        is_own = backfill_is_of(j->demand, backfill_model_of(s->backfill, m));
    }
    if (found)
        tell(s, found, ret);
    return found != NULL;
}

bool backfill_own(const struct state *s, const struct job *j, struct reserved *ret)
{
    const struct reservation *r = backfill_own_of(s, j);

    if (r && ret)
        tell(s, r, ret);
    return r != NULL;
}
