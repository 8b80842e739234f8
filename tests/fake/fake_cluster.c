/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cluster.c - requests of gangs against the simulated world, with lost, late and doubled
 * answers.
 *
 * Each pod of a task makes one request at a time; a request is carried out and answered in one
 * step, or repeated later. The watch is in fake_watch.c.
 */
#include "fake_cluster.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_watch.h"

enum { ASK_AGAIN_S = 60 };

enum fc_stage { STAGE_CREATE, STAGE_BIND, STAGE_ASK, STAGE_DELETE, STAGE_DONE };

struct fc_pod {
    struct w_pod like; /* what is to be created */
    char node[NODE_NAME_MAX + 1];
    uint32_t member, run;
    enum fc_stage stage;
    usec_t due;
    bool is_slow; /* its binding was delayed already */
    uint32_t woe; /* so much more often it is refused: pods of later roles are few */
};

struct fc_task {
    bool is_stop;
    struct w_service service; /* name "" none */
    usec_t service_due, budget_due;
    usec_t grace_us, asked_us; /* asked_us: its pods are asked to save first; 0: not */
    VEC(struct fc_pod) pods;
};

/* One stray pod to be deleted. */
struct fc_stray {
    char ns[LABEL_MAX + 1];
    char name[NODE_NAME_MAX + 1];
    char uid[UID_MAX + 1];
    usec_t due;
};

struct fake_cluster {
    struct world *w;
    struct inbox *inbox;
    struct fake_watch *watch;
    VEC(struct fc_task) tasks; /* in order of the calls */
    VEC(struct fc_stray) strays;
    VEC(struct event) out; /* answers that wait for room in the inbox */
};

static usec_t soon(struct fake_cluster *fc)
{
    return fc->w->now + rng_between(fc->w->rng, 0, 800) * USEC_PER_MSEC;
}

static usec_t again_later(struct fake_cluster *fc)
{
    return fc->w->now + rng_between(fc->w->rng, 1, 10) * USEC_PER_SEC;
}

static bool trouble(struct fake_cluster *fc, enum fault_kind kind, uint32_t per_10k)
{
    return fault_hits(fc->w->faults, kind, per_10k);
}

struct fake_cluster *fake_cluster_create(struct world *w, struct inbox *inbox)
{
    struct fake_cluster *fc = xcalloc(1, sizeof(*fc));

    fc->w = w;
    fc->inbox = inbox;
    fc->watch = fake_watch_create(w);
    return fc;
}

static void lose_requests(struct fake_cluster *fc)
{
    for (size_t i = 0; i < fc->tasks.n; i++) {
        struct fc_task *t = &fc->tasks.v[i];

        for (size_t p = 0; p < t->pods.n; p++) {
            if (t->pods.v[p].stage != STAGE_CREATE ||
                !rng_one_in(fc->w->rng, fc->w->woe > 1 ? 1 : 4))
                continue;
            *vec_push(&fc->w->late) =
                (struct w_late){.due = again_later(fc), .pod = t->pods.v[p].like};
        }
    }
}

void fake_cluster_destroy(struct fake_cluster *fc, bool is_crash)
{
    if (!fc)
        return;
    if (is_crash && fc->w->faults->is_on)
        lose_requests(fc);
    for (size_t i = 0; i < fc->tasks.n; i++)
        vec_fini(&fc->tasks.v[i].pods);
    for (size_t i = 0; i < fc->out.n; i++)
        event_fini(&fc->out.v[i]);
    vec_fini(&fc->tasks);
    vec_fini(&fc->strays);
    vec_fini(&fc->out);
    fake_watch_destroy(fc->watch);
    free(fc);
}

/* ---- calls of the port */

static struct fc_task *new_task(struct fake_cluster *fc, const struct gang *g, bool is_stop)
{
    struct fc_task *t;

