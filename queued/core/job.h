/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - one job in memory: who, in which state, what it needs, where its members are.
 *
 * The record that the store keeps is this without what can be learned again: member phases
 * and uids come from the cluster (but that a member has ended is stored: its pod may be cleaned
 * up), the demand from the stored spec.
 */
#ifndef QUEUED_CORE_JOB_H
#define QUEUED_CORE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "util/hash.h"

#include "cluster/demand.h"
#include "core/event.h"
#include "core/tenant.h"
#include "spec/ids.h"
#include "spec/indices.h"
#include "core/job_fsm.h"
#include "spec/limits.h"
#include "util/parse.h"
#include "util/vec.h"

enum member_phase {
    MEMBER_SPARE,  /* a host is held, for a pod that is lost; it has none of its own */
    MEMBER_KEPT,   /* its pod is gone, and the host is held for the next attempt (kept.h) */
    MEMBER_PLACED, /* host chosen; the pod may or may not exist */
    MEMBER_BOUND,  /* the API server has accepted the binding */
    MEMBER_RUNNING,
    MEMBER_SUCCEEDED, /* terminal: holds nothing */
    MEMBER_FAILED,    /* terminal: holds nothing */
    MEMBER_GONE,      /* no such pod any more */
    MEMBER_ABSENT,    /* an elastic gang is without it: no host, no charge */
};

/* What a member of a running gang lacks that has to be made again (mend.h). */
enum member_mend {
    MEND_NONE,
    MEND_RECALLED, /* its pod has to go first */
    MEND_HOSTLESS, /* MEMBER_GONE: a host */
    MEND_STARTING, /* it has a host; its pod does not run yet */
};

/* One pod of the current attempt. Order: role by role, index by index, as many as it may have. */
struct member {
    uint32_t node_ix;
    uint32_t rank;  /* 0..pods-1, neighbours sit on neighbouring hosts */
    uint16_t index; /* in its role */
    uint8_t role;
    uint8_t phase;         /* enum member_phase */
    int16_t exit_code;     /* of a terminal one; -1 unknown */
    uint16_t run;          /* how often it was made again in this attempt; part of its name */
    uint8_t mend;          /* enum member_mend */
    bool is_seen;          /* in the pod list of this connection */
    bool is_new;           /* joined a running gang and has not run yet */
    bool waits;            /* MEMBER_PLACED: no pod is asked for before another role runs */
    bool is_going;         /* absent, and charged until its pod is gone (elastic.h) */
    uint8_t is_out;        /* of a fork, while a plan is made (preempt.c) */
    char uid[UID_MAX + 1]; /* "" until known; of an absent one: its pod is still there */
};

/* Why a job is where it is: said once at the transition, stored, shown. */
struct job_reason {
    char code[32]; /* one of explain.def or of a transition: "ExitCode" ... */
    char *text;    /* one sentence with numbers, at most REASON_TEXT_MAX; owned, NULL none */
};

/* A job that has to start or end before this one waits for nodes. */
struct dependency {
    struct job_id on;
    uint8_t condition; /* enum spec_condition */
};

/* Nodes held for a gang that waits until its victims have left them. */
struct claim {
    usec_t until;    /* the longest grace of the victims is over */
    uint64_t seen;   /* stamp of the cluster it had to wait on. In memory only */
    uint32_t n_told; /* victims that were told, or need not be. In memory only */
    uint32_t n_victims;
    struct victim *victims;
};

/* The texts of a job. */
struct job_texts {
    const char *name; /* with its suffix */
    const char *ns;
    const char *tenant;
    const char *user;
    const char *priority_class;
    const char *submit_key; /* NULL none */
};

