/* SPDX-License-Identifier: Apache-2.0 */
/* job_member.c - what happens to one member, and what that means for its gang.
 *
 * A member only moves forward: placed, bound, running, ended or gone. The gang moves when the last
 * one has arrived, or at the first one that fails.
 */
#include <stdio.h>
#include <string.h>

#include "core/backfill.h"
#include "core/elastic.h"
#include "life/job_life.h"
#include "life/kept.h"
#include "life/later.h"
#include "life/mended.h"
#include "life/resize.h"
#include "spec/failure.h"
#include "core/place.h"
#include "core/preempt.h"
#include "core/replace.h"
#include "util/mem.h"

/* Have those ended well whose end is the job's? */
static bool is_complete(const struct job *j)
{
    const struct member *leader = j->ends_with_leader ? job_leader(j) : NULL;
    uint32_t done = 0;

    if (j->n_done == job_size(j) || (leader && leader->phase == MEMBER_SUCCEEDED))
        return true;
    if (!j->done_least || j->n_done < j->done_least)
        return false;
    for (uint32_t i = 0; i < j->n_members; i++)
        done += j->members[i].phase == MEMBER_SUCCEEDED;
    return done >= j->done_least;
}

static void complete(struct state *s, struct job *j, struct effects *fx)
{
    struct job_step step = {JOB_EV_ALL_DONE, JOB_SUCCEEDED, "Completed", ""};
    uint32_t left = job_size(j) - j->n_done;
    char text[REASON_TEXT_MAX + 1], name[POD_NAME_TEXT];

    if (left && j->ends_with_leader)
        (void)snprintf(text, sizeof(text), "its leader %s has ended, %u other pods are stopped",
                       job_pod_name(name, j, job_leader(j)), left);
    else if (left)
        (void)snprintf(text, sizeof(text), "%u pods have succeeded, %u others are stopped",
                       j->n_done, left);
    if (left)
        step.text = text;
    j->exit_code = 0;
    (void)job_move(s, j, &step, fx);
}

void job_check_progress(struct state *s, struct job *j, struct effects *fx)
{
    if (j->state == JOB_BINDING && j->n_bound + j->n_waiting == job_size(j))
        (void)job_move(
            s, j,
            &(struct job_step){.event = JOB_EV_ALL_BOUND, .code = "WaitingForStart", .text = ""},
            fx);
    later_look(j, fx);
    if (j->state == JOB_STARTING && j->n_running + j->n_done == job_size(j)) {
        j->running_at = s->now;
        j->refusals = 0;
        backfill_runs(s, j);
        preempt_matures(s, j);
        (void)job_move(s, j,
                       &(struct job_step){.event = JOB_EV_ALL_RUNNING, .code = "", .text = ""}, fx);
    }
    if (j->state == JOB_RUNNING && is_complete(j))
        complete(s, j, fx);
}

void job_member_bound(struct state *s, struct job *j, struct member *m, struct effects *fx)
{
    if (m->phase != MEMBER_PLACED)
        return;
    job_set_phase(j, m, MEMBER_BOUND);
    job_check_progress(s, j, fx);
}

/* It has run: it belongs to the gang from now on. */
static void join(struct state *s, struct job *j, struct member *m, struct effects *fx)
{
    if (!m->is_new)
        return;
    m->is_new = false;
    preempt_may_change(s);
    job_set_timer(s, j);
    job_save(s, j, fx);
}

void job_member_running(struct state *s, struct job *j, struct member *m, struct effects *fx)
{
    if (m->phase != MEMBER_PLACED && m->phase != MEMBER_BOUND)
        return;
    job_set_phase(j, m, MEMBER_RUNNING);
    if (m->mend == MEND_STARTING && j->state == JOB_RUNNING)
        mended_runs(s, j, m, fx);
    join(s, j, m, fx);
    job_check_progress(s, j, fx);
}

static void exclude(struct job *j, uint32_t node_ix)
{
    if (place_excludes(j->excluded, node_ix))
        return;
    memmove(&j->excluded[1], &j->excluded[0], sizeof(j->excluded) - sizeof(j->excluded[0]));
    j->excluded[0] = node_ix;
}

