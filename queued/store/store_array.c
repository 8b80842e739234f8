/* SPDX-License-Identifier: Apache-2.0 */
/* store_array.c - what a job's record keeps of a job array: sets of indices, as pairs of the first
 * and last of a range.
 */
#include "store/store_pack.h"
#include "util/mem.h"

typedef Queued__Record__JobRecord job_record;

static uint32_t *make_indices(const struct indices *s, size_t *ret_n, struct arena *a)
{
    uint32_t *v = arena_alloc(a, s->ranges.n * 2 * sizeof(*v));

    for (size_t i = 0; i < s->ranges.n; i++) {
        v[2 * i] = s->ranges.v[i].from;
        v[2 * i + 1] = s->ranges.v[i].to;
    }
    *ret_n = s->ranges.n * 2;
    return v;
}

static Queued__Record__ArrayPartRecord *make_part(const struct array_part *from, struct arena *a)
{
    Queued__Record__ArrayPartRecord *r = arena_alloc(a, sizeof(*r));

    queued__record__array_part_record__init(r);
    PACK(r, kind, from->kind);
    PACK(r, verb, from->verb);
    r->indices = make_indices(&from->set, &r->n_indices, a);
    r->text = store_text(from->text);
    r->priority_class = store_text(from->priority_class);
    PACK(r, priority, from->priority);
    PACK(r, max_runtime_us, from->max_runtime_us);
    return r;
}

void store_make_array(job_record *r, const struct job *j, struct arena *a)
{
    const struct job_array *from = j->array;

    PACK(r, array, j->array_id.v);
    PACK(r, array_index, j->array_index);
    if (!from)
        return;
    r->array_waiting = make_indices(&from->waiting, &r->n_array_waiting, a);
    r->array_succeeded = make_indices(&from->succeeded, &r->n_array_succeeded, a);
    r->array_failed = make_indices(&from->failed, &r->n_array_failed, a);
    PACK(r, array_cancelled, from->n_cancelled);
    r->array_parts = arena_alloc(a, from->parts.n * sizeof(*r->array_parts));
    for (size_t i = 0; i < from->parts.n; i++)
        r->array_parts[r->n_array_parts++] = make_part(&from->parts.v[i], a);
}

static int take_indices(struct indices *ret, const uint32_t *v, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i += 2) {
        if (i + 1 == n || v[i] > v[i + 1] || v[i + 1] >= ARRAY_INDICES_MAX ||
            (i && v[i] <= v[i - 1]))
            return err_set(err, ERR_INVALID, "range %zu of its indices is none", i / 2);
        *vec_push(&ret->ranges) = (struct index_range){v[i], v[i + 1]};
        ret->n += v[i + 1] - v[i] + 1;
    }
    return 0;
}

static int take_part(struct array_part *p, const Queued__Record__ArrayPartRecord *r,
                     struct err *err)
{
    *p = (struct array_part){.kind = (enum array_part_kind)r->kind,
                             .verb = (enum job_verb)r->verb,
                             .priority = r->priority,
                             .max_runtime_us = r->max_runtime_us};
    if (r->kind > PART_TERMS || r->verb > VERB_PREEMPT || !r->n_indices)
        return err_set(err, ERR_INVALID, "a part of its indices is of kind %u, verb %u", r->kind,
                       r->verb);
    return store_take_text(p->text, sizeof(p->text), r->text, "a part's text", err) < 0 ||
                   store_take_text(p->priority_class, sizeof(p->priority_class), r->priority_class,
                                   "a part's class", err) < 0 ||
                   take_indices(&p->set, r->indices, r->n_indices, err) < 0
               ? -1
               : 0;
}

static int take_parts(struct job_array *a, const job_record *r, struct err *err)
{
    if (r->n_array_parts > ARRAY_PARTS_MAX)
        return err_set(err, ERR_INVALID, "%zu parts of its indices", r->n_array_parts);
    for (size_t i = 0; i < r->n_array_parts; i++)
        if (take_part(vec_push(&a->parts), r->array_parts[i], err))
            return -1;
    return 0;
}

int store_take_array(struct job *j, const job_record *r, struct err *err)
{
    struct job_array *a;

    j->array_id.v = r->array;
    j->array_index = r->array_index;
    if (r->array >= j->id.v || r->array_index >= ARRAY_INDICES_MAX)
        return err_set(err, ERR_INVALID, "index %u of an array that came later", r->array_index);
    if (!r->n_array_waiting && !r->n_array_succeeded && !r->n_array_failed && !r->array_cancelled &&
        !r->n_array_parts)
        return 0;
    a = j->array = xcalloc(1, sizeof(*a));
    a->n_cancelled = r->array_cancelled;
    return take_indices(&a->waiting, r->array_waiting, r->n_array_waiting, err) < 0 ||
                   take_indices(&a->succeeded, r->array_succeeded, r->n_array_succeeded, err) < 0 ||
                   take_indices(&a->failed, r->array_failed, r->n_array_failed, err) < 0 ||
                   take_parts(a, r, err)
               ? -1
               : 0;
}
