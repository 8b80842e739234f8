/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - why is this job waiting: one dominant reason with numbers and a next step.
 *
 * Reasons are computed when somebody asks and live nowhere; the fixed precedence is the order of
 * explain.def. Codes are part of the API.
 */
#ifndef QUEUED_VIEW_EXPLAIN_H
#define QUEUED_VIEW_EXPLAIN_H

#include <stdint.h>

#include "core/state.h"
#include "core/window.h"

enum { EXPLAIN_NUMBERS_MAX = 12, EXPLAIN_LINES_MAX = 6, EXPLAIN_LINE_MAX = 255 };

struct explain_number {
    const char *name; /* "free_gpus" */
    int64_t value;
};

struct explain {
    const char *code; /* of explain.def; "" when the job does not wait */
    char text[REASON_TEXT_MAX + 1];
    char next_step[EXPLAIN_LINE_MAX + 1]; /* "" none */
    uint32_t n_numbers;
    struct explain_number numbers[EXPLAIN_NUMBERS_MAX];
    char asks[EXPLAIN_LINE_MAX + 1];    /* "4 nodes x 8 H100, prefers rack" */
    char now[EXPLAIN_LINE_MAX + 1];     /* state of the cluster for this demand */
    char closest[EXPLAIN_LINE_MAX + 1]; /* nearest thing to a fit; "" none */
    char not_it[EXPLAIN_LINE_MAX + 1];  /* what does not block it */
    uint32_t position;                  /* in its tenant, 1..; 0 not waiting */
    uint32_t position_overall;
};

void explain_job(const struct state *s, const struct job *j, usec_t now, struct explain *ret);
/* What holds for this job alone and goes before any verdict of its bucket. */
bool explain_own(const struct state *s, const struct job *j, usec_t now, struct explain *x);
/* explain_array.c: a pending array; an index of an array that has no job yet. */
void explain_array(const struct state *s, const struct job *j, usec_t now, struct explain *x);
void explain_index(const struct state *s, const struct job *array, uint32_t index, usec_t now,
                   struct explain *ret);

/* explain_tenant.c: the tenant is stopped; a limit of the tenant or of its user is full, or too
 * small for ever; it is not preemptible and the quota is full; it goes beyond the quota and others
 * keep what is free. */
bool explain_stopped(const struct state *s, const struct job *j, struct explain *x);
/* No window of its tenant is open, or not for long enough. */
bool explain_opening(const struct state *s, const struct job *j, usec_t now, struct explain *x);
bool explain_limit(const struct state *s, const struct job *j, struct explain *x, bool ever);
bool explain_quota(const struct state *s, const struct job *j, struct explain *x);
bool explain_unlent(const struct state *s, const struct job *j, struct explain *x);
/* Another user of the tenant goes first, since the share of this one's would be larger. */
void explain_users(const struct state *s, const struct job *j, struct explain *x);

/* explain_gang.c: what binds its hosts together. */
bool explain_driver(const struct state *s, const struct demand *d, struct explain *x);
bool explain_licences(const struct state *s, const struct job *j, struct explain *x);
bool explain_spread(const struct state *s, const struct demand *d, struct explain *x);

/* explain_time.c: a gang that fits, but for the room that is kept for another. */
bool explain_claim(const struct state *s, const struct job *j, usec_t now, struct explain *x);
bool explain_reserved(const struct state *s, const struct job *j, usec_t now, struct explain *x);
/* explain_window.c: the same, but for a reservation of an operator. */
bool explain_window(const struct state *s, const struct job *j, usec_t now, struct explain *x);
/* Does a gang that has nodes of the window go on into it? */
bool window_is_overlapped(const struct state *s, const struct window *w, const struct job *j);
/* "jobs that may still run then: a until 14:00", to be freed; NULL: none. */
char *window_warning(const struct state *s, const struct window *w);

#endif
