/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_check.c - the walk over wire bytes: tag by tag, each against its rule, then taken.
 *
 * Knows the wire form of protobuf and nothing of the meaning of messages. Allocates in the arena
 * alone. Takes the kinds of fields that the rules have; a test holds them against the schema.
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

/* A value on its way into a message. */
struct place {
    const ProtobufCFieldDescriptor *field;
    const struct rpc_rule *rule;
    ProtobufCMessage *m;
    uint32_t i; /* values of the field before it */
};

struct walk {
    bool is_strict;
    unsigned depth; /* messages */
    unsigned n_steps;
    struct step steps[RPC_DEPTH_MAX];
    struct arena *arena; /* of what is taken */
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

/* ---- what passed */

static int has_no_room(const struct walk *w)
{
    return bad(w, "the message takes too much memory");
}

/* Bytes that a value takes in the struct of its message. */
static size_t size_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        return sizeof(uint64_t);
    default:
        return sizeof(uint32_t);
    }
}

/* Where the value of a repeated field belongs; NULL: there is no room. The list grows when i is a
 * power of two, and has room for twice as many then. */
static void *place_in_list(const struct walk *w, const struct place *at)
{
    size_t size = size_of(at->field->type), i = at->i;
    char *m = (char *)at->m, *grown;
    char **list = (char **)(void *)(m + at->field->offset);

    if ((i & (i - 1)) == 0) {
        grown = arena_try(w->arena, (i ? 2 * i : 1) * size);
        if (!grown)
            return NULL;
        if (i)
            memcpy(grown, *list, i * size);
        *list = grown;
    }
    *(size_t *)(void *)(m + at->field->quantifier_offset) = i + 1;
    return *list + i * size;
}

/* Where the value belongs, and that it is given; NULL: there is no room. */
static void *place_of(const struct walk *w, const struct place *at)
{
    const ProtobufCFieldDescriptor *field = at->field;
    char *m = (char *)at->m;

    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return place_in_list(w, at);
    if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_MESSAGE)
        *(protobuf_c_boolean *)(void *)(m + field->quantifier_offset) = 1;
    return m + field->offset;
}

static void take_number(const ProtobufCFieldDescriptor *field, uint64_t number, void *to)
{
    uint32_t narrow = (uint32_t)number;
    protobuf_c_boolean is_set = number != 0;

    if (field->type == PROTOBUF_C_TYPE_BOOL)
        memcpy(to, &is_set, sizeof(is_set));
    else if (size_of(field->type) == sizeof(number))
        memcpy(to, &number, sizeof(number));
    else
        memcpy(to, &narrow, sizeof(narrow));
}

/* Of a text or of bytes a copy, with a NUL behind it. */
static int take_bytes(const struct walk *w, const ProtobufCFieldDescriptor *field, struct span b,
                      void *to)
{
    size_t len = (size_t)(b.end - b.p);
    uint8_t *copy = arena_try(w->arena, len + 1);

    if (!copy)
        return has_no_room(w);
    if (len)
        memcpy(copy, b.p, len);
    copy[len] = 0;
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        *(ProtobufCBinaryData *)to = (ProtobufCBinaryData){len, copy};
    else
        memcpy(to, &copy, sizeof(copy));
    return 0;
}

/* ---- the rules */

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

static ProtobufCMessage *check_message(struct walk *w, const ProtobufCMessageDescriptor *message,
                                       struct span s);

/* Checks a value, and puts it where it belongs. */
static int check_field(struct walk *w, const struct place *at, uint64_t number, struct span bytes)
{
    const struct rpc_rule *rule = at->rule;
    ProtobufCMessage *inner;
    void *to = place_of(w, at);

    if (!to)
        return has_no_room(w);
    if (is_number(rule->kind)) {
        if (check_number(w, rule, at->field, number))
            return -1;
        take_number(at->field, number, to);
        return 0;
    }
    if (rule->kind != RULE_MESSAGE || (uint64_t)(bytes.end - bytes.p) > rule->max)
        return check_bytes(w, rule, bytes) || take_bytes(w, at->field, bytes, to) ? -1 : 0;
    inner = check_message(w, at->field->descriptor, bytes);
    if (inner)
        memcpy(to, &inner, sizeof(inner));
    return inner ? 0 : -1;
}

static void enter(struct walk *w, const ProtobufCFieldDescriptor *field, uint32_t i)
{
    assert(w->n_steps < RPC_DEPTH_MAX); /* one a message */
    w->steps[w->n_steps++] = (struct step){field, i};
}

static int check_known(struct walk *w, const struct place *at, struct span *s)
{
    uint64_t number = 0;
    struct span bytes = {NULL, NULL};
    char text[64];
    int rc;

    enter(w, at->field, at->i);
    if (at->i >= at->rule->count) {
        (void)snprintf(text, sizeof(text), "given more than %" PRIu32 " times", at->rule->count);
        return bad(w, text);
    }
    if (!read_value(s, is_number(at->rule->kind) ? WIRE_VARINT : WIRE_BYTES, &number, &bytes))
        return bad(w, "damaged message");
    rc = check_field(w, at, number, bytes);
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

static int check_missing(struct walk *w, const ProtobufCMessageDescriptor *message,
                         const struct rpc_rule *rules, const uint32_t *counts)
{
    for (unsigned f = 0; f < message->n_fields; f++) {
        if (rules[f].kind == RULE_ENUM && counts[f] == 0) {
            enter(w, &message->fields[f], 0);
            return bad(w, "missing");
        }
    }
    return 0;
}

/* Calls itself through check_field(); bounded by the schema, whose messages have no cycles. */
static ProtobufCMessage *check_message(struct walk *w, const ProtobufCMessageDescriptor *message,
                                       struct span s)
{
    const struct rpc_rule *rules = rules_of(message);
    uint32_t counts[RPC_RULE_FIELDS_MAX] = {0};
    ProtobufCMessage *m = arena_try(w->arena, message->sizeof_message);

    assert(rules && message->n_fields <= RPC_RULE_FIELDS_MAX && w->depth < RPC_DEPTH_MAX);
    if (!m) {
        (void)has_no_room(w);
        return NULL;
    }
    message->message_init(m);
    w->depth++;
    while (s.p < s.end) {
        const ProtobufCFieldDescriptor *field;
        uint64_t tag;
        size_t i;

        if (!read_varint(&s, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) {
            (void)bad(w, "damaged message");
            return NULL;
        }
        field = protobuf_c_message_descriptor_get_field(message, (unsigned)(tag >> 3));
        if (!field) {
            if (skip_unknown(w, tag, &s))
                return NULL;
            continue;
        }
        i = (size_t)(field - message->fields);
        if ((tag & 7) != (is_number(rules[i].kind) ? WIRE_VARINT : WIRE_BYTES)) {
            (void)bad(w, "damaged message");
            return NULL;
        }
        if (check_known(w, &(struct place){field, &rules[i], m, counts[i]++}, &s))
            return NULL;
    }
    if (check_missing(w, message, rules, counts))
        return NULL;
    w->depth--;
    return m;
}

ProtobufCMessage *rpc_check(struct arena *a, const ProtobufCMessageDescriptor *message,
                            struct rpc_bytes bytes, bool is_strict, struct err *err)
{
    struct walk w = {.is_strict = is_strict, .arena = a, .err = err};

    return check_message(&w, message, (struct span){bytes.p, bytes.p + bytes.len});
}
