/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster.c - what is free on a node, and what counts against it. */
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
    (void)site_tenant(&f->settings, "t");
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

static struct node *add_h100(struct fixture *f, const char *name, int64_t gpus)
{
    return cluster_node_seen(&f->cluster, site_node(name, "b0", "r0", SITE_H100, gpus));
}

static void see_pod(struct fixture *f, struct pod_fact *p)
{
    cluster_pod_seen(&f->cluster, p);
    pod_fact_destroy(p);
}

static const struct resources one_gpu = {.amount = {[RES_GPUS] = 1, [RES_PODS] = 1}};

static void a_node_is_found_by_name_and_has_its_model(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);

    assert_ptr_equal(cluster_find(&f->cluster, "n1"), n);
    assert_ptr_equal(cluster_node(&f->cluster, n->ix), n);
    assert_null(cluster_find(&f->cluster, "n2"));
    assert_int_equal(n->model, SITE_H100);
    assert_true(n->is_usable);
    assert_int_equal(node_free_gpus(n), 8);
}

static void hold_and_release_move_the_free_gpus(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);

    cluster_hold(&f->cluster, n->ix, &one_gpu);
    cluster_hold(&f->cluster, n->ix, &one_gpu);
    assert_int_equal(node_free_gpus(n), 6);
    assert_int_equal(n->n_gangs, 2);
    cluster_release(&f->cluster, n->ix, &one_gpu);
    assert_int_equal(node_free_gpus(n), 7);
}

static struct pod_fact *huge_pod(const char *name)
{
    struct pod_fact *p = site_pod(name, "n1", RESOURCE_AMOUNT_MAX);

    (void)strcpy(p->requests[0].name, "memory");
    return p;
}

static void pods_that_ask_for_more_than_can_be_counted_come_and_go(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);

    see_pod(f, huge_pod("a"));
    see_pod(f, huge_pod("b"));
    cluster_hold(&f->cluster, n->ix, &one_gpu);
    cluster_pod_gone(&f->cluster, "other", "a", "");
    cluster_release(&f->cluster, n->ix, &one_gpu);
    cluster_pod_gone(&f->cluster, "other", "b", "");
    assert_int_equal(n->used.amount[RES_MEMORY], 0);
    assert_int_equal(n->used.amount[RES_PODS], 0);
}

static void a_degraded_node_keeps_its_work_and_takes_nothing_new(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);
    struct node_fact *fact = site_node("n1", "b0", "r0", SITE_H100, 8);

    for (int i = 0; i < 6; i++)
        cluster_hold(&f->cluster, n->ix, &one_gpu);
    site_node_set(fact, "nvidia.com/gpu", 5);
    n = cluster_node_seen(&f->cluster, fact);
    assert_int_equal(node_free_gpus(n), 0);
    assert_int_equal(n->used.amount[RES_GPUS], 6);
}

static void a_node_with_more_gpus_than_its_label_says_offers_those_of_the_label(void **state)
{
    struct fixture *f = *state;
    struct node_fact *fact = site_node("n1", "b0", "r0", SITE_H100, 8);

    site_node_label(fact, "nvidia.com/gpu.count", "6");
    assert_int_equal(node_free_gpus(cluster_node_seen(&f->cluster, fact)), 6);
}

static void troubled_nodes_are_not_usable(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        struct node_fact *fact = site_node("n1", "b0", "r0", SITE_H100, 8);
        static const char *const why[] = {"NotReady", "cordoned", "deleting"};
        struct node *n;

        fact->is_ready = i != 0;
        fact->is_cordoned = i == 1;
        fact->is_deleting = i == 2;
        n = cluster_node_seen(&f->cluster, fact);
        assert_false(n->is_usable);
        assert_string_equal(node_trouble(n), why[i]);
    }
    assert_null(node_trouble(add_h100(f, "n1", 8)));
}

static void a_foreign_pod_counts_once_however_often_it_is_seen(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);

    see_pod(f, site_pod("p", "n1", 3));
    see_pod(f, site_pod("p", "n1", 3));
    assert_int_equal(node_free_gpus(n), 5);
    see_pod(f, site_pod("p", "n1", 4));
    assert_int_equal(node_free_gpus(n), 4);
    cluster_pod_gone(&f->cluster, "other", "p", "uid-p");
    assert_int_equal(node_free_gpus(n), 8);
    cluster_pod_gone(&f->cluster, "other", "p", "uid-p");
    assert_int_equal(node_free_gpus(n), 8);
}

