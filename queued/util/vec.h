/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h - the typed dynamic array, the only container that we write.
 *
 *   VEC(struct job *) jobs = {0};
 *   *vec_push(&jobs) = job;
 *   for (size_t i = 0; i < jobs.n; i++) use(jobs.v[i]);
 *   vec_fini(&jobs);
 *
 * A zeroed VEC is an empty one. Pointers into it are valid until the next push.
 */
#ifndef QUEUED_UTIL_VEC_H
#define QUEUED_UTIL_VEC_H

#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *v;                                                                                   \
        size_t n;                                                                                  \
        size_t room;                                                                               \
    }

/* Make room for `want` elements in all. */
#define vec_reserve(a, want)                                                                       \
    ((want) > (a)->room ? (void)((a)->room = (want) > (a)->room * 2 ? (want) : (a)->room * 2,      \
                                 (a)->v = xrealloc((a)->v, (a)->room * sizeof(*(a)->v)))           \
                        : (void)0)

/* A pointer to a new last element, zeroed. */
#define vec_push(a)                                                                                \
    (vec_reserve((a), (a)->n + 1), memset(&(a)->v[(a)->n], 0, sizeof(*(a)->v)), (a)->n++,          \
     &(a)->v[(a)->n - 1])

/* Remove element i, keeping the order of the others. */
#define vec_remove(a, i)                                                                           \
    (memmove(&(a)->v[(i)], &(a)->v[(i) + 1], ((a)->n - (i)-1) * sizeof(*(a)->v)), (void)(a)->n--)

#define vec_fini(a) (free((a)->v), (a)->v = NULL, (a)->n = 0, (void)((a)->room = 0))

#endif
