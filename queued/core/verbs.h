/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.h - what clients do to a job: cancel, hold, release, requeue, preempt.
 *
 * Its age (submitted_at) stays, and with it its place among equals. Each at most once per request
 * id.
 */
#ifndef QUEUED_CORE_VERBS_H
#define QUEUED_CORE_VERBS_H

#include "core/state.h"

/* false: answered already (known request, refusal, the job is so already); nothing changes. */
bool verbs_admit(struct state *s, const struct ev_verb *ev, struct effects *fx);
void verbs_apply(struct state *s, const struct ev_verb *ev, struct effects *fx);

#endif
