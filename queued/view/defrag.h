/* SPDX-License-Identifier: Apache-2.0 */
/* defrag.h - whom to move so that a gang starts that has enough free GPUs, but not together.
 *
 * Only running, preemptible gangs that opted in (preemption.movable) and are older than
 * preemption.minRuntime move, and only whom the taker may ask: of its own quota those of no higher
 * priority, of others what reclaim could take. Every one of them has a place to go to beside the
 * taker's. What a move costs is the GPU time since the gang's last checkpoint or start. Nothing
 * changes here: plans are made on a fork.
 */
#ifndef QUEUED_VIEW_DEFRAG_H
#define QUEUED_VIEW_DEFRAG_H

#include "core/state.h"
#include "view/explain.h"

enum { DEFRAG_MOVES_MAX = 16, DEFRAG_TEXT_MAX = 160 };

struct defrag_move {
    const struct job *job;
    uint64_t lost;       /* GPU-microseconds */
    struct ev_placed to; /* owned */
};

struct defrag_plan {
    const struct job *taker;
    struct ev_placed place; /* of the taker; owned */
    uint32_t n_moves;
    struct defrag_move moves[DEFRAG_MOVES_MAX];
    uint64_t lost; /* of all moves */
};

/* The plan for one waiting gang that costs no more than `most`; false: there is none, or it needs
 * none. */
bool defrag_plan_for(const struct state *s, const struct job *taker, usec_t now, uint64_t most,
                     struct defrag_plan *ret);
/* The plan for the first of the waiting gangs, in their order, that has one. */
bool defrag_plan_next(const struct state *s, usec_t now, uint64_t most, struct defrag_plan *ret);
/* The same as EV_GANG_CLAIMED, inside what is left of today's budget and while no other claim is
 * held; false: nothing is to be moved now. */
bool defrag_next(const struct state *s, usec_t now, struct event *ev);
void defrag_plan_fini(struct defrag_plan *p);

/* What it gives: "free rack r3 by moving 2 gangs (12.5 GPU-hours)". */
const char *defrag_text(char buf[DEFRAG_TEXT_MAX], const struct state *s,
                        const struct defrag_plan *p);
/* When only fragments are free: what defragmentation would give is the next step. */
void defrag_explain(const struct state *s, const struct job *j, usec_t now, struct explain *x);

#endif
