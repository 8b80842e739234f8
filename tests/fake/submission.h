/* SPDX-License-Identifier: Apache-2.0 */
/* submission.h - requests for jobs of a common kind, and a queue that takes them without a daemon.
 *
 * For benchmarks: what a daemon stores of them, and what it costs to make.
 */
#ifndef QUEUED_TESTS_SUBMISSION_H
#define QUEUED_TESTS_SUBMISSION_H

#include <stddef.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/state.h"
#include "util/arena.h"
#include "util/err.h"

enum { SUBMISSION_TENANTS = 40 }; /* bench-0..; a tenant takes 10,000 pending jobs */

/* The frame of submission number serial, each of another tenant than the one before; bytes 8 and 9
 * of its request id are client and slot. Returns its length; the caller frees *ret. */
size_t submission_make(uint64_t serial, unsigned client, unsigned slot, uint8_t **ret);

/* What a daemon knows, with those tenants. */
struct bare_queue {
    struct settings settings;
    struct tenant_setting tenants[SUBMISSION_TENANTS];
    struct state *state;
    struct effects fx; /* of the turn that is being made */
    struct arena scratch;
    uint64_t serial;
};

void bare_queue_init(struct bare_queue *b);
void bare_queue_fini(struct bare_queue *b);
/* The next submission becomes a job of this turn, as in a daemon. -1: it is refused. */
int bare_queue_submit(struct bare_queue *b, struct err *err);

#endif
