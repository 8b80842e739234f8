/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_window.c - how many calls may be in flight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kube/kube_window.h"

static void it_is_full_width_at_first(void **state)
{
    struct kube_window w;

    (void)state;
    kube_window_init(&w, 32);
    assert_true(kube_window_has_room(&w, 31));
    assert_false(kube_window_has_room(&w, 32));
}

static void refusals_leave_as_many_as_were_let_in(void **state)
{
    struct kube_window w;

    (void)state;
    kube_window_init(&w, 32);
    for (size_t flying = 32; flying-- > 4;)
        kube_window_note(&w, 429, flying);
    assert_true(kube_window_has_room(&w, 3));
    assert_false(kube_window_has_room(&w, 4));
}

static void one_call_is_always_let_through(void **state)
{
    struct kube_window w;

    (void)state;
    kube_window_init(&w, 32);
    kube_window_note(&w, 429, 0);
    assert_true(kube_window_has_room(&w, 0));
    assert_false(kube_window_has_room(&w, 1));
}

static void answers_widen_it_slowly_up_to_the_most(void **state)
{
    struct kube_window w;

    (void)state;
    kube_window_init(&w, 8);
    kube_window_note(&w, 429, 2);
    for (int i = 0; i < 7; i++)
        kube_window_note(&w, 201, 1);
    assert_int_equal(w.size, 2);
    kube_window_note(&w, 404, 1);
    assert_int_equal(w.size, 3);
    for (int i = 0; i < 1000; i++)
        kube_window_note(&w, 200, 1);
    assert_int_equal(w.size, 8);
}

static void calls_without_an_answer_say_nothing(void **state)
{
    struct kube_window w;

    (void)state;
    kube_window_init(&w, 8);
    kube_window_note(&w, 429, 2);
    for (int i = 0; i < 1000; i++)
        kube_window_note(&w, 0, 1);
    assert_int_equal(w.size, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_full_width_at_first),
        cmocka_unit_test(refusals_leave_as_many_as_were_let_in),
        cmocka_unit_test(one_call_is_always_let_through),
        cmocka_unit_test(answers_widen_it_slowly_up_to_the_most),
        cmocka_unit_test(calls_without_an_answer_say_nothing),
    };

    return cmocka_run_group_tests_name("kube_window", tests, NULL, NULL);
}
