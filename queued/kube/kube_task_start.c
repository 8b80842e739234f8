/* SPDX-License-Identifier: Apache-2.0 */
/* kube_task_start.c - what the answers to creates and bindings mean.
 *
 * Names are deterministic, so 409 AlreadyExists may be our own create whose answer was lost, and
 * "already assigned" our own binding: both are read back. Only what carries our job id and attempt
 * and is not being deleted counts as ours.
 */
#include <stdio.h>
#include <string.h>

#include "kube/kube_task.h"
#include "util/log.h"

enum { LOST_CREATES_MAX = 6 };

/* The text goes where the object is named already; numbers at its end must not be cut off. */
static const char *without_object(const char *message)
{
    static const char forbidden[] = "\" is forbidden: ";
    const char *at = strstr(message, forbidden);

    return at ? at + sizeof(forbidden) - 1 : message;
}

void task_refuse(struct task *t, enum refusal_kind kind, const char *what, const char *why)
{
    char text[REASON_TEXT_MAX + 1];

    (void)snprintf(text, sizeof(text), "%s: %s", what, without_object(why));
    task_set(t, TASK_REFUSED, INT64_MAX);
    if (task_is_budget(t))
        task_tell_unbudgeted(t, text);
    else
        task_tell_refused(t, kind, text);
}

static void exists(struct task *t)
{
    if (task_is_budget(t))
        t->run->gangs->is_budget_told = false;
    t->backoff.n = 0;
    task_set(t, TASK_EXISTS, INT64_MAX);
}

static void bound(struct task *t)
{
    const struct kube_gangs *g = t->run->gangs;

    task_set(t, TASK_BOUND, INT64_MAX);
    task_tell_bound(t);
    if (g->placed_events)
        kube_events_placed(g->placed_events, &t->run->gang, t->pod, t->uid);
}

/* With the node in the create, admission may refuse that node; then it says so. */
static enum refusal_kind create_refusal(const struct task *t, const struct api_status *s)
{
    bool names_host = t->pod && t->run->gangs->is_direct && (s->code == 403 || s->code == 422) &&
                      strstr(without_object(s->message), t->pod->node);

    return names_host ? REFUSAL_HOST : api_refusal(s);
}

static void on_create(struct task *t, const struct http_answer *a)
{
    struct api_status s;

    switch (api_classify(a, &s)) {
    case API_OK:
        if (!task_scan_uid(t, a))
            task_later(t, TASK_LOOK, -1);
        else if (t->pod && t->run->gangs->is_direct)
            bound(t);
        else
            exists(t);
        break;
    case API_RETRY:
        task_sent_away(t, TASK_CREATE, s.retry_after_us);
        break;
    case API_UNKNOWN:
        t->unsure_until = http_now() + LATE_CREATE_US;
        task_later(t, TASK_LOOK, s.retry_after_us);
        break;
    case API_REFUSED:
        if (s.code == 409 && !strcmp(s.reason, "Conflict"))
            task_later(t, TASK_CREATE,
                       -1); /* many creates write the same quota; this one did not */
        else if (s.code == 409)
            task_set(t, TASK_LOOK, 0);
        else
            task_refuse(t, create_refusal(t, &s), "create refused", s.message);
        break;
    }
}

/* The pod is there under our name: is it ours, whole, and on our node if on any? */
static void judge_found(struct task *t, const cJSON *object)
{
    const char *node = json_text(object, "spec.nodeName");

    if (!task_is_ours(t, object))
        task_refuse(t, REFUSAL_TRY_LATER, "create refused",
                    "an object of this name is there that is not ours");
    else if (json_text(object, "metadata.deletionTimestamp")[0])
        task_refuse(t, REFUSAL_TRY_LATER, "create refused",
                    "the object is being deleted by someone");
    else if (!task_take_uid(t, object))
        task_refuse(t, REFUSAL_TRY_LATER, "create refused",
                    "the uid of the object is too long for us");
    else if (t->pod && node[0] && strcmp(node, t->pod->node) != 0)
        task_refuse(t, REFUSAL_BIND, "the pod is bound to another node", node);
    else if (t->pod && node[0])
        bound(t);
    else
        exists(t);
}

