/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain.c - the one reason why a job waits, with numbers and a next step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "view/explain.h"

#include "../fake/fake_core.h"

static int64_t number(const struct explain *x, const char *name)
{
    for (uint32_t i = 0; i < x->n_numbers; i++)
        if (strcmp(x->numbers[i].name, name) == 0)
            return x->numbers[i].value;
    return -1;
}

/* Submit, cycle, and expect this reason. */
static struct explain why(struct core *c, struct spec *spec, const char *code)
{
    struct job *j = core_job(c, core_submit(c, spec));
    struct explain x;

    core_cycle(c);
    core_forget(c);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, code);
    assert_true(x.text[0]);
    assert_null(strstr(x.asks, " 0 CPU"));
    return x;
}

static void hold(struct core *c, const char *node, int64_t gpus)
{
    struct event ev = {.kind = EV_POD_SEEN, .u.pod = site_pod(node, node, gpus)};

    (void)core_apply(c, &ev);
}

static void the_api_server_comes_before_all_else(void **state)
{
    struct core *c = *state;
    struct event down = {.kind = EV_CLUSTER, .u.cluster.text = xstrdup("connection refused")};
    struct explain x;

    (void)core_apply(c, &down);
    x = why(c, site_spec("job", 99, 8), "ClusterUnreachable");
    assert_non_null(strstr(x.text, "connection refused"));
}

static void a_job_bigger_than_the_cluster_says_no_such_hardware(void **state)
{
    struct core *c = *state;
    struct explain x = why(c, site_spec("job", 5, 8), "NoSuchHardware");

    assert_true(x.next_step[0]);
    assert_int_equal(number(&x, "nodes"), 4);
}

static void a_selector_that_matches_nothing_is_named(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 1, 8);
    struct spec_pair block = {"gang.queued/block", "nowhere"};

    s->roles[0].node_selector = (struct spec_pairs){&block, 1};
    assert_non_null(strstr(why(c, s, "SelectorMismatch").text, "gang.queued/block"));
}

static void a_taint_on_all_nodes_is_named(void **state)
{
    struct core *c = *state;
    const char *names[] = {"n0", "n1", "n2", "n3"};

    for (int i = 0; i < 4; i++) {
        struct node_fact *f = site_node(names[i], "b0", "r0", SITE_H100, 8);

        site_node_taint(f, "dedicated");
        core_node(c, f);
    }
    assert_non_null(strstr(why(c, site_spec("job", 1, 8), "UntoleratedTaint").text, "dedicated"));
}

static void nodes_that_are_not_healthy_are_the_reason_when_they_would_help(void **state)
{
    struct core *c = *state;
    struct node_fact *f = site_node("n0", "b0", "r0", SITE_H100, 8);
    struct explain x;

    f->is_ready = false;
    core_node(c, f);
    x = why(c, site_spec("job", 4, 8), "NodesUnhealthy");
    assert_int_equal(number(&x, "unhealthy_nodes"), 1);
}

static void too_few_free_gpus_are_counted(void **state)
{
    struct core *c = *state;
    struct explain x;

    hold(c, "n0", 8);
    hold(c, "n1", 3);
    x = why(c, site_spec("job", 3, 8), "InsufficientGpus");
    assert_int_equal(number(&x, "needed_gpus"), 24);
    assert_int_equal(number(&x, "free_gpus"), 21);
}

static void enough_gpus_in_pieces_need_whole_nodes(void **state)
{
    struct core *c = *state;

    hold(c, "n0", 1);
    hold(c, "n1", 1);
    hold(c, "n2", 1);
    (void)why(c, site_spec("job", 2, 8), "NeedsWholeNodes");
}

static void slices_that_have_no_room_are_counted(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 4, 8);
    struct explain x;

    hold(c, "n1", 1);
    core_nodes(c, 8); /* eight are free but for n1: three whole racks */
    s->slice_level = "rack";
    s->slice_size = 2;
    assert_int_equal(core_job(c, core_submit(c, s))->state, JOB_PENDING);
    assert_int_equal(core_cycle(c), 1);
    s = site_spec("one", 3, 8);
    s->slice_level = "rack";
    s->slice_size = 3;
    x = why(c, s, "TopologyUnavailable");
    assert_non_null(strstr(x.text, "0 of 1 slices of 3 pods have room, each in one rack"));
    assert_int_equal(number(&x, "fitting_slices"), 0);
}

