/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - objects of the simulated cluster and the ordinary course of their lives.
 *
 * What goes wrong with them is in world_trouble.c.
 */
#include "world.h"

#include <stdio.h>

static void make_node(struct world *w, uint32_t ix, uint32_t per_rack)
{
    struct w_node *n = &w->nodes[ix];
    uint32_t rack = ix / per_rack;
    static const int64_t sizes[] = {4, 8, 8, 8};

    (void)snprintf(n->name, sizeof(n->name), "node-%02u", (unsigned)(ix * 23 % w->n_nodes));
    n->life = 1;
    n->boots = 1;
    n->model = rng_one_in(w->rng, 8) ? MODELS_MAX : rng_below(w->rng, 3) / 2;
    n->gpus = n->model == MODELS_MAX ? 0 : sizes[rng_below(w->rng, 4)];
    n->gpus_now = n->gpus;
    n->gpus_most = n->gpus;
    (void)snprintf(n->block, sizeof(n->block), "b%u", (unsigned)(rack / 2));
    /* the same rack name in every block: a domain is its path */
    if (!rng_one_in(w->rng, 16))
        (void)snprintf(n->rack, sizeof(n->rack), "r%u", (unsigned)(rack % 2));
    n->exists = true;
    n->is_ready = true;
    n->is_tainted = rng_one_in(w->rng, 16);
    n->turns_at = INT64_MAX;
    world_node_touch(w, ix, false);
}

void world_init(struct world *w, const struct settings *settings, struct rng *rng,
                struct faults *faults)
{
    *w = (struct world){.settings = settings, .rng = rng, .faults = faults, .woe = 1};
    w->n_nodes = (uint32_t)rng_between(rng, 4, 5) * (uint32_t)rng_between(rng, 1, 4) + 1;
    for (uint32_t i = 0; i < w->n_nodes; i++)
        make_node(w, i, 4);
}

void world_widen(struct world *w)
{
    w->is_wide = true;
    for (uint32_t i = 1; i < w->n_nodes; i += 4)
        w->nodes[i].is_mig = w->nodes[i].model != MODELS_MAX;
}

void world_fini(struct world *w)
{
    vec_fini(&w->pods);
    vec_fini(&w->services);
    vec_fini(&w->budgets);
    vec_fini(&w->changes);
    vec_fini(&w->late);
}

void world_node_touch(struct world *w, uint32_t ix, bool is_gone)
{
    struct w_change *c = vec_push(&w->changes);

    if (w->is_verbose)
        printf("%lld   node %s%s%s\n", (long long)w->now, w->nodes[ix].name,
               w->nodes[ix].is_ready ? "" : " not ready", is_gone ? " removed" : "");
    c->is_gone = is_gone;
    (void)snprintf(c->name, sizeof(c->name), "%s", w->nodes[ix].name);
}

static void print_pod(const struct world *w, const struct w_pod *p, bool is_gone)
{
    static const char *const phases[] = {"pending", "running", "succeeded", "failed", "unknown"};

    printf("%lld   pod %s %s on %s%s%s%s\n", (long long)w->now, p->name, phases[p->phase],
           p->node_ix == IX_NONE ? "-" : w->nodes[p->node_ix].name,
           p->is_deleting ? " deleting" : "", p->is_orphan ? " orphan" : "",
           is_gone ? " removed" : "");
}

void world_pod_touch(struct world *w, const struct w_pod *p, bool is_gone)
{
    struct w_change *c = vec_push(&w->changes);

    if (w->is_verbose)
        print_pod(w, p, is_gone);

    c->is_pod = true;
    c->is_gone = is_gone;
    memcpy(c->ns, p->ns, sizeof(c->ns));
    memcpy(c->name, p->name, sizeof(c->name));
    memcpy(c->uid, p->uid, sizeof(c->uid));
    c->job = p->job;
    c->attempt = p->attempt;
}

uint32_t world_node_named(const struct world *w, const char *name)
{
    for (uint32_t i = 0; i < w->n_nodes; i++)
        if (strcmp(w->nodes[i].name, name) == 0)
            return i;
    return IX_NONE;
}

