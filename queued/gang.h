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
/* Does the order that an effect of this turn asked for still stand? Later in the turn the gang may
 * have moved on: one that is no longer Binding is not started, and of one that is Binding again the
 * start takes over what is left of the attempt before, whose stop must not hit the new pods. */
bool gang_is_wanted(const struct job *j, bool is_stop);

#endif
