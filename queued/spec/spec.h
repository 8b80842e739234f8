/* SPDX-License-Identifier: Apache-2.0 */
/* spec.h - a job's wishes, as submitted and as stored: pods, resources, containers, topology.
 *
 * A spec owns all its strings in one arena. It is built by an adapter (wire, store), checked
 * by spec_check(), kept in the store, and read back only to make pods or to show it; what the
 * scheduler needs of it stays in memory as struct demand (cluster/demand.h).
 * A NULL string and a negative amount mean: not given.
 */
#ifndef QUEUED_CORE_SPEC_H
#define QUEUED_CORE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/settings.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/parse.h"

struct spec_pair {
    const char *key;
    const char *value;
};

/* A bounded list of key-value pairs in the order given. */
struct spec_pairs {
    struct spec_pair *v;
    uint32_t n;
};

struct spec_strings {
    const char **v;
    uint32_t n;
};

struct spec_toleration {
    const char *key;    /* NULL with exists: every taint */
    bool exists;        /* operator Exists; false: Equal */
    const char *value;  /* for Equal; NULL is "" */
    const char *effect; /* NoSchedule, PreferNoSchedule, NoExecute; NULL: every effect */
    bool is_automatic;  /* of the tenant, by spec_check() */
    bool is_limited;    /* NoExecute, for so many seconds */
    uint64_t seconds;
};

enum spec_volume_kind {
    SPEC_VOLUME_PVC,
    SPEC_VOLUME_CONFIG_MAP,
    SPEC_VOLUME_SECRET,
    SPEC_VOLUME_EMPTY_DIR,
    SPEC_VOLUME_NFS,
};

struct spec_volume {
    const char *name; /* DNS label, unique in the role */
    enum spec_volume_kind kind;
    const char *source; /* claim, config map, secret, or NFS server; NULL for emptyDir */
    const char *path;   /* NFS export; NULL otherwise */
    const char *mount_path;
    int64_t size_bytes; /* emptyDir limit; -1 none */
    bool read_only;
    const char *sub_path; /* NULL: all of it */
    bool in_memory;       /* of emptyDir */
};

enum spec_ref_kind { SPEC_REF_CONFIG_MAP = 1, SPEC_REF_SECRET, SPEC_REF_FIELD, SPEC_REFS };

/* A variable from elsewhere, or all keys of a config map or secret. */
struct spec_env_ref {
    const char *env;    /* NULL: all keys */
    const char *prefix; /* of all keys; NULL: none */
    enum spec_ref_kind kind;
    const char *source; /* config map or secret; NULL of a field */
    const char *key;    /* in it, or the path of the field; NULL of all keys */
    bool may_lack;
};

#define EPHEMERAL_STORAGE "ephemeral-storage"
#define SHARED_GPU        "nvidia.com/gpu.shared" /* a share of a GPU, by time slicing or MPS */
#define SHARED_GPU_MEMORY "nvidia.com/gpu.memory" /* a label, and our count of it */

struct spec_extended {
    const char
        *name;      /* an extended resource of Kubernetes, after the site's aliases; or the above */
    int64_t amount; /* 1.. */
};

/* A condition on a label of a node. Those of one term hold together; one term is enough. Terms with
 * a weight are preferred, and come behind those that are required. */
struct spec_match {
    uint32_t term;   /* ascending */
    uint32_t weight; /* 1..MATCH_WEIGHT_MAX, the same in a term; 0: required */
    const char *key;
    const char *op; /* In, NotIn, Exists, DoesNotExist, Gt, Lt */
    struct spec_strings values;
};

/* The pods of a role evenly over the domains of a level, or over the values of a label. */
struct spec_spread {
    const char *key;   /* a level or a label; NULL: no wish */
    uint32_t max_skew; /* 1.. */
    bool is_soft;      /* ScheduleAnyway; false: DoNotSchedule */
};

struct spec_role {
    const char *name;
    uint32_t replicas;       /* 1..JOB_PODS_MAX */
    uint32_t spares;         /* hosts held beside, for pods that are lost */
    uint32_t min_replicas;   /* of an elastic role, 1..replicas; 0: replicas */
    const char *start_after; /* the role that has to run before its pods are made; NULL: none */
    uint32_t gpus;           /* per pod */
    struct spec_strings gpu_models; /* canonical names, in order of preference; none: any */
    int64_t cpu_milli;              /* thousandths of a core; -1: the node share */
    int64_t memory_bytes;           /* -1: the node share */
    int64_t shm_bytes;              /* -1: 25 percent of memory, at least 1 GiB with GPUs */
    struct spec_extended *extended;
    uint32_t n_extended;
    const char *image;
    struct spec_strings command;
    struct spec_strings args;
    const char *working_dir;
    struct spec_pairs env;
    struct spec_env_ref *env_refs;
    uint32_t n_env_refs;
    const char *pull_policy; /* NULL: the API server's default, by the tag */
    struct spec_strings pull_secrets;
    const char *service_account; /* NULL: the namespace's default */
    struct spec_volume *volumes;
    uint32_t n_volumes;
    struct spec_pairs node_selector;
    struct spec_toleration *tolerations;
    uint32_t n_tolerations;
    struct spec_match *affinity;
    uint32_t n_affinity;
    struct spec_strings nodes;          /* names; none: every node */
    struct spec_strings excluded_nodes; /* names */
    int64_t gpu_memory_min;             /* bytes; 0 none */
    const char *driver_min, *cuda_min;  /* versions; NULL none */
    struct spec_spread spread;
    bool mixed_drivers; /* its hosts need not have the driver of the gang's others */
    bool is_exclusive;  /* each pod has its node to itself */
    bool is_leader;     /* its first pod's exit code is the job's */
};

