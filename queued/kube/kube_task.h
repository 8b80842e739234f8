/* SPDX-License-Identifier: Apache-2.0 */
/* kube_task.h - inside of kube_gang.h: one object of a gang and what happens to it next.
 *
 * A task has at most one request at a time. task_send() makes the request of its step;
 * its answer moves the step. The steps up to TASK_REFUSED belong to a start, the others to a stop.
 */
#ifndef QUEUED_KUBE_KUBE_TASK_H
#define QUEUED_KUBE_KUBE_TASK_H

#include "util/hash.h"

#include "kube/kube_api.h"
#include "kube/kube_gang.h"
#include "kube/kube_pod.h"

/* A server carries a write out up to so long after it was asked. */
#define LATE_CREATE_US (35 * USEC_PER_SEC)

enum task_step {
    TASK_NONE,      /* nothing to do: no service or budget, or not asked for */
    TASK_CREATE,    /* POST it */
    TASK_LOOK,      /* did the create happen? GET it */
    TASK_EXISTS,    /* it is there; a pod waits for the others */
    TASK_BIND,      /* POST the binding */
    TASK_LOOK_BIND, /* did the bind happen? GET the pod */
    TASK_BOUND,
    TASK_TELL, /* of a pod that runs: PATCH in the request for a checkpoint before the end */
    TASK_REFUSED,
    TASK_FIND,    /* stop: the uid is not known, GET it */
    TASK_ASK,     /* stop: PATCH the request for a checkpoint in, before it is deleted */
    TASK_DELETE,  /* stop: DELETE with the uid */
    TASK_DELETED, /* stop: accepted; asked again when due */
    TASK_ENDED,   /* stop: it is gone */
    TASK_STEPS,
};

struct run;

struct task {
    struct task *prev, *next; /* of a pod: in run->ready */
    struct run *run;
    const struct gang_pod *pod; /* NULL: the service or the budget */
    enum task_step step;
    struct http_request *req; /* NULL: waiting for due */
    usec_t due;               /* INT64_MAX: it asks for nothing */
    bool is_ready;            /* a pod in run->ready */
    bool is_timed;            /* a pod that waits for its due: counted in run->n_timed */
    struct api_backoff backoff;
    usec_t unsure_until; /* a create that was broken off may still be carried out */
    bool is_asked;       /* for a checkpoint, as far as it could be */
    unsigned n_lost;     /* creates without a clear answer that had not happened */
    char uid[UID_MAX + 1];
};

struct run {
    UT_hash_handle hh;       /* by job, while it is the job's newest run */
    struct run *prev, *next; /* all runs, oldest first */
    struct kube_gangs *gangs;
    struct gang gang;     /* owns pods, spec and class */
    struct kube_env *env; /* of the pods; NULL: none was made yet */
    char *stray_name;     /* not NULL: no gang, one pod of this name */
    bool is_hashed;
    bool is_stopping;
    bool keeps_service;         /* a stop that leaves the service to the next attempt */
    bool is_refused;            /* nothing new is sent; the core will stop it */
    usec_t due;                 /* the earliest of its tasks; 0: look at once */
    usec_t not_before;          /* the server sent us away: nothing of this gang is sent earlier */
    bool is_told_when;          /* not_before is what the server asked for */
    struct api_backoff backoff; /* of not_before; 0 again with the next good answer */
    bool is_blocked;            /* a task found no room to send: look at every tick */
    struct task service, budget;
    struct task *tasks; /* gang.n_pods */
    /* kept by task_set() and the sending, so that no look at all pods is needed at each answer */
    struct task *ready;        /* pods that may send now, first come first served */
    uint32_t n_at[TASK_STEPS]; /* pods at each step */
    uint32_t n_timed;          /* pods that wait for their due */
    uint32_t n_flying;         /* pods with a request */
};

struct queued_event {
    struct queued_event *prev, *next;
    struct event ev;
};

struct kube_gangs {
    struct kube_http *http;
    struct api_pace *pace;
    struct kube_events *placed_events; /* NULL: off */
    bool is_direct;                    /* a pod is created with its node named */
    bool is_budget_told;               /* the log says that budgets are refused */
    struct run *by_job;
    struct run *runs;
    struct queued_event *events;
    bool has_orders; /* something was asked since the last tick */
};

bool task_is_start(enum task_step step);
/* Send the request of the step; false: the queue has no room, or the step needs none. */
bool task_send(struct task *t);
/* The step of a stop that follows from what is known. */
enum task_step task_stop_step(const struct task *t);

/* The answers of the two halves (kube_task_start.c, kube_task_stop.c). */
void task_start_answer(struct task *t, const struct http_answer *a);
void task_stop_answer(struct task *t, const struct http_answer *a);

/* wait_us: until it may send; INT64_MAX: it asks for nothing until it is set again. */
void task_set(struct task *t, enum task_step step, usec_t wait_us);
/* Its request is over, or was never sent. */
void task_landed(struct task *t);
/* Make pods ready whose due has come; returns the earliest due of the others, INT64_MAX none. */
usec_t run_wake_timed(struct run *r, usec_t now);
/* Again after a back-off of its own: the answer was not clear. */
void task_later(struct task *t, enum task_step step, usec_t retry_after_us);
/* Again, and the whole gang backs off: the server took no request, or had no room for it. */
void task_sent_away(struct task *t, enum task_step step, usec_t retry_after_us);
/* Events. */
void task_tell_bound(struct task *t);
void task_tell_unbudgeted(struct task *t, const char *text);
void task_tell_refused(struct task *t, enum refusal_kind kind, const char *text);
/* Does it stand beside the pods, as service or budget? */
bool task_is_beside(const struct task *t);
bool task_is_budget(const struct task *t);
/* Seconds of grace that its DELETE names; 0: those of the pod. */
int64_t task_cut_s(const struct task *t);
/* A start can get no further here: tell it as "what: why". A budget is no reason to stop. */
void task_refuse(struct task *t, enum refusal_kind kind, const char *what, const char *why);
void task_tell_gone(struct task *t);
/* The object of a good answer, which the caller deletes; NULL: it is none, or has no uid. */
cJSON *task_object(const struct http_answer *a);
/* Remember the uid of an object; false, and none is known: it is longer than UID_MAX. */
bool task_take_uid(struct task *t, const cJSON *object);
/* The same from a good answer, of which no more is read. */
bool task_scan_uid(struct task *t, const struct http_answer *a);
/* Is this object the one that this run made? */
bool task_is_ours(const struct task *t, const cJSON *object);

#endif
