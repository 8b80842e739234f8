/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show.c - queuectl describe and why: one job, for people and for programs.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "print_job.h"
#include "print_table.h"
#include "spec_doc.h"
#include "util/err.h"
#include "util/mem.h"
#include "util/parse.h"

static void line(const char *name, const char *text)
{
    if (text && *text)
        (void)printf("  %-9s  %s\n", name, text);
}

static void line_time(const char *name, int64_t usec)
{
    char buf[FORMAT_MAX];

    if (usec > 0)
        line(name, format_time(buf, usec));
}

static void print_summary(const struct queued_job *job)
{
    char buf[FORMAT_MAX];

    (void)printf("Summary\n");
    line("name", job->name);
    line("id", job->id);
    line("tenant", job->tenant);
    line("namespace", job->ns);
    line("user", job->user);
    line("priority", job->priority_class);
    line("key", job->submit_key);
    line("state", job->state);
    line("outcome", job->outcome);
    line_time("created", job->created_us);
    line_time("running", job->running_us);
    line_time("saved", job->checkpointed_us);
    line_time("ended", job->ended_us);
    (void)printf("  %-9s  %llu in %u pods%s%s\n", "gpus", (unsigned long long)job->gpus, job->pods,
                 job->gpu_model ? ", " : "", job->gpu_model ? job->gpu_model : "");
    if (job->most_pods)
        (void)printf("  %-9s  %u pods now, %u to %u\n", "elastic", job->now_pods, job->pods,
                     job->most_pods);
    if (job->array)
        (void)printf("  %-9s  %u indices: %u running, %u waiting, %u succeeded, %u failed, "
                     "%u cancelled\n",
                     "array", job->array->indices, job->array->running, job->array->waiting,
                     job->array->succeeded, job->array->failed, job->array->cancelled);
    if (job->array) {
        line("open", job->array->open);
        line("failed", job->array->failed_indices);
    }
    if (job->restarts)
        (void)printf("  %-9s  %u\n", "restarts", job->restarts);
    if (job->has_exit_code)
        (void)printf("  %-9s  %d\n", "exit code", job->exit_code);
    if (job->state_since_us > 0)
        (void)printf("  %-9s  %s\n", "since",
                     format_duration(buf, (cli_now_us() - job->state_since_us) / USEC_PER_SEC *
                                              USEC_PER_SEC));
}

static void print_start(const char *what, int64_t start_us, const char *basis)
{
    char in[JOB_ETA_MAX], at[FORMAT_MAX];
    const char *eta = job_eta(in, start_us, cli_now_us());

    if (eta && basis)
        (void)printf("  %-9s  %s, at %s, %s\n", what, eta, format_time(at, start_us), basis);
    else
        line(what, basis);
}

/* When it will start, and what that rests on or why it is not known. */
static void print_eta(const struct queued_job *job)
{
    char at[FORMAT_MAX], end[FORMAT_MAX];

    print_start("eta", job->predicted_start_us, job->predicted_basis);
    print_start("usual eta", job->predicted_usual_start_us, job->predicted_usual_basis);
    if (job->predicted_end_us > 0)
        (void)printf("  %-9s  last index starts at %s, all have ended by %s\n", "array",
                     format_time(at, job->predicted_last_start_us),
                     format_time(end, job->predicted_end_us));
}

static void print_reason(const struct queued_job *job)
{
    if (!job->reason_code)
        return;
    (void)printf("\n%s\n", job->position ? "Why pending" : "Reason");
    line("code", job->reason_code);
    line("text", job->reason_text);
    if (job->position)
        (void)printf("  %-9s  %u in tenant %s\n", "position", job->position,
                     job->tenant ? job->tenant : "");
    print_eta(job);
}

static void print_pods(const struct queued_attempt *t)
{
    static const struct table_column columns[] = {
        {"POD", TABLE_WHOLE, 0},  {"RANK", TABLE_WHOLE, 0},  {"NODE", TABLE_WHOLE, 0},
        {"GPUS", TABLE_WHOLE, 0}, {"PHASE", TABLE_WHOLE, 0}, {"EXIT", TABLE_WHOLE, 0},
    };
    struct table *table = table_create(columns, ARRAY_LEN(columns));

    for (size_t i = 0; i < t->n_pods; i++) {
        const struct queued_pod *p = &t->pods[i];

        table_add(table, p->name);
        table_addf(table, "%u", p->rank);
        table_add(table, p->node);
        table_addf(table, "%u", p->gpus);
        table_add(table, p->phase);
        if (p->has_exit_code)
            table_addf(table, "%d", p->exit_code);
        else
            table_add(table, NULL);
    }
    (void)printf("\nPods\n");
    table_print(table, 0, true);
    table_destroy(table);
}

