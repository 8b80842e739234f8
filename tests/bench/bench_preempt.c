/* SPDX-License-Identifier: Apache-2.0 */
/* bench_preempt.c - processor time of one preemption plan: 2,000 GPUs on a full cluster.
 *
 * `bench_preempt [-o json] [NODES]` (10,000 nodes of 8 GPUs by default). Gangs of low priority fill
 * the cluster: of 1 to 16 whole nodes, or of a single GPU; the taker wants 250 whole nodes,
 * anywhere or inside one block of 400. Goal: 20 ms. With single GPUs a fifth of the nodes: 16,000
 * gangs, of which 2,000 must leave; that is no goal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/preempt.h"
#include "../fake/fake_core.h"

enum { TAKER_PODS = 250, RACK = 20, BLOCK = 400, ROUNDS = 15, GOAL_MS = 20 };

static const struct mix {
    const char *name;
    uint32_t most_pods, gpus, part; /* of the nodes: 1/part */
    const char *required;
} mixes[] = {
    {"whole nodes, anywhere", 16, 8, 1, NULL},
    {"whole nodes, one block", 16, 8, 1, "block"},
    {"single GPUs, one block", 1, 1, 5, "block"},
};

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* a plan never waits */
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct job *submit(struct core *c, uint32_t pods, uint32_t gpus, const char *required)
{
    struct spec *s = site_spec("job", pods, gpus);
    struct job *j;

    s->priority = required || pods == TAKER_PODS ? 800 : 100;
    s->max_runtime_us = 1000 * 3600 * USEC_PER_SEC;
    s->topology_required = required;
    j = core_job(c, core_submit(c, s));
    core_forget(c);
    return j;
}

static void fill(struct core *c, const struct mix *m, uint32_t nodes)
{
    uint64_t left = (uint64_t)nodes * 8;

    for (uint32_t i = 0; left > 0; i++) {
        uint32_t pods = 1 + (i * 7 + i / 16) % m->most_pods;
        struct job *j;

        if ((uint64_t)pods * m->gpus > left)
            pods = 1;
        j = submit(c, pods, m->gpus, NULL);
        (void)core_cycle(c);
        core_see_all(c, j->id, POD_RUNNING);
        core_forget(c);
        left -= (uint64_t)pods * m->gpus;
        if (i % 64 == 0)
            core_pass(c, 1 * USEC_PER_SEC);
    }
    core_pass(c, 3600 * USEC_PER_SEC);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Median and the worst, in nanoseconds; victims of the plan. */
static uint32_t measure(struct core *c, struct job *taker, uint64_t *ret_median, uint64_t *ret_most)
{
    uint64_t ns[ROUNDS];
    uint32_t victims = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t begun = now_ns();
        struct event ev;
        bool is_planned = preempt_plan(c->state, taker, c->now, &ev);

        ns[i] = now_ns() - begun;
        victims = is_planned ? ev.u.claimed.n_victims : 0;
        event_fini(&ev);
    }
    qsort(ns, ROUNDS, sizeof(ns[0]), by_number);
    *ret_median = ns[ROUNDS / 2];
    *ret_most = ns[ROUNDS - 1];
    return victims;
}

static bool run(const struct mix *m, uint32_t nodes, bool is_json, bool is_first)
{
    struct core c;
    struct job *taker;
    uint64_t median, most;
    uint32_t victims;

    core_init(&c);
    for (uint32_t i = 0; i < nodes; i++) {
        char name[16], rack[16], block[16];

        (void)snprintf(name, sizeof(name), "n%05u", (unsigned)i);
        (void)snprintf(rack, sizeof(rack), "r%u", (unsigned)(i % BLOCK / RACK));
        (void)snprintf(block, sizeof(block), "b%u", (unsigned)(i / BLOCK));
        core_node(&c, site_node(name, block, rack, SITE_H100, 8));
    }
    core_up(&c);
    fill(&c, m, nodes);
    taker = submit(&c, TAKER_PODS, 8, m->required);
    victims = measure(&c, taker, &median, &most);
    if (is_json)
        printf("%s{\"mix\": \"%s\", \"nodes\": %u, \"gangs\": %zu, \"victims\": %u, "
               "\"median_us\": %llu, \"most_us\": %llu}",
               is_first ? "" : ",\n ", m->name, (unsigned)nodes, c.state->active.n,
               (unsigned)victims, (unsigned long long)(median / 1000),
               (unsigned long long)(most / 1000));
    else
        printf("%-24s %8u %8zu %8u %10.2f %10.2f%s\n", m->name, (unsigned)nodes, c.state->active.n,
               (unsigned)victims, (double)median / 1e6, (double)most / 1e6,
               median > GOAL_MS * 1000000ULL ? "  above the goal" : "");
    core_fini(&c);
    return victims > 0;
}

int main(int argc, char **argv)
{
    bool is_json = argc > 2 && strcmp(argv[1], "-o") == 0, all = true;
    int at = is_json ? 3 : 1;
    uint32_t nodes = argc > at ? (uint32_t)strtoul(argv[at], NULL, 10) : 10000;

    if (nodes < 5 * BLOCK) {
        (void)fprintf(stderr, "usage: bench_preempt [-o json] [NODES], at least %d\n", 5 * BLOCK);
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (is_json)
        printf("[");
    else
        printf("%-24s %8s %8s %8s %10s %10s\n", "running gangs, taker", "nodes", "gangs", "victims",
               "median ms", "most ms");
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
        all &= run(&mixes[i], nodes / mixes[i].part, is_json, i == 0);
    if (is_json)
        printf("]\n");
    return all ? 0 : 1;
}
