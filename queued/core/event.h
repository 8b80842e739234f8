/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - facts that come in: a tagged union with names. Decisions do not pass here as facts,
 * but use the same type (EV_GANG_PLACED) so that state_apply() is the one way to change.
 *
 * An event owns what its pointers point to; event_fini() frees it. state_apply() may take a
 * pointer over and sets it to NULL.
 */
#ifndef QUEUED_CORE_EVENT_H
#define QUEUED_CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/ids.h"
#include "spec/indices.h"
#include "spec/limits.h"
#include "cluster/fact.h"
#include "spec/spec.h"
#include "util/parse.h"
#include "util/vec.h"

enum event_kind {
    EV_NONE,
    EV_JOB_SUBMIT,     /* a client: store this job */
    EV_JOB_VERB,       /* a client: cancel, hold ... this job, or what it saved is told */
    EV_JOB_UPDATE,     /* a client: change what this waiting job asks for */
    EV_JOBS_SELECTED,  /* a client: the same verb for many */
    EV_NODE_DRAIN,     /* an operator: no new members on this node, or give it back */
    EV_TENANT_STOP,    /* an operator: gangs of this tenant start no more, or do again */
    EV_WINDOW,         /* an operator: nodes are reserved for a time, or no more */
    EV_GANG_PLACED,    /* the cycle: a placement for a pending gang */
    EV_GANG_CLAIMED,   /* the cycle: nodes held for a pending gang, and who must leave them */
    EV_GANG_PREEMPTED, /* the cycle: a victim of a claim is told */
    EV_CLAIM_OVER,     /* the cycle: a claim's nodes are free, or it came to nothing */
    EV_GANG_RESIZED,   /* the cycle: more members for a running elastic gang */
    EV_ARRAY_STEP,     /* the cycle: the next thing to do for a job array */
    EV_GANG_MENDED,    /* the cycle: hosts for members that a running gang lost */
    EV_NODE_SEEN,      /* a node is new or has changed */
    EV_NODE_GONE,
    EV_POD_SEEN,     /* a pod, ours or foreign, as the API server has it now */
    EV_POD_GONE,     /* a pod object is gone */
    EV_POD_BOUND,    /* the binding of a member was accepted (or found done) */
    EV_POD_REFUSED,  /* a create or bind of a member was refused */
    EV_HOST_WANTED,  /* the cycle: a member's host was refused, another one or undo the gang */
    EV_SERVICE_GONE, /* the headless service of a job is gone */
    EV_BUDGET,       /* the PodDisruptionBudget of an attempt is gone, or could not be made */
    EV_SYNCED,       /* node and pod lists are complete: cycles may run, gangs in between resume */
    EV_CLUSTER,      /* the API server answers, or does not */
    EV_SETTINGS,     /* other settings, checked; levels and models are the same */
    EV_STORE_LOW,    /* space: below the reserve, or enough again */
    EV_TIMER,        /* nothing happened but time */
    EV_KINDS,
};

/* Who asks, from the socket's credentials and the configuration, never from the message. */
struct caller {
    uint32_t uid;
    char user[USER_NAME_MAX + 1];
    bool is_admin;
};

enum { REQUEST_ID_BYTES = 16 };

/* Where the answer goes, and the key of the idempotency table. */
struct request_ref {
    uint64_t reply_token; /* of the RPC server; 0: nobody waits */
    uint32_t uid;
    uint8_t request_id[REQUEST_ID_BYTES];
};

struct ev_submit {
    struct request_ref ref;
    struct caller caller;
    struct spec *spec; /* checked by spec_check(); owned */
    uint8_t digest[SPEC_DIGEST_BYTES];
    bool is_dry_run;       /* all checks and the verdict, nothing stored */
    bool require_feasible; /* refuse what no node of the cluster could ever take */
};

enum job_verb {
    VERB_CANCEL,
    VERB_HOLD,
    VERB_RELEASE,
    VERB_REQUEUE,
    VERB_PREEMPT,
    VERB_CHECKPOINTED
};

struct ev_verb {
    struct request_ref ref;
    struct caller caller; /* already authorised for this job by rpc_auth */
    struct job_id job;
    enum job_verb verb;
    usec_t grace_us; /* VERB_CANCEL: at most so long until SIGKILL, from USEC_PER_SEC; 0: its own */
    char *why;       /* at most REASON_TEXT_MAX; owned, NULL none */
    struct indices part; /* of a job array: these indices of it; owned, empty: the whole */
};

/* One verb for many jobs, in one turn. Those that it does not fit are left as they are. */
struct ev_selected {
    struct request_ref ref;
    struct caller caller; /* already authorised for each */
    enum job_verb verb;
    usec_t grace_us;         /* as of ev_verb */
    char *why;               /* as of ev_verb */
    VEC(struct job_id) jobs; /* by id; owned */
};

struct ev_update {
    struct request_ref ref;
    struct caller caller; /* already authorised for this job and the tenant of spec */
    struct job_id job;
    uint32_t n_updates;          /* of the job whose spec was changed into this one */
    struct spec *spec;           /* checked by spec_check(); owned */
    struct indices part;         /* of a job array: only class or run time, of these; owned */
    bool has_class, has_runtime; /* and which of them */
    char *why;                   /* what is new in it, at most REASON_TEXT_MAX; owned, NULL none */
};

