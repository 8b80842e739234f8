/* SPDX-License-Identifier: Apache-2.0 */
/* effect.h - intentions that state_apply() leaves behind, carried out in order.
 *
 * SAVE_* and DROP_* become the one store transaction of the turn; the others run when it is
 * acknowledged. Whoever runs them reads the present state for what they name, so a repeated
 * effect is harmless. What an effect points to lies in the arena of the list, but for specs, which
 * are owned; effects_clear() frees all of it.
 */
#ifndef QUEUED_CORE_EFFECT_H
#define QUEUED_CORE_EFFECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "spec/ids.h"
#include "core/job_fsm.h"
#include "spec/spec.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/vec.h"

enum effect_kind {
    EFFECT_SAVE_JOB,     /* record of job */
    EFFECT_SAVE_SPEC,    /* its spec, once */
    EFFECT_SAVE_KEY,     /* its submit key */
    EFFECT_SAVE_REQUEST, /* remembered answer */
    EFFECT_SAVE_EVENT,   /* durable event; also told to watchers after the commit */
    EFFECT_SAVE_ATTEMPT, /* accounting row of the attempt that ended */
    EFFECT_SAVE_DRAIN,   /* whether a node is drained */
    EFFECT_SAVE_WINDOW,  /* a reservation, or that it is gone */
    EFFECT_SAVE_CONFIG, /* the number of the configuration, with what tenants used under the last */
    EFFECT_DROP_JOB,    /* record, spec and name are past their time */
    EFFECT_DROP_KEY,
    EFFECT_DROP_REQUEST,
    EFFECT_DROP_EVENTS,   /* all below a sequence number */
    EFFECT_DROP_ATTEMPTS, /* of all jobs below this one */
    EFFECT_REPLY,
    EFFECT_GANG_START,   /* create and bind the pods of the current attempt */
    EFFECT_GANG_STOP,    /* delete what exists of the current attempt; maybe the service */
    EFFECT_POD_DELETE,   /* one stray pod */
    EFFECT_ORPHAN_FOUND, /* say it: a pod of a job that nobody knows, to be deleted later */
    EFFECT_ORPHAN_HELD,  /* the same of an id that this store never gave: nothing is deleted */
    EFFECT_KINDS,
};

/* A state change of a job, numbered without gaps. */
struct job_note {
    uint64_t seq;
    usec_t at;
    struct job_id job;
    char job_name[JOB_SHOWN_MAX + 1];
    char tenant[TENANT_PATH_MAX + 1];
    uint32_t uid;        /* owner, for the filter of watchers */
    enum job_state from; /* 0: submitted */
    enum job_event
        event; /* row of the table that was taken; 0: submitted, or a remark. Not stored */
    enum job_state to;
    uint32_t attempt;
    char reason[32];
    char text[REASON_TEXT_MAX + 1];
};

/* The answer of a changing call, remembered 24 h per identity and request id. */
struct answer {
    uint32_t uid;
    uint8_t request_id[REQUEST_ID_BYTES];
    usec_t at;
    struct job_id job;
    enum err_code code;
    bool is_again; /* the submit key was known: the job existed already */
    char *text;    /* error sentence, or a warning beside success; NULL none */
};

/* Accounting row of an attempt that ended; a few hundred bytes, kept EXPIRE_ATTEMPT_S. */
struct attempt_row {
    struct job_id job;
    uint32_t attempt;
    char name[JOB_SHOWN_MAX + 1];
    char tenant[TENANT_PATH_MAX + 1];
    char user[USER_NAME_MAX + 1];
    uint32_t pods, nodes;
    uint64_t gpus;
    uint32_t parts;                          /* and of one GPU more (mig.h) */
    char model[LABEL_MAX + 1];               /* of the first role with GPUs; "" none */
    usec_t decided_at, running_at, ended_at; /* running_at 0: never */
    enum job_state state;                    /* that the job left for */
    int32_t exit_code;                       /* -1 unknown */
    uint64_t config_generation;              /* that it was decided by */
    char reason[32];
};

struct reply {
    uint64_t token;
    struct answer answer;
};

struct effect {
    enum effect_kind kind;
    struct job_id job; /* of SAVE_JOB, SAVE_SPEC, SAVE_ATTEMPT, DROP_*, GANG_* */
    union {
        struct spec *spec;           /* SAVE_SPEC; owned */
        struct answer *answer;       /* SAVE_REQUEST. DROP_REQUEST: uid and request_id */
        struct job_note *note;       /* SAVE_EVENT */
        struct reply *reply;         /* REPLY */
        struct attempt_row *attempt; /* SAVE_ATTEMPT */
        struct ev_pod_gone *pod;     /* POD_DELETE, ORPHAN_*: ns, name, uid */
        const char *key; /* DROP_KEY, SAVE_KEY of a job that goes: "tenant\nkey". SAVE_DRAIN: node.
                            SAVE_WINDOW: name */
        uint64_t below_seq; /* DROP_EVENTS */
        bool with_service;  /* GANG_STOP: remove the service too */
    } u;
};

struct effects {
    VEC(struct effect) list;
    struct arena arena; /* of what they point to */
};

/* Room for what one more event may add? */
bool effects_have_room(const struct effects *e);
struct effect *effects_add(struct effects *e, enum effect_kind kind, struct job_id job);
/* Ask for the deletion of one pod by name and uid. */
void effects_delete_pod(struct effects *e, const char *ns, const char *name, const char *uid);
void effects_clear(struct effects *e); /* keeps some memory for the next turn */
void effects_fini(struct effects *e);

#endif
