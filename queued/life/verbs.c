/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.c - one row a verb: which states it takes, which it finds done, what it becomes.
 *
 * Everything that may be refused is refused in verbs_admit(); a job whose state has no row in the
 * table of job_fsm.def for the event is refused with what to do instead.
 */
#include "life/verbs.h"

#include <stdio.h>

#include "life/array_part.h"
#include "life/intake.h"
#include "life/job_life.h"

static const struct verb_row {
    enum job_event event;
    enum job_state outcome; /* where to */
    enum job_state done;    /* a job that is there already is left so; 0: one that ends or ended */
    const char *code;
    const char *advice; /* why the others are refused, after "job x is Running: " */
} verbs[] = {
    [VERB_CANCEL] = {JOB_EV_CANCEL, JOB_CANCELLED, 0, "Cancelled", ""},
    [VERB_HOLD] = {JOB_EV_HOLD, JOB_PENDING, JOB_HELD, "Held",
                   "only a waiting job is held; requeue a running one first"},
    [VERB_RELEASE] = {JOB_EV_RELEASE, JOB_PENDING, JOB_PENDING, "NotEvaluated",
                      "only a held job is released"},
    [VERB_REQUEUE] =
        {JOB_EV_REQUEUE, JOB_PENDING, JOB_PENDING, "Requeued",
         "only a job that has nodes goes back to the queue; submit an ended one again"},
    [VERB_PREEMPT] = {JOB_EV_PREEMPT, JOB_PENDING, JOB_PREEMPTING, "Preempted",
                      "only a running job is preempted; requeue one that is still starting"},
    [VERB_CHECKPOINTED] = {JOB_EV_CHECKPOINTED, 0, JOB_RUNNING, "Checkpointed",
                           "only a job that runs, or is told to make room, has something to save"},
};

bool verb_is_done(enum job_verb verb, const struct job *j)
{
    if (verbs[verb].done)
        return j->state == verbs[verb].done;
    return job_state_is_terminal(j->state) ||
           (j->state == JOB_STOPPING && j->outcome != JOB_PENDING);
}

bool verb_fits(enum job_verb verb, const struct job *j)
{
    enum job_state to;

    return job_fsm_next(j->state, verbs[verb].event, verbs[verb].outcome, &to);
}

const char *verb_advice(enum job_verb verb)
{
    return verbs[verb].advice;
}

const char *verb_code(enum job_verb verb)
{
    return verbs[verb].code;
}

void verb_do(struct state *s, struct job *j, enum job_verb verb, const char *text,
             struct effects *fx)
{
    const struct verb_row *row = &verbs[verb];

    (void)job_move(
        s, j,
        &(struct job_step){
            .event = row->event, .outcome = row->outcome, .code = row->code, .text = text},
        fx);
}

/* A cancel that leaves the pods less time than they have now; they may have been told to go. */
static bool is_shorter(const struct job *j, const struct ev_verb *ev)
{
    usec_t now = j->stop_grace_us ? j->stop_grace_us : j->grace_us;

    return ev->verb == VERB_CANCEL && ev->grace_us && ev->grace_us < now;
}

static bool shortens(const struct job *j, const struct ev_verb *ev)
{
    return j->state == JOB_STOPPING && !j->array && is_shorter(j, ev);
}

/* Refuses or answers where nothing is to be done. */
static bool admit_one(struct state *s, const struct job *j, const struct ev_verb *ev,
                      struct effects *fx)
{
    struct answer a;
    struct err why;

    if (ev->verb == VERB_CHECKPOINTED && j->state == JOB_RUNNING)
        return true;
    if (array_part_is_meant(j, ev))
        return array_part_admit(s, ev, fx);
    if ((!verb_is_done(ev->verb, j) && verb_fits(ev->verb, j)) || shortens(j, ev))
        return true;
    if (!verb_is_done(ev->verb, j)) {
        (void)err_set(&why, ERR_CONFLICT, "job %s is %s: %s", j->name, job_state_name(j->state),
                      verb_advice(ev->verb));
        return intake_refuse(s, &ev->ref, fx, &why);
    }
    a = intake_answer(s, &ev->ref, ERR_OK, ev->job);
    a.is_again = true;
    intake_reply(&ev->ref, &a, fx);
    return false;
}

bool verbs_admit(struct state *s, const struct ev_verb *ev, struct effects *fx)
{
    const struct job *j = state_job(s, ev->job);
    struct err why;

    if (intake_answered(s, &ev->ref, fx))
        return false;
    if (j)
        return admit_one(s, j, ev, fx);
    (void)err_set(&why, ERR_NOT_FOUND, "no such job");
    return intake_refuse(s, &ev->ref, fx, &why);
}

/* It is being stopped for what it was, with less grace. */
static void hurry(struct state *s, struct job *j, struct effects *fx)
{
    const struct job_reason why = j->reason;

    (void)job_move(s, j,
                   &(struct job_step){JOB_EV_CANCEL, j->outcome, why.code, job_reason_text(j)}, fx);
}

/* What admit_one() allowed. */
static void apply_one(struct state *s, struct job *j, const struct ev_verb *ev, struct effects *fx)
{
    char text[REASON_TEXT_MAX + 1];

    if (ev->verb == VERB_CHECKPOINTED) {
        job_checkpointed(s, j, fx);
        return;
    }
    if (array_part_is_meant(j, ev)) {
        array_part_apply(s, ev, fx);
        return;
    }
    intake_text(text, &ev->caller, ev->why);
    if (is_shorter(j, ev))
        j->stop_grace_us = ev->grace_us;
    if (verb_is_done(ev->verb, j))
        hurry(s, j, fx);
    else
        verb_do(s, j, ev->verb, text, fx);
}

void verbs_apply(struct state *s, const struct ev_verb *ev, struct effects *fx)
{
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, ev->job);

    apply_one(s, state_job(s, ev->job), ev, fx);
    if (ev->verb == VERB_CHECKPOINTED)
        intake_reply(&ev->ref, &a, fx); /* a heartbeat may be repeated, and is not remembered */
    else
        intake_conclude(s, &ev->ref, &a, fx);
}

bool selected_admit(struct state *s, const struct ev_selected *ev, struct effects *fx)
{
    return !intake_answered(s, &ev->ref, fx);
}

void selected_apply(struct state *s, const struct ev_selected *ev, struct effects *fx)
{
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, (struct job_id){0});
    char text[REASON_TEXT_MAX + 1], left[REASON_TEXT_MAX + 1] = "";
    unsigned n_left = 0;

    for (size_t i = 0; i < ev->jobs.n; i++) {
        struct job *j = state_job(s, ev->jobs.v[i]);
        struct ev_verb one = {.caller = ev->caller,
                              .job = ev->jobs.v[i],
                              .verb = ev->verb,
                              .grace_us = ev->grace_us,
                              .why = ev->why};

        if (j && admit_one(s, j, &one, fx))
            apply_one(s, j, &one, fx);
        else if (n_left++ == 0 && j)
            (void)snprintf(left, sizeof(left), "; the first is %s, which is %s", j->name,
                           job_state_name(j->state));
    }
    (void)snprintf(text, sizeof(text), "%zu jobs changed", ev->jobs.n - n_left);
    if (n_left)
        (void)snprintf(text, sizeof(text), "%zu jobs changed, %u left as they are%.150s",
                       ev->jobs.n - n_left, n_left, left);
    a.text = arena_strdup(&fx->arena, text);
    intake_conclude(s, &ev->ref, &a, fx);
}
