/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_defrag.c - queuectl defrag plan: whom defragmentation would move next, for whom, at what
 * cost. Nothing is moved by asking.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "print_table.h"
#include "util/mem.h"

/* GPU-hours with one digit behind the point. */
enum { HOURS_MAX = 32 };

static const char *hours(char buf[HOURS_MAX], uint64_t gpu_s)
{
    unsigned long long tenths = gpu_s / 360;

    (void)snprintf(buf, HOURS_MAX, "%llu.%llu", tenths / 10, tenths % 10);
    return buf;
}

static void print_budget(const struct queued_defrag *p)
{
    char all[HOURS_MAX], left[HOURS_MAX];

    if (p->budget_gpu_s == 0)
        (void)printf("budget  none: nothing is moved (defragmentation.gpuHoursPerDay)\n");
    else
        (void)printf("budget  %s GPU-hours a day, %s left today%s\n", hours(all, p->budget_gpu_s),
                     hours(left, p->left_gpu_s),
                     p->is_dry_run ? "; dry run: nothing is moved" : "");
}

static void print_plan(const struct queued_defrag *p)
{
    static const struct table_column columns[] = {
        {"MOVE", TABLE_WHOLE, 0},      {"TENANT", TABLE_WHOLE, 0}, {"GPUS", TABLE_WHOLE, 0},
        {"GPU-HOURS", TABLE_WHOLE, 0}, {"FROM", TABLE_WHOLE, 0},   {"TO", TABLE_WHOLE, 0},
    };
    struct table *t;
    char lost[HOURS_MAX];

    if (!p->job) {
        (void)printf("plan    none: no waiting job would start by moving some of the %u running "
                     "jobs that may move\n",
                     p->movable);
        print_budget(p);
        return;
    }
    (void)printf("plan    %s\nfor     job/%s (tenant %s, %llu GPUs) on %s\n", p->gives, p->job,
                 p->tenant, (unsigned long long)p->gpus, p->nodes);
    print_budget(p);
    t = table_create(columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < p->n_moves; i++) {
        table_add(t, p->moves[i].job);
        table_add(t, p->moves[i].tenant);
        table_addf(t, "%llu", (unsigned long long)p->moves[i].gpus);
        table_add(t, hours(lost, p->moves[i].lost_gpu_s));
        table_add(t, p->moves[i].from_nodes);
        table_add(t, p->moves[i].to_nodes);
    }
    table_print(t, 0, true);
    table_destroy(t);
}

static struct document *plan_document(struct arena *a, const struct queued_defrag *p)
{
    struct document *d = document_map(a), *plan, *moves;

    document_put_text(a, d, "apiVersion", "gang.queued/v1");
    document_put_text(a, d, "kind", "DefragPlan");
    document_put_int(a, d, "budgetGpuSeconds", (int64_t)p->budget_gpu_s);
    document_put_int(a, d, "leftGpuSeconds", (int64_t)p->left_gpu_s);
    document_put_bool(a, d, "dryRun", p->is_dry_run);
    document_put_int(a, d, "movable", p->movable);
    if (!p->job)
        return d;
    plan = document_put_map(a, d, "plan");
    document_put_text(a, plan, "job", p->job);
    document_put_text(a, plan, "tenant", p->tenant);
    document_put_int(a, plan, "gpus", (int64_t)p->gpus);
    document_put_text(a, plan, "gives", p->gives);
    document_put_text(a, plan, "nodes", p->nodes);
    document_put_int(a, plan, "lostGpuSeconds", (int64_t)p->lost_gpu_s);
    moves = document_put_list(a, plan, "moves");
    for (size_t i = 0; i < p->n_moves; i++) {
        struct document *m = document_map(a);

        document_put_text(a, m, "job", p->moves[i].job);
        document_put_text(a, m, "tenant", p->moves[i].tenant);
        document_put_int(a, m, "gpus", (int64_t)p->moves[i].gpus);
        document_put_int(a, m, "lostGpuSeconds", (int64_t)p->moves[i].lost_gpu_s);
        document_put_text(a, m, "from", p->moves[i].from_nodes);
        document_put_text(a, m, "to", p->moves[i].to_nodes);
        document_add(a, moves, m);
    }
    return d;
}

static int show(enum cli_format format)
{
    struct queued_client *c = NULL;
    struct queued_defrag *plan = NULL;
    struct arena a = {0};
    struct queued_error e;
    int rc = cli_connect(&c, cli_timeout_ms());

    if (rc == EXIT_OK && queued_defrag_plan(c, &plan, &e))
        rc = cli_error(&e);
    if (rc == EXIT_OK && format == FORMAT_TABLE)
        print_plan(plan);
    else if (rc == EXIT_OK)
        cli_print(plan_document(&a, plan), format);
    arena_fini(&a);
    queued_defrag_free(plan);
    queued_close(c);
    return rc;
}

int cmd_defrag(int argc, char **argv)
{
    enum cli_format format;
    int first, rc = cli_parse(&(struct cli_options){"defrag", NULL, 0}, argc, argv, &first);

    if (rc)
        return rc - 1;
    if (argc != first + 1 || strcmp(argv[first], "plan") != 0)
        return cli_usage("defrag: say plan; moves are made by the daemon, as its configuration "
                         "allows");
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML, &format))
        return EXIT_USAGE;
    return show(format);
}