    for (size_t i = 0; i < fc->tasks.n; i++) {
        if (fc->tasks.v[i].service.job.v == g->job.v) {
            vec_fini(&fc->tasks.v[i].pods);
            vec_remove(&fc->tasks, i);
            break;
        }
    }
    t = vec_push(&fc->tasks);
    t->is_stop = is_stop;
    t->service.job = g->job;
    t->service.attempt = g->attempt;
    t->service_due = t->budget_due = INT64_MAX;
    t->grace_us = g->grace_us;
    t->asked_us = g->asked_us;
    (void)snprintf(t->service.ns, sizeof(t->service.ns), "%s", g->ns);
    (void)snprintf(t->service.name, sizeof(t->service.name), "%s", g->job_name);
    if (g->has_service)
        t->service_due = soon(fc);
    if (g->has_budget)
        t->budget_due = soon(fc);
    return t;
}

static const char *role_name(const struct gang *g, uint32_t role)
{
    return g->spec ? g->spec->roles[role].name : g->role_names[role];
}

static void set_gpus(struct w_pod *p, const struct spec_role *r)
{
    p->gpus = r->gpus;
    for (uint32_t i = 0; i < r->n_extended; i++)
        for (uint32_t k = 0; k < MIG_KINDS; k++)
            if (!strcmp(r->extended[i].name, world_mig_name(k)))
                p->mig[k] = r->extended[i].amount;
}

static void add_pod(struct fake_cluster *fc, struct fc_task *t, const struct gang *g, uint32_t i)
{
    const struct gang_pod *gp = &g->pods[i];
    struct fc_pod *p = vec_push(&t->pods);
    int len;

    p->member = gp->member;
    p->stage = !t->is_stop ? STAGE_CREATE : t->asked_us ? STAGE_ASK : STAGE_DELETE;
    p->due = soon(fc);
    memcpy(p->node, gp->node, sizeof(p->node));
    memcpy(p->like.ns, t->service.ns, sizeof(p->like.ns));
    memcpy(p->like.uid, gp->uid, sizeof(p->like.uid));
    len = snprintf(p->like.name, sizeof(p->like.name), "%s-%s-%u-%u", g->job_name,
                   role_name(g, gp->role), (unsigned)(g->first_index[gp->role] + gp->index),
                   (unsigned)g->attempt);
    assert(len + 8 < (int)sizeof(p->like.name));
    p->run = gp->run;
    if (gp->run)
        (void)snprintf(p->like.name + len, sizeof(p->like.name) - (size_t)len, "-%u",
                       (unsigned)gp->run);
    (void)snprintf(p->like.role, sizeof(p->like.role), "%s", role_name(g, gp->role));
    p->like.job = g->job;
    p->like.index = g->first_index[gp->role] + gp->index;
    p->like.attempt = g->attempt;
    p->like.node_ix = IX_NONE;
    p->like.cpu_milli = g->cpu_milli[gp->role];
    p->like.memory_bytes = g->memory_bytes[gp->role];
    if (g->spec)
        set_gpus(&p->like, &g->spec->roles[gp->role]);
    p->woe = fc->w->woe * (g->spec && g->spec->roles[gp->role].start_after ? 8 : 1);
}

static void gang_start(void *ctx, const struct gang *g)
{
    struct fake_cluster *fc = ctx;
    struct fc_task *t = new_task(fc, g, false);

    assert(g->spec);
    for (uint32_t i = 0; i < g->n_pods; i++)
        if (!g->pods[i].has_ended && !g->pods[i].is_bound && !g->pods[i].waits)
            add_pod(fc, t, g, i);
}

static void gang_stop(void *ctx, const struct gang *g)
{
    struct fake_cluster *fc = ctx;
    struct fc_task *t = new_task(fc, g, true);

    for (uint32_t i = 0; i < g->n_pods; i++)
        add_pod(fc, t, g, i);
}

static void pod_delete(void *ctx, const char *ns, const char *name, const char *uid)
{
    struct fake_cluster *fc = ctx;
    struct fc_stray *s = vec_push(&fc->strays);

    (void)snprintf(s->ns, sizeof(s->ns), "%s", ns);
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
    (void)snprintf(s->uid, sizeof(s->uid), "%s", uid);
    s->due = soon(fc);
}

struct cluster_port fake_cluster_port(struct fake_cluster *fc)
{
    return (struct cluster_port){
        .ctx = fc, .gang_start = gang_start, .gang_stop = gang_stop, .pod_delete = pod_delete};
}

