/* SPDX-License-Identifier: Apache-2.0 */
/* test_preempt_odd.c - preemption when things are not as simple: other models, CPUs, and what may
 * happen to taker, victim and node while a claim is open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/two_tenants.h"
#include "core/cycle.h"
#include "core/preempt.h"
#include "core/window.h"
#include "life/state_apply.h"
#include "util/mem.h"

enum { LOW = 100, HIGH = 800 };

static struct job *submit_of(struct core *c, struct spec *s, const char *tenant, int32_t priority)
{
    s->tenant = s->ns = arena_strdup(&s->arena, tenant);
    s->priority = priority;
    return core_job(c, core_submit(c, s));
}

static struct job *start_of(struct core *c, struct spec *s, const char *tenant)
{
    struct job *j = submit_of(c, s, tenant, LOW);

    (void)core_cycle(c);
    assert_int_equal(j->state, JOB_BINDING);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    return j;
}

static void use_models(struct spec *s, const char *first, const char *second)
{
    struct spec_role *r = &s->roles[0];

    r->gpu_models.v = arena_alloc(&s->arena, 2 * sizeof(*r->gpu_models.v));
    r->gpu_models.n = 0;
    r->gpu_models.v[r->gpu_models.n++] = first;
    if (second)
        r->gpu_models.v[r->gpu_models.n++] = second;
}

static void a_taker_takes_from_gangs_of_any_model_that_it_may_use(void **state)
{
    struct core *c = *state;
    struct job *fixed, *low, *taker;
    struct spec *s = site_spec("fixed", 4, 8);

    c->settings.tenants[2].quota.gpus[SITE_H100] = 32;
    s->preemptible = SPEC_NO; /* holds all H100 */
    fixed = start_of(c, s, "b");
    core_node(c, site_node("h0", "b0", "r0", SITE_H200, 8));
    s = site_spec("low", 1, 8);
    use_models(s, "H200", NULL);
    low = start_of(c, s, "a");
    s = site_spec("taker", 1, 8);
    use_models(s, "H100", "H200");
    taker = submit_of(c, s, "a", HIGH);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    assert_int_equal(fixed->state, JOB_RUNNING);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    assert_int_equal(taker->models[0], SITE_H200);
    two_check(c);
}

static struct spec *cpu_spec(const char *name, uint32_t pods, int64_t cpu_milli)
{
    struct spec *s = site_spec(name, pods, 0);

    s->roles[0].cpu_milli = cpu_milli;
    return s;
}

