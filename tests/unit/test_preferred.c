/* SPDX-License-Identifier: Apache-2.0 */
/* test_preferred.c - nodes that a role prefers by affinity are taken before others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/score.h"

#include "../fake/fake_core.h"
#include "../fake/place_fixture.h"

/* Preferred terms, each on a label of its own: the value "1". */
static struct spec *prefers(struct spec *s, uint32_t role, uint32_t weight_disk,
                            uint32_t weight_net)
{
    static const char *one[] = {"1"};
    struct spec_role *r = &s->roles[role];

    r->affinity = arena_alloc(&s->arena, 2 * sizeof(*r->affinity));
    r->affinity[r->n_affinity++] = (struct spec_match){1, weight_disk, "disk", "In", {one, 1}};
    if (weight_net)
        r->affinity[r->n_affinity++] = (struct spec_match){2, weight_net, "net", "In", {one, 1}};
    return s;
}

static struct node_fact *node(const char *name, const char *rack, const char *label)
{
    struct node_fact *f = site_node(name, "b0", rack, SITE_H100, 8);

    if (label)
        site_node_label(f, label, "1");
    return f;
}

static void add(struct place_fixture *f, const char *name, const char *rack, const char *label)
{
    cluster_node_seen(&f->cluster, node(name, rack, label));
}

static void a_preferred_node_is_taken_though_another_fits_tighter(void **state)
{
    struct place_fixture *f = *state;

    add(f, "n0", "r0", NULL);
    add(f, "n1", "r1", "disk");
    place_take(f, "n0", 4);
    assert_true(place_spec(f, site_spec("job", 1, 4)));
    assert_string_equal(place_host(f, 0), "n0");
    assert_true(place_spec(f, prefers(site_spec("job", 1, 4), 0, 1, 0)));
    assert_string_equal(place_host(f, 0), "n1");
}

static void where_no_preferred_node_has_room_any_other_will_do(void **state)
{
    struct place_fixture *f = *state;

    add(f, "n0", "r0", NULL);
    add(f, "n1", "r1", "disk");
    place_take(f, "n1", 5);
    assert_true(place_spec(f, prefers(site_spec("job", 1, 4), 0, 100, 0)));
    assert_string_equal(place_host(f, 0), "n0");
    cluster_node_gone(&f->cluster, "n1");
    assert_true(place_spec(f, prefers(site_spec("job", 1, 4), 0, 100, 0)));
}

static void of_preferred_nodes_the_heavier_terms_win_and_then_the_lighter(void **state)
{
    struct place_fixture *f = *state;

    add(f, "n0", "r0", NULL);
    add(f, "n1", "r1", "net");
    add(f, "n2", "r2", "disk");
    assert_true(place_spec(f, prefers(site_spec("job", 1, 8), 0, 60, 40)));
    assert_string_equal(place_host(f, 0), "n2");
    assert_true(place_spec(f, prefers(site_spec("job", 1, 8), 0, 40, 60)));
    assert_string_equal(place_host(f, 0), "n1");
    place_take(f, "n2", 1);
    assert_true(place_spec(f, prefers(site_spec("job", 1, 8), 0, 60, 40)));
    assert_string_equal(place_host(f, 0), "n1");
}

static void a_gang_keeps_its_topology_whatever_it_prefers(void **state)
{
    struct place_fixture *f = *state;

    add(f, "n0", "r0", NULL);
    add(f, "n1", "r0", NULL);
    add(f, "n2", "r1", "disk");
    add(f, "n3", "r2", "disk");
    assert_true(place_spec(f, prefers(site_spec("job", 2, 8), 0, 100, 0)));
    assert_string_equal(place_host(f, 0), "n0"); /* one rack, not two */
    add(f, "n4", "r2", "disk");
    assert_true(place_spec(f, prefers(site_spec("job", 2, 8), 0, 100, 0)));
    assert_string_equal(place_host(f, 0), "n3");
    assert_string_equal(place_host(f, 1), "n4");
}

static void each_role_has_its_own_preference(void **state)
{
    struct place_fixture *f = *state;
    struct spec *s = site_spec("job", 1, 8);

    site_role(s, "second", 1, 4);
    add(f, "n0", "r0", NULL);
    add(f, "n1", "r0", "disk");
    add(f, "n2", "r0", NULL);
    assert_true(place_spec(f, prefers(s, 1, 10, 0)));
    assert_string_equal(place_host(f, 1), "n1");
    assert_string_not_equal(place_host(f, 0), "n1");
}

static void a_label_that_changes_changes_what_is_preferred(void **state)
{
    struct place_fixture *f = *state;

    add(f, "n0", "r0", NULL);
    add(f, "n1", "r0", "disk");
    assert_true(place_spec(f, prefers(site_spec("job", 1, 8), 0, 10, 0)));
    assert_string_equal(place_host(f, 0), "n1");
    add(f, "n1", "r0", NULL);
    add(f, "n0", "r0", "disk");
    assert_true(place_spec(f, prefers(site_spec("job", 1, 8), 0, 10, 0)));
    assert_string_equal(place_host(f, 0), "n0");
}

static void the_score_says_how_much_the_hosts_are_preferred(void **state)
{
    char text[SCORE_TEXT_MAX + 1];
    struct core *c = *state;
    struct score score;
    struct job *j;

    core_node(c, node("n0", "r0", "disk"));
    core_node(c, node("n1", "r0", NULL));
    j = core_job(c, core_submit(c, prefers(site_spec("job", 2, 8), 0, 10, 0)));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    score_job(c->state, j, &score);
    assert_int_equal(score.liking, 500);
    assert_non_null(strstr(score_text(text, c->state, j, &score), ", preferred 500"));
}

#define PLACE(test) cmocka_unit_test_setup_teardown(test, place_set_up, place_tear_down)
#define CORE(test)  cmocka_unit_test_setup_teardown(test, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE(a_preferred_node_is_taken_though_another_fits_tighter),
        PLACE(where_no_preferred_node_has_room_any_other_will_do),
        PLACE(of_preferred_nodes_the_heavier_terms_win_and_then_the_lighter),
        PLACE(a_gang_keeps_its_topology_whatever_it_prefers),
        PLACE(each_role_has_its_own_preference),
        PLACE(a_label_that_changes_changes_what_is_preferred),
        CORE(the_score_says_how_much_the_hosts_are_preferred),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
