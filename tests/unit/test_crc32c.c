/* SPDX-License-Identifier: Apache-2.0 */
/* test_crc32c.c - the published vectors of RFC 3720 B.4; pieces give the same as the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/crc32c.h"

static void published_vectors_come_out(void **state)
{
    unsigned char buf[32];

    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    memset(buf, 0, sizeof(buf));
    assert_int_equal(crc32c(0, buf, sizeof(buf)), 0x8a9136aa);
    memset(buf, 0xff, sizeof(buf));
    assert_int_equal(crc32c(0, buf, sizeof(buf)), 0x62a8ab43);
    for (unsigned i = 0; i < sizeof(buf); i++)
        buf[i] = (unsigned char)i;
    assert_int_equal(crc32c(0, buf, sizeof(buf)), 0x46dd794e);
    for (unsigned i = 0; i < sizeof(buf); i++)
        buf[i] = (unsigned char)(31 - i);
    assert_int_equal(crc32c(0, buf, sizeof(buf)), 0x113fdb5c);
}

/* A slow second opinion, bit by bit. */
static uint32_t by_bits(const unsigned char *p, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

static void pieces_give_the_same_as_the_whole(void **state)
{
    unsigned char buf[300];

    (void)state;
    for (unsigned i = 0; i < sizeof(buf); i++)
        buf[i] = (unsigned char)(i * 167 + 13);
    for (size_t len = 0; len <= sizeof(buf); len += 7) {
        uint32_t whole = by_bits(buf, len);

        for (size_t cut = 0; cut <= len; cut += 3)
            assert_int_equal(crc32c(crc32c(0, buf, cut), buf + cut, len - cut), whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors_come_out),
        cmocka_unit_test(pieces_give_the_same_as_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
