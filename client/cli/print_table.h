/* SPDX-License-Identifier: Apache-2.0 */
/* print_table.h - text in columns, each as wide as its widest cell, two blanks between.
 *
 * With a limit the widest columns that may be cut are cut until a line fits.
 */
#ifndef QUEUED_CLI_PRINT_TABLE_H
#define QUEUED_CLI_PRINT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/arena.h"

enum table_cut {
    TABLE_WHOLE,      /* never cut */
    TABLE_CUT_END,    /* "found." */
    TABLE_CUT_MIDDLE, /* "very-long..7f3k": the end tells jobs apart */
};

struct table_column {
    const char *title;
    enum table_cut cut;
    unsigned min; /* least width when cut */
};

struct table;

struct table *table_create(const struct table_column *columns, size_t n);
void table_destroy(struct table *t);
/* The next cell, row by row; the text is copied. NULL is "-". */
void table_add(struct table *t, const char *text);
void table_addf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Keep only these columns, "job,STATE", in this order. -1 after a message: there is none of a name.
 */
int table_choose(struct table *t, const char *command, const char *names);
/* To stdout as comma-separated values (RFC 4180), whole; what is not known is empty. */
void table_print_csv(const struct table *t, bool has_header);
/* To stdout. width 0: no limit. */
void table_print(struct table *t, size_t width, bool has_header);

#endif