struct w_pod *world_pod(const struct world *w, const char *ns, const char *name)
{
    for (size_t i = 0; i < w->pods.n; i++)
        if (strcmp(w->pods.v[i].name, name) == 0 && strcmp(w->pods.v[i].ns, ns) == 0)
            return &w->pods.v[i];
    return NULL;
}

/* Members of one attempt run about equally long; some fail. */
static void plan_run(struct world *w, struct w_pod *p)
{
    struct rng of_job = {p->job.v ^ p->attempt};
    static const int16_t codes[] = {1, 2, 42, 137, 255};

    if (w->is_busy != rng_one_in(&of_job, 8))
        p->plan_run_us = rng_between(&of_job, 600, 20000) * USEC_PER_SEC;
    else
        p->plan_run_us = rng_between(&of_job, 1, 200) * USEC_PER_SEC;
    p->plan_run_us += rng_between(w->rng, 0, 5 * USEC_PER_SEC);
    if (fault_hits(w->faults, FAULT_POD_FAILS, 400 * w->woe)) {
        p->plan_exit = codes[rng_below(w->rng, ARRAY_LEN(codes))];
        p->plan_run_us = rng_between(w->rng, 0, 60) * USEC_PER_SEC / w->woe;
    }
}

struct w_pod *world_pod_create(struct world *w, const struct w_pod *like)
{
    struct w_pod *p = vec_push(&w->pods);

    *p = *like;
    (void)snprintf(p->uid, sizeof(p->uid), "uid-%08llu", (unsigned long long)++w->n_uids);
    p->node_ix = IX_NONE;
    p->phase = POD_PENDING;
    p->exit_code = -1;
    p->bound_at = INT64_MAX;
    p->starts_at = INT64_MAX;
    p->ends_at = INT64_MAX;
    p->gone_at = INT64_MAX;
    if (!p->is_foreign)
        plan_run(w, p);
    world_pod_touch(w, p, false);
    return p;
}

static bool is_raced(const struct world *w, uint32_t node_ix)
{
    int64_t all = world_gpus_used(w, node_ix, false);

    return all > w->nodes[node_ix].gpus_now && all > world_gpus_used(w, node_ix, true);
}

/* The daemon may not know yet that it is back, and give it up. */
static bool may_be_lost(const struct world *w, const struct w_node *n)
{
    return !n->exists || !n->is_ready || w->now - n->ready_since < 600 * USEC_PER_SEC;
}

void world_pod_bind(struct world *w, struct w_pod *p, const char *node)
{
    p->node_ix = world_node_named(w, node);
    p->bound_at = w->now;
    p->is_orphan |= p->node_ix != IX_NONE && may_be_lost(w, &w->nodes[p->node_ix]);
    p->starts_at = w->now + rng_between(w->rng, 0, 10 * USEC_PER_SEC);
    if (!p->is_foreign && fault_hits(w->faults, FAULT_POD_SLOW_START, 150))
        p->starts_at += rng_between(w->rng, 60, 1800) * USEC_PER_SEC;
    if (!p->is_foreign && p->node_ix != IX_NONE && is_raced(w, p->node_ix))
        w->faults->count[FAULT_FOREIGN_RACE]++;
    world_pod_touch(w, p, false);
}

