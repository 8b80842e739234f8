/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_check.h - every bound of an encoded request, checked on the bytes before they are unpacked.
 *
 * protobuf-c checks no lengths, counts, UTF-8, NUL, ranges or enum values, and loses the length
 * of strings; so one walk over the wire bytes does, by the tables of rpc_rules.c. What passes
 * unpacks within a bounded amount of memory. Depth is bounded by the schema (no cycles: tested).
 */
#ifndef QUEUED_RPC_RPC_CHECK_H
#define QUEUED_RPC_RPC_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

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

/* Check an encoded message of type `message`. is_strict: unknown fields are refused, too.
 * -1 INVALID with the path of the field ("spec.roles[0].env[3].key: ..."). */
int rpc_check(const ProtobufCMessageDescriptor *message, const uint8_t *bytes, size_t len,
              bool is_strict, struct err *err);

#endif
