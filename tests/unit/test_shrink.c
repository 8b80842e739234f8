/* SPDX-License-Identifier: Apache-2.0 */
/* test_shrink.c - what an elastic gang gives up for another before anybody leaves whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/cycle.h"
#include "core/elastic.h"
#include "life/state_apply.h"
#include "view/explain.h"
#include "../fake/two_tenants.h"

enum { LOW = 100, NORMAL = 500, HIGH = 800 };

static struct spec *elastic_spec(const char *tenant, uint32_t least, uint32_t most, uint32_t step)
{
    struct spec *s = site_spec("elastic", most, 8);

    s->tenant = s->ns = tenant;
    s->priority = LOW;
    s->roles[0].min_replicas = least;
    s->elastic_step = step;
    return s;
}

/* It runs, for longer than minRuntime, at the size that fits. */
static struct job *running(struct core *c, struct spec *s)
{
    struct job *j = core_running(c, s);

    core_pass(c, 660 * USEC_PER_SEC);
    core_forget(c);
    return j;
}

static uint64_t used(const struct core *c, const struct job *j)
{
    return c->state->tenants.v[j->tenant_ix].used[SITE_H100] / GPU_PARTS;
}

static void a_taker_gets_surplus_and_the_gang_runs_on(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, elastic_spec("a", 2, 4, 0)), *taker;
    struct explain x;

    taker = two_submit(c, "a", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 2); /* a claim, and the gang is told */
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 3);
    assert_int_equal(j->members[3].phase, MEMBER_ABSENT); /* the highest index */
    assert_string_equal(j->reason.code, "Shrunk");
    assert_non_null(strstr(job_reason_text(j), "from 4 to 3 pods, for taker"));
    assert_int_equal(core_count(c, EFFECT_POD_DELETE), 1);
    assert_string_equal(core_last(c, EFFECT_POD_DELETE)->u.pod->uid, "uid-1-3");
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 0);
    explain_job(c->state, taker, c->now, &x);
    assert_string_equal(x.code, "WaitingForPreemption");
    assert_int_equal(x.numbers[0].value, 1);
    assert_int_equal(x.numbers[1].value, 8);
    two_check(c);
    core_gone(c, j, 3);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(taker->state, JOB_BINDING);
    assert_int_equal(taker->members[0].node_ix, 3);
    assert_int_equal(j->state, JOB_RUNNING);
    two_check(c);
}

static void the_charge_is_given_back_when_the_pod_is_gone(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, elastic_spec("a", 2, 4, 0));

    (void)two_submit(c, "b", "taker", NORMAL, 2); /* reclaims what a has beyond 16 */
    (void)core_cycle(c);
    assert_int_equal(job_size(j), 2);
    assert_int_equal(j->charged_parts, 32 * GPU_PARTS);
    assert_int_equal(used(c, j), 32);
    core_gone(c, j, 3);
    assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
    assert_int_equal(used(c, j), 24);
    two_check(c);
    core_gone(c, j, 3); /* said twice */
    assert_int_equal(used(c, j), 24);
    core_gone(c, j, 2);
    assert_int_equal(used(c, j), 16);
    assert_int_equal(c->state->tenants.v[j->tenant_ix].coming[SITE_H100], 0);
    two_check(c);
}

static void surplus_goes_before_a_whole_gang_of_lower_priority(void **state)
{
    struct core *c = *state;
    struct spec *s = elastic_spec("a", 1, 3, 0);
    struct job *low = two_running(c, "a", "low", LOW, 1), *j, *taker;

    s->priority = NORMAL;
    j = running(c, s);
    taker = two_submit(c, "a", "taker", HIGH, 2);
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal(low->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 1);
    two_check(c);
}

static void no_more_goes_than_the_taker_needs_and_in_steps(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, elastic_spec("a", 1, 5, 2)); /* 3 pods: 1 and a step */
    struct job *taker = two_submit(c, "a", "taker", HIGH, 2);

    assert_int_equal(job_size(j), 3);
    (void)core_cycle(c); /* a node is free beside */
    assert_non_null(taker->claim);
    assert_int_equal(job_size(j), 1);
    assert_int_equal(taker->claim->n_victims, 2);
    two_check(c);
}

static void a_gang_that_must_give_all_leaves_as_one_victim(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, elastic_spec("a", 2, 4, 0));
    struct job *taker = two_submit(c, "a", "taker", HIGH, 3);

    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(j->state, JOB_PREEMPTING);
    assert_int_equal(taker->claim->n_victims, 1);
    assert_int_equal(taker->claim->victims[0].pod, 0);
    two_check(c);
    core_gone_all(c, j->id);
    assert_int_equal(core_cycle(c), 1); /* it waits again, at the size that it needs or more */
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

