/* SPDX-License-Identifier: Apache-2.0 */
/* print_path.h - parts of a document: JSONPath as kubectl writes it, and columns of such paths.
 *
 * Of JSONPath: keys (.a, ['a.b/c']), elements ([0], [-1], [*]), {range ...}{end} and "text" in
 * braces. No filters, slices or recursive descent; those are errors.
 */
#ifndef QUEUED_CLI_PRINT_PATH_H
#define QUEUED_CLI_PRINT_PATH_H

#include "document.h"
#include "util/err.h"

/* Is this a template, "{.status.state}", or without braces one path? INVALID says where not. */
int path_check(const char *template, struct err *err);
/* Are these columns, "JOB:.metadata.name,STATE:.status.state"? */
int path_check_columns(const char *columns, struct err *err);

/* What a template that was checked makes of a document; what is not there is nothing. */
void path_print(struct str *out, const struct document *d, const char *template);
/* A table to stdout, one row for each of its items, or for the document itself; what is not there
 * is <none>. */
void path_print_columns(const struct document *d, const char *columns);

#endif
