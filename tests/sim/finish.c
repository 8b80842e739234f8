/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c - the end of a run: no more trouble, and time runs from one due moment to the next.
 *
 * Time moves only to where the world, the adapter or the daemon's own wake-up says, so a missed
 * wake-up shows as a run that never comes to rest.
 */
#include "sim.h"

#include "life/timers.h"

enum { SETTLE_TURNS_MAX = 20000, PAUSE_S = 60 };

#define HOUR_US (3600 * USEC_PER_SEC)

/* What is due next. The daemon wakes for its sweeps every few seconds; a minute apart will do. */
usec_t sim_next(const struct sim *s)
{
    const struct job *j = timer_first(s->state);
    usec_t next = s->now + PAUSE_S * USEC_PER_SEC;

    if (s->wake <= s->now)
        return s->now;
    if (j && j->timer_at < next)
        next = j->timer_at;
    if (world_next(&s->world) < next)
        next = world_next(&s->world);
    if (fake_cluster_next(s->cluster) < next)
        next = fake_cluster_next(s->cluster);
    return next;
}

/* Does a job still move, or wait for a moment that time alone brings? */
static bool is_moving(const struct sim *s)
{
    for (size_t i = 0; i < s->state->by_id.n; i++) {
        const struct job *j = s->state->by_id.v[i];

        if (job_state_is_terminal(j->state) || j->state == JOB_HELD)
            continue;
        if (j->state != JOB_PENDING || (j->max_queue_us && !j->waits.n && !j->array) ||
            j->not_before > s->now)
            return true;
    }
    return false;
}

static bool is_at_rest(const struct sim *s, uint64_t effects_before)
{
    return s->n_effects == effects_before && inbox_count(s->inbox) == 0 && s->wake > s->now &&
           fake_cluster_is_idle(s->cluster) && !is_moving(s);
}

static int not_at_rest(struct sim *s)
{
    for (size_t i = 0; i < s->state->by_id.n; i++) {
        const struct job *j = s->state->by_id.v[i];

        if (!job_state_is_terminal(j->state) && j->state != JOB_HELD &&
            (j->state != JOB_PENDING || (j->max_queue_us && !j->waits.n && !j->array)))
            return err_set(
                &s->err, ERR_INTERNAL,
                "does not come to rest: job %s is %s, attempt %u, %u of %u gone, %u done, "
                "service %d: %s; wake in %lld us, %s, %s",
                j->name, job_state_name(j->state), (unsigned)j->attempt, j->n_gone, j->n_members,
                j->n_done, j->has_service, job_reason_text(j), (long long)(s->wake - s->now),
                s->state->is_synced ? "synced" : "not synced",
                s->state->is_quiet ? "quiet" : "not quiet");
    }
    return err_set(&s->err, ERR_INTERNAL,
                   "does not come to rest: next in %lld us, wake in %lld us, inbox %zu, adapter %s",
                   (long long)(sim_next(s) - s->now), (long long)(s->wake - s->now),
                   inbox_count(s->inbox), fake_cluster_is_idle(s->cluster) ? "idle" : "busy");
}

/* Nothing moves: only records grow old. */
static usec_t later_by_an_hour(const struct sim *s, usec_t until)
{
    usec_t next = s->now + HOUR_US;

    if (world_next(&s->world) < next)
        next = world_next(&s->world);
    return next < until ? next : until;
}

/* Run on until nothing moves and it is at least `until`. */
static int settle(struct sim *s, usec_t until)
{
    for (int n = 0; n < SETTLE_TURNS_MAX; n++) {
        uint64_t effects_before = s->n_effects;
        usec_t next = sim_next(s);

        if (next > s->now && !is_moving(s) && fake_cluster_is_idle(s->cluster))
            next = later_by_an_hour(s, until);
        s->now = next > s->now ? next : s->now;
        world_step(&s->world, s->now);
        fake_cluster_step(s->cluster);
        if (sim_turn(s))
            return -1;
        if (s->now >= until && is_at_rest(s, effects_before))
            return 0;
    }
    return not_at_rest(s);
}

static int cancel_all(struct sim *s)
{
    s->client.state = s->state; /* there may have been a crash since its last step */
    for (size_t i = 0; i < s->state->by_id.n; i++) {
        const struct job *j = s->state->by_id.v[i];

        if (!job_state_is_terminal(j->state) && inbox_room(s->inbox) > 0)
            client_cancel(&s->client, s->inbox, s->now, j->id);
    }
    return settle(s, s->now);
}

int sim_finish(struct sim *s)
{
    struct event enough = {.kind = EV_STORE_LOW};

    s->faults.is_on = false;
    world_calm(&s->world);
    (void)inbox_push(s->inbox, &enough);
    if (settle(s, s->now + HOUR_US) || check_rest(s))
        return -1;
    if (cancel_all(s) || check_rest(s))
        return -1;
    /* finished pods and their services are kept for a while, records and keys longer */
    if (settle(s, s->now + 3 * HOUR_US) || settle(s, s->now + 24 * 20 * HOUR_US))
        return -1;
    return check_empty(s);
}
