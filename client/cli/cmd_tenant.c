/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_tenant.c - queuectl quota: guaranteed, used and borrowed GPUs of tenants; queuectl tenant:
 * their state, stop and resume. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "print_job.h"
#include "print_table.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"

static void add_limit(struct table *t, bool has, int64_t v)
{
    if (has)
        table_addf(t, "%lld", (long long)v);
    else
        table_add(t, NULL);
}

/* Its place among those who wait, and what others may take back from it. */
static void add_next(struct table *t, const struct queued_tenant *x, int64_t beyond_milli)
{
    static const char ends[] = "thstndrd"; /* 0th, 1st ... */
    uint32_t last = x->rank % 100 / 10 == 1 ? 0 : x->rank % 10;
    char rank[48] = "", lost[FORMAT_MAX + 32] = "", text[FORMAT_MAX];

    if (x->rank)
        (void)snprintf(rank, sizeof(rank), "%u%.2s to %s", x->rank, &ends[last < 4 ? 2 * last : 0],
                       beyond_milli < 0 ? "start" : "borrow");
    if (beyond_milli > 0)
        (void)snprintf(lost, sizeof(lost), "%s%s GPUs reclaimable by others", *rank ? "; " : "",
                       format_milli(text, beyond_milli));
    if (x->stopped || x->opens_us)
        table_add(t, x->stopped ? "stopped" : "closed");
    else if (*rank || *lost)
        table_addf(t, "%s%s", rank, lost);
    else
        table_add(t, NULL);
}

static void add_quota(struct table *t, const struct queued_tenant *x, const struct queued_quota *q)
{
    int64_t guaranteed = q->has_quota ? q->quota : 0;
    int64_t used = (int64_t)(1000 * q->used + q->used_milli), beyond = used - 1000 * guaranteed;
    char text[FORMAT_MAX];

    table_add(t, x->path);
    table_add(t, q->model);
    add_limit(t, q->has_quota, q->quota);
    table_add(t, format_milli(text, used));
    table_add(t, format_milli(text, beyond > 0 ? beyond : 0));
    table_addf(t, "%llu", (unsigned long long)q->lent);
    add_limit(t, q->has_limit, q->limit);
    table_addf(t, "%u", x->pending);
    table_addf(t, "%llu.%02llu", (unsigned long long)q->share_permille / 1000,
               (unsigned long long)q->share_permille % 1000 / 10);
    add_next(t, x, beyond);
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
        {"TENANT", TABLE_WHOLE, 0}, {"MODEL", TABLE_WHOLE, 0},    {"GUARANTEED", TABLE_WHOLE, 0},
        {"USED", TABLE_WHOLE, 0},   {"BORROWED", TABLE_WHOLE, 0}, {"LENT", TABLE_WHOLE, 0},
        {"LIMIT", TABLE_WHOLE, 0},  {"PENDING", TABLE_WHOLE, 0},  {"SHARE", TABLE_WHOLE, 0},
        {"NEXT", TABLE_WHOLE, 0},
    };
    struct table *t = table_create(columns, ARRAY_LEN(columns));

    for (size_t i = 0; i < n; i++)
        add_tenant(t, v[i]);
    table_print(t, 0, has_header);
    table_destroy(t);
}

/* "night: Mon-Fri 20:00-06:00 (UTC+01:00), opens at ..." */
static void add_windows(struct table *t, const struct queued_tenant *x)
{
    char at[FORMAT_MAX];
    struct str b = {0};

    for (size_t i = 0; i < x->n_windows; i++)
        str_addf(&b, "%s%s", i ? "; " : "", x->windows[i]);
    if (x->utc_offset)
        str_addf(&b, " (UTC%s)", x->utc_offset);
    if (x->opens_us == INT64_MAX)
        str_addf(&b, "%snever opens", b.len ? ", " : "");
    else if (x->opens_us || x->closes_us)
        str_addf(&b, "%s%s at %s", b.len ? ", " : "", x->opens_us ? "opens" : "closes",
                 format_time(at, x->opens_us ? x->opens_us : x->closes_us));
    table_add(t, b.len ? str_text(&b) : NULL);
    str_fini(&b);
}

