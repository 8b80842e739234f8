/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_wire.c - the wire side: every bound, hostile bytes, what a request becomes.
 *
 * Bytes are made here by hand, field by field from the tables, so that protobuf-c is not both
 * judge and party. Golden requests: tests/golden/wire.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job_fsm.h"
#include "queue.pb-c.h"
#include "rpc/rpc_check.h"
#include "rpc/rpc_spec.h"
#include "rpc/rpc_wire.h"
#include "util/mem.h"
#include "util/str.h"

static void add_varint(struct str *b, uint64_t v)
{
    while (v >= 0x80) {
        uint8_t byte = (uint8_t)(v | 0x80);

        str_add_bytes(b, &byte, 1);
        v >>= 7;
    }
    str_add_bytes(b, &v, 1); /* little endian: the low byte */
}

static void add_number(struct str *b, uint32_t tag, uint64_t v)
{
    add_varint(b, tag << 3);
    add_varint(b, v);
}

static void add_bytes(struct str *b, uint32_t tag, const void *p, size_t len)
{
    add_varint(b, tag << 3 | 2);
    add_varint(b, len);
    str_add_bytes(b, p, len);
}

/* n characters that are fine in every kind of text. */
static void add_filler(struct str *b, uint32_t tag, size_t n)
{
    char *p = xmalloc(n + 1);

    memset(p, 'a', n);
    add_bytes(b, tag, p, n);
    free(p);
}

static int check(const ProtobufCMessageDescriptor *m, struct str *b)
{
    struct err err = {0};
    int rc = rpc_check(m, (const uint8_t *)str_text(b), b->len, true, &err);

    assert_true(rc == 0 || (err.code == ERR_INVALID && *err.text));
    str_clear(b);
    return rc;
}

/* What a message needs beside the field under test. */
static void add_needed(struct str *b, const struct rpc_rules *t, unsigned but)
{
    for (unsigned i = 0; i < t->message->n_fields; i++)
        if (t->rules[i].kind == RULE_ENUM && i != but)
            add_number(b, t->message->fields[i].id, 1);
}

static void check_number_rule(const struct rpc_rules *t, unsigned i)
{
    const struct rpc_rule *rule = &t->rules[i];
    uint32_t tag = t->message->fields[i].id;
    struct str b = {0};

    for (uint64_t v = rule->min; v <= rule->max && v - rule->min < 3; v++) {
        add_needed(&b, t, i);
        add_number(&b, tag, v);
        assert_int_equal(check(t->message, &b), 0);
    }
    add_needed(&b, t, i);
    add_number(&b, tag, rule->max);
    assert_int_equal(check(t->message, &b), 0);
    if (rule->max < UINT64_MAX) {
        add_needed(&b, t, i);
        add_number(&b, tag, rule->max + 1);
        assert_int_equal(check(t->message, &b), -1);
    }
    if (rule->min > 0) {
        add_needed(&b, t, i);
        add_number(&b, tag, rule->min - 1);
        assert_int_equal(check(t->message, &b), -1);
    }
    add_needed(&b, t, i);
    add_bytes(&b, tag, "a", 1); /* another wire type */
    assert_int_equal(check(t->message, &b), -1);
    str_fini(&b);
}

static void check_length(const struct rpc_rules *t, unsigned i, size_t len, int expected)
{
    struct str b = {0};

    add_needed(&b, t, i);
    add_filler(&b, t->message->fields[i].id, len);
    if (check(t->message, &b) != expected)
        fail_msg("%s.%s: %zu bytes", t->message->short_name, t->rules[i].field, len);
    str_fini(&b);
}

static void check_bytes_rule(const struct rpc_rules *t, unsigned i)
{
    const struct rpc_rule *rule = &t->rules[i];
    size_t longest = (size_t)rule->max;
    struct str b = {0};

    if (rule->min > 0)
        check_length(t, i, (size_t)rule->min - 1, -1);
    check_length(t, i, (size_t)rule->min, 0);
    if (rule->kind == RULE_PATH || rule->kind == RULE_DOMAIN) /* a part is at most 63 */
        longest = 63;
    check_length(t, i, longest, 0);
    check_length(t, i, (size_t)rule->max + 1, -1);
    add_needed(&b, t, i);
    add_number(&b, t->message->fields[i].id, 1); /* another wire type */
    assert_int_equal(check(t->message, &b), -1);
    str_fini(&b);
}

