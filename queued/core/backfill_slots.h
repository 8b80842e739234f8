/* SPDX-License-Identifier: Apache-2.0 */
/* backfill_slots.h - the reservations themselves, for the files of backfill.h. Nobody else
 * includes it.
 */
#ifndef QUEUED_CORE_BACKFILL_SLOTS_H
#define QUEUED_CORE_BACKFILL_SLOTS_H

#include "core/backfill.h"

struct held {
    uint32_t node_ix;
    struct resources asks;
};

struct reservation {
    struct job_id job; /* 0: none */
    usec_t at;
    usec_t planned_at; /* last look for an earlier one */
    VEC(struct held) held;
    struct cluster *fork; /* the cluster at `at`, with the gang in place; no job: memory */
    uint64_t stamp;       /* of the cluster that fork was made of; 0: not made */
    bool fits;            /* the gang had room on its hosts then */
    bool is_inside;       /* its tenant had quota left at the last cycle */
};

/* Slot i is of model i % width; the last of each width is of gangs without GPUs. */
struct backfill {
    uint32_t width, n; /* slots in use */
    struct reservation of[BACKFILL_SLOTS_MAX];
    const struct cluster *beside[BACKFILL_SLOTS_MAX];
    struct cluster *scratch; /* of plan(); NULL: none */
    uint64_t gen;
    uint32_t opened[BACKFILL_LOG]; /* [gen - 1]: what the last move may have opened, round */
    VEC(uint64_t) closed;          /* of closed_to() */
};

/* A time that a job asks for, within bounds. */
usec_t backfill_span(usec_t d);
/* The model of a slot; MODELS_MAX: gangs without GPUs. */
uint32_t backfill_model_of(const struct backfill *b, uint32_t slot);
/* May its GPUs be judged by slots of this model? */
bool backfill_is_of(const struct demand *d, uint32_t model);
struct reservation *backfill_own_of(const struct state *s, const struct job *j); /* NULL: none */
/* The generation moves on; a node on which others may have more room than before, or IX_NONE. */
void backfill_log(struct backfill *b, uint32_t opened_ix);
/* The same for a reservation that goes or moves: it keeps room on the hosts of its gang alone. */
void backfill_slot_moved(struct backfill *b, const struct reservation *r);
/* Hosts that j may not plan with from start on: an operator's, and those that gangs before it have
 * in the other slots of the model. NULL: none. Valid until the next call. */
const uint64_t *backfill_closed_to(const struct state *s, uint32_t model, const struct job *j,
                                   usec_t start);
/* *fork as if made anew of c; NULL: it is made. */
struct cluster *backfill_fork(struct cluster **fork, const struct cluster *c);
/* A fork is not needed any more: memory for the next. NULL is none. */
void backfill_fork_over(struct backfill *b, struct cluster *fork);
/* r is planned on the scratch, where all is given back that has ended by r->at: it is r's fork now,
 * and its gang is put in place there. */
void backfill_fork_keep(const struct state *s, struct reservation *r);
/* Have its hosts room for the gang at that time? Then r->fork has it in place. */
bool backfill_fits(const struct state *s, struct reservation *r);
/* Must j, that ends at `end`, leave room for the one that has the slot? */
bool backfill_holds_back(const struct state *s, uint32_t slot, const struct job *j, usec_t end);

#endif
