/* SPDX-License-Identifier: Apache-2.0 */
/* si_http.h - the HTTP side of the stand-in API server: listening, requests in, replies out.
 *
 * Leaves the meaning of requests to si_api.c. Uses the HTTP library without threads: the loop in
 * standin.c calls http_run() when the descriptor is readable or the timeout has passed.
 */
#ifndef QUEUED_STANDIN_HTTP_H
#define QUEUED_STANDIN_HTTP_H

#include "standin.h"

/* Listen on 127.0.0.1 at options.port; sets options.port to the one taken. -1 after a line on
 * stderr. */
int http_start(struct standin *s);
void http_stop(struct standin *s);
/* Descriptor to poll for reading. */
int http_fd(const struct standin *s);
/* Serve what is ready. */
void http_run(struct standin *s);
/* Let requests go on whose delay is over. Returns the next such time, UINT64_MAX when none. */
uint64_t http_wake_delayed(struct standin *s, uint64_t now_us);

#endif
