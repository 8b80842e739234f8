/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_tenant.c - queuectl quota: guaranteed, used and borrowed GPUs of tenants.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "print_job.h"
#include "print_table.h"
#include "util/mem.h"

static void add_limit(struct table *t, bool has, int64_t v)
{
    if (has)
        table_addf(t, "%lld", (long long)v);
    else
        table_add(t, NULL);
}

static void add_quota(struct table *t, const struct queued_tenant *x, const struct queued_quota *q)
{
    int64_t guaranteed = q->has_quota ? q->quota : 0;
    int64_t used = (int64_t)q->used;

    table_add(t, x->path);
    table_add(t, q->model);
    add_limit(t, q->has_quota, q->quota);
    table_addf(t, "%lld", (long long)used);
    table_addf(t, "%lld", (long long)(used > guaranteed ? used - guaranteed : 0));
    add_limit(t, q->has_limit, q->limit);
    table_addf(t, "%u", x->pending);
    table_addf(t, "%u", x->active);
    table_addf(t, "%u", x->weight);
}

/* A tenant without any quota still has jobs to show. */
static void add_tenant(struct table *t, const struct queued_tenant *x)
{
    if (x->n_quotas == 0)
        add_quota(t, x, &(struct queued_quota){0});
    for (size_t i = 0; i < x->n_quotas; i++)
        add_quota(t, x, &x->quotas[i]);
}

static void print_table(const struct queued_tenant *const *v, size_t n, bool has_header)
{
    static const struct table_column columns[] = {
        {"TENANT", TABLE_WHOLE, 0},  {"MODEL", TABLE_WHOLE, 0},    {"GUARANTEED", TABLE_WHOLE, 0},
        {"USED", TABLE_WHOLE, 0},    {"BORROWED", TABLE_WHOLE, 0}, {"LIMIT", TABLE_WHOLE, 0},
        {"PENDING", TABLE_WHOLE, 0}, {"ACTIVE", TABLE_WHOLE, 0},   {"WEIGHT", TABLE_WHOLE, 0},
    };
    struct table *t = table_create(columns, ARRAY_LEN(columns));

    for (size_t i = 0; i < n; i++)
        add_tenant(t, v[i]);
    table_print(t, 0, has_header);
    table_destroy(t);
}

static struct document *tenant_document(struct arena *a, const struct queued_tenant *x)
{
    struct document *d = document_map(a), *models;

    document_put_text(a, d, "tenant", x->path);
    document_put_int(a, d, "weight", x->weight);
    document_put_int(a, d, "pending", x->pending);
    document_put_int(a, d, "active", x->active);
    models = document_put_list(a, d, "models");
    for (size_t i = 0; i < x->n_quotas; i++) {
        struct document *m = document_map(a);

        document_put_text(a, m, "model", x->quotas[i].model);
        if (x->quotas[i].has_quota)
            document_put_int(a, m, "guaranteed", x->quotas[i].quota);
        if (x->quotas[i].has_limit)
            document_put_int(a, m, "limit", x->quotas[i].limit);
        document_put_int(a, m, "used", (int64_t)x->quotas[i].used);
        document_add(a, models, m);
    }
    return d;
}

/* The tenant itself or one below it. */
static bool is_wanted(const struct queued_tenant *x, const char *tenant)
{
    size_t len = tenant ? strlen(tenant) : 0;

    if (!tenant)
        return true;
    return x->path && strncmp(x->path, tenant, len) == 0 &&
           (x->path[len] == '\0' || x->path[len] == '/');
}

static int show(const struct queued_tenants *tenants, const char *tenant, enum cli_format format,
                bool has_header)
{
    struct arena a = {0};
    const struct queued_tenant **v = arena_alloc(&a, (tenants->n + 1) * sizeof(*v));
    struct document *items, *d = list_document(&a, "TenantList", &items);
    size_t n = 0;
    int rc = EXIT_OK;

    for (size_t i = 0; i < tenants->n; i++)
        if (is_wanted(&tenants->v[i], tenant))
            v[n++] = &tenants->v[i];
    if (n == 0 && tenant) {
        cli_note("there is no tenant %s that you may see", tenant);
        rc = EXIT_NOT_FOUND;
    } else if (format == FORMAT_TABLE) {
        print_table(v, n, has_header);
    } else {
        for (size_t i = 0; i < n; i++)
            document_add(&a, items, tenant_document(&a, v[i]));
        cli_print(d, format);
    }
    arena_fini(&a);
    return rc;
}

int cmd_quota(int argc, char **argv)
{
    bool no_headers = false;
    const struct cli_option options[] = {{"no-headers", 0, OPTION_FLAG, &no_headers}};
    struct queued_client *c = NULL;
    struct queued_tenants *tenants = NULL;
    enum cli_format format;
    struct queued_error e;
    int first, rc = cli_parse(&(struct cli_options){"quota", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (argc - first > 1)
        return cli_usage("quota: name one tenant, or none for all");
    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML, &format))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc)
        return rc;
    if (queued_tenants(c, &tenants, &e))
        rc = cli_error(&e);
    else
        rc = show(tenants, first < argc ? argv[first] : NULL, format, !no_headers);
    queued_tenants_free(tenants);
    queued_close(c);
    return rc;
}
