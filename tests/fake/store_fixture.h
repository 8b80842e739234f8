/* SPDX-License-Identifier: Apache-2.0 */
/* store_fixture.h - a small fixed state with jobs, and the effects that saved them.
 *
 * For tests and benchmarks of the store: the same calls give the same bytes, in every run.
 */
#ifndef QUEUED_TESTS_STORE_FIXTURE_H
#define QUEUED_TESTS_STORE_FIXTURE_H

#include <stdint.h>

#include "core/effect.h"
#include "core/state.h"

/* Microseconds since 1970 of job 0; job n came n seconds later. */
#define FIXTURE_EPOCH (INT64_C(1767225600) * USEC_PER_SEC)

struct store_fixture {
    struct settings settings; /* two tenants: vision, foundation */
    struct tenant_setting tenants[2];
    struct state *state;
    struct effects fx; /* of the turn that is being made */
};

void store_fixture_init(struct store_fixture *f);
void store_fixture_fini(struct store_fixture *f);
/* An empty state with the same settings, to load into; the caller destroys it. */
struct state *store_fixture_empty(struct store_fixture *f);

struct job_id store_fixture_id(uint32_t n);
/* A spec that sets every field, or only what a common job does. The caller destroys it. */
struct spec *store_fixture_full_spec(void);
struct spec *store_fixture_plain_spec(uint32_t n);

/* Job n (ascending) was submitted: into the state, with the effects of a submission. */
void store_fixture_submit(struct store_fixture *f, uint32_t n);
/* Job n runs on named hosts and has the full spec: every field of its record is set. */
void store_fixture_run(struct store_fixture *f, uint32_t n);

#endif
