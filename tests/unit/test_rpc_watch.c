/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_watch.c - watches before a connection that is full, gone, or no longer allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../fake/fake_rpc.h"
#include "rpc/rpc_call.h"
#include "rpc/rpc_watch.h"
#include "util/log.h"
#include "util/mem.h"

enum { SEEN_MAX = 64 };

struct rig {
    struct fake_rpc f;
    struct rpc_setup setup;
    struct rpc_auth auth;
    struct rpc_watches *watches;
    enum rpc_sent line; /* what the connection does with the next message */
    uint64_t seen[SEEN_MAX];
    size_t n_seen;
    uint32_t last_code;
    uint64_t complete_through;
};

static enum rpc_sent take(void *ctx, uint32_t peer, const void *bytes, size_t len)
{
    struct rig *g = ctx;
    Queued__V1__WatchReply *m;

    assert_int_equal(peer, 5);
    if (g->line != RPC_SENT)
        return g->line;
    m = queued__v1__watch_reply__unpack(NULL, len - RPC_FRAME_BYTES,
                                        (const uint8_t *)bytes + RPC_FRAME_BYTES);
    assert_non_null(m);
    for (size_t i = 0; i < m->n_events && g->n_seen < SEEN_MAX; i++)
        g->seen[g->n_seen++] = m->events[i]->seq;
    g->last_code = m->header->code;
    g->complete_through = m->complete_through;
    queued__v1__watch_reply__free_unpacked(m, NULL);
    return RPC_SENT;
}

static int set_up(void **state)
{
    static const uint8_t instance[16] = {1};
    struct rig *g = xcalloc(1, sizeof(*g));

    log_setup(LOG_LEVEL_ERROR, false);
    fake_rpc_init(&g->f);
    g->setup = fake_rpc_setup(&g->f);
    rpc_auth_init(&g->auth, &g->setup);
    g->watches =
        rpc_watches_create(&(struct rpc_watch_env){&g->setup, &g->auth, instance, take, g});
    for (int i = 0; i < 3; i++)
        (void)fake_rpc_job(&g->f, "vision", "resnet", 4242);
    *state = g;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *g = *state;

    rpc_watches_destroy(g->watches);
    fake_rpc_fini(&g->f);
    free(g);
    return 0;
}

static uint64_t newest(const struct rig *g)
{
    return g->f.state->meta.next_seq - 1;
}

static void open_watch(struct rig *g, uint64_t after, uint32_t credit)
{
    static const uint8_t instance[16] = {1};
    struct rpc_who who;
    struct rpc_request req = {.method = RPC_WATCH, .method_number = RPC_WATCH, .job = ""};
    struct rpc_out out = {0};
    struct err err;
    struct rpc_call c = {.setup = &g->setup,
                         .state = g->f.state,
                         .who = &who,
                         .req = &req,
                         .peer = 5,
                         .now = g->f.clock.now,
                         .out = &out,
                         .watches = g->watches,
                         .head = {.instance = instance, .text = ""}};

    assert_int_equal(rpc_auth_uid(&g->auth, g->auth.loopback_uid, c.now, &who, &err), 0);
    req.filter = (struct rpc_filter){.all = true, .tenant = "", .user = ""};
    req.u.watch.after_seq = after;
    req.u.watch.credit = credit;
    memset(req.request_id, 9, sizeof(req.request_id));
    assert_int_equal(rpc_watch_open(&c, &err), 0);
    rpc_request_fini(&req);
    rpc_out_fini(&out);
}

static void expect_all_seen_in_order(const struct rig *g)
{
    assert_int_equal(g->n_seen, newest(g));
    for (size_t i = 0; i < g->n_seen; i++)
        assert_int_equal(g->seen[i], i + 1);
}

static struct job_note note_of(const struct rig *g, uint64_t seq)
{
    struct job_note n = {.seq = seq,
                         .job = g->f.state->by_id.v[0]->id,
                         .to = JOB_PENDING,
                         .uid = 4242,
                         .job_name = "resnet",
                         .tenant = "vision"};

    return n;
}

static void an_event_that_the_store_has_not_is_not_asked_for_without_rest(void **state)
{
    struct rig *g = *state;
    usec_t now = g->f.clock.now;

    g->f.state->meta.next_seq++; /* the last record was damaged and set aside */
    open_watch(g, newest(g) - 1, 1000);
    assert_true(rpc_watches_tick(g->watches, now) > now);
    assert_int_equal(g->n_seen, 0);
}

