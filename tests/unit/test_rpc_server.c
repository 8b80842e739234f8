/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_server.c - a real ROUTER and real DEALERs over ipc and TCP, engine and fake store
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zmq.h>

#include "../fake/fake_rpc.h"
#include "core/window.h"
#include "rpc/rpc_token.h"
#include "rpc/rpc_watch.h"
#include "util/mem.h"
#include "util/str.h"

typedef Queued__V1__SubmitReply submit_reply;
typedef Queued__V1__WatchReply watch_reply;

static void drop(void *m)
{
    if (m)
        protobuf_c_message_free_unpacked(m, NULL);
}

static void send_submit(void *dealer, uint8_t id, const char *name, const char *key)
{
    Queued__V1__SubmitRequest m = QUEUED__V1__SUBMIT_REQUEST__INIT;
    Queued__V1__JobSpec spec = QUEUED__V1__JOB_SPEC__INIT;
    Queued__V1__Role role = QUEUED__V1__ROLE__INIT;
    Queued__V1__Role *roles[] = {&role};
    char *text[3] = {xstrdup(name), xstrdup("vision"), xstrdup("registry.local/train:1")};

    role.image = text[2];
    role.has_gpus = true;
    role.gpus = 8;
    spec.name = text[0];
    spec.tenant = text[1];
    spec.submit_key = key ? xstrdup(key) : NULL;
    spec.n_roles = 1;
    spec.roles = roles;
    m.spec = &spec;
    fake_rpc_send(dealer, RPC_SUBMIT, id, &m.base);
    free(spec.submit_key);
    for (size_t i = 0; i < ARRAY_LEN(text); i++)
        free(text[i]);
}

static submit_reply *receive_submit(struct fake_rpc *f, void *dealer)
{
    return fake_rpc_receive(f, dealer, &queued__v1__submit_reply__descriptor);
}

static void a_submission_is_answered_after_the_commit(void **state)
{
    struct fake_rpc *f = *state;
    const char *const endpoints[] = {f->ipc, f->tcp};

    for (size_t i = 0; i < 2; i++) {
        void *dealer = fake_rpc_connect(f, endpoints[i]);
        uint64_t commits = fake_store_commits(f->store);
        submit_reply *r;

        send_submit(dealer, (uint8_t)(1 + i), "resnet", NULL);
        fake_rpc_turn(f);
        r = receive_submit(f, dealer);
        assert_non_null(r);
        assert_int_equal(r->header->code, ERR_OK);
        assert_int_equal(strlen(r->id), JOB_ID_TEXT);
        assert_memory_equal(r->name, "resnet-", 7);
        assert_string_equal(r->tenant, "vision");
        assert_string_equal(r->namespace_, "vision");
        assert_int_equal(r->gpus, 8);
        assert_false(r->existed);
        assert_int_equal(r->header->server_instance.len, 16);
        assert_int_equal(r->header->as_of_seq, f->state->meta.next_seq - 1);
        assert_true(fake_store_commits(f->store) > commits);
        drop(r);
        (void)zmq_close(dealer);
    }
    assert_int_equal(f->state->by_id.n, 2);
    assert_int_equal(f->state->by_id.v[0]->uid, geteuid());
    assert_string_equal(f->state->by_id.v[1]->user, "alice");
}

static void a_failed_commit_answers_nobody(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    usec_t wake;
    struct err err;

    send_submit(dealer, 1, "resnet", NULL);
    for (int i = 0; i < 100 && inbox_count(f->inbox) == 0; i++) {
        zmq_pollitem_t item = {.socket = rpc_server_socket(f->server), .events = ZMQ_POLLIN};

        (void)zmq_poll(&item, 1, 30);
        (void)rpc_server_read(f->server, f->clock.now);
    }
    fake_store_fail_next(f->store, FAKE_FAILS_BEFORE);
    assert_int_equal(engine_turn(&f->engine, &wake, &err), -1);
    assert_null(receive_submit(f, dealer));
    (void)zmq_close(dealer);
}

