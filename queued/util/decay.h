/* SPDX-License-Identifier: Apache-2.0 */
/* decay.h - what is left of an amount that halves again and again, in integers. */
#ifndef QUEUED_UTIL_DECAY_H
#define QUEUED_UTIL_DECAY_H

#include <stdint.h>

#include "util/parse.h"

/* v * 2^(-by / half_life), rounded; within one unit for v < 2^55. half_life > 0. */
uint64_t decay(uint64_t v, usec_t by, usec_t half_life);

#endif
