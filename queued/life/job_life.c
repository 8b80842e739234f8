/* SPDX-License-Identifier: Apache-2.0 */
/* job_life.c - the transitions: what is held, charged, told and asked for at each.
 *
 * Always holds between calls: a job has members exactly from its placement until its requeue
 * (a terminal job keeps them for display); a member that is neither terminal nor gone holds its
 * resources on its node; the tenant is charged while the job is active.
 */
#include "life/job_life.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/backfill.h"
#include "core/claim.h"
#include "core/elastic.h"
#include "core/mend.h"
#include "core/order.h"
#include "core/relax.h"
#include "life/array_life.h"
#include "life/claimed.h"
#include "life/depend.h"
#include "life/kept.h"
#include "life/later.h"
#include "life/mended.h"
#include "life/resize.h"
#include "life/timers.h"
#include "spec/failure.h"
#include "util/str.h"

void job_save(struct state *s, struct job *j, struct effects *fx)
{
    if (j->saved_turn == s->turn)
        return;
    j->saved_turn = s->turn;
    (void)effects_add(fx, EFFECT_SAVE_JOB, j->id);
}

struct job_note *job_note(struct state *s, const struct job *j, enum job_state from,
                          enum job_event event, struct effects *fx)
{
    struct job_note *n = arena_raw(&fx->arena, sizeof(*n)); /* every member is set */

    n->seq = s->meta.next_seq++;
    n->at = s->now;
    n->job = j->id;
    (void)str_copy(n->job_name, sizeof(n->job_name), j->name);
    (void)str_copy(n->tenant, sizeof(n->tenant), j->tenant);
    n->uid = j->uid;
    n->from = from;
    n->event = event;
    n->to = j->state;
    n->attempt = j->attempt;
    (void)str_copy(n->reason, sizeof(n->reason), j->reason.code);
    (void)str_copy(n->text, sizeof(n->text), job_reason_text(j));
    effects_add(fx, EFFECT_SAVE_EVENT, j->id)->u.note = n;
    return n;
}

static uint32_t *active_count(struct state *s, const struct job *j)
{
    return j->tenant_ix == IX_NONE ? NULL : &s->tenants.v[j->tenant_ix].active;
}

void job_name_nodes(struct state *s, const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase != MEMBER_ABSENT)
            cluster_name(&s->cluster, j->members[i].node_ix);
}

void job_drop_members(struct state *s, struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase != MEMBER_ABSENT)
            cluster_unname(&s->cluster, j->members[i].node_ix);
    free(j->members);
    j->members = NULL;
    j->n_members = j->n_bound = j->n_running = j->n_done = j->n_gone = j->n_absent = j->n_spare = 0;
    j->n_waiting = 0;
}

void job_hold(struct state *s, struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct member *m = &j->members[i];
        struct resources asks;

        if (!job_member_holds(m))
            continue; /* it had ended before a restart */
        state_pod_asks(j, m->role, &asks);
        cluster_hold(&s->cluster, m->node_ix, &asks);
    }
}

void job_activate(struct state *s, struct job *j)
{
    job_charge(s, j);
    *vec_push(&s->active) = j;
    if (active_count(s, j))
        ++*active_count(s, j);
}

void job_release(struct state *s, struct job *j, struct member *m, enum member_phase phase)
{
    if (job_member_holds(m)) {
        struct resources asks;

        state_pod_asks(j, m->role, &asks);
        cluster_release(&s->cluster, m->node_ix, &asks);
        backfill_left(s, j, m->node_ix, &asks);
        s->is_quiet = false;
    }
    job_set_phase(j, m, phase);
}

static void deactivate(struct state *s, struct job *j)
{
    for (size_t i = 0; i < s->active.n; i++) {
        if (s->active.v[i] == j) {
            vec_remove(&s->active, i);
            break;
        }
    }
    job_refund(s, j);
    s->licence_gen += j->demand->has_licences;
    if (active_count(s, j))
        --*active_count(s, j);
    s->is_quiet = false;
}

static uint32_t distinct_nodes(const struct job *j)
{
    uint32_t n = 0;

    /* members of one host follow each other in a role; a second role may come back to it */
    for (uint32_t i = 0; i < j->n_members; i++)
        n += j->members[i].phase != MEMBER_ABSENT &&
             (i == 0 || j->members[i].node_ix != j->members[i - 1].node_ix);
    return n;
}

