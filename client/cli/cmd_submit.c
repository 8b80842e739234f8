/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_submit.c - queuectl submit: files to jobs.
 *
 * All files are read and checked before the first job is stored, so that a mistake in the last
 * one stores nothing.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "print_job.h"
#include "spec_diff.h"
#include "spec_doc.h"
#include "spec_pack.h"
#include "spec_yaml.h"
#include "util/mem.h"
#include "util/str.h"

struct submit {
    struct cli_texts files, sets;
    const char *tenant, *key, *dry_run;
    bool is_held, require_feasible, print_spec, wait;
    enum cli_format format;
    struct arena arena;
    VEC(struct spec_file) loaded;
    VEC(struct queued_spec *) specs;
    VEC(struct queued_submitted) done;
};

static int fail(const struct err *err)
{
    cli_note("%s", err->text);
    return err_exit_code((int)err->code);
}

static int load_file(struct submit *s, const char *path)
{
    struct yaml_doc *doc = NULL;
    struct spec_file f;
    struct err err;

    if (yaml_parse_file(&doc, path, &err))
        return err.code == ERR_NOT_FOUND ? cli_usage("%s", err.text) : fail(&err);
    for (size_t i = 0; i < s->sets.n; i++) {
        if (spec_set(doc, s->sets.v[i], &err)) {
            yaml_destroy(doc);
            return fail(&err);
        }
    }
    if (spec_yaml_load(&f, doc, &err))
        return fail(&err);
    *vec_push(&s->loaded) = f;
    for (size_t i = 0; i < f.n; i++)
        *vec_push(&s->specs) = &f.specs[i];
    return 0;
}

static int is_job_file(const struct dirent *d)
{
    const char *dot = strrchr(d->d_name, '.');

    return dot && dot != d->d_name &&
           (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

static int load_directory(struct submit *s, const char *path)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, is_job_file, alphasort);
    int rc = n <= 0 ? cli_usage("%s: no *.yaml, *.yml or *.json in it", path) : 0;

    for (int i = 0; i < n; i++) {
        char *full = xasprintf("%s/%s", path, names[i]->d_name);

        if (rc == 0)
            rc = load_file(s, full);
        free(full);
        free(names[i]);
    }
    free(names);
    return rc;
}

static int load_all(struct submit *s)
{
    for (size_t i = 0; i < s->files.n; i++) {
        struct stat st;
        bool is_directory = stat(s->files.v[i], &st) == 0 && S_ISDIR(st.st_mode);
        int rc = is_directory ? load_directory(s, s->files.v[i]) : load_file(s, s->files.v[i]);

        if (rc)
            return rc;
    }
    return 0;
}

/* Flags win over the file, the file wins over the environment. */
static int apply_flags(struct submit *s)
{
    const char *from_env = getenv("QUEUED_TENANT");

    if (s->key && s->specs.n > 1)
        return cli_usage("submit: --key is for one job, there are %zu", s->specs.n);
    for (size_t i = 0; i < s->specs.n; i++) {
        struct queued_spec *spec = s->specs.v[i];

        if (s->tenant)
            spec->tenant = s->tenant;
        else if (!spec->tenant && from_env && *from_env)
            spec->tenant = from_env;
        if (s->key)
            spec->submit_key = s->key;
        spec->is_held |= s->is_held;
    }
    return 0;
}

static int print_specs(struct submit *s)
{
    for (size_t i = 0; i < s->specs.n; i++) {
        Queued__V1__JobSpec *m = NULL;
        struct err err;

        if (spec_pack(&m, s->specs.v[i], &s->arena, &err))
            return fail(&err);
        if (i > 0 && s->format != FORMAT_JSON)
            (void)puts("---");
        cli_print(spec_doc_file(&s->arena, m),
                  s->format == FORMAT_JSON ? FORMAT_JSON : FORMAT_YAML);
    }
    return EXIT_OK;
}

/* --dry-run=client: what the daemon would be sent can be sent. */
static int check_specs(struct submit *s)
{
    for (size_t i = 0; i < s->specs.n; i++) {
        Queued__V1__JobSpec *m = NULL;
        struct err err;

        if (spec_pack(&m, s->specs.v[i], &s->arena, &err))
            return fail(&err);
        (void)printf("job/%s is a good job file (not submitted)\n", m->name);
    }
    return EXIT_OK;
}

static void print_line(const struct submit *s, const struct queued_submitted *j)
{
    const char *verb = s->dry_run   ? "would be submitted"
                       : j->existed ? "already submitted"
                                    : "submitted";

    if (s->format == FORMAT_NAME)
        (void)printf("job/%s\n", j->name);
    else
        (void)printf("job/%s %s (tenant %s, needs %llu GPU%s)\n", j->name, verb, j->tenant,
                     (unsigned long long)j->gpus, j->gpus == 1 ? "" : "s");
    (void)fflush(stdout); /* a job that is stored is told at once */
}

static struct document *submitted_document(struct arena *a, const struct queued_submitted *j)
{
    struct document *d = document_map(a), *metadata, *status;

    document_put_text(a, d, "apiVersion", "gang.queued/v1");
    document_put_text(a, d, "kind", "GangJob");
    metadata = document_put_map(a, d, "metadata");
    document_put_text(a, metadata, "name", j->name);
    document_put_text(a, metadata, "id", j->id);
    document_put_text(a, metadata, "namespace", j->ns);
    document_put_text(a, metadata, "tenant", j->tenant);
    status = document_put_map(a, d, "status");
    document_put_int(a, status, "gpus", (int64_t)j->gpus);
    document_put_bool(a, status, "existed", j->existed);
    document_put_text(a, status, "warning", j->warning);
    return d;
}

