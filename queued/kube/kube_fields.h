/* SPDX-License-Identifier: Apache-2.0 */
/* kube_fields.h - what we read of a Node, a Pod or a Status, whatever encoding it came in.
 *
 * The readers below fill these structs and judge nothing; kube_node.c, kube_pod_fact.c and
 * kube_api.c turn them into facts by one set of rules. Texts are never NULL, "" is absent; they and
 * the arrays live as long as the arena and the JSON tree that they were read from.
 */
#ifndef QUEUED_KUBE_KUBE_FIELDS_H
#define QUEUED_KUBE_KUBE_FIELDS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/parse.h"

#define GPU_TOPOLOGY_KEY "gang.queued/gpu-topology"

/* A label, or a resource and its quantity. */
struct field_pair {
    const char *key, *value;
};

struct field_pairs {
    struct field_pair *v;
    uint32_t n;
};

struct meta_fields {
    const char *ns, *name, *uid, *rv;
    struct field_pairs labels;
    bool is_deleting;
    const char *controller; /* kind of the object that made it; "" none */
};

struct condition_fields {
    const char *type, *status;
    usec_t since; /* last transition; 0 unknown */
};

struct conditions {
    struct condition_fields *v;
    uint32_t n;
};

struct taint_fields {
    const char *key, *value, *effect;
};

struct node_fields {
    const char *boot_id;
    const char *gpu_topology; /* the annotation; "" absent */
    struct field_pairs capacity, allocatable;
    struct taint_fields *taints;
    uint32_t n_taints;
    struct conditions conditions;
    bool is_cordoned;
};

struct container_fields {
    const char *name, *restart_policy;
    struct field_pairs requests, limits;
};

struct containers {
    struct container_fields *v;
    uint32_t n;
};

struct container_status_fields {
    const char *name, *ended_reason, *waiting_reason;
    int exit_code; /* -1 none */
};

struct pod_fields {
    const char *node, *phase, *reason;
    struct containers containers, init_containers;
    struct field_pairs requests, overhead; /* of the whole pod */
    struct conditions conditions;
    struct container_status_fields *statuses;
    uint32_t n_statuses;
};

struct object_fields {
    struct meta_fields meta;
    union {
        struct node_fields node;
        struct pod_fields pod;
    } u;
};

struct status_fields {
    const char *reason, *kind, *cause, *message;
    int code, retry_after_s; /* 0 none */
};

/* From a parsed object: what is missing or of another type reads as absent. */
void node_fields_json(struct arena *a, const cJSON *node, struct object_fields *ret);
void pod_fields_json(struct arena *a, const cJSON *pod, struct object_fields *ret);
void status_fields_json(const cJSON *status, struct status_fields *ret);

/* The most that one unpacked object may take. */
#define FIELDS_UNPACK_MAX ((size_t)64 * 1024 * 1024)

/* From the bytes of one message, without its envelope. What is no text reads as U+FFFD, as the
 * server writes it in JSON. false: damaged, or larger than FIELDS_UNPACK_MAX in memory. */
bool node_fields_proto(struct arena *a, const void *bytes, size_t len, struct object_fields *ret);
bool pod_fields_proto(struct arena *a, const void *bytes, size_t len, struct object_fields *ret);
bool status_fields_proto(struct arena *a, const void *bytes, size_t len, struct status_fields *ret);

#endif
