/* SPDX-License-Identifier: Apache-2.0 */
/* resize.h - the size of an elastic gang (core/elastic.h) changes. */
#ifndef QUEUED_LIFE_RESIZE_H
#define QUEUED_LIFE_RESIZE_H

#include "core/state.h"

/* EV_GANG_RESIZED: pods join, on the hosts that were found. */
void resize_apply(struct state *s, struct ev_placed *more, struct effects *fx);
/* The gang runs on without this member (elastic_may_drop()). Of one that joined and does not run
 * yet, or NULL: without all of those. */
void resize_drop(struct state *s, struct job *j, const struct member *m, const char *why,
                 struct effects *fx);
/* It gives up the pods that a claim wants of it, as far as it has them and does not need them. */
void resize_give(struct state *s, struct job *j, const struct claim *to, const char *why,
                 struct effects *fx);

#endif
