/* SPDX-License-Identifier: Apache-2.0 */
/* proto.c - numbers and fields as protobuf writes them. */
#include "util/proto.h"

#include <stddef.h>

int proto_varint(const uint8_t *p, size_t n, uint64_t *ret)
{
    uint64_t v = 0;

    for (size_t i = 0; i < n && i < 10; i++) {
        if (i == 9 && p[i] > 1)
            return -1;
        v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (p[i] < 0x80) {
            *ret = v;
            return (int)i + 1;
        }
    }
    return n < 10 ? 0 : -1;
}

static bool take_varint(struct proto_walk *w, uint64_t *ret)
{
    int n = proto_varint(w->p, (size_t)(w->end - w->p), ret);

    w->is_bad = n <= 0;
    w->p += n > 0 ? n : 0;
    return n > 0;
}

bool proto_split_tag(uint64_t tag, uint32_t *ret_number, unsigned *ret_wire)
{
    *ret_number = (uint32_t)(tag >> 3);
    *ret_wire = (unsigned)(tag & 7);
    return tag >> 3 && tag >> 3 < (1u << 29) && (*ret_wire <= WIRE_BYTES || *ret_wire == WIRE_32);
}

bool proto_walk_next(struct proto_walk *w, struct proto_field *ret)
{
    ptrdiff_t left = w->end - w->p;
    uint64_t tag, n = 0;

    /* a tag and a length of one byte each: nearly all fields */
    if (left >= 2 && w->p[0] < 0x80 && w->p[0] >> 3 && (w->p[0] & 7) == WIRE_BYTES &&
        w->p[1] < 0x80 && w->p[1] <= left - 2) {
        ret->number = w->p[0] >> 3;
        ret->wire = WIRE_BYTES;
        ret->value = (struct proto_span){w->p + 2, w->p[1]};
        w->p += 2 + ret->value.len;
        return true;
    }
    if (!left || !take_varint(w, &tag))
        return false;
    w->is_bad = !proto_split_tag(tag, &ret->number, &ret->wire);
    if (w->is_bad)
        return false;
    if (ret->wire == WIRE_VARINT)
        return take_varint(w, &ret->varint);
    if (ret->wire == WIRE_BYTES) {
        if (!take_varint(w, &n))
            return false;
    } else {
        n = ret->wire == WIRE_64 ? 8 : 4;
    }
    w->is_bad = n > (uint64_t)(w->end - w->p);
    if (w->is_bad)
        return false;
    ret->value = (struct proto_span){w->p, (size_t)n};
    w->p += n;
    return true;
}

struct proto_walk proto_walk(struct proto_span message)
{
    return (struct proto_walk){.p = message.p, .end = message.p + message.len};
}
