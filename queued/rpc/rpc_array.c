/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_array.c - job arrays in answers, and the names of their indices: NAME[3] or ID[3]. */
#include "rpc/rpc_array.h"

#include <stdio.h>
#include <string.h>

#include "rpc/rpc_message.h"
#include "util/str.h"

enum { RANGES_SHOWN = 20 };

const char *rpc_array_split(struct arena *a, const char *what, const char **ret_indices)
{
    const char *bracket = strchr(what, '[');
    size_t len = strlen(what);
    char *text;

    if (!bracket || what[len - 1] != ']')
        return NULL;
    text = arena_strdup(a, what);
    text[len - 1] = text[bracket - what] = '\0';
    *ret_indices = text + (bracket - what) + 1;
    return text;
}

int rpc_array_part(const struct state *s, const struct job **array, const char *indices,
                   struct indices *ret, struct err *err)
{
    const struct job *j = NULL;
    struct indices none;
    struct err why;

    *ret = (struct indices){.n = 0};
    if (!(*array)->array)
        return rpc_array_missing(*array, 0, err);
    if (indices_parse(ret, indices, &why))
        return err_set(err, ERR_INVALID, "%s[%.20s]: %s", (*array)->name, indices, why.text);
    indices_select(&none, ret, &(*array)->array->all, false);
    if (none.n) {
        (void)err_set(err, ERR_INVALID, "%s has no index %u", (*array)->name,
                      none.ranges.v[0].from);
        indices_fini(&none);
        indices_fini(ret);
        return -1;
    }
    if (ret->n == 1)
        j = rpc_array_job(s, *array, ret->ranges.v[0].from);
    if (!j)
        return 0;
    indices_fini(ret);
    *array = j;
    return 0;
}

const struct job *rpc_array_job(const struct state *s, const struct job *array, uint32_t index)
{
    char key[LABEL_MAX + 1 + JOB_SHOWN_MAX + 1];
    struct job *j = NULL;

    (void)snprintf(key, sizeof(key), "%s[%u]", array->ns_name, index);
    HASH_FIND(hh_name, s->jobs_by_name, key, strlen(key), j);
    return j;
}

/* Of an index without a job. JOB_PENDING: it waits. */
static enum job_state state_of(const struct job_array *a, uint32_t index)
{
    if (indices_has(&a->waiting, index))
        return JOB_PENDING;
    if (array_part_of(a, PART_HELD, index))
        return JOB_HELD;
    if (indices_has(&a->succeeded, index))
        return JOB_SUCCEEDED;
    return indices_has(&a->failed, index) ? JOB_FAILED : JOB_CANCELLED;
}

int rpc_array_missing(const struct job *array, uint32_t index, struct err *err)
{
    const struct job_array *a = array->array;
    enum job_state state;

    if (!a)
        return err_set(err, ERR_INVALID, "%s is no job array: name it without an index",
                       array->name);
    if (!indices_has(&a->all, index))
        return err_set(err, ERR_NOT_FOUND, "%s has no index %u", array->name, index);
    state = state_of(a, index);
    if (state == JOB_PENDING || state == JOB_HELD)
        return err_set(err, ERR_NOT_FOUND,
                       "index %u of %s has not begun, and is a job from then on: look at %s", index,
                       array->name, array->name);
    return err_set(err, ERR_NOT_FOUND, "index %u of %s has ended (%s); its record has gone", index,
                   array->name, job_state_name(state));
}

enum job_state rpc_array_state(const struct state *s, const struct job *array,
                               const struct indices *part)
{
    enum job_state ret = 0;

    for (size_t i = 0; i < part->ranges.n; i++)
        for (uint32_t x = part->ranges.v[i].from; x <= part->ranges.v[i].to; x++) {
            const struct job *j = rpc_array_job(s, array, x);
            enum job_state is = j ? j->state : state_of(array->array, x);

            if (ret && is != ret)
                return array_shown_state(array);
            ret = is;
        }
    return ret;
}

void rpc_array_show(struct arena *a, const struct job *array, uint32_t index, Queued__V1__Job *m)
{
    enum job_state state = state_of(array->array, index);
    bool is_over = state != JOB_PENDING && state != JOB_HELD;
    char name[JOB_SHOWN_MAX + 1];

    (void)snprintf(name, sizeof(name), "%s[%u]", array->name, index);
    m->array_id = m->id;
    m->id = NULL; /* it has one when it begins */
    m->name = arena_strdup(a, name);
    m->array = NULL;
    m->has_array_index = true;
    m->array_index = index;
    m->state = arena_strdup(a, job_state_name(state));
    m->outcome = NULL;
    m->priority_class = arena_strdup(a, array_terms(array, index).priority_class);
    m->has_running_us = m->has_ended_us = m->has_predicted_start_us = m->has_exit_code = false;
    m->has_position = false;
    m->has_predicted_last_start_us = m->has_predicted_end_us = false;
    m->has_predicted_usual_start_us = false;
    m->predicted_basis = m->predicted_usual_basis = NULL;
    if (is_over)
        m->reason_code = m->reason_text = NULL; /* they went with its record */
}

static char *text_of(struct arena *a, const struct indices *set)
{
    struct str s = {0};
    char *ret;

    indices_format(&s, set, RANGES_SHOWN);
    ret = set->n ? arena_strdup(a, str_text(&s)) : NULL;
    str_fini(&s);
    return ret;
}

/* Those that have not ended. */
static char *open_of(struct arena *a, const struct job_array *from)
{
    struct indices open = {.n = 0};
    char *ret;

    for (size_t i = 0; i < from->waiting.ranges.n; i++)
        *vec_push(&open.ranges) = from->waiting.ranges.v[i];
    open.n = from->waiting.n;
    for (size_t i = 0; i < from->parts.n; i++)
        if (from->parts.v[i].kind == PART_HELD)
            indices_join(&open, &from->parts.v[i].set);
    for (size_t i = 0; i < from->live.n; i++)
        (void)indices_add(&open, from->live.v[i]->array_index);
    ret = text_of(a, &open);
    indices_fini(&open);
    return ret;
}

static Queued__V1__Array *array_to(struct arena *a, const struct job_array *from)
{
    Queued__V1__Array *m = arena_alloc(a, sizeof(*m));

    queued__v1__array__init(m);
    m->has_indices = m->has_succeeded = m->has_failed = m->has_cancelled = true;
    m->has_running = m->has_waiting = true;
    m->indices = from->n;
    m->succeeded = from->succeeded.n;
    m->failed = from->failed.n;
    m->cancelled = from->n_cancelled;
    m->running = from->n_running;
    m->waiting = from->n - m->succeeded - m->failed - m->cancelled - m->running;
    m->open = open_of(a, from);
    m->failed_indices = text_of(a, &from->failed);
    return m;
}

void rpc_array_fill(struct arena *a, const struct state *s, const struct job *j, Queued__V1__Job *m)
{
    const struct job *parent = array_parent(s, j);
    char id[JOB_ID_TEXT + 1];

    m->has_array_index = j->array_id.v > 0;
    m->array_index = j->array_index;
    if (m->has_array_index)
        m->array_id = arena_strdup(a, job_id_format(id, parent ? parent->id : j->array_id));
    if (j->array)
        m->array = array_to(a, j->array);
}
