/* SPDX-License-Identifier: Apache-2.0 */
/* mend.h - a running gang goes on while pods that it lost are made again (failurePolicy.scope).
 *
 * A lost member holds nothing and stays charged; a host for it is looked for before any gang is
 * started. What does not run within gang.startTimeout of the loss restarts the whole gang.
 */
#ifndef QUEUED_CORE_MEND_H
#define QUEUED_CORE_MEND_H

#include "core/state.h"

/* Members that are not made again yet. */
uint32_t mend_missing(const struct job *j);
/* The next instant at which time alone does something to it; 0: it lacks nothing. */
usec_t mend_due(const struct state *s, const struct job *j);
/* Hosts for its members that are MEND_HOSTLESS: their own, of spares, or others of the domain. Of
 * the others IX_NONE; rank: 1 + the spare whose host it takes, of that spare not 0. false: not for
 * all. */
bool mend_hosts(const struct state *s, struct job *j, struct ev_placed *ret);
/* The cycle: hosts for all lost members of one gang, their own where these still take them. */
bool mend_next(struct state *s, usec_t now, struct event *ev);

#endif
