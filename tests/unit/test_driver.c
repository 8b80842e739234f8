/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver.c - one version of the GPU driver for all hosts of a gang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/mem.h"
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

static const struct node *host_of(const struct core *c, const struct job *j, uint32_t member)
{
    return cluster_node(&c->state->cluster, j->members[member].node_ix);
}

/* On n0 to n2, of the four nodes that there are. */
static struct job *running(struct core *c, enum spec_scope scope, uint32_t pods, uint32_t spares)
{
    struct spec *s = site_spec("job", pods, 8);
    struct job *j;

    s->failure.scope = scope;
    s->roles[0].spares = spares;
    core_nodes(c, 4);
    j = submit(c, s);
    assert_int_equal(j->state, JOB_BINDING);
    for (uint32_t i = 0; i < pods; i++)
        core_see(c, j, i, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    return j;
}

/* A member loses its pod, and its node comes back with this driver. */
static void reboot(struct core *c, const struct job *j, uint32_t member, const char *version)
{
    const char *name = host_of(c, j, member)->name;

    core_gone(c, j, member);
    core_node(c, with_driver(name, name[1] < '2' ? "r0" : "r1", version));
}

static void a_pod_made_again_stays_on_a_host_that_has_the_driver_of_the_others(void **state)
{
    static const char *const versions[] = {NULL, "550.1"};
    struct core *c = *state;

    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct job *j = running(c, SPEC_SCOPE_POD, 3, 0);

        reboot(c, j, 1, versions[i]);
        assert_int_equal(j->state, JOB_RUNNING);
        assert_int_equal(core_cycle(c), 1);
        assert_string_equal(host_of(c, j, 1)->name, i ? "n3" : "n1");
        (void)core_cancel(c, j->id);
        core_gone_all(c, j->id);
        core_service_gone(c, j->id);
    }
}

static void a_pod_that_no_host_with_the_driver_of_the_others_takes_restarts_the_gang(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, SPEC_SCOPE_POD, 4, 0);

    reboot(c, j, 1, "550.1");
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, j->start_timeout_us);
    assert_int_equal(j->state, JOB_RESTARTING);
    assert_string_equal(j->reason.code, "ReplaceTimeout");
}

static void a_spare_whose_driver_has_become_another_does_not_take_over(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, SPEC_SCOPE_POD, 2, 1);

    assert_string_equal(host_of(c, j, 2)->name, "n2");
    core_node(c, with_driver("n2", "r1", "550.1"));
    reboot(c, j, 1, "550.1");
    assert_int_equal(core_cycle(c), 1);
    assert_string_equal(host_of(c, j, 1)->name, "n3");
}

static void
a_host_held_for_a_pod_that_restarts_is_left_when_its_driver_has_become_another(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 1, 8);
    struct job *j;

    s->failure.scope = SPEC_SCOPE_ROLE;
    site_role(s, "second", 2, 8);
    core_nodes(c, 4);
    j = submit(c, s);
    for (uint32_t i = 0; i < 3; i++)
        core_see(c, j, i, POD_RUNNING, 0);
    core_gone(c, j, 2);
    assert_int_equal(j->state, JOB_RUNNING);
    core_see(c, j, 1, POD_FAILED, 143);
    assert_int_equal(j->members[1].phase, MEMBER_KEPT);
    core_node(c, with_driver(host_of(c, j, 1)->name, "r1", "550.1"));
    assert_int_equal(core_cycle(c), 1);
    assert_string_equal(host_of(c, j, 1)->name, "n1");
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
        CORE(a_pod_made_again_stays_on_a_host_that_has_the_driver_of_the_others),
        CORE(a_pod_that_no_host_with_the_driver_of_the_others_takes_restarts_the_gang),
        CORE(a_spare_whose_driver_has_become_another_does_not_take_over),
        CORE(a_host_held_for_a_pod_that_restarts_is_left_when_its_driver_has_become_another),
        CORE(a_host_that_is_replaced_has_the_driver_of_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
