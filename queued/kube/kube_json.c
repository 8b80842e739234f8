/* SPDX-License-Identifier: Apache-2.0 */
/* kube_json.c - lax reads from cJSON trees, the item scanner of lists and the line framing.
 *
 * The scanner knows only strings and brackets, so it is fast; whether an item is JSON is decided
 * when the item is parsed. JSON escapes newlines in strings, so a raw newline ends an event.
 */
#include "kube/kube_json.h"

#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

const cJSON *json_get(const cJSON *o, const char *key)
{
    return o ? cJSON_GetObjectItemCaseSensitive(o, key) : NULL;
}

const cJSON *json_path(const cJSON *o, const char *path)
{
    while (o && *path) {
        char key[64];
        size_t n = strcspn(path, ".");

        if (n >= sizeof(key))
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        o = json_get(o, key);
        path += n + (path[n] == '.');
    }
    return o;
}

const char *json_text(const cJSON *o, const char *path)
{
    const cJSON *found = json_path(o, path);

    return cJSON_IsString(found) && found->valuestring ? found->valuestring : "";
}

bool json_is_true(const cJSON *o, const char *path)
{
    return cJSON_IsTrue(json_path(o, path));
}

int json_int(const cJSON *o, const char *path, int otherwise)
{
    const cJSON *found = json_path(o, path);

    return cJSON_IsNumber(found) ? found->valueint : otherwise;
}

/* ---- the scanner */

struct scan {
    const char *p, *end;
};

static void skip_blanks(struct scan *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
        s->p++;
}

static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->p >= s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

/* Past a string that begins at p; false: it has no end. */
static bool skip_string(struct scan *s)
{
    for (s->p++; s->p < s->end; s->p++) {
        if (*s->p == '"') {
            s->p++;
            return true;
        }
        if (*s->p == '\\' && ++s->p == s->end)
            break;
    }
    return false;
}

/* Past one value of any kind; false: the text ends inside it. */
static bool skip_value(struct scan *s)
{
    size_t depth = 0;

    skip_blanks(s);
    while (s->p < s->end) {
        char c = *s->p;

        if (c == '"') {
            if (!skip_string(s))
                return false;
        } else if (c == '{' || c == '[') {
            depth++;
            s->p++;
        } else if (c == '}' || c == ']') {
            if (!depth)
                return true; /* the closing bracket of what is around */
            depth--;
            s->p++;
        } else if (c == ',' && !depth) {
            return true;
        } else {
            s->p++;
            continue;
        }
        if (!depth)
            return true;
    }
    return false;
}

/* Past a key and its colon. */
static bool take_key(struct scan *s, const char **ret_key, size_t *ret_len)
{
    skip_blanks(s);
    *ret_key = s->p + 1;
    if (s->p >= s->end || *s->p != '"' || !skip_string(s))
        return false;
    *ret_len = (size_t)(s->p - 1 - *ret_key);
    return take(s, ':');
}

/* Past a string; it is copied to buf. */
static bool take_plain(struct scan *s, char *buf, size_t size)
{
    const char *begin;
    size_t len;

    skip_blanks(s);
    begin = s->p + 1;
    if (s->p >= s->end || *s->p != '"' || !skip_string(s))
        return false;
    len = (size_t)(s->p - 1 - begin);
    if (!len || len >= size || memchr(begin, '\\', len))
        return false;
    memcpy(buf, begin, len);
    buf[len] = '\0';
    return true;
}

bool json_scan_text(const char *text, size_t len, const char *path, char *buf, size_t size)
{
    struct scan s = {.p = text, .end = text + len};
    const char *want = path, *key;
    size_t want_len = strcspn(path, "."), key_len;

    if (!take(&s, '{'))
        return false;
    while (take_key(&s, &key, &key_len)) {
        if (key_len != want_len || memcmp(key, want, key_len) != 0) {
            if (!skip_value(&s) || !take(&s, ','))
                return false;
        } else if (!want[want_len]) {
            return take_plain(&s, buf, size);
        } else if (take(&s, '{')) {
            want += want_len + 1;
            want_len = strcspn(want, ".");
        } else {
            return false;
        }
    }
    return false;
}

