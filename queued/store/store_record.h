/* SPDX-License-Identifier: Apache-2.0 */
/* store_record.h - the table of records: what becomes of a turn's effects, and back again.
 *
 * Pure over core types, so that every store behind the port writes identical bytes. A value is
 * u16 schema version, u16 flags, u32 CRC32C, then protobuf (proto/record.proto). The checksum
 * covers table, key, version, flags and the protobuf, so a value under a wrong key is damage.
 * Numbers in keys and headers are big-endian: byte order is numeric order.
 *
 *   table       key                                record
 *   meta        "meta"                             MetaRecord, written by every commit
 *   jobs        be64 id                            JobRecord
 *   specs       be64 id                            SpecRecord
 *   keys        tenant "\n" submit key             KeyRecord
 *   answers     be64 time, be32 uid, request id    AnswerRecord
 *   notes       be64 sequence number               NoteRecord
 *   attempts    be64 job id, be32 attempt          AttemptRecord
 *   tenants     path, or path "\n" uid             TenantRecord
 *   drains      node                               DrainRecord
 *   windows     name                               WindowRecord
 *   quarantine  table "/" its key                  the damaged value, untouched
 */
#ifndef QUEUED_STORE_STORE_RECORD_H
#define QUEUED_STORE_STORE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/state.h"
#include "util/err.h"

/* Part of the checksum: never renumber. */
enum store_table {
    STORE_META = 0,
    STORE_JOBS = 1,
    STORE_SPECS = 2,
    STORE_KEYS = 3,
    STORE_ANSWERS = 4,
    STORE_NOTES = 5,
    STORE_ATTEMPTS = 6,
    STORE_QUARANTINE = 7,
    STORE_TENANTS = 8,
    STORE_DRAINS = 9,
    STORE_WINDOWS = 10,
    STORE_TABLES,
};

enum {
    STORE_FORMAT = 1,          /* of the whole store; schema version of each record */
    STORE_HEADER_BYTES = 8,    /* before the protobuf */
    STORE_KEY_BYTES = 400,     /* longest key; LMDB takes 511 */
    STORE_CREATED_BY_MAX = 31, /* characters of the version that made a store */
};

struct store_bytes {
    const void *p;
    size_t len;
};

struct store_key {
    uint8_t bytes[STORE_KEY_BYTES];
    size_t len;
};

/* Where records go. Calls may fail inside: the receiver remembers and fails the commit. */
struct store_sink {
    void *ctx;
    const char *created_by; /* version of the daemon that made this store */
    void (*put)(void *ctx, enum store_table t, struct store_bytes key, struct store_bytes value);
    void (*del)(void *ctx, enum store_table t, struct store_bytes key);
    /* Delete all with a key below this one. */
    void (*del_below)(void *ctx, enum store_table t, struct store_bytes key);
};

/* A stored submit key, as state_load_key() takes it. */
struct store_submit_key {
    char text[TENANT_PATH_MAX + 1 + SUBMIT_KEY_MAX + 1];
    struct job_id job;
    uint8_t digest[SPEC_DIGEST_BYTES];
    usec_t drop_at;
};

const char *store_table_name(enum store_table t);

/* Keys. text is "tenant\nkey". */
struct store_bytes store_bytes_of(const struct store_key *k);
void store_key_meta(struct store_key *ret);
void store_key_u64(struct store_key *ret, uint64_t n); /* jobs, specs, notes */
/* The number that a key begins with; at least 8 bytes. */
uint64_t store_key_u64_of(struct store_bytes key);
void store_key_text(struct store_key *ret, const char *text);
void store_key_answer(struct store_key *ret, const struct answer *a);
void store_key_attempt(struct store_key *ret, struct job_id job, uint32_t attempt);
void store_key_quarantine(struct store_key *ret, enum store_table t, struct store_bytes key);

/* Give the SAVE and DROP effects of a turn to the sink, then the meta record. A job that is saved
 * several times is written once; one that is saved and gone is not. Returns the records put. */
uint32_t store_records_put(const struct state *s, const struct effects *fx,
                           const struct store_sink *sink);

/* Is this value whole: header, checksum, a version that we read? -1 INVALID with the reason;
 * -1 REFUSED: whole, but of a newer version. */
int store_record_check(enum store_table t, struct store_bytes key, struct store_bytes value,
                       struct err *err);

/* Decoding. Each checks as above first, then everything that the core relies on. -1: nothing is
 * made. Jobs take node indices from the cluster and the model from the settings of s, which is
 * otherwise untouched; job_destroy() is for those that state_load_job() did not take. */
int store_decode_meta(struct store_bytes key, struct store_bytes value, struct store_meta *ret,
                      char created_by[STORE_CREATED_BY_MAX + 1], struct err *err);
int store_decode_job(struct store_bytes key, struct store_bytes value, struct state *s,
                     struct job **ret, struct err *err);
int store_decode_spec(struct store_bytes key, struct store_bytes value, struct spec **ret,
                      struct err *err);
int store_decode_key(struct store_bytes key, struct store_bytes value, struct store_submit_key *ret,
                     struct err *err);
/* Into the tenant of that path; one that is not configured is left in the store as it is. */
int store_decode_tenant(struct store_bytes key, struct store_bytes value, struct tenants *t,
                        struct err *err);
/* ret->text is for the caller to free. */
int store_decode_answer(struct store_bytes key, struct store_bytes value, struct answer *ret,
                        struct err *err);
/* Into the cluster. */
int store_decode_drain(struct store_bytes key, struct store_bytes value, struct cluster *c,
                       struct err *err);
/* Into the state. */
int store_decode_window(struct store_bytes key, struct store_bytes value, struct state *s,
                        struct err *err);
int store_decode_note(struct store_bytes key, struct store_bytes value, struct job_note *ret,
                      struct err *err);

#endif
