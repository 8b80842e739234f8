/* SPDX-License-Identifier: Apache-2.0 */
/* explain_window.c - what is said of reservations of operators: to a gang that one keeps from its
 * nodes, and to the operator whose new one finds gangs there.
 */
#include <stdio.h>

#include "core/backfill.h"
#include "life/job_life.h"
#include "util/str.h"
#include "view/explain.h"

enum { NAMED_MAX = 3 };

/* Nodes of the window that the gang could use else. */
static uint32_t nodes_for(const struct state *s, const struct window *w, const struct job *j)
{
    uint32_t nodes = 0;

    for (size_t k = 0; k < w->nodes.n; k++) {
        const struct node *n = cluster_node(&s->cluster, w->nodes.v[k]);
        bool is_fit = false;

        for (uint32_t r = 0; n && n->is_usable && r < j->demand->n_roles; r++)
            is_fit |= role_allows(&j->demand->roles[r], n);
        nodes += is_fit;
    }
    return nodes;
}

static void say_step(const struct window *w, usec_t now, usec_t longest, struct explain *x)
{
    char run[FORMAT_MAX];

    if (w->from <= now)
        (void)snprintf(x->next_step, sizeof(x->next_step), "starts after it, or on other nodes");
    else if (longest >= 60 * USEC_PER_SEC)
        (void)snprintf(x->next_step, sizeof(x->next_step),
                       "a maxRuntime of at most %s would end before it",
                       format_duration(run, longest / (60 * USEC_PER_SEC) * 60 * USEC_PER_SEC));
    else
        (void)snprintf(x->next_step, sizeof(x->next_step),
                       "starts after it, or on other nodes: no run is short enough any more");
}

bool explain_window(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    const struct window *w = NULL;
    usec_t needs = backfill_end_from(j, now) - now, longest;
    char from[FORMAT_MAX], to[FORMAT_MAX], run[FORMAT_MAX];
    uint32_t nodes = 0;

    for (size_t i = 0; i < s->windows->v.n && j->bucket->is_shut && !nodes; i++) {
        w = s->windows->v.v[i];
        nodes = window_closes(s, w, j, now) ? nodes_for(s, w, j) : 0;
    }
    if (!nodes)
        return false;
    longest = w->from - now - (needs - j->max_runtime_us);
    x->code = *w->tenant ? "ReservedForTenant" : "Maintenance";
    (void)snprintf(x->text, sizeof(x->text),
                   "%u nodes are reserved for %s (%.63s) from %s to %s; this job may take %s",
                   nodes, *w->tenant ? w->tenant : "maintenance", w->name,
                   format_time(from, w->from), format_time(to, w->to), format_duration(run, needs));
    say_step(w, now, longest, x);
    x->numbers[x->n_numbers++] = (struct explain_number){"reserved_nodes", nodes};
    x->numbers[x->n_numbers++] =
        (struct explain_number){"window_s", (w->from > now ? w->from - now : 0) / USEC_PER_SEC};
    x->numbers[x->n_numbers++] =
        (struct explain_number){"window_end_s", (w->to - now) / USEC_PER_SEC};
    x->numbers[x->n_numbers++] = (struct explain_number){"needed_s", needs / USEC_PER_SEC};
    return true;
}

bool window_is_overlapped(const struct state *s, const struct window *w, const struct job *j)
{
    if (backfill_end(j, 0) <= w->from || (w->from <= s->now && window_is_of(s, w, j)))
        return false;
    for (uint32_t i = 0; i < j->n_members; i++)
        for (size_t k = 0; k < w->nodes.n; k++)
            if (w->nodes.v[k] == j->members[i].node_ix && job_member_holds(&j->members[i]))
                return true;
    return false;
}

char *window_warning(const struct state *s, const struct window *w)
{
    struct str b = {0};
    size_t n = 0;

    for (size_t i = 0; i < s->active.n; i++) {
        const struct job *j = s->active.v[i];
        char end[FORMAT_MAX];

        if (!window_is_overlapped(s, w, j) || n++ >= NAMED_MAX)
            continue;
        str_addf(&b, "%s%.45s until %s", n > 1 ? ", " : "jobs that may still run then: ", j->name,
                 format_time(end, backfill_end(j, 0)));
    }
    if (n > NAMED_MAX)
        str_addf(&b, " and %zu more", n - NAMED_MAX);
    return n ? str_take(&b) : NULL;
}
