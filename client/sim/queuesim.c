/* SPDX-License-Identifier: Apache-2.0 */
/* queuesim.c - options and output of the simulator.
 *
 * Exit codes: 0; 1 the inputs are wrong or a file cannot be written; 2 wrong usage.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "replay.h"
#include "util/mem.h"
#include "util/str.h"

static const char usage[] =
    "usage: queuesim --jobs FILE --cluster FILE [OPTIONS]\n"
    "  --order fifo|sjf|prio|fair      who is first (fifo)\n"
    "  --queue hol|skip|easy           what may pass a job that does not fit (hol)\n"
    "  --place bestfit|topo|spread     where it starts (bestfit)\n"
    "  --preempt none|resume|restart   an evicted job goes on, or begins anew (none; restart\n"
    "                                  with --policy)\n"
    "  --policy FILE                   decide as a queued with this configuration does, instead\n"
    "  --estimate F                    jobs say 1 to F times their run time, at random (1)\n"
    "  --seed N                        of that random number (1)\n"
    "  --depth N                       jobs looked at behind the first that does not fit; 0 all\n"
    "  --speed F                       divide submit times by F\n"
    "  --out FILE                      the schedule: job_id,start_s,end_s,wait_s,nodes\n"
    "  -o, --output table|json         form of the figures\n";

struct word {
    const char *name;
    int value;
};

static const struct word orders[] = {{"fifo", ORDER_FIFO},
                                     {"sjf", ORDER_SJF},
                                     {"prio", ORDER_PRIO},
                                     {"fair", ORDER_FAIR},
                                     {NULL, 0}};
static const struct word queues[] = {
    {"hol", QUEUE_HOL}, {"skip", QUEUE_SKIP}, {"easy", QUEUE_EASY}, {NULL, 0}};
static const struct word places[] = {
    {"bestfit", PLACE_BESTFIT}, {"topo", PLACE_TOPO}, {"spread", PLACE_SPREAD}, {NULL, 0}};
enum preempt_rule { PREEMPT_UNSAID, PREEMPT_NONE, PREEMPT_RESUME, PREEMPT_RESTART };
static const struct word preempts[] = {
    {"none", PREEMPT_NONE}, {"resume", PREEMPT_RESUME}, {"restart", PREEMPT_RESTART}, {NULL, 0}};
static const struct word outputs[] = {{"table", 0}, {"json", 1}, {NULL, 0}};

struct options {
    const char *paths[2];
    const char *out;
    const char *site; /* configuration of a daemon; NULL: the plain policy */
    struct policy policy;
    enum preempt_rule preempt;
    bool is_plain_said;
    double speed, estimate, seed;
    bool is_json;
};

static void refuse(const char *option, const char *value)
{
    (void)fprintf(stderr, "queuesim: --%s: '%s' is not one of its values\n%s", option, value,
                  usage);
    exit(2);
}

static int choose(const struct word *words, const char *option, const char *value)
{
    for (; words->name; words++)
        if (strcmp(words->name, value) == 0)
            return words->value;
    refuse(option, value);
    return 0;
}

static double number(const char *option, const char *value, double least, double most)
{
    char *end;
    double v = strtod(value, &end);

    if (end == value || *end || !(v >= least && v <= most))
        refuse(option, value);
    return v;
}

