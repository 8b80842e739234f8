/* SPDX-License-Identifier: Apache-2.0 */
/* fact.c - the freeing of what facts own. */
#include "cluster/fact.h"

#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

static void *copy_of(const void *v, size_t n, size_t size)
{
    void *copy = xcalloc(n + 1, size);

    if (n)
        memcpy(copy, v, n * size);
    return copy;
}

struct node_fact *node_fact_copy(const struct node_fact *n)
{
    struct node_fact *f = copy_of(n, 1, sizeof(*n));

    f->capacity = copy_of(n->capacity, n->n_capacity, sizeof(*n->capacity));
    f->allocatable = copy_of(n->allocatable, n->n_allocatable, sizeof(*n->allocatable));
    f->labels = copy_of(n->labels, n->n_labels, sizeof(*n->labels));
    f->taints = copy_of(n->taints, n->n_taints, sizeof(*n->taints));
    for (uint32_t i = 0; i < n->n_labels; i++)
        f->labels[i] = (struct node_label){xstrdup(n->labels[i].key), xstrdup(n->labels[i].value)};
    for (uint32_t i = 0; i < n->n_taints; i++) {
        f->taints[i].key = xstrdup(n->taints[i].key);
        f->taints[i].value = n->taints[i].value ? xstrdup(n->taints[i].value) : NULL;
    }
    return f;
}

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
