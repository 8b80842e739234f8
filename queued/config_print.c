/* SPDX-License-Identifier: Apache-2.0 */
/* config_print.c - the configuration in force as YAML that config_load() reads back. Texts are
 * printed with quotes, so that none of them turns into a number.
 */
#include <inttypes.h>
#include <string.h>

#include "config_read.h"
#include "spec/week.h"
#include "util/parse.h"
#include "util/str.h"

/* A text in quotes. */
static void add_text(struct str *b, const char *s)
{
    str_add_json(b, s);
}

/* n texts of size bytes each, as [..]. */
static void add_list(struct str *b, const char *first, size_t size, uint32_t n)
{
    str_add(b, "[");
    for (uint32_t i = 0; i < n; i++) {
        str_add(b, i ? ", " : "");
        add_text(b, first + i * size);
    }
    str_add(b, "]");
}

static void add_duration(struct str *b, const char *key, usec_t d)
{
    char text[FORMAT_MAX];

    str_addf(b, "%s: %s", key, format_duration_exact(text, d));
}

static void add_levels(struct str *b, const struct settings *s)
{
    str_add(b, "levels:\n");
    for (uint32_t h = 0; h < s->n_hierarchies; h++) {
        str_add(b, "- name: ");
        add_text(b, s->hierarchies[h].name);
        str_add(b, "\n  levels:\n");
        for (uint32_t i = 0; i < s->hierarchies[h].n_levels; i++) {
            const struct level_setting *l = &s->hierarchies[h].levels[i];

            str_add(b, "  - {name: ");
            add_text(b, l->name);
            str_add(b, ", labels: ");
            add_list(b, l->labels[0], sizeof(l->labels[0]), l->n_labels);
            str_addf(b, ", cost: %" PRIu32 "}\n", l->cost);
        }
    }
}

static void add_names(struct str *b, const struct config *c)
{
    const struct settings *s = &c->settings;

    str_add(b, s->n_models ? "models:\n" : "models: {}\n");
    for (uint32_t i = 0; i < s->n_models; i++) {
        str_add(b, "  ");
        add_text(b, s->models[i].name);
        str_add(b, ": ");
        add_list(b, s->models[i].products[0], sizeof(s->models[i].products[0]),
                 s->models[i].n_products);
        str_add(b, "\n");
    }
    str_add(b, s->n_aliases ? "resources:\n" : "resources: {}\n");
    for (uint32_t i = 0; i < s->n_aliases; i++) {
        str_add(b, "  ");
        add_text(b, s->aliases[i].name);
        str_add(b, ": ");
        add_list(b, s->aliases[i].resource, sizeof(s->aliases[i].resource), 1);
        str_add(b, "\n");
    }
    str_add(b, s->n_licences ? "licences:\n" : "licences: {}\n");
    for (uint32_t i = 0; i < s->n_licences; i++) {
        str_add(b, "  ");
        add_text(b, s->licences[i].name);
        str_addf(b, ": %" PRIu32 "\n", s->licences[i].count);
    }
    str_add(b, "classes:\n");
    for (uint32_t i = 0; i < s->n_classes; i++) {
        str_add(b, "  ");
        add_text(b, s->classes[i].name);
        str_addf(b, ": {value: %" PRId32, s->classes[i].value);
        if (*s->classes[i].kubernetes) {
            str_add(b, ", kubernetes: ");
            add_text(b, s->classes[i].kubernetes);
        }
        str_add(b, "}\n");
    }
}

/* Those above `none`. */
static void add_amounts(struct str *b, const struct settings *s, const char *key,
                        const struct model_amounts *a, int64_t none)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_models; i++) {
        if (a->gpus[i] <= none)
            continue;
        str_addf(b, "%s", n ? ", " : key);
        add_text(b, s->models[i].name);
        str_addf(b, ": %" PRId64, a->gpus[i]);
        n++;
    }
    str_add(b, n ? "}" : "");
}

/* Where it is less than the quota. */
static void add_lendable(struct str *b, const struct settings *s, const struct tenant_setting *t)
{
    struct model_amounts lendable;

    for (uint32_t i = 0; i < MODELS_MAX; i++) {
        lendable.gpus[i] = t->unlent.gpus[i] ? t->quota.gpus[i] - t->unlent.gpus[i] : -1;
        for (uint32_t k = 0; k < t->n_windows; k++)
            if (t->windows[k].unlent.gpus[i])
                lendable.gpus[i] = t->windows[k].quota.gpus[i] - t->windows[k].unlent.gpus[i];
    }
    add_amounts(b, s, ", lendable: {", &lendable, -1);
}