/* What dependsOn may wait for. "started": it ran once; "failed": it ended, but not Succeeded. */
enum spec_condition { SPEC_SUCCEEDED, SPEC_FINISHED, SPEC_STARTED, SPEC_FAILED, SPEC_CONDITIONS };

enum spec_choice { SPEC_UNSAID, SPEC_YES, SPEC_NO };

/* What a failure leads to. */
enum spec_action {
    SPEC_RESTART,      /* counts against maxRestarts */
    SPEC_RESTART_FREE, /* does not */
    SPEC_FAIL,
    SPEC_EXCLUDE, /* free, and not on that node again */
    SPEC_ACTIONS,
};

/* A rule of failurePolicy: either exit codes or reasons, one of which is enough. */
struct spec_rule {
    uint32_t *codes; /* 1..255 */
    uint32_t n_codes;
    struct spec_strings reasons;
    enum spec_action action;
};

/* What restarts when a member is lost; the rest of a running gang goes on. */
enum spec_scope {
    SPEC_SCOPE_GANG,
    SPEC_SCOPE_ROLE,
    SPEC_SCOPE_POD,
    SPEC_SCOPES,
};

/* failurePolicy, but for maxRestarts; all 0: as if left out. */
struct spec_failure {
    enum spec_scope scope;
    usec_t reset_after_us;             /* a run this long gives the restarts back */
    usec_t backoff_us, backoff_max_us; /* before the first counted restart, and at most */
    enum spec_choice excludes_nodes;   /* that look broken; default: yes */
    struct spec_rule *rules;           /* the first that matches holds */
    uint32_t n_rules;
};

struct spec {
    struct arena arena;
    const char *name; /* metadata.name, without suffix */
    const char *tenant;
    const char *ns; /* namespace */
    struct spec_pairs labels;
    struct spec_pairs annotations;
    const char *submit_key;
    const char *priority_class;
    int32_t priority;               /* value of the class when it was accepted */
    usec_t max_runtime_us;          /* > 0 after spec_check() */
    usec_t max_queue_us;            /* 0: none */
    usec_t start_timeout_us;        /* gang.startTimeout; default 10 min */
    const char *topology_required;  /* level name, "host" or NULL */
    const char *topology_preferred; /* level name, "host", "any" or NULL: the default */
    usec_t max_wait_us;             /* topology.maxWait; 0: required for ever */
    usec_t deadline_us;             /* since 1970; 0: none */
    const char *slice_level;        /* level name or "host"; NULL: no slices */
    uint32_t slice_size;            /* consecutive pods of a role with GPUs; 0: no slices */
    struct spec_role *roles;
    uint32_t n_roles;
    uint32_t max_restarts;
    struct spec_failure failure;
    usec_t checkpoint_grace_us;     /* default 30 s */
    struct spec_extended *licences; /* of the site, for the whole gang */
    uint32_t n_licences;
    struct spec_pairs depends_on;     /* job (name or id) and condition */
    bool is_held;                     /* hold: begins Held */
    enum spec_choice preemptible;     /* said after spec_check(); default: yes up to class normal */
    const char *preemption_policy;    /* "Never", "LowerPriority"; NULL: the latter above normal */
    uint32_t max_lost_gpu_hours;      /* of its victims together; 0: no bound */
    const char *on_preemption;        /* "requeue", "end"; NULL: requeue */
    uint32_t elastic_step;            /* pods by which an elastic gang changes; 0: 1 */
    usec_t grow_cooldown_us;          /* 0: ELASTIC_COOLDOWN_S */
    const char *checkpoint_signal;    /* a name of util/signals.h; NULL: SIGTERM */
    const char *checkpoint_path;      /* where it saves, absolute; NULL: not said */
    const char *checkpoint_target;    /* who gets the signal: "leader"; NULL: all pods */
    usec_t ttl_us;                    /* cleanup.ttlAfterFinish; 0: JOB_KEEP_RECORD_S */
    usec_t pod_ttl_us;                /* cleanup.podTTL; 0: JOB_KEEP_PODS_S, or ttl_us if less */
    const char *keep_pods;            /* cleanup.keepPods: "failed", "none"; NULL: all */
    const char *rendezvous;           /* "torch", "mpi", "ray", "none"; NULL: by its GPUs */
    uint32_t rendezvous_port;         /* 0: RENDEZVOUS_PORT, of ray RAY_PORT */
    bool is_one_process;              /* rendezvous.processes: pod */
    bool is_world_of_nodes;           /* rendezvous.worldSize: nodes */
    usec_t before_end_us;             /* it is asked to save so long before its run ends; 0: not */
    const char *exit_zero;            /* checkpoint.exitZero: "requeue", "done"; NULL: requeue */
    bool is_movable;                  /* preemption.movable: defragmentation may move it */
    enum spec_choice pdb;             /* disruption.pdb; default: not preemptible, or elastic */
    uint32_t min_available;           /* of it, in pods; 0: what the job needs at least */
    const char *array_indices;        /* "0-49,60" (indices.h); NULL: no array */
    uint32_t array_parallel;          /* indices that may run at a time; 0: all */
    bool array_fails_fast;            /* one that fails cancels the others */
    struct spec_strings array_params; /* of index i: v[i]; none: they have none */
    const char *completion;           /* completion.policy: "all", "leader", "min"; NULL: all */
    uint32_t completion_min;          /* pods that must have succeeded, of "min" */
};

