/* SPDX-License-Identifier: Apache-2.0 */
/* state_apply.c - which part of the life of jobs an event belongs to, and what time alone brings.
 *
 * What each event does is in intake.c (clients), facts.c (cluster) and job_life.c (jobs).
 */
#include "life/state_apply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/backfill.h"
#include "core/order.h"
#include "core/preempt.h"
#include "core/relax.h"
#include "core/window.h"
#include "life/array_life.h"
#include "life/claimed.h"
#include "life/depend.h"
#include "life/expire.h"
#include "life/facts.h"
#include "life/intake.h"
#include "life/reload.h"
#include "life/job_life.h"
#include "life/later.h"
#include "life/mended.h"
#include "life/reserve.h"
#include "life/resize.h"
#include "life/timers.h"
#include "life/verbs.h"
#include "spec/failure.h"
#include "util/str.h"

bool state_admit(struct state *s, struct event *ev, struct effects *fx)
{
    s->now = ev->at;
    if (ev->kind == EV_JOB_SUBMIT)
        return intake_admit_submit(s, &ev->u.submit, fx);
    if (ev->kind == EV_JOB_VERB)
        return verbs_admit(s, &ev->u.verb, fx);
    if (ev->kind == EV_JOBS_SELECTED)
        return selected_admit(s, ev->u.selected, fx);
    if (ev->kind == EV_JOB_UPDATE)
        return update_admit(s, &ev->u.update, fx);
    if (ev->kind == EV_NODE_DRAIN)
        return drain_admit(s, &ev->u.drain, fx);
    if (ev->kind == EV_TENANT_STOP)
        return stop_admit(s, &ev->u.drain, fx);
    if (ev->kind == EV_WINDOW)
        return reserve_admit(s, ev->u.window, fx);
    return true;
}

static void set_cluster(struct state *s, bool is_up, const char *why)
{
    s->is_cluster_up = is_up;
    s->is_quiet = false;
    (void)str_copy(s->cluster_trouble, sizeof(s->cluster_trouble), is_up || !why ? "" : why);
    str_make_line(s->cluster_trouble);
}

/* Another host is looked for when the facts of the turn are in. */
static void pod_refused(struct state *s, struct event *ev, struct effects *fx)
{
    if (ev->kind == EV_HOST_WANTED || ev->u.answer->refusal != REFUSAL_HOST) {
        facts_pod_refused(s, ev->u.answer, fx);
        return;
    }
    *vec_push(&s->refused_hosts) = ev->u.answer;
    ev->u.answer = NULL;
}

static void gang_placed(struct state *s, struct event *event, struct effects *fx)
{
    struct ev_placed *ev = &event->u.placed;
    struct job *j = state_job(s, ev->job);

    s->n_decisions++;
    if (event->kind == EV_GANG_MENDED) {
        mended_apply(s, ev, fx);
        return;
    }
    if (event->kind == EV_GANG_RESIZED) {
        resize_apply(s, ev, fx);
        return;
    }
    job_take(s, j, ev);
    job_place(s, j, fx);
    backfill_started(s, j);
}

/* What a client asks for. */
static void apply_wish(struct state *s, struct event *ev, struct effects *fx)
{
    switch (ev->kind) {
    case EV_JOB_SUBMIT:
        intake_submit(s, &ev->u.submit, fx);
        break;
    case EV_JOB_VERB:
        verbs_apply(s, &ev->u.verb, fx);
        break;
    case EV_JOBS_SELECTED:
        selected_apply(s, ev->u.selected, fx);
        break;
    case EV_JOB_UPDATE:
        update_apply(s, &ev->u.update, fx);
        break;
    case EV_NODE_DRAIN:
    case EV_TENANT_STOP:
        (ev->kind == EV_NODE_DRAIN ? drain_apply : stop_apply)(s, &ev->u.drain, fx);
        break;
    case EV_WINDOW:
        reserve_apply(s, ev->u.window, fx);
        break;
    default:
        break;
    }
}

void state_apply(struct state *s, struct event *ev, struct effects *fx)
{
    s->now = ev->at;
    switch (ev->kind) {
    case EV_JOB_SUBMIT:
    case EV_JOB_VERB:
    case EV_JOBS_SELECTED:
    case EV_JOB_UPDATE:
    case EV_NODE_DRAIN:
    case EV_TENANT_STOP:
    case EV_WINDOW:
        apply_wish(s, ev, fx);
        break;
    case EV_GANG_PLACED:
    case EV_GANG_RESIZED:
    case EV_GANG_MENDED:
        gang_placed(s, ev, fx);
        break;
    case EV_GANG_CLAIMED:
    case EV_GANG_PREEMPTED:
    case EV_CLAIM_OVER:
        claim_apply(s, ev, fx);
        break;
    case EV_NODE_SEEN:
        facts_node_seen(s, ev->u.node);
        ev->u.node = NULL;
        break;
    case EV_NODE_GONE:
        facts_node_gone(s, ev->u.node_name);
        break;
    case EV_POD_SEEN:
        facts_pod_seen(s, ev->u.pod, fx);
        break;
    case EV_POD_GONE:
        facts_pod_gone(s, ev->u.pod_gone, fx);
        break;
    case EV_POD_BOUND:
        facts_pod_bound(s, ev->u.answer, fx);
        break;
    case EV_POD_REFUSED:
    case EV_HOST_WANTED:
        pod_refused(s, ev, fx);
        break;
    case EV_BUDGET:
        facts_budget(s, ev, fx);
        break;
    case EV_SERVICE_GONE:
        facts_service_gone(s, ev->u.service_job, fx);
        break;
    case EV_SYNCED:
        facts_synced(s, ev->u.cluster_uid, fx);
        break;
    case EV_ARRAY_STEP:
        array_step(s, ev->u.array, fx);
        break;
    case EV_CLUSTER:
        set_cluster(s, ev->u.cluster.is_up, ev->u.cluster.text);
        break;
    case EV_SETTINGS:
        reload_apply(s, &ev->u.config, fx);
        break;
    case EV_STORE_LOW:
        s->is_store_low = ev->u.is_low;
        break;
    case EV_TIMER:
    case EV_NONE:
    case EV_KINDS:
        break;
    }
}

