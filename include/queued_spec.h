/* SPDX-License-Identifier: Apache-2.0 */
/* queued_spec.h - a job as it is wished for: what queued_submit() takes. Included by queued.h.
 *
 * 0 and NULL mean: not given, unless a field says otherwise. All of it is borrowed.
 */
#ifndef QUEUED_SPEC_H
#define QUEUED_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queued_pair {
    const char *key;
    const char *value;
};

struct queued_toleration {
    const char *key;       /* NULL with Exists: every taint */
    const char *operator_; /* Exists, Equal; NULL: Equal */
    const char *value;
    const char *effect; /* NULL: every effect */
    bool has_seconds;   /* of NoExecute only */
    uint64_t seconds;
};

enum queued_volume_kind {
    QUEUED_VOLUME_PVC = 1,
    QUEUED_VOLUME_CONFIG_MAP = 2,
    QUEUED_VOLUME_SECRET = 3,
    QUEUED_VOLUME_EMPTY_DIR = 4,
    QUEUED_VOLUME_NFS = 5
};

struct queued_volume {
    const char *name;
    enum queued_volume_kind kind;
    const char *source; /* claim, config map, secret or NFS server */
    const char *path;   /* NFS export */
    const char *mount_path;
    int64_t size_bytes; /* emptyDir limit; 0: none */
    bool is_read_only;
    const char *sub_path; /* of the volume; NULL: all of it */
    bool is_in_memory;    /* emptyDir.medium: Memory */
};

enum queued_ref_kind { QUEUED_REF_CONFIG_MAP = 1, QUEUED_REF_SECRET = 2, QUEUED_REF_FIELD = 3 };

/* A variable from elsewhere, or all keys of a config map or secret. */
struct queued_env_ref {
    const char *env;    /* NULL: all keys */
    const char *prefix; /* of all keys; NULL: none */
    enum queued_ref_kind kind;
    const char *source; /* config map or secret */
    const char *key;    /* in it, or the path of a field of the pod */
    bool is_optional;
};

struct queued_amount {
    const char *name;
    int64_t amount;
};

/* 0 and NULL: not given, the default of queued-job(5) applies. */
/* A condition on a label of a node. Those of one term hold together; one term is enough. */
struct queued_match {
    uint32_t term;   /* ascending */
    uint32_t weight; /* of a preferred term, 1 to 100, behind all others; 0: required */
    const char *key;
    const char *operator_; /* In, NotIn, Exists, DoesNotExist, Gt, Lt */
    size_t n_values;
    const char *const *values;
};

struct queued_role {
    const char *name;
    uint32_t replicas, min_replicas; /* the latter of an elastic role */
    uint32_t spares;                 /* hosts held beside, for pods that are lost */
    const char *start_after;         /* role that has to run before its pods are made; NULL: none */
    uint32_t gpus;                   /* per pod */
    size_t n_gpu_models;
    const char *const *gpu_models; /* in order of preference */
    int64_t cpu_milli;             /* thousandths of a core, per pod */
    int64_t memory_bytes;
    int64_t shm_bytes;
    size_t n_extended;
    const struct queued_amount *extended;
    const char *image;
    size_t n_command;
    const char *const *command;
    size_t n_args;
    const char *const *args;
    const char *working_dir;
    size_t n_env;
    const struct queued_pair *env;
    size_t n_env_refs;
    const struct queued_env_ref *env_refs;
    const char *pull_policy; /* Always, IfNotPresent, Never; NULL: by the tag of the image */
    size_t n_pull_secrets;
    const char *const *pull_secrets;
    const char *service_account;
    size_t n_volumes;
    const struct queued_volume *volumes;
    size_t n_node_selector;
    const struct queued_pair *node_selector;
    size_t n_tolerations;
    const struct queued_toleration *tolerations;
    size_t n_affinity;
    const struct queued_match *affinity;
    size_t n_nodes; /* by name; none: every node */
    const char *const *nodes;
    size_t n_excluded_nodes;
    const char *const *excluded_nodes;
    int64_t gpu_memory_min; /* bytes */
    const char *driver_min; /* versions */
    const char *cuda_min;
    bool has_mixed_drivers; /* driver.sameAcrossGang: false */
    const char *spread_key; /* evenly over this level, or label; NULL: no wish */
    uint32_t spread_max_skew;
    bool is_spread_soft; /* ScheduleAnyway; false: DoNotSchedule */
    bool is_leader;      /* the exit code of its first pod is the job's */
    bool is_exclusive;   /* placement.exclusiveNode: each pod has its node to itself */
};

