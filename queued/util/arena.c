/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - bump allocation in blocks that double up to a limit. */
#include "util/arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

enum { BLOCK_MIN = 1024, BLOCK_MAX = 256 * 1024, KEPT_MAX = 1024 * 1024, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* bytes that follow the header */
    _Alignas(16) unsigned char bytes[];
};

static void begin(struct arena *a, struct arena_block *b)
{
    a->next = b->bytes;
    a->left = b->size;
}

static void add_block(struct arena *a, size_t need)
{
    size_t size = a->blocks ? a->blocks->size * 2 : BLOCK_MIN;
    struct arena_block *b;

    if (size > BLOCK_MAX)
        size = BLOCK_MAX;
    if (size < need)
        size = need;
    b = xmalloc(sizeof(*b) + size);
    b->next = a->blocks;
    b->size = size;
    a->blocks = b;
    begin(a, b);
}

/* The common part of all: nearly always two comparisons and three sums. */
static inline void *take(struct arena *a, size_t size)
{
    size_t need = (size + ALIGN - 1) / ALIGN * ALIGN;
    void *p;

    if (need > a->left || !a->blocks) {
        assert(need >= size); /* no object of ours is as large as the address space */
        add_block(a, need);
    }
    p = a->next;
    a->next += need;
    a->left -= need;
    a->used += need;
    return p;
}

static bool fits(const struct arena *a, size_t size)
{
    return !a->cap || (size <= a->cap && a->used + (size + ALIGN - 1) / ALIGN * ALIGN <= a->cap);
}

void *arena_try(struct arena *a, size_t size)
{
    return fits(a, size) ? take(a, size) : NULL;
}

void *arena_raw(struct arena *a, size_t size)
{
    assert(fits(a, size)); /* arenas with a cap are used through arena_try() */
    return take(a, size);
}

void *arena_alloc(struct arena *a, size_t size)
{
    assert(fits(a, size));
    return memset(take(a, size), 0, size);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
    char *p = arena_raw(a, len + 1);

    memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

void arena_fini(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *b = a->blocks;

        a->blocks = b->next;
        free(b);
    }
    a->left = a->used = 0;
}

void arena_reset(struct arena *a)
{
    size_t size = 0;

    for (const struct arena_block *b = a->blocks; b; b = b->next)
        size += b->size;
    if (a->blocks && a->blocks->next) {
        arena_fini(a);
        add_block(a, size < KEPT_MAX ? size : KEPT_MAX);
    }
    if (a->blocks)
        begin(a, a->blocks);
    a->used = 0;
}
