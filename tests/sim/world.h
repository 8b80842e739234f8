/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - the truth of the simulated cluster: nodes, pods, services, and what befalls them.
 *
 * Plays API server, kubelets, node controllers and other people. Knows nothing of the daemon:
 * the fake adapter (tests/fake/fake_cluster.c) asks and tells in between. Every change of a node
 * or pod is appended to `changes`, which the adapter's watch drains. The world outlives crashes.
 */
#ifndef QUEUED_SIM_WORLD_H
#define QUEUED_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "spec/settings.h"
#include "util/vec.h"

#include "fault.h"
#include "rng.h"

enum { WORLD_NODES_MAX = 40, WORLD_NAME_MAX = 95, MIG_KINDS = 2 };

struct w_node {
    char name[32];
    uint32_t life;            /* counts objects under this name; part of the uid */
    uint32_t boots;           /* part of the boot id */
    uint32_t model;           /* index of settings; MODELS_MAX: no GPUs */
    int64_t gpus;             /* healthy capacity */
    int64_t gpus_now;         /* allocatable */
    int64_t gpus_most;        /* most that were ever reported under this life */
    char block[16], rack[16]; /* "" : no such label */
    bool exists, is_ready, is_cordoned, is_tainted;
    bool is_mig; /* its GPUs are MIG devices, all of one kind */
    usec_t not_ready_since, ready_since;
    usec_t turns_at; /* when what befell it ends; INT64_MAX never */
};

struct w_pod {
    char ns[LABEL_MAX + 1];
    char name[WORLD_NAME_MAX + 1];
    char uid[UID_MAX + 1];
    uint32_t node_ix; /* IX_NONE: unbound. Names a slot, the node may be deleted */
    enum pod_phase phase;
    int16_t exit_code;
    char reason[32];
    int64_t gpus, cpu_milli, memory_bytes;
    int64_t mig[MIG_KINDS];
    bool is_deleting;
    bool is_held; /* its end was put off by a finalizer, once */
    bool is_foreign;
    bool is_orphan; /* its node was lost under it: the core may have moved on */
    usec_t bound_at, starts_at, ends_at, gone_at; /* plans; INT64_MAX never */
    int16_t plan_exit;
    usec_t plan_run_us;
    struct job_id job;
    char role[ROLE_NAME_MAX + 1];
    uint32_t index, attempt;
};

struct w_service {
    char ns[LABEL_MAX + 1];
    char name[JOB_NAME_MAX + 1];
    struct job_id job;
    uint32_t attempt;
};

/* What the watch has to tell: an object under this key was made, changed or removed. */
struct w_change {
    bool is_pod, is_gone;
    char ns[LABEL_MAX + 1];
    char name[WORLD_NAME_MAX + 1];
    char uid[UID_MAX + 1];
    struct job_id job;
    uint32_t attempt;
};

/* A create that a dead process had sent: carried out when nobody expects it any more. */
struct w_late {
    usec_t due;
    struct w_pod pod;
};

struct world {
    const struct settings *settings;
    struct rng *rng;
    struct faults *faults;
    usec_t now;
    uint32_t n_nodes;
    struct w_node nodes[WORLD_NODES_MAX];
    VEC(struct w_pod) pods; /* in order of creation */
    VEC(struct w_service) services, budgets;
    VEC(struct w_change) changes;
    VEC(struct w_late) late;
    uint64_t n_uids;
    bool is_verbose;
    bool is_busy; /* most jobs run longer than the trouble lasts: there is no room left */
    bool is_calm; /* everything heals, nothing new happens */
    bool is_wide; /* has MIG devices, and meets finalizers and evictions */
    uint32_t woe; /* so many times the usual trouble with requests and starting pods */
};

void world_init(struct world *w, const struct settings *settings, struct rng *rng,
                struct faults *faults);
void world_fini(struct world *w);
/* Make it a wide one. */
void world_widen(struct world *w);
/* Let time pass up to now: kubelets, controllers and, unless calm, trouble. */
void world_step(struct world *w, usec_t now);
/* When something happens next by time alone; INT64_MAX never. */
usec_t world_next(const struct world *w);
/* No more trouble: all nodes come back, foreign pods leave. */
void world_calm(struct world *w);

uint32_t world_node_named(const struct world *w, const char *name); /* IX_NONE */
struct w_pod *world_pod(const struct world *w, const char *ns, const char *name);
/* Create a pod like p (uid and times are set here). The pointer is valid until the next create. */
struct w_pod *world_pod_create(struct world *w, const struct w_pod *p);
void world_pod_bind(struct world *w, struct w_pod *p, const char *node);
/* As the API does: at once when unbound or terminal, else after the kubelet stopped it. */
void world_pod_delete(struct world *w, struct w_pod *p, usec_t grace_us);
/* It is asked to save: some end well by that, after a while. */
void world_pod_ask(struct world *w, struct w_pod *p, usec_t grace_us);
/* Remove the object without asking anybody. */
void world_pod_remove(struct world *w, struct w_pod *p);
/* It ends by itself, Succeeded when exit_code is 0. */
void world_pod_end(struct world *w, struct w_pod *p, int16_t exit_code, const char *reason);
bool world_pod_is_terminal(const struct w_pod *p);
/* GPUs that non-terminal pods on a node ask; ours_only leaves foreign ones out. */
int64_t world_gpus_used(const struct world *w, uint32_t node_ix, bool ours_only);
/* The resource of a kind of MIG devices; how many of them a node has now, and pods there ask: those
 * that are not terminal, or that run. */
const char *world_mig_name(uint32_t kind);
int64_t world_mig(const struct world *w, uint32_t node_ix, uint32_t kind);
int64_t world_mig_used(const struct world *w, uint32_t node_ix, uint32_t kind, bool running_only);

void world_service_make(struct world *w, const struct w_service *s);
bool world_service_drop(struct world *w, const char *ns, const char *name);
/* The one of a job, by its id. */
void world_budget_make(struct world *w, const struct w_service *b);
void world_budget_drop(struct world *w, struct job_id job);

/* The objects as facts, for the inbox. Owned by the caller. */
struct node_fact *world_node_fact(const struct world *w, uint32_t ix);
struct pod_fact *world_pod_fact(const struct world *w, const struct w_pod *p);
/* Note that a node has changed (world_trouble.c). */
void world_node_touch(struct world *w, uint32_t ix, bool is_gone);
void world_pod_touch(struct world *w, const struct w_pod *p, bool is_gone);
/* What befalls nodes and pods in one step (world_trouble.c). */
void world_trouble(struct world *w);
void world_heal(struct world *w, bool all);

#endif
