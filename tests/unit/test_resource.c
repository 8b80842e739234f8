/* SPDX-License-Identifier: Apache-2.0 */
/* test_resource.c - vectors of amounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cluster/resource.h"

static struct resources amounts(int64_t gpus, int64_t cpu, int64_t memory)
{
    struct resources r = {.amount = {[RES_GPUS] = gpus, [RES_CPU] = cpu, [RES_MEMORY] = memory}};

    return r;
}

static void fixed_dimensions_have_their_kubernetes_names(void **state)
{
    static const struct {
        const char *name;
        int index;
    } rows[] = {
        {"nvidia.com/gpu", RES_GPUS},
        {"cpu", RES_CPU},
        {"memory", RES_MEMORY},
        {"ephemeral-storage", RES_EPHEMERAL},
        {"pods", RES_PODS},
        {"nvidia.com/gpu.shared", RES_SHARES},
        {"nvidia.com/gpu.memory", RES_GPU_BYTES},
    };
    struct resource_names names;

    (void)state;
    resource_names_init(&names);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(resource_index(&names, rows[i].name, false), rows[i].index);
}

static void an_unknown_name_gets_an_index_only_when_asked(void **state)
{
    struct resource_names names;

    (void)state;
    resource_names_init(&names);
    assert_int_equal(resource_index(&names, "rdma/hca", false), -1);
    assert_int_equal(resource_index(&names, "rdma/hca", true), RES_EXTENDED);
    assert_int_equal(resource_index(&names, "qpu.example/qpu", true), RES_EXTENDED + 1);
    assert_int_equal(resource_index(&names, "rdma/hca", false), RES_EXTENDED);
}

static void a_full_table_of_names_says_no(void **state)
{
    struct resource_names names;
    char name[32];

    (void)state;
    resource_names_init(&names);
    for (int i = RES_EXTENDED; i < RESOURCES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "example/r%d", i);
        assert_int_equal(resource_index(&names, name, true), i);
    }
    assert_int_equal(resource_index(&names, "example/one-more", true), -1);
    assert_int_equal(resource_index(&names, "example/r9", true), 9);
}

static void add_stops_at_the_maximum(void **state)
{
    struct resources a = amounts(RESOURCE_AMOUNT_MAX - 1, 5, 0), b = amounts(7, 6, 1);

    (void)state;
    resources_add(&a, &b);
    assert_int_equal(a.amount[RES_GPUS], RESOURCE_AMOUNT_MAX);
    assert_int_equal(a.amount[RES_CPU], 11);
    assert_int_equal(a.amount[RES_MEMORY], 1);
}

static void sub_stops_at_zero_and_says_so(void **state)
{
    struct resources a = amounts(3, 10, 10), b = amounts(4, 6, 10);

    (void)state;
    assert_false(resources_sub(&a, &b));
    assert_int_equal(a.amount[RES_GPUS], 0);
    assert_int_equal(a.amount[RES_CPU], 4);
    assert_int_equal(a.amount[RES_MEMORY], 0);
    a = amounts(4, 6, 10);
    assert_true(resources_sub(&a, &b));
}

static void a_need_fits_when_every_amount_does(void **state)
{
    struct resources need = amounts(2, 1000, 100);
    struct resources has = amounts(2, 1000, 100), less = amounts(2, 999, 100);

    (void)state;
    assert_true(resources_fit(&need, &has));
    assert_int_equal(resources_lacking(&need, &has), -1);
    assert_false(resources_fit(&need, &less));
    assert_int_equal(resources_lacking(&need, &less), RES_CPU);
}

static void times_is_the_scarcest_dimension_capped_by_max(void **state)
{
    struct resources need = amounts(2, 1000, 0), has = amounts(8, 3500, 0);
    struct resources nothing = amounts(0, 0, 0);

    (void)state;
    assert_int_equal(resources_times(&need, &has, 100), 3);
    assert_int_equal(resources_times(&need, &has, 2), 2);
    assert_int_equal(resources_times(&nothing, &has, 7), 7);
    assert_int_equal(resources_times(&need, &nothing, 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_dimensions_have_their_kubernetes_names),
        cmocka_unit_test(an_unknown_name_gets_an_index_only_when_asked),
        cmocka_unit_test(a_full_table_of_names_says_no),
        cmocka_unit_test(add_stops_at_the_maximum),
        cmocka_unit_test(sub_stops_at_zero_and_says_so),
        cmocka_unit_test(a_need_fits_when_every_amount_does),
        cmocka_unit_test(times_is_the_scarcest_dimension_capped_by_max),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
