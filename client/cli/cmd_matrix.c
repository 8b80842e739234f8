/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_matrix.c - queuectl topology --matrix: what the links between the GPUs of one host allow.
 *
 * Reads a file and asks nobody. A damaged matrix is named with file, line and column: exit code 2.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "print_table.h"
#include "util/gpu_links.h"
#include "util/mem.h"

enum { MATRIX_MAX = 64 * 1024 }; /* of the node annotation as well */

/* The pairs that have the best link: "0-3 1-2", "all", "-" without a pair. */
static void best_pairs(struct str *out, const struct gpu_links *x, const struct gpu_link_facts *f)
{
    if (x->n_gpus == 1 || f->is_uniform) {
        str_add(out, x->n_gpus == 1 ? "-" : "all");
        return;
    }
    for (uint32_t i = 0; i < x->n_gpus; i++)
        for (uint32_t k = i + 1; k < x->n_gpus; k++)
            if (x->distance[i][k] == f->best)
                str_addf(out, "%s%u-%u", out->len ? " " : "", i, k);
}

static struct document *sets_document(struct arena *a, const struct gpu_links *x,
                                      const struct gpu_link_facts *f)
{
    struct document *list = document_list(a);
    char buf[LINK_TEXT_MAX];

    for (uint32_t k = 1; k <= x->n_gpus; k++) {
        const struct gpu_set *set = &f->sets[k];
        struct document *d = document_map(a), *gpus;

        document_put_int(a, d, "k", k);
        gpus = document_put_list(a, d, "gpus");
        for (uint32_t i = 0; i < x->n_gpus; i++)
            if (set->mask & 1u << i)
                document_add(a, gpus, document_int(a, i));
        document_put_text(a, d, "linkedBy", k > 1 ? gpu_link_class_text(set->linked) : "-");
        document_put_text(a, d, "worstPair", arena_strdup(a, gpu_link_text(buf, set->farthest)));
        document_put_bool(a, d, "anyPick", set->is_any_good);
        document_add(a, list, d);
    }
    return list;
}

static struct document *matrix_document(struct arena *a, const struct gpu_links *x,
                                        const struct gpu_link_facts *f, const char *pairs)
{
    struct document *d = document_map(a);
    char buf[LINK_TEXT_MAX];

    document_put_int(a, d, "gpus", x->n_gpus);
    document_put_int(a, d, "nics", x->n_nics);
    document_put_bool(a, d, "uniform", f->is_uniform);
    document_put_int(a, d, "nvlinkClique", f->clique);
    document_put_int(a, d, "nvlinkComponent", f->connected);
    document_put_text(a, d, "bestLink", arena_strdup(a, gpu_link_text(buf, f->best)));
    document_put_text(a, d, "bestPairs", pairs);
    document_put(a, d, "bestSets", sets_document(a, x, f));
    return d;
}

static void print_matrix(const struct gpu_links *x, const struct gpu_link_facts *f,
                         const char *pairs)
{
    static const struct table_column columns[] = {
        {"K", TABLE_WHOLE, 0},          {"GPUS", TABLE_WHOLE, 0},     {"LINKED-BY", TABLE_WHOLE, 0},
        {"WORST-PAIR", TABLE_WHOLE, 0}, {"ANY-PICK", TABLE_WHOLE, 0},
    };
    struct table *t = table_create(columns, ARRAY_LEN(columns));
    char buf[LINK_TEXT_MAX];

    printf("gpus %u  nics %u  %s  nvlink clique %u  component %u\nbest link %s: %s\n\n", x->n_gpus,
           x->n_nics, f->is_uniform ? "uniform" : "not uniform", f->clique, f->connected,
           gpu_link_text(buf, f->best), pairs);
    for (uint32_t k = 1; k <= x->n_gpus; k++) {
        const struct gpu_set *set = &f->sets[k];
        struct str gpus = {0};

        for (uint32_t i = 0; i < x->n_gpus; i++)
            if (set->mask & 1u << i)
                str_addf(&gpus, "%s%u", gpus.len ? "," : "", i);
        table_addf(t, "%u", k);
        table_add(t, str_text(&gpus));
        table_add(t, k > 1 ? gpu_link_class_text(set->linked) : NULL);
        table_add(t, gpu_link_text(buf, set->farthest));
        table_add(t, set->is_any_good ? "yes" : "no");
        str_fini(&gpus);
    }
    table_print(t, 0, true);
    table_destroy(t);
}

/* The file, at most MATRIX_MAX bytes; -1 after a message. */
static int read_file(const char *file, char text[MATRIX_MAX + 1], size_t *ret_len)
{
    FILE *f = strcmp(file, "-") ? fopen(file, "re") : stdin;
    int rc = -1;

    if (!f)
        return cli_usage("%s: %s", file, strerror(errno)), -1;
    *ret_len = fread(text, 1, MATRIX_MAX + 1, f);
    if (ferror(f))
        (void)cli_usage("%s: %s", file, strerror(errno));
    else if (*ret_len > MATRIX_MAX)
        (void)cli_usage("%s: more than 64 KiB: not the matrix of one host", file);
    else
        rc = 0;
    if (f != stdin)
        (void)fclose(f);
    return rc;
}

int show_matrix(const char *file, enum cli_format format)
{
    char *text = xmalloc(MATRIX_MAX + 1);
    struct gpu_links *x = xcalloc(1, sizeof(*x));
    struct gpu_link_facts facts;
    struct str pairs = {0};
    struct arena a = {0};
    struct err err;
    size_t len;
    int rc = EXIT_USAGE;

    if (read_file(file, text, &len))
        goto done;
    if (gpu_links_parse(text, len, x, &err)) {
        (void)cli_usage("%s:%s", strcmp(file, "-") ? file : "stdin", err.text);
        goto done;
    }
    gpu_links_facts(x, &facts);
    best_pairs(&pairs, x, &facts);
    if (format == FORMAT_TABLE)
        print_matrix(x, &facts, str_text(&pairs));
    else
        cli_print(matrix_document(&a, x, &facts, str_text(&pairs)), format);
    rc = EXIT_OK;
done:
    str_fini(&pairs);
    arena_fini(&a);
    free(x);
    free(text);
    return rc;
}
