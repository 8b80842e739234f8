/* SPDX-License-Identifier: Apache-2.0 */
/* test_share.c - decay against big integers, and what it does to the order of tenants.
 *
 * y = v * 2^(-p/q) exactly when y^q * 2^p = v^q: powers of big integers judge a result without
 * computing it in another way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/decay.h"
#include "core/cycle.h"
#include "view/explain.h"
#include "core/share.h"

#include "../fake/fake_core.h"
#include "../sim/rng.h"

enum { LIMBS = 24, ROUNDS = 20000 };

#define GPU  (UINT64_C(1) << SHARE_BITS)
#define HOUR (3600 * USEC_PER_SEC)

/* A natural number, 32 bits a limb, the lowest first. */
struct big {
    uint64_t v[LIMBS];
};

static void big_times(struct big *b, uint64_t by)
{
    struct big low = *b, high = *b;
    uint64_t carry = 0;

    for (int i = 0; i < LIMBS; i++) {
        carry += low.v[i] * (by & UINT32_MAX);
        low.v[i] = carry & UINT32_MAX;
        carry >>= 32;
    }
    assert_int_equal(carry, 0);
    for (int i = 0; i < LIMBS; i++) {
        carry += high.v[i] * (by >> 32);
        high.v[i] = carry & UINT32_MAX;
        carry >>= 32;
    }
    assert_int_equal(carry, 0);
    for (int i = 0; i < LIMBS; i++) {
        carry += low.v[i] + (i ? high.v[i - 1] : 0);
        b->v[i] = carry & UINT32_MAX;
        carry >>= 32;
    }
    assert_int_equal(carry, 0);
}

/* base^q * 2^p */
static struct big power(uint64_t base, unsigned q, unsigned p)
{
    struct big b = {{1}};

    while (q-- > 0)
        big_times(&b, base);
    while (p-- > 0)
        big_times(&b, 2);
    return b;
}

static int compare(const struct big *a, const struct big *b)
{
    for (int i = LIMBS; i-- > 0;)
        if (a->v[i] != b->v[i])
            return a->v[i] < b->v[i] ? -1 : 1;
    return 0;
}

static void decay_is_within_one_unit_of_the_exact_power(void **state)
{
    struct rng g = {7};

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned q = 1 + rng_below(&g, 10), p = rng_below(&g, 60);
        usec_t unit = 1 + (usec_t)(rng_next(&g) % (40 * 24 * HOUR));
        uint64_t v = rng_next(&g) >> (9 + rng_below(&g, 55));
        uint64_t y = decay(v, p * unit, q * unit);
        struct big want = power(v, q, 0), above = power(y + 1, q, p), below;

        below = power(y ? y - 1 : 0, q, p);
        if (compare(&below, &want) > 0 || compare(&above, &want) < 0)
            fail_msg("%llu * 2^(-%u/%u) is not %llu", (unsigned long long)v, p, q,
                     (unsigned long long)y);
    }
}

static void decay_of_nothing_no_time_and_all_time(void **state)
{
    (void)state;
    assert_int_equal(decay(0, HOUR, HOUR), 0);
    assert_int_equal(decay(12345, 0, HOUR), 12345);
    assert_int_equal(decay(12345, -5, HOUR), 12345);
    assert_int_equal(decay(1000 * GPU, HOUR, HOUR), 500 * GPU);
    assert_int_equal(decay(UINT64_MAX >> 9, 63 * HOUR, HOUR), 0);
    assert_int_equal(decay(UINT64_MAX >> 9, INT64_MAX, 1), 0);
}

static void usage_tends_to_what_is_held_and_away_from_what_was(void **state)
{
    struct share_past p = {.value = 0, .stamp = 5 * HOUR};

    (void)state;
    assert_int_equal(share_usage(&p, 8 * GPU_PARTS, HOUR, 5 * HOUR), 0);
    assert_int_equal(share_usage(&p, 8 * GPU_PARTS, HOUR, 6 * HOUR), 4 * GPU);
    assert_int_equal(share_usage(&p, 8 * GPU_PARTS, HOUR, 7 * HOUR), 6 * GPU);
    p.value = 16 * GPU;
    assert_int_equal(share_usage(&p, 8 * GPU_PARTS, HOUR, 6 * HOUR), 12 * GPU);
    assert_int_equal(share_usage(&p, 0, HOUR, 7 * HOUR), 4 * GPU);
    assert_int_equal(share_usage(&p, 0, 0, 7 * HOUR), 0);
}

