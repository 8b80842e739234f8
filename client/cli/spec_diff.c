/* SPDX-License-Identifier: Apache-2.0 */
/* spec_diff.c - differences of two canonical job files by lines, which is enough to see what was
 * changed: both come from the same printer.
 */
#include "spec_diff.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A line without its indentation and the dash of a list. */
static const char *content(const char *line)
{
    line += strspn(line, " ");
    return strncmp(line, "- ", 2) == 0 ? line + 2 : line;
}

/* The line after this one, or the end. */
static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

static bool has_line(const char *text, const char *line)
{
    size_t len = strcspn(line, "\n");

    for (const char *p = text; *p; p = next_line(p)) {
        const char *mine = content(p);

        if (strcspn(mine, "\n") == len && strncmp(mine, line, len) == 0)
            return true;
    }
    return false;
}

/* Has wanted a line with the key of this one that stored has not? */
static bool is_replaced(const char *wanted, const char *stored, const char *line)
{
    size_t key = strcspn(line, ":\n");

    for (const char *p = wanted; *p; p = next_line(p)) {
        const char *mine = content(p);

        if (strcspn(mine, ":\n") == key && strncmp(mine, line, key) == 0 && !has_line(stored, mine))
            return true;
    }
    return false;
}

static void show(char sign, const char *line)
{
    (void)fprintf(stderr, "%c %.*s\n", sign, (int)strcspn(line, "\n"), line);
}

void spec_diff(const char *stored, const char *wanted)
{
    for (const char *p = stored; *p; p = next_line(p))
        if (!has_line(wanted, content(p)) && is_replaced(wanted, stored, content(p)))
            show('-', content(p));
    for (const char *p = wanted; *p; p = next_line(p))
        if (!has_line(stored, content(p)))
            show('+', content(p));
}
