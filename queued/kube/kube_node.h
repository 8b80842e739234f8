/* SPDX-License-Identifier: Apache-2.0 */
/* kube_node.h - a Node object of the API server as a fact of the core. Plain conversion. */
#ifndef QUEUED_KUBE_KUBE_NODE_H
#define QUEUED_KUBE_KUBE_NODE_H

#include "core/event.h"
#include "kube/kube_fields.h"

enum { OBJECT_AMOUNTS_MAX = 64, GPU_TOPOLOGY_MAX = 64 * 1024 };

/* NULL: no name or uid, or longer than limits.h allows. Amounts that cannot be read are left out.
 * The caller frees it with node_fact_destroy(). */
struct node_fact *kube_node_fact(const struct object_fields *node);

/* Amounts of a map "cpu" to "4" and so on into ret[0..OBJECT_AMOUNTS_MAX), in the units of
 * cluster/resource.h; returns how many. object: its name, for the log. */
uint32_t kube_amounts(const char *object, const struct field_pairs *map,
                      struct resource_amount *ret);
/* One quantity in the unit of its dimension; -1 when it cannot be read. */
int64_t kube_amount(const char *name, const char *quantity);

#endif
