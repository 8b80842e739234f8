/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - every maximum, in one place. Outside input is refused above them; the tables of
 * the core are sized by them. Lengths are without the ending NUL. */
#ifndef QUEUED_CORE_LIMITS_H
#define QUEUED_CORE_LIMITS_H

enum {
    /* names (contracts.md 6: a pod's host name <job>-<role>-<index> must fit 63) */
    JOB_BASE_NAME_MAX = 40, /* metadata.name */
    JOB_NAME_MAX = 45,      /* with "-" and 4 characters */
    JOB_SHOWN_MAX = 51,     /* an index of an array: "[9999]" behind it */
    LICENCES_MAX = 16,
    BACKFILL_SLOTS_MAX = 64, /* reservations: bits of one word */
    LICENCE_COUNT_MAX = 1000000,
    ROLE_NAME_MAX = 12,
    LABEL_MAX = 63,      /* a DNS label or a label value */
    LABEL_KEY_MAX = 317, /* prefix/name */
    TENANT_PATH_MAX = 63,
    NODE_NAME_MAX = 253,
    POD_NAME_MAX = 63,
    UID_MAX = 39, /* a uid of the API server: 36 characters today */
    SUBMIT_KEY_MAX = 128,
    USER_NAME_MAX = 63,
    CLASS_NAME_MAX = 31,
    REASON_TEXT_MAX = 255,

    /* one job */
    SPEC_BYTES_MAX = 48 * 1024, /* packed on the wire */
    JOB_ROLES_MAX = 8,
    JOB_PODS_MAX = 10000, /* indices stay below 10,000 */
    ROLE_MODELS_MAX = 8,
    ROLE_ENV_MAX = 256,
    ROLE_ARGS_MAX = 256,
    ROLE_VOLUMES_MAX = 32,
    ROLE_REFS_MAX = 64, /* variables from config maps, secrets and fields of the pod */
    ROLE_PULL_SECRETS_MAX = 8,
    TENANT_ACCOUNTS_MAX = 8,
    TENANT_AUTO_MAX = 4, /* automatic tolerations */
    ROLE_SELECTOR_MAX = 32,
    ROLE_TOLERATIONS_MAX = 16,
    ROLE_EXTENDED_MAX = 8,
    ROLE_MATCHES_MAX = 64,
    MATCH_WEIGHT_MAX = 100,
    TOLERATION_SECONDS_MAX = 1000000000,
    ROLE_NODES_MAX = 256, /* named, or excluded */
    VERSION_MAX = 32,
    JOB_LABELS_MAX = 32,
    ARRAY_INDICES_MAX = 10000,          /* and no index from it on */
    ARRAY_TEXT_MAX = 4096,              /* of array.indices */
    ARRAY_PARAMS_BYTES_MAX = 32 * 1024, /* of all its indices together */
    ARRAY_PARTS_MAX = 64,               /* different wishes for parts of one */
    JOB_DEPENDS_MAX = 16,
    JOB_RESTARTS_MAX = 1000000,
    BACKOFF_S = 30, /* failurePolicy.backoff, initial and max, where a job has none */
    BACKOFF_MAX_S = 600,
    ELASTIC_COOLDOWN_S = 600, /* elastic.growCooldown where a job has none */
    JOB_RULES_MAX = 32,       /* of failurePolicy */
    RULE_WORDS_MAX = 32,      /* exit codes or reasons of one */
    POD_GPUS_MAX = 64,
    POD_MIG_MAX = 7 * 64, /* MIG devices of one profile in a pod */
    MIG_PROFILE_MAX = 31,
    JOB_EXCLUDED_MAX = 8,  /* nodes remembered as having refused a bind */
    JOB_REPLACED_MAX = 64, /* members of one attempt that go to another host; then it is undone */

    /* the whole */
    JOBS_MAX = 500000, /* records in memory */
    NODES_MAX = 50000,
    TENANTS_MAX = 1024,
    TENANT_DEPTH_MAX = 8,
    TENANT_WINDOWS_MAX = 8,
    HIERARCHIES_MAX = 4,
    LEVELS_MAX = 8, /* over all hierarchies, `host` not counted */
    LEVEL_LABELS_MAX = 4,
    MODELS_MAX = 32,
    POOLS_MAX = 64, /* a set of them is a word */
    POOL_LABELS_MAX = 8,
    POOL_TENANTS_MAX = 64,
    CLASSES_MAX = 32,
    ALIASES_MAX = 8,      /* of extended resources */
    RESOURCES_MAX = 32,   /* dimensions of a resource vector */
    RESOURCES_SPARE = 12, /* of them, that names in jobs leave to what nodes have */
    NODE_GPUS_MAX = 64,
    REQUESTS_MAX = 1000000,        /* remembered answers */
    JOB_KEEP_PODS_S = 3600,        /* finished pods stay this long after the end */
    JOB_KEEP_RECORD_S = 72 * 3600, /* cleanup.ttlAfterFinish */
    MPI_PODS_MAX = 512, /* of a job with rendezvous mpi: its hostfile lies in an annotation */

    /* one turn */
    TURN_EVENTS_MAX = 1024,
    TURN_DECISIONS_MAX = 64,
    TURN_EVALUATIONS_MAX = 1024, /* gangs looked at, placed or not */
    EFFECTS_MAX = 8192,
    EFFECTS_SPARE = 16, /* what one event may add at the most, for one job */
    INBOX_MAX = 16384,
    RPC_READ_MAX = 512, /* messages taken from the socket a turn */
    RPC_READ_BYTES_MAX = 4 * 1024 * 1024,
    LIST_PAGE_MAX = 500,
};

#define MIG_PREFIX "nvidia.com/mig-" /* resources: a part of a GPU, by hardware */

#define SPEC_TIME_MAX (INT64_C(7258118400) * 1000000) /* 2200-01-01, in microseconds */

_Static_assert(JOB_BASE_NAME_MAX + 5 == JOB_NAME_MAX, "name, dash, four characters");
_Static_assert(JOB_NAME_MAX + 1 + ROLE_NAME_MAX + 1 + 4 <= 63, "a host name fits 63");

#endif
