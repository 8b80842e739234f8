/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_token.c - tokens reach only the caller that waits, and never outlive their time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "rpc/rpc_token.h"

static uint64_t take(struct rpc_tokens *t, uint32_t peer, usec_t expire_at)
{
    struct rpc_pending p = {.peer = peer, .method = RPC_CANCEL, .expire_at = expire_at};

    return rpc_tokens_take(t, &p);
}

static void a_token_is_given_back_once(void **state)
{
    struct rpc_tokens t = {0};
    struct rpc_pending p = {0};
    uint64_t first = take(&t, 7, 10), second;

    (void)state;
    assert_true(first != 0);
    assert_int_equal(rpc_tokens_of(&t, 7), 1);
    assert_true(rpc_tokens_give(&t, first, &p));
    assert_int_equal(p.peer, 7);
    assert_false(rpc_tokens_give(&t, first, &p));
    assert_int_equal(rpc_tokens_of(&t, 7), 0);
    second = take(&t, 8, 10); /* the same slot, another generation */
    assert_true(second != first);
    assert_false(rpc_tokens_give(&t, first, &p));
    assert_true(rpc_tokens_give(&t, second, &p));
    assert_int_equal(p.peer, 8);
    rpc_tokens_fini(&t);
}

static void tokens_that_were_never_given_are_none(void **state)
{
    struct rpc_tokens t = {0};
    struct rpc_pending p;
    uint64_t token = take(&t, 1, 10);

    (void)state;
    assert_false(rpc_tokens_give(&t, 0, &p));
    assert_false(rpc_tokens_give(&t, UINT64_MAX, &p));
    assert_false(rpc_tokens_give(&t, token + 1, &p));
    assert_false(rpc_tokens_give(&t, token + (UINT64_C(1) << 32), &p));
    rpc_tokens_fini(&t);
}

static void a_peer_has_at_most_64_and_others_are_not_touched(void **state)
{
    struct rpc_tokens t = {0};
    struct rpc_pending p;
    uint64_t one = 0;

    (void)state;
    for (int i = 0; i < RPC_PEER_TOKENS_MAX; i++)
        one = take(&t, 1, 10);
    assert_true(one != 0);
    assert_true(take(&t, 1, 10) == 0);
    assert_true(take(&t, 2, 10) != 0);
    assert_true(rpc_tokens_give(&t, one, &p));
    assert_true(take(&t, 1, 10) != 0);
    rpc_tokens_fini(&t);
}

static void the_table_is_bounded(void **state)
{
    struct rpc_tokens t = {0};

    (void)state;
    for (uint32_t i = 0; i < RPC_TOKENS_MAX; i++)
        assert_true(take(&t, i, 10) != 0);
    assert_true(take(&t, RPC_TOKENS_MAX, 10) == 0);
    assert_int_equal(rpc_tokens_of(&t, RPC_TOKENS_MAX), 0);
    rpc_tokens_fini(&t);
}

static void a_token_past_its_time_is_forgotten(void **state)
{
    struct rpc_tokens t = {0};
    struct rpc_pending p;
    uint64_t early = take(&t, 1, 5 * USEC_PER_SEC), late = take(&t, 1, 50 * USEC_PER_SEC);
    usec_t wake = rpc_tokens_expire(&t, 4 * USEC_PER_SEC);

    (void)state;
    assert_true(wake <= 5 * USEC_PER_SEC);
    assert_int_equal(rpc_tokens_of(&t, 1), 2);
    (void)rpc_tokens_expire(&t, 5 * USEC_PER_SEC);
    assert_int_equal(rpc_tokens_of(&t, 1), 1);
    assert_false(rpc_tokens_give(&t, early, &p));
    assert_true(rpc_tokens_give(&t, late, &p));
    rpc_tokens_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_given_back_once),
        cmocka_unit_test(tokens_that_were_never_given_are_none),
        cmocka_unit_test(a_peer_has_at_most_64_and_others_are_not_touched),
        cmocka_unit_test(the_table_is_bounded),
        cmocka_unit_test(a_token_past_its_time_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