static void a_full_connection_loses_nothing_and_doubles_nothing(void **state)
{
    struct rig *g = *state;
    usec_t now = g->f.clock.now;
    struct job_note live = note_of(g, newest(g));

    open_watch(g, 0, 1000);
    g->line = RPC_FULL;
    assert_true(rpc_watches_tick(g->watches, now) > now);
    rpc_watches_note(g->watches, &live, now); /* of an event that it is behind of */
    assert_int_equal(g->n_seen, 0);
    g->line = RPC_SENT;
    (void)rpc_watches_tick(g->watches, now + USEC_PER_SEC);
    expect_all_seen_in_order(g);
    (void)rpc_watches_tick(g->watches, now + 2 * USEC_PER_SEC);
    expect_all_seen_in_order(g);
}

static void a_connection_that_stays_full_for_30_s_is_dropped(void **state)
{
    struct rig *g = *state;
    usec_t now = g->f.clock.now;

    open_watch(g, 0, 1000);
    g->line = RPC_FULL;
    (void)rpc_watches_tick(g->watches, now);
    (void)rpc_watches_tick(g->watches, now + RPC_SLOW_SEC * USEC_PER_SEC);
    assert_int_equal(rpc_watches_count(g->watches), 1);
    (void)rpc_watches_tick(g->watches, now + (RPC_SLOW_SEC + 1) * USEC_PER_SEC);
    assert_int_equal(rpc_watches_count(g->watches), 0);
}

static void a_connection_that_recovers_is_not_dropped(void **state)
{
    struct rig *g = *state;
    usec_t now = g->f.clock.now;

    open_watch(g, 0, 1000);
    g->line = RPC_FULL;
    (void)rpc_watches_tick(g->watches, now);
    g->line = RPC_SENT;
    (void)rpc_watches_tick(g->watches, now + 20 * USEC_PER_SEC);
    (void)rpc_watches_tick(g->watches, now + 40 * USEC_PER_SEC);
    assert_int_equal(rpc_watches_count(g->watches), 1);
    expect_all_seen_in_order(g);
}

static void a_peer_that_left_takes_its_watch_along(void **state)
{
    struct rig *g = *state;

    open_watch(g, 0, 1000);
    g->line = RPC_GONE;
    (void)rpc_watches_tick(g->watches, g->f.clock.now);
    assert_int_equal(rpc_watches_count(g->watches), 0);
}

static void who_loses_their_rights_loses_the_watch(void **state)
{
    struct rig *g = *state;

    open_watch(g, 0, 1000);
    g->f.has_alice = false;
    (void)rpc_watches_tick(g->watches, g->f.clock.now);
    assert_int_equal(g->n_seen, 0);
    assert_int_equal(g->last_code, ERR_DENIED);
    assert_int_equal(rpc_watches_count(g->watches), 0);
}

static void who_loses_a_tenant_sees_no_more_of_it(void **state)
{
    static const char *const other[] = {"other"};
    struct rig *g = *state;

    open_watch(g, 0, 1000);
    g->f.alice.tenants = other;
    (void)rpc_watches_tick(g->watches, g->f.clock.now);
    assert_int_equal(g->n_seen, 0);
    assert_int_equal(g->complete_through, newest(g)); /* told at once, not 10 s later */
    assert_int_equal(rpc_watches_count(g->watches), 1);
}

static void events_that_were_trimmed_meanwhile_end_the_watch(void **state)
{
    struct rig *g = *state;

    open_watch(g, 0, 1);
    (void)rpc_watches_tick(g->watches, g->f.clock.now);
    assert_int_equal(g->n_seen, 1);
    g->f.state->meta.oldest_seq = 3;
    open_watch(g, 0, 1); /* credit */
    (void)rpc_watches_tick(g->watches, g->f.clock.now);
    assert_int_equal(g->n_seen, 1);
    assert_int_equal(g->last_code, ERR_OUT_OF_RANGE);
    assert_int_equal(rpc_watches_count(g->watches), 0);
}

static void a_live_event_is_sent_at_once_to_who_is_not_behind(void **state)
{
    struct rig *g = *state;
    struct job_note live = note_of(g, newest(g) + 1);

    open_watch(g, newest(g), 2);
    g->f.state->meta.next_seq++;
    rpc_watches_note(g->watches, &live, g->f.clock.now);
    assert_int_equal(g->n_seen, 1);
    assert_int_equal(g->seen[0], newest(g));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_event_that_the_store_has_not_is_not_asked_for_without_rest),
        TEST(a_full_connection_loses_nothing_and_doubles_nothing),
        TEST(a_connection_that_stays_full_for_30_s_is_dropped),
        TEST(a_connection_that_recovers_is_not_dropped),
        TEST(a_peer_that_left_takes_its_watch_along),
        TEST(who_loses_their_rights_loses_the_watch),
        TEST(who_loses_a_tenant_sees_no_more_of_it),
        TEST(events_that_were_trimmed_meanwhile_end_the_watch),
        TEST(a_live_event_is_sent_at_once_to_who_is_not_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
