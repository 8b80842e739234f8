/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_reserve.c - queuectl reserve: nodes for a tenant, or for maintenance, from a time to a time;
 * the list of reservations, and the end of one.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "print_table.h"
#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"

struct wish {
    struct cli_texts nodes, labels;
    const char *name, *domain, *tenant, *from, *to, *reason;
    bool is_dry_run;
};

/* A time (RFC 3339), "now", or from `base` on a duration: "+2h". */
static int read_time(const char *option, const char *text, int64_t base, int64_t *ret)
{
    struct err err;
    usec_t t = 0;
    int rc = 0;

    if (strcmp(text, "now") == 0)
        t = cli_now_us();
    else if (text[0] == '+')
        rc = parse_duration(text + 1, &t, &err);
    else
        rc = parse_time(text, &t, &err);
    if (rc == 0 && text[0] == '+' && __builtin_add_overflow(t, base, &t))
        rc = err_set(&err, ERR_INVALID, "is too far away");
    *ret = t;
    return rc ? cli_usage("reserve: --%s %s: %s", option, text, err.text) : 0;
}

/* "gpu-1,gpu-2" and repeated ones; the texts are cut in place. */
static void split(struct cli_texts *texts, struct arena *a, struct queued_reserve *to)
{
    size_t n = 0;
    const char **v;

    for (size_t i = 0; i < texts->n; i++)
        for (const char *p = texts->v[i]; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
            n++;
    v = arena_alloc(a, (n + 1) * sizeof(*v));
    for (size_t i = 0; i < texts->n; i++) {
        char *copy = arena_strdup(a, texts->v[i]);

        for (char *p = strtok(copy, ","); p; p = strtok(NULL, ","))
            v[to->n_nodes++] = p;
    }
    to->nodes = v;
}

/* A name that nobody has yet, most likely: "vision-k3x9", "maintenance-q0af". */
static const char *make_name(struct arena *a, const char *tenant)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
    const char *last = tenant ? strrchr(tenant, '/') : NULL;
    uint64_t now = (uint64_t)cli_now_us() / 1000;
    char *name = xasprintf("%.50s-%c%c%c%c",
                           last     ? last + 1
                           : tenant ? tenant
                                    : "maintenance",
                           digits[now >> 15 & 31], digits[now >> 10 & 31], digits[now >> 5 & 31],
                           digits[now & 31]);
    const char *copy = arena_strdup(a, name);

    free(name);
    return copy;
}

static int fill(struct wish *w, struct arena *a, struct queued_reserve *to)
{
    struct queued_pair *labels = NULL;
    size_t n_labels = 0;
    int rc;

    if (!w->to)
        return cli_usage("reserve: --to is missing: a time, or +2h for two hours");
    if ((w->nodes.n > 0) == (w->domain || w->labels.n))
        return cli_usage("reserve: give --nodes, or else --domain or -l");
    rc = read_time("from", w->from ? w->from : "now", cli_now_us(), &to->from_us);
    rc = rc ? rc : read_time("to", w->to, to->from_us, &to->to_us);
    if (rc)
        return rc;
    if (cli_pairs(&w->labels, &labels, &n_labels, a))
        return EXIT_USAGE;
    to->labels = labels;
    to->n_labels = n_labels;
    split(&w->nodes, a, to);
    to->tenant = w->tenant;
    to->domain = w->domain;
    to->reason = w->reason;
    to->is_dry_run = w->is_dry_run;
    to->name = w->name ? w->name : make_name(a, w->tenant);
    return EXIT_OK;
}

static int make(struct queued_client *c, struct wish *w)
{
    struct arena a = {0};
    struct queued_reserve to = {0};
    struct queued_reserved done;
    struct queued_error e;
    int rc = fill(w, &a, &to);

    if (rc == EXIT_OK && queued_reserve(c, &to, &done, &e)) {
        rc = cli_error(&e);
    } else if (rc == EXIT_OK) {
        char from[FORMAT_MAX], until[FORMAT_MAX];

        (void)printf("reservation/%s %s for %s from %s to %s\n", to.name,
                     to.is_dry_run ? "could be made" : "made",
                     to.tenant ? to.tenant : "maintenance", format_time(from, to.from_us),
                     format_time(until, to.to_us));
        if (*done.warning)
            cli_note("warning: %s", done.warning);
    }
    arena_fini(&a);
    return rc;
}

static struct document *reservation_document(struct arena *a, const struct queued_reservation *r)
{
    struct document *d = document_map(a), *list;

    document_put_text(a, d, "name", r->name);
    if (r->tenant)
        document_put_text(a, d, "tenant", r->tenant);
    document_put_time(a, d, "from", r->from_us);
    document_put_time(a, d, "to", r->to_us);
    document_put_time(a, d, "made", r->made_us);
    document_put_text(a, d, "text", r->text);
    list = document_put_list(a, d, "nodes");
    for (size_t i = 0; i < r->n_nodes; i++)
        document_add(a, list, document_text(a, r->nodes[i]));
    list = document_put_list(a, d, "overlappingJobs");
    for (size_t i = 0; i < r->n_jobs; i++)
        document_add(a, list, document_text(a, r->jobs[i]));
    return d;
}

