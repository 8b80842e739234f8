/* SPDX-License-Identifier: Apache-2.0 */
/* test_place.c - where a gang goes, or that it goes nowhere. */
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

static struct spec *wants(uint32_t replicas, uint32_t gpus, const char *required,
                          const char *preferred)
{
    struct spec *s = site_spec("job", replicas, gpus);

    s->topology_required = required;
    s->topology_preferred = preferred;
    return s;
}

static void one_pod_goes_to_the_fullest_node_that_takes_it(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n3", 5);
    place_take(f, "n5", 7);
    assert_true(place_spec(f, wants(1, 2, NULL, NULL)));
    assert_string_equal(place_host(f, 0), "n3");
}

static void a_gang_prefers_one_rack_by_default(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n0", 8);
    assert_true(place_spec(f, wants(2, 8, NULL, NULL)));
    assert_string_equal(place_host(f, 0), "n2");
    assert_string_equal(place_host(f, 1), "n3");
}

static void the_domain_left_with_least_free_is_taken(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n4", 4);
    assert_true(place_spec(f, wants(3, 4, "rack", NULL)));
    assert_string_equal(place_host(f, 0), "n4");
    assert_string_equal(place_host(f, 1), "n5"); /* two hosts hold it */
    assert_string_equal(place_host(f, 2), "n5");
}

static void a_gang_goes_to_one_host_where_one_holds_it(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n0", 6);
    place_take(f, "n1", 6); /* the rack that is left with the least */
    assert_true(place_spec(f, wants(2, 2, NULL, "rack")));
    assert_string_equal(place_host(f, 0), "n2");
    assert_string_equal(place_host(f, 1), "n2");
    assert_int_equal(f->result.topology, 1000);
    assert_int_equal(f->result.packing, 500);
    assert_int_equal(f->result.score, 900);
}

/* n0 is left with less, n1 (of 4 GPUs) would be used to a bigger share: the score decides. */
static void the_runner_up_wins_with_the_better_score(void **state)
{
    struct place_fixture *f = *state;

    place_add(f, "n0", "b0", "r0");
    cluster_node_seen(&f->cluster, site_node("n1", "b0", "r1", SITE_H100, 4));
    place_take(f, "n0", 5);
    assert_true(place_spec(f, wants(1, 3, NULL, NULL)));
    assert_string_equal(place_host(f, 0), "n0"); /* 8 of 8 */
    place_take(f, "n0", 1);
    cluster_node_seen(&f->cluster, site_node("n2", "b0", "r2", SITE_H100, 16));
    place_take(f, "n2", 13);
    assert_true(place_spec(f, wants(1, 1, NULL, NULL)));
    assert_string_equal(place_host(f, 0), "n0"); /* 7 of 8, 14 of 16: a tie, the tighter fit */
    place_take(f, "n0", 2);
    cluster_node_seen(&f->cluster, site_node("n3", "b0", "r3", SITE_H100, 64));
    place_take(f, "n3", 60);
    place_take(f, "n1", 4);
    assert_true(place_spec(f, wants(1, 3, NULL, NULL)));
    assert_string_equal(place_host(f, 0), "n2"); /* it is full then */
    assert_true(place_spec(f, wants(1, 2, NULL, NULL)));
    assert_string_equal(place_host(f, 0), "n3"); /* 62 of 64 rather than 15 of 16 */
    assert_int_equal(f->result.packing, 968);
    f->settings.weight_packing = 0;
    assert_true(place_spec(f, wants(1, 2, NULL, NULL)));
    assert_string_equal(place_host(f, 0), "n2"); /* a tie: the tighter fit */
    assert_int_equal(f->result.score, 800);
}

static void a_preferred_level_is_climbed_when_it_does_not_fit(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    assert_true(place_spec(f, wants(4, 8, NULL, "rack")));
    for (uint32_t i = 0; i < 4; i++)
        assert_true(place_host(f, i)[1] < '4'); /* one block */
    assert_true(place_spec(f, wants(8, 8, NULL, "rack")));
}

static void a_required_level_is_never_left(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    assert_false(place_spec(f, wants(3, 8, "rack", NULL)));
    assert_true(place_spec(f, wants(4, 8, "block", NULL)));
    assert_false(place_spec(f, wants(5, 8, "block", NULL)));
    assert_true(place_spec(f, wants(2, 4, "host", NULL)));
    assert_string_equal(place_host(f, 0), place_host(f, 1));
    assert_false(place_spec(f, wants(3, 4, "host", NULL)));
}

