/* SPDX-License-Identifier: Apache-2.0 */
/* kube_section.c - fields of a kubeconfig by name, with line and column where they are wrong. */
#include "kube/kube_section.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_secret.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"

int section_fail(const struct section *s, const char *key, const char *what)
{
    const struct yaml_node *node = yaml_get(s->map, key);
    char path[2 * SECTION_PATH_MAX];
    struct yaml_at at = {.doc = s->doc, .node = node, .path = path};

    if (!node)
        at.node = s->map ? s->map : s->doc->roots[0];
    (void)snprintf(path, sizeof(path), "%s%s%s", s->path, s->path[0] ? "." : "", key);
    return yaml_fail(&at, s->err, "%s", what);
}

/* The value of a key, NULL where it is missing or null. */
static const struct yaml_node *value_of(const struct section *s, const char *key)
{
    const struct yaml_node *n = yaml_get(s->map, key);

    return n && n->kind != YAML_NULL ? n : NULL;
}

int section_text(const struct section *s, const char *key, const char **ret)
{
    const struct yaml_node *n = value_of(s, key);

    *ret = NULL;
    if (n && n->kind != YAML_SCALAR)
        return section_fail(s, key, "must be one text");
    if (n && n->text[0])
        *ret = n->text;
    return 0;
}

int section_bool(const struct section *s, const char *key, bool *ret)
{
    const struct yaml_node *n = value_of(s, key);

    *ret = n && n->kind == YAML_SCALAR && !strcmp(n->text, "true");
    if (n && !*ret && (n->kind != YAML_SCALAR || strcmp(n->text, "false") != 0))
        return section_fail(s, key, "must be true or false");
    return 0;
}

static void enter(const struct section *s, const char *key, const struct yaml_node *map,
                  struct section *ret)
{
    struct section child = *s;

    child.map = map;
    (void)snprintf(child.path, sizeof(child.path), "%.*s%s%s", SECTION_PATH_MAX / 2, s->path,
                   s->path[0] ? "." : "", key); /* a cut path still tells */
    *ret = child;
}

int section_map(const struct section *s, const char *key, struct section *ret)
{
    const struct yaml_node *n = value_of(s, key);

    if (n && n->kind != YAML_MAP)
        return section_fail(s, key, "must be a map");
    enter(s, key, n, ret);
    return 0;
}

int section_list(const struct section *s, const char *key, const char *prefix,
                 struct kube_words *words)
{
    const struct yaml_node *n = value_of(s, key);

    if (n && n->kind != YAML_LIST)
        return section_fail(s, key, "must be a list of texts");
    for (size_t i = 0; n && i < n->n; i++) {
        if (n->items[i]->kind != YAML_SCALAR)
            return section_fail(s, key, "must be a list of texts");
        *vec_push(words) = xasprintf("%s%s", prefix, n->items[i]->text);
    }
    return 0;
}

int section_named(const struct section *s, const char *list, const char *what, const char *name,
                  struct section *ret)
{
    const struct yaml_node *items = value_of(s, list);

    if (items && items->kind != YAML_LIST)
        return section_fail(s, list, "must be a list");
    for (size_t i = 0; items && i < items->n; i++) {
        struct section entry;
        const char *have;
        char key[SECTION_PATH_MAX];

        (void)snprintf(key, sizeof(key), "%s[%zu]", list, i);
        if (items->items[i]->kind != YAML_MAP)
            continue;
        enter(s, key, items->items[i], &entry);
        if (section_text(&entry, "name", &have))
            return -1;
        if (have && !strcmp(have, name))
            return section_map(&entry, what, ret);
    }
    return section_fail(s, list, "has no entry of the name that the context asks for");
}

char *section_file(const struct section *s, const char *path)
{
    return path[0] == '/' ? xstrdup(path) : xasprintf("%s%s", s->dir, path);
}

void kube_words_fini(struct kube_words *w)
{
    for (size_t i = 0; i < w->n; i++)
        secret_free(w->v[i]);
    vec_fini(w);
}
