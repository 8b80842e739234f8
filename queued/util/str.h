/* SPDX-License-Identifier: Apache-2.0 */
/* str.h - a growing string, and the few string helpers that libc lacks.
 *
 * struct str: zeroed is empty; s is NUL-terminated once something was added (NULL before;
 * str_text() never returns NULL). str_take() hands the memory to the caller.
 */
#ifndef QUEUED_UTIL_STR_H
#define QUEUED_UTIL_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    char *s;
    size_t len;
    size_t room;
};

void str_add(struct str *b, const char *s);
void str_add_bytes(struct str *b, const void *p, size_t len);
/* Room for len bytes more, to be filled in by the caller; valid until the next change. */
char *str_grow(struct str *b, size_t len);
void str_addf(struct str *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_add_u64(struct str *b, uint64_t n); /* in decimal */
/* s as a JSON string with its quotes; invalid UTF-8 and control characters are escaped. */
void str_add_json(struct str *b, const char *s);
const char *str_text(const struct str *b);
/* The string, which the caller frees; b is empty again. Never NULL. */
char *str_take(struct str *b);
void str_clear(struct str *b); /* empty, memory kept */
void str_fini(struct str *b);

/* Copy into a fixed array, cutting; returns false when it was cut. */
bool str_copy(char *dst, size_t size, const char *src);
/* a, sep and b one after the other into a fixed array; false when cut. */
bool str_join(char *dst, size_t size, const char *a, char sep, const char *b);
/* A DNS-1123 label of at most max characters; must_begin_alpha: first is a letter. */
bool str_is_dns_label(const char *s, size_t max, bool must_begin_alpha);
/* A DNS-1123 subdomain of at most 253 characters (node names). */
bool str_is_dns_subdomain(const char *s);
/* Well-formed UTF-8 without NUL and other control characters but \t and \n. */
bool str_is_clean_utf8(const char *s, size_t len);
/* Make one clean line of a text that others wrote: control characters, separators of lines and what
 * is no UTF-8 become blanks; half a character at the end goes. */
void str_make_line(char *s);
/* The entry of words[0..n) nearest to s by edit distance, or NULL when none is near. */
const char *str_nearest(const char *s, const char *const *words, size_t n);

#endif
