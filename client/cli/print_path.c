/* SPDX-License-Identifier: Apache-2.0 */
/* print_path.c - templates are carried out while they are read; with no document they are only
 * checked.
 */
#include "print_path.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print_table.h"
#include "util/mem.h"
#include "util/vec.h"

enum { RANGES_MAX = 8, KEY_MAX = 320, INDEX_MAX = 1000000 };

typedef VEC(const struct document *) node_list;

struct template
{
    const char *text, *at;
    struct str *out; /* NULL: it is checked only */
    unsigned ranges; /* that are open */
    struct err *err;
};

static int fail(const struct template *t, const char *what)
{
    return err_set(t->err, ERR_INVALID, "\"%.80s\", character %zu: %s", t->text,
                   (size_t)(t->at - t->text) + 1, what);
}

/* One element of lists, from their end when it is negative. */
static const struct document *element(const struct document *list, long i)
{
    const struct document *c = document_first(list);
    long n = 0;

    for (const struct document *k = c; i < 0 && k; k = document_next(k))
        n++;
    for (i += i < 0 ? n : 0; i > 0 && c; i--)
        c = document_next(c);
    return i < 0 ? NULL : c;
}

/* A step: to a key, to an element, or (key NULL and no index) to all below. */
struct step {
    const char *key;
    bool is_index;
    long index;
};

static void go(node_list *now, const struct step *s)
{
    node_list next = {0};

    for (size_t i = 0; i < now->n; i++) {
        const struct document *d = now->v[i], *c = NULL;

        if (s->key)
            c = document_get(d, s->key);
        else if (s->is_index)
            c = document_is_list(d) ? element(d, s->index) : NULL;
        for (c = s->key || s->is_index ? c : document_first(d); c; c = document_next(c)) {
            *vec_push(&next) = c;
            if (s->key || s->is_index)
                break;
        }
    }
    vec_fini(now);
    *now = next;
}

/* [0], [*] or ['key'], behind the bracket. */
static int read_bracket(struct template *t, char key[KEY_MAX], struct step *ret)
{
    char quote = *t->at;
    const char *end;
    size_t len;

    if (quote == '\'' || quote == '"') {
        end = strchr(++t->at, quote);
        len = end ? (size_t)(end - t->at) : 0;
        if (len == 0 || len >= KEY_MAX)
            return fail(t, "a key in quotes is expected");
        memcpy(key, t->at, len);
        key[len] = '\0';
        ret->key = key;
        t->at = end + 1;
    } else if (quote == '*') {
        t->at++;
    } else {
        char *after;

        ret->is_index = true;
        ret->index = strtol(t->at, &after, 10);
        if (after == t->at || isspace((unsigned char)quote) || ret->index > INDEX_MAX ||
            ret->index < -INDEX_MAX)
            return fail(t, "a number, * or a key in quotes is expected");
        t->at = after;
    }
    if (*t->at != ']')
        return fail(t, "] is expected; filters and slices are not known here");
    t->at++;
    return 0;
}

/* .key, whose dots may be escaped, or .* */
static int read_key(struct template *t, char key[KEY_MAX], struct step *ret)
{
    size_t len = 0;

    while (*t->at && !strchr(".[] {}", *t->at)) {
        t->at += *t->at == '\\' && t->at[1];
        if (len + 1 == KEY_MAX)
            return fail(t, "the key is too long");
        key[len++] = *t->at++;
    }
    key[len] = '\0';
    if (len == 0)
        return fail(t, "a key is expected");
    ret->key = strcmp(key, "*") == 0 ? NULL : key;
    return 0;
}

/* A path, up to what cannot be one, from where now stands. */
static int read_path(struct template *t, node_list *now)
{
    const char *begin = t->at;

    t->at += *t->at == '$' || *t->at == '@';
    while (*t->at == '.' || *t->at == '[') {
        struct step s = {0};
        char key[KEY_MAX];

        if (t->at == begin && *t->at == '.' && (!t->at[1] || strchr(" }", t->at[1]))) {
            t->at++; /* "." alone */
            break;
        }
        if (*t->at++ == '[' ? read_bracket(t, key, &s) : read_key(t, key, &s))
            return -1;
        go(now, &s);
    }
    return t->at == begin ? fail(t, "a path is expected, like .metadata.name") : 0;
}

