/* SPDX-License-Identifier: Apache-2.0 */
/* queued.h - the client library of queued: submit, look at and cancel jobs from C.
 *
 * Conventions. Functions return 0, or -1 with *error filled in (error may be NULL); outputs are
 * then untouched. Strings are UTF-8; a NULL string in a result means unknown. Times are
 * microseconds since 1970-01-01 UTC, 0 unknown; durations say their unit in their name. What a
 * function hands out through a pointer to pointer belongs to the caller, who frees it with the
 * function named there; pointers inside it live as long. A client is used by one thread at a time.
 *
 * Retries. Every changing call carries a random id that stays the same over its retries, so an
 * answer lost on the way never makes a second job.
 */
#ifndef QUEUED_H
#define QUEUED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queued_spec.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define QUEUED_API __attribute__((visibility("default")))
#else
#define QUEUED_API
#endif

enum queued_code {
    QUEUED_OK = 0,
    QUEUED_INTERNAL = 1,
    QUEUED_INVALID = 2,
    QUEUED_NOT_FOUND = 3,
    QUEUED_UNAUTHENTICATED = 4,
    QUEUED_DENIED = 5,
    QUEUED_CONFLICT = 6,
    QUEUED_UNAVAILABLE = 7, /* no answer, or the daemon cannot answer now */
    QUEUED_NOT_LEADER = 8,
    QUEUED_DEADLINE = 9,
    QUEUED_REFUSED = 10,   /* limit, unknown tenant, class or level */
    QUEUED_EXHAUSTED = 11, /* the daemon has no room */
    QUEUED_OUT_OF_RANGE = 12
};

enum { QUEUED_TEXT_MAX = 512, QUEUED_ID_MAX = 14, QUEUED_NAME_MAX = 64 };

struct queued_error {
    int code;                   /* enum queued_code */
    char text[QUEUED_TEXT_MAX]; /* one sentence: what, where, what to do */
};

/* ---- connection */

struct queued_client;

/* Zeroed is the default. */
struct queued_options {
    const char *endpoint;    /* NULL: $QUEUED_ENDPOINT, else ipc:///run/queued/queued.sock */
    uint32_t connect_ms;     /* longest wait for the first answer; 0: 5000 */
    uint32_t call_ms;        /* longest wait for any other; 0: 30000 */
    uint32_t retry_first_ms; /* silence before the first resend; 0: 2000 */
    uint32_t retry_max_ms;   /* the wait doubles up to this; 0: 30000 */
};

/* What the daemon said of itself and of the caller. */
struct queued_server {
    const char *version;
    const char *user; /* who the daemon says you are */
    bool is_admin;
    bool is_cluster_up; /* the API server answers */
    bool is_synced;     /* nodes and pods are known */
    const char *cluster_trouble;
    uint32_t spec_bytes_max;
    uint32_t list_page_max;
    size_t n_tenants;
    const char *const *tenants; /* that you may submit to */
};

/* Connect and say hello. options NULL: the default. UNAVAILABLE: nobody answers there. DENIED: the
 * socket may not be opened. INVALID: no endpoint. Close with queued_close(). */
QUEUED_API int queued_connect(struct queued_client **ret, const struct queued_options *options,
                              struct queued_error *error);
QUEUED_API void queued_close(struct queued_client *c);
/* Borrowed; lives until queued_close(). */
QUEUED_API const struct queued_server *queued_server(const struct queued_client *c);
/* The endpoint in use. Borrowed. */
QUEUED_API const char *queued_endpoint(const struct queued_client *c);
/* Version of this library, "0.1.0". */
QUEUED_API const char *queued_version(void);

/* ---- jobs: what is */

struct queued_number {
    const char *name;
    int64_t value;
};

struct queued_pod {
    const char *name;
    const char *role;
    uint32_t index;
    uint32_t rank;
    const char *node;
    uint32_t gpus;
    const char *phase; /* Placed, Bound, Running, Succeeded, Failed, Gone */
    bool has_exit_code;
    int exit_code;
};

struct queued_attempt {
    uint32_t number;
    int64_t started_us; /* decision */
    int64_t running_us;
    int64_t ended_us;
    const char *reason;
    bool has_exit_code;
    int exit_code;
    size_t n_pods;
    const struct queued_pod *pods;
};

