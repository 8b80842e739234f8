/* SPDX-License-Identifier: Apache-2.0 */
/* gang.h - from a job in the state and its stored spec to the order for the cluster adapter. */
#ifndef QUEUED_GANG_H
#define QUEUED_GANG_H

#include "core/state.h"
#include "port/cluster_port.h"

/* Fill g for the current attempt: all members for a start, those not terminal and not gone for a
 * stop. spec is borrowed by g; NULL for a stop. gang_fini() frees the pods. */
void gang_init(struct gang *g, const struct state *s, const struct job *j, const struct spec *spec,
               bool is_stop);
void gang_fini(struct gang *g);

#endif
