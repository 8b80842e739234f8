/* SPDX-License-Identifier: Apache-2.0 */
/* kube_task_stop.c - what the answers mean while a gang is taken away.
 *
 * Asked for ever, with back-off: a stop ends when every object is gone. An accepted DELETE is
 * left to the watch and asked again after the grace period, as watches may miss what came and
 * went between two lists.
 */
#include <string.h>

#include "kube/kube_task.h"
#include "util/log.h"

#define ASK_AGAIN_US (60 * USEC_PER_SEC)
#define ASKED_US     (5 * USEC_PER_SEC)
#define GONE_SOON_US (2 * USEC_PER_SEC)
enum { DENIED_MAX = 5 };

static void ended(struct task *t)
{
    task_set(t, TASK_ENDED, INT64_MAX);
    task_tell_gone(t);
}

/* The answer of something that was under way when the stop came. */
static void on_leftover(struct task *t, const struct http_answer *a)
{
    struct api_status s;
    enum api_verdict verdict = api_classify(a, &s);
    cJSON *object;

    if (t->step == TASK_CREATE && verdict == API_OK) {
        object = task_object(a);
        if (object)
            (void)task_take_uid(t, object); /* without one it is looked for */
        cJSON_Delete(object);
    }
    if (t->step == TASK_CREATE && verdict == API_UNKNOWN)
        t->unsure_until = http_now() + LATE_CREATE_US;
    if (verdict == API_RETRY)
        task_sent_away(t, task_stop_step(t), s.retry_after_us);
    else if (t->step == TASK_CREATE &&
             (verdict == API_UNKNOWN || (verdict == API_OK && !t->uid[0])))
        task_later(t, task_stop_step(t), s.retry_after_us); /* it may still happen */
    else
        task_set(t, task_stop_step(t), 0);
}

/* A budget that we may not see or delete keeps no gang from its end. A server that has just started
 * forbids all for a while. */
static bool give_up(struct task *t, const struct api_status *s)
{
    if (!task_is_budget(t) || s->code != 403)
        return false;
    if (++t->n_lost < DENIED_MAX) {
        task_later(t, t->step, -1);
        return true;
    }
    if (t->uid[0])
        log_warn("a PodDisruptionBudget cannot be deleted and is left", "job=%s err=\"%s\"",
                 t->run->gang.job_name, s->message);
    ended(t);
    return true;
}

static void on_find(struct task *t, const struct http_answer *a)
{
    struct api_status s;
    enum api_verdict verdict = api_classify(a, &s);
    cJSON *object;

    if (give_up(t, &s))
        return;
    if (verdict != API_OK) {
        /* a late one that has no node costs nothing, and is deleted when it is seen */
        if (api_is_not_found(&s) && t->run->gangs->is_direct && http_now() < t->unsure_until)
            task_set(t, TASK_FIND, GONE_SOON_US);
        else if (api_is_not_found(&s))
            ended(t);
        else if (verdict == API_RETRY)
            task_sent_away(t, TASK_FIND, s.retry_after_us);
        else
            task_later(t, TASK_FIND, s.retry_after_us);
        return;
    }
    object = task_object(a);
    if (object && !task_is_ours(t, object))
        ended(t); /* nothing of ours has this name */
    else if (object && task_take_uid(t, object))
        task_set(t, task_stop_step(t), 0);
    else
        task_later(t, TASK_FIND, -1);
    cJSON_Delete(object);
}

/* The kubelet needs a moment to show it in the pod. One that cannot be asked is stopped all the
 * same: SIGTERM says it, too. */
static void on_ask(struct task *t, const struct http_answer *a)
{
    struct api_status s;
    enum api_verdict verdict = api_classify(a, &s);

    if (verdict == API_RETRY) {
        task_sent_away(t, TASK_ASK, s.retry_after_us);
        return;
    }
    t->is_asked = true;
    if (verdict != API_OK && !api_is_not_found(&s))
        log_warn("a pod could not be asked for a checkpoint", "job=%s pod=%u err=\"%s\"",
                 t->run->gang.job_name, t->pod->member, s.message);
    task_set(t, TASK_DELETE, verdict == API_REFUSED || t->run->gang.cut_us ? 0 : ASKED_US);
}

static void deleted(struct task *t, const cJSON *object)
{
    int64_t left = json_int(object, "metadata.deletionGracePeriodSeconds", 0);
    int64_t most = task_cut_s(t);
    bool is_soon = left == 0 || (most && left > most); /* sent before it was known */

    if (!t->pod) {
        ended(t);
        return;
    }
    if (t->run->stray_name) {
        task_set(t, TASK_ENDED, INT64_MAX); /* the watch says the rest */
        return;
    }
    t->backoff.n = 0;
    task_set(t, TASK_DELETED, is_soon ? GONE_SOON_US : t->run->gang.grace_us + ASK_AGAIN_US);
}

static void not_deleted(struct task *t, enum api_verdict verdict, const struct api_status *s)
{
    if (api_is_not_found(s) || (s->code == 409 && !strcmp(s->reason, "Conflict")))
        ended(t); /* gone, or another pod has its name */
    else if (verdict == API_RETRY)
        task_sent_away(t, TASK_DELETE, s->retry_after_us);
    else
        task_later(t, TASK_DELETE, s->retry_after_us);
}

static void on_delete(struct task *t, const struct http_answer *a)
{
    struct api_status s;
    enum api_verdict verdict = api_classify(a, &s);
    cJSON *object = verdict == API_OK ? cJSON_ParseWithLength(a->body, a->len) : NULL;

    if (cJSON_IsObject(object))
        deleted(t, object);
    else if (!give_up(t, &s))
        not_deleted(t, verdict, &s);
    cJSON_Delete(object);
}

void task_stop_answer(struct task *t, const struct http_answer *a)
{
    if (t == &t->run->service && t->run->keeps_service)
        task_set(t, TASK_NONE, INT64_MAX);
    else if (task_is_start(t->step))
        on_leftover(t, a);
    else if (t->step == TASK_FIND)
        on_find(t, a);
    else if (t->step == TASK_ASK)
        on_ask(t, a);
    else if (t->step == TASK_DELETE)
        on_delete(t, a);
}