/* The accounting row of the attempt that is over. */
static void save_attempt(struct state *s, const struct job *j, enum job_state to,
                         struct effects *fx)
{
    struct attempt_row *row = arena_alloc(&fx->arena, sizeof(*row));

    row->job = j->id;
    row->attempt = j->attempt;
    (void)str_copy(row->name, sizeof(row->name), j->name);
    (void)str_copy(row->tenant, sizeof(row->tenant), j->tenant);
    (void)str_copy(row->user, sizeof(row->user), j->user);
    row->pods = job_size(j);
    row->nodes = distinct_nodes(j);
    row->gpus = j->charged_parts / GPU_PARTS;
    row->parts = (uint32_t)(j->charged_parts % GPU_PARTS);
    for (uint32_t r = j->demand->n_roles; r-- > 0;)
        if (j->models[r] < s->settings->n_models)
            (void)str_copy(row->model, sizeof(row->model), s->settings->models[j->models[r]].name);
    row->decided_at = j->attempt_at;
    row->running_at = j->running_at;
    row->ended_at = s->now;
    row->state = to;
    row->exit_code = j->exit_code;
    row->config_generation = j->config_generation;
    (void)str_copy(row->reason, sizeof(row->reason), j->reason.code);
    effects_add(fx, EFFECT_SAVE_ATTEMPT, j->id)->u.attempt = row;
}

/* How long its run was is learned where the job itself or its owner ended it. */
static void learn_pace(struct state *s, const struct job *j, enum job_state to)
{
    bool is_own =
        to == JOB_SUCCEEDED || to == JOB_FAILED || to == JOB_CANCELLED || to == JOB_TIMED_OUT;

    if (!is_own || !j->running_at || j->tenant_ix == IX_NONE)
        return;
    tenant_ran(&s->tenants, j->tenant_ix, s->now - j->running_at, j->max_runtime_us);
    s->tenants.v[j->tenant_ix].saved_turn = s->turn;
}

/* Does its deadline end this state? What starts is left to gang.startTimeout. */
static bool may_be_late(const struct job *j)
{
    return job_state_is_waiting(j->state) || j->state == JOB_RUNNING;
}

usec_t job_keep_until(const struct state *s, const struct job *j)
{
    usec_t hour = JOB_KEEP_PODS_S * USEC_PER_SEC; /* of an index: its array has the rest */
    usec_t at = j->ended_at + (j->array_id.v && j->ttl_us > hour ? hour : j->ttl_us);

    if (j->array && j->array->n_kept && at <= s->now)
        return s->now + 60 * USEC_PER_SEC; /* time has made a jump: its indices go first */
    return at;
}

static usec_t keep_pods_us(const struct job *j)
{
    bool drops = j->drops_pods || (j->drops_good_pods && j->state == JOB_SUCCEEDED);

    return drops ? 0 : j->pod_ttl_us;
}

/* When a claim is given up whatever its victims do. */
static usec_t claim_lost_at(const struct state *s, const struct job *j)
{
    return j->claim->until + s->settings->node_lost_us;
}

void job_set_timer(struct state *s, struct job *j)
{
    usec_t at = 0; /* the other states end by facts; nothing of theirs is left to time */

    if (job_state_is_terminal(j->state)) {
        at = j->has_pods ? j->ended_at + keep_pods_us(j) : job_keep_until(s, j);
    } else if (j->state == JOB_RUNNING) {
        elastic_watch(s, j);
        at = job_run_end(j);
        if (job_tell_at(j) && !j->is_told && job_tell_at(j) < at)
            at = job_tell_at(j);
        if (mend_due(s, j) && mend_due(s, j) < at)
            at = mend_due(s, j);
        if (elastic_is_growing(j) && j->resized_at + j->start_timeout_us < at)
            at = j->resized_at + j->start_timeout_us;
    } else if (j->state == JOB_BINDING || j->state == JOB_STARTING) {
        at = j->attempt_at + j->start_timeout_us;
    } else if (j->state == JOB_PENDING && !j->array) {
        if (j->claim)
            at = j->claim->until > s->now ? j->claim->until : claim_lost_at(s, j);
        if (j->not_before > s->now)
            at = j->not_before;
        if (!j->claim && !j->waits.n && relax_at(j) && (!at || relax_at(j) < at))
            at = relax_at(j);
        if (j->max_queue_us && !j->waits.n && (!at || j->queued_at + j->max_queue_us < at))
            at = j->queued_at + j->max_queue_us;
    }
    if (j->deadline_at && may_be_late(j) && (!at || j->deadline_at < at))
        at = j->deadline_at;
    timer_set(s, j, at);
}

