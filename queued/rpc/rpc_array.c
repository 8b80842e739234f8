/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_array.c - job arrays in answers, and the names of their indices: NAME[3] or ID[3]. */
#include "rpc/rpc_array.h"

#include <stdio.h>
#include <string.h>

#include "rpc/rpc_message.h"
#include "util/str.h"

enum { RANGES_SHOWN = 20 };

const char *rpc_array_split(struct arena *a, const char *what, uint32_t *ret_index)
{
    const char *bracket = strchr(what, '[');
    size_t len = strlen(what);
    struct err err;
    uint64_t index;
    char *name;

    if (!bracket || what[len - 1] != ']')
        return NULL;
    name = arena_strdup(a, bracket + 1);
    name[strlen(name) - 1] = '\0';
    if (parse_u64(name, 0, ARRAY_INDICES_MAX - 1, &index, &err))
        return NULL;
    *ret_index = (uint32_t)index;
    name = arena_strdup(a, what);
    name[bracket - what] = '\0';
    return name;
}

const struct job *rpc_array_job(const struct state *s, const struct job *array, uint32_t index)
{
    char key[LABEL_MAX + 1 + JOB_SHOWN_MAX + 1];
    struct job *j = NULL;

    (void)snprintf(key, sizeof(key), "%s[%u]", array->ns_name, index);
    HASH_FIND(hh_name, s->jobs_by_name, key, strlen(key), j);
    return j;
}

int rpc_array_missing(const struct job *array, uint32_t index, struct err *err)
{
    const struct job_array *a = array->array;

    if (!a)
        return err_set(err, ERR_INVALID, "%s is no job array: name it without an index",
                       array->name);
    if (indices_has(&a->waiting, index))
        return err_set(err, ERR_NOT_FOUND,
                       "index %u of %s has not begun, and is a job from then on: look at %s", index,
                       array->name, array->name);
    if (indices_has(&a->succeeded, index) || indices_has(&a->failed, index))
        return err_set(err, ERR_NOT_FOUND, "index %u of %s has %s; its record has gone", index,
                       array->name, indices_has(&a->failed, index) ? "Failed" : "Succeeded");
    return err_set(err, ERR_NOT_FOUND, "%s has no job of index %u", array->name, index);
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