static void add_window(struct str *b, const struct settings *s, const struct opening_setting *w)
{
    const char *sep = "";

    str_add(b, "{name: ");
    add_text(b, w->name);
    str_add(b, ", days: [");
    for (int day = 0; day < WEEK_DAYS; day++) {
        if (!(w->days >> day & 1))
            continue;
        str_addf(b, "%s%s", sep, config_day_word(day));
        sep = ", ";
    }
    str_addf(b, "], from: \"%02u:%02u\", to: \"%02u:%02u\", fit: %s", w->from_min / 60,
             w->from_min % 60, w->to_min / 60, w->to_min % 60, w->must_fit ? "true" : "false");
    add_amounts(b, s, ", quota: {", &w->quota, -1);
    add_amounts(b, s, ", limit: {", &w->limit, -1);
    str_add(b, "}");
}

static void add_windows(struct str *b, const struct settings *s, const struct tenant_setting *t)
{
    str_add(b, t->n_windows ? ", windows: [" : "");
    for (uint32_t i = 0; i < t->n_windows; i++) {
        str_add(b, i ? ", " : "");
        add_window(b, s, &t->windows[i]);
    }
    str_add(b, t->n_windows ? "]" : "");
}

static void add_tenant(struct str *b, const struct settings *s, uint32_t ix)
{
    const struct tenant_setting *t = &s->tenants[ix];
    const char *name = strrchr(t->path, '/');

    str_add(b, "name: ");
    add_text(b, name ? name + 1 : t->path);
    str_addf(b, ", weight: %" PRIu32, t->weight);
    add_amounts(b, s, ", quota: {", &t->quota, -1);
    add_amounts(b, s, ", limit: {", &t->limit, -1);
    add_lendable(b, s, t);
    if (t->n_namespaces) {
        str_add(b, ", namespaces: ");
        add_list(b, t->namespaces[0], sizeof(t->namespaces[0]), t->n_namespaces);
    }
    if (t->n_accounts) {
        str_add(b, ", serviceAccounts: ");
        add_list(b, t->accounts[0], sizeof(t->accounts[0]), t->n_accounts);
    }
    if (t->n_tolerations) {
        str_add(b, ", tolerations: ");
        add_list(b, t->tolerations[0], sizeof(t->tolerations[0]), t->n_tolerations);
    }
    if (t->n_auto_tolerations) {
        str_add(b, ", autoTolerations: ");
        add_list(b, t->auto_tolerations[0], sizeof(t->auto_tolerations[0]), t->n_auto_tolerations);
    }
    if (t->max_runtime_us)
        add_duration(b, ", maxRuntime", t->max_runtime_us);
    add_windows(b, s, t);
    str_add(b, ", userLimits: {");
    if (t->max_pending)
        str_addf(b, "pending: %" PRIu32 ", ", t->max_pending);
    add_amounts(b, s, "running: {", &t->user_limit, 0);
    str_add(b, "}");
}

/* First tenant from position ix on whose parent is this one; IX_NONE. */
static uint32_t next_child(const struct settings *s, uint32_t ix, uint32_t parent)
{
    for (; ix < s->n_tenants; ix++)
        if (s->tenants[ix].parent == parent)
            return ix;
    return IX_NONE;
}

/* Depth first along the parent links: down, else to the next sibling, else up. */
static void add_tenants(struct str *b, const struct settings *s)
{
    uint32_t ix = next_child(s, 0, IX_NONE);

    str_add(b, ix == IX_NONE ? "tenants: []\n" : "tenants: [\n");
    while (ix != IX_NONE) {
        uint32_t child = next_child(s, ix + 1, ix);

        str_add(b, "{");
        add_tenant(b, s, ix);
        if (child != IX_NONE) {
            str_add(b, ", children: [\n");
            ix = child;
            continue;
        }
        str_add(b, "}");
        while (ix != IX_NONE) {
            uint32_t parent = s->tenants[ix].parent;
            uint32_t sibling = next_child(s, ix + 1, parent);

            if (sibling != IX_NONE) {
                str_add(b, ",\n");
                ix = sibling;
                break;
            }
            str_add(b, parent == IX_NONE ? "]\n" : "]}");
            ix = parent;
        }
    }
}

