/* SPDX-License-Identifier: Apache-2.0 */
/* spec_set.c - "--set spec.roles[0].replicas=3" on the tree of a job file, before it is read.
 *
 * The new value is then checked like any other; its errors name the command line.
 */
#include <stdlib.h>
#include <string.h>

#include "spec_yaml.h"
#include "util/mem.h"
#include "util/parse.h"

enum { STEP_MAX = 128 };

static int fail_form(const char *assignment, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "--set %.80s: write PATH=VALUE, like spec.maxRuntime=2h or "
                   "spec.roles[0].replicas=4",
                   assignment);
}

static struct yaml_node *new_node(struct yaml_doc *doc, enum yaml_kind kind, const char *text)
{
    struct yaml_node *n = arena_alloc(&doc->arena, sizeof(*n)); /* line 0: the command line */

    n->kind = kind;
    n->text = text;
    return n;
}

/* The slot of a key in a map, which is made when it is missing. */
static struct yaml_node **map_slot(struct yaml_doc *doc, struct yaml_node *map, const char *key)
{
    struct yaml_node **items, **keys;

    for (size_t i = 0; i < map->n; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return &map->items[i];
    items = arena_alloc(&doc->arena, (map->n + 1) * sizeof(struct yaml_node *));
    keys = arena_alloc(&doc->arena, (map->n + 1) * sizeof(struct yaml_node *));
    if (map->n) {
        memcpy(items, map->items, map->n * sizeof(struct yaml_node *));
        memcpy(keys, map->keys, map->n * sizeof(struct yaml_node *));
    }
    keys[map->n] = new_node(doc, YAML_SCALAR, arena_strdup(&doc->arena, key));
    items[map->n] = new_node(doc, YAML_NULL, NULL);
    map->items = items;
    map->keys = keys;
    return &map->items[map->n++];
}

/* One step of a path: "name", ".name", "[3]" or ["a.b/c"]. Returns what follows, NULL when it is
 * malformed. */
static const char *read_step(const char *p, char step[STEP_MAX], bool *ret_is_index)
{
    const char *end;
    size_t len;

    if (*p == '[' && p[1] == '"') {
        p += 2;
        end = strstr(p, "\"]");
        len = end ? (size_t)(end - p) : 0;
        end = end ? end + 2 : NULL;
        *ret_is_index = false;
    } else if (*p == '[') {
        p++;
        len = strspn(p, "0123456789");
        end = p[len] == ']' ? p + len + 1 : NULL;
        *ret_is_index = true;
    } else {
        p += *p == '.';
        len = strcspn(p, ".[");
        end = p + len;
        *ret_is_index = false;
    }
    if (!end || len == 0 || len >= STEP_MAX)
        return NULL;
    memcpy(step, p, len);
    step[len] = '\0';
    return end;
}

static struct yaml_node **list_slot(struct yaml_node *list, const char *step)
{
    uint64_t i;

    if (list->kind != YAML_LIST || list->n == 0 || parse_u64(step, 0, list->n - 1, &i, NULL))
        return NULL;
    return &list->items[i];
}

static int set_one(struct yaml_doc *doc, struct yaml_node **slot, const char *path,
                   const char *value, struct err *err)
{
    const char *p = path;
    char step[STEP_MAX];
    bool is_index;

    while (*p) {
        p = read_step(p, step, &is_index);
        if (!p)
            return fail_form(path, err);
        if (!is_index && (*slot)->kind == YAML_NULL)
            *slot = new_node(doc, YAML_MAP, NULL);
        if (is_index)
            slot = list_slot(*slot, step);
        else
            slot = (*slot)->kind == YAML_MAP ? map_slot(doc, *slot, step) : NULL;
        if (!slot)
            return err_set(err, ERR_INVALID, "--set %.80s: there is no \"%.40s\" in %s", path, step,
                           doc->file);
    }
    *slot = new_node(doc, *value ? YAML_SCALAR : YAML_NULL, arena_strdup(&doc->arena, value));
    return 0;
}

int spec_set(struct yaml_doc *doc, const char *assignment, struct err *err)
{
    const char *equals = strchr(assignment, '=');
    const char *path;

    if (!equals || equals == assignment)
        return fail_form(assignment, err);
    path = arena_strndup(&doc->arena, assignment, (size_t)(equals - assignment));
    for (size_t i = 0; i < doc->n; i++)
        if (doc->roots[i]->kind != YAML_NULL && set_one(doc, &doc->roots[i], path, equals + 1, err))
            return -1;
    return 0;
}
