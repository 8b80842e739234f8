/* SPDX-License-Identifier: Apache-2.0 */
/* test_str.c - clean text is judged the same in pieces of eight bytes and one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/log.h"
#include "util/str.h"

enum { LONGEST = 27 };

static bool is_clean_byte(unsigned c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\n';
}

static void a_byte_that_is_not_clean_is_found_wherever_it_is(void **state)
{
    char text[LONGEST];

    (void)state;
    for (size_t len = 1; len <= LONGEST; len++) {
        for (unsigned i = 0; i < len * 256; i++) {
            memset(text, i & 1 ? '~' : ' ', len);
            text[i / 256] = (char)(i % 256);
            if (str_is_clean_utf8(text, len) != is_clean_byte(i % 256))
                fail_msg("byte %u at %u of %zu", i % 256, i / 256, len);
        }
    }
}

static void a_character_may_lie_across_two_pieces(void **state)
{
    char text[LONGEST];

    (void)state;
    for (size_t at = 0; at + 3 <= LONGEST; at++) {
        memset(text, 'x', LONGEST);
        memcpy(text + at, "\xe2\x82\xac", 3);
        assert_true(str_is_clean_utf8(text, LONGEST));
        text[at + 2] = 'x';
        assert_false(str_is_clean_utf8(text, LONGEST));
    }
}

static void what_others_wrote_becomes_one_clean_line(void **state)
{
    static const char *const rows[][2] = {
        {"", ""},
        {"a b\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "a b\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"a\nb\r\tc\033[2Jd\177", "a b  c [2Jd "},
        {"a\xc2\x9b"
         "b\xe2\x80\xa8"
         "c\xef\xbb\xbf",
         "a  b   c   "},
        {"a\xff"
         "b\xc0\x80"
         "c\xed\xa0\x80",
         "a b  c   "},
        {"half\xc3", "half"},
        {"half\xe2\x82", "half"},
        {"half\xf0\x9f\x98", "half"},
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)str_copy(text, sizeof(text), rows[i][0]);
        str_make_line(text);
        assert_string_equal(text, rows[i][1]);
    }
}

static void a_line_of_the_log_is_clean(void **state)
{
    char line[256] = "";
    FILE *f = tmpfile();
    int saved = dup(STDERR_FILENO);

    (void)state;
    assert_non_null(f);
    assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
    log_error("said", "a=\"%s\" b=1", "x\n\033[2J\xc3");
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    rewind(f);
    assert_non_null(fgets(line, sizeof(line), f));
    assert_non_null(strstr(line, " level=error msg=\"said\" a=\"x  [2J \" b=1\n"));
    (void)fclose(f);
}

static void json_is_what_terminals_and_yaml_take_too(void **state)
{
    struct str b = {0};

    (void)state;
    str_add_json(&b, "\xc3\xa4\xc2\xa0\xc2\x9b\xe2\x80\xa8\xef\xbb\xbf\xef\xbf\xbd\033");
    assert_string_equal(str_text(&b),
                        "\"\xc3\xa4\xc2\xa0\\u009b\\u2028\\ufeff\xef\xbf\xbd\\u001b\"");
    str_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_that_is_not_clean_is_found_wherever_it_is),
        cmocka_unit_test(a_character_may_lie_across_two_pieces),
        cmocka_unit_test(what_others_wrote_becomes_one_clean_line),
        cmocka_unit_test(a_line_of_the_log_is_clean),
        cmocka_unit_test(json_is_what_terminals_and_yaml_take_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
