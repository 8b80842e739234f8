/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c - queuectl run: a job from options, and this process as if it were the job.
 *
 * The options become the short form of a job file, so that they are checked as a file is. Logs go
 * to stdout by `queuectl logs`, state to stderr; the exit code is the job's.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "spec_doc.h"
#include "spec_pack.h"
#include "spec_yaml.h"
#include "util/err.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"

struct run {
    const char *name, *tenant, *nodes, *gpus, *model, *image, *shm, *time, *topology, *workdir;
    const char *cpu, *memory, *priority, *key;
    struct cli_texts env, mounts;
    bool ends_with_us, has_no_logs, print_spec;
    size_t n_command;
    const char **command;
    struct arena arena;
    struct queued_role role;
    pid_t logs; /* 0: none runs */
};

/* What the handler stops, with --rm. Set before it can run. */
static const char *job_to_stop;
extern char **environ;

static void put_list(struct run *r, struct document *d, const char *key, const struct cli_texts *t)
{
    struct document *list = t->n ? document_put_list(&r->arena, d, key) : NULL;

    for (size_t i = 0; i < t->n; i++)
        document_add(&r->arena, list, document_text(&r->arena, t->v[i]));
}

static int put_number(struct run *r, struct document *d, const char *key, const char *text)
{
    struct err err;
    uint64_t n;

    if (text && parse_u64(text, 0, INT32_MAX, &n, &err))
        return cli_usage("run: --%s: %s", key, err.text);
    if (text)
        document_put_int(&r->arena, d, key, (int64_t)n);
    return 0;
}

static int put_env(struct run *r, struct document *d)
{
    struct document *env = r->env.n ? document_put_map(&r->arena, d, "env") : NULL;

    for (size_t i = 0; i < r->env.n; i++) {
        char *key = arena_strdup(&r->arena, r->env.v[i]);
        char *equals = strchr(key, '=');

        if (!equals || equals == key)
            return cli_usage("run: --env %s: write NAME=VALUE", key);
        *equals = '\0';
        document_put(&r->arena, env, key, document_text(&r->arena, equals + 1));
    }
    return 0;
}

/* "torchrun" of "/opt/bin/torchrun --nproc 8", as far as it is a name. */
static const char *name_of(struct run *r)
{
    const char *slash = strrchr(r->command[0], '/');
    const char *base = slash ? slash + 1 : r->command[0];

    if (r->name)
        return r->name;
    return str_is_dns_label(base, 30, true) ? base : "run";
}

static int write_file(struct run *r, struct str *out)
{
    const struct {
        const char *key, *value;
    } texts[] = {
        {"tenant", r->tenant},     {"gpuModel", r->model}, {"cpu", r->cpu},
        {"memory", r->memory},     {"shm", r->shm},        {"time", r->time},
        {"topology", r->topology}, {"image", r->image},    {"workdir", r->workdir},
        {"priority", r->priority}, {"key", r->key},
    };
    struct document *d = document_map(&r->arena);

    document_put_text(&r->arena, d, "name", name_of(r));
    if (put_number(r, d, "nodes", r->nodes) || put_number(r, d, "gpus", r->gpus))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        document_put_text(&r->arena, d, texts[i].key, texts[i].value);
    if (put_env(r, d))
        return -1;
    put_list(r, d, "volumes", &r->mounts);
    document_yaml(out, d);
    return 0;
}

/* The spec of the options, with the command as it was given: no shell is between. */
static int make_spec(struct run *r, struct spec_file *ret, struct err *err)
{
    struct yaml_doc *doc = NULL;
    struct str text = {0};
    int rc = write_file(r, &text);

    if (rc == 0 && (yaml_parse(&doc, "run", str_text(&text), text.len, err) ||
                    spec_yaml_load(ret, doc, err))) {
        (void)cli_usage("%s", err->text);
        rc = -1;
    }
    str_fini(&text);
    if (rc)
        return EXIT_USAGE;
    r->role = ret->specs[0].roles[0];
    r->role.command = r->command;
    r->role.n_command = r->n_command;
    ret->specs[0].roles = &r->role;
    return 0;
}

/* ---- at its side */

static pid_t spawn(const char *const *argv)
{
    pid_t child;

    return posix_spawn(&child, "/proc/self/exe", NULL, NULL, (char **)(void *)argv, environ)
               ? 0
               : child;
}

static void start_logs(struct run *r, const char *job)
{
    const char *argv[] = {"queuectl", "logs", "-f", job, NULL};

    if (!r->has_no_logs)
        r->logs = spawn(argv);
}

static void end_logs(struct run *r)
{
    while (r->logs && waitpid(r->logs, NULL, 0) < 0 && errno == EINTR)
        continue;
    r->logs = 0;
}

static void on_running(const char *job, void *ctx)
{
    struct run *r = ctx;

    end_logs(r); /* of the attempt before, whose pods have ended */
    start_logs(r, job);
}