/* What was asked of some indices of a job array, until it is done or they have ended. */
struct array_part {
    enum array_part_kind {
        PART_HELD,  /* they have no job, and get none */
        PART_VERB,  /* they have one, and this is still to be done to it */
        PART_TERMS, /* they have other terms than their array */
    } kind;
    enum job_verb verb; /* PART_VERB */
    struct indices set;
    char text[REASON_TEXT_MAX + 1];
    /* PART_TERMS; "" and 0: as the array */
    char priority_class[CLASS_NAME_MAX + 1];
    int32_t priority;
    usec_t max_runtime_us;
};

/* The indices of a job array (array.h). */
struct job_array {
    struct indices waiting; /* without a job yet, and not held */
    VEC(struct array_part) parts;
    struct indices succeeded, failed;
    uint32_t n, n_cancelled;
    uint32_t parallel; /* jobs at a time */
    bool fails_fast;
    /* in memory only */
    struct indices all;
    VEC(struct job *) live; /* jobs of indices that have not ended */
    uint32_t n_kept;        /* jobs of indices, ended ones too */
    uint32_t n_running;
    struct job *next; /* the first of those that wait for their first nodes; NULL none */
    bool is_due;      /* in state->arrays_due */
    bool is_left;     /* nothing of it is left but a service on its way out */
};

struct job {
    /* fixed at submission, but for what update.h changes; the texts lie in `texts` */
    struct job_id id;
    char *texts; /* owned */
    const char *name, *ns, *tenant, *user, *priority_class;
    const char *submit_key; /* NULL none */
    const char *ns_name;    /* "ns/name" */
    const char *base;       /* the name that its pods begin with: an index has its array's */
    struct job_id array_id; /* of an index of a job array: the array, which has the spec; 0 none */
    uint32_t array_index;
    uint32_t tenant_ix; /* IX_NONE: no longer in the configuration */
    uint32_t uid;       /* of the submitter */
    int32_t priority;
    usec_t submitted_at;
    usec_t max_runtime_us, max_queue_us, start_timeout_us, grace_us;
    uint32_t max_restarts;
    struct demand *demand; /* interned in the state; shared */
    struct demand
        *other;         /* with the required level preferred; once is_relaxed: without (relax.h) */
    usec_t max_wait_us; /* topology.maxWait; 0: none */
    usec_t deadline_at; /* 0: none */
    bool is_relaxed;
    uint8_t digest[32]; /* of the spec as submitted (spec_feed), SHA-256 */
    uint32_t n_updates; /* in memory only: two changes of one spec must not overlap */

    /* moves */
    enum job_state state;
    enum job_state outcome;   /* while Stopping: where to; JOB_PENDING: requeue. 0 otherwise */
    struct job_reason reason; /* of the last transition */
    usec_t state_since;
    usec_t queued_at;           /* start of the present wait, for maxQueueTime */
    uint32_t attempt;           /* 0 before the first placement, then 1.. */
    uint64_t config_generation; /* that the current attempt was decided by */
    uint32_t restarts;          /* that count against max_restarts */
    uint32_t refusals;          /* placements undone in a row, for back-off */
    usec_t not_before;          /* back-off: no placement earlier; 0 none */
    usec_t attempt_at;          /* decision of the current attempt */
    usec_t running_at;          /* all members Running; 0 not yet */
    usec_t run_until;           /* it kept its place: the end of the run before; 0: none */
    usec_t lost_at;       /* of the first member lacking, after its back-off; 0: none is missing */
    usec_t resized_at;    /* of this attempt; 0: it has the size that it began with */
    usec_t ended_at;      /* terminal since; 0 */
    usec_t stop_grace_us; /* cancelled with a grace below its own; 0 */
    int32_t exit_code;    /* highest of the members; -1 unknown */
    bool has_service;     /* a headless service was asked for and not yet removed */
    bool has_budget;      /* so was a PodDisruptionBudget, by this attempt */
    bool keeps;           /* Restarting: on the hosts that it has (kept.h) */
    bool has_pods;        /* terminal, and finished pods are still kept */
    uint32_t n_replaced;  /* members of this attempt that went to another host. In memory only */
    uint32_t excluded[JOB_EXCLUDED_MAX]; /* node_ix that refused; IX_NONE empty. In memory only */

