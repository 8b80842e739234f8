/* SPDX-License-Identifier: Apache-2.0 */
/* array_life.c - the steps of an array: an index begins, one is stopped, the array ends.
 *
 * A step changes one index and its array, so it fits any turn; a kill between two of them loses
 * nothing, since array_wants() asks the state alone.
 */
#include "life/array_life.h"
#include "life/array_part.h"

#include <stdio.h>
#include <string.h>

#include "core/array.h"
#include "core/order.h"
#include "core/relax.h"
#include "life/claimed.h"
#include "life/intake.h"
#include "life/job_life.h"
#include "life/timers.h"
#include "life/verbs.h"
#include "spec/failure.h"

/* A job for an index, with all that is the same for each. */
static struct job *job_for(struct state *s, const struct job *parent, uint32_t index)
{
    struct array_terms terms = array_terms(parent, index);
    char name[JOB_SHOWN_MAX + 1];
    struct job *j;

    (void)snprintf(name, sizeof(name), "%s[%u]", parent->name, index);
    j = job_create(&(struct job_texts){.name = name,
                                       .ns = parent->ns,
                                       .tenant = parent->tenant,
                                       .user = parent->user,
                                       .priority_class = terms.priority_class});
    j->id = intake_new_id(s);
    j->array_id = parent->id;
    j->array_index = index;
    j->tenant_ix = parent->tenant_ix;
    j->uid = parent->uid;
    j->priority = terms.priority;
    j->submitted_at = parent->submitted_at; /* it is as old as its array */
    j->queued_at = j->state_since = s->now;
    j->max_runtime_us = terms.max_runtime_us;
    j->max_queue_us = parent->max_queue_us;
    j->start_timeout_us = parent->start_timeout_us;
    j->grace_us = parent->grace_us;
    j->max_restarts = parent->max_restarts;
    job_share_terms(j, parent);
    relax_share(j, parent);
    memcpy(j->digest, parent->digest, sizeof(j->digest));
    j->state = JOB_PENDING;
    job_set_reason(j, "NotEvaluated", "");
    j->is_resumed = true;
    return j;
}

static void begin(struct state *s, struct job *parent, struct effects *fx)
{
    struct job_array *a = parent->array;
    uint32_t index = array_first(parent);
    struct job *j = job_for(s, parent, index);

    (void)indices_remove(&a->waiting, index); /* it counts for itself now: array_weight() */
    *vec_push(&a->live) = j;
    a->n_kept++;
    array_consider(a, j);
    intake_add_job(s, j);
    order_add(s, j);
    job_set_timer(s, j);
    job_save(s, j, fx);
    job_save(s, parent, fx);
    (void)job_note(s, j, 0, 0, fx);
}

static void unqueue(struct state *s, struct job *j, struct effects *fx)
{
    if (j->claim) {
        claim_drop(s, j);
        job_save(s, j, fx);
    }
    order_remove(s, j);
    job_set_timer(s, j);
}

static void finish(struct state *s, struct job *parent, struct effects *fx)
{
    const struct job_array *a = parent->array;
    struct job_step step = {JOB_EV_ALL_DONE, JOB_SUCCEEDED, "Completed", ""};
    struct str text = {0};

    if (a->failed.n) {
        str_addf(&text, "%u of %u indices failed: ", a->failed.n, a->n);
        indices_format(&text, &a->failed, 20);
        step = (struct job_step){JOB_EV_GIVE_UP, JOB_FAILED, "IndicesFailed", str_text(&text)};
    } else if (a->n_cancelled) {
        str_addf(&text, "%u of %u indices were cancelled", a->n_cancelled, a->n);
        step = (struct job_step){JOB_EV_GIVE_UP, JOB_CANCELLED, "Cancelled", str_text(&text)};
    }
    if (parent->state == JOB_HELD)
        step.event = JOB_EV_GIVE_UP;
    (void)job_move(s, parent, &step, fx);
    str_fini(&text);
}

static void stop(struct state *s, const struct job *parent, struct job *j, struct effects *fx)
{
    char text[REASON_TEXT_MAX + 1];

    (void)snprintf(text, sizeof(text), "with its array: %.220s", job_reason_text(parent));
    j->stop_grace_us = parent->stop_grace_us;
    (void)job_move(s, j,
                   &(struct job_step){JOB_EV_CANCEL, JOB_CANCELLED, parent->reason.code, text}, fx);
}

static void leave(struct state *s, struct job *parent, struct effects *fx)
{
    parent->array->is_left = true;
    if (parent->has_service)
        effects_add(fx, EFFECT_GANG_STOP, parent->id)->u.with_service = true;
    job_check_gone(s, parent, fx);
}

void array_step(struct state *s, struct job_id id, struct effects *fx)
{
    struct job *parent = state_job(s, id), *one = NULL;

    switch (array_wants(s, parent, &one)) {
    case WANTS_BEGIN:
        begin(s, parent, fx);
        break;
    case WANTS_QUEUE:
        order_add(s, one);
        job_set_timer(s, one);
        break;
    case WANTS_UNQUEUE:
        unqueue(s, one, fx);
        break;
    case WANTS_UPDATE:
        update_index(s, one, parent, fx);
        break;
    case WANTS_VERB:
        array_part_step(s, parent, one, fx);
        break;
    case WANTS_STOP:
        stop(s, parent, one, fx);
        break;
    case WANTS_FINISH:
        finish(s, parent, fx);
        break;
    case WANTS_LEAVE:
        leave(s, parent, fx);
        break;
    case WANTS_NOTHING:
        break;
    }
}

