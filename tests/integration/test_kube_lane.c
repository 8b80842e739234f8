/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_lane.c - which connections are used again after one of them broke, against the
 * stand-in that cuts, is silent or ends a watch. */
#include "kube_world.h"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { CONNECTIONS_MAX = 16 };

struct rig {
    struct world *world;
    struct kube_config config;
    struct kube_http *http;
    unsigned n_done;
    bool is_wanted; /* what the watch sends */
    int status;
    char trouble[128];
};

/* Our own ends of the connections to the server, by port. */
struct ports {
    size_t n;
    unsigned v[CONNECTIONS_MAX];
};

static unsigned port_of(int fd, unsigned server)
{
    struct sockaddr_in to = {0}, from = {0};
    socklen_t to_len = sizeof(to), from_len = sizeof(from);

    if (getpeername(fd, (struct sockaddr *)&to, &to_len) || to.sin_family != AF_INET ||
        ntohs(to.sin_port) != server || getsockname(fd, (struct sockaddr *)&from, &from_len))
        return 0;
    return ntohs(from.sin_port);
}

static struct ports ports_now(const struct rig *r)
{
    struct ports ret = {0};
    DIR *fds = opendir("/proc/self/fd");
    const struct dirent *e;

    assert_non_null(fds);
    for (e = readdir(fds); e; e = readdir(fds)) {
        unsigned port = port_of(atoi(e->d_name), r->world->port);

        assert_true(ret.n < CONNECTIONS_MAX);
        if (port)
            ret.v[ret.n++] = port;
    }
    (void)closedir(fds);
    return ret;
}

static bool has_port(const struct ports *p, unsigned port)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i] == port)
            return true;
    return false;
}

static void on_done(void *ctx, const struct http_answer *a)
{
    struct rig *r = ctx;

    r->n_done++;
    r->status = a->status;
    (void)str_copy(r->trouble, sizeof(r->trouble), a->trouble);
}

static bool on_data(void *ctx, const char *p, size_t len)
{
    (void)p;
    (void)len;
    return ((struct rig *)ctx)->is_wanted;
}

static struct rig *rig_create(const char *rules)
{
    struct rig *r = xcalloc(1, sizeof(*r));

    r->world = world_create();
    r->is_wanted = true;
    server_start(r->world, (const char *const[]){"--make-nodes", "2", NULL});
    faults(r->world, rules);
    r->config.server = xasprintf("http://127.0.0.1:%u", r->world->port);
    assert_int_equal(http_create(&r->http, &r->config, NULL), 0);
    return r;
}

static void rig_destroy(struct rig *r)
{
    http_destroy(r->http);
    kube_config_fini(&r->config);
    world_destroy(r->world);
    free(r);
}

static void until_done(struct rig *r, unsigned n)
{
    usec_t end = http_now() + WAIT_S * USEC_PER_SEC;

    while (r->n_done < n && http_now() < end) {
        struct pollfd p = {.fd = http_fd(r->http), .events = POLLIN};
        usec_t wait = http_wake(r->http) - http_now();

        if (wait > 100 * USEC_PER_MSEC)
            wait = 100 * USEC_PER_MSEC;
        (void)poll(&p, 1, wait > 0 ? (int)((wait + 999) / 1000) : 0);
        http_ready(r->http);
    }
    assert_int_equal(r->n_done, n);
}

static void call(struct rig *r, enum http_class kind, const char *path, usec_t timeout_us)
{
    struct http_order order = {.kind = kind,
                               .method = "GET",
                               .path = path,
                               .timeout_us = timeout_us,
                               .done = on_done,
                               .ctx = r};

    (void)http_send(r->http, &order);
    until_done(r, r->n_done + 1);
}

/* The port that a call has left behind, idle. */
static unsigned idle_port(struct rig *r)
{
    struct ports p;

    call(r, HTTP_READ, "/api/v1/namespaces/kube-system", 0);
    assert_int_equal(r->status, 200);
    p = ports_now(r);
    assert_int_equal(p.n, 1);
    return p.v[0];
}

static void watch(struct rig *r)
{
    struct http_order order = {.kind = HTTP_WATCH,
                               .method = "GET",
                               .path = "/api/v1/nodes?watch=1&timeoutSeconds=1",
                               .data = on_data,
                               .done = on_done,
                               .ctx = r};

    (void)http_send(r->http, &order);
    until_done(r, r->n_done + 1);
}