static void check_count(const struct rpc_rules *t, unsigned i)
{
    const struct rpc_rule *rule = &t->rules[i];
    uint32_t tag = t->message->fields[i].id;
    struct str b = {0};

    for (uint32_t extra = 0; extra < 2; extra++) {
        add_needed(&b, t, i);
        for (uint32_t n = 0; n < rule->count + extra; n++) {
            if (rule->kind == RULE_NUMBER || rule->kind == RULE_ENUM)
                add_number(&b, tag, rule->min);
            else if (rule->kind != RULE_MESSAGE)
                add_filler(&b, tag, (size_t)rule->min);
            else if (strcmp(rule->field, "volumes") == 0)
                add_bytes(&b, tag, "\x10\x01", 2); /* its kind */
            else
                add_bytes(&b, tag, "", 0);
        }
        if (check(t->message, &b) != (extra ? -1 : 0))
            fail_msg("%s.%s: count %u", t->message->short_name, rule->field,
                     (unsigned)(rule->count + extra));
    }
    str_fini(&b);
}

static void every_bound_of_every_field_holds(void **state)
{
    unsigned n;
    const struct rpc_rules *tables = rpc_rules(&n);

    (void)state;
    for (unsigned t = 0; t < n; t++)
        for (unsigned i = 0; i < tables[t].message->n_fields; i++) {
            const struct rpc_rule *rule = &tables[t].rules[i];

            if (rule->kind == RULE_NUMBER)
                check_number_rule(&tables[t], i);
            else if (rule->kind != RULE_ENUM && rule->kind != RULE_MESSAGE)
                check_bytes_rule(&tables[t], i);
            check_count(&tables[t], i);
        }
}

static bool kind_fits(enum rpc_rule_kind kind, ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return kind == RULE_MESSAGE;
    case PROTOBUF_C_TYPE_ENUM:
        return kind == RULE_ENUM;
    case PROTOBUF_C_TYPE_BYTES:
        return kind == RULE_BYTES;
    case PROTOBUF_C_TYPE_STRING:
        return kind >= RULE_TEXT && kind <= RULE_DOMAIN;
    default:
        return kind == RULE_NUMBER;
    }
}

static void rows_stand_beside_the_fields_of_the_schema(void **state)
{
    unsigned n;
    const struct rpc_rules *tables = rpc_rules(&n);

    (void)state;
    for (unsigned t = 0; t < n; t++)
        for (unsigned i = 0; i < tables[t].message->n_fields; i++) {
            const ProtobufCFieldDescriptor *f = &tables[t].message->fields[i];
            const struct rpc_rule *rule = &tables[t].rules[i];

            assert_string_equal(rule->field, f->name);
            assert_true(kind_fits(rule->kind, f->type));
            assert_true(rule->count == 1 || f->label == PROTOBUF_C_LABEL_REPEATED);
            assert_true(rule->count >= 1);
            if (f->type == PROTOBUF_C_TYPE_UINT32)
                assert_true(rule->max <= UINT32_MAX); /* protobuf-c cuts what is above */
            if (f->type == PROTOBUF_C_TYPE_BOOL)
                assert_true(rule->max == 1);
            if (rule->kind >= RULE_LABEL && rule->kind <= RULE_DOMAIN)
                assert_true(rule->max <= NODE_NAME_MAX);
        }
}

/* Longest chain of messages below m; more than limit means a cycle. */
static unsigned depth_of(const ProtobufCMessageDescriptor *m, unsigned limit)
{
    unsigned deepest = 0;

    if (limit == 0)
        return 1;
    for (unsigned i = 0; i < m->n_fields; i++)
        if (m->fields[i].type == PROTOBUF_C_TYPE_MESSAGE) {
            unsigned d = depth_of(m->fields[i].descriptor, limit - 1);

            deepest = d > deepest ? d : deepest;
        }
    return deepest + 1;
}

