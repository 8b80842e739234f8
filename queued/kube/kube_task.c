/* SPDX-License-Identifier: Apache-2.0 */
/* kube_task.c - the requests of a task, and the events that come of it. */
#include "kube/kube_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "util/log.h"
#include "util/mem.h"

#define FIRST_LOOK_US (100 * USEC_PER_MSEC)

bool task_is_start(enum task_step step)
{
    return step >= TASK_CREATE && step <= TASK_REFUSED;
}

enum task_step task_stop_step(const struct task *t)
{
    if (!t->uid[0])
        return TASK_FIND;
    return t->pod && t->run->gang.asked_us && !t->is_asked ? TASK_ASK : TASK_DELETE;
}

bool task_is_budget(const struct task *t)
{
    return t == &t->run->budget;
}

bool task_is_beside(const struct task *t)
{
    return t == &t->run->service || task_is_budget(t);
}

static void unschedule(struct task *t)
{
    if (t->is_ready)
        DL_DELETE(t->run->ready, t);
    t->run->n_timed -= t->is_timed;
    t->is_ready = t->is_timed = false;
}

void task_set(struct task *t, enum task_step step, usec_t wait_us)
{
    struct run *r = t->run;

    r->due = 0; /* the next tick looks */
    t->due = wait_us == INT64_MAX ? INT64_MAX : wait_us ? http_now() + wait_us : 0;
    if (task_is_beside(t)) {
        t->step = step;
        return;
    }
    unschedule(t);
    r->n_at[t->step]--;
    r->n_at[step]++;
    t->step = step;
    if (t->due == INT64_MAX)
        return;
    if (t->due) {
        t->is_timed = true;
        r->n_timed++;
        return;
    }
    t->is_ready = true;
    DL_APPEND(r->ready, t);
}

usec_t run_wake_timed(struct run *r, usec_t now)
{
    usec_t wake = INT64_MAX;

    for (uint32_t i = 0; i < r->gang.n_pods && r->n_timed; i++) {
        struct task *t = &r->tasks[i];

        if (!t->is_timed)
            continue;
        if (t->due <= now)
            task_set(t, t->step == TASK_DELETED ? TASK_DELETE : t->step, 0);
        else if (t->due < wake)
            wake = t->due;
    }
    return wake;
}

void task_landed(struct task *t)
{
    if (t->req && !task_is_beside(t))
        t->run->n_flying--;
    t->req = NULL;
}

void task_later(struct task *t, enum task_step step, usec_t retry_after_us)
{
    bool is_look = step == TASK_LOOK || step == TASK_LOOK_BIND || step == TASK_FIND;

    /* the first reading back costs little, and a gang waits for it */
    if (is_look && t->step != step && retry_after_us < 0) {
        task_set(t, step, FIRST_LOOK_US);
        return;
    }
    task_set(t, step, api_backoff_next(&t->backoff, retry_after_us, t->run->gangs->pace));
}

void task_sent_away(struct task *t, enum task_step step, usec_t retry_after_us)
{
    struct run *r = t->run;
    usec_t now = http_now();

    if (task_is_budget(t)) { /* no gang waits for it */
        task_later(t, step, retry_after_us);
        return;
    }
    /* answers to what was under way together count once */
    r->is_told_when = retry_after_us >= 0 || (r->is_told_when && r->not_before > now);
    if (r->not_before <= now)
        r->not_before = now + api_backoff_next(&r->backoff, retry_after_us, r->gangs->pace);
    else if (retry_after_us > r->not_before - now)
        r->not_before = now + api_retry_after(retry_after_us, r->gangs->pace);
    task_set(t, step, 0);
}

static const char *task_name(const struct task *t, char buf[POD_JSON_NAME])
{
    if (!t->pod && t->run->gang.array.v && task_is_budget(t)) {
        (void)snprintf(buf, POD_JSON_NAME, "%s-%u", t->run->gang.job_name,
                       (unsigned)t->run->gang.array_index);
        return buf;
    }
    if (!t->pod)
        return t->run->gang.job_name;
    if (t->run->stray_name)
        return t->run->stray_name;
    return kube_pod_name(buf, &t->run->gang, t->pod);
}

cJSON *task_object(const struct http_answer *a)
{
    cJSON *o = cJSON_ParseWithLength(a->body, a->len);

    if (json_text(o, "metadata.uid")[0])
        return o;
    cJSON_Delete(o);
    return NULL;
}

