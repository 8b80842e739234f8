/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - numbers, durations, quantities and times to integers.
 *
 * Integers only: a fraction is carried as mantissa and decimal places, so nothing depends on
 * binary floating point or on the locale. The way back is in format.c.
 */
#include "util/parse.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "util/mem.h"

__extension__ typedef unsigned __int128 wide_t;

enum { DIGITS_MAX = 18 };

/* mantissa / 10^places */
struct decimal {
    uint64_t mantissa;
    unsigned places;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static wide_t power_of_ten(unsigned n)
{
    wide_t p = 1;

    while (n--)
        p *= 10;
    return p;
}

/* Reads digits[.digits] or .digits; NULL when there is none, or more than 18 of them. */
static const char *read_decimal(const char *s, struct decimal *ret)
{
    struct decimal d = {0};
    unsigned digits = 0;
    bool in_fraction = false;

    for (; is_digit(*s) || (*s == '.' && !in_fraction && is_digit(s[1])); s++) {
        if (*s == '.') {
            in_fraction = true;
            continue;
        }
        if (++digits > DIGITS_MAX)
            return NULL;
        d.mantissa = d.mantissa * 10 + (uint64_t)(*s - '0');
        d.places += in_fraction;
    }
    if (digits == 0)
        return NULL;
    *ret = d;
    return s;
}

int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct err *err)
{
    uint64_t v = 0;
    bool is_number = *s != '\0', fits = true;

    for (const char *p = s; *p && is_number; p++) {
        is_number = is_digit(*p);
        fits = fits && v <= (UINT64_MAX - (uint64_t)(*p - '0')) / 10;
        if (fits)
            v = v * 10 + (uint64_t)(*p - '0');
    }
    if (!is_number)
        return err_set(err, ERR_INVALID,
                       "\"%.40s\" is no whole number; write decimal digits, like 8", s);
    if (!fits || v < min || v > max)
        return err_set(err, ERR_INVALID, "%.40s is out of range; allowed are %llu to %llu", s,
                       (unsigned long long)min, (unsigned long long)max);
    *ret = v;
    return 0;
}

struct unit {
    const char *name;
    int64_t usec;
};

/* Widest first; a duration names them in this order. */
static const struct unit time_units[] = {
    {"w", 7 * 86400 * USEC_PER_SEC},
    {"d", 86400 * USEC_PER_SEC},
    {"h", 3600 * USEC_PER_SEC},
    {"m", 60 * USEC_PER_SEC},
    {"s", USEC_PER_SEC},
    {"ms", USEC_PER_MSEC},
    {"us", 1},
};

static const struct unit *find_time_unit(const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(time_units); i++)
        if (strlen(time_units[i].name) == len && strncmp(time_units[i].name, s, len) == 0)
            return &time_units[i];
    return NULL;
}

/* One "1.5h" of a duration; returns what follows, NULL when it is malformed or does not fit.
 * *last is the unit before, and becomes this one. */
static const char *read_time_part(const char *s, const struct unit **last, usec_t *sum)
{
    struct decimal d;
    const char *end = read_decimal(s, &d);
    size_t len;
    const struct unit *unit;
    wide_t v;

    if (!end)
        return NULL;
    len = strspn(end, "abcdefghijklmnopqrstuvwxyz");
    unit = find_time_unit(end, len);
    if (!unit || (*last && unit <= *last))
        return NULL;
    v = (wide_t)d.mantissa * (wide_t)unit->usec;
    if (v % power_of_ten(d.places))
        return NULL;
    v /= power_of_ten(d.places);
    v += (uint64_t)*sum;
    if (v > INT64_MAX)
        return NULL;
    *sum = (usec_t)v;
    *last = unit;
    return end + len;
}

int parse_duration(const char *s, usec_t *ret, struct err *err)
{
    const struct unit *last = NULL;
    const char *p = s;
    usec_t sum = 0;

    if (strcmp(s, "0") == 0) {
        *ret = 0;
        return 0;
    }
    do
        p = read_time_part(p, &last, &sum);
    while (p && *p);
    if (!p)
        return err_set(err, ERR_INVALID,
                       "\"%.40s\" is no duration; write numbers with units, like 90s, 1h30m or "
                       "3d (units: w d h m s ms)",
                       s);
    *ret = sum;
    return 0;
}

struct suffix {
    const char *name;
    unsigned power;     /* of ten */
    unsigned shift;     /* of two */
    unsigned divisor10; /* power of ten to divide by */
};

static const struct suffix suffixes[] = {
    {"", 0, 0, 0},    {"n", 0, 0, 9},   {"u", 0, 0, 6},   {"m", 0, 0, 3},
    {"k", 3, 0, 0},   {"M", 6, 0, 0},   {"G", 9, 0, 0},   {"T", 12, 0, 0},
    {"P", 15, 0, 0},  {"E", 18, 0, 0},  {"Ki", 0, 10, 0}, {"Mi", 0, 20, 0},
    {"Gi", 0, 30, 0}, {"Ti", 0, 40, 0}, {"Pi", 0, 50, 0}, {"Ei", 0, 60, 0},
};

