/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_config.c - queuectl config: is a configuration file good, and what would it change of the
 * daemon that runs. Nothing is changed by asking.
 */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "config_diff.h"
#include "config_doubts.h"

#include "cli.h"
#include "print_table.h"
#include "util/mem.h"

static int bad_file(const struct err *err)
{
    (void)fprintf(stderr, "queuectl: %s\n", err->text);
    return EXIT_USAGE;
}

static void print_doubt(const void *ctx, const char *text)
{
    (void)ctx;
    cli_note("warning: %s", text);
}

static int check(const char *file)
{
    struct config *c = NULL;
    struct err err;

    if (config_load(&c, file, &err))
        return bad_file(&err);
    (void)config_doubts(&c->settings, print_doubt, NULL);
    config_destroy(c);
    (void)printf("%s: good\n", file);
    return cli_finish(EXIT_OK);
}

static void print_changes(const struct config_changes *changes)
{
    static const struct table_column columns[] = {
        {"KEY", TABLE_WHOLE, 0},
        {"NOW", TABLE_WHOLE, 0},
        {"THEN", TABLE_WHOLE, 0},
        {"RESTART", TABLE_WHOLE, 0},
    };
    struct table *t = table_create(columns, ARRAY_LEN(columns));

    for (size_t i = 0; i < changes->list.n; i++) {
        const struct config_change *c = &changes->list.v[i];

        table_add(t, c->path);
        table_add(t, c->was);
        table_add(t, c->now);
        table_add(t, c->needs_restart ? "yes" : "no");
    }
    table_print(t, 0, true);
    table_destroy(t);
}

static void print_state(const struct queued_config *c)
{
    cli_note("generation %llu is in force, of %s", (unsigned long long)c->generation, c->file);
    if (c->refusal)
        cli_note("the last reading was refused: %s", c->refusal);
}

static struct document *document_of(struct arena *a, const struct queued_config *c,
                                    const struct config_changes *changes)
{
    struct document *d = document_map(a), *list;

    document_put_text(a, d, "apiVersion", "gang.queued/v1");
    document_put_text(a, d, "kind", "ConfigDiff");
    document_put_int(a, d, "generation", (int64_t)c->generation);
    document_put_text(a, d, "file", c->file);
    document_put_int(a, d, "reloads", (int64_t)c->reloads);
    document_put_int(a, d, "refusals", (int64_t)c->refusals);
    if (c->refusal)
        document_put_text(a, d, "refusal", c->refusal);
    document_put_bool(a, d, "needsRestart", changes->n_restart > 0);
    list = document_put_list(a, d, "changes");
    for (size_t i = 0; i < changes->list.n; i++) {
        const struct config_change *x = &changes->list.v[i];
        struct document *m = document_map(a);

        document_put_text(a, m, "key", x->path);
        if (x->was)
            document_put_text(a, m, "now", x->was);
        if (x->now)
            document_put_text(a, m, "then", x->now);
        document_put_bool(a, m, "needsRestart", x->needs_restart);
        document_add(a, list, m);
    }
    return d;
}

static int show(const struct queued_config *c, const struct config_changes *changes,
                enum cli_format format)
{
    struct arena a = {0};

    if (format == FORMAT_TABLE) {
        print_state(c);
        if (changes->list.n)
            print_changes(changes);
        else
            cli_note("nothing would change");
        if (changes->n_restart)
            cli_note("a reload would refuse this file: %u of these keys need a restart",
                     changes->n_restart);
    } else {
        cli_print(document_of(&a, c, changes), format);
    }
    arena_fini(&a);
    return cli_finish(changes->n_restart ? EXIT_FAILED : EXIT_OK);
}

static int diff(const char *file, enum cli_format format)
{
    struct queued_client *client = NULL;
    struct queued_config *running = NULL;
    struct config *was = NULL, *then = NULL;
    struct config_changes changes = {0};
    struct queued_error e;
    struct err err;
    int rc = EXIT_OK;

    if (config_load(&then, file, &err))
        return bad_file(&err);
    rc = cli_connect(&client, cli_timeout_ms());
    if (rc == EXIT_OK && queued_config(client, &running, &e)) {
        rc = cli_error(&e);
    } else if (rc == EXIT_OK &&
               config_parse(&was, "the daemon's", running->text, strlen(running->text), &err)) {
        cli_note("the daemon is of another version, its configuration cannot be read: %s",
                 err.text);
        rc = EXIT_FAILED;
    } else if (rc == EXIT_OK) {
        config_diff(was, then, &changes);
        rc = show(running, &changes, format);
    }
    config_changes_fini(&changes);
    config_destroy(was);
    config_destroy(then);
    queued_config_free(running);
    queued_close(client);
    return rc;
}

int cmd_config(int argc, char **argv)
{
    enum cli_format format;
    int first, rc = cli_parse(&(struct cli_options){"config", NULL, 0}, argc, argv, &first);
    bool is_diff;

    if (rc)
        return rc - 1;
    is_diff = argc > first && strcmp(argv[first], "diff") == 0;
    if (argc != first + 2 || (!is_diff && strcmp(argv[first], "check") != 0))
        return cli_usage("config: say check FILE, or diff FILE");
    if (cli_format(1u << FORMAT_TABLE | (is_diff ? 1u << FORMAT_JSON | 1u << FORMAT_YAML : 0),
                   &format))
        return EXIT_USAGE;
    return is_diff ? diff(argv[first + 1], format) : check(argv[first + 1]);
}
