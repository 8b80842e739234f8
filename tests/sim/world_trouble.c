/* SPDX-License-Identifier: Apache-2.0 */
/* world_trouble.c - what befalls nodes and pods in the simulated cluster, and how it heals.
 *
 * A node has one trouble at a time; turns_at says when it ends.
 */
#include "world.h"

#include <stdio.h>

/* The core may give up on pods of a lost node; they are not counted as doubles any more. */
static void orphan_pods(struct world *w, uint32_t ix)
{
    for (size_t i = 0; i < w->pods.n; i++)
        if (w->pods.v[i].node_ix == ix)
            w->pods.v[i].is_orphan = true;
}

/* A new node object under the old name: no pod of the old one is known to its kubelet. */
static void bring_back(struct world *w, struct w_node *n)
{
    uint32_t ix = (uint32_t)(n - w->nodes);

    for (size_t i = 0; i < w->pods.n;) {
        if (w->pods.v[i].node_ix == ix)
            world_pod_remove(w, &w->pods.v[i]);
        else
            i++;
    }
    n->exists = true;
    n->ready_since = w->now;
    n->life++;
    n->boots++;
    n->gpus_most = n->gpus;
    w->faults->count[FAULT_NODE_BACK]++;
}

static void reboot(struct world *w, struct w_node *n)
{
    uint32_t ix = (uint32_t)(n - w->nodes);

    n->boots++;
    w->faults->count[FAULT_NODE_REBOOT]++;
    for (size_t i = 0; i < w->pods.n; i++)
        if (w->pods.v[i].node_ix == ix && w->pods.v[i].phase == POD_RUNNING)
            world_pod_end(w, &w->pods.v[i], -1, "NodeReboot");
}

static void heal_node(struct world *w, struct w_node *n)
{
    if (!n->exists)
        bring_back(w, n);
    else if (!n->is_ready && rng_one_in(w->rng, 2))
        reboot(w, n);
    if (n->gpus_now < n->gpus)
        w->faults->count[FAULT_NODE_GPUS_GROW]++;
    n->gpus_now = n->gpus;
    n->ready_since = n->is_ready ? n->ready_since : w->now;
    n->is_ready = true;
    n->is_cordoned = false;
    n->turns_at = INT64_MAX;
    world_node_touch(w, (uint32_t)(n - w->nodes), false);
}

void world_heal(struct world *w, bool all)
{
    for (uint32_t i = 0; i < w->n_nodes; i++) {
        struct w_node *n = &w->nodes[i];

        if (n->turns_at != INT64_MAX && (all || w->now >= n->turns_at))
            heal_node(w, n);
    }
}

static void trouble_node(struct world *w)
{
    uint32_t ix = rng_below(w->rng, w->n_nodes);
    struct w_node *n = &w->nodes[ix];

    if (n->turns_at != INT64_MAX)
        return;
    if (fault_hits(w->faults, FAULT_NODE_NOT_READY, 2500)) {
        n->is_ready = false;
        n->not_ready_since = w->now;
        n->turns_at = w->now + rng_between(w->rng, 1, 900) * USEC_PER_SEC;
        orphan_pods(w, ix);
    } else if (fault_hits(w->faults, FAULT_NODE_DELETED, 2000)) {
        n->exists = false;
        n->turns_at = w->now + rng_between(w->rng, 10, 600) * USEC_PER_SEC / w->woe / w->woe;
        orphan_pods(w, ix);
        world_node_touch(w, ix, true);
        return;
    } else if (fault_hits(w->faults, FAULT_NODE_CORDONED, 3000)) {
        n->is_cordoned = true;
        n->turns_at = w->now + rng_between(w->rng, 1, 300) * USEC_PER_SEC;
    } else if (n->gpus > 0 && fault_hits(w->faults, FAULT_NODE_GPUS_LOST, 5000)) {
        n->gpus_now = rng_between(w->rng, 0, n->gpus - 1);
        n->turns_at = w->now + rng_between(w->rng, 1, 300) * USEC_PER_SEC;
    } else if (n->rack[0] && fault_hits(w->faults, FAULT_NODE_MOVED, 3000)) {
        (void)snprintf(n->rack, sizeof(n->rack), "r%u", (unsigned)rng_below(w->rng, 2));
    }
    world_node_touch(w, ix, false);
}

static void foreign_arrives(struct world *w)
{
    uint32_t ix = rng_below(w->rng, w->n_nodes);
    const struct w_node *n = &w->nodes[ix];
    int64_t room = n->gpus_now - world_gpus_used(w, ix, false);
    struct w_pod like = {.is_foreign = true, .ns = "other", .cpu_milli = 1000};
    struct w_pod *p;

    if (!n->exists || !n->is_ready || room <= 0 || n->is_mig)
        return;
    if (!fault_hits(w->faults, FAULT_FOREIGN_POD, 10000))
        return;
    (void)snprintf(like.name, sizeof(like.name), "foreign-%llu", (unsigned long long)w->n_uids);
    like.gpus = rng_between(w->rng, 1, room);
    like.memory_bytes = INT64_C(1) << 30;
    like.plan_run_us = rng_between(w->rng, 5, 400) * USEC_PER_SEC;
    p = world_pod_create(w, &like);
    world_pod_bind(w, p, n->name);
}

/* Somebody removes a pod: a finished foreign one, or any of ours. */
static void remove_some(struct world *w)
{
    struct w_pod *p;

    if (w->pods.n == 0)
        return;
    p = &w->pods.v[rng_below(w->rng, (uint32_t)w->pods.n)];
    if (p->is_foreign && world_pod_is_terminal(p))
        world_pod_remove(w, p);
    else if (!p->is_foreign && fault_hits(w->faults, FAULT_POD_VANISHES, 400))
        world_pod_remove(w, p);
}

/* A drain: the kubelet stops a pod that the daemon wants to run on. */
static void drive_out(struct world *w)
{
    struct w_pod *p = w->pods.n ? &w->pods.v[rng_below(w->rng, (uint32_t)w->pods.n)] : NULL;

    if (p && p->phase == POD_RUNNING && !p->is_foreign && !p->is_deleting &&
        fault_hits(w->faults, FAULT_POD_DRIVEN_OUT, 1000))
        world_pod_delete(w, p, 30 * USEC_PER_SEC);
}

void world_trouble(struct world *w)
{
    if (!w->faults->is_on)
        return;
    if (w->is_wide && rng_one_in(w->rng, 5))
        drive_out(w);
    if (rng_one_in(w->rng, 20))
        trouble_node(w);
    if (rng_one_in(w->rng, 30))
        foreign_arrives(w);
    if (rng_one_in(w->rng, 3))
        remove_some(w);
}

void world_calm(struct world *w)
{
    w->is_calm = true;
    for (size_t i = 0; i < w->pods.n;) {
        if (w->pods.v[i].is_foreign)
            world_pod_remove(w, &w->pods.v[i]);
        else
            i++;
    }
    for (uint32_t i = 0; i < w->n_nodes; i++)
        if (w->nodes[i].turns_at != INT64_MAX)
            w->nodes[i].turns_at = w->now;
}
