/* SPDX-License-Identifier: Apache-2.0 */
/* topology.h - hierarchies of levels and their domains, with counts kept up to date.
 *
 * A domain is a path of label values: rack "r1" of block "b1" is not rack "r1" of "b2". A node
 * without a level's label is in no domain of that level; narrower ones then hang directly below
 * the next wider one that it has. Each domain keeps,
 * per GPU model, how many usable nodes have exactly f GPUs free; a node's change costs one
 * decrement and one increment per level (design/core-algorithms.md).
 */
#ifndef QUEUED_CLUSTER_TOPOLOGY_H
#define QUEUED_CLUSTER_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "util/hash.h"

#include "spec/limits.h"
#include "spec/settings.h"
#include "util/vec.h"

/* Usable nodes of one model by free GPUs. */
struct free_histogram {
    uint32_t nodes;                    /* usable nodes in all */
    uint64_t free_gpus;                /* sum of free GPUs */
    uint32_t most;                     /* on the node that has the most */
    uint32_t count[NODE_GPUS_MAX + 1]; /* [f]: nodes with exactly f GPUs free */
};

struct domain {
    char *path;                /* "zone-a/block-1/rack-2": the levels that its nodes have */
    char *key;                 /* path with level numbers: its identity */
    const char *name;          /* last part of path */
    uint32_t hierarchy, level; /* level: 0 the widest */
    uint32_t ix, parent;       /* parent IX_NONE: the whole cluster */
    uint32_t n_nodes;          /* at it and below */
    VEC(uint32_t) children;    /* narrower domains, in path order */
    VEC(uint32_t) nodes;       /* whose lowest domain this is, in name order */
    struct free_histogram *by_model[MODELS_MAX]; /* NULL: no node of that model */
    UT_hash_handle hh;
};

struct node;

struct topology {
    const struct settings *settings;
    /* Name order of nodes, from the cluster: the table of nodes by index. */
    struct node *const *const *nodes;
    VEC(struct domain *) domains;        /* by index; NULL where one was dropped */
    VEC(uint64_t) free_of;               /* by index: free GPUs of all models */
    VEC(uint32_t) top[HIERARCHIES_MAX];  /* domains without a parent, in path order */
    VEC(uint32_t) bare[HIERARCHIES_MAX]; /* nodes in no domain, in name order */
    VEC(uint32_t) by_level[HIERARCHIES_MAX][LEVELS_MAX]; /* in path order */
    struct domain *by_key[HIERARCHIES_MAX];
    struct free_histogram *all[MODELS_MAX]; /* the whole cluster */
};

/* nodes: address of the table of nodes by index, which may grow. */
void topology_init(struct topology *t, const struct settings *settings,
                   struct node *const *const *nodes);
void topology_fini(struct topology *t);
/* Put a node into its domains (made where missing) by its labels; sets node->domain[]. */
void topology_add(struct topology *t, struct node *n);
/* Take it out; empty domains are dropped. */
void topology_remove(struct topology *t, struct node *n);
/* Count a usable node with f free GPUs in or out (delta +1 or -1) of all its domains. */
void topology_count(struct topology *t, const struct node *n, int64_t free_gpus, int delta);
/* One that is counted with `was` has f free GPUs now. */
void topology_recount(struct topology *t, const struct node *n, int64_t was, int64_t free_gpus);
/* The same in one histogram, made where it is missing. */
void histogram_count(struct free_histogram **h, int64_t free_gpus, int delta);
/* Slots for pods of gpus (>= 1) GPUs. */
uint64_t histogram_slots(const struct free_histogram *h, uint32_t gpus);
/* The domain at a level that has this one in it or is it, IX_NONE when there is none. */
uint32_t topology_around(const struct topology *t, uint32_t domain_ix, uint32_t level);
/* Domain of a node at a level, IX_NONE when it has none. */
uint32_t topology_domain_at(const struct topology *t, const struct node *n, uint32_t hierarchy,
                            uint32_t level);

#endif