static void enough_nodes_in_several_racks_say_topology(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 3, 8);

    s->topology_required = "rack";
    assert_int_equal(
        number(&(struct explain[]){why(c, s, "TopologyUnavailable")}[0], "best_domain_pods"), 2);
}

static void another_resource_is_named(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 8, 1);

    s->roles[0].cpu_milli = 90000;
    hold(c, "n0", 1);
    (void)core_submit(c, site_spec("small", 4, 1));
    core_cycle(c);
    s->roles[0].replicas = 4;
    s->roles[0].cpu_milli = 95500;
    assert_non_null(strstr(why(c, s, "InsufficientOther").text, "95500m cpu"));
}

static void a_limit_that_is_full_now_is_told_from_one_that_is_too_small(void **state)
{
    struct core *c = *state;
    struct explain x;

    c->settings.tenants[0].limit.gpus[SITE_H100] = 16;
    (void)core_submit(c, site_spec("first", 1, 8));
    core_cycle(c);
    x = why(c, site_spec("job", 2, 8), "TenantLimit");
    assert_int_equal(number(&x, "used_gpus"), 8);
    assert_int_equal(number(&x, "limit_gpus"), 16);
    (void)why(c, site_spec("job", 3, 8), "ExceedsTenantLimit");
}

static void what_is_not_preemptible_starts_inside_the_quota_only(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("fixed", 2, 8);
    struct explain x;
    struct job_id first;

    c->settings.tenants[0].quota.gpus[SITE_H100] = 16;
    first = core_submit(c, site_spec("first", 1, 8)).job;
    core_cycle(c);
    s->preemptible = SPEC_NO;
    x = why(c, s, "QuotaExhausted");
    assert_int_equal(number(&x, "needed_gpus"), 16);
    assert_int_equal(number(&x, "used_gpus"), 8);
    assert_int_equal(number(&x, "quota_gpus"), 16);
    core_see_all(c, first, POD_SUCCEEDED);
    assert_int_equal(core_cycle(c), 1);
}

static void without_a_quota_nothing_starts_that_is_not_preemptible(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("fixed", 1, 8);

    s->preemptible = SPEC_NO;
    (void)why(c, s, "QuotaExhausted");
    assert_int_equal(core_cycle(c), 0);
    (void)core_submit(c, site_spec("other", 1, 8));
    assert_int_equal(core_cycle(c), 1);
}

static void a_gang_that_was_undone_says_back_off(void **state)
{
    struct core *c = *state;
    struct job *j = core_job(c, core_submit(c, site_spec("job", 2, 8)));
    struct explain x;

    core_cycle(c);
    core_refuse(c, j, 0, REFUSAL_BIND);
    core_gone_all(c, j->id);
    core_forget(c);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "BackOff");
}

static void a_placed_gang_says_what_it_waits_for_and_a_running_one_nothing(void **state)
{
    struct core *c = *state;
    struct job *j = core_job(c, core_submit(c, site_spec("job", 2, 8)));
    struct explain x;

    core_cycle(c);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "WaitingForBind");
    core_see_all(c, j->id, POD_PENDING);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "WaitingForStart");
    core_see_all(c, j->id, POD_RUNNING);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "");
}

static void positions_count_by_priority_and_age(void **state)
{
    struct core *c = *state;
    struct answer a[3];
    struct explain x;

    for (uint32_t i = 0; i < 3; i++) {
        struct spec *s = site_spec("job", 5, 8);

        s->priority = i == 2 ? 900 : 500;
        core_pass(c, USEC_PER_SEC);
        a[i] = core_submit(c, s);
    }
    core_cycle(c);
    core_forget(c);
    explain_job(c->state, core_job(c, a[2]), c->now, &x);
    assert_int_equal(x.position, 1);
    explain_job(c->state, core_job(c, a[0]), c->now, &x);
    assert_int_equal(x.position, 2);
    explain_job(c->state, core_job(c, a[1]), c->now, &x);
    assert_int_equal(x.position, 3);
}

static void cpu_that_is_used_up_is_no_question_of_whole_nodes(void **state)
{
    struct core *c = *state;
    struct spec *first = site_spec("job", 4, 0), *second = site_spec("job", 1, 0);
    struct explain x;

    first->roles[0].cpu_milli = second->roles[0].cpu_milli = 90000;
    (void)core_submit(c, first);
    assert_int_equal(core_cycle(c), 1);
    x = why(c, second, "InsufficientOther");
    assert_non_null(strstr(x.text, "cpu"));
    assert_null(strstr(x.text, "GPU"));
}

