/* SPDX-License-Identifier: Apache-2.0 */
/* queued_cluster.h - the part of queued.h about nodes, levels and tenants. Include queued.h: it
 * brings this file, and what is said there of errors, memory and threads holds here.
 */
#ifndef QUEUED_CLUSTER_H
#define QUEUED_CLUSTER_H

#ifndef QUEUED_API
#error "include queued.h"
#endif

/* Devices of one MIG profile on a node. */
struct queued_device {
    const char *resource; /* "nvidia.com/mig-1g.10gb" */
    int64_t allocatable, used;
};

struct queued_node {
    const char *name;
    const char *model; /* NULL: no GPUs */
    int64_t gpus_capacity, gpus_allocatable, gpus_expected, gpus_used, gpus_free;
    bool is_usable;
    bool is_known; /* false: only a pod has named it */
    const char *trouble;
    size_t n_domains;
    const char *const *domains; /* path in each hierarchy */
    int64_t cpu_milli;          /* allocatable */
    int64_t cpu_milli_used;
    int64_t memory_bytes;
    int64_t memory_bytes_used;
    uint32_t pods;
    size_t n_jobs;
    const char *const *jobs;
    size_t n_taints;
    const char *const *taints;
    const char *drained; /* by whom and why; NULL: it is not */
    int64_t drained_us;
    const char *pool; /* NULL: in none */
    size_t n_mig;
    const struct queued_device *mig;
};

struct queued_nodes {
    size_t n;
    const struct queued_node *v; /* by name */
};

QUEUED_API int queued_nodes(struct queued_client *c, struct queued_nodes **ret,
                            struct queued_error *error);
QUEUED_API void queued_nodes_free(struct queued_nodes *nodes);

/* Place nothing new on a node (for administrators); what runs there runs on. It lasts until it is
 * given back, also over restarts. reason: NULL none. */
QUEUED_API int queued_drain(struct queued_client *c, const char *node, const char *reason,
                            struct queued_error *error);
/* Give it back; no error when it is not drained. */
QUEUED_API int queued_undrain(struct queued_client *c, const char *node,
                              struct queued_error *error);

struct queued_model {
    const char *model;
    uint32_t nodes; /* usable */
    uint64_t gpus;
    uint64_t free;
    uint64_t slots[4]; /* free sets of 1, 2, 4 and 8 on one node */
};

/* Pools are the domains of the level "pool" in a hierarchy of that name, behind all others. */
struct queued_domain {
    const char *hierarchy;
    const char *level;
    const char *path;
    uint32_t depth;
    size_t n_models;
    const struct queued_model *models;
    size_t n_exclusive;
    const char *const *exclusive; /* tenants whose pool it is; none: everybody's */
};

struct queued_topology {
    size_t n_models;
    const struct queued_model *models; /* of the whole cluster */
    size_t n;
    const struct queued_domain *v; /* depth first, in order of path */
};

QUEUED_API int queued_topology(struct queued_client *c, struct queued_topology **ret,
                               struct queued_error *error);
QUEUED_API void queued_topology_free(struct queued_topology *topology);

struct queued_quota {
    const char *model;
    bool has_quota;
    int64_t quota;
    bool has_limit;
    int64_t limit;
    uint64_t used;
    uint64_t used_milli;     /* of one GPU more, by MIG devices, in thousandths */
    uint64_t past_milli;     /* decayed past use, in thousandths of a GPU */
    uint64_t share_permille; /* (used + past use) / GPUs of the model in the cluster */
    uint64_t lent;           /* of its quota: idle, and in use by others */
};

struct queued_tenant {
    const char *path;
    uint32_t weight;
    uint32_t pending;
    uint32_t active;
    size_t n_quotas;
    const struct queued_quota *quotas;
    const char *stopped; /* by whom and why; NULL: it is open */
    int64_t stopped_us;
    uint32_t rank; /* of the tenants with waiting jobs, in the order they start; 0: none waits */
    size_t n_windows;
    const char *const *windows; /* of its own: "night: Mon-Fri 20:00-06:00"; 0: jobs start always */
    const char *utc_offset;     /* of their times, "+01:00"; NULL: it has none */
    int64_t opens_us;           /* its jobs start from then on, INT64_MAX: never; 0: they do now */
    int64_t closes_us;          /* and until then; 0: always, or they do not now */
    uint32_t usual_permille;    /* of maxRuntime that its jobs run; 0: not known yet */
};

