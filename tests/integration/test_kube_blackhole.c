/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_blackhole.c - a network that swallows everything, and a server that is alive and
 * silent.
 *
 * The network is one of our own, which goes down and comes back; that needs the right to make one.
 * kube_world.h has the stand-in and the adapter against it.
 */
#include "kube_world.h"

#include <dirent.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { DEAD_PEER_S = 60 }; /* at most; about 35 s are expected */

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
        cmocka_unit_test(every_connection_notices_a_dead_peer_in_half_a_minute),
        cmocka_unit_test(a_server_that_is_stopped_is_asked_again_after_the_guard),
        /* the last one: the process stays in that network */
        cmocka_unit_test(a_network_that_swallows_all_is_noticed_and_watches_resume),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
