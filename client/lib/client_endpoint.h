/* SPDX-License-Identifier: Apache-2.0 */
/* client_endpoint.h - is there any chance that somebody answers at this endpoint?
 *
 * ZeroMQ connects to anything and then tries for ever in silence, so what can be known before is
 * asked before: form, name, socket file, permission.
 */
#ifndef QUEUED_CLIENT_ENDPOINT_H
#define QUEUED_CLIENT_ENDPOINT_H

#include "util/err.h"

#define ENDPOINT_DEFAULT "ipc:///run/queued/queued.sock"

/* given, else $QUEUED_ENDPOINT, else the default. */
const char *endpoint_choose(const char *given);
/* -1 INVALID: no endpoint. DENIED: the socket may not be opened. UNAVAILABLE: no such host, or no
 * socket there. */
int endpoint_check(const char *endpoint, struct err *err);
/* UNAVAILABLE with what to do about silence. Returns -1. */
int endpoint_fail_silent(const char *endpoint, unsigned waited_ms, struct err *err);

#endif
