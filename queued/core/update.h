/* SPDX-License-Identifier: Apache-2.0 */
/* update.h - change of a waiting job: class, tenant, run time, topology; its age stays.
 *
 * The caller makes the whole new spec, checks it and says who may. The submit key stays with the
 * tenant that the job was submitted to, and so does the digest: the same file is the same job.
 */
#ifndef QUEUED_CORE_UPDATE_H
#define QUEUED_CORE_UPDATE_H

#include "core/state.h"

/* false: answered already (known request, refusal); nothing changes. */
bool update_admit(struct state *s, const struct ev_update *ev, struct effects *fx);
void update_apply(struct state *s, struct ev_update *ev, struct effects *fx);

#endif