static void no_message_contains_itself(void **state)
{
    static const ProtobufCMessageDescriptor *const all[] = {
        &queued__v1__hello_request__descriptor,    &queued__v1__submit_request__descriptor,
        &queued__v1__cancel_request__descriptor,   &queued__v1__get_request__descriptor,
        &queued__v1__list_request__descriptor,     &queued__v1__why_request__descriptor,
        &queued__v1__watch_request__descriptor,    &queued__v1__nodes_request__descriptor,
        &queued__v1__topology_request__descriptor, &queued__v1__tenants_request__descriptor,
        &queued__v1__hello_reply__descriptor,      &queued__v1__submit_reply__descriptor,
        &queued__v1__cancel_reply__descriptor,     &queued__v1__get_reply__descriptor,
        &queued__v1__list_reply__descriptor,       &queued__v1__why_reply__descriptor,
        &queued__v1__watch_reply__descriptor,      &queued__v1__nodes_reply__descriptor,
        &queued__v1__topology_reply__descriptor,   &queued__v1__tenants_reply__descriptor,
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        assert_in_range(depth_of(all[i], RPC_DEPTH_MAX), 1, RPC_DEPTH_MAX - 1);
}

static void text_with_control_characters_or_bad_utf8_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        bool in_line, in_text;
    } rows[] = {
        {"a\0b", 3, false, false},
        {"\0", 1, false, false},
        {"a\x1b[31m", 6, false, false},
        {"\x7f", 1, false, false},
        {"a\nb", 3, false, true},
        {"a\tb", 3, false, true},
        {"\xc3\xa9", 2, true, true},
        {"\xc3", 1, false, false},
        {"\xc0\x80", 2, false, false},
        {"\xed\xa0\x80", 3, false, false},
        {"\xf5\x80\x80\x80", 4, false, false},
        {"\xff", 1, false, false},
    };
    struct str b = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        add_bytes(&b, 1, rows[i].bytes, rows[i].len); /* key: a line */
        assert_int_equal(check(&queued__v1__pair__descriptor, &b), rows[i].in_line ? 0 : -1);
        add_bytes(&b, 2, rows[i].bytes, rows[i].len); /* value: a text */
        assert_int_equal(check(&queued__v1__pair__descriptor, &b), rows[i].in_text ? 0 : -1);
    }
    str_fini(&b);
}

static void names_that_reach_kubernetes_are_dns_names(void **state)
{
    static const char *const good[] = {"a", "a-b", "x0", "resnet-ddp"};
    static const char *const bad[] = {"A", "a_b", "-a", "a-", "a.b", "a/b", "a b", "\xc3\xa9"};
    struct str b = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        add_bytes(&b, 1, good[i], strlen(good[i]));
        assert_int_equal(check(&queued__v1__job_spec__descriptor, &b), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        add_bytes(&b, 1, bad[i], strlen(bad[i]));
        assert_int_equal(check(&queued__v1__job_spec__descriptor, &b), -1);
    }
    add_bytes(&b, 2, "foundation/pretrain", 19);
    assert_int_equal(check(&queued__v1__job_spec__descriptor, &b), 0);
    add_bytes(&b, 2, "foundation//pretrain", 20);
    assert_int_equal(check(&queued__v1__job_spec__descriptor, &b), -1);
    add_bytes(&b, 2, "/foundation", 11);
    assert_int_equal(check(&queued__v1__job_spec__descriptor, &b), -1);
    str_fini(&b);
}

