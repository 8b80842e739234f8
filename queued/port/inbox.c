/* SPDX-License-Identifier: Apache-2.0 */
/* inbox.c - a ring of events with a fixed maximum. */
#include "port/inbox.h"

#include <stdlib.h>

#include "util/mem.h"

struct inbox {
    size_t max;
    size_t first; /* oldest */
    size_t n;
    struct event events[];
};

struct inbox *inbox_create(size_t max)
{
    struct inbox *b = xcalloc(1, sizeof(*b) + max * sizeof(b->events[0]));

    b->max = max;
    return b;
}

void inbox_destroy(struct inbox *b)
{
    struct event ev;

    if (!b)
        return;
    while (inbox_pop(b, &ev))
        event_fini(&ev);
    free(b);
}

bool inbox_push(struct inbox *b, struct event *ev)
{
    if (b->n == b->max)
        return false;
    b->events[(b->first + b->n++) % b->max] = *ev;
    *ev = (struct event){0};
    return true;
}

bool inbox_pop(struct inbox *b, struct event *ret)
{
    if (b->n == 0)
        return false;
    *ret = b->events[b->first];
    b->events[b->first] = (struct event){0};
    b->n--;
    b->first = b->n ? (b->first + 1) % b->max : 0; /* the same few slots stay in the cache */
    return true;
}

size_t inbox_room(const struct inbox *b)
{
    return b->max - b->n;
}

size_t inbox_count(const struct inbox *b)
{
    return b->n;
}
