/* SPDX-License-Identifier: Apache-2.0 */
/* kube_event.c - the queue of events and their JSON (events.k8s.io/v1).
 *
 * The name of an event is made of the pod's name and uid, so that one that is sent again after a
 * restart or a lost answer meets itself.
 */
#include "kube/kube_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "kube/kube_pod.h"
#include "util/log.h"
#include "util/mem.h"

enum { NOTE_MAX = 1024, INSTANCE_MAX = 127 };
#define EVENT_TIMEOUT_US (15 * USEC_PER_SEC)
#define REFUSED_WAIT_US  (60 * USEC_PER_SEC)
#define SAY_AGAIN_US     (60 * USEC_PER_SEC)

/* An event that waits or is on its way. */
struct waiting {
    struct waiting *prev, *next;
    struct kube_events *owner;
    struct http_request *req;
    unsigned n_tries;
    usec_t at; /* since 1970 */
    char ns[LABEL_MAX + 1];
    char pod[POD_JSON_NAME];
    char uid[UID_MAX + 1];
    char note[]; /* at most NOTE_MAX */
};

struct kube_events {
    struct kube_http *http;
    struct api_pace *pace;
    struct api_backoff backoff;
    struct waiting *queue, *flying;
    size_t n_queued;
    usec_t due; /* nothing is sent earlier */
    uint64_t n_sent, n_lost, n_told;
    usec_t told_at;
    char trouble[REASON_TEXT_MAX + 1];
    char instance[INSTANCE_MAX + 1];
};

struct kube_events *kube_events_create(struct kube_http *http, struct api_pace *pace)
{
    struct kube_events *e = xcalloc(1, sizeof(*e));

    e->http = http;
    e->pace = pace;
    if (gethostname(e->instance, sizeof(e->instance) - 1) || !e->instance[0])
        (void)str_copy(e->instance, sizeof(e->instance), "queued");
    return e;
}

void kube_events_destroy(struct kube_events *e)
{
    struct waiting *w, *next;

    if (!e)
        return;
    DL_FOREACH_SAFE(e->flying, w, next)
    {
        http_drop(e->http, w->req);
        free(w);
    }
    DL_FOREACH_SAFE(e->queue, w, next)
    {
        free(w);
    }
    free(e);
}

static void lose(struct kube_events *e, const char *why)
{
    e->n_lost++;
    (void)str_copy(e->trouble, sizeof(e->trouble), why); /* a cut text still tells */
}