/* A spec as the daemon stores it; print it with queued_spec_text(). */
struct queued_stored_spec;

/* The indices of a job array, which is Running while one of them runs. */
struct queued_array {
    uint32_t indices, succeeded, failed, cancelled, running, waiting;
    const char *open;           /* those that have not ended: "5-20"; NULL none */
    const char *failed_indices; /* NULL none */
};

struct queued_job {
    const char *id;
    const char *name;
    const char *ns;
    const char *tenant;
    const char *user;
    size_t n_labels;
    const struct queued_pair *labels;
    int64_t created_us;
    const char *state;   /* Pending, Binding, Starting, Running, ..., Succeeded, Failed ... */
    const char *outcome; /* where a Stopping or Restarting job goes */
    const char *reason_code;
    const char *reason_text;
    size_t n_numbers;
    const struct queued_number *numbers; /* of the reason */
    uint32_t position;                   /* in its tenant, 1..; 0: not waiting */
    const char *priority_class;
    uint64_t gpus;                      /* wanted, in all */
    uint32_t pods, most_pods, now_pods; /* wanted; an elastic one: at most, and now */
    uint64_t held_gpus;
    uint32_t held_nodes;
    uint64_t charged_gpus;
    uint64_t charged_milli; /* of one GPU more, by MIG devices, in thousandths */
    int64_t state_since_us;
    int64_t running_us;
    int64_t ended_us;
    int64_t checkpointed_us; /* it last said that it had saved; 0 never */
    uint32_t restarts;
    bool has_exit_code;
    int exit_code;
    const char *gpu_model;
    const char *placement;
    const char *submit_key;
    size_t n_attempts;
    const struct queued_attempt *attempts;
    const struct queued_stored_spec *spec;             /* NULL when not asked for */
    int64_t predicted_start_us;                        /* of a waiting job; 0: unknown */
    int64_t predicted_last_start_us, predicted_end_us; /* of an array, of its last index */
    /* If runs take the part of maxRuntime that is usual in their tenants, and that in words; 0 and
     * NULL: not known. */
    int64_t predicted_usual_start_us;
    const char *predicted_usual_basis;
    const char *predicted_basis; /* what that rests on, or why it is unknown; NULL: not waiting */
    const struct queued_array *array; /* NULL: it is no array */
    const char *array_id;             /* of an index of an array: its array; NULL none */
    uint32_t array_index;
};

struct queued_jobs {
    size_t n;
    const struct queued_job *v;
    uint64_t as_of_seq; /* events up to this number are contained */
};

QUEUED_API void queued_jobs_free(struct queued_jobs *jobs);
/* No event leads out of this state. */
QUEUED_API bool queued_state_is_final(const char *state);

enum queued_format { QUEUED_YAML, QUEUED_JSON };

/* The canonical job file of a stored spec. Free with free(). */
QUEUED_API char *queued_spec_text(const struct queued_stored_spec *spec, enum queued_format format);

/* Zeroed is the default. */
struct queued_submit_options {
    bool is_dry_run;       /* all checks, nothing stored */
    bool require_feasible; /* REFUSED when no node of the kind exists */
};

struct queued_submitted {
    char id[QUEUED_ID_MAX];
    char name[QUEUED_NAME_MAX];
    char ns[QUEUED_NAME_MAX];
    char tenant[QUEUED_NAME_MAX];
    uint64_t gpus;
    bool existed;                  /* same submit key and spec: this is the job of before */
    char warning[QUEUED_TEXT_MAX]; /* "" when there is none */
};

/* Store a job; when this returns 0 it is durable. options may be NULL. CONFLICT: the submit key
 * belongs to another spec. */
QUEUED_API int queued_submit(struct queued_client *c, const struct queued_spec *spec,
                             const struct queued_submit_options *options,
                             struct queued_submitted *ret, struct queued_error *error);
/* The same from the text of a job file with exactly one job, YAML or JSON. */
QUEUED_API int queued_submit_text(struct queued_client *c, const char *text,
                                  const struct queued_submit_options *options,
                                  struct queued_submitted *ret, struct queued_error *error);

