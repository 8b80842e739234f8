/* SPDX-License-Identifier: Apache-2.0 */
/* bench_cycle.c - what a decision costs: the core alone, with a full cluster and a long queue,
 * beside the bare loop of bare_loop.h.
 *
 * usage: bench_cycle [-o json] [--nodes N] [--pending N] [--load PERCENT] [--signatures N]
 *                    [--decisions N] [--seed N] [--only decide|place|ended|verdict]
 * Hosts of 8 GPUs, 50 tenants; of the seed (1) is which gangs wait, for whom, and which end.
 * "decision" is cycle_next() with state_apply() of what it found; the load is kept by ending
 * running gangs, the queue by submitting one for each that starts. "ended": one gang ends, then
 * decisions until there are none. "verdict": a gang that cannot start is asked for; "place":
 * place_gang() alone. Each line is a process of its own, for its memory, and each part of it ends
 * after PART_SECS of processor time. Without options: the table of README.md. Ends with 1 when a
 * goal is missed.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../fake/bare_loop.h"
#include "../fake/bench_site.h"
#include "../fake/fake_core.h"
#include "core/cycle.h"
#include "core/place.h"
#include "life/state_apply.h"
#include "util/mem.h"

enum { PART_SECS = 10, ENDED_ROUNDS = 300, VERDICTS = 300, RUNS_MAX = 200000, PODS_MAX = 128 };
enum { GOAL_MEAN_NS = 15000, GOAL_P99_NS = 100000, GOAL_VERDICT_NS = 20000, GOAL_KB = 200 * 1024 };

enum part { PART_DECIDE = 1, PART_ENDED = 2, PART_VERDICT = 4, PART_PLACE = 8, PART_ALL = 15 };

struct options {
    uint32_t nodes, pending, load, signatures, decisions, seed;
    unsigned parts;
    bool is_json;
};

struct timing {
    uint64_t mean, p50, p99, p999; /* ns */
};

struct result {
    struct timing decision, bare, ended, verdict, place;
    uint64_t resident_kb, n_decisions, n_evaluations, full_ppm;
};

struct bench {
    const struct options *o;
    struct core core;
    uint64_t rng;
    uint32_t n_submitted;
    uint64_t gpus, used;
    struct job_id *running;
    size_t n_running;
    VEC(uint64_t) times;
};

