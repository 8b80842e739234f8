/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_digest.h - what tells two job files apart that came with one submit key.
 *
 * The digest is stored with the key: it is the SHA-256 of what spec_feed() says, for ever.
 */
#ifndef QUEUED_RPC_RPC_DIGEST_H
#define QUEUED_RPC_RPC_DIGEST_H

#include <stdint.h>

#include "spec/spec.h"

void rpc_digest(const struct spec *s, uint8_t ret[SPEC_DIGEST_BYTES]);

#endif