/* "e3", "E-3"; false when s is none, or the exponent is beyond 18. */
static bool read_exponent(const char *s, struct suffix *ret)
{
    bool is_negative;
    unsigned n = 0;

    if (*s != 'e' && *s != 'E')
        return false;
    s++;
    is_negative = *s == '-';
    s += *s == '-' || *s == '+';
    if (!is_digit(*s))
        return false;
    for (; is_digit(*s) && n <= DIGITS_MAX; s++)
        n = n * 10 + (unsigned)(*s - '0');
    if (*s || n > DIGITS_MAX)
        return false;
    *ret = is_negative ? (struct suffix){"", 0, 0, n} : (struct suffix){"", n, 0, 0};
    return true;
}

static bool find_suffix(const char *s, struct suffix *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (strcmp(suffixes[i].name, s) == 0) {
            *ret = suffixes[i];
            return true;
        }
    }
    return read_exponent(s, ret);
}

int parse_quantity(const char *s, int64_t scale, int64_t *ret, struct err *err)
{
    struct decimal d;
    struct suffix x;
    const char *end = read_decimal(s, &d);
    wide_t v, divisor;

    if (!end || !find_suffix(end, &x))
        return err_set(err, ERR_INVALID,
                       "\"%.40s\" is no quantity; write a number, with a suffix if needed, like "
                       "96, 500m, 1500Gi or 2T",
                       s);
    v = (wide_t)d.mantissa * (wide_t)scale;
    if (__builtin_mul_overflow(v, power_of_ten(x.power) << x.shift, &v))
        return err_set(err, ERR_INVALID, "%.40s is too large", s);
    divisor = power_of_ten(d.places + x.divisor10);
    v = v / divisor + (v % divisor ? 1 : 0);
    if (v > INT64_MAX)
        return err_set(err, ERR_INVALID, "%.40s is too large", s);
    *ret = (int64_t)v;
    return 0;
}

/* Exactly n digits at *s, which moves on; -1 when they are no number in min..max. */
static int read_digits(const char **s, int n, int min, int max)
{
    int v = 0;

    for (int i = 0; i < n; i++, (*s)++) {
        if (!is_digit(**s))
            return -1;
        v = v * 10 + (**s - '0');
    }
    return v >= min && v <= max ? v : -1;
}

static bool skip(const char **s, const char *any_of)
{
    if (**s == '\0' || !strchr(any_of, **s))
        return false;
    (*s)++;
    return true;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, year 1970 or later. */
static int64_t days_from_civil(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year;
    int m = month <= 2 ? month + 9 : month - 3;

    return (int64_t)y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && is_leap);
}

static bool read_date(const char **s, int64_t *ret_days)
{
    int year = read_digits(s, 4, 1970, 9999);
    int month, day;

    if (year < 0 || !skip(s, "-"))
        return false;
    month = read_digits(s, 2, 1, 12);
    if (month < 0 || !skip(s, "-"))
        return false;
    day = read_digits(s, 2, 1, days_in_month(year, month));
    if (day < 0)
        return false;
    *ret_days = days_from_civil(year, month, day);
    return true;
}

static bool read_clock(const char **s, usec_t *ret)
{
    int hour = read_digits(s, 2, 0, 23);
    int minute, second;
    usec_t fraction = 0, digit = USEC_PER_SEC / 10;

    if (hour < 0 || !skip(s, ":"))
        return false;
    minute = read_digits(s, 2, 0, 59);
    if (minute < 0 || !skip(s, ":"))
        return false;
    second = read_digits(s, 2, 0, 60);
    if (second < 0)
        return false;
    if (skip(s, ".") && !is_digit(**s))
        return false;
    for (; is_digit(**s); (*s)++, digit /= 10)
        fraction += digit * (**s - '0');
    *ret = (hour * 3600 + minute * 60 + second) * USEC_PER_SEC + fraction;
    return true;
}

/* "Z" or "+02:00", and nothing after it. */
static bool read_zone(const char **s, usec_t *ret)
{
    bool is_west = **s == '-';
    int hour, minute;

    *ret = 0;
    if (skip(s, "Zz"))
        return **s == '\0';
    if (!skip(s, "+-"))
        return false;
    hour = read_digits(s, 2, 0, 23);
    if (hour < 0 || !skip(s, ":"))
        return false;
    minute = read_digits(s, 2, 0, 59);
    if (minute < 0)
        return false;
    *ret = (hour * 3600 + minute * 60) * USEC_PER_SEC * (is_west ? -1 : 1);
    return **s == '\0';
}

int parse_time(const char *s, usec_t *ret, struct err *err)
{
    const char *p = s;
    int64_t days;
    usec_t clock, zone;

    if (!read_date(&p, &days) || !skip(&p, "Tt") || !read_clock(&p, &clock) ||
        !read_zone(&p, &zone))
        return err_set(err, ERR_INVALID,
                       "\"%.40s\" is no time; write RFC 3339, like 2026-11-29T22:09:14Z", s);
    *ret = days * 86400 * USEC_PER_SEC + clock - zone;
    return 0;
}
