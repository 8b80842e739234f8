/* SPDX-License-Identifier: Apache-2.0 */
/* kube_gang.c - runs: which task may send now, and how a stop takes over from a start.
 *
 * Order of a start: service, budget and all creates, then, when all are there, all bindings; where
 * a create names the node, the service comes first. A stop cancels what was not sent, and lets each
 * answer that is on its way come first.
 */
#include "kube/kube_gang.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "kube/kube_task.h"
#include "util/mem.h"

#define HURRY_US USEC_PER_SEC

struct kube_gangs *kube_gangs_create(struct kube_http *http, struct api_pace *pace)
{
    struct kube_gangs *g = xcalloc(1, sizeof(*g));

    g->http = http;
    g->pace = pace;
    return g;
}

void kube_gangs_set_modes(struct kube_gangs *g, bool is_direct, struct kube_events *events)
{
    g->is_direct = is_direct;
    g->placed_events = events;
}

/* ---- runs */

static struct run *run_create(struct kube_gangs *g, const struct gang *gang)
{
    struct run *r = xcalloc(1, sizeof(*r));

    r->gangs = g;
    r->gang = *gang;
    r->gang.pods = xmemdup(gang->pods, gang->n_pods * sizeof(*gang->pods));
    r->gang.spec = gang->spec ? spec_copy(gang->spec) : NULL;
    r->gang.kubernetes_class = xstrdup(gang->kubernetes_class ? gang->kubernetes_class : "");
    r->service = r->budget = (struct task){.run = r};
    r->tasks = xcalloc(gang->n_pods ? gang->n_pods : 1, sizeof(*r->tasks));
    r->n_at[TASK_NONE] = gang->n_pods;
    for (uint32_t i = 0; i < gang->n_pods; i++) {
        struct task *t = &r->tasks[i];

        t->run = r;
        t->pod = &r->gang.pods[i];
        memcpy(t->uid, t->pod->uid, sizeof(t->uid));
    }
    DL_APPEND(g->runs, r);
    return r;
}

static void run_hash(struct run *r)
{
    HASH_ADD(hh, r->gangs->by_job, gang.job, sizeof(r->gang.job), r);
    r->is_hashed = true;
}

static void run_unhash(struct run *r)
{
    if (r->is_hashed)
        HASH_DEL(r->gangs->by_job, r);
    r->is_hashed = false;
}

static struct run *run_find(struct kube_gangs *g, struct job_id job)
{
    struct run *r;

    HASH_FIND(hh, g->by_job, &job, sizeof(job), r);
    return r;
}

static void run_destroy(struct run *r)
{
    http_drop(r->gangs->http, r->service.req);
    http_drop(r->gangs->http, r->budget.req);
    for (uint32_t i = 0; i < r->gang.n_pods; i++)
        http_drop(r->gangs->http, r->tasks[i].req);
    run_unhash(r);
    DL_DELETE(r->gangs->runs, r);
    spec_destroy((struct spec *)(uintptr_t)r->gang.spec);
    free((void *)(uintptr_t)r->gang.kubernetes_class);
    free(r->gang.pods);
    free(r->tasks);
    kube_env_destroy(r->env);
    free(r->stray_name);
    free(r);
}

/* ---- stop */

/* Turn a task of a start, or a fresh one, towards its deletion. */
static void task_stop(struct task *t)
{
    if (t->step >= TASK_FIND) {
        if (t->step == TASK_ENDED)
            task_tell_gone(t); /* asked again: say it again */
        return;
    }
    if (t->req && !http_cancel_unsent(t->run->gangs->http, t->req))
        return; /* its answer comes first */
    task_landed(t);
    t->backoff.n = 0;
    task_set(t, task_stop_step(t), 0);
}

