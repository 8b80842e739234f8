/* SPDX-License-Identifier: Apache-2.0 */
/* kube_unpack.h - one message of proto/kube.proto out of its bytes, into an arena.
 *
 * As protobuf_c_message_unpack() does it, but for what the schema does not know, which is passed
 * over: that copies it, and of a pod it is nearly all. Each text has a NUL behind it.
 */
#ifndef QUEUED_KUBE_KUBE_UNPACK_H
#define QUEUED_KUBE_KUBE_UNPACK_H

#include <protobuf-c/protobuf-c.h>

#include "kube/kube_proto.h"
#include "util/arena.h"

/* The struct that protoc-c made for it. Of a field that comes twice the last one counts. NULL:
 * damaged, or it takes more than max bytes of the arena. */
void *kube_unpack(struct arena *a, const ProtobufCMessageDescriptor *what, struct proto_span bytes,
                  size_t max);

#endif
