/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_explain.c - queuectl explain: what a reason code means, offline. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli.h"
#include "print_job.h"
#include "print_table.h"
#include "util/mem.h"

enum { WAITS, ENDED };

static const struct reason {
    const char *code;
    int when;
    const char *what, *numbers, *next;
} reasons[] = {
#define REASON(code, when, what, numbers, next) {#code, when, what, numbers, next},
#include "reasons.def"
#undef REASON
};

static struct document *reason_document(struct arena *a, const struct reason *r)
{
    struct document *d = document_map(a);

    document_put_text(a, d, "code", r->code);
    document_put_bool(a, d, "waits", r->when == WAITS);
    document_put_text(a, d, "meaning", r->what);
    document_put_text(a, d, "numbers", r->numbers);
    document_put_text(a, d, "nextStep", *r->next ? r->next : NULL);
    return d;
}

static void print_one(const struct reason *r)
{
    (void)printf("%s\n  means    %s\n", r->code, r->what);
    if (strcmp(r->numbers, "none") != 0)
        (void)printf("  numbers  %s\n", r->numbers);
    if (*r->next)
        (void)printf("  next     %s\n", r->next);
    (void)printf("  %s\n", r->when == WAITS ? "a job waits for it" : "why a job is in its state");
}

static void print_all(void)
{
    static const struct table_column columns[] = {{"CODE", TABLE_WHOLE, 0},
                                                  {"MEANING", TABLE_WHOLE, 0}};
    struct table *t = table_create(columns, ARRAY_LEN(columns));

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        table_add(t, reasons[i].code);
        table_add(t, reasons[i].what);
    }
    table_print(t, 0, true);
    table_destroy(t);
}

static const struct reason *find(const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (strcasecmp(reasons[i].code, code) == 0)
            return &reasons[i];
    cli_note("explain: there is no reason %s; 'queuectl explain' lists them", code);
    return NULL;
}

static void print_document(const struct reason *only, enum cli_format format)
{
    struct arena a = {0};
    struct document *items, *d = list_document(&a, "ReasonList", &items);

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (!only || only == &reasons[i])
            document_add(&a, items, reason_document(&a, &reasons[i]));
    cli_print(d, format);
    arena_fini(&a);
}

int cmd_explain(int argc, char **argv)
{
    const struct reason *only = NULL;
    enum cli_format format;
    int first, rc = cli_parse(&(struct cli_options){"explain", NULL, 0}, argc, argv, &first);

    if (rc)
        return rc - 1;
    if (argc > first + 1)
        return cli_usage("explain: name one reason, or none for the list");
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML, &format))
        return EXIT_USAGE;
    if (argc > first) {
        only = find(argv[first]);
        if (!only)
            return EXIT_NOT_FOUND;
    }
    if (format != FORMAT_TABLE)
        print_document(only, format);
    else if (only)
        print_one(only);
    else
        print_all();
    return EXIT_OK;
}
