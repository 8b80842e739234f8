/* SPDX-License-Identifier: Apache-2.0 */
/* client_wait.c - wait until jobs have reached a state, with one subscription for all of them.
 *
 * Judged by the present state: get each job, then watch from that moment on; an event of one of
 * them only says that it is time to look again.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "client_job.h"
#include "util/mem.h"
#include "util/str.h"

enum { LOOK_AGAIN_MS = 1000 };

struct waiter {
    struct queued_client *client;
    const struct queued_wait_options *options;
    size_t n;
    struct queued_jobs **jobs; /* one each */
    bool *is_stale;            /* an event told of a change */
    size_t reached;
    uint64_t as_of;
};

bool job_has_reached(const struct queued_job *job, enum queued_wait_for what)
{
    const char *state = job->state ? job->state : "";

    if (queued_state_is_final(state))
        return true;
    if (what == QUEUED_WAIT_RUNNING)
        return strcmp(state, "Running") == 0;
    if (what == QUEUED_WAIT_SCHEDULED)
        return strcmp(state, "Binding") == 0 || strcmp(state, "Starting") == 0 ||
               strcmp(state, "Running") == 0;
    return false;
}

static bool is_over(const struct waiter *w)
{
    return w->options->any ? w->reached > 0 : w->reached == w->n;
}

static void count(struct waiter *w)
{
    w->reached = 0;
    for (size_t i = 0; i < w->n; i++)
        w->reached += job_has_reached(&w->jobs[i]->v[0], w->options->what);
}

static int look_again(struct waiter *w, size_t i, const char *name, struct queued_error *error)
{
    struct queued_jobs *now = NULL;

    if (queued_get(w->client, name, &now, error))
        return -1;
    queued_jobs_free(w->jobs[i]);
    w->jobs[i] = now;
    w->is_stale[i] = false;
    return 0;
}

/* An index of an array that has not begun has no id: it begins under its name, and what happens to
 * it before that is told of its array. */
static bool is_about(const struct queued_event *e, const struct queued_job *job)
{
    const char *id = job->id ? job->id : job->array_id;

    if (!job->id && e->job_name && job->name && strcmp(e->job_name, job->name) == 0)
        return true;
    return id && e->job_id && strcmp(e->job_id, id) == 0;
}

static void name_of(char name[QUEUED_NAME_MAX], const struct queued_job *job)
{
    if (job->id || !job->array_id)
        (void)str_copy(name, QUEUED_NAME_MAX, job->id ? job->id : "");
    else
        (void)snprintf(name, QUEUED_NAME_MAX, "%s[%u]", job->array_id, job->array_index);
}

/* A job may be named twice, and indices that have not begun share what is told of their array. */
static int on_event(const struct queued_event *e, void *ctx)
{
    struct waiter *w = ctx;
    bool is_ours = false;

    for (size_t i = 0; i < w->n; i++)
        if (is_about(e, &w->jobs[i]->v[0]))
            w->is_stale[i] = is_ours = true;
    if (is_ours && w->options->on_event)
        (void)w->options->on_event(e, w->options->ctx);
    return is_ours; /* look at them */
}

/* 1: a daemon that is gone again left something to look at later. */
static int refresh(struct waiter *w, struct queued_error *error)
{
    int rc = 0;

    for (size_t i = 0; i < w->n; i++) {
        char id[QUEUED_NAME_MAX];
        struct queued_error why;

        if (!w->is_stale[i])
            continue;
        name_of(id, &w->jobs[i]->v[0]);
        if (look_again(w, i, id, &why) == 0)
            continue;
        if (why.code != QUEUED_UNAVAILABLE) {
            if (error)
                *error = why;
            return -1;
        }
        rc = 1;
    }
    count(w);
    return rc;
}

static int fail_time(struct queued_error *error)
{
    struct err err;

    (void)err_set(&err, ERR_DEADLINE, "time is up; the jobs go on");
    return client_fail(error, &err);
}

static int follow(struct waiter *w, struct queued_watch *watch, uint64_t end_ms,
                  struct queued_error *error)
{
    int left = 0; /* something to look at again */

    while (!is_over(w)) {
        uint64_t now = link_now_ms();
        int64_t wait_ms = end_ms == UINT64_MAX ? -1 : (int64_t)(end_ms - now);

        if (now >= end_ms)
            return fail_time(error);
        if (left && (wait_ms < 0 || wait_ms > LOOK_AGAIN_MS))
            wait_ms = LOOK_AGAIN_MS;
        if (queued_watch_next(watch, wait_ms, on_event, w, error) < 0)
            return -1;
        left = refresh(w, error);
        if (left < 0)
            return -1;
    }
    return 0;
}

/* Watch from the oldest of the answers, so that nothing between two of them is missed. */
static int watch_all(struct waiter *w, uint64_t end_ms, struct queued_error *error)
{
    struct queued_watch_options o = {.after_seq = w->as_of, .filter = {.all = true}};
    struct queued_watch *watch = NULL;
    int rc;

    if (w->n == 1)
        o.job = w->jobs[0]->v[0].id;
    if (queued_watch_open(w->client, &o, &watch, error))
        return -1;
    rc = follow(w, watch, end_ms, error);
    queued_watch_close(watch);
    return rc;
}

static void waiter_fini(struct waiter *w)
{
    for (size_t i = 0; w->jobs && i < w->n; i++)
        queued_jobs_free(w->jobs[i]);
    free(w->jobs);
    free(w->is_stale);
}

static int run(struct waiter *w, struct queued_error *error)
{
    uint64_t end_ms = UINT64_MAX;

    if (w->options->wait_ms > 0)
        end_ms = link_now_ms() + (uint64_t)w->options->wait_ms;
    for (size_t i = 0; i < w->n; i++) {
        if (look_again(w, i, w->options->jobs[i], error))
            return -1;
        if (i == 0 || w->jobs[i]->as_of_seq < w->as_of)
            w->as_of = w->jobs[i]->as_of_seq;
    }
    count(w);
    return is_over(w) ? 0 : watch_all(w, end_ms, error);
}

int queued_wait(struct queued_client *c, const struct queued_wait_options *options,
                struct queued_jobs **ret, struct queued_error *error)
{
    size_t n = options->n;
    struct waiter w = {.client = c, .options = options, .n = n};
    int rc;

    assert(n > 0);
    w.jobs = xcalloc(n, sizeof(struct queued_jobs *));
    w.is_stale = xcalloc(n, sizeof(*w.is_stale));
    rc = run(&w, error);
    if (rc == 0) {
        *ret = jobs_join(w.jobs, n);
        memset(w.jobs, 0, n * sizeof(struct queued_jobs *)); /* taken over */
    }
    waiter_fini(&w);
    return rc;
}
