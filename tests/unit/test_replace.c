/* SPDX-License-Identifier: Apache-2.0 */
/* test_replace.c - a host that refuses one member: another one of the domain, or all is undone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/invariant.h"
#include "core/replace.h"

#include "../fake/fake_core.h"

/* Four nodes: n0 n1 in b0/r0, n2 n3 in b0/r1; more with core_nodes(). */
static struct job *placed(struct core *c, uint32_t replicas, const char *required)
{
    struct spec *s = site_spec("job", replicas, 8);
    struct job *j;

    s->topology_required = required;
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    core_forget(c);
    return j;
}

static const char *host(const struct core *c, const struct job *j, uint32_t member)
{
    return cluster_node(&c->state->cluster, j->members[member].node_ix)->name;
}

/* Its host is refused for a member; the turn decides after its facts. */
static void refuse(struct core *c, const struct job *j, uint32_t member)
{
    core_refuse(c, j, member, REFUSAL_HOST);
    assert_int_equal(core_cycle(c), 1);
}

static void check(const struct core *c)
{
    struct err err;

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
}

static void a_refused_member_goes_to_another_host_and_the_others_stay(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, 3, "block");
    uint32_t before[3];

    for (int i = 0; i < 3; i++)
        before[i] = j->members[i].node_ix;
    refuse(c, j, 2);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->attempt, 1);
    assert_int_equal(j->members[0].node_ix, before[0]);
    assert_int_equal(j->members[1].node_ix, before[1]);
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(j->members[2].node_ix, before[i]);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_JOB), 1);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 0);
    assert_string_equal(j->reason.code, "HostReplaced");
    assert_non_null(strstr(j->reason.text, host(c, j, 2)));
    assert_int_equal(c->state->tenants.v[0].used[SITE_H100], 24 * GPU_PARTS);
    check(c);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
}

static void the_host_stays_inside_the_domain_of_the_slice(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;

    core_nodes(c, 8);
    s->topology_required = "block";
    s->slice_level = "rack";
    s->slice_size = 1;
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    assert_string_equal(host(c, j, 0), "n0"); /* both hosts of that rack are used */
    refuse(c, j, 0);
    assert_int_equal(j->outcome, JOB_PENDING); /* its rack has no other host: all is undone */
    check(c);
}

static void the_host_stays_inside_the_required_domain(void **state)
{
    struct core *c = *state;
    struct job *j;

    core_nodes(c, 8);
    j = placed(c, 2, "rack");
    refuse(c, j, 1); /* the rack has two hosts */
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_PENDING);
    assert_string_equal(j->reason.code, "BindRefused");
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 1);
    core_gone_all(c, j->id);
    check(c);
}

static void nearest_to_its_neighbour_comes_first(void **state)
{
    struct core *c = *state;
    struct job *j, *other;

    core_nodes(c, 8);
    other = placed(c, 1, NULL); /* one rack has a single free host */
    j = placed(c, 2, "block");
    refuse(c, j, 1);
    assert_int_equal(j->state, JOB_BINDING);
    /* the same block as member 0 */
    assert_int_equal(host(c, j, 1)[1] / 4, host(c, j, 0)[1] / 4);
    assert_int_not_equal(j->members[1].node_ix, other->members[0].node_ix);
    check(c);
}

static void a_host_that_refused_is_not_taken_again(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, 2, "block");
    uint32_t first = j->members[1].node_ix, second;

    refuse(c, j, 1);
    second = j->members[1].node_ix;
    refuse(c, j, 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_not_equal(j->members[1].node_ix, first);
    assert_int_not_equal(j->members[1].node_ix, second);
    refuse(c, j, 1); /* four hosts: three refused, one is taken */
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
}

static void a_gang_on_one_required_host_is_undone(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 4);
    struct job *j;

    s->topology_required = "host";
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    refuse(c, j, 0);
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
}

static void hosts_are_replaced_only_so_many_times(void **state)
{
    struct core *c = *state;
    struct job *j;
    unsigned n = 0;

    core_nodes(c, 100);
    j = placed(c, 2, NULL);
    while (j->state == JOB_BINDING && n < 200) {
        refuse(c, j, 1);
        core_forget(c);
        n++;
    }
    assert_int_equal(n, JOB_REPLACED_MAX + 1);
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
    check(c);
}

