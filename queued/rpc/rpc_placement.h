/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_placement.h - where a gang sits, in one short text ("block-3/rack-12,13"). */
#ifndef QUEUED_RPC_RPC_PLACEMENT_H
#define QUEUED_RPC_RPC_PLACEMENT_H

#include "core/state.h"
#include "util/arena.h"

enum { RPC_PLACEMENT_MAX = 255 };

/* The domains of the members of the current attempt in the hierarchy that the job speaks of (else
 * the first). "" when it has no placement or its nodes are in no domain. In a. */
const char *rpc_placement(struct arena *a, const struct state *s, const struct job *j);

#endif
