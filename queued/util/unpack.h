/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.h - one encoded message into the struct that protoc-c made for it, in an arena.
 *
 * As protobuf_c_message_unpack() does it, but for what the schema does not know, which is passed
 * over: that copies it, and of a pod it is nearly all. Each text has a NUL behind it. Of a field
 * that comes twice the last one counts.
 */
#ifndef QUEUED_UTIL_UNPACK_H
#define QUEUED_UTIL_UNPACK_H

#include "util/arena.h"
#include "util/proto.h"

struct ProtobufCMessageDescriptor;

/* NULL: damaged, or the cap of the arena is reached. */
void *unpack_message(struct arena *a, const struct ProtobufCMessageDescriptor *what,
                     struct proto_span bytes);

#endif