/* It is the job's doing: start again if it may, after a while. */
static void restart_counted(struct state *s, struct job *j, struct job_step *step,
                            struct effects *fx)
{
    enum job_state end = step->event == JOB_EV_MEMBER_LOST ? JOB_LOST : JOB_FAILED;
    bool may_restart;

    if (j->state == JOB_RUNNING && s->now - j->running_at >= failure_reset_after(j->failure))
        j->restarts = 0;
    may_restart = j->restarts < j->max_restarts;
    if (may_restart)
        j->not_before = s->now + failure_back_off(j->failure, j->restarts++);
    if (j->state != JOB_RUNNING)
        step->outcome = may_restart ? JOB_PENDING : end;
    else if (!may_restart) {
        step->event = JOB_EV_GIVE_UP;
        step->outcome = end;
    } else if (mended_begin(s, j, step, fx)) {
        return;
    }
    (void)job_move(s, j, step, fx);
}

/* A member failed or is gone: what that means for the gang. */
static void judge(struct state *s, struct job *j, const struct fault *fault, struct job_step *step,
                  struct effects *fx)
{
    struct verdict v = failure_judge(j->failure, fault);
    char text[REASON_TEXT_MAX + 1];

    if (j->state != JOB_BINDING && j->state != JOB_STARTING && j->state != JOB_RUNNING)
        return;
    (void)snprintf(text, sizeof(text), "%s", step->text);
    if (v.rule)
        (void)snprintf(text, sizeof(text), "%.180s; failurePolicy.rules[%u]: %s", step->text,
                       v.rule - 1, spec_action_word(v.action));
    step->text = text;
    switch (v.action) {
    case SPEC_EXCLUDE:
        exclude(j, fault->node_ix);
        /* fall through */
    case SPEC_RESTART_FREE:
        if (!v.is_node && j->state == JOB_RUNNING)
            j->not_before = s->now + failure_back_off(j->failure, 0);
        step->event = JOB_EV_MEMBER_LOST;
        if (mended_begin(s, j, step, fx))
            return;
        if (v.is_node && j->state == JOB_RUNNING && kept_begin(s, j))
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                           "; it keeps its place, with spares");
        job_undo(s, j, step, fx);
        return;
    case SPEC_FAIL:
        step->event = j->state == JOB_RUNNING ? JOB_EV_GIVE_UP : JOB_EV_MEMBER_FAILED;
        step->outcome = JOB_FAILED;
        (void)job_move(s, j, step, fx);
        return;
    default:
        restart_counted(s, j, step, fx);
    }
}

/* An elastic gang runs on without a pod that it does not need and that it lost to the cluster. */
static bool goes_on(struct state *s, struct job *j, struct member *m, const struct fault *fault,
                    struct effects *fx)
{
    struct verdict v = failure_judge(j->failure, fault);
    const struct node *n = cluster_node(&s->cluster, m->node_ix);
    char text[REASON_TEXT_MAX + 1], name[POD_NAME_TEXT];

    if (!v.is_node || (v.action != SPEC_RESTART_FREE && v.action != SPEC_EXCLUDE) ||
        !elastic_may_drop(j, m))
        return false;
    if (v.action == SPEC_EXCLUDE)
        exclude(j, m->node_ix);
    (void)snprintf(text, sizeof(text), "lost %s on %.100s", job_pod_name(name, j, m),
                   n ? n->name : "?");
    resize_drop(s, j, m, text, fx);
    return true;
}

/* The highest of the members, but for a leader's that failed; what is stopped says nothing of a job
 * that is complete, nor of one with a leader. */
static void note_exit_code(struct job *j, const struct member *m)
{
    const struct member *leader = job_leader(j);

    if (j->state > JOB_RUNNING && (leader || j->outcome == JOB_SUCCEEDED))
        return;
    if (leader && leader != m && leader->exit_code > 0)
        return;
    if (leader == m || m->exit_code > j->exit_code)
        j->exit_code = m->exit_code;
}

void job_member_ended(struct state *s, struct job *j, struct member *m, const struct pod_fact *pod,
                      struct effects *fx)
{
    struct fault fault = {
        .reason = pod->reason, .exit_code = pod->exit_code, .node_ix = m->node_ix};
    char text[REASON_TEXT_MAX + 1];
    char name[POD_NAME_TEXT];