static void on_look(struct task *t, const struct http_answer *a)
{
    struct api_status s;
    enum api_verdict verdict = api_classify(a, &s);
    cJSON *object;

    if (verdict == API_OK) {
        object = task_object(a);
        if (object)
            judge_found(t, object);
        else
            task_later(t, TASK_LOOK, -1);
        cJSON_Delete(object);
    } else if (verdict == API_RETRY) {
        task_sent_away(t, TASK_LOOK, s.retry_after_us);
    } else if (!api_is_not_found(&s)) {
        task_later(t, TASK_LOOK, s.retry_after_us);
    } else if (++t->n_lost > LOST_CREATES_MAX) {
        task_refuse(t, REFUSAL_TRY_LATER, "create failed", "the API server gives no clear answer");
    } else {
        task_later(t, TASK_CREATE, -1);
    }
}

/* What we may do and how we ask hangs on no host; all else that an admission plugin refuses may. */
static enum refusal_kind bind_refusal(const struct api_status *s)
{
    bool is_ours = s->code == 400 || strstr(s->message, "cannot create resource");

    return is_ours ? REFUSAL_BIND : REFUSAL_HOST;
}

static void on_bind(struct task *t, const struct http_answer *a)
{
    struct api_status s;
    cJSON *object = NULL;

    switch (api_classify(a, &s)) {
    case API_OK:
        object = cJSON_ParseWithLength(a->body, a->len);
        if (cJSON_IsObject(object))
            bound(t);
        else
            task_later(t, TASK_LOOK_BIND, -1);
        cJSON_Delete(object);
        break;
    case API_RETRY:
        task_sent_away(t, TASK_BIND, s.retry_after_us);
        break;
    case API_UNKNOWN:
        task_later(t, TASK_LOOK_BIND, s.retry_after_us);
        break;
    case API_REFUSED:
        if (s.code == 409)
            task_set(t, TASK_LOOK_BIND, 0);
        else if (api_is_not_found(&s))
            task_refuse(t, REFUSAL_BIND, "bind refused", "the pod is gone");
        else if (!s.reason[0])
            task_later(t, TASK_LOOK_BIND, -1); /* no word of the API server */
        else
            task_refuse(t, bind_refusal(&s), "bind refused", s.message);
        break;
    }
}

static void judge_bound(struct task *t, const cJSON *object)
{
    const char *node = json_text(object, "spec.nodeName");

    if (strcmp(json_text(object, "metadata.uid"), t->uid) != 0)
        task_refuse(t, REFUSAL_BIND, "bind refused", "the pod was replaced by another of its name");
    else if (json_text(object, "metadata.deletionTimestamp")[0])
        task_refuse(t, REFUSAL_BIND, "bind refused", "the pod is being deleted by someone");
    else if (!node[0])
        task_later(t, TASK_BIND, -1);
    else if (strcmp(node, t->pod->node) != 0)
        task_refuse(t, REFUSAL_BIND, "the pod is bound to another node", node);
    else
        bound(t);
}

static void on_look_bind(struct task *t, const struct http_answer *a)
{
    struct api_status s;
    enum api_verdict verdict = api_classify(a, &s);
    cJSON *object;

    if (verdict != API_OK) {
        if (api_is_not_found(&s))
            task_refuse(t, REFUSAL_BIND, "bind refused", "the pod is gone");
        else if (verdict == API_RETRY)
            task_sent_away(t, TASK_LOOK_BIND, s.retry_after_us);
        else
            task_later(t, TASK_LOOK_BIND, s.retry_after_us);
        return;
    }
    object = task_object(a);
    if (object)
        judge_bound(t, object);
    else
        task_later(t, TASK_LOOK_BIND, -1);
    cJSON_Delete(object);
}

/* The same words again change nothing, so it may be said as often as needed. */
static void on_tell(struct task *t, const struct http_answer *a)
{
    struct api_status s;
    enum api_verdict verdict = api_classify(a, &s);

    if (verdict == API_RETRY) {
        task_sent_away(t, TASK_TELL, s.retry_after_us);
        return;
    }
    if (verdict == API_UNKNOWN) {
        task_later(t, TASK_TELL, s.retry_after_us);
        return;
    }
    if (verdict != API_OK && !api_is_not_found(&s))
        log_warn("a pod could not be asked for a checkpoint", "job=%s pod=%u err=\"%s\"",
                 t->run->gang.job_name, t->pod->member, s.message);
    task_set(t, TASK_BOUND, INT64_MAX);
}

void task_start_answer(struct task *t, const struct http_answer *a)
{
    switch (t->step) {
    case TASK_CREATE:
        on_create(t, a);
        break;
    case TASK_LOOK:
        on_look(t, a);
        break;
    case TASK_BIND:
        on_bind(t, a);
        break;
    case TASK_LOOK_BIND:
        on_look_bind(t, a);
        break;
    case TASK_TELL:
        on_tell(t, a);
        break;
    default:
        break; /* the other steps ask nothing */
    }
}