bool task_take_uid(struct task *t, const cJSON *object)
{
    const char *uid = json_text(object, "metadata.uid");
    char name[POD_JSON_NAME];

    if (str_copy(t->uid, sizeof(t->uid), uid))
        return true;
    t->uid[0] = '\0'; /* a cut one would be that of another object */
    log_warn("an object has a uid that is too long and cannot be handled", "object=%s uid=%.100s",
             task_name(t, name), uid);
    return false;
}

bool task_scan_uid(struct task *t, const struct http_answer *a)
{
    if (json_scan_text(a->body, a->len, "metadata.uid", t->uid, sizeof(t->uid)))
        return true;
    t->uid[0] = '\0';
    return false;
}

static bool is_our_pod(const struct task *t, const cJSON *pod)
{
    struct arena scratch = {0};
    struct object_fields fields;
    struct job_id job;
    uint32_t attempt;
    bool ok;

    pod_fields_json(&scratch, pod, &fields);
    ok = kube_pod_owner(&fields.meta.labels, &job, &attempt) && job.v == t->run->gang.job.v &&
         attempt == t->run->gang.attempt;
    arena_fini(&scratch);
    return ok;
}

bool task_is_ours(const struct task *t, const cJSON *object)
{
    const struct gang *g = &t->run->gang;
    char id[JOB_ID_TEXT + 1];
    bool is_shared = g->array.v && !task_is_budget(t); /* the indices have one service */
    const cJSON *label;

    if (t->run->stray_name)
        return true;
    if (t->pod)
        return is_our_pod(t, object);
    label = json_get(json_path(object, "metadata.labels"), LABEL_PREFIX "job-id");
    return cJSON_IsString(label) &&
           !strcmp(label->valuestring, job_id_format(id, is_shared ? g->array : g->job));
}

/* ---- events */

static void tell(struct kube_gangs *g, const struct event *ev)
{
    struct queued_event *q = xcalloc(1, sizeof(*q));

    q->ev = *ev;
    DL_APPEND(g->events, q);
}

static struct ev_pod_answer *answer_of(const struct task *t)
{
    struct ev_pod_answer *a = xcalloc(1, sizeof(*a));

    a->job = t->run->gang.job;
    a->attempt = t->run->gang.attempt;
    a->member = (t->pod ? t->pod : t->run->gang.pods)->member;
    a->run = (uint16_t)(t->pod ? t->pod : t->run->gang.pods)->run;
    memcpy(a->uid, t->uid, sizeof(a->uid));
    return a;
}

void task_tell_bound(struct task *t)
{
    struct event ev = {.kind = EV_POD_BOUND, .u.answer = answer_of(t)};

    tell(t->run->gangs, &ev);
}

void task_tell_refused(struct task *t, enum refusal_kind kind, const char *text)
{
    struct event ev = {.kind = EV_POD_REFUSED, .u.answer = answer_of(t)};
    char name[POD_JSON_NAME];

    ev.u.answer->refusal = kind;
    (void)snprintf(ev.u.answer->text, sizeof(ev.u.answer->text), "%s", text);
    log_warn("the API server refused an object, the gang will be undone",
             "job=%s object=%s err=\"%s\"", t->run->gang.job_name, task_name(t, name), text);
    t->run->is_refused = true;
    tell(t->run->gangs, &ev);
}

void task_tell_unbudgeted(struct task *t, const char *text)
{
    struct kube_gangs *g = t->run->gangs;
    struct event ev = {.kind = EV_BUDGET,
                       .u.budget = {.job = t->run->gang.job, .attempt = t->run->gang.attempt}};

    if (!g->is_budget_told)
        log_warn("no PodDisruptionBudget can be made, drains may take pods of a gang; other gangs "
                 "with this trouble are named in their events only",
                 "job=%s err=\"%s\"", t->run->gang.job_name, text);
    g->is_budget_told = true;
    ev.u.budget.trouble = xstrdup(text);
    tell(g, &ev);
}

