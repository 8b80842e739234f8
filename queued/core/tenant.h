/* SPDX-License-Identifier: Apache-2.0 */
/* tenant.h - the tenant tree: charges against limit and quota, counts of jobs.
 *
 * A gang is charged to its tenant and every ancestor from the decision until its last pod is
 * terminal. Limit caps; quota orders, and bounds what is not preemptible. All amounts here are in
 * parts of GPUs (mig.h), past use is in GPUs.
 */
#ifndef QUEUED_CORE_TENANT_H
#define QUEUED_CORE_TENANT_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/mig.h"
#include "util/err.h"
#include "util/hash.h"

/* Decayed usage of one's own jobs at an instant (share.h). */
struct share_past {
    uint64_t value; /* GPUs, SHARE_BITS behind the point */
    usec_t stamp;   /* 0: nothing was ever charged */
};

/* The part of maxRuntime that runs take: the mean of the first PACE_RUNS_MAX, later ones move it by
 * one in that many of the difference. */
struct tenant_pace {
    uint32_t mean; /* 1/1000 with PACE_BITS behind the point */
    uint32_t n;    /* runs that it is made of, at most PACE_RUNS_MAX */
};
enum { PACE_BITS = 16, PACE_RUNS_MIN = 5, PACE_RUNS_MAX = 20 };

struct tenant {
    uint64_t used[MODELS_MAX];    /* charged, with those of its subtree */
    uint64_t own[MODELS_MAX];     /* of them, for its own jobs */
    uint64_t of_user[MODELS_MAX]; /* in a plan of preemption: of the taker's user, by then */
    int64_t coming[MODELS_MAX];   /* what claims will charge, less what their victims still hold */
    struct share_past past[MODELS_MAX];                /* stored */
    uint64_t usage[MODELS_MAX], own_usage[MODELS_MAX]; /* as of usage_at: subtree, own jobs */
    struct tenant_pace pace;                           /* of its own jobs; stored */
    usec_t stopped_at;                     /* no gang of it or below starts; 0: it is open */
    char stopped_why[REASON_TEXT_MAX + 1]; /* "by alice: why" */
    uint64_t saved_turn;                   /* its record is written with this turn */
    const struct opening_setting
        *window; /* its own that is open, of these (opening.h): NULL none */
    usec_t
        closes_at; /* from here on nothing starts, by the windows on its path; INT64_MAX: never */
    bool must_fit; /* nor what may run longer */
    uint32_t pending, active; /* jobs of its own: waiting or held, holding nodes */
    uint64_t released_gen;    /* a charge was given back here or below, or a limit changed */
};

/* What one user's jobs in a tenant, not below it, hold and held: where users share. */
struct user_share {
    uint64_t own[MODELS_MAX];
    struct share_past past[MODELS_MAX]; /* stored */
    uint64_t usage[MODELS_MAX];         /* as of usage_at */
    usec_t usage_at;
    uint64_t saved_turn;        /* its record is written with this turn */
    uint64_t seen_gen;          /* of struct tenants: the next two are of this round */
    struct job *first;          /* his first one that could start */
    bool is_final;              /* and none of the entries behind it can have a better one */
    uint64_t ahead[MODELS_MAX]; /* in share_line_up(): what of his that wait before; 0 */
};

/* What one user holds in a tenant and below it. */
struct account {
    struct account_key {
        uint32_t tenant, uid;
    } key;
    uint64_t used[MODELS_MAX];
    uint32_t pending;
    struct user_share *share; /* owned; NULL where users do not share */
    UT_hash_handle hh;
};

struct tenants {
    const struct settings *settings;
    struct tenant *v;         /* settings->n_tenants, same index */
    struct account *accounts; /* by key; of every user who had a job */
    bool counts_of_user;      /* of_user stands for the accounts */
    bool has_unlent;          /* some tenant does not lend all of its quota */
    bool has_quotas;          /* some tenant has a quota, or will when a window opens */
    usec_t usage_at;
    uint64_t seen_gen; /* of user_share: a round of looking at users */
    usec_t looked_at,
        changes_at;      /* at windows, and when the next begins or ends; INT64_MAX never */
    uint64_t users_turn; /* records of users are written with this turn */
    uint64_t share_gen;  /* the place of some tenant in the order may have changed */
};

