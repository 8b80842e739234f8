/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_list.c - queuectl list: all pages of the jobs that match, sorted and printed.
 *
 * JSON and YAML carry whole jobs; the table needs less and asks for less.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "print_job.h"
#include "print_table.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"

enum { PAGE_MAX = 500, LINE_MAX_WIDTH = 100 };

struct order {
    int (*compare)(const struct queued_job *, const struct queued_job *);
    int sign;
};

struct list {
    bool all, quiet, no_headers, follows, is_told;
    const char *tenant, *user, *states, *sort, *limit_text, *token, *columns, *array, *since;
    struct cli_texts labels;
    enum cli_format format;
    uint64_t limit;  /* 0: none */
    int64_t from_us; /* submitted since; 0: ever */
    struct queued_query query;
    struct order order;        /* compare NULL: by id */
    struct arena arena, shown; /* the latter of what is printed */
    VEC(struct queued_jobs *) pages;
    VEC(const struct queued_job *) jobs;
    struct queued_cursor *cursor; /* where a list with a limit ended */
    VEC(char *) changed;          /* --watch: ids of jobs to be told again; owned */
};

static int by_name(const struct queued_job *a, const struct queued_job *b)
{
    return strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

static int by_tenant(const struct queued_job *a, const struct queued_job *b)
{
    return strcmp(a->tenant ? a->tenant : "", b->tenant ? b->tenant : "");
}

static int by_state(const struct queued_job *a, const struct queued_job *b)
{
    return strcmp(a->state ? a->state : "", b->state ? b->state : "");
}

static int by_priority(const struct queued_job *a, const struct queued_job *b)
{
    return strcmp(a->priority_class ? a->priority_class : "",
                  b->priority_class ? b->priority_class : "");
}

static int by_gpus(const struct queued_job *a, const struct queued_job *b)
{
    return (a->gpus > b->gpus) - (a->gpus < b->gpus);
}

/* Youngest first: age grows. */
static int by_age(const struct queued_job *a, const struct queued_job *b)
{
    return (a->created_us < b->created_us) - (a->created_us > b->created_us);
}

static const struct {
    const char *name;
    int (*compare)(const struct queued_job *, const struct queued_job *);
} sorts[] = {
    {"age", by_age},   {"name", by_name},         {"state", by_state},
    {"gpus", by_gpus}, {"priority", by_priority}, {"tenant", by_tenant},
};

static int compare_jobs(const void *x, const void *y, void *ctx)
{
    const struct queued_job *a = *(const struct queued_job *const *)x;
    const struct queued_job *b = *(const struct queued_job *const *)y;
    const struct order *o = ctx;
    int rc = o->sign * o->compare(a, b);

    return rc ? rc : strcmp(a->id ? a->id : "", b->id ? b->id : "");
}

static int find_order(const char *word, struct order *ret)
{
    const char *name = word + (*word == '-');

    for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
        if (strcmp(sorts[i].name, name) == 0) {
            *ret = (struct order){sorts[i].compare, *word == '-' ? -1 : 1};
            return 0;
        }
    }
    return cli_usage("list: --sort %s: write age, name, state, gpus, priority or tenant", word);
}

