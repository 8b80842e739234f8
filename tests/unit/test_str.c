/* SPDX-License-Identifier: Apache-2.0 */
/* test_str.c - clean text is judged the same in pieces of eight bytes and one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_that_is_not_clean_is_found_wherever_it_is),
        cmocka_unit_test(a_character_may_lie_across_two_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
