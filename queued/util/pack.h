/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - messages of protobuf-c to bytes in one walk.
 *
 * Written from the last byte to the first, so that each length is known when it is its turn;
 * protobuf_c_message_pack() walks a message once for its size and again for each message in it.
 * The bytes are the same. Zeroed is empty.
 */
#ifndef QUEUED_UTIL_PACK_H
#define QUEUED_UTIL_PACK_H

#include <stddef.h>
#include <stdint.h>

struct ProtobufCMessage;

struct pack {
    uint8_t *bytes;
    size_t room;
    size_t left; /* of it, before what is written */
};

/* Pack m behind head bytes that the caller fills in. Returns the first of them and their number
 * with those of m; valid until the next call. */
uint8_t *pack_message(struct pack *p, size_t head, const struct ProtobufCMessage *m,
                      size_t *ret_len);
void pack_fini(struct pack *p);

#endif
