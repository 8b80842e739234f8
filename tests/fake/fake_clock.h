/* SPDX-License-Identifier: Apache-2.0 */
/* fake_clock.h - a clock that stands until a test moves it. */
#ifndef QUEUED_TESTS_FAKE_CLOCK_H
#define QUEUED_TESTS_FAKE_CLOCK_H

#include "port/clock_port.h"

struct fake_clock {
    usec_t now; /* since 1970-01-01 UTC */
};

/* Starts at 2026-01-01 00:00:00 UTC. */
void fake_clock_init(struct fake_clock *c);
/* by: not negative, as the real clock never goes back within one process. */
void fake_clock_advance(struct fake_clock *c, usec_t by);
struct clock_port fake_clock_port(struct fake_clock *c);

#endif