    if (!job_member_holds(m) || (j->keeps && j->state == JOB_RESTARTING))
        return;
    if (m->mend == MEND_RECALLED && j->state == JOB_RUNNING) {
        mended_lost(s, j, m, fx);
        return;
    }
    m->mend = MEND_NONE;
    m->exit_code = pod->exit_code;
    job_release(s, j, m, pod->phase == POD_SUCCEEDED ? MEMBER_SUCCEEDED : MEMBER_FAILED);
    if (pod->phase != POD_SUCCEEDED && goes_on(s, j, m, &fault, fx))
        return;
    note_exit_code(j, m);
    job_save(s, j, fx); /* its pod may be cleaned up before a restart */
    if (pod->phase == POD_SUCCEEDED) {
        join(s, j, m, fx);
        mended_settle(s, j);
        job_check_progress(s, j, fx);
    } else if (failure_judge(NULL, &fault).is_node) {
        (void)snprintf(text, sizeof(text), "%s: %s on %.100s", job_pod_name(name, j, m),
                       pod->reason, pod->node);
        judge(s, j, &fault, &(struct job_step){JOB_EV_MEMBER_LOST, 0, "NodeTrouble", text}, fx);
    } else {
        (void)snprintf(text, sizeof(text), "exit code %d on %s%s%s", pod->exit_code,
                       job_pod_name(name, j, m), *pod->reason ? ": " : "", pod->reason);
        judge(s, j, &fault, &(struct job_step){JOB_EV_MEMBER_FAILED, 0, "ExitCode", text}, fx);
    }
    job_check_gone(s, j, fx);
}

void job_member_gone(struct state *s, struct job *j, struct member *m, const char *why,
                     struct effects *fx)
{
    struct fault fault = {.exit_code = -1, .node_ix = m->node_ix};
    char text[REASON_TEXT_MAX + 1];
    char name[POD_NAME_TEXT];

    if (m->phase == MEMBER_GONE || m->phase == MEMBER_KEPT || m->phase == MEMBER_ABSENT)
        return;
    if (m->phase == MEMBER_SPARE) {
        mended_free_spare(s, j, m);
        job_save(s, j, fx);
        return;
    }
    if (kept_gone(s, j, m)) {
        job_check_gone(s, j, fx);
        return;
    }
    if (!job_member_holds(m) && !job_wants_all_gone(j))
        return; /* a finished member stays finished when its pod is cleaned up */
    if (m->mend == MEND_RECALLED && j->state == JOB_RUNNING) {
        mended_lost(s, j, m, fx);
        return;
    }
    m->mend = MEND_NONE;
    job_release(s, j, m, MEMBER_GONE);
    if (goes_on(s, j, m, &fault, fx))
        return;
    (void)snprintf(text, sizeof(text), "pod %s %s", job_pod_name(name, j, m), why);
    judge(s, j, &fault, &(struct job_step){JOB_EV_MEMBER_LOST, 0, "MemberLost", text}, fx);
    job_check_gone(s, j, fx);
}

void job_member_moves(struct state *s, struct job *j, struct member *m, uint32_t node_ix)
{
    uint32_t old = m->node_ix;
    struct resources asks;

    state_pod_asks(j, m->role, &asks);
    cluster_name(&s->cluster, node_ix);
    cluster_hold(&s->cluster, node_ix, &asks);
    m->node_ix = node_ix;
    cluster_release(&s->cluster, old, &asks);
    cluster_unname(&s->cluster, old);
    s->is_quiet = false;
}

/* Another host of the same domain for a member whose own was refused; false: there is none, or too
 * many were tried. Stored before the adapter hears of it. */
static bool replace(struct state *s, struct job *j, struct member *m, const char *why,
                    struct effects *fx)
{
    uint32_t to = j->n_replaced < JOB_REPLACED_MAX ? replace_host(s, j, m) : IX_NONE;
    char text[REASON_TEXT_MAX + 1];
    char name[POD_NAME_TEXT];