static void what_no_node_has_goes_before_what_is_used_up(void **state)
{
    struct core *c = *state;
    struct spec *cpu = site_spec("job", 4, 0), *s = site_spec("job", 1, 1);
    struct explain x;

    cpu->roles[0].cpu_milli = 96000;
    s->roles[0].memory_bytes = INT64_C(100) << 40;
    (void)core_submit(c, cpu);
    assert_int_equal(core_cycle(c), 1);
    x = why(c, s, "InsufficientOther");
    assert_non_null(strstr(x.text, "100Ti memory asked"));
    cpu = site_spec("large", 1, 0);
    cpu->roles[0].cpu_milli = 500000;
    x = why(c, cpu, "NoSuchHardware");
    assert_non_null(strstr(x.text, "1 pods with 500 cpu, the whole cluster has 0"));
    assert_string_equal(x.asks, "1 pods x 500 CPU");
}

static void each_way_in_which_nodes_are_out_is_counted(void **state)
{
    static const char *const drivers[] = {"550.54", "570.10", NULL, "565"};
    static const char *excluded = "n0";
    struct core *c = *state;
    struct spec *s = site_spec("job", 1, 8);
    struct explain x;

    for (int i = 0; i < 4; i++) {
        char name[8];
        struct node_fact *f;

        (void)snprintf(name, sizeof(name), "n%d", i);
        f = site_node(name, "b0", "r0", SITE_H100, 8);
        if (drivers[i])
            site_node_label(f, "nvidia.com/cuda.driver-version.full", drivers[i]);
        if (i == 1)
            site_node_taint(f, "dedicated");
        core_node(c, f);
    }
    s->roles[0].driver_min = "570";
    x = why(c, s, "NoSuchHardware");
    assert_non_null(strstr(x.text, "4 nodes have 8 GPUs, none is allowed; 3 an older driver"));
    assert_non_null(strstr(x.text, "1 a taint that is not tolerated (dedicated)"));
    assert_int_equal(number(&x, "allowed_nodes"), 0);
    s = site_spec("two", 3, 8);
    s->roles[0].driver_min = "560";
    x = why(c, s, "NoSuchHardware");
    assert_non_null(strstr(x.text, "the whole cluster has 1, healthy or not; 2 an older driver"));
    s = site_spec("other", 1, 8);
    s->roles[0].excluded_nodes = (struct spec_strings){&excluded, 1};
    s->roles[0].driver_min = "550";
    assert_int_equal(core_job(c, core_submit(c, s))->state, JOB_PENDING);
    assert_int_equal(core_cycle(c), 1); /* on n3 */
}

static void hardware_that_is_not_there_goes_before_a_limit_that_is_full(void **state)
{
    struct core *c = *state;
    struct explain x;

    c->settings.tenants[0].limit.gpus[SITE_H100] = 96;
    (void)core_submit(c, site_spec("first", 1, 8));
    assert_int_equal(core_cycle(c), 1);
    x = why(c, site_spec("job", 12, 8), "NoSuchHardware");
    assert_null(strstr(x.not_it, "limit")); /* for it would be in the way, too */
    x = why(c, site_spec("job", 9, 8), "NoSuchHardware");
    assert_non_null(strstr(x.not_it, "limit"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_api_server_comes_before_all_else),
        TEST(a_job_bigger_than_the_cluster_says_no_such_hardware),
        TEST(a_selector_that_matches_nothing_is_named),
        TEST(a_taint_on_all_nodes_is_named),
        TEST(nodes_that_are_not_healthy_are_the_reason_when_they_would_help),
        TEST(too_few_free_gpus_are_counted),
        TEST(enough_gpus_in_pieces_need_whole_nodes),
        TEST(slices_that_have_no_room_are_counted),
        TEST(enough_nodes_in_several_racks_say_topology),
        TEST(another_resource_is_named),
        TEST(a_limit_that_is_full_now_is_told_from_one_that_is_too_small),
        TEST(what_is_not_preemptible_starts_inside_the_quota_only),
        TEST(without_a_quota_nothing_starts_that_is_not_preemptible),
        TEST(a_gang_that_was_undone_says_back_off),
        TEST(a_placed_gang_says_what_it_waits_for_and_a_running_one_nothing),
        TEST(positions_count_by_priority_and_age),
        TEST(cpu_that_is_used_up_is_no_question_of_whole_nodes),
        TEST(what_no_node_has_goes_before_what_is_used_up),
        TEST(each_way_in_which_nodes_are_out_is_counted),
        TEST(hardware_that_is_not_there_goes_before_a_limit_that_is_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
