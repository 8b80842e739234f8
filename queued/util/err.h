/* SPDX-License-Identifier: Apache-2.0 */
/* err.h - why something failed: a code and one sentence.
 *
 * A function that can fail on bad input or on trouble outside takes a `struct err *`
 * last, returns -1 and leaves its outputs untouched. Our own bugs are asserts, not errors.
 * The codes are those of the wire (util/err.def).
 */
#ifndef QUEUED_UTIL_ERR_H
#define QUEUED_UTIL_ERR_H

#include <stdarg.h>

enum err_code {
#define ERR(name, word, number, exit_code) ERR_##name = (number),
#include "util/err.def"
#undef ERR
};

enum { ERR_TEXT_MAX = 512 };

struct err {
    enum err_code code;
    char text[ERR_TEXT_MAX]; /* one sentence: what, where, what to do; no newline */
};

/* Fill e (may be NULL). Always returns -1, so that it can be returned directly. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__ /* which does not look into other files, must know that, too */
#define err_set(...) (err_set(__VA_ARGS__), -1)
#endif

/* Put context before the text that is there: "load job x: <old text>". Returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The word of the wire for a code ("NOT_FOUND"); "UNKNOWN" for a number that is none. */
const char *err_word(int code);

/* The exit code of the command line for a code; 1 for a number that is none. */
int err_exit_code(int code);

#endif
