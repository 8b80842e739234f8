/* SPDX-License-Identifier: Apache-2.0 */
/* wire_bytes.c - tags, varints and runs of bytes. */
#include "wire_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

static void add_varint(struct str *b, uint64_t v)
{
    while (v >= 0x80) {
        uint8_t byte = (uint8_t)(v | 0x80);

        str_add_bytes(b, &byte, 1);
        v >>= 7;
    }
    str_add_bytes(b, &v, 1); /* little endian: the low byte */
}

void add_number(struct str *b, uint32_t tag, uint64_t v)
{
    add_varint(b, tag << 3);
    add_varint(b, v);
}

void add_bytes(struct str *b, uint32_t tag, const void *p, size_t len)
{
    add_varint(b, tag << 3 | 2);
    add_varint(b, len);
    str_add_bytes(b, p, len);
}

void add_filler(struct str *b, uint32_t tag, size_t n)
{
    char *p = xmalloc(n + 1);

    memset(p, 'a', n);
    add_bytes(b, tag, p, n);
    free(p);
}
