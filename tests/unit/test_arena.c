/* SPDX-License-Identifier: Apache-2.0 */
/* test_arena.c - what an arena keeps over a reset, and where its cap is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/arena.h"

enum { PIECE = 400 };

static void fill(struct arena *a, size_t bytes)
{
    for (size_t n = 0; n < bytes; n += PIECE)
        memset(arena_raw(a, PIECE), 1, PIECE);
}

static void as_much_again_after_a_reset_allocates_nothing(void **state)
{
    static const size_t sizes[] = {PIECE, 5000, 300000, 900000};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct arena a = {0};
        const struct arena_block *kept;

        fill(&a, sizes[i] / 2);
        arena_reset(&a);
        fill(&a, sizes[i]); /* more than before: it grows */
        arena_reset(&a);
        assert_int_equal(a.used, 0);
        kept = a.blocks;
        for (int turn = 0; turn < 3; turn++) {
            fill(&a, sizes[i]);
            assert_ptr_equal(a.blocks, kept);
            arena_reset(&a);
        }
        arena_fini(&a);
    }
}

static void a_cap_holds_for_what_is_used_since_the_reset(void **state)
{
    struct arena a = {.cap = 2 * 1024};

    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        assert_non_null(arena_try(&a, 1024));
        assert_non_null(arena_try(&a, 1024));
        assert_null(arena_try(&a, 1));
        arena_reset(&a);
    }
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_much_again_after_a_reset_allocates_nothing),
        cmocka_unit_test(a_cap_holds_for_what_is_used_since_the_reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