/* The role of this name; n_roles: there is none. */
uint32_t spec_role(const struct spec *s, const char *name);
/* Pods that a role needs at least. */
uint32_t spec_role_min(const struct spec_role *r);
struct spec *spec_create(void); /* empty, with the defaults that are plain numbers */
void spec_destroy(struct spec *s);
/* A deep copy. */
struct spec *spec_copy(const struct spec *s);

/* Is it an operator of spec_match, with a number of values that suits it? */
bool spec_match_fits(const char *op, size_t n_values);
/* Copy what decides which nodes a role may use: selector, affinity, names, versions, tolerations.
 */
void spec_copy_placement(struct arena *a, struct spec_role *to, const struct spec_role *from);

/* Check everything that can be checked without the cluster, and fill in what the configuration
 * decides: namespace, priority, maxRuntime. s->tenant must be set. Errors name the path of the
 * field ("spec.roles[0].resources.gpus: ..."). INVALID: the file must change. REFUSED: the
 * configuration forbids it (unknown tenant, class or level; above the limit). */
int spec_check(struct spec *s, const struct settings *settings, struct err *err);

/* A deep copy into the arena. */
void spec_copy_failure(struct arena *a, struct spec_failure *to, const struct spec_failure *from);
/* Is nothing of it given? */
bool spec_failure_is_default(const struct spec_failure *f);
/* Of the word; SPEC_ACTIONS: it is none. */
enum spec_action spec_action(const char *word);
const char *spec_action_word(enum spec_action action);
/* Of the word; SPEC_SCOPES: it is none. */
enum spec_scope spec_scope(const char *word);
const char *spec_scope_word(enum spec_scope scope);

/* Of the word; SPEC_CONDITIONS: it is none. */
enum spec_condition spec_condition(const char *word);
/* "to succeed", for sentences. */
const char *spec_condition_words(enum spec_condition condition);

/* The role whose first pod leads: its exit code is the job's. JOB_ROLES_MAX: none does. */
uint32_t spec_leader(const struct spec *s);
/* Does its program run below the wrapper that turns a request for a checkpoint into the signal? */
bool spec_role_is_wrapped(const struct spec_role *r);
enum { RENDEZVOUS_PORT = 29500, RAY_PORT = 6379 };
/* How its pods find each other. */
enum spec_rendezvous { SPEC_ALONE, SPEC_TORCH, SPEC_MPI, SPEC_RAY };
enum spec_rendezvous spec_rendezvous(const struct spec *s);
/* Processes of one pod of this role in the rendezvous: one a GPU; in a job without GPUs one a pod,
 * of mpi not of the leading role if there are others. */
uint32_t spec_slots(const struct spec *s, uint32_t role);
/* The role that leads: the first one, where none is said to. */
uint32_t spec_leading(const struct spec *s);
/* Is the program of this pod told to save by checkpoint.signal? */
bool spec_gets_signal(const struct spec *s, uint32_t role, uint32_t index);
uint32_t spec_pods(const struct spec *s); /* pods in all */
/* Pods that a PodDisruptionBudget keeps; 0: the job has none. After spec_check(). */
uint32_t spec_min_available(const struct spec *s);
uint64_t spec_gpus(const struct spec *s); /* GPUs in all */

/* Feed the canonical bytes of a spec (every field in a fixed order, each with its length) to
 * sink; the digest of a submission is taken over them. Digest version: SPEC_DIGEST_VERSION. */
enum { SPEC_DIGEST_VERSION = 1, SPEC_DIGEST_BYTES = 32 };
void spec_feed(const struct spec *s, void (*sink)(void *ctx, const void *p, size_t len), void *ctx);

#endif
