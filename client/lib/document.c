/* SPDX-License-Identifier: Apache-2.0 */
/* document.c - a tree of values and its two printers.
 *
 * Both printers recurse as deep as the documents that we build ourselves, at most a dozen levels;
 * they never see a tree that a user made.
 */
#include "document.h"

#include <ctype.h>
#include <string.h>

#include "util/mem.h"
#include "util/parse.h"

enum kind { KIND_MAP, KIND_LIST, KIND_TEXT, KIND_INT, KIND_BOOL };

struct document {
    enum kind kind;
    const char *key;  /* in a map */
    const char *text; /* KIND_TEXT */
    int64_t number;   /* KIND_INT, KIND_BOOL */
    struct document *first, *last, *next;
};

static struct document *new_node(struct arena *a, enum kind kind)
{
    struct document *d = arena_alloc(a, sizeof(*d));

    d->kind = kind;
    return d;
}

struct document *document_map(struct arena *a)
{
    return new_node(a, KIND_MAP);
}

struct document *document_list(struct arena *a)
{
    return new_node(a, KIND_LIST);
}

struct document *document_text(struct arena *a, const char *s)
{
    struct document *d = new_node(a, KIND_TEXT);

    d->text = s;
    return d;
}

struct document *document_int(struct arena *a, int64_t v)
{
    struct document *d = new_node(a, KIND_INT);

    d->number = v;
    return d;
}

void document_add(struct arena *a, struct document *list, struct document *value)
{
    (void)a;
    if (list->last)
        list->last->next = value;
    else
        list->first = value;
    list->last = value;
}

void document_put(struct arena *a, struct document *map, const char *key, struct document *value)
{
    if (!value)
        return;
    value->key = key;
    document_add(a, map, value);
}

void document_put_text(struct arena *a, struct document *map, const char *key, const char *s)
{
    if (s && *s)
        document_put(a, map, key, document_text(a, s));
}

void document_put_int(struct arena *a, struct document *map, const char *key, int64_t v)
{
    document_put(a, map, key, document_int(a, v));
}

void document_put_bool(struct arena *a, struct document *map, const char *key, bool v)
{
    struct document *d = new_node(a, KIND_BOOL);

    d->number = v;
    document_put(a, map, key, d);
}

void document_put_time(struct arena *a, struct document *map, const char *key, int64_t usec)
{
    char buf[FORMAT_MAX];

    if (usec > 0)
        document_put_text(a, map, key, arena_strdup(a, format_time(buf, usec)));
}

struct document *document_put_map(struct arena *a, struct document *map, const char *key)
{
    struct document *d = document_map(a);

    document_put(a, map, key, d);
    return d;
}

struct document *document_put_list(struct arena *a, struct document *map, const char *key)
{
    struct document *d = document_list(a);

    document_put(a, map, key, d);
    return d;
}

bool document_is_empty(const struct document *d)
{
    return d->first == NULL;
}

const struct document *document_get(const struct document *d, const char *key)
{
    const struct document *c = d->kind == KIND_MAP ? d->first : NULL;

    while (c && strcmp(c->key, key) != 0)
        c = c->next;
    return c;
}

const struct document *document_first(const struct document *d)
{
    return d->first;
}

const struct document *document_next(const struct document *d)
{
    return d->next;
}

bool document_is_list(const struct document *d)
{
    return d->kind == KIND_LIST;
}

static void add_indent(struct str *out, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        str_add(out, "  ");
}

static void add_json(struct str *out, const struct document *d, bool is_compact, unsigned depth);

