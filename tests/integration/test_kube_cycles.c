/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_cycles.c - the adapter is started and stopped a thousand times, at any moment of its
 * lists, watches and writes; nothing may stay allocated or open. Under the leak sanitizer this
 * counts every byte; without it, descriptors and the size of the heap.
 */
#include "kube_world.h"

#include <dirent.h>
#include <malloc.h>

enum { CYCLES = 1000, WARM_UP = 100, HEAP_SLACK = 64 * 1024 };

static unsigned open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

/* A turn that does not wait for long: the moment of the end is what counts here. */
static void quick_turn(struct world *w)
{
    struct pollfd p = {.fd = kube_fd(w->kube), .events = POLLIN};
    struct event ev;

    (void)poll(&p, 1, 1);
    kube_ready(w->kube, http_now());
    while (inbox_pop(w->inbox, &ev))
        event_fini(&ev);
}

/* The turns differ, so that the end meets each step: connecting, listing, watching, binding. */
static void cycle(struct world *w, unsigned number)
{
    struct team *t = team_create(900 + number % 7, NULL);

    adapter_start(w, NULL);
    for (unsigned turn = 0; turn < number % 13; turn++)
        quick_turn(w);
    if (number % 3 == 0)
        start(w, t);
    for (unsigned turn = 0; turn < number % 5; turn++)
        quick_turn(w);
    if (number % 6 == 0)
        stop(w, t);
    adapter_stop(w);
    team_destroy(t);
}

static void a_thousand_starts_and_stops_leave_nothing_behind(void **state)
{
    static const char *const options[] = {"--make-nodes", "8", "--namespaces", "team", NULL};
    struct world *w = world_create();
    unsigned descriptors = 0;
    size_t heap = 0;

    (void)state;
    server_start(w, options);
    for (unsigned i = 0; i < CYCLES; i++) {
        if (i == WARM_UP) {
            descriptors = open_descriptors();
            heap = mallinfo2().uordblks;
        }
        cycle(w, i);
    }
    assert_int_equal(open_descriptors(), descriptors);
    assert_in_range(mallinfo2().uordblks, 0, heap + HEAP_SLACK);
    world_destroy(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_starts_and_stops_leave_nothing_behind),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