struct queued_tenants {
    size_t n;
    const struct queued_tenant *v;
};

QUEUED_API int queued_tenants(struct queued_client *c, struct queued_tenants **ret,
                              struct queued_error *error);
QUEUED_API void queued_tenants_free(struct queued_tenants *tenants);
/* No gang of the tenant and those below it starts until it is resumed, also over restarts; for its
 * administrators. reason: NULL none. */
QUEUED_API int queued_tenant_stop(struct queued_client *c, const char *tenant, const char *reason,
                                  struct queued_error *error);
/* No error when it is not stopped. */
QUEUED_API int queued_tenant_resume(struct queued_client *c, const char *tenant,
                                    struct queued_error *error);

/* Nodes that are kept for a tenant, or for nobody, which is maintenance. */
struct queued_reserve {
    const char *name;   /* a DNS label that no other reservation has */
    const char *tenant; /* NULL: nobody */
    int64_t from_us, to_us;
    size_t n_nodes;
    const char *const *nodes; /* names; none: by domain and labels */
    const char *domain;       /* path, as of queued_topology(); NULL any */
    size_t n_labels;
    const struct queued_pair *labels; /* of nodes; all must match */
    const char *reason;               /* NULL none */
    bool is_dry_run;                  /* check it, make nothing */
};

struct queued_reserved {
    char warning[QUEUED_TEXT_MAX]; /* jobs that may still run then; "" none */
};

struct queued_reservation {
    const char *name;
    const char *tenant; /* NULL: nobody */
    int64_t from_us, to_us, made_us;
    const char *text; /* by whom and why */
    size_t n_nodes;
    const char *const *nodes;
    size_t n_jobs;
    const char *const *jobs; /* that may still run on these nodes after the begin */
};

struct queued_reservations {
    size_t n;
    const struct queued_reservation *v; /* by begin */
};

/* No gang is placed on these nodes that may not have ended when the reservation begins, and none
 * but the tenant's until it ends; what runs there runs on. For administrators. ret may be NULL. */
QUEUED_API int queued_reserve(struct queued_client *c, const struct queued_reserve *wish,
                              struct queued_reserved *ret, struct queued_error *error);
QUEUED_API int queued_unreserve(struct queued_client *c, const char *name,
                                struct queued_error *error);
/* Those of maintenance and of the tenants that you see. Free with queued_reservations_free(). */
QUEUED_API int queued_reservations(struct queued_client *c, struct queued_reservations **ret,
                                   struct queued_error *error);
QUEUED_API void queued_reservations_free(struct queued_reservations *reservations);

/* A running job that defragmentation would move. */
struct queued_move {
    const char *job, *tenant;
    uint64_t gpus;
    uint64_t lost_gpu_s; /* GPUs times seconds since its start */
    const char *from_nodes, *to_nodes;
};

struct queued_defrag {
    uint64_t budget_gpu_s; /* of a day; 0: nothing is moved */
    uint64_t left_gpu_s;   /* of today */
    bool is_dry_run;
    uint32_t movable; /* running jobs that opted in */
    const char *job;  /* starts because of it; NULL: there is no plan */
    const char *tenant;
    uint64_t gpus;
    const char *gives; /* "free rack r3 by moving 2 gangs (12.5 GPU-hours)" */
    const char *nodes; /* of the job that starts */
    uint64_t lost_gpu_s;
    size_t n_moves;
    const struct queued_move *moves;
};

/* The plan that defragmentation would carry out next; for administrators. */
QUEUED_API int queued_defrag_plan(struct queued_client *c, struct queued_defrag **ret,
                                  struct queued_error *error);
QUEUED_API void queued_defrag_free(struct queued_defrag *plan);

struct queued_config {
    const char *text;    /* in force, with all defaults, as YAML */
    const char *file;    /* that the daemon reads */
    uint64_t generation; /* of what is in force */
    uint64_t reloads;    /* readings since its start that were taken over, or the same */
    uint64_t refusals;   /* and that were not */
    const char *refusal; /* why the last was not; NULL: it was */
};

/* The configuration in force; for administrators. */
QUEUED_API int queued_config(struct queued_client *c, struct queued_config **ret,
                             struct queued_error *error);
QUEUED_API void queued_config_free(struct queued_config *config);

#endif
