/* SPDX-License-Identifier: Apache-2.0 */
/* relax.h - topology.maxWait: a required level becomes a preferred one after a time of waiting.
 *
 * A job has both demands from the start and takes the other at that instant, which puts it into
 * another bucket. A wait that begins anew begins with the required level.
 */
#ifndef QUEUED_CORE_RELAX_H
#define QUEUED_CORE_RELAX_H

#include "core/state.h"

/* Give the job the demands of its spec. */
void relax_init(struct state *s, struct job *j, const struct spec *spec);
/* The same demand as another job has, which is not relaxed. */
void relax_share(struct job *j, const struct job *like);
void relax_fini(struct state *s, struct job *j);
/* Take the demand that holds at `now`. */
void relax_look(struct state *s, struct job *j, usec_t now);
/* When the other will be taken; 0: never, or it was. */
usec_t relax_at(const struct job *j);

#endif
