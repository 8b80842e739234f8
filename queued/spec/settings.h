/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - what the configuration tells the core: tenants, levels, models, classes, times.
 *
 * Built and checked by config.c before the core sees it; the core only reads it. Plain data,
 * owned by the caller of state_create(), valid as long as the state.
 */
#ifndef QUEUED_CORE_SETTINGS_H
#define QUEUED_CORE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/ids.h"
#include "spec/limits.h"
#include "util/parse.h"

/* GPUs per canonical model; index as in settings.models. -1: not set. */
struct model_amounts {
    int64_t gpus[MODELS_MAX];
};

struct level_setting {
    char name[LABEL_MAX + 1]; /* unique over all hierarchies; never "host" or "any" */
    uint32_t n_labels;
    char labels[LEVEL_LABELS_MAX][LABEL_KEY_MAX + 1]; /* the first that a node has wins */
    uint32_t cost;                                    /* of one domain more of this level */
};

struct hierarchy_setting {
    char name[LABEL_MAX + 1];
    uint32_t n_levels; /* widest first; host is implied below the last */
    struct level_setting levels[LEVELS_MAX];
};

struct model_setting {
    char name[LABEL_MAX + 1]; /* canonical: "H100" */
    uint32_t n_products;
    char products[16][LABEL_MAX + 1]; /* values of nvidia.com/gpu.product or accelerator */
};

struct alias_setting {
    char name[LABEL_MAX + 1];         /* what jobs write: "rdma" */
    char resource[LABEL_KEY_MAX + 1]; /* the extended resource it stands for */
};

/* Counted over the whole cluster; gangs hold them while they hold nodes. */
struct licence_setting {
    char name[LABEL_MAX + 1];
    uint32_t count;
};

struct class_setting {
    char name[CLASS_NAME_MAX + 1];
    int32_t value;                  /* bigger wins */
    char kubernetes[LABEL_MAX + 1]; /* priorityClassName of pods; "" none */
};

/* A time of the week (week.h) in which jobs of a tenant may start, and what then counts. */
struct opening_setting {
    char name[LABEL_MAX + 1];
    uint8_t days;                      /* on which it begins, as bits; 0: Monday */
    uint32_t from_min, to_min;         /* of the day, 0..1440; to <= from: of the next day */
    bool must_fit;                     /* no job starts that may still run when its tenant closes */
    struct model_amounts quota, limit; /* instead of the tenant's; not set: those */
    struct model_amounts unlent;       /* where quota is set */
};

struct tenant_setting {
    char path[TENANT_PATH_MAX + 1];
    uint32_t parent;                   /* index; IX_NONE at the top. Parents come before children */
    uint32_t weight;                   /* 0..1,000,000; default 1 */
    struct model_amounts quota;        /* not set: judged by the nearest ancestor that has one */
    struct model_amounts limit;        /* not set: no limit at this tenant */
    struct model_amounts unlent;       /* quota - lendable: kept from others; 0: all is lent */
    struct model_amounts user_limit;   /* for one user's gangs, with those below; 0: none */
    uint32_t n_namespaces;             /* 0: the parent's */
    char namespaces[8][LABEL_MAX + 1]; /* the first is the default */
    usec_t max_runtime_us;             /* default of maxRuntime; 0: the parent's, at the top 24 h */
    uint32_t n_tolerations;
    char tolerations[8][LABEL_KEY_MAX + 1]; /* keys that its jobs may tolerate; "*" all */
    uint32_t n_auto_tolerations;
    char auto_tolerations[TENANT_AUTO_MAX][LABEL_KEY_MAX + 1]; /* keys that its jobs do tolerate */
    uint32_t n_accounts;
    char accounts[TENANT_ACCOUNTS_MAX][LABEL_MAX + 1];  /* service accounts that its jobs may use */
    uint32_t max_pending;                               /* waiting jobs of a user; 0: 10,000 */
    uint32_t n_windows;                                 /* 0: its jobs start at any time */
    struct opening_setting windows[TENANT_WINDOWS_MAX]; /* the first that is open counts */
};

/* Nodes that have all the labels, unless an earlier pool has them. */
struct pool_setting {
    char name[LABEL_MAX + 1];
    uint32_t n_labels;
    struct pool_label {
        char key[LABEL_KEY_MAX + 1];
        char value[LABEL_MAX + 1];
    } labels[POOL_LABELS_MAX];
    uint32_t n_exclusive; /* 0: for everybody */
    uint32_t exclusive[POOL_TENANTS_MAX];
};

