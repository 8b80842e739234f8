/* SPDX-License-Identifier: Apache-2.0 */
/* config_pools.c - the section pools: named node selectors, in the order in which they match.
 *
 * Read after the tenants, which exclusive names.
 */
#include <string.h>

#include "config_read.h"
#include "util/mem.h"
#include "util/str.h"

struct pool_reading {
    struct settings *settings;
    struct pool_setting *pool; /* the entry that is being read, the last */
};

static bool is_label_value(const char *s)
{
    return strlen(s) <= LABEL_MAX &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
               strlen(s);
}

static int read_pool_name(const struct yaml_at *at, void *out, struct err *err)
{
    struct pool_reading *pr = out;
    const struct settings *s = pr->settings;

    if (config_read_label(at, pr->pool->name, err))
        return -1;
    for (uint32_t i = 0; i + 1 < s->n_pools; i++)
        if (strcmp(s->pools[i].name, pr->pool->name) == 0)
            return yaml_fail(at, err, "there is a pool \"%s\" already; take another name",
                             pr->pool->name);
    return 0;
}

static int read_pool_label(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct pool_setting *p = out;
    struct pool_label *l;

    if (p->n_labels == POOL_LABELS_MAX)
        return yaml_fail(at, err, "at most %d labels", POOL_LABELS_MAX);
    l = &p->labels[p->n_labels++];
    if (!is_label_key(key) || !str_copy(l->key, sizeof(l->key), key))
        return yaml_fail(at, err, "\"%.80s\" is not a label key (prefix/name)", key);
    return config_read_text(at, l->value,
                            &(struct text_list){.size = sizeof(l->value),
                                                .is_good = is_label_value,
                                                .form = "a label value (at most 63 of a-z A-Z "
                                                        "0-9 - _ .)"},
                            err);
}

static int read_pool_selector(const struct yaml_at *at, void *out, struct err *err)
{
    struct pool_reading *pr = out;

    if (at->node->kind != YAML_MAP || at->node->n == 0)
        return yaml_fail(at, err, "expected at least one label; write {key: value}");
    return yaml_each(at, read_pool_label, pr->pool, err);
}

static int read_pool_tenant(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct pool_reading *pr = out;
    struct pool_setting *p = pr->pool;
    const char *path;
    uint32_t tenant;

    (void)key; /* a list has none */
    if (yaml_string(at, &path, err))
        return -1;
    tenant = settings_tenant(pr->settings, path);
    if (tenant == IX_NONE)
        return yaml_fail(at, err, "there is no tenant \"%.80s\"; add it or correct the path", path);
    for (uint32_t i = 0; i < p->n_exclusive; i++)
        if (p->exclusive[i] == tenant)
            return yaml_fail(at, err, "\"%.80s\" is listed twice; remove one", path);
    if (p->n_exclusive == POOL_TENANTS_MAX)
        return yaml_fail(at, err, "at most %d tenants; name one above them", POOL_TENANTS_MAX);
    p->exclusive[p->n_exclusive++] = tenant;
    return 0;
}

static int read_pool_exclusive(const struct yaml_at *at, void *out, struct err *err)
{
    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "expected a list of tenants; write [vision]");
    return yaml_each(at, read_pool_tenant, out, err);
}

static const struct yaml_field pool_fields[] = {
    {.key = "name", .read = read_pool_name, .is_required = true},
    {.key = "selector", .read = read_pool_selector, .is_required = true},
    {.key = "exclusive", .read = read_pool_exclusive},
};

static int read_pool(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct settings *s = out;
    struct pool_reading pr = {s, &s->pools[s->n_pools]};

    (void)key; /* a list has none */
    s->n_pools++;
    return yaml_walk(at, pool_fields, ARRAY_LEN(pool_fields), &pr, err);
}

int config_read_pools(struct config_reading *r, struct err *err)
{
    struct yaml_at at = {r->doc, r->pools, "pools"};

    if (!r->pools)
        return 0;
    if (at.node->kind != YAML_LIST)
        return yaml_fail(&at, err, "expected a list of pools");
    if (at.node->n > POOLS_MAX)
        return yaml_fail(&at, err, "at most %d pools", POOLS_MAX);
    r->c->settings.pools = xcalloc(at.node->n + 1, sizeof(*r->c->settings.pools));
    return yaml_each(&at, read_pool, &r->c->settings, err);
}

const struct config_section config_pool_sections[] = {
    {"pools[]", pool_fields, ARRAY_LEN(pool_fields)},
    {NULL, NULL, 0},
};
