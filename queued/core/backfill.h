/* SPDX-License-Identifier: Apache-2.0 */
/* backfill.h - room kept for the first blocked gang of each GPU model, and who may use it until
 * then.
 *
 * A reservation says when its gang can start at the latest and on which nodes, given that every
 * gang ends at its latest end (contracts.md 2). It lives in memory: after a start the first cycle
 * makes it again. Order here is priority, submission, id: a gang is held back only by those before
 * it, so that no two hold back each other and reservations yield to higher priority.
 */
#ifndef QUEUED_CORE_BACKFILL_H
#define QUEUED_CORE_BACKFILL_H

#include "core/state.h"

enum { BACKFILL_LOG = 1024 };

/* backfill_gen() goes on behind gen; all that rests on reservations is to be looked at again. */
struct backfill *backfill_create(const struct settings *settings, uint64_t gen);
void backfill_destroy(struct backfill *b);

/* The reservations of another state, of the same nodes and jobs. */
void backfill_copy(struct state *s, const struct state *from);

/* All that rests on reservations is to be looked at again. */
void backfill_moved(struct state *s);

/* Latest end of a run that is decided at start. */
usec_t backfill_end_from(const struct job *j, usec_t start);
/* The last start from which that is not after `end`. */
usec_t backfill_last_start(const struct job *j, usec_t end);
/* Latest end of the attempt of a job that holds nodes, or of one decided at now. */
usec_t backfill_end(const struct job *j, usec_t now);
/* Before a cycle: drop what is no longer waited for, and give it to the next blocked gang. */
void backfill_begin(struct state *s, usec_t now);
/* The reservations, as bits, that j must leave room for if it ends at `end`. */
uint64_t backfill_ahead_of(const struct state *s, const struct job *j, usec_t end);
/* Their forks (the cluster at a reserved time, its gang in place); valid until the next call of
 * this header. */
uint32_t backfill_beside(const struct state *s, uint64_t reserved,
                         const struct cluster *const **ret);
/* Do they leave room for a pod of the role on this node? */
bool backfill_leaves(const struct state *s, uint64_t reserved, const struct demand_role *role,
                     uint32_t node_ix);
/* Set the bits (by node_ix) of nodes that are reserved for gangs before j. */
void backfill_close(const struct state *s, const struct job *j, uint64_t *closed);
/* j is blocked: reserve for it when it is the first of its model. */
void backfill_blocked(struct state *s, struct job *j, usec_t now);
/* Could backfill_blocked() change anything? */
bool backfill_may_keep(const struct state *s, const struct job *j);
/* j waits with other wishes or in another place: what was reserved for it is open to the next. */
void backfill_forget(struct state *s, const struct job *j);
/* j runs from now on: its latest end has moved earlier. */
void backfill_runs(struct state *s, const struct job *j);
/* j was placed: what it takes is taken from the forks too. */
void backfill_started(struct state *s, const struct job *j);
/* A gang begins on nodes that were held for it: it will end, which a claim does not. */
void backfill_claimed(struct state *s);
/* A member of j has left its node: the same on the forks. */
void backfill_left(struct state *s, const struct job *j, uint32_t node_ix,
                   const struct resources *asks);
/* Moves when a reservation is made, moved or dropped: sleepers behind one wake. */
uint64_t backfill_gen(const struct state *s);
/* The node on which the move from this generation to the next may leave more room than before,
 * IX_NONE: it leaves none. Known of the last BACKFILL_LOG moves. */
uint32_t backfill_opened(const struct state *s, uint64_t gen);

struct reserved {
    const struct job *job;
    usec_t at;
    uint32_t n_nodes;
    const char *node; /* one of them */
};
/* The reservation that a gang with this latest end would have to leave room for; false: none. */
bool backfill_ahead(const struct state *s, const struct job *j, usec_t end, struct reserved *ret);
/* The reservation of a pending gang itself; false: it has none. */
bool backfill_own(const struct state *s, const struct job *j, struct reserved *ret);

#endif