/* --rm: nothing is left behind. Only what may be called in a handler. */
static void stop_job(int signo)
{
    const char *argv[] = {"queuectl",           "cancel", job_to_stop, "--reason",
                          "run --rm was ended", NULL};
    pid_t child = fork();

    if (child == 0) {
        (void)execv("/proc/self/exe", (char **)(void *)argv);
        _exit(EXIT_FAILED);
    }
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    _exit(128 + signo);
}

static int attend(struct run *r, struct queued_client *c, const char *job)
{
    int rc = cli_wait_running(c, job);

    if (rc >= 0)
        return rc; /* it has ended, or waiting failed */
    start_logs(r, job);
    rc = cli_wait_end(c, job, on_running, r);
    end_logs(r);
    return rc;
}

static int submit(struct run *r, struct queued_client *c, const struct queued_spec *spec)
{
    struct sigaction action = {.sa_handler = stop_job};
    static struct queued_submitted j; /* lives as long as the handler */
    struct queued_error e;

    if (queued_submit(c, spec, NULL, &j, &e))
        return cli_error(&e);
    (void)fprintf(stderr, "job/%s %s (tenant %s, needs %llu GPU%s)\n", j.name,
                  j.existed ? "already submitted" : "submitted", j.tenant,
                  (unsigned long long)j.gpus, j.gpus == 1 ? "" : "s");
    if (*j.warning)
        cli_note("%s: %s", j.name, j.warning);
    job_to_stop = j.name;
    if (r->ends_with_us) {
        (void)sigaction(SIGTERM, &action, NULL);
        (void)sigaction(SIGHUP, &action, NULL);
        cli_wait_stops_by(stop_job);
    }
    return attend(r, c, j.name);
}

static int run(struct run *r)
{
    struct queued_client *c = NULL;
    struct spec_file f;
    struct err err;
    int rc = make_spec(r, &f, &err);

    if (rc)
        return rc;
    if (r->print_spec) {
        Queued__V1__JobSpec *m = NULL;

        rc = spec_pack(&m, &f.specs[0], &r->arena, &err) ? cli_usage("%s", err.text) : EXIT_OK;
        if (rc == EXIT_OK)
            cli_print(spec_doc_file(&r->arena, m), FORMAT_YAML);
    } else {
        rc = cli_connect(&c, 0);
        rc = rc ? rc : submit(r, c, &f.specs[0]);
    }
    queued_close(c);
    spec_file_fini(&f);
    return rc;
}

static int check(struct run *r, int argc, char **argv, int first)
{
    const char *tenant = getenv("QUEUED_TENANT");
    enum cli_format format;

    if (first == argc)
        return cli_usage("run: what? queuectl run [OPTIONS] -- PROGRAM [ARGUMENT...]");
    if (!r->image)
        return cli_usage("run: name the image of its container with --image");
    if (cli_format(1u << FORMAT_TABLE, &format))
        return EXIT_USAGE;
    if (!r->tenant && tenant && *tenant)
        r->tenant = tenant;
    r->n_command = (size_t)(argc - first);
    r->command = arena_alloc(&r->arena, r->n_command * sizeof(*r->command));
    memcpy(r->command, &argv[first], r->n_command * sizeof(*r->command));
    return 0;
}

int cmd_run(int argc, char **argv)
{
    struct run r = {0};
    const struct cli_option options[] = {
        {"name", 0, OPTION_TEXT, &r.name},
        {"tenant", 0, OPTION_TEXT, &r.tenant},
        {"nodes", 'N', OPTION_TEXT, &r.nodes},
        {"gpus", 'g', OPTION_TEXT, &r.gpus},
        {"model", 0, OPTION_TEXT, &r.model},
        {"image", 0, OPTION_TEXT, &r.image},
        {"env", 'e', OPTION_REPEATED, &r.env},
        {"mount", 0, OPTION_REPEATED, &r.mounts},
        {"shm", 0, OPTION_TEXT, &r.shm},
        {"cpu", 0, OPTION_TEXT, &r.cpu},
        {"memory", 0, OPTION_TEXT, &r.memory},
        {"time", 't', OPTION_TEXT, &r.time},
        {"topology", 0, OPTION_TEXT, &r.topology},
        {"workdir", 0, OPTION_TEXT, &r.workdir},
        {"priority-class", 0, OPTION_TEXT, &r.priority},
        {"key", 0, OPTION_TEXT, &r.key},
        {"rm", 0, OPTION_FLAG, &r.ends_with_us},
        {"no-logs", 0, OPTION_FLAG, &r.has_no_logs},
        {"print-spec", 0, OPTION_FLAG, &r.print_spec},
    };
    int first, rc = cli_parse(&(struct cli_options){"run", options, ARRAY_LEN(options)}, argc, argv,
                              &first);

    rc = rc ? rc - 1 : check(&r, argc, argv, first) ? EXIT_USAGE : run(&r);
    cli_texts_fini(&r.env);
    cli_texts_fini(&r.mounts);
    arena_fini(&r.arena);
    return rc;
}