    VEC(struct dependency) waits; /* not met yet */
    uint32_t n_waiters;           /* conditions of others on this job */
    struct claim *claim;          /* Pending, and members are held for it (claim.h); NULL none */
    struct ev_placed *move;       /* held for it until it has left its place (claim.h); NULL none */
    bool ends_preempted;          /* onPreemption: end */
    bool is_movable;              /* preemption.movable */
    bool ends_saved;              /* checkpoint.exitZero: done */
    bool is_asked;                /* to save, before its pods get SIGTERM: checkpoint.signal */
    usec_t before_end_us;         /* checkpoint.beforeEnd; 0 none */
    usec_t ttl_us;                /* its record stays this long after the end */
    usec_t pod_ttl_us;            /* and its finished pods, if they are kept */
    bool drops_pods;              /* cleanup.keepPods: none */
    bool drops_good_pods;         /* or failed: they stay if the job has not succeeded */
    bool is_told;                 /* Running, and was asked so before its end */
    usec_t checkpointed_at;       /* as it said; 0 never */
    struct job_array *array;      /* a job array: it has no pods of its own; owned, NULL none */
    uint8_t leader;               /* role whose first pod leads; JOB_ROLES_MAX: none */
    bool ends_with_leader;        /* completion.policy: leader */
    uint32_t done_least;          /* the same: min; pods that must have succeeded. 0: all */
    struct failure *failure;      /* failurePolicy; owned, NULL: nothing of it was given */
    bool is_leaving;              /* victim of a claim, still charged. In memory only */

    /* the current attempt; NULL without one */
    uint32_t n_members; /* demand->most, or 0 */
    struct member *members;
    uint32_t size[JOB_ROLES_MAX];           /* pods of each role that are not absent */
    uint32_t going[JOB_ROLES_MAX];          /* and that are, with is_going */
    int64_t fixed_cpu_milli[JOB_ROLES_MAX]; /* what a role that left it out was given; -1 */
    int64_t fixed_memory_bytes[JOB_ROLES_MAX];
    uint64_t charged_parts;        /* of GPUs (mig.h): what the tenant is charged now */
    uint8_t models[JOB_ROLES_MAX]; /* per role: model it was placed on; MODELS_MAX: no GPUs */
    uint32_t n_bound, n_running, n_done, n_gone, n_absent, n_spare,
        n_waiting;   /* counts over members, kept by job_set_phase() and job_set_waits() */
    bool is_resumed; /* after a start: its pods were compared with the list */

    /* the queue */
    uint32_t position, position_overall; /* of state->positions->turn */
    uint64_t turn_share;                 /* share_line_up() */
    struct bucket *bucket;               /* while Pending; NULL otherwise */
    struct job *prev, *next;             /* in the bucket, by age */
    size_t timer_ix;                     /* position in state->timers, SIZE_MAX: none */
    usec_t timer_at;
    uint64_t saved_turn;    /* turn in which SAVE was asked for */
    uint64_t moved_turn;    /* turn in which GANG_START was asked for, as members moved */
    UT_hash_handle hh_name; /* by ns/name */
};

/* A job with these texts, which are copied, that has not been anywhere yet: no members, no exit
 * code, no timer, no excluded hosts, nothing fixed; all else is 0. */
struct job *job_create(const struct job_texts *texts);
/* Whose account it counts in. Its tenant is known. */
struct account_key job_account(const struct job *j);
/* Other texts, copied; the new may lie in the old. No table may know the job by its name. */
void job_set_texts(struct job *j, const struct job_texts *texts);
/* Free a job that no table knows any more. NULL is none. */
void job_destroy(struct job *j);
/* Pods: members that are neither absent nor spare. */
uint32_t job_size(const struct job *j);
/* What it is charged on these models (per role), or needs at least; in parts of GPUs (mig.h). */
void job_gpus(const struct job *j, const uint8_t *models, uint64_t ret[MODELS_MAX]);
/* When its run is over, by maxRuntime and what it keeps to. It has run. */
usec_t job_run_end(const struct job *j);
/* The clock was set back while it was stored: nothing that happened to it lies ahead of now, and
 * what is to come is as far from it as it was. */
