/* SPDX-License-Identifier: Apache-2.0 */
/* test_defrag.c - who is moved so that whom starts, what it costs, and what becomes of the moved.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/claim.h"
#include "life/job_life.h"
#include "life/state_apply.h"
#include "view/defrag.h"
#include "../fake/two_tenants.h"

enum { LOW = 100, NORMAL = 500, HIGH = 800 };

#define HOURS (UINT64_C(3600) * USEC_PER_SEC)

/* A gang of one pod. */
static struct job *submit(struct core *c, const char *name, uint32_t gpus, bool is_movable)
{
    struct spec *s = site_spec(name, 1, gpus);

    s->tenant = s->ns = "a";
    s->priority = NORMAL;
    s->is_movable = is_movable;
    return core_job(c, core_submit(c, s));
}

static struct job *running(struct core *c, const char *name, uint32_t gpus, bool is_movable)
{
    struct job *j = submit(c, name, gpus, is_movable);

    (void)core_cycle(c);
    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
    return j;
}

static void end(struct core *c, struct job *j)
{
    core_see_all(c, j->id, POD_SUCCEEDED);
    core_service_gone(c, j->id);
    assert_true(job_state_is_terminal(j->state));
}

struct site {
    struct core *c;
    struct job *one, *two; /* half of n0, half of n1; the rest of the cluster is full */
    struct job *taker;     /* wants a whole node */
};

/* Two nodes are half full, so that a job for a whole one waits. */
static struct site fragment(struct core *c, bool one_moves, bool two_moves)
{
    struct site s = {.c = c};
    struct job *fill[2];

    s.one = running(c, "one", 4, one_moves);
    fill[0] = running(c, "fill", 4, false);
    assert_int_equal(s.one->members[0].node_ix, fill[0]->members[0].node_ix);
    core_pass(c, 60 * USEC_PER_SEC); /* the first has more to lose */
    s.two = running(c, "two", 4, two_moves);
    fill[1] = running(c, "fill", 4, false);
    for (int i = 0; i < 2; i++)
        (void)running(c, "full", 8, false);
    end(c, fill[0]);
    end(c, fill[1]);
    core_pass(c, 660 * USEC_PER_SEC);
    s.taker = submit(c, "taker", 8, false);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(s.taker->state, JOB_PENDING);
    return s;
}

/* Move as the daemon does. */
static bool move(struct core *c)
{
    struct event ev;

    if (!defrag_next(c->state, c->now, &ev))
        return false;
    state_apply(c->state, &ev, &c->fx);
    event_fini(&ev);
    two_check(c);
    return true;
}

static void the_cheapest_gang_moves_and_the_named_one_starts(void **state)
{
    struct site s = fragment(*state, true, true);
    uint32_t freed = s.two->members[0].node_ix, other = s.one->members[0].node_ix;
    usec_t age = s.two->submitted_at;
    struct defrag_plan p;
    char text[DEFRAG_TEXT_MAX];

    s.c->settings.defrag_gpu_us = 100 * HOURS;
    assert_true(defrag_plan_next(s.c->state, s.c->now, UINT64_MAX, &p));
    assert_ptr_equal(p.taker, s.taker);
    assert_int_equal(p.n_moves, 1);
    assert_ptr_equal(p.moves[0].job, s.two);
    assert_int_equal(p.lost, 4 * 660 * UINT64_C(1000000));
    assert_int_equal(p.place.members[0].node_ix, freed);
    assert_int_equal(p.moves[0].to.members[0].node_ix, other);
    assert_string_equal(defrag_text(text, s.c->state, &p),
                        "free nodes for its 1 pods by moving 1 gang (0.7 GPU-hours)");
    defrag_plan_fini(&p);
    assert_true(move(s.c));
    assert_int_equal(core_cycle(s.c), 1); /* the victim is told */
    assert_int_equal(s.two->state, JOB_PREEMPTING);
    assert_string_equal(s.two->reason.code, "Moved");
    assert_int_equal(s.one->state, JOB_RUNNING);
    two_check(s.c);
    core_gone_all(s.c, s.two->id);
    two_check(s.c);
    assert_int_equal(core_cycle(s.c), 2);
    assert_int_equal(s.taker->state, JOB_BINDING);
    assert_int_equal(s.taker->members[0].node_ix, freed);
    assert_int_equal(s.two->state, JOB_BINDING);
    assert_int_equal(s.two->members[0].node_ix, other);
    assert_int_equal(s.two->submitted_at, age);
    assert_int_equal(s.two->restarts, 0);
    assert_null(s.two->move);
    two_check(s.c);
}

static void nobody_moves_who_did_not_opt_in(void **state)
{
    struct site s = fragment(*state, false, false);

    s.c->settings.defrag_gpu_us = 100 * HOURS;
    assert_false(move(s.c));
}

