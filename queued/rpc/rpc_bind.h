/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_bind.h - which endpoints may be served, and how they are taken.
 *
 * ZeroMQ lets a second daemon steal a Unix socket in silence; so a lock beside it is taken
 * first. TCP tells no uid, so it is served on loopback only, and only as one configured user.
 */
#ifndef QUEUED_RPC_RPC_BIND_H
#define QUEUED_RPC_RPC_BIND_H

#include <stdbool.h>

#include "util/err.h"

/* Is this an endpoint that may be served? -1 INVALID. */
int rpc_endpoint_check(const char *endpoint, bool has_loopback_user, struct err *err);
/* Check, lock and bind. ret_lock: descriptor that holds the lock until it is closed; -1 for TCP.
 * -1 UNAVAILABLE: taken by another process, or the place cannot be used; INVALID. */
int rpc_endpoint_bind(void *socket, const char *endpoint, bool has_loopback_user, int *ret_lock,
                      struct err *err);

#endif
