/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.c - from libyaml's events to a tree that knows its lines.
 *
 * An explicit stack instead of recursion, and limits on depth and nodes, so that a hostile file
 * costs no more than its size. What is not in the subset is refused here, with its position.
 * Reading the tree over a schema is yaml_walk.c.
 */
#include "util/yaml.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"

/* A list or map that is still open. */
struct frame {
    struct yaml_node *node;
    VEC(struct yaml_node *) items; /* of a map: key, value, key, value ... */
};

struct builder {
    struct yaml_doc *doc;
    const char *name; /* of the file, for errors */
    VEC(struct frame) stack;
    VEC(struct yaml_node *) roots;
    size_t nodes;
    struct err *err;
};

static int fail_mark(struct builder *b, yaml_mark_t mark, const char *text)
{
    return err_set(b->err, ERR_INVALID, "%s:%zu:%zu: %s", b->name, mark.line + 1, mark.column + 1,
                   text);
}

static int fail_node(struct builder *b, const struct yaml_node *n, const char *what,
                     const char *name, const char *advice)
{
    return err_set(b->err, ERR_INVALID, "%s:%zu:%zu: %s%.60s%s", b->name, n->line, n->column, what,
                   name, advice);
}

static struct yaml_node *new_node(struct builder *b, enum yaml_kind kind, yaml_mark_t mark)
{
    struct yaml_node *n = arena_alloc(&b->doc->arena, sizeof(*n));

    n->kind = kind;
    n->line = mark.line + 1;
    n->column = mark.column + 1;
    b->nodes++;
    return n;
}

static int take_node(struct builder *b, struct yaml_node *n)
{
    struct frame *top;

    if (b->nodes > YAML_NODES_MAX)
        return fail_node(b, n, "too many entries; split the file", "", "");
    if (b->stack.n == 0) {
        *vec_push(&b->roots) = n;
        return 0;
    }
    top = &b->stack.v[b->stack.n - 1];
    if (top->node->kind == YAML_MAP && top->items.n % 2 == 0) {
        if (n->kind == YAML_LIST || n->kind == YAML_MAP)
            return fail_node(b, n, "a key must be plain text", "", "");
        if (!n->is_quoted && strcmp(n->text, "<<") == 0)
            return fail_node(b, n, "merge keys (<<) are not supported; write the keys out", "", "");
        n->kind = YAML_SCALAR; /* "null:" is a key like any other */
    }
    *vec_push(&top->items) = n;
    return 0;
}

static bool is_null(const char *text)
{
    return *text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0 ||
           strcmp(text, "Null") == 0 || strcmp(text, "NULL") == 0;
}

static int take_scalar(struct builder *b, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;
    bool is_quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    struct yaml_node *n = new_node(b, YAML_SCALAR, e->start_mark);

    if (!str_is_clean_utf8(text, len))
        return fail_mark(b, e->start_mark, "text with control characters; remove them");
    n->text = arena_strndup(&b->doc->arena, text, len);
    n->is_quoted = is_quoted;
    if (!is_quoted && is_null(n->text))
        n->kind = YAML_NULL;
    return take_node(b, n);
}

static int open_node(struct builder *b, enum yaml_kind kind, yaml_mark_t mark)
{
    struct yaml_node *n = new_node(b, kind, mark);

    if (b->stack.n == YAML_DEPTH_MAX)
        return fail_mark(b, mark, "nested too deeply");
    if (take_node(b, n))
        return -1;
    vec_push(&b->stack)->node = n;
    return 0;
}

