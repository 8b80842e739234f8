/* SPDX-License-Identifier: Apache-2.0 */
/* err.c - filling in a struct err, and the table of codes.
 *
 * Texts that do not fit are cut; nothing here allocates.
 */
#include "util/err.h"

#include <stdio.h>
#include <string.h>

#undef err_set

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    if (!e)
        return -1;
    e->code = code;
    va_start(ap, fmt);
    (void)vsnprintf(e->text, sizeof(e->text), fmt, ap); /* a cut text is still a text */
    va_end(ap);
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    char old[ERR_TEXT_MAX];
    va_list ap;
    size_t len;

    if (!e)
        return -1;
    memcpy(old, e->text, sizeof(old));
    va_start(ap, fmt);
    (void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    len = strlen(e->text);
    (void)snprintf(e->text + len, sizeof(e->text) - len, ": %s", old);
    return -1;
}

const char *err_word(int code)
{
    switch (code) {
#define ERR(name, word, number, exit_code)                                                         \
    case number:                                                                                   \
        return word;
#include "util/err.def"
#undef ERR
    default:
        return "UNKNOWN";
    }
}

int err_exit_code(int code)
{
    switch (code) {
#define ERR(name, word, number, exit_code)                                                         \
    case number:                                                                                   \
        return exit_code;
#include "util/err.def"
#undef ERR
    default:
        return 1;
    }
}
