/* SPDX-License-Identifier: Apache-2.0 */
/* census.h - the nodes of the cluster counted from the point of view of one role, for explain.
 *
 * A plain scan, made only when somebody asks.
 */
#ifndef QUEUED_CLUSTER_CENSUS_H
#define QUEUED_CLUSTER_CENSUS_H

#include "cluster/cluster.h"

struct census {
    uint32_t nodes;            /* known nodes with the GPUs that one pod asks, free or not */
    uint32_t out[REFUSALS];    /* of them, refused, and for what */
    uint32_t allowed;          /* of them, the rest */
    uint32_t unhealthy;        /* of the allowed: cordoned, drained, NotReady, deleting */
    uint32_t drained;          /* of the unhealthy: by an operator of this daemon */
    uint64_t capacity_slots;   /* pods that the allowed could hold when empty, by GPUs */
    uint64_t size_slots;       /* the same by all resources */
    uint64_t free_gpus;        /* on healthy allowed nodes */
    uint64_t closed_gpus;      /* free on healthy nodes of the pool that has most of them, of those
                                  that only its being exclusive refuses */
    uint32_t closed_pool;      /* that pool; IX_NONE */
    uint64_t gpu_slots;        /* pods that fit by free GPUs, on healthy allowed nodes */
    uint64_t all_slots;        /* pods that fit by all resources, on healthy allowed nodes */
    uint64_t healed_slots;     /* all_slots, were the unhealthy ones healthy */
    int lacking;               /* dimension that most often stops a pod where GPUs fit; -1 none */
    const char *key[REFUSALS]; /* label or taint that refused most recently; NULL */
    char trouble_node[NODE_NAME_MAX + 1]; /* an unhealthy one */
    const char *trouble;                  /* why */
    char near_node[NODE_NAME_MAX + 1];    /* healthy, with the most free GPUs below the wish */
    int64_t near_free;
};

/* Count for a role; asks: what one pod takes, shares filled in. */
void census_take(const struct cluster *c, const struct demand_role *role,
                 const struct resources *asks, struct census *ret);
/* Could the nodes that the role may use, empty and healthy, hold all of its pods by GPUs? Looks at
 * no more of them than it needs. */
bool census_suffices(const struct cluster *c, const struct demand_role *role,
                     const struct resources *asks);
/* The domains of one level, for a role. */
struct census_domains {
    uint32_t level;   /* in: position in the demand's hierarchy */
    uint64_t best;    /* pods in the best domain, by all resources */
    const char *path; /* of it; NULL: no domain */
    uint64_t slices;  /* that fit, each into one domain, where the demand has any */
};
void census_domains(const struct cluster *c, const struct demand *d, uint32_t role,
                    const struct resources *asks, struct census_domains *ret);

#endif
