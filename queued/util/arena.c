/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - bump allocation in blocks that double up to a limit. */
#include "util/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

enum { BLOCK_MIN = 1024, BLOCK_MAX = 256 * 1024, KEPT_MAX = 1024 * 1024, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* bytes that follow the header */
    size_t used;
    _Alignas(16) unsigned char bytes[];
};

static struct arena_block *add_block(struct arena *a, size_t need)
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
    b->used = 0;
    a->blocks = b;
    return b;
}

void *arena_try_raw(struct arena *a, size_t size)
{
    size_t need = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *b = a->blocks;
    void *p;

    if (need < size || (a->cap && (a->used + need > a->cap)))
        return NULL;
    if (!b || b->size - b->used < need)
        b = add_block(a, need);
    p = b->bytes + b->used;
    b->used += need;
    a->used += need;
    return p;
}

void *arena_try(struct arena *a, size_t size)
{
    void *p = arena_try_raw(a, size);

    return p ? memset(p, 0, size) : NULL;
}

void *arena_raw(struct arena *a, size_t size)
{
    void *p = arena_try_raw(a, size);

    assert(p); /* arenas with a cap are used through arena_try() only */
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return memset(arena_raw(a, size), 0, size);
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
    a->used = 0;
}

void arena_reset(struct arena *a)
{
    size_t size = 0;

    for (const struct arena_block *b = a->blocks; b; b = b->next)
        size += b->size;
    if (a->blocks && a->blocks->next) {
        arena_fini(a);
        (void)add_block(a, size < KEPT_MAX ? size : KEPT_MAX);
    }
    if (a->blocks)
        a->blocks->used = 0;
    a->used = 0;
}