static void a_node_without_the_level_serves_only_those_that_do_not_ask_for_it(void **state)
{
    struct place_fixture *f = *state;

    place_add(f, "n0", "b0", NULL);
    place_add(f, "n1", "b0", NULL);
    assert_false(place_spec(f, wants(1, 8, "rack", NULL)));
    assert_true(place_spec(f, wants(2, 8, "block", NULL)));
}

static void a_gang_that_does_not_fit_whole_gets_nothing(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n7", 1);
    assert_false(place_spec(f, wants(8, 8, NULL, NULL)));
    assert_null(f->result.members);
    assert_int_equal(node_free_gpus(cluster_find(&f->cluster, "n0")), 8);
}

static void pods_are_spread_evenly_over_the_fewest_hosts(void **state)
{
    struct place_fixture *f = *state;
    uint32_t first = 0;

    place_add_eight(f);
    assert_true(place_spec(f, wants(6, 2, "rack", NULL)));
    for (uint32_t i = 0; i < 6; i++)
        first += strcmp(place_host(f, i), place_host(f, 0)) == 0;
    assert_int_equal(first, 3); /* 3+3, not 4+2 */
}

static void an_excluded_node_is_not_used(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    f->excluded[3] = cluster_find(&f->cluster, "n0")->ix;
    assert_true(place_spec(f, wants(2, 8, "rack", NULL)));
    assert_string_equal(place_host(f, 0), "n2");
    for (uint32_t i = 0; i < 7; i++)
        f->excluded[i] = i;
    assert_false(place_spec(f, wants(2, 8, NULL, NULL)));
}

static void neighbouring_ranks_sit_on_neighbouring_hosts(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    assert_true(place_spec(f, wants(16, 4, NULL, "any")));
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(f->result.members[i].rank, i);
        assert_int_equal(place_host(f, i)[1], '0' + (char)(i / 2));
    }
}

static void a_role_without_gpus_goes_into_the_same_domain(void **state)
{
    struct place_fixture *f = *state;
    struct spec *s = wants(2, 8, "rack", NULL);

    site_role(s, "data", 3, 0);
    place_add_eight(f);
    place_take(f, "n0", 1);
    assert_true(place_spec(f, s));
    for (uint32_t i = 0; i < 5; i++)
        assert_true(place_host(f, i)[1] == '2' || place_host(f, i)[1] == '3');
}

static void another_resource_can_be_what_does_not_fit(void **state)
{
    struct place_fixture *f = *state;
    struct spec *s = wants(2, 1, "host", NULL);

    place_add_eight(f);
    s->roles[0].cpu_milli = 48000;
    assert_true(place_spec(f, s));
    s = wants(2, 1, "host", NULL);
    s->roles[0].cpu_milli = 48001;
    assert_false(place_spec(f, s));
}

static void a_gang_of_two_models_gets_each_role_its_own(void **state)
{
    struct place_fixture *f = *state;
    struct demand *d;
    struct spec *s = wants(1, 8, "rack", NULL);
    uint8_t models[JOB_ROLES_MAX] = {SITE_H100, SITE_H200};
    struct place_wish wish = {.models = models, .excluded = f->excluded};

    site_role(s, "other", 1, 4);
    place_add(f, "n0", "b0", "r0");
    cluster_node_seen(&f->cluster, site_node("n1", "b0", "r0", SITE_H200, 8));
    wish.demand = d = demand_of(&f->cluster, &f->demands, s);
    assert_true(place_gang(&f->cluster, &wish, &f->result));
    assert_string_equal(place_host(f, 0), "n0");
    assert_string_equal(place_host(f, 1), "n1");
    demand_release(&f->cluster, &f->demands, d);
    spec_destroy(s);
}

static void an_unknown_level_fits_nowhere(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    assert_false(place_spec(f, wants(1, 1, "galaxy", NULL)));
}

/* The first n hosts, as "n0 n1". */
static void assert_hosts(struct place_fixture *f, const char *hosts)
{
    char text[64] = "";

    for (uint32_t i = 0; i < (strlen(hosts) + 1) / 3; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
                       place_host(f, i));
    assert_string_equal(text, hosts);
}

