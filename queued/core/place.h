/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - all or nothing: a host for every pod of a gang inside one allowed domain, or why not.
 *
 * Levels are tried from the preferred one up to the required one (none: the whole cluster); on
 * a level the domain with the best fit wins, that is the one left with the least free capacity,
 * names break ties. Inside the domain: fewest islands, then fewest, fullest, equal hosts.
 */
#ifndef QUEUED_CORE_PLACE_H
#define QUEUED_CORE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cluster.h"

struct place_result {
    struct placement_member *members; /* demand->pods entries, owned by the caller (free) */
    int64_t fixed_cpu_milli[JOB_ROLES_MAX];
    int64_t fixed_memory_bytes[JOB_ROLES_MAX];
};

struct place_wish {
    const struct demand *demand;
    const uint8_t *models;    /* per role: the model to use; MODELS_MAX for roles without GPUs */
    const uint32_t *excluded; /* node_ix, JOB_EXCLUDED_MAX entries; IX_NONE empty */
    bool on_empty;            /* as if nothing were held on any node */
};

/* Is the node among JOB_EXCLUDED_MAX excluded ones? excluded NULL: none is. */
bool place_excludes(const uint32_t *excluded, uint32_t node_ix);
/* false: it does not fit; *ret untouched. */
bool place_gang(const struct cluster *c, const struct place_wish *wish, struct place_result *ret);

#endif
