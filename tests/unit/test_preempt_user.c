/* SPDX-License-Identifier: Apache-2.0 */
/* test_preempt_user.c - a gang that its user's own limit stops takes from this user.
 *
 * Tenant a on four nodes of 8 H100, with 16 GPUs for each user; alice (1) and bob (2) submit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/two_tenants.h"
#include "view/explain.h"

enum { ALICE = 1, BOB, LOWEST = 50, LOW = 100, HIGH = 800 };

static int users_set_up(void **state)
{
    struct core *c;

    if (two_set_up(state))
        return -1;
    c = *state;
    c->settings.tenants[1].user_limit.gpus[SITE_H100] = 16;
    return 0;
}

static struct job *submit(struct core *c, uint32_t uid, int32_t priority, uint32_t pods)
{
    struct spec *s = site_spec("job", pods, 8);
    struct event ev = {.u.submit = {.spec = s, .caller.uid = uid}};

    s->tenant = s->ns = "a";
    s->priority = priority;
    c->n_requests++;
    memcpy(ev.u.submit.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    return core_job(c, core_ask(c, &ev));
}

static struct job *running(struct core *c, uint32_t uid, int32_t priority, uint32_t pods)
{
    struct job *j = submit(c, uid, priority, pods);

    (void)core_cycle(c);
    assert_int_equal(j->state, JOB_BINDING);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    return j;
}

static void a_gang_stopped_by_its_users_limit_takes_a_lower_one_of_this_user(void **state)
{
    struct core *c = *state;
    struct job *bobs = running(c, BOB, LOWEST, 1), *own = running(c, ALICE, LOW, 2), *taker;

    taker = submit(c, ALICE, HIGH, 1); /* a node is free */
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(own->state, JOB_PREEMPTING);
    assert_int_equal(bobs->state, JOB_RUNNING);
    assert_non_null(taker->claim);
    two_check(c);
    assert_int_equal(core_cycle(c), 0); /* its node was free, its user's limit is still full */
    assert_int_equal(taker->state, JOB_PENDING);
    core_gone_all(c, own->id);
    (void)core_cycle(c);
    assert_int_equal(taker->state, JOB_BINDING);
    assert_int_equal(own->state, JOB_PENDING); /* alice would hold 24 */
    two_check(c);
}

static void nobody_else_leaves_for_a_users_limit(void **state)
{
    struct core *c = *state;
    struct job *bobs = running(c, BOB, LOWEST, 1), *own = running(c, ALICE, HIGH, 2), *waits;
    struct explain x;

    waits = submit(c, ALICE, HIGH, 1);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(bobs->state, JOB_RUNNING);
    assert_int_equal(own->state, JOB_RUNNING);
    explain_job(c->state, waits, c->now, &x);
    assert_string_equal(x.code, "TenantLimit");
}

/* Two takers of one user, each with a victim of its own. */
static void what_leaves_for_one_taker_is_not_counted_for_the_next(void **state)
{
    struct core *c = *state;
    struct job *first = running(c, ALICE, LOW, 1), *second = running(c, ALICE, LOW, 1);
    struct job *takers[3];

    for (int i = 0; i < 3; i++)
        takers[i] = submit(c, ALICE, HIGH, 1);
    assert_int_equal(core_cycle(c), 4); /* two claims, two told */
    assert_null(takers[2]->claim);
    assert_int_equal(first->state, JOB_PREEMPTING);
    assert_int_equal(second->state, JOB_PREEMPTING);
    core_gone_all(c, first->id);
    (void)core_cycle(c);
    core_gone_all(c, second->id);
    (void)core_cycle(c);
    assert_int_equal(takers[0]->state, JOB_BINDING);
    assert_int_equal(takers[1]->state, JOB_BINDING);
    assert_int_equal(takers[2]->state, JOB_PENDING);
    two_check(c);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, users_set_up, core_tear_down)
    const struct CMUnitTest tests[] = {
        T(a_gang_stopped_by_its_users_limit_takes_a_lower_one_of_this_user),
        T(nobody_else_leaves_for_a_users_limit),
        T(what_leaves_for_one_taker_is_not_counted_for_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