bool world_pod_is_terminal(const struct w_pod *p)
{
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

void world_pod_remove(struct world *w, struct w_pod *p)
{
    world_pod_touch(w, p, true);
    vec_remove(&w->pods, (size_t)(p - w->pods.v));
}

void world_pod_ask(struct world *w, struct w_pod *p, usec_t grace_us)
{
    usec_t at = w->now + rng_between(w->rng, 0, 2 * grace_us);

    if (p->phase != POD_RUNNING || p->is_deleting || p->ends_at <= at)
        return;
    p->ends_at = at;
    p->plan_exit = 0;
}

void world_pod_delete(struct world *w, struct w_pod *p, usec_t grace_us)
{
    if (p->is_held)
        return;
    if (p->node_ix == IX_NONE || world_pod_is_terminal(p)) {
        world_pod_remove(w, p);
        return;
    }
    if (p->is_deleting) {
        p->gone_at = p->gone_at < w->now + grace_us ? p->gone_at : w->now + grace_us;
        return;
    }
    p->is_deleting = true;
    p->gone_at = w->now + rng_between(w->rng, 0, 2 * USEC_PER_SEC);
    if (fault_hits(w->faults, FAULT_POD_STOPS_SLOWLY, 1000))
        p->gone_at = w->now + grace_us;
    world_pod_touch(w, p, false);
}

int64_t world_gpus_used(const struct world *w, uint32_t node_ix, bool ours_only)
{
    int64_t sum = 0;

    for (size_t i = 0; i < w->pods.n; i++) {
        const struct w_pod *p = &w->pods.v[i];

        if (p->node_ix == node_ix && !world_pod_is_terminal(p) && !(ours_only && p->is_foreign))
            sum += p->gpus;
    }
    return sum;
}

const char *world_mig_name(uint32_t kind)
{
    return kind ? "nvidia.com/mig-2g.20gb" : "nvidia.com/mig-1g.10gb";
}

int64_t world_mig(const struct world *w, uint32_t node_ix, uint32_t kind)
{
    const struct w_node *n = &w->nodes[node_ix];

    if (!n->is_mig || (n->boots + node_ix / 4) % MIG_KINDS != kind) /* a reboot cuts them anew */
        return 0;
    return n->gpus_now * (kind ? 3 : 7);
}

int64_t world_mig_used(const struct world *w, uint32_t node_ix, uint32_t kind, bool running_only)
{
    int64_t sum = 0;

    for (size_t i = 0; i < w->pods.n; i++) {
        const struct w_pod *p = &w->pods.v[i];

        if (p->node_ix == node_ix && !world_pod_is_terminal(p) &&
            (p->phase == POD_RUNNING || !running_only))
            sum += p->mig[kind];
    }
    return sum;
}

void world_service_make(struct world *w, const struct w_service *s)
{
    for (size_t i = 0; i < w->services.n; i++)
        if (strcmp(w->services.v[i].name, s->name) == 0 && strcmp(w->services.v[i].ns, s->ns) == 0)
            return;
    *vec_push(&w->services) = *s;
}

bool world_service_drop(struct world *w, const char *ns, const char *name)
{
    for (size_t i = 0; i < w->services.n; i++)
        if (strcmp(w->services.v[i].name, name) == 0 && strcmp(w->services.v[i].ns, ns) == 0) {
            vec_remove(&w->services, i);
            return true;
        }
    return false;
}

void world_budget_make(struct world *w, const struct w_service *b)
{
    for (size_t i = 0; i < w->budgets.n; i++)
        if (w->budgets.v[i].job.v == b->job.v)
            return;
    *vec_push(&w->budgets) = *b;
}

void world_budget_drop(struct world *w, struct job_id job)
{
    for (size_t i = 0; i < w->budgets.n; i++)
        if (w->budgets.v[i].job.v == job.v) {
            vec_remove(&w->budgets, i);
            return;
        }
}

void world_pod_end(struct world *w, struct w_pod *p, int16_t exit_code, const char *reason)
{
    p->phase = exit_code == 0 ? POD_SUCCEEDED : POD_FAILED;
    p->exit_code = exit_code;
    (void)snprintf(p->reason, sizeof(p->reason), "%s", reason);
    world_pod_touch(w, p, false);
}

static void pod_start(struct world *w, struct w_pod *p)
{
    const struct w_node *n = &w->nodes[p->node_ix];
    int64_t running = 0;
    bool fits;

    p->starts_at = INT64_MAX;
    for (size_t i = 0; i < w->pods.n; i++)
        if (w->pods.v[i].node_ix == p->node_ix && w->pods.v[i].phase == POD_RUNNING)
            running += w->pods.v[i].gpus;
    fits = running + p->gpus <= (n->is_mig ? 0 : n->gpus_now);
    for (uint32_t k = 0; k < MIG_KINDS; k++)
        fits = fits && (!p->mig[k] || world_mig_used(w, p->node_ix, k, true) + p->mig[k] <=
                                          world_mig(w, p->node_ix, k));
    if (!fits) {
        w->faults->count[FAULT_POD_NOT_ADMITTED]++;
        world_pod_end(w, p, -1, "UnexpectedAdmissionError");
        return;
    }
    p->phase = POD_RUNNING;
    p->ends_at = w->now + p->plan_run_us;
    world_pod_touch(w, p, false);
}

/* One pod; false when it was removed. */
static bool pod_step(struct world *w, struct w_pod *p)
{
    const struct w_node *n;

    if (p->node_ix == IX_NONE)
        return true;
    n = &w->nodes[p->node_ix];
    if (!n->exists) {
        /* the pod collector takes pods whose node object is gone */
        if (p->gone_at == INT64_MAX || p->gone_at < n->turns_at)
            p->gone_at = w->now + rng_between(w->rng, 1, 60) * USEC_PER_SEC;
        if (w->now < p->gone_at)
            return true;
        world_pod_remove(w, p);
        return false;
    }
    if (!n->is_ready)
        return true;
    if (p->is_deleting && w->now >= p->gone_at) {
        bool is_held = w->is_wide && !p->is_held && fault_hits(w->faults, FAULT_POD_HELD, 1000);

        if (is_held || (p->phase == POD_RUNNING && rng_one_in(w->rng, 2)))
            world_pod_end(w, p, 143, "");
        if (is_held) {
            p->is_held = true;
            p->gone_at = w->now + rng_between(w->rng, 10, 600) * USEC_PER_SEC;
            return true;
        }
        world_pod_remove(w, p);
        return false;
    }
    if (p->phase == POD_PENDING && w->now >= p->starts_at && !p->is_deleting)
        pod_start(w, p);
    if (p->phase == POD_RUNNING && w->now >= p->ends_at)
        world_pod_end(w, p, p->plan_exit, p->plan_exit == 137 ? "OOMKilled" : "");
    return true;
}

static void late_creates(struct world *w)
{
    for (size_t i = 0; i < w->late.n;) {
        struct w_late late = w->late.v[i];

        if (w->now < late.due) {
            i++;
            continue;
        }
        vec_remove(&w->late, i);
        if (world_pod(w, late.pod.ns, late.pod.name))
            continue;
        (void)world_pod_create(w, &late.pod);
        w->faults->count[FAULT_CREATE_LATE]++;
    }
}

void world_step(struct world *w, usec_t now)
{
    w->now = now;
    world_heal(w, w->is_calm);
    if (!w->is_calm)
        world_trouble(w);
    late_creates(w);
    for (size_t i = 0; i < w->pods.n;)
        if (pod_step(w, &w->pods.v[i]))
            i++;
}

static usec_t earlier(usec_t a, usec_t b)
{
    return a < b ? a : b;
}

static usec_t pod_next(const struct world *w, const struct w_pod *p)
{
    const struct w_node *n;

    if (p->node_ix == IX_NONE)
        return INT64_MAX;
    n = &w->nodes[p->node_ix];
    if (!n->exists)
        return p->gone_at == INT64_MAX ? w->now : p->gone_at;
    if (!n->is_ready)
        return INT64_MAX;
    if (p->is_deleting)
        return p->gone_at;
    if (p->phase == POD_PENDING)
        return p->starts_at;
    return p->phase == POD_RUNNING ? p->ends_at : INT64_MAX;
}

usec_t world_next(const struct world *w)
{
    usec_t next = INT64_MAX;

    for (size_t i = 0; i < w->pods.n; i++)
        next = earlier(next, pod_next(w, &w->pods.v[i]));
    for (uint32_t i = 0; i < w->n_nodes; i++)
        next = earlier(next, w->nodes[i].turns_at);
    for (size_t i = 0; i < w->late.n; i++)
        next = earlier(next, w->late.v[i].due);
    return next;
}
