/* SPDX-License-Identifier: Apache-2.0 */
/* kube_unpack.c - fields into the places that the descriptors of protobuf-c name.
 *
 * Knows the kinds of fields that proto/kube.proto has. It goes down as deep as the schema, which
 * has no recursion, whatever the bytes are. Repeated fields are counted first, so that nothing
 * grows.
 */
#include "kube/kube_unpack.h"

#include <assert.h>
#include <string.h>

/* The fields of a descriptor are in the order of their numbers, and few. */
static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessageDescriptor *what,
                                                uint32_t number)
{
    for (unsigned i = 0; i < what->n_fields && what->fields[i].id <= number; i++)
        if (what->fields[i].id == number)
            return &what->fields[i];
    return NULL;
}

static size_t *count_of(char *m, const ProtobufCFieldDescriptor *f)
{
    return (size_t *)(void *)(m + f->quantifier_offset);
}

/* Room for the pointers of all repeated fields; their counts are 0 afterwards. */
static bool make_lists(struct arena *a, const ProtobufCMessageDescriptor *what,
                       struct proto_span bytes, char *m)
{
    struct proto_walk w = proto_walk(bytes);
    struct proto_field in;
    bool has_lists = false;

    for (unsigned i = 0; i < what->n_fields; i++)
        has_lists |= what->fields[i].label == PROTOBUF_C_LABEL_REPEATED;
    while (has_lists && proto_walk_next(&w, &in)) {
        const ProtobufCFieldDescriptor *f = field_of(what, in.number);

        if (f && f->label == PROTOBUF_C_LABEL_REPEATED)
            ++*count_of(m, f);
    }
    for (unsigned i = 0; has_lists && i < what->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &what->fields[i];
        size_t n = f->label == PROTOBUF_C_LABEL_REPEATED ? *count_of(m, f) : 0;
        void *list = n ? arena_try(a, n * sizeof(void *)) : NULL;

        if (!n)
            continue;
        if (!list)
            return false;
        memcpy(m + f->offset, &list, sizeof(list));
        *count_of(m, f) = 0;
    }
    return !w.is_bad;
}

static bool put_text(struct arena *a, struct proto_span s, void *to)
{
    ProtobufCBinaryData *b = to;

    b->len = s.len;
    b->data = arena_try(a, s.len + 1);
    if (!b->data)
        return false;
    memcpy(b->data, s.p, s.len);
    b->data[s.len] = '\0';
    return true;
}

static void put_number(const ProtobufCFieldDescriptor *f, uint64_t v, void *to)
{
    protobuf_c_boolean is_true = v != 0;
    int32_t narrow = (int32_t)(uint32_t)v; /* so protobuf has it */

    if (f->type == PROTOBUF_C_TYPE_BOOL)
        memcpy(to, &is_true, sizeof(is_true));
    else if (f->type == PROTOBUF_C_TYPE_INT32)
        memcpy(to, &narrow, sizeof(narrow));
    else
        memcpy(to, &v, sizeof(v)); /* int64_t */
}

static void *unpack(struct arena *a, const ProtobufCMessageDescriptor *what,
                    struct proto_span bytes);

static bool put_message(struct arena *a, const ProtobufCFieldDescriptor *f, struct proto_span s,
                        char *m)
{
    void *child = unpack(a, f->descriptor, s), **list;

    if (f->label != PROTOBUF_C_LABEL_REPEATED) {
        memcpy(m + f->offset, &child, sizeof(child));
        return child;
    }
    memcpy(&list, m + f->offset, sizeof(list));
    list[*count_of(m, f)] = child;
    *count_of(m, f) += child != NULL;
    return child;
}

static bool put(struct arena *a, const ProtobufCFieldDescriptor *f, const struct proto_field *in,
                char *m)
{
    bool is_number = f->type != PROTOBUF_C_TYPE_BYTES && f->type != PROTOBUF_C_TYPE_MESSAGE;
    protobuf_c_boolean has = 1;

    if (in->wire != (is_number ? WIRE_VARINT : WIRE_BYTES))
        return false;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        return put_message(a, f, in->value, m);
    assert(f->label == PROTOBUF_C_LABEL_OPTIONAL); /* the schema has no other */
    memcpy(m + f->quantifier_offset, &has, sizeof(has));
    if (f->type == PROTOBUF_C_TYPE_BYTES)
        return put_text(a, in->value, m + f->offset);
    put_number(f, in->varint, m + f->offset);
    return true;
}

static void *unpack(struct arena *a, const ProtobufCMessageDescriptor *what,
                    struct proto_span bytes)
{
    struct proto_walk w = proto_walk(bytes);
    struct proto_field in;
    char *m = arena_try(a, what->sizeof_message);

    if (!m)
        return NULL;
    what->message_init((ProtobufCMessage *)(void *)m);
    if (!make_lists(a, what, bytes, m))
        return NULL;
    while (proto_walk_next(&w, &in)) {
        const ProtobufCFieldDescriptor *f = field_of(what, in.number);

        if (f && !put(a, f, &in, m))
            return NULL;
    }
    return w.is_bad ? NULL : m;
}

void *kube_unpack(struct arena *a, const ProtobufCMessageDescriptor *what, struct proto_span bytes,
                  size_t max)
{
    void *m;

    a->cap = a->used + max;
    m = unpack(a, what, bytes);
    a->cap = 0;
    return m;
}
