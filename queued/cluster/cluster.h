/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - all nodes: lookup, hold and release, foreign pods, generations that wake sleepers.
 *
 * The one place that changes node->used and, with it, the counts of the topology.
 */
#ifndef QUEUED_CLUSTER_CLUSTER_H
#define QUEUED_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/hash.h"

#include "cluster/demand.h"
#include "cluster/node.h"
#include "cluster/topology.h"
#include "util/vec.h"

/* A live pod on a node that is counted for itself: foreign, or of an attempt that is over. */
struct counted_pod {
    char *key; /* "ns/name" */
    char uid[UID_MAX + 1];
    uint32_t node_ix;
    struct resources asks;
    UT_hash_handle hh;
};

/* Nodes with one version of the GPU driver, by their labels. */
struct driver {
    char *version; /* "": not known */
    uint32_t nodes[MODELS_MAX];
};

enum { FREED_LOG = 256, CHANGED_LOG = 2048, FREE_NONE = 255 };

struct cluster {
    const struct settings *settings;
    struct resource_names names;
    VEC(struct node *) nodes; /* by node_ix; NULL where a slot is free */
    VEC(uint32_t) free_slots;
    VEC(uint32_t) by_name;              /* node_ix of known nodes in name order */
    VEC(uint8_t) free_of;               /* by node_ix: GPUs free; FREE_NONE: it takes no new work */
    uint32_t n_free[NODE_GPUS_MAX + 1]; /* [f]: nodes with exactly so many free, of any model */
    struct node *node_by_name;
    struct counted_pod *pods;
    struct drain *drains;
    struct topology topology;
    VEC(struct driver) drivers;      /* as first seen; never taken out */
    int64_t model_gpus[MODELS_MAX];  /* GPUs of known nodes, free or not */
    int64_t model_parts[MODELS_MAX]; /* the same with MIG devices, in parts (mig.h) */
    int64_t most_gpus;               /* no node ever had more */
    uint64_t shape_gen; /* a node appeared, went, or changed its labels, taints or sizes */
    uint64_t freed_gen[MODELS_MAX + 1]; /* something became free on a node of this model
                                           ([MODELS_MAX]: on one without) */
    uint64_t freed_any;                 /* the same, of any node */
    uint32_t freed_log[FREED_LOG];      /* [freed_any - 1]: the last node_ix of these, round */
    /* something was taken, or a node takes no more work: a greedy choice of several roles may turn
     * out well */
    uint64_t taken_any;
    uint64_t fact_gen; /* a node was told of, or went: forks are over */
    uint64_t list_gen; /* other nodes or domains than before, or one that takes work again */
    uint64_t changed;  /* anything else of a node changed */
    uint32_t changed_log[CHANGED_LOG]; /* [changed - 1]: the last node_ix of these, round */
    struct constraint *constraints;
};

void cluster_init(struct cluster *c, const struct settings *settings);
void cluster_fini(struct cluster *c);
/* Other settings with the same levels and models: nodes find their pools anew, what was planned on
 * copies is over. */
void cluster_reset(struct cluster *c, const struct settings *settings);

/* Takes fact over. Returns the node. */
struct node *cluster_node_seen(struct cluster *c, struct node_fact *fact);
/* Forget the object; the entry stays, imaginary, while something is held on it. */
void cluster_node_gone(struct cluster *c, const char *name);
struct node *cluster_node(const struct cluster *c, uint32_t ix);      /* NULL: no such */
struct node *cluster_find(const struct cluster *c, const char *name); /* NULL: no such */
/* The node of this name, imaginary when unknown ("" gives IX_NONE). */
uint32_t cluster_node_named(struct cluster *c, const char *name);

/* The version of a known node, interned; of cluster.c alone. */
uint32_t cluster_driver_of(struct cluster *c, const struct node *n);
/* The newest driver that is older than this one (IX_NONE: of all); IX_NONE: none is. */
uint32_t cluster_older_driver(const struct cluster *c, uint32_t driver);

/* Drain a node, or change why (text); NULL: give it back. The node need not be there. */
void cluster_drain(struct cluster *c, const char *node, const char *text, usec_t since);
const struct drain *cluster_drained(const struct cluster *c,
                                    const char *node); /* NULL: it is not */