static void add_json_children(struct str *out, const struct document *d, bool is_compact,
                              unsigned depth)
{
    str_add(out, d->kind == KIND_MAP ? "{" : "[");
    for (const struct document *c = d->first; c; c = c->next) {
        if (!is_compact) {
            str_add(out, "\n");
            add_indent(out, depth + 1);
        }
        if (c->key) {
            str_add_json(out, c->key);
            str_add(out, is_compact ? ":" : ": ");
        }
        add_json(out, c, is_compact, depth + 1);
        if (c->next)
            str_add(out, ",");
    }
    if (!is_compact && d->first) {
        str_add(out, "\n");
        add_indent(out, depth);
    }
    str_add(out, d->kind == KIND_MAP ? "}" : "]");
}

static void add_json(struct str *out, const struct document *d, bool is_compact, unsigned depth)
{
    if (d->kind == KIND_TEXT)
        str_add_json(out, d->text);
    else if (d->kind == KIND_INT)
        str_addf(out, "%lld", (long long)d->number);
    else if (d->kind == KIND_BOOL)
        str_add(out, d->number ? "true" : "false");
    else
        add_json_children(out, d, is_compact, depth);
}

void document_json(struct str *out, const struct document *d, bool is_compact)
{
    add_json(out, d, is_compact, 0);
    str_add(out, "\n");
}

void document_value(struct str *out, const struct document *d)
{
    if (d->kind == KIND_TEXT)
        str_add(out, d->text);
    else
        add_json(out, d, true, 0);
}

/* "24h", "1500Gi": digits and a unit that no YAML reader takes for a number. */
static bool is_amount(const char *s)
{
    const char *unit = s + strspn(s, "0123456789");

    return unit > s && *unit && strchr("wdhmsKMGTP", *unit) &&
           unit[strspn(unit, "wdhmsKMGTPi0123456789")] == '\0';
}

/* Text that any YAML reader takes as this text without quotes. */
static bool is_plain(const char *s)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};
    size_t len = strlen(s);

    if (len == 0)
        return false;
    if (!isalpha((unsigned char)s[0]) && s[0] != '/')
        return is_amount(s);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(s, words[i]) == 0)
            return false;
    for (size_t i = 0; i < len; i++) {
        bool is_inner_colon = s[i] == ':' && s[i + 1] != '\0' && s[i + 1] != ' ';

        if (!isalnum((unsigned char)s[i]) && !strchr("-_./ ", s[i]) && !is_inner_colon)
            return false;
    }
    return s[len - 1] != ' ';
}

static void add_yaml_text(struct str *out, const char *s)
{
    if (is_plain(s))
        str_add(out, s);
    else
        str_add_json(out, s); /* a JSON string is a double-quoted one of YAML */
}

static bool is_block(const struct document *d)
{
    return (d->kind == KIND_MAP || d->kind == KIND_LIST) && d->first;
}

static void add_yaml_scalar(struct str *out, const struct document *d)
{
    if (d->kind == KIND_TEXT)
        add_yaml_text(out, d->text);
    else if (d->kind == KIND_INT || d->kind == KIND_BOOL)
        add_json(out, d, true, 0);
    else
        str_add(out, d->kind == KIND_MAP ? "{}" : "[]");
    str_add(out, "\n");
}

/* The children of a map or list, each in its own lines; the cursor is at the start of a line,
 * or, is_inline, already after the "- " of a list. */
static void add_yaml_block(struct str *out, const struct document *d, unsigned depth,
                           bool is_inline)
{
    for (const struct document *c = d->first; c; c = c->next) {
        bool is_list_below_key = c->key && c->kind == KIND_LIST;

        if (!(is_inline && c == d->first))
            add_indent(out, depth);
        if (c->key) {
            add_yaml_text(out, c->key);
            str_add(out, is_block(c) ? ":\n" : ": ");
        } else {
            str_add(out, "- ");
        }
        if (!is_block(c))
            add_yaml_scalar(out, c);
        else
            add_yaml_block(out, c, is_list_below_key ? depth : depth + 1, !c->key);
    }
}

void document_yaml(struct str *out, const struct document *d)
{
    if (is_block(d))
        add_yaml_block(out, d, 0, false);
    else
        add_yaml_scalar(out, d);
}
