/* SPDX-License-Identifier: Apache-2.0 */
/* store_port.h - durable records behind the core.
 *
 * A commit is begun with the turn's SAVE and DROP effects and the state they name; its other
 * effects run when it is acknowledged. One is in flight at a time. For LMDB the commit is
 * finished when commit_begin() returns (is_acked() is then true at once).
 */
#ifndef QUEUED_PORT_STORE_PORT_H
#define QUEUED_PORT_STORE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/state.h"
#include "util/err.h"

struct note_range {
    uint64_t from; /* the first sequence number */
    uint32_t max;  /* events at most */
};

struct store_port {
    void *ctx;
    /* -1: failed for good, outcome unknown: the process must end and load again. */
    int (*commit_begin)(void *ctx, const struct state *s, const struct effects *fx,
                        struct err *err);
    bool (*is_acked)(void *ctx);
    /* The stored spec of a job; the caller destroys it. -1 NOT_FOUND or INTERNAL (damaged). */
    int (*read_spec)(void *ctx, struct job_id id, struct spec **ret, struct err *err);
    /* Durable events in order of their numbers; each is given to fn, which returns false to stop.
     * -1 on damage. */
    int (*read_notes)(void *ctx, struct note_range range,
                      bool (*fn)(void *arg, const struct job_note *note), void *arg,
                      struct err *err);
    /* Load everything into an empty state. Damaged records are moved to quarantine and logged;
     * -1 only when nothing can be trusted (newer format, unreadable store). */
    int (*load)(void *ctx, struct state *s, struct err *err);
};

#endif
