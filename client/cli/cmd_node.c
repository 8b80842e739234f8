/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_node.c - queuectl nodes and topology: what the cluster has and what is free of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "print_job.h"
#include "print_table.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"

enum { LINE_MAX_WIDTH = 100 };

static const char *join(struct arena *a, const char *const *v, size_t n)
{
    struct str s = {0};
    const char *ret;

    for (size_t i = 0; i < n; i++)
        str_addf(&s, "%s%s", i ? "," : "", v[i]);
    ret = arena_strdup(a, str_text(&s));
    str_fini(&s);
    return ret;
}

static const char *health(const struct queued_node *n)
{
    if (!n->is_known)
        return "unknown";
    return n->is_usable ? "ready" : n->trouble ? n->trouble : "not usable";
}

static void add_node(struct table *t, const struct queued_node *n, bool is_wide)
{
    struct arena a = {0};
    char used[FORMAT_MAX], all[FORMAT_MAX];

    table_add(t, n->name);
    table_add(t, n->model);
    table_addf(t, "%lld/%lld", (long long)n->gpus_used, (long long)n->gpus_allocatable);
    table_addf(t, "%lld", (long long)n->gpus_free);
    if (is_wide) {
        table_addf(t, "%s/%s", format_cpu(used, n->cpu_milli_used), format_cpu(all, n->cpu_milli));
        table_addf(t, "%s/%s", format_bytes(used, n->memory_bytes_used),
                   format_bytes(all, n->memory_bytes));
        table_addf(t, "%u", n->pods);
        table_add(t, n->pool);
        table_add(t, join(&a, n->taints, n->n_taints));
    }
    table_add(t, join(&a, n->domains, n->n_domains));
    if (is_wide && n->drained)
        table_addf(t, "%s %s", health(n), n->drained);
    else
        table_add(t, health(n));
    table_add(t, join(&a, n->jobs, n->n_jobs));
    arena_fini(&a);
}

static void print_nodes(const struct queued_node *const *v, size_t n, enum cli_format format,
                        bool has_header)
{
    static const struct table_column columns[] = {
        {"NODE", TABLE_CUT_MIDDLE, 16}, {"MODEL", TABLE_WHOLE, 0},     {"USED", TABLE_WHOLE, 0},
        {"FREE", TABLE_WHOLE, 0},       {"DOMAINS", TABLE_CUT_END, 7}, {"STATE", TABLE_CUT_END, 10},
        {"JOBS", TABLE_CUT_END, 8},
    };
    static const struct table_column wide_columns[] = {
        {"NODE", TABLE_WHOLE, 0},    {"MODEL", TABLE_WHOLE, 0}, {"USED", TABLE_WHOLE, 0},
        {"FREE", TABLE_WHOLE, 0},    {"CPU", TABLE_WHOLE, 0},   {"MEMORY", TABLE_WHOLE, 0},
        {"PODS", TABLE_WHOLE, 0},    {"POOL", TABLE_WHOLE, 0},  {"TAINTS", TABLE_WHOLE, 0},
        {"DOMAINS", TABLE_WHOLE, 0}, {"STATE", TABLE_WHOLE, 0}, {"JOBS", TABLE_WHOLE, 0},
    };
    bool is_wide = format != FORMAT_TABLE;
    struct table *t = is_wide ? table_create(wide_columns, ARRAY_LEN(wide_columns))
                              : table_create(columns, ARRAY_LEN(columns));

    for (size_t i = 0; i < n; i++)
        add_node(t, v[i], is_wide);
    if (format == FORMAT_CSV)
        table_print_csv(t, has_header);
    else
        table_print(t, is_wide ? 0 : LINE_MAX_WIDTH, has_header);
    table_destroy(t);
}

static void put_list(struct arena *a, struct document *map, const char *key, const char *const *v,
                     size_t n)
{
    struct document *list = document_put_list(a, map, key);

    for (size_t i = 0; i < n; i++)
        document_add(a, list, document_text(a, v[i]));
}

static void put_mig(struct arena *a, struct document *list, const struct queued_node *n)
{
    for (size_t i = 0; i < n->n_mig; i++) {
        struct document *m = document_map(a);

        document_put_text(a, m, "resource", n->mig[i].resource);
        document_put_int(a, m, "allocatable", n->mig[i].allocatable);
        document_put_int(a, m, "used", n->mig[i].used);
        document_add(a, list, m);
    }
}

static struct document *node_document(struct arena *a, const struct queued_node *n)
{
    struct document *d = document_map(a), *part;

