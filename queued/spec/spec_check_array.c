/* SPDX-License-Identifier: Apache-2.0 */
/* spec_check_array.c - is a job array acceptable? Pods of an array are numbered over all of its
 * indices, so the last index bounds the replicas.
 */
#include <string.h>

#include "spec/indices.h"
#include "spec/spec_check.h"

/* Each index has a line of its own. */
static int check_params(const struct check *c, uint32_t last)
{
    const struct spec_strings *p = &c->spec->array_params;
    size_t bytes = 0;

    if (p->n && p->n <= last)
        return err_set(
            c->err, ERR_INVALID,
            "spec.array.paramsFrom: has %u lines, the first for index 0; index %u has none", p->n,
            last);
    for (uint32_t i = 0; i < p->n; i++) {
        if (!*p->v[i] || !spec_is_text(p->v[i], ARRAY_PARAMS_BYTES_MAX))
            return err_set(c->err, ERR_INVALID,
                           "spec.array.paramsFrom: the line of index %u is empty or no clean UTF-8",
                           i);
        bytes += strlen(p->v[i]);
    }
    if (bytes > ARRAY_PARAMS_BYTES_MAX)
        return err_set(c->err, ERR_INVALID,
                       "spec.array.paramsFrom: has %zu bytes, at most %d are kept with a job; let "
                       "the lines name files, or part the array",
                       bytes, ARRAY_PARAMS_BYTES_MAX);
    return 0;
}

int spec_check_array(const struct check *c)
{
    const struct spec *s = c->spec;
    struct indices all;
    struct err why;
    uint32_t last;

    if (!s->array_indices && (s->array_parallel || s->array_fails_fast || s->array_params.n))
        return spec_bad(c, "spec.array.indices", "is missing");
    if (!s->array_indices)
        return 0;
    if (indices_parse(&all, s->array_indices, &why))
        return err_set(c->err, ERR_INVALID, "spec.array.indices: %s", why.text);
    last = all.ranges.v[all.ranges.n - 1].to;
    indices_fini(&all);
    for (uint32_t i = 0; i < s->n_roles; i++)
        if ((uint64_t)(last + 1) * s->roles[i].replicas > JOB_PODS_MAX)
            return err_set(c->err, ERR_INVALID,
                           "spec.array.indices: pods are numbered over all indices, and index %u "
                           "with %u replicas is beyond %u; begin at 0, or part it into two arrays",
                           last, s->roles[i].replicas, JOB_PODS_MAX);
    if (s->array_parallel > ARRAY_INDICES_MAX)
        return spec_bad(c, "spec.array.maxParallel", "must be 1 to 10000");
    return check_params(c, last);
}
