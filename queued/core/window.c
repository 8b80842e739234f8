/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - the list of windows, and which of them closes its nodes to whom.
 *
 * Few and short lists: each question walks all windows, and one that asks costs nothing where there
 * are none.
 */
#include "core/window.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/backfill.h"
#include "util/str.h"

enum { WINDOWS_MAX = 256 };

struct windows *windows_create(void)
{
    struct windows *w = xcalloc(1, sizeof(*w));

    w->next = INT64_MAX;
    return w;
}

static void destroy(struct window *w)
{
    vec_fini(&w->nodes);
    free(w);
}

void windows_destroy(struct windows *w)
{
    for (size_t i = 0; i < w->v.n && !w->is_borrowed; i++)
        destroy(w->v.v[i]);
    vec_fini(&w->v);
    vec_fini(&w->closed);
    free(w);
}

void windows_borrow(struct state *s, const struct state *from)
{
    s->windows->is_borrowed = true;
    s->windows->next = from->windows->next;
    for (size_t i = 0; i < from->windows->v.n; i++)
        *vec_push(&s->windows->v) = from->windows->v.v[i];
}

static void set_next(struct windows *w, usec_t now)
{
    w->next = INT64_MAX;
    for (size_t i = 0; i < w->v.n; i++) {
        usec_t at = w->v.v[i]->from > now ? w->v.v[i]->from : w->v.v[i]->to;

        if (at > now && at < w->next)
            w->next = at;
    }
}

struct window *window_find(const struct state *s, const char *name)
{
    for (size_t i = 0; i < s->windows->v.n; i++)
        if (strcmp(s->windows->v.v[i]->name, name) == 0)
            return s->windows->v.v[i];
    return NULL;
}

static bool goes_before(const struct window *a, const struct window *b)
{
    return a->from != b->from ? a->from < b->from : strcmp(a->name, b->name) < 0;
}

/* The next of names that each end with '\n'; false: there is none. */
static bool next_name(const char **p, char ret[NODE_NAME_MAX + 1])
{
    size_t len = strcspn(*p, "\n");

    (void)snprintf(ret, NODE_NAME_MAX + 1, "%.*s", (int)len, *p);
    *p += len + (len > 0);
    return len > 0;
}

void window_make(struct state *s, const struct window *what, const char *nodes)
{
    struct windows *all = s->windows;
    struct window *w = xmalloc(sizeof(*w));
    char name[NODE_NAME_MAX + 1];
    size_t at;

    *w = *what;
    memset(&w->nodes, 0, sizeof(w->nodes));
    w->tenant_ix = *w->tenant ? settings_tenant(s->settings, w->tenant) : IX_NONE;
    while (next_name(&nodes, name)) {
        *vec_push(&w->nodes) = cluster_node_named(&s->cluster, name);
        cluster_name(&s->cluster, w->nodes.v[w->nodes.n - 1]);
    }
    (void)vec_push(&all->v);
    for (at = all->v.n - 1; at > 0 && goes_before(w, all->v.v[at - 1]); at--)
        all->v.v[at] = all->v.v[at - 1];
    all->v.v[at] = w;
    set_next(all, s->now);
    backfill_moved(s);
}

void window_save(const struct window *w, struct effects *fx)
{
    effects_add(fx, EFFECT_SAVE_WINDOW, (struct job_id){0})->u.key =
        arena_strdup(&fx->arena, w->name);
}

void window_drop(struct state *s, struct window *w, struct effects *fx)
{
    size_t at = 0;

    while (s->windows->v.v[at] != w)
        at++;
    vec_remove(&s->windows->v, at);
    window_save(w, fx);
    for (size_t i = 0; i < w->nodes.n; i++)
        cluster_unname(&s->cluster, w->nodes.v[i]);
    destroy(w);
    set_next(s->windows, s->now);
    backfill_moved(s);
}

