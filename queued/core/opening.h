/* SPDX-License-Identifier: Apache-2.0 */
/* opening.h - who may start now, by the time windows of tenants (spec/week.h).
 *
 * A window is about starts: what runs goes on when it closes, and a gang outside its windows has no
 * reservation and takes from nobody. What the calendar says is kept with the tenants from one
 * change to the next.
 */
#ifndef QUEUED_CORE_OPENING_H
#define QUEUED_CORE_OPENING_H

#include "core/state.h"

/* Before anything is decided at now: windows that have begun or ended let sleepers be looked at. */
void opening_tick(struct state *s, usec_t now);
/* May a job of its tenant start at `from`, now or before that closes, that may run until `to`? */
bool opening_has_room(const struct state *s, const struct job *j, usec_t from, usec_t to);
/* May the job itself start at `at`, or grow? */
bool opening_admits(const struct state *s, const struct job *j, usec_t at);

#endif
