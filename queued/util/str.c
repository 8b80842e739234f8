/* SPDX-License-Identifier: Apache-2.0 */
/* str.c - a growing string and checks on names and text.
 *
 * Character classes are spelled out: the locale never changes what a valid name is.
 */
#include "util/str.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

static void make_room(struct str *b, size_t more)
{
    size_t want = b->len + more + 1;

    if (want <= b->room)
        return;
    b->room = want < 64 ? 64 : want * 2;
    b->s = xrealloc(b->s, b->room);
}

char *str_grow(struct str *b, size_t len)
{
    char *p;

    make_room(b, len);
    p = b->s + b->len;
    b->len += len;
    b->s[b->len] = '\0';
    return p;
}

void str_add_bytes(struct str *b, const void *p, size_t len)
{
    make_room(b, len);
    if (len)
        memcpy(b->s + b->len, p, len);
    b->len += len;
    b->s[b->len] = '\0';
}

void str_add(struct str *b, const char *s)
{
    str_add_bytes(b, s, strlen(s));
}

void str_addf(struct str *b, const char *fmt, ...)
{
    va_list ap, again;
    size_t room;
    int n;

    make_room(b, 64);
    room = b->room - b->len;
    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(b->s + b->len, room, fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n >= room) { /* it did not fit: once more with room for all */
        make_room(b, (size_t)n);
        (void)vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    if (n > 0)
        b->len += (size_t)n;
    b->s[b->len] = '\0';
}

void str_add_u64(struct str *b, uint64_t n)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    str_add_bytes(b, digits + at, sizeof(digits) - at);
}

/* Length of the UTF-8 sequence at s (at most len bytes), 0 when it is malformed. */
static size_t utf8_length(const unsigned char *s, size_t len)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    uint32_t cp;

    if (n == 1)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > len)
        return 0;
    cp = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        cp = cp << 6 | (s[i] & 0x3fu);
    }
    if ((n == 3 && cp < 0x800) || (n == 4 && (cp < 0x10000 || cp > 0x10ffff)) ||
        (cp >= 0xd800 && cp <= 0xdfff))
        return 0;
    return n;
}

/* How many bytes from p on stand for themselves in JSON. */
static size_t plain_length(const unsigned char *p, size_t len)
{
    size_t n = 0;

    while (n < len && p[n] >= 0x20 && p[n] < 0x7f && p[n] != '"' && p[n] != '\\')
        n++;
    return n;
}

/* Characters beyond ASCII that steer terminals, or that YAML does not take as they are: C1, the
 * separators of lines and paragraphs, the byte order mark. */
static uint32_t special_of(const unsigned char *s, size_t n)
{
    uint32_t cp = n == 2   ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu)
                  : n == 3 ? (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu)
                           : 0;
    bool is_special = (cp >= 0x80 && cp < 0xa0) || cp == 0x2028 || cp == 0x2029 || cp == 0xfeff ||
                      cp == 0xfffe || cp == 0xffff;

    return is_special ? cp : 0;
}

void str_add_json(struct str *b, const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t left = strlen(s);

    make_room(b, left + 2);
    str_add(b, "\"");
    while (left) {
        size_t plain = plain_length(p, left);
        size_t n = plain ? plain : utf8_length(p, left);

        if (plain) {
            str_add_bytes(b, p, plain);
        } else if (n == 0) {
            str_add(b, "\\ufffd");
            n = 1;
        } else if (*p == '"' || *p == '\\') {
            str_addf(b, "\\%c", *p);
        } else if (*p < 0x20 || *p == 0x7f) {
            str_addf(b, "\\u%04x", *p);
        } else if (special_of(p, n)) {
            str_addf(b, "\\u%04x", special_of(p, n));
        } else {
            str_add_bytes(b, p, n);
        }
        p += n;
        left -= n;
    }
    str_add(b, "\"");
}

const char *str_text(const struct str *b)
{
    return b->s ? b->s : "";
}

char *str_take(struct str *b)
{
    char *s = b->s ? b->s : xstrdup("");

    *b = (struct str){0};
    return s;
}

void str_clear(struct str *b)
{
    b->len = 0;
    if (b->s)
        b->s[0] = '\0';
}

void str_fini(struct str *b)
{
    free(b->s);
    *b = (struct str){0};
}

bool str_copy(char *dst, size_t size, const char *src)
{
    size_t len = strlen(src);
    size_t n = len < size ? len : size - 1;

    memcpy(dst, src, n);
    dst[n] = '\0';
    return len < size;
}

bool str_join(char *dst, size_t size, const char *a, char sep, const char *b)
{
    size_t len = strlen(a);

    if (len + 1 >= size) {
        (void)str_copy(dst, size, a);
        return false;
    }
    memcpy(dst, a, len); /* NOLINT(bugprone-not-null-terminated-result): more follows */
    dst[len] = sep;
    return str_copy(dst + len + 1, size - len - 1, b);
}

static bool is_label_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

bool str_is_dns_label(const char *s, size_t max, bool must_begin_alpha)
{
    size_t len = strlen(s);

    if (len == 0 || len > max || s[0] == '-' || s[len - 1] == '-')
        return false;
    if (must_begin_alpha && !(s[0] >= 'a' && s[0] <= 'z'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_label_char(s[i]))
            return false;
    return true;
}

bool str_is_dns_subdomain(const char *s)
{
    size_t len = strlen(s);

    if (len == 0 || len > 253)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool edge = i == 0 || i == len - 1 || s[i - 1] == '.' || s[i + 1] == '.';

        if (s[i] == '.' ? edge : !is_label_char(s[i]) || (s[i] == '-' && edge))
            return false;
    }
    return true;
}

/* Eight bytes of printable ASCII, judged at once: a byte below 0x20 borrows into its highest bit,
 * 0x7f carries into it, and one above has it. */
static bool is_plain(const unsigned char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return !((v | (v - 0x2020202020202020) | (v + 0x0101010101010101)) & 0x8080808080808080);
}

bool str_is_clean_utf8(const char *s, size_t len)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + len;

    while (p < end) {
        size_t n;

        while (end - p >= 8 && is_plain(p)) /* nearly all text is this */
            p += 8;
        while (p < end && *p >= 0x20 && *p < 0x7f)
            p++;
        if (p == end)
            break;
        n = utf8_length(p, (size_t)(end - p));
        if (n == 0 || (*p < 0x20 && *p != '\t' && *p != '\n') || *p == 0x7f)
            return false;
        p += n;
    }
    return true;
}

void str_make_line(char *s)
{
    unsigned char *p = (unsigned char *)s;
    size_t left = strlen(s);

    while (left) {
        size_t want = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc2 ? 2 : 1;
        size_t n = utf8_length(p, left);

        if (n == 0 && want > left) {
            *p = '\0';
            return;
        }
        if (n == 0 || (n == 1 && (*p < 0x20 || *p == 0x7f)) || special_of(p, n))
            memset(p, ' ', n ? n : 1);
        p += n ? n : 1;
        left -= n ? n : 1;
    }
}

enum { NEAR_MAX = 64 };

static size_t edit_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    size_t row[NEAR_MAX + 1];

    if (la > NEAR_MAX || lb > NEAR_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

const char *str_nearest(const char *s, const char *const *words, size_t n)
{
    size_t best = strlen(s) / 3 + 2; /* further away is no suggestion */
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        size_t d = edit_distance(s, words[i]);

        if (d < best) {
            best = d;
            found = words[i];
        }
    }
    return found;
}