/* Processor time of this process: what else runs on the machine is not measured. */
static uint64_t now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* cannot fail for this clock */
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Since begun, without what asking the clock takes. */
static uint64_t passed_ns(uint64_t begun)
{
    static uint64_t clock_ns = UINT64_MAX;
    static bool is_known;
    uint64_t ns = now_ns() - begun;

    for (int i = 0; !is_known && i < 1000; i++) {
        uint64_t a = now_ns(), d = now_ns() - a;

        clock_ns = d < clock_ns ? d : clock_ns;
    }
    is_known = true;
    return ns > clock_ns ? ns - clock_ns : 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Of the times so far, which it forgets. */
static struct timing take_timing(struct bench *b)
{
    size_t n = b->times.n;
    struct timing s = {0};

    if (n == 0)
        return s;
    qsort(b->times.v, n, sizeof(b->times.v[0]), by_number);
    for (size_t i = 0; i < n; i++)
        s.mean += b->times.v[i];
    s.mean /= n;
    s.p50 = b->times.v[n / 2];
    s.p99 = b->times.v[n * 99 / 100];
    s.p999 = b->times.v[n * 999 / 1000];
    b->times.n = 0;
    return s;
}

static struct job *submit(struct bench *b, uint32_t signature)
{
    struct spec *s = bench_spec(signature);
    char name[24];
    struct answer a;

    (void)snprintf(name, sizeof(name), "job%u", (unsigned)b->n_submitted++);
    s->name = arena_strdup(&s->arena, name);
    s->tenant = b->core.settings.tenants[bench_draw(&b->rng, BENCH_TENANTS)].path;
    s->priority = 500;
    b->core.now += 1000;
    a = core_submit(&b->core, s);
    core_forget(&b->core);
    return core_job(&b->core, a);
}

static void submit_any(struct bench *b)
{
    (void)submit(b, bench_draw(&b->rng, b->o->signatures));
}

static void bench_init(struct bench *b, const struct options *o)
{
    struct core *c = &b->core;

    *b = (struct bench){.o = o, .rng = o->seed, .gpus = (uint64_t)o->nodes * 8};
    c->now = INT64_C(1790000000) * USEC_PER_SEC;
    site_settings_init(&c->settings);
    bench_tenants(&c->settings);
    c->state = state_create(&c->settings);
    b->running = xcalloc(RUNS_MAX, sizeof(*b->running));
    for (uint32_t i = 0; i < o->nodes; i++)
        core_node(c, bench_node(i));
    core_forget(c);
    for (uint32_t i = 0; i < o->pending; i++)
        submit_any(b);
    core_up(c);
}

static void bench_fini(struct bench *b)
{
    core_fini(&b->core);
    free(b->running);
    vec_fini(&b->times);
}

/* ---- what is measured */

/* One decision; false: there is none. Replaces the gang in the queue. */
static bool decide(struct bench *b, uint64_t *ns)
{
    struct core *c = &b->core;
    struct event ev;
    struct job *j;
    uint64_t begun;
    bool found;

    state_tick(c->state, c->now, &c->fx);
    c->state->turn_evaluations = 0;
    begun = now_ns();
    found = cycle_next(c->state, c->now, &ev);
    if (found)
        state_apply(c->state, &ev, &c->fx);
    *ns += passed_ns(begun);
    if (!found)
        return false;
    j = state_job(c->state, ev.u.placed.job);
    b->running[b->n_running++] = j->id;
    b->used += j->demand->gpus;
    event_fini(&ev);
    core_forget(c);
    return true;
}

static void end_one(struct bench *b)
{
    size_t at = bench_draw(&b->rng, (uint32_t)b->n_running);
    struct job_id id = b->running[at];

    b->used -= state_job(b->core.state, id)->demand->gpus;
    b->running[at] = b->running[--b->n_running];
    core_see_all(&b->core, id, POD_SUCCEEDED);
    core_service_gone(&b->core, id);
    core_forget(&b->core);
}

/* Start gangs up to the load, unmeasured. */
static void fill(struct bench *b)
{
    uint64_t ns;

    while (b->used * 100 < b->gpus * b->o->load && decide(b, &ns))
        submit_any(b);
}

static bool is_over(const struct bench *b, uint64_t begun)
{
    return b->times.n && passed_ns(begun) > PART_SECS * UINT64_C(1000000000);
}

static void measure_decisions(struct bench *b, struct result *r)
{
    uint64_t before = b->core.state->n_evaluations, begun = now_ns();

    while (r->n_decisions < b->o->decisions && !is_over(b, begun)) {
        uint64_t ns = 0;

        while (b->used * 100 > b->gpus * b->o->load)
            end_one(b);
        while (!decide(b, &ns)) {
            ns = 0;
            end_one(b);
        }
        *vec_push(&b->times) = ns;
        r->n_decisions++;
        submit_any(b);
    }
    r->n_evaluations = b->core.state->n_evaluations - before;
    r->decision = take_timing(b);
}

static uint32_t drain(struct bench *b, uint64_t *ns)
{
    uint32_t n = 0;

    while (decide(b, ns))
        n++;
    return n;
}

static void measure_ended(struct bench *b, struct result *r)
{
    uint64_t ns = 0, begun;

    (void)drain(b, &ns);
    begun = now_ns();
    for (int i = 0; i < ENDED_ROUNDS && !is_over(b, begun); i++) {
        ns = 0;
        end_one(b);
        (void)drain(b, &ns);
        *vec_push(&b->times) = ns;
    }
    r->ended = take_timing(b);
}

static void measure_verdicts(struct bench *b, struct result *r)
{
    uint64_t ns = 0, begun;

    (void)drain(b, &ns);
    begun = now_ns();
    r->full_ppm = b->used * 1000000 / b->gpus;
    for (uint32_t i = 0; i < VERDICTS && !is_over(b, begun); i++) {
        (void)submit(b, b->o->signatures + i);
        ns = 0;
        if (!decide(b, &ns))
            *vec_push(&b->times) = ns;
    }
    r->verdict = take_timing(b);
}

/* place_gang() alone: each signature onto the cluster as it is, nothing decided. */
static void measure_places(struct bench *b, struct result *r)
{
    struct state *st = b->core.state;

    for (uint32_t i = 0; i < b->o->signatures; i++) {
        struct spec *s = bench_spec(i);
        struct demand *d = demand_of(&st->cluster, &st->demands, s);
        uint8_t models[JOB_ROLES_MAX] = {SITE_H100};
        struct place_wish wish = {.demand = d, .models = models};

        for (int k = 0; k < 2; k++) { /* the first remembers what does not change */
            struct place_result p = {0};
            uint64_t begun = now_ns();

            (void)place_gang(&st->cluster, &wish, &p);
            begun = passed_ns(begun);
            if (k)
                *vec_push(&b->times) = begun;
            free(p.members);
        }
        demand_release(&st->cluster, &st->demands, d);
        spec_destroy(s);
    }
    r->place = take_timing(b);
}

struct bare_run {
    struct bare_part *parts;
    uint32_t n, gpus;
};

/* The same sizes at the same load through the bare loop. */
static void measure_bare(struct bench *b, struct result *r)
{
    struct bare_run *runs = xcalloc(RUNS_MAX, sizeof(*runs));
    struct bare_part parts[PODS_MAX];
    struct bare_loop bare;
    uint64_t used = 0;
    size_t n_runs = 0, placed = 0;

    bare_loop_init(&bare, b->o->nodes);
    while (placed < b->o->decisions) {
        struct spec *s = bench_spec(bench_draw(&b->rng, b->o->signatures));
        uint32_t pods = s->roles[0].replicas, gpus = s->roles[0].gpus, n;
        uint64_t begun, ns;

        spec_destroy(s);
        begun = now_ns();
        n = bare_loop_place(&bare, pods, gpus, parts);
        ns = passed_ns(begun);
        if (n) {
            runs[n_runs] = (struct bare_run){xmalloc(n * sizeof(*parts)), n, pods * gpus};
            memcpy(runs[n_runs++].parts, parts, n * sizeof(*parts));
            used += pods * gpus;
        }
        if (n && used * 100 > b->gpus * b->o->load) {
            *vec_push(&b->times) = ns;
            placed++;
        }
        while (n_runs && (!n || used * 100 > b->gpus * b->o->load)) {
            size_t at = bench_draw(&b->rng, (uint32_t)n_runs);

            bare_loop_release(&bare, runs[at].parts, runs[at].n);
            used -= runs[at].gpus;
            free(runs[at].parts);
            runs[at] = runs[--n_runs];
            n = 1;
        }
    }
    while (n_runs)
        free(runs[--n_runs].parts);
    free(runs);
    bare_loop_fini(&bare);
    r->bare = take_timing(b);
}

static uint64_t resident_kb(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (f && fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        (void)fclose(f); /* only read */
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void measure(const struct options *o, struct result *r)
{
    struct bench b;

    *r = (struct result){0};
    bench_init(&b, o);
    fill(&b);
    if (o->parts & PART_DECIDE)
        measure_decisions(&b, r);
    if (o->parts & PART_PLACE)
        measure_places(&b, r);
    r->resident_kb = resident_kb();
    if (o->parts & PART_ENDED && o->load > 90)
        measure_ended(&b, r);
    if (o->parts & PART_VERDICT && o->load > 90)
        measure_verdicts(&b, r);
    if (o->parts & PART_DECIDE)
        measure_bare(&b, r);
    bench_fini(&b);
}

/* In a process of its own. */
static int measure_apart(const struct options *o, struct result *r)
{
    int ends[2], status = 0;
    bool ok;
    pid_t pid;

    if (pipe(ends))
        return -1;
    pid = fork();
    if (pid == 0) {
        measure(o, r);
        _exit(write(ends[1], r, sizeof(*r)) == (ssize_t)sizeof(*r) ? 0 : 1);
    }
    (void)close(ends[1]);
    ok = pid > 0 && read(ends[0], r, sizeof(*r)) == (ssize_t)sizeof(*r);
    (void)close(ends[0]);
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    return ok && status == 0 ? 0 : -1;
}

/* ---- what is said */

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

static void print_head(void)
{
    printf(
        "%6s %7s %4s %6s | %8s %8s %8s %8s %6s | %7s %7s | %7s %7s %7s %7s | %9s %9s | %8s %8s | "
        "%5s\n",
        "nodes", "pending", "load", "signs", "mean us", "p50", "p99", "p99.9", "looks", "place",
        "p99", "bare", "p50", "p99", "p99.9", "ended p50", "mean", "verdict", "p99", "MB");
}

static void print_line(const struct options *o, const struct result *r, bool is_first)
{
    double looks = r->n_decisions ? (double)r->n_evaluations / (double)r->n_decisions : 0;
    const char *form =
        o->is_json
            ? "%s{\"nodes\":%u,\"pending\":%u,\"load\":%u,\"signatures\":%u,\"decisionUs\":"
              "{\"mean\":%.2f,\"p50\":%.2f,\"p99\":%.2f,\"p999\":%.2f},\"looks\":%.1f,"
              "\"placeUs\":{\"mean\":%.2f,\"p99\":%.2f},"
              "\"bareUs\":{\"mean\":%.2f,\"p50\":%.2f,\"p99\":%.2f,\"p999\":%.2f},"
              "\"endedUs\":{\"p50\":%.2f,\"mean\":%.2f},"
              "\"verdictUs\":{\"mean\":%.2f,\"p99\":%.2f},\"residentMB\":%.0f}\n"
            : "%s%6u %7u %4u %6u | %8.2f %8.2f %8.2f %8.2f %6.1f | %7.2f %7.2f | %7.2f %7.2f "
              "%7.2f %7.2f | %9.2f %9.2f | "
              "%8.2f %8.2f | %5.0f\n";

    printf(form, o->is_json && !is_first ? "," : "", o->nodes, o->pending, o->load, o->signatures,
           us(r->decision.mean), us(r->decision.p50), us(r->decision.p99), us(r->decision.p999),
           looks, us(r->place.mean), us(r->place.p99), us(r->bare.mean), us(r->bare.p50),
           us(r->bare.p99), us(r->bare.p999), us(r->ended.p50), us(r->ended.mean),
           us(r->verdict.mean), us(r->verdict.p99), (double)r->resident_kb / 1024);
    (void)fflush(stdout);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool goal(const char *what, uint64_t is, uint64_t most)
{
    if (is > most)
        fprintf(stderr, "bench_cycle: missed: %s: %llu, at most %llu\n", what,
                (unsigned long long)is, (unsigned long long)most);
    return is <= most;
}

static bool meets_goals(const struct options *o, const struct result *r)
{
    bool ok = true;

    if (o->signatures != 300)
        return true;
    ok &= goal("mean decision in ns", r->decision.mean, larger(GOAL_MEAN_NS, 10 * r->bare.mean));
    ok &= goal("p99 of a decision in ns", r->decision.p99, larger(GOAL_P99_NS, 10 * r->bare.p99));
    ok &= goal("mean verdict in ns", r->verdict.mean, GOAL_VERDICT_NS);
    return goal("resident KB", r->resident_kb, GOAL_KB) && ok;
}

static int run_all(const struct options *asked)
{
    static const uint32_t nodes[] = {1000, 5000, 10000}, pending[] = {1000, 10000, 100000};
    static const uint32_t load[] = {50, 98};
    uint64_t ended_few = 0, ended_many = 0;
    bool ok = true, is_first = true;

    for (int i = 0; i < 3 * 3 * 2 + 1; i++) {
        struct options o = *asked;
        bool is_extra = i == 18; /* the largest again, with more signatures */
        struct result r;

        o.nodes = is_extra ? 10000 : nodes[i / 6];
        o.pending = is_extra ? 100000 : pending[i / 2 % 3];
        o.load = is_extra ? 98 : load[i % 2];
        o.signatures = is_extra ? 10000 : asked->signatures;
        if ((asked->nodes && o.nodes != asked->nodes) || (asked->load && o.load != asked->load) ||
            (asked->pending && o.pending != asked->pending))
            continue;
        if (measure_apart(&o, &r)) {
            fprintf(stderr, "bench_cycle: a measurement ended early\n");
            return 1;
        }
        print_line(&o, &r, is_first);
        is_first = false;
        if (o.nodes == 10000 && o.load == 98 && o.pending == 1000)
            ended_few = r.ended.p50;
        if (o.nodes == 10000 && o.load == 98 && o.pending == 100000 && !is_extra) {
            ended_many = r.ended.p50;
            ok &= meets_goals(&o, &r);
        }
    }
    if (ended_few)
        ok &= goal("cycle after an end, 100,000 pending, percent of that with 1,000",
                   ended_many * 100 / ended_few, 150);
    return ok ? 0 : 1;
}

static int read_options(int argc, char **argv, struct options *o)
{
    static const struct option names[] = {
        {"nodes", required_argument, NULL, 'n'},     {"pending", required_argument, NULL, 'p'},
        {"load", required_argument, NULL, 'l'},      {"signatures", required_argument, NULL, 's'},
        {"decisions", required_argument, NULL, 'd'}, {"seed", required_argument, NULL, 'S'},
        {"only", required_argument, NULL, 'O'},      {0}};
    int ch = 0;

    *o = (struct options){.signatures = 300, .decisions = 5000, .seed = 1, .parts = PART_ALL};
    while (ch = getopt_long(argc, argv, "o:", names, NULL), ch != -1) {
        uint32_t n = optarg ? (uint32_t)strtoul(optarg, NULL, 10) : 0;

        if (ch == 'n')
            o->nodes = n;
        else if (ch == 'p')
            o->pending = n;
        else if (ch == 'l')
            o->load = n;
        else if (ch == 's' && n)
            o->signatures = n;
        else if (ch == 'd' && n)
            o->decisions = n;
        else if (ch == 'S')
            o->seed = n;
        else if (ch == 'O' && strcmp(optarg, "decide") == 0)
            o->parts = PART_DECIDE;
        else if (ch == 'O' && strcmp(optarg, "ended") == 0)
            o->parts = PART_ENDED;
        else if (ch == 'O' && strcmp(optarg, "place") == 0)
            o->parts = PART_PLACE;
        else if (ch == 'O' && strcmp(optarg, "verdict") == 0)
            o->parts = PART_VERDICT;
        else if (ch == 'o' && strcmp(optarg, "json") == 0)
            o->is_json = true;
        else
            return -1;
    }
    return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct options o;
    int rc;

    if (read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: bench_cycle [-o json] [--nodes N] [--pending N] [--load PERCENT] "
                        "[--signatures N] [--decisions N] [--seed N] "
                        "[--only decide|place|ended|verdict]\n");
        return 2;
    }
    if (o.is_json)
        printf("[");
    else
        print_head();
    rc = run_all(&o);
    if (o.is_json)
        printf("]\n");
    return rc;
}
