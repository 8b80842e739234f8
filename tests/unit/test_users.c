/* SPDX-License-Identifier: Apache-2.0 */
/* test_users.c - users of one tenant take turns by their shares: fairShare.users.
 *
 * Tenant t on nodes of 8 H100; alice (1), bob (2) and carol (3) submit to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/share.h"
#include "../fake/fake_core.h"
#include "../fake/fake_store.h"
#include "../fake/store_fixture.h"
#include "view/explain.h"

enum { ALICE = 1, BOB, CAROL, NORMAL = 500, HIGH = 900 };

static void restart(struct core *c, bool shares)
{
    c->settings.shares_users = shares;
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
}

static int users_set_up(void **state)
{
    if (core_set_up(state))
        return -1;
    ((struct core *)*state)->settings.half_life_us = 0;
    restart(*state, true);
    return 0;
}

/* Of so many whole nodes. */
static struct job *submit(struct core *c, uint32_t uid, int32_t priority, uint32_t pods)
{
    static const char *const names[] = {"", "alice", "bob", "carol"};
    struct spec *spec = site_spec(names[uid], pods, 8);
    struct event ev = {.u.submit = {.spec = spec, .caller.uid = uid}};

    spec->priority = priority;
    c->n_requests++;
    memcpy(ev.u.submit.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    (void)snprintf(ev.u.submit.caller.user, sizeof(ev.u.submit.caller.user), "%s", names[uid]);
    c->now += 1000; /* each is younger */
    return core_job(c, core_ask(c, &ev));
}

static void end(struct core *c, const struct job *j)
{
    core_see_all(c, j->id, POD_SUCCEEDED);
    core_service_gone(c, j->id);
}

static void who_asks_for_much_does_not_keep_the_others_out(void **state)
{
    struct core *c = *state;
    struct job *a[8], *b[2];

    for (int i = 0; i < 8; i++)
        a[i] = submit(c, ALICE, NORMAL, 1);
    for (int i = 0; i < 2; i++)
        b[i] = submit(c, BOB, NORMAL, 1);
    assert_int_equal(core_cycle(c), 4);
    assert_int_equal(a[0]->state, JOB_BINDING);
    assert_int_equal(a[1]->state, JOB_BINDING);
    assert_int_equal(a[2]->state, JOB_PENDING);
    assert_int_equal(b[0]->state, JOB_BINDING);
    assert_int_equal(b[1]->state, JOB_BINDING);
}

static void without_the_key_age_alone_decides(void **state)
{
    struct core *c = *state;
    struct job *a = NULL, *b;

    restart(c, false);
    for (int i = 0; i < 4; i++)
        a = submit(c, ALICE, NORMAL, 1);
    b = submit(c, BOB, NORMAL, 1);
    assert_int_equal(core_cycle(c), 4);
    assert_int_equal(a->state, JOB_BINDING);
    assert_int_equal(b->state, JOB_PENDING);
}

static void what_is_freed_goes_to_the_user_who_has_least(void **state)
{
    struct core *c = *state;
    struct job *a[8], *b;

    for (int i = 0; i < 8; i++)
        a[i] = submit(c, ALICE, NORMAL, 1);
    assert_int_equal(core_cycle(c), 4);
    b = submit(c, BOB, NORMAL, 1);
    assert_int_equal(core_cycle(c), 0);
    core_see_all(c, a[0]->id, POD_RUNNING);
    end(c, a[0]);
    (void)core_cycle(c);
    assert_int_equal(b->state, JOB_BINDING);
    assert_int_equal(a[4]->state, JOB_PENDING);
}

static void the_candidate_counts_so_that_a_big_gang_waits_for_small_ones(void **state)
{
    struct core *c = *state;
    struct job *a = submit(c, ALICE, NORMAL, 3), *b = submit(c, BOB, NORMAL, 2);

    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(b->state, JOB_BINDING);
    assert_int_equal(a->state, JOB_PENDING);
}

static void priority_goes_before_the_share_inside_a_tenant(void **state)
{
    struct core *c = *state;
    struct job *first = submit(c, ALICE, NORMAL, 2), *a, *b;

    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(first->state, JOB_BINDING);
    b = submit(c, BOB, NORMAL, 2);
    a = submit(c, ALICE, HIGH, 2);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(a->state, JOB_BINDING);
    assert_int_equal(b->state, JOB_PENDING);
}

static void a_user_is_judged_by_his_oldest_job_not_by_his_smallest(void **state)
{
    struct core *c = *state;
    struct job *big = submit(c, ALICE, NORMAL, 3), *b = submit(c, BOB, NORMAL, 2);
    struct job *small = submit(c, ALICE, NORMAL, 1);

    c->state->n_decisions = 0;
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(b->state, JOB_BINDING);     /* 2 against 3 */
    assert_int_equal(small->state, JOB_BINDING); /* in what is left */
    assert_int_equal(big->state, JOB_PENDING);
    assert_true(c->state->active.v[0] == b);
}

static void past_use_counts_and_fades(void **state)
{
    struct core *c = *state;
    struct job *a, *b;

    c->settings.half_life_us = 3600 * USEC_PER_SEC;
    restart(c, true);
    a = submit(c, ALICE, NORMAL, 4);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, a->id, POD_RUNNING);
    core_pass(c, 1800 * USEC_PER_SEC);
    end(c, a);
    a = submit(c, ALICE, NORMAL, 3);
    b = submit(c, BOB, NORMAL, 3);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(b->state, JOB_BINDING);
    assert_int_equal(a->state, JOB_PENDING);
    end(c, b);
    (void)core_cycle(c);
    core_see_all(c, a->id, POD_RUNNING);
    end(c, a);
    core_pass(c, 100 * 3600 * USEC_PER_SEC); /* all is forgotten: age decides */
    a = submit(c, ALICE, NORMAL, 3);
    b = submit(c, BOB, NORMAL, 3);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(a->state, JOB_BINDING);
}

