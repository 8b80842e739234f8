/* SPDX-License-Identifier: Apache-2.0 */
/* opening.c - the calendar of each tenant, looked up when a window begins or ends. */
#include "core/opening.h"

#include "core/backfill.h"
#include "spec/week.h"

void opening_tick(struct state *s, usec_t now)
{
    struct tenants *t = &s->tenants;

    if (now < t->changes_at && now >= t->looked_at)
        return;
    t->looked_at = now;
    t->changes_at = INT64_MAX;
    for (uint32_t i = 0; i < s->settings->n_tenants; i++) {
        struct tenant *v = &t->v[i];
        usec_t at = week_changes(s->settings, i, now);

        v->window = week_window(s->settings, i, now);
        v->closes_at = week_closes(s->settings, i, now);
        v->must_fit = week_must_fit(s->settings, i, now);
        v->released_gen++; /* its limit may be another, or what others keep from it or owe it */
        t->changes_at = at < t->changes_at ? at : t->changes_at;
    }
    backfill_moved(s);
}

bool opening_has_room(const struct state *s, const struct job *j, usec_t from, usec_t to)
{
    const struct tenant *t = &s->tenants.v[j->tenant_ix];
    bool must_fit = t->must_fit;

    if (from >= s->tenants.changes_at && from < t->closes_at)
        must_fit = week_must_fit(s->settings, j->tenant_ix, from);
    return from < t->closes_at && (!must_fit || to <= t->closes_at);
}

bool opening_admits(const struct state *s, const struct job *j, usec_t at)
{
    if (s->tenants.v[j->tenant_ix].closes_at == INT64_MAX)
        return true;
    return opening_has_room(
        s, j, at, job_state_is_active(j->state) ? backfill_end(j, at) : backfill_end_from(j, at));
}
