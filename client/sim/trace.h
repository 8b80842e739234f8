/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - jobs and nodes of a simulation, read from CSV files.
 *
 * jobs: job_id,tenant,priority,submit_s,duration_s,pods,gpus_per_pod,gpu_model
 * cluster: node,gpus,gpu_model,rack,block. Columns are found by their name in the first line.
 * Jobs are in order of submission after trace_load(); times are whole microseconds.
 */
#ifndef QUEUESIM_TRACE_H
#define QUEUESIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"
#include "util/parse.h"
#include "util/vec.h"

struct trace_job {
    char *id, *tenant, *models; /* models: "" any, "A|B" either */
    int32_t priority;
    usec_t submit, duration, said; /* said: run time that it gives */
    uint32_t pods, gpus, line;
    uint64_t key; /* id in the core; 0: it can never be placed */
    bool is_started;
    usec_t start, end, queued_at, wait; /* wait: in all; start: the last one */
    usec_t left;                        /* of its run when it starts */
    char *nodes;                        /* "n1:8 n2:4" */
};

struct trace_node {
    char *name, *model, *rack, *block;
    uint32_t gpus, rack_ix, block_ix; /* in order of first appearance; racks within a block */
};

struct trace {
    VEC(struct trace_job) jobs;
    VEC(struct trace_node) nodes;
    uint64_t gpus;
};

/* speed: submit times are divided by it. */
int trace_load(struct trace *t, const char *const paths[2], double speed, struct err *err);
/* Let every job say up to `most` times its run time, at random; never less, as it is ended then. */
void trace_estimate(struct trace *t, double most, uint64_t seed);
void trace_fini(struct trace *t);

#endif
