/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - fields into the places that the descriptors of protobuf-c name.
 *
 * Knows the kinds of fields that our schemas have. It goes down as deep as the schema, none of
 * which has a cycle, whatever the bytes are. Repeated fields are counted first, so that nothing
 * grows.
 */
#include "util/unpack.h"

#include <string.h>

#include <protobuf-c/protobuf-c.h>

/* The field of a number; at is where the last one was, as they come in order. Those of a
 * descriptor are in the order of their numbers. */
static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessageDescriptor *what,
                                                uint32_t number, unsigned *at)
{
    unsigned i = *at < what->n_fields && what->fields[*at].id <= number ? *at : 0;

    while (i < what->n_fields && what->fields[i].id < number)
        i++;
    *at = i;
    return i < what->n_fields && what->fields[i].id == number ? &what->fields[i] : NULL;
}

static bool is_text(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_STRING || type == PROTOBUF_C_TYPE_BYTES;
}

static bool is_number(ProtobufCType type)
{
    return !is_text(type) && type != PROTOBUF_C_TYPE_MESSAGE;
}

static bool is_wide(ProtobufCType type)
{
    return type == PROTOBUF_C_TYPE_INT64 || type == PROTOBUF_C_TYPE_SINT64 ||
           type == PROTOBUF_C_TYPE_UINT64;
}

static size_t size_of(ProtobufCType type)
{
    if (type == PROTOBUF_C_TYPE_BYTES)
        return sizeof(ProtobufCBinaryData);
    if (is_number(type))
        return is_wide(type) ? sizeof(uint64_t) : sizeof(uint32_t);
    return sizeof(void *);
}

static size_t *count_of(char *m, const ProtobufCFieldDescriptor *f)
{
    return (size_t *)(void *)(m + f->quantifier_offset);
}

/* Numbers may come many in one field. */
static bool is_packed(const ProtobufCFieldDescriptor *f, const struct proto_field *in)
{
    return f->label == PROTOBUF_C_LABEL_REPEATED && is_number(f->type) && in->wire == WIRE_BYTES;
}

static size_t values_in(const ProtobufCFieldDescriptor *f, const struct proto_field *in)
{
    size_t n = 0;

    if (!is_packed(f, in))
        return 1;
    for (size_t i = 0; i < in->value.len; i++)
        n += in->value.p[i] < 0x80;
    return n;
}

/* How many values each repeated field has; false: damaged. */
static bool count_values(const ProtobufCMessageDescriptor *what, struct proto_span bytes, char *m)
{
    struct proto_walk w = proto_walk(bytes);
    struct proto_field in;
    unsigned at = 0;

    while (proto_walk_next(&w, &in)) {
        const ProtobufCFieldDescriptor *f = field_of(what, in.number, &at);

        if (f && f->label == PROTOBUF_C_LABEL_REPEATED)
            *count_of(m, f) += values_in(f, &in);
    }
    return !w.is_bad;
}

/* The place of the next value of a list, which is made with the first, of as many as were counted.
 * NULL: no room. */
static char *place_in(struct arena *a, char *m, const ProtobufCFieldDescriptor *f)
{
    size_t *n = count_of(m, f);
    char *list;

    memcpy(&list, m + f->offset, sizeof(list));
    if (!list) {
        list = arena_try_raw(a, *n * size_of(f->type));
        memcpy(m + f->offset, &list, sizeof(list));
        *n = 0;
    }
    return list ? list + (*n)++ * size_of(f->type) : NULL;
}

static bool put_text(struct arena *a, const ProtobufCFieldDescriptor *f, struct proto_span s,
                     void *to)
{
    ProtobufCBinaryData b = {s.len, arena_try_raw(a, s.len + 1)};

    if (!b.data)
        return false;
    if (s.len)
        memcpy(b.data, s.p, s.len);
    b.data[s.len] = '\0';
    if (f->type == PROTOBUF_C_TYPE_BYTES)
        memcpy(to, &b, sizeof(b));
    else
        memcpy(to, &b.data, sizeof(b.data));
    return true;
}

static void put_number(ProtobufCType type, uint64_t v, void *to)
{
    uint32_t narrow;

    if (type == PROTOBUF_C_TYPE_BOOL)
        v = v != 0;
    if (type == PROTOBUF_C_TYPE_SINT32)
        v = (uint32_t)v; /* so protobuf has it */
    if (type == PROTOBUF_C_TYPE_SINT32 || type == PROTOBUF_C_TYPE_SINT64)
        v = v >> 1 ^ (v & 1 ? UINT64_MAX : 0);
    narrow = (uint32_t)v;
    if (is_wide(type))
        memcpy(to, &v, sizeof(v));
    else
        memcpy(to, &narrow, sizeof(narrow)); /* an enum and a bool are an int */
}

static bool put_value(struct arena *a, const ProtobufCFieldDescriptor *f,
                      const struct proto_field *in, void *to)
{
    void *child;

    if (in->wire != (is_number(f->type) ? WIRE_VARINT : WIRE_BYTES))
        return false;
    if (is_number(f->type)) {
        put_number(f->type, in->varint, to);
        return true;
    }
    if (is_text(f->type))
        return put_text(a, f, in->value, to);
    child = unpack_message(a, f->descriptor, in->value);
    memcpy(to, &child, sizeof(child));
    return child;
}

static bool put_packed(struct arena *a, const ProtobufCFieldDescriptor *f, struct proto_span s,
                       char *m)
{
    while (s.len) {
        uint64_t v;
        int n = proto_varint(s.p, s.len, &v);
        char *to = n > 0 ? place_in(a, m, f) : NULL;

        if (!to)
            return false;
        put_number(f->type, v, to);
        s = (struct proto_span){s.p + n, s.len - (size_t)n};
    }
    return true;
}

static bool put(struct arena *a, const ProtobufCFieldDescriptor *f, const struct proto_field *in,
                char *m)
{
    const protobuf_c_boolean has = 1;
    char *to = m + f->offset;

    if (is_packed(f, in))
        return put_packed(a, f, in->value, m);
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        to = place_in(a, m, f);
    else if (is_number(f->type) || f->type == PROTOBUF_C_TYPE_BYTES)
        memcpy(m + f->quantifier_offset, &has, sizeof(has));
    return to && put_value(a, f, in, to);
}

void *unpack_message(struct arena *a, const ProtobufCMessageDescriptor *what,
                     struct proto_span bytes)
{
    struct proto_walk w = proto_walk(bytes);
    struct proto_field in;
    unsigned at = 0;
    char *m = arena_try_raw(a, what->sizeof_message);

    if (!m)
        return NULL;
    what->message_init((ProtobufCMessage *)(void *)m);
    if (!count_values(what, bytes, m))
        return NULL;
    while (proto_walk_next(&w, &in)) {
        const ProtobufCFieldDescriptor *f = field_of(what, in.number, &at);

        if (f && !put(a, f, &in, m))
            return NULL;
    }
    return w.is_bad ? NULL : m;
}