/* cases scheduling/F11: nothing is cut off below a unit, however often it is written back. */
static void writing_back_often_gives_what_writing_back_once_does(void **state)
{
    struct core *c = *state;
    struct tenants once, often;
    usec_t from = c->now, to = from + 48 * HOUR;
    uint64_t a, b;

    tenants_init(&once, &c->settings);
    tenants_init(&often, &c->settings);
    once.v[0].past[SITE_H100] = often.v[0].past[SITE_H100] =
        (struct share_past){.value = GPU / 1000, .stamp = from};
    for (usec_t at = from; at < to; at += HOUR / 100)
        share_settle(&often, 0, SITE_H100, at);
    share_settle(&often, 0, SITE_H100, to);
    share_settle(&once, 0, SITE_H100, to);
    a = once.v[0].past[SITE_H100].value;
    b = often.v[0].past[SITE_H100].value;
    assert_int_equal(a, (GPU / 1000 + 2) / 4);
    assert_true((a > b ? a - b : b - a) <= 4800); /* half a unit each time */
    tenants_fini(&once);
    tenants_fini(&often);
}

static void add_tenants(struct core *c)
{
    (void)site_tenant(&c->settings, "u");
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
}

static struct job *submit(struct core *c, const char *tenant, uint32_t nodes)
{
    struct spec *s = site_spec("job", nodes, 8);

    s->tenant = tenant;
    s->max_runtime_us = 24 * HOUR;
    return core_job(c, core_submit(c, s));
}

static void end(struct core *c, const struct job *j)
{
    core_see_all(c, j->id, POD_SUCCEEDED);
    core_service_gone(c, j->id);
}

static void one_that_used_much_waits_for_one_that_did_not(void **state)
{
    struct core *c = *state;
    struct job *j, *late, *first;

    add_tenants(c);
    j = submit(c, "t", 4);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, 12 * HOUR);
    first = submit(c, "t", 4); /* older, but its tenant had all for half a day */
    late = submit(c, "u", 4);
    end(c, j);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(late->state, JOB_BINDING);
    assert_int_equal(first->state, JOB_PENDING);
}

static void a_half_life_of_0_forgets_the_past(void **state)
{
    struct core *c = *state;
    struct job *j, *late, *first;

    c->settings.half_life_us = 0;
    add_tenants(c);
    j = submit(c, "t", 4);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, 12 * HOUR);
    first = submit(c, "t", 4);
    late = submit(c, "u", 4);
    end(c, j);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(first->state, JOB_BINDING);
    assert_int_equal(late->state, JOB_PENDING);
}

static void submit_to_both(struct core *c, struct job **ret_low, struct job **ret_high)
{
    struct spec *s = site_spec("high", 4, 8);
    struct job *held;

    add_tenants(c);
    held = submit(c, "t", 1);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, held->id, POD_RUNNING);
    *ret_low = submit(c, "u", 4);
    s->priority = 900;
    *ret_high = core_job(c, core_submit(c, s)); /* of t, which holds 8 GPUs */
    end(c, held);
    core_pass(c, USEC_PER_SEC);
}

static void priority_counts_inside_a_tenant_only(void **state)
{
    struct core *c = *state;
    struct job *low, *high;

    submit_to_both(c, &low, &high);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(low->state, JOB_BINDING);
}

static void with_the_scope_cluster_priority_goes_before_fair_share(void **state)
{
    struct core *c = *state;
    struct job *low, *high;

    c->settings.is_priority_first = true;
    submit_to_both(c, &low, &high);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(high->state, JOB_BINDING);
}

/* ---- lending, and what a user may hold */

static struct answer ask(struct core *c, const char *tenant, uint32_t uid, uint32_t nodes)
{
    struct event ev = {.u.submit = {.spec = site_spec("job", nodes, 8), .caller.uid = uid}};

