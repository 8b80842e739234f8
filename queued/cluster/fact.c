/* SPDX-License-Identifier: Apache-2.0 */
/* fact.c - the freeing of what facts own. */
#include "cluster/fact.h"

#include <stdlib.h>
#include <string.h>

void node_fact_destroy(struct node_fact *n)
{
    if (!n)
        return;
    for (uint32_t i = 0; i < n->n_labels; i++) {
        free(n->labels[i].key);
        free(n->labels[i].value);
    }
    for (uint32_t i = 0; i < n->n_taints; i++) {
        free(n->taints[i].key);
        free(n->taints[i].value);
    }
    free(n->labels);
    free(n->taints);
    free(n->capacity);
    free(n->allocatable);
    free(n);
}

void pod_fact_destroy(struct pod_fact *p)
{
    if (!p)
        return;
    free(p->requests);
    free(p);
}

bool node_fact_same_labels(const struct node_fact *a, const struct node_fact *b)
{
    if (a->n_labels != b->n_labels)
        return false;
    for (uint32_t i = 0; i < a->n_labels; i++)
        if (strcmp(a->labels[i].key, b->labels[i].key) != 0 ||
            strcmp(a->labels[i].value, b->labels[i].value) != 0)
            return false;
    return true;
}

bool node_fact_same_taints(const struct node_fact *a, const struct node_fact *b)
{
    if (a->n_taints != b->n_taints)
        return false;
    for (uint32_t i = 0; i < a->n_taints; i++)
        if (strcmp(a->taints[i].key, b->taints[i].key) != 0 ||
            strcmp(a->taints[i].value, b->taints[i].value) != 0 ||
            strcmp(a->taints[i].effect, b->taints[i].effect) != 0)
            return false;
    return true;
}
