/* SPDX-License-Identifier: Apache-2.0 */
/* test_kept.c - a gang with spares that restarts as a whole keeps its place (failurePolicy.scope:
 * gang). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/mem.h"
#include "view/estimate.h"

#include "../fake/fake_core.h"
#include "../fake/invariant.h"

static void check(const struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
}

/* Two pods and a spare on three of four nodes; a job of two nodes waits for room. */
static struct job *running_spared(struct core *c, struct job **ret_other)
{
    struct spec *s = site_spec("j", 2, 8);
    struct job *j;

    s->roles[0].spares = 1;
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    core_see(c, j, 0, POD_RUNNING, 0);
    core_see(c, j, 1, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    *ret_other = core_job(c, core_submit(c, site_spec("other", 2, 8)));
    assert_int_equal(core_cycle(c), 0);
    core_forget(c);
    return j;
}

static void lose_node(struct core *c, const struct job *j, uint32_t member)
{
    const struct node *n = cluster_node(&c->state->cluster, j->members[member].node_ix);
    struct node_fact *f = site_node(n->name, "b0", n->name[1] < '2' ? "r0" : "r1", SITE_H100, 8);

    f->is_ready = false;
    core_node(c, f);
    core_pass(c, c->settings.node_lost_us + USEC_PER_SEC);
}

static void the_spare_takes_the_part_of_the_lost_host_and_nobody_comes_between(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_spared(c, &other);
    uint32_t host = j->members[0].node_ix, spare = j->members[2].node_ix;
    usec_t end = j->running_at + j->max_runtime_us;

    lose_node(c, j, 1);
    assert_int_equal(j->state, JOB_RESTARTING);
    assert_non_null(strstr(job_reason_text(j), "it keeps its place, with spares"));
    assert_int_equal(j->members[2].phase, MEMBER_SPARE);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 1);
    assert_int_equal(core_cycle(c), 0);
    check(c);
    core_gone(c, j, 0);
    assert_int_equal(j->state, JOB_PENDING);
    assert_non_null(j->claim);
    check(c);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->attempt, 2);
    assert_int_equal(j->restarts, 0);
    assert_int_equal(j->members[0].node_ix, host);
    assert_int_equal(j->members[1].node_ix, spare);
    assert_int_equal(j->members[2].phase, MEMBER_ABSENT);
    assert_int_equal(j->charged_parts, 16 * GPU_PARTS);
    assert_int_equal(other->state, JOB_PENDING);
    core_see(c, j, 0, POD_RUNNING, 0);
    core_see(c, j, 1, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_true(job_run_end(j) == end); /* a restart in place does not make its run longer */
    check(c);
    core_pass(c, end - c->now);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_string_equal(j->reason.code, "MaxRuntime");
}

/* Ended pods whose objects are still there give nothing up, and a host without a pod is held. */
static void a_host_stays_held_from_the_end_of_one_pod_to_the_next(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_spared(c, &other);

    (void)core_cancel(c, other->id);
    core_gone(c, j, 0); /* deleted by somebody; its host is good */
    assert_int_equal(j->state, JOB_RESTARTING);
    assert_int_equal(j->members[0].phase, MEMBER_KEPT);
    core_see(c, j, 1, POD_FAILED, 143);
    assert_int_equal(j->members[1].phase, MEMBER_RUNNING);
    other = core_job(c, core_submit(c, site_spec("other", 2, 8)));
    assert_int_equal(core_cycle(c), 0);
    check(c);
    core_gone(c, j, 1);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->members[2].phase, MEMBER_SPARE);
    assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
    check(c);
}

static void without_enough_spares_it_waits_as_others_do(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_spared(c, &other);

    (void)core_cancel(c, other->id);
    (void)core_submit(c, site_spec("small", 1, 8)); /* on the fourth node */
    assert_int_equal(core_cycle(c), 1);
    lose_node(c, j, 1);
    lose_node(c, j, 2); /* the spare, too */
    core_gone(c, j, 0);
    assert_int_equal(j->state, JOB_PENDING);
    assert_null(j->claim);
    assert_true(j->run_until == 0);
    assert_int_equal(core_cycle(c), 0);
    check(c);
}

static void a_failing_program_restarts_through_the_queue(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_spared(c, &other);

    core_see(c, j, 1, POD_FAILED, 1);
    assert_int_equal(j->state, JOB_RESTARTING);
    assert_false(j->keeps);
    assert_int_equal(j->n_spare, 0);
    core_gone(c, j, 0);
    core_gone(c, j, 1);
    assert_int_equal(j->state, JOB_PENDING);
    assert_null(j->claim);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(other->state, JOB_BINDING);
}

static void what_was_kept_is_free_when_it_is_cancelled_meanwhile(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_spared(c, &other);

    core_gone(c, j, 0);
    assert_int_equal(j->members[0].phase, MEMBER_KEPT);
    (void)core_cancel(c, j->id);
    assert_int_equal(j->members[0].phase, MEMBER_GONE);
    assert_int_equal(j->n_spare, 0);
    check(c);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(other->state, JOB_BINDING);
    core_gone(c, j, 1);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
    check(c);
}

