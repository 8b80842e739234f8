/* SPDX-License-Identifier: Apache-2.0 */
/* config_names.c - the sections models, licences and classes: maps from a site's names to what
 * they stand for. The order of models is the order in which they are tried.
 */
#include <string.h>

#include "config_read.h"
#include "util/mem.h"
#include "util/str.h"

enum { CLASS_VALUE_MAX = 1000000000 };

/* Keys that are maps of the user's own names have no table but this check. */
static int check_map(const struct yaml_at *at, size_t max, struct err *err)
{
    if (at->node->kind != YAML_MAP)
        return yaml_fail(at, err, "expected a map of names");
    if (at->node->n > max)
        return yaml_fail(at, err, "at most %zu entries are allowed here", max);
    return 0;
}

/* ---- models: {H100: [product, ...]} */

static bool is_label_value(const char *s)
{
    return *s && strlen(s) <= LABEL_MAX &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
               strlen(s);
}

static int read_model(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct settings *s = out;
    struct model_setting m = {0};

    if (!is_label_value(key) || strcmp(key, "cpu") == 0)
        return yaml_fail(at, err,
                         "\"%.80s\" is not a model name (letters, digits, - _ . ; not cpu)", key);
    (void)str_copy(m.name, sizeof(m.name), key);
    if (config_read_list(at,
                         &(struct text_list){.first = m.products[0],
                                             .size = sizeof(m.products[0]),
                                             .max = ARRAY_LEN(m.products),
                                             .n = &m.n_products,
                                             .is_good = is_label_value,
                                             .form = "a value of the label nvidia.com/gpu.product"},
                         err))
        return -1;
    if (m.n_products == 0)
        return yaml_fail(at, err, "needs at least one product");
    for (uint32_t i = 0; i < m.n_products; i++) {
        uint32_t other = settings_product(s, m.products[i]);

        if (other != IX_NONE)
            return yaml_fail(at, err, "product \"%s\" belongs to %s already", m.products[i],
                             s->models[other].name);
    }
    s->models[s->n_models++] = m;
    return 0;
}

int config_read_models(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    if (check_map(at, MODELS_MAX, err))
        return -1;
    r->c->settings.n_models = 0;
    return yaml_each(at, read_model, &r->c->settings, err);
}

/* ---- resources: {rdma: [rdma/hca]} */

static int read_alias(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct settings *s = out;
    struct alias_setting *a = &s->aliases[s->n_aliases++];
    uint32_t n = 0;

    *a = (struct alias_setting){0};
    if (!str_is_dns_label(key, LABEL_MAX, false))
        return yaml_fail(at, err, "\"%.80s\" is not an alias (a DNS label)", key);
    (void)str_copy(a->name, sizeof(a->name), key);
    if (config_read_list(at,
                         &(struct text_list){.first = a->resource,
                                             .size = sizeof(a->resource),
                                             .max = 1, /* more are not acted on by this version */
                                             .n = &n,
                                             .is_good = is_label_key,
                                             .form = "an extended resource like rdma/hca"},
                         err))
        return -1;
    return n ? 0 : yaml_fail(at, err, "names no resource");
}

int config_read_resources(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    if (check_map(at, ALIASES_MAX, err))
        return -1;
    r->c->settings.n_aliases = 0;
    return yaml_each(at, read_alias, &r->c->settings, err);
}

/* ---- licences: {abaqus: 12} */

static int read_licence(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct settings *s = out;
    struct licence_setting *l = &s->licences[s->n_licences++];
    uint64_t count;

    *l = (struct licence_setting){0};
    if (!str_is_dns_label(key, LABEL_MAX, false))
        return yaml_fail(at, err, "\"%.80s\" is not a name of a licence (a DNS label)", key);
    if (yaml_u64(at, 0, LICENCE_COUNT_MAX, &count, err))
        return -1;
    (void)str_copy(l->name, sizeof(l->name), key);
    l->count = (uint32_t)count;
    return 0;
}

int config_read_licences(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    if (check_map(at, LICENCES_MAX, err))
        return -1;
    r->c->settings.n_licences = 0;
    return yaml_each(at, read_licence, &r->c->settings, err);
}

/* ---- classes: {low: 100, high: {value: 800, kubernetes: gang-high}} */

static int read_value(const struct yaml_at *at, void *out, struct err *err)
{
    struct class_setting *c = out;
    uint64_t value;

    if (yaml_u64(at, 0, CLASS_VALUE_MAX, &value, err))
        return -1;
    c->value = (int32_t)value;
    return 0;
}

static const struct yaml_field class_fields[] = {
    {.key = "value", .read = read_value, .is_required = true},
    {.key = "kubernetes",
     .read = config_read_label,
     .offset = offsetof(struct class_setting, kubernetes)},
};

static int read_class(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct settings *s = out;
    struct class_setting *c = &s->classes[s->n_classes++];

    *c = (struct class_setting){0};
    if (!str_is_dns_label(key, CLASS_NAME_MAX, false))
        return yaml_fail(at, err, "\"%.80s\" is not a class name (a DNS label of at most %d)", key,
                         CLASS_NAME_MAX);
    (void)str_copy(c->name, sizeof(c->name), key);
    if (at->node->kind == YAML_SCALAR)
        return read_value(at, c, err);
    return yaml_walk(at, class_fields, ARRAY_LEN(class_fields), c, err);
}

int config_read_classes(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    if (check_map(at, CLASSES_MAX, err))
        return -1;
    r->c->settings.n_classes = 0;
    if (yaml_each(at, read_class, &r->c->settings, err))
        return -1;
    if (settings_class(&r->c->settings, "normal") == IX_NONE)
        return yaml_fail(at, err,
                         "\"normal\" is missing: jobs that name no class belong to it; add it");
    return 0;
}

const struct config_section config_name_sections[] = {
    {"classes.NAME", class_fields, ARRAY_LEN(class_fields)},
    {NULL, NULL, 0},
};
