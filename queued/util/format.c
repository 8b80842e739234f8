/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - durations, times and quantities as text, for people and for files.
 *
 * The exact forms are read back by parse.c to the same value. Integers only.
 */
#include <stdio.h>

#include "util/mem.h"
#include "util/parse.h"

struct part {
    const char *name;
    usec_t usec;
};

static const struct part parts[] = {
    {"d", 86400 * USEC_PER_SEC},
    {"h", 3600 * USEC_PER_SEC},
    {"m", 60 * USEC_PER_SEC},
    {"s", USEC_PER_SEC},
};

/* The at most n widest parts of a duration of whole seconds, zeros left out. */
static const char *format_parts(char buf[FORMAT_MAX], usec_t d, unsigned n)
{
    size_t len = 0, i = 0;

    while (i < ARRAY_LEN(parts) - 1 && d < parts[i].usec)
        i++;
    for (; i < ARRAY_LEN(parts) && n; i++, n--) {
        long long count = d / parts[i].usec;

        d %= parts[i].usec;
        if (count || (len == 0 && i == ARRAY_LEN(parts) - 1))
            len += (size_t)snprintf(buf + len, FORMAT_MAX - len, "%lld%s", count, parts[i].name);
    }
    return buf;
}

const char *format_duration(char buf[FORMAT_MAX], usec_t d)
{
    if (d < 0)
        d = 0;
    if (d < 10 * USEC_PER_SEC && d % USEC_PER_SEC >= USEC_PER_SEC / 10) {
        (void)snprintf(buf, FORMAT_MAX, "%lld.%llds", (long long)(d / USEC_PER_SEC),
                       (long long)(d % USEC_PER_SEC / (USEC_PER_SEC / 10)));
        return buf;
    }
    d -= d % USEC_PER_SEC;
    if (d >= 600 * USEC_PER_SEC)
        d -= d % (60 * USEC_PER_SEC); /* seconds say nothing beside ten minutes */
    return format_parts(buf, d, 2);
}

const char *format_duration_exact(char buf[FORMAT_MAX], usec_t d)
{
    if (d < 0)
        d = 0;
    if (d % USEC_PER_MSEC)
        (void)snprintf(buf, FORMAT_MAX, "%lldus", (long long)d);
    else if (d % USEC_PER_SEC)
        (void)snprintf(buf, FORMAT_MAX, "%lldms", (long long)(d / USEC_PER_MSEC));
    else
        (void)format_parts(buf, d, ARRAY_LEN(parts));
    return buf;
}

struct civil {
    long long year;
    int month, day, hour, minute, second;
    int usec;
};

static struct civil civil_from(usec_t t)
{
    int64_t days, era_day, era, year_of_era, day_of_year, month;
    int64_t in_day;
    struct civil c;

    if (t < 0)
        t = 0;
    days = t / (86400 * USEC_PER_SEC) + 719468; /* since 0000-03-01 */
    in_day = t / USEC_PER_SEC % 86400;
    era = days / 146097;
    era_day = days % 146097;
    year_of_era = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
    day_of_year = era_day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    month = (5 * day_of_year + 2) / 153;
    c.day = (int)(day_of_year - (153 * month + 2) / 5 + 1);
    c.month = (int)(month < 10 ? month + 3 : month - 9);
    c.year = era * 400 + year_of_era + (c.month <= 2);
    c.hour = (int)(in_day / 3600);
    c.minute = (int)(in_day / 60 % 60);
    c.second = (int)(in_day % 60);
    c.usec = (int)(t % USEC_PER_SEC);
    return c;
}

const char *format_time(char buf[FORMAT_MAX], usec_t t)
{
    struct civil c = civil_from(t);

    (void)snprintf(buf, FORMAT_MAX, "%04lld-%02d-%02dT%02d:%02d:%02dZ", c.year, c.month, c.day,
                   c.hour, c.minute, c.second);
    return buf;
}

const char *format_micro_time(char buf[FORMAT_MAX], usec_t t)
{
    struct civil c = civil_from(t);

    (void)snprintf(buf, FORMAT_MAX, "%04lld-%02d-%02dT%02d:%02d:%02d.%06dZ", c.year, c.month, c.day,
                   c.hour, c.minute, c.second, c.usec);
    return buf;
}

const char *format_bytes(char buf[FORMAT_MAX], int64_t bytes)
{
    static const char *const names[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    size_t i = 0;

    while (bytes && bytes % 1024 == 0 && i < ARRAY_LEN(names) - 1) {
        bytes /= 1024;
        i++;
    }
    /* 1500Gi stays 1500Gi; 2048Gi becomes 2Ti: both are exact */
    (void)snprintf(buf, FORMAT_MAX, "%lld%s", (long long)bytes, names[i]);
    return buf;
}

const char *format_cpu(char buf[FORMAT_MAX], int64_t milli)
{
    if (milli % 1000)
        (void)snprintf(buf, FORMAT_MAX, "%lldm", (long long)milli);
    else
        (void)snprintf(buf, FORMAT_MAX, "%lld", (long long)(milli / 1000));
    return buf;
}

const char *format_milli(char buf[FORMAT_MAX], int64_t milli)
{
    int len = snprintf(buf, FORMAT_MAX, "%lld.%03lld", (long long)(milli / 1000),
                       (long long)(milli % 1000));

    while (buf[len - 1] == '0')
        buf[--len] = '\0';
    if (buf[len - 1] == '.')
        buf[--len] = '\0';
    return buf;
}