#define GPU_HOUR_US (UINT64_C(3600) * USEC_PER_SEC) /* a GPU for an hour, as GPU-microseconds */

struct settings {
    uint32_t n_hierarchies;
    struct hierarchy_setting hierarchies[HIERARCHIES_MAX];
    uint32_t n_models;
    struct model_setting models[MODELS_MAX]; /* order of the configuration: order of trial */
    uint32_t n_aliases;
    struct alias_setting aliases[ALIASES_MAX];
    uint32_t n_licences;
    struct licence_setting licences[LICENCES_MAX];
    uint32_t n_classes;
    struct class_setting classes[CLASSES_MAX];
    uint32_t n_tenants;
    struct tenant_setting *tenants;
    uint32_t n_slots; /* of the index below, a power of two; 0: there is none */
    uint32_t *slots;  /* position of a tenant by the hash of its path; UINT32_MAX none; owned */
    uint32_t n_pools;
    struct pool_setting *pools; /* in order of match */
    usec_t node_lost_us;        /* nodeLostTimeout, default 5 min */
    usec_t min_runtime_us; /* preemption.minRuntime, default 10 min: younger gangs are no victims */
    uint32_t backfill_reservations; /* backfill.reservations: blocked gangs a model that room is
                                       kept for */
    usec_t grace_cap_us; /* preemption.graceCap, default 15 min: upper bound of checkpoint.grace */
    uint64_t max_lost_gpu_us; /* preemption.maxLostGpuHours: for jobs that name none; 0: no bound */
    uint64_t defrag_gpu_us;   /* defragmentation.gpuHoursPerDay: what moves may lose; 0: none */
    bool is_defrag_dry;       /* defragmentation.dryRun: plans are shown, nobody moves */
    usec_t half_life_us;      /* fairShare.halfLife, default 24 h; 0: the past does not count */
    bool shares_users;        /* fairShare.users: those of one tenant take turns by their shares */
    bool is_priority_first;   /* fairShare.priorityScope: cluster; else inside a tenant only */
    uint32_t weight_topology, weight_packing; /* of a placement's score, per mille */
    int32_t utc_offset_min;                   /* utcOffset: of the local time of tenants' windows */
    bool allow_simulation; /* accept the annotations of simulated kubelets in jobs */
};

/* The defaults of contracts.md 5: fabric (zone, block, rack) and nvlink (nvl-domain), the five
 * classes, common GPU models, no tenants. */
void settings_defaults(struct settings *s);
/* Index of a model by its canonical name, of a class, of a tenant by its path; IX_NONE. */
uint32_t settings_model(const struct settings *s, const char *name);
/* Index of the model that lists this product label value; IX_NONE. */
uint32_t settings_product(const struct settings *s, const char *product);
/* The extended resource that an alias stands for; NULL: no such alias. */
const char *settings_alias(const struct settings *s, const char *name);
uint32_t settings_licence(const struct settings *s, const char *name);
uint32_t settings_class(const struct settings *s, const char *name);
uint32_t settings_tenant(const struct settings *s, const char *path);
/* Makes settings_tenant() find most of these tenants at once; settings without an index are
 * searched. Whoever owns the settings frees slots. */
void settings_index_tenants(struct settings *s);
/* Does a tenant stand on the path of another, or is it the same? IX_NONE has nobody above. */
bool settings_is_above(const struct settings *s, uint32_t tenant, uint32_t of);
/* Default namespace of a tenant (its own or the nearest ancestor's); NULL when there is none. */
const char *settings_namespace(const struct settings *s, uint32_t tenant);
/* May jobs of this tenant run in this namespace? */
bool settings_has_namespace(const struct settings *s, uint32_t tenant, const char *ns);
/* The default of maxRuntime that applies to a tenant. */
usec_t settings_max_runtime(const struct settings *s, uint32_t tenant);
/* The pools whose nodes take no gang of this tenant (IX_NONE: one that is unknown), as bits. */
uint64_t settings_closed_pools(const struct settings *s, uint32_t tenant);
/* Find a level by its name: hierarchy and position (0 the widest; n_levels for "host", which is
 * looked for in hierarchy 0). false: no such level. */
bool settings_level(const struct settings *s, const char *name, uint32_t *ret_hierarchy,
                    uint32_t *ret_level);

#endif
