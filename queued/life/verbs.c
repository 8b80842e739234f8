/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.c - one row a verb: which states it takes, which it finds done, what it becomes.
 *
 * Everything that may be refused is refused in verbs_admit(); a job whose state has no row in the
 * table of job_fsm.def for the event is refused with what to do instead.
 */
#include "life/verbs.h"

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

/* Is it so already? A job that is on its way to an end keeps that end. */
static bool is_done(const struct verb_row *verb, const struct job *j)
{
    if (verb->done)
        return j->state == verb->done;
    return job_state_is_terminal(j->state) ||
           (j->state == JOB_STOPPING && j->outcome != JOB_PENDING);
}

/* Its heartbeat: neither remembered, as it may be repeated, nor an event of its own while it runs.
 */
static void checkpointed(struct state *s, const struct ev_verb *ev, struct effects *fx)
{
    struct job *j = state_job(s, ev->job);
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, ev->job);

    job_checkpointed(s, j, fx);
    intake_reply(&ev->ref, &a, fx);
}

bool verbs_admit(struct state *s, const struct ev_verb *ev, struct effects *fx)
{
    const struct verb_row *verb = &verbs[ev->verb];
    const struct job *j = state_job(s, ev->job);
    enum job_state to;
    struct answer a;
    struct err why;

    if (intake_answered(s, &ev->ref, fx))
        return false;
    if (!j) {
        (void)err_set(&why, ERR_NOT_FOUND, "no such job");
        return intake_refuse(s, &ev->ref, fx, &why);
    }
    if (ev->verb == VERB_CHECKPOINTED && j->state == JOB_RUNNING)
        return true;
    if (!is_done(verb, j) && job_fsm_next(j->state, verb->event, verb->outcome, &to))
        return true;
    if (!is_done(verb, j) && j->array) {
        (void)err_set(&why, ERR_CONFLICT,
                      "%s is a job array, which has no pods of its own: name one index, %s[3]",
                      j->name, j->name);
        return intake_refuse(s, &ev->ref, fx, &why);
    }
    if (!is_done(verb, j)) {
        (void)err_set(&why, ERR_CONFLICT, "job %s is %s: %s", j->name, job_state_name(j->state),
                      verb->advice);
        return intake_refuse(s, &ev->ref, fx, &why);
    }
    a = intake_answer(s, &ev->ref, ERR_OK, ev->job);
    a.is_again = true;
    intake_reply(&ev->ref, &a, fx);
    return false;
}

void verbs_apply(struct state *s, const struct ev_verb *ev, struct effects *fx)
{
    const struct verb_row *verb = &verbs[ev->verb];
    struct job *j = state_job(s, ev->job);
    struct answer a = intake_answer(s, &ev->ref, ERR_OK, ev->job);
    char text[REASON_TEXT_MAX + 1];

    if (ev->verb == VERB_CHECKPOINTED) {
        checkpointed(s, ev, fx);
        return;
    }
    intake_text(text, &ev->caller, ev->why);
    (void)job_move(
        s, j,
        &(struct job_step){
            .event = verb->event, .outcome = verb->outcome, .code = verb->code, .text = text},
        fx); /* has the row: verbs_admit() */
    intake_conclude(s, &ev->ref, &a, fx);
}
