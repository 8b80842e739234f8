/* SPDX-License-Identifier: Apache-2.0 */
/* world_fact.c - nodes and pods of the simulated cluster, told the way the real adapter tells. */
#include "world.h"

#include <stdio.h>

static void add_amount(struct resource_amount **list, uint32_t *n, const char *name, int64_t amount)
{
    *list = xrealloc(*list, (*n + 1) * sizeof(**list));
    (*list)[*n] = (struct resource_amount){.amount = amount};
    (void)snprintf((*list)[*n].name, sizeof((*list)[*n].name), "%s", name);
    (*n)++;
}

static void add_label(struct node_fact *f, const char *key, const char *value)
{
    f->labels = xrealloc(f->labels, (f->n_labels + 1) * sizeof(*f->labels));
    f->labels[f->n_labels++] = (struct node_label){xstrdup(key), xstrdup(value)};
}

static void add_taint(struct node_fact *f, const char *key)
{
    f->taints = xrealloc(f->taints, (f->n_taints + 1) * sizeof(*f->taints));
    f->taints[f->n_taints++] =
        (struct node_taint){.key = xstrdup(key), .value = xstrdup(""), .effect = "NoSchedule"};
}

struct node_fact *world_node_fact(const struct world *w, uint32_t ix)
{
    const struct w_node *n = &w->nodes[ix];
    struct node_fact *f = xcalloc(1, sizeof(*f));

    (void)snprintf(f->name, sizeof(f->name), "%s", n->name);
    (void)snprintf(f->uid, sizeof(f->uid), "%s-life-%u", n->name, (unsigned)n->life);
    (void)snprintf(f->boot_id, sizeof(f->boot_id), "boot-%u", (unsigned)n->boots);
    add_amount(&f->capacity, &f->n_capacity, "cpu", 96000);
    add_amount(&f->capacity, &f->n_capacity, "memory", INT64_C(1) << 40);
    add_amount(&f->capacity, &f->n_capacity, "pods", 110);
    add_amount(&f->allocatable, &f->n_allocatable, "cpu", 95000);
    add_amount(&f->allocatable, &f->n_allocatable, "memory", INT64_C(1000) << 30);
    add_amount(&f->allocatable, &f->n_allocatable, "pods", 110);
    if (n->model != MODELS_MAX) {
        const char *product = w->settings->models[n->model].products[0];

        add_label(f, "nvidia.com/gpu.product", product);
        if (w->n_nodes % 3 == 0) /* a reboot brings another driver */
            add_label(f, "nvidia.com/cuda.driver-version.full",
                      (ix + n->boots) % 2 ? "550.54.15" : "535.104.5");
        for (uint32_t k = 0; k < MIG_KINDS; k++)
            if (world_mig(w, ix, k))
                add_amount(&f->allocatable, &f->n_allocatable, world_mig_name(k),
                           world_mig(w, ix, k));
        if (!n->is_mig)
            add_amount(&f->capacity, &f->n_capacity, "nvidia.com/gpu", n->gpus);
        /* a key that has vanished is as bad as a zero */
        if (!n->is_mig && (n->gpus_now > 0 || n->boots % 2))
            add_amount(&f->allocatable, &f->n_allocatable, "nvidia.com/gpu", n->gpus_now);
    }
    if (n->model == MODELS_MAX) { /* a reboot cuts its GPU otherwise */
        add_label(f, "nvidia.com/gpu.memory", "46068");
        add_label(f, "nvidia.com/gpu.replicas", n->boots % 2 ? "3" : "4");
        add_amount(&f->allocatable, &f->n_allocatable, SHARED_GPU, n->boots % 2 ? 3 : 4);
    }
    if (n->block[0])
        add_label(f, w->settings->hierarchies[0].levels[0].labels[0], n->block);
    if (n->rack[0])
        add_label(f, w->settings->hierarchies[0].levels[1].labels[0], n->rack);
    add_label(f, "kubernetes.io/hostname", n->name);
    add_label(f, "pool", ix % 6 == 5 ? "beta" : "all");
    if (n->is_tainted)
        add_taint(f, "dedicated");
    f->is_ready = n->is_ready;
    f->is_cordoned = n->is_cordoned;
    f->not_ready_since = n->is_ready ? 0 : n->not_ready_since;
    return f;
}

struct pod_fact *world_pod_fact(const struct world *w, const struct w_pod *p)
{
    struct pod_fact *f = xcalloc(1, sizeof(*f));

    (void)snprintf(f->ns, sizeof(f->ns), "%s", p->ns);
    (void)snprintf(f->name, sizeof(f->name), "%s", p->name);
    (void)snprintf(f->uid, sizeof(f->uid), "%s", p->uid);
    if (p->node_ix != IX_NONE)
        (void)snprintf(f->node, sizeof(f->node), "%s", w->nodes[p->node_ix].name);
    f->phase = p->phase;
    f->is_deleting = p->is_deleting;
    f->is_ready = p->phase == POD_RUNNING;
    f->exit_code = p->exit_code;
    (void)snprintf(f->reason, sizeof(f->reason), "%s", p->reason);
    add_amount(&f->requests, &f->n_requests, "cpu", p->cpu_milli);
    add_amount(&f->requests, &f->n_requests, "memory", p->memory_bytes);
    add_amount(&f->requests, &f->n_requests, "pods", 1);
    if (p->gpus)
        add_amount(&f->requests, &f->n_requests, "nvidia.com/gpu", p->gpus);
    for (uint32_t k = 0; k < MIG_KINDS; k++)
        if (p->mig[k])
            add_amount(&f->requests, &f->n_requests, world_mig_name(k), p->mig[k]);
    f->job = p->job;
    memcpy(f->role, p->role, sizeof(f->role));
    f->index = p->index;
    f->attempt = p->attempt;
    return f;
}
