/* SPDX-License-Identifier: Apache-2.0 */
/* sim_client.h - users of the simulated site: what they ask, what they were told, what must hold.
 *
 * A request lives over crashes of the daemon; one that got no answer may be repeated under its
 * request id. Every answer is compared with what was promised before.
 */
#ifndef QUEUED_SIM_SIM_CLIENT_H
#define QUEUED_SIM_SIM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "port/inbox.h"
#include "spec/indices.h"
#include "spec/settings.h"
#include "util/err.h"
#include "util/vec.h"

#include "fault.h"
#include "rng.h"

/* One thing that a user asked for. */
struct request {
    uint64_t seed;   /* of the job; cancels have none */
    uint32_t number; /* position; its request id is made of it */
    uint32_t key;    /* submit key number; 0 none */
    bool is_verb, is_update, is_dry_run, require_feasible;
    enum job_verb verb;
    bool is_part; /* of a job array: only these of its indices */
    struct index_range part;
    struct job_id job;  /* to cancel; or the one that was promised */
    usec_t asked_at;    /* last time */
    usec_t answered_at; /* 0: never */
    enum err_code code; /* of the answer */
    uint64_t token;     /* reply token of the last try; 0: not waiting */
};

/* An accepted job, told to its user. */
struct promise {
    struct job_id job;
    uint32_t key; /* 0 none */
    uint64_t seed;
    usec_t at;
    char tenant[TENANT_PATH_MAX + 1];
    bool is_over; /* seen in a terminal state */
};

struct client {
    const struct settings *settings;
    const struct state *state; /* what the door sees; valid in a client_*() call */
    struct rng *rng;
    struct faults *faults;
    bool is_busy;    /* asks for more, and mostly for what can run */
    bool is_crumbly; /* asks for parts of nodes and whole ones: there is much to move */
    bool is_staged;  /* asks for roles that start one after the other */
    bool is_calm;    /* asks for less than there is: what grows has its time */
    bool is_wide;    /* asks for MIG devices, too, and for signals */
    uint64_t run;    /* seed of the run: request ids of two runs differ */
    VEC(struct request) requests;
    VEC(struct promise) promises;
    uint64_t last_token;
    uint64_t n_parts; /* changes of parts of an array that were accepted */
    uint64_t n_accepted, n_refused, n_conflicts, n_again, n_bad_specs;
};

void client_init(struct client *c, const struct settings *settings, struct rng *rng,
                 struct faults *faults);
void client_fini(struct client *c);
/* Perhaps ask something. */
void client_step(struct client *c, struct inbox *inbox, usec_t now);
/* A new request to cancel this job (for the end of a run). */
void client_cancel(struct client *c, struct inbox *inbox, usec_t now, struct job_id job);
/* The daemon died: nobody waits any more. */
void client_crash(struct client *c);
/* An answer came. -1: it breaks a promise. */
int client_answer(struct client *c, const struct reply *reply, usec_t now, struct err *err);

#endif
