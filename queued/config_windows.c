/* SPDX-License-Identifier: Apache-2.0 */
/* config_windows.c - the time windows of a tenant, and the offset of the local time they are in. */
#include <stdlib.h>
#include <string.h>

#include "config_read.h"
#include "spec/week.h"
#include "util/mem.h"
#include "util/str.h"

enum { OFFSET_HOURS_MAX = 14, ALL_DAYS = (1 << WEEK_DAYS) - 1 };

static const char day_words[WEEK_DAYS][4] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

struct window_reading {
    const struct settings *settings;
    struct opening_setting *v; /* of the tenant */
    uint32_t *n;
    struct opening_setting w; /* the entry that is being read */
};

const char *config_day_word(int day)
{
    return day_words[day];
}

/* "20:05" as minutes; false: it is something else. */
static bool parse_clock(const char *s, uint32_t *ret)
{
    static const char form[] = "00:00";

    for (size_t i = 0; i < sizeof(form); i++)
        if (form[i] == '0' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
            return false;
    *ret = (uint32_t)((s[0] - '0') * 10 + (s[1] - '0')) * 60 +
           (uint32_t)((s[3] - '0') * 10 + (s[4] - '0'));
    return s[3] < '6';
}

static int read_clock(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (!parse_clock(s, out) || *(uint32_t *)out > DAY_MIN)
        return yaml_fail(at, err, "\"%.20s\" is no time of the day; write 00:00 to 24:00", s);
    return 0;
}

/* Of so many characters; -1: it is none. */
static int day_of(const char *s, size_t len)
{
    for (int day = 0; day < WEEK_DAYS && len == 3; day++)
        if (strncmp(s, day_words[day], len) == 0)
            return day;
    return -1;
}

/* A day, or two with all between them, around Sunday too. */
static int read_day(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct window_reading *r = out;
    const char *s, *last;
    int day, to;

    (void)key; /* a list has none */
    if (yaml_string(at, &s, err))
        return -1;
    last = strchr(s, '-');
    day = day_of(s, strcspn(s, "-"));
    to = last ? day_of(last + 1, strlen(last + 1)) : day;
    if (day < 0 || to < 0)
        return yaml_fail(at, err,
                         "\"%.20s\" is no day; write mon, tue, wed, thu, fri, sat, sun, "
                         "or two with all between them: mon-fri",
                         s);
    for (; day != to; day = (day + 1) % WEEK_DAYS)
        r->w.days |= (uint8_t)(1u << day);
    r->w.days |= (uint8_t)(1u << to);
    return 0;
}

static int read_days(const struct yaml_at *at, void *out, struct err *err)
{
    struct window_reading *r = out;

    if (at->node->kind != YAML_LIST || at->node->n == 0)
        return yaml_fail(at, err,
                         "expected a list of days; write [mon-fri], or leave it out for "
                         "all");
    r->w.days = 0;
    return yaml_each(at, read_day, r, err);
}

static int read_quota(const struct yaml_at *at, void *out, struct err *err)
{
    struct window_reading *r = out;

    return config_read_amounts(at, r->settings, &r->w.quota, err);
}

static int read_limit(const struct yaml_at *at, void *out, struct err *err)
{
    struct window_reading *r = out;

    return config_read_amounts(at, r->settings, &r->w.limit, err);
}

static const struct yaml_field window_fields[] = {
    {.key = "name",
     .read = config_read_label,
     .offset = offsetof(struct window_reading, w.name),
     .is_required = true},
    {.key = "days", .read = read_days},
    {.key = "from", .read = read_clock, .offset = offsetof(struct window_reading, w.from_min)},
    {.key = "to", .read = read_clock, .offset = offsetof(struct window_reading, w.to_min)},
    {.key = "fit", .read = config_read_bool, .offset = offsetof(struct window_reading, w.must_fit)},
    {.key = "quota", .read = read_quota},
    {.key = "limit", .read = read_limit},
};

static int read_window(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct window_reading *r = out;

    (void)key; /* a list has none */
    r->w = (struct opening_setting){.days = ALL_DAYS, .to_min = DAY_MIN};
    for (size_t i = 0; i < MODELS_MAX; i++)
        r->w.quota.gpus[i] = r->w.limit.gpus[i] = -1;
    if (yaml_walk(at, window_fields, ARRAY_LEN(window_fields), r, err))
        return -1;
    if (r->w.from_min == r->w.to_min || r->w.from_min == DAY_MIN)
        return yaml_fail(at, err, "begins when it ends; for a whole day leave from and to out");
    if (*r->n == TENANT_WINDOWS_MAX)
        return yaml_fail(at, err, "at most %d windows of a tenant", TENANT_WINDOWS_MAX);
    for (uint32_t i = 0; i < *r->n; i++)
        if (strcmp(r->v[i].name, r->w.name) == 0)
            return yaml_fail(at, err, "there is a window \"%s\" already; take another name",
                             r->w.name);
    r->v[(*r->n)++] = r->w;
    return 0;
}

int config_read_windows(const struct yaml_at *at, const struct settings *s,
                        struct tenant_setting *t, struct err *err)
{
    struct window_reading r = {.settings = s, .v = t->windows, .n = &t->n_windows};

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "expected a list of windows");
    return yaml_each(at, read_window, &r, err);
}

int config_read_offset(const struct yaml_at *at, void *out, struct err *err)
{
    uint32_t min = 0;
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if ((*s != '+' && *s != '-') || !parse_clock(s + 1, &min) || min > OFFSET_HOURS_MAX * 60)
        return yaml_fail(at, err, "\"%.20s\" is no offset from UTC; write +01:00 or -05:30", s);
    *(int32_t *)out = *s == '-' ? -(int32_t)min : (int32_t)min;
    return 0;
}

const struct config_section config_window_sections[] = {
    {"tenants[].windows[]", window_fields, ARRAY_LEN(window_fields)},
    {NULL, NULL, 0},
};
