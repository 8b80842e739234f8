/* SPDX-License-Identifier: Apache-2.0 */
/* failure.h - what the failure of a member leads to: the rules of its job, then those of the house.
 *
 * In order, the first that matches holds. What the node did is free of charge and keeps away from
 * it; what the job did counts and waits longer each time.
 */
#ifndef QUEUED_CORE_FAILURE_H
#define QUEUED_CORE_FAILURE_H

#include "spec/spec.h"

/* A member ended badly, or is gone. */
struct fault {
    const char *reason; /* as the kubelet says, "" none; NULL: its pod is gone, NodeLost */
    int exit_code;      /* -1 unknown */
    uint32_t node_ix;
};

struct verdict {
    enum spec_action action;
    uint32_t rule; /* 1..; 0: none of the job's own */
    bool is_node;  /* the node's doing */
};

/* What a job keeps of it; NULL: all is as if left out. Free with failure_destroy(). */
struct failure *failure_of(const struct spec_failure *policy);
struct failure *failure_copy(const struct failure *f); /* of NULL: NULL */
void failure_destroy(struct failure *f);

struct verdict failure_judge(const struct failure *f, const struct fault *fault);
/* May nodes that look broken be excluded? */
bool failure_excludes(const struct failure *f);
/* seconds * 2^n, at most cap seconds. */
usec_t back_off(uint32_t n, int64_t seconds, int64_t cap);
enum spec_scope failure_scope(const struct failure *f);
/* The wait before restart n, 0.. */
usec_t failure_back_off(const struct failure *f, uint32_t n);
/* A run this long gives the restarts back. */
usec_t failure_reset_after(const struct failure *f);

#endif