static void take_option(int c, struct options *o)
{
    o->is_plain_said |= strchr("Oqpd", c) != NULL;
    switch (c) {
    case 'j':
        o->paths[0] = optarg;
        break;
    case 'c':
        o->paths[1] = optarg;
        break;
    case 'O':
        o->policy.order = (enum order_rule)choose(orders, "order", optarg);
        break;
    case 'q':
        o->policy.queue = (enum queue_rule)choose(queues, "queue", optarg);
        break;
    case 'p':
        o->policy.place = (enum place_rule)choose(places, "place", optarg);
        break;
    case 'P':
        o->preempt = (enum preempt_rule)choose(preempts, "preempt", optarg);
        o->policy.is_resumed = o->preempt == PREEMPT_RESUME;
        break;
    case 'd':
        o->policy.depth = (uint32_t)number("depth", optarg, 0, 1e9);
        break;
    case 's':
        o->speed = number("speed", optarg, 1e-6, 1e6);
        break;
    case 'f':
        o->out = optarg;
        break;
    case 'y':
        o->site = optarg;
        break;
    case 'e':
        o->estimate = number("estimate", optarg, 1, 1e3);
        break;
    case 'r':
        o->seed = number("seed", optarg, 0, 1e15);
        break;
    case 'o':
        o->is_json = choose(outputs, "output", optarg);
        break;
    case 'h':
        (void)fputs(usage, stdout);
        exit(0);
    case 'V':
        (void)puts("queuesim " QUEUED_VERSION);
        exit(0);
    default:
        (void)fputs(usage, stderr);
        exit(2);
    }
}

static void read_options(int argc, char **argv, struct options *o)
{
    static const struct option names[] = {
        {"jobs", 1, NULL, 'j'},   {"cluster", 1, NULL, 'c'},  {"order", 1, NULL, 'O'},
        {"queue", 1, NULL, 'q'},  {"place", 1, NULL, 'p'},    {"preempt", 1, NULL, 'P'},
        {"depth", 1, NULL, 'd'},  {"speed", 1, NULL, 's'},    {"out", 1, NULL, 'f'},
        {"help", 0, NULL, 'h'},   {"version", 0, NULL, 'V'},  {"output", 1, NULL, 'o'},
        {"policy", 1, NULL, 'y'}, {"estimate", 1, NULL, 'e'}, {"seed", 1, NULL, 'r'},
        {NULL, 0, NULL, 0}};
    int c;

    for (c = getopt_long(argc, argv, "o:h", names, NULL); c != -1;
         c = getopt_long(argc, argv, "o:h", names, NULL))
        take_option(c, o);
    if (optind < argc || !o->paths[0] || !o->paths[1]) {
        (void)fputs(usage, stderr);
        exit(2);
    }
    if (o->site && o->is_plain_said) {
        (void)fputs("queuesim: --policy stands instead of --order, --queue, --place and --depth; "
                    "leave them out\n",
                    stderr);
        exit(2);
    }
    if (o->site ? o->preempt == PREEMPT_NONE : o->preempt > PREEMPT_NONE) {
        (void)fputs(o->site ? "queuesim: the configuration of --policy says who may be evicted; "
                              "--preempt resume or restart says what becomes of the work\n"
                            : "queuesim: the plain policies evict nobody; give --policy\n",
                    stderr);
        exit(2);
    }
    if (o->policy.order == ORDER_FAIR && o->policy.queue == QUEUE_EASY) {
        (void)fputs("queuesim: --order fair goes with --queue hol or skip\n", stderr);
        exit(2);
    }
}

static int write_schedule(const struct trace *t, const char *path)
{
    FILE *f = fopen(path, "w");
    bool is_bad;

    if (!f)
        return -1;
    (void)fputs("job_id,start_s,end_s,wait_s,nodes\n", f);
    for (size_t i = 0; i < t->jobs.n; i++) {
        const struct trace_job *j = &t->jobs.v[i];

        if (j->is_started)
            (void)fprintf(f, "%s,%.6f,%.6f,%.6f,%s\n", j->id, (double)j->start / 1e6,
                          (double)j->end / 1e6, (double)j->wait / 1e6, j->nodes);
    }
    is_bad = ferror(f);
    return fclose(f) || is_bad ? -1 : 0;
}