    ev.u.submit.spec->tenant = tenant;
    (void)memcpy(ev.u.submit.ref.request_id, &(uint64_t){++c->n_requests}, sizeof(uint64_t));
    return core_ask(c, &ev);
}

static struct job *submit_by(struct core *c, const char *tenant, uint32_t uid, uint32_t nodes)
{
    return core_job(c, ask(c, tenant, uid, nodes));
}

static struct explain why(const struct core *c, const struct job *j, const char *code)
{
    struct explain x;

    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, code);
    return x;
}

/* Tenant t is owed 16 H100 and keeps `unlent` of them from others. */
static void keep(struct core *c, int64_t unlent)
{
    c->settings.tenants[0].quota.gpus[SITE_H100] = 16;
    c->settings.tenants[0].unlent.gpus[SITE_H100] = unlent;
    add_tenants(c);
}

static void what_a_tenant_does_not_lend_stays_free_for_it(void **state)
{
    struct core *c = *state;
    struct job *big, *small, *owner;
    struct explain x;

    keep(c, 16);
    big = submit(c, "u", 3);
    small = submit(c, "u", 2);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(small->state, JOB_BINDING);
    x = why(c, big, "InsufficientGpus");
    end(c, small);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, USEC_PER_SEC);
    x = why(c, big, "TenantShare");
    assert_non_null(strstr(x.text, "needs 24 GPUs beyond the quota; 32 are free, of which 16 are"));
    owner = submit(c, "t", 2);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(owner->state, JOB_BINDING);
    assert_int_equal(big->state, JOB_PENDING);
}

static void what_a_tenant_lends_or_uses_itself_is_not_kept(void **state)
{
    struct core *c = *state;

    keep(c, 8);
    assert_int_equal(submit(c, "u", 3)->state, JOB_PENDING);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(submit(c, "t", 1)->state, JOB_PENDING); /* the one node that was kept */
    assert_int_equal(core_cycle(c), 1);
}

static void the_owner_is_not_kept_from_its_own_quota(void **state)
{
    struct core *c = *state;

    keep(c, 16);
    (void)submit(c, "t", 4); /* beyond the quota, of what is its own */
    assert_int_equal(core_cycle(c), 1);
}

static void a_user_never_holds_more_than_the_limit_and_others_go_on(void **state)
{
    struct core *c = *state;
    struct job *j[4];
    struct explain x;

    c->settings.tenants[0].user_limit.gpus[SITE_H100] = 16;
    add_tenants(c);
    for (uint32_t i = 0; i < 3; i++)
        j[i] = submit_by(c, "t", 7, 1);
    j[3] = submit_by(c, "t", 8, 1);
    assert_int_equal(core_cycle(c), 3);
    assert_int_equal(j[2]->state, JOB_PENDING);
    assert_int_equal(j[3]->state, JOB_BINDING);
    x = why(c, j[2], "TenantLimit");
    assert_non_null(strstr(x.text, " in t uses 16 of its limit of 16 H100, this needs 8"));
    end(c, j[0]);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j[2]->state, JOB_BINDING);
}

static void the_limit_of_a_user_counts_what_is_held_below(void **state)
{
    struct core *c = *state;
    struct job *j[2];

    (void)site_tenant(&c->settings, "t/inner");
    c->settings.tenants[0].user_limit.gpus[SITE_H100] = 8;
    add_tenants(c);
    j[0] = submit_by(c, "t/inner", 7, 1);
    j[1] = submit_by(c, "t", 7, 1);
    assert_int_equal(core_cycle(c), 1);
    assert_true((j[0]->state == JOB_PENDING) != (j[1]->state == JOB_PENDING));
}

static void waiting_jobs_are_limited_for_each_user(void **state)
{
    struct core *c = *state;

    c->settings.tenants[0].max_pending = 1;
    add_tenants(c);
    assert_int_equal(ask(c, "t", 7, 9).code, ERR_OK);
    assert_int_equal(ask(c, "t", 7, 9).code, ERR_EXHAUSTED);
    assert_int_equal(ask(c, "t", 8, 9).code, ERR_OK);
}

