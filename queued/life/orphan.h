/* SPDX-License-Identifier: Apache-2.0 */
/* orphan.h - pods with our labels whose job nobody knows (contracts.md 6): told, and deleted after
 * a while.
 *
 * While one is there whose id this store has never given, an older copy of the store was put back,
 * or another one is in its place: then nothing is deleted until such pods are gone, also not after
 * a restart. An operator looks at them and deletes them, or puts the right store back.
 */
#ifndef QUEUED_LIFE_ORPHAN_H
#define QUEUED_LIFE_ORPHAN_H

#include "core/state.h"

enum { ORPHAN_KEEP_S = 600 };

void orphan_seen(struct state *s, const struct pod_fact *pod, struct effects *fx);
void orphan_gone(struct state *s, const char *ns, const char *name);
/* Orphans that are old enough are deleted, unless something holds that up. */
void orphans_check(struct state *s, struct effects *fx);
/* The lists are complete: without such a pod in them no id is a riddle. */
void orphans_synced(struct state *s);
/* Call before an id is given to a new job. */
void orphans_new_id(struct state *s, struct job_id id);

#endif
