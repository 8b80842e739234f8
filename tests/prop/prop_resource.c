/* SPDX-License-Identifier: Apache-2.0 */
/* prop_resource.c - vectors of amounts against plain arithmetic on wider numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/resource.h"

#include "../sim/rng.h"

enum { SEEDS = 20000 };

static struct resources some(struct rng *g)
{
    struct resources r = {0};

    for (int i = 0; i < RESOURCES_MAX; i++)
        if (rng_one_in(g, 3))
            r.amount[i] = rng_one_in(g, 4) ? RESOURCE_AMOUNT_MAX - rng_between(g, 0, 5)
                                           : rng_between(g, 0, 20);
    return r;
}

static void sums_and_differences_stay_inside_their_bounds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct resources a = some(&g), b = some(&g), sum = a, rest = a;
        bool is_exact;

        resources_add(&sum, &b);
        is_exact = resources_sub(&rest, &b);
        for (int i = 0; i < RESOURCES_MAX; i++) {
            int64_t want = a.amount[i] + b.amount[i]; /* no wrap: RESOURCE_AMOUNT_MAX */

            assert_int_equal(sum.amount[i],
                             want > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : want);
            want = a.amount[i] - b.amount[i];
            assert_int_equal(rest.amount[i], want < 0 ? 0 : want);
            is_exact |= want < 0; /* then it need not have been */
        }
        assert_true(is_exact);
        assert_int_equal(resources_fit(&b, &a), resources_lacking(&b, &a) < 0);
    }
}

/* n times a need is taken by hand until it does not fit. */
static void times_is_how_often_the_need_can_be_taken(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct resources need = some(&g), has = some(&g), left;
        uint32_t max = rng_below(&g, 30), n = 0;

        left = has;
        while (n < max && resources_fit(&need, &left)) {
            (void)resources_sub(&left, &need);
            n++;
        }
        assert_int_equal(resources_times(&need, &has, max), n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_differences_stay_inside_their_bounds),
        cmocka_unit_test(times_is_how_often_the_need_can_be_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
