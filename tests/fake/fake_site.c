/* SPDX-License-Identifier: Apache-2.0 */
/* fake_site.c - builders of small sites. */
#include "fake_site.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

#include "../sim/rng.h"

enum { TENANTS = 16 };

void site_settings_init(struct settings *s)
{
    settings_defaults(s);
    memmove(&s->hierarchies[0].levels[0], &s->hierarchies[0].levels[1],
            2 * sizeof(s->hierarchies[0].levels[0]));
    s->hierarchies[0].n_levels = 2;
    s->tenants = xcalloc(TENANTS, sizeof(*s->tenants));
}

void site_settings_fini(struct settings *s)
{
    free(s->tenants);
    s->tenants = NULL;
    free(s->pools);
    s->pools = NULL;
}

uint32_t site_tenant(struct settings *s, const char *path)
{
    struct tenant_setting *t = &s->tenants[s->n_tenants];
    const char *slash = strrchr(path, '/');
    char parent[TENANT_PATH_MAX + 1];

    assert(s->n_tenants < TENANTS);
    *t = (struct tenant_setting){.parent = IX_NONE, .weight = 1};
    (void)snprintf(t->path, sizeof(t->path), "%s", path);
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        t->quota.gpus[m] = t->limit.gpus[m] = -1;
    if (slash) {
        (void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
        t->parent = settings_tenant(s, parent);
    } else {
        t->n_namespaces = 1;
        (void)snprintf(t->namespaces[0], sizeof(t->namespaces[0]), "%s", path);
    }
    return s->n_tenants++;
}

static void add_amount(struct resource_amount **list, uint32_t *n, const char *name, int64_t amount)
{
    *list = xrealloc(*list, (*n + 1) * sizeof(**list));
    (*list)[*n] = (struct resource_amount){.amount = amount};
    (void)snprintf((*list)[*n].name, sizeof((*list)[*n].name), "%s", name);
    (*n)++;
}

void site_node_set(struct node_fact *f, const char *resource, int64_t allocatable)
{
    for (uint32_t i = 0; i < f->n_allocatable; i++) {
        if (strcmp(f->allocatable[i].name, resource) == 0) {
            f->allocatable[i].amount = allocatable;
            return;
        }
    }
    add_amount(&f->allocatable, &f->n_allocatable, resource, allocatable);
}

void site_node_label(struct node_fact *f, const char *key, const char *value)
{
    f->labels = xrealloc(f->labels, (f->n_labels + 1) * sizeof(*f->labels));
    f->labels[f->n_labels++] = (struct node_label){xstrdup(key), xstrdup(value)};
}

void site_node_taint(struct node_fact *f, const char *key)
{
    f->taints = xrealloc(f->taints, (f->n_taints + 1) * sizeof(*f->taints));
    f->taints[f->n_taints++] =
        (struct node_taint){.key = xstrdup(key), .value = xstrdup(""), .effect = "NoSchedule"};
}

void site_windows(struct tenant_setting *t, uint64_t seed, uint32_t model)
{
    struct rng g = {~seed};

    t->n_windows = 1 + rng_below(&g, 4);
    for (uint32_t i = 0; i < t->n_windows; i++) {
        struct opening_setting *w = &t->windows[i];
        bool is_long = rng_one_in(&g, 4);

        *w = (struct opening_setting){.days = 0x7f, .must_fit = rng_one_in(&g, 3)};
        (void)snprintf(w->name, sizeof(w->name), "w%u", (unsigned)i);
        if (is_long)
            w->days = (uint8_t)rng_between(&g, 1, 0x7f);
        w->from_min = (is_long ? 0 : 14 * 60) + rng_below(&g, is_long ? 24 * 60 : 5 * 60);
        w->to_min = (w->from_min + (is_long ? 600 : 5) + rng_below(&g, 115)) % (24 * 60);
        for (uint32_t m = 0; m < MODELS_MAX; m++)
            w->quota.gpus[m] = w->limit.gpus[m] = -1;
        if (model < MODELS_MAX && rng_one_in(&g, 2))
            w->limit.gpus[model] = rng_below(&g, 64);
        if (model < MODELS_MAX && rng_one_in(&g, 3))
            w->quota.gpus[model] = rng_below(&g, 32);
    }
}

struct node_fact *site_node(const char *name, const char *block, const char *rack, uint32_t model,
                            int64_t gpus)
{
    static const char *const products[] = {"NVIDIA-H100-80GB-HBM3", "NVIDIA-H200",
                                           "NVIDIA-A100-SXM4-80GB"};
    struct node_fact *f = xcalloc(1, sizeof(*f));

    (void)snprintf(f->name, sizeof(f->name), "%s", name);
    (void)snprintf(f->uid, sizeof(f->uid), "uid-%.30s", name);
    (void)snprintf(f->boot_id, sizeof(f->boot_id), "boot-1");
    add_amount(&f->allocatable, &f->n_allocatable, "cpu", 96000);
    add_amount(&f->allocatable, &f->n_allocatable, "memory", INT64_C(1000) << 30);
    add_amount(&f->allocatable, &f->n_allocatable, "pods", 110);
    add_amount(&f->capacity, &f->n_capacity, "cpu", 96000);
    if (block)
        site_node_label(f, "gang.queued/block", block);
    if (rack)
        site_node_label(f, "gang.queued/rack", rack);
    if (model != MODELS_MAX) {
        site_node_label(f, "nvidia.com/gpu.product", products[model]);
        add_amount(&f->capacity, &f->n_capacity, "nvidia.com/gpu", gpus);
        add_amount(&f->allocatable, &f->n_allocatable, "nvidia.com/gpu", gpus);
    }
    f->is_ready = true;
    return f;
}

struct pod_fact *site_pod(const char *name, const char *node, int64_t gpus)
{
    struct pod_fact *p = xcalloc(1, sizeof(*p));

    (void)snprintf(p->ns, sizeof(p->ns), "other");
    (void)snprintf(p->name, sizeof(p->name), "%s", name);
    (void)snprintf(p->uid, sizeof(p->uid), "uid-%.30s", name);
    (void)snprintf(p->node, sizeof(p->node), "%s", node);
    p->phase = POD_RUNNING;
    p->exit_code = -1;
    add_amount(&p->requests, &p->n_requests, "nvidia.com/gpu", gpus);
    return p;
}

void site_role(struct spec *s, const char *name, uint32_t replicas, uint32_t gpus)
{
    struct spec_role *roles = arena_alloc(&s->arena, (s->n_roles + 1) * sizeof(*roles));

    if (s->n_roles)
        memcpy(roles, s->roles, s->n_roles * sizeof(*roles));
    roles[s->n_roles] = (struct spec_role){
        .name = arena_strdup(&s->arena, name),
        .replicas = replicas,
        .gpus = gpus,
        .cpu_milli = 1000,
        .memory_bytes = INT64_C(1) << 30,
        .shm_bytes = -1,
        .image = "registry.example/train:1",
    };
    s->roles = roles;
    s->n_roles++;
}

struct spec *site_spec(const char *name, uint32_t replicas, uint32_t gpus)
{
    struct spec *s = spec_create();

    s->name = arena_strdup(&s->arena, name);
    s->tenant = "t";
    s->ns = "t";
    s->priority_class = "normal";
    s->priority = 500;
    s->max_runtime_us = 3600 * USEC_PER_SEC;
    site_role(s, "worker", replicas, gpus);
    return s;
}
