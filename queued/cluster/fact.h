/* SPDX-License-Identifier: Apache-2.0 */
/* fact.h - a node and a pod as the API server has them: what adapters tell and the cluster keeps.
 */
#ifndef QUEUED_CLUSTER_FACT_H
#define QUEUED_CLUSTER_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/resource.h"
#include "spec/constraint.h"
#include "spec/ids.h"
#include "spec/limits.h"
#include "util/parse.h"

/* A node as the API server has it. All amounts are of one unit per dimension (resource.h). */
struct node_fact {
    char name[NODE_NAME_MAX + 1];
    char uid[UID_MAX + 1];
    char boot_id[UID_MAX + 1];
    struct resource_amount *capacity;
    uint32_t n_capacity;
    struct resource_amount *allocatable;
    uint32_t n_allocatable;
    struct node_label *labels;
    uint32_t n_labels;
    struct node_taint *taints;
    uint32_t n_taints;
    uint32_t bad_picks; /* bit k: not every choice of k GPUs of the host is contiguous */
    bool is_ready;      /* condition Ready is True */
    bool is_cordoned;   /* spec.unschedulable */
    bool is_deleting;
    usec_t not_ready_since; /* transition time of Ready when it is not True; 0 unknown */
};

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* A pod as the API server has it. */
struct pod_fact {
    char ns[LABEL_MAX + 1];
    char name[NODE_NAME_MAX + 1]; /* of foreign pods: up to 253 */
    char uid[UID_MAX + 1];
    char node[NODE_NAME_MAX + 1]; /* "" unbound */
    enum pod_phase phase;
    bool is_deleting;
    bool is_ready;
    bool is_daemon;                   /* of a DaemonSet or of its node: takes no node from others */
    int16_t exit_code;                /* of the first container when terminated; -1 */
    char reason[64];                  /* status.reason or the container's: "OOMKilled" ... */
    struct resource_amount *requests; /* effective request of the whole pod */
    uint32_t n_requests;
    /* from our labels; job.v 0: none of ours, or labels that do not parse */
    struct job_id job;
    char role[ROLE_NAME_MAX + 1];
    uint32_t index;
    uint32_t attempt;
};

struct node_fact *node_fact_copy(const struct node_fact *n);
void node_fact_destroy(struct node_fact *n); /* NULL allowed */
bool node_fact_same_labels(const struct node_fact *a, const struct node_fact *b);
bool node_fact_same_taints(const struct node_fact *a, const struct node_fact *b);
void pod_fact_destroy(struct pod_fact *p);

#endif