    if (to == IX_NONE || m->phase != MEMBER_PLACED)
        return false;
    j->n_replaced++;
    (void)snprintf(text, sizeof(text), "%s goes from %.60s to %.60s: %.70s",
                   job_pod_name(name, j, m), cluster_node(&s->cluster, m->node_ix)->name,
                   cluster_node(&s->cluster, to)->name, why);
    job_member_moves(s, j, m, to);
    (void)job_move(
        s, j, &(struct job_step){.event = JOB_EV_REPLACED, .code = "HostReplaced", .text = text},
        fx);
    if (j->moved_turn != s->turn) /* one start tells of all that move in a turn */
        (void)effects_add(fx, EFFECT_GANG_START, j->id);
    j->moved_turn = s->turn;
    return true;
}

/* Of a member that is made again: on another host, after a while. */
static void refused_again(struct state *s, struct job *j, struct member *m,
                          const struct ev_pod_answer *a, struct effects *fx)
{
    if (a->refusal == REFUSAL_BIND || a->refusal == REFUSAL_HOST)
        exclude(j, m->node_ix);
    mended_lost(s, j, m, fx);
    j->not_before = s->now + failure_back_off(j->failure, 0);
    job_set_timer(s, j);
}

void job_refused(struct state *s, struct job *j, struct member *m, const struct ev_pod_answer *a,
                 struct effects *fx)
{
    char name[POD_NAME_TEXT];
    char text[REASON_TEXT_MAX + 1];
    const struct node *n = cluster_node(&s->cluster, m->node_ix);
    struct job_step step = {.event = JOB_EV_REFUSED, .text = text};

    if (j->state == JOB_RUNNING && m->is_new)
        resize_drop(s, j, m, a->text, fx);
    if (j->state == JOB_RUNNING && m->mend == MEND_STARTING && m->phase == MEMBER_PLACED)
        refused_again(s, j, m, a, fx);
    if (j->state != JOB_BINDING && (j->state != JOB_STARTING || m->phase != MEMBER_PLACED))
        return;
    (void)snprintf(text, sizeof(text), "%s on %s: %.180s", job_pod_name(name, j, m),
                   n ? n->name : "?", a->text);
    if (a->refusal == REFUSAL_REJECTED) {
        (void)job_move(s, j,
                       &(struct job_step){.event = JOB_EV_REJECTED,
                                          .outcome = JOB_REJECTED,
                                          .code = "PodsRejected",
                                          .text = text},
                       fx);
        return;
    }
    step.code = "CreateRefused";
    if (a->refusal == REFUSAL_BIND || a->refusal == REFUSAL_HOST) {
        exclude(j, m->node_ix);
        step.code = "BindRefused";
    }
    if (a->refusal != REFUSAL_HOST || !replace(s, j, m, a->text, fx))
        job_undo(s, j, &step, fx);
}

uint32_t job_member_node(const struct state *s, const struct job *j, const struct member *m)
{
    char key[POD_KEY_TEXT];

    if (m->is_going)
        return cluster_pod_node(&s->cluster, job_pod_key(key, j, m));
    return job_member_holds(m) ? m->node_ix : IX_NONE;
}

void job_node_lost(struct state *s, struct job *j, uint32_t node_ix, struct effects *fx)
{
    const struct node *n = cluster_node(&s->cluster, node_ix);
    char why[REASON_TEXT_MAX + 1];
    bool moves_on = j->state != JOB_STOPPING || j->outcome == JOB_PENDING;

    (void)snprintf(why, sizeof(why), "is on node %.180s, lost for nodeLostTimeout", n->name);
    for (uint32_t i = 0; i < j->n_members; i++) {
        struct member *m = &j->members[i];
        struct resources asks;
        char name[POD_NAME_TEXT], key[POD_KEY_TEXT];

        if (job_member_node(s, j, m) != node_ix)
            continue;
        if (m->is_going) {
            job_member_went(s, j, m, fx);
            continue;
        }
        if (m->phase == MEMBER_KEPT) {
            job_release(s, j, m, MEMBER_GONE);
            continue;
        }
        if (m->uid[0]) { /* its GPUs stay charged to the node until the object is gone */
            state_pod_asks(j, m->role, &asks);
            cluster_pod_left(&s->cluster, job_pod_key(key, j, m), m->uid, node_ix, &asks);
            /* its kubelet, should it come back, must not go on with it */
            effects_delete_pod(fx, j->ns, job_pod_name(name, j, m), m->uid);
        }
        if (moves_on && failure_excludes(j->failure))
            exclude(j, node_ix);
        job_member_gone(s, j, m, why, fx);
    }
}
