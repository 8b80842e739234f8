/* SPDX-License-Identifier: Apache-2.0 */
/* site.c - settings out of a trace or a configuration, and the labels that nodes carry.
 *
 * A node has the labels gang.queued/block, gang.queued/rack and nvidia.com/gpu.product, so a
 * configuration that knows these sees the whole trace.
 */
#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_tenant(struct settings *s, const char *name, struct err *err)
{
    struct tenant_setting *t = &s->tenants[s->n_tenants];

    if (s->n_tenants == TENANTS_MAX || strlen(name) > TENANT_PATH_MAX || !*name)
        return err_set(err, ERR_INVALID, "tenant '%.80s': at most %d tenants, names of 1 to %d",
                       name, TENANTS_MAX, TENANT_PATH_MAX);
    *t = (struct tenant_setting){.parent = IX_NONE, .weight = 1, .max_pending = UINT32_MAX};
    memcpy(t->path, name, strlen(name) + 1);
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        t->quota.gpus[m] = t->limit.gpus[m] = -1;
    t->n_namespaces = 1;
    memcpy(t->namespaces[0], "sim", sizeof("sim"));
    s->n_tenants++;
    return 0;
}

static int check_tenant(const struct settings *s, const char *name, struct err *err)
{
    uint32_t ix = settings_tenant(s, name);

    if (ix == IX_NONE)
        return err_set(err, ERR_INVALID, "tenant '%.80s' has jobs; add it to the policy", name);
    if (!settings_namespace(s, ix))
        return err_set(err, ERR_INVALID, "tenant '%.80s' has no namespace in the policy", name);
    return 0;
}

/* Add the tenants of the trace, or look for them where they are given. */
static int set_tenants(struct site *site, const struct trace *t, bool is_given, struct err *err)
{
    size_t n = t->jobs.n;
    char **names = xmalloc(n * sizeof(*names));
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        names[i] = t->jobs.v[i].tenant;
    qsort(names, n, sizeof(*names), compare_names);
    if (!is_given)
        site->settings.tenants = site->owned = xcalloc(TENANTS_MAX, sizeof(*site->owned));
    for (size_t i = 0; i < n && !rc; i++)
        if (!i || strcmp(names[i], names[i - 1]) != 0)
            rc = is_given ? check_tenant(&site->settings, names[i], err)
                          : add_tenant(&site->settings, names[i], err);
    free(names);
    return rc;
}

uint32_t site_model(const struct site *s, const char *name, size_t len)
{
    char text[LABEL_MAX + 1];
    uint32_t product;

    for (uint32_t m = 0; m < s->settings.n_models && s->models[m]; m++)
        if (strlen(s->models[m]) == len && memcmp(s->models[m], name, len) == 0)
            return m;
    if (!s->settings.n_models || s->models[0] || len > LABEL_MAX)
        return IX_NONE;
    memcpy(text, name, len);
    text[len] = '\0';
    product = settings_product(&s->settings, text);
    return product != IX_NONE ? product : settings_model(&s->settings, text);
}

static int add_model(struct site *site, const char *name, struct err *err)
{
    struct settings *s = &site->settings;
    struct model_setting *m = &s->models[s->n_models];

    if (s->n_models == MODELS_MAX)
        return err_set(err, ERR_INVALID, "gpu_model: more than %d models", MODELS_MAX);
    *m = (struct model_setting){.n_products = 1};
    (void)snprintf(m->name, sizeof(m->name), "m%u", (unsigned)s->n_models);
    (void)snprintf(m->products[0], sizeof(m->products[0]), "m%u", (unsigned)s->n_models);
    site->models[s->n_models++] = name;
    return 0;
}

static int set_models(struct site *site, const struct trace *t, bool is_given, struct err *err)
{
    if (!is_given)
        site->settings.n_models = 0;
    for (size_t i = 0; i < t->nodes.n; i++) {
        const char *name = t->nodes.v[i].model;

        if (site_model(site, name, strlen(name)) != IX_NONE)
            continue;
        if (is_given)
            return err_set(err, ERR_INVALID,
                           "gpu_model '%.60s' is on the cluster; add it to models of the policy",
                           name);
        if (add_model(site, name, err))
            return -1;
    }
    return 0;
}

int site_init(struct site *s, const struct trace *t, const struct settings *given, struct err *err)
{
    struct level_setting *levels = s->settings.hierarchies[0].levels;

    *s = (struct site){0};
    if (given) {
        s->settings = *given;
    } else {
        settings_defaults(&s->settings);
        s->settings.n_hierarchies = 1; /* block and rack: a trace knows no zones */
        s->settings.hierarchies[0].n_levels = 2;
        memmove(&levels[0], &levels[1], 2 * sizeof(levels[0]));
    }
    return set_tenants(s, t, given, err) || set_models(s, t, given, err) ? -1 : 0;
}

void site_fini(struct site *s)
{
    free(s->owned);
}

static void set_label(struct node_fact *f, const char *key, const char *value)
{
    f->labels[f->n_labels++] = (struct node_label){xstrdup(key), xstrdup(value)};
}

static void set_number(struct node_fact *f, const char *key, uint32_t value)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%06u", (unsigned)value);
    set_label(f, key, text);
}

static void set_amount(struct resource_amount *a, const char *name, int64_t amount)
{
    a->amount = amount;
    (void)snprintf(a->name, sizeof(a->name), "%s", name);
}

struct node_fact *site_node(const struct site *s, const struct trace *t, uint32_t ix)
{
    const struct trace_node *n = &t->nodes.v[ix];
    const struct model_setting *m = &s->settings.models[site_model(s, n->model, strlen(n->model))];
    struct node_fact *f = xcalloc(1, sizeof(*f));

    (void)snprintf(f->name, sizeof(f->name), "%06u", (unsigned)ix);
    (void)snprintf(f->uid, sizeof(f->uid), "%06u", (unsigned)ix);
    f->allocatable = xcalloc(4, sizeof(*f->allocatable));
    f->n_allocatable = 4;
    set_amount(&f->allocatable[0], "cpu", 1000000);
    set_amount(&f->allocatable[1], "memory", INT64_C(1) << 40);
    set_amount(&f->allocatable[2], "pods", 1000);
    set_amount(&f->allocatable[3], "nvidia.com/gpu", n->gpus);
    f->capacity = xcalloc(1, sizeof(*f->capacity));
    f->n_capacity = 1;
    set_amount(&f->capacity[0], "nvidia.com/gpu", n->gpus);
    f->labels = xcalloc(3, sizeof(*f->labels));
    set_number(f, "gang.queued/block", n->block_ix);
    set_number(f, "gang.queued/rack", n->rack_ix);
    set_label(f, "nvidia.com/gpu.product", m->products[0]);
    f->is_ready = true;
    return f;
}