/* ---- a tenant that is stopped */

static struct answer stop(struct core *c, const char *tenant, bool is_back)
{
    struct event ev = {.kind = EV_TENANT_STOP};

    ev.u.drain = (struct ev_drain){.node = xstrdup(tenant),
                                   .is_back = is_back,
                                   .why = is_back ? NULL : xstrdup("moving the data"),
                                   .caller.user = "root",
                                   .ref.reply_token = 1};
    memcpy(ev.u.drain.ref.request_id, &(uint64_t){++c->n_requests}, sizeof(uint64_t));
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer;
}

static void a_stopped_tenant_starts_nothing_below_it_and_others_go_on(void **state)
{
    struct core *c = *state;
    struct job *own, *inner, *other;
    struct explain x;

    (void)site_tenant(&c->settings, "t/inner");
    add_tenants(c);
    assert_int_equal(stop(c, "t", false).code, ERR_OK);
    own = submit(c, "t", 1);
    inner = submit(c, "t/inner", 1);
    other = submit(c, "u", 1);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(other->state, JOB_BINDING);
    x = why(c, inner, "QueueStopped");
    assert_non_null(strstr(x.text, "tenant t is stopped since"));
    assert_non_null(strstr(x.text, "by root: moving the data"));
    assert_int_equal(stop(c, "t", true).code, ERR_OK);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(own->state, JOB_BINDING);
}

static void a_stop_leaves_what_runs_and_no_room_reserved(void **state)
{
    struct core *c = *state;
    struct job *running, *big, *other;

    add_tenants(c);
    running = submit(c, "t", 1);
    assert_int_equal(core_cycle(c), 1);
    big = submit(c, "t", 4); /* has room reserved when running ends */
    assert_int_equal(core_cycle(c), 0);
    (void)stop(c, "t", false);
    other = submit(c, "u", 3);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(other->state, JOB_BINDING);
    assert_int_equal(running->state, JOB_BINDING);
    assert_int_equal(big->state, JOB_PENDING);
}

static void stops_are_refused_where_there_is_no_tenant_and_resuming_twice_is_fine(void **state)
{
    struct core *c = *state;

    add_tenants(c);
    assert_int_equal(stop(c, "nosuch", false).code, ERR_NOT_FOUND);
    assert_int_equal(stop(c, "u", true).code, ERR_OK);
    assert_true(core_last(c, EFFECT_REPLY)->u.reply->answer.is_again);
    assert_int_equal(stop(c, "u", false).code, ERR_OK);
    assert_int_equal(c->state->tenants.v[1].saved_turn, c->state->turn); /* it is stored */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decay_is_within_one_unit_of_the_exact_power),
        cmocka_unit_test(decay_of_nothing_no_time_and_all_time),
        cmocka_unit_test(usage_tends_to_what_is_held_and_away_from_what_was),
        cmocka_unit_test_setup_teardown(writing_back_often_gives_what_writing_back_once_does,
                                        core_set_up, core_tear_down),
        cmocka_unit_test_setup_teardown(one_that_used_much_waits_for_one_that_did_not, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(a_half_life_of_0_forgets_the_past, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(priority_counts_inside_a_tenant_only, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(with_the_scope_cluster_priority_goes_before_fair_share,
                                        core_set_up, core_tear_down),
        cmocka_unit_test_setup_teardown(what_a_tenant_does_not_lend_stays_free_for_it, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(what_a_tenant_lends_or_uses_itself_is_not_kept, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(the_owner_is_not_kept_from_its_own_quota, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(a_user_never_holds_more_than_the_limit_and_others_go_on,
                                        core_set_up, core_tear_down),
        cmocka_unit_test_setup_teardown(the_limit_of_a_user_counts_what_is_held_below, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(waiting_jobs_are_limited_for_each_user, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(a_stopped_tenant_starts_nothing_below_it_and_others_go_on,
                                        core_set_up, core_tear_down),
        cmocka_unit_test_setup_teardown(a_stop_leaves_what_runs_and_no_room_reserved, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(
            stops_are_refused_where_there_is_no_tenant_and_resuming_twice_is_fine, core_set_up,
            core_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
