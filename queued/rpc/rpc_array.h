/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_array.h - job arrays in answers, and the names of their indices. Private to rpc. */
#ifndef QUEUED_RPC_RPC_ARRAY_H
#define QUEUED_RPC_RPC_ARRAY_H

#include "core/array.h"
#include "rpc/rpc_message.h"

/* The name before "[3]"; NULL: what has no index. */
const char *rpc_array_split(struct arena *a, const char *what, uint32_t *ret_index);
/* The job of an index; NULL. */
const struct job *rpc_array_job(const struct state *s, const struct job *array, uint32_t index);
/* Why there is none. Returns -1. */
int rpc_array_missing(const struct job *array, uint32_t index, struct err *err);
void rpc_array_fill(struct arena *a, const struct state *s, const struct job *j,
                    Queued__V1__Job *m);

#endif
