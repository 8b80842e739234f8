/* SPDX-License-Identifier: Apache-2.0 */
/* spread.h - the pods of a role spread over groups of nodes: the domains of a level, or the values
 * of a label. The skew is that of Kubernetes: most pods in a group less the fewest in any group.
 *
 * A group counts when it has a node that the role may use, healthy and free or not: that changes
 * with shape_gen alone. A node in no group takes none of the pods.
 */
#ifndef QUEUED_CLUSTER_SPREAD_H
#define QUEUED_CLUSTER_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct demand_role;

struct spread {
    char *key;         /* a level of the configuration, else a label; NULL: no wish */
    uint32_t max_skew; /* 1.. */
    bool is_soft;      /* a bigger skew is better than waiting */
    /* spread_groups() of this shape_gen */
    uint64_t gen;
    uint32_t n_nodes, n_groups;
    uint32_t *group; /* by node_ix; IX_NONE: in none */
};

/* What the gang has decided before its pods are spread. */
struct spread_scope {
    const struct demand_role *role;
    uint8_t model;   /* MODELS_MAX: any node */
    uint32_t driver; /* IX_NONE: any */
    uint32_t home;   /* inside this domain; IX_NONE: anywhere */
};

void spread_fini(struct spread *s);
/* Group of each node, remembered in the role while no node changes. */
const struct spread *spread_groups(const struct cluster *c, const struct demand_role *role);
uint32_t spread_group(const struct spread *s, uint32_t node_ix); /* IX_NONE: in none */
/* Groups that count inside the home. */
uint32_t spread_count(const struct cluster *c, const struct spread_scope *scope);

/* A run of hosts with room: those of one group that lie between the first and the last. */
struct spread_share {
    uint32_t group, first, last;
    uint32_t room, pods; /* pods: the answer */
    int64_t free_gpus;   /* of equal groups the fullest is given more, then the first */
};
/* Make one of all of a group; returns how many are left. */
uint32_t spread_merge(struct spread_share *v, uint32_t n);
/* Spread `want` pods over groups as evenly as can be; the skew then, with n_counting groups of
 * which those without room are not in v. UINT32_MAX: there is no room for all. */
uint32_t spread_evenly(struct spread_share *v, uint32_t n, uint32_t n_counting, uint32_t want);
/* The skew of pods by group. */
uint32_t spread_skew(const uint32_t *pods, uint32_t n_groups, uint32_t n_counting);

#endif
