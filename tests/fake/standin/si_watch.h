/* SPDX-License-Identifier: Apache-2.0 */
/* si_watch.h - endless answers: the changes of one collection from a resourceVersion on.
 *
 * A watch is a cursor into the store's history ring. It is suspended while there is nothing to
 * send, and resumed by a change, a bookmark or its deadline.
 */
#ifndef QUEUED_STANDIN_WATCH_H
#define QUEUED_STANDIN_WATCH_H

#include <sys/types.h>

#include "standin.h"

/* Serve a watch request: fills req->reply.watch, or a refusal. */
void watch_serve(struct standin *s, struct request *req);
/* Body reader and its destructor, for the HTTP library. cls: struct watch. */
ssize_t watch_read(void *cls, uint64_t pos, char *buf, size_t max);
void watch_free(void *cls);
/* Resume the watches of this kind. */
void watch_wake(struct standin *s, enum res_id res);
/* Send what is due by time. Returns the next such time, UINT64_MAX when none. */
uint64_t watch_tick(struct standin *s, uint64_t now_us);
/* The next of s->watches; NULL at the end. */
const struct watch *watch_next(const struct watch *w);
/* End all watches cleanly. Returns how many there were. */
size_t watch_end_all(struct standin *s);

#endif
