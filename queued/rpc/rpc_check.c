/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_check.c - the walk over wire bytes: tag by tag, each against its rule.
 *
 * Knows the wire form of protobuf and nothing of the meaning of messages. Allocates nothing.
 */
#include "rpc/rpc_check.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "spec/limits.h"
#include "util/str.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct span {
    const uint8_t *p, *end;
};

/* A field on the way down from the request: which, and the how many-th of its name. */
struct step {
    const ProtobufCFieldDescriptor *field;
    uint32_t i;
};

struct walk {
    bool is_strict;
    unsigned depth; /* messages */
    unsigned n_steps;
    struct step steps[RPC_DEPTH_MAX];
    struct err *err;
};

static int bad(const struct walk *w, const char *what)
{
    struct str path = {0};
    int rc;

    for (unsigned i = 0; i < w->n_steps; i++) {
        const struct step *at = &w->steps[i];

        str_addf(&path, "%s%s", i ? "." : "", at->field->name);
        if (at->field->label == PROTOBUF_C_LABEL_REPEATED)
            str_addf(&path, "[%" PRIu32 "]", at->i);
    }
    rc = err_set(w->err, ERR_INVALID, "%s%s%s", str_text(&path), path.len ? ": " : "", what);
    str_fini(&path);
    return rc;
}

static bool read_varint(struct span *s, uint64_t *ret)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && s->p < s->end; shift += 7) {
        uint8_t byte = *s->p++;

        if (shift == 63 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = v;
            return true;
        }
    }
    return false;
}

/* The value of a field: a number, or a run of bytes. */
static bool read_value(struct span *s, unsigned wire, uint64_t *number, struct span *bytes)
{
    uint64_t len = wire == WIRE_64 ? 8 : 4;

    if (wire == WIRE_VARINT)
        return read_varint(s, number);
    if (wire == WIRE_BYTES && !read_varint(s, &len))
        return false;
    if (wire != WIRE_BYTES && wire != WIRE_64 && wire != WIRE_32)
        return false; /* groups: nobody sends them, and protobuf-c refuses them too */
    if (len > (uint64_t)(s->end - s->p))
        return false;
    *bytes = (struct span){s->p, s->p + len};
    s->p += len;
    return true;
}

static bool is_label_path(const char *s)
{
    char label[LABEL_MAX + 1];

    for (;;) {
        size_t len = strcspn(s, "/");

        if (len > LABEL_MAX)
            return false;
        memcpy(label, s, len);
        label[len] = '\0';
        if (!str_is_dns_label(label, LABEL_MAX, false))
            return false;
        if (s[len] == '\0')
            return true;
        s += len + 1;
    }
}

static bool is_name(enum rpc_rule_kind kind, const char *s, size_t max)
{
    if (kind == RULE_LABEL)
        return str_is_dns_label(s, max, false);
    if (kind == RULE_PATH)
        return is_label_path(s);
    return str_is_dns_subdomain(s);
}

/* Such steer terminals, and lines are shown to others. Of clean UTF-8. */
static bool has_c1(struct span b)
{
    for (const uint8_t *p = b.p; p + 1 < b.end; p++)
        if (p[0] == 0xc2 && p[1] < 0xa0)
            return true;
    return false;
}

static int check_bytes(const struct walk *w, const struct rpc_rule *rule, struct span b)
{
    size_t len = (size_t)(b.end - b.p);
    char name[NODE_NAME_MAX + 1];

    if (len < rule->min || len > rule->max) {
        char text[80];

        (void)snprintf(text, sizeof(text), "%zu bytes, allowed are %" PRIu64 "..%" PRIu64, len,
                       rule->min, rule->max);
        return bad(w, text);
    }
    if (rule->kind == RULE_BYTES || len == 0)
        return 0;
    if (!str_is_clean_utf8((const char *)b.p, len))
        return bad(w, "not clean UTF-8: remove control characters and NUL");
    if (rule->kind == RULE_TEXT)
        return 0;
    if (memchr(b.p, '\n', len) || memchr(b.p, '\t', len))
        return bad(w, "tab and newline are not allowed here");
    if (has_c1(b))
        return bad(w, "control characters (U+0080 to U+009F) are not allowed here");
    if (rule->kind == RULE_LINE)
        return 0;
    memcpy(name, b.p, len); /* rules of names have max <= NODE_NAME_MAX */
    name[len] = '\0';
    if (!is_name(rule->kind, name, (size_t)rule->max))
        return bad(w, "not a valid name: use a-z, 0-9 and '-', beginning and ending with a letter "
                      "or digit");
    return 0;
}

