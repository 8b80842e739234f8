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
    (void)indices_parse(&a->all, spec->array_indices, NULL);
    indices_copy(&a->waiting, &a->all);
    a->n = a->all.n;
    a->parallel = spec->array_parallel ? spec->array_parallel : ARRAY_INDICES_MAX;
    a->fails_fast = spec->array_fails_fast;
    return a;
}

struct job_array *array_copy(const struct job_array *from)
{
    struct job_array *a = xcalloc(1, sizeof(*a));

    a->n = from->n;
    a->parallel = from->parallel;
    a->fails_fast = from->fails_fast;
    indices_copy(&a->all, &from->all);
    indices_copy(&a->waiting, &from->waiting);
    for (size_t i = 0; i < from->parts.n; i++) {
        struct array_part *p;

        if (from->parts.v[i].kind == PART_VERB)
            continue;
        p = vec_push(&a->parts);
        *p = from->parts.v[i];
        indices_copy(&p->set, &from->parts.v[i].set);
    }
    return a;
}

void array_drop_parts(struct job_array *a)
{
    for (size_t i = 0; i < a->parts.n; i++)
        indices_fini(&a->parts.v[i].set);
    a->parts.n = 0;
}

void array_destroy(struct job_array *a)
{
    if (!a)
        return;
    array_drop_parts(a);
    vec_fini(&a->parts);
    indices_fini(&a->all);
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
    return j->array ? j->array->waiting.n + array_held(j->array) : 1;
}

uint32_t array_held(const struct job_array *a)
{
    uint32_t n = 0;

    for (size_t i = 0; i < a->parts.n; i++)
        n += a->parts.v[i].kind == PART_HELD ? a->parts.v[i].set.n : 0;
    return n;
}

struct array_part *array_part_of(const struct job_array *a, enum array_part_kind kind,
                                 uint32_t index)
{
    for (size_t i = 0; i < a->parts.n; i++)
        if (a->parts.v[i].kind == kind && indices_has(&a->parts.v[i].set, index))
            return &a->parts.v[i];
    return NULL;
}

struct array_terms array_terms(const struct job *parent, uint32_t index)
{
    struct array_terms t = {parent->priority_class, parent->priority, parent->max_runtime_us};
    const struct array_part *part = array_part_of(parent->array, PART_TERMS, index);

    if (part && *part->priority_class) {
        t.priority_class = part->priority_class;
        t.priority = part->priority;
    }
    if (part && part->max_runtime_us)
        t.max_runtime_us = part->max_runtime_us;
    return t;
}

static bool precedes(const struct job *parent, uint32_t a, uint32_t b)
{
    int32_t p = array_terms(parent, a).priority, q = array_terms(parent, b).priority;

    if (b == UINT32_MAX)
        return true;
    return p != q ? p > q : a < b;
}

uint32_t array_turn(const struct job *parent, uint32_t index)
{
    const struct indices *waiting = &parent->array->waiting;
    uint32_t n = 1;

    for (size_t i = 0; i < waiting->ranges.n; i++)
        for (uint32_t x = waiting->ranges.v[i].from; x <= waiting->ranges.v[i].to; x++)
            n += x != index && precedes(parent, x, index);
    return n;
}

uint32_t array_first(const struct job *parent)
{
    const struct job_array *a = parent->array;
    uint32_t first = UINT32_MAX;
    struct indices rest, part, left;

    indices_copy(&rest, &a->waiting);
    for (size_t i = 0; i < a->parts.n; i++) {
        if (a->parts.v[i].kind != PART_TERMS)
            continue;
        indices_select(&part, &rest, &a->parts.v[i].set, true);
        indices_select(&left, &rest, &a->parts.v[i].set, false);
        if (part.n && precedes(parent, part.ranges.v[0].from, first))
            first = part.ranges.v[0].from;
        indices_fini(&part);
        indices_fini(&rest);
        rest = left;
    }
    if (rest.n && precedes(parent, rest.ranges.v[0].from, first))
        first = rest.ranges.v[0].from;
    indices_fini(&rest);
    return first;
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

/* The array, or a part of it, was updated since. */
static bool differs(const struct job *parent, const struct job *j)
{
    struct array_terms t = array_terms(parent, j->array_index);

    return j->priority != t.priority || j->max_runtime_us != t.max_runtime_us ||
           (j->is_relaxed ? j->other : j->demand) != parent->demand ||
           strcmp(j->priority_class, t.priority_class) != 0;
}

static enum array_want wants_of(const struct state *s, const struct job *parent,
                                const struct job *j)
{
    bool is_queued = j->bucket || j->claim;

    if (parent->state == JOB_STOPPING)
        return is_ending(j) ? WANTS_NOTHING : WANTS_STOP;
    if (array_part_of(parent->array, PART_VERB, j->array_index))
        return WANTS_VERB;
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
    if (!array_weight(parent) && !a->live.n)
        return WANTS_FINISH;
    if (parent->state != JOB_PENDING || parent->waits.n || !a->waiting.n ||
        a->live.n >= a->parallel)
        return WANTS_NOTHING;
    if (a->next && array_terms(parent, array_first(parent)).priority <= a->next->priority)
        return WANTS_NOTHING;
    return WANTS_BEGIN;
}

/* Does it wait for its first nodes? */
static bool is_new(const struct job *j)
{
    return j->state == JOB_PENDING && j->attempt == (j->claim ? 1 : 0);
}

void array_consider(struct job_array *a, struct job *j)
{
    if (is_new(j) && (!a->next || j->priority > a->next->priority))
        a->next = j;
}

void array_look(struct job_array *a)
{
    a->next = NULL;
    for (size_t i = 0; i < a->live.n; i++)
        array_consider(a, a->live.v[i]);
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
