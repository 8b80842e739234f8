/* SPDX-License-Identifier: Apache-2.0 */
/* test_parse.c - numbers, durations, quantities and times are read exactly or refused with an
 * example of a good value, and written so that they read back.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/mem.h"
#include "util/parse.h"

enum { UNTOUCHED = -77 };

struct row {
    const char *text;
    int64_t value; /* UNTOUCHED: is refused */
};

static void whole_numbers_are_decimal_and_in_range(void **state)
{
    static const struct row rows[] = {
        {"0", 0},
        {"8", 8},
        {"007", 7},
        {"100", 100},
        {"101", UNTOUCHED},
        {"0x10", UNTOUCHED},
        {"", UNTOUCHED},
        {" 1", UNTOUCHED},
        {"1 ", UNTOUCHED},
        {"-1", UNTOUCHED},
        {"1.0", UNTOUCHED},
        {"+1", UNTOUCHED},
        {"18446744073709551616", UNTOUCHED},
        {"99999999999999999999999", UNTOUCHED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t v = (uint64_t)UNTOUCHED;
        struct err err;
        int rc = parse_u64(rows[i].text, 0, 100, &v, &err);

        if ((int64_t)v != rows[i].value || rc != (rows[i].value == UNTOUCHED ? -1 : 0))
            fail_msg("row %s: rc %d value %lld", rows[i].text, rc, (long long)v);
    }
}

static void the_largest_whole_number_is_read(void **state)
{
    uint64_t v = 0;

    (void)state;
    assert_int_equal(parse_u64("18446744073709551615", 0, UINT64_MAX, &v, NULL), 0);
    assert_true(v == UINT64_MAX);
}

static void durations_need_units_and_are_exact(void **state)
{
    static const struct row rows[] = {
        {"0", 0},
        {"90s", 90 * USEC_PER_SEC},
        {"2h", 7200 * USEC_PER_SEC},
        {"1h30m", 5400 * USEC_PER_SEC},
        {"1.5s", 1500 * USEC_PER_MSEC},
        {"0.000001s", 1},
        {"1.50h", 5400 * USEC_PER_SEC},
        {"250ms", 250 * USEC_PER_MSEC},
        {"3d", 3 * 86400 * USEC_PER_SEC},
        {"2w", 14 * 86400 * USEC_PER_SEC},
        {"1w2d3h4m5s6ms7us", ((((9 * 24 + 3) * 60 + 4) * 60 + 5) * USEC_PER_SEC) + 6007},
        {"21d", 21 * 86400 * USEC_PER_SEC},
        {"5", UNTOUCHED},
        {"", UNTOUCHED},
        {"h", UNTOUCHED},
        {"-1s", UNTOUCHED},
        {"1h 30m", UNTOUCHED},
        {"30m1h", UNTOUCHED},
        {"1h1h", UNTOUCHED},
        {"1.s", UNTOUCHED},
        {".5s", 500 * USEC_PER_MSEC},
        {"1.2.3s", UNTOUCHED},
        {"0.0000001s", UNTOUCHED},
        {"1 year", UNTOUCHED},
        {"1H", UNTOUCHED},
        {"999999999999w", UNTOUCHED},
        {"99999999999999999999s", UNTOUCHED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        usec_t v = UNTOUCHED;
        struct err err;
        int rc = parse_duration(rows[i].text, &v, &err);

        if (v != rows[i].value || rc != (rows[i].value == UNTOUCHED ? -1 : 0))
            fail_msg("row %s: rc %d value %lld", rows[i].text, rc, (long long)v);
    }
}

static void a_bad_duration_is_answered_with_good_ones(void **state)
{
    usec_t v;
    struct err err;

    (void)state;
    assert_int_equal(parse_duration("2hours", &v, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "\"2hours\" is no duration"));
    assert_non_null(strstr(err.text, "1h30m"));
}

static void quantities_are_those_of_kubernetes_rounded_up(void **state)
{
    static const struct {
        const char *text;
        int64_t scale, value;
    } rows[] = {
        {"96", 1000, 96000},
        {"0.5", 1000, 500},
        {"500m", 1000, 500},
        {"191450m", 1000, 191450},
        {"1n", 1000, 1},
        {"100u", 1000, 1},
        {"0", 1, 0},
        {"0.0", 1, 0},
        {"1500Gi", 1, INT64_C(1500) << 30},
        {"1.5Gi", 1, INT64_C(3) << 29},
        {"1.1Ki", 1, 1127},
        {"1e3", 1, 1000},
        {"1E3", 1, 1000},
        {"1.5e3", 1, 1500},
        {"25e-1", 1, 3},
        {"2k", 1, 2000},
        {"2M", 1, 2000000},
        {"3T", 1, INT64_C(3000000000000)},
        {"1E", 1, INT64_C(1000000000000000000)},
        {"7Ei", 1, INT64_C(7) << 60},
        {"8Ei", 1, UNTOUCHED},
        {"1e19", 1, UNTOUCHED},
        {"1K", 1, UNTOUCHED},
        {"1GiB", 1, UNTOUCHED},
        {"1 Gi", 1, UNTOUCHED},
        {"Gi", 1, UNTOUCHED},
        {"", 1, UNTOUCHED},
        {"-1", 1, UNTOUCHED},
        {"1e", 1, UNTOUCHED},
        {"1e99999999999", 1, UNTOUCHED},
        {"999999999999999999Ei", 1000, UNTOUCHED},
        {"9999999999999999999", 1, UNTOUCHED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t v = UNTOUCHED;
        struct err err;
        int rc = parse_quantity(rows[i].text, rows[i].scale, &v, &err);

        if (v != rows[i].value || rc != (rows[i].value == UNTOUCHED ? -1 : 0))
            fail_msg("row %s: rc %d value %lld", rows[i].text, rc, (long long)v);
    }
}

static void times_are_rfc_3339(void **state)
{
    static const struct row rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-29T22:09:14Z", INT64_C(1795990154000000)},
        {"2026-11-29T22:09:14.25Z", INT64_C(1795990154250000)},
        {"2026-11-29T22:09:14.123456789Z", INT64_C(1795990154123456)},
        {"2026-11-29T23:09:14+01:00", INT64_C(1795990154000000)},
        {"2026-11-29T17:39:14-04:30", INT64_C(1795990154000000)},
        {"2000-02-29T00:00:00Z", INT64_C(951782400000000)},
        {"2001-02-29T00:00:00Z", UNTOUCHED},
        {"2026-13-01T00:00:00Z", UNTOUCHED},
        {"2026-11-29T24:00:00Z", UNTOUCHED},
        {"2026-11-29 22:09:14Z", UNTOUCHED},
        {"2026-11-29T22:09:14", UNTOUCHED},
        {"2026-11-29T22:09:14.Z", UNTOUCHED},
        {"2026-11-29T22:09:14Zx", UNTOUCHED},
        {"2026-11-29", UNTOUCHED},
        {"", UNTOUCHED},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        usec_t v = UNTOUCHED;
        struct err err;
        int rc = parse_time(rows[i].text, &v, &err);

        if (v != rows[i].value || rc != (rows[i].value == UNTOUCHED ? -1 : 0))
            fail_msg("row %s: rc %d value %lld", rows[i].text, rc, (long long)v);
    }
}

static void times_read_back_as_written(void **state)
{
    char buf[FORMAT_MAX];

    (void)state;
    for (usec_t t = 0; t < INT64_C(4000000000) * USEC_PER_SEC; t += INT64_C(39999999999937)) {
        usec_t back = -1;

        assert_int_equal(parse_time(format_micro_time(buf, t), &back, NULL), 0);
        assert_true(back == t);
        assert_int_equal(parse_time(format_time(buf, t), &back, NULL), 0);
        assert_true(back == t - t % USEC_PER_SEC);
    }
    assert_string_equal(format_time(buf, INT64_C(951782400000000)), "2000-02-29T00:00:00Z");
}

static void durations_for_people_have_at_most_two_units(void **state)
{
    static const struct {
        usec_t d;
        const char *text;
    } rows[] = {
        {0, "0s"},
        {1500 * USEC_PER_MSEC, "1.5s"},
        {250 * USEC_PER_MSEC, "0.2s"},
        {45 * USEC_PER_SEC, "45s"},
        {12500 * USEC_PER_MSEC, "12s"},
        {90 * USEC_PER_SEC, "1m30s"},
        {12 * 60 * USEC_PER_SEC, "12m"},
        {750 * USEC_PER_SEC, "12m"},
        {3600 * USEC_PER_SEC, "1h"},
        {5400 * USEC_PER_SEC, "1h30m"},
        {(3 * 86400 + 4 * 3600 + 59) * USEC_PER_SEC, "3d4h"},
        {86400 * USEC_PER_SEC, "1d"},
        {-5, "0s"},
    };
    char buf[FORMAT_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(format_duration(buf, rows[i].d), rows[i].text);
}

static void exact_durations_read_back(void **state)
{
    static const usec_t rows[] = {0,
                                  1,
                                  1500 * USEC_PER_MSEC,
                                  59 * USEC_PER_SEC,
                                  5400 * USEC_PER_SEC,
                                  86400 * USEC_PER_SEC,
                                  90061 * USEC_PER_SEC,
                                  1234567891234567,
                                  INT64_MAX};
    char buf[FORMAT_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        usec_t back = -1;

        if (parse_duration(format_duration_exact(buf, rows[i]), &back, NULL))
            assert_true(rows[i] == INT64_MAX); /* 19 digits: more than is read */
        else
            assert_true(back == rows[i]);
    }
    assert_string_equal(format_duration_exact(buf, 5400 * USEC_PER_SEC), "1h30m");
    assert_string_equal(format_duration_exact(buf, 90061 * USEC_PER_SEC), "1d1h1m1s");
    assert_string_equal(format_duration_exact(buf, 1500 * USEC_PER_MSEC), "1500ms");
}

static void amounts_are_written_exactly(void **state)
{
    char buf[FORMAT_MAX];

    (void)state;
    assert_string_equal(format_bytes(buf, INT64_C(1500) << 30), "1500Gi");
    assert_string_equal(format_bytes(buf, INT64_C(1) << 40), "1Ti");
    assert_string_equal(format_bytes(buf, 1000), "1000");
    assert_string_equal(format_bytes(buf, 0), "0");
    assert_string_equal(format_cpu(buf, 96000), "96");
    assert_string_equal(format_cpu(buf, 500), "500m");
    assert_string_equal(format_cpu(buf, 191450), "191450m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_decimal_and_in_range),
        cmocka_unit_test(the_largest_whole_number_is_read),
        cmocka_unit_test(durations_need_units_and_are_exact),
        cmocka_unit_test(a_bad_duration_is_answered_with_good_ones),
        cmocka_unit_test(quantities_are_those_of_kubernetes_rounded_up),
        cmocka_unit_test(times_are_rfc_3339),
        cmocka_unit_test(times_read_back_as_written),
        cmocka_unit_test(durations_for_people_have_at_most_two_units),
        cmocka_unit_test(exact_durations_read_back),
        cmocka_unit_test(amounts_are_written_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