static void counts_take_the_place_of_replicas(void **state)
{
    struct place_fixture *f = *state;
    const uint32_t counts[JOB_ROLES_MAX] = {1, 2};
    struct spec *s = wants(9, 8, NULL, NULL);

    place_add_eight(f);
    site_role(s, "second", 1, 4);
    f->wish.counts = counts;
    assert_true(place_spec(f, s));
    assert_hosts(f, "n0 n1 n1");
    assert_int_equal(f->result.members[2].rank, 2);
    f->wish.counts = (const uint32_t[JOB_ROLES_MAX]){0, 1};
    s = wants(9, 8, NULL, NULL);
    site_role(s, "second", 1, 4);
    assert_true(place_spec(f, s));
    assert_hosts(f, "n0");
}

static void a_relaxed_level_is_tried_first_and_left_when_it_does_not_fit(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    assert_false(place_spec(f, wants(3, 8, "rack", NULL)));
    f->wish.is_relaxed = true;
    assert_true(place_spec(f, wants(3, 8, "rack", NULL)));
    place_take(f, "n0", 8);
    assert_true(place_spec(f, wants(2, 8, "rack", "any")));
    assert_hosts(f, "n2 n3");
}

static void of_equal_hosts_that_in_the_fullest_rack_is_taken(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    assert_true(place_spec(f, wants(1, 1, NULL, NULL)));
    assert_hosts(f, "n0");
    place_take(f, "n6", 8);
    assert_true(place_spec(f, wants(1, 1, NULL, NULL)));
    assert_hosts(f, "n7");
    assert_true(place_spec(f, wants(2, 8, NULL, NULL)));
    assert_hosts(f, "n4 n5"); /* the rack in the block that is fullest */
}

static void a_gang_must_fit_beside_every_fork(void **state)
{
    struct place_fixture *f = *state;
    struct resources six = {.amount = {[RES_GPUS] = 6}}, cpus = {.amount = {[RES_CPU] = 1 << 30}};
    const struct cluster *beside[2];
    struct cluster *forks[2];

    place_add_eight(f);
    for (int i = 0; i < 2; i++)
        beside[i] = forks[i] = cluster_fork(&f->cluster);
    place_take(f, "n2", 1); /* the fullest now */
    cluster_hold(forks[0], cluster_find(&f->cluster, "n2")->ix, &six);
    cluster_hold(forks[1], cluster_find(&f->cluster, "n0")->ix, &cpus);
    assert_true(place_spec(f, wants(1, 4, NULL, NULL)));
    assert_hosts(f, "n2");
    f->wish.beside = beside;
    f->wish.n_beside = 2;
    assert_true(place_spec(f, wants(1, 4, NULL, NULL)));
    assert_hosts(f, "n3"); /* in the rack that is fullest */
    f->wish.n_beside = 1;
    assert_true(place_spec(f, wants(8, 8, NULL, NULL)) == false);
    assert_true(place_spec(f, wants(1, 2, NULL, NULL)));
    assert_hosts(f, "n2");
    for (int i = 0; i < 2; i++)
        cluster_fork_free(forks[i]);
}

static void a_closed_node_is_not_used(void **state)
{
    struct place_fixture *f = *state;
    uint64_t closed[1] = {0};

    place_add_eight(f);
    f->wish.closed = closed;
    for (uint32_t i = 0; i < 7; i++)
        closed[0] |=
            UINT64_C(1) << cluster_find(&f->cluster, (char[]){'n', (char)('0' + i), 0})->ix;
    assert_true(place_spec(f, wants(1, 8, NULL, NULL)));
    assert_hosts(f, "n7");
    assert_false(place_spec(f, wants(2, 8, NULL, NULL)));
}

static void a_gang_stays_within_its_domain(void **state)
{
    struct place_fixture *f = *state;
    const struct topology *t = &f->cluster.topology;

    place_add_eight(f);
    f->wish.within =
        t->domains.v[topology_domain_at(t, cluster_find(&f->cluster, "n6"), 0, SITE_RACK)];
    assert_true(place_spec(f, wants(2, 8, NULL, NULL)));
    assert_hosts(f, "n6 n7");
    assert_false(place_spec(f, wants(3, 8, NULL, NULL)));
    f->wish.within = t->domains.v[f->wish.within->parent];
    assert_true(place_spec(f, wants(3, 8, NULL, NULL)));
    assert_true(place_host(f, 0)[1] >= '4' && place_host(f, 1)[1] >= '4' &&
                place_host(f, 2)[1] >= '4');
}

