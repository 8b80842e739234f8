/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.c - the processor's instruction where there is one, else a table of 256 entries. */
#include "util/crc32c.h"

#include <stdbool.h>
#include <string.h>

static uint32_t with_table(uint32_t crc, const unsigned char *p, size_t len)
{
    static uint32_t table[256];

    if (!table[1]) { /* entry 0 is 0; the store has one thread */
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;

            for (int bit = 0; bit < 8; bit++)
                c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
            table[i] = c;
        }
    }
    for (size_t i = 0; i < len; i++)
        crc = table[(crc ^ p[i]) & 0xff] ^ crc >> 8;
    return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("sse4.2"))) static uint32_t with_cpu(uint32_t crc, const unsigned char *p,
                                                           size_t len)
{
    uint64_t wide = crc;

    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;

        memcpy(&word, p, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; len; p++, len--)
        crc = __builtin_ia32_crc32qi(crc, *p);
    return crc;
}

static bool has_cpu(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#else
static uint32_t with_cpu(uint32_t crc, const unsigned char *p, size_t len)
{
    return with_table(crc, p, len);
}

static bool has_cpu(void)
{
    return false;
}
#endif

uint32_t crc32c(uint32_t crc, const void *p, size_t len)
{
    return ~(has_cpu() ? with_cpu(~crc, p, len) : with_table(~crc, p, len));
}