static int read_meta(const char *p, size_t len, struct json_page *page, struct err *err)
{
    cJSON *meta = cJSON_ParseWithLength(p, len);
    const char *next = json_text(meta, "continue");
    int rc = 0;

    if (!cJSON_IsObject(meta) ||
        !str_copy(page->rv, sizeof(page->rv), json_text(meta, "resourceVersion")))
        rc = err_set(err, ERR_INVALID, "the metadata of the list cannot be read");
    else if (next[0] && !page->next)
        page->next = xstrdup(next);
    cJSON_Delete(meta);
    return rc;
}

static int cut_items(struct scan *s, const struct json_sink *sink, struct json_page *page,
                     struct err *err)
{
    if (!take(s, '['))
        return take(s, 'n') ? (s->p--, skip_value(s), 0) /* null: a list without items */
                            : err_set(err, ERR_INVALID, "items is no array");
    if (take(s, ']'))
        return 0;
    do {
        const char *begin;

        skip_blanks(s);
        begin = s->p;
        if (!skip_value(s))
            return err_set(err, ERR_INVALID, "the list breaks off inside an item");
        if (!sink->item(sink->ctx, begin, (size_t)(s->p - begin)))
            return err_set(err, ERR_INVALID, "item %zu of the list is not JSON", page->n);
        page->n++;
    } while (take(s, ','));
    return take(s, ']') ? 0 : err_set(err, ERR_INVALID, "the list breaks off after an item");
}

/* One key of the top level with its value. */
static int cut_member(struct scan *s, const struct json_sink *sink, struct json_page *page,
                      struct err *err)
{
    const char *key, *value;
    size_t key_len;

    skip_blanks(s);
    key = s->p;
    if (s->p >= s->end || *s->p != '"' || !skip_string(s))
        return err_set(err, ERR_INVALID, "the list breaks off inside a key");
    key_len = (size_t)(s->p - key);
    if (!take(s, ':'))
        return err_set(err, ERR_INVALID, "the list breaks off after a key");
    if (key_len == 7 && !memcmp(key, "\"items\"", 7))
        return cut_items(s, sink, page, err);
    skip_blanks(s);
    value = s->p;
    if (!skip_value(s))
        return err_set(err, ERR_INVALID, "the list breaks off");
    if (key_len == 10 && !memcmp(key, "\"metadata\"", 10))
        return read_meta(value, (size_t)(s->p - value), page, err);
    return 0;
}

int json_page_split(const char *text, size_t len, const struct json_sink *sink,
                    struct json_page *ret, struct err *err)
{
    struct scan s = {.p = text, .end = text + len};
    struct json_page page = {0};
    int rc = 0;

    if (!take(&s, '{'))
        rc = err_set(err, ERR_INVALID, "the answer is no list");
    while (!rc) {
        rc = cut_member(&s, sink, &page, err);
        if (rc || !take(&s, ','))
            break;
    }
    if (!rc && !take(&s, '}'))
        rc = err_set(err, ERR_INVALID, "the list has no end");
    skip_blanks(&s);
    if (!rc && (s.p != s.end || !page.rv[0]))
        rc = err_set(err, ERR_INVALID, "the answer is no whole list");
    if (rc)
        free(page.next);
    else
        *ret = page;
    return rc;
}

/* ---- lines */

bool json_frame_feed(struct json_frame *f, const char *p, size_t len,
                     bool (*line)(void *ctx, const char *p, size_t len), void *ctx)
{
    while (len) {
        const char *end = memchr(p, '\n', len);
        size_t n = end ? (size_t)(end - p) : len;
        bool ok = true;

        if (f->partial.len + n > FRAME_LINE_MAX)
            return false;
        if (!end || f->partial.len)
            str_add_bytes(&f->partial, p, n);
        if (!end)
            return true;
        if (f->partial.len)
            ok = line(ctx, f->partial.s, f->partial.len);
        else if (n)
            ok = line(ctx, p, n);
        str_clear(&f->partial);
        if (!ok)
            return false;
        p += n + 1;
        len -= n + 1;
    }
    return true;
}

void json_frame_fini(struct json_frame *f)
{
    str_fini(&f->partial);
}
