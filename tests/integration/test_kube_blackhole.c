/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_blackhole.c - a network that swallows everything, and a server that is alive and
 * silent; name servers that do not answer.
 *
 * The network is one of our own, which goes down and comes back; that needs the right to make one.
 * kube_world.h has the stand-in and the adapter against it.
 */
#include "kube_world.h"

#include <dirent.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { DEAD_PEER_S = 60 }; /* at most; about 35 s are expected */
enum { DEAD_NAMES_S = 3 };

static void cordon(struct world *w, const char *node, bool on)
{
    char *body = xasprintf("{\"name\":\"%s\",\"cordon\":%s}", node, on ? "true" : "false");

    cJSON_Delete(ask(w, "POST", "/_standin/node", body));
    free(body);
}

static bool shows(const struct world *w, const char *node, bool cordoned)
{
    return !strcmp(w->last_node, node) && w->last_node_cordoned == cordoned;
}

/* ---- the options of the sockets */

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    return getsockopt(fd, level, name, &value, &len) ? -1 : value;
}

/* Is this the adapter's end of a connection to the server? */
static bool is_to_server(int fd, unsigned port)
{
    struct sockaddr_in to;
    socklen_t len = sizeof(to);

    return !getpeername(fd, (struct sockaddr *)&to, &len) && to.sin_family == AF_INET &&
           ntohs(to.sin_port) == port;
}

static void every_connection_notices_a_dead_peer_in_half_a_minute(void **state)
{
    struct world *w = world_ready(NULL);
    DIR *fds = opendir("/proc/self/fd");
    const struct dirent *e;
    unsigned n = 0;

    (void)state;
    world_run(w, 100 * USEC_PER_MSEC);
    assert_non_null(fds);
    for (e = readdir(fds); e; e = readdir(fds)) {
        int fd = atoi(e->d_name);

        if (!is_to_server(fd, w->port))
            continue;
        n++;
        assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 20);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
        assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
    }
    (void)closedir(fds);
    assert_in_range(n, 2, 8); /* two watches at least */
    world_destroy(w);
}

/* ---- dead name servers: the library's own question, in a thread that nobody can end */

static atomic_uint n_asked;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    (void)name;
    (void)service;
    (void)hints;
    (void)ret;
    (void)atomic_fetch_add(&n_asked, 1);
    (void)sleep(DEAD_NAMES_S);
    return EAI_AGAIN;
}

static void on_unanswered(void *ctx, const struct http_answer *a)
{
    assert_int_equal(a->status, 0);
    *(bool *)ctx = true;
}

static void the_end_of_a_request_does_not_wait_for_name_servers(void **state)
{
    struct kube_config config = {.server = xstrdup("http://api.example")};
    struct kube_http *h = NULL;
    bool is_done = false, is_late = false;
    struct http_order order = {.kind = HTTP_READ,
                               .method = "GET",
                               .path = "/",
                               .timeout_us = 200 * USEC_PER_MSEC,
                               .done = on_unanswered,
                               .ctx = &is_done};
    usec_t begun = http_now();
    struct http_request *dropped;

    (void)state;
    assert_int_equal(http_create(&h, &config, NULL), 0);
    (void)http_send(h, &order);
    order.timeout_us = 0;
    order.ctx = &is_late;
    dropped = http_send(h, &order);
    while (!is_done || atomic_load(&n_asked) < 2) {
        struct pollfd p = {.fd = http_fd(h), .events = POLLIN};

        (void)poll(&p, 1, 20);
        http_ready(h);
    }
    assert_false(is_late);
    http_drop(h, dropped);
    assert_true(http_now() - begun < (DEAD_NAMES_S - 1) * USEC_PER_SEC);
    http_destroy(h);
    kube_config_fini(&config);
}

/* ---- a dead network */

static bool set_network(bool is_up)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = is_up ? IFF_UP : 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &lo);

    if (fd >= 0)
        (void)close(fd);
    return ok;
}

static void a_network_that_swallows_all_is_noticed_and_watches_resume(void **state)
{
    struct world *w;
    usec_t begun;

    (void)state;
    if (unshare(CLONE_NEWNET) || !set_network(true)) {
        printf("SKIPPED: a network that swallows all: no right to make one\n");
        skip();
    }
    w = world_ready(NULL);
    world_run(w, 200 * USEC_PER_MSEC);
    assert_int_equal(w->is_up, 1);
    assert_true(set_network(false));
    begun = http_now();
    while (w->is_up && http_now() - begun < DEAD_PEER_S * USEC_PER_SEC)
        world_turn(w);
    assert_int_equal(w->is_up, 0);
    assert_true(set_network(true));
    world_until(w, w->is_up == 1);
    cordon(w, "node-003", true);
    world_until(w, shows(w, "node-003", true));
    world_destroy(w);
}

/* ---- a server that is stopped: its kernel answers, it does not */

static void a_server_that_is_stopped_is_asked_again_after_the_guard(void **state)
{
    static const struct kube_times times = {.watch = {.timeout_min_us = USEC_PER_SEC,
                                                      .timeout_max_us = USEC_PER_SEC,
                                                      .guard_us = 500 * USEC_PER_MSEC},
                                            .backoff_base_us = 50 * USEC_PER_MSEC};
    struct world *w = world_ready(&times);
    int before = stat_of(w, "requests.watch.nodes");

    (void)state;
    assert_int_equal(kill(w->server, SIGSTOP), 0);
    world_run(w, 2 * USEC_PER_SEC); /* the guard is over: the watches are given up */
    assert_int_equal(kill(w->server, SIGCONT), 0);
    cordon(w, "node-004", true);
    world_until(w, shows(w, "node-004", true));
    assert_true(stat_of(w, "requests.watch.nodes") > before);
    world_destroy(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_request_does_not_wait_for_name_servers),
        cmocka_unit_test(every_connection_notices_a_dead_peer_in_half_a_minute),
        cmocka_unit_test(a_server_that_is_stopped_is_asked_again_after_the_guard),
        /* the last one: the process stays in that network */
        cmocka_unit_test(a_network_that_swallows_all_is_noticed_and_watches_resume),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
