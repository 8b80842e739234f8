/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_watch.c - queuectl watch: the stream of events, one line each.
 *
 * With --exit-when-done the end is judged by the job's present state, not by its history.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "print_job.h"
#include "util/mem.h"
#include "util/parse.h"

enum { LAST_LOOK_MS = 200 };

struct watch {
    bool all, exit_when_done;
    const char *tenant, *from;
    enum cli_format format;
    struct queued_watch_options options;
};

static void print_json(const struct queued_event *e)
{
    struct arena a = {0};

    cli_print(event_document(&a, e), FORMAT_JSONL);
    arena_fini(&a);
}

void event_print(const struct queued_event *e)
{
    char buf[FORMAT_MAX];
    bool is_new = !e->from || !*e->from;

    (void)printf("%llu  %s  %s  %s%s%s", (unsigned long long)e->seq,
                 e->at_us > 0 ? format_time(buf, e->at_us) : "-", e->job_name ? e->job_name : "-",
                 is_new ? "submitted" : e->from, is_new ? ", " : " -> ", e->to ? e->to : "-");
    if (e->reason && *e->reason)
        (void)printf("  %s", e->reason);
    if (e->text && *e->text)
        (void)printf(": %s", e->text);
    (void)putchar('\n');
}

static int on_event(const struct queued_event *e, void *ctx)
{
    const struct watch *w = ctx;

    if (w->format == FORMAT_JSONL)
        print_json(e);
    else
        event_print(e);
    if (fflush(stdout))
        return 1; /* nobody reads any more */
    return w->exit_when_done && e->to && queued_state_is_final(e->to);
}

/* 1: the job has ended, *ret_exit is its code; 0: it has not; -1: error. The first look is also
 * where a stream of new events begins: an end after it is seen. */
static int has_ended(struct watch *w, struct queued_client *c, int *ret_exit,
                     struct queued_error *e)
{
    struct queued_jobs *jobs = NULL;
    int rc;

    if (queued_get(c, w->options.job, &jobs, e))
        return -1;
    if (w->options.from_now)
        w->options.after_seq = jobs->as_of_seq;
    w->options.from_now = false;
    rc = jobs->v[0].state && queued_state_is_final(jobs->v[0].state);
    if (rc)
        *ret_exit = cli_job_exit(&jobs->v[0]);
    queued_jobs_free(jobs);
    return rc;
}

/* Until stdout is closed, or the job has ended. */
static int follow(struct watch *w, struct queued_client *c, struct queued_watch *stream, int ended)
{
    struct queued_error e;
    int code = EXIT_OK;

    for (;;) {
        /* when it has ended, one more look for what came before */
        int rc = queued_watch_next(stream, ended ? LAST_LOOK_MS : -1, on_event, w, &e);

        if (rc < 0)
            return cli_error(&e);
        if (ended || !w->exit_when_done || ferror(stdout))
            break;
        ended = has_ended(w, c, &code, &e);
        if (ended < 0)
            return cli_error(&e);
    }
    if (w->exit_when_done && has_ended(w, c, &code, &e) < 0)
        return cli_error(&e);
    return code;
}

static int run(struct watch *w)
{
    struct queued_client *c = NULL;
    struct queued_watch *stream = NULL;
    struct queued_error e;
    struct err err;
    int rc, ended = 0;

    w->options.from_now = w->from == NULL;
    if (w->from && parse_u64(w->from, 0, UINT64_MAX - 1, &w->options.after_seq, &err))
        return cli_usage("watch: --from: %s", err.text);
    w->options.filter.all = w->all || w->tenant;
    w->options.filter.tenant = w->tenant;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc)
        return rc;
    if (w->exit_when_done)
        ended = has_ended(w, c, &rc, &e);
    if (ended < 0 || queued_watch_open(c, &w->options, &stream, &e))
        rc = cli_error(&e);
    else
        rc = follow(w, c, stream, ended);
    queued_watch_close(stream);
    queued_close(c);
    return rc;
}

int cmd_watch(int argc, char **argv)
{
    struct watch w = {0};
    const struct cli_option options[] = {
        {"all-tenants", 'A', OPTION_FLAG, &w.all},
        {"tenant", 0, OPTION_TEXT, &w.tenant},
        {"from", 0, OPTION_TEXT, &w.from},
        {"exit-when-done", 0, OPTION_FLAG, &w.exit_when_done},
    };
    int first, rc = cli_parse(&(struct cli_options){"watch", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (argc - first > 1)
        return cli_usage("watch: name one job, or none for all of yours");
    if (first < argc)
        w.options.job = argv[first];
    if (w.exit_when_done && !w.options.job)
        return cli_usage("watch: --exit-when-done needs a job");
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSONL, &w.format))
        return EXIT_USAGE;
    return run(&w);
}