static void run_stop(struct run *r, bool with_service)
{
    r->is_stopping = true;
    r->keeps_service = !with_service;
    r->due = 0;
    r->gangs->has_orders = true;
    if (with_service)
        task_stop(&r->service);
    else if (!r->service.req || http_cancel_unsent(r->gangs->http, r->service.req))
        r->service = (struct task){.run = r};
    if (r->gang.has_budget)
        task_stop(&r->budget);
    for (uint32_t i = 0; i < r->gang.n_pods; i++)
        task_stop(&r->tasks[i]);
}

/* The job goes on with something else: what this run made must go, but for the service. */
static void run_abandon(struct run *r)
{
    run_unhash(r);
    if (!r->is_stopping)
        run_stop(r, false);
}

/* May the uids that the core knows help an older run of ours? */
static void learn_uids(struct run *r, const struct gang *gang)
{
    for (uint32_t i = 0, j = 0; i < r->gang.n_pods && j < gang->n_pods; i++) {
        const struct gang_pod *p = &gang->pods[j];

        if (r->gang.pods[i].member != p->member)
            continue;
        if (!r->tasks[i].uid[0] && !r->tasks[i].req)
            memcpy(r->tasks[i].uid, p->uid, sizeof(p->uid));
        j++;
    }
}

void kube_gangs_stop(struct kube_gangs *g, const struct gang *gang)
{
    struct run *r = run_find(g, gang->job);
    bool is_shorter;

    if (r && r->gang.attempt != gang->attempt) {
        run_abandon(r);
        r = NULL;
    }
    if (!r) {
        r = run_create(g, gang);
        run_hash(r);
    }
    r->gang.grace_us = gang->grace_us;
    learn_uids(r, gang);
    is_shorter = gang->cut_us && (!r->gang.cut_us || gang->cut_us < r->gang.cut_us);
    for (uint32_t i = 0; i < r->gang.n_pods && is_shorter; i++)
        if (r->tasks[i].step == TASK_DELETED) /* once more, with a shorter grace */
            task_set(&r->tasks[i], TASK_DELETE, 0);
        else if (r->tasks[i].step == TASK_DELETE && r->tasks[i].is_timed) /* it was asked */
            task_set(&r->tasks[i], TASK_DELETE, 0);
    r->gang.cut_us = gang->cut_us;
    r->gang.asked_us = gang->asked_us;
    run_stop(r, gang->has_service);
}

void kube_gangs_delete_pod(struct kube_gangs *g, const char *ns, const char *name, const char *uid)
{
    struct gang_pod pod = {.member = IX_NONE};
    struct gang gang = {.n_pods = 1, .size = 1, .pods = &pod};
    struct run *r;

    DL_FOREACH(g->runs, r)
    {
        if (r->stray_name && !strcmp(r->tasks[0].uid, uid))
            return;
    }
    if (!uid[0] || !str_copy(pod.uid, sizeof(pod.uid), uid) ||
        !str_copy(gang.ns, sizeof(gang.ns), ns))
        return;
    r = run_create(g, &gang);
    r->stray_name = xstrdup(name);
    run_stop(r, false);
}

void kube_gangs_gone(struct kube_gangs *g, const struct store_gone *gone)
{
    struct run *r = gone->job.v ? run_find(g, gone->job) : NULL;

    if (!r || !r->is_stopping || r->gang.attempt != gone->attempt)
        return;
    for (uint32_t i = 0; i < r->gang.n_pods; i++)
        if (!strcmp(r->tasks[i].uid, gone->uid))
            task_set(&r->tasks[i], TASK_ENDED, INT64_MAX);
}

/* ---- start */

/* The core chose another host for a pod whose binding, or create with a node, was refused. */
static void task_retarget(struct task *t, struct gang_pod *mine, const char *node)
{
    if (!strcmp(mine->node, node))
        return;
    if (t->step != TASK_REFUSED && (t->req || t->step == TASK_BOUND)) {
        task_refuse(t, REFUSAL_BIND, "bound elsewhere",
                    "a binding to the host before is under way");
        return;
    }
    memcpy(mine->node, node, sizeof(mine->node));
    if (t->step == TASK_REFUSED)
        task_set(t, t->uid[0] ? TASK_BIND : TASK_CREATE, 0);
}