static void a_member_that_was_seen_bound_is_not_moved(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, 2, NULL);
    uint32_t before = j->members[1].node_ix;

    core_see(c, j, 1, POD_PENDING, -1);
    refuse(c, j, 1);
    assert_int_equal(j->members[1].node_ix, before);
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
}

static void members_that_move_in_one_turn_are_told_of_by_one_start(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, 2, NULL);
    uint32_t before[2] = {j->members[0].node_ix, j->members[1].node_ix};

    core_refuse(c, j, 0, REFUSAL_HOST);
    core_refuse(c, j, 1, REFUSAL_HOST);
    assert_int_equal(core_cycle(c), 2);
    assert_int_not_equal(j->members[0].node_ix, before[0]);
    assert_int_not_equal(j->members[1].node_ix, before[1]);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    check(c);
}

static void cordon(struct core *c, const char *node, bool is_cordoned)
{
    struct node_fact *fact = site_node(node, "b0", node[1] < '2' ? "r0" : "r1", SITE_H100, 8);

    fact->is_cordoned = is_cordoned;
    core_node(c, fact);
}

/* One fills a node; of the other, pods of 5 and 4 GPUs stand apart, and each is made again alone.
 */
static struct job *five_and_four(struct core *c)
{
    struct spec *s = site_spec("job", 1, 8);
    struct job *j;

    (void)placed(c, 1, NULL);
    site_role(s, "five", 1, 5);
    site_role(s, "four", 1, 4);
    s->failure.scope = SPEC_SCOPE_POD;
    j = core_running(c, s);
    assert_int_not_equal(j->members[1].node_ix, j->members[2].node_ix);
    return j;
}

/* On nodes that take no work when they are lost; then one does. */
static void lost_pods_of_two_roles_get_one_host_only_if_both_fit(void **state)
{
    struct core *c = *state;
    struct job *j = five_and_four(c);

    for (uint32_t i = 1; i < 3; i++) {
        cordon(c, host(c, j, i), true);
        core_gone(c, j, i);
    }
    cordon(c, host(c, j, 1), false);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(j->members[2].mend, MEND_HOSTLESS);
    check(c);
    cordon(c, host(c, j, 2), false);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->members[2].mend, MEND_STARTING);
    assert_int_not_equal(j->members[1].node_ix, j->members[2].node_ix);
    check(c);
}

/* Each was kept its own host, which then takes no more work, and there is one other. */
static void what_is_kept_for_two_lost_pods_does_not_count_elsewhere(void **state)
{
    struct core *c = *state;
    struct job *j = five_and_four(c);

    for (uint32_t i = 1; i < 3; i++) {
        core_gone(c, j, i);
        assert_int_equal(j->members[i].phase, MEMBER_KEPT);
        cordon(c, host(c, j, i), true);
    }
    core_node(c, site_node("n4", "b0", "r0", SITE_H100, 8));
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(j->members[1].phase, MEMBER_KEPT);
    check(c);
    cordon(c, host(c, j, 2), false);
    assert_int_equal(core_cycle(c), 1);
    assert_string_equal(host(c, j, 1), "n4");
    check(c);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(a_refused_member_goes_to_another_host_and_the_others_stay),
        WITH(the_host_stays_inside_the_domain_of_the_slice),
        WITH(the_host_stays_inside_the_required_domain),
        WITH(nearest_to_its_neighbour_comes_first),
        WITH(a_host_that_refused_is_not_taken_again),
        WITH(a_gang_on_one_required_host_is_undone),
        WITH(hosts_are_replaced_only_so_many_times),
        WITH(a_member_that_was_seen_bound_is_not_moved),
        WITH(lost_pods_of_two_roles_get_one_host_only_if_both_fit),
        WITH(what_is_kept_for_two_lost_pods_does_not_count_elsewhere),
        WITH(members_that_move_in_one_turn_are_told_of_by_one_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
