/* SPDX-License-Identifier: Apache-2.0 */
/* test_spread.c - pods of a role over the domains of a level or the values of a label. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "view/explain.h"

#include "../fake/fake_core.h"
#include "../fake/place_fixture.h"

static struct spec *wants(uint32_t replicas, const char *key, uint32_t max_skew, bool is_soft)
{
    struct spec *s = site_spec("job", replicas, 1);

    s->roles[0].spread = (struct spec_spread){key, max_skew, is_soft};
    return s;
}

/* Pods on hosts whose digit is in this range. */
static uint32_t pods(struct place_fixture *f, uint32_t n, char from, char to)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += place_host(f, i)[1] >= from && place_host(f, i)[1] <= to;
    return sum;
}

static void racks_get_equal_shares_and_ranks_follow_them(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    assert_true(place_spec(f, wants(10, "rack", 1, false)));
    assert_in_range(pods(f, 10, '0', '1'), 2, 3);
    assert_in_range(pods(f, 10, '2', '3'), 2, 3);
    assert_in_range(pods(f, 10, '4', '5'), 2, 3);
    assert_in_range(pods(f, 10, '6', '7'), 2, 3);
    for (uint32_t i = 1; i < 10; i++)
        assert_true(place_host(f, i - 1)[1] <= place_host(f, i)[1]);
    assert_true(place_spec(f, wants(10, NULL, 0, false))); /* packed where nobody asks */
    assert_int_equal(pods(f, 10, '0', '1'), 10);
}

static void a_full_domain_counts_as_kubernetes_counts_it(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n2", 8);
    place_take(f, "n3", 8);
    assert_true(place_spec(f, wants(6, "rack", 2, false))); /* 2 2 2 and 0 in the full one */
    assert_int_equal(pods(f, 6, '2', '3'), 0);
    assert_false(place_spec(f, wants(7, "rack", 2, false)));
    assert_true(place_spec(f, wants(7, "rack", 3, false)));
}

static void one_that_may_be_uneven_is_as_even_as_can_be(void **state)
{
    struct place_fixture *f = *state;

    place_add_eight(f);
    place_take(f, "n2", 8);
    place_take(f, "n3", 7);
    assert_false(place_spec(f, wants(16, "rack", 1, false)));
    assert_true(place_spec(f, wants(16, "rack", 1, true)));
    assert_int_equal(pods(f, 16, '2', '3'), 1);
    assert_int_equal(pods(f, 16, '0', '1'), 5);
    assert_int_equal(pods(f, 16, '4', '5'), 5);
    assert_int_equal(pods(f, 16, '6', '7'), 5);
    assert_true(place_spec(f, wants(4, "rack", 1, true))); /* where it can be held it is */
    assert_int_equal(pods(f, 4, '2', '3'), 1);
}

static void the_spread_is_inside_the_required_domain(void **state)
{
    struct place_fixture *f = *state;
    struct spec *s = wants(8, "rack", 1, false);

    place_add_eight(f);
    place_take(f, "n5", 7);
    s->topology_required = "block";
    assert_true(place_spec(f, s)); /* the tighter block */
    assert_int_equal(pods(f, 8, '4', '5'), 4);
    assert_int_equal(pods(f, 8, '6', '7'), 4);
    s = wants(3, "host", 1, false);
    s->topology_required = "host"; /* one host has no other beside it */
    assert_true(place_spec(f, s));
    s = wants(3, "host", 1, false);
    s->topology_required = "rack";
    assert_true(place_spec(f, s));
    assert_int_not_equal(pods(f, 3, '4', '4'), 3);
}

static void labels_make_groups_and_a_node_without_takes_none(void **state)
{
    struct place_fixture *f = *state;

    for (char c = '0'; c < '6'; c++) {
        char name[] = "n0";
        struct node_fact *fact;

        name[1] = c;
        fact = site_node(name, "b0", "r0", SITE_H100, 8);
        if (c != '5')
            site_node_label(fact, "example.com/feed", c < '3' ? "a" : "b");
        cluster_node_seen(&f->cluster, fact);
    }
    assert_true(place_spec(f, wants(24, "example.com/feed", 1, false)));
    assert_int_equal(pods(f, 24, '0', '2'), 12);
    assert_int_equal(pods(f, 24, '3', '4'), 12);
    assert_false(place_spec(f, wants(34, "example.com/feed", 1, false)));
    assert_false(place_spec(f, wants(2, "example.com/none", 1, false)));
    assert_true(place_spec(f, wants(2, "example.com/none", 1, true)));
}

static void roles_spread_each_for_itself(void **state)
{
    struct place_fixture *f = *state;
    struct spec *s = wants(4, "rack", 1, false);

    place_add_eight(f);
    site_role(s, "second", 4, 2);
    assert_true(place_spec(f, s));
    for (char c = '0'; c < '8'; c += 2)
        assert_int_equal(pods(f, 4, c, (char)(c + 1)), 1);
}

static struct job *submit(struct core *c, struct spec *spec)
{
    struct job *j = core_job(c, core_submit(c, spec));

    core_cycle(c);
    core_forget(c);
    return j;
}

static void why_says_how_many_groups_have_room(void **state)
{
    struct core *c = *state;
    struct event full = {.kind = EV_POD_SEEN, .u.pod = site_pod("a", "n0", 8)};
    struct explain x;
    struct job *j;

    (void)core_apply(c, &full);
    full = (struct event){.kind = EV_POD_SEEN, .u.pod = site_pod("b", "n1", 8)};
    (void)core_apply(c, &full);
    j = submit(c, wants(4, "rack", 1, false));
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "TopologyUnavailable");
    assert_non_null(strstr(x.text, "4 pods of role worker"));
    assert_non_null(strstr(x.text, "1 of 2 have room"));
    assert_non_null(strstr(x.asks, "spread over rack"));
}

static void a_host_that_is_replaced_keeps_the_skew(void **state)
{
    struct core *c = *state;
    struct spec *s = wants(4, "rack", 1, false);
    struct job *j;

    core_nodes(c, 8);
    s->roles[0].gpus = 8;
    j = submit(c, s); /* one host of each rack */
    for (uint32_t i = 0; i < 4; i++) {
        char was = cluster_node(&c->state->cluster, j->members[i].node_ix)->name[1], now;

        core_refuse(c, j, i, REFUSAL_HOST);
        assert_int_equal(core_cycle(c), 1);
        now = cluster_node(&c->state->cluster, j->members[i].node_ix)->name[1];
        if (j->state != JOB_BINDING)
            break;
        assert_int_not_equal(now, was);
        assert_int_equal((now - '0') / 2, (was - '0') / 2); /* the other host of its rack */
    }
}

#define PLACE(name) cmocka_unit_test_setup_teardown(name, place_set_up, place_tear_down)
#define CORE(name)  cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE(racks_get_equal_shares_and_ranks_follow_them),
        PLACE(a_full_domain_counts_as_kubernetes_counts_it),
        PLACE(one_that_may_be_uneven_is_as_even_as_can_be),
        PLACE(the_spread_is_inside_the_required_domain),
        PLACE(labels_make_groups_and_a_node_without_takes_none),
        PLACE(roles_spread_each_for_itself),
        CORE(why_says_how_many_groups_have_room),
        CORE(a_host_that_is_replaced_keeps_the_skew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
