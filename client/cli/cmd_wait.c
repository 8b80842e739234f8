/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_wait.c - queuectl wait, and what submit --wait shares with it.
 *
 * Progress goes to stderr. Ctrl-C detaches: the jobs go on. Exit codes 1..7 of the command line
 * end where a job was accepted; from there on a trouble of ours is 125.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "client_job.h"
#include "util/mem.h"
#include "util/str.h"

static const struct {
    const char *state;
    int code;
} final_codes[] = {
    {"Succeeded", EXIT_OK}, {"Cancelled", EXIT_CANCELLED}, {"Preempted", EXIT_PREEMPTED},
    {"Lost", EXIT_LOST},    {"TimedOut", EXIT_TIMED_OUT},
};

int cli_job_exit(const struct queued_job *job)
{
    const char *state = job->state ? job->state : "";

    for (size_t i = 0; i < ARRAY_LEN(final_codes); i++)
        if (strcmp(final_codes[i].state, state) == 0)
            return final_codes[i].code;
    if (!queued_state_is_final(state))
        return EXIT_OK; /* what was waited for is reached */
    return job->has_exit_code && job->exit_code > 0 && job->exit_code < 256 ? job->exit_code
                                                                            : EXIT_FAILED;
}

/* What the signal handler says; made before it can run. */
static struct str goodbye;
static void (*on_interrupt)(int signo); /* NULL: detach */
/* Called when the one job begins to run. */
static void (*tell_running)(const char *job, void *ctx);
static void *tell_ctx;

static void detach(int signo)
{
    ssize_t written = write(STDERR_FILENO, goodbye.s, goodbye.len);

    (void)signo;
    (void)written; /* nothing else can be done here */
    _exit(EXIT_INTERRUPTED);
}

static void prepare_detach(const char *const *jobs, size_t n)
{
    struct sigaction action = {.sa_handler = on_interrupt ? on_interrupt : detach};

    str_clear(&goodbye);
    str_add(&goodbye, "\nqueuectl: detached, the jobs go on; to wait again: queuectl wait");
    for (size_t i = 0; i < n; i++)
        str_addf(&goodbye, " %s", jobs[i]);
    str_addf(&goodbye, "; to stop: queuectl cancel %s\n", n == 1 ? jobs[0] : "JOB...");
    (void)sigaction(SIGINT, &action, NULL); /* without it Ctrl-C just ends us */
}

/* One line on a terminal, redrawn; one line per change elsewhere. */
static void show(const char *job, const char *state, const char *reason, const char *text)
{
    bool is_tty = isatty(STDERR_FILENO) == 1;

    (void)fprintf(stderr, "%s%s  %s%s%s%s%s%s", is_tty ? "\r\033[K" : "", job ? job : "",
                  state ? state : "", reason && *reason ? "  " : "", reason ? reason : "",
                  text && *text ? ": " : "", text ? text : "", is_tty ? "" : "\n");
    (void)fflush(stderr);
}

/* The end is told once it is known for sure, with what the job says of itself. */
static int show_change(const struct queued_event *e, void *ctx)
{
    (void)ctx;
    if (e->to && !queued_state_is_final(e->to))
        show(e->job_name, e->to, e->reason, e->text);
    if (tell_running && e->to && strcmp(e->to, "Running") == 0 && e->job_name)
        tell_running(e->job_name, tell_ctx);
    return 0;
}

static void show_ends(const struct queued_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        show(jobs->v[i].name, jobs->v[i].state, jobs->v[i].reason_code, jobs->v[i].reason_text);
}

static int judge(const struct queued_jobs *jobs, const struct queued_wait_options *o)
{
    int worst = EXIT_OK, best = EXIT_FAILED;

    if (jobs->n == 1)
        return cli_job_exit(&jobs->v[0]);
    for (size_t i = 0; i < jobs->n; i++) {
        int code = cli_job_exit(&jobs->v[i]);

        worst = code ? EXIT_FAILED : worst;
        best = code == 0 && job_has_reached(&jobs->v[i], o->what) ? EXIT_OK : best;
    }
    return o->any ? best : worst;
}

