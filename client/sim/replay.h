/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h - a trace through the scheduling core of the daemon, in virtual time.
 *
 * Jobs are submitted, placed, run and end by events of the same state, order and placement as in
 * the daemon; no pod is made. At one instant: ends, what time makes, submissions, decisions.
 */
#ifndef QUEUESIM_REPLAY_H
#define QUEUESIM_REPLAY_H

#include "plain.h"
#include "maxmin.h"
#include "trace.h"

struct totals {
    size_t jobs, dropped;
    double avg_jct, p50_jct, p99_jct, avg_wait, p50_wait, p99_wait, p999_wait; /* seconds */
    double makespan, utilisation, alloc, queued, fragmented;
    size_t multi, one_rack, one_block;
    double avg_racks;
    size_t evictions;
    uint64_t decisions;
    double seconds; /* of the processor, in decisions */
    struct shares shares;
};

/* Fills start, end and nodes of the jobs. site: decide as a daemon with these settings does; NULL:
 * by the plain policy. ret is to be given to shares_fini() in any case. */
int replay_run(struct trace *t, const struct policy *plain, const struct settings *site,
               struct totals *ret, struct err *err);
/* The figures that follow from the jobs alone. */
void totals_count(const struct trace *t, struct totals *ret);

#endif
