/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h - one YAML reader for job files, configuration and kubeconfigs.
 *
 * Reads a YAML 1.2 subset (JSON is part of it) with libyaml into a small tree in which every node
 * knows its line and column; anchors, aliases, merge keys, tags and duplicate keys are errors.
 * Over the tree, yaml_walk() drives a schema table: unknown keys are errors with a suggestion.
 * Errors read "FILE:LINE:COLUMN: path: what, what to do".
 */
#ifndef QUEUED_UTIL_YAML_H
#define QUEUED_UTIL_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/err.h"

enum yaml_kind { YAML_NULL, YAML_SCALAR, YAML_LIST, YAML_MAP };

enum { YAML_DEPTH_MAX = 32, YAML_NODES_MAX = 100000, YAML_BYTES_MAX = 4 * 1024 * 1024 };

struct yaml_node {
    enum yaml_kind kind;
    bool is_quoted;           /* scalar in quotes: a string, never a number or null */
    const char *text;         /* scalar */
    size_t line, column;      /* 1..; line 0: not of the file but of the command line */
    size_t n;                 /* children of a list or map */
    struct yaml_node **items; /* list items, or map values */
    struct yaml_node **keys;  /* map keys, scalars; NULL for a list */
};

struct yaml_doc {
    struct arena arena;
    const char *file; /* for errors; "-" is shown as "stdin" */
    size_t n;         /* documents */
    struct yaml_node **roots;
};

/* Parse all documents of a text. -1 INVALID; *ret untouched. */
int yaml_parse(struct yaml_doc **ret, const char *file, const char *text, size_t len,
               struct err *err);
/* The same from a file ("-": standard input). -1 NOT_FOUND, DENIED or INVALID. */
int yaml_parse_file(struct yaml_doc **ret, const char *path, struct err *err);
void yaml_destroy(struct yaml_doc *d);

/* Value of a key of a map, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* A position in the tree with its path ("spec.roles[0].gpus"), for errors and handlers. */
struct yaml_at {
    const struct yaml_doc *doc;
    const struct yaml_node *node;
    const char *path;
};

/* One row of a schema: what to do with a key of a map. An empty value (null) is: not given. */
struct yaml_field {
    const char *key;
    /* Reads at->node into out. NULL: a key that is known and ignored. */
    int (*read)(const struct yaml_at *at, void *out, struct err *err);
    size_t offset; /* added to out */
    bool is_required;
    const char *refusal; /* not NULL: this key is refused with this sentence */
};

/* Read a map over a table of fields; a key that is not in it is an error. */
int yaml_walk(const struct yaml_at *at, const struct yaml_field *fields, size_t n, void *out,
              struct err *err);
/* Call read for each item of a list / each value of a map (key given) with its own path. */
int yaml_each(const struct yaml_at *at,
              int (*read)(const struct yaml_at *item, const char *key, void *out, struct err *err),
              void *out, struct err *err);
/* INVALID at this position. Returns -1. */
int yaml_fail(const struct yaml_at *at, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Scalars; fail with the path where the node is something else. *ret points into the tree. */
int yaml_string(const struct yaml_at *at, const char **ret, struct err *err);
int yaml_bool(const struct yaml_at *at, bool *ret, struct err *err); /* true, false only */
int yaml_u64(const struct yaml_at *at, uint64_t min, uint64_t max, uint64_t *ret, struct err *err);

#endif
