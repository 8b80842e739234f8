/* SPDX-License-Identifier: Apache-2.0 */
/* fake_store.h - the store port in memory, with the bytes that LMDB would hold.
 *
 * What was committed outlives "the process": a test drops its state, keeps the store and loads
 * again. A commit can be told to fail before or after it took effect, and its acknowledgement
 * can be held back, as a store over the network does.
 */
#ifndef QUEUED_TESTS_FAKE_STORE_H
#define QUEUED_TESTS_FAKE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/store_port.h"
#include "store/store_record.h"
#include "util/str.h"

enum fake_failure {
    FAKE_WORKS,
    FAKE_FAILS_BEFORE, /* nothing of the commit is stored */
    FAKE_FAILS_AFTER,  /* all of it is stored, and the caller is told that it failed */
    FAKE_FAILS_EITHER, /* one of the two, chosen by the seed */
};

struct fake_store;

struct fake_store *fake_store_create(uint64_t seed);
void fake_store_destroy(struct fake_store *f);
struct store_port fake_store_port(struct fake_store *f);

/* The next commit fails like this; later ones work. */
void fake_store_fail_next(struct fake_store *f, enum fake_failure how);
/* With hold, commits are acknowledged by fake_store_ack() only. */
void fake_store_hold_acks(struct fake_store *f, bool hold);
void fake_store_ack(struct fake_store *f);
/* The process died: what was not stored is forgotten, acknowledgements and failures, too. */
void fake_store_crash(struct fake_store *f);

uint64_t fake_store_commits(const struct fake_store *f);
/* Records put by all commits; deletions not counted. */
uint64_t fake_store_puts(const struct fake_store *f);
size_t fake_store_count(const struct fake_store *f, enum store_table t);
/* Record i of a table in key order; valid until the next commit. false: there are fewer. */
bool fake_store_at(const struct fake_store *f, enum store_table t, size_t i,
                   struct store_bytes *ret_key, struct store_bytes *ret_value);
/* Replace or add a record, whatever its bytes: damage, and records of other versions. */
void fake_store_set(struct fake_store *f, enum store_table t, struct store_bytes key,
                    struct store_bytes value);
/* Give a value (at least a header) the checksum that belongs to its bytes and place: what the
 * store then believes is for decoding to judge. */
void fake_store_sign(enum store_table t, struct store_bytes key, uint8_t *value, size_t len);
/* All tables, keys and values, each with its length: equal stores give equal bytes. */
void fake_store_bytes(const struct fake_store *f, struct str *ret);
/* A number over those bytes. */
uint64_t fake_store_hash(const struct fake_store *f);

#endif