/* A pod that is there: asked to save, if the gang is. */
static void task_there(struct task *t, const struct gang_pod *pod, usec_t asked_us)
{
    if (asked_us && pod->is_bound && t->uid[0])
        task_set(t, TASK_TELL, 0);
    else if (t->step != TASK_BOUND)
        task_set(t, TASK_BOUND, INT64_MAX);
}

/* A start that is under way is asked for again: with other hosts, or to hear of what was missed. */
static void run_again(struct run *r, const struct gang *gang)
{
    assert(r->gang.n_pods == gang->n_pods);
    r->gang.score = gang->score;
    memcpy(r->gang.score_text, gang->score_text, sizeof(r->gang.score_text));
    r->is_refused = r->service.step == TASK_REFUSED;
    for (uint32_t i = 0; i < r->gang.n_pods; i++) {
        struct task *t = &r->tasks[i];

        task_retarget(t, &r->gang.pods[i], gang->pods[i].node);
        if (t->step == TASK_NONE && !gang->pods[i].waits)
            task_set(t, t->uid[0] ? TASK_EXISTS : TASK_CREATE, t->uid[0] ? INT64_MAX : 0);
        if (t->step == TASK_BOUND && !gang->pods[i].has_ended && !gang->pods[i].is_bound)
            task_tell_bound(t);
        if (t->step == TASK_BOUND && gang->asked_us != r->gang.asked_us)
            task_there(t, &gang->pods[i], gang->asked_us);
        r->is_refused |= t->step == TASK_REFUSED;
    }
    r->gang.asked_us = gang->asked_us;
}

/* A gang that grew, gave that up, or lost pods is of other pods. What a run of before has under way
 * shows up in the watch. */
static bool is_resized(const struct run *r, const struct gang *gang)
{
    bool differs = r->gang.n_pods != gang->n_pods;

    for (uint32_t i = 0; i < gang->n_pods && !differs; i++)
        differs = r->gang.pods[i].member != gang->pods[i].member ||
                  r->gang.pods[i].run != gang->pods[i].run;
    return differs && !r->is_stopping;
}

void kube_gangs_start(struct kube_gangs *g, const struct gang *gang)
{
    struct run *r = run_find(g, gang->job);

    assert(gang->spec && gang->n_pods);
    g->has_orders = true;
    if (r && r->gang.attempt == gang->attempt && is_resized(r, gang)) {
        run_destroy(r);
        r = NULL;
    }
    if (r && r->gang.attempt == gang->attempt) {
        if (!r->is_stopping)
            run_again(r, gang);
        return;
    }
    if (r)
        run_abandon(r);
    r = run_create(g, gang);
    run_hash(r);
    r->service.step = gang->has_service ? TASK_CREATE : TASK_NONE;
    r->budget.step = gang->has_budget ? TASK_CREATE : TASK_NONE;
    for (uint32_t i = 0; i < gang->n_pods; i++) {
        /* a pod that is there asks for nothing until all are; it must not hold up the others */
        if (gang->pods[i].has_ended || gang->pods[i].is_bound)
            task_there(&r->tasks[i], &gang->pods[i], gang->asked_us);
        else if (gang->pods[i].waits)
            continue;
        else if (r->tasks[i].uid[0])
            task_set(&r->tasks[i], TASK_EXISTS, INT64_MAX);
        else
            task_set(&r->tasks[i], TASK_CREATE, 0);
    }
}

static bool service_is_there(const struct run *r)
{
    return r->service.step == TASK_NONE || r->service.step == TASK_EXISTS;
}

/* Are all pods between these steps, and nothing of them on its way? */
static bool all_are_at(const struct run *r, enum task_step from, enum task_step to)
{
    uint32_t n = r->n_at[TASK_NONE]; /* they wait for a later start */

    for (int step = (int)from; step <= (int)to; step++)
        n += r->n_at[step];
    return n == r->gang.n_pods && !r->n_flying;
}