static void an_error_names_the_path_of_the_field(void **state)
{
    struct str pair = {0}, role = {0}, spec = {0}, request = {0};
    struct err err;

    (void)state;
    add_bytes(&pair, 1, "a\001", 2);
    add_bytes(&role, 13,
              "\x0a\x01"
              "A",
              3);
    add_bytes(&role, 13, str_text(&pair), pair.len);
    add_bytes(&spec, 13, str_text(&role), role.len);
    add_bytes(&request, 2, str_text(&spec), spec.len);
    assert_int_equal(rpc_check(&queued__v1__submit_request__descriptor,
                               (const uint8_t *)str_text(&request), request.len, true, &err),
                     -1);
    assert_memory_equal(err.text, "spec.roles[0].env[1].key: ", 26);
    str_fini(&pair);
    str_fini(&role);
    str_fini(&spec);
    str_fini(&request);
}

/* ---- whole requests */

static const uint8_t id[REQUEST_ID_BYTES] = "0123456789abcdef";

static void add_frame(struct str *b, uint16_t method)
{
    uint8_t frame[RPC_FRAME_BYTES];

    rpc_frame_write(frame, method, 0);
    str_add_bytes(b, frame, sizeof(frame));
}

static void add_header(struct str *b)
{
    struct str h = {0};

    add_bytes(&h, 1, id, sizeof(id));
    add_number(&h, 2, 2000);
    add_bytes(b, 1, str_text(&h), h.len);
    str_fini(&h);
}

static int decode(const struct str *b, struct rpc_request *ret, struct err *err)
{
    struct arena scratch = {0};
    int rc = rpc_wire_decode(&scratch, str_text(b), b->len, ret, err);

    assert_true(scratch.used <= RPC_UNPACK_BYTES_MAX);
    arena_fini(&scratch);
    return rc;
}

static void frames_that_are_not_ours_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {"", 0},
        {"QD", 2},
        {"QD\1\0\0\1\0", 7},
        {"XD\1\0\0\1\0\0", 8},
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"QD\2\0\0\1\0\0", 8}, /* another major */
        {"QD\1\0\0\0\0\0", 8}, /* method 0 */
        {"QD\1\0\0\x0b\0\0", 8},
        {"QD\1\0\xff\xff\0\0", 8},
        {"QD\1\0\0\1\0\1", 8}, /* a reply */
        {"QD\1\0\0\1\0\0", 8}, /* no header */
        {"QD\1\0\0\1\0\0\x0a", 9},
        {"QD\1\0\0\1\0\0\x0a\xff\xff\xff\xff\x7f", 14},
        {"QD\1\0\0\1\0\0\x0b\x0c", 10}, /* groups */
        {"QD\1\0\0\1\0\0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 19},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str b = {0};
        struct rpc_request r;
        struct err err = {0};

        str_add_bytes(&b, rows[i].bytes, rows[i].len);
        assert_int_equal(decode(&b, &r, &err), -1);
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(*err.text);
        assert_int_equal(r.method, RPC_NONE);
        rpc_request_fini(&r);
        str_fini(&b);
    }
}

static void a_message_above_the_limit_is_refused(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    add_frame(&b, RPC_LIST);
    add_header(&b);
    add_filler(&b, 99, RPC_MESSAGE_MAX - b.len - 6); /* unknown field of a read: skipped */
    assert_int_equal(decode(&b, &r, &err), 0);
    rpc_request_fini(&r);
    add_filler(&b, 99, 10);
    assert_int_equal(decode(&b, &r, &err), -1);
    rpc_request_fini(&r);
    str_fini(&b);
}

static void a_refused_message_still_says_whom_to_answer(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    add_frame(&b, RPC_SUBMIT);
    add_header(&b);
    add_number(&b, 3, 7); /* dry_run: 7 */
    assert_int_equal(decode(&b, &r, &err), -1);
    assert_int_equal(r.method_number, RPC_SUBMIT);
    assert_memory_equal(r.request_id, id, sizeof(id));
    rpc_request_fini(&r);
    str_fini(&b);
}

