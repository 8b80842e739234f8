/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_message.h - what the files behind rpc_out.h share: heads, packing, the job message. */
#ifndef QUEUED_RPC_RPC_MESSAGE_H
#define QUEUED_RPC_RPC_MESSAGE_H

#include "queue.pb-c.h"
#include "rpc/rpc_out.h"

Queued__V1__ReplyHeader *rpc_message_head(struct rpc_out *o, const struct rpc_head *h);
/* Append a finished item to the list under construction. */
void rpc_message_add(struct rpc_out *o, ProtobufCMessage *m);
/* Write the frame. */
void rpc_message_close(struct rpc_out *o, uint16_t method, const ProtobufCMessage *m);
/* The message of a job; strings are copied or live as long as the state. */
Queued__V1__Job *rpc_message_job(struct arena *a, const struct rpc_job_view *v);

#endif
