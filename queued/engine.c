/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - one turn: events in, decisions, one commit, effects out. */
#include "engine.h"

#include "core/cycle.h"
#include "life/state_apply.h"
#include "spec/limits.h"
#include "view/defrag.h"

enum { DEFRAG_EVERY_US = 60 * USEC_PER_SEC };

static void take_in(struct engine *e, usec_t now)
{
    struct event ev;

    for (int n = 0; n < TURN_EVENTS_MAX && effects_have_room(&e->effects); n++) {
        if (!inbox_pop(e->inbox, &ev))
            return;
        ev.at = now;
        if (state_admit(e->state, &ev, &e->effects)) /* a refusal is only a reply */
            state_apply(e->state, &ev, &e->effects);
        event_fini(&ev);
    }
}

static bool may_defragment(const struct engine *e)
{
    const struct state *s = e->state;

    return s->settings->defrag_gpu_us && !s->settings->is_defrag_dry && s->is_quiet &&
           s->is_synced && s->is_cluster_up && s->buckets && s->active.n;
}

/* Nothing starts any more: are gangs to be moved? */
static bool defragment(struct engine *e, usec_t now, struct event *ev)
{
    if (!may_defragment(e) || now < e->defrag_at)
        return false;
    e->defrag_at = now + DEFRAG_EVERY_US;
    return defrag_next(e->state, now, ev);
}

/* Decide as long as something can be decided; each decision sees the ones before it.
 * true: this turn had no room for more. */
static bool decide(struct engine *e, usec_t now)
{
    struct event ev;

    for (int n = 0; n < TURN_DECISIONS_MAX && effects_have_room(&e->effects); n++) {
        if (!cycle_next(e->state, now, &ev) && !defragment(e, now, &ev))
            return false;
        state_apply(e->state, &ev, &e->effects);
        event_fini(&ev);
    }
    return true;
}

int engine_turn(struct engine *e, usec_t *ret_wake, struct err *err)
{
    usec_t now = e->clock.now(e->clock.ctx);
    bool has_more;

    state_tick(e->state, now, &e->effects);
    take_in(e, now);
    has_more = decide(e, now) || inbox_count(e->inbox) > 0;
    *ret_wake = has_more ? now : state_next_wake(e->state, now);
    if (may_defragment(e) && e->defrag_at < *ret_wake)
        *ret_wake = e->defrag_at < now ? now : e->defrag_at;
    if (e->effects.list.n == 0)
        return 0;
    e->in_flight = true;
    return e->store.commit_begin(e->store.ctx, e->state, &e->effects, err);
}

void engine_acked(struct engine *e)
{
    e->out.run(e->out.ctx, &e->effects);
    effects_clear(&e->effects);
    e->in_flight = false;
}

void engine_fini(struct engine *e)
{
    effects_fini(&e->effects);
}
