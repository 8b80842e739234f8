/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - what is next for a job array, from its state and those of its indices alone. */
#include "core/array.h"

#include <string.h>

struct job_array *array_of(const struct spec *spec)
{
    struct job_array *a;

    if (!spec->array_indices)
        return NULL;
    a = xcalloc(1, sizeof(*a));
    (void)indices_parse(&a->waiting, spec->array_indices, NULL);
    a->n = a->waiting.n;
    a->parallel = spec->array_parallel ? spec->array_parallel : ARRAY_INDICES_MAX;
    a->fails_fast = spec->array_fails_fast;
    return a;
}

void array_destroy(struct job_array *a)
{
    if (!a)
        return;
    indices_fini(&a->waiting);
    indices_fini(&a->succeeded);
    indices_fini(&a->failed);
    vec_fini(&a->live);
    free(a);
}

struct job *array_parent(const struct state *s, const struct job *j)
{
    struct job *parent = state_job(s, j->array_id);

    return parent && parent->array ? parent : NULL;
}

uint32_t array_weight(const struct job *j)
{
    return j->array ? j->array->waiting.n : 1;
}

bool array_keeps_back(const struct state *s, const struct job *j)
{
    const struct job *parent = array_parent(s, j);

    return parent && parent->state != JOB_PENDING;
}

enum job_state array_shown_state(const struct job *j)
{
    return j->array && j->array->n_running && job_state_is_waiting(j->state) ? JOB_RUNNING
                                                                             : j->state;
}

void array_due(struct state *s, struct job *j)
{
    if (j->array->is_due)
        return;
    j->array->is_due = true;
    *vec_push(&s->arrays_due) = j->id;
}

/* Is it on its way to an end? */
static bool is_ending(const struct job *j)
{
    return j->state == JOB_STOPPING && j->outcome != JOB_PENDING;
}

/* The array was updated since. */
static bool differs(const struct job *parent, const struct job *j)
{
    return j->priority != parent->priority || j->max_runtime_us != parent->max_runtime_us ||
           (j->is_relaxed ? j->other : j->demand) != parent->demand ||
           strcmp(j->priority_class, parent->priority_class) != 0;
}

static enum array_want wants_of(const struct state *s, const struct job *parent,
                                const struct job *j)
{
    bool is_queued = j->bucket || j->claim;

    if (parent->state == JOB_STOPPING)
        return is_ending(j) ? WANTS_NOTHING : WANTS_STOP;
    if (job_state_is_waiting(j->state) && differs(parent, j))
        return WANTS_UPDATE;
    if (j->state != JOB_PENDING || is_queued != array_keeps_back(s, j))
        return WANTS_NOTHING;
    return is_queued ? WANTS_UNQUEUE : WANTS_QUEUE;
}

enum array_want array_wants(const struct state *s, const struct job *parent, struct job **ret)
{
    const struct job_array *a = parent->array;
    enum array_want want;

    for (size_t i = 0; i < a->live.n; i++) {
        want = wants_of(s, parent, a->live.v[i]);
        *ret = a->live.v[i];
        if (want != WANTS_NOTHING)
            return want;
    }
    if (parent->state == JOB_STOPPING)
        return a->live.n || a->is_left ? WANTS_NOTHING : WANTS_LEAVE;
    if (!job_state_is_waiting(parent->state))
        return WANTS_NOTHING;
    if (!a->waiting.n && !a->live.n)
        return WANTS_FINISH;
    if (parent->state != JOB_PENDING || parent->waits.n || !a->waiting.n || a->next ||
        a->live.n >= a->parallel)
        return WANTS_NOTHING;
    return WANTS_BEGIN;
}

bool array_next(struct state *s, usec_t now, struct event *ev)
{
    struct job *one;

    while (s->arrays_due.n) {
        struct job *j = state_job(s, s->arrays_due.v[0]);

        if (j && array_wants(s, j, &one) != WANTS_NOTHING) {
            *ev = (struct event){.kind = EV_ARRAY_STEP, .at = now, .u.array = j->id};
            return true;
        }
        if (j)
            j->array->is_due = false;
        vec_remove(&s->arrays_due, 0);
    }
    return false;
}
