/* SPDX-License-Identifier: Apache-2.0 */
/* week.c - windows as runs of minutes in a week that begins on Monday; the last may run into the
 * next week. */
#include "spec/week.h"

#include <stdio.h>

#include "util/str.h"

#define MINUTE (60 * USEC_PER_SEC)

enum { EPOCH_DAY = 3 /* 1970-01-01 was a Thursday */ };

static const char day_names[WEEK_DAYS][4] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/* Since the begin of the local week. */
static usec_t position(const struct settings *s, usec_t t)
{
    usec_t at = (t + (s->utc_offset_min + EPOCH_DAY * DAY_MIN) * MINUTE) % WEEK_US;

    return at < 0 ? at + WEEK_US : at;
}

static usec_t length(const struct opening_setting *w)
{
    uint32_t to = w->to_min > w->from_min ? w->to_min : w->to_min + DAY_MIN;

    return (to - w->from_min) * MINUTE;
}

/* How long ago it last began on this day of the week. */
static usec_t since(const struct opening_setting *w, int day, usec_t at)
{
    return (at + WEEK_US - (day * DAY_MIN + (usec_t)w->from_min) * MINUTE) % WEEK_US;
}

static bool is_on(const struct opening_setting *w, int day)
{
    return w->days >> day & 1;
}

const struct opening_setting *week_window(const struct settings *s, uint32_t tenant, usec_t t)
{
    const struct tenant_setting *of = &s->tenants[tenant];
    usec_t at = position(s, t);

    for (uint32_t i = 0; i < of->n_windows; i++)
        for (int day = 0; day < WEEK_DAYS; day++)
            if (is_on(&of->windows[i], day) &&
                since(&of->windows[i], day, at) < length(&of->windows[i]))
                return &of->windows[i];
    return NULL;
}

uint32_t week_shut(const struct settings *s, uint32_t tenant, usec_t t)
{
    while (tenant != IX_NONE && (!s->tenants[tenant].n_windows || week_window(s, tenant, t)))
        tenant = s->tenants[tenant].parent;
    return tenant;
}

static usec_t window_changes(const struct opening_setting *w, usec_t at)
{
    usec_t best = INT64_MAX;

    for (int day = 0; day < WEEK_DAYS; day++) {
        usec_t gone = since(w, day, at), left = length(w) - gone;

        if (!is_on(w, day))
            continue;
        if (left <= 0)
            left = WEEK_US - gone;
        best = left < best ? left : best;
    }
    return best;
}

usec_t week_changes(const struct settings *s, uint32_t tenant, usec_t t)
{
    usec_t best = INT64_MAX, at = position(s, t);

    for (; tenant != IX_NONE; tenant = s->tenants[tenant].parent)
        for (uint32_t i = 0; i < s->tenants[tenant].n_windows; i++) {
            usec_t in = window_changes(&s->tenants[tenant].windows[i], at);

            best = in < best ? in : best;
        }
    return best == INT64_MAX ? best : t + best;
}

usec_t week_closes(const struct settings *s, uint32_t tenant, usec_t t)
{
    usec_t at = t;

    while (at - t <= WEEK_US && week_shut(s, tenant, at) == IX_NONE) {
        at = week_changes(s, tenant, at);
        if (at == INT64_MAX)
            return at;
    }
    return at - t <= WEEK_US ? at : INT64_MAX;
}

bool week_must_fit(const struct settings *s, uint32_t tenant, usec_t t)
{
    bool must = false;

    for (; tenant != IX_NONE && !must; tenant = s->tenants[tenant].parent) {
        const struct opening_setting *w = week_window(s, tenant, t);

        must = w && w->must_fit;
    }
    return must;
}

/* How long a job that starts at t may take; 0: none may start. */
static usec_t room_at(const struct settings *s, uint32_t tenant, usec_t t)
{
    usec_t closes = week_closes(s, tenant, t);

    if (closes > t && !week_must_fit(s, tenant, t))
        return INT64_MAX;
    return closes == INT64_MAX ? closes : closes - t;
}

usec_t week_next(const struct settings *s, uint32_t tenant, usec_t t, usec_t takes)
{
    usec_t least = takes > 0 ? takes : 1, at = t;

    while (at - t <= WEEK_US) { /* then it is as it was */
        if (room_at(s, tenant, at) >= least)
            return at;
        at = week_changes(s, tenant, at);
        if (at == INT64_MAX)
            break;
    }
    return INT64_MAX;
}

usec_t week_longest(const struct settings *s, uint32_t tenant)
{
    usec_t best = 0;

    for (usec_t at = 0; at <= WEEK_US && best < INT64_MAX; at = week_changes(s, tenant, at)) {
        usec_t room = room_at(s, tenant, at);

        best = room > best ? room : best;
    }
    return best;
}

static void add_days(struct str *b, uint8_t days)
{
    for (int day = 0, last; day < WEEK_DAYS; day = last + 1) {
        last = day;
        if (!(days >> day & 1))
            continue;
        while (last + 1 < WEEK_DAYS && days >> (last + 1) & 1)
            last++;
        str_addf(b, " %s", day_names[day]);
        if (last > day)
            str_addf(b, "-%s", day_names[last]);
    }
}

const char *week_text(char buf[WEEK_TEXT_MAX], const struct opening_setting *w)
{
    struct str b = {0};

    str_addf(&b, "%s:", w->name);
    add_days(&b, w->days);
    str_addf(&b, " %02u:%02u-%02u:%02u%s", w->from_min / 60, w->from_min % 60, w->to_min / 60,
             w->to_min % 60, w->must_fit ? " (jobs fit)" : "");
    (void)str_copy(buf, WEEK_TEXT_MAX, str_text(&b));
    str_fini(&b);
    return buf;
}

const char *week_offset_text(char buf[WEEK_TEXT_MAX], int32_t utc_offset_min)
{
    uint32_t min = (uint32_t)(utc_offset_min < 0 ? -utc_offset_min : utc_offset_min);

    (void)snprintf(buf, WEEK_TEXT_MAX, "%c%02u:%02u", utc_offset_min < 0 ? '-' : '+', min / 60,
                   min % 60);
    return buf;
}