static void print_tenants(const struct queued_tenant *const *v, size_t n, bool has_header)
{
    static const struct table_column columns[] = {
        {"TENANT", TABLE_WHOLE, 0},  {"STATE", TABLE_WHOLE, 0},   {"PENDING", TABLE_WHOLE, 0},
        {"ACTIVE", TABLE_WHOLE, 0},  {"WEIGHT", TABLE_WHOLE, 0},  {"RANK", TABLE_WHOLE, 0},
        {"STOPPED", TABLE_WHOLE, 0}, {"WINDOWS", TABLE_WHOLE, 0},
    };
    struct table *t = table_create(columns, ARRAY_LEN(columns));

    for (size_t i = 0; i < n; i++) {
        table_add(t, v[i]->path);
        table_add(t, v[i]->stopped ? "stopped" : v[i]->opens_us ? "closed" : "open");
        table_addf(t, "%u", v[i]->pending);
        table_addf(t, "%u", v[i]->active);
        table_addf(t, "%u", v[i]->weight);
        if (v[i]->rank)
            table_addf(t, "%u", v[i]->rank);
        else
            table_add(t, NULL);
        table_add(t, v[i]->stopped);
        add_windows(t, v[i]);
    }
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
    if (x->rank)
        document_put_int(a, d, "rank", x->rank);
    if (x->stopped) {
        struct document *stop = document_put_map(a, d, "stopped");

        document_put_text(a, stop, "text", x->stopped);
        document_put_time(a, stop, "since", x->stopped_us);
    }
    if (x->n_windows) {
        struct document *windows = document_put_list(a, d, "windows");

        for (size_t i = 0; i < x->n_windows; i++)
            document_add(a, windows, document_text(a, x->windows[i]));
        document_put_text(a, d, "utcOffset", x->utc_offset);
    }
    document_put_time(a, d, "opensAt", x->opens_us < INT64_MAX ? x->opens_us : 0);
    document_put_time(a, d, "closesAt", x->closes_us);
    if (x->opens_us)
        document_put_bool(a, d, "closed", true);
    if (x->usual_permille)
        document_put_int(a, d, "usualRuntimePermille", x->usual_permille);
    models = document_put_list(a, d, "models");
    for (size_t i = 0; i < x->n_quotas; i++) {
        struct document *m = document_map(a);

        document_put_text(a, m, "model", x->quotas[i].model);
        if (x->quotas[i].has_quota)
            document_put_int(a, m, "guaranteed", x->quotas[i].quota);
        if (x->quotas[i].has_limit)
            document_put_int(a, m, "limit", x->quotas[i].limit);
        document_put_int(a, m, "used", (int64_t)x->quotas[i].used);
        if (x->quotas[i].used_milli)
            document_put_int(a, m, "usedMilli", (int64_t)x->quotas[i].used_milli);
        document_put_int(a, m, "pastMilli", (int64_t)x->quotas[i].past_milli);
        document_put_int(a, m, "sharePermille", (int64_t)x->quotas[i].share_permille);
        document_put_int(a, m, "lent", (int64_t)x->quotas[i].lent);
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

/* What to show, and how. */
struct view {
    const char *tenant; /* with those below it; NULL: all */
    bool no_headers;
    enum cli_format format;
    void (*print)(const struct queued_tenant *const *v, size_t n, bool has_header);
};

static int show(const struct queued_tenants *tenants, const struct view *view)
{
    struct arena a = {0};
    const struct queued_tenant **v = arena_alloc(&a, (tenants->n + 1) * sizeof(*v));
    struct document *items, *d = list_document(&a, "TenantList", &items);
    size_t n = 0;
    int rc = EXIT_OK;

    for (size_t i = 0; i < tenants->n; i++)
        if (is_wanted(&tenants->v[i], view->tenant))
            v[n++] = &tenants->v[i];
    if (n == 0 && view->tenant) {
        cli_note("there is no tenant %s that you may see", view->tenant);
        rc = EXIT_NOT_FOUND;
    } else if (view->format == FORMAT_TABLE) {
        view->print(v, n, !view->no_headers);
    } else {
        for (size_t i = 0; i < n; i++)
            document_add(&a, items, tenant_document(&a, v[i]));
        cli_print(d, view->format);
    }
    arena_fini(&a);
    return rc;
}

static int get(struct view *view)
{
    struct queued_client *c = NULL;
    struct queued_tenants *tenants = NULL;
    struct queued_error e;
    int rc;

    if (cli_format(1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML, &view->format))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc)
        return rc;
    if (queued_tenants(c, &tenants, &e))
        rc = cli_error(&e);
    else
        rc = show(tenants, view);
    queued_tenants_free(tenants);
    queued_close(c);
    return rc;
}

int cmd_quota(int argc, char **argv)
{
    struct view view = {.print = print_table};
    const struct cli_option options[] = {{"no-headers", 0, OPTION_FLAG, &view.no_headers}};
    int first, rc = cli_parse(&(struct cli_options){"quota", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (argc - first > 1)
        return cli_usage("quota: name one tenant, or none for all");
    view.tenant = first < argc ? argv[first] : NULL;
    return get(&view);
}

static int stop_one(struct queued_client *c, const char *tenant, bool is_back, const char *reason)
{
    struct queued_error e;

    if (is_back ? queued_tenant_resume(c, tenant, &e) : queued_tenant_stop(c, tenant, reason, &e))
        return cli_error(&e);
    (void)printf("tenant/%s %s\n", tenant, is_back ? "resumed" : "stopped; what runs goes on");
    return 0;
}

static int stop_all(int n, char **tenants, bool is_back, const char *reason)
{
    struct queued_client *c = NULL;
    enum cli_format format;
    int rc;

    if (n == 0)
        return cli_usage("tenant: name the tenants; 'queuectl tenant get' shows them");
    if (is_back && reason)
        return cli_usage("tenant resume: takes no --reason");
    if (cli_format(1u << FORMAT_TABLE, &format))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    for (int i = 0; i < n && c; i++) {
        int one = stop_one(c, tenants[i], is_back, reason);

        rc = rc ? rc : one;
    }
    queued_close(c);
    return rc;
}

int cmd_tenant(int argc, char **argv)
{
    struct view view = {.print = print_tenants};
    const char *reason = NULL;
    const struct cli_option options[] = {{"no-headers", 0, OPTION_FLAG, &view.no_headers},
                                         {"reason", 0, OPTION_TEXT, &reason}};
    int first, rc = cli_parse(&(struct cli_options){"tenant", options, ARRAY_LEN(options)}, argc,
                              argv, &first);
    const char *verb;

    if (rc)
        return rc - 1;
    verb = first < argc ? argv[first++] : "";
    if (strcmp(verb, "stop") == 0 || strcmp(verb, "resume") == 0)
        return stop_all(argc - first, &argv[first], *verb == 'r', reason);
    if (strcmp(verb, "get") != 0 || argc - first > 1 || reason)
        return cli_usage("tenant: say get [TENANT], stop TENANT... or resume TENANT...");
    view.tenant = first < argc ? argv[first] : NULL;
    return get(&view);
}
