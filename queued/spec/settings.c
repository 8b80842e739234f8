/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - defaults and look-ups of what the configuration tells the core. */
#include "spec/settings.h"

#include <string.h>

#include "util/mem.h"

#define DAY_US (24 * 3600 * USEC_PER_SEC)

static void set_level(struct hierarchy_setting *h, const char *name, const char *label,
                      uint32_t cost)
{
    struct level_setting *l = &h->levels[h->n_levels++];

    memcpy(l->name, name, strlen(name) + 1);
    memcpy(l->labels[0], label, strlen(label) + 1);
    l->n_labels = 1;
    l->cost = cost;
}

static void set_model(struct settings *s, const char *name, const char *const *products)
{
    struct model_setting *m = &s->models[s->n_models++];

    memcpy(m->name, name, strlen(name) + 1);
    for (; *products; products++)
        memcpy(m->products[m->n_products++], *products, strlen(*products) + 1);
}

static void set_class(struct settings *s, const char *name, int32_t value)
{
    struct class_setting *c = &s->classes[s->n_classes++];

    memcpy(c->name, name, strlen(name) + 1);
    c->value = value;
}

void settings_defaults(struct settings *s)
{
    static const char *const h100[] = {"NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-SXM5-80GB",
                                       "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL", NULL};
    static const char *const h200[] = {"NVIDIA-H200", "NVIDIA-H200-NVL", NULL};
    static const char *const a100[] = {"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-SXM4-40GB",
                                       "NVIDIA-A100-PCIE-40GB", "NVIDIA-A100-80GB-PCIe", NULL};
    static const char *const b200[] = {"NVIDIA-B200", NULL};
    static const char *const gb200[] = {"NVIDIA-GB200", NULL};
    static const char *const l40s[] = {"NVIDIA-L40S", NULL};

    *s = (struct settings){
        .n_hierarchies = 2,
        .n_aliases = 1,
        .aliases = {{"rdma", "rdma/hca"}},
        .node_lost_us = 5 * 60 * USEC_PER_SEC,
        .backfill_reservations = 1,
        .min_runtime_us = 10 * 60 * USEC_PER_SEC,
        .grace_cap_us = 15 * 60 * USEC_PER_SEC,
        .half_life_us = DAY_US,
        .weight_topology = 800,
        .weight_packing = 200,
    };
    memcpy(s->hierarchies[0].name, "fabric", sizeof("fabric"));
    set_level(&s->hierarchies[0], "zone", "topology.kubernetes.io/zone", 8000);
    set_level(&s->hierarchies[0], "block", "gang.queued/block", 2000);
    set_level(&s->hierarchies[0], "rack", "gang.queued/rack", 500);
    memcpy(s->hierarchies[1].name, "nvlink", sizeof("nvlink"));
    set_level(&s->hierarchies[1], "nvl-domain", "nvidia.com/gpu.clique", 300);
    set_model(s, "H100", h100);
    set_model(s, "H200", h200);
    set_model(s, "A100", a100);
    set_model(s, "B200", b200);
    set_model(s, "GB200", gb200);
    set_model(s, "L40S", l40s);
    set_class(s, "low", 100);
    set_class(s, "normal", 500);
    set_class(s, "interactive", 600);
    set_class(s, "high", 800);
    set_class(s, "urgent", 1000);
}

uint32_t settings_model(const struct settings *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_models; i++)
        if (strcmp(s->models[i].name, name) == 0)
            return i;
    return IX_NONE;
}

uint32_t settings_product(const struct settings *s, const char *product)
{
    for (uint32_t i = 0; i < s->n_models; i++)
        for (uint32_t j = 0; j < s->models[i].n_products; j++)
            if (strcmp(s->models[i].products[j], product) == 0)
                return i;
    return IX_NONE;
}

const char *settings_alias(const struct settings *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_aliases; i++)
        if (strcmp(s->aliases[i].name, name) == 0)
            return s->aliases[i].resource;
    return NULL;
}

uint32_t settings_licence(const struct settings *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_licences; i++)
        if (strcmp(s->licences[i].name, name) == 0)
            return i;
    return IX_NONE;
}