static void a_kept_host_that_is_lost_meanwhile_is_replaced_too(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_spared(c, &other);
    uint32_t spare = j->members[2].node_ix;

    core_gone(c, j, 0);
    assert_int_equal(j->members[0].phase, MEMBER_KEPT);
    lose_node(c, j, 0);
    assert_int_equal(j->members[0].phase, MEMBER_GONE);
    check(c);
    core_gone(c, j, 1);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->members[0].node_ix, spare);
    check(c);
}

/* A slice of so many whole nodes and a spare. */
static struct job *running_slice(struct core *c, uint32_t size)
{
    struct spec *s = site_spec("j", size, 8);
    struct job *j;

    s->slice_size = size;
    s->slice_level = "rack";
    s->roles[0].spares = 1;
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    for (uint32_t i = 0; i < size; i++)
        core_see(c, j, i, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(j->members[size].phase, MEMBER_SPARE);
    core_forget(c);
    return j;
}

static uint32_t rack_of(const struct core *c, const struct job *j, uint32_t member)
{
    return topology_domain_at(&c->state->cluster.topology,
                              cluster_node(&c->state->cluster, j->members[member].node_ix), 0,
                              SITE_RACK);
}

/* Racks of two: the spare is in the other, whose second node is taken. */
static void a_spare_of_another_domain_does_not_break_a_slice(void **state)
{
    struct core *c = *state;
    struct job *j = running_slice(c, 2);

    (void)core_submit(c, site_spec("other", 1, 8));
    assert_int_equal(core_cycle(c), 1);
    assert_int_not_equal(rack_of(c, j, 2), rack_of(c, j, 0));
    lose_node(c, j, 0);
    core_gone(c, j, 1);
    assert_int_equal(j->state, JOB_PENDING);
    assert_null(j->claim);
    assert_int_equal(core_cycle(c), 0);
    check(c);
}

static void a_spare_takes_over_in_the_domain_of_the_slice(void **state)
{
    struct core *c = *state;
    uint32_t spare;
    struct job *j;

    for (uint32_t i = 0; i < 4; i++)
        core_node(c, site_node((char[]){'m', (char)('0' + i), '\0'}, "b1", "r0", SITE_H100, 8));
    j = running_slice(c, 3);
    spare = j->members[3].node_ix;
    assert_int_equal(rack_of(c, j, 3), rack_of(c, j, 0));
    lose_node(c, j, 1);
    core_gone(c, j, 0);
    core_gone(c, j, 2);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->members[1].node_ix, spare);
    check(c);
}

/* Two, one and the spare in three racks: it can take over from one of the two only. */
static void a_spare_takes_no_part_that_breaks_the_spread(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("j", 3, 8);
    uint32_t lone = 0;
    struct job *j;

    for (uint32_t i = 0; i < 2; i++)
        core_node(c, site_node((char[]){'m', (char)('0' + i), '\0'}, "b1", "r0", SITE_H100, 8));
    s->roles[0].spares = 1;
    s->roles[0].spread = (struct spec_spread){.key = "rack", .max_skew = 1};
    j = core_running(c, s);
    while (rack_of(c, j, lone) == rack_of(c, j, (lone + 1) % 3) ||
           rack_of(c, j, lone) == rack_of(c, j, (lone + 2) % 3))
        lone++;
    assert_int_not_equal(rack_of(c, j, 3), rack_of(c, j, (lone + 1) % 3));
    lose_node(c, j, lone);
    core_gone(c, j, (lone + 1) % 3);
    core_gone(c, j, (lone + 2) % 3);
    assert_int_equal(j->state, JOB_PENDING);
    assert_null(j->claim);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    check(c);
}

/* The only free node is for the lost pod. */
static void an_estimate_has_lost_pods_made_again_first(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("j", 3, 8);
    struct estimates *e = estimates_create();
    struct job *j, *other;
    struct estimate told;

    s->failure.scope = SPEC_SCOPE_POD;
    j = core_running(c, s);
    lose_node(c, j, 1);
    other = core_job(c, core_submit(c, site_spec("other", 1, 8)));
    estimate_of(e, c->state, other, c->now, &told);
    assert_int_equal(told.kind, ESTIMATE_START);
    assert_true(told.at >= j->running_at + j->max_runtime_us);
    estimates_destroy(e);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(other->state, JOB_PENDING);
    check(c);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_spare_takes_the_part_of_the_lost_host_and_nobody_comes_between),
        TEST(a_host_stays_held_from_the_end_of_one_pod_to_the_next),
        TEST(without_enough_spares_it_waits_as_others_do),
        TEST(a_failing_program_restarts_through_the_queue),
        TEST(what_was_kept_is_free_when_it_is_cancelled_meanwhile),
        TEST(a_spare_of_another_domain_does_not_break_a_slice),
        TEST(a_spare_takes_over_in_the_domain_of_the_slice),
        TEST(a_spare_takes_no_part_that_breaks_the_spread),
        TEST(an_estimate_has_lost_pods_made_again_first),
        TEST(a_kept_host_that_is_lost_meanwhile_is_replaced_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