/* The pods lie on nodes 0 to 3 of racks 0 and 1; a rack of two nodes is wanted. */
static void pods_go_where_the_taker_gets_its_topology(void **state)
{
    struct core *c = *state;
    struct job *one = two_running(c, "a", "one", NORMAL, 1), *j;
    struct spec *s = site_spec("taker", 2, 8);
    struct job *taker;
    uint32_t rack = 0;

    j = running(c, elastic_spec("a", 1, 3, 0));
    assert_int_equal(one->members[0].node_ix, 0);
    s->tenant = s->ns = "a";
    s->priority = HIGH;
    s->topology_required = "rack";
    taker = core_job(c, core_submit(c, s));
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal(one->state, JOB_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 1);
    for (uint32_t i = 0; i < 2; i++)
        rack += taker->members[i].node_ix / 2;
    assert_int_equal(rack, 2);
    two_check(c);
}

/* Of 32 GPUs a has 16 beyond its quota: b takes one step of them, though the gang is of 32. */
static void a_reclaim_takes_surplus_down_to_the_quota_only(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, elastic_spec("a", 1, 4, 0)), *taker, *more;

    taker = two_submit(c, "b", "taker", LOW, 2);
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal(job_size(j), 2);
    core_gone(c, j, 3);
    core_gone(c, j, 2);
    (void)core_cycle(c);
    core_see_all(c, taker->id, POD_RUNNING);
    core_pass(c, 700 * USEC_PER_SEC);
    more = two_submit(c, "b", "more", NORMAL, 1);
    assert_int_equal(core_cycle(c), 0); /* a is inside its quota now, and b would not be */
    assert_int_equal(more->state, JOB_PENDING);
    assert_int_equal(job_size(j), 2);
    two_check(c);
}

static void a_shrink_past_what_was_given_back_is_clamped(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, elastic_spec("a", 2, 4, 0)), *taker;
    struct event ev;

    taker = two_submit(c, "a", "taker", HIGH, 2);
    assert_true(cycle_next(c->state, c->now, &ev));
    assert_int_equal(ev.kind, EV_GANG_CLAIMED);
    assert_int_equal(ev.u.claimed.n_victims, 2);
    state_apply(c->state, &ev, &c->fx);
    event_fini(&ev);
    core_gone(c, j, 1); /* lost beside, before it was told */
    assert_int_equal(job_size(j), 3);
    assert_true(cycle_next(c->state, c->now, &ev));
    assert_int_equal(ev.kind, EV_GANG_PREEMPTED);
    state_apply(c->state, &ev, &c->fx);
    event_fini(&ev);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 2);
    two_check(c);
    core_gone(c, j, 3);
    assert_int_equal(used(c, j), 16);
    two_check(c);
    (void)taker;
}

static void a_gang_that_grows_is_no_victim_until_its_new_pods_run(void **state)
{
    struct core *c = *state;
    struct job *other = two_running(c, "a", "other", NORMAL, 2);
    struct job *j = running(c, elastic_spec("a", 2, 4, 2)), *taker;

    assert_int_equal(job_size(j), 2);
    core_see_all(c, other->id, POD_SUCCEEDED);
    core_service_gone(c, other->id);
    (void)core_cycle(c);
    assert_int_equal(job_size(j), 4);
    taker = two_submit(c, "a", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    core_see(c, j, 2, POD_RUNNING, 0);
    assert_int_equal(core_cycle(c), 0);
    core_see(c, j, 3, POD_RUNNING, 0);
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 2);
    two_check(c);
}

/* Its last pod is told to go for a taker. */
static struct job *shrunk(struct core *c)
{
    struct job *j = running(c, elastic_spec("a", 1, 4, 0));

    (void)two_submit(c, "a", "taker", HIGH, 1);
    (void)core_cycle(c);
    assert_int_equal(job_size(j), 3);
    return j;
}

/* It waits in this state for the pod that was told to go before. */
static void waits_for_the_last_pod(struct core *c, struct job *j, enum job_state state)
{
    for (uint32_t i = 0; i < 3; i++)
        core_gone(c, j, i);
    assert_int_equal(j->state, state);
    assert_int_equal(used(c, j), 32);
    two_check(c);
}

static void a_gang_ends_with_the_pod_of_it_that_was_going(void **state)
{
    struct core *c = *state;
    struct job *j = shrunk(c);

    (void)core_cancel(c, j->id);
    core_service_gone(c, j->id);
    waits_for_the_last_pod(c, j, JOB_STOPPING);
    assert_int_equal(c->state->cluster.nodes.v[3]->used.amount[RES_GPUS],
                     16); /* it and the taker */
    core_gone(c, j, 3);
    assert_int_equal(j->state, JOB_CANCELLED);
    assert_int_equal(used(c, j), 0);
    assert_int_equal(c->state->cluster.nodes.v[3]->used.amount[RES_GPUS], 8);
    two_check(c);
}

/* Else two pods of one member would run. */
static void a_gang_starts_again_after_the_pod_of_it_that_was_going(void **state)
{
    struct core *c = *state;
    struct job *j = shrunk(c);

    (void)core_verb(c, j->id, VERB_PREEMPT);
    waits_for_the_last_pod(c, j, JOB_PREEMPTING);
    core_gone(c, j, 3);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(used(c, j), 0);
    two_check(c);
}

