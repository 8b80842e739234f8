/* SPDX-License-Identifier: Apache-2.0 */
/* print_table.c - text in columns.
 *
 * All cells are kept until the widths are known; the last column is not padded.
 */
#include "print_table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"

struct table {
    const struct table_column *columns;
    size_t n;
    size_t *width;
    struct arena arena;
    VEC(const char *) cells;
};

struct table *table_create(const struct table_column *columns, size_t n)
{
    struct table *t = xcalloc(1, sizeof(*t));

    t->columns = columns;
    t->n = n;
    t->width = xcalloc(n, sizeof(*t->width));
    return t;
}

void table_destroy(struct table *t)
{
    if (!t)
        return;
    vec_fini(&t->cells);
    arena_fini(&t->arena);
    free(t->width);
    free(t);
}

void table_add(struct table *t, const char *text)
{
    *vec_push(&t->cells) = text && *text ? arena_strdup(&t->arena, text) : "-";
}

void table_addf(struct table *t, const char *fmt, ...)
{
    char buf[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(buf, sizeof(buf), fmt, ap); /* a longer cell is cut */
    va_end(ap);
    table_add(t, buf);
}

/* How many characters a text has: bytes of UTF-8 that go on with one are not counted. */
static size_t length(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* How many bytes its first n characters take. */
static size_t bytes_of(const char *s, size_t n)
{
    const char *p = s;

    for (; *p; p++)
        if (((unsigned char)*p & 0xc0) != 0x80 && n-- == 0)
            break;
    return (size_t)(p - s);
}

static void measure(struct table *t, bool has_header)
{
    assert(t->n > 0);
    for (size_t i = 0; i < t->n; i++)
        t->width[i] = has_header ? strlen(t->columns[i].title) : 0;
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t len = length(t->cells.v[i]);

        if (len > t->width[i % t->n])
            t->width[i % t->n] = len;
    }
}

static size_t line_width(const struct table *t)
{
    size_t sum = 0;

    for (size_t i = 0; i < t->n; i++)
        sum += t->width[i] + (i + 1 < t->n ? 2 : 0);
    return sum;
}

/* Cut the last column first, then the others from the left, each down to its least width. */
static void fit(struct table *t, size_t limit)
{
    for (size_t k = 0; k < t->n && line_width(t) > limit; k++) {
        size_t i = k == 0 ? t->n - 1 : k - 1;
        size_t over = line_width(t) - limit;
        size_t min = t->columns[i].min;

        if (t->columns[i].cut == TABLE_WHOLE || t->width[i] <= min)
            continue;
        t->width[i] = t->width[i] - min > over ? t->width[i] - over : min;
    }
}

static void print_cut(const char *text, size_t len, size_t width, enum table_cut cut)
{
    size_t tail = width > 12 ? 5 : 0; /* "-7f3k" */

    if (cut == TABLE_CUT_MIDDLE && tail)
        (void)printf("%.*s..%s", (int)bytes_of(text, width - 2 - tail), text,
                     text + bytes_of(text, len - tail));
    else
        (void)printf("%.*s.", (int)bytes_of(text, width ? width - 1 : 0), text);
}

static void print_cell(const struct table *t, size_t i, const char *text)
{
    size_t len = length(text), width = t->width[i];
    bool is_last = i + 1 == t->n;

    if (len > width)
        print_cut(text, len, width, t->columns[i].cut);
    else if (is_last)
        (void)fputs(text, stdout);
    else
        (void)printf("%s%*s", text, (int)(width - len), "");
    (void)fputs(is_last ? "\n" : "  ", stdout);
}

void table_print(struct table *t, size_t width, bool has_header)
{
    size_t n = t->n;
    bool is_bold;

    assert(n > 0);
    measure(t, has_header);
    if (width)
        fit(t, width);
    is_bold = has_header && cli_use_color();
    (void)fputs(is_bold ? "\033[1m" : "", stdout);
    for (size_t i = 0; has_header && i < n; i++)
        print_cell(t, i, t->columns[i].title);
    (void)fputs(is_bold ? "\033[0m" : "", stdout);
    for (size_t i = 0; i < t->cells.n; i++)
        print_cell(t, i % n, t->cells.v[i]);
}

static size_t column_of(const struct table *t, const char *name)
{
    size_t i = 0;

    while (i < t->n && strcasecmp(t->columns[i].title, name) != 0)
        i++;
    return i;
}

static int fail_column(const struct table *t, const char *command, const char *name)
{
    struct str known = {0};

    for (size_t i = 0; i < t->n; i++)
        str_addf(&known, "%s%s", i ? ", " : "", t->columns[i].title);
    (void)cli_usage("%s: --columns: there is no column \"%s\"; there are %s", command, name,
                    str_text(&known));
    str_fini(&known);
    return -1;
}

int table_choose(struct table *t, const char *command, const char *names)
{
    size_t room = strlen(names) + 1, n = 0, rows = t->cells.n / t->n;
    size_t *from = arena_alloc(&t->arena, room * sizeof(*from));
    struct table_column *columns = arena_alloc(&t->arena, room * sizeof(*columns));
    const char **cells;
    char *rest = arena_strdup(&t->arena, names);

    for (char *one = strtok_r(rest, ", ", &rest); one; one = strtok_r(NULL, ", ", &rest)) {
        from[n] = column_of(t, one);
        if (from[n] == t->n)
            return fail_column(t, command, one);
        columns[n] = t->columns[from[n]];
        n++;
    }
    if (n == 0)
        return fail_column(t, command, names);
    cells = arena_alloc(&t->arena, (t->cells.n + 1) * sizeof(*cells));
    for (size_t i = 0; i < t->cells.n; i++)
        cells[i] = t->cells.v[i];
    vec_fini(&t->cells);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < n; i++)
            *vec_push(&t->cells) = cells[r * t->n + from[i]];
    free(t->width);
    t->width = xcalloc(n, sizeof(*t->width));
    t->columns = columns;
    t->n = n;
    return 0;
}

static void print_value(const char *text, bool is_last)
{
    bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;

    (void)fputs(is_quoted ? "\"" : "", stdout);
    for (const char *p = text; *p; p++) {
        if (*p == '"')
            (void)putchar('"');
        (void)putchar(*p);
    }
    (void)fputs(is_quoted ? "\"" : "", stdout);
    (void)putchar(is_last ? '\n' : ',');
}

void table_print_csv(const struct table *t, bool has_header)
{
    for (size_t i = 0; has_header && i < t->n; i++)
        print_value(t->columns[i].title, i + 1 == t->n);
    for (size_t i = 0; t->n && i < t->cells.n; i++)
        print_value(strcmp(t->cells.v[i], "-") == 0 ? "" : t->cells.v[i], (i + 1) % t->n == 0);
}
