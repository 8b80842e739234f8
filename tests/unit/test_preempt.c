/* SPDX-License-Identifier: Apache-2.0 */
/* test_preempt.c - who must leave for whom, what is held meanwhile, and how a claim ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "life/state_apply.h"
#include "view/explain.h"
#include "core/preempt.h"
#include "util/mem.h"
#include "../fake/two_tenants.h"

enum { LOW = 100, NORMAL = 500, HIGH = 800 };

static void the_cheapest_gang_of_lower_priority_leaves_and_the_taker_starts_there(void **state)
{
    struct core *c = *state;
    struct job *normal = two_running(c, "a", "normal", NORMAL, 2), *taker;
    struct job *low = two_running(c, "a", "low", LOW, 2);
    uint32_t node = low->members[0].node_ix, attempt = low->attempt;
    usec_t age = low->submitted_at;

    taker = two_submit(c, "a", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 2); /* a claim, one victim told */
    assert_int_equal(low->state, JOB_PREEMPTING);
    assert_string_equal(low->reason.code, "PreemptedByPriority");
    assert_non_null(strstr(job_reason_text(low), taker->name));
    assert_int_equal(normal->state, JOB_RUNNING);
    assert_int_equal(taker->state, JOB_PENDING);
    assert_true(taker->members[0].node_ix == node || taker->members[0].node_ix == node + 1);
    two_check(c);
    core_gone_all(c, low->id);
    assert_int_equal(low->state, JOB_PENDING);
    assert_int_equal(low->submitted_at, age);
    assert_int_equal(low->restarts, 0);
    assert_int_equal(low->attempt, attempt);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

static void a_waiting_taker_says_for_how_many_and_how_long(void **state)
{
    struct core *c = *state;
    struct job *taker;
    struct explain x;

    (void)two_running(c, "a", "low", LOW, 4);
    taker = two_submit(c, "a", "taker", HIGH, 1);
    (void)core_cycle(c);
    explain_job(c->state, taker, c->now, &x);
    assert_string_equal(x.code, "WaitingForPreemption");
    assert_string_equal(x.text, "1 jobs with 32 GPUs save their work now, grace ends in 30s");
    assert_string_equal(x.numbers[0].name, "victims");
    assert_int_equal(x.numbers[1].value, 32);
    assert_int_equal(x.numbers[2].value, 30);
}