/* The state that users see has changed, but not the one in the table. */
static void note_shown(struct state *s, const struct job *parent, bool runs, struct effects *fx)
{
    struct job_note *n;

    if (!job_state_is_waiting(parent->state))
        return;
    n = job_note(s, parent, runs ? parent->state : JOB_RUNNING,
                 runs ? JOB_EV_INDEX_RUNS : JOB_EV_NO_INDEX_RUNS, fx);
    n->to = runs ? JOB_RUNNING : parent->state;
}

static void count_running(struct state *s, struct job *parent, bool runs, struct effects *fx)
{
    struct job_array *a = parent->array;

    if (runs && !parent->running_at) {
        parent->running_at = s->now;
        if (parent->n_waiters)
            *vec_push(&s->settled) = parent->id;
        job_save(s, parent, fx);
    }
    a->n_running += runs ? 1 : UINT32_MAX;
    if (a->n_running == runs)
        note_shown(s, parent, runs, fx);
}

static void drop_live(struct job_array *a, const struct job *j)
{
    for (size_t i = 0; i < a->live.n; i++) {
        if (a->live.v[i] == j) {
            vec_remove(&a->live, i);
            return;
        }
    }
}

/* One that fails, or that nobody had room for in maxQueueTime, may end the whole array. */
static void judge_end(struct state *s, struct job *parent, const struct job *j, struct effects *fx)
{
    bool is_late = j->state == JOB_TIMED_OUT && strcmp(j->reason.code, "MaxQueueTime") == 0;
    struct job_step step = {JOB_EV_GIVE_UP, JOB_FAILED, "ArrayFailed", NULL};
    char text[REASON_TEXT_MAX + 1];

    if (!job_state_is_waiting(parent->state) || (!is_late && !parent->array->fails_fast))
        return;
    if (is_late)
        step = (struct job_step){JOB_EV_TIME_UP, JOB_TIMED_OUT, "MaxQueueTime", NULL};
    (void)snprintf(text, sizeof(text), "index %u is %s: %.200s", j->array_index,
                   job_state_name(j->state), job_reason_text(j));
    step.text = text;
    (void)job_move(s, parent, &step, fx);
}

static void ended(struct state *s, struct job *parent, struct job *j, struct effects *fx)
{
    struct job_array *a = parent->array;

    drop_live(a, j);
    array_part_ended(a, j->array_index);
    if (j->exit_code > parent->exit_code)
        parent->exit_code = j->exit_code;
    if (j->state == JOB_SUCCEEDED)
        (void)indices_add(&a->succeeded, j->array_index);
    else if (j->state == JOB_CANCELLED)
        a->n_cancelled++;
    else
        (void)indices_add(&a->failed, j->array_index);
    job_save(s, parent, fx);
    if (j->state != JOB_SUCCEEDED && j->state != JOB_CANCELLED)
        judge_end(s, parent, j, fx);
}

void array_moved(struct state *s, struct job *j, enum job_state from, struct effects *fx)
{
    struct job *parent = array_parent(s, j);
    bool ran = from == JOB_RUNNING, runs = j->state == JOB_RUNNING;

    if (j->array && j->state == JOB_STOPPING && from != JOB_STOPPING) {
        j->array->n_cancelled += array_weight(j);
        indices_fini(&j->array->waiting);
        array_drop_parts(j->array);
    }
    if (j->array && !job_state_is_terminal(j->state))
        array_due(s, j);
    if (!parent)
        return;
    if (parent->array->next == j || j->state == JOB_PENDING)
        array_look(parent->array);
    if (ran != runs)
        count_running(s, parent, runs, fx);
    if (j->state == JOB_BINDING && j->n_members > 1 && !parent->has_service) {
        parent->has_service = true;
        job_save(s, parent, fx);
    }
    if (job_state_is_terminal(j->state))
        ended(s, parent, j, fx);
    array_due(s, parent);
}

/* What the record keeps, with what the spec says. */
static int load_array(struct state *s, struct job *j, const struct spec *spec, struct err *err)
{
    struct job_array *said = array_of(spec), *a = j->array;

    if (!said)
        return a ? err_set(err, ERR_INVALID, "it has indices, and its spec has no array") : 0;
    if (!said->n) {
        array_destroy(said);
        return err_set(err, ERR_INVALID, "its array.indices cannot be read");
    }
    if (!a)
        a = j->array = xcalloc(1, sizeof(*a));
    a->n = said->n;
    a->all = said->all;
    said->all = (struct indices){.n = 0};
    a->parallel = said->parallel;
    a->fails_fast = said->fails_fast;
    array_destroy(said);
    if (!job_state_is_terminal(j->state))
        array_due(s, j);
    return 0;
}

int array_load(struct state *s, struct job *j, const struct spec *spec, struct err *err)
{
    struct job *parent = array_parent(s, j);
    struct job_array *a = parent ? parent->array : NULL;

    if (!j->array_id.v)
        return load_array(s, j, spec, err);
    if (!a || indices_has(&a->waiting, j->array_index) ||
        array_part_of(a, PART_HELD, j->array_index))
        return err_set(err, ERR_INVALID, "index %u %s", j->array_index,
                       a ? "has a job and waits for one" : "of a job array that is not there");
    a->n_kept++;
    if (job_state_is_terminal(j->state))
        return 0;
    *vec_push(&a->live) = j;
    a->n_running += j->state == JOB_RUNNING;
    array_consider(a, j);
    return 0;
}

void array_forget(struct state *s, struct job *j)
{
    struct job *parent = array_parent(s, j);

    if (parent)
        parent->array->n_kept--;
}