void task_tell_gone(struct task *t)
{
    const struct gang *g = &t->run->gang;
    struct event ev = {.kind = EV_POD_GONE};
    struct ev_pod_gone *p;
    char name[POD_JSON_NAME];

    if (task_is_budget(t)) {
        ev.kind = EV_BUDGET;
        ev.u.budget.job = g->job;
        ev.u.budget.attempt = g->attempt;
        tell(t->run->gangs, &ev);
        return;
    }
    if (!t->pod) {
        ev.kind = EV_SERVICE_GONE;
        ev.u.service_job = g->job;
        tell(t->run->gangs, &ev);
        return;
    }
    p = xcalloc(1, sizeof(*p));
    (void)str_copy(p->ns, sizeof(p->ns), g->ns); /* the same size */
    (void)str_copy(p->name, sizeof(p->name), task_name(t, name));
    memcpy(p->uid, t->uid, sizeof(p->uid));
    p->job = g->job;
    p->attempt = g->attempt;
    p->member = t->run->stray_name ? IX_NONE : t->pod->member;
    ev.u.pod_gone = p;
    tell(t->run->gangs, &ev);
}

/* ---- requests */

static void on_answer(void *ctx, const struct http_answer *a)
{
    struct task *t = ctx;

    char name[POD_JSON_NAME];

    task_landed(t);
    if (a->status >= 200 && a->status < 300)
        t->run->backoff.n = 0;
    log_debug("answer of the API server", "job=%s object=%s step=%d status=%d err=\"%s\"",
              t->run->gang.job_name, task_name(t, name), (int)t->step, a->status, a->trouble);
    if (t->run->is_stopping)
        task_stop_answer(t, a);
    else
        task_start_answer(t, a);
    t->run->due = 0;
}

static void body_of_create(const struct task *t, struct str *body)
{
    struct run *r = t->run;
    char name[POD_JSON_NAME];

    if (t->pod && !r->env)
        r->env = kube_env_create(&r->gang);
    if (t->pod)
        kube_pod_write(body, r->env, t->pod, r->gangs->is_direct);
    else if (task_is_budget(t))
        kube_budget_json(body, &t->run->gang, task_name(t, name));
    else
        kube_service_json(body, &t->run->gang);
}

int64_t task_cut_s(const struct task *t)
{
    return (t->run->gang.cut_us + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

static void body_of_delete(const struct task *t, struct str *body)
{
    str_add(body, "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":");
    str_add_json(body, t->uid);
    if (t->pod && task_cut_s(t))
        str_addf(body, "},\"gracePeriodSeconds\":%lld}", (long long)task_cut_s(t));
    else
        str_add(body, "}}");
}

bool task_send(struct task *t)
{
    static const struct {
        enum http_class kind;
        const char *method;
    } how[] = {
        [TASK_CREATE] = {HTTP_CREATE, "POST"}, [TASK_LOOK] = {HTTP_READ, "GET"},
        [TASK_BIND] = {HTTP_CREATE, "POST"},   [TASK_LOOK_BIND] = {HTTP_READ, "GET"},
        [TASK_FIND] = {HTTP_READ, "GET"},      [TASK_DELETE] = {HTTP_DELETE, "DELETE"},
        [TASK_ASK] = {HTTP_DELETE, "PATCH"},   [TASK_TELL] = {HTTP_DELETE, "PATCH"},
        [TASK_ENDED] = {HTTP_READ, NULL},
    };
    struct http_order order = {.kind = how[t->step].kind, .method = how[t->step].method};
    const char *resource = t->pod ? "pods" : task_is_budget(t) ? API_BUDGETS : "services";
    struct str body = {0};
    char name[POD_JSON_NAME], *base, *path;

    if (!order.method || !http_has_room(t->run->gangs->http, order.kind))
        return false;
    base = api_path(t->run->gang.ns, resource, t->step == TASK_CREATE ? NULL : task_name(t, name));
    path = xasprintf("%s%s%s", base, t->step == TASK_BIND ? "/binding" : "",
                     order.kind == HTTP_CREATE ? "?fieldManager=queued" : "");
    if (t->step == TASK_CREATE)
        body_of_create(t, &body);
    else if (t->step == TASK_BIND)
        kube_binding_json(&body, &t->run->gang, t->pod, t->uid);
    else if (t->step == TASK_ASK || t->step == TASK_TELL)
        kube_request_json(&body, t->uid, t->run->gang.asked_us, t->step == TASK_TELL);
    else if (t->step == TASK_DELETE)
        body_of_delete(t, &body);
    order.path = path;
    order.accept = t->step == TASK_CREATE ? API_ACCEPT_SMALL : NULL;
    order.body = body.s;
    order.done = on_answer;
    order.ctx = t;
    if (!task_is_beside(t)) {
        unschedule(t);
        t->run->n_flying++;
    }
    t->due = INT64_MAX;
    t->req = http_send(t->run->gangs->http, &order);
    str_fini(&body);
    free(path);
    free(base);
    return true;
}
