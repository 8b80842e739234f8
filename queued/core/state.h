/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - all truth: jobs, cluster, tenants, remembered answers.
 *
 * Events change it (life/state_apply.h). Adapters read it between turns through const pointers, and
 * so see only what is stored.
 */
#ifndef QUEUED_CORE_STATE_H
#define QUEUED_CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/hash.h"

#include "cluster/cluster.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/job.h"
#include "spec/settings.h"
#include "core/tenant.h"
#include "util/vec.h"

/* Pending gangs of one tenant, priority, demand and sometimes user, by age. A verdict belongs to
 * all of them. */
struct bucket {
    struct job *head; /* oldest */
    uint32_t n;
    /* "does not fit" with what it was judged from; asleep while nothing of that has moved */
    bool is_blocked;
    bool is_limited;   /* a limit or quota stops it, on some model */
    bool is_short;     /* there is no room, on some model; on all: the verdict is the demand's */
    bool is_held_back; /* it fits, but for a reservation */
    bool is_shut;      /* of an operator (window.h) */
    uint64_t reserved; /* by which it is held back (backfill_ahead_of()); 0: two of it by others */
    uint64_t seen_backfill_gen;
    uint64_t seen_shape_gen, seen_released_gen;
    bool has_victims; /* not enough, or behind a reservation, or what ends anyway would do */
    bool may_take;    /* from others, since: of the generations seen_takes */
    bool is_taker;    /* by priority, whatever its tenant may */
    uint64_t seen_takes, seen_freed_any;
    uint64_t seen_freed_gen; /* sum over the models it may use */
    struct explain *verdict; /* in words, of verdict_turn; NULL: nobody has asked */
    uint64_t verdict_turn;
    UT_hash_handle hh;
    struct bucket_key {
        uint32_t tenant_ix; /* IX_NONE: left the configuration */
        int32_t priority;
        uint32_t uid; /* 0 where all users of the tenant are judged alike */
        struct demand *demand;
    } key;
};

/* Buckets of one tenant in order of their heads. */
struct order_queue {
    VEC(struct order_entry {
        struct bucket *bucket;
        struct demand *demand;   /* the bucket's */
        struct user_share *user; /* where users share; NULL */
        bool is_alike;           /* sleeps while its demand has no room, and for no other reason */
        uint64_t reserved;       /* the bucket's; 0: it has none on the bare cluster */
    })
    entries;
    size_t at;              /* those before it sleep */
    bool has_others;        /* some of them for other reasons than their demand's */
    uint64_t wakes, at_sum; /* while the first does not move; where it has others, neither */
    uint64_t takes, shape, reservations; /* by which is_alike was judged */
    uint64_t inside;                     /* models of which its tenant had quota left */
    uint32_t n_greedy;                   /* buckets with several roles */
    uint32_t n_takers;                   /* and such that may take from others by their priority */
};

struct remembered {
    struct remembered_key {
        uint32_t uid;
        uint8_t request_id[REQUEST_ID_BYTES];
    } key;
    usec_t at;
    struct job_id job;
    bool is_again;
    char *text; /* a warning beside success; NULL none */
    UT_hash_handle hh;
};

/* A pod with our labels whose job is unknown (orphan.h). */
struct orphan {
    char *key; /* "ns/name" */
    char uid[UID_MAX + 1];
    usec_t seen_at;
    bool is_held; /* its id was never given by this store: nothing is deleted */
    UT_hash_handle hh;
};

/* A submit key: (tenant, key) -> job. Kept as long as the job record plus 7 days. */
struct submit_key {
    char *key; /* "tenant\nkey" */
    struct job_id job;
    uint8_t digest[SPEC_DIGEST_BYTES];
    usec_t drop_at; /* 0: the job record exists */
    UT_hash_handle hh;
};

/* The whole order of pending jobs, made when somebody asks, of one turn. */
struct positions {
    uint64_t turn;
    VEC(struct job *) order;
};

/* What else the store keeps, one record. */
struct store_meta {
    struct job_id last_id;
    uint64_t next_seq;                      /* of durable events; starts at 1 */
    uint64_t oldest_seq;                    /* still stored */
    char cluster_uid[UID_MAX + 1];          /* of the namespace kube-system; "" not known yet */
    int64_t moves_day;                      /* days since 1970 on which gangs were last moved */
    uint64_t moves_lost;                    /* GPU-microseconds that they lost on that day */
    uint64_t config_generation;             /* of the settings in force; 0: none was ever stored */
    uint64_t config_digest;                 /* of what they were read from (state_configure()) */
    struct job_id foreign_from, foreign_to; /* ids that pods have and we never gave; 0 none */
};

