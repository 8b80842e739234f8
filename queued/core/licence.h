/* SPDX-License-Identifier: Apache-2.0 */
/* licence.h - licences of the cluster, which gangs hold from their decision to the last terminal
 * pod.
 *
 * Counted anew from the gangs whenever somebody asks: there is no counter that could be wrong.
 */
#ifndef QUEUED_CORE_LICENCE_H
#define QUEUED_CORE_LICENCE_H

#include "core/state.h"

/* Held by gangs with nodes, and kept for those whose victims have still to leave; without j. */
uint32_t licence_held(const struct state *s, uint32_t licence, const struct job *j);
/* Are all that the job needs free? ret_short (may be NULL): the first that is not. */
bool licence_admits(const struct state *s, const struct job *j, uint32_t *ret_short);

#endif
