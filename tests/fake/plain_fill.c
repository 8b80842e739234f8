/* SPDX-License-Identifier: Apache-2.0 */
/* plain_fill.c - the plainest way to fill a run of hosts. */
#include "plain_fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *plain_path(const struct plain_host *h, uint32_t level, char buf[64])
{
    size_t len = 0;

    buf[0] = '\0';
    for (uint32_t l = 0; l <= level && l < PLAIN_LEVELS; l++)
        if (h->label[l])
            len += (size_t)snprintf(buf + len, 64 - len, "\x1e%u\x1f%s", (unsigned)l, h->label[l]);
    return buf;
}

bool plain_is_same(const struct plain_host *a, const struct plain_host *b, uint32_t level)
{
    char x[64], y[64];

    return a->label[level] && b->label[level] &&
           strcmp(plain_path(a, level, x), plain_path(b, level, y)) == 0;
}

static int by_slots(const void *a, const void *b)
{
    const struct plain_host *x = *(struct plain_host *const *)a,
                            *y = *(struct plain_host *const *)b;

    if (x->slots != y->slots)
        return x->slots < y->slots ? -1 : 1;
    if (x->free != y->free)
        return x->free < y->free ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* The fewest hosts, evenly, on the fullest that hold a part; where that cannot be, the biggest. */
static void fill_hosts(struct plain_host **v, uint32_t n, uint32_t role, uint32_t want)
{
    uint32_t most[PLAIN_HOSTS_MAX] = {0}, hosts = 0, held = 0, left = want;

    qsort(v, n, sizeof(*v), by_slots);
    for (uint32_t i = n; held < want; hosts++)
        held += v[--i]->slots;
    for (uint32_t part = want / hosts + 1, times = want % hosts, turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < n && times; i++) {
            if (v[i]->slots < part || most[i])
                continue;
            most[i] = part;
            left -= part;
            times--;
        }
        part = want / hosts;
        times = turn ? times : hosts - want % hosts;
    }
    for (uint32_t i = 0; i < n && !left; i++)
        v[i]->put[role] += most[i];
    while (left && want) {
        struct plain_host *biggest = NULL;

        for (uint32_t i = 0; i < n; i++)
            if (!v[i]->put[role] && v[i]->slots &&
                (!biggest || v[i]->slots > biggest->slots ||
                 (v[i]->slots == biggest->slots && v[i] < biggest)))
                biggest = v[i];
        biggest->put[role] = want < biggest->slots ? want : biggest->slots;
        want -= biggest->put[role];
    }
}

struct part {
    struct plain_host *v[PLAIN_HOSTS_MAX];
    uint32_t n, slots;
    int64_t free;
};

/* Does a go before b: what holds all before what does not, then the tightest of those or the
 * largest of these, then the fullest. */
static bool is_better(const struct part *a, const struct part *b, uint32_t want)
{
    bool holds = a->slots >= want;

    if (holds != (b->slots >= want))
        return holds;
    if (a->slots != b->slots)
        return holds ? a->slots < b->slots : a->slots > b->slots;
    return a->free < b->free;
}

void plain_fill(struct plain_host **v, uint32_t n, uint32_t level, uint32_t role, uint32_t want)
{
    struct part parts[PLAIN_HOSTS_MAX] = {0};
    uint32_t n_parts = 0;

    if (level == PLAIN_LEVELS) {
        fill_hosts(v, n, role, want);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct part *p = n_parts ? &parts[n_parts - 1] : NULL;

        if (!p || !plain_is_same(p->v[0], v[i], level))
            p = &parts[n_parts++];
        p->v[p->n++] = v[i];
        p->slots += v[i]->slots;
        p->free += v[i]->free;
    }
    while (want) {
        struct part *best = NULL;
        uint32_t some;

        for (uint32_t i = 0; i < n_parts; i++)
            if (parts[i].slots && (!best || is_better(&parts[i], best, want)))
                best = &parts[i];
        some = best->slots < want ? best->slots : want;
        plain_fill(best->v, best->n, level + 1, role, some);
        best->slots = 0;
        want -= some;
    }
}
