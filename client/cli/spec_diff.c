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

/* Does text have a line that begins with these len bytes (is_whole: and is no longer)? */
static bool has_line(const char *text, const char *line, size_t len, bool is_whole)
{
    for (const char *p = text; *p; p = next_line(p)) {
        const char *mine = content(p);

        if (strncmp(mine, line, len) == 0 && (!is_whole || mine[len] == '\n' || mine[len] == '\0'))
            return true;
    }
    return false;
}

static void show_missing(const char *from, const char *in, char sign)
{
    for (const char *p = from; *p; p = next_line(p)) {
        const char *line = content(p);
        size_t len = strcspn(line, "\n"), key = strcspn(line, ":\n") + 1;
        bool is_filled_in = sign == '-' && !has_line(in, line, key < len ? key : len, false);

        if (!has_line(in, line, len, true) && !is_filled_in)
            (void)fprintf(stderr, "%c %.*s\n", sign, (int)len, line);
    }
}

void spec_diff(const char *stored, const char *wanted)
{
    show_missing(stored, wanted, '-');
    show_missing(wanted, stored, '+');
}
