/* SPDX-License-Identifier: Apache-2.0 */
/* timers.c - the heap of job timers. */
#include "life/timers.h"

static bool is_earlier(const struct job *a, const struct job *b)
{
    if (a->timer_at != b->timer_at)
        return a->timer_at < b->timer_at;
    return a->id.v < b->id.v;
}

static void put(struct state *s, size_t ix, struct job *j)
{
    s->timers.v[ix] = j;
    j->timer_ix = ix;
}

static void sift_up(struct state *s, size_t ix)
{
    struct job *j = s->timers.v[ix];

    while (ix > 0 && is_earlier(j, s->timers.v[(ix - 1) / 2])) {
        put(s, ix, s->timers.v[(ix - 1) / 2]);
        ix = (ix - 1) / 2;
    }
    put(s, ix, j);
}

static void sift_down(struct state *s, size_t ix)
{
    struct job *j = s->timers.v[ix];

    for (;;) {
        size_t child = 2 * ix + 1;

        if (child >= s->timers.n)
            break;
        if (child + 1 < s->timers.n && is_earlier(s->timers.v[child + 1], s->timers.v[child]))
            child++;
        if (!is_earlier(s->timers.v[child], j))
            break;
        put(s, ix, s->timers.v[child]);
        ix = child;
    }
    put(s, ix, j);
}

static void drop(struct state *s, struct job *j)
{
    size_t ix = j->timer_ix;
    struct job *last = s->timers.v[--s->timers.n];

    j->timer_ix = SIZE_MAX;
    j->timer_at = 0;
    if (last == j)
        return;
    put(s, ix, last);
    sift_up(s, ix);
    sift_down(s, last->timer_ix);
}

void timer_set(struct state *s, struct job *j, usec_t at)
{
    if (at == 0) {
        if (j->timer_ix != SIZE_MAX)
            drop(s, j);
        return;
    }
    j->timer_at = at;
    if (j->timer_ix == SIZE_MAX) {
        *vec_push(&s->timers) = j;
        j->timer_ix = s->timers.n - 1;
    }
    sift_up(s, j->timer_ix);
    sift_down(s, j->timer_ix);
}

struct job *timer_first(const struct state *s)
{
    return s->timers.n ? s->timers.v[0] : NULL;
}
