/* SPDX-License-Identifier: Apache-2.0 */
/* si_util.c - memory, growing text, clocks, ids and small encodings of the stand-in API server.
 *
 * Plain helpers; nothing here keeps state between calls.
 */
#include "si_util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void *xmalloc(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);
    if (p == NULL) {
        abort();
    }
    return p;
}

void *xcalloc(size_t count, size_t bytes)
{
    void *p = calloc(count > 0 ? count : 1, bytes);
    if (p == NULL) {
        abort();
    }
    return p;
}

void *xrealloc(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (p == NULL) {
        abort();
    }
    return p;
}

char *xstrdup(const char *text)
{
    size_t len = strlen(text) + 1;
    return memcpy(xmalloc(len), text, len);
}

static void reserve(struct strbuf *b, size_t more)
{
    if (b->len + more + 1 <= b->cap) {
        return;
    }
    size_t cap = b->cap > 0 ? b->cap : 256;
    while (cap < b->len + more + 1) {
        cap *= 2;
    }
    b->data = xrealloc(b->data, cap);
    b->cap = cap;
}

void strbuf_add(struct strbuf *b, const void *data, size_t len)
{
    reserve(b, len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void strbuf_puts(struct strbuf *b, const char *text)
{
    strbuf_add(b, text, strlen(text));
}

void strbuf_printf(struct strbuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        abort();
    }
    reserve(b, (size_t)len);
    va_start(args, format);
    (void)vsnprintf(b->data + b->len, (size_t)len + 1, format, args); /* measured above */
    va_end(args);
    b->len += (size_t)len;
}

void strbuf_quote(struct strbuf *b, const char *text)
{
    strbuf_puts(b, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\') {
            strbuf_printf(b, "\\%c", c);
        } else if (c == '\n') {
            strbuf_puts(b, "\\n");
        } else if (c < 0x20) {
            strbuf_printf(b, "\\u%04x", c);
        } else {
            strbuf_add(b, p, 1);
        }
    }
    strbuf_puts(b, "\"");
}

void strbuf_fini(struct strbuf *b)
{
    free(b->data);
    *b = (struct strbuf){0};
}

static uint64_t clock_us(clockid_t id)
{
    struct timespec t = {0};
    (void)clock_gettime(id, &t); /* cannot fail for these clocks */
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t clock_mono_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

uint64_t clock_wall_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

void time_print(char out[TIME_SIZE], uint64_t wall_us)
{
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm); /* fails only for years beyond int */
    (void)strftime(out, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void uuid_make(char out[UUID_SIZE])
{
    unsigned char b[16] = {0};
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b)) {
        abort();
    }
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    char *p = out;
    for (size_t i = 0; i < sizeof(b); i++) {
        p += sprintf(p, "%02x", b[i]);
        if (i == 3 || i == 5 || i == 7 || i == 9) {
            *p++ = '-';
        }
    }
}

int duration_parse(const char *text, uint64_t *ret_us)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"ms", 1e3}, {"us", 1.0}, {"s", 1e6}, {"m", 60e6}, {"h", 3600e6}};
    double total = 0;
    if (*text == '\0') {
        return -1;
    }
    while (*text != '\0') {
        char *end = NULL;
        double value = strtod(text, &end);
        if (end == text || value < 0) {
            return -1;
        }
        size_t u = 0;
        while (u < 5 && strncmp(end, units[u].name, strlen(units[u].name)) != 0) {
            u++;
        }
        if (u == 5) {
            return -1;
        }
        total += value * units[u].us;
        text = end + strlen(units[u].name);
    }
    *ret_us = (uint64_t)total;
    return 0;
}

int number_parse(const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (*text == '\0') {
        return -1;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10) {
            return -1;
        }
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *ret_value = value;
    return 0;
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char *base64_encode(const char *data, size_t len)
{
    char *out = xmalloc(len / 3 * 4 + 8);
    char *p = out;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t v = (uint32_t)(unsigned char)data[i] << 16;
        v |= left > 1 ? (uint32_t)(unsigned char)data[i + 1] << 8 : 0;
        v |= left > 2 ? (uint32_t)(unsigned char)data[i + 2] : 0;
        size_t digits = left > 2 ? 4 : left + 1;
        for (size_t d = 0; d < digits; d++) {
            *p++ = base64_digits[v >> (18 - 6 * d) & 63];
        }
    }
    *p = '\0';
    return out;
}

char *base64_decode(const char *text, size_t *ret_len)
{
    char *out = xmalloc(strlen(text) + 1);
    size_t len = 0;
    uint32_t bits = 0;
    unsigned count = 0;
    for (; *text != '\0' && *text != '='; text++) {
        const char *digit = strchr(base64_digits, *text);
        if (digit == NULL) {
            free(out);
            return NULL;
        }
        bits = bits << 6 | (uint32_t)(digit - base64_digits);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[len++] = (char)(bits >> count & 0xff);
        }
    }
    out[len] = '\0';
    *ret_len = len;
    return out;
}

char *file_read(const char *path, size_t *ret_len)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    struct strbuf b = {0};
    char part[65536];
    size_t got = fread(part, 1, sizeof(part), f);
    while (got > 0) {
        strbuf_add(&b, part, got);
        got = fread(part, 1, sizeof(part), f);
    }
    int failed = ferror(f);
    (void)fclose(f); /* only read from */
    if (failed != 0) {
        strbuf_fini(&b);
        errno = EIO;
        return NULL;
    }
    strbuf_add(&b, "", 0);
    *ret_len = b.len;
    return b.data;
}

int file_write(const char *path, const char *data, size_t len)
{
    struct strbuf temporary = {0};
    strbuf_printf(&temporary, "%s.tmp", path);
    FILE *f = fopen(temporary.data, "wb");
    int result = -1;
    if (f != NULL) {
        size_t put = fwrite(data, 1, len, f);
        int closed = fclose(f);
        if (put == len && closed == 0) {
            result = rename(temporary.data, path);
        }
    }
    strbuf_fini(&temporary);
    return result;
}