static void unknown_fields_are_refused_in_changes_and_skipped_in_reads(void **state)
{
    static const struct {
        uint16_t method;
        int expected;
    } rows[] = {{RPC_CANCEL, -1}, {RPC_GET, 0}, {RPC_WHY, 0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str b = {0};
        struct rpc_request r;
        struct err err;

        add_frame(&b, rows[i].method);
        add_header(&b);
        add_bytes(&b, 2, "job", 3);
        add_number(&b, 77, 1);
        assert_int_equal(decode(&b, &r, &err), rows[i].expected);
        rpc_request_fini(&r);
        str_fini(&b);
    }
}

static void a_request_id_has_sixteen_bytes(void **state)
{
    (void)state;
    for (size_t len = 0; len < 20; len++) {
        struct str b = {0}, h = {0};
        struct rpc_request r;
        struct err err;

        add_filler(&h, 1, len);
        add_frame(&b, RPC_HELLO);
        add_bytes(&b, 1, str_text(&h), h.len);
        assert_int_equal(decode(&b, &r, &err), len == 16 ? 0 : -1);
        rpc_request_fini(&r);
        str_fini(&b);
        str_fini(&h);
    }
}

static void states_are_words_and_active_is_every_one_that_lives(void **state)
{
    struct str b = {0}, f = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    add_bytes(&f, 4, "active", 6);
    add_frame(&b, RPC_LIST);
    add_header(&b);
    add_bytes(&b, 2, str_text(&f), f.len);
    assert_int_equal(decode(&b, &r, &err), 0);
    for (int s = JOB_HELD; s <= JOB_REJECTED; s++)
        assert_int_equal(!!(r.filter.states & 1u << s), !job_state_is_terminal((enum job_state)s));
    rpc_request_fini(&r);
    str_clear(&b);
    str_clear(&f);
    add_bytes(&f, 4, "Rnuning", 7);
    add_frame(&b, RPC_LIST);
    add_header(&b);
    add_bytes(&b, 2, str_text(&f), f.len);
    assert_int_equal(decode(&b, &r, &err), -1);
    rpc_request_fini(&r);
    str_fini(&b);
    str_fini(&f);
}

/* 64 KiB of empty messages make protobuf-c take 3.7 MB: counts are checked before. */
static void amplification_is_refused_before_anything_is_unpacked(void **state)
{
    struct str b = {0}, role = {0}, spec = {0};
    struct arena scratch = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    while (role.len < 40000)
        add_bytes(&role, 13, "", 0);
    add_bytes(&spec, 13, str_text(&role), role.len);
    add_frame(&b, RPC_SUBMIT);
    add_header(&b);
    add_bytes(&b, 2, str_text(&spec), spec.len);
    assert_int_equal(rpc_wire_decode(&scratch, str_text(&b), b.len, &r, &err), -1);
    assert_int_equal(scratch.used, 0);
    rpc_request_fini(&r);
    arena_fini(&scratch);
    str_fini(&b);
    str_fini(&role);
    str_fini(&spec);
}

/* As many elements as the tables allow. */
static void add_full_role(struct str *spec)
{
    struct str role = {0};

    for (int i = 0; i < ROLE_ENV_MAX; i++)
        add_bytes(&role, 13, "\x0a\x01k", 3);
    for (int i = 0; i < ROLE_ARGS_MAX; i++) {
        add_bytes(&role, 10, "", 0);
        add_bytes(&role, 11, "", 0);
    }
    for (int i = 0; i < ROLE_VOLUMES_MAX; i++)
        add_bytes(&role, 14, "\x10\x01", 2);
    for (int i = 0; i < ROLE_SELECTOR_MAX; i++)
        add_bytes(&role, 15, "\x0a\x01k", 3);
    for (int i = 0; i < ROLE_TOLERATIONS_MAX; i++)
        add_bytes(&role, 16, "", 0);
    for (int i = 0; i < ROLE_EXTENDED_MAX; i++)
        add_bytes(&role, 8, "", 0);
    add_bytes(spec, 13, str_text(&role), role.len);
    str_fini(&role);
}

static void the_fullest_spec_unpacks_within_the_cap(void **state)
{
    struct str b = {0}, spec = {0};
    struct arena scratch = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    for (int i = 0; i < JOB_ROLES_MAX; i++)
        add_full_role(&spec);
    assert_true(spec.len <= SPEC_BYTES_MAX);
    add_frame(&b, RPC_SUBMIT);
    add_header(&b);
    add_bytes(&b, 2, str_text(&spec), spec.len);
    assert_int_equal(rpc_wire_decode(&scratch, str_text(&b), b.len, &r, &err), 0);
    assert_in_range(scratch.used, 1, RPC_UNPACK_BYTES_MAX);
    assert_int_equal(r.u.submit.spec->n_roles, JOB_ROLES_MAX);
    rpc_request_fini(&r);
    arena_fini(&scratch);
    str_fini(&b);
    str_fini(&spec);
}

/* ---- golden requests */

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden/wire"
#endif

static void read_golden(struct str *b, const char *name)
{
    char *path = xasprintf("%s/%s", GOLDEN_DIR, name);
    char buf[65536];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f)
        fail_msg("%s: run the tests from the top of the tree", path);
    n = fread(buf, 1, sizeof(buf), f);
    (void)fclose(f); /* was only read */
    str_add_bytes(b, buf, n);
    free(path);
}

