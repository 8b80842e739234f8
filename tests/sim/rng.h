/* SPDX-License-Identifier: Apache-2.0 */
/* rng.h - the one source of chance in the tests: splitmix64, so that a seed repeats a run on
 * every machine. Nothing else in a simulation may be random.
 */
#ifndef QUEUED_SIM_RNG_H
#define QUEUED_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z;

    r->s += UINT64_C(0x9e3779b97f4a7c15);
    z = r->s;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0..n-1; n >= 1. The bias of the remainder does not matter here. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
    return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

/* lo..hi, both included. */
static inline int64_t rng_between(struct rng *r, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(rng_next(r) % ((uint64_t)(hi - lo) + 1));
}

static inline bool rng_one_in(struct rng *r, uint32_t n)
{
    return rng_below(r, n) == 0;
}

#endif
