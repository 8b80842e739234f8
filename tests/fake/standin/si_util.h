/* SPDX-License-Identifier: Apache-2.0 */
/* si_util.h - memory, growing text, clocks, ids and small encodings of the stand-in API server.
 *
 * Knows nothing of Kubernetes but the form of its times and durations. Out of memory ends the
 * process: this is a test program.
 */
#ifndef QUEUED_STANDIN_UTIL_H
#define QUEUED_STANDIN_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UUID_SIZE = 37, TIME_SIZE = 32 };

/* Text that grows; data is NUL-terminated once anything was added, NULL before. */
struct strbuf {
    char *data;
    size_t len; /* bytes without the NUL */
    size_t cap; /* bytes allocated */
};

/* Allocate or end the process. The caller frees. */
void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t bytes);
void *xrealloc(void *old, size_t bytes);
char *xstrdup(const char *text);

/* Append to b. */
void strbuf_add(struct strbuf *b, const void *data, size_t len);
void strbuf_puts(struct strbuf *b, const char *text);
void strbuf_printf(struct strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append text as a JSON string with its quotes. */
void strbuf_quote(struct strbuf *b, const char *text);
/* Free the memory and leave b empty. */
void strbuf_fini(struct strbuf *b);

/* Monotonic clock and wall clock, microseconds. */
uint64_t clock_mono_us(void);
uint64_t clock_wall_us(void);
/* Wall time as RFC3339 with whole seconds, UTC. */
void time_print(char out[TIME_SIZE], uint64_t wall_us);

/* A random version 4 UUID. */
void uuid_make(char out[UUID_SIZE]);

/* A Go duration ("1.5s", "2m", "1h30m", "200ms"). -1 when it is none; *ret_us is then untouched. */
int duration_parse(const char *text, uint64_t *ret_us);

/* Unsigned decimal number of the whole text. -1 when it is none or too large. */
int number_parse(const char *text, uint64_t *ret_value);

/* URL-safe base64 without padding. Both return malloc'd memory; decode returns NULL for bad input
 * and else text with a NUL behind its *ret_len bytes. */
char *base64_encode(const char *data, size_t len);
char *base64_decode(const char *text, size_t *ret_len);

/* Whole file with a NUL behind it; NULL with errno set. The caller frees. */
char *file_read(const char *path, size_t *ret_len);
/* Write a file by a temporary name and a rename. -1 with errno set. */
int file_write(const char *path, const char *data, size_t len);

#endif