static const struct {
    const char *file;
    enum rpc_method method;
} golden[] = {
    {"v1-hello.bin", RPC_HELLO},       {"v1-submit.bin", RPC_SUBMIT},
    {"v1-cancel.bin", RPC_CANCEL},     {"v1-get.bin", RPC_GET},
    {"v1-list.bin", RPC_LIST},         {"v1-why.bin", RPC_WHY},
    {"v1-watch.bin", RPC_WATCH},       {"v1-nodes.bin", RPC_NODES},
    {"v1-topology.bin", RPC_TOPOLOGY}, {"v1-tenants.bin", RPC_TENANTS},
};

static void golden_requests_decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
        struct str b = {0};
        struct rpc_request r;
        struct err err = {0};

        read_golden(&b, golden[i].file);
        if (decode(&b, &r, &err))
            fail_msg("%s: %s", golden[i].file, err.text);
        assert_int_equal(r.method, golden[i].method);
        assert_memory_equal(r.request_id, id, sizeof(id));
        assert_int_equal(r.deadline_ms, 5000);
        rpc_request_fini(&r);
        str_fini(&b);
    }
}

static void a_golden_submission_keeps_every_field(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;
    const struct spec *s;
    const struct spec_role *w;

    (void)state;
    read_golden(&b, "v1-submit.bin");
    assert_int_equal(decode(&b, &r, &err), 0);
    s = r.u.submit.spec;
    assert_string_equal(s->name, "resnet");
    assert_string_equal(s->tenant, "foundation/pretrain");
    assert_string_equal(s->ns, "foundation");
    assert_string_equal(s->labels.v[0].key, "team");
    assert_string_equal(s->labels.v[0].value, "vision");
    assert_string_equal(s->submit_key, "run-17");
    assert_string_equal(s->priority_class, "normal");
    assert_true(s->max_runtime_us == 7200 * USEC_PER_SEC);
    assert_string_equal(s->topology_required, "block");
    assert_string_equal(s->topology_preferred, "rack");
    assert_int_equal(s->max_restarts, 2);
    assert_int_equal(s->n_roles, 2);
    w = &s->roles[1];
    assert_string_equal(s->roles[0].name, "leader");
    assert_int_equal(s->roles[0].replicas, 1); /* absent: the default */
    assert_true(s->roles[0].cpu_milli == -1 && s->roles[0].memory_bytes == -1);
    assert_string_equal(w->name, "worker");
    assert_int_equal(w->replicas, 4);
    assert_int_equal(w->gpus, 8);
    assert_string_equal(w->gpu_models.v[0], "H100");
    assert_true(w->cpu_milli == 96000 && w->memory_bytes == INT64_C(1) << 40);
    assert_string_equal(w->extended[0].name, "rdma/hca");
    assert_true(w->extended[0].amount == 8);
    assert_string_equal(w->command.v[2], "set -e\npython train.py");
    assert_string_equal(w->env.v[0].value, "caf\xc3\xa9");
    assert_int_equal(w->volumes[0].kind, SPEC_VOLUME_NFS);
    assert_string_equal(w->volumes[0].path, "/export/data");
    assert_true(w->volumes[0].read_only && w->volumes[0].size_bytes == -1);
    assert_string_equal(w->node_selector.v[0].key, "gang.queued/block");
    assert_true(w->tolerations[0].exists && !w->tolerations[1].exists);
    assert_string_equal(w->tolerations[1].value, "gpu");
    rpc_request_fini(&r);
    str_fini(&b);
}

