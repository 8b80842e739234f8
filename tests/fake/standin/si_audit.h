/* SPDX-License-Identifier: Apache-2.0 */
/* si_audit.h - what happened, as JSON lines: creates, binds, phase changes, deletes, ends, and
 * violations of what a scheduler must keep.
 *
 * Fields: op, time_us (wall clock), rv, kind, ns, name, uid, node, phase; violations have
 * "violation" with a sentence instead of op.
 */
#ifndef QUEUED_STANDIN_AUDIT_H
#define QUEUED_STANDIN_AUDIT_H

#include "standin.h"

/* Note a change. Does nothing without an audit file. */
void audit_event(struct standin *s, const struct event *event);
/* Note that a pod was bound to a node without room for it; counts it also without a file. */
void audit_overcommit(struct standin *s, const struct rec *pod, uint64_t used,
                      uint64_t allocatable);

#endif