static void print_shares(const struct shares *s, bool is_json)
{
    const char *between = "";
    struct str name = {0};

    (void)printf(is_json ? " \"share_hours\": %.10g,\n \"largest_gang_gpu_s\": %.10g,\n"
                         : "share_hours                    %.10g\n"
                           "largest_gang_gpu_s             %.10g\n",
                 s->seconds / 3600, s->largest_gang);
    (void)printf(is_json ? " \"tenants\": [" : "\n%-24s %14s %14s %9s\n", "TENANT", "GPU-SECONDS",
                 "MAX-MIN SHARE", "PERCENT");
    for (uint32_t i = 0; i < s->n; i++) {
        const struct tenant_share *t = &s->v[i];

        if (!t->has_jobs)
            continue;
        str_clear(&name);
        if (is_json)
            str_add_json(&name, t->name);
        (void)printf(is_json ? "%s\n  {\"tenant\": %s, \"gpu_s\": %.0f, \"share_gpu_s\": %.0f}"
                             : "%s%-24s %14.0f %14.0f",
                     is_json ? between : "", is_json ? str_text(&name) : t->name, t->had, t->share);
        if (!is_json)
            (void)printf(" %8.1f%%\n", t->share > 0 ? t->had / t->share * 100 : 100);
        between = ",";
    }
    str_fini(&name);
    if (is_json)
        (void)puts("\n ]\n}");
}

static void print(const struct totals *t, bool is_json)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"jobs", (double)t->jobs},
        {"avg_jct_s", t->avg_jct},
        {"p50_jct_s", t->p50_jct},
        {"p99_jct_s", t->p99_jct},
        {"avg_wait_s", t->avg_wait},
        {"p50_wait_s", t->p50_wait},
        {"p99_wait_s", t->p99_wait},
        {"p999_wait_s", t->p999_wait},
        {"makespan_s", t->makespan},
        {"utilisation", t->utilisation},
        {"alloc_until_last_submit", t->alloc},
        {"time_with_queue", t->queued},
        {"time_blocked_by_fragmentation", t->fragmented},
        {"multi_node_gangs", (double)t->multi},
        {"in_one_rack", (double)t->one_rack},
        {"in_one_block", (double)t->one_block},
        {"avg_racks", t->avg_racks},
        {"evictions", (double)t->evictions},
        {"dropped_never_fit", (double)t->dropped},
        {"decisions_per_s", t->seconds > 0 ? (double)t->decisions / t->seconds : 0},
    };
    size_t n = sizeof(rows) / sizeof(rows[0]);

    for (size_t i = 0; i < n; i++)
        (void)printf(is_json ? "%s\"%s\": %.10g%s\n" : "%s%-30s %.10g%s\n",
                     is_json ? (i ? " " : "{\n ") : "", rows[i].name, rows[i].value,
                     is_json ? "," : "");
    print_shares(&t->shares, is_json);
}

static int load(const struct options *o, struct trace *trace, struct config **ret, struct err *err)
{
    if (trace_load(trace, o->paths, o->speed, err) || (o->site && config_load(ret, o->site, err)))
        return -1;
    trace_estimate(trace, o->estimate, (uint64_t)o->seed);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {
        .speed = 1,
        .estimate = 1,
        .seed = 1,
        .policy = {.order = ORDER_FIFO, .queue = QUEUE_HOL, .place = PLACE_BESTFIT}};
    struct trace trace = {0};
    struct totals totals = {0};
    struct config *config = NULL;
    struct err err = {0};
    int code = 0;

    read_options(argc, argv, &o);
    if (load(&o, &trace, &config, &err) ||
        replay_run(&trace, &o.policy, config ? &config->settings : NULL, &totals, &err)) {
        (void)fprintf(stderr, "queuesim: %s\n", err.text);
        code = 1;
    } else {
        print(&totals, o.is_json);
        if (o.out && write_schedule(&trace, o.out)) {
            (void)fprintf(stderr, "queuesim: %s: %s\n", o.out, strerror(errno));
            code = 1;
        }
        if (fflush(stdout)) {
            (void)fprintf(stderr, "queuesim: cannot write to stdout: %s\n", strerror(errno));
            code = 1;
        }
    }
    shares_fini(&totals.shares);
    config_destroy(config);
    trace_fini(&trace);
    return code;
}
