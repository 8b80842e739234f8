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
        v->released_gen += at < INT64_MAX; /* its limit may be another */
        t->changes_at = at < t->changes_at ? at : t->changes_at;
    }
    backfill_moved(s);
}

usec_t opening_last_start(const struct state *s, const struct job *j)
{
    const struct tenant *t = &s->tenants.v[j->tenant_ix];

    if (t->closes_at == INT64_MAX)
        return INT64_MAX;
    return t->must_fit ? backfill_last_start(j, t->closes_at) : t->closes_at - 1;
}

bool opening_admits(const struct state *s, const struct job *j, usec_t at)
{
    const struct tenant *t = &s->tenants.v[j->tenant_ix];

    if (t->closes_at <= at)
        return false;
    if (job_state_is_active(j->state))
        return !t->must_fit || backfill_end(j, at) <= t->closes_at;
    return at <= opening_last_start(s, j);
}