static void a_retry_and_a_known_key_get_the_same_job(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    char id[JOB_ID_TEXT + 1] = "";

    for (int i = 0; i < 3; i++) {
        submit_reply *r;

        send_submit(dealer, i < 2 ? 7 : 8, "resnet", "key-1"); /* the same id; then another */
        fake_rpc_turn(f);
        r = receive_submit(f, dealer);
        assert_non_null(r);
        assert_int_equal(r->header->code, ERR_OK);
        if (i == 0)
            (void)snprintf(id, sizeof(id), "%s", r->id);
        assert_string_equal(r->id, id);
        assert_int_equal(r->existed, i == 2);
        drop(r);
    }
    send_submit(dealer, 9, "vgg", "key-1"); /* another job under the key */
    fake_rpc_turn(f);
    {
        submit_reply *r = receive_submit(f, dealer);

        assert_int_equal(r->header->code, ERR_CONFLICT);
        drop(r);
    }
    assert_int_equal(f->state->by_id.n, 1);
    (void)zmq_close(dealer);
}

static void what_is_wrong_is_said_with_the_path(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    submit_reply *r;

    send_submit(dealer, 1, "Resnet", NULL);
    fake_rpc_turn(f);
    r = receive_submit(f, dealer);
    assert_int_equal(r->header->code, ERR_INVALID);
    assert_memory_equal(r->header->text, "spec.name: ", 11);
    assert_int_equal(r->header->request_id.data[0], 1);
    drop(r);
    (void)zmq_close(dealer);
}

static uint32_t code_of(struct fake_rpc *f, void *dealer)
{
    Queued__V1__HelloReply *r = fake_rpc_receive(f, dealer, &queued__v1__hello_reply__descriptor);
    uint32_t code = r ? r->header->code : UINT32_MAX;

    drop(r);
    return code;
}

static void hostile_bytes_are_refused_and_the_server_goes_on(void **state)
{
    static const char *const messages[] = {"", "QD", "GET / HTTP/1.1\r\n\r\n",
                                           "QD\1\1\1\1\1\1\xff\xff\xff\xff\xff\xff\xff\xff"};
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    Queued__V1__HelloRequest hello = QUEUED__V1__HELLO_REQUEST__INIT;

    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        assert_true(zmq_send(dealer, messages[i], strlen(messages[i]), 0) >= 0);
        fake_rpc_turn(f);
        assert_int_equal(code_of(f, dealer), ERR_INVALID);
    }
    assert_true(zmq_send(dealer, "QD\1\0\0\1\0\0", 8, ZMQ_SNDMORE) >= 0); /* two frames */
    assert_true(zmq_send(dealer, "more", 4, 0) >= 0);
    fake_rpc_turn(f);
    fake_rpc_send(dealer, RPC_HELLO, 1, &hello.base);
    fake_rpc_turn(f);
    assert_int_equal(code_of(f, dealer), ERR_OK); /* and no answer to the two frames */
    (void)zmq_close(dealer);
}

static void an_answer_that_is_too_large_is_an_error(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    Queued__V1__ReservationsRequest m = QUEUED__V1__RESERVATIONS_REQUEST__INIT;
    struct window w = {.from = f->clock.now, .to = INT64_MAX};
    struct str nodes = {0};
    uint32_t code;

    for (unsigned i = 0; i < 1000; i++)
        str_addf(&nodes, "a-node-with-a-name-of-more-than-forty-letters-%04u\n", i);
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(w.name, sizeof(w.name), "w%u", i);
        window_make(f->state, &w, nodes.s);
    }
    fake_rpc_send(dealer, RPC_RESERVATIONS, 1, &m.base);
    fake_rpc_turn(f);
    code = code_of(f, dealer);
    str_fini(&nodes);
    (void)zmq_close(dealer);
    assert_int_equal(code, ERR_EXHAUSTED);
}

static void too_many_unanswered_changes_of_a_peer_are_refused(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    unsigned counts[2] = {0, 0};

    for (int i = 0; i < RPC_PEER_TOKENS_MAX + 3; i++)
        send_submit(dealer, (uint8_t)(i + 1), "resnet", NULL);
    for (int i = 0; i < 200 && inbox_count(f->inbox) < RPC_PEER_TOKENS_MAX; i++) {
        zmq_pollitem_t item = {.socket = rpc_server_socket(f->server), .events = ZMQ_POLLIN};

        (void)zmq_poll(&item, 1, 30);
        (void)rpc_server_read(f->server, f->clock.now);
    }
    fake_rpc_turn(f);
    for (int i = 0; i < RPC_PEER_TOKENS_MAX + 3; i++) {
        submit_reply *r = receive_submit(f, dealer);

        assert_non_null(r);
        counts[r->header->code == ERR_EXHAUSTED]++;
        assert_int_equal(r->header->code == ERR_EXHAUSTED, r->header->retry_after_ms > 0);
        drop(r);
    }
    assert_true(counts[0] >= RPC_PEER_TOKENS_MAX);
    assert_true(counts[1] >= 1);
    assert_int_equal(counts[0] + counts[1], RPC_PEER_TOKENS_MAX + 3);
    (void)zmq_close(dealer);
}

