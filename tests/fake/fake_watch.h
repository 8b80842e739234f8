/* SPDX-License-Identifier: Apache-2.0 */
/* fake_watch.h - list and watch of the simulated world: facts late, doubled, merged, relisted.
 *
 * Like the reflector it keeps order per object and tells the newest it knows of one; between
 * objects there is no order. Private to fake_cluster.c.
 */
#ifndef QUEUED_FAKE_WATCH_H
#define QUEUED_FAKE_WATCH_H

#include <stdbool.h>

#include "port/inbox.h"

#include "../sim/world.h"

struct fake_watch;

struct fake_watch *fake_watch_create(struct world *w); /* lists at once, or finds the API down */
void fake_watch_destroy(struct fake_watch *fw);
void fake_watch_step(struct fake_watch *fw, struct inbox *inbox);
void fake_watch_cut(struct fake_watch *fw, usec_t how_long_us);
void fake_watch_relist(struct fake_watch *fw);
usec_t fake_watch_next(const struct fake_watch *fw);
bool fake_watch_is_up(const struct fake_watch *fw);
bool fake_watch_is_idle(const struct fake_watch *fw);

#endif