void tenants_init(struct tenants *t, const struct settings *settings);
void tenants_fini(struct tenants *t);
/* Make t, which was inited with the same settings, equal to another; nothing is shared. */
void tenants_copy(struct tenants *t, const struct tenants *from);
/* Does a charge fit the limits of the tenant and its ancestors? ret_at: the one that is full. */
bool tenant_admits(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts,
                   uint32_t *ret_at);
/* The same for what one user may hold. */
bool tenant_admits_user(const struct tenants *t, struct account_key who, uint32_t model,
                        uint64_t parts, uint32_t *ret_at);
/* A user of the tenant has n more jobs waiting (or less), or holds parts more. */
void tenant_wait(struct tenants *t, struct account_key who, int n);
void tenant_charge_user(struct tenants *t, struct account_key who, uint32_t model, int64_t parts);
const struct account *tenant_account(const struct tenants *t, struct account_key who); /* NULL */
/* Is no limit of his passed as it is? What claims will charge him counts, and what their victims
 * still hold. */
bool tenant_user_fits(const struct tenants *t, struct account_key who);
/* From now on of_user stands for the accounts of one user, and for a copy's alone; and count there.
 */
void tenant_count_user(struct tenants *t, uint32_t uid);
void tenant_add_of_user(struct tenants *t, uint32_t ix, uint32_t model, int64_t parts);
/* The share of a user in a tenant, made where it is missing; only where users share. */
struct user_share *tenant_user(struct tenants *t, struct account_key who);
/* Are gangs of different users in this tenant judged differently? */
bool tenant_splits_users(const struct tenants *t, uint32_t ix);
/* GPUs of a model that are free in pools that one tenant may not use. */
struct pool_gpus {
    uint64_t pools; /* as bits */
    uint64_t free[POOLS_MAX];
};
/* GPUs that other tenants keep idle for themselves, since they do not lend them, beyond what is
 * apart for them: taken from apart. */
uint64_t tenant_unlent(const struct tenants *t, uint32_t ix, uint32_t model,
                       struct pool_gpus *apart);
/* The tenant on the path that is stopped; IX_NONE. */
uint32_t tenant_stopped(const struct tenants *t, uint32_t ix);
/* Does a charge stay inside the quota that judges the tenant? Without a quota nothing does. */
bool tenant_in_quota(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts);
/* The models, as bits, of which it has quota left. */
uint64_t tenant_inside(const struct tenants *t, uint32_t ix);
/* Could it ever fit: is no limit on the path below parts? */
bool tenant_could_admit(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts,
                        uint32_t *ret_at);
void tenant_charge(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts);
/* A claim will charge so much, or a victim has given it back; and the contrary. */
void tenant_expect(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts);
void tenant_spare(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts);
/* The same as tenant_admits(), whatever is coming. */
bool tenant_has_room(const struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts);
void tenant_refund(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts);
/* A run of one of its jobs is over that could have lasted for most. Runs that others ended are not
 * told of: they say nothing of how long its jobs run. */
void tenant_ran(struct tenants *t, uint32_t ix, usec_t ran, usec_t most);
/* What its runs usually take of their maxRuntime, in 1/1000, at least 1; 0: too few are known. */
uint32_t tenant_usual(const struct tenants *t, uint32_t ix);
/* Has the tenant a quota of any model? */
bool tenant_has_quota(const struct tenants *t, uint32_t ix);
/* The limit, and the quota, of a tenant itself as its open window has them; -1: none. */
int64_t tenant_own_limit(const struct tenants *t, uint32_t ix, uint32_t model);
int64_t tenant_own_quota(const struct tenants *t, uint32_t ix, uint32_t model);
/* The limit in the window where it is most. */
int64_t tenant_most_limit(const struct tenants *t, uint32_t ix, uint32_t model);
/* What a user may hold in a tenant; 0: no limit. */
uint64_t tenant_user_limit(const struct tenants *t, uint32_t ix, uint32_t model);
/* Quota that judges a tenant: its own or the nearest ancestor's (ret_at). 0 when none is set. */
uint64_t tenant_quota(const struct tenants *t, uint32_t ix, uint32_t model, uint32_t *ret_at);
/* The most that it is in any window. */
uint64_t tenant_most_quota(const struct tenants *t, uint32_t ix, uint32_t model);

#endif