/* Its object may stay, held by a finalizer of somebody else. */
static void a_pod_that_was_going_and_has_ended_is_not_waited_for(void **state)
{
    struct core *c = *state;
    struct job *j = shrunk(c);

    (void)core_verb(c, j->id, VERB_REQUEUE);
    waits_for_the_last_pod(c, j, JOB_RESTARTING);
    core_see(c, j, 3, POD_FAILED, 143);
    assert_int_equal(j->state, JOB_PENDING);
    two_check(c);
}

static void a_pod_that_was_going_is_lost_with_its_node(void **state)
{
    struct core *c = *state;
    struct job *j = shrunk(c);
    struct node_fact *fact = site_node("n3", "b0", "r1", SITE_H100, 8);

    (void)core_verb(c, j->id, VERB_REQUEUE);
    waits_for_the_last_pod(c, j, JOB_RESTARTING);
    fact->is_ready = false;
    core_node(c, fact);
    core_pass(c, c->settings.node_lost_us - USEC_PER_SEC);
    assert_int_equal(j->state, JOB_RESTARTING);
    core_pass(c, 2 * USEC_PER_SEC);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(used(c, j), 0);
    assert_int_equal(c->state->cluster.nodes.v[3]->used.amount[RES_GPUS],
                     16); /* of who may still be there */
    two_check(c);
}

/* Wanted, given up, wanted back: at each instant it has one size, and a name one pod. */
static void a_gang_has_one_size_however_fast_it_changes(void **state)
{
    struct core *c = *state;
    struct spec *s = elastic_spec("a", 1, 4, 0);
    struct job *j, *taker;

    s->grow_cooldown_us = USEC_PER_SEC;
    j = running(c, s);
    for (int round = 0; round < 3; round++) {
        taker = two_submit(c, "a", "taker", HIGH, 1);
        (void)core_cycle(c);
        assert_int_equal(job_size(j), 3);
        (void)core_cancel(c, taker->id);
        core_pass(c, 2 * USEC_PER_SEC);
        assert_int_equal(core_cycle(c), 0); /* the old pod is there still */
        assert_int_equal(job_size(j), 3);
        two_check(c);
        core_gone(c, j, 3);
        assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
        assert_int_equal(core_cycle(c), 1);
        assert_int_equal(job_size(j), 4);
        assert_int_equal(j->charged_parts, 32 * GPU_PARTS);
        two_check(c);
        core_see(c, j, 3, POD_RUNNING, 0);
        core_pass(c, 2 * USEC_PER_SEC);
    }
}

/* One role gives up a node of H100 while another, of one GPU, is left alone: each counts itself. */
static void changes_are_counted_role_by_role(void **state)
{
    struct core *c = *state;
    struct spec *s = elastic_spec("a", 1, 3, 0);
    struct job *j;

    site_role(s, "small", 4, 1);
    s->roles[1].min_replicas = 2;
    j = running(c, s);
    assert_int_equal(j->size[0], 3);
    assert_int_equal(j->size[1], 4);
    assert_int_equal(j->charged_parts, 28 * GPU_PARTS);
    (void)two_submit(c, "a", "taker", HIGH, 1);
    (void)core_cycle(c);
    assert_int_equal(j->size[0] * 8 + j->size[1], 20);
    assert_int_equal(j->size[0], 2);
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].is_going)
            core_gone(c, j, i);
    two_check(c);
    assert_int_equal(used(c, j), 8 * j->size[0] + j->size[1] + 8 * j->going[0] + j->going[1]);
}

static void a_gang_that_cannot_be_formed_takes_no_slot_from_one_that_can(void **state)
{
    struct core *c = *state;
    struct job *a = core_job(c, core_submit(c, elastic_spec("a", 5, 6, 0)));
    struct job *b = core_job(c, core_submit(c, elastic_spec("b", 1, 2, 0)));

    (void)core_cycle(c);
    assert_int_equal(a->state, JOB_PENDING);
    assert_int_equal(a->n_members, 0);
    assert_int_equal(b->state, JOB_BINDING);
    assert_int_equal(job_size(b), 2);
    two_check(c);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, two_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(a_taker_gets_surplus_and_the_gang_runs_on),
        WITH(the_charge_is_given_back_when_the_pod_is_gone),
        WITH(surplus_goes_before_a_whole_gang_of_lower_priority),
        WITH(no_more_goes_than_the_taker_needs_and_in_steps),
        WITH(a_gang_that_must_give_all_leaves_as_one_victim),
        WITH(pods_go_where_the_taker_gets_its_topology),
        WITH(a_reclaim_takes_surplus_down_to_the_quota_only),
        WITH(a_shrink_past_what_was_given_back_is_clamped),
        WITH(a_gang_that_grows_is_no_victim_until_its_new_pods_run),
        WITH(a_gang_ends_with_the_pod_of_it_that_was_going),
        WITH(a_gang_starts_again_after_the_pod_of_it_that_was_going),
        WITH(a_pod_that_was_going_and_has_ended_is_not_waited_for),
        WITH(a_pod_that_was_going_is_lost_with_its_node),
        WITH(a_gang_has_one_size_however_fast_it_changes),
        WITH(changes_are_counted_role_by_role),
        WITH(a_gang_that_cannot_be_formed_takes_no_slot_from_one_that_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
