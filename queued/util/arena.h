/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that is freed all at once: scratch of a cycle, strings of one record.
 *
 * A zeroed arena is empty. With a cap (bytes in all; 0: none) arena_try() answers NULL when
 * it is reached, which is how decoding of foreign bytes is bounded.
 */
#ifndef QUEUED_UTIL_ARENA_H
#define QUEUED_UTIL_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    unsigned char *next;        /* free from here to the end of the newest */
    size_t left;                /* bytes */
    size_t used;                /* bytes handed out, in all */
    size_t cap;                 /* bytes; 0: no cap */
};

/* Zeroed memory, aligned for any type. */
void *arena_alloc(struct arena *a, size_t size);
/* The same, not zeroed. */
void *arena_raw(struct arena *a, size_t size);
/* Not zeroed either, for who writes all of it; NULL when the cap would be passed. */
void *arena_try(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
/* Forget all allocations. Keeps one block as large as all that there were, at most 1 MiB, so that
 * who needs as much again allocates nothing. */
void arena_reset(struct arena *a);
void arena_fini(struct arena *a);

#endif