/* "pending,Running" as the states' names of the wire. */
static void read_states(struct list *l)
{
    char *rest = arena_strdup(&l->arena, l->states ? l->states : "");
    const char **v = arena_alloc(&l->arena, (strlen(rest) + 1) * sizeof(*v));

    for (char *one = strtok_r(rest, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        if (strcmp(one, "active") != 0 && *one >= 'a' && *one <= 'z')
            *one = (char)(*one - 'a' + 'A');
        if (strcmp(one, "Timedout") == 0)
            one = arena_strdup(&l->arena, "TimedOut");
        v[l->query.filter.n_states++] = one;
    }
    l->query.filter.states = v;
}

/* "1d" ago, or a time. */
static int read_since(struct list *l)
{
    struct err err;
    usec_t t;

    if (!l->since || parse_time(l->since, &l->from_us, NULL) == 0)
        return 0;
    if (parse_duration(l->since, &t, &err))
        return cli_usage("list: --since: %s", err.text);
    l->from_us = cli_now_us() > t ? cli_now_us() - t : 0;
    return 0;
}

static int read_filter(struct list *l)
{
    struct queued_pair *labels;
    struct err err;

    if (read_since(l))
        return EXIT_USAGE;
    if (l->limit_text && parse_u64(l->limit_text, 1, UINT32_MAX, &l->limit, &err))
        return cli_usage("list: --limit: %s", err.text);
    if (cli_pairs(&l->labels, &labels, &l->query.filter.n_labels, &l->arena))
        return EXIT_USAGE;
    l->query.filter.labels = labels;
    if (l->quiet)
        l->limit = 1; /* one is enough to know */
    l->query.filter.all = l->all || l->tenant || l->user;
    l->query.filter.tenant = l->tenant;
    l->query.filter.user = l->user;
    l->query.filter.array = l->array;
    read_states(l);
    if (l->token && queued_cursor_from_text(l->token, &l->cursor, NULL))
        return cli_usage("list: --continue: not a token of an earlier list");
    return 0;
}

static int fetch(struct list *l, struct queued_client *c)
{
    struct queued_error e;

    l->query.is_full =
        l->format == FORMAT_JSON || l->format == FORMAT_YAML || l->format == FORMAT_JSONL;
    do {
        struct queued_jobs *page = NULL;
        uint64_t left = l->limit && !l->quiet ? l->limit - l->jobs.n : PAGE_MAX;

        l->query.limit = (uint32_t)(left < PAGE_MAX ? left : PAGE_MAX);
        if (queued_list(c, &l->query, &l->cursor, &page, &e))
            return cli_error(&e);
        *vec_push(&l->pages) = page;
        for (size_t i = 0; i < page->n; i++)
            if (page->v[i].created_us >= l->from_us)
                *vec_push(&l->jobs) = &page->v[i];
    } while (l->cursor && !(l->limit && l->jobs.n >= l->limit));
    return 0;
}

static void print_document(struct list *l)
{
    struct document *items, *d = list_document(&l->shown, "GangJobList", &items);
    char *token;

    for (size_t i = 0; i < l->jobs.n; i++)
        document_add(&l->shown, items, job_document(&l->shown, l->jobs.v[i]));
    if (l->cursor) {
        token = queued_cursor_text(l->cursor);
        document_put_text(&l->shown, d, "continue", arena_strdup(&l->shown, token));
        free(token);
    }
    cli_print(d, l->format);
}

static int print_rows(struct list *l)
{
    bool is_wide = l->format != FORMAT_TABLE || l->columns;
    struct table *t = job_table(is_wide);
    int64_t now = cli_now_us();
    int rc = EXIT_OK;

    for (size_t i = 0; i < l->jobs.n; i++)
        job_table_add(t, l->jobs.v[i], is_wide, now);
    if (l->columns && table_choose(t, "list", l->columns))
        rc = EXIT_USAGE;
    else if (l->jobs.n == 0 && l->format != FORMAT_CSV)
        cli_note(l->query.filter.all ? "no job matches" : "no job of yours matches; -A shows all");
    else if (l->format == FORMAT_CSV)
        table_print_csv(t, !l->no_headers);
    else
        table_print(t, is_wide ? 0 : LINE_MAX_WIDTH, !l->no_headers);
    table_destroy(t);
    if (l->cursor && rc == EXIT_OK)
        cli_note("there are more; raise --limit");
    return rc;
}

static void print_lines(struct list *l)
{
    for (size_t i = 0; i < l->jobs.n; i++)
        cli_print(job_document(&l->shown, l->jobs.v[i]), FORMAT_JSONL);
}

static int print(struct list *l)
{
    if (l->order.compare && l->jobs.n)
        qsort_r(l->jobs.v, l->jobs.n, sizeof(struct queued_job *), compare_jobs, &l->order);
    if (l->format == FORMAT_JSONL && l->jobs.n) {
        print_lines(l);
    } else if (l->format == FORMAT_JSON || l->format == FORMAT_YAML) {
        print_document(l);
    } else if (l->format == FORMAT_NAME && l->jobs.n) {
        for (size_t i = 0; i < l->jobs.n; i++)
            (void)printf("job/%s\n", l->jobs.v[i]->name ? l->jobs.v[i]->name : "");
    } else {
        return print_rows(l);
    }
    return EXIT_OK;
}

/* ---- --watch */

/* Each job once a round. */
static int note_change(const struct queued_event *e, void *ctx)
{
    struct list *l = ctx;

    for (size_t i = 0; i < l->changed.n; i++)
        if (strcmp(l->changed.v[i], e->job_id) == 0)
            return 0;
    *vec_push(&l->changed) = xstrdup(e->job_id);
    return 0;
}

static int first_change(const struct queued_event *e, void *ctx)
{
    return e->job_id ? !note_change(e, ctx) : 0;
}

static void forget(struct list *l)
{
    for (size_t i = 0; i < l->pages.n; i++)
        queued_jobs_free(l->pages.v[i]);
    l->pages.n = l->jobs.n = 0;
    for (size_t i = 0; i < l->changed.n; i++)
        free(l->changed.v[i]);
    l->changed.n = 0;
    arena_reset(&l->shown);
}

/* The jobs that changed as they are now, those that are gone left out. */
static int fetch_changed(struct list *l, struct queued_client *c)
{
    struct queued_error e;

    for (size_t i = 0; i < l->changed.n; i++) {
        struct queued_jobs *one = NULL;

        if (queued_get(c, l->changed.v[i], &one, &e) == 0) {
            *vec_push(&l->pages) = one;
            *vec_push(&l->jobs) = &one->v[0];
        } else if (e.code != QUEUED_NOT_FOUND) {
            return cli_error(&e);
        }
    }
    return 0;
}

/* A terminal shows the whole list again; elsewhere there is a row for each change. */
static int show_change(struct list *l, struct queued_client *c)
{
    bool is_tty = isatty(STDOUT_FILENO) == 1 && l->format <= FORMAT_WIDE;
    int rc = is_tty ? fetch(l, c) : fetch_changed(l, c);

    if (is_tty)
        (void)fputs("\033[H\033[2J", stdout);
    l->no_headers = l->no_headers || (!is_tty && l->is_told);
    l->is_told = l->is_told || l->jobs.n > 0;
    if (rc == 0 && (l->jobs.n || is_tty))
        rc = print(l);
    return rc ? rc : fflush(stdout) ? EXIT_FAILED : 0;
}

/* Until stdout is closed or the user ends it. */
static int follow(struct list *l, struct queued_client *c)
{
    struct queued_watch_options o = {.after_seq = l->pages.v[0]->as_of_seq,
                                     .filter = l->query.filter};
    struct queued_watch *stream = NULL;
    struct queued_error e;
    int rc = 0;

    if (queued_watch_open(c, &o, &stream, &e))
        return cli_error(&e);
    l->is_told = l->jobs.n > 0;
    while (rc == 0) {
        forget(l);
        if (queued_watch_next(stream, -1, first_change, l, &e) < 0 ||
            queued_watch_next(stream, 0, note_change, l, &e) < 0)
            rc = cli_error(&e);
        else
            rc = show_change(l, c);
    }
    queued_watch_close(stream);
    return rc;
}

static int run(struct list *l)
{
    struct queued_client *c = NULL;
    int rc = l->sort ? find_order(l->sort, &l->order) : 0;

    if (rc == 0)
        rc = read_filter(l);
    if (rc == 0)
        rc = cli_connect(&c, cli_timeout_ms());
    if (rc == 0)
        rc = fetch(l, c);
    if (rc == 0 && l->quiet)
        rc = l->jobs.n ? EXIT_OK : EXIT_FAILED;
    else if (rc == 0)
        rc = print(l);
    if (rc == 0 && l->follows)
        rc = fflush(stdout) ? EXIT_FAILED : follow(l, c);
    queued_close(c);
    return rc;
}

/* What goes with --watch. */
static int check_follow(const struct list *l)
{
    if (!l->follows)
        return 0;
    if (l->quiet || l->limit_text || l->token || l->array)
        return cli_usage("list: -w goes with none of -q, --limit, --continue and --array");
    if (l->format == FORMAT_JSON || l->format == FORMAT_YAML || l->format == FORMAT_CSV)
        return cli_usage("list: -w goes with -o table, wide, name and jsonl");
    return 0;
}

int cmd_list(int argc, char **argv)
{
    struct list l = {0};
    const struct cli_option options[] = {
        {"all-tenants", 'A', OPTION_FLAG, &l.all},
        {"tenant", 0, OPTION_TEXT, &l.tenant},
        {"user", 0, OPTION_TEXT, &l.user},
        {"state", 0, OPTION_TEXT, &l.states},
        {"selector", 'l', OPTION_REPEATED, &l.labels},
        {"sort", 0, OPTION_TEXT, &l.sort},
        {"limit", 0, OPTION_TEXT, &l.limit_text},
        {"array", 0, OPTION_TEXT, &l.array},
        {"since", 0, OPTION_TEXT, &l.since},
        {"continue", 0, OPTION_TEXT, &l.token},
        {"quiet", 'q', OPTION_FLAG, &l.quiet},
        {"no-headers", 0, OPTION_FLAG, &l.no_headers},
        {"columns", 0, OPTION_TEXT, &l.columns},
        {"watch", 'w', OPTION_FLAG, &l.follows},
    };
    int first, rc = cli_parse(&(struct cli_options){"list", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        rc--;
    else if (first < argc)
        rc = cli_usage("list: unexpected \"%s\"; queuectl describe JOB shows one job", argv[first]);
    else if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_WIDE | 1u << FORMAT_JSON |
                            1u << FORMAT_YAML | 1u << FORMAT_NAME | 1u << FORMAT_CSV |
                            1u << FORMAT_JSONL,
                        &l.format))
        rc = EXIT_USAGE;
    else if (l.columns && l.format > FORMAT_WIDE && l.format != FORMAT_CSV)
        rc = cli_usage("list: --columns goes with -o table, wide and csv");
    else
        rc = check_follow(&l) ? EXIT_USAGE : run(&l);
    forget(&l);
    vec_fini(&l.changed);
    vec_fini(&l.pages);
    vec_fini(&l.jobs);
    cli_texts_fini(&l.labels);
    queued_cursor_free(l.cursor);
    arena_fini(&l.arena);
    arena_fini(&l.shown);
    return rc;
}