/* Of a node, or (EV_TENANT_STOP) of a tenant by its path. */
struct ev_drain {
    struct request_ref ref;
    struct caller caller; /* already authorised */
    bool is_back;         /* takes new members again */
    char *node;           /* owned */
    char *why;            /* at most REASON_TEXT_MAX; owned, NULL none */
};

/* A reservation (window.h). */
struct window {
    char name[LABEL_MAX + 1];
    char tenant[TENANT_PATH_MAX + 1]; /* "": nobody */
    char text[REASON_TEXT_MAX + 1];   /* "by alice: why" */
    usec_t from, to, made_at;
    uint32_t tenant_ix;  /* IX_NONE: nobody, or it left the configuration */
    VEC(uint32_t) nodes; /* node_ix; in the state only */
};

struct ev_window {
    struct request_ref ref;
    struct caller caller; /* already authorised */
    bool is_over;         /* it is dropped; only the name counts */
    struct window window;
    char *nodes;   /* names, each ended by '\n'; owned, NULL when it is over */
    char *why;     /* at most REASON_TEXT_MAX; owned, NULL none */
    char *warning; /* answered beside success; owned, NULL none */
};

struct ev_config {
    const struct settings *settings; /* borrowed, as those of state_create() */
    uint64_t digest;                 /* of the configuration that they were read from */
};

struct placement_member {
    uint32_t node_ix;
    uint32_t rank;
};

struct ev_placed {
    struct job_id job;
    uint32_t n;                       /* members, in the order of struct job */
    struct placement_member *members; /* owned */
    uint8_t models[JOB_ROLES_MAX];    /* per role, charged; MODELS_MAX: no GPUs */
    int64_t fixed_cpu_milli[JOB_ROLES_MAX];
    int64_t fixed_memory_bytes[JOB_ROLES_MAX];
};

/* A gang as it runs now: a later attempt is another. Or one pod beyond what it needs; those of one
 * gang follow each other. */
struct victim {
    struct job_id job;
    uint32_t attempt;
    uint32_t pod; /* its member pod - 1; 0: the whole gang */
};

struct ev_claimed {
    struct ev_placed placed;
    uint32_t n_victims;
    struct victim *victims; /* owned */
    usec_t until;           /* the longest grace of them is over */
    struct ev_placed
        *moves;    /* of each victim: where it goes then; owned, NULL: back to the queue */
    uint64_t lost; /* GPU-microseconds of those who move */
};

enum refusal_kind {
    REFUSAL_TRY_LATER, /* quota, missing namespace or account, terminating ...: undo, back off */
    REFUSAL_REJECTED,  /* invalid or forbidden for good: the job ends Rejected */
    REFUSAL_BIND,      /* the pod cannot be bound any more: undo, exclude the host */
    REFUSAL_HOST,      /* this host was refused for it, another may do; it is not bound */
};

struct ev_pod_answer {
    struct job_id job;
    uint32_t attempt;
    uint32_t member; /* position in job->members */
    uint16_t run;    /* of that member */
    char uid[UID_MAX + 1];
    enum refusal_kind refusal; /* of EV_POD_REFUSED */
    char text[REASON_TEXT_MAX + 1];
};

struct ev_pod_gone {
    char ns[LABEL_MAX + 1];
    char name[NODE_NAME_MAX + 1];
    char uid[UID_MAX + 1]; /* "" : the API says that no pod of this name exists */
    struct job_id job;     /* as in pod_fact; 0 foreign */
    uint32_t attempt;
    uint32_t member; /* position, when an answer to our DELETE told; IX_NONE from the watch */
};

struct event {
    enum event_kind kind;
    usec_t at; /* when the engine took it in, microseconds since 1970 */
    union {
        struct ev_submit submit;
        struct ev_verb verb;
        struct ev_selected *selected; /* owned */
        struct ev_update update;
        struct ev_drain drain;    /* EV_NODE_DRAIN, EV_TENANT_STOP */
        struct ev_window *window; /* owned */
        struct ev_placed placed;
        struct ev_claimed claimed;
        struct {
            struct job_id taker;
            struct job_id victim; /* EV_GANG_PREEMPTED */
            bool is_ready;        /* EV_CLAIM_OVER */
        } claim;
        struct node_fact *node;       /* EV_NODE_SEEN; owned */
        char *node_name;              /* EV_NODE_GONE; owned */
        struct pod_fact *pod;         /* EV_POD_SEEN; owned */
        struct ev_pod_gone *pod_gone; /* owned */
        struct ev_pod_answer *answer; /* EV_POD_BOUND, EV_POD_REFUSED, EV_HOST_WANTED; owned */
        struct job_id service_job;    /* EV_SERVICE_GONE */
        struct {
            struct job_id job;
            uint32_t attempt;
            char *trouble; /* why it was not made; owned. NULL: it is gone */
        } budget;
        struct job_id array; /* EV_ARRAY_STEP */
        struct {
            bool is_up;
            char *text; /* why not, at most REASON_TEXT_MAX; owned, NULL none */
        } cluster;
        char cluster_uid[UID_MAX + 1]; /* EV_SYNCED: uid of the namespace kube-system */
        bool is_low;                   /* EV_STORE_LOW */
        struct ev_config config;       /* EV_SETTINGS */
    } u;
};

void event_fini(struct event *ev);

#endif
