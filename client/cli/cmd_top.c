/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_top.c - queuectl top: GPUs, tenants, what runs and the head of the queue on one screen.
 *
 * On a terminal it is drawn anew until Ctrl-C; elsewhere once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "print_job.h"
#include "print_table.h"
#include "util/mem.h"
#include "util/parse.h"

enum { BAR = 30, LINES_DEFAULT = 24, LINE_WIDTH = 100, ROWS_LEAST = 3 };

struct top {
    const char *tenant, *interval;
    usec_t pause;
    size_t rows; /* of each of the two tables */
};

/* "[######------]" */
static void print_bar(uint64_t used, uint64_t all)
{
    uint64_t n = all ? used * BAR / all : 0;

    if (used && n == 0)
        n = 1;
    (void)putchar('[');
    for (uint64_t i = 0; i < BAR; i++)
        (void)putchar(i < n ? '#' : '-');
    (void)putchar(']');
}

static int print_models(struct queued_client *c)
{
    struct queued_topology *t = NULL;
    struct queued_error e;

    if (queued_topology(c, &t, &e))
        return cli_error(&e);
    for (size_t i = 0; i < t->n_models; i++) {
        const struct queued_model *m = &t->models[i];

        (void)printf("%-12s ", m->model ? m->model : "-");
        print_bar(m->gpus - m->free, m->gpus);
        (void)printf(" %llu of %llu GPUs in use, %llu whole nodes of 8 free\n",
                     (unsigned long long)(m->gpus - m->free), (unsigned long long)m->gpus,
                     (unsigned long long)m->slots[3]);
    }
    queued_topology_free(t);
    return 0;
}

static bool is_shown(const struct top *x, const char *path)
{
    size_t len = x->tenant ? strlen(x->tenant) : 0;

    return !x->tenant ||
           (strncmp(path, x->tenant, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

static void print_quota(const struct queued_tenant *t, const struct queued_quota *q)
{
    uint64_t quota = q->has_quota ? (uint64_t)q->quota : 0;

    (void)printf("%-12.12s ", t->path);
    print_bar(q->used < quota ? q->used : quota, quota);
    (void)printf(" %llu of %llu %s", (unsigned long long)q->used, (unsigned long long)quota,
                 q->model);
    if (q->used > quota)
        (void)printf(", %llu borrowed", (unsigned long long)(q->used - quota));
    (void)printf("; %u run, %u wait%s\n", t->active, t->pending, t->stopped ? "; stopped" : "");
}

static int print_tenants(const struct top *x, struct queued_client *c)
{
    struct queued_tenants *t = NULL;
    struct queued_error e;

    if (queued_tenants(c, &t, &e))
        return cli_error(&e);
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->v[i].n_quotas && is_shown(x, t->v[i].path); k++)
            if (t->v[i].quotas[k].used || t->v[i].quotas[k].has_quota)
                print_quota(&t->v[i], &t->v[i].quotas[k]);
    queued_tenants_free(t);
    return 0;
}

/* The first jobs in a state, and how many more there are. */
static int print_jobs(const struct top *x, struct queued_client *c, const char *title,
                      const char *const *states, size_t n_states)
{
    struct queued_query query = {
        .filter = {.all = true, .tenant = x->tenant, .states = states, .n_states = n_states},
        .limit = (uint32_t)x->rows};
    struct queued_cursor *cursor = NULL;
    struct queued_jobs *page = NULL;
    struct table *t;
    struct queued_error e;

    if (queued_list(c, &query, &cursor, &page, &e))
        return cli_error(&e);
    (void)printf("\n%s\n", page->n ? title : "");
    t = job_table(false);
    for (size_t i = 0; i < page->n; i++)
        job_table_add(t, &page->v[i], false, cli_now_us());
    if (page->n)
        table_print(t, LINE_WIDTH, true);
    if (cursor)
        (void)puts("...");
    table_destroy(t);
    queued_cursor_free(cursor);
    queued_jobs_free(page);
    return 0;
}

static int draw(const struct top *x, struct queued_client *c)
{
    static const char *const runs[] = {"Binding", "Starting", "Running", "Restarting",
                                       "Preempting"};
    static const char *const waits[] = {"Pending"};
    char now[FORMAT_MAX];
    int rc;

    (void)printf("queued %s  %s\n\n", queued_server(c)->version ? queued_server(c)->version : "",
                 format_time(now, cli_now_us()));
    rc = print_models(c);
    if (rc == 0) {
        (void)putchar('\n');
        rc = print_tenants(x, c);
    }
    if (rc == 0)
        rc = print_jobs(x, c, "With nodes", runs, ARRAY_LEN(runs));
    return rc ? rc : print_jobs(x, c, "Waiting", waits, ARRAY_LEN(waits));
}

static size_t rows_of_screen(bool is_tty)
{
    struct winsize size;
    size_t lines = LINES_DEFAULT;

    if (is_tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row)
        lines = size.ws_row;
    return lines / 3 > ROWS_LEAST ? lines / 3 - 2 : ROWS_LEAST;
}

static int run(struct top *x)
{
    bool is_tty = isatty(STDOUT_FILENO) == 1;
    struct timespec pause = {.tv_sec = x->pause / USEC_PER_SEC,
                             .tv_nsec = x->pause % USEC_PER_SEC * 1000};
    struct queued_client *c = NULL;
    int rc = cli_connect(&c, cli_timeout_ms());

    while (rc == 0) {
        x->rows = rows_of_screen(is_tty);
        if (is_tty)
            (void)fputs("\033[H\033[2J", stdout);
        rc = draw(x, c);
        if (!is_tty || fflush(stdout))
            break;
        (void)nanosleep(&pause, NULL); /* a signal makes it shorter */
    }
    queued_close(c);
    return rc;
}

int cmd_top(int argc, char **argv)
{
    struct top x = {.pause = 2 * USEC_PER_SEC};
    const struct cli_option options[] = {
        {"tenant", 0, OPTION_TEXT, &x.tenant},
        {"interval", 0, OPTION_TEXT, &x.interval},
    };
    enum cli_format format;
    struct err err;
    int first, rc = cli_parse(&(struct cli_options){"top", options, ARRAY_LEN(options)}, argc, argv,
                              &first);

    if (rc)
        return rc - 1;
    if (first < argc)
        return cli_usage("top: unexpected \"%s\"", argv[first]);
    if (x.interval && parse_duration(x.interval, &x.pause, &err))
        return cli_usage("top: --interval: %s", err.text);
    if (x.pause < USEC_PER_SEC / 10)
        return cli_usage("top: --interval %s: write 100ms or more", x.interval);
    if (cli_format(1u << FORMAT_TABLE, &format))
        return EXIT_USAGE;
    return run(&x);
}
