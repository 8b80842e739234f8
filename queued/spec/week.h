/* SPDX-License-Identifier: Apache-2.0 */
/* week.h - the weekly calendar of tenants: when jobs may start.
 *
 * A tenant with windows is open while one of them is; what closes it closes all below it. Local
 * time is UTC plus the fixed offset of the settings: a week has no hour twice and lacks none, so
 * that what is asked about a week is true of each.
 */
#ifndef QUEUED_SPEC_WEEK_H
#define QUEUED_SPEC_WEEK_H

#include "spec/settings.h"

enum { DAY_MIN = 24 * 60, WEEK_DAYS = 7, WEEK_TEXT_MAX = 96 };
#define WEEK_US (WEEK_DAYS * DAY_MIN * 60 * USEC_PER_SEC)

/* The first window of the tenant itself that is open at t; NULL: none. */
const struct opening_setting *week_window(const struct settings *s, uint32_t tenant, usec_t t);
/* The tenant on the path that is outside its windows at t; IX_NONE: jobs may start. */
uint32_t week_shut(const struct settings *s, uint32_t tenant, usec_t t);
/* The first instant after t at which a window on the path begins or ends; INT64_MAX: none has any.
 */
usec_t week_changes(const struct settings *s, uint32_t tenant, usec_t t);
/* The first instant from t on at which no jobs may start; INT64_MAX: they always may. */
usec_t week_closes(const struct settings *s, uint32_t tenant, usec_t t);
/* Must a job that starts at t have ended when its tenant closes? */
bool week_must_fit(const struct settings *s, uint32_t tenant, usec_t t);
/* The first instant from t on at which a job may start that takes so long; INT64_MAX: never. */
usec_t week_next(const struct settings *s, uint32_t tenant, usec_t t, usec_t takes);
/* The longest that a job may take to start at all; INT64_MAX: any, 0: no window ever opens. */
usec_t week_longest(const struct settings *s, uint32_t tenant);

/* "night: Mon-Fri 20:00-06:00 (jobs fit)" */
const char *week_text(char buf[WEEK_TEXT_MAX], const struct opening_setting *w);
/* "+05:30" */
const char *week_offset_text(char buf[WEEK_TEXT_MAX], int32_t utc_offset_min);

#endif
