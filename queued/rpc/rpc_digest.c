/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_digest.c - the fed pieces are gathered, as each is a few bytes and a call of the hash costs
 * more than they do.
 */
#include "rpc/rpc_digest.h"

#include <sodium.h>
#include <string.h>

_Static_assert(SPEC_DIGEST_BYTES == crypto_hash_sha256_BYTES, "the digest is a SHA-256");

struct hashing {
    crypto_hash_sha256_state sha;
    size_t n;
    uint8_t bytes[1024];
};

static void hash_gathered(struct hashing *h)
{
    (void)crypto_hash_sha256_update(&h->sha, h->bytes, h->n); /* cannot fail */
    h->n = 0;
}

static void feed_bytes(void *ctx, const void *p, size_t len)
{
    struct hashing *h = ctx;

    if (len > sizeof(h->bytes) - h->n)
        hash_gathered(h);
    if (len > sizeof(h->bytes)) {
        (void)crypto_hash_sha256_update(&h->sha, p, len); /* cannot fail */
        return;
    }
    memcpy(h->bytes + h->n, p, len);
    h->n += len;
}

void rpc_digest(const struct spec *s, uint8_t ret[SPEC_DIGEST_BYTES])
{
    struct hashing h;

    (void)crypto_hash_sha256_init(&h.sha); /* none of the three can fail */
    h.n = 0;
    spec_feed(s, feed_bytes, &h);
    hash_gathered(&h);
    (void)crypto_hash_sha256_final(&h.sha, ret);
}
