/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_free.c - queuectl free: the largest gang that free GPUs allow, by level and model.
 *
 * Made from what topology and nodes say. Quotas, taints, reservations and resources beside GPUs
 * are not looked at: for one job that is what `estimate` and `why` are for.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "print_job.h"
#include "print_table.h"
#include "util/mem.h"

enum { SIZES = 4, LINE_MAX_WIDTH = 100 };

/* One level and model. */
struct room {
    const char *level, *model;
    uint32_t domains; /* that have nodes of the model */
    uint64_t free, gpus;
    uint64_t most[SIZES];     /* pods of 1, 2, 4, 8 GPUs in the best domain for each */
    const char *where[SIZES]; /* that domain; NULL: no room anywhere */
};

struct rooms {
    const char *by; /* only this level; NULL: all */
    VEC(struct room) v;
    struct arena arena;
};

/* Names are borrowed. */
static void count(struct rooms *x, const char *level, const char *where,
                  const struct queued_model *m)
{
    struct room *r = NULL;

    if (x->by && strcmp(x->by, level) != 0)
        return;
    for (size_t i = 0; i < x->v.n && !r; i++)
        if (strcmp(x->v.v[i].level, level) == 0 && strcmp(x->v.v[i].model, m->model) == 0)
            r = &x->v.v[i];
    if (!r) {
        r = vec_push(&x->v);
        *r = (struct room){.level = level, .model = m->model};
    }
    r->domains++;
    r->free += m->free;
    r->gpus += m->gpus;
    for (int k = 0; k < SIZES; k++) {
        if (m->slots[k] <= r->most[k])
            continue;
        r->most[k] = m->slots[k];
        r->where[k] = where;
    }
}

static void count_host(struct rooms *x, const struct queued_node *n)
{
    uint64_t free_gpus = n->gpus_free > 0 ? (uint64_t)n->gpus_free : 0;
    struct queued_model m = {.model = n->model, .free = free_gpus};

    if (!n->model || !n->is_usable)
        return;
    m.gpus = n->gpus_allocatable > 0 ? (uint64_t)n->gpus_allocatable : 0;
    for (int k = 0; k < SIZES; k++)
        m.slots[k] = free_gpus >> k;
    count(x, "host", n->name, &m);
}

static void print_rooms(const struct rooms *x, enum cli_format format, bool has_header)
{
    static const struct table_column columns[] = {
        {"LEVEL", TABLE_WHOLE, 0},   {"MODEL", TABLE_WHOLE, 0}, {"DOMAINS", TABLE_WHOLE, 0},
        {"FREE", TABLE_WHOLE, 0},    {"1s", TABLE_WHOLE, 0},    {"2s", TABLE_WHOLE, 0},
        {"4s", TABLE_WHOLE, 0},      {"8s", TABLE_WHOLE, 0},    {"LARGEST", TABLE_WHOLE, 0},
        {"WHERE", TABLE_CUT_END, 8},
    };
    struct table *t = table_create(columns, ARRAY_LEN(columns));

    for (size_t i = 0; i < x->v.n; i++) {
        const struct room *r = &x->v.v[i];
        int k = SIZES - 1;

        while (k > 0 && r->most[k] == 0) /* the widest pods that fit at all */
            k--;
        table_add(t, r->level);
        table_add(t, r->model);
        table_addf(t, "%u", r->domains);
        table_addf(t, "%llu/%llu", (unsigned long long)r->free, (unsigned long long)r->gpus);
        for (int n = 0; n < SIZES; n++)
            table_addf(t, "%llu", (unsigned long long)r->most[n]);
        if (r->most[k])
            table_addf(t, "%llux%d", (unsigned long long)r->most[k], 1 << k);
        else
            table_add(t, NULL);
        table_add(t, r->where[k]);
    }
    if (format == FORMAT_CSV)
        table_print_csv(t, has_header);
    else
        table_print(t, LINE_MAX_WIDTH, has_header);
    table_destroy(t);
}

static void print_document(struct rooms *x, enum cli_format format)
{
    static const char *const sizes[] = {"1", "2", "4", "8"};
    struct document *items, *d = list_document(&x->arena, "FreeList", &items);

    for (size_t i = 0; i < x->v.n; i++) {
        const struct room *r = &x->v.v[i];
        struct document *one = document_map(&x->arena), *most, *where;

        document_put_text(&x->arena, one, "level", r->level);
        document_put_text(&x->arena, one, "model", r->model);
        document_put_int(&x->arena, one, "domains", r->domains);
        document_put_int(&x->arena, one, "free", (int64_t)r->free);
        document_put_int(&x->arena, one, "gpus", (int64_t)r->gpus);
        most = document_put_map(&x->arena, one, "largestGang");
        where = document_put_map(&x->arena, one, "where");
        for (int k = 0; k < SIZES; k++) {
            document_put_int(&x->arena, most, sizes[k], (int64_t)r->most[k]);
            document_put_text(&x->arena, where, sizes[k], r->where[k]);
        }
        document_add(&x->arena, items, one);
    }
    cli_print(d, format);
}

static void count_all(struct rooms *x, const struct queued_topology *t,
                      const struct queued_nodes *nodes)
{
    for (size_t i = 0; i < t->n_models; i++)
        count(x, "cluster", "cluster", &t->models[i]);
    for (uint32_t depth = 0, deeper = 1; deeper; depth++) { /* widest levels first */
        deeper = 0;
        for (size_t i = 0; i < t->n; i++) {
            deeper |= t->v[i].depth > depth;
            for (size_t k = 0; k < t->v[i].n_models && t->v[i].depth == depth && t->v[i].level; k++)
                count(x, t->v[i].level, t->v[i].path, &t->v[i].models[k]);
        }
    }
    for (size_t i = 0; i < nodes->n; i++)
        count_host(x, &nodes->v[i]);
}

static int show(struct rooms *x, struct queued_client *c, enum cli_format format, bool has_header)
{
    struct queued_topology *topology = NULL;
    struct queued_nodes *nodes = NULL;
    struct queued_error e;
    int rc = EXIT_OK;

    if (queued_topology(c, &topology, &e) || queued_nodes(c, &nodes, &e)) {
        rc = cli_error(&e);
    } else {
        count_all(x, topology, nodes);
        if (x->by && x->v.n == 0)
            rc = cli_usage("free: --by %s: no level of that name has GPUs; 'queuectl topology' "
                           "shows the levels",
                           x->by);
        else if (format == FORMAT_JSON || format == FORMAT_YAML)
            print_document(x, format);
        else if (x->v.n == 0 && format == FORMAT_TABLE)
            cli_note("the cluster has no GPUs");
        else
            print_rooms(x, format, has_header);
    }
    queued_topology_free(topology);
    queued_nodes_free(nodes);
    return rc;
}

int cmd_free(int argc, char **argv)
{
    struct rooms x = {0};
    bool no_headers = false;
    const struct cli_option options[] = {{"by", 0, OPTION_TEXT, &x.by},
                                         {"no-headers", 0, OPTION_FLAG, &no_headers}};
    struct queued_client *c = NULL;
    enum cli_format format;
    int first, rc = cli_parse(&(struct cli_options){"free", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first < argc)
        return cli_usage("free: unexpected \"%s\"", argv[first]);
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML | 1u << FORMAT_CSV,
                   &format))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc == 0)
        rc = show(&x, c, format, !no_headers);
    queued_close(c);
    vec_fini(&x.v);
    arena_fini(&x.arena);
    return rc;
}
