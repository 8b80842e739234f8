/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_walk.c - a schema table over a YAML tree: each key goes to its reader, or is an error.
 *
 * Every error carries file, line, column and the path of the field. Keys are read in the order of
 * the file, so that the first error is the topmost one. An empty value (null) is: not given.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/mem.h"
#include "util/parse.h"
#include "util/str.h"
#include "util/yaml.h"

enum { PATH_MAX_BYTES = 512, SUGGEST_MAX = 64, VALUE_SHOWN = 40 };

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    if (!map || map->kind != YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return map->items[i];
    return NULL;
}

int yaml_fail(const struct yaml_at *at, struct err *err, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    const char *path = at->path ? at->path : "";
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap); /* a cut text is still a text */
    va_end(ap);
    if (at->node->line == 0)
        return err_set(err, ERR_INVALID, "command line: %s%s%s", path, *path ? ": " : "", text);
    return err_set(err, ERR_INVALID, "%s:%zu:%zu: %s%s%s", at->doc->file, at->node->line,
                   at->node->column, path, *path ? ": " : "", text);
}

static bool is_plain_key(const char *key)
{
    for (const char *p = key; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
              *p == '-' || *p == '_'))
            return false;
    return *key != '\0';
}

/* "spec" and "maxRuntime" give "spec.maxRuntime"; odd keys give spec["a.b/c"]. */
static void path_of_key(char buf[PATH_MAX_BYTES], const char *path, const char *key)
{
    if (!path)
        path = "";
    if (is_plain_key(key))
        (void)snprintf(buf, PATH_MAX_BYTES, "%s%s%s", path, *path ? "." : "", key);
    else
        (void)snprintf(buf, PATH_MAX_BYTES, "%s[\"%.80s\"]", path, key);
}

static const char *kind_name(const struct yaml_node *n)
{
    return n->kind == YAML_MAP    ? "a map"
           : n->kind == YAML_LIST ? "a list"
           : n->kind == YAML_NULL ? "empty"
                                  : "a single value";
}

static int fail_unknown(const struct yaml_at *map, const struct yaml_node *key,
                        const struct yaml_field *fields, size_t n, struct err *err)
{
    char path[PATH_MAX_BYTES];
    struct yaml_at at = {map->doc, key, path};
    const char *words[SUGGEST_MAX];
    struct str known = {0};
    const char *near;
    size_t m = 0;
    int rc;

    for (size_t i = 0; i < n && m < SUGGEST_MAX; i++) {
        if (fields[i].refusal)
            continue;
        str_addf(&known, "%s%s", m ? ", " : "", fields[i].key);
        words[m++] = fields[i].key;
    }
    path_of_key(path, map->path, key->text);
    near = str_nearest(key->text, words, m);
    if (near)
        rc = yaml_fail(&at, err, "unknown key; did you mean %s?", near);
    else
        rc = yaml_fail(&at, err, "unknown key; known here are: %.300s", str_text(&known));
    str_fini(&known);
    return rc;
}

static const struct yaml_field *find_field(const struct yaml_field *fields, size_t n,
                                           const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].key, key) == 0)
            return &fields[i];
    return NULL;
}

static int read_field(const struct yaml_at *map, size_t i, const struct yaml_field *f, void *out,
                      struct err *err)
{
    char path[PATH_MAX_BYTES];
    struct yaml_at at = {map->doc, map->node->items[i], path};

    path_of_key(path, map->path, f->key);
    if (f->refusal) {
        at.node = map->node->keys[i];
        return yaml_fail(&at, err, "%s", f->refusal);
    }
    if (!f->read || at.node->kind == YAML_NULL)
        return 0;
    return f->read(&at, (char *)out + f->offset, err);
}

int yaml_walk(const struct yaml_at *at, const struct yaml_field *fields, size_t n, void *out,
              struct err *err)
{
    if (at->node->kind != YAML_MAP && at->node->kind != YAML_NULL)
        return yaml_fail(at, err, "expected a map of keys and values, this is %s",
                         kind_name(at->node));
    for (size_t i = 0; i < at->node->n; i++) {
        const struct yaml_field *f = find_field(fields, n, at->node->keys[i]->text);

        if (!f)
            return fail_unknown(at, at->node->keys[i], fields, n, err);
        if (read_field(at, i, f, out, err))
            return -1;
    }
    for (size_t i = 0; i < n; i++) {
        const struct yaml_node *v = yaml_get(at->node, fields[i].key);

        if (fields[i].is_required && (!v || v->kind == YAML_NULL))
            return yaml_fail(at, err, "\"%s\" is missing; add it", fields[i].key);
    }
    return 0;
}

int yaml_each(const struct yaml_at *at,
              int (*read)(const struct yaml_at *item, const char *key, void *out, struct err *err),
              void *out, struct err *err)
{
    char path[PATH_MAX_BYTES];

    if (at->node->kind == YAML_SCALAR)
        return yaml_fail(at, err, "expected a list or a map, this is %s", kind_name(at->node));
    for (size_t i = 0; i < at->node->n; i++) {
        const char *key = at->node->keys ? at->node->keys[i]->text : NULL;
        struct yaml_at item = {at->doc, at->node->items[i], path};

        if (key)
            path_of_key(path, at->path, key);
        else
            (void)snprintf(path, sizeof(path), "%s[%zu]", at->path ? at->path : "", i);
        if (read(&item, key, out, err))
            return -1;
    }
    return 0;
}

int yaml_string(const struct yaml_at *at, const char **ret, struct err *err)
{
    if (at->node->kind != YAML_SCALAR)
        return yaml_fail(at, err, "expected text, this is %s", kind_name(at->node));
    *ret = at->node->text;
    return 0;
}

int yaml_bool(const struct yaml_at *at, bool *ret, struct err *err)
{
    const char *text = at->node->kind == YAML_SCALAR ? at->node->text : "";
    bool is_true = strcmp(text, "true") == 0;

    if (at->node->is_quoted || (!is_true && strcmp(text, "false") != 0))
        return yaml_fail(at, err, "expected true or false, this is %s%s%.*s%s", kind_name(at->node),
                         *text ? " \"" : "", VALUE_SHOWN, text, *text ? "\"" : "");
    *ret = is_true;
    return 0;
}

int yaml_u64(const struct yaml_at *at, uint64_t min, uint64_t max, uint64_t *ret, struct err *err)
{
    struct err why;

    if (at->node->kind != YAML_SCALAR)
        return yaml_fail(at, err, "expected a whole number, this is %s", kind_name(at->node));
    if (at->node->is_quoted)
        return yaml_fail(at, err, "expected a whole number, this is quoted text; drop the quotes");
    if (parse_u64(at->node->text, min, max, ret, &why))
        return yaml_fail(at, err, "%s", why.text);
    return 0;
}