/* ---- answers */

static void answer_once(struct fake_cluster *fc, const struct fc_pod *p, enum event_kind kind,
                        enum refusal_kind refusal)
{
    struct ev_pod_answer *a = xcalloc(1, sizeof(*a));
    const struct w_pod *pod = world_pod(fc->w, p->like.ns, p->like.name);

    a->job = p->like.job;
    a->attempt = p->like.attempt;
    a->member = p->member;
    a->run = (uint16_t)p->run;
    a->refusal = refusal;
    if (kind == EV_POD_BOUND && pod)
        memcpy(a->uid, pod->uid, sizeof(a->uid));
    if (kind == EV_POD_REFUSED)
        (void)snprintf(a->text, sizeof(a->text), "pod %s: refused by the simulation", p->like.name);
    *vec_push(&fc->out) = (struct event){.kind = kind, .u.answer = a};
}

static void answer(struct fake_cluster *fc, struct fc_pod *p, enum event_kind kind,
                   enum refusal_kind refusal)
{
    answer_once(fc, p, kind, refusal);
    if (trouble(fc, FAULT_ANSWER_DOUBLED, 300))
        answer_once(fc, p, kind, refusal);
    p->stage = STAGE_DONE;
}

static void answer_not_there(struct fake_cluster *fc, struct fc_pod *p)
{
    struct ev_pod_gone *g = xcalloc(1, sizeof(*g));

    memcpy(g->ns, p->like.ns, sizeof(g->ns));
    memcpy(g->name, p->like.name, sizeof(p->like.name));
    g->job = p->like.job;
    g->attempt = p->like.attempt;
    g->member = p->member;
    *vec_push(&fc->out) = (struct event){.kind = EV_POD_GONE, .u.pod_gone = g};
    p->stage = STAGE_DONE;
}

static void answer_service_gone(struct fake_cluster *fc, struct fc_task *t)
{
    *vec_push(&fc->out) = (struct event){.kind = EV_SERVICE_GONE, .u.service_job = t->service.job};
}

static void answer_budget(struct fake_cluster *fc, const struct fc_task *t, const char *trouble)
{
    *vec_push(&fc->out) =
        (struct event){.kind = EV_BUDGET,
                       .u.budget = {.job = t->service.job,
                                    .attempt = t->service.attempt,
                                    .trouble = trouble ? xstrdup(trouble) : NULL}};
}

/* ---- requests */

static void request_create(struct fake_cluster *fc, struct fc_pod *p)
{
    struct w_pod *pod = world_pod(fc->w, p->like.ns, p->like.name);

    p->due = again_later(fc);
    if (trouble(fc, FAULT_CREATE_UNSENT, 200 * fc->w->woe))
        return;
    if (pod) {
        /* AlreadyExists: ours of this attempt from an earlier request, else in the way */
        bool is_ours =
            pod->job.v == p->like.job.v && pod->attempt == p->like.attempt && !pod->is_deleting;

        if (!is_ours) {
            answer(fc, p, EV_POD_REFUSED, REFUSAL_TRY_LATER);
            return;
        }
    } else if (trouble(fc, FAULT_CREATE_REJECTED, 20 * p->woe)) {
        answer(fc, p, EV_POD_REFUSED, REFUSAL_REJECTED);
        return;
    } else if (trouble(fc, FAULT_CREATE_QUOTA, 60 * p->woe)) {
        answer(fc, p, EV_POD_REFUSED, REFUSAL_TRY_LATER);
        return;
    } else {
        (void)world_pod_create(fc->w, &p->like);
        if (trouble(fc, FAULT_CREATE_ANSWER_LOST, 300))
            return;
    }
    p->stage = STAGE_BIND;
    p->due = soon(fc);
}