    document_put_text(a, d, "name", n->name);
    document_put_text(a, d, "model", n->model);
    document_put_text(a, d, "pool", n->pool);
    part = document_put_map(a, d, "gpus");
    document_put_int(a, part, "capacity", n->gpus_capacity);
    document_put_int(a, part, "allocatable", n->gpus_allocatable);
    document_put_int(a, part, "expected", n->gpus_expected);
    document_put_int(a, part, "used", n->gpus_used);
    document_put_int(a, part, "free", n->gpus_free);
    if (n->n_mig)
        put_mig(a, document_put_list(a, d, "mig"), n);
    part = document_put_map(a, d, "cpuMilli");
    document_put_int(a, part, "allocatable", n->cpu_milli);
    document_put_int(a, part, "used", n->cpu_milli_used);
    part = document_put_map(a, d, "memoryBytes");
    document_put_int(a, part, "allocatable", n->memory_bytes);
    document_put_int(a, part, "used", n->memory_bytes_used);
    document_put_bool(a, d, "known", n->is_known);
    document_put_bool(a, d, "usable", n->is_usable);
    document_put_text(a, d, "trouble", n->trouble);
    if (n->drained) {
        part = document_put_map(a, d, "drained");
        document_put_text(a, part, "text", n->drained);
        document_put_time(a, part, "since", n->drained_us);
    }
    put_list(a, d, "domains", n->domains, n->n_domains);
    document_put_int(a, d, "pods", n->pods);
    put_list(a, d, "jobs", n->jobs, n->n_jobs);
    put_list(a, d, "taints", n->taints, n->n_taints);
    return d;
}

struct nodes {
    bool unhealthy, no_headers;
    const char *pool; /* NULL: any */
    enum cli_format format;
};

static void show_nodes(const struct nodes *x, const struct queued_nodes *nodes)
{
    struct arena a = {0};
    const struct queued_node **v = arena_alloc(&a, (nodes->n + 1) * sizeof(*v));
    struct document *items, *d = list_document(&a, "NodeList", &items);
    size_t n = 0;

    for (size_t i = 0; i < nodes->n; i++)
        if ((!x->unhealthy || !nodes->v[i].is_usable) &&
            (!x->pool || (nodes->v[i].pool && strcmp(nodes->v[i].pool, x->pool) == 0)))
            v[n++] = &nodes->v[i];
    if (x->format == FORMAT_JSON || x->format == FORMAT_YAML) {
        for (size_t i = 0; i < n; i++)
            document_add(&a, items, node_document(&a, v[i]));
        cli_print(d, x->format);
    } else if (n == 0 && x->format != FORMAT_CSV) {
        cli_note(x->unhealthy ? "every node is usable"
                 : x->pool    ? "the pool has no nodes, or there is none of that name"
                              : "the cluster has no nodes");
    } else if (x->format == FORMAT_NAME) {
        for (size_t i = 0; i < n; i++)
            (void)printf("node/%s\n", v[i]->name);
    } else {
        print_nodes(v, n, x->format, !x->no_headers);
    }
    arena_fini(&a);
}

int cmd_nodes(int argc, char **argv)
{
    struct nodes x = {0};
    const struct cli_option options[] = {{"unhealthy", 0, OPTION_FLAG, &x.unhealthy},
                                         {"pool", 0, OPTION_TEXT, &x.pool},
                                         {"no-headers", 0, OPTION_FLAG, &x.no_headers}};
    struct queued_client *c = NULL;
    struct queued_nodes *nodes = NULL;
    struct queued_error e;
    int first, rc = cli_parse(&(struct cli_options){"nodes", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first < argc)
        return cli_usage("nodes: unexpected \"%s\"", argv[first]);
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_WIDE | 1u << FORMAT_JSON | 1u << FORMAT_YAML |
                       1u << FORMAT_NAME | 1u << FORMAT_CSV,
                   &x.format))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc)
        return rc;
    if (queued_nodes(c, &nodes, &e))
        rc = cli_error(&e);
    else
        show_nodes(&x, nodes);
    queued_nodes_free(nodes);
    queued_close(c);
    return rc;
}

/* ---- topology */

/* Used part of the GPUs, ten characters wide. */
static const char *bar(char buf[16], uint64_t gpus, uint64_t free_gpus)
{
    uint64_t used = gpus > free_gpus ? gpus - free_gpus : 0;
    size_t filled = gpus ? (size_t)((used * 10 + gpus - 1) / gpus) : 0;

    memset(buf, '.', 10);
    memset(buf, '#', filled);
    buf[10] = '\0';
    return buf;
}

