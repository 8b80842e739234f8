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
/* May the job start at `at`, or grow, if no window changes until then but one that closes? */
bool opening_admits(const struct state *s, const struct job *j, usec_t at);
/* The last instant at which it may start before its tenant closes; INT64_MAX: that does not. */
usec_t opening_last_start(const struct state *s, const struct job *j);

#endif