/* failurePolicy.rules: by one of the exit codes, or of the reasons. */
struct queued_rule {
    size_t n_codes;
    const uint32_t *codes; /* 1 to 255 */
    size_t n_reasons;
    const char *const *reasons;
    const char *action; /* Restart, RestartFree, Fail or ExcludeNodeAndRestart */
};

/* 0 and NULL: not given, but for max_restarts. */
struct queued_spec {
    const char *name; /* the daemon appends "-" and four characters */
    const char *tenant;
    const char *ns; /* namespace */
    size_t n_labels;
    const struct queued_pair *labels;
    size_t n_annotations;
    const struct queued_pair *annotations;
    const char *submit_key;
    const char *priority_class;
    int64_t max_runtime_us;
    int64_t max_queue_us;
    int64_t start_timeout_us;
    const char *topology_required;
    const char *topology_preferred;
    size_t n_roles;
    const struct queued_role *roles;
    bool has_max_restarts; /* false: the default */
    uint32_t max_restarts;
    int64_t checkpoint_grace_us;
    bool has_preemptible; /* false: by the class */
    bool is_preemptible;
    const char *preemption_policy; /* Never or LowerPriority; NULL: by the class */
    uint32_t max_lost_gpu_hours;   /* 0: no bound */
    const char *on_preemption;     /* requeue or end; NULL: requeue */
    uint32_t elastic_step;         /* pods; 0: the default */
    int64_t grow_cooldown_us;
    bool is_movable;           /* defragmentation may move it */
    bool has_pdb, wants_pdb;   /* disruption.pdb; not given: not preemptible, or elastic */
    uint32_t min_available;    /* of it, in pods; 0: what the job needs at least */
    const char *array_indices; /* "0-49,60"; NULL: no array */
    uint32_t array_parallel;   /* indices at a time; 0: all */
    bool array_fails_fast;
    const char *const *array_params; /* of index i: [i]; NULL: they have none */
    size_t n_array_params;
    int64_t max_wait_us; /* topology.maxWait; 0: required for ever */
    int64_t deadline_us; /* since 1970; 0: none */
    uint32_t slice_size; /* topology.slice; 0: none */
    const char *slice_level;
    bool is_held; /* begins Held, until released */
    size_t n_licences;
    const struct queued_amount *licences; /* of the site, for the whole gang */
    size_t n_depends_on;
    const struct queued_pair *depends_on; /* job (name or id); condition, NULL: succeeded */
    int64_t reset_after_us;               /* failurePolicy */
    int64_t backoff_us, backoff_max_us;
    bool has_exclude_nodes; /* false: nodes that look broken are excluded */
    bool excludes_nodes;
    const char *failure_scope;     /* gang, role or pod; NULL: gang */
    const char *checkpoint_signal; /* SIGUSR1 ...; NULL: SIGTERM */
    const char *checkpoint_path;   /* where it saves */
    const char *checkpoint_target; /* leader; NULL: all */
    int64_t before_end_us;         /* checkpoint.beforeEnd; 0: none */
    int64_t ttl_us;                /* cleanup.ttlAfterFinish; 0: the default */
    int64_t pod_ttl_us;            /* cleanup.podTTL */
    const char *keep_pods;         /* cleanup.keepPods: all, failed or none; NULL: all */
    const char *rendezvous;        /* torch, mpi, ray, none; NULL: torch or none, by its GPUs */
    uint32_t rendezvous_port;      /* 0: the default */
    bool is_one_process;           /* rendezvous.processes: pod */
    bool is_world_of_nodes;        /* rendezvous.worldSize: nodes */
    const char *exit_zero;         /* checkpoint.exitZero: requeue or done; NULL: requeue */
    const char *completion;        /* completion.policy: all, leader or min; NULL: all */
    uint32_t completion_min;       /* pods that must have succeeded, of min */
    size_t n_rules;
    const struct queued_rule *rules; /* the first that matches holds */
};

#endif
