/* SPDX-License-Identifier: Apache-2.0 */
/* prop_week.c - the calendar of tenants against one that looks at each minute of a fortnight.
 *
 * The plain one knows days and clocks only: of the local day and the one before it, does the window
 * begin there, and has it ended?
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec/week.h"
#include "util/mem.h"

#include "../fake/fake_site.h"
#include "../sim/rng.h"

#define MINUTE (60 * USEC_PER_SEC)

enum { SEEDS = 40, ASKED = 200, MINUTES = 3 * WEEK_DAYS * DAY_MIN };

struct look {
    struct settings settings;
    struct rng rng;
    usec_t from; /* of the first minute */
    uint32_t leaf;
    bool is_open[MINUTES], must_fit[MINUTES];
};

static void some_window(struct opening_setting *w, struct rng *g)
{
    static const uint32_t clocks[] = {0, 360, 480, 720, 1080, 1200, 1435};

    *w = (struct opening_setting){.days = (uint8_t)rng_between(g, 1, 127),
                                  .from_min = clocks[rng_below(g, 7)],
                                  .must_fit = rng_one_in(g, 3)};
    w->to_min = rng_one_in(g, 3) ? DAY_MIN : clocks[rng_below(g, 7)];
    if (w->to_min == w->from_min)
        w->to_min = w->from_min + 5;
    if (rng_one_in(g, 6)) /* all the time */
        *w = (struct opening_setting){.days = 127, .to_min = DAY_MIN};
}

/* Monday is 0; the plain way to the day of a date is to count days from a known Monday. */
static bool plain_is_on(const struct opening_setting *w, int64_t local_min)
{
    int64_t monday = INT64_C(4) * DAY_MIN; /* 1970-01-05 */
    int64_t day = (local_min - monday) / DAY_MIN, clock = (local_min - monday) % DAY_MIN;
    bool today = w->days >> (day % WEEK_DAYS) & 1;
    bool yesterday = w->days >> ((day + WEEK_DAYS - 1) % WEEK_DAYS) & 1;

    if (w->to_min > w->from_min)
        return today && clock >= w->from_min && clock < w->to_min;
    return (today && clock >= w->from_min) || (yesterday && clock < w->to_min);
}

static void tabulate(struct look *k)
{
    for (int i = 0; i < MINUTES; i++) {
        int64_t local = k->from / MINUTE + i + k->settings.utc_offset_min;

        k->is_open[i] = true;
        k->must_fit[i] = false;
        for (uint32_t t = k->leaf; t != IX_NONE; t = k->settings.tenants[t].parent) {
            const struct tenant_setting *s = &k->settings.tenants[t];
            uint32_t w = 0;

            while (w < s->n_windows && !plain_is_on(&s->windows[w], local))
                w++;
            k->is_open[i] &= w < s->n_windows || !s->n_windows;
            k->must_fit[i] |= w < s->n_windows && s->windows[w].must_fit;
        }
    }
}

static void make(struct look *k, uint64_t seed)
{
    k->rng = (struct rng){seed};
    site_settings_init(&k->settings);
    k->settings.utc_offset_min = (int32_t)rng_between(&k->rng, 0, 28 * 60) - 14 * 60;
    k->from = (INT64_C(1790000000) / 60 + rng_below(&k->rng, 100000)) * MINUTE;
    (void)site_tenant(&k->settings, "a");
    k->leaf = site_tenant(&k->settings, "a/b");
    for (uint32_t t = 0; t < 2; t++) {
        struct tenant_setting *s = &k->settings.tenants[t];

        s->n_windows = rng_below(&k->rng, 4);
        for (uint32_t w = 0; w < s->n_windows; w++)
            some_window(&s->windows[w], &k->rng);
    }
    tabulate(k);
}

static usec_t minute(const struct look *k, int i)
{
    return k->from + i * MINUTE;
}

static int plain_closes(const struct look *k, int i)
{
    while (i < MINUTES && k->is_open[i])
        i++;
    return i;
}

static void ask_at(const struct look *k, int i)
{
    const struct settings *s = &k->settings;
    usec_t closes = week_closes(s, k->leaf, minute(k, i)), changes;
    int plain = plain_closes(k, i);

    assert_int_equal(week_shut(s, k->leaf, minute(k, i)) == IX_NONE, k->is_open[i]);
    assert_int_equal(week_must_fit(s, k->leaf, minute(k, i)), k->must_fit[i]);
    assert_int_equal(closes, plain == MINUTES ? INT64_MAX : minute(k, plain));
    changes = week_changes(s, k->leaf, minute(k, i));
    assert_true(changes > minute(k, i));
    for (int at = i; at < MINUTES && minute(k, at) < changes; at++) {
        assert_int_equal(k->is_open[at], k->is_open[i]);
        assert_int_equal(k->must_fit[at], k->must_fit[i]);
    }
}

/* One that takes so long, looking at each minute of the week to come. */
static void ask_next(const struct look *k, int i, int takes)
{
    usec_t want = INT64_MAX;

    for (int at = i; at <= i + WEEK_DAYS * DAY_MIN && want == INT64_MAX; at++) {
        int closes = plain_closes(k, at);

        if (k->is_open[at] && (!k->must_fit[at] || closes == MINUTES || closes - at >= takes))
            want = minute(k, at);
    }
    assert_int_equal(week_next(&k->settings, k->leaf, minute(k, i), takes * MINUTE), want);
    if (week_longest(&k->settings, k->leaf) < takes * MINUTE)
        assert_int_equal(want, INT64_MAX);
    else
        assert_true(want < INT64_MAX);
}

static void the_calendar_is_what_each_minute_says(void **state)
{
    uint32_t shut = 0, never = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct look *k = xcalloc(1, sizeof(*k));

        make(k, seed);
        for (int n = 0; n < ASKED; n++) {
            int i = (int)rng_below(&k->rng, WEEK_DAYS * DAY_MIN);
            int takes = 1 + (int)rng_below(&k->rng, 2000);

            shut += !k->is_open[i];
            never += week_longest(&k->settings, k->leaf) < takes * MINUTE;
            ask_at(k, i);
            ask_next(k, i, takes);
        }
        site_settings_fini(&k->settings);
        free(k);
    }
    assert_in_range(shut, SEEDS * ASKED / 10, SEEDS * ASKED * 9 / 10);
    assert_in_range(never, SEEDS * ASKED / 100, SEEDS * ASKED / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_calendar_is_what_each_minute_says)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
