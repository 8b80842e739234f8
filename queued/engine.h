/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - the turn: take in what happened, decide, make it durable, then act. */
#ifndef QUEUED_ENGINE_H
#define QUEUED_ENGINE_H

#include "core/effect.h"
#include "port/inbox.h"
#include "core/state.h"
#include "port/clock_port.h"
#include "port/outbox_port.h"
#include "port/store_port.h"

struct engine {
    struct state *state; /* borrowed */
    struct inbox *inbox; /* borrowed */
    struct clock_port clock;
    struct store_port store;
    struct outbox_port out;
    struct effects effects;
    usec_t defrag_at; /* not before: the next look whether gangs are to be moved */
    bool in_flight;   /* a commit is begun and not acknowledged */
};

/* One turn. Without effects there is no commit. ret_wake: when time alone makes work again.
 * -1: the commit failed; the process must end (exit code 75) and load again. */
int engine_turn(struct engine *e, usec_t *ret_wake, struct err *err);
/* The store has the turn's records: now they may be seen and acted on. */
void engine_acked(struct engine *e);
void engine_fini(struct engine *e);

#endif