/* All pods exist: from here on they are bound. */
static void begin_binding(struct run *r)
{
    if (!r->n_at[TASK_EXISTS])
        return;
    for (uint32_t i = 0; i < r->gang.n_pods; i++)
        if (r->tasks[i].step == TASK_EXISTS)
            task_set(&r->tasks[i], TASK_BIND, 0);
}

/* Send what is due of the service or the budget; false: no room, come back when something was
 * answered. */
static bool beside_step(struct task *t, usec_t now, usec_t *wake)
{
    if (t->req || t->step == TASK_NONE || t->due == INT64_MAX)
        return true;
    if (t->due > now) {
        *wake = t->due < *wake ? t->due : *wake;
        return true;
    }
    return task_send(t);
}

static bool is_over(const struct task *t)
{
    return !t->req && (t->step == TASK_ENDED || t->step == TASK_NONE);
}

static bool run_is_over(const struct run *r)
{
    if (r->is_stopping)
        return all_are_at(r, TASK_ENDED, TASK_ENDED) && is_over(&r->service) && is_over(&r->budget);
    return all_are_at(r, TASK_BOUND, TASK_BOUND) && service_is_there(r) && !r->budget.req &&
           (r->budget.step == TASK_NONE || r->budget.step == TASK_EXISTS ||
            r->budget.step == TASK_REFUSED);
}

static void run_step(struct run *r, usec_t now)
{
    usec_t wake;
    bool has_room;

    if (!r->is_stopping && r->is_refused) {
        r->due = INT64_MAX;
        return;
    }
    if (now < r->not_before) {
        r->due = r->not_before;
        r->is_blocked = false;
        return;
    }
    if (!r->is_stopping && service_is_there(r) && all_are_at(r, TASK_EXISTS, TASK_BOUND))
        begin_binding(r);
    wake = run_wake_timed(r, now);
    has_room = beside_step(&r->service, now, &wake) && beside_step(&r->budget, now, &wake);
    /* unbound pods run nowhere, so their creates need not wait for the service */
    if (r->is_stopping || service_is_there(r) || !r->gangs->is_direct)
        while (has_room && r->ready)
            has_room = task_send(r->ready);
    r->due = wake;
    r->is_blocked = !has_room;
}

void kube_gangs_hurry(struct kube_gangs *g)
{
    usec_t now = http_now();
    struct run *r;

    DL_FOREACH(g->runs, r)
    {
        usec_t soon = now + (usec_t)(api_random(g->pace) % (uint64_t)HURRY_US);

        if (r->not_before > soon && !r->is_told_when)
            r->not_before = soon;
        r->backoff.n = 0;
        r->due = 0;
    }
}

void kube_gangs_tick(struct kube_gangs *g, usec_t now)
{
    struct run *r, *next;

    g->has_orders = false;
    DL_FOREACH_SAFE(g->runs, r, next)
    {
        if (r->due > now && !r->is_blocked)
            continue;
        run_step(r, now);
        if (run_is_over(r))
            run_destroy(r);
    }
}

usec_t kube_gangs_wake(const struct kube_gangs *g)
{
    usec_t wake = INT64_MAX;
    const struct run *r;

    if (g->has_orders)
        return 0;
    /* a blocked run waits for an answer, which wakes us by its socket */
    DL_FOREACH(g->runs, r)
    {
        if (r->due < wake)
            wake = r->due;
    }
    return wake;
}

bool kube_gangs_flush(struct kube_gangs *g, struct inbox *inbox)
{
    while (g->events && inbox_push(inbox, &g->events->ev)) {
        struct queued_event *q = g->events;

        DL_DELETE(g->events, q);
        free(q);
    }
    return !g->events;
}

void kube_gangs_destroy(struct kube_gangs *g)
{
    struct queued_event *q, *next;

    if (!g)
        return;
    while (g->runs)
        run_destroy(g->runs);
    DL_FOREACH_SAFE(g->events, q, next)
    {
        event_fini(&q->ev);
        free(q);
    }
    free(g);
}
