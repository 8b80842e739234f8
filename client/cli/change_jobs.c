/* SPDX-License-Identifier: Apache-2.0 */
/* change_jobs.c - a request for each job that is named, many at once; lines as they are done,
 * documents at the end.
 *
 * What is not named one by one is counted and asked about first, unless -y says so, and is then
 * changed by one request, so that none of it starts in between.
 */
#include "change_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "print_job.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"
#include "util/vec.h"

typedef VEC(struct queued_changed) changed_list;

static void print_documents(const changed_list *done, enum cli_format format)
{
    struct arena arena = {0};
    struct document *items, *d = list_document(&arena, "GangJobList", &items);

    for (size_t i = 0; i < done->n; i++) {
        struct document *j = document_map(&arena), *part;

        document_put_text(&arena, j, "apiVersion", "gang.queued/v1");
        document_put_text(&arena, j, "kind", "GangJob");
        part = document_put_map(&arena, j, "metadata");
        document_put_text(&arena, part, "name", done->v[i].name);
        document_put_text(&arena, part, "id", done->v[i].id);
        part = document_put_map(&arena, j, "status");
        document_put_text(&arena, part, "state", done->v[i].state);
        document_add(&arena, items, j);
    }
    cli_print(d, format);
    arena_fini(&arena);
}

int change_format(struct job_change *x)
{
    return cli_format(
        1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML | 1u << FORMAT_NAME, &x->format);
}

/* What is asked for at once, and what came of it. */
struct round {
    struct queued_change asked[QUEUED_CHANGES_MAX];
    struct queued_changed done[QUEUED_CHANGES_MAX];
    struct queued_error errors[QUEUED_CHANGES_MAX];
    size_t n;
};

/* Changes of one kind go together, updates one by one. */
static void run_round(const struct job_change *x, struct queued_client *c, struct round *r)
{
    struct queued_update update;

    if (!x->update) {
        (void)queued_change_all(c, r->asked, r->n, r->done, r->errors);
        return;
    }
    update = *x->update;
    update.job = r->asked[0].job;
    r->errors[0].code = QUEUED_OK;
    (void)queued_update(c, &update, &r->done[0], &r->errors[0]);
}

static void show_one(const struct job_change *x, const struct queued_changed *j, changed_list *done)
{
    *vec_push(done) = *j;
    if (x->format == FORMAT_NAME)
        (void)printf("job/%s\n", j->name);
    else if (x->format == FORMAT_TABLE)
        x->print(j);
}

/* true: the daemon does not answer; that is said once. */
static bool show_round(const struct job_change *x, const struct round *r, changed_list *done,
                       int *rc)
{
    bool is_gone = false;

    for (size_t i = 0; i < r->n; i++) {
        const struct queued_changed *j = &r->done[i];

        if (r->errors[i].code != QUEUED_OK) {
            bool is_silent = r->errors[i].code == QUEUED_UNAVAILABLE;
            int code = is_silent && is_gone ? *rc : cli_error(&r->errors[i]);

            *rc = *rc ? *rc : code;
            is_gone = is_gone || is_silent;
            continue;
        }
        show_one(x, j, done);
    }
    return is_gone;
}

int change_jobs(const struct job_change *x, struct queued_client *c, const char *const *names,
                size_t n)
{
    size_t at_once = x->update ? 1 : QUEUED_CHANGES_MAX;
    struct round *r = xcalloc(1, sizeof(*r));
    changed_list done = {0};
    bool is_gone = false;
    int rc = 0;

    for (size_t i = 0; i < n && !is_gone; i += r->n) {
        for (r->n = 0; r->n < at_once && i + r->n < n; r->n++)
            r->asked[r->n] =
                (struct queued_change){x->verb, names[i + r->n], x->reason, x->grace_us};
        run_round(x, c, r);
        is_gone = show_round(x, r, &done, &rc);
    }
    if (x->format == FORMAT_JSON || x->format == FORMAT_YAML)
        print_documents(&done, x->format);
    vec_fini(&done);
    free(r);
    return rc;
}

struct selection {
    const struct job_command *command;
    bool all, yes;
    const char *tenant;
    const char *grace;
    bool is_forced;
    struct cli_texts labels;
    struct arena arena;
    struct queued_filter filter; /* of what nobody named */
    VEC(const char *) names;     /* those: ids, ascending */
    size_t at;                   /* of names: told so far */
    changed_list done;
};

