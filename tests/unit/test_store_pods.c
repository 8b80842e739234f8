/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_pods.c - pods that a gang gives up, and the claim that they are given up for, stored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../fake/fake_store.h"
#include "../fake/store_fixture.h"

static void commit(struct store_fixture *fix, const struct store_port *port)
{
    struct err err;

    assert_int_equal(port->commit_begin(port->ctx, fix->state, &fix->fx, &err), 0);
    effects_clear(&fix->fx);
    fix->state->turn++;
}

/* Job 2 runs without a pod that it was told to give up for job 1, and that is still there. */
static void pods_that_are_going_come_back_with_their_claim(void **state)
{
    struct store_fixture fix;
    struct fake_store *store = fake_store_create(1);
    struct store_port port = fake_store_port(store);
    struct job *j, *taker;
    struct state *s;
    struct err err;

    (void)state;
    store_fixture_init(&fix);
    store_fixture_submit(&fix, 1);
    store_fixture_run(&fix, 2);
    commit(&fix, &port);
    j = state_job(fix.state, store_fixture_id(2));
    taker = state_job(fix.state, store_fixture_id(1));
    job_set_phase(j, &j->members[2], MEMBER_ABSENT);
    j->members[2].node_ix = IX_NONE;
    j->members[2].is_going = true;
    j->going[0] = 1;
    taker->n_members = taker->demand->most;
    taker->members = xcalloc(taker->n_members, sizeof(*taker->members));
    taker->claim = xcalloc(1, sizeof(*taker->claim));
    taker->claim->until = fix.state->now + USEC_PER_SEC;
    taker->claim->n_victims = 2;
    taker->claim->victims = xcalloc(2, sizeof(*taker->claim->victims));
    taker->claim->victims[0] = (struct victim){j->id, j->attempt, 3};
    taker->claim->victims[1] = (struct victim){taker->id, 7, 0};
    (void)effects_add(&fix.fx, EFFECT_SAVE_JOB, j->id);
    (void)effects_add(&fix.fx, EFFECT_SAVE_JOB, taker->id);
    commit(&fix, &port);
    s = store_fixture_empty(&fix);
    assert_int_equal(port.load(port.ctx, s, &err), 0);
    j = state_job(s, store_fixture_id(2));
    assert_int_equal(j->members[2].phase, MEMBER_ABSENT);
    assert_true(j->members[2].is_going);
    assert_false(j->members[1].is_going);
    assert_int_equal(j->size[0], 2);
    assert_int_equal(j->going[0], 1);
    assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
    taker = state_job(s, store_fixture_id(1));
    assert_int_equal(taker->claim->n_victims, 2);
    assert_int_equal(taker->claim->victims[0].pod, 3);
    assert_int_equal(taker->claim->victims[1].pod, 0);
    state_destroy(s);
    store_fixture_fini(&fix);
    fake_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_that_are_going_come_back_with_their_claim)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
