/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - allocation that cannot fail.
 *
 * A process without memory cannot even report it well: it aborts, and the store has
 * everything that was promised.
 */
#include "util/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (!p)
        abort();
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);

    if (!p)
        abort();
    return p;
}

void *xrealloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);

    if (!q)
        abort();
    return q;
}

void *xmemdup(const void *p, size_t size)
{
    void *q = xmalloc(size);

    if (size)
        memcpy(q, p, size);
    return q;
}

char *xstrdup(const char *s)
{
    return xmemdup(s, strlen(s) + 1);
}

char *xasprintf(const char *fmt, ...)
{
    char *s = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&s, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    return s;
}
