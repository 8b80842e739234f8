/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_again.c - requests whose credentials are refused, against the stand-in that says 401:
 * sent once more, kept at the gate, or answered with the reason. */
#include "kube_world.h"

enum { REFUSALS_MAX = 8 };

struct rig {
    struct world *world;
    struct kube_config config;
    struct kube_http *http;
    /* what refused() does, and what it heard */
    bool is_newer;
    enum http_gate gate;
    unsigned n_refused;
    uint64_t generations[REFUSALS_MAX];
    /* the answers */
    unsigned n_done, n_good;
    int status;
    char trouble[128];
};

static bool on_refused(void *ctx, uint64_t generation)
{
    struct rig *r = ctx;

    if (r->n_refused < REFUSALS_MAX)
        r->generations[r->n_refused] = generation;
    r->n_refused++;
    if (r->is_newer && r->config.generation == generation)
        r->config.generation++;
    http_set_gate(r->http, r->gate, "");
    return r->is_newer;
}

static void on_done(void *ctx, const struct http_answer *a)
{
    struct rig *r = ctx;

    r->n_done++;
    r->n_good += a->status == 200;
    r->status = a->status;
    (void)str_copy(r->trouble, sizeof(r->trouble), a->trouble);
    assert_true(a->status || !a->was_sent);
    if (a->status == 200)
        assert_null(strstr(a->body, "Status")); /* nothing of the refusal before it */
}

static struct rig *rig_create(const char *rules)
{
    struct rig *r = xcalloc(1, sizeof(*r));

    r->world = world_create();
    server_start(r->world, NULL);
    faults(r->world, rules);
    r->config.server = xasprintf("http://127.0.0.1:%u", r->world->port);
    assert_int_equal(http_create(&r->http, &r->config, NULL), 0);
    http_set_refused(r->http, r, on_refused);
    return r;
}

static void rig_destroy(struct rig *r)
{
    http_destroy(r->http);
    kube_config_fini(&r->config);
    world_destroy(r->world);
    free(r);
}

static void ask_for(struct rig *r, enum http_class kind)
{
    struct http_order order = {.kind = kind,
                               .method = "GET",
                               .path = "/api/v1/namespaces/kube-system",
                               .done = on_done,
                               .ctx = r};

    (void)http_send(r->http, &order);
}

static void turn(struct rig *r, int most_ms)
{
    struct pollfd p = {.fd = http_fd(r->http), .events = POLLIN};
    usec_t wait = http_wake(r->http) - http_now();

    if (wait > most_ms * USEC_PER_MSEC)
        wait = most_ms * USEC_PER_MSEC;
    (void)poll(&p, 1, wait > 0 ? (int)((wait + 999) / 1000) : 0);
    http_ready(r->http);
}

static void until_done(struct rig *r, unsigned n)
{
    usec_t end = http_now() + WAIT_S * USEC_PER_SEC;

    while (r->n_done < n && http_now() < end)
        turn(r, 100);
    assert_int_equal(r->n_done, n);
}

#define REFUSE(n) "[{\"action\":\"status\",\"verb\":\"get\",\"code\":401,\"count\":" #n "}]"

static void a_refused_request_is_sent_again_with_what_is_newer(void **state)
{
    struct rig *r = rig_create(REFUSE(1));

    (void)state;
    r->is_newer = true;
    ask_for(r, HTTP_READ);
    until_done(r, 1);
    assert_int_equal(r->status, 200);
    assert_int_equal(r->n_refused, 1);
    rig_destroy(r);
}

static void it_is_sent_again_once_only(void **state)
{
    struct rig *r = rig_create(REFUSE(2));

    (void)state;
    r->is_newer = true;
    ask_for(r, HTTP_READ);
    until_done(r, 1);
    assert_int_equal(r->status, 401);
    assert_int_equal(r->n_refused, 1);
    rig_destroy(r);
}