static usec_t wall_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t); /* cannot fail for this clock */
    return (usec_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

void kube_events_placed(struct kube_events *e, const struct gang *g, const struct gang_pod *p,
                        const char *uid)
{
    char note[NOTE_MAX + 1];
    struct waiting *w;

    if (e->n_queued >= EVENTS_WAITING_MAX) {
        lose(e, "too many wait");
        return;
    }
    (void)snprintf(note, sizeof(note), "rank %u of %u placed on %s by queued, attempt %u: %s",
                   p->rank, g->size, p->node, g->attempt, g->score_text);
    w = xcalloc(1, sizeof(*w) + strlen(note) + 1);
    w->owner = e;
    w->at = wall_now();
    (void)str_copy(w->ns, sizeof(w->ns), g->ns); /* the same size */
    (void)str_copy(w->uid, sizeof(w->uid), uid); /* the same size */
    (void)kube_pod_name(w->pod, g, p);
    memcpy(w->note, note, strlen(note) + 1);
    DL_APPEND(e->queue, w);
    e->n_queued++;
}

/* ,"key":"value" */
static void add_pair(struct str *out, const char *key, const char *value)
{
    str_addf(out, ",\"%s\":", key);
    str_add_json(out, value);
}

static void event_json(struct str *out, const struct waiting *w)
{
    time_t seconds = (time_t)(w->at / USEC_PER_SEC);
    char time_text[40], *name = xasprintf("%s.%.8s", w->pod, w->uid);
    struct tm tm;

    (void)gmtime_r(&seconds, &tm); /* fails only for years that do not fit an int */
    (void)strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%S", &tm);
    str_add(out, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":");
    str_add_json(out, name);
    add_pair(out, "namespace", w->ns);
    str_addf(out, "},\"eventTime\":\"%s.%06dZ\"", time_text, (int)(w->at % USEC_PER_SEC));
    str_add(out, ",\"reportingController\":\"gang.queued/queued\"");
    add_pair(out, "reportingInstance", w->owner->instance);
    str_add(out, ",\"type\":\"Normal\",\"reason\":\"GangPlaced\",\"action\":\"Binding\","
                 "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\"");
    add_pair(out, "namespace", w->ns);
    add_pair(out, "name", w->pod);
    add_pair(out, "uid", w->uid);
    str_add(out, "}");
    add_pair(out, "note", w->note);
    str_add(out, "}");
    free(name);
}

static void on_answer(void *ctx, const struct http_answer *a)
{
    struct waiting *w = ctx;
    struct kube_events *e = w->owner;
    struct api_status s;
    enum api_verdict verdict = api_classify(a, &s);

    w->req = NULL;
    DL_DELETE(e->flying, w);
    if (verdict == API_OK || s.code == 409) { /* 409: it is there already */
        e->backoff.n = 0;
        e->n_sent++;
        free(w);
        return;
    }
    if (verdict != API_REFUSED && ++w->n_tries < EVENT_TRIES) {
        e->due = http_now() + api_backoff_next(&e->backoff, s.retry_after_us, e->pace);
        DL_PREPEND(e->queue, w);
        e->n_queued++;
        return;
    }
    if (s.code == 403 || s.code == 404) /* it will be so for the next ones, too */
        e->due = http_now() + REFUSED_WAIT_US;
    lose(e, s.message);
    free(w);
}

static void send_event(struct kube_events *e, struct waiting *w)
{
    struct str body = {0};
    char *base = api_path(w->ns, "events", NULL);
    char *path =
        xasprintf("/apis/events.k8s.io/v1%s?fieldManager=queued", base + sizeof("/api/v1") - 1);

    event_json(&body, w);
    DL_DELETE(e->queue, w);
    e->n_queued--;
    DL_APPEND(e->flying, w);
    w->req = http_send(e->http, &(struct http_order){.kind = HTTP_EVENT,
                                                     .method = "POST",
                                                     .path = path,
                                                     .body = body.s,
                                                     .timeout_us = EVENT_TIMEOUT_US,
                                                     .accept = API_ACCEPT_SMALL,
                                                     .done = on_answer,
                                                     .ctx = w});
    str_fini(&body);
    free(path);
    free(base);
}

static void tell_losses(struct kube_events *e, usec_t now)
{
    if (e->n_lost == e->n_told || (e->told_at && now < e->told_at + SAY_AGAIN_US))
        return;
    log_warn("events on pods were lost; nothing else hangs on them",
             "lost=%" PRIu64 " sent=%" PRIu64 " err=\"%s\"", e->n_lost - e->n_told, e->n_sent,
             e->trouble);
    e->n_told = e->n_lost;
    e->told_at = now;
}

void kube_events_tick(struct kube_events *e, usec_t now)
{
    tell_losses(e, now);
    if (now < e->due)
        return;
    while (e->queue && http_has_room(e->http, HTTP_EVENT))
        send_event(e, e->queue);
}

usec_t kube_events_wake(const struct kube_events *e)
{
    /* with a full lane an answer wakes us */
    return e->queue && http_has_room(e->http, HTTP_EVENT) ? e->due : INT64_MAX;
}

struct kube_event_counts kube_events_counts(const struct kube_events *e)
{
    size_t flying = 0;
    const struct waiting *w;

    DL_FOREACH(e->flying, w)
    {
        flying++;
    }
    return (struct kube_event_counts){
        .sent = e->n_sent, .lost = e->n_lost, .waiting = e->n_queued + flying};
}
