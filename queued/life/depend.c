/* SPDX-License-Identifier: Apache-2.0 */
/* depend.c - conditions on other jobs, judged when such a job starts or ends.
 *
 * A job knows only how many wait for it; who does is in state->dependents, by id. What an end
 * means for others is worked off turn by turn, so a long chain of ends needs no recursion.
 */
#include "life/depend.h"

#include <stdio.h>
#include <string.h>

#include "life/job_life.h"
#include "core/order.h"
#include "util/str.h"

enum verdict { NOT_YET, MET, NEVER };

static enum verdict judge(const struct job *on, enum spec_condition condition)
{
    bool is_over = !on || job_state_is_terminal(on->state);
    bool is_met = is_over;

    if (condition == SPEC_STARTED)
        is_met = on && on->running_at;
    else if (condition == SPEC_SUCCEEDED)
        is_met = on && on->state == JOB_SUCCEEDED;
    else if (condition == SPEC_FAILED)
        is_met = on && is_over && on->state != JOB_SUCCEEDED;
    return is_met ? MET : is_over ? NEVER : NOT_YET;
}

/* By id, by name, or by metadata.name: then the name ends in "-" and four characters. */
static bool is_named(const struct job *j, const char *text)
{
    size_t len = strlen(text);
    char id[JOB_ID_TEXT + 1];

    if (strncmp(j->name, text, len) == 0)
        return j->name[len] == '\0' || (j->name[len] == '-' && strlen(j->name + len) == 5);
    return strcmp(job_id_format(id, j->id), text) == 0;
}

static struct job *newest_named(const struct state *s, const char *tenant, const char *text)
{
    for (size_t i = s->by_id.n; i-- > 0;)
        if (is_named(s->by_id.v[i], text) && strcmp(s->by_id.v[i]->tenant, tenant) == 0)
            return s->by_id.v[i];
    return NULL;
}

int depend_resolve(const struct state *s, const struct spec *spec, struct job *j, struct err *err)
{
    for (uint32_t i = 0; i < spec->depends_on.n; i++) {
        const struct spec_pair *p = &spec->depends_on.v[i];
        enum spec_condition condition = spec_condition(p->value);
        const struct job *on = newest_named(s, spec->tenant, p->key);
        enum verdict v = judge(on, condition);

        if (!on)
            return err_set(
                err, ERR_INVALID,
                "spec.dependsOn[%u]: tenant %s has no job '%.63s'; submit that one first", i,
                spec->tenant, p->key);
        if (v == NEVER)
            return err_set(err, ERR_REFUSED,
                           "spec.dependsOn[%u]: job %s is %s, so waiting for it %s would never end",
                           i, on->name, job_state_name(on->state), spec_condition_words(condition));
        if (v == NOT_YET && j)
            *vec_push(&j->waits) = (struct dependency){on->id, (uint8_t)condition};
    }
    return 0;
}

void depend_add(struct state *s, struct job *j)
{
    for (size_t i = 0; i < j->waits.n; i++) {
        struct job *on = state_job(s, j->waits.v[i].on);

        if (on)
            on->n_waiters++;
        if (judge(on, (enum spec_condition)j->waits.v[i].condition) != NOT_YET)
            *vec_push(&s->settled) = j->waits.v[i].on; /* it moved just before a restart */
    }
    if (j->waits.n)
        *vec_push(&s->dependents) = j;
}

static void forget(struct state *s, struct job *j, size_t i)
{
    struct job *on = state_job(s, j->waits.v[i].on);

    if (on)
        on->n_waiters--;
    vec_remove(&j->waits, i);
    for (size_t k = 0; k < s->dependents.n && j->waits.n == 0; k++) {
        if (s->dependents.v[k] == j) {
            vec_remove(&s->dependents, k);
            return;
        }
    }
}

void depend_drop(struct state *s, struct job *j)
{
    while (j->waits.n)
        forget(s, j, j->waits.n - 1);
}

void depend_moved(struct state *s, const struct job *j)
{
    if (j->n_waiters && (j->state == JOB_RUNNING || job_state_is_terminal(j->state)))
        *vec_push(&s->settled) = j->id;
}

static void end_unmet(struct state *s, struct job *j, const struct job *on,
                      enum spec_condition condition, struct effects *fx)
{
    char text[REASON_TEXT_MAX + 1];

    (void)snprintf(text, sizeof(text), "waited for %s %s, and that is %s", on ? on->name : "a job",
                   spec_condition_words(condition), on ? job_state_name(on->state) : "forgotten");
    (void)job_move(s, j,
                   &(struct job_step){.event = JOB_EV_GIVE_UP,
                                      .outcome = JOB_FAILED,
                                      .code = "DependencyFailed",
                                      .text = text},
                   fx);
}

/* What the present state of one job means for j. true: j is no dependent any more. */
static bool look_again(struct state *s, struct job *j, struct job_id id, struct effects *fx)
{
    const struct job *on = state_job(s, id);
    size_t before = j->waits.n;

    for (size_t i = 0; i < j->waits.n;) {
        enum spec_condition condition = (enum spec_condition)j->waits.v[i].condition;
        enum verdict v = j->waits.v[i].on.v == id.v ? judge(on, condition) : NOT_YET;

        if (v == NEVER) {
            end_unmet(s, j, on, condition, fx);
            return true;
        }
        if (v == MET)
            forget(s, j, i);
        else
            i++;
    }
    if (j->waits.n < before)
        job_save(s, j, fx);
    if (j->waits.n)
        return false;
    j->queued_at = s->now; /* the wait for nodes begins */
    if (j->state == JOB_PENDING)
        order_add(s, j);
    job_set_timer(s, j);
    return true;
}

void depend_settle(struct state *s, struct effects *fx)
{
    while (s->settled.n) {
        for (size_t i = 0; i < s->dependents.n;) {
            if (!effects_have_room(fx))
                return; /* again in the next turn */
            i += !look_again(s, s->dependents.v[i], s->settled.v[0], fx);
        }
        vec_remove(&s->settled, 0);
    }
}
