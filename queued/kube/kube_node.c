/* SPDX-License-Identifier: Apache-2.0 */
/* kube_node.c - Node objects: amounts, labels, taints and the Ready condition.
 *
 * A resource that is missing stays missing; 0 is what a kubelet writes for a plugin that is gone.
 */
#include "kube/kube_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_json.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"

int64_t kube_amount(const char *name, const cJSON *quantity)
{
    int64_t scale = strcmp(name, "cpu") ? 1 : 1000;
    char number[32];
    const char *text = cJSON_IsString(quantity) ? quantity->valuestring : NULL;
    int64_t amount;

    if (cJSON_IsNumber(quantity)) { /* the server writes strings, other clients may not */
        int n = snprintf(number, sizeof(number), "%.0f", quantity->valuedouble);

        text = n < (int)sizeof(number) ? number : NULL; /* a cut one would be another number */
    }
    if (!text || parse_quantity(text, scale, &amount, NULL))
        return -1;
    return amount > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : amount;
}

uint32_t kube_amounts(const cJSON *map, struct resource_amount *ret)
{
    const cJSON *q;
    uint32_t n = 0;

    cJSON_ArrayForEach(q, map)
    {
        int64_t amount = q->string ? kube_amount(q->string, q) : -1;

        if (amount < 0 || n == OBJECT_AMOUNTS_MAX ||
            !str_copy(ret[n].name, sizeof(ret[n].name), q->string)) {
            log_warn("an amount cannot be read or has no room, it is left out",
                     "resource=\"%.100s\"", q->string ? q->string : "");
            continue;
        }
        ret[n++].amount = amount;
    }
    return n;
}

static void read_amounts(const cJSON *map, struct resource_amount **ret, uint32_t *ret_n)
{
    struct resource_amount amounts[OBJECT_AMOUNTS_MAX];

    *ret_n = kube_amounts(map, amounts);
    if (*ret_n)
        *ret = xmemdup(amounts, *ret_n * sizeof(amounts[0]));
}

static void read_labels(const cJSON *map, struct node_fact *n)
{
    const cJSON *l;

    if (!cJSON_IsObject(map) || !map->child)
        return;
    n->labels = xcalloc((size_t)cJSON_GetArraySize(map), sizeof(*n->labels));
    cJSON_ArrayForEach(l, map)
    {
        if (!cJSON_IsString(l))
            continue;
        n->labels[n->n_labels++] =
            (struct node_label){.key = xstrdup(l->string), .value = xstrdup(l->valuestring)};
    }
}

static void read_taints(const cJSON *list, struct node_fact *n)
{
    const cJSON *t;

    if (!cJSON_IsArray(list) || !list->child)
        return;
    n->taints = xcalloc((size_t)cJSON_GetArraySize(list), sizeof(*n->taints));
    cJSON_ArrayForEach(t, list)
    {
        struct node_taint *taint = &n->taints[n->n_taints++];

        taint->key = xstrdup(json_text(t, "key"));
        taint->value = xstrdup(json_text(t, "value"));
        (void)str_copy(taint->effect, sizeof(taint->effect), json_text(t, "effect"));
    }
}

static void read_ready(const cJSON *conditions, struct node_fact *n)
{
    const cJSON *c;

    cJSON_ArrayForEach(c, conditions)
    {
        if (strcmp(json_text(c, "type"), "Ready") != 0)
            continue;
        n->is_ready = strcmp(json_text(c, "status"), "True") == 0;
        if (!n->is_ready &&
            parse_time(json_text(c, "lastTransitionTime"), &n->not_ready_since, NULL))
            n->not_ready_since = 0;
    }
}

struct node_fact *kube_node_fact(const cJSON *node)
{
    struct node_fact *n = xcalloc(1, sizeof(*n));

    if (!str_copy(n->name, sizeof(n->name), json_text(node, "metadata.name")) || !n->name[0] ||
        !str_copy(n->uid, sizeof(n->uid), json_text(node, "metadata.uid")) || !n->uid[0]) {
        free(n);
        return NULL;
    }
    /* a longer boot id is cut, and still differs after a reboot */
    (void)str_copy(n->boot_id, sizeof(n->boot_id), json_text(node, "status.nodeInfo.bootID"));
    read_amounts(json_path(node, "status.capacity"), &n->capacity, &n->n_capacity);
    read_amounts(json_path(node, "status.allocatable"), &n->allocatable, &n->n_allocatable);
    read_labels(json_path(node, "metadata.labels"), n);
    read_taints(json_path(node, "spec.taints"), n);
    read_ready(json_path(node, "status.conditions"), n);
    n->is_cordoned = json_is_true(node, "spec.unschedulable");
    n->is_deleting = json_text(node, "metadata.deletionTimestamp")[0] != '\0';
    return n;
}
