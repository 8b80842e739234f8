/* SPDX-License-Identifier: Apache-2.0 */
/* test_slices.c - groups of consecutive pods that share a domain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/place.h"

#include "../fake/fake_site.h"
#include "../fake/place_fixture.h"

static struct spec *in_slices(uint32_t replicas, uint32_t gpus, uint32_t size, const char *level)
{
    struct spec *s = site_spec("job", replicas, gpus);

    s->slice_size = size;
    s->slice_level = level;
    return s;
}

static uint32_t rack_of(struct place_fixture *f, uint32_t member)
{
    const struct node *n = cluster_node(&f->cluster, f->result.members[member].node_ix);

    return topology_domain_at(&f->cluster.topology, n, 0, SITE_RACK);
}

static void each_slice_has_a_rack_of_its_own_or_shares_one(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n1", 8);
    place_take(f, "n6", 8);
    assert_true(place_spec(f, in_slices(4, 8, 2, "rack"))); /* r1 of b0 and r0 of b1 are whole */
    assert_string_equal(place_host(f, 0), "n2");
    assert_string_equal(place_host(f, 1), "n3");
    assert_string_equal(place_host(f, 2), "n4");
    assert_string_equal(place_host(f, 3), "n5");
    assert_true(place_spec(f, in_slices(6, 8, 1, "rack")));
    assert_false(place_spec(f, in_slices(6, 8, 2, "rack")));
    assert_false(place_spec(f, in_slices(6, 8, 3, "rack")));
}

static void slices_of_a_host_are_not_parted(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    for (char i = 0; i < 6; i++)
        place_take(f, (char[]){'n', (char)('0' + i), '\0'}, 3); /* 5 of 8 are free: two pods of 2 */
    assert_true(place_spec(f, in_slices(8, 2, 4, "host")));
    assert_string_equal(place_host(f, 0), "n6");
    assert_string_equal(place_host(f, 3), "n6");
    assert_string_equal(place_host(f, 4), "n7");
    assert_true(place_spec(f, in_slices(20, 2, 2, "host")));
    for (uint32_t m = 0; m < 20; m += 2)
        assert_string_equal(place_host(f, m), place_host(f, m + 1));
    assert_false(place_spec(f, in_slices(12, 2, 4, "host")));
}

/* Whatever is taken: a gang in slices fits where the racks hold them, and each is in one rack. */
static void slices_fit_exactly_where_the_racks_hold_them(void **state)
{
    struct place_fixture *f = *state;
    uint32_t x = 12345;

    place_add_eight(f);
    for (int round = 0; round < 2000; round++) {
        uint32_t size = 1 + (x >> 8) % 4, slices = 1 + (x >> 16) % 6, holds = 0, racks[4] = {0};
        bool fits;
        uint32_t gpus = 1 + (x >> 24) % 4, taken[8], spares = (x >> 20) % 3, left;
        struct spec *spec = in_slices(slices * size, gpus, size, "rack");

        for (uint32_t i = 0; i < 8; i++) {
            x = x * 1664525 + 1013904223;
            taken[i] = (x >> 12) % 9;
            place_take(f, (char[]){'n', (char)('0' + i), '\0'}, taken[i]);
            racks[i / 2] += (8 - taken[i]) / gpus;
        }
        for (int r = 0; r < 4; r++)
            holds += racks[r] / size;
        left = racks[0] + racks[1] + racks[2] + racks[3];
        fits = slices <= holds && left >= slices * size + spares;
        spec->roles[0].spares = spares;
        assert_int_equal(place_spec(f, spec), fits);
        for (uint32_t m = 0; m < slices * size && fits; m++)
            assert_int_equal(rack_of(f, m), rack_of(f, m - m % size));
        for (uint32_t i = 0; i < 8; i++) {
            struct resources r = {.amount = {[RES_GPUS] = taken[i]}};

            cluster_release(&f->cluster,
                            cluster_find(&f->cluster, (char[]){'n', (char)('0' + i), '\0'})->ix,
                            &r);
        }
    }
}

/* Two racks of two, of which one node is taken: the spare is no part of a slice, and stands where
 * it can take over. */
static void a_spare_stands_beside_the_slices_near_one_of_them(void **state)
{
    struct place_fixture *f = *state;
    struct spec *s = in_slices(2, 4, 2, "rack");

    place_add_eight(f);
    for (char i = 0; i < 6; i++) /* full but for n3, n6 and n7 */
        place_take(f, (char[]){'n', (char)('0' + i), '\0'}, i == 3 ? 4 : 8);
    s->roles[0].spares = 1;
    assert_true(place_spec(f, s));
    assert_int_equal(rack_of(f, 0), rack_of(f, 1));
    assert_int_equal(rack_of(f, 2), rack_of(f, 0)); /* n3 is fuller, and could help nobody */
    s = in_slices(4, 4, 2, "rack");
    s->roles[0].spares = 1;
    assert_true(place_spec(f, s));
    assert_string_equal(place_host(f, 4), "n3"); /* there is no other room */
    s = in_slices(4, 4, 2, "rack");
    s->roles[0].spares = 2;
    assert_false(place_spec(f, s));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_set_up, place_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_slice_has_a_rack_of_its_own_or_shares_one),
        TEST(slices_of_a_host_are_not_parted),
        TEST(slices_fit_exactly_where_the_racks_hold_them),
        TEST(a_spare_stands_beside_the_slices_near_one_of_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
