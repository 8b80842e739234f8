/* SPDX-License-Identifier: Apache-2.0 */
/* demand.h - what a gang asks of the cluster, without names, images and times.
 *
 * Gangs with equal demand get the same answer from the cluster as it is now, so demands are
 * interned by content: 100,000 pending jobs have a few hundred. A demand lives as long as a job
 * uses it. Run time is not part of it.
 */
#ifndef QUEUED_CLUSTER_DEMAND_H
#define QUEUED_CLUSTER_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "util/hash.h"

#include "spec/limits.h"
#include "cluster/resource.h"
#include "cluster/spread.h"
#include "spec/constraint.h"
#include "spec/settings.h"
#include "spec/spec.h"

struct demand_role {
    char name[ROLE_NAME_MAX + 1];
    uint32_t replicas;     /* pods that it needs */
    uint32_t most;         /* pods that it may have; more than replicas: elastic */
    uint32_t spares;       /* of both: hosts without a pod, the last */
    uint32_t after;        /* 1 + the role that has to run before its pods are made; 0: none */
    struct resources each; /* of one pod; CPU and memory 0 when left out */
    bool has_cpu, has_memory;
    bool takes_gpus; /* whole ones or MIG devices: is on nodes of one model, and charged */
    uint32_t parts[MODELS_MAX]; /* what a pod is charged of each model (mig.h) */
    uint32_t n_models;          /* 0: any */
    uint8_t models[ROLE_MODELS_MAX];
    struct constraint *constraint;
    struct spread spread;
    bool is_alone;    /* each pod has its node to itself */
    bool same_driver; /* its hosts have the driver of the gang's other hosts of such roles */
    /* demand_share() of this shape_gen, for CPU and memory that were left out */
    uint64_t share_gen;
    bool has_share;
    int64_t share_cpu_milli, share_memory_bytes;
};

/* Whom a gang may take nodes from: what preemption.policy says. */
enum preempts { PREEMPTS_BY_CLASS, PREEMPTS_NOBODY, PREEMPTS_LOWER };

/* "It has no room", and of which generations of the cluster (order_has_no_room()). */
struct room_verdict {
    bool is_known;
    bool is_short;     /* nor would it have without the reservations, on some model */
    uint64_t reserved; /* by which reservations (backfill_ahead_of()) */
    uint64_t backfill; /* backfill_gen() */
    uint64_t shape, freed;
};

struct demand {
    uint32_t n_roles;
    struct demand_role roles[JOB_ROLES_MAX];
    uint32_t pods;   /* that it needs, in all */
    uint64_t gpus;   /* of them */
    bool takes_gpus; /* some role does: whole ones or parts */
    uint32_t most;   /* pods that it may have; more than pods: elastic */
    uint32_t step;   /* by which an elastic role changes */
    usec_t cooldown_us;
    bool is_preemptible;
    uint32_t min_available;          /* of its PodDisruptionBudget; 0: it has none */
    bool has_licences, lost_licence; /* lost: one left the configuration */
    uint32_t licences[LICENCES_MAX]; /* by index in the settings, of the whole gang */
    uint64_t closed;                 /* pools that its tenants may not use */
    bool has_soft_spread;
    bool has_after;   /* some role starts after another */
    bool has_likings; /* some role prefers some nodes */
    bool same_driver; /* several pods are of roles that need it */
    enum preempts preempts;
    uint64_t max_lost; /* GPU-microseconds that its victims may lose together */
    /* topology: level indices as in topology.h; IX_NONE */
    uint32_t hierarchy; /* of the levels below */
    uint32_t required;  /* position in it, n_levels for host; IX_NONE: none */
    uint32_t preferred; /* position; IX_NONE: any */
    /* roles with GPUs are in slices of so many consecutive pods, each in one domain; 0: no slices
     */
    uint32_t slice_size;
    uint32_t slice_level;   /* position; n_levels for host */
    bool has_unknown_level; /* a level that left the configuration: InvalidLevel, waits */

    struct room_verdict no_room; /* on the cluster as it is */
    struct room_verdict behind;  /* on what reservations leave */
    bool is_full;                /* the two at a glance, of the state's glance_sum */
    uint64_t full_beside;        /* the reservations of `behind`, while it holds */

    /* hardware_exists() of this shape_gen */
    bool is_hardware_known, has_hardware;
    uint64_t hardware_gen;
    /* score_job(): cost on the empty cluster of this shape_gen and these models; 0: not known */
    uint64_t best_cost, best_gen;
    uint8_t best_models[JOB_ROLES_MAX];

    uint32_t n_jobs; /* users; freed at 0 */
    char *key;       /* the content, as text */
    UT_hash_handle hh;
};

/* What it is charged at least, of a model on which all of it would be. */
static inline uint64_t demand_parts(const struct demand *d, uint32_t model)
{
    uint64_t parts = 0;

    for (uint32_t r = 0; r < d->n_roles; r++)
        parts += (uint64_t)d->roles[r].replicas * d->roles[r].parts[model];
    return parts;
}

#endif
