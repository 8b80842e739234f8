/* SPDX-License-Identifier: Apache-2.0 */
/* fact.c - the freeing of what facts own. */
#include "cluster/fact.h"

#include <stdlib.h>

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
