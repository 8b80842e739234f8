/* SPDX-License-Identifier: Apache-2.0 */
/* proto.h - the fields of one encoded protobuf message that is whole in memory.
 *
 * Knows the wire form and no schema. Allocates nothing; damage ends a walk, nothing is guessed.
 */
#ifndef QUEUED_UTIL_PROTO_H
#define QUEUED_UTIL_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proto_wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

struct proto_span {
    const uint8_t *p;
    size_t len;
};

struct proto_walk {
    const uint8_t *p, *end;
    bool is_bad;
};

struct proto_field {
    uint32_t number;
    unsigned wire;
    uint64_t varint;         /* WIRE_VARINT only */
    struct proto_span value; /* all others */
};

/* The varint at p[0..n): its bytes; 0: it is not whole yet; -1: it is none. */
int proto_varint(const uint8_t *p, size_t n, uint64_t *ret);
/* false: no field has such a tag. */
bool proto_split_tag(uint64_t tag, uint32_t *ret_number, unsigned *ret_wire);

struct proto_walk proto_walk(struct proto_span message);
/* The next field; false: there is none, and is_bad says whether that is damage or the end. */
bool proto_walk_next(struct proto_walk *w, struct proto_field *ret);

#endif
