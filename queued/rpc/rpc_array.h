/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_array.h - job arrays in answers, and the names of their indices. Private to rpc. */
#ifndef QUEUED_RPC_RPC_ARRAY_H
#define QUEUED_RPC_RPC_ARRAY_H

#include "core/array.h"
#include "rpc/rpc_message.h"

/* The name before "[3-9]" and what is between the brackets; NULL: it has none. */
const char *rpc_array_split(struct arena *a, const char *what, const char **ret_indices);
/* Those of an array that are named; in ret, empty where it is one that has a job: that one.
 * -1 INVALID: it is no array, or has no such index. */
int rpc_array_part(const struct state *s, const struct job **array, const char *indices,
                   struct indices *ret, struct err *err);
/* The job of an index; NULL. */
const struct job *rpc_array_job(const struct state *s, const struct job *array, uint32_t index);
/* Why there is none. Returns -1. */
int rpc_array_missing(const struct job *array, uint32_t index, struct err *err);
/* What state these indices are in; where they differ, that of the array. */
enum job_state rpc_array_state(const struct state *s, const struct job *array,
                               const struct indices *part);
/* An index that has no job, as one: Pending, Held, or what became of it. */
void rpc_array_show(struct arena *a, const struct job *array, uint32_t index, Queued__V1__Job *m);
void rpc_array_fill(struct arena *a, const struct state *s, const struct job *j,
                    Queued__V1__Job *m);

#endif
