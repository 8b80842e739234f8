/* SPDX-License-Identifier: Apache-2.0 */
/* store_load.h - rebuild the state from records, whoever holds them.
 *
 * One damaged record costs that record: it is moved to the table quarantine, logged once and
 * counted, and the rest goes on.
 */
#ifndef QUEUED_STORE_STORE_LOAD_H
#define QUEUED_STORE_STORE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store_record.h"

enum {
    ANSWER_KEPT_HOURS = 24,
    KEY_KEPT_DAYS = 7, /* after its job's record is gone */
};

/* A store that is read. Bytes given to fn or returned are valid until the next call. */
struct store_source {
    void *ctx;
    /* Walk a table in key order; fn returns false to stop. -1: the table cannot be read. */
    int (*walk)(void *ctx, enum store_table t,
                bool (*fn)(void *arg, struct store_bytes key, struct store_bytes value), void *arg,
                struct err *err);
    /* Is there such a record? */
    bool (*get)(void *ctx, enum store_table t, struct store_bytes key, struct store_bytes *ret);
    /* After all walks: put and delete, durable before store_load() is called done. */
    void (*put)(void *ctx, enum store_table t, struct store_bytes key, struct store_bytes value);
    void (*del)(void *ctx, enum store_table t, struct store_bytes key);
};

struct store_loaded {
    char created_by[STORE_CREATED_BY_MAX + 1]; /* "" for an empty store */
    uint32_t jobs, keys, answers;
    uint32_t quarantined; /* records moved away in this load */
    uint32_t dropped;     /* answers past their time, deleted */
};

/* Load into an empty state. Every id, and the number of the next event, is above all that any
 * record names, even when the meta record is damaged. where names the store in log lines.
 * -1 REFUSED: of a newer format; -1 others: a table cannot be read. Nothing is moved then. */
int store_load(const struct store_source *src, const char *where, struct state *s,
               struct store_loaded *ret, struct err *err);

#endif
