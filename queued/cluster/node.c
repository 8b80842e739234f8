/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - questions about one node. Changes are cluster.c's. */
#include "cluster/node.h"

#include <string.h>

void node_free(const struct node *n, struct resources *ret)
{
    *ret = n->total;
    (void)resources_sub(ret, &n->used); /* over-commitment by foreign pods shows as zero */
}

int64_t node_free_gpus(const struct node *n)
{
    int64_t f = n->total.amount[RES_GPUS] - n->used.amount[RES_GPUS];

    return f < 0 ? 0 : f;
}

struct node_marks node_marks_of(const struct node *n)
{
    return (struct node_marks){n->name,         n->fact->labels,   n->fact->n_labels,
                               n->fact->taints, n->fact->n_taints, n->pool};
}

const char *node_label(const struct node *n, const char *key)
{
    struct node_marks marks = {0};

    if (n->fact)
        marks = node_marks_of(n);
    return node_marks_label(&marks, key);
}

const char *node_trouble(const struct node *n)
{
    if (!n->is_known)
        return "unknown";
    if (n->fact->is_deleting)
        return "deleting";
    if (n->fact->is_cordoned)
        return "cordoned";
    if (n->drain)
        return "drained";
    if (!n->fact->is_ready)
        return "NotReady";
    return NULL;
}