/* One job with spec and attempts. job: name, id or unique prefix. ret->n is 1. */
QUEUED_API int queued_get(struct queued_client *c, const char *job, struct queued_jobs **ret,
                          struct queued_error *error);

/* Zeroed: the caller's own jobs. */
struct queued_filter {
    bool all;           /* of every tenant that the caller may see */
    const char *tenant; /* with its subtree */
    const char *user;
    size_t n_states;
    const char *const *states; /* names; "active": not final */
    size_t n_labels;
    const struct queued_pair *labels; /* all must match */
    const char *array; /* of a list: the indices of this array (name or id); NULL: no index */
};

struct queued_query {
    struct queued_filter filter;
    uint32_t limit; /* jobs of one page; 0: the daemon's */
    bool is_full;   /* with spec and attempts */
};

/* One page, in order of id. *cursor starts as NULL and is replaced; it is NULL after the last
 * page. Free a cursor that is not used to the end with queued_cursor_free(). */
struct queued_cursor;
QUEUED_API int queued_list(struct queued_client *c, const struct queued_query *query,
                           struct queued_cursor **cursor, struct queued_jobs **ret,
                           struct queued_error *error);
QUEUED_API void queued_cursor_free(struct queued_cursor *cursor);
/* A cursor as text, for a later process; free with free(). */
QUEUED_API char *queued_cursor_text(const struct queued_cursor *cursor);
/* And back. INVALID: not such a text. */
QUEUED_API int queued_cursor_from_text(const char *text, struct queued_cursor **ret,
                                       struct queued_error *error);

/* What is done to a job; one that waits again keeps its age. */
enum queued_verb {
    QUEUED_CANCEL = 3,   /* stopped for good */
    QUEUED_HOLD = 11,    /* a waiting job is not started */
    QUEUED_RELEASE = 12, /* a held one waits again, however often it was held */
    QUEUED_REQUEUE = 13, /* the pods of a job are stopped and it waits again */
    QUEUED_PREEMPT = 14, /* a running job is told to save, stopped after its grace, waits again */
    QUEUED_CHECKPOINTED = 80, /* it says that it has saved; takes no reason */
};

struct queued_change {
    enum queued_verb verb;
    const char *job;    /* name, id or unique prefix */
    const char *reason; /* NULL none */
    int64_t grace_us; /* QUEUED_CANCEL: at most so long until SIGKILL, one second or more; 0: as the
                         job says. A job that is being stopped may get less, too */
};

struct queued_changed {
    char id[QUEUED_ID_MAX];
    char name[QUEUED_NAME_MAX];
    char state[QUEUED_NAME_MAX]; /* after the call */
};

/* A job that is so already is no error, nor is cancelling one that has ended; CONFLICT: its state
 * does not allow it. */
QUEUED_API int queued_change(struct queued_client *c, const struct queued_change *change,
                             struct queued_changed *ret, struct queued_error *error);

enum { QUEUED_CHANGES_MAX = 32 };

/* Several changes that are asked for at once and stored together; each is made or refused for
 * itself. n: at most QUEUED_CHANGES_MAX. errors[i].code QUEUED_OK: ret[i] is what came of
 * changes[i]. -1: there is an error. */
QUEUED_API int queued_change_all(struct queued_client *c, const struct queued_change *changes,
                                 size_t n, struct queued_changed *ret, struct queued_error *errors);

/* The same change of all jobs that match, in one request: stored together, and none of them starts
 * in between. change->job is not read. Those that are not in a state for it are left as they are.
 * filter: with labels or a tenant. ret_text (QUEUED_TEXT_MAX bytes) says how many were changed.
 * DENIED: one of them is not the caller's to change, and nothing is changed; INVALID also from a
 * daemon that does not know this request yet. */
QUEUED_API int queued_change_selected(struct queued_client *c, const struct queued_filter *filter,
                                      const struct queued_change *change, char *ret_text,
                                      struct queued_error *error);

/* NULL and 0: stays as it is. */
struct queued_update {
    const char *job;    /* name, id or unique prefix */
    const char *reason; /* NULL none */
    const char *priority_class;
    const char *tenant;
    int64_t max_runtime_us;
    const char *topology_required; /* either of the two replaces both */
    const char *topology_preferred;
};

