/* SPDX-License-Identifier: Apache-2.0 */
/* prop_pack.c - random messages of all kinds that are stored or sent: the same bytes as those of
 * protobuf-c, which shares no code with the packer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "queue.pb-c.h"
#include "record.pb-c.h"
#include "util/arena.h"
#include "util/mem.h"
#include "util/pack.h"

#include "../sim/rng.h"

enum { SEEDS = 500, HEAD = 8 };

/* Those that hold all the others. */
static const ProtobufCMessageDescriptor *const kinds[] = {
    &queued__record__meta_record__descriptor,   &queued__record__job_record__descriptor,
    &queued__record__spec_record__descriptor,   &queued__record__drain_record__descriptor,
    &queued__record__window_record__descriptor, &queued__record__key_record__descriptor,
    &queued__record__tenant_record__descriptor, &queued__record__answer_record__descriptor,
    &queued__record__note_record__descriptor,   &queued__record__attempt_record__descriptor,
    &queued__v1__submit_request__descriptor,    &queued__v1__submit_reply__descriptor,
    &queued__v1__change_reply__descriptor,      &queued__v1__list_reply__descriptor,
    &queued__v1__why_reply__descriptor,         &queued__v1__watch_reply__descriptor,
    &queued__v1__nodes_reply__descriptor,       &queued__v1__topology_reply__descriptor,
    &queued__v1__tenants_reply__descriptor,     &queued__v1__hello_reply__descriptor,
};

/* As long as one bit and as all of them. */
static uint64_t some_number(struct rng *g)
{
    uint64_t v = (uint64_t)rng_below(g, UINT32_MAX) << 32 | rng_below(g, UINT32_MAX);

    return rng_one_in(g, 4) ? UINT64_MAX : v >> rng_below(g, 64);
}

static size_t some_length(struct rng *g)
{
    return rng_one_in(g, 50) ? rng_below(g, 40000) : rng_below(g, 140);
}

static ProtobufCMessage *some_message(struct rng *g, struct arena *a,
                                      const ProtobufCMessageDescriptor *kind);

static void fill_value(struct rng *g, struct arena *a, const ProtobufCFieldDescriptor *f, void *at)
{
    uint64_t v = some_number(g);
    size_t len = some_length(g);
    ProtobufCBinaryData data = {len, arena_alloc(a, len + 1)};
    ProtobufCMessage *m;

    switch (f->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        m = some_message(g, a, f->descriptor);
        memcpy(at, &m, sizeof(m));
        return;
    case PROTOBUF_C_TYPE_STRING:
        memset(data.data, 'x', len);
        memcpy(at, &data.data, sizeof(data.data));
        return;
    case PROTOBUF_C_TYPE_BYTES:
        memcpy(at, &data, sizeof(data));
        return;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = (protobuf_c_boolean)(v & 1);
        return;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT64:
        memcpy(at, &v, sizeof(v));
        return;
    default:
        *(uint32_t *)at = (uint32_t)v;
        return;
    }
}

static size_t size_of(ProtobufCType type)
{
    if (type == PROTOBUF_C_TYPE_BYTES)
        return sizeof(ProtobufCBinaryData);
    return type == PROTOBUF_C_TYPE_INT64 || type == PROTOBUF_C_TYPE_SINT64 ||
                   type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_STRING ||
                   type == PROTOBUF_C_TYPE_MESSAGE
               ? 8
               : 4;
}

static void fill_list(struct rng *g, struct arena *a, const ProtobufCFieldDescriptor *f, char *m)
{
    size_t n = rng_one_in(g, 20) ? 200 : rng_below(g, 4), size = size_of(f->type);
    char *list = arena_alloc(a, n * size + 1);

    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        n = n % 4;
    for (size_t i = 0; i < n; i++)
        fill_value(g, a, f, list + i * size);
    memcpy(m + f->offset, &list, sizeof(list));
    memcpy(m + f->quantifier_offset, &n, sizeof(n));
}

static ProtobufCMessage *some_message(struct rng *g, struct arena *a,
                                      const ProtobufCMessageDescriptor *kind)
{
    char *m = arena_alloc(a, kind->sizeof_message);
    const protobuf_c_boolean has = 1;

    kind->message_init((ProtobufCMessage *)(void *)m);
    for (unsigned i = 0; i < kind->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &kind->fields[i];

        if (rng_one_in(g, 2))
            continue;
        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
            fill_list(g, a, f, m);
            continue;
        }
        fill_value(g, a, f, m + f->offset);
        if (f->type != PROTOBUF_C_TYPE_STRING && f->type != PROTOBUF_C_TYPE_MESSAGE)
            memcpy(m + f->quantifier_offset, &has, sizeof(has));
    }
    return (ProtobufCMessage *)(void *)m;
}

static void packed_bytes_are_those_of_protobuf(void **state)
{
    struct pack p = {0}; /* one for all: what was written before must not matter */

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rng g = {seed};
        struct arena a = {0};
        ProtobufCMessage *m;
        uint8_t *got, *want;
        size_t len, head;

        head = rng_one_in(&g, 2) ? HEAD : 0;
        m = some_message(&g, &a, kinds[seed % ARRAY_LEN(kinds)]);
        got = pack_message(&p, head, m, &len);
        assert_int_equal(len, head + protobuf_c_message_get_packed_size(m));
        want = xmalloc(len + 1);
        (void)protobuf_c_message_pack(m, want);
        if (memcmp(got + head, want, len - head) != 0)
            fail_msg("seed %u: a %s differs", (unsigned)seed, m->descriptor->name);
        free(want);
        arena_fini(&a);
    }
    pack_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_bytes_are_those_of_protobuf),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
