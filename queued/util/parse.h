/* SPDX-License-Identifier: Apache-2.0 */
/* parse.h - numbers, durations, quantities and times, the same wherever a person or an API
 * writes one. Nothing is rounded silently: what does not fit is ERR_INVALID, and the text
 * says what a good value looks like. Outputs are untouched on failure. */
#ifndef QUEUED_UTIL_PARSE_H
#define QUEUED_UTIL_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

typedef int64_t usec_t; /* microseconds: a duration, or a time since 1970-01-01 UTC */

#define USEC_PER_SEC  INT64_C(1000000)
#define USEC_PER_MSEC INT64_C(1000)

/* Decimal digits only, min..max. */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret, struct err *err);
/* "90s", "2h", "1h30m", "1.5s", "250ms", "3d", "2w"; widest unit first, each once; plain "0" is
 * allowed, other numbers need a unit. Not negative, whole microseconds. */
int parse_duration(const char *s, usec_t *ret, struct err *err);
/* A Kubernetes quantity ("96", "1500Gi", "0.5", "191450m", "1e3", "2k") times `scale`, rounded up:
 * scale 1 for bytes and counts, 1000 for thousandths of a core. Not negative. */
int parse_quantity(const char *s, int64_t scale, int64_t *ret, struct err *err);
/* RFC 3339 ("2026-11-29T22:09:14Z", offsets and fractions allowed; a fraction is cut after
 * microseconds) -> microseconds since 1970. Years 1970 to 9999. */
int parse_time(const char *s, usec_t *ret, struct err *err);

enum { FORMAT_MAX = 40 };
/* "3d4h", "12m", "45s", "1.5s" only below 10 s when not whole; at most two units, seconds only
 * below ten minutes. Returns buf. */
const char *format_duration(char buf[FORMAT_MAX], usec_t d);
/* The shortest exact duration that parse_duration() reads back ("1h30m", "1500ms"). */
const char *format_duration_exact(char buf[FORMAT_MAX], usec_t d);
/* RFC 3339, UTC, whole seconds. */
const char *format_time(char buf[FORMAT_MAX], usec_t t);
/* RFC 3339, UTC, with six digits of fraction (Kubernetes MicroTime). */
const char *format_micro_time(char buf[FORMAT_MAX], usec_t t);
/* Exact, with a binary suffix where one divides it ("1500Gi", "4096Mi", "1000"). */
const char *format_bytes(char buf[FORMAT_MAX], int64_t bytes);
/* Thousandths of a core: "96", "500m". */
const char *format_cpu(char buf[FORMAT_MAX], int64_t milli);
/* Thousandths of a whole, not negative: "3", "0.5", "1.143". */
const char *format_milli(char buf[FORMAT_MAX], int64_t milli);

#endif