static void request_bind(struct fake_cluster *fc, struct fc_pod *p)
{
    struct w_pod *pod = world_pod(fc->w, p->like.ns, p->like.name);

    p->due = again_later(fc);
    if (trouble(fc, FAULT_BIND_UNSENT, 200))
        return;
    if (!p->is_slow && trouble(fc, FAULT_BIND_SLOW, 150 * fc->w->woe)) {
        p->is_slow = true;
        p->due = fc->w->now + rng_between(fc->w->rng, 5, 900) * USEC_PER_SEC;
        return;
    }
    if (!pod || (pod->is_deleting && pod->node_ix == IX_NONE)) {
        answer(fc, p, EV_POD_REFUSED, REFUSAL_TRY_LATER);
        return;
    }
    if (pod->node_ix != IX_NONE) {
        bool is_same = pod->node_ix == world_node_named(fc->w, p->node);

        answer(fc, p, is_same ? EV_POD_BOUND : EV_POD_REFUSED, REFUSAL_BIND);
        return;
    }
    if (trouble(fc, FAULT_BIND_REFUSED, 80 * p->woe)) {
        answer(fc, p, EV_POD_REFUSED, REFUSAL_BIND);
        return;
    }
    if (trouble(fc, FAULT_BIND_HOST_REFUSED, 120 * p->woe)) {
        answer(fc, p, EV_POD_REFUSED, REFUSAL_HOST);
        return;
    }
    world_pod_bind(fc->w, pod, p->node);
    if (!trouble(fc, FAULT_BIND_ANSWER_LOST, 300))
        answer(fc, p, EV_POD_BOUND, REFUSAL_BIND);
}

/* It has its grace to save, from when it was asked; then, or once it has ended, it goes. */
static void request_ask(struct fake_cluster *fc, const struct fc_task *t, struct fc_pod *p)
{
    struct w_pod *pod = world_pod(fc->w, p->like.ns, p->like.name);

    p->stage = STAGE_DELETE;
    if (!pod || pod->phase != POD_RUNNING)
        return;
    if (rng_one_in(fc->w->rng, 2))
        world_pod_ask(fc->w, pod, t->grace_us);
    p->due = t->asked_us + t->grace_us;
    if (pod->ends_at < p->due)
        p->due = pod->ends_at;
}

static void request_delete(struct fake_cluster *fc, const struct fc_task *t, struct fc_pod *p)
{
    struct w_pod *pod = world_pod(fc->w, p->like.ns, p->like.name);

    p->due = again_later(fc);
    if (trouble(fc, FAULT_DELETE_UNSENT, 300))
        return;
    if (!pod) {
        answer_not_there(fc, p);
        return;
    }
    world_pod_delete(fc->w, pod, t->grace_us);
    /* the watch may miss what came and went between two lists: ask again until it is not there */
    if (!trouble(fc, FAULT_DELETE_ANSWER_LOST, 300))
        p->due = fc->w->now + t->grace_us + ASK_AGAIN_S * USEC_PER_SEC;
}

static void request_service(struct fake_cluster *fc, struct fc_task *t)
{
    if (!t->is_stop) {
        world_service_make(fc->w, &t->service);
        t->service_due = INT64_MAX;
        return;
    }
    (void)world_service_drop(fc->w, t->service.ns, t->service.name);
    t->service_due = again_later(fc);
    if (trouble(fc, FAULT_SERVICE_ANSWER_LOST, 500))
        return;
    answer_service_gone(fc, t);
    t->service_due = INT64_MAX;
}

static void request_budget(struct fake_cluster *fc, struct fc_task *t)
{
    t->budget_due = INT64_MAX;
    if (t->is_stop) {
        world_budget_drop(fc->w, t->service.job);
        if (trouble(fc, FAULT_SERVICE_ANSWER_LOST, 500))
            t->budget_due = again_later(fc);
        else
            answer_budget(fc, t, NULL);
    } else if (trouble(fc, FAULT_CREATE_REJECTED, 200)) {
        answer_budget(fc, t, "create refused: by the simulation");
    } else if (trouble(fc, FAULT_CREATE_UNSENT, 500)) {
        t->budget_due = again_later(fc);
    } else {
        world_budget_make(fc->w, &t->service);
    }
}

static void pod_request(struct fake_cluster *fc, const struct fc_task *t, struct fc_pod *p)
{
    switch (p->stage) {
    case STAGE_CREATE:
        request_create(fc, p);
        break;
    case STAGE_BIND:
        request_bind(fc, p);
        break;
    case STAGE_ASK:
        request_ask(fc, t, p);
        break;
    case STAGE_DELETE:
        request_delete(fc, t, p);
        break;
    case STAGE_DONE:
        break;
    }
}