static void a_spec_survives_the_way_back_to_its_message(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;
    struct arena a = {0};
    Queued__V1__JobSpec *first, *second;
    struct spec *again;
    size_t size;
    uint8_t *x, *y;

    (void)state;
    read_golden(&b, "v1-submit.bin");
    assert_int_equal(decode(&b, &r, &err), 0);
    first = rpc_spec_to(&a, r.u.submit.spec);
    again = rpc_spec_from(first);
    second = rpc_spec_to(&a, again);
    size = queued__v1__job_spec__get_packed_size(first);
    assert_int_equal(queued__v1__job_spec__get_packed_size(second), size);
    x = xmalloc(size);
    y = xmalloc(size);
    (void)queued__v1__job_spec__pack(first, x);
    (void)queued__v1__job_spec__pack(second, y);
    assert_memory_equal(x, y, size);
    assert_int_equal(rpc_check(&queued__v1__job_spec__descriptor, x, size, true, &err), 0);
    free(x);
    free(y);
    spec_destroy(again);
    arena_fini(&a);
    rpc_request_fini(&r);
    str_fini(&b);
}

static void truncated_and_damaged_requests_never_do_harm(void **state)
{
    unsigned rng = 1;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
        struct str b = {0};

        read_golden(&b, golden[i].file);
        for (size_t len = 0; len < b.len + 200; len++) {
            uint8_t *p = xmemdup(str_text(&b), b.len);
            size_t n = len < b.len ? len : b.len;
            struct arena scratch = {0};
            struct rpc_request r;
            struct err err;

            if (len >= b.len) /* the whole, with one byte changed */
                p[8 + (size_t)rand_r(&rng) % (n - 8)] ^= (uint8_t)(1 + rand_r(&rng) % 255);
            p = xrealloc(p, n ? n : 1); /* so that the sanitizer sees a step beyond */
            (void)rpc_wire_decode(&scratch, p, n, &r, &err); /* either way is right */
            rpc_request_fini(&r);
            arena_fini(&scratch);
            free(p);
        }
        str_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stand_beside_the_fields_of_the_schema),
        cmocka_unit_test(no_message_contains_itself),
        cmocka_unit_test(every_bound_of_every_field_holds),
        cmocka_unit_test(text_with_control_characters_or_bad_utf8_is_refused),
        cmocka_unit_test(names_that_reach_kubernetes_are_dns_names),
        cmocka_unit_test(an_error_names_the_path_of_the_field),
        cmocka_unit_test(frames_that_are_not_ours_are_refused),
        cmocka_unit_test(a_message_above_the_limit_is_refused),
        cmocka_unit_test(a_refused_message_still_says_whom_to_answer),
        cmocka_unit_test(unknown_fields_are_refused_in_changes_and_skipped_in_reads),
        cmocka_unit_test(a_request_id_has_sixteen_bytes),
        cmocka_unit_test(states_are_words_and_active_is_every_one_that_lives),
        cmocka_unit_test(amplification_is_refused_before_anything_is_unpacked),
        cmocka_unit_test(the_fullest_spec_unpacks_within_the_cap),
        cmocka_unit_test(golden_requests_decode),
        cmocka_unit_test(a_golden_submission_keeps_every_field),
        cmocka_unit_test(a_spec_survives_the_way_back_to_its_message),
        cmocka_unit_test(truncated_and_damaged_requests_never_do_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