/* "text" in braces; \n, \t and \" are known. */
static int read_text(struct template *t)
{
    char quote = *t->at++;

    for (; *t->at != quote; t->at++) {
        char c = *t->at;

        if (!c)
            return fail(t, "a text does not end");
        if (c == '\\' && t->at[1]) {
            c = *++t->at;
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        if (t->out)
            str_add_bytes(t->out, &c, 1);
    }
    t->at++;
    return 0;
}

static int close_brace(struct template *t)
{
    t->at += strspn(t->at, " ");
    if (*t->at != '}')
        return fail(t, "} is expected");
    t->at++;
    return 0;
}

static int run(struct template *t, const struct document *here);

/* {range PATH} ... {end}: what is between, for each. */
static int run_range(struct template *t, const struct document *here)
{
    struct str *out = t->out;
    node_list nodes = {0};
    const char *body;
    int rc;

    if (t->ranges == RANGES_MAX)
        return fail(t, "too many ranges in one another");
    if (here)
        *vec_push(&nodes) = here;
    rc = read_path(t, &nodes) || close_brace(t) ? -1 : 0;
    body = t->at;
    t->ranges++;
    for (size_t i = 0; rc == 0 && i < nodes.n; i++) {
        t->at = body;
        rc = run(t, nodes.v[i]);
    }
    if (rc == 0 && nodes.n == 0) { /* nothing: pass over it */
        t->out = NULL;
        rc = run(t, NULL);
        t->out = out;
    }
    t->ranges--;
    vec_fini(&nodes);
    return rc;
}

static int print_nodes(struct template *t, const struct document *here)
{
    node_list nodes = {0};
    int rc;

    if (here)
        *vec_push(&nodes) = here;
    rc = read_path(t, &nodes);
    for (size_t i = 0; rc == 0 && t->out && i < nodes.n; i++) {
        str_add(t->out, i ? " " : "");
        document_value(t->out, nodes.v[i]);
    }
    vec_fini(&nodes);
    return rc ? -1 : close_brace(t);
}

/* Up to the end of the text, or of the range that it is in. Calls itself once a range. */
static int run(struct template *t, const struct document *here)
{
    while (*t->at) {
        size_t len = strcspn(t->at, "{");

        if (t->out)
            str_add_bytes(t->out, t->at, len);
        t->at += len;
        if (!*t->at)
            break;
        t->at++;
        t->at += strspn(t->at, " ");
        if (*t->at == '"' || *t->at == '\'') {
            if (read_text(t) || close_brace(t))
                return -1;
        } else if (strncmp(t->at, "range ", 6) == 0) {
            t->at += 5;
            t->at += strspn(t->at, " ");
            if (run_range(t, here))
                return -1;
        } else if (strncmp(t->at, "end", 3) == 0) {
            t->at += 3;
            return t->ranges ? close_brace(t) : fail(t, "there is no range to end");
        } else if (print_nodes(t, here)) {
            return -1;
        }
    }
    return t->ranges ? fail(t, "{end} of a range is missing") : 0;
}

/* A path without braces is one, too. */
static int run_all(const char *text, const struct document *d, struct str *out, struct err *err)
{
    struct template t = {.text = text, .at = text, .out = out, .err = err};
    char *braced = strchr(text, '{') ? NULL : xasprintf("{%s}", text);
    int rc;

    if (braced)
        t.text = t.at = braced;
    rc = run(&t, d);
    free(braced);
    return rc;
}

int path_check(const char *template, struct err *err)
{
    return run_all(template, NULL, NULL, err);
}

void path_print(struct str *out, const struct document *d, const char *template)
{
    (void)run_all(template, d, out, NULL); /* it was checked */
}

/* ---- columns */

struct columns {
    struct arena arena;
    VEC(struct table_column) titles;
    VEC(const char *) paths;
};

static void columns_fini(struct columns *c)
{
    vec_fini(&c->titles);
    vec_fini(&c->paths);
    arena_fini(&c->arena);
}

static int columns_read(struct columns *c, const char *text, struct err *err)
{
    char *rest = arena_strdup(&c->arena, text);

    for (char *one = strsep(&rest, ","); one; one = strsep(&rest, ",")) {
        char *colon = strchr(one, ':');

        if (!colon || colon == one || strchr(colon, '{'))
            return err_set(err, ERR_INVALID, "\"%.80s\": write TITLE:.path.of.a.field", one);
        *colon = '\0';
        if (path_check(colon + 1, err))
            return -1;
        *vec_push(&c->titles) = (struct table_column){one, TABLE_WHOLE, 0};
        *vec_push(&c->paths) = colon + 1;
    }
    return 0;
}

int path_check_columns(const char *columns, struct err *err)
{
    struct columns c = {0};
    int rc = columns_read(&c, columns, err);

    columns_fini(&c);
    return rc;
}

static void add_row(struct table *t, const struct columns *c, const struct document *d)
{
    struct str cell = {0};

    for (size_t i = 0; i < c->paths.n; i++) {
        str_clear(&cell);
        path_print(&cell, d, c->paths.v[i]);
        table_add(t, cell.len ? str_text(&cell) : "<none>");
    }
    str_fini(&cell);
}

void path_print_columns(const struct document *d, const char *columns)
{
    const struct document *items = document_get(d, "items");
    struct columns c = {0};
    struct table *t;

    (void)columns_read(&c, columns, NULL); /* it was checked */
    t = table_create(c.titles.v, c.titles.n);
    if (items)
        for (const struct document *i = document_first(items); i; i = document_next(i))
            add_row(t, &c, i);
    else
        add_row(t, &c, d);
    table_print(t, 0, true);
    table_destroy(t);
    columns_fini(&c);
}