/* By text; equal ones in the order of the file. */
static int compare_keys(const void *a, const void *b)
{
    const struct yaml_node *x = *(struct yaml_node *const *)a;
    const struct yaml_node *y = *(struct yaml_node *const *)b;
    int order = strcmp(x->text, y->text);

    if (order)
        return order;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

static int check_duplicates(struct builder *b, const struct yaml_node *map)
{
    struct yaml_node **sorted;
    int rc = 0;

    if (map->n < 2)
        return 0;
    sorted = xmemdup(map->keys, map->n * sizeof(struct yaml_node *));
    qsort(sorted, map->n, sizeof(struct yaml_node *), compare_keys);
    for (size_t i = 1; i < map->n && rc == 0; i++)
        if (strcmp(sorted[i - 1]->text, sorted[i]->text) == 0)
            rc = fail_node(b, sorted[i], "duplicate key \"", sorted[i]->text,
                           "\"; keep one of them");
    free(sorted);
    return rc;
}

static int close_node(struct builder *b)
{
    struct frame *f;
    struct yaml_node *n;
    size_t step;

    assert(b->stack.n > 0); /* libyaml closes only what it opened */
    f = &b->stack.v[b->stack.n - 1];
    n = f->node;
    step = n->kind == YAML_MAP ? 2 : 1;

    n->n = f->items.n / step;
    n->items = arena_alloc(&b->doc->arena, (n->n + 1) * sizeof(struct yaml_node *));
    if (n->kind == YAML_MAP)
        n->keys = arena_alloc(&b->doc->arena, (n->n + 1) * sizeof(struct yaml_node *));
    for (size_t i = 0; i < n->n; i++) {
        n->items[i] = f->items.v[i * step + step - 1];
        if (n->kind == YAML_MAP)
            n->keys[i] = f->items.v[i * step];
    }
    vec_fini(&f->items);
    b->stack.n--;
    return n->kind == YAML_MAP ? check_duplicates(b, n) : 0;
}

static const char *anchor_of(const yaml_event_t *e)
{
    return e->type == YAML_SCALAR_EVENT           ? (const char *)e->data.scalar.anchor
           : e->type == YAML_SEQUENCE_START_EVENT ? (const char *)e->data.sequence_start.anchor
           : e->type == YAML_MAPPING_START_EVENT  ? (const char *)e->data.mapping_start.anchor
                                                  : NULL;
}

static const char *tag_of(const yaml_event_t *e)
{
    return e->type == YAML_SCALAR_EVENT           ? (const char *)e->data.scalar.tag
           : e->type == YAML_SEQUENCE_START_EVENT ? (const char *)e->data.sequence_start.tag
           : e->type == YAML_MAPPING_START_EVENT  ? (const char *)e->data.mapping_start.tag
                                                  : NULL;
}

static int take_event(struct builder *b, const yaml_event_t *e)
{
    if (e->type == YAML_ALIAS_EVENT)
        return fail_mark(b, e->start_mark, "aliases (*name) are not supported; write it out");
    if (anchor_of(e))
        return fail_mark(b, e->start_mark, "anchors (&name) are not supported; remove it");
    if (tag_of(e))
        return fail_mark(b, e->start_mark,
                         "tags (!name) are not supported; quote the text if it is meant as text");
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(b, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(b, YAML_LIST, e->start_mark);
    case YAML_MAPPING_START_EVENT:
        return open_node(b, YAML_MAP, e->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_node(b);
    default:
        return 0; /* starts and ends of stream and documents */
    }
}

static int fail_syntax(struct builder *b, const yaml_parser_t *p)
{
    const char *problem = p->problem ? p->problem : "not YAML";

    if (p->error == YAML_READER_ERROR)
        return err_set(b->err, ERR_INVALID, "%s: byte %zu: %s; save the file as UTF-8 text",
                       b->name, p->problem_offset, problem);
    return err_set(b->err, ERR_INVALID, "%s:%zu:%zu: %s%s%s; check indentation, quotes and colons",
                   b->name, p->problem_mark.line + 1, p->problem_mark.column + 1, problem,
                   p->context ? " " : "", p->context ? p->context : "");
}

static int read_events(struct builder *b, const char *text, size_t len)
{
    yaml_parser_t parser;
    yaml_event_t event;
    bool at_end = false;
    int rc = 0;

    if (!yaml_parser_initialize(&parser))
        abort(); /* out of memory */
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    while (rc == 0 && !at_end) {
        if (!yaml_parser_parse(&parser, &event)) {
            rc = fail_syntax(b, &parser);
            break;
        }
        at_end = event.type == YAML_STREAM_END_EVENT;
        rc = take_event(b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return rc;
}

static void builder_fini(struct builder *b)
{
    for (size_t i = 0; i < b->stack.n; i++)
        vec_fini(&b->stack.v[i].items);
    vec_fini(&b->stack);
    vec_fini(&b->roots);
}

int yaml_parse(struct yaml_doc **ret, const char *file, const char *text, size_t len,
               struct err *err)
{
    struct builder b = {.err = err};
    int rc;

    b.name = strcmp(file, "-") == 0 ? "stdin" : file;
    if (len > YAML_BYTES_MAX)
        return err_set(err, ERR_INVALID, "%s: larger than %d bytes; split the file", b.name,
                       YAML_BYTES_MAX);
    b.doc = xcalloc(1, sizeof(*b.doc));
    b.doc->file = arena_strdup(&b.doc->arena, b.name);
    rc = read_events(&b, text, len);
    if (rc) {
        yaml_destroy(b.doc);
    } else {
        b.doc->n = b.roots.n;
        b.doc->roots = arena_alloc(&b.doc->arena, (b.roots.n + 1) * sizeof(struct yaml_node *));
        for (size_t i = 0; i < b.roots.n; i++)
            b.doc->roots[i] = b.roots.v[i];
        *ret = b.doc;
    }
    builder_fini(&b);
    return rc;
}

static int fail_file(const char *path, int error, struct err *err)
{
    enum err_code code = error == ENOENT || error == ENOTDIR ? ERR_NOT_FOUND
                         : error == EACCES || error == EPERM ? ERR_DENIED
                                                             : ERR_INVALID;

    return err_set(err, code, "%s: cannot read: %s", path, strerror(error));
}

int yaml_parse_file(struct yaml_doc **ret, const char *path, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *f = is_stdin ? stdin : fopen(path, "re");
    char *text;
    size_t len;
    int rc;

    if (!f)
        return fail_file(path, errno, err);
    text = xmalloc(YAML_BYTES_MAX + 1);
    len = fread(text, 1, YAML_BYTES_MAX + 1, f);
    if (ferror(f))
        rc = fail_file(is_stdin ? "stdin" : path, errno, err);
    else
        rc = yaml_parse(ret, path, text, len, err);
    free(text);
    if (!is_stdin)
        (void)fclose(f); /* only read from */
    return rc;
}

void yaml_destroy(struct yaml_doc *d)
{
    if (!d)
        return;
    arena_fini(&d->arena);
    free(d);
}