static void lists_come_in_pages_and_a_token_fits_one_filter(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    Queued__V1__ListRequest m = QUEUED__V1__LIST_REQUEST__INIT;
    Queued__V1__JobFilter filter = QUEUED__V1__JOB_FILTER__INIT;
    Queued__V1__ListReply *page = NULL, *next;
    unsigned seen = 0;

    for (int i = 0; i < 5; i++)
        (void)fake_rpc_job(f, "vision", "resnet", 4242);
    filter.has_all = filter.all = true;
    m.filter = &filter;
    m.has_limit = true;
    m.limit = 2;
    do {
        m.has_page_token = page != NULL;
        if (page)
            m.page_token = page->page_token;
        fake_rpc_send(dealer, RPC_LIST, 1, &m.base);
        fake_rpc_turn(f);
        next = fake_rpc_receive(f, dealer, &queued__v1__list_reply__descriptor);
        assert_non_null(next);
        assert_int_equal(next->header->code, ERR_OK);
        for (size_t i = 0; i < next->n_jobs; i++, seen++) {
            char id[JOB_ID_TEXT + 1];

            assert_string_equal(next->jobs[i]->id, job_id_format(id, f->state->by_id.v[seen]->id));
        }
        drop(page);
        page = next;
    } while (page->has_page_token && seen <= 5);
    assert_int_equal(seen, 5);
    drop(page);
    (void)zmq_close(dealer);
}

static void an_old_token_with_another_filter_is_refused(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    Queued__V1__ListRequest m = QUEUED__V1__LIST_REQUEST__INIT;
    Queued__V1__JobFilter filter = QUEUED__V1__JOB_FILTER__INIT;
    Queued__V1__ListReply *page;

    (void)fake_rpc_job(f, "vision", "a", 4242);
    (void)fake_rpc_job(f, "vision", "b", 4242);
    filter.has_all = filter.all = true;
    m.filter = &filter;
    m.has_limit = true;
    m.limit = 1;
    fake_rpc_send(dealer, RPC_LIST, 1, &m.base);
    fake_rpc_turn(f);
    page = fake_rpc_receive(f, dealer, &queued__v1__list_reply__descriptor);
    assert_true(page->has_page_token);
    m.has_page_token = true;
    m.page_token = page->page_token;
    filter.tenant = page->jobs[0]->tenant;
    fake_rpc_send(dealer, RPC_LIST, 2, &m.base);
    fake_rpc_turn(f);
    assert_int_equal(code_of(f, dealer), ERR_INVALID);
    drop(page);
    (void)zmq_close(dealer);
}

/* ---- watches */

static void send_watch(void *dealer, uint8_t id, uint64_t after, uint32_t credit)
{
    Queued__V1__WatchRequest m = QUEUED__V1__WATCH_REQUEST__INIT;
    Queued__V1__JobFilter filter = QUEUED__V1__JOB_FILTER__INIT;

    filter.has_all = filter.all = true;
    m.filter = &filter;
    m.has_after_seq = true;
    m.after_seq = after;
    m.has_credit = true;
    m.credit = credit;
    fake_rpc_send(dealer, RPC_WATCH, id, &m.base);
}

static watch_reply *receive_watch(struct fake_rpc *f, void *dealer)
{
    return fake_rpc_receive(f, dealer, &queued__v1__watch_reply__descriptor);
}

/* Take events until n came; they must follow each other without gap from after + 1. */
static void expect_events(struct fake_rpc *f, void *dealer, uint64_t after, unsigned n)
{
    unsigned got = 0;

    while (got < n) {
        watch_reply *r = receive_watch(f, dealer);

        assert_non_null(r);
        assert_int_equal(r->header->code, ERR_OK);
        for (size_t i = 0; i < r->n_events; i++, got++)
            assert_int_equal(r->events[i]->seq, after + 1 + got);
        drop(r);
    }
    assert_int_equal(got, n);
}

