/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_check.c - every bound of every field, at, below and above its limits.
 *
 * Bytes are made by hand, field by field from the tables, so that protobuf-c is not both judge
 * and party.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../fake/wire_bytes.h"
#include "spec/limits.h"
#include "queue.pb-c.h"
#include "rpc/rpc_check.h"
#include "util/mem.h"

static struct rpc_bytes bytes_of(const struct str *b)
{
    return (struct rpc_bytes){(const uint8_t *)str_text(b), b->len};
}

/* The library unpacks the same bytes to the same message. */
static void assert_is_as_by_protobuf(const ProtobufCMessage *taken, const struct str *b)
{
    ProtobufCMessage *m =
        protobuf_c_message_unpack(taken->descriptor, NULL, b->len, (const uint8_t *)str_text(b));
    size_t len = protobuf_c_message_get_packed_size(taken);
    uint8_t *x = xmalloc(len + 1), *y = xmalloc(len + 1);

    assert_non_null(m);
    assert_true(protobuf_c_message_check(taken));
    assert_int_equal(protobuf_c_message_get_packed_size(m), len);
    (void)protobuf_c_message_pack(taken, x);
    (void)protobuf_c_message_pack(m, y);
    assert_memory_equal(x, y, len);
    protobuf_c_message_free_unpacked(m, NULL);
    free(x);
    free(y);
}

static int check(const ProtobufCMessageDescriptor *m, struct str *b)
{
    struct arena a = {0};
    struct err err = {0};
    ProtobufCMessage *taken = rpc_check(&a, m, bytes_of(b), true, &err);
    int rc = taken ? 0 : -1;

    if (taken)
        assert_is_as_by_protobuf(taken, b);
    arena_fini(&a);
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
            else if (strcmp(rule->field, "env_refs") == 0)
                add_bytes(&b, tag, "\x18\x01", 2);
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
        &queued__v1__hello_request__descriptor,   &queued__v1__submit_request__descriptor,
        &queued__v1__get_request__descriptor,     &queued__v1__list_request__descriptor,
        &queued__v1__why_request__descriptor,     &queued__v1__watch_request__descriptor,
        &queued__v1__nodes_request__descriptor,   &queued__v1__topology_request__descriptor,
        &queued__v1__tenants_request__descriptor, &queued__v1__change_request__descriptor,
        &queued__v1__change_reply__descriptor,    &queued__v1__hello_reply__descriptor,
        &queued__v1__submit_reply__descriptor,    &queued__v1__get_reply__descriptor,
        &queued__v1__list_reply__descriptor,      &queued__v1__why_reply__descriptor,
        &queued__v1__watch_reply__descriptor,     &queued__v1__nodes_reply__descriptor,
        &queued__v1__topology_reply__descriptor,  &queued__v1__tenants_reply__descriptor,
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
        {"\xc2\xa0", 2, true, true},
        {"a\xc2\x9b"
         "2J",
         5, false, true},
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
    struct arena a = {0};
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
    assert_null(
        rpc_check(&a, &queued__v1__submit_request__descriptor, bytes_of(&request), true, &err));
    arena_fini(&a);
    assert_memory_equal(err.text, "spec.roles[0].env[1].key: ", 26);
    str_fini(&pair);
    str_fini(&role);
    str_fini(&spec);
    str_fini(&request);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