static void where_nothing_is_newer_the_refusal_is_the_answer(void **state)
{
    struct rig *r = rig_create(REFUSE(1));

    (void)state;
    ask_for(r, HTTP_READ);
    until_done(r, 1);
    assert_int_equal(r->status, 401);
    assert_int_equal(r->n_refused, 1);
    rig_destroy(r);
}

static void all_that_flew_with_the_old_ones_come_back_good(void **state)
{
    struct rig *r = rig_create(REFUSE(6));

    (void)state;
    r->is_newer = true;
    for (int i = 0; i < 6; i++)
        ask_for(r, i % 2 ? HTTP_READ : HTTP_CREATE);
    until_done(r, 6);
    assert_int_equal(r->n_good, 6);
    assert_int_equal(r->n_refused, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(r->generations[i], 0);
    rig_destroy(r);
}

static void requests_wait_at_the_gate_without_a_turn_of_the_loop(void **state)
{
    struct rig *r = rig_create(REFUSE(1));

    (void)state;
    r->is_newer = true;
    r->gate = HTTP_GATE_WAIT;
    ask_for(r, HTTP_READ);
    while (!r->n_refused)
        turn(r, 100);
    ask_for(r, HTTP_CREATE);
    ask_for(r, HTTP_EVENT);
    ask_for(r, HTTP_WATCH);
    for (int i = 0; i < 5; i++)
        turn(r, 1);
    assert_int_equal(r->n_done, 0);
    assert_true(http_wake(r->http) > http_now());
    http_set_gate(r->http, HTTP_GATE_OPEN, "");
    assert_true(http_wake(r->http) <= http_now());
    until_done(r, 4);
    assert_int_equal(r->n_good, 4);
    rig_destroy(r);
}

static void a_shut_gate_answers_with_its_reason(void **state)
{
    struct rig *r = rig_create(NULL);

    (void)state;
    http_set_gate(r->http, HTTP_GATE_SHUT, "the plugin is ill");
    ask_for(r, HTTP_WATCH);
    ask_for(r, HTTP_CREATE);
    ask_for(r, HTTP_EVENT);
    until_done(r, 3);
    assert_int_equal(r->status, 0);
    assert_string_equal(r->trouble, "the plugin is ill");
    assert_int_equal(stat_of(r->world, "requests.get.namespaces"), -1);
    http_set_gate(r->http, HTTP_GATE_OPEN, "");
    ask_for(r, HTTP_READ);
    until_done(r, 4);
    assert_int_equal(r->status, 200);
    rig_destroy(r);
}

static void one_that_waits_to_be_sent_again_can_be_dropped(void **state)
{
    struct rig *r = rig_create(REFUSE(1));
    struct http_order order = {.kind = HTTP_READ,
                               .method = "GET",
                               .path = "/api/v1/namespaces/kube-system",
                               .done = on_done,
                               .ctx = r};
    struct http_request *req = http_send(r->http, &order);

    (void)state;
    r->is_newer = true;
    r->gate = HTTP_GATE_WAIT;
    while (!r->n_refused)
        turn(r, 100);
    http_drop(r->http, req);
    http_set_gate(r->http, HTTP_GATE_OPEN, "");
    for (int i = 0; i < 5; i++)
        turn(r, 5);
    assert_int_equal(r->n_done, 0);
    rig_destroy(r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_request_is_sent_again_with_what_is_newer),
        cmocka_unit_test(it_is_sent_again_once_only),
        cmocka_unit_test(where_nothing_is_newer_the_refusal_is_the_answer),
        cmocka_unit_test(all_that_flew_with_the_old_ones_come_back_good),
        cmocka_unit_test(requests_wait_at_the_gate_without_a_turn_of_the_loop),
        cmocka_unit_test(a_shut_gate_answers_with_its_reason),
        cmocka_unit_test(one_that_waits_to_be_sent_again_can_be_dropped),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
