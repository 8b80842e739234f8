/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_digest.c - the digest of a spec against the hash of all that it feeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sodium.h>
#include <string.h>

#include "rpc/rpc_digest.h"
#include "util/str.h"

static void gather(void *ctx, const void *p, size_t len)
{
    str_add_bytes(ctx, p, len);
}

static void the_digest_is_the_sha256_of_what_is_fed_at_any_length(void **state)
{
    static char image[5001];
    struct spec_role role = {.name = "worker", .replicas = 4, .gpus = 8, .image = image};
    struct spec s = {.name = "resnet", .tenant = "vision", .n_roles = 1, .roles = &role};
    uint8_t digest[SPEC_DIGEST_BYTES], whole[SPEC_DIGEST_BYTES];

    (void)state;
    for (size_t len = 0; len < sizeof(image); len++) {
        struct str all = {0};
        int differ;

        spec_feed(&s, gather, &all);
        (void)crypto_hash_sha256(whole, (const uint8_t *)all.s, all.len); /* cannot fail */
        str_fini(&all);
        rpc_digest(&s, digest);
        differ = memcmp(digest, whole, sizeof(digest));
        assert_int_equal(differ, 0);
        image[len] = (char)('a' + len % 26);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_the_sha256_of_what_is_fed_at_any_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