static int run(struct queued_client *c, struct queued_wait_options *o)
{
    struct queued_jobs *done = NULL;
    struct queued_error e;
    int rc;

    o->on_event = show_change;
    prepare_detach(o->jobs, o->n);
    if (queued_wait(c, o, &done, &e) == 0)
        rc = judge(done, o);
    else if (e.code == QUEUED_DEADLINE)
        rc = EXIT_WAIT_OVER;
    else
        rc = e.code == QUEUED_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_WAIT_FAILED;
    if (done)
        show_ends(done);
    if (isatty(STDERR_FILENO) == 1)
        (void)fputc('\n', stderr);
    if (!done)
        cli_note("%s", e.text);
    queued_jobs_free(done);
    return rc;
}

int cli_wait_all(struct queued_client *c, const char *const *jobs, size_t n)
{
    struct queued_wait_options o = {.n = n, .jobs = jobs, .wait_ms = (int64_t)cli_timeout_ms()};

    return run(c, &o);
}

void cli_wait_stops_by(void (*handler)(int signo))
{
    on_interrupt = handler;
}

int cli_wait_running(struct queued_client *c, const char *job)
{
    struct queued_wait_options o = {
        .n = 1, .jobs = &job, .what = QUEUED_WAIT_RUNNING, .wait_ms = (int64_t)cli_timeout_ms()};
    struct queued_jobs *now = NULL;
    struct queued_error e;
    int rc;

    if (run(c, &o) == EXIT_WAIT_OVER)
        return EXIT_WAIT_OVER;
    if (queued_get(c, job, &now, &e)) {
        cli_note("%s", e.text);
        return EXIT_WAIT_FAILED;
    }
    rc = queued_state_is_final(now->v[0].state) ? cli_job_exit(&now->v[0]) : -1;
    queued_jobs_free(now);
    return rc;
}

int cli_wait_end(struct queued_client *c, const char *job,
                 void (*on_running)(const char *job, void *ctx), void *ctx)
{
    tell_running = on_running;
    tell_ctx = ctx;
    return cli_wait_all(c, &job, 1);
}

/* "@last" by its name: what is newest may be another one when the user is told how to go on. */
static int name_jobs(struct queued_client *c, const char **jobs, size_t n, struct arena *a)
{
    for (size_t i = 0; i < n; i++) {
        struct queued_jobs *found = NULL;
        struct queued_error e;

        if (jobs[i][0] != '@')
            continue;
        if (queued_get(c, jobs[i], &found, &e)) {
            cli_note("%s", e.text);
            return e.code == QUEUED_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_WAIT_FAILED;
        }
        if (found->v[0].name)
            jobs[i] = arena_strdup(a, found->v[0].name);
        queued_jobs_free(found);
    }
    return EXIT_OK;
}

static int read_what(const char *word, enum queued_wait_for *ret)
{
    static const char *const words[] = {
        [QUEUED_WAIT_FINISHED] = "finished",
        [QUEUED_WAIT_RUNNING] = "running",
        [QUEUED_WAIT_SCHEDULED] = "scheduled",
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i], word) == 0) {
            *ret = (enum queued_wait_for)i;
            return 0;
        }
    }
    return cli_usage("wait: --for %s: write finished, running or scheduled", word);
}

int cmd_wait(int argc, char **argv)
{
    const char *what = "finished";
    bool any = false, all = false;
    const struct cli_option options[] = {
        {"for", 0, OPTION_TEXT, &what},
        {"any", 0, OPTION_FLAG, &any},
        {"all", 0, OPTION_FLAG, &all},
    };
    struct queued_wait_options o = {0};
    struct queued_client *c = NULL;
    enum cli_format format;
    struct arena a = {0};
    const char **jobs;
    int first, rc = cli_parse(&(struct cli_options){"wait", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (any && all)
        return cli_usage("wait: --any or --all, not both");
    if (first == argc)
        return cli_usage("wait: name the jobs to wait for; queuectl list shows them");
    if (read_what(what, &o.what) || cli_format(1u << FORMAT_TABLE, &format))
        return EXIT_USAGE;
    o.any = any;
    o.wait_ms = (int64_t)cli_timeout_ms();
    if (cli_connect(&c, 0))
        return EXIT_WAIT_FAILED;
    o.n = (size_t)(argc - first);
    o.jobs = jobs = arena_alloc(&a, o.n * sizeof(*jobs));
    memcpy(jobs, &argv[first], o.n * sizeof(*jobs));
    rc = name_jobs(c, jobs, o.n, &a);
    if (rc == EXIT_OK)
        rc = run(c, &o);
    queued_close(c);
    arena_fini(&a);
    return rc;
}