static void the_plain_best_fit_goes_from_full_to_empty_by_name(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n5", 6);
    place_take(f, "n1", 6);
    place_take(f, "n3", 3);
    f->wish.rule = PLACE_BESTFIT;
    assert_true(place_spec(f, wants(6, 2, NULL, NULL)));
    assert_hosts(f, "n0 n0 n1 n3 n3 n5"); /* members follow paths */
}

static void the_plain_spread_goes_from_empty_to_full_by_name(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n0", 1);
    place_take(f, "n2", 2);
    f->wish.rule = PLACE_SPREAD;
    assert_true(place_spec(f, wants(6, 3, NULL, NULL)));
    assert_hosts(f, "n1 n1 n3 n3 n4 n4");
    f->wish.rule = PLACE_SPREAD;
    assert_true(place_spec(f, wants(3, 4, "rack", NULL))); /* what is required holds */
    assert_hosts(f, "n2 n3 n3");
}

static void the_plain_topology_rule_takes_whole_children(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    f->wish.rule = PLACE_TOPO;
    assert_true(place_spec(f, wants(6, 2, NULL, NULL)));
    assert_hosts(f, "n0 n0 n0 n0 n1 n1"); /* not evenly */
    place_take(f, "n0", 1);
    place_take(f, "n1", 2);
    assert_true(place_spec(f, wants(5, 2, NULL, NULL)));
    assert_hosts(f, "n0 n0 n1 n1 n1"); /* as many slots each, n1 is fuller */
    place_take(f, "n1", 6);
    assert_true(place_spec(f, wants(3, 7, NULL, NULL)));
    assert_hosts(f, "n0 n2 n3"); /* the block with less to spare, its bigger rack whole */
    assert_true(place_spec(f, wants(6, 8, NULL, NULL)));
    assert_hosts(f, "n2 n3 n4 n5 n6 n7");
}

static void the_plain_topology_rule_takes_the_fullest_host_by_name(void **state)
{
    struct place_fixture *f = *state;

    cluster_node_seen(&f->cluster, site_node("n1", "b1", "r0", SITE_H100, 8));
    cluster_node_seen(&f->cluster, site_node("n2", "b0", "r0", SITE_H100, 8));
    f->wish.rule = PLACE_TOPO;
    assert_true(place_spec(f, wants(2, 4, NULL, NULL)));
    assert_hosts(f, "n1 n1"); /* though b0 comes before b1 */
    place_take(f, "n2", 1);
    assert_true(place_spec(f, wants(1, 4, NULL, NULL)));
    assert_hosts(f, "n2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_set_up, place_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_pod_goes_to_the_fullest_node_that_takes_it),
        TEST(a_gang_prefers_one_rack_by_default),
        TEST(the_domain_left_with_least_free_is_taken),
        TEST(a_gang_goes_to_one_host_where_one_holds_it),
        TEST(the_runner_up_wins_with_the_better_score),
        TEST(a_preferred_level_is_climbed_when_it_does_not_fit),
        TEST(a_required_level_is_never_left),
        TEST(a_node_without_the_level_serves_only_those_that_do_not_ask_for_it),
        TEST(a_gang_that_does_not_fit_whole_gets_nothing),
        TEST(pods_are_spread_evenly_over_the_fewest_hosts),
        TEST(an_excluded_node_is_not_used),
        TEST(neighbouring_ranks_sit_on_neighbouring_hosts),
        TEST(a_role_without_gpus_goes_into_the_same_domain),
        TEST(another_resource_can_be_what_does_not_fit),
        TEST(a_gang_of_two_models_gets_each_role_its_own),
        TEST(an_unknown_level_fits_nowhere),
        TEST(counts_take_the_place_of_replicas),
        TEST(a_relaxed_level_is_tried_first_and_left_when_it_does_not_fit),
        TEST(of_equal_hosts_that_in_the_fullest_rack_is_taken),
        TEST(a_gang_must_fit_beside_every_fork),
        TEST(a_closed_node_is_not_used),
        TEST(a_gang_stays_within_its_domain),
        TEST(the_plain_best_fit_goes_from_full_to_empty_by_name),
        TEST(the_plain_spread_goes_from_empty_to_full_by_name),
        TEST(the_plain_topology_rule_takes_whole_children),
        TEST(the_plain_topology_rule_takes_the_fullest_host_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