void windows_sweep(struct state *s, struct effects *fx)
{
    for (size_t i = s->windows->v.n; i-- > 0;)
        if (s->windows->v.v[i]->to <= s->now)
            window_drop(s, s->windows->v.v[i], fx);
}

void windows_tick(struct state *s, usec_t now)
{
    if (now < s->windows->next)
        return;
    set_next(s->windows, now);
    backfill_moved(s);
}

int window_check(const struct state *s, const struct ev_window *ev, struct err *why)
{
    const struct window *w = &ev->window;
    char at[FORMAT_MAX], name[NODE_NAME_MAX + 1];
    const char *nodes = ev->nodes;

    if (w->to <= w->from || w->to <= s->now)
        return err_set(why, ERR_INVALID, "to: %s is not after the begin, or past",
                       format_time(at, w->to));
    if (*w->tenant && settings_tenant(s->settings, w->tenant) == IX_NONE)
        return err_set(why, ERR_NOT_FOUND, "no tenant %s: 'queuectl tenant get' shows them",
                       w->tenant);
    if (window_find(s, w->name))
        return err_set(why, ERR_CONFLICT, "a reservation %s exists: give this one another name",
                       w->name);
    if (s->windows->v.n >= WINDOWS_MAX)
        return err_set(why, ERR_EXHAUSTED, "%d reservations exist: cancel some", WINDOWS_MAX);
    while (next_name(&nodes, name)) {
        const struct node *n = cluster_find(&s->cluster, name);

        if (!n || !n->is_known)
            return err_set(why, ERR_NOT_FOUND, "no node %s: 'queuectl nodes' shows them", name);
    }
    return 0;
}

bool window_is_of(const struct state *s, const struct window *w, const struct job *j)
{
    return settings_is_above(s->settings, w->tenant_ix, j->tenant_ix);
}

static usec_t end_of(const struct job *j, usec_t start)
{
    return job_state_is_active(j->state) ? backfill_end(j, start) : backfill_end_from(j, start);
}

bool window_closes(const struct state *s, const struct window *w, const struct job *j, usec_t start)
{
    if (w->to <= start || end_of(j, start) <= w->from)
        return false;
    return w->from > start || !window_is_of(s, w, j);
}

static void set_bits(const struct window *w, uint64_t *closed)
{
    for (size_t k = 0; k < w->nodes.n; k++)
        closed[w->nodes.v[k] / 64] |= UINT64_C(1) << w->nodes.v[k] % 64;
}

void windows_close(const struct state *s, const struct job *j, usec_t start, uint64_t *closed)
{
    for (size_t i = 0; i < s->windows->v.n; i++)
        if (window_closes(s, s->windows->v.v[i], j, start))
            set_bits(s->windows->v.v[i], closed);
}

void windows_close_all(const struct state *s, uint64_t *closed)
{
    for (size_t i = 0; i < s->windows->v.n; i++)
        set_bits(s->windows->v.v[i], closed);
}

const uint64_t *window_closed(const struct state *s, const struct job *j, usec_t start)
{
    struct windows *all = s->windows;
    size_t words = s->cluster.nodes.n / 64 + 1;
    bool is_any = false;

    for (size_t i = 0; i < all->v.n && !is_any; i++)
        is_any = window_closes(s, all->v.v[i], j, start);
    if (!is_any)
        return NULL;
    vec_reserve(&all->closed, words);
    memset(all->closed.v, 0, words * sizeof(*all->closed.v));
    windows_close(s, j, start, all->closed.v);
    return all->closed.v;
}

usec_t window_changes(const struct state *s, const struct job *j, usec_t start)
{
    usec_t best = INT64_MAX;

    for (size_t i = 0; i < s->windows->v.n; i++) {
        const struct window *w = s->windows->v.v[i];
        usec_t at[] = {backfill_last_start(j, w->from) + 1, w->from, w->to};

        for (size_t k = 0; k < ARRAY_LEN(at); k++)
            if (at[k] > start && at[k] < best)
                best = at[k];
    }
    return best;
}
