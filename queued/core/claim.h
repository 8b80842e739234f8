/* SPDX-License-Identifier: Apache-2.0 */
/* claim.h - nodes held for a gang that waits until its victims have left them.
 *
 * Decided and stored with its placement and its victims before any of them is told. From then on
 * the taker's members hold their nodes (of which less than nothing may be free meanwhile), and the
 * tenants count what is coming. Victims of defragmentation have their own new places held as well,
 * and once they have left claim those. It ends in the placement, or comes to nothing: a node that
 * was lost or is refused to it by now, nodes that do not go together any more (a reboot brought
 * another driver), a licence that was taken away, a taker that left the queue, or no room long
 * after the grace. Victims not yet told are spared then.
 */
#ifndef QUEUED_CORE_CLAIM_H
#define QUEUED_CORE_CLAIM_H

#include "core/state.h"

/* The next step of some claim: a victim to tell, a claim that is ready or over. false: none. */
bool claim_next(struct state *s, usec_t now, struct event *ev);

enum { CLAIM_DAY_S = 24 * 3600 }; /* the budget of moves is a day's */

/* GPU-microseconds that moves may still lose on the day of now. */
uint64_t claim_moves_left(const struct state *s, usec_t now);
/* The victim, while it is the gang that was meant; NULL: that one is gone. */
struct job *claim_victim(const struct state *s, const struct victim *v);
/* What its victims still hold, in parts of GPUs, and how many they are. */
uint64_t claim_left(const struct state *s, const struct job *j, uint32_t *ret_gangs);

/* For a copy of its job. */
struct claim *claim_copy(const struct claim *from);

#endif