/* Hold or release one pod of a gang on a node. */
void cluster_hold(struct cluster *c, uint32_t node_ix, const struct resources *asks);
void cluster_release(struct cluster *c, uint32_t node_ix, const struct resources *asks);
/* Keep the entry of a node, and so its index and name, while a member names it. */
void cluster_name(struct cluster *c, uint32_t node_ix);
void cluster_unname(struct cluster *c, uint32_t node_ix);

/* A copy of nodes, holds and counts to plan on: same node_ix and domain_ix, names and constraints
 * shared; only cluster_hold() and cluster_release() may change it, and only nodes are looked up by
 * index; live while no node of the original appears, changes or goes. */
struct cluster *cluster_fork(const struct cluster *c);
/* Of cluster.c and cluster_fork.c alone. */
void cluster_set_free(struct cluster *c, uint32_t node_ix, uint8_t free_gpus);
/* The node takes nothing new. */
void cluster_fork_close(struct cluster *fork, uint32_t node_ix);
/* As if forked anew, memory reused. Copies only what both changed since the last copy of the same
 * cluster, where that is little. */
void cluster_fork_copy(struct cluster *fork, const struct cluster *c);
/* cluster_clone.c: make an empty cluster that was inited equal to c, with the same node_ix; nothing
 * but settings is shared. */
void cluster_clone(struct cluster *to, const struct cluster *c);
void cluster_fork_free(struct cluster *fork); /* NULL allowed */

/* Count a foreign pod, or change what is counted; not bound, terminal or gone: count nothing. */
void cluster_pod_seen(struct cluster *c, const struct pod_fact *pod);
void cluster_pod_gone(struct cluster *c, const char *ns, const char *name, const char *uid);
/* Count a pod of a gang for itself from now on: the gang moves on, its object is still there. */
void cluster_pod_left(struct cluster *c, const char *key, const char *uid, uint32_t node_ix,
                      const struct resources *asks);
/* On a fork of c, or a clone: a pod that c counts has gone. */
void cluster_pod_ends(struct cluster *fork, const struct cluster *c, const char *key);

/* What one pod of a role asks, with the CPU and memory that were fixed for it; -1: none was. */
void role_asks(const struct demand_role *role, int64_t cpu_milli, int64_t memory_bytes,
               struct resources *ret);
/* May the role's pods go to this node at all (constraint, model, shared GPUs)?
 * Health and free amounts are not looked at. */
bool role_allows(const struct demand_role *role, const struct node *n);
/* How much the role prefers the node, 0..1000; 1000 when it prefers none. */
uint32_t role_liking(const struct demand_role *role, const struct node *n);
/* Pods of a role with GPUs that the free GPUs of nodes hold that it may use, in this domain; counts
 * no further than enough. d: of c or of its original. */
uint64_t role_slots_within(const struct demand_role *role, const struct cluster *c,
                           const struct domain *d, uint64_t enough);
/* Why not. ret_key (may be NULL): the label or taint that decided, where one did. */
enum refusal role_refusal(const struct demand_role *role, const struct node *n,
                          const char **ret_key);

/* The demand of a spec, interned: same content, same pointer. One user more. */
struct demand *demand_of(struct cluster *c, struct demand **table, const struct spec *spec);
/* The same content with other pools closed: one user less of d, one more of what is returned. */
struct demand *demand_reclose(struct cluster *c, struct demand **table, struct demand *d,
                              uint64_t closed);
/* Look up its licences in the settings of now. */
void demand_find_licences(const struct cluster *c, struct demand *d);
void demand_release(struct cluster *c, struct demand **table, struct demand *d);
/* CPU and memory of one pod of a role where they were left out: the smallest share over the known
 * nodes that it may use, less 5 percent; 1 CPU and 4 GiB without GPUs. false: no such node yet. */
bool demand_share(const struct cluster *c, const struct demand_role *role, int64_t *ret_cpu_milli,
                  int64_t *ret_memory_bytes);

/* Has it GPUs of the model, free or not, of the kind that a role takes: whole ones or parts? */
static inline bool cluster_has_model(const struct cluster *c, const struct demand_role *role,
                                     uint32_t model)
{
    return role->each.amount[RES_GPUS] ? c->model_gpus[model] > 0 : c->model_parts[model] > 0;
}

/* The node on which a pod counts for itself; IX_NONE: on none. */
static inline uint32_t cluster_pod_node(const struct cluster *c, const char *key)
{
    const struct counted_pod *p = NULL;

    HASH_FIND_STR(c->pods, key, p);
    return p ? p->node_ix : IX_NONE;
}

#endif
