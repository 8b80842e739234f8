/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_change.c - queuectl hold, release, requeue, preempt: named jobs, one line a job. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "print_job.h"
#include "util/mem.h"
#include "util/vec.h"

struct change {
    const char *command;
    enum queued_verb verb;
    const char *reason;
    enum cli_format format;
    VEC(struct queued_changed) done;
};

static void print_one(const struct change *x, const struct queued_changed *j)
{
    if (x->format == FORMAT_NAME)
        (void)printf("job/%s\n", j->name);
    else if (x->format == FORMAT_TABLE)
        (void)printf("job/%s is %s\n", j->name, j->state);
}

static void print_documents(const struct change *x)
{
    struct arena arena = {0};
    struct document *items, *d = list_document(&arena, "GangJobList", &items);

    for (size_t i = 0; i < x->done.n; i++) {
        struct document *j = document_map(&arena), *part;

        document_put_text(&arena, j, "apiVersion", "gang.queued/v1");
        document_put_text(&arena, j, "kind", "GangJob");
        part = document_put_map(&arena, j, "metadata");
        document_put_text(&arena, part, "name", x->done.v[i].name);
        document_put_text(&arena, part, "id", x->done.v[i].id);
        part = document_put_map(&arena, j, "status");
        document_put_text(&arena, part, "state", x->done.v[i].state);
        document_add(&arena, items, j);
    }
    cli_print(d, x->format);
    arena_fini(&arena);
}

/* All of them, also after one was refused; the first trouble gives the exit code. */
static int change_jobs(struct change *x, int argc, char **argv, int first)
{
    struct queued_client *c = NULL;
    int rc = cli_connect(&c, cli_timeout_ms());

    for (int i = first; i < argc && c; i++) {
        struct queued_change change = {x->verb, argv[i], x->reason};
        struct queued_changed j;
        struct queued_error e;

        if (queued_change(c, &change, &j, &e)) {
            int code = cli_error(&e);

            rc = rc ? rc : code;
            if (e.code == QUEUED_UNAVAILABLE)
                break;
            continue;
        }
        *vec_push(&x->done) = j;
        print_one(x, &j);
    }
    queued_close(c);
    if (x->format == FORMAT_JSON || x->format == FORMAT_YAML)
        print_documents(x);
    return rc;
}

static int run(struct change *x, int argc, char **argv)
{
    const struct cli_option options[] = {{"reason", 0, OPTION_TEXT, &x->reason}};
    int first, rc = cli_parse(&(struct cli_options){x->command, options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first >= argc)
        return cli_usage("%s: name the jobs; 'queuectl list' shows them", x->command);
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML | 1u << FORMAT_NAME,
                   &x->format))
        return EXIT_USAGE;
    rc = change_jobs(x, argc, argv, first);
    vec_fini(&x->done);
    return rc;
}

int cmd_hold(int argc, char **argv)
{
    return run(&(struct change){.command = "hold", .verb = QUEUED_HOLD}, argc, argv);
}

int cmd_release(int argc, char **argv)
{
    return run(&(struct change){.command = "release", .verb = QUEUED_RELEASE}, argc, argv);
}

int cmd_requeue(int argc, char **argv)
{
    return run(&(struct change){.command = "requeue", .verb = QUEUED_REQUEUE}, argc, argv);
}

int cmd_preempt(int argc, char **argv)
{
    return run(&(struct change){.command = "preempt", .verb = QUEUED_PREEMPT}, argc, argv);
}
