/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - the logger: logfmt or JSON lines on stderr.
 *
 * The fields arrive as one formatted logfmt text; the JSON form wraps that text, so that
 * no caller builds JSON. A line is written by one write(2), so lines never mix.
 */
#include "util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/mem.h"
#include "util/str.h"

static enum log_level max_level = LOG_LEVEL_INFO;
static bool as_json;

static const char *const level_words[] = {"error", "warn", "info", "debug"};

void log_setup(enum log_level level, bool json)
{
    max_level = level;
    as_json = json;
}

int log_level_parse(const char *word, enum log_level *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(level_words); i++) {
        if (strcmp(word, level_words[i]) == 0) {
            *ret = (enum log_level)i;
            return 0;
        }
    }
    return -1;
}

static void add_time(struct str *line)
{
    static time_t second = -1; /* the text is made once a second */
    static char text[32];
    struct timespec ts;
    struct tm tm;

    (void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail for this clock */
    if (ts.tv_sec != second) {
        second = ts.tv_sec;
        (void)gmtime_r(&ts.tv_sec, &tm);
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    }
    str_addf(line, "%s.%03ldZ", text, ts.tv_nsec / 1000000);
}

bool log_shows(enum log_level level)
{
    return level <= max_level;
}

void log_write(enum log_level level, const char *msg, const char *fmt, ...)
{
    int saved = errno;
    struct str line = {0};
    char fields[2048];
    va_list ap;

    if (level > max_level)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(fields, sizeof(fields), fmt, ap); /* a cut line is still a line */
    va_end(ap);
    str_make_line(fields);
    if (as_json) {
        str_add(&line, "{\"time\":\"");
        add_time(&line);
        str_addf(&line, "\",\"level\":\"%s\",\"msg\":", level_words[level]);
        str_add_json(&line, msg);
        str_add(&line, ",\"fields\":");
        str_add_json(&line, fields);
        str_add(&line, "}\n");
    } else {
        str_add(&line, "time=");
        add_time(&line);
        str_addf(&line, " level=%s msg=\"%s\"%s%s\n", level_words[level], msg, *fields ? " " : "",
                 fields);
    }
    if (write(STDERR_FILENO, line.s, line.len) < 0)
        saved = errno; /* nowhere left to report it */
    str_fini(&line);
    errno = saved;
}
