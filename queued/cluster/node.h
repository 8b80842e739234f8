/* SPDX-License-Identifier: Apache-2.0 */
/* node.h - one node: what it has, what is held on it, whether new work may go there.
 *
 * Free GPUs are min(allocatable, expected) - used, never below 0. `used` is what our gangs hold
 * plus what every other live pod on it asks. A node that only a pod has named yet is imaginary:
 * it counts, and takes nothing.
 */
#ifndef QUEUED_CLUSTER_NODE_H
#define QUEUED_CLUSTER_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/hash.h"

#include "cluster/fact.h"
#include "spec/limits.h"
#include "cluster/resource.h"
#include "spec/settings.h"

/* An operator lets no new members go to a node of this name. */
struct drain {
    char *node;
    char *text; /* "by alice: why" */
    usec_t since;
    UT_hash_handle hh;
};

struct node {
    char *name;
    const struct drain *drain; /* NULL: it is not */
    struct node_fact *fact;    /* as last seen; NULL while imaginary */
    uint32_t pool;             /* of the settings; IX_NONE: in none */
    uint32_t n_pods;           /* entries of the pod table here */
    uint32_t n_named;          /* members that name it, also those that hold nothing any more */
    usec_t lost_at;            /* not Ready or gone: members here are lost from then on; 0: fine */
    UT_hash_handle hh;
    /* what placement reads, close together */
    uint32_t ix;                      /* position in the cluster; stable while the node is known */
    uint32_t rank;                    /* position in by_name, while known */
    uint32_t domain[HIERARCHIES_MAX]; /* lowest domain in each hierarchy; IX_NONE: without */
    uint32_t driver;                  /* index in the cluster's drivers, while known */
    uint32_t bad_picks;               /* of the fact */
    int64_t expected_gpus;            /* the gpu.count label, else the highest capacity seen */
    uint8_t model;                    /* model index; MODELS_MAX: no GPUs or an unknown product */
    bool is_known;                    /* seen as an object; false: imaginary */
    bool is_shared_gpu;               /* time slicing or MIG: never serves whole-GPU work */
    int64_t share_bytes;              /* memory of a GPU for each of its shares; 0: not shared */
    int64_t share_most;               /* that one of them may ask */
    /* what plans change, and forks copy again and again */
    bool is_usable;   /* takes new work: ready, not cordoned, not deleting, not drained */
    bool is_counted;  /* in the histograms, with counted_free */
    uint32_t n_gangs; /* members of our gangs here, not terminal */
    int64_t counted_free;
    struct resources used;
    struct resources total; /* what may be used: allocatable, GPUs capped by expected */
};

/* Free amounts, never negative. */
void node_free(const struct node *n, struct resources *ret);
int64_t node_free_gpus(const struct node *n);
struct node_marks node_marks_of(const struct node *n);         /* of a known one */
const char *node_label(const struct node *n, const char *key); /* NULL: absent */
/* Why a node takes no new work: "cordoned", "drained", "NotReady", "deleting", "unknown"; NULL: it
 * does. */
const char *node_trouble(const struct node *n);

#endif