static void a_waiting_job_says_who_goes_first_and_by_what_numbers(void **state)
{
    struct core *c = *state;
    struct job *a[6] = {NULL}, *b;
    struct explain x;

    for (int i = 0; i < 6; i++)
        a[i] = submit(c, ALICE, NORMAL, 1);
    assert_int_equal(core_cycle(c), 4);
    b = submit(c, BOB, NORMAL, 1);
    (void)core_cycle(c);
    explain_job(c->state, a[4], c->now, &x);
    assert_string_equal(x.code, "InsufficientGpus");
    assert_int_equal(x.position, 2);
    assert_non_null(strstr(x.now, "of t goes first"));
    assert_non_null(strstr(x.now, b->name));
    assert_non_null(strstr(x.now, "to a share of 0.250"));
    assert_non_null(strstr(x.now, "make 1.250"));
    explain_job(c->state, b, c->now, &x);
    assert_int_equal(x.position, 1);
    assert_string_equal(x.now, "");
    explain_job(c->state, a[5], c->now, &x);
    assert_int_equal(x.position, 3);
}

/* Alice, bob and carol with one another: each has a third, whatever they ask for. */
static void three_users_of_one_tenant_come_to_equal_parts(void **state)
{
    struct core *c = *state;
    uint64_t held[CAROL + 1] = {0};

    core_nodes(c, 12);
    for (int i = 0; i < 40; i++)
        (void)submit(c, ALICE, NORMAL, 1 + (uint32_t)i % 2);
    for (int i = 0; i < 20; i++)
        (void)submit(c, BOB, NORMAL, 1);
    for (int i = 0; i < 6; i++)
        (void)submit(c, CAROL, NORMAL, 2);
    (void)core_cycle(c);
    for (size_t i = 0; i < c->state->active.n; i++)
        held[c->state->active.v[i]->uid] += c->state->active.v[i]->charged_parts / GPU_PARTS;
    assert_int_equal(held[ALICE] + held[BOB] + held[CAROL], 96);
    for (uint32_t u = ALICE; u <= CAROL; u++)
        assert_in_range(held[u], 24, 40);
}

static void commit(struct store_fixture *f, const struct store_port *port)
{
    struct err err;

    assert_int_equal(port->commit_begin(port->ctx, f->state, &f->fx, &err), 0);
    effects_clear(&f->fx);
    f->state->turn++;
}

static void what_a_user_used_survives_a_restart(void **state)
{
    struct fake_store *store = fake_store_create(1);
    struct store_port port = fake_store_port(store);
    struct account_key who = {.uid = 1000}; /* tenant 0, vision */
    struct user_share *old, *new;
    struct store_fixture f;
    struct state *s;
    struct err err;

    (void)state;
    store_fixture_init(&f);
    f.settings.shares_users = true;
    state_destroy(f.state);
    f.state = store_fixture_empty(&f);
    f.state->now = FIXTURE_EPOCH;
    f.state->turn = 1;
    store_fixture_run(&f, 2);
    old = tenant_user(&f.state->tenants, who);
    assert_int_equal(old->own[0], 24 * GPU_PARTS);
    old->past[0].value = 5 * (UINT64_C(1) << SHARE_BITS); /* of jobs that ended long ago */
    commit(&f, &port);
    s = store_fixture_empty(&f);
    assert_int_equal(port.load(port.ctx, s, &err), 0);
    new = tenant_user(&s->tenants, who);
    assert_int_equal(new->own[0], 24 * GPU_PARTS);
    assert_memory_equal(new->past, old->past, sizeof(old->past));
    assert_true(new->past[0].value > 0);
    state_destroy(s);
    f.settings.shares_users = false; /* nobody minds the record */
    s = store_fixture_empty(&f);
    assert_int_equal(port.load(port.ctx, s, &err), 0);
    assert_null(tenant_account(&s->tenants, who)->share);
    assert_true(s->tenants.v[0].past[0].stamp > 0);
    state_destroy(s);
    store_fixture_fini(&f);
    fake_store_destroy(store);
}

int main(void)
{
#define USERS_TEST(f) cmocka_unit_test_setup_teardown(f, users_set_up, core_tear_down)
    const struct CMUnitTest tests[] = {
        USERS_TEST(who_asks_for_much_does_not_keep_the_others_out),
        USERS_TEST(without_the_key_age_alone_decides),
        USERS_TEST(what_is_freed_goes_to_the_user_who_has_least),
        USERS_TEST(the_candidate_counts_so_that_a_big_gang_waits_for_small_ones),
        USERS_TEST(priority_goes_before_the_share_inside_a_tenant),
        USERS_TEST(a_user_is_judged_by_his_oldest_job_not_by_his_smallest),
        USERS_TEST(past_use_counts_and_fades),
        USERS_TEST(a_waiting_job_says_who_goes_first_and_by_what_numbers),
        cmocka_unit_test(what_a_user_used_survives_a_restart),
        USERS_TEST(three_users_of_one_tenant_come_to_equal_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