static void enter_pending(struct state *s, struct job *j, enum job_state from)
{
    if (!job_state_is_waiting(from)) {
        deactivate(s, j);
        job_drop_members(s, j);
        if (j->tenant_ix != IX_NONE)
            tenant_wait(&s->tenants, job_account(j), 1);
    }
    j->queued_at = s->now;
    relax_look(s, j, s->now);
    j->running_at = j->resized_at = j->lost_at = j->run_until = 0;
    order_add(s, j);
    claim_move(s, j);
}

static void enter_terminal(struct state *s, struct job *j)
{
    deactivate(s, j);
    claim_drop_move(s, j);
    j->ended_at = s->now;
    j->has_pods = j->n_done > 0;
}

static void leave_waiting(struct state *s, struct job *j, enum job_state to)
{
    if (j->claim)
        claim_drop(s, j);
    if (j->state == JOB_PENDING)
        order_remove(s, j);
    if (!job_state_is_waiting(to))
        depend_drop(s, j);
    if (j->tenant_ix != IX_NONE && !job_state_is_waiting(to))
        tenant_wait(&s->tenants, job_account(j), -(int)array_weight(j));
}

/* A pending job that is stopped holds nothing, but passes the same way out. */
static void activate_empty(struct state *s, struct job *j)
{
    *vec_push(&s->active) = j;
    if (active_count(s, j))
        ++*active_count(s, j);
}

bool job_move(struct state *s, struct job *j, const struct job_step *step, struct effects *fx)
{
    enum job_state from = j->state, to;
    enum job_state goal = step->outcome ? step->outcome : j->outcome;

    if (!job_fsm_next(from, step->event, goal, &to))
        return false;
    if (job_state_is_waiting(from))
        leave_waiting(s, j, to);
    if (job_state_is_waiting(from) && to == JOB_STOPPING)
        activate_empty(s, j);
    /* an end keeps the reason for which the job was stopped */
    if (step->event != JOB_EV_ALL_GONE) {
        job_set_reason(j, step->code, step->text);
    }
    if (step->event == JOB_EV_ALL_GONE && j->attempt > 0 && j->n_members) {
        save_attempt(s, j, to, fx);
        learn_pace(s, j, to);
    }
    j->state = to;
    j->state_since = s->now;
    j->is_told = j->is_told && (to == from || to == JOB_STOPPING);
    j->outcome = to == JOB_STOPPING ? goal : 0;
    if (to == JOB_PENDING)
        enter_pending(s, j, from);
    else if (job_state_is_terminal(to))
        enter_terminal(s, j);
    depend_moved(s, j);
    job_set_timer(s, j);
    (void)job_note(s, j, from, step->event, fx);
    job_save(s, j, fx);
    array_moved(s, j, from, fx);
    if (j->array)
        return true; /* array_step() has the rest */
    if (to == JOB_STOPPING || to == JOB_RESTARTING || to == JOB_PREEMPTING) {
        if (to != JOB_RESTARTING || !j->keeps)
            kept_drop(s, j);
        effects_add(fx, EFFECT_GANG_STOP, j->id)->u.with_service =
            to == JOB_STOPPING && j->outcome != JOB_PENDING && j->has_service;
        job_check_gone(s, j, fx);
    }
    return true;
}

void job_take(struct state *s, struct job *j, struct ev_placed *placed)
{
    uint32_t at = 0;

    assert(j->state == JOB_PENDING && placed->n == j->demand->most);
    j->attempt++;
    j->config_generation = s->meta.config_generation;
    j->not_before = 0;
    j->n_replaced = 0;
    j->exit_code = -1;
    j->is_resumed = true;
    j->n_members = placed->n;
    j->members = xcalloc(placed->n, sizeof(*j->members));
    memcpy(j->models, placed->models, sizeof(j->models));
    memcpy(j->fixed_cpu_milli, placed->fixed_cpu_milli, sizeof(j->fixed_cpu_milli));
    memcpy(j->fixed_memory_bytes, placed->fixed_memory_bytes, sizeof(j->fixed_memory_bytes));
    for (uint32_t r = 0; r < j->demand->n_roles; r++) {
        j->size[r] = j->demand->roles[r].most;
        for (uint32_t i = 0; i < j->demand->roles[r].most; i++, at++) {
            j->members[at] = (struct member){
                .node_ix = placed->members[at].node_ix,
                .rank = placed->members[at].rank,
                .role = (uint8_t)r,
                .index = (uint16_t)i,
                .phase = MEMBER_PLACED,
                .exit_code = -1,
            };
            if (placed->members[at].node_ix == IX_NONE)
                job_set_phase(j, &j->members[at], MEMBER_ABSENT);
        }
    }
    free(placed->members);
    placed->members = NULL;
    mended_set_aside(j);
    later_mark(j);
    job_name_nodes(s, j);
    job_hold(s, j);
}