void job_set_back(struct job *j, usec_t now);
void job_free_claim(struct job *j);
/* Say why it is where it is; a text that is too long is cut. text: "" none. */
void job_set_reason(struct job *j, const char *code, const char *text);
const char *job_reason_text(const struct job *j); /* "" none */
/* Move a member to a phase, keeping the counts. */
void job_set_phase(struct job *j, struct member *m, enum member_phase phase);
void job_set_waits(struct job *j, struct member *m, bool waits);
/* "; role A waits for role B to be Running", of the first member that waits; "" none. */
enum { JOB_WAITS_TEXT = 2 * ROLE_NAME_MAX + 48 };
const char *job_waits_words(char buf[JOB_WAITS_TEXT], const struct job *j);
/* The job whose spec it has. */
struct job_id job_spec_id(const struct job *j);
/* Index of a pod in its names: the indices of an array follow each other. */
uint32_t job_pod_index(const struct job *j, const struct member *m);
/* What its spec says of its life, and is read there anew at a start: how it ends, what failures and
 * preemption mean, what is kept. Of a job that has none of it yet. */
void job_set_terms(struct job *j, const struct spec *s);
/* The same, for an index, as its array has it. */
void job_share_terms(struct job *j, const struct job *of);
/* The member whose exit code is its own; NULL: none leads, or there are no members. */
const struct member *job_leader(const struct job *j);
/* The member of a role and such an index, or NULL. */
struct member *job_member(const struct job *j, uint32_t role, uint32_t index);
/* Role index by name; IX_NONE. */
uint32_t job_role(const struct job *j, const char *name);
/* Writes "<job>-<role>-<index>-<attempt>", and "-<run>" of one that was made again. */
enum { POD_NAME_TEXT = POD_NAME_MAX + 18 };
const char *job_pod_name(char buf[POD_NAME_TEXT], const struct job *j, const struct member *m);
/* The same after its namespace and a slash. */
enum { POD_KEY_TEXT = LABEL_MAX + 1 + POD_NAME_TEXT };
const char *job_pod_key(char buf[POD_KEY_TEXT], const struct job *j, const struct member *m);
/* Four characters of a hash of the id for the name; round: 0.. on collisions. */
void job_name_suffix(char buf[5], struct job_id id, uint32_t round);

/* Does this member take something on its node? */
/* Is it one of those that are spare while they hold a host? */
bool job_is_spare(const struct job *j, const struct member *m);
/* Pods of the slices that the member stands in one of; 0: in none, as spares and pods without GPUs.
 */
uint32_t job_slice(const struct job *j, const struct member *m);
bool job_shares_slice(const struct job *j, const struct member *a, const struct member *b);
bool job_member_holds(const struct member *m);
/* It ends with the next tick. */
bool job_is_overdue(const struct job *j, usec_t now);
/* Count what it is charged, by model, at its tenant. */
typedef void tenant_count(struct tenants *t, uint32_t ix, uint32_t model, uint64_t parts);
void job_count_gpus(struct tenants *t, const struct job *j, tenant_count *count);
/* The same of so many pods of a role, and of those that are going. */
/* What one pod of a role is charged, of the model that it is placed on; 0: nothing. */
uint32_t job_pod_parts(const struct job *j, uint32_t role);
void job_count_pods(struct tenants *t, const struct job *j, uint32_t role, uint32_t pods,
                    tenant_count *count);
void job_count_going(struct tenants *t, const struct job *j, tenant_count *count);
bool job_is_going(const struct job *j); /* is a pod of it? */
/* What it is charged, with those. */
void job_all_gpus(const struct job *j, uint64_t ret[MODELS_MAX]);

#endif