void state_tick(struct state *s, usec_t now, struct effects *fx)
{
    struct job *j;
    usec_t next;

    s->now = now;
    s->turn++;
    s->turn_evaluations = 0;
    depend_settle(s, fx);
    for (;;) {
        j = timer_first(s);
        if (!j || j->timer_at > now || !effects_have_room(fx))
            break;
        if (job_state_is_terminal(j->state) && !j->has_pods && now >= job_keep_until(s, j))
            expire_job(s, j, fx);
        else
            job_time_up(s, j, fx);
    }
    if (now < s->next_sweep)
        return;
    next = facts_check_nodes(s, fx);
    s->next_sweep = expire_sweep(s, fx);
    if (next < s->next_sweep)
        s->next_sweep = next;
}

usec_t state_next_wake(const struct state *s, usec_t now)
{
    const struct job *j = timer_first(s);
    usec_t wake = s->next_sweep;

    if (s->turn_evaluations >= TURN_EVALUATIONS_MAX /* the cycle was cut short */ || s->settled.n)
        return now;
    if (j && j->timer_at < wake)
        wake = j->timer_at;
    if (s->mature_at && s->mature_at < wake && s->is_synced && s->is_cluster_up)
        wake = s->mature_at;
    if (s->windows->next < wake && s->is_synced && s->is_cluster_up)
        wake = s->windows->next;
    if (s->tenants.changes_at < wake && s->is_synced && s->is_cluster_up)
        wake = s->tenants.changes_at;
    if (s->grow_at && s->grow_at < wake && s->is_synced && s->is_cluster_up)
        wake = s->grow_at;
    return wake < now ? now : wake;
}

int state_load_job(struct state *s, struct job *job, const struct spec *spec, struct err *err)
{
    char id[JOB_ID_TEXT + 1];

    if (s->by_id.n && job->id.v <= s->by_id.v[s->by_id.n - 1]->id.v)
        return err_set(err, ERR_INVALID, "job %s is out of order", job_id_format(id, job->id));
    if (job->n_members && job->n_members != spec_pods(spec))
        return err_set(err, ERR_INVALID, "job %s has %u members, its spec asks for %u",
                       job_id_format(id, job->id), job->n_members, spec_pods(spec));
    if (job->n_members == 0 &&
        (job->state == JOB_BINDING || job->state == JOB_STARTING || job->state == JOB_RUNNING))
        return err_set(err, ERR_INVALID, "job %s is %s without members", job_id_format(id, job->id),
                       job_state_name(job->state));
    for (uint32_t i = 0; i < job->n_members; i++)
        if (job->members[i].phase != MEMBER_ABSENT &&
            !cluster_node(&s->cluster, job->members[i].node_ix))
            return err_set(err, ERR_INVALID, "job %s has a member without a node",
                           job_id_format(id, job->id));
    if (s->started_at)
        job_set_back(job, s->started_at);
    if (array_load(s, job, spec, err))
        return -1;
    relax_init(s, job, spec);
    mended_load_spares(job);
    later_mark(job);
    if (job_state_is_active(job->state)) /* as it was when it was decided */
        relax_look(s, job, job->attempt_at);
    job->tenant_ix = settings_tenant(s->settings, job->tenant);
    job->is_resumed = false;
    job_set_terms(job, spec);
    if (job->id.v > s->meta.last_id.v)
        s->meta.last_id = job->id;
    intake_add_job(s, job);
    job_name_nodes(s, job);
    if (job_state_is_waiting(job->state)) {
        job->is_resumed = true;
        depend_add(s, job);
        if (job->tenant_ix != IX_NONE)
            tenant_wait(&s->tenants, job_account(job), (int)array_weight(job));
        if (job->state == JOB_PENDING)
            order_add(s, job);
    } else if (job_state_is_active(job->state)) {
        job_hold(s, job);
        job_activate(s, job);
        preempt_matures(s, job);
    }
    if (job->claim)
        claim_load(s, job);
    claim_hold_move(s, job);
    s->has_missing |= job->lost_at != 0;
    s->now = job->state_since; /* back-off that is over is no timer */
    job_set_timer(s, job);
    return 0;
}

void state_load_answer(struct state *s, const struct answer *a)
{
    intake_remember(s, a);
}