static void a_watch_replays_then_follows_without_gap(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    uint64_t before;

    for (int i = 0; i < 4; i++)
        (void)fake_rpc_job(f, "vision", "resnet", 4242);
    before = f->state->meta.next_seq - 1;
    assert_true(before >= 4);
    send_watch(dealer, 1, 0, 1000);
    fake_rpc_turn(f);
    expect_events(f, dealer, 0, (unsigned)before);
    fake_rpc_cancel(f, f->state->by_id.v[0]->id);
    fake_rpc_turn(f);
    expect_events(f, dealer, before, (unsigned)(f->state->meta.next_seq - 1 - before));
    (void)zmq_close(dealer);
}

static void a_watch_sends_no_more_than_its_credit(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    watch_reply *r;
    uint64_t all;

    for (int i = 0; i < 4; i++)
        (void)fake_rpc_job(f, "vision", "resnet", 4242);
    all = f->state->meta.next_seq - 1;
    send_watch(dealer, 1, 0, 2);
    fake_rpc_turn(f);
    expect_events(f, dealer, 0, 2);
    assert_null(receive_watch(f, dealer));
    (void)fake_rpc_job(f, "vision", "resnet", 4242); /* live, and no credit */
    fake_rpc_turn(f);
    assert_null(receive_watch(f, dealer));
    send_watch(dealer, 1, 0, 1000); /* more credit for the same watch */
    fake_rpc_turn(f);
    expect_events(f, dealer, 2, (unsigned)(f->state->meta.next_seq - 1 - 2));
    assert_true(f->state->meta.next_seq - 1 > all);
    r = receive_watch(f, dealer);
    assert_null(r);
    (void)zmq_close(dealer);
}

static void an_idle_watch_says_every_ten_seconds_how_far_it_is(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    watch_reply *r;

    (void)fake_rpc_job(f, "vision", "resnet", 4242);
    send_watch(dealer, 1, f->state->meta.next_seq - 1, 10);
    fake_rpc_turn(f);
    drop(receive_watch(f, dealer)); /* opened */
    assert_true(rpc_server_tick(f->server, f->clock.now) <=
                f->clock.now + RPC_KEEPALIVE_SEC * USEC_PER_SEC);
    assert_null(receive_watch(f, dealer));
    fake_clock_advance(&f->clock, RPC_KEEPALIVE_SEC * USEC_PER_SEC);
    (void)rpc_server_tick(f->server, f->clock.now);
    r = receive_watch(f, dealer);
    assert_non_null(r);
    assert_int_equal(r->n_events, 0);
    assert_int_equal(r->complete_through, f->state->meta.next_seq - 1);
    drop(r);
    (void)zmq_close(dealer);
}

static void events_that_are_not_kept_are_out_of_range(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);
    watch_reply *r;

    for (int i = 0; i < 4; i++)
        (void)fake_rpc_job(f, "vision", "resnet", 4242);
    f->state->meta.oldest_seq = 4;
    send_watch(dealer, 1, 1, 10);
    fake_rpc_turn(f);
    r = receive_watch(f, dealer);
    assert_int_equal(r->header->code, ERR_OUT_OF_RANGE);
    assert_int_equal(r->oldest_seq, 4);
    drop(r);
    send_watch(dealer, 2, 1000000, 10); /* of a store that had more */
    fake_rpc_turn(f);
    r = receive_watch(f, dealer);
    assert_int_equal(r->header->code, ERR_OUT_OF_RANGE);
    drop(r);
    (void)zmq_close(dealer);
}

static void a_fifth_watch_of_a_peer_is_refused(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->ipc);

    for (uint8_t i = 1; i <= RPC_PEER_WATCHES_MAX + 1; i++) {
        send_watch(dealer, i, 0, 10);
        fake_rpc_turn(f);
        assert_int_equal(code_of(f, dealer), i <= RPC_PEER_WATCHES_MAX ? ERR_OK : ERR_EXHAUSTED);
    }
    (void)zmq_close(dealer);
}