static void a_finished_pod_counts_nothing(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);
    struct pod_fact *p = site_pod("p", "n1", 3);

    see_pod(f, site_pod("p", "n1", 3));
    p->phase = POD_FAILED;
    see_pod(f, p);
    assert_int_equal(node_free_gpus(n), 8);
    assert_int_equal(n->n_pods, 0);
}

static void the_end_of_an_earlier_pod_of_the_same_name_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);

    see_pod(f, site_pod("p", "n1", 3));
    cluster_pod_gone(&f->cluster, "other", "p", "uid-of-an-older-one");
    assert_int_equal(node_free_gpus(n), 5);
}

static void a_pod_may_be_seen_before_its_node(void **state)
{
    struct fixture *f = *state;
    struct node *n;

    see_pod(f, site_pod("p", "n1", 3));
    n = cluster_find(&f->cluster, "n1");
    assert_non_null(n);
    assert_false(n->is_known);
    assert_false(n->is_usable);
    n = add_h100(f, "n1", 8);
    assert_int_equal(node_free_gpus(n), 5);
}

static void what_is_held_on_a_node_that_is_gone_is_not_forgotten(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);
    uint32_t ix = n->ix;

    cluster_hold(&f->cluster, ix, &one_gpu);
    cluster_node_gone(&f->cluster, "n1");
    assert_ptr_equal(cluster_find(&f->cluster, "n1"), n);
    assert_false(n->is_known);
    n = add_h100(f, "n1", 8);
    assert_int_equal(n->ix, ix);
    assert_int_equal(node_free_gpus(n), 7);
    cluster_node_gone(&f->cluster, "n1");
    cluster_release(&f->cluster, ix, &one_gpu);
    assert_null(cluster_find(&f->cluster, "n1"));
}

static void freed_capacity_moves_the_generation_of_its_model_alone(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);
    uint64_t h100, h200;

    cluster_hold(&f->cluster, n->ix, &one_gpu);
    h100 = f->cluster.freed_gen[SITE_H100];
    h200 = f->cluster.freed_gen[SITE_H200];
    cluster_release(&f->cluster, n->ix, &one_gpu);
    assert_true(f->cluster.freed_gen[SITE_H100] > h100);
    assert_int_equal(f->cluster.freed_gen[SITE_H200], h200);
}

/* The first role of a spec as a demand on this cluster. */
static enum refusal refusal(struct fixture *f, const struct spec *spec, const char *node)
{
    struct demand *table = NULL;
    struct demand *d = demand_of(&f->cluster, &table, spec);
    enum refusal why = role_refusal(&d->roles[0], cluster_find(&f->cluster, node), NULL);

    demand_release(&f->cluster, &table, d);
    return why;
}

static void a_node_that_takes_no_more_work_is_told_like_what_is_taken(void **state)
{
    struct fixture *f = *state;
    uint64_t taken;

    (void)add_h100(f, "n1", 8);
    taken = f->cluster.taken_any;
    cluster_drain(&f->cluster, "n1", "disk", 1);
    assert_int_equal(f->cluster.taken_any, taken + 1);
    cluster_drain(&f->cluster, "n1", "disk and fan", 2);
    cluster_drain(&f->cluster, "n1", NULL, 3);
    assert_int_equal(f->cluster.taken_any, taken + 1);
}

static void a_role_is_refused_by_model_taint_selector_and_shared_gpus(void **state)
{
    struct fixture *f = *state;
    struct spec *s = site_spec("job", 1, 8);
    struct node_fact *tainted = site_node("tainted", "b0", "r0", SITE_H100, 8);
    struct node_fact *shared = site_node("shared", "b0", "r0", SITE_H100, 8);
    struct spec_pair block = {"gang.queued/block", "b0"};
    const char *model = "H200";

    site_node_taint(tainted, "dedicated");
    site_node_label(shared, "nvidia.com/gpu.sharing-strategy", "time-slicing");
    cluster_node_seen(&f->cluster, tainted);
    cluster_node_seen(&f->cluster, shared);
    add_h100(f, "plain", 8);

    assert_int_equal(refusal(f, s, "plain"), REFUSAL_OF_NONE);
    assert_int_equal(refusal(f, s, "tainted"), REFUSED_TAINT);
    assert_int_equal(refusal(f, s, "shared"), REFUSED_SHARED);
    s->roles[0].node_selector = (struct spec_pairs){&block, 1};
    assert_int_equal(refusal(f, s, "plain"), REFUSAL_OF_NONE);
    block.value = "b1";
    assert_int_equal(refusal(f, s, "plain"), REFUSED_SELECTOR);
    s->roles[0].node_selector.n = 0;
    s->roles[0].gpu_models = (struct spec_strings){&model, 1};
    assert_int_equal(refusal(f, s, "plain"), REFUSED_MODEL);
    spec_destroy(s);
}

