/* SPDX-License-Identifier: Apache-2.0 */
/* inbox.h - bounded first-in first-out queue of facts between adapters and the engine. */
#ifndef QUEUED_PORT_INBOX_H
#define QUEUED_PORT_INBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/event.h"

struct inbox;

struct inbox *inbox_create(size_t max);
void inbox_destroy(struct inbox *b); /* frees the events that are left */
/* Takes the event over. false: full; the event stays the caller's. Adapters that cannot wait
 * look at inbox_room() first. */
bool inbox_push(struct inbox *b, struct event *ev);
bool inbox_pop(struct inbox *b, struct event *ret);
size_t inbox_room(const struct inbox *b);
size_t inbox_count(const struct inbox *b);

#endif