static void a_gang_with_gpus_takes_the_cpus_of_a_lower_one_without(void **state)
{
    struct core *c = *state;
    int64_t all = cluster_node(&c->state->cluster, 0)->total.amount[RES_CPU];
    struct job *low = start_of(c, cpu_spec("low", 4, all), "a"), *taker;

    taker = submit_of(c, site_spec("taker", 1, 8), "a", HIGH);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

static void a_role_without_gpus_gets_its_cpus_from_a_lower_gang(void **state)
{
    struct core *c = *state;
    int64_t all = cluster_node(&c->state->cluster, 0)->total.amount[RES_CPU];
    struct job *low, *taker;
    struct spec *s;

    core_node(c, site_node("c0", "b0", "r0", MODELS_MAX, 0));
    s = cpu_spec("low", 5, all); /* the fifth node is the one without GPUs */
    low = start_of(c, s, "a");
    s = site_spec("taker", 4, 8);
    site_role(s, "ps", 1, 0);
    s->roles[1].cpu_milli = all;
    taker = submit_of(c, s, "a", HIGH);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

static void a_lower_gang_without_gpus_of_another_tenant_is_left_alone(void **state)
{
    struct core *c = *state;
    int64_t all = cluster_node(&c->state->cluster, 0)->total.amount[RES_CPU];
    struct job *low = start_of(c, cpu_spec("low", 4, all), "b");

    (void)submit_of(c, site_spec("taker", 1, 8), "a", HIGH);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(low->state, JOB_RUNNING);
    two_check(c);
}

/* ---- two takers */

/* A turn lies between a claim and the word to its victims. */
static void what_becomes_free_before_a_victim_is_told_spares_it(void **state)
{
    struct core *c = *state;
    struct job *low, *beside, *taker;
    struct spec *rest = site_spec("rest", 3, 8), *s = site_spec("beside", 1, 4);
    struct event ev;

    c->settings.tenants[2].quota.gpus[SITE_H100] = 32;
    rest->preemptible = s->preemptible = SPEC_NO;
    (void)start_of(c, rest, "b");
    beside = start_of(c, s, "b");
    low = start_of(c, site_spec("low", 1, 4), "a");
    taker = submit_of(c, site_spec("taker", 1, 4), "a", HIGH);
    assert_true(cycle_next(c->state, c->now, &ev));
    assert_int_equal(ev.kind, EV_GANG_CLAIMED);
    state_apply(c->state, &ev, &c->fx);
    event_fini(&ev);
    core_see_all(c, beside->id, POD_SUCCEEDED);
    core_gone_all(c, beside->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    assert_int_equal(low->state, JOB_RUNNING);
    assert_false(low->is_leaving);
    two_check(c);
}

static void two_takers_never_share_a_victim(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 2),
               *other = two_running(c, "a", "other", LOW, 2);
    struct job *one = two_submit(c, "a", "one", HIGH, 2), *two = two_submit(c, "a", "two", HIGH, 2),
               *three = two_submit(c, "a", "three", HIGH, 2);

    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    assert_int_equal(other->state, JOB_PREEMPTING);
    assert_non_null(one->claim);
    assert_non_null(two->claim);
    assert_null(three->claim);
    core_gone_all(c, low->id);
    core_gone_all(c, other->id);
    (void)core_cycle(c);
    assert_int_equal(one->state, JOB_BINDING);
    assert_int_equal(two->state, JOB_BINDING);
    assert_int_equal(three->state, JOB_PENDING);
    two_check(c);
}

static void a_higher_taker_that_comes_later_leaves_the_claim_of_the_first(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4), *one = two_submit(c, "a", "one", HIGH, 4);
    struct job *urgent;

    (void)core_cycle(c);
    assert_non_null(one->claim);
    urgent = two_submit(c, "a", "urgent", HIGH + 1, 4);
    (void)core_cycle(c);
    assert_null(urgent->claim);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(one->state, JOB_BINDING);
    core_see_all(c, one->id, POD_RUNNING);
    (void)core_cycle(c);
    assert_int_equal(one->state, JOB_RUNNING);
    assert_null(urgent->claim); /* one is too young */
    core_pass(c, 660 * USEC_PER_SEC);
    (void)core_cycle(c);
    assert_int_equal(one->state, JOB_PREEMPTING);
    two_check(c);
}

/* ---- while a claim is open */

static struct job *claimed(struct core *c, struct job **ret_low)
{
    struct job *taker;

    *ret_low = two_running(c, "a", "low", LOW, 4);
    taker = two_submit(c, "a", "taker", HIGH, 3);
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal((*ret_low)->state, JOB_PREEMPTING);
    return taker;
}

static void a_victim_that_ends_by_itself_in_its_grace_makes_room_too(void **state)
{
    struct core *c = *state;
    struct job *low, *taker = claimed(c, &low);

    for (uint32_t i = 0; i < 4; i++)
        core_see(c, low, i, POD_SUCCEEDED, 0);
    (void)core_cycle(c);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

static void a_victim_that_is_cancelled_in_its_grace_makes_room_too(void **state)
{
    struct core *c = *state;
    struct job *low, *taker = claimed(c, &low);

    (void)core_cancel(c, low->id);
    (void)core_cycle(c);
    core_gone_all(c, low->id);
    core_service_gone(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_CANCELLED);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

static void a_taker_that_is_held_gives_back_and_may_take_again(void **state)
{
    struct core *c = *state;
    struct job *low, *taker = claimed(c, &low);

    assert_int_equal(core_verb(c, taker->id, VERB_HOLD).code, ERR_OK);
    assert_null(taker->claim);
    two_check(c);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_BINDING); /* nobody else wants its nodes */
    core_see_all(c, low->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    assert_int_equal(core_verb(c, taker->id, VERB_RELEASE).code, ERR_OK);
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal(low->state, JOB_PREEMPTING);
    two_check(c);
}

static void a_taker_that_is_no_more_above_its_victim_gives_back(void **state)
{
    struct core *c = *state;
    struct job *low, *taker = claimed(c, &low);
    struct spec *s = site_spec("taker", 3, 8);
    struct event ev = {.kind = EV_JOB_UPDATE};

    s->tenant = s->ns = "a";
    s->priority = LOW - 1;
    s->priority_class = "low";
    ev.u.update = (struct ev_update){.job = taker->id,
                                     .n_updates = taker->n_updates,
                                     .spec = s,
                                     .why = xstrdup("not so urgent"),
                                     .ref.reply_token = 1,
                                     .caller.is_admin = true};
    memcpy(ev.u.update.ref.request_id, "updated", 7);
    (void)core_apply(c, &ev);
    (void)core_cycle(c);
    assert_null(taker->claim);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_BINDING);
    assert_int_equal(taker->state, JOB_PENDING);
    two_check(c);
}

static void a_claim_on_a_node_that_is_drained_moves_elsewhere(void **state)
{
    struct core *c = *state;
    struct job *low, *taker = claimed(c, &low);
    const struct node *n = cluster_node(&c->state->cluster, taker->members[0].node_ix);
    struct event ev = {.kind = EV_NODE_DRAIN};

    ev.u.drain = (struct ev_drain){
        .node = xstrdup(n->name), .why = xstrdup("disk swap"), .caller.user = "root"};
    assert_true(core_apply(c, &ev));
    (void)core_cycle(c);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(cluster_node(&c->state->cluster, taker->members[i].node_ix)->is_usable);
    two_check(c);
}

static void a_claim_waits_while_the_api_server_is_away(void **state)
{
    struct core *c = *state;
    struct job *low, *taker = claimed(c, &low);
    struct event ev = {.kind = EV_CLUSTER};

    assert_true(core_apply(c, &ev));
    assert_false(c->state->is_cluster_up);
    core_pass(c, 60 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 0);
    assert_non_null(taker->claim);
    core_up(c);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

static void nobody_leaves_for_nodes_that_are_reserved_for_others_yet(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4);
    struct window w = {.name = "repair", .made_at = c->now, .from = c->now};

    w.to = c->now + c->settings.grace_cap_us / 2;
    window_make(c->state, &w, "n0\nn1\nn2\nn3\n"); /* it is over before a grace is */
    (void)two_submit(c, "a", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, c->settings.grace_cap_us / 2 - 1);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(low->state, JOB_RUNNING);
    core_pass(c, 1);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    two_check(c);
}

/* ---- borders */

static void a_gang_is_a_victim_from_the_microsecond_of_min_runtime_on(void **state)
{
    struct core *c = *state;
    struct job *low = two_submit(c, "a", "low", LOW, 4);

    (void)core_cycle(c);
    core_see_all(c, low->id, POD_RUNNING);
    (void)two_submit(c, "a", "taker", HIGH, 1);
    core_pass(c, c->settings.min_runtime_us - 1);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 1);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
    two_check(c);
}

static void a_gang_that_seems_to_run_since_tomorrow_is_no_victim(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4);

    core_pass(c, -INT64_C(3600) * USEC_PER_SEC); /* the clock was put back */
    (void)two_submit(c, "a", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(low->state, JOB_RUNNING);
    core_pass(c, INT64_C(3601) * USEC_PER_SEC);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    two_check(c);
}

static void with_quotas_of_zero_nobody_reclaims(void **state)
{
    struct core *c = *state;
    struct job *low;

    c->settings.tenants[1].quota.gpus[SITE_H100] = c->settings.tenants[2].quota.gpus[SITE_H100] = 0;
    low = two_running(c, "b", "low", LOW, 4);
    (void)two_submit(c, "a", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(low->state, JOB_RUNNING);
    two_check(c);
}

static void what_a_tenant_of_quota_zero_holds_is_reclaimed_by_one_inside_its_own(void **state)
{
    struct core *c = *state;
    struct job *low;

    c->settings.tenants[2].quota.gpus[SITE_H100] = 0;
    low = two_running(c, "b", "low", HIGH, 4);
    (void)two_submit(c, "a", "taker", LOW, 2);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    two_check(c);
}

static void nobody_leaves_for_a_gang_larger_than_its_domain(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4);
    struct spec *s = site_spec("taker", 3, 8);

    s->topology_required = "rack"; /* of two hosts */
    (void)submit_of(c, s, "a", HIGH);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(low->state, JOB_RUNNING);
    two_check(c);
}

static void of_equal_gangs_the_one_with_the_smaller_id_leaves(void **state)
{
    struct core *c = *state;
    struct job *a = two_submit(c, "a", "low", LOW, 2), *b = two_submit(c, "a", "low", LOW, 2);

    (void)core_cycle(c);
    core_see_all(c, b->id, POD_RUNNING);
    core_see_all(c, a->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    (void)two_submit(c, "a", "taker", HIGH, 2);
    (void)core_cycle(c);
    assert_int_equal(a->state, JOB_PREEMPTING);
    assert_int_equal(b->state, JOB_RUNNING);
    two_check(c);
}

/* A taker of two nodes, which are held for it until a lower gang has left them. */
static struct job *claim_of_two(struct core *c, const char *required, uint32_t slice)
{
    struct job *low = two_running(c, "a", "low", LOW, 4), *taker;
    struct spec *s = site_spec("taker", 2, 8);

    s->topology_required = required;
    s->slice_size = slice;
    s->slice_level = slice ? "rack" : NULL;
    taker = submit_of(c, s, "a", HIGH);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    assert_non_null(taker->claim);
    core_gone_all(c, low->id);
    return taker;
}

/* One of its nodes comes back as another: it starts on two others. */
static void change(struct core *c, struct job *taker, struct node_fact *f)
{
    uint32_t ix = taker->members[0].node_ix;

    core_node(c, f);
    (void)core_cycle(c);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    assert_int_not_equal(taker->members[0].node_ix, ix);
    assert_int_not_equal(taker->members[1].node_ix, ix);
    two_check(c);
}

static const char *first_host(struct core *c, const struct job *j)
{
    return cluster_node(&c->state->cluster, j->members[0].node_ix)->name;
}

static void a_claim_is_dropped_when_a_reboot_brings_another_driver(void **state)
{
    struct core *c = *state;
    struct job *taker = claim_of_two(c, NULL, 0);
    struct node_fact *f = site_node(first_host(c, taker), "b0", "r0", SITE_H100, 8);

    site_node_label(f, "nvidia.com/cuda.driver-version.full", "550.1");
    change(c, taker, f);
}

static void a_claim_is_dropped_when_a_node_has_other_gpus(void **state)
{
    struct core *c = *state;
    struct job *taker = claim_of_two(c, NULL, 0);

    change(c, taker, site_node(first_host(c, taker), "b0", "r0", SITE_H200, 8));
}

static void a_claim_is_dropped_when_a_node_leaves_the_domain_of_the_others(void **state)
{
    struct core *c = *state;
    struct job *taker = claim_of_two(c, "rack", 0);

    change(c, taker, site_node(first_host(c, taker), "b0", "r7", SITE_H100, 8));
}

static void a_claim_is_dropped_when_a_node_leaves_the_domain_of_its_slice(void **state)
{
    struct core *c = *state;
    struct job *taker = claim_of_two(c, NULL, 2);

    change(c, taker, site_node(first_host(c, taker), "b0", "r7", SITE_H100, 8));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, two_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_taker_takes_from_gangs_of_any_model_that_it_may_use),
        TEST(a_gang_with_gpus_takes_the_cpus_of_a_lower_one_without),
        TEST(a_role_without_gpus_gets_its_cpus_from_a_lower_gang),
        TEST(a_lower_gang_without_gpus_of_another_tenant_is_left_alone),
        TEST(what_becomes_free_before_a_victim_is_told_spares_it),
        TEST(two_takers_never_share_a_victim),
        TEST(a_higher_taker_that_comes_later_leaves_the_claim_of_the_first),
        TEST(a_victim_that_ends_by_itself_in_its_grace_makes_room_too),
        TEST(a_victim_that_is_cancelled_in_its_grace_makes_room_too),
        TEST(a_taker_that_is_held_gives_back_and_may_take_again),
        TEST(a_taker_that_is_no_more_above_its_victim_gives_back),
        TEST(a_claim_on_a_node_that_is_drained_moves_elsewhere),
        TEST(a_claim_is_dropped_when_a_reboot_brings_another_driver),
        TEST(a_claim_is_dropped_when_a_node_has_other_gpus),
        TEST(a_claim_is_dropped_when_a_node_leaves_the_domain_of_the_others),
        TEST(a_claim_is_dropped_when_a_node_leaves_the_domain_of_its_slice),
        TEST(a_claim_waits_while_the_api_server_is_away),
        TEST(nobody_leaves_for_nodes_that_are_reserved_for_others_yet),
        TEST(a_gang_is_a_victim_from_the_microsecond_of_min_runtime_on),
        TEST(a_gang_that_seems_to_run_since_tomorrow_is_no_victim),
        TEST(with_quotas_of_zero_nobody_reclaims),
        TEST(what_a_tenant_of_quota_zero_holds_is_reclaimed_by_one_inside_its_own),
        TEST(nobody_leaves_for_a_gang_larger_than_its_domain),
        TEST(of_equal_gangs_the_one_with_the_smaller_id_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