static void add_models(struct table *t, const char *name, const struct queued_model *v, size_t n)
{
    char buf[16];

    for (size_t i = 0; i < n; i++) {
        table_add(t, i == 0 ? name : " ");
        table_add(t, v[i].model);
        table_addf(t, "%u", v[i].nodes);
        table_addf(t, "%llu/%llu", (unsigned long long)v[i].free, (unsigned long long)v[i].gpus);
        table_add(t, bar(buf, v[i].gpus, v[i].free));
        for (size_t k = 0; k < ARRAY_LEN(v[i].slots); k++)
            table_addf(t, "%llu", (unsigned long long)v[i].slots[k]);
    }
}

static void print_topology(const struct queued_topology *x)
{
    static const struct table_column columns[] = {
        {"DOMAIN", TABLE_CUT_END, 20}, {"MODEL", TABLE_WHOLE, 0}, {"NODES", TABLE_WHOLE, 0},
        {"FREE", TABLE_WHOLE, 0},      {"USE", TABLE_WHOLE, 0},   {"1s", TABLE_WHOLE, 0},
        {"2s", TABLE_WHOLE, 0},        {"4s", TABLE_WHOLE, 0},    {"8s", TABLE_WHOLE, 0},
    };
    struct table *t = table_create(columns, ARRAY_LEN(columns));
    struct arena a = {0};

    add_models(t, "cluster", x->models, x->n_models);
    for (size_t i = 0; i < x->n; i++) {
        const char *path = x->v[i].path ? x->v[i].path : "";
        const char *last = strrchr(path, '/');
        struct str name = {0};

        str_addf(&name, "%*s%s %s", 2 * (int)(x->v[i].depth % 16) + 2, "",
                 x->v[i].level ? x->v[i].level : "", last ? last + 1 : path);
        for (size_t k = 0; k < x->v[i].n_exclusive; k++)
            str_addf(&name, "%s%s", k ? ", " : " only ", x->v[i].exclusive[k]);
        add_models(t, arena_strdup(&a, str_text(&name)), x->v[i].models, x->v[i].n_models);
        str_fini(&name);
    }
    table_print(t, LINE_MAX_WIDTH, true);
    table_destroy(t);
    arena_fini(&a);
}

static void put_models(struct arena *a, struct document *map, const struct queued_model *v,
                       size_t n)
{
    static const char *const names[] = {"1", "2", "4", "8"};
    struct document *list = document_put_list(a, map, "models"), *slots;

    for (size_t i = 0; i < n; i++) {
        struct document *d = document_map(a);

        document_put_text(a, d, "model", v[i].model);
        document_put_int(a, d, "nodes", v[i].nodes);
        document_put_int(a, d, "gpus", (int64_t)v[i].gpus);
        document_put_int(a, d, "free", (int64_t)v[i].free);
        slots = document_put_map(a, d, "slots");
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            document_put_int(a, slots, names[k], (int64_t)v[i].slots[k]);
        document_add(a, list, d);
    }
}

static struct document *topology_document(struct arena *a, const struct queued_topology *x)
{
    struct document *items, *d = list_document(a, "DomainList", &items);
    struct document *cluster = document_put_map(a, d, "cluster");

    put_models(a, cluster, x->models, x->n_models);
    for (size_t i = 0; i < x->n; i++) {
        struct document *one = document_map(a);

        document_put_text(a, one, "hierarchy", x->v[i].hierarchy);
        document_put_text(a, one, "level", x->v[i].level);
        document_put_text(a, one, "path", x->v[i].path);
        document_put_int(a, one, "depth", x->v[i].depth);
        if (x->v[i].n_exclusive)
            put_list(a, one, "exclusive", x->v[i].exclusive, x->v[i].n_exclusive);
        put_models(a, one, x->v[i].models, x->v[i].n_models);
        document_add(a, items, one);
    }
    return d;
}

int cmd_topology(int argc, char **argv)
{
    struct queued_client *c = NULL;
    struct queued_topology *topology = NULL;
    struct arena a = {0};
    enum cli_format format;
    struct queued_error e;
    const char *matrix = NULL;
    const struct cli_option options[] = {{"matrix", 0, OPTION_TEXT, &matrix}};
    int first, rc = cli_parse(&(struct cli_options){"topology", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first < argc)
        return cli_usage("topology: unexpected \"%s\"", argv[first]);
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML, &format))
        return EXIT_USAGE;
    if (matrix)
        return show_matrix(matrix, format);
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc)
        return rc;
    if (queued_topology(c, &topology, &e))
        rc = cli_error(&e);
    else if (format == FORMAT_TABLE)
        print_topology(topology);
    else
        cli_print(topology_document(&a, topology), format);
    arena_fini(&a);
    queued_topology_free(topology);
    queued_close(c);
    return rc;
}
