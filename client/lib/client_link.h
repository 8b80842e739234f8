/* SPDX-License-Identifier: Apache-2.0 */
/* client_link.h - one DEALER socket to the daemon, and the frame around each message.
 *
 * Knows nothing of requests and answers that belong together; never blocks longer than it is told.
 * A link notices when its connection was lost and came back, so that the caller can ask again at
 * once instead of waiting for an answer that died with the old daemon.
 */
#ifndef QUEUED_CLIENT_LINK_H
#define QUEUED_CLIENT_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <zmq.h>

#include "queue.pb-c.h"
#include "util/err.h"

enum { LINK_SLICE_MS = 100 }; /* how often a waiting caller looks at the connection */

struct link {
    void *socket;
    char *endpoint;
    bool is_up;         /* at the last look */
    bool has_come_back; /* lost and made again since it was last cleared */
};

/* Checks the endpoint, then connects in the background. -1 as endpoint_check(). */
int link_open(struct link *l, void *zmq_context, const char *endpoint, struct err *err);
void link_close(struct link *l);

/* Milliseconds of a clock that only goes forward. */
uint64_t link_now_ms(void);

/* Frame and queue a request. false: there is no connection now. */
bool link_send(struct link *l, uint16_t method, const ProtobufCMessage *request);

/* A message of the daemon. */
struct link_reply {
    uint16_t method;
    ProtobufCMessage *message;             /* of the method's reply type; the caller frees it */
    const Queued__V1__ReplyHeader *header; /* never NULL; inside message */
};

/* Wait at most wait_ms. 1: a reply; 0: none; -1: whoever answers is no queued of ours. What is
 * damaged or no reply is dropped. */
int link_receive(struct link *l, uint64_t wait_ms, struct link_reply *ret, struct err *err);

#endif
