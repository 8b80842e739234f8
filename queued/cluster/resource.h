/* SPDX-License-Identifier: Apache-2.0 */
/* resource.h - a vector of amounts: what a node has, what a pod asks.
 *
 * Eight dimensions are fixed; the others are extended resources ("rdma/hca") that get their
 * index from struct resource_names when a node or a job first names them. Amounts are whole
 * and not negative: CPU in thousandths of a core, memory and ephemeral storage in bytes,
 * the rest as counts. Subtraction stops at zero and says so.
 */
#ifndef QUEUED_CLUSTER_RESOURCE_H
#define QUEUED_CLUSTER_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec/limits.h"

enum resource {
    RES_GPUS,      /* nvidia.com/gpu */
    RES_ALONE,     /* a pod takes 1 of WHOLE_NODE, one that is to be alone takes all */
    RES_CPU,       /* thousandths of a core */
    RES_MEMORY,    /* bytes */
    RES_EPHEMERAL, /* bytes of ephemeral storage */
    RES_PODS,      /* pod slots */
    RES_SHARES,    /* nvidia.com/gpu.shared */
    RES_GPU_BYTES, /* memory of shared GPUs */
    RES_EXTENDED,  /* the first extended resource */
};

#define WHOLE_NODE          INT64_C(1000000)
#define RESOURCE_AMOUNT_MAX INT64_C(1000000000000000000) /* 1e18: sums of two never wrap */

struct resources {
    int64_t amount[RESOURCES_MAX]; /* 0..RESOURCE_AMOUNT_MAX */
};

/* Names of dimensions, in order of first sight. */
struct resource_names {
    uint32_t n; /* RES_EXTENDED..RESOURCES_MAX */
    char name[RESOURCES_MAX][LABEL_KEY_MAX + 1];
    uint8_t slices[RESOURCES_MAX]; /* of a GPU, of MIG devices (mig.h); 0: it is no such resource */
};

/* One named amount, as adapters hand it over. */
struct resource_amount {
    char name[LABEL_KEY_MAX + 1]; /* the Kubernetes name: "cpu", "memory", "nvidia.com/gpu" ... */
    int64_t amount;               /* in the unit of the dimension */
};

void resource_names_init(struct resource_names *names);
/* Dimension of a Kubernetes resource name; with add, an unknown one gets the next index.
 * -1 when it is unknown, or when the table is full. */
int resource_index(struct resource_names *names, const char *name, bool add);

/* a += b, each amount stopping at RESOURCE_AMOUNT_MAX. */
void resources_add(struct resources *a, const struct resources *b);
/* a -= b, stopping at 0; false when some amount would have become negative. */
bool resources_sub(struct resources *a, const struct resources *b);
/* Does every amount of need fit free - taken? */
bool resources_fit(const struct resources *need, const struct resources *free_amounts);
/* How many times need fits, at most max. A need of all zeros fits max times. */
uint32_t resources_times(const struct resources *need, const struct resources *free_amounts,
                         uint32_t max);
/* The first dimension of need that does not fit, or -1. */
int resources_lacking(const struct resources *need, const struct resources *free_amounts);

#endif