static void print_attempts(const struct queued_job *job)
{
    static const struct table_column columns[] = {
        {"ATTEMPT", TABLE_WHOLE, 0}, {"STARTED", TABLE_WHOLE, 0}, {"RUNNING", TABLE_WHOLE, 0},
        {"ENDED", TABLE_WHOLE, 0},   {"EXIT", TABLE_WHOLE, 0},    {"REASON", TABLE_WHOLE, 0},
    };
    struct table *table;
    char buf[FORMAT_MAX];

    if (job->n_attempts == 0)
        return;
    table = table_create(columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < job->n_attempts; i++) {
        const struct queued_attempt *t = &job->attempts[i];

        table_addf(table, "%u", t->number);
        table_add(table, t->started_us > 0 ? format_time(buf, t->started_us) : NULL);
        table_add(table, t->running_us > 0 ? format_time(buf, t->running_us) : NULL);
        table_add(table, t->ended_us > 0 ? format_time(buf, t->ended_us) : NULL);
        if (t->has_exit_code)
            table_addf(table, "%d", t->exit_code);
        else
            table_add(table, NULL);
        table_add(table, t->reason);
    }
    (void)printf("\nAttempts\n");
    table_print(table, 0, true);
    table_destroy(table);
}

static void print_job(const struct queued_job *job)
{
    print_summary(job);
    print_reason(job);
    if (job->placement) {
        (void)printf("\nPlacement\n");
        line("domains", job->placement);
    }
    if (job->n_attempts && job->attempts[job->n_attempts - 1].n_pods)
        print_pods(&job->attempts[job->n_attempts - 1]);
    print_attempts(job);
}

static int print_spec(const struct queued_job *job, enum cli_format format)
{
    struct arena a = {0};

    if (!job->spec) {
        cli_note("the daemon did not send the spec of this job");
        return EXIT_FAILED;
    }
    cli_print(spec_doc_file(&a, (const Queued__V1__JobSpec *)(const void *)job->spec),
              format == FORMAT_JSON ? FORMAT_JSON : FORMAT_YAML);
    arena_fini(&a);
    return EXIT_OK;
}

/* ---- the history of a job */

enum { HISTORY_STEP_MS = 20, HISTORY_MAX_MS = 30000 };

struct history {
    struct document *list; /* NULL: print lines */
    struct arena *arena;
};

static const char *keep(const struct history *h, const char *text)
{
    return text ? arena_strdup(h->arena, text) : NULL;
}

static int on_event(const struct queued_event *e, void *ctx)
{
    struct history *h = ctx;
    struct queued_event kept = *e; /* its texts are gone after this call */

    if (!h->list) {
        event_print(e);
        return 0;
    }
    kept.job_id = keep(h, e->job_id);
    kept.job_name = keep(h, e->job_name);
    kept.tenant = keep(h, e->tenant);
    kept.from = keep(h, e->from);
    kept.to = keep(h, e->to);
    kept.reason = keep(h, e->reason);
    kept.text = keep(h, e->text);
    document_add(h->arena, h->list, event_document(h->arena, &kept));
    return 0;
}

/* All events that are kept until the daemon told of the job. An index that has not begun has none.
 */
static int tell_history(struct queued_client *c, const struct queued_jobs *jobs, struct history *h)
{
    struct queued_watch_options o = {.job = jobs->v[0].id};
    struct queued_watch *stream = NULL;
    struct queued_error e;
    int rc = o.job ? queued_watch_open(c, &o, &stream, &e) : 0;

    for (int left_ms = HISTORY_MAX_MS; stream && rc == 0; left_ms -= HISTORY_STEP_MS) {
        if (queued_watch_seq(stream) >= jobs->as_of_seq)
            break;
        if (left_ms <= 0) {
            queued_watch_close(stream);
            cli_note("the daemon did not tell the whole history in time");
            return err_exit_code(ERR_DEADLINE);
        }
        rc = queued_watch_next(stream, HISTORY_STEP_MS, on_event, h, &e);
    }
    queued_watch_close(stream);
    return rc ? cli_error(&e) : EXIT_OK;
}

