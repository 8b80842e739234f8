/* SPDX-License-Identifier: Apache-2.0 */
/* kube_node.c - what the fields of a node mean: amounts, labels, taints and the Ready condition.
 *
 * A resource that is missing stays missing; 0 is what a kubelet writes for a plugin that is gone.
 */
#include "kube/kube_node.h"

#include <stdlib.h>
#include <string.h>

#include "util/gpu_links.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"

int64_t kube_amount(const char *name, const char *quantity)
{
    int64_t scale = strcmp(name, "cpu") ? 1 : 1000;
    int64_t amount;

    if (parse_quantity(quantity, scale, &amount, NULL))
        return -1;
    return amount > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : amount;
}

uint32_t kube_amounts(const char *object, const struct field_pairs *map,
                      struct resource_amount *ret)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < map->n; i++) {
        const struct field_pair *q = &map->v[i];
        int64_t amount = kube_amount(q->key, q->value);

        if (amount < 0 || n == OBJECT_AMOUNTS_MAX ||
            !str_copy(ret[n].name, sizeof(ret[n].name), q->key)) {
            log_warn("an amount cannot be read or has no room, it is left out",
                     "object=%s resource=\"%.100s\" amount=\"%.60s\"", object, q->key, q->value);
            continue;
        }
        ret[n++].amount = amount;
    }
    return n;
}

static void take_amounts(const char *node, const struct field_pairs *map,
                         struct resource_amount **ret, uint32_t *ret_n)
{
    struct resource_amount amounts[OBJECT_AMOUNTS_MAX];

    *ret_n = kube_amounts(node, map, amounts);
    if (*ret_n)
        *ret = xmemdup(amounts, *ret_n * sizeof(amounts[0]));
}

static void take_labels(const struct field_pairs *map, struct node_fact *n)
{
    if (!map->n)
        return;
    n->labels = xcalloc(map->n, sizeof(*n->labels));
    for (uint32_t i = 0; i < map->n; i++)
        n->labels[n->n_labels++] =
            (struct node_label){.key = xstrdup(map->v[i].key), .value = xstrdup(map->v[i].value)};
}

static void take_taints(const struct node_fields *f, struct node_fact *n)
{
    if (!f->n_taints)
        return;
    n->taints = xcalloc(f->n_taints, sizeof(*n->taints));
    for (uint32_t i = 0; i < f->n_taints; i++) {
        struct node_taint *taint = &n->taints[n->n_taints++];

        taint->key = xstrdup(f->taints[i].key);
        taint->value = xstrdup(f->taints[i].value);
        (void)str_copy(taint->effect, sizeof(taint->effect), f->taints[i].effect);
    }
}

static void take_ready(const struct conditions *all, struct node_fact *n)
{
    for (uint32_t i = 0; i < all->n; i++) {
        const struct condition_fields *c = &all->v[i];

        if (strcmp(c->type, "Ready") != 0)
            continue;
        n->is_ready = strcmp(c->status, "True") == 0;
        if (!n->is_ready)
            n->not_ready_since = c->since;
    }
}

/* A matrix that cannot be read promises nothing: the node is as one without it. */
static void take_links(const char *text, struct node_fact *n)
{
    struct gpu_links x;
    struct err err;
    size_t len = strlen(text);

    if (!len)
        return;
    if (len > GPU_TOPOLOGY_MAX)
        log_warn("a node annotation is too long, it is left out",
                 "node=%s annotation=" GPU_TOPOLOGY_KEY " bytes=%zu", n->name, len);
    else if (gpu_links_parse(text, len, &x, &err))
        log_warn("a node annotation cannot be read, it is left out",
                 "node=%s annotation=" GPU_TOPOLOGY_KEY " at=\"%s\"", n->name, err.text);
    else
        n->bad_picks = gpu_links_bad_picks(&x);
}

struct node_fact *kube_node_fact(const struct object_fields *node)
{
    const struct node_fields *f = &node->u.node;
    struct node_fact *n = xcalloc(1, sizeof(*n));

    if (!str_copy(n->name, sizeof(n->name), node->meta.name) || !n->name[0] ||
        !str_copy(n->uid, sizeof(n->uid), node->meta.uid) || !n->uid[0]) {
        free(n);
        return NULL;
    }
    /* a longer boot id is cut, and still differs after a reboot */
    (void)str_copy(n->boot_id, sizeof(n->boot_id), f->boot_id);
    take_amounts(n->name, &f->capacity, &n->capacity, &n->n_capacity);
    take_amounts(n->name, &f->allocatable, &n->allocatable, &n->n_allocatable);
    take_labels(&node->meta.labels, n);
    take_taints(f, n);
    take_links(f->gpu_topology, n);
    take_ready(&f->conditions, n);
    n->is_cordoned = f->is_cordoned;
    n->is_deleting = node->meta.is_deleting;
    return n;
}
