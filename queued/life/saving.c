/* SPDX-License-Identifier: Apache-2.0 */
/* saving.c - when a job is asked to save, and what it answers.
 *
 * It is asked when it has to leave, or by checkpoint.beforeEnd so long before its run ends; not
 * twice for the same end. How the pods are asked is the cluster adapter's matter.
 */
#include <stdio.h>

#include "life/job_life.h"
#include "util/str.h"

bool job_has_saved(const struct job *j)
{
    return j->state == JOB_PREEMPTING && j->checkpointed_at >= j->state_since;
}

usec_t job_cut_us(const struct job *j)
{
    if (job_has_saved(j))
        return USEC_PER_SEC;
    return j->state == JOB_STOPPING ? j->stop_grace_us : 0;
}

bool job_is_asked(const struct job *j)
{
    bool leaves = j->state == JOB_PREEMPTING ||
                  (j->state == JOB_STOPPING && j->outcome == JOB_TIMED_OUT && !j->is_told);

    return j->is_asked && leaves && !job_has_saved(j);
}

usec_t job_tell_at(const struct job *j)
{
    usec_t end = job_run_end(j);

    if (!j->before_end_us || j->array || j->state != JOB_RUNNING)
        return 0;
    if (j->deadline_at && j->deadline_at < end)
        end = j->deadline_at;
    return end - j->before_end_us;
}

void job_tell(struct state *s, struct job *j, struct effects *fx)
{
    struct job_note *n = job_note(s, j, j->state, 0, fx);
    char d[FORMAT_MAX];

    j->is_told = true;
    (void)str_copy(n->reason, sizeof(n->reason), "CheckpointAsked");
    (void)snprintf(n->text, sizeof(n->text), "its run ends in %s",
                   format_duration(d, job_tell_at(j) + j->before_end_us - s->now));
    job_save(s, j, fx);
    job_set_timer(s, j);
    (void)effects_add(fx, EFFECT_GANG_START, j->id);
}

void job_checkpointed(struct state *s, struct job *j, struct effects *fx)
{
    bool was_saved = job_has_saved(j);
    const struct job_reason why = j->reason;

    if (s->now / CHECKPOINT_SAVE_US != j->checkpointed_at / CHECKPOINT_SAVE_US)
        job_save(s, j, fx);
    j->checkpointed_at = s->now;
    s->checkpoint_gen++;
    s->is_quiet = false;
    if (j->state == JOB_PREEMPTING && !was_saved)
        (void)job_move(
            s, j, &(struct job_step){JOB_EV_CHECKPOINTED, 0, why.code, job_reason_text(j)}, fx);
}