static void a_watcher_gets_only_events_that_they_may_see(void **state)
{
    struct fake_rpc *f = *state;
    void *dealer = fake_rpc_connect(f, f->tcp); /* alice: vision */
    watch_reply *r;
    unsigned events = 0;

    (void)fake_rpc_job(f, "other", "secret", 4242);
    (void)fake_rpc_job(f, "vision", "seen", 4242);
    (void)fake_rpc_job(f, "vision/inner", "seen", 4242);
    send_watch(dealer, 1, 0, 100);
    fake_rpc_turn(f);
    (void)fake_rpc_job(f, "other", "secret", 4242);
    fake_rpc_turn(f);
    for (r = receive_watch(f, dealer); r; r = receive_watch(f, dealer)) {
        for (size_t i = 0; i < r->n_events; i++, events++)
            assert_memory_equal(r->events[i]->tenant, "vision", 6);
        drop(r);
    }
    assert_true(events >= 2);
    (void)zmq_close(dealer);
}

/* ---- endpoints */

static void a_socket_is_taken_once_and_has_mode_0660(void **state)
{
    struct fake_rpc *f = *state;
    struct rpc_setup setup = fake_rpc_setup(f);
    struct rpc_server *second = NULL;
    struct err err;
    struct stat st;

    assert_int_equal(stat(f->ipc + strlen("ipc://"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    setup.n_endpoints = 1;
    assert_int_equal(rpc_server_create(&second, &setup, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, f->ipc));
    assert_null(second);
    setup.endpoints[0] = f->tcp;
    assert_int_equal(rpc_server_create(&second, &setup, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, f->tcp));
}

static void endpoints_that_tell_no_uid_are_refused(void **state)
{
    static const struct {
        const char *endpoint, *user;
    } rows[] = {
        {"tcp://127.0.0.1:7000", ""},     {"tcp://0.0.0.0:7000", "alice"},
        {"tcp://*:7000", "alice"},        {"tcp://127.0.0.1:0", "alice"},
        {"tcp://10.0.0.1:7000", "alice"}, {"tcp://127.0.0.1:7000x", "alice"},
        {"ipc://@abstract", "alice"},     {"ipc://relative", "alice"},
        {"inproc://x", "alice"},          {"", "alice"},
    };
    struct fake_rpc *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rpc_setup setup = fake_rpc_setup(f);
        struct rpc_server *r = NULL;
        struct err err;

        setup.n_endpoints = 1;
        setup.endpoints[0] = rows[i].endpoint;
        setup.loopback_user = rows[i].user;
        assert_int_equal(rpc_server_create(&r, &setup, &err), -1);
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static void a_stale_socket_is_replaced_and_a_file_is_not(void **state)
{
    struct fake_rpc *f = *state;
    struct rpc_setup setup = fake_rpc_setup(f);
    struct rpc_server *r = NULL;
    struct err err;
    char path[64], lock[72], endpoint[80];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/file", f->dir);
    (void)snprintf(lock, sizeof(lock), "%s.lock", path);
    (void)snprintf(endpoint, sizeof(endpoint), "ipc://%s", path);
    setup.n_endpoints = 1;
    setup.endpoints[0] = endpoint;
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(rpc_server_create(&r, &setup, &err), -1);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0); /* not followed either */
    assert_int_equal(rpc_server_create(&r, &setup, &err), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(lock), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_rpc_set_up, fake_rpc_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_submission_is_answered_after_the_commit),
        TEST(a_failed_commit_answers_nobody),
        TEST(a_retry_and_a_known_key_get_the_same_job),
        TEST(what_is_wrong_is_said_with_the_path),
        TEST(hostile_bytes_are_refused_and_the_server_goes_on),
        TEST(an_answer_that_is_too_large_is_an_error),
        TEST(too_many_unanswered_changes_of_a_peer_are_refused),
        TEST(lists_come_in_pages_and_a_token_fits_one_filter),
        TEST(an_old_token_with_another_filter_is_refused),
        TEST(a_watch_replays_then_follows_without_gap),
        TEST(a_watch_sends_no_more_than_its_credit),
        TEST(an_idle_watch_says_every_ten_seconds_how_far_it_is),
        TEST(events_that_are_not_kept_are_out_of_range),
        TEST(a_fifth_watch_of_a_peer_is_refused),
        TEST(a_watcher_gets_only_events_that_they_may_see),
        TEST(a_socket_is_taken_once_and_has_mode_0660),
        TEST(endpoints_that_tell_no_uid_are_refused),
        TEST(a_stale_socket_is_replaced_and_a_file_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
