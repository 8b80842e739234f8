/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - fields from the places that the descriptors of protobuf-c name, the last one first.
 *
 * Knows the kinds of fields that our schemas have; a message in a message goes as deep as they do,
 * as none has a cycle. What was kept as unknown is not written, as we keep none.
 */
#include "util/pack.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "util/mem.h"
#include "util/proto.h"

enum { ROOM_MIN = 512, VARINT_BITS = 7, VARINT_MAX = 10, NUMBERS_MAX = 16, WIRE_BITS = 3 };

static size_t written(const struct pack *p)
{
    return p->room - p->left;
}

static void grow(struct pack *p, size_t len)
{
    size_t n = written(p), room = (n + len) * 2 + ROOM_MIN;
    uint8_t *bytes = xmalloc(room);

    if (n)
        memcpy(bytes + room - n, p->bytes + p->left, n);
    free(p->bytes);
    *p = (struct pack){bytes, room, room - n};
}

/* Room for len bytes, and for a number and a tag before them. */
static inline void reserve(struct pack *p, size_t len)
{
    if (p->left < len + NUMBERS_MAX)
        grow(p, len);
}

static inline void put_varint(struct pack *p, uint64_t v)
{
    uint8_t *to;

    p->left--;
    for (uint64_t rest = v >> VARINT_BITS; rest; rest >>= VARINT_BITS)
        p->left--;
    for (to = p->bytes + p->left; v > 0x7f; v >>= VARINT_BITS)
        *to++ = (uint8_t)(v | 0x80);
    *to = (uint8_t)v;
}

static void put_bytes(struct pack *p, const void *bytes, size_t len)
{
    reserve(p, len);
    p->left -= len;
    if (len)
        memcpy(p->bytes + p->left, bytes, len);
    put_varint(p, len);
}

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static size_t size_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
        return sizeof(uint64_t);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return sizeof(uint32_t);
    }
}

static uint64_t number_of(ProtobufCType type, const void *at)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        return (uint64_t)(int64_t) * (const int32_t *)at;
    case PROTOBUF_C_TYPE_SINT32:
        return zigzag(*(const int32_t *)at);
    case PROTOBUF_C_TYPE_SINT64:
        return zigzag(*(const int64_t *)at);
    case PROTOBUF_C_TYPE_INT64:
        return (uint64_t) * (const int64_t *)at;
    case PROTOBUF_C_TYPE_UINT64:
        return *(const uint64_t *)at;
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)at != 0;
    default:
        assert(type == PROTOBUF_C_TYPE_UINT32); /* our schemas have no other */
        return *(const uint32_t *)at;
    }
}

static inline void put_tag(struct pack *p, const ProtobufCFieldDescriptor *f, unsigned wire)
{
    put_varint(p, (uint64_t)f->id << WIRE_BITS | wire);
}

static void put_fields(struct pack *p, const ProtobufCMessage *m);

static void put_value(struct pack *p, const ProtobufCFieldDescriptor *f, const void *at)
{
    const ProtobufCBinaryData *data = at;
    size_t before = written(p);
    const char *text;

    if (f->type == PROTOBUF_C_TYPE_STRING) {
        text = *(const char *const *)at;
        put_bytes(p, text, text ? strlen(text) : 0);
    } else if (f->type == PROTOBUF_C_TYPE_BYTES) {
        put_bytes(p, data->data, data->len);
    } else if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        put_fields(p, *(const ProtobufCMessage *const *)at);
        reserve(p, 0);
        put_varint(p, written(p) - before);
    } else {
        reserve(p, 0);
        put_varint(p, number_of(f->type, at));
        put_tag(p, f, WIRE_VARINT);
        return;
    }
    put_tag(p, f, WIRE_BYTES);
}

static void put_list(struct pack *p, const ProtobufCFieldDescriptor *f, const char *list, size_t n)
{
    size_t size = size_of(f->type), before = written(p);

    if (!(f->flags & PROTOBUF_C_FIELD_FLAG_PACKED)) {
        while (n > 0)
            put_value(p, f, list + --n * size);
        return;
    }
    reserve(p, n * VARINT_MAX);
    while (n > 0)
        put_varint(p, number_of(f->type, list + --n * size));
    put_varint(p, written(p) - before);
    put_tag(p, f, WIRE_BYTES);
}

static bool is_given(const ProtobufCFieldDescriptor *f, const char *m)
{
    if (f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE)
        return *(const void *const *)(const void *)(m + f->offset) != NULL;
    return *(const protobuf_c_boolean *)(const void *)(m + f->quantifier_offset);
}

/* Calls itself through put_value(); bounded by the schema, whose messages have no cycles. */
static void put_fields(struct pack *p, const ProtobufCMessage *message)
{
    const char *m = (const char *)message;

    for (unsigned i = message->descriptor->n_fields; i > 0; i--) {
        const ProtobufCFieldDescriptor *f = &message->descriptor->fields[i - 1];

        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t n = *(const size_t *)(const void *)(m + f->quantifier_offset);

            if (n)
                put_list(p, f, *(const char *const *)(const void *)(m + f->offset), n);
        } else if (is_given(f, m)) {
            put_value(p, f, m + f->offset);
        }
    }
}

uint8_t *pack_message(struct pack *p, size_t head, const ProtobufCMessage *m, size_t *ret_len)
{
    assert(m->n_unknown_fields == 0);
    p->left = p->room;
    put_fields(p, m);
    reserve(p, head);
    p->left -= head;
    *ret_len = written(p);
    return p->bytes + p->left;
}

void pack_fini(struct pack *p)
{
    free(p->bytes);
    *p = (struct pack){0};
}