struct state {
    const struct settings *settings;
    struct cluster cluster;
    struct tenants tenants;
    struct demand *demands;
    struct job *jobs_by_name; /* by "ns/name" */
    VEC(struct job *) by_id;  /* ascending id */
    VEC(uint64_t) ids;        /* of by_id, position by position: searched without touching jobs */
    struct bucket *buckets;   /* by key, in order of making */
    VEC(struct order_queue) queues; /* by tenant */
    uint64_t pass_gen;              /* backfill_gen() when this pass over the buckets began */
    uint64_t wakes, glance_sum; /* moves when a demand may have room; while nothing of this does */
    uint32_t n_greedy;          /* of all queues */
    uint64_t taken_seen;        /* by those: taken_any */
    VEC(struct job *) active;   /* jobs that hold nodes, in order of decision */
    VEC(struct job *) claims;   /* pending, with nodes held for them, in order of decision */
    struct remembered *answers; /* oldest first */
    struct orphan *orphans;
    uint32_t n_held_orphans;
    struct job_id last_before, first_id; /* first id given since the start, and the last before */
    VEC(struct ev_pod_answer *) refused_hosts; /* decided on when the turn's facts are in; owned */
    VEC(struct job *) dependents;              /* that wait for other jobs */
    VEC(struct job_id) settled;                /* started or ended: dependents are to be told */
    VEC(struct job_id) arrays_due;             /* that may have something to do: array.h */
    VEC(uint32_t) lost_nodes;                  /* with lost_at set and members */
    VEC(struct job *) timers;                  /* heap by timer_at: see timers.h */
    struct submit_key *keys;
    struct store_meta meta;
    uint64_t turn;
    usec_t now;         /* of the turn, for what is made in it */
    usec_t started_at;  /* when the store was loaded: what happened lies before; 0: not known */
    bool is_synced;     /* node and pod lists were complete once: cycles may run */
    bool is_cluster_up; /* the API server answers */
    bool is_store_low;
    char cluster_trouble[REASON_TEXT_MAX + 1];
    struct positions *positions;
    struct backfill *backfill; /* room kept for blocked gangs */
    struct windows *windows;   /* reservations of operators */
    struct cluster *plan_fork; /* memory for plans; NULL before the first */
    usec_t mature_at;          /* when a running gang may be a victim; 0: none will */
    usec_t grow_at;            /* when an elastic gang may grow; 0: none will */
    bool has_growers;          /* some may, if they find room */
    bool has_missing;          /* running gangs may lack members (mend.h) */
    uint64_t mature_gen;       /* moves when some have become so */
    uint64_t checkpoint_gen;   /* and when one has saved */
    uint64_t licence_gen;      /* moves when a gang gives licences back */
    bool is_quiet;             /* the last cycle found nothing and nothing has changed since */
    uint32_t turn_evaluations; /* in this turn */
    uint64_t n_decisions, n_evaluations; /* since the start; for metrics and tests */
    usec_t next_sweep;                   /* next look for what is past its time */
    usec_t next_trim;                    /* and for accounting rows */
};

/* settings must outlive the state. */
struct state *state_create(const struct settings *settings);
void state_destroy(struct state *s);

/* A submit key as a record has it. */
void state_load_key(struct state *s, const char *key, struct job_id job,
                    const uint8_t digest[SPEC_DIGEST_BYTES], usec_t drop_at);
/* The same for a key that is not there yet. */
void state_add_key(struct state *s, const char *key, struct job_id job,
                   const uint8_t digest[SPEC_DIGEST_BYTES], usec_t drop_at);

/* Reading. */
struct job *state_job(const struct state *s, struct job_id id); /* NULL: no such */
/* First position in by_id with an id above after. */
size_t state_jobs_after(const struct state *s, struct job_id after);
const struct submit_key *state_key(const struct state *s, const char *tenant, const char *key);
/* Resources of one pod of a role, with what was fixed for the current attempt. */
void state_pod_asks(const struct job *j, uint32_t role, struct resources *ret);

#endif
