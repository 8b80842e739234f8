/* SPDX-License-Identifier: Apache-2.0 */
/* decay.c - exponential decay in integers.
 *
 * 2^-x is a product of 2^-(1/2), 2^-(1/4) ... for the first 32 bits of x's fraction, and linear
 * in the rest, where the next term of the series is below 2^-64.
 */
#include "util/decay.h"

#include <stdbool.h>

__extension__ typedef unsigned __int128 wide_t;

/* 2^(-2^-(i+1)) in units of 2^-64. */
static const uint64_t roots[32] = {
    0xb504f333f9de6484, 0xd744fccad69d6af4, 0xeac0c6e7dd24392f, 0xf5257d152486cc2c,
    0xfa83b2db722a033a, 0xfd3e0c0cf486c175, 0xfe9e115c7b8f884c, 0xff4ecb59511ec8a5,
    0xffa756521c8daed2, 0xffd3a751c0f7e10c, 0xffe9d2b2f7db2756, 0xfff4e91bff1b8c3e,
    0xfffa747ea0040664, 0xfffd3a3b7814eb54, 0xfffe9d1cc60ddab1, 0xffff4e8e25879bfa,
    0xffffa7470363f451, 0xffffd3a37dda0313, 0xffffe9d1bdf703af, 0xfffff4e8debe025e,
    0xfffffa746f4fa150, 0xfffffd3a37a3f8b0, 0xfffffe9d1bd1065a, 0xffffff4e8de845ae,
    0xffffffa746f41377, 0xffffffd3a37a05e4, 0xffffffe9d1bd01fc, 0xfffffff4e8de80c0,
    0xfffffffa746f4051, 0xfffffffd3a37a025, 0xfffffffe9d1bd011, 0xffffffff4e8de808,
};
static const uint64_t ln2 = 0xb17217f7d1cf79ac; /* in units of 2^-64 */

static uint64_t times(uint64_t a, uint64_t b)
{
    return (uint64_t)((wide_t)a * b >> 64);
}

uint64_t decay(uint64_t v, usec_t by, usec_t half_life)
{
    uint64_t h = (uint64_t)half_life, left = by > 0 ? (uint64_t)by % h : 0;
    uint64_t factor = UINT64_MAX /* 1 */, tail = 0;

    if (by <= 0 || by / half_life >= 63)
        return by <= 0 ? v : 0;
    for (unsigned i = 0; i < 64; i++) { /* bit by bit of left / h */
        bool bit = 2 * left >= h;

        left = 2 * left - (bit ? h : 0);
        if (i >= 32)
            tail = 2 * tail + bit;
        else if (bit)
            factor = times(factor, roots[i]);
    }
    factor -= times(factor, times(tail, ln2));
    return (uint64_t)((((wide_t)v * factor >> (by / half_life)) + (UINT64_C(1) << 63)) >> 64);
}
