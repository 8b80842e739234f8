/* SPDX-License-Identifier: Apache-2.0 */
/* replace.h - another host for one member of a gang whose own was refused, inside the domain that
 * the gang is bound to. The others stay where they are.
 */
#ifndef QUEUED_CORE_REPLACE_H
#define QUEUED_CORE_REPLACE_H

#include "core/state.h"

/* Is this node there and usable, and not excluded for the job? */
bool replace_is_good(const struct state *s, const struct job *j, uint32_t node_ix);
/* Does a host that the member was on take it again? */
bool replace_fits(const struct state *s, const struct job *j, const struct member *m,
                  uint32_t node_ix);
/* Does this node go with the hosts of the others: their driver, the domain that they must not
 * leave?
 */
bool replace_joins(const struct state *s, const struct job *j, const struct member *m,
                   const struct node *n);
/* Do the skews that the roles ask for hold with all members on these nodes? at: by member, IX_NONE
 * none. */
bool replace_keeps_spreads(const struct state *s, const struct job *j, const uint32_t *at);
/* The host that takes the member: in the required domain of the others, not excluded for the job,
 * with room. The nearest to its neighbour by rank, then one that the gang uses already, then the
 * fullest, then the first by name. IX_NONE: there is none. */
uint32_t replace_host(const struct state *s, const struct job *j, const struct member *m);

#endif