void job_place(struct state *s, struct job *j, struct effects *fx)
{
    j->attempt_at = s->now;
    relax_look(s, j, s->now);
    job_activate(s, j);
    if (j->n_members > 1 && !j->array_id.v)
        j->has_service = true;
    j->has_budget = j->demand->min_available > 0;
    (void)job_move(
        s, j, &(struct job_step){.event = JOB_EV_PLACED, .code = "WaitingForBind", .text = ""}, fx);
    (void)effects_add(fx, EFFECT_GANG_START, j->id);
}

bool job_wants_all_gone(const struct job *j)
{
    return j->state == JOB_RESTARTING || j->state == JOB_PREEMPTING ||
           (j->state == JOB_STOPPING && j->outcome == JOB_PENDING);
}

static bool all_ended_well(const struct job *j)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase != MEMBER_ABSENT && j->members[i].exit_code != 0)
            return false;
    return true;
}

void job_check_gone(struct state *s, struct job *j, struct effects *fx)
{
    uint32_t over = j->n_gone + (job_wants_all_gone(j) ? 0 : j->n_done);

    if (j->state != JOB_STOPPING && !job_wants_all_gone(j))
        return;
    if (over < job_size(j) || job_is_going(j) || j->has_budget ||
        (!job_wants_all_gone(j) && j->has_service))
        return;
    if (j->state == JOB_PREEMPTING && j->ends_saved && all_ended_well(j)) {
        j->exit_code = 0;
        (void)job_move(s, j, &(struct job_step){JOB_EV_GIVE_UP, JOB_SUCCEEDED, "Completed", ""},
                       fx);
        return;
    }
    if (j->state == JOB_PREEMPTING && j->ends_preempted) {
        struct job_reason why = j->reason;

        (void)job_move(
            s, j, &(struct job_step){JOB_EV_GIVE_UP, JOB_PREEMPTED, why.code, job_reason_text(j)},
            fx);
        return;
    }
    if (j->keeps)
        kept_end(s, j, fx);
    else
        (void)job_move(s, j, &(struct job_step){.event = JOB_EV_ALL_GONE}, fx);
}

void job_leave(struct state *s, struct job *j, struct effects *fx)
{
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase != MEMBER_ABSENT)
            job_release(s, j, &j->members[i], MEMBER_GONE);
    j->has_service = j->has_budget = false;
    if (j->state <= JOB_RUNNING) {
        j->state = JOB_STOPPING;
        j->outcome = JOB_SUCCEEDED;
    }
    for (uint32_t i = 0; i < j->n_members; i++)
        job_member_went(s, j, &j->members[i], fx);
    job_check_gone(s, j, fx);
}

void job_undo(struct state *s, struct job *j, const struct job_step *why, struct effects *fx)
{
    struct job_step step = *why;

    if (j->state == JOB_BINDING || j->state == JOB_STARTING)
        step.outcome = JOB_PENDING;
    if (j->state == JOB_RUNNING && step.event == JOB_EV_MEMBER_LOST) {
        (void)job_move(s, j, &step, fx);
        return;
    }
    if (step.outcome != JOB_PENDING)
        return;
    j->not_before = s->now + back_off(j->refusals++, 1, 300);
    (void)job_move(s, j, &step, fx);
}

/* A time of a waiting job has come that does not end it. */
static void look_again(struct state *s, struct job *j, struct effects *fx)
{
    if (j->claim && s->now >= claim_lost_at(s, j)) {
        claim_drop(s, j);
        job_save(s, j, fx);
    }
    if (j->bucket)
        order_wake(s, j->bucket); /* its back-off is over */
    if (!j->claim) /* else the grace of its victims is over, and claim_next() looks at it */
        relax_look(s, j, j->waits.n ? 0 : s->now);
    job_set_timer(s, j);
}

