/* SPDX-License-Identifier: Apache-2.0 */
/* maxmin.h - what each tenant had, beside its max-min share, over the time in which it counts.
 *
 * That is the time in which at least three tenants of one weight have jobs waiting. The share is
 * the weighted max-min fair part of all GPUs, given what each runs and waits for; tenants are taken
 * side by side, also those of a tree.
 */
#ifndef QUEUESIM_MAXMIN_H
#define QUEUESIM_MAXMIN_H

#include "spec/settings.h"

struct tenant_share {
    char *name;
    uint64_t used, waits; /* GPUs at this moment */
    bool has_jobs;
    double had, share; /* GPU-seconds */
};

struct shares {
    const struct settings *settings; /* not after the run */
    uint32_t n;
    uint64_t gpus;                /* of the cluster */
    double seconds, largest_gang; /* largest_gang: GPU-seconds */
    struct tenant_share *v;       /* by tenant; NULL before shares_init() */
};

void shares_init(struct shares *s, const struct settings *settings, uint64_t gpus);
void shares_fini(struct shares *s);
/* Time passes with what runs and waits now. */
void shares_pass(struct shares *s, double seconds);

#endif
