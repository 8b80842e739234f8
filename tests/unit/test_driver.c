/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver.c - one version of the GPU driver for all hosts of a gang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "view/explain.h"

#include "../fake/fake_core.h"
#include "../fake/place_fixture.h"

static const char full[] = "nvidia.com/cuda.driver-version.full";

static struct node_fact *with_driver(const char *name, const char *rack, const char *version)
{
    struct node_fact *f = site_node(name, "b0", rack, SITE_H100, 8);

    if (version)
        site_node_label(f, full, version);
    return f;
}

static void add(struct place_fixture *f, const char *name, const char *rack, const char *version)
{
    cluster_node_seen(&f->cluster, with_driver(name, rack, version));
}

static void a_gang_has_one_driver_even_where_it_is_spread_wider_for_that(void **state)
{
    struct place_fixture *f = *state;
    struct spec *mixed = site_spec("job", 2, 8);

    add(f, "n0", "r0", "550.54.15");
    add(f, "n1", "r0", "535.104.5");
    add(f, "n2", "r1", "535.104.5");
    assert_true(place_spec(f, site_spec("job", 2, 8)));
    assert_string_equal(place_host(f, 0), "n1");
    assert_string_equal(place_host(f, 1), "n2");
    mixed->roles[0].mixed_drivers = true;
    assert_true(place_spec(f, mixed));
    assert_string_equal(place_host(f, 0), "n0");
    assert_string_equal(place_host(f, 1), "n1");
    assert_false(place_spec(f, site_spec("job", 3, 8)));
}

static void of_equal_placements_the_newest_driver_wins(void **state)
{
    struct place_fixture *f = *state;

    add(f, "n0", "r0", "550.54.9");
    add(f, "n1", "r0", "550.54.9");
    add(f, "n2", "r1", "550.54.15");
    add(f, "n3", "r1", "550.54.15");
    assert_true(place_spec(f, site_spec("job", 2, 8)));
    assert_string_equal(place_host(f, 0), "n2");
    add(f, "n2", "r1", "550.54.7"); /* a downgrade: the rack is mixed now */
    assert_true(place_spec(f, site_spec("job", 2, 8)));
    assert_string_equal(place_host(f, 0), "n0");
}

static void the_better_placement_wins_over_the_newer_driver(void **state)
{
    struct place_fixture *f = *state;

    add(f, "n0", "r0", "570.1");
    add(f, "n1", "r1", "570.1");
    add(f, "n2", "r2", "550.1");
    add(f, "n3", "r2", "550.1");
    assert_true(place_spec(f, site_spec("job", 2, 8)));
    assert_string_equal(place_host(f, 0), "n2");
    assert_string_equal(place_host(f, 1), "n3");
}

static void unknown_is_a_driver_of_its_own_and_roles_without_gpus_have_none(void **state)
{
    struct place_fixture *f = *state;
    struct spec *launcher = site_spec("job", 2, 8);

    add(f, "n0", "r0", NULL);
    add(f, "n1", "r0", "550.1");
    assert_false(place_spec(f, site_spec("job", 2, 8)));
    add(f, "n2", "r1", "550.1");
    cluster_node_seen(&f->cluster, site_node("cpu", "b0", "r1", MODELS_MAX, 0));
    place_take(f, "n1", 0);
    site_role(launcher, "launcher", 3, 0);
    launcher->roles[1].cpu_milli = 60000; /* more than what is left beside the GPUs */
    assert_true(place_spec(f, launcher));
    assert_string_equal(place_host(f, 0), "n1");
    assert_string_equal(place_host(f, 1), "n2");
}

static struct job *submit(struct core *c, struct spec *spec)
{
    struct job *j = core_job(c, core_submit(c, spec));

    core_cycle(c);
    core_forget(c);
    return j;
}

static void why_counts_the_pods_of_each_driver(void **state)
{
    struct core *c = *state;
    struct explain x;
    struct job *j;

    core_node(c, with_driver("n0", "r0", "550.1"));
    core_node(c, with_driver("n1", "r0", "550.1"));
    core_node(c, with_driver("n2", "r1", "535.2"));
    core_node(c, with_driver("n3", "r1", "535.2"));
    j = submit(c, site_spec("job", 3, 8));
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "InsufficientGpus");
    assert_non_null(strstr(x.text, "all 3 pods of role worker (550.1 for 2, 535.2 for 2)"));
    assert_non_null(strstr(x.next_step, "sameAcrossGang"));
    core_node(c, with_driver("n2", "r1", "550.1")); /* the upgrade goes on */
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void a_host_that_is_replaced_has_the_driver_of_the_others(void **state)
{
    struct core *c = *state;
    struct job *j;

    core_node(c, with_driver("n0", "r0", "550.1"));
    core_node(c, with_driver("n1", "r0", "550.1"));
    core_node(c, with_driver("n2", "r1", "535.2")); /* nearer by name than n3 */
    core_node(c, with_driver("n3", "r1", "550.1"));
    j = submit(c, site_spec("job", 2, 8));
    assert_int_equal(j->state, JOB_BINDING);
    core_refuse(c, j, 1, REFUSAL_HOST);
    assert_int_equal(core_cycle(c), 1);
    assert_string_equal(cluster_node(&c->state->cluster, j->members[1].node_ix)->name, "n3");
}

#define PLACE(name) cmocka_unit_test_setup_teardown(name, place_set_up, place_tear_down)
#define CORE(name)  cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE(a_gang_has_one_driver_even_where_it_is_spread_wider_for_that),
        PLACE(of_equal_placements_the_newest_driver_wins),
        PLACE(the_better_placement_wins_over_the_newer_driver),
        PLACE(unknown_is_a_driver_of_its_own_and_roles_without_gpus_have_none),
        CORE(why_counts_the_pods_of_each_driver),
        CORE(a_host_that_is_replaced_has_the_driver_of_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
