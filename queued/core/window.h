/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - nodes that an operator keeps from a time to a time: for a tenant, or for nobody, which
 * is maintenance.
 *
 * A gang may use such a node when its latest end (contracts.md 2) is not after the begin, or when
 * it is of that tenant or one below it and starts while the window runs. Gangs that were placed
 * before the window was made are left alone. At its end a window is gone by itself.
 */
#ifndef QUEUED_CORE_WINDOW_H
#define QUEUED_CORE_WINDOW_H

#include "core/state.h"

struct windows {
    VEC(struct window *) v; /* by begin, then name */
    usec_t next;            /* begin or end that comes next; INT64_MAX: none */
    bool is_borrowed;       /* they are another state's */
    VEC(uint64_t) closed;   /* of window_closed() */
};

struct windows *windows_create(void);
void windows_destroy(struct windows *w);
/* Let a state see those of another, which lives longer and does not change meanwhile. */
void windows_borrow(struct state *s, const struct state *from);

struct window *window_find(const struct state *s, const char *name); /* NULL: no such */
/* May such a window be made? */
int window_check(const struct state *s, const struct ev_window *ev, struct err *why);
/* Make it, of what a client asked for or a record holds; node names, each ended by '\n'. */
void window_make(struct state *s, const struct window *what, const char *nodes);
void window_save(const struct window *w, struct effects *fx);
void window_drop(struct state *s, struct window *w, struct effects *fx);
/* Forget those whose end is past. */
void windows_sweep(struct state *s, struct effects *fx);
/* Before a cycle: one that has begun or ended lets sleepers be looked at again. */
void windows_tick(struct state *s, usec_t now);

/* Is the gang of the tenant that the window is for? */
bool window_is_of(const struct state *s, const struct window *w, const struct job *j);
/* May it not use the nodes of the window when it starts at `start` (one that has nodes: at all)? */
bool window_closes(const struct state *s, const struct window *w, const struct job *j,
                   usec_t start);
/* Set the bits (by node_ix) of nodes that are closed to it by any. */
void windows_close(const struct state *s, const struct job *j, usec_t start, uint64_t *closed);
/* Those of all windows, whoever it is. */
void windows_close_all(const struct state *s, uint64_t *closed);
/* The same as a set of those that are closed to a gang, valid until the next call; NULL: none. */
const uint64_t *window_closed(const struct state *s, const struct job *j, usec_t start);
/* The first instant after `start` at which that set may be another for one that waits; INT64_MAX:
 * never. */
usec_t window_changes(const struct state *s, const struct job *j, usec_t start);
static inline bool window_has(const uint64_t *closed, uint32_t node_ix)
{
    return closed && closed[node_ix / 64] >> node_ix % 64 & 1;
}

#endif
