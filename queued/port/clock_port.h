/* SPDX-License-Identifier: Apache-2.0 */
/* clock_port.h - where the time comes from. Read once a turn. */
#ifndef QUEUED_PORT_CLOCK_PORT_H
#define QUEUED_PORT_CLOCK_PORT_H

#include "util/parse.h"

struct clock_port {
    void *ctx;
    usec_t (*now)(void *ctx); /* since 1970-01-01 UTC; never goes back within one process */
};

#endif