static void what_is_freed_is_held_for_the_taker(void **state)
{
    struct core *c = *state;
    struct job *one = two_running(c, "a", "one", LOW, 2), *two = two_running(c, "a", "two", LOW, 2);
    struct job *taker = two_submit(c, "a", "taker", HIGH, 4);
    struct job *thief;

    (void)core_cycle(c);
    assert_int_equal(one->state, JOB_PREEMPTING);
    assert_int_equal(two->state, JOB_PREEMPTING);
    core_gone_all(c, one->id); /* the other is still saving */
    thief = two_submit(c, "a", "thief", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(one->state, JOB_PENDING);
    assert_int_equal(thief->state, JOB_PENDING);
    core_gone_all(c, two->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

static void equal_priority_and_what_is_not_preemptible_are_left_alone(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("fixed", 2, 8);
    struct job *fixed;

    s->tenant = s->ns = "a";
    s->priority = LOW;
    s->preemptible = SPEC_NO;
    fixed = core_job(c, core_submit(c, s));
    (void)core_cycle(c);
    core_see_all(c, fixed->id, POD_RUNNING);
    (void)two_running(c, "a", "equal", HIGH, 2);
    (void)two_submit(c, "a", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
}

static void a_normal_gang_preempts_nobody_of_its_own_tenant(void **state)
{
    struct core *c = *state;

    (void)two_running(c, "a", "low", LOW, 4);
    (void)two_submit(c, "a", "taker", NORMAL, 1);
    assert_int_equal(core_cycle(c), 0);
}

static void a_gang_younger_than_min_runtime_is_no_victim_until_then(void **state)
{
    struct core *c = *state;
    struct job *low = two_submit(c, "a", "low", LOW, 4), *taker;

    (void)core_cycle(c);
    core_see_all(c, low->id, POD_RUNNING);
    core_pass(c, 60 * USEC_PER_SEC);
    taker = two_submit(c, "a", "taker", HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    assert_in_range(state_next_wake(c->state, c->now), c->now, c->now + 540 * USEC_PER_SEC);
    core_pass(c, 539 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 1 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
    assert_non_null(taker->claim);
}

static void a_gang_inside_its_quota_reclaims_from_a_tenant_above_its_own(void **state)
{
    struct core *c = *state;
    struct job *in = two_running(c, "b", "in", LOW, 2),
               *over = two_running(c, "b", "over", NORMAL, 2);
    struct job *taker = two_submit(c, "a", "taker", LOW, 2);

    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(in->state, JOB_PREEMPTING); /* of lower priority */
    assert_string_equal(in->reason.code, "Reclaimed");
    assert_int_equal(over->state, JOB_RUNNING);
    core_gone_all(c, in->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(taker->state, JOB_BINDING);
    core_see_all(c, taker->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC); /* and there it ends: nobody is above its quota */
    assert_int_equal(core_cycle(c), 0);
    two_check(c);
}

static void work_inside_its_quota_is_never_reclaimed(void **state)
{
    struct core *c = *state;

    c->settings.tenants[2].quota.gpus[SITE_H100] = 32;
    (void)two_running(c, "b", "one", LOW, 4);
    (void)two_submit(c, "a", "taker", HIGH, 2);
    assert_int_equal(core_cycle(c), 0);
}

static void beyond_its_quota_a_taker_must_stay_relatively_below_the_loser(void **state)
{
    struct core *c = *state;
    struct job *b = two_running(c, "b", "b", LOW, 3), *a = two_running(c, "a", "a", HIGH, 1);

    c->settings.tenants[1].quota.gpus[SITE_H100] = 8;
    c->settings.tenants[2].quota.gpus[SITE_H100] = 16;
    (void)two_submit(c, "a", "taker", HIGH, 1); /* 16 of 8 against 0 of 16 */
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(a->state, JOB_RUNNING);
}

static void beyond_its_quota_a_taker_evens_the_ratios_and_stops(void **state)
{
    struct core *c = *state;
    struct job *taker;

    c->settings.tenants[1].quota.gpus[SITE_H100] = 8;
    c->settings.tenants[2].quota.gpus[SITE_H100] = 8;
    core_node(c, site_node("n8", "b0", "r0", SITE_H100, 8));
    core_node(c, site_node("n9", "b0", "r0", SITE_H100, 8));
    for (int i = 0; i < 6; i++) {
        struct job *j = two_submit(c, i ? "b" : "a", "work", NORMAL, 1);

        assert_int_equal(core_cycle(c), 1);
        core_see_all(c, j->id, POD_RUNNING);
    }
    core_pass(c, 660 * USEC_PER_SEC);
    taker = two_submit(c, "a", "a1", NORMAL, 1); /* 16 of 8 against 32 of 8 */
    assert_int_equal(core_cycle(c), 2);
    assert_non_null(taker->claim);
    for (size_t i = 0; i < c->state->active.n; i++)
        if (c->state->active.v[i]->state == JOB_PREEMPTING)
            core_gone_all(c, c->state->active.v[i]->id);
    (void)core_cycle(c);
    core_see_all(c, taker->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    (void)two_submit(c, "a", "a2", NORMAL, 1); /* 24 of 8 against 24 of 8 */
    assert_int_equal(core_cycle(c), 0);
    two_check(c);
}

static void the_fewest_gangs_leave_then_those_that_lose_least(void **state)
{
    struct core *c = *state;
    struct job *old = two_running(c, "a", "old", LOW, 1),
               *pair = two_running(c, "a", "pair", LOW, 2);
    struct job *young = two_running(c, "a", "young", LOW, 1);

    (void)two_submit(c, "a", "two", HIGH, 2);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(pair->state, JOB_PREEMPTING); /* one gang instead of two that lost less */
    assert_int_equal(old->state, JOB_RUNNING);
    assert_int_equal(young->state, JOB_RUNNING);
    (void)two_submit(c, "a", "one", HIGH, 1);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(old->state, JOB_RUNNING);
    assert_int_equal(young->state, JOB_PREEMPTING);
    two_check(c);
}

static void victims_that_do_not_help_are_not_taken(void **state)
{
    struct core *c = *state;
    struct job *low[4], *taker;
    struct spec *s = site_spec("taker", 2, 8);
    unsigned preempted = 0;

    for (int i = 0; i < 4; i++)
        low[i] = two_running(c, "a", "low", LOW, 1);
    s->tenant = s->ns = "a";
    s->priority = HIGH;
    s->topology_required = "rack";
    taker = core_job(c, core_submit(c, s));
    (void)core_cycle(c);
    for (int i = 0; i < 4; i++)
        preempted += low[i]->state == JOB_PREEMPTING;
    assert_int_equal(preempted, 2);
    assert_int_equal(taker->members[0].node_ix / 2, taker->members[1].node_ix / 2);
    for (int i = 0; i < 4; i++)
        if (low[i]->state == JOB_PREEMPTING)
            core_gone_all(c, low[i]->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(taker->state, JOB_BINDING);
}

static void nobody_leaves_for_a_gang_that_would_not_start_even_so(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 2);

    (void)two_running(c, "a", "high", HIGH, 2);
    (void)two_submit(c, "a", "taker", HIGH, 3);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(low->state, JOB_RUNNING);
}

static void nobody_leaves_while_what_ends_anyway_is_enough(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 2),
               *other = two_running(c, "a", "other", LOW, 2);
    struct job *taker;

    (void)core_cancel(c, low->id);
    assert_int_equal(low->state, JOB_STOPPING);
    taker = two_submit(c, "a", "taker", HIGH, 2);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(other->state, JOB_RUNNING);
    core_gone_all(c, low->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(taker->state, JOB_BINDING);
}

/* One that fills so many nodes by their CPUs alone, and runs. */
static struct job *cpu_job(struct core *c, const char *name, int32_t priority, uint32_t pods)
{
    struct spec *s = site_spec(name, pods, 0);
    struct job *j;

    s->tenant = s->ns = "a";
    s->priority = priority;
    s->roles[0].cpu_milli = 90000;
    j = core_job(c, core_submit(c, s));
    (void)core_cycle(c);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    return j;
}

static void nobody_leaves_while_cpus_become_free_anyway(void **state)
{
    struct core *c = *state;
    struct job *low = cpu_job(c, "low", LOW, 2), *other = cpu_job(c, "other", LOW, 2), *taker;

    assert_int_equal(other->state, JOB_RUNNING);
    (void)core_cancel(c, low->id);
    assert_int_equal(low->state, JOB_STOPPING);
    taker = cpu_job(c, "taker", HIGH, 2);
    assert_int_equal(other->state, JOB_RUNNING);
    assert_null(taker->claim);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    two_check(c);
}

static void a_taker_that_leaves_gives_back_what_was_held(void **state)
{
    static const enum job_verb verbs[] = {VERB_CANCEL, VERB_HOLD};

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        struct core *c = *state;
        struct job *low = two_running(c, "a", "low", LOW, 4);
        struct job *taker = two_submit(c, "a", "taker", HIGH, 1);

        (void)core_cycle(c);
        assert_int_equal(core_verb(c, taker->id, verbs[i]).code, ERR_OK);
        assert_null(taker->claim);
        assert_int_equal(taker->n_members, 0);
        two_check(c);
        core_gone_all(c, low->id);
        assert_int_equal(core_cycle(c), 1); /* it was told: it starts again */
        assert_int_equal(low->state, JOB_BINDING);
        assert_int_equal(core_tear_down(state), 0);
        assert_int_equal(two_set_up(state), 0);
    }
}

static void victims_not_yet_told_are_spared_when_the_taker_leaves(void **state)
{
    struct core *c = *state;
    struct job *one = two_running(c, "a", "one", LOW, 2), *two = two_running(c, "a", "two", LOW, 2);
    struct job *taker = two_submit(c, "a", "taker", HIGH, 4);
    struct event ev;

    c->state->now = c->now;
    assert_true(preempt_plan(c->state, taker, c->now, &ev));
    assert_int_equal(ev.u.claimed.n_victims, 2);
    (void)core_apply(c, &ev);
    (void)core_cancel(c, taker->id);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(one->state, JOB_RUNNING);
    assert_int_equal(two->state, JOB_RUNNING);
    two_check(c);
}

static void a_claim_on_a_node_that_goes_is_dropped(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4),
               *taker = two_submit(c, "a", "taker", HIGH, 4);
    struct node_fact *f = site_node("n3", "b0", "r1", SITE_H100, 8);

    (void)core_cycle(c);
    assert_non_null(taker->claim);
    f->is_cordoned = true;
    core_node(c, f);
    assert_int_equal(core_cycle(c), 1);
    assert_null(taker->claim);
    assert_int_equal(low->state, JOB_PREEMPTING);
    two_check(c);
}

static void a_claim_that_comes_to_nothing_ends_in_time(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4),
               *taker = two_submit(c, "a", "taker", HIGH, 4);

    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    core_pass(c, low->grace_us + c->settings.node_lost_us - USEC_PER_SEC);
    assert_non_null(taker->claim);
    core_pass(c, USEC_PER_SEC); /* the victim's pods never went */
    assert_null(taker->claim);
    two_check(c);
}

static void a_tenant_at_its_limit_preempts_its_own_and_never_passes_it(void **state)
{
    struct core *c = *state;
    struct job *low, *taker, *other;

    c->settings.tenants[1].limit.gpus[SITE_H100] = 16;
    low = two_running(c, "a", "low", LOW, 2);
    taker = two_submit(c, "a", "taker", HIGH, 2);
    (void)core_cycle(c);
    assert_int_equal(low->state, JOB_PREEMPTING);
    other = two_submit(c, "a", "other", HIGH, 1);
    core_gone_all(c, low->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(taker->state, JOB_BINDING);
    assert_int_equal(other->state, JOB_PENDING);
    assert_int_equal(c->state->tenants.v[1].used[SITE_H100], 16 * GPU_PARTS);
    two_check(c);
}

static void a_taker_whose_tenant_is_stopped_does_not_start(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4),
               *taker = two_submit(c, "b", "taker", HIGH, 1);
    struct event stop = {.kind = EV_TENANT_STOP};

    (void)core_cycle(c);
    assert_non_null(taker->claim);
    stop.u.drain = (struct ev_drain){.node = xstrdup("b"), .caller.user = "root"};
    assert_true(core_apply(c, &stop));
    (void)core_cycle(c);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_PENDING);
    assert_null(taker->claim);
    two_check(c);
}

static void what_a_taker_will_hold_counts_for_its_user(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 3), *taker, *other;

    c->settings.tenants[2].user_limit.gpus[SITE_H100] = 16;
    taker = two_submit(c, "b", "taker", HIGH, 2);
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    other = two_submit(c, "b", "other", HIGH, 1);
    (void)core_cycle(c);
    assert_int_equal(other->state, JOB_PENDING); /* what the taker will hold counts already */
    two_check(c);
    core_gone_all(c, low->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    assert_int_equal(other->state, JOB_PENDING);
    two_check(c);
}

static struct job *submit_with(struct core *c, const char *policy, uint32_t max_lost,
                               const char *then, int32_t priority)
{
    struct spec *s = site_spec("job", 1, 8);

    s->tenant = s->ns = "a";
    s->priority = priority;
    s->preemption_policy = policy;
    s->max_lost_gpu_hours = max_lost;
    s->on_preemption = then;
    return core_job(c, core_submit(c, s));
}

static void a_job_that_says_never_takes_nobody_not_even_by_quota(void **state)
{
    struct core *c = *state;

    (void)two_running(c, "b", "over", LOW, 4);
    (void)submit_with(c, "Never", 0, NULL, HIGH);
    assert_int_equal(core_cycle(c), 0);
}

static void a_normal_job_that_says_lower_priority_takes_from_lower_ones(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4);

    (void)submit_with(c, "LowerPriority", 0, NULL, NORMAL);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
}

static void no_more_gpu_hours_are_lost_than_the_taker_allows(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4); /* 32 GPUs for 11 minutes: 5.9 hours */

    (void)submit_with(c, NULL, 5, NULL, HIGH);
    assert_int_equal(core_cycle(c), 0);
    (void)submit_with(c, NULL, 6, NULL, HIGH);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
}

static void a_job_that_allows_no_number_has_that_of_the_site(void **state)
{
    struct core *c = *state;
    struct job *low = two_running(c, "a", "low", LOW, 4); /* 32 GPUs for 11 minutes: 5.9 hours */

    c->settings.max_lost_gpu_us = 5 * GPU_HOUR_US;
    (void)submit_with(c, NULL, 0, NULL, HIGH);
    assert_int_equal(core_cycle(c), 0);
    (void)submit_with(c, NULL, 6, NULL, HIGH);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(low->state, JOB_PREEMPTING);
}

static void a_job_that_says_end_is_preempted_for_good(void **state)
{
    struct core *c = *state;
    struct job *low = submit_with(c, NULL, 0, "end", LOW);

    (void)core_cycle(c);
    core_see_all(c, low->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    (void)two_submit(c, "a", "taker", HIGH, 4);
    assert_int_equal(core_cycle(c), 2);
    core_gone_all(c, low->id);
    assert_int_equal(low->state, JOB_PREEMPTED);
    assert_string_equal(low->reason.code, "PreemptedByPriority");
    assert_int_equal(core_cycle(c), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, two_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_cheapest_gang_of_lower_priority_leaves_and_the_taker_starts_there),
        TEST(a_waiting_taker_says_for_how_many_and_how_long),
        TEST(what_is_freed_is_held_for_the_taker),
        TEST(equal_priority_and_what_is_not_preemptible_are_left_alone),
        TEST(a_normal_gang_preempts_nobody_of_its_own_tenant),
        TEST(a_gang_younger_than_min_runtime_is_no_victim_until_then),
        TEST(a_gang_inside_its_quota_reclaims_from_a_tenant_above_its_own),
        TEST(work_inside_its_quota_is_never_reclaimed),
        TEST(beyond_its_quota_a_taker_must_stay_relatively_below_the_loser),
        TEST(beyond_its_quota_a_taker_evens_the_ratios_and_stops),
        TEST(the_fewest_gangs_leave_then_those_that_lose_least),
        TEST(victims_that_do_not_help_are_not_taken),
        TEST(nobody_leaves_for_a_gang_that_would_not_start_even_so),
        TEST(nobody_leaves_while_what_ends_anyway_is_enough),
        TEST(nobody_leaves_while_cpus_become_free_anyway),
        TEST(a_taker_that_leaves_gives_back_what_was_held),
        TEST(victims_not_yet_told_are_spared_when_the_taker_leaves),
        TEST(a_claim_on_a_node_that_goes_is_dropped),
        TEST(a_claim_that_comes_to_nothing_ends_in_time),
        TEST(a_tenant_at_its_limit_preempts_its_own_and_never_passes_it),
        TEST(a_taker_whose_tenant_is_stopped_does_not_start),
        TEST(what_a_taker_will_hold_counts_for_its_user),
        TEST(a_job_that_says_never_takes_nobody_not_even_by_quota),
        TEST(a_normal_job_that_says_lower_priority_takes_from_lower_ones),
        TEST(no_more_gpu_hours_are_lost_than_the_taker_allows),
        TEST(a_job_that_allows_no_number_has_that_of_the_site),
        TEST(a_job_that_says_end_is_preempted_for_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