void job_time_up(struct state *s, struct job *j, struct effects *fx)
{
    struct job_step late = {.event = JOB_EV_TIME_UP, .outcome = JOB_TIMED_OUT};
    char text[REASON_TEXT_MAX + 1], waits[JOB_WAITS_TEXT];
    char d[FORMAT_MAX];

    if (j->deadline_at && s->now >= j->deadline_at && may_be_late(j)) {
        (void)snprintf(text, sizeof(text), "its deadline was %s", format_time(d, j->deadline_at));
        late.code = "Deadline";
        late.text = text;
        (void)job_move(s, j, &late, fx);
        return;
    }
    switch (j->state) {
    case JOB_PENDING:
        if (j->max_queue_us && s->now >= j->queued_at + j->max_queue_us) {
            (void)snprintf(text, sizeof(text), "waited longer than maxQueueTime %s",
                           format_duration(d, j->max_queue_us));
            late.code = "MaxQueueTime";
            late.text = text;
            (void)job_move(s, j, &late, fx);
            return;
        }
        look_again(s, j, fx);
        return;
    case JOB_BINDING:
    case JOB_STARTING:
        (void)snprintf(text, sizeof(text), "%u of %u pods Running after gang.startTimeout %s%.80s",
                       j->n_running + j->n_done, job_size(j),
                       format_duration(d, j->start_timeout_us), job_waits_words(waits, j));
        job_undo(
            s, j,
            &(struct job_step){.event = JOB_EV_START_LATE, .code = "StartTimeout", .text = text},
            fx);
        return;
    case JOB_RUNNING:
        if (s->now < job_run_end(j) && job_tell_at(j) && !j->is_told && job_tell_at(j) <= s->now) {
            job_tell(s, j, fx);
            return;
        }
        if (s->now < job_run_end(j) && j->lost_at) {
            mended_time_up(s, j, fx);
            return;
        }
        if (s->now < job_run_end(j)) {
            resize_drop(s, j, NULL, "new pods did not run in gang.startTimeout", fx);
            return;
        }
        (void)snprintf(text, sizeof(text), "ran longer than maxRuntime %s",
                       format_duration(d, j->max_runtime_us));
        late.code = "MaxRuntime";
        late.text = text;
        (void)job_move(s, j, &late, fx);
        return;
    default:
        assert(job_state_is_terminal(j->state)); /* no other state sets a timer */
        if (j->has_pods) {
            j->has_pods = false;
            (void)effects_add(fx, EFFECT_GANG_STOP, j->id);
            job_save(s, j, fx);
        }
        job_set_timer(s, j);
        if (j->timer_at <= s->now) /* days passed at once: the stop still reads the record */
            timer_set(s, j, s->now + USEC_PER_SEC);
    }
}

/* Why the pod that it had is not there; NULL: it is, or is still to be made. One that is bound to
 * no node is another of its name. */
static const char *lost_meanwhile(const struct job *j, const struct member *m)
{
    bool may_be_unbound = j->state == JOB_STARTING && j->demand->has_after;

    if (m->is_new || m->waits)
        return NULL;
    if (!m->is_seen)
        return "was gone when the daemon came back";
    return m->phase == MEMBER_PLACED && !may_be_unbound ? "was replaced by another pod of its name"
                                                        : NULL;
}

void job_resume(struct state *s, struct job *j, struct effects *fx)
{
    if (j->is_resumed)
        return;
    j->is_resumed = true;
    for (uint32_t i = 0; i < j->n_members; i++)
        if (!j->members[i].uid[0])
            job_member_went(s, j, &j->members[i], fx);
    if (j->array) {
        array_due(s, j);
    } else if (j->state == JOB_BINDING) {
        (void)effects_add(fx, EFFECT_GANG_START, j->id);
    } else if (j->state == JOB_STOPPING || job_wants_all_gone(j)) {
        effects_add(fx, EFFECT_GANG_STOP, j->id)->u.with_service =
            !job_wants_all_gone(j) && j->has_service;
        job_check_gone(s, j, fx);
    } else {
        if (elastic_is_growing(j) || j->lost_at || j->is_told ||
            (j->state == JOB_STARTING && j->demand->has_after))
            (void)effects_add(fx, EFFECT_GANG_START, j->id);
        for (uint32_t i = 0; i < j->n_members; i++) {
            struct member *m = &j->members[i];
            const char *why = mended_resume(j, m, fx) ? NULL : lost_meanwhile(j, m);

            if (why)
                job_member_gone(s, j, m, why, fx);
        }
    }
    later_look(j, fx);
}
