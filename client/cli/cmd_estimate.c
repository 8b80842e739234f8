/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_estimate.c - queuectl estimate: would this job start, why not, and when.
 *
 * The daemon plays its own queue forward with the job in it; nothing is stored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "print_job.h"
#include "spec_yaml.h"
#include "util/mem.h"
#include "util/parse.h"

enum { NODES_MAX = 1000 };

struct estimate {
    const char *file, *tenant;
    struct cli_texts without, domains;
    const char *what_if, *like;
    uint32_t n_added; /* of what_if */
    struct queued_pair *pairs;
    size_t n_pairs;
    enum cli_format format;
    struct arena arena;
};

typedef VEC(struct queued_why *) why_list;

static int ask(const struct estimate *x, struct queued_client *c, struct queued_spec *spec,
               why_list *answers)
{
    const struct queued_estimate_options options = {
        .n_without = x->without.n,
        .without = x->without.v,
        .n_added = x->n_added,
        .added_like = x->like,
        .n_added_domains = x->n_pairs,
        .added_domains = x->pairs,
    };
    const char *from_env = getenv("QUEUED_TENANT");
    struct queued_why *why = NULL;
    struct queued_error e;

    if (x->tenant)
        spec->tenant = x->tenant;
    else if (!spec->tenant && from_env && *from_env)
        spec->tenant = from_env;
    if (queued_estimate(c, spec, &options, &why, &e))
        return cli_error(&e);
    *vec_push(answers) = why;
    if (x->format == FORMAT_TABLE)
        why_print(why);
    return EXIT_OK;
}

/* Of several jobs as a list, so that it is one document. */
static void print_documents(const why_list *answers, enum cli_format format)
{
    struct arena a = {0};
    struct document *items, *d = list_document(&a, "GangJobList", &items);

    if (answers->n == 1)
        d = why_document(&a, answers->v[0]);
    for (size_t i = 0; i < answers->n && answers->n > 1; i++)
        document_add(&a, items, why_document(&a, answers->v[i]));
    cli_print(d, format);
    arena_fini(&a);
}

static int estimate(const struct estimate *x)
{
    struct queued_client *c = NULL;
    struct yaml_doc *doc = NULL;
    why_list answers = {0};
    struct spec_file f;
    struct err err;
    int rc;

    if (yaml_parse_file(&doc, x->file, &err) || spec_yaml_load(&f, doc, &err)) {
        cli_note("%s", err.text);
        return err.code == ERR_NOT_FOUND ? EXIT_USAGE : err_exit_code((int)err.code);
    }
    rc = cli_connect(&c, cli_timeout_ms());
    for (size_t i = 0; i < f.n && rc == EXIT_OK; i++)
        rc = ask(x, c, &f.specs[i], &answers);
    if (answers.n && x->format != FORMAT_TABLE)
        print_documents(&answers, x->format);
    for (size_t i = 0; i < answers.n; i++)
        queued_why_free(answers.v[i]);
    vec_fini(&answers);
    queued_close(c);
    spec_file_fini(&f);
    return rc;
}

/* "nodes+4". -1 after a message. */
static int read_what_if(struct estimate *x)
{
    uint64_t n = 0;

    if (!x->what_if && (x->like || x->domains.n))
        return cli_usage("estimate: --like and --in need --what-if nodes+N"), -1;
    if (x->what_if && (strncmp(x->what_if, "nodes+", 6) != 0 ||
                       parse_u64(x->what_if + 6, 1, NODES_MAX, &n, NULL)))
        return cli_usage("estimate: --what-if %s: write nodes+N, N from 1 to %d", x->what_if,
                         NODES_MAX),
               -1;
    x->n_added = (uint32_t)n;
    return cli_pairs(&x->domains, &x->pairs, &x->n_pairs, &x->arena);
}

int cmd_estimate(int argc, char **argv)
{
    struct estimate x = {0};
    const struct cli_option options[] = {
        {"file", 'f', OPTION_TEXT, &x.file},         {"tenant", 0, OPTION_TEXT, &x.tenant},
        {"without", 0, OPTION_REPEATED, &x.without}, {"what-if", 0, OPTION_TEXT, &x.what_if},
        {"like", 0, OPTION_TEXT, &x.like},           {"in", 0, OPTION_REPEATED, &x.domains},
    };
    int first, rc = cli_parse(&(struct cli_options){"estimate", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        rc--;
    else if (!x.file || argc != first)
        rc = cli_usage("estimate: name one job file: -f job.yaml (-: standard input)");
    else if (read_what_if(&x) ||
             cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML, &x.format))
        rc = EXIT_USAGE;
    else
        rc = estimate(&x);
    cli_texts_fini(&x.without);
    cli_texts_fini(&x.domains);
    arena_fini(&x.arena);
    return rc;
}