/* false: nothing of it is left to do. */
static bool task_step(struct fake_cluster *fc, struct fc_task *t)
{
    bool is_busy;

    if (t->service_due <= fc->w->now)
        request_service(fc, t);
    if (t->budget_due <= fc->w->now)
        request_budget(fc, t);
    is_busy = t->service_due != INT64_MAX || t->budget_due != INT64_MAX;
    for (size_t i = 0; i < t->pods.n; i++) {
        if (t->pods.v[i].due <= fc->w->now)
            pod_request(fc, t, &t->pods.v[i]);
        is_busy |= t->pods.v[i].stage != STAGE_DONE;
    }
    return is_busy;
}

static void delete_strays(struct fake_cluster *fc)
{
    for (size_t i = 0; i < fc->strays.n;) {
        struct fc_stray *s = &fc->strays.v[i];
        struct w_pod *pod;

        if (s->due > fc->w->now || trouble(fc, FAULT_DELETE_UNSENT, 300)) {
            i++;
            continue;
        }
        pod = world_pod(fc->w, s->ns, s->name);
        if (pod && (s->uid[0] == '\0' || strcmp(pod->uid, s->uid) == 0))
            world_pod_delete(fc->w, pod, 30 * USEC_PER_SEC);
        vec_remove(&fc->strays, i);
    }
}

static void flush(struct fake_cluster *fc)
{
    size_t n = 0;

    while (n < fc->out.n && inbox_room(fc->inbox) > 0)
        (void)inbox_push(fc->inbox, &fc->out.v[n++]);
    memmove(fc->out.v, fc->out.v + n, (fc->out.n - n) * sizeof(fc->out.v[0]));
    fc->out.n -= n;
}

void fake_cluster_step(struct fake_cluster *fc)
{
    if (fake_watch_is_up(fc->watch)) {
        delete_strays(fc);
        for (size_t i = 0; i < fc->tasks.n;) {
            if (task_step(fc, &fc->tasks.v[i])) {
                i++;
                continue;
            }
            vec_fini(&fc->tasks.v[i].pods);
            vec_remove(&fc->tasks, i);
        }
    }
    if (fc->out.n)
        flush(fc);
    fake_watch_step(fc->watch, fc->inbox);
}

void fake_cluster_cut(struct fake_cluster *fc, usec_t how_long_us)
{
    fake_watch_cut(fc->watch, how_long_us);
}

void fake_cluster_relist(struct fake_cluster *fc)
{
    fake_watch_relist(fc->watch);
}

bool fake_cluster_is_idle(const struct fake_cluster *fc)
{
    return fc->tasks.n == 0 && fc->strays.n == 0 && fc->out.n == 0 && fake_watch_is_idle(fc->watch);
}

static usec_t task_next(const struct fc_task *t)
{
    usec_t next = t->service_due;

    for (size_t i = 0; i < t->pods.n; i++)
        if (t->pods.v[i].stage != STAGE_DONE && t->pods.v[i].due < next)
            next = t->pods.v[i].due;
    return next;
}

usec_t fake_cluster_next(const struct fake_cluster *fc)
{
    usec_t next = fc->out.n ? fc->w->now : fake_watch_next(fc->watch);

    if (!fake_watch_is_up(fc->watch))
        return next;
    for (size_t i = 0; i < fc->tasks.n; i++)
        if (task_next(&fc->tasks.v[i]) < next)
            next = task_next(&fc->tasks.v[i]);
    for (size_t i = 0; i < fc->strays.n; i++)
        if (fc->strays.v[i].due < next)
            next = fc->strays.v[i].due;
    return next;
}

bool fake_cluster_is_told(const struct fake_cluster *fc)
{
    return fc->out.n == 0 && fake_watch_is_idle(fc->watch);
}

bool fake_cluster_works_on(const struct fake_cluster *fc, struct job_id job)
{
    for (size_t i = 0; i < fc->tasks.n; i++)
        if (fc->tasks.v[i].service.job.v == job.v)
            return true;
    return false;
}
