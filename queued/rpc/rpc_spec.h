/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_spec.h - a job spec between its wire message and the core. For files of the wire side only.
 */
#ifndef QUEUED_RPC_RPC_SPEC_H
#define QUEUED_RPC_RPC_SPEC_H

#include "spec/spec.h"
#include "queue.pb-c.h"
#include "util/arena.h"

/* A deep copy with defaults filled in for what is absent. m has passed rpc_check(). */
struct spec *rpc_spec_from(const Queued__V1__JobSpec *m);
struct spec_pairs rpc_pairs_from(struct arena *a, Queued__V1__Pair *const *pairs, size_t n);

/* The message of a stored spec. Its lists live in a, its strings stay those of s. */
Queued__V1__JobSpec *rpc_spec_to(struct arena *a, const struct spec *s);
Queued__V1__Pair **rpc_pairs_to(struct arena *a, const struct spec_pairs *pairs);

/* protobuf-c wants char * where it only reads. */
char *rpc_text(const char *s);

#endif
