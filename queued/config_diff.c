/* SPDX-License-Identifier: Apache-2.0 */
/* config_diff.c - flattens two printed configurations into sorted lines and merges them. */
#include "config_diff.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"
#include "util/str.h"
#include "util/yaml.h"

/* Levels and models are indices all over the cluster; the others are opened at the start. */
static const char *const restart_keys[] = {
    "store", "listen", "kubernetes", "insecureLoopback", "levels", "models",
};

struct line {
    char *path, *value; /* owned */
};

struct lines {
    VEC(struct line) v;
};

/* A node that is still to be written out. */
struct todo {
    const struct yaml_node *node;
    char *path; /* owned */
};

bool config_needs_restart(const char *path)
{
    size_t len = strcspn(path, ".[");

    for (size_t i = 0; i < ARRAY_LEN(restart_keys); i++)
        if (strlen(restart_keys[i]) == len && strncmp(path, restart_keys[i], len) == 0)
            return true;
    return false;
}

static char *join(const char *a, const char *sep, const char *b, const char *end)
{
    struct str s = {0};

    str_addf(&s, "%s%s%s%s", a, sep, b, end);
    return str_take(&s);
}

/* What an item of a list is called; NULL: nothing. */
static const char *name_of(const struct yaml_node *n)
{
    const struct yaml_node *name = n->kind == YAML_MAP ? yaml_get(n, "name") : NULL;

    return name ? name->text : NULL;
}

/* The texts of a list, or the names of its entries, or the keys of a map. */
static char *list_text(const struct yaml_node *n)
{
    struct str s = {0};

    str_add(&s, "[");
    for (size_t i = 0; i < n->n; i++) {
        const struct yaml_node *item = n->keys ? n->keys[i] : n->items[i];
        const char *text = item->kind == YAML_SCALAR ? item->text : name_of(item);

        str_addf(&s, "%s%s", i ? ", " : "", text ? text : "");
    }
    str_add(&s, "]");
    return str_take(&s);
}

static void flatten(struct lines *ret, const struct config *c)
{
    VEC(struct todo) todo = {0};
    struct yaml_doc *doc = NULL;
    struct str text = {0};
    struct err err;
    int rc;

    config_text(c, &text);
    rc = yaml_parse(&doc, "-", text.s, text.len, &err);
    assert(rc == 0); /* we have printed it */
    (void)rc;
    *vec_push(&todo) = (struct todo){doc->roots[0], xstrdup("")};
    for (size_t at = 0; at < todo.n; at++) {
        struct todo t = todo.v[at];
        const char *dot = *t.path ? "." : "";
        bool is_top = !strpbrk(t.path, ".[");

        if (t.node->kind == YAML_SCALAR)
            *vec_push(&ret->v) = (struct line){xstrdup(t.path), xstrdup(t.node->text)};
        else if (*t.path && (t.node->kind == YAML_LIST || (is_top && t.node->n)))
            *vec_push(&ret->v) = (struct line){xstrdup(t.path), list_text(t.node)};
        for (size_t i = 0; i < t.node->n; i++) {
            const char *name = t.node->keys ? NULL : name_of(t.node->items[i]);

            if (t.node->keys)
                *vec_push(&todo) =
                    (struct todo){t.node->items[i], join(t.path, dot, t.node->keys[i]->text, "")};
            else if (name)
                *vec_push(&todo) = (struct todo){t.node->items[i], join(t.path, "[", name, "]")};
        }
    }
    for (size_t i = 0; i < todo.n; i++)
        free(todo.v[i].path);
    vec_fini(&todo);
    yaml_destroy(doc);
    str_fini(&text);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->path, ((const struct line *)b)->path);
}

/* was, now: values; NULL: there is none. */
static void add(struct config_changes *c, const char *path, const char *was, const char *now)
{
    struct config_change *x = vec_push(&c->list);

    x->path = xstrdup(path);
    x->was = was ? xstrdup(was) : NULL;
    x->now = now ? xstrdup(now) : NULL;
    x->needs_restart = config_needs_restart(x->path);
    c->n_restart += x->needs_restart;
}

static void lines_fini(struct lines *l)
{
    for (size_t i = 0; i < l->v.n; i++) {
        free(l->v.v[i].path);
        free(l->v.v[i].value);
    }
    vec_fini(&l->v);
}

static void sort(struct lines *l)
{
    if (l->v.n)
        qsort(l->v.v, l->v.n, sizeof(*l->v.v), by_path);
}

void config_diff(const struct config *was, const struct config *now, struct config_changes *ret)
{
    struct lines a = {0}, b = {0};
    size_t i = 0, k = 0;

    flatten(&a, was);
    flatten(&b, now);
    sort(&a);
    sort(&b);
    while (i < a.v.n || k < b.v.n) {
        int order = i == a.v.n ? 1 : k == b.v.n ? -1 : by_path(&a.v.v[i], &b.v.v[k]);

        if (order < 0)
            add(ret, a.v.v[i].path, a.v.v[i].value, NULL);
        else if (order > 0)
            add(ret, b.v.v[k].path, NULL, b.v.v[k].value);
        else if (strcmp(a.v.v[i].value, b.v.v[k].value) != 0)
            add(ret, a.v.v[i].path, a.v.v[i].value, b.v.v[k].value);
        i += order <= 0;
        k += order >= 0;
    }
    lines_fini(&a);
    lines_fini(&b);
}

void config_changes_fini(struct config_changes *c)
{
    for (size_t i = 0; i < c->list.n; i++) {
        free(c->list.v[i].path);
        free(c->list.v[i].was);
        free(c->list.v[i].now);
    }
    vec_fini(&c->list);
    c->n_restart = 0;
}

uint64_t config_digest(const struct config *c)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    struct str text = {0};

    config_text(c, &text);
    for (size_t i = 0; i < text.len; i++)
        h = (h ^ (unsigned char)text.s[i]) * UINT64_C(0x100000001b3);
    str_fini(&text);
    return h;
}