/* Does the next call go on that connection? */
static bool is_used_again(struct rig *r, unsigned port)
{
    struct ports p;

    call(r, HTTP_READ, "/api/v1/namespaces/kube-system", 0);
    assert_int_equal(r->status, 200);
    p = ports_now(r);
    return has_port(&p, port);
}

static void a_watch_that_is_cut_takes_the_idle_connections_with_it(void **state)
{
    struct rig *r = rig_create("[{\"action\":\"cut\",\"verb\":\"watch\",\"bytes\":60}]");
    unsigned port = idle_port(r);

    (void)state;
    watch(r);
    assert_string_not_equal(r->trouble, "");
    assert_false(is_used_again(r, port));
    rig_destroy(r);
}

static void a_lost_answer_does_the_same_to_the_other_lanes(void **state)
{
    struct rig *r = rig_create("[{\"action\":\"lose\",\"verb\":\"list\"}]");
    unsigned port = idle_port(r);
    (void)state;
    call(r, HTTP_EVENT, "/api/v1/nodes?limit=1", 0);
    assert_int_equal(r->status, 0);
    assert_false(is_used_again(r, port));
    rig_destroy(r);
}

static void a_call_that_got_no_answer_in_time_leaves_none_to_be_trusted(void **state)
{
    struct rig *r = rig_create("[{\"action\":\"delay\",\"verb\":\"list\",\"ms\":20000}]");
    unsigned port = idle_port(r);

    (void)state;
    call(r, HTTP_EVENT, "/api/v1/nodes?limit=1", 200 * USEC_PER_MSEC);
    assert_int_equal(r->status, 0);
    assert_false(is_used_again(r, port));
    rig_destroy(r);
}

static void a_lane_in_use_keeps_its_connection_until_it_is_idle(void **state)
{
    struct rig *r =
        rig_create("[{\"action\":\"cut\",\"verb\":\"watch\",\"bytes\":60},"
                   "{\"action\":\"delay\",\"verb\":\"list\",\"resource\":\"pods\",\"ms\":800}]");
    unsigned port = idle_port(r);
    struct http_order order = {
        .kind = HTTP_READ, .method = "GET", .path = "/api/v1/pods", .done = on_done, .ctx = r};

    (void)state;
    (void)http_send(r->http, &order); /* on the call's connection */
    watch(r);
    assert_string_not_equal(r->trouble, "");
    until_done(r, 3);
    assert_int_equal(r->status, 200);
    assert_string_equal(r->trouble, "");
    assert_false(is_used_again(r, port));
    rig_destroy(r);
}

static void a_watch_that_ends_by_itself_takes_nothing_with_it(void **state)
{
    struct rig *r = rig_create(NULL);
    unsigned port = idle_port(r);

    (void)state;
    watch(r);
    assert_string_equal(r->trouble, "");
    assert_true(is_used_again(r, port));
    rig_destroy(r);
}

static void a_watch_that_we_break_off_takes_nothing_with_it(void **state)
{
    struct rig *r = rig_create(NULL);
    unsigned port = idle_port(r);

    (void)state;
    r->is_wanted = false;
    watch(r);
    assert_true(is_used_again(r, port));
    rig_destroy(r);
}

static void a_connection_that_cannot_be_made_takes_nothing_with_it(void **state)
{
    struct rig *r = rig_create(NULL);
    unsigned port = idle_port(r);
    char *server = r->config.server;

    (void)state;
    r->config.server = xstrdup("http://127.0.0.1:1");
    watch(r);
    assert_string_equal(r->trouble, "connection refused");
    free(r->config.server);
    r->config.server = server;
    assert_true(is_used_again(r, port));
    rig_destroy(r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_that_is_cut_takes_the_idle_connections_with_it),
        cmocka_unit_test(a_lost_answer_does_the_same_to_the_other_lanes),
        cmocka_unit_test(a_call_that_got_no_answer_in_time_leaves_none_to_be_trusted),
        cmocka_unit_test(a_lane_in_use_keeps_its_connection_until_it_is_idle),
        cmocka_unit_test(a_watch_that_ends_by_itself_takes_nothing_with_it),
        cmocka_unit_test(a_watch_that_we_break_off_takes_nothing_with_it),
        cmocka_unit_test(a_connection_that_cannot_be_made_takes_nothing_with_it),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
