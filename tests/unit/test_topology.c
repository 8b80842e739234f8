/* SPDX-License-Identifier: Apache-2.0 */
/* test_topology.c - domains made of labels, and their counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"

#include "../fake/fake_site.h"

struct fixture {
    struct settings settings;
    struct cluster cluster;
};

static int set_up(void **state)
{
    struct fixture *f = test_calloc(1, sizeof(*f));

    site_settings_init(&f->settings);
    cluster_init(&f->cluster, &f->settings);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cluster_fini(&f->cluster);
    site_settings_fini(&f->settings);
    test_free(f);
    return 0;
}

static struct node *add(struct fixture *f, const char *name, const char *block, const char *rack)
{
    return cluster_node_seen(&f->cluster, site_node(name, block, rack, SITE_H100, 8));
}

static const struct domain *domain_at(struct fixture *f, const struct node *n, uint32_t level)
{
    uint32_t ix = topology_domain_at(&f->cluster.topology, n, 0, level);

    return ix == IX_NONE ? NULL : f->cluster.topology.domains.v[ix];
}

static void one_rack_name_in_two_blocks_is_two_domains(void **state)
{
    struct fixture *f = *state;
    const struct domain *a = domain_at(f, add(f, "n1", "b0", "r0"), SITE_RACK);
    const struct domain *b = domain_at(f, add(f, "n2", "b1", "r0"), SITE_RACK);

    assert_ptr_not_equal(a, b);
    assert_string_equal(a->path, "b0/r0");
    assert_string_equal(b->path, "b1/r0");
    assert_string_equal(a->name, "r0");
}

static void a_node_without_a_rack_is_in_its_block_and_in_no_rack(void **state)
{
    struct fixture *f = *state;
    struct node *n = add(f, "n1", "b0", NULL);

    assert_null(domain_at(f, n, SITE_RACK));
    assert_string_equal(domain_at(f, n, SITE_BLOCK)->path, "b0");
}

static void an_absent_label_is_not_an_empty_one(void **state)
{
    struct fixture *f = *state;
    struct node *without = add(f, "n1", NULL, NULL);
    struct node *empty = add(f, "n2", "", "");

    assert_null(domain_at(f, without, SITE_BLOCK));
    assert_non_null(domain_at(f, empty, SITE_BLOCK));
}

static void the_first_label_that_is_present_names_the_domain(void **state)
{
    struct fixture *f = *state;
    struct level_setting *rack = &f->settings.hierarchies[0].levels[SITE_RACK];
    struct node_fact *old = site_node("n1", "b0", NULL, SITE_H100, 8);
    struct node_fact *both = site_node("n2", "b0", "new", SITE_H100, 8);

    memcpy(rack->labels[1], "old/rack", sizeof("old/rack"));
    rack->n_labels = 2;
    site_node_label(old, "old/rack", "old");
    site_node_label(both, "old/rack", "old");
    assert_string_equal(domain_at(f, cluster_node_seen(&f->cluster, old), SITE_RACK)->name, "old");
    assert_string_equal(domain_at(f, cluster_node_seen(&f->cluster, both), SITE_RACK)->name, "new");
}

static void a_domain_goes_with_its_last_node(void **state)
{
    struct fixture *f = *state;

    add(f, "n1", "b0", "r0");
    add(f, "n2", "b0", "r1");
    cluster_node_gone(&f->cluster, "n1");
    assert_int_equal(f->cluster.topology.by_level[0][SITE_RACK].n, 1);
    cluster_node_gone(&f->cluster, "n2");
    assert_int_equal(f->cluster.topology.by_level[0][SITE_RACK].n, 0);
    assert_int_equal(f->cluster.topology.by_level[0][SITE_BLOCK].n, 0);
    assert_int_equal(f->cluster.topology.top[0].n, 0);
}

static void a_node_that_changes_its_label_moves(void **state)
{
    struct fixture *f = *state;
    struct node *n = add(f, "n1", "b0", "r0");

    add(f, "n2", "b0", "r0");
    n = add(f, "n1", "b0", "r1");
    assert_string_equal(domain_at(f, n, SITE_RACK)->path, "b0/r1");
    assert_int_equal(domain_at(f, n, SITE_RACK)->by_model[SITE_H100]->nodes, 1);
    assert_int_equal(domain_at(f, n, SITE_BLOCK)->by_model[SITE_H100]->nodes, 2);
}

static void domains_are_in_path_order_whatever_came_first(void **state)
{
    struct fixture *f = *state;
    const struct topology *t = &f->cluster.topology;
    static const char *const racks[] = {"r2", "r0", "r3", "r1"};

    for (int i = 0; i < 4; i++)
        add(f, racks[i], "b0", racks[i]);
    for (uint32_t i = 0; i < 4; i++) {
        char want[] = "b0/r0";

        want[4] = (char)('0' + i);
        assert_string_equal(t->domains.v[t->by_level[0][SITE_RACK].v[i]]->path, want);
    }
}

static void counts_follow_what_is_held(void **state)
{
    struct fixture *f = *state;
    const struct resources three = {.amount = {[RES_GPUS] = 3}};
    struct node *n = add(f, "n1", "b0", "r0");
    const struct free_histogram *h = domain_at(f, n, SITE_RACK)->by_model[SITE_H100];

    add(f, "n2", "b0", "r0");
    cluster_hold(&f->cluster, n->ix, &three);
    assert_int_equal(h->count[8], 1);
    assert_int_equal(h->count[5], 1);
    assert_int_equal(h->free_gpus, 13);
    cluster_release(&f->cluster, n->ix, &three);
    assert_int_equal(h->count[8], 2);
}

static void an_unusable_node_is_not_counted(void **state)
{
    struct fixture *f = *state;
    struct node_fact *fact = site_node("n1", "b0", "r0", SITE_H100, 8);
    struct node *n = add(f, "n1", "b0", "r0");
    const struct free_histogram *h = domain_at(f, n, SITE_RACK)->by_model[SITE_H100];

    fact->is_cordoned = true;
    cluster_node_seen(&f->cluster, fact);
    assert_int_equal(h->nodes, 0);
    assert_int_equal(h->free_gpus, 0);
}

static void slots_are_counted_per_node(void **state)
{
    struct free_histogram h = {.nodes = 4, .most = 8, .count = {[8] = 2, [5] = 1, [1] = 1}};

    (void)state;
    assert_int_equal(histogram_slots(&h, 8), 2);
    assert_int_equal(histogram_slots(&h, 4), 5);
    assert_int_equal(histogram_slots(&h, 1), 22);
    assert_int_equal(histogram_slots(&h, 9), 0);
    assert_int_equal(histogram_slots(NULL, 1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_rack_name_in_two_blocks_is_two_domains),
        TEST(a_node_without_a_rack_is_in_its_block_and_in_no_rack),
        TEST(an_absent_label_is_not_an_empty_one),
        TEST(the_first_label_that_is_present_names_the_domain),
        TEST(a_domain_goes_with_its_last_node),
        TEST(a_node_that_changes_its_label_moves),
        TEST(domains_are_in_path_order_whatever_came_first),
        TEST(counts_follow_what_is_held),
        TEST(an_unusable_node_is_not_counted),
        TEST(slots_are_counted_per_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