/* Change what a waiting job asks for; it keeps its age. What could not be submitted is refused in
 * the same way. CONFLICT: the job does not wait, or was changed meanwhile. */
QUEUED_API int queued_update(struct queued_client *c, const struct queued_update *update,
                             struct queued_changed *ret, struct queued_error *error);

struct queued_why {
    const struct queued_job *job;
    const char *asks;
    const char *now;
    const char *closest;
    const char *not_it;
    const char *next_step;
    uint32_t position_overall; /* 0: not waiting */
};

/* Why a job waits. Free with queued_why_free(). */
QUEUED_API int queued_why(struct queued_client *c, const char *job, struct queued_why **ret,
                          struct queued_error *error);
/* Zeroed: the cluster as it is. */
struct queued_estimate_options {
    size_t n_without;
    const char *const *without; /* names of nodes: as if they took nothing new */
    uint32_t n_added;           /* as if there were so many more nodes */
    const char *added_like;     /* whose copies they are; NULL: of one that the job may use */
    size_t n_added_domains;
    const struct queued_pair *added_domains; /* level and name; others: as the copied one */
};

/* Why a job that is not submitted would wait, and when it would start; nothing is stored. options
 * may be NULL. Free with queued_why_free(). */
QUEUED_API int queued_estimate(struct queued_client *c, const struct queued_spec *spec,
                               const struct queued_estimate_options *options,
                               struct queued_why **ret, struct queued_error *error);
QUEUED_API void queued_why_free(struct queued_why *why);

/* ---- events */

struct queued_event {
    uint64_t seq;
    int64_t at_us;
    const char *job_id;
    const char *job_name;
    const char *tenant;
    const char *from; /* "": submitted */
    const char *to;
    uint32_t attempt;
    const char *reason;
    const char *text;
};

struct queued_watch_options {
    uint64_t after_seq; /* events after this number */
    bool from_now;      /* only new ones; after_seq is not used */
    const char *job;    /* only this job; NULL: by filter */
    struct queued_filter filter;
    uint32_t credit; /* events the daemon may send ahead; 0: 256 */
};

/* Borrowed for the call. Anything but 0 ends the watch. */
typedef int queued_on_event(const struct queued_event *event, void *ctx);

struct queued_watch;

/* Open a stream of events beside the client, which stays usable. It resumes by itself after a
 * restart of the daemon. OUT_OF_RANGE (here or later): history up to there is gone; list, and watch
 * from the as_of_seq of the list. */
QUEUED_API int queued_watch_open(struct queued_client *c, const struct queued_watch_options *o,
                                 struct queued_watch **ret, struct queued_error *error);
/* Call on_event for what comes within wait_ms (-1: for ever). 0: went on, or time is up; 1:
 * on_event ended it; -1: error. */
QUEUED_API int queued_watch_next(struct queued_watch *w, int64_t wait_ms, queued_on_event *on_event,
                                 void *ctx, struct queued_error *error);
/* Everything up to this number was delivered or is filtered out. */
QUEUED_API uint64_t queued_watch_seq(const struct queued_watch *w);
QUEUED_API void queued_watch_close(struct queued_watch *w);

enum queued_wait_for { QUEUED_WAIT_FINISHED, QUEUED_WAIT_RUNNING, QUEUED_WAIT_SCHEDULED };

struct queued_wait_options {
    size_t n; /* 1.. */
    const char *const *jobs;
    enum queued_wait_for what;
    bool any;                  /* until one of them, not all */
    int64_t wait_ms;           /* 0: for ever */
    queued_on_event *on_event; /* called for each change of state of these jobs; may be NULL */
    void *ctx;
};

/* Wait until the jobs have reached what is asked for, judged by their present state; a
 * final state always ends the wait. *ret: the jobs in the order given. DEADLINE: time is up, the
 * jobs go on. Free with queued_jobs_free(). */
QUEUED_API int queued_wait(struct queued_client *c, const struct queued_wait_options *options,
                           struct queued_jobs **ret, struct queued_error *error);

#include "queued_cluster.h" /* the cluster and the tenants */

#ifdef __cplusplus
}
#endif

#endif