static void print_documents(struct submit *s)
{
    struct document *items, *d;

    if (s->done.n == 1) {
        cli_print(submitted_document(&s->arena, &s->done.v[0]), s->format);
        return;
    }
    d = list_document(&s->arena, "GangJobList", &items);
    for (size_t i = 0; i < s->done.n; i++)
        document_add(&s->arena, items, submitted_document(&s->arena, &s->done.v[i]));
    cli_print(d, s->format);
}

/* The daemon names the job that has the key: show in what its spec differs. */
static void show_conflict(struct submit *s, struct queued_client *c, size_t i, const char *text)
{
    static const char id_digits[] = "0123456789abcdefghijklmnopqrstuv";
    const char *id = strstr(text, " job ");
    char job[QUEUED_ID_MAX];
    Queued__V1__JobSpec *m = NULL;
    struct queued_jobs *stored = NULL;
    char *old_text, *new_text;

    if (!id || strspn(id + 5, id_digits) != sizeof(job) - 1)
        return;
    (void)str_copy(job, sizeof(job), id + 5); /* cut behind the id */
    if (spec_pack(&m, s->specs.v[i], &s->arena, NULL) || queued_get(c, job, &stored, NULL))
        return;
    if (stored->v[0].spec) {
        old_text = queued_spec_text(stored->v[0].spec, QUEUED_YAML);
        new_text =
            queued_spec_text((const struct queued_stored_spec *)(const void *)m, QUEUED_YAML);
        spec_diff(old_text, new_text);
        free(old_text);
        free(new_text);
    }
    queued_jobs_free(stored);
}

static int send_one(struct submit *s, struct queued_client *c, size_t i)
{
    struct queued_submit_options o = {.is_dry_run = s->dry_run != NULL,
                                      .require_feasible = s->require_feasible};
    struct queued_submitted j;
    struct queued_error e;

    if (queued_submit(c, s->specs.v[i], &o, &j, &e)) {
        int code = cli_error(&e);

        if (e.code == QUEUED_CONFLICT)
            show_conflict(s, c, i, e.text);
        if (i > 0)
            cli_note("%zu of %zu jobs were submitted before", i, s->specs.n);
        return code;
    }
    if (!*j.name)
        (void)str_copy(j.name, sizeof(j.name), s->specs.v[i]->name); /* nothing was stored */
    *vec_push(&s->done) = j;
    if (s->format == FORMAT_TABLE || s->format == FORMAT_NAME)
        print_line(s, &j);
    if (*j.warning)
        cli_note("%s: %s", j.name, j.warning);
    return 0;
}

static int wait_for_all(struct submit *s, struct queued_client *c)
{
    const char **names = arena_alloc(&s->arena, s->done.n * sizeof(*names));

    for (size_t i = 0; i < s->done.n; i++)
        names[i] = s->done.v[i].name;
    return cli_wait_all(c, names, s->done.n);
}

static int send_all(struct submit *s)
{
    struct queued_client *c = NULL;
    int rc = cli_connect(&c, s->wait ? 0 : cli_timeout_ms());

    for (size_t i = 0; rc == 0 && i < s->specs.n; i++)
        rc = send_one(s, c, i);
    if (s->done.n && (s->format == FORMAT_JSON || s->format == FORMAT_YAML))
        print_documents(s);
    if (rc == 0 && s->wait && !s->dry_run)
        rc = wait_for_all(s, c);
    queued_close(c);
    return rc;
}

static int run(struct submit *s)
{
    int rc = load_all(s);

    if (rc == 0)
        rc = apply_flags(s);
    if (rc)
        return rc;
    if (s->print_spec)
        return print_specs(s);
    if (s->dry_run && strcmp(s->dry_run, "client") == 0)
        return check_specs(s);
    return send_all(s);
}

static int check(struct submit *s, int argc, char **argv, int first)
{
    if (first < argc)
        return cli_usage("submit: unexpected \"%s\"; files are given with -f", argv[first]);
    if (s->files.n == 0)
        return cli_usage("submit: name a job file with -f; - is stdin");
    if (s->dry_run && *s->dry_run && strcmp(s->dry_run, "client") != 0 &&
        strcmp(s->dry_run, "server") != 0)
        return cli_usage("submit: --dry-run=%s: write client or server", s->dry_run);
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML | 1u << FORMAT_NAME,
                   &s->format))
        return EXIT_USAGE;
    return 0;
}

int cmd_submit(int argc, char **argv)
{
    struct submit s = {0};
    const struct cli_option options[] = {
        {"file", 'f', OPTION_REPEATED, &s.files},
        {"set", 0, OPTION_REPEATED, &s.sets},
        {"tenant", 0, OPTION_TEXT, &s.tenant},
        {"key", 0, OPTION_TEXT, &s.key},
        {"dry-run", 0, OPTION_MAYBE, &s.dry_run},
        {"hold", 0, OPTION_FLAG, &s.is_held},
        {"require-feasible", 0, OPTION_FLAG, &s.require_feasible},
        {"print-spec", 0, OPTION_FLAG, &s.print_spec},
        {"wait", 0, OPTION_FLAG, &s.wait},
    };
    int first, rc = cli_parse(&(struct cli_options){"submit", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    rc = rc ? rc - 1 : check(&s, argc, argv, first) ? EXIT_USAGE : run(&s);
    for (size_t i = 0; i < s.loaded.n; i++)
        spec_file_fini(&s.loaded.v[i]);
    vec_fini(&s.loaded);
    vec_fini(&s.specs);
    vec_fini(&s.done);
    cli_texts_fini(&s.files);
    cli_texts_fini(&s.sets);
    arena_fini(&s.arena);
    return rc;
}
