/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_cancel.c - queuectl cancel: jobs by name, by label, or all of a tenant.
 *
 * What is not named one by one is counted and asked about first, unless -y says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change_jobs.h"
#include "cli.h"
#include "util/mem.h"
#include "util/str.h"

struct cancel {
    bool all, yes;
    const char *tenant;
    struct job_change job;
    struct cli_texts labels;
    struct arena arena;
    VEC(const char *) names;
};

static int select_jobs(struct cancel *x, struct queued_client *c)
{
    static const char *const active[] = {"active"};
    struct queued_query query = {.filter = {.n_states = 1, .states = active}};
    struct queued_cursor *cursor = NULL;
    struct queued_pair *labels;
    struct queued_error e;

    if (cli_pairs(&x->labels, &labels, &query.filter.n_labels, &x->arena))
        return EXIT_USAGE;
    query.filter.labels = labels;
    query.filter.tenant = x->tenant;
    query.filter.all = x->tenant != NULL;
    do {
        struct queued_jobs *page = NULL;

        if (queued_list(c, &query, &cursor, &page, &e))
            return cli_error(&e);
        for (size_t i = 0; i < page->n; i++)
            if (page->v[i].id)
                *vec_push(&x->names) = arena_strdup(&x->arena, page->v[i].id);
        queued_jobs_free(page);
    } while (cursor);
    return 0;
}

/* Several jobs that nobody named: ask. 0: go on. */
static int confirm(const struct cancel *x)
{
    char answer[8] = "";

    if (x->yes)
        return 0;
    if (isatty(STDIN_FILENO) != 1)
        return cli_usage("cancel: this would stop %zu jobs; say -y to do it", x->names.n);
    (void)fprintf(stderr, "Stop %zu jobs? [y/N] ", x->names.n);
    if (!fgets(answer, sizeof(answer), stdin) || (answer[0] != 'y' && answer[0] != 'Y')) {
        cli_note("nothing was stopped");
        return EXIT_FAILED;
    }
    return 0;
}

static void print_one(const struct queued_changed *j)
{
    bool is_cancelled = strcmp(j->state, "Cancelled") == 0;

    if (queued_state_is_final(j->state) && !is_cancelled)
        (void)printf("job/%s had ended (%s)\n", j->name, j->state);
    else
        (void)printf("job/%s %s\n", j->name, is_cancelled ? "cancelled" : "is being stopped");
}

static int run(struct cancel *x)
{
    struct queued_client *c = NULL;
    bool is_bulk = x->names.n == 0;
    int rc = cli_connect(&c, cli_timeout_ms());

    if (rc == 0 && is_bulk)
        rc = select_jobs(x, c);
    if (rc == 0 && x->names.n == 0)
        cli_note("no job matches");
    else if (rc == 0 && is_bulk)
        rc = confirm(x);
    if (rc == 0)
        rc = change_jobs(&x->job, c, x->names.v, x->names.n);
    queued_close(c);
    return rc;
}

static int check(struct cancel *x, int argc, char **argv, int first)
{
    bool has_selector = x->labels.n || x->all;

    for (int i = first; i < argc; i++)
        *vec_push(&x->names) = argv[i];
    if (x->names.n && has_selector)
        return cli_usage("cancel: name jobs, or select them with -l or --all, not both");
    if (!x->names.n && !has_selector)
        return cli_usage("cancel: name the jobs to stop, or select them with -l or --all");
    if (x->all && !x->tenant)
        return cli_usage("cancel: --all needs --tenant");
    if (change_format(&x->job))
        return EXIT_USAGE;
    return 0;
}

int cmd_cancel(int argc, char **argv)
{
    struct cancel x = {.job = {.verb = QUEUED_CANCEL, .print = print_one}};
    const struct cli_option options[] = {
        {"selector", 'l', OPTION_REPEATED, &x.labels},
        {"all", 0, OPTION_FLAG, &x.all},
        {"tenant", 0, OPTION_TEXT, &x.tenant},
        {"reason", 0, OPTION_TEXT, &x.job.reason},
        {"yes", 'y', OPTION_FLAG, &x.yes},
    };
    int first, rc = cli_parse(&(struct cli_options){"cancel", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    rc = rc ? rc - 1 : check(&x, argc, argv, first) ? EXIT_USAGE : run(&x);
    vec_fini(&x.names);
    cli_texts_fini(&x.labels);
    arena_fini(&x.arena);
    return rc;
}
