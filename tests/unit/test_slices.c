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

struct fixture {
    struct settings settings;
    struct cluster cluster;
    struct demand *demands;
    struct place_result result;
    uint32_t excluded[JOB_EXCLUDED_MAX];
};

static int set_up(void **state)
{
    struct fixture *f = test_calloc(1, sizeof(*f));

    site_settings_init(&f->settings);
    cluster_init(&f->cluster, &f->settings);
    for (int i = 0; i < JOB_EXCLUDED_MAX; i++)
        f->excluded[i] = IX_NONE;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    free(f->result.members);
    cluster_fini(&f->cluster);
    site_settings_fini(&f->settings);
    test_free(f);
    return 0;
}

static struct node *add(struct fixture *f, const char *name, const char *block, const char *rack)
{
    return cluster_node_seen(&f->cluster, site_node(name, block, rack, SITE_H100, 8));
}

/* Two blocks of two racks of two nodes: b0/r0: n0 n1, b0/r1: n2 n3, b1/r0: n4 n5, b1/r1: n6 n7. */
static void add_eight(struct fixture *f)
{
    for (char i = 0; i < 8; i++) {
        char name[] = "n0", block[] = "b0", rack[] = "r0";

        name[1] = (char)('0' + i);
        block[1] = (char)('0' + i / 4);
        rack[1] = (char)('0' + i / 2 % 2);
        add(f, name, block, rack);
    }
}

static void take(struct fixture *f, const char *node, int64_t gpus)
{
    struct resources r = {.amount = {[RES_GPUS] = gpus}};

    cluster_hold(&f->cluster, cluster_find(&f->cluster, node)->ix, &r);
}

/* Place the spec, which is taken over; all roles with GPUs on H100. */
static bool place(struct fixture *f, struct spec *s)
{
    struct demand *d = demand_of(&f->cluster, &f->demands, s);
    uint8_t models[JOB_ROLES_MAX];
    struct place_wish wish = {0};
    bool fits;

    wish.demand = d;
    wish.models = models;
    wish.excluded = f->excluded;
    for (uint32_t i = 0; i < d->n_roles; i++)
        models[i] = d->roles[i].each.amount[RES_GPUS] ? SITE_H100 : MODELS_MAX;
    free(f->result.members);
    f->result.members = NULL;
    fits = place_gang(&f->cluster, &wish, &f->result);
    demand_release(&f->cluster, &f->demands, d);
    spec_destroy(s);
    return fits;
}

static const char *host(struct fixture *f, uint32_t member)
{
    return cluster_node(&f->cluster, f->result.members[member].node_ix)->name;
}

static struct spec *in_slices(uint32_t replicas, uint32_t gpus, uint32_t size, const char *level)
{
    struct spec *s = site_spec("job", replicas, gpus);

    s->slice_size = size;
    s->slice_level = level;
    return s;
}

static uint32_t rack_of(struct fixture *f, uint32_t member)
{
    const struct node *n = cluster_node(&f->cluster, f->result.members[member].node_ix);

    return topology_domain_at(&f->cluster.topology, n, 0, SITE_RACK);
}

static void each_slice_has_a_rack_of_its_own_or_shares_one(void **state)
{
    struct fixture *f = *state;

    add_eight(f);
    take(f, "n1", 8);
    take(f, "n6", 8);
    assert_true(place(f, in_slices(4, 8, 2, "rack"))); /* r1 of b0 and r0 of b1 are whole */
    assert_string_equal(host(f, 0), "n2");
    assert_string_equal(host(f, 1), "n3");
    assert_string_equal(host(f, 2), "n4");
    assert_string_equal(host(f, 3), "n5");
    assert_true(place(f, in_slices(6, 8, 1, "rack")));
    assert_false(place(f, in_slices(6, 8, 2, "rack")));
    assert_false(place(f, in_slices(6, 8, 3, "rack")));
}

static void slices_of_a_host_are_not_parted(void **state)
{
    struct fixture *f = *state;

    add_eight(f);
    for (char i = 0; i < 6; i++)
        take(f, (char[]){'n', (char)('0' + i), '\0'}, 3); /* 5 of 8 are free: two pods of 2 */
    assert_true(place(f, in_slices(8, 2, 4, "host")));
    assert_string_equal(host(f, 0), "n6");
    assert_string_equal(host(f, 3), "n6");
    assert_string_equal(host(f, 4), "n7");
    assert_true(place(f, in_slices(20, 2, 2, "host")));
    for (uint32_t m = 0; m < 20; m += 2)
        assert_string_equal(host(f, m), host(f, m + 1));
    assert_false(place(f, in_slices(12, 2, 4, "host")));
}

/* Whatever is taken: a gang in slices fits where the racks hold them, and each is in one rack. */
static void slices_fit_exactly_where_the_racks_hold_them(void **state)
{
    struct fixture *f = *state;
    uint32_t x = 12345;

    add_eight(f);
    for (int round = 0; round < 2000; round++) {
        uint32_t size = 1 + (x >> 8) % 4, slices = 1 + (x >> 16) % 6, holds = 0, racks[4] = {0};
        uint32_t gpus = 1 + (x >> 24) % 4, taken[8];

        for (uint32_t i = 0; i < 8; i++) {
            x = x * 1664525 + 1013904223;
            taken[i] = (x >> 12) % 9;
            take(f, (char[]){'n', (char)('0' + i), '\0'}, taken[i]);
            racks[i / 2] += (8 - taken[i]) / gpus;
        }
        for (int r = 0; r < 4; r++)
            holds += racks[r] / size;
        assert_int_equal(place(f, in_slices(slices * size, gpus, size, "rack")), slices <= holds);
        for (uint32_t m = 0; m < slices * size && slices <= holds; m++)
            assert_int_equal(rack_of(f, m), rack_of(f, m - m % size));
        for (uint32_t i = 0; i < 8; i++) {
            struct resources r = {.amount = {[RES_GPUS] = taken[i]}};

            cluster_release(&f->cluster,
                            cluster_find(&f->cluster, (char[]){'n', (char)('0' + i), '\0'})->ix,
                            &r);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_slice_has_a_rack_of_its_own_or_shares_one),
        TEST(slices_of_a_host_are_not_parted),
        TEST(slices_fit_exactly_where_the_racks_hold_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
