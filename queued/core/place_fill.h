/* SPDX-License-Identifier: Apache-2.0 */
/* place_fill.h - inside place_gang(): pods of a gang onto the hosts of one domain, on paper.
 *
 * Private to place*.c. Hosts are gathered in depth-first path order, so that each narrower domain
 * is one run of the list; what a wish closes is not gathered.
 */
#ifndef QUEUED_CORE_PLACE_FILL_H
#define QUEUED_CORE_PLACE_FILL_H

#include "core/place.h"
#include "core/score.h"
#include "util/vec.h"

/* A node of the domain under trial. */
struct place_host {
    uint32_t node_ix;
    uint32_t domain;         /* the node's lowest in the hierarchy of the gang; IX_NONE: none */
    uint32_t slots;          /* pods of the role at hand that still fit */
    uint32_t taken;          /* pods of the role at hand that were put here */
    uint32_t pods;           /* of all roles, put here */
    int64_t gpus, cpu_milli; /* that they take */
    struct resources free;   /* dimensions that matter alone */
};

struct paper {
    const struct cluster *c;
    const struct place_wish *wish;
    uint32_t required, preferred; /* the demand's levels, relaxed where the wish says so */
    uint32_t counts[JOB_ROLES_MAX];
    uint32_t pods;
    uint32_t least;                     /* liking of hosts, per mille; 0: any */
    uint32_t driver;                    /* of the gang's roles that must have one; IX_NONE: any */
    bool any_skew;                      /* of roles whose spread is soft */
    uint32_t n_counting[JOB_ROLES_MAX]; /* groups of a role in the whole cluster; 0: not known */
    uint32_t least_free;                /* on the first host found for the only pod; 0: none yet */
    uint64_t gpus;                      /* of all pods */
    uint32_t dims[RESOURCES_MAX], n_dims; /* of resources that matter */
    bool only_free;      /* every pod has GPUs: a host or domain without free ones takes none */
    uint32_t least_gpus; /* of a pod, where only_free; else 0 */
    struct resources each[JOB_ROLES_MAX];
    uint32_t order[JOB_ROLES_MAX]; /* roles, most GPUs first */
    uint32_t n_apart;              /* the pods at hand are so many spares, of no slice; 0: others */
    uint32_t together;             /* pods of the role at hand that may not be parted over hosts */
    VEC(struct place_host) hosts;
    struct placement_member *members; /* of the candidate at hand, pods entries */
    bool is_found;
    struct placement_member *best_members; /* of the best so far */
    struct score best;
    uint64_t least_cost; /* on_empty: no placement costs less */
};

void gather_node(struct paper *p, uint32_t node_ix);
void gather_domain(struct paper *p, uint32_t domain_ix);
void gather_all(struct paper *p);
/* All roles into the hosts gathered, which share a domain of the level before this one; writes
 * members. false: some role does not fit. */
bool fit_gathered(struct paper *p, uint32_t level);

#endif