static int print_all(struct queued_client *c, const struct queued_jobs *jobs, bool with_events,
                     enum cli_format format)
{
    const struct queued_job *job = &jobs->v[0];
    struct arena a = {0};
    struct history h = {.arena = &a};
    struct document *d;
    int rc = EXIT_OK;

    if (format == FORMAT_TABLE) {
        print_job(job);
        if (with_events)
            (void)printf("\nEvents\n");
        return with_events ? tell_history(c, jobs, &h) : EXIT_OK;
    }
    d = job_document(&a, job);
    if (with_events) {
        h.list = document_put_list(&a, d, "events");
        rc = tell_history(c, jobs, &h);
    }
    if (rc == EXIT_OK)
        cli_print(d, format);
    arena_fini(&a);
    return rc;
}

static int describe(const char *name, bool only_spec, bool with_events, enum cli_format format)
{
    struct queued_client *c = NULL;
    struct queued_jobs *jobs = NULL;
    struct queued_error e;
    int rc = cli_connect(&c, cli_timeout_ms());

    if (rc)
        return rc;
    if (queued_get(c, name, &jobs, &e))
        rc = cli_error(&e);
    else if (only_spec)
        rc = print_spec(&jobs->v[0], format);
    else if (format == FORMAT_NAME)
        (void)printf("job/%s\n", jobs->v[0].name ? jobs->v[0].name : "");
    else
        rc = print_all(c, jobs, with_events, format);
    queued_jobs_free(jobs);
    queued_close(c);
    return rc;
}

int cmd_describe(int argc, char **argv)
{
    bool only_spec = false, with_events = false;
    const struct cli_option options[] = {{"spec", 0, OPTION_FLAG, &only_spec},
                                         {"events", 0, OPTION_FLAG, &with_events}};
    enum cli_format format;
    int first, rc = cli_parse(&(struct cli_options){"describe", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (argc - first != 1)
        return cli_usage("describe: name one job; queuectl list shows them");
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML | 1u << FORMAT_NAME,
                   &format))
        return EXIT_USAGE;
    if (with_events && (only_spec || format == FORMAT_NAME))
        return cli_usage("describe: --events goes with neither --spec nor -o name");
    return describe(argv[first], only_spec, with_events, format);
}

/* ---- why */

void why_print(const struct queued_why *w)
{
    const struct queued_job *job = w->job;
    char buf[FORMAT_MAX];

    for (const char *p = job->state ? job->state : "?"; *p; p++)
        (void)putchar(toupper((unsigned char)*p));
    if (job->state_since_us > 0)
        (void)printf(" %s", format_duration(buf, (cli_now_us() - job->state_since_us) /
                                                     USEC_PER_SEC * USEC_PER_SEC));
    if (job->reason_code)
        (void)printf("   %s", job->reason_code);
    if (job->position)
        (void)printf("   position %u in tenant %s", job->position, job->tenant ? job->tenant : "");
    if (job->position && w->position_overall)
        (void)printf(", %u overall", w->position_overall);
    (void)putchar('\n');
    line("asks", w->asks);
    line("now", w->now && *w->now ? w->now : job->reason_text);
    line("closest", w->closest);
    line("not it", w->not_it);
    print_eta(job);
    line("try", w->next_step);
}

struct document *why_document(struct arena *a, const struct queued_why *w)
{
    struct document *d = job_document(a, w->job), *why;

    why = document_put_map(a, d, "why");
    document_put_text(a, why, "asks", w->asks);
    document_put_text(a, why, "now", w->now);
    document_put_text(a, why, "closest", w->closest);
    document_put_text(a, why, "notIt", w->not_it);
    document_put_text(a, why, "nextStep", w->next_step);
    if (w->position_overall)
        document_put_int(a, why, "positionOverall", w->position_overall);
    return d;
}

int cmd_why(int argc, char **argv)
{
    struct queued_client *c = NULL;
    struct queued_why *why = NULL;
    struct arena a = {0};
    enum cli_format format;
    struct queued_error e;
    int first, rc = cli_parse(&(struct cli_options){.command = "why"}, argc, argv, &first);

    if (rc)
        return rc - 1;
    if (argc - first != 1)
        return cli_usage("why: name one job; queuectl list shows them");
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML, &format))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc)
        return rc;
    if (queued_why(c, argv[first], &why, &e))
        rc = cli_error(&e);
    else if (format == FORMAT_TABLE)
        why_print(why);
    else
        cli_print(why_document(&a, why), format);
    arena_fini(&a);
    queued_why_free(why);
    queued_close(c);
    return rc;
}
