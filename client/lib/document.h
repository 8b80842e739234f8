/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - a small tree of values that is printed as JSON or as YAML: one builder, so that
 * both say the same.
 *
 * Nodes live in an arena; strings are borrowed and must outlive the tree. Absent means unknown:
 * the document_put_* functions leave out what is not known instead of writing null.
 */
#ifndef QUEUED_CLIENT_DOCUMENT_H
#define QUEUED_CLIENT_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/arena.h"
#include "util/str.h"

struct document;

struct document *document_map(struct arena *a);
struct document *document_list(struct arena *a);
struct document *document_text(struct arena *a, const char *s);
struct document *document_int(struct arena *a, int64_t v);

/* Append to a list. */
void document_add(struct arena *a, struct document *list, struct document *value);
/* Append a key to a map; keys are not compared. value NULL: nothing. */
void document_put(struct arena *a, struct document *map, const char *key, struct document *value);
void document_put_text(struct arena *a, struct document *map, const char *key, const char *s);
void document_put_int(struct arena *a, struct document *map, const char *key, int64_t v);
void document_put_bool(struct arena *a, struct document *map, const char *key, bool v);
/* RFC 3339 of microseconds; 0 is unknown. */
void document_put_time(struct arena *a, struct document *map, const char *key, int64_t usec);
/* A new map or list under a key. */
struct document *document_put_map(struct arena *a, struct document *map, const char *key);
struct document *document_put_list(struct arena *a, struct document *map, const char *key);
bool document_is_empty(const struct document *d);

/* The value of a key; NULL: it has none, or d is no map. */
const struct document *document_get(const struct document *d, const char *key);
/* The first of a map or list, and the one after it; NULL: none. */
const struct document *document_first(const struct document *d);
const struct document *document_next(const struct document *d);
bool document_is_list(const struct document *d);
/* Text as it is, everything else as one line of JSON; no newline. */
void document_value(struct str *out, const struct document *d);

/* Indented by two, with a newline at the end; in one line when is_compact. */
void document_json(struct str *out, const struct document *d, bool is_compact);
void document_yaml(struct str *out, const struct document *d);

#endif