static void a_partial_request_goes_only_where_every_pick_of_gpus_is_contiguous(void **state)
{
    struct fixture *f = *state;
    struct node_fact *bridged = site_node("bridged", "b0", "r0", SITE_H100, 4);
    struct node_fact *again = site_node("bridged", "b0", "r0", SITE_H100, 4);
    static const struct {
        uint32_t gpus;
        enum refusal refusal;
    } rows[] = {
        {1, REFUSAL_OF_NONE}, {2, REFUSED_LINKS}, {3, REFUSAL_OF_NONE}, {4, REFUSAL_OF_NONE}};
    uint64_t shape;

    bridged->bad_picks = 1u << 2; /* two NVLink bridges: 2 of 4 may be two strangers */
    cluster_node_seen(&f->cluster, bridged);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct spec *s = site_spec("job", 1, rows[i].gpus);

        assert_int_equal(refusal(f, s, "bridged"), rows[i].refusal);
        spec_destroy(s);
    }
    shape = f->cluster.shape_gen;
    cluster_node_seen(&f->cluster, again); /* the bridge is found at last: who waits is looked at */
    assert_true(f->cluster.shape_gen > shape);
}

static void a_toleration_lets_a_role_onto_a_tainted_node(void **state)
{
    struct fixture *f = *state;
    struct spec *s = site_spec("job", 1, 8);
    struct node_fact *tainted = site_node("tainted", "b0", "r0", SITE_H100, 8);
    struct spec_toleration t = {.key = "dedicated", .exists = true};

    site_node_taint(tainted, "dedicated");
    cluster_node_seen(&f->cluster, tainted);
    s->roles[0].tolerations = &t;
    s->roles[0].n_tolerations = 1;
    assert_int_equal(refusal(f, s, "tainted"), REFUSAL_OF_NONE);
    t.effect = "NoExecute";
    assert_int_equal(refusal(f, s, "tainted"), REFUSED_TAINT);
    t = (struct spec_toleration){.exists = true};
    assert_int_equal(refusal(f, s, "tainted"), REFUSAL_OF_NONE);
    spec_destroy(s);
}

static void equal_wishes_are_one_demand(void **state)
{
    struct fixture *f = *state;
    struct demand *table = NULL;
    struct spec *a = site_spec("one", 2, 8), *b = site_spec("two", 2, 8);
    struct spec *c = site_spec("one", 2, 4);
    struct demand *da = demand_of(&f->cluster, &table, a), *db = demand_of(&f->cluster, &table, b);
    struct demand *dc = demand_of(&f->cluster, &table, c);

    assert_ptr_equal(da, db);
    assert_ptr_not_equal(da, dc);
    assert_int_equal(da->n_jobs, 2);
    assert_int_equal(da->gpus, 16);
    demand_release(&f->cluster, &table, da);
    demand_release(&f->cluster, &table, db);
    demand_release(&f->cluster, &table, dc);
    assert_null(table);
    assert_null(f->cluster.constraints);
    spec_destroy(a);
    spec_destroy(b);
    spec_destroy(c);
}

static void a_share_is_that_of_the_smallest_node_less_five_percent(void **state)
{
    struct fixture *f = *state;
    struct demand *table = NULL;
    struct spec *s = site_spec("job", 1, 2);
    struct demand *d = demand_of(&f->cluster, &table, s);
    struct node_fact *small = site_node("small", "b0", "r0", SITE_H100, 8);
    int64_t cpu, memory;

    assert_false(demand_share(&f->cluster, &d->roles[0], &cpu, &memory));
    add_h100(f, "big", 8);
    site_node_set(small, "cpu", 80000);
    cluster_node_seen(&f->cluster, small);
    assert_true(demand_share(&f->cluster, &d->roles[0], &cpu, &memory));
    assert_int_equal(cpu, 19000); /* 80000 / 8 * 2, less 5 percent */
    demand_release(&f->cluster, &table, d);
    spec_destroy(s);
}

