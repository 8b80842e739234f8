/* SPDX-License-Identifier: Apache-2.0 */
/* test_indices.c - sets of indices of a job array, and what a job file may say of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "spec/indices.h"
#include "spec/limits.h"
#include "spec/spec.h"
#include "../fake/fake_site.h"

static void assert_text(const struct indices *s, const char *want)
{
    struct str text = {0};

    indices_format(&text, s, 0);
    assert_string_equal(str_text(&text), want);
    str_fini(&text);
}

static void what_is_written_is_read(void **state)
{
    static const char *const rows[][2] = {
        {"7", "7"},         {"0-49", "0-49"}, {"5-7,1,3", "1,3,5-7"}, {"0-90:30", "0,30,60,90"},
        {"0-3,4-9", "0-9"}, {"9999", "9999"}, {"0-9:100", "0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct indices s;
        struct err err = {0};

        if (indices_parse(&s, rows[i][0], &err))
            fail_msg("%s: %s", rows[i][0], err.text);
        assert_text(&s, rows[i][1]);
        indices_fini(&s);
    }
}

static void what_is_no_set_of_indices_is_refused(void **state)
{
    static const char *const rows[] = {"",      "a",       "-1",
                                       "1-",    "3-1",     "1,,2",
                                       "1,",    "0-9x",    "0:2",
                                       "0-9:0", "10000",   "0-4294967296",
                                       "1,1",   "0-5,5-9", "18446744073709551616",
                                       " 1"};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct indices s;
        struct err err = {0};

        if (indices_parse(&s, rows[i], &err) != -1)
            fail_msg("'%s' was taken", rows[i]);
        assert_int_equal(err.code, ERR_INVALID);
        assert_int_equal(s.n, 0);
    }
}

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static void a_set_is_what_was_put_in_and_not_taken_out(void **state)
{
    enum { N = 64 };
    bool want[N] = {false};
    struct indices s = {.n = 0};
    uint64_t x = 88172645463325252u;

    (void)state;
    for (int turn = 0; turn < 20000; turn++) {
        uint32_t i = (uint32_t)(next(&x) % N), n = 0, ranges = 0;
        bool adds = next(&x) & 1;

        assert_int_equal(adds ? indices_add(&s, i) : indices_remove(&s, i), want[i] != adds);
        want[i] = adds;
        for (uint32_t k = 0; k < N; k++) {
            assert_int_equal(indices_has(&s, k), want[k]);
            n += want[k];
            ranges += want[k] && (k == 0 || !want[k - 1]);
        }
        assert_int_equal(s.n, n);
        assert_int_equal(s.ranges.n, ranges);
    }
    indices_fini(&s);
}

enum { SMALL = 24 };

static void fill(struct indices *s, uint64_t *seed)
{
    *s = (struct indices){.n = 0};
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    for (uint32_t i = 0; i < SMALL; i++)
        if (*seed >> (20 + i) & 1)
            (void)indices_add(s, i);
}

/* Every index on its own, against the sets as wholes; the ranges are as few as they can be. */
static void two_sets_are_joined_cut_and_taken_from_each_other(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        struct indices a, b, both, left, all, again = {.n = 0};

        fill(&a, &seed);
        fill(&b, &seed);
        indices_select(&both, &a, &b, true);
        indices_select(&left, &a, &b, false);
        indices_copy(&all, &a);
        indices_join(&all, &b);
        for (uint32_t i = 0; i < SMALL; i++) {
            bool in_a = indices_has(&a, i), in_b = indices_has(&b, i);

            assert_int_equal(indices_has(&both, i), in_a && in_b);
            assert_int_equal(indices_has(&left, i), in_a && !in_b);
            assert_int_equal(indices_has(&all, i), in_a || in_b);
            if (in_a || in_b)
                (void)indices_add(&again, i);
        }
        assert_int_equal(both.n + left.n, a.n);
        assert_int_equal(all.n, b.n + left.n);
        assert_int_equal(all.ranges.n, again.ranges.n);
        indices_fini(&a);
        indices_fini(&b);
        indices_fini(&both);
        indices_fini(&left);
        indices_fini(&all);
        indices_fini(&again);
    }
}

static void a_long_set_is_cut_when_it_is_shown(void **state)
{
    struct indices s;
    struct str text = {0};

    (void)state;
    assert_int_equal(indices_parse(&s, "0-98:2", NULL), 0);
    indices_format(&text, &s, 3);
    assert_string_equal(str_text(&text), "0,2,4,...");
    str_fini(&text);
    indices_fini(&s);
}

static void sink(void *ctx, const void *p, size_t len)
{
    uint64_t *h = ctx;

    for (size_t i = 0; i < len; i++)
        *h = (*h ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
}

static void an_array_that_cannot_be_is_refused_with_its_path(void **state)
{
    static const struct {
        const char *indices;
        uint32_t parallel;
        bool fails_fast;
        uint32_t n_params; /* lines for the first indices */
        const char *path;  /* NULL: accepted */
    } rows[] = {
        {NULL, 0, false, 0, NULL},
        {"0,10-90:20,4999", 0, false, 0, NULL},
        {"0-49", 16, false, 0, NULL},
        {"0-49", 16, true, 0, NULL},
        {"0-2", 0, false, 3, NULL},
        {"0-1", 0, false, 3, NULL}, /* the last line is for no index */
        {"0-3", 0, false, 3, "spec.array.paramsFrom: has 3 lines, the first for index 0; index 3"},
        {"0-3", 0, false, 4, "spec.array.paramsFrom: the line of index 3 is empty"},
        {NULL, 0, false, 3, "spec.array.indices: is missing"},
        {"0-9,3", 0, false, 0, "spec.array.indices: index 3 is there twice"},
        {"0-9;12", 0, false, 0, "spec.array.indices: ';12' is no index"},
        {"5000", 0, false, 0, "spec.array.indices: pods are numbered over all indices"},
        {NULL, 3, false, 0, "spec.array.indices: is missing"},
        {NULL, 0, true, 0, "spec.array.indices: is missing"},
        {"0-9", ARRAY_INDICES_MAX + 1, false, 0, "spec.array.maxParallel"},
    };
    static const char *lines[] = {"a", "{\"b\": 1}", "c", ""};
    uint64_t seen[sizeof(rows) / sizeof(rows[0])];
    struct settings settings;

    (void)state;
    site_settings_init(&settings);
    (void)site_tenant(&settings, "t");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct spec *s = site_spec("job", 2, 8); /* two pods */
        struct err err = {.code = ERR_OK};
        int rc;

        s->array_indices = rows[i].indices;
        s->array_parallel = rows[i].parallel;
        s->array_params = (struct spec_strings){lines, rows[i].n_params};
        s->array_fails_fast = rows[i].fails_fast;
        rc = spec_check(s, &settings, &err);
        if (rc != (rows[i].path ? -1 : 0) || (rc && !strstr(err.text, rows[i].path)))
            fail_msg("row %zu: %s", i, err.text);
        seen[i] = 0;
        spec_feed(s, sink, &seen[i]);
        for (size_t k = 0; k < i && !rows[i].path; k++)
            assert_true(seen[k] != seen[i]);
        spec_destroy(s);
    }
    site_settings_fini(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_no_set_of_indices_is_refused),
        cmocka_unit_test(a_set_is_what_was_put_in_and_not_taken_out),
        cmocka_unit_test(two_sets_are_joined_cut_and_taken_from_each_other),
        cmocka_unit_test(a_long_set_is_cut_when_it_is_shown),
        cmocka_unit_test(an_array_that_cannot_be_is_refused_with_its_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