uint32_t settings_class(const struct settings *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_classes; i++)
        if (strcmp(s->classes[i].name, name) == 0)
            return i;
    return IX_NONE;
}

/* FNV-1a, with the better bits below. */
static uint32_t *slot_of(const struct settings *s, const char *path)
{
    uint32_t h = 2166136261u;

    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * 16777619u;
    return &s->slots[(h ^ h >> 16) & (s->n_slots - 1)];
}

uint32_t settings_tenant(const struct settings *s, const char *path)
{
    uint32_t found = s->n_slots ? *slot_of(s, path) : UINT32_MAX;

    if (found < s->n_tenants && strcmp(s->tenants[found].path, path) == 0)
        return found;
    for (uint32_t i = 0; i < s->n_tenants; i++)
        if (strcmp(s->tenants[i].path, path) == 0)
            return i;
    return IX_NONE;
}

void settings_index_tenants(struct settings *s)
{
    s->n_slots = 1;
    while (s->n_slots < s->n_tenants * 8)
        s->n_slots *= 2;
    s->slots = xmalloc(s->n_slots * sizeof(*s->slots));
    for (uint32_t i = 0; i < s->n_slots; i++)
        s->slots[i] = UINT32_MAX;
    for (uint32_t i = s->n_tenants; i > 0; i--)
        *slot_of(s, s->tenants[i - 1].path) = i - 1;
}

bool settings_is_above(const struct settings *s, uint32_t tenant, uint32_t of)
{
    while (of != IX_NONE && of != tenant)
        of = s->tenants[of].parent;
    return of != IX_NONE;
}

/* The tenant or the nearest ancestor that lists namespaces; NULL when none does. */
static const struct tenant_setting *namespace_owner(const struct settings *s, uint32_t tenant)
{
    for (; tenant != IX_NONE; tenant = s->tenants[tenant].parent)
        if (s->tenants[tenant].n_namespaces)
            return &s->tenants[tenant];
    return NULL;
}

const char *settings_namespace(const struct settings *s, uint32_t tenant)
{
    const struct tenant_setting *t = namespace_owner(s, tenant);

    return t ? t->namespaces[0] : NULL;
}

bool settings_has_namespace(const struct settings *s, uint32_t tenant, const char *ns)
{
    const struct tenant_setting *t = namespace_owner(s, tenant);

    for (uint32_t i = 0; t && i < t->n_namespaces; i++)
        if (strcmp(t->namespaces[i], ns) == 0)
            return true;
    return false;
}

usec_t settings_max_runtime(const struct settings *s, uint32_t tenant)
{
    for (; tenant != IX_NONE; tenant = s->tenants[tenant].parent)
        if (s->tenants[tenant].max_runtime_us)
            return s->tenants[tenant].max_runtime_us;
    return DAY_US;
}

static bool may_use(const struct settings *s, const struct pool_setting *p, uint32_t tenant)
{
    for (; p->n_exclusive && tenant != IX_NONE; tenant = s->tenants[tenant].parent)
        for (uint32_t i = 0; i < p->n_exclusive; i++)
            if (p->exclusive[i] == tenant)
                return true;
    return p->n_exclusive == 0;
}

uint64_t settings_closed_pools(const struct settings *s, uint32_t tenant)
{
    uint64_t closed = 0;

    for (uint32_t i = 0; i < s->n_pools; i++)
        closed |= (uint64_t)!may_use(s, &s->pools[i], tenant) << i;
    return closed;
}

bool settings_level(const struct settings *s, const char *name, uint32_t *ret_hierarchy,
                    uint32_t *ret_level)
{
    if (strcmp(name, "host") == 0 && s->n_hierarchies) {
        *ret_hierarchy = 0;
        *ret_level = s->hierarchies[0].n_levels;
        return true;
    }
    for (uint32_t h = 0; h < s->n_hierarchies; h++) {
        for (uint32_t l = 0; l < s->hierarchies[h].n_levels; l++) {
            if (strcmp(s->hierarchies[h].levels[l].name, name) == 0) {
                *ret_hierarchy = h;
                *ret_level = l;
                return true;
            }
        }
    }
    return false;
}
