/* SPDX-License-Identifier: Apache-2.0 */
/* timers.h - when time alone changes a job: a binary heap over jobs by (timer_at, id).
 *
 * Each job has at most one timer: the next of its limits. The heap order is total, so equal
 * times fire in order of id.
 */
#ifndef QUEUED_LIFE_TIMERS_H
#define QUEUED_LIFE_TIMERS_H

#include "core/state.h"

/* Set, move or (at == 0) clear the timer of a job. */
void timer_set(struct state *s, struct job *j, usec_t at);
/* The job whose timer is due first, or NULL. */
struct job *timer_first(const struct state *s);

#endif