static void print_table(const struct queued_reservations *all)
{
    static const struct table_column columns[] = {
        {"NAME", TABLE_WHOLE, 0},  {"FOR", TABLE_WHOLE, 0},   {"FROM", TABLE_WHOLE, 0},
        {"TO", TABLE_WHOLE, 0},    {"NODES", TABLE_WHOLE, 0}, {"JOBS", TABLE_WHOLE, 0},
        {"BY", TABLE_CUT_END, 10},
    };
    struct table *t = table_create(columns, ARRAY_LEN(columns));
    char at[FORMAT_MAX];

    for (size_t i = 0; i < all->n; i++) {
        const struct queued_reservation *r = &all->v[i];

        table_add(t, r->name);
        table_add(t, r->tenant ? r->tenant : "maintenance");
        table_add(t, format_time(at, r->from_us));
        table_add(t, format_time(at, r->to_us));
        table_addf(t, "%zu", r->n_nodes);
        table_addf(t, "%zu", r->n_jobs);
        table_add(t, r->text);
    }
    table_print(t, 0, true);
    table_destroy(t);
}

static int list(struct queued_client *c, enum cli_format format)
{
    struct queued_reservations *all = NULL;
    struct arena a = {0};
    struct queued_error e;
    struct document *d, *items;

    if (queued_reservations(c, &all, &e))
        return cli_error(&e);
    if (all->n == 0 && format == FORMAT_TABLE) {
        cli_note("there are no reservations");
    } else if (format == FORMAT_TABLE) {
        print_table(all);
    } else {
        d = document_map(&a);
        document_put_text(&a, d, "apiVersion", "gang.queued/v1");
        document_put_text(&a, d, "kind", "ReservationList");
        items = document_put_list(&a, d, "items");
        for (size_t i = 0; i < all->n; i++)
            document_add(&a, items, reservation_document(&a, &all->v[i]));
        cli_print(d, format);
    }
    arena_fini(&a);
    queued_reservations_free(all);
    return EXIT_OK;
}

static int cancel(struct queued_client *c, char **names, int n)
{
    struct queued_error e;
    int rc = EXIT_OK;

    for (int i = 0; i < n; i++) {
        int one = EXIT_OK;

        if (queued_unreserve(c, names[i], &e))
            one = cli_error(&e);
        else
            (void)printf("reservation/%s cancelled\n", names[i]);
        rc = rc ? rc : one;
    }
    return rc;
}

/* Is something said of a reservation that is to be made? */
static bool is_wish(const struct wish *w)
{
    return w->nodes.n || w->labels.n || w->name || w->domain || w->tenant || w->from || w->to ||
           w->reason || w->is_dry_run;
}

static int run(struct wish *w, int n, char **words)
{
    bool is_list = n == 1 && strcmp(words[0], "list") == 0;
    bool is_cancel = n > 1 && strcmp(words[0], "cancel") == 0;
    struct queued_client *c = NULL;
    enum cli_format format;
    int rc;

    if (n > 0 && ((!is_list && !is_cancel) || is_wish(w)))
        return cli_usage("reserve: say list, cancel NAME..., or only options");
    if (cli_format(is_list ? 1u << FORMAT_TABLE | 1u << FORMAT_JSON | 1u << FORMAT_YAML
                           : 1u << FORMAT_TABLE,
                   &format))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc)
        return rc;
    if (is_list)
        rc = list(c, format);
    else if (is_cancel)
        rc = cancel(c, words + 1, n - 1);
    else
        rc = make(c, w);
    queued_close(c);
    return rc;
}

int cmd_reserve(int argc, char **argv)
{
    struct wish w = {0};
    const struct cli_option options[] = {
        {"nodes", 0, OPTION_REPEATED, &w.nodes},
        {"domain", 0, OPTION_TEXT, &w.domain},
        {"selector", 'l', OPTION_REPEATED, &w.labels},
        {"tenant", 0, OPTION_TEXT, &w.tenant},
        {"from", 0, OPTION_TEXT, &w.from},
        {"to", 0, OPTION_TEXT, &w.to},
        {"name", 0, OPTION_TEXT, &w.name},
        {"reason", 0, OPTION_TEXT, &w.reason},
        {"dry-run", 0, OPTION_FLAG, &w.is_dry_run},
    };
    int first, rc = cli_parse(&(struct cli_options){"reserve", options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    rc = rc ? rc - 1 : run(&w, argc - first, argv + first);
    cli_texts_fini(&w.nodes);
    cli_texts_fini(&w.labels);
    return rc;
}