/* The movers' tenant uses 24 of 16: a taker of 8 beyond its quota of 5 would be above theirs. */
static void a_taker_beyond_its_quota_moves_nobody_who_is_less_beyond(void **state)
{
    struct site s = fragment(*state, true, true);
    struct spec *spec = site_spec("taker", 1, 8);

    s.c->settings.defrag_gpu_us = 100 * HOURS;
    s.c->settings.tenants[2].quota.gpus[SITE_H100] = 5;
    (void)core_cancel(s.c, s.taker->id);
    spec->tenant = spec->ns = "b";
    spec->priority = NORMAL;
    s.taker = core_job(s.c, core_submit(s.c, spec));
    (void)core_cycle(s.c);
    assert_int_equal(s.taker->state, JOB_PENDING);
    assert_false(move(s.c));
    s.c->settings.tenants[2].quota.gpus[SITE_H100] = 6;
    assert_true(move(s.c));
}

static void nobody_moves_while_it_is_off_or_a_dry_run(void **state)
{
    struct site s = fragment(*state, true, true);
    struct defrag_plan p;

    assert_false(move(s.c));
    s.c->settings.defrag_gpu_us = 100 * HOURS;
    s.c->settings.is_defrag_dry = true;
    assert_false(move(s.c));
    assert_true(defrag_plan_next(s.c->state, s.c->now, UINT64_MAX, &p)); /* but it is shown */
    defrag_plan_fini(&p);
}

static void the_budget_of_a_day_is_never_passed_and_is_new_on_the_next(void **state)
{
    struct site s = fragment(*state, true, true);
    uint64_t cost = 4 * 660 * UINT64_C(1000000);

    s.c->settings.defrag_gpu_us = cost - 1;
    assert_false(move(s.c));
    s.c->settings.defrag_gpu_us = cost;
    assert_true(move(s.c));
    assert_int_equal(claim_moves_left(s.c->state, s.c->now), 0);
    assert_int_equal(claim_moves_left(s.c->state, s.c->now + 24 * (usec_t)HOURS), cost);
}

static void nobody_moves_who_would_find_no_place(void **state)
{
    struct site s = fragment(*state, true, true);
    struct job *gap = submit(s.c, "gap", 4, false); /* takes what either would go to */

    (void)core_cycle(s.c);
    assert_int_equal(gap->state, JOB_BINDING);
    s.c->settings.defrag_gpu_us = 100 * HOURS;
    assert_false(move(s.c));
}

static void a_young_gang_and_one_of_higher_priority_stay(void **state)
{
    struct site s = fragment(*state, true, true);

    s.c->settings.defrag_gpu_us = 100 * HOURS;
    s.one->priority = HIGH;
    s.c->settings.min_runtime_us = 661 * USEC_PER_SEC;
    assert_false(move(s.c));
    s.c->settings.min_runtime_us = 660 * USEC_PER_SEC;
    assert_true(move(s.c));
}

static void a_tenant_inside_its_quota_is_not_moved_for_another(void **state)
{
    struct site s = fragment(*state, true, true);
    struct job *other;

    (void)core_cancel(s.c, s.taker->id);
    core_service_gone(s.c, s.taker->id);
    s.c->settings.defrag_gpu_us = 100 * HOURS;
    s.c->settings.tenants[1].quota.gpus[SITE_H100] = 32;
    other = two_submit(s.c, "b", "other", HIGH, 1);
    (void)core_cycle(s.c);
    assert_int_equal(other->state, JOB_PENDING);
    assert_false(move(s.c));
    s.c->settings.tenants[1].quota.gpus[SITE_H100] = 16; /* it uses 24 */
    assert_true(move(s.c));
}

static void a_taker_that_leaves_spares_who_was_not_told(void **state)
{
    struct site s = fragment(*state, true, true);

    s.c->settings.defrag_gpu_us = 100 * HOURS;
    assert_true(move(s.c));
    assert_non_null(s.two->move);
    (void)core_cancel(s.c, s.taker->id);
    assert_null(s.two->move);
    assert_int_equal(s.two->state, JOB_RUNNING);
    two_check(s.c);
    assert_int_equal(core_cycle(s.c), 0);
}

static void who_was_told_goes_to_its_place_even_without_the_taker(void **state)
{
    struct site s = fragment(*state, true, true);
    uint32_t other = s.one->members[0].node_ix;

    s.c->settings.defrag_gpu_us = 100 * HOURS;
    assert_true(move(s.c));
    (void)core_cycle(s.c);
    (void)core_cancel(s.c, s.taker->id);
    two_check(s.c);
    core_gone_all(s.c, s.two->id);
    two_check(s.c);
    assert_int_equal(core_cycle(s.c), 1);
    assert_int_equal(s.two->state, JOB_BINDING);
    assert_int_equal(s.two->members[0].node_ix, other);
    two_check(s.c);
}