static int check_number(const struct walk *w, const struct rpc_rule *rule,
                        const ProtobufCFieldDescriptor *field, uint64_t number)
{
    char text[96];

    if (rule->kind == RULE_ENUM) {
        if (number == 0 || number > INT32_MAX ||
            !protobuf_c_enum_descriptor_get_value(field->descriptor, (int)number))
            return bad(w, "not a known value");
        return 0;
    }
    /* protobuf-c cuts 32-bit fields silently; the tables keep max below that */
    if (number < rule->min || number > rule->max) {
        (void)snprintf(text, sizeof(text),
                       "%" PRId64 " is out of range, allowed are %" PRIu64 "..%" PRIu64,
                       (int64_t)number, rule->min, rule->max);
        return bad(w, text);
    }
    return 0;
}

static const struct rpc_rule *rules_of(const ProtobufCMessageDescriptor *message)
{
    unsigned n;
    const struct rpc_rules *tables = rpc_rules(&n);

    for (unsigned i = 0; i < n; i++)
        if (tables[i].message == message)
            return tables[i].rules;
    return NULL;
}

static bool is_number(enum rpc_rule_kind kind)
{
    return kind == RULE_NUMBER || kind == RULE_ENUM;
}

static int check_message(struct walk *w, const ProtobufCMessageDescriptor *message, struct span s);

static int check_field(struct walk *w, const ProtobufCFieldDescriptor *field,
                       const struct rpc_rule *rule, uint64_t number, struct span bytes)
{
    if (is_number(rule->kind))
        return check_number(w, rule, field, number);
    if (rule->kind != RULE_MESSAGE)
        return check_bytes(w, rule, bytes);
    if ((uint64_t)(bytes.end - bytes.p) > rule->max)
        return check_bytes(w, rule, bytes);
    return check_message(w, field->descriptor, bytes);
}

static void enter(struct walk *w, const ProtobufCFieldDescriptor *field, uint32_t i)
{
    assert(w->n_steps < RPC_DEPTH_MAX); /* one a message */
    w->steps[w->n_steps++] = (struct step){field, i};
}

static int check_known(struct walk *w, const ProtobufCFieldDescriptor *field,
                       const struct rpc_rule *rule, uint32_t *count, struct span *s)
{
    uint64_t number = 0;
    struct span bytes = {NULL, NULL};
    char text[64];
    int rc;

    enter(w, field, *count);
    if (++*count > rule->count) {
        (void)snprintf(text, sizeof(text), "given more than %" PRIu32 " times", rule->count);
        return bad(w, text);
    }
    if (!read_value(s, is_number(rule->kind) ? WIRE_VARINT : WIRE_BYTES, &number, &bytes))
        return bad(w, "damaged message");
    rc = check_field(w, field, rule, number, bytes);
    if (rc == 0)
        w->n_steps--;
    return rc;
}

static int skip_unknown(struct walk *w, uint64_t tag, struct span *s)
{
    uint64_t number;
    struct span bytes;
    char text[96];

    if (w->is_strict) {
        (void)snprintf(text, sizeof(text),
                       "field %" PRIu64 " is not known to this server; "
                       "it may be older than the client",
                       tag >> 3);
        return bad(w, text);
    }
    if (!read_value(s, (unsigned)(tag & 7), &number, &bytes))
        return bad(w, "damaged message");
    return 0;
}

/* Calls itself through check_field(); bounded by the schema, whose messages have no cycles. */
static int check_message(struct walk *w, const ProtobufCMessageDescriptor *message, struct span s)
{
    const struct rpc_rule *rules = rules_of(message);
    uint32_t counts[RPC_RULE_FIELDS_MAX] = {0};

    assert(rules && message->n_fields <= RPC_RULE_FIELDS_MAX && w->depth < RPC_DEPTH_MAX);
    w->depth++;
    while (s.p < s.end) {
        const ProtobufCFieldDescriptor *field;
        uint64_t tag;
        size_t i;

        if (!read_varint(&s, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
            return bad(w, "damaged message");
        field = protobuf_c_message_descriptor_get_field(message, (unsigned)(tag >> 3));
        if (!field) {
            if (skip_unknown(w, tag, &s))
                return -1;
            continue;
        }
        i = (size_t)(field - message->fields);
        if ((tag & 7) != (is_number(rules[i].kind) ? WIRE_VARINT : WIRE_BYTES))
            return bad(w, "damaged message");
        if (check_known(w, field, &rules[i], &counts[i], &s))
            return -1;
    }
    for (unsigned f = 0; f < message->n_fields; f++) {
        if (rules[f].kind == RULE_ENUM && counts[f] == 0) {
            enter(w, &message->fields[f], 0);
            return bad(w, "missing");
        }
    }
    w->depth--;
    return 0;
}

int rpc_check(const ProtobufCMessageDescriptor *message, const uint8_t *bytes, size_t len,
              bool is_strict, struct err *err)
{
    struct walk w = {.is_strict = is_strict, .err = err};

    return check_message(&w, message, (struct span){bytes, bytes + len});
}
