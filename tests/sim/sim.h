/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - one simulated site with the real engine in it, driven by one seed.
 *
 * machine.c boots, turns and crashes the daemon's parts; check.c says what must hold; sim.c runs
 * seeds and prints tables. World, users, store and clock outlive a crash, the rest does not.
 */
#ifndef QUEUED_SIM_SIM_H
#define QUEUED_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/job_fsm.h"
#include "spec/settings.h"
#include "engine.h"

#include "../fake/fake_cluster.h"
#include "../fake/fake_store.h"
#include "sim_client.h"
#include "fault.h"
#include "rng.h"
#include "world.h"

enum { FSM_ROWS_MAX = 64, SIM_INBOX_MAX = 512 };

enum { SIM_NODES_MAX = 256 };

enum { SIM_TENANTS = 6 }; /* of wish.c */

/* How often a job came into a state for a reason. */
struct reason_met {
    char code[32];
    uint64_t n;
};

enum { REASONS_MET_MAX = 96, CLAIMS_MET_MAX = 64 };

struct sim {
    uint64_t seed;
    bool is_verbose;
    bool is_junk; /* shuffle allocations from a seed of the process */
    struct rng junk;
    void *junk_kept; /* blocks that stay to the end; each begins with the address of the next */
    struct rng rng;
    struct faults faults;
    struct settings first;     /* all tenants, as the site began */
    struct settings *settings; /* in force */
    struct settings *next;     /* of the configuration file, on its way into the core; NULL none */
    uint64_t n_reloads;
    bool has_left[SIM_TENANTS]; /* was once not configured, or started with another half-life */
    struct world world;
    struct client client;
    struct fake_store *store;
    struct store_port inner; /* the store's own; the engine sees one that can fail */
    usec_t now;
    usec_t wake; /* as the last turn said */

    /* the daemon: gone after a crash */
    struct state *state;
    struct inbox *inbox;
    struct fake_cluster *cluster;
    struct engine engine;
    usec_t judged_at; /* state->now of the last turn that was checked */
    bool was_synced;
    int64_t crash_at_effect; /* this effect and those after it are not carried out; -1 all are */
    bool is_broken_off;      /* it came to that */
    int fail_commit;         /* 0 no, 1 before it is stored, 2 after */

    int64_t ours[SIM_NODES_MAX];      /* GPUs that our gangs held on a node after the last turn */
    int64_t our_bytes[SIM_NODES_MAX]; /* the same, memory of shared ones */
    int64_t our_mig[MIG_KINDS][SIM_NODES_MAX];
    struct share_past past[2][SIM_TENANTS][MODELS_MAX]; /* stored last, and before a crash */
    struct tenant_pace pace[2][SIM_TENANTS];
    bool has_past[2][SIM_TENANTS]; /* by the order of first; else it was not configured */
    uint64_t n_turns, n_starts, n_effects, n_jobs_ended, n_moved;
    uint64_t rows[FSM_ROWS_MAX];            /* transitions seen, by row of the table */
    struct reason_met met[REASONS_MET_MAX]; /* the codes of these transitions, and other marks */
    uint32_t n_claims;
    struct job_id claims[CLAIMS_MET_MAX]; /* open after the last turn */
    uint64_t hash; /* of every effect and every stored byte: the decision log */
    int failed;    /* a rule was broken while effects ran */
    struct err err;
};

void sim_init(struct sim *s, uint64_t seed);
void sim_fini(struct sim *s);
/* One turn at s->now with what the inbox has. -1: a rule is broken (s->err). */
int sim_turn(struct sim *s);
/* Another configuration is written, and the daemon reads it. */
void sim_reload(struct sim *s);
/* Lose everything that is not stored, and start again. */
void sim_crash(struct sim *s, enum fault_kind kind);
/* Faults stop, time runs on until nothing more happens; checks that all came to an end. */
int sim_finish(struct sim *s);
/* Fold a number into the decision log. */
void sim_note(struct sim *s, uint64_t x);
/* met.c: count something that the table at the end names; what became of claims in a turn, in a
 * crash. */
void sim_met(struct sim *s, const char *code, uint64_t n);
void sim_met_claims(struct sim *s);
bool sim_had_claim(const struct sim *s, struct job_id id); /* after the turn before this one */
void sim_met_crash(struct sim *s);
/* When something is due by the world, the adapter or the daemon. */
usec_t sim_next(const struct sim *s);

/* check.c: what must hold after each turn, and at the end. */
int check_turn(struct sim *s);
int check_rest(struct sim *s);
int check_empty(struct sim *s);
/* An effect is carried out: may it be? Counts transitions. */
void check_effect(struct sim *s, const struct effect *fx);

/* check_rights.c: limits and quotas hold; a victim was a lawful one; no taker sleeps. */
int check_rights(struct sim *s);
int check_windows(struct sim *s);
void check_taken(struct sim *s, const struct job_note *note);
int check_takers(struct sim *s);

#endif
