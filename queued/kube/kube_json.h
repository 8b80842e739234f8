/* SPDX-License-Identifier: Apache-2.0 */
/* kube_json.h - safe reads from a parsed JSON object, and objects in a page or a stream.
 *
 * Whatever is missing or of another type reads as "" or as nothing: bytes from outside are never
 * trusted. A list is never parsed as a whole: its items are cut out of the text one by one.
 */
#ifndef QUEUED_KUBE_KUBE_JSON_H
#define QUEUED_KUBE_KUBE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/err.h"
#include "util/str.h"

enum { RV_MAX = 39, FRAME_LINE_MAX = 8 * 1024 * 1024 };

/* NULL when o is no object or has no such key. Keys are case-sensitive. */
const cJSON *json_get(const cJSON *o, const char *key);
/* The same over several keys, "metadata.uid". */
const cJSON *json_path(const cJSON *o, const char *path);
const char *json_text(const cJSON *o, const char *path);
bool json_is_true(const cJSON *o, const char *path);
/* Number of a path, or otherwise. */
int json_int(const cJSON *o, const char *path, int otherwise);

/* The text at a path in an object of JSON, without building its tree: for one value out of a long
 * answer, of which nothing is read behind it. Of a key that comes twice the first one counts.
 * false: there is no whole string, or one that is empty, has an escape or does not fit into size
 * bytes; buf is then of no use. */
bool json_scan_text(const char *text, size_t len, const char *path, char *buf, size_t size);

/* What a list page says of itself. */
struct json_page {
    char rv[RV_MAX + 1];
    char *next; /* continue token; NULL on the last page. Owned */
    size_t n;   /* items */
};

/* Who takes the items of a page (text, not NUL-terminated); false: the item is no good. */
struct json_sink {
    bool (*item)(void *ctx, const char *p, size_t len);
    void *ctx;
};

/* Cut a list document into its items. -1 INVALID when the document is not complete or no list, or
 * the sink answers false; items that came before that were handed over. */
int json_page_split(const char *text, size_t len, const struct json_sink *sink,
                    struct json_page *ret, struct err *err);

/* Lines of a stream that comes in pieces of any size. Zeroed is empty. */
struct json_frame {
    struct str partial;
};

/* Take a piece; line is called for each whole line (without the newline). false: a line is longer
 * than FRAME_LINE_MAX, or line answered false; the stream is then of no more use. */
bool json_frame_feed(struct json_frame *f, const char *p, size_t len,
                     bool (*line)(void *ctx, const char *p, size_t len), void *ctx);
void json_frame_fini(struct json_frame *f);

#endif