static void a_moved_gang_that_is_cancelled_gives_its_place_back(void **state)
{
    struct site s = fragment(*state, true, true);

    s.c->settings.defrag_gpu_us = 100 * HOURS;
    assert_true(move(s.c));
    (void)core_cycle(s.c);
    (void)core_cancel(s.c, s.two->id);
    core_gone_all(s.c, s.two->id);
    core_service_gone(s.c, s.two->id);
    assert_int_equal(s.two->state, JOB_CANCELLED);
    assert_null(s.two->move);
    two_check(s.c);
    assert_int_equal(core_cycle(s.c), 1);
    assert_int_equal(s.taker->state, JOB_BINDING);
}

static void why_says_what_defragmentation_would_give(void **state)
{
    struct site s = fragment(*state, true, true);
    struct explain x;

    explain_job(s.c->state, s.taker, s.c->now, &x);
    assert_string_equal(x.code, "NeedsWholeNodes");
    defrag_explain(s.c->state, s.taker, s.c->now, &x);
    assert_string_equal(x.next_step, "defragmentation would free nodes for its 1 pods by moving 1 "
                                     "gang (0.7 GPU-hours); it is off");
    assert_string_equal(x.numbers[x.n_numbers - 1].name, "defrag_gpu_s");
    assert_int_equal(x.numbers[x.n_numbers - 1].value, 2640);
    s.c->settings.defrag_gpu_us = HOURS / 2;
    defrag_explain(s.c->state, s.taker, s.c->now, &x);
    assert_non_null(strstr(x.next_step, "today's budget has less left"));
}

static void who_is_moved_waits_for_its_own_place(void **state)
{
    struct site s = fragment(*state, true, true);
    struct explain x;

    s.c->settings.defrag_gpu_us = 100 * HOURS;
    assert_true(move(s.c));
    (void)core_cycle(s.c);
    core_gone_all(s.c, s.two->id);
    explain_job(s.c->state, s.two, s.c->now, &x);
    assert_string_equal(x.code, "WaitingForPreemption");
    assert_string_equal(x.text, "was moved by defragmentation; its new nodes are held");
}

/* Half of each rack is free, so that a gang for a whole one waits. */
static void a_gang_gets_its_rack(void **state)
{
    struct core *c = *state;
    struct spec *spec = site_spec("taker", 2, 8);
    struct job *v[4], *taker;
    struct defrag_plan p;
    char text[DEFRAG_TEXT_MAX];

    for (int i = 0; i < 4; i++)
        v[i] = running(c, "busy", 8, true);
    core_pass(c, 660 * USEC_PER_SEC);
    for (int i = 0; i < 4; i++)
        if (v[i]->members[0].node_ix % 2)
            end(c, v[i]);
    spec->tenant = spec->ns = "a";
    spec->priority = NORMAL;
    spec->topology_required = "rack";
    taker = core_job(c, core_submit(c, spec));
    assert_int_equal(core_cycle(c), 0);
    assert_true(defrag_plan_next(c->state, c->now, UINT64_MAX, &p));
    assert_ptr_equal(p.taker, taker);
    assert_int_equal(p.n_moves, 1);
    assert_non_null(strstr(defrag_text(text, c->state, &p), "free rack r"));
    assert_int_equal(p.place.members[0].node_ix / 2, p.place.members[1].node_ix / 2);
    assert_int_not_equal(p.place.members[0].node_ix / 2, p.moves[0].to.members[0].node_ix / 2);
    defrag_plan_fini(&p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, two_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_cheapest_gang_moves_and_the_named_one_starts),
        TEST(nobody_moves_who_did_not_opt_in),
        TEST(a_taker_beyond_its_quota_moves_nobody_who_is_less_beyond),
        TEST(nobody_moves_while_it_is_off_or_a_dry_run),
        TEST(the_budget_of_a_day_is_never_passed_and_is_new_on_the_next),
        TEST(nobody_moves_who_would_find_no_place),
        TEST(a_young_gang_and_one_of_higher_priority_stay),
        TEST(a_tenant_inside_its_quota_is_not_moved_for_another),
        TEST(a_taker_that_leaves_spares_who_was_not_told),
        TEST(who_was_told_goes_to_its_place_even_without_the_taker),
        TEST(a_moved_gang_that_is_cancelled_gives_its_place_back),
        TEST(why_says_what_defragmentation_would_give),
        TEST(who_is_moved_waits_for_its_own_place),
        TEST(a_gang_gets_its_rack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
