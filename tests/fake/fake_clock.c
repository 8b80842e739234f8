/* SPDX-License-Identifier: Apache-2.0 */
/* fake_clock.c - time as a number. */
#include "fake_clock.h"

#include <assert.h>

void fake_clock_init(struct fake_clock *c)
{
    c->now = INT64_C(1767225600) * USEC_PER_SEC;
}

void fake_clock_advance(struct fake_clock *c, usec_t by)
{
    assert(by >= 0);
    c->now += by;
}

static usec_t now(void *ctx)
{
    const struct fake_clock *c = ctx;

    return c->now;
}

struct clock_port fake_clock_port(struct fake_clock *c)
{
    return (struct clock_port){.ctx = c, .now = now};
}
