/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - all or nothing: a host for every pod of a gang inside one allowed domain, or why not.
 *
 * Levels are tried from the host up to the required one (none: the whole cluster); what fits at or
 * below the preferred level ends that. Of each level the two domains that are left with the least
 * free capacity are candidates, names break ties; the highest score wins, then the narrower level,
 * then the tighter fit. Inside the domain: fewest islands, then fewest, fullest, equal hosts.
 */
#ifndef QUEUED_CORE_PLACE_H
#define QUEUED_CORE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"

struct place_result {
    struct placement_member *members; /* one per pod, roles in order; owned by the caller (free) */
    int64_t fixed_cpu_milli[JOB_ROLES_MAX];
    int64_t fixed_memory_bytes[JOB_ROLES_MAX];
    uint32_t score, topology, packing; /* score.h, 0..1000; 0 by plain rules */
};

enum place_rule {
    PLACE_SCORE, /* contracts.md 7 */
    /* plain rules of simulators, each role for itself; a required level holds, none is preferred */
    PLACE_TOPO,    /* smallest level that holds it, best fit there, whole children first */
    PLACE_BESTFIT, /* nodes by increasing free GPUs, then name */
    PLACE_SPREAD,  /* by decreasing free GPUs, then name */
};

struct place_wish {
    const struct demand *demand;
    const uint8_t *models;    /* per role: the model to use; MODELS_MAX for roles without GPUs */
    const uint32_t *excluded; /* node_ix, JOB_EXCLUDED_MAX entries; IX_NONE empty */
    bool on_empty;            /* as if nothing were held on any node */
    const uint32_t *counts;   /* pods per role; NULL: the demand's replicas */
    enum place_rule rule;
    bool is_relaxed; /* the required level counts as preferred */
    bool is_check;   /* whether it fits is all that is asked: the first that does is taken */
    /* forks on which it must fit as well: what is free on a node is the least of all */
    const struct cluster *const *beside;
    uint32_t n_beside;
    const uint64_t *closed;      /* bits by node_ix: may not be used; NULL: none */
    const struct domain *within; /* of c or of the original of a fork; NULL: anywhere */
};

/* Is the node among JOB_EXCLUDED_MAX excluded ones? excluded NULL: none is. */
bool place_excludes(const uint32_t *excluded, uint32_t node_ix);
/* false: it does not fit; *ret untouched. */
bool place_gang(const struct cluster *c, const struct place_wish *wish, struct place_result *ret);

#endif