static void a_fork_moves_alone_and_is_used_again(void **state)
{
    struct fixture *f = *state;
    struct node *n = add_h100(f, "n1", 8);
    const struct topology *t = &f->cluster.topology;
    struct cluster *fork;
    uint32_t rack = n->domain[0];

    cluster_hold(&f->cluster, n->ix, &one_gpu);
    cluster_node_gone(&f->cluster, add_h100(f, "n0", 4)->name); /* a slot is free */
    fork = cluster_fork(&f->cluster);
    cluster_hold(fork, n->ix, &one_gpu);
    cluster_release(fork, n->ix, &one_gpu);
    cluster_release(fork, n->ix, &one_gpu);
    assert_int_equal(node_free_gpus(cluster_node(fork, n->ix)), 8);
    assert_int_equal(histogram_slots(fork->topology.all[SITE_H100], 8), 1);
    assert_int_equal(histogram_slots(fork->topology.domains.v[rack]->by_model[SITE_H100], 8), 1);
    assert_int_equal(node_free_gpus(n), 7); /* the original stands still */
    assert_int_equal(histogram_slots(t->all[SITE_H100], 8), 0);
    assert_int_equal(histogram_slots(t->domains.v[rack]->by_model[SITE_H100], 8), 0);
    add_h100(f, "n2", 8);
    cluster_fork_copy(fork, &f->cluster);
    assert_int_equal(node_free_gpus(cluster_node(fork, n->ix)), 7);
    assert_int_equal(histogram_slots(fork->topology.all[SITE_H100], 1), 15);
    cluster_hold(fork, cluster_find(&f->cluster, "n2")->ix, &one_gpu);
    assert_int_equal(histogram_slots(fork->topology.all[SITE_H100], 1), 14);
    assert_int_equal(histogram_slots(t->all[SITE_H100], 1), 15);
    cluster_fork_free(fork);
}

static void a_fork_keeps_nodes_that_only_pods_have_named(void **state)
{
    struct fixture *f = *state;
    uint32_t ix = cluster_node_named(&f->cluster, "ghost");
    struct cluster *fork;

    cluster_hold(&f->cluster, ix, &one_gpu);
    fork = cluster_fork(&f->cluster);
    cluster_release(fork, ix, &one_gpu);
    assert_ptr_equal(cluster_find(&f->cluster, "ghost"), cluster_node(&f->cluster, ix));
    assert_non_null(cluster_node(fork, ix));
    cluster_fork_free(fork);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_is_found_by_name_and_has_its_model),
        TEST(hold_and_release_move_the_free_gpus),
        TEST(pods_that_ask_for_more_than_can_be_counted_come_and_go),
        TEST(a_degraded_node_keeps_its_work_and_takes_nothing_new),
        TEST(a_node_with_more_gpus_than_its_label_says_offers_those_of_the_label),
        TEST(troubled_nodes_are_not_usable),
        TEST(a_foreign_pod_counts_once_however_often_it_is_seen),
        TEST(a_finished_pod_counts_nothing),
        TEST(the_end_of_an_earlier_pod_of_the_same_name_changes_nothing),
        TEST(a_pod_may_be_seen_before_its_node),
        TEST(what_is_held_on_a_node_that_is_gone_is_not_forgotten),
        TEST(freed_capacity_moves_the_generation_of_its_model_alone),
        TEST(a_node_that_takes_no_more_work_is_told_like_what_is_taken),
        TEST(a_role_is_refused_by_model_taint_selector_and_shared_gpus),
        TEST(a_partial_request_goes_only_where_every_pick_of_gpus_is_contiguous),
        TEST(a_toleration_lets_a_role_onto_a_tainted_node),
        TEST(equal_wishes_are_one_demand),
        TEST(a_share_is_that_of_the_smallest_node_less_five_percent),
        TEST(a_fork_moves_alone_and_is_used_again),
        TEST(a_fork_keeps_nodes_that_only_pods_have_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