/* "a,b" as a list of its words. */
static const char **split(struct arena *a, const char *words, size_t *ret_n)
{
    char *rest = arena_strdup(a, words);
    const char **v = arena_alloc(a, (strlen(words) + 1) * sizeof(*v));

    *ret_n = 0;
    for (char *one = strtok_r(rest, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        v[(*ret_n)++] = one;
    return v;
}

/* All jobs that match, page by page, in order of their ids. */
static int each_job(struct selection *x, struct queued_client *c,
                    void (*take)(struct selection *x, const struct queued_job *job))
{
    struct queued_query query = {.filter = x->filter};
    struct queued_cursor *cursor = NULL;
    struct queued_error e;

    do {
        struct queued_jobs *page = NULL;

        if (queued_list(c, &query, &cursor, &page, &e))
            return cli_error(&e);
        for (size_t i = 0; i < page->n; i++)
            if (page->v[i].id)
                take(x, &page->v[i]);
        queued_jobs_free(page);
    } while (cursor);
    return 0;
}

static void take_name(struct selection *x, const struct queued_job *job)
{
    *vec_push(&x->names) = arena_strdup(&x->arena, job->id);
}

static int select_jobs(struct selection *x, struct queued_client *c)
{
    struct queued_pair *labels;

    if (cli_pairs(&x->labels, &labels, &x->filter.n_labels, &x->arena))
        return EXIT_USAGE;
    x->filter.labels = labels;
    x->filter.states = split(&x->arena, x->command->states, &x->filter.n_states);
    x->filter.tenant = x->tenant;
    x->filter.all = x->tenant != NULL;
    return each_job(x, c, take_name);
}

/* Several jobs that nobody named: ask. 0: go on. */
static int confirm(const struct selection *x)
{
    char answer[8] = "";

    if (x->yes)
        return 0;
    if (isatty(STDIN_FILENO) != 1)
        return cli_usage("%s: this would %s %zu jobs; say -y to do it", x->command->name,
                         x->command->name, x->names.n);
    (void)fprintf(stderr, "%s %zu jobs? [y/N] ", x->command->name, x->names.n);
    if (!fgets(answer, sizeof(answer), stdin) || (answer[0] != 'y' && answer[0] != 'Y')) {
        cli_note("nothing was changed");
        return EXIT_FAILED;
    }
    return 0;
}

/* Of those that were asked about, as they are now. */
static void take_done(struct selection *x, const struct queued_job *job)
{
    const struct job_change *change = x->command->change;
    struct queued_changed now = {.id = ""};

    while (x->at < x->names.n && strcmp(x->names.v[x->at], job->id) < 0)
        x->at++;
    if (x->at == x->names.n || strcmp(x->names.v[x->at], job->id) != 0)
        return;
    (void)str_copy(now.id, sizeof(now.id), job->id);
    (void)str_copy(now.name, sizeof(now.name), job->name ? job->name : job->id);
    (void)str_copy(now.state, sizeof(now.state), job->state ? job->state : "?");
    show_one(change, &now, &x->done);
}

/* One request for all that match, also for those that came after the question. */
static int change_matching(struct selection *x, struct queued_client *c)
{
    const struct job_change *change = x->command->change;
    struct queued_change all = {change->verb, NULL, change->reason, change->grace_us};
    char text[QUEUED_TEXT_MAX];
    struct queued_error e;
    int rc;

    if (queued_change_selected(c, &x->filter, &all, text, &e)) {
        if (e.code == QUEUED_INVALID && strstr(e.text, "method 230")) /* an older daemon */
            return change_jobs(change, c, x->names.v, x->names.n);
        return cli_error(&e);
    }
    x->filter.n_states = 0;
    rc = each_job(x, c, take_done);
    if (change->format == FORMAT_JSON || change->format == FORMAT_YAML)
        print_documents(&x->done, change->format);
    if (strstr(text, "left as they are"))
        cli_note("%s", text);
    return rc;
}

static int change_selected(struct selection *x)
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
    if (rc == 0 && x->names.n && is_bulk)
        rc = change_matching(x, c);
    else if (rc == 0)
        rc = change_jobs(x->command->change, c, x->names.v, x->names.n);
    queued_close(c);
    return rc;
}

/* --grace and --force of a cancel. */
static int read_grace(struct selection *x)
{
    struct job_change *change = x->command->change;
    struct err err;
    usec_t t = USEC_PER_SEC;

    if (x->grace && x->is_forced)
        return cli_usage("cancel: --grace or --force, not both");
    if (x->grace && parse_duration(x->grace, &t, &err))
        return cli_usage("cancel: --grace: %s", err.text);
    if (t < USEC_PER_SEC)
        return cli_usage("cancel: --grace %s: write one second or more; --force is the least",
                         x->grace);
    if (x->grace || x->is_forced)
        change->grace_us = t;
    return 0;
}

static int check_selection(struct selection *x, int argc, char **argv, int first)
{
    const char *name = x->command->name;
    bool has_selector = x->labels.n || x->all;

    for (int i = first; i < argc; i++)
        *vec_push(&x->names) = argv[i];
    if (x->names.n && has_selector)
        return cli_usage("%s: name jobs, or select them with -l or --all, not both", name);
    if (!x->names.n && !has_selector)
        return cli_usage("%s: name the jobs, or select them with -l or --all", name);
    if (x->all && !x->tenant)
        return cli_usage("%s: --all needs --tenant", name);
    if (x->tenant && !*x->tenant)
        return cli_usage("%s: --tenant is empty: name one", name);
    if (x->command->change->reason && x->command->change->verb == QUEUED_CHECKPOINTED)
        return cli_usage("%s: a job has saved without a --reason", name);
    return read_grace(x) || change_format(x->command->change) ? EXIT_USAGE : 0;
}

int change_command(const struct job_command *command, int argc, char **argv)
{
    struct selection x = {.command = command};
    const struct cli_option options[] = {
        {"selector", 'l', OPTION_REPEATED, &x.labels},
        {"all", 0, OPTION_FLAG, &x.all},
        {"tenant", 0, OPTION_TEXT, &x.tenant},
        {"reason", 0, OPTION_TEXT, &command->change->reason},
        {"yes", 'y', OPTION_FLAG, &x.yes},
        {"grace", 0, OPTION_TEXT, &x.grace}, /* the last two are of a cancel */
        {"force", 0, OPTION_FLAG, &x.is_forced},
    };
    size_t n = ARRAY_LEN(options) - (command->change->verb == QUEUED_CANCEL ? 0 : 2);
    int first, rc = cli_parse(&(struct cli_options){command->name, options, n}, argc, argv, &first);

    rc = rc ? rc - 1 : check_selection(&x, argc, argv, first) ? EXIT_USAGE : change_selected(&x);
    vec_fini(&x.names);
    vec_fini(&x.done);
    cli_texts_fini(&x.labels);
    arena_fini(&x.arena);
    return rc;
}
