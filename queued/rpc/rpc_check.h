/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_check.h - every bound of an encoded request, checked on the bytes while they are unpacked.
 *
 * protobuf-c checks no lengths, counts, UTF-8, NUL, ranges or enum values, and loses the length
 * of strings; so one walk over the wire bytes does both, by the tables of rpc_rules.c. The cap of
 * the arena bounds its memory, the schema its depth (no cycles: tested).
 */
#ifndef QUEUED_RPC_RPC_CHECK_H
#define QUEUED_RPC_RPC_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "util/arena.h"
#include "util/err.h"

enum rpc_rule_kind {
    RULE_NUMBER,  /* varint in min..max (unsigned, or not negative) */
    RULE_ENUM,    /* a value of the descriptor, not 0; must be given */
    RULE_BYTES,   /* min..max bytes */
    RULE_TEXT,    /* clean UTF-8, min..max bytes; tab and newline allowed */
    RULE_LINE,    /* the same without tab and newline */
    RULE_LABEL,   /* DNS-1123 label of at most max bytes */
    RULE_PATH,    /* DNS-1123 labels joined by '/', at most max bytes */
    RULE_DOMAIN,  /* DNS-1123 subdomain */
    RULE_MESSAGE, /* at most max bytes */
};

enum { RPC_RULE_FIELDS_MAX = 64, RPC_DEPTH_MAX = 6 };

/* One row a field, in the order of field numbers. */
struct rpc_rule {
    const char *field; /* as in the .proto file */
    enum rpc_rule_kind kind;
    uint64_t min, max;
    uint32_t count; /* most elements of a repeated field; 1 for the others */
};

struct rpc_rules {
    const ProtobufCMessageDescriptor *message;
    const struct rpc_rule *rules; /* message->n_fields */
};

/* All tables, for lookup and tests. */
const struct rpc_rules *rpc_rules(unsigned *ret_n);

struct rpc_bytes {
    const uint8_t *p;
    size_t len;
};

/* The encoded message of type `message`, unpacked into the arena, whose memory it is; nothing in it
 * points to the bytes. is_strict: unknown fields are refused, else they are left out. NULL: INVALID
 * with the path of the field ("spec.roles[0].env[3].key: ..."); the arena may then hold a part. */
ProtobufCMessage *rpc_check(struct arena *a, const ProtobufCMessageDescriptor *message,
                            struct rpc_bytes bytes, bool is_strict, struct err *err);

#endif
