/* SPDX-License-Identifier: Apache-2.0 */
/* config_levels.c - the section levels: hierarchies and their levels, the widest first.
 *
 * Level names are unique over all hierarchies. "host" is implied below the last one of each, and
 * "any" means no level, so neither can be given.
 */
#include <string.h>

#include "config_read.h"
#include "util/mem.h"

enum { COST_MAX = 1000000, COST_DEFAULT = 500 };

static int read_level_labels(const struct yaml_at *at, void *out, struct err *err)
{
    struct level_setting *l = out;

    return config_read_list(at,
                            &(struct text_list){.first = l->labels[0],
                                                .size = sizeof(l->labels[0]),
                                                .max = LEVEL_LABELS_MAX,
                                                .n = &l->n_labels,
                                                .is_good = is_label_key,
                                                .form = "a label key (prefix/name)"},
                            err);
}

static int read_cost(const struct yaml_at *at, void *out, struct err *err)
{
    struct level_setting *l = out;
    uint64_t cost;

    if (yaml_u64(at, 0, COST_MAX, &cost, err))
        return -1;
    l->cost = (uint32_t)cost;
    return 0;
}

static const struct yaml_field level_fields[] = {
    {.key = "name",
     .read = config_read_label,
     .offset = offsetof(struct level_setting, name),
     .is_required = true},
    {.key = "labels", .read = read_level_labels, .is_required = true},
    {.key = "cost", .read = read_cost},
};

/* The costs of the levels that everybody knows hold under their names, too, where none is given. */
static uint32_t default_cost(const char *name)
{
    struct settings s;
    uint32_t h, l;

    settings_defaults(&s);
    if (strcmp(name, "host") != 0 && settings_level(&s, name, &h, &l))
        return s.hierarchies[h].levels[l].cost;
    return COST_DEFAULT;
}

static uint32_t count_levels(const struct settings *s)
{
    uint32_t n = 0;

    for (uint32_t h = 0; h < s->n_hierarchies; h++)
        n += s->hierarchies[h].n_levels;
    return n;
}

static int read_level(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct settings *s = out;
    struct hierarchy_setting *h = &s->hierarchies[s->n_hierarchies - 1];
    struct level_setting level = {.cost = UINT32_MAX};
    uint32_t at_h, at_l;

    (void)key; /* a list has none */
    if (count_levels(s) == LEVELS_MAX)
        return yaml_fail(at, err, "at most %d levels over all hierarchies", LEVELS_MAX);
    if (yaml_walk(at, level_fields, ARRAY_LEN(level_fields), &level, err))
        return -1;
    if (strcmp(level.name, "host") == 0 || strcmp(level.name, "any") == 0)
        return yaml_fail(at, err, "the name \"%s\" has a meaning of its own; take another",
                         level.name);
    if (settings_level(s, level.name, &at_h, &at_l))
        return yaml_fail(at, err,
                         "there is a level \"%s\" already; names are unique over all levels",
                         level.name);
    if (level.n_labels == 0)
        return yaml_fail(at, err, "level \"%s\" needs at least one label key", level.name);
    if (level.cost == UINT32_MAX)
        level.cost = default_cost(level.name);
    h->levels[h->n_levels++] = level;
    return 0;
}

/* out: struct settings, its last hierarchy. */
static int read_hierarchy_levels(const struct yaml_at *at, void *out, struct err *err)
{
    if (at->node->kind != YAML_LIST || at->node->n == 0)
        return yaml_fail(at, err, "expected a list of levels, the widest first");
    return yaml_each(at, read_level, out, err);
}

static int read_hierarchy_name(const struct yaml_at *at, void *out, struct err *err)
{
    struct settings *s = out;
    char *name = s->hierarchies[s->n_hierarchies - 1].name;

    if (config_read_label(at, name, err))
        return -1;
    for (uint32_t h = 0; h + 1 < s->n_hierarchies; h++)
        if (strcmp(s->hierarchies[h].name, name) == 0)
            return yaml_fail(at, err, "there is a hierarchy \"%s\" already; take another name",
                             name);
    return 0;
}

static const struct yaml_field hierarchy_fields[] = {
    {.key = "name", .read = read_hierarchy_name, .is_required = true},
    {.key = "levels", .read = read_hierarchy_levels, .is_required = true},
};

static int read_hierarchy(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct settings *s = out;

    (void)key; /* a list has none */
    if (s->n_hierarchies == HIERARCHIES_MAX)
        return yaml_fail(at, err, "at most %d hierarchies", HIERARCHIES_MAX);
    s->hierarchies[s->n_hierarchies++] = (struct hierarchy_setting){0};
    return yaml_walk(at, hierarchy_fields, ARRAY_LEN(hierarchy_fields), s, err);
}

int config_read_levels(const struct yaml_at *at, void *out, struct err *err)
{
    struct config_reading *r = out;

    if (at->node->kind != YAML_LIST || at->node->n == 0)
        return yaml_fail(at, err, "expected a list of hierarchies, each with a name and levels");
    r->c->settings.n_hierarchies = 0;
    return yaml_each(at, read_hierarchy, &r->c->settings, err);
}

const struct config_section config_level_sections[] = {
    {"levels[]", hierarchy_fields, ARRAY_LEN(hierarchy_fields)},
    {"levels[].levels[]", level_fields, ARRAY_LEN(level_fields)},
    {NULL, NULL, 0},
};
