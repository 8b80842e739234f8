/* SPDX-License-Identifier: Apache-2.0 */
/* mem.h - allocation that cannot fail: running out of memory ends the process.
 *
 * Limits (spec/limits.h) keep sizes bounded; nobody passes an unchecked size from outside.
 */
#ifndef QUEUED_UTIL_MEM_H
#define QUEUED_UTIL_MEM_H

#include <stddef.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
void *xmemdup(const void *p, size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