static void add_pools(struct str *b, const struct settings *s)
{
    str_add(b, s->n_pools ? "pools:\n" : "pools: []\n");
    for (uint32_t i = 0; i < s->n_pools; i++) {
        const struct pool_setting *p = &s->pools[i];

        str_addf(b, "- {name: ");
        add_text(b, p->name);
        for (uint32_t k = 0; k < p->n_labels; k++) {
            str_add(b, k ? ", " : ", selector: {");
            add_text(b, p->labels[k].key);
            str_add(b, ": ");
            add_text(b, p->labels[k].value);
        }
        str_add(b, "}, exclusive: [");
        for (uint32_t k = 0; k < p->n_exclusive; k++) {
            str_add(b, k ? ", " : "");
            add_text(b, s->tenants[p->exclusive[k]].path);
        }
        str_add(b, "]}\n");
    }
}

static void add_users(struct str *b, const struct config *c)
{
    str_add(b, c->n_users ? "users:\n" : "users: []\n");
    for (uint32_t i = 0; i < c->n_users; i++) {
        str_add(b, "- {name: ");
        add_text(b, c->users[i].name);
        str_addf(b, ", role: %s, tenants: ", config_role_word(c->users[i].role));
        add_list(b, c->users[i].n_tenants ? c->users[i].tenants[0] : "", TENANT_PATH_MAX + 1,
                 c->users[i].n_tenants);
        str_add(b, "}\n");
    }
}

static void add_fair_share(struct str *b, const struct settings *s)
{
    if (s->half_life_us)
        add_duration(b, "}\nfairShare: {halfLife", s->half_life_us);
    else
        str_add(b, "}\nfairShare: {halfLife: 0");
    str_addf(b, ", users: %s, priorityScope: %s}\n", s->shares_users ? "true" : "false",
             s->is_priority_first ? "cluster" : "tenant");
}

void config_text(const struct config *c, struct str *b)
{
    char offset[WEEK_TEXT_MAX];

    str_add(b, "store: {dir: ");
    add_text(b, c->store_dir);
    str_add(b, "}\nlisten: {rpc: ");
    add_list(b, c->rpc[0], sizeof(c->rpc[0]), c->n_rpc);
    str_add(b, "}\nkubernetes: {kubeconfig: ");
    add_text(b, c->kubeconfig);
    str_addf(b, ", bindMode: %s, events: %s}\n", c->is_bind_direct ? "direct" : "bind",
             c->has_pod_events ? "pods" : "off");
    add_levels(b, &c->settings);
    add_names(b, c);
    add_duration(b, "nodeLostTimeout", c->settings.node_lost_us);
    str_addf(b, "\nbackfill: {reservations: %u}", c->settings.backfill_reservations);
    add_duration(b, "\npreemption: {minRuntime", c->settings.min_runtime_us);
    add_duration(b, ", graceCap", c->settings.grace_cap_us);
    if (c->settings.max_lost_gpu_us)
        str_addf(b, ", maxLostGpuHours: %llu",
                 (unsigned long long)(c->settings.max_lost_gpu_us / GPU_HOUR_US));
    str_addf(b, "}\ndefragmentation: {gpuHoursPerDay: %llu, dryRun: %s",
             (unsigned long long)(c->settings.defrag_gpu_us / GPU_HOUR_US),
             c->settings.is_defrag_dry ? "true" : "false");
    str_addf(b, "}\nweights: {topology: %u.%03u, packing: %u.%03u",
             c->settings.weight_topology / 1000, c->settings.weight_topology % 1000,
             c->settings.weight_packing / 1000, c->settings.weight_packing % 1000);
    add_fair_share(b, &c->settings);
    str_addf(b, "utcOffset: \"%s\"\nallowSimulation: %s\ninsecureLoopback: {",
             week_offset_text(offset, c->settings.utc_offset_min),
             c->settings.allow_simulation ? "true" : "false");
    if (*c->insecure_loopback_user) {
        str_add(b, "user: ");
        add_text(b, c->insecure_loopback_user);
    }
    str_add(b, "}\n");
    add_tenants(b, &c->settings);
    add_pools(b, &c->settings);
    add_users(b, c);
}

void config_print(const struct config *c, FILE *out)
{
    struct str b = {0};

    config_text(c, &b);
    (void)fputs(str_text(&b), out); /* the caller looks at ferror() */
    str_fini(&b);
}
