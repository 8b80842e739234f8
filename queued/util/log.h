/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - one line per fact on stderr, as logfmt or JSON. Only the shell logs, never the core.
 *
 *   log_info("job placed", "job=%s nodes=%u", name, n);
 *
 * error: someone must act. warn: we go on, and the text says so. info: a job or node changed
 * state. debug: the rest. One error, one line, at the place that handles it. Keys are fixed
 * words: job, tenant, node, req, err. Values with blanks are given with %s inside quotes:
 * "err=\"%s\"". errno survives a call. The level and the form are the only global state.
 */
#ifndef QUEUED_UTIL_LOG_H
#define QUEUED_UTIL_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_setup(enum log_level level, bool json);
/* -1 for a word that is no level. */
int log_level_parse(const char *word, enum log_level *ret);

bool log_shows(enum log_level level);
void log_write(enum log_level level, const char *msg, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(msg, ...) log_write(LOG_LEVEL_ERROR, (msg), __VA_ARGS__)
#define log_warn(msg, ...)  log_write(LOG_LEVEL_WARN, (msg), __VA_ARGS__)
#define log_info(msg, ...)  log_write(LOG_LEVEL_INFO, (msg), __VA_ARGS__)
/* Its values are not looked at while it is off. */
#define log_debug(msg, ...)                                                                        \
    do {                                                                                           \
        if (log_shows(LOG_LEVEL_DEBUG))                                                            \
            log_write(LOG_LEVEL_DEBUG, (msg), __VA_ARGS__);                                        \
    } while (0)

#endif
