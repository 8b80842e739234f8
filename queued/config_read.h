/* SPDX-License-Identifier: Apache-2.0 */
/* config_read.h - what the files of the configuration reader share: readers of single values, the
 * schema tables by section, and the state of one reading. Nobody else includes it.
 */
#ifndef QUEUED_CONFIG_READ_H
#define QUEUED_CONFIG_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "util/yaml.h"

#define NOT_YET "is not acted on by this version; remove it"

/* One reading of a file. Tenants, users and pools name things of other sections, so their nodes are
 * kept until the rest has been read, whatever the order in the file. */
struct config_reading {
    struct config *c;
    const struct yaml_doc *doc;
    const struct yaml_node *tenants; /* NULL: none */
    const struct yaml_node *users;
    const struct yaml_node *pools;
};

/* A list of texts that goes into an array of fixed-width texts. */
struct text_list {
    char *first; /* of max texts of size bytes each */
    size_t size;
    uint32_t max;
    uint32_t *n; /* starts at 0 */
    bool (*is_good)(const char *s);
    const char *form; /* what a good one looks like: "a DNS label (a-z, 0-9, -)" */
};

/* A part of the schema: the keys of one map, under its path ("tenants[].userLimits"). */
struct config_section {
    const char *path;
    const struct yaml_field *fields;
    size_t n;
};

/* Of the other files; each list ends with a path of NULL. */
extern const struct config_section config_level_sections[];
extern const struct config_section config_name_sections[];
extern const struct config_section config_tenant_sections[];
extern const struct config_section config_window_sections[];
extern const struct config_section config_pool_sections[];

/* All the keys of the schema, one after the other: the path of key i, and whether this version
 * refuses it. false: there are no more. */
bool config_key(size_t i, char *buf, size_t size, bool *ret_is_refused);

const char *config_role_word(enum config_role role);
bool is_label(const char *s);     /* a DNS label of at most LABEL_MAX */
bool is_label_key(const char *s); /* prefix/name, at most LABEL_KEY_MAX */

int config_read_list(const struct yaml_at *at, struct text_list *list, struct err *err);
/* Text of at most size - 1 bytes into dst; is_good and form as in struct text_list. */
int config_read_text(const struct yaml_at *at, char *dst, struct text_list *form, struct err *err);
int config_read_duration(const struct yaml_at *at, void *out, struct err *err); /* usec_t, >= 1 s */
int config_read_bool(const struct yaml_at *at, void *out, struct err *err);
int config_read_path(const struct yaml_at *at, void *out, struct err *err);  /* CONFIG_PATH_MAX */
int config_read_user(const struct yaml_at *at, void *out, struct err *err);  /* USER_NAME_MAX */
int config_read_label(const struct yaml_at *at, void *out, struct err *err); /* LABEL_MAX */

/* Whole sections. out: struct config_reading. */
int config_read_levels(const struct yaml_at *at, void *out, struct err *err);
int config_read_models(const struct yaml_at *at, void *out, struct err *err);
int config_read_resources(const struct yaml_at *at, void *out, struct err *err);
int config_read_licences(const struct yaml_at *at, void *out, struct err *err);
int config_read_classes(const struct yaml_at *at, void *out, struct err *err);

int config_read_offset(const struct yaml_at *at, void *out, struct err *err); /* minutes */
/* Parts of a tenant. GPUs by model; those that are not named stay. */
int config_read_amounts(const struct yaml_at *at, const struct settings *s,
                        struct model_amounts *amounts, struct err *err);
int config_read_windows(const struct yaml_at *at, const struct settings *s,
                        struct tenant_setting *t, struct err *err);
const char *config_day_word(int day);

/* The second pass, over what was kept. */
int config_read_tenants(struct config_reading *r, struct err *err);
int config_read_pools(struct config_reading *r, struct err *err);

#endif
