/* SPDX-License-Identifier: Apache-2.0 */
/* kube.c - the adapter as one: watches, gangs, credentials, and whether the API server answers.
 *
 * EV_SYNCED is pushed when both lists are complete and every fact of them is in the inbox before
 * it, and again after each new list. Times inside are monotonic; only kube_wake() and what a
 * plugin's credentials say of their end speak the caller's clock.
 */
#include "kube/kube.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "kube/kube_event.h"
#include "kube/kube_cred.h"
#include "kube/kube_gang.h"
#include "kube/kube_timed.h"
#include "util/log.h"
#include "util/mem.h"

enum { FAILURES_TO_BE_DOWN = 3 };
#define DENIED_AGAIN_US    (60 * USEC_PER_SEC)
#define INBOX_FULL_WAIT_US (5 * USEC_PER_MSEC)

enum health { HEALTH_UNKNOWN, HEALTH_UP, HEALTH_DOWN };

struct kube {
    struct kube_config config;
    struct kube_http *http;
    struct kube_cred *cred;
    int epoll_fd; /* of http and cred; -1: http alone */
    struct kube_watch *nodes, *pods;
    struct kube_gangs *gangs;
    struct kube_events *events;
    struct inbox *inbox;
    struct api_pace pace;
    /* does the server answer? */
    enum health health, told;
    unsigned n_failures; /* in a row */
    bool is_denied;      /* lists are forbidden: other good answers do not count */
    char trouble[REASON_TEXT_MAX + 1];
    char denied[REASON_TEXT_MAX + 1]; /* what the log said of missing rights */
    usec_t denied_due;
    /* synchronisation */
    uint64_t lists_synced; /* complete lists that EV_SYNCED spoke of */
    uint64_t lists_uid;    /* complete lists when the uid was read */
    struct http_request *uid_req;
    usec_t uid_due;
    struct api_backoff uid_backoff;
    char uid[UID_MAX + 1]; /* of kube-system */
    bool has_rest;         /* the inbox had no room for all */
};

/* ---- does it answer? */

static void set_health(struct kube *k, enum health health)
{
    if (k->health == health)
        return;
    k->health = health;
    if (health == HEALTH_UP) {
        log_info("the API server answers", "server=%s", k->config.server);
        kube_gangs_hurry(k->gangs);
    } else
        log_warn("the API server does not answer, we keep trying", "err=\"%s\"", k->trouble);
}

static void note_failure(struct kube *k, const struct http_order *order,
                         const struct http_answer *a)
{
    struct api_status s;

    k->n_failures++;
    if (k->health == HEALTH_UP && a->was_sent && k->n_failures < FAILURES_TO_BE_DOWN &&
        !k->is_denied)
        return;
    (void)api_classify(a, &s);
    if (k->health != HEALTH_DOWN) {
        struct str text = {0};

        str_addf(&text, "%s %s%.*s: %s", order->method, k->config.server,
                 (int)strcspn(order->path, "?"), order->path, s.message);
        (void)str_copy(k->trouble, sizeof(k->trouble), text.s); /* a cut text still tells */
        str_fini(&text);
    }
    set_health(k, HEALTH_DOWN);
}

/* The right that is missing, by verb and resource: once a minute, as the server says it. */
static void note_denied(struct kube *k, const struct http_answer *a)
{
    usec_t now = http_now();
    struct api_status s;
    const char *who;

    (void)api_classify(a, &s);
    who = strstr(s.message, "User \"");
    if (!who || !strstr(who, " cannot ") ||
        (now < k->denied_due && !strncmp(k->denied, who, sizeof(k->denied) - 1)))
        return;
    (void)str_copy(k->denied, sizeof(k->denied), who); /* a cut text still tells */
    k->denied_due = now + DENIED_AGAIN_US;
    log_warn("a right is missing, see deploy/rbac.yaml; we keep trying", "err=\"%s\"", s.message);
}

static void on_note(void *ctx, const struct http_order *order, const struct http_answer *a)
{
    struct kube *k = ctx;
    bool is_list = order->kind == HTTP_WATCH || order->kind == HTTP_READ;

    if (a->status == 403)
        note_denied(k, a);
    if (order->kind == HTTP_EVENT || (order->kind == HTTP_WATCH && a->status == 200))
        return; /* nothing hangs on an event; the end of a watch says nothing */
    if (a->status == 403 && is_list && !k->lists_synced)
        k->is_denied = true;
    if (!a->status || a->status == 401 || a->status >= 500 || (a->status == 403 && k->is_denied)) {
        note_failure(k, order, a);
        return;
    }
    k->n_failures = 0;
    if (!k->is_denied)
        set_health(k, HEALTH_UP);
}

static void set_gate(struct kube *k)
{
    const char *why;
    enum http_gate gate = kube_cred_gate(k->cred, &why);

    http_set_gate(k->http, gate, why);
}

static bool on_refused(void *ctx, uint64_t generation)
{
    struct kube *k = ctx;
    bool again = kube_cred_refused(k->cred, generation, http_now());

    set_gate(k);
    return again;
}

static void tell_health(struct kube *k)
{
    struct event ev = {.kind = EV_CLUSTER};

    if (k->told == k->health)
        return;
    ev.u.cluster.is_up = k->health == HEALTH_UP;
    if (!ev.u.cluster.is_up)
        ev.u.cluster.text = xstrdup(k->trouble);
    if (inbox_push(k->inbox, &ev)) {
        k->told = k->health;
        return;
    }
    event_fini(&ev);
    k->has_rest = true;
}

/* ---- synchronisation */

static void on_uid(void *ctx, const struct http_answer *a)
{
    struct kube *k = ctx;
    struct api_status s;
    const char *uid;
    cJSON *o = NULL;

    k->uid_req = NULL;
    if (api_classify(a, &s) == API_OK)
        o = cJSON_ParseWithLength(a->body, a->len);
    uid = json_text(o, "metadata.uid");
    if (uid[0] && strlen(uid) <= UID_MAX) {
        (void)str_copy(k->uid, sizeof(k->uid), uid); /* it fits */
        k->lists_uid = kube_watch_lists(k->nodes) + kube_watch_lists(k->pods);
        k->uid_backoff.n = 0;
    } else {
        if (!k->uid_backoff.n)
            log_warn("the namespace kube-system cannot be read, scheduling waits for it",
                     "err=\"%s\"", s.message[0] ? s.message : "the answer has no uid that fits");
        k->uid_due = http_now() + api_backoff_next(&k->uid_backoff, s.retry_after_us, &k->pace);
    }
    cJSON_Delete(o);
}

static uint64_t lists_in_all(const struct kube *k)
{
    uint64_t nodes = kube_watch_lists(k->nodes), pods = kube_watch_lists(k->pods);

    return nodes && pods ? nodes + pods : 0;
}

static void tick_sync(struct kube *k, usec_t now)
{
    uint64_t lists = lists_in_all(k);
    struct http_order order = {.kind = HTTP_READ,
                               .method = "GET",
                               .path = "/api/v1/namespaces/kube-system",
                               .done = on_uid,
                               .ctx = k};

    if (lists && k->is_denied) {
        k->is_denied = false;
        set_health(k, HEALTH_UP);
    }
    if (lists > k->lists_synced && lists > k->lists_uid && !k->uid_req && now >= k->uid_due)
        k->uid_req = http_send(k->http, &order);
}

static void tell_synced(struct kube *k)
{
    uint64_t lists = lists_in_all(k);
    struct event ev = {.kind = EV_SYNCED};

    if (lists <= k->lists_synced || k->lists_uid < lists || k->has_rest)
        return;
    memcpy(ev.u.cluster_uid, k->uid, sizeof(k->uid));
    if (inbox_push(k->inbox, &ev))
        k->lists_synced = lists;
    else
        k->has_rest = true;
}

/* Facts leave a part of the inbox to the clients. */
static void flush(struct kube *k)
{
    size_t spare = (inbox_room(k->inbox) + inbox_count(k->inbox)) / 16;

    k->has_rest = !kube_gangs_flush(k->gangs, k->inbox);
    tell_health(k);
    if (!kube_store_flush(kube_watch_store(k->nodes), k->inbox, spare))
        k->has_rest = true;
    if (!kube_store_flush(kube_watch_store(k->pods), k->inbox, spare))
        k->has_rest = true;
    tell_synced(k);
}

/* ---- the facade */

void kube_ready(struct kube *k, usec_t wall_now)
{
    usec_t now = http_now();

    kube_cred_tick(k->cred, &(struct exec_now){.mono = now, .wall = wall_now});
    set_gate(k);
    http_ready(k->http);
    now = http_now();
    kube_watch_tick(k->nodes, now);
    kube_watch_tick(k->pods, now);
    kube_gangs_tick(k->gangs, now);
    kube_events_tick(k->events, now);
    tick_sync(k, now);
    http_ready(k->http);
    flush(k);
}

static usec_t earlier(usec_t a, usec_t b)
{
    return a < b ? a : b;
}

usec_t kube_wake(const struct kube *k, usec_t wall_now)
{
    usec_t now = http_now();
    usec_t wake = earlier(http_wake(k->http), kube_gangs_wake(k->gangs));

    wake = earlier(wake, earlier(kube_watch_wake(k->nodes), kube_watch_wake(k->pods)));
    wake = earlier(wake, kube_cred_wake(k->cred));
    wake = earlier(wake, kube_events_wake(k->events));
    if (!k->uid_req && lists_in_all(k) > k->lists_uid)
        wake = earlier(wake, k->uid_due);
    if (k->has_rest)
        wake = earlier(wake, now + INBOX_FULL_WAIT_US);
    return wake <= now ? wall_now : wall_now + (wake - now);
}

int kube_fd(const struct kube *k)
{
    return k->epoll_fd >= 0 ? k->epoll_fd : http_fd(k->http);
}

static void port_start(void *ctx, const struct gang *gang)
{
    struct kube *k = ctx;

    kube_gangs_start(k->gangs, gang);
}

static void port_stop(void *ctx, const struct gang *gang)
{
    struct kube *k = ctx;

    kube_gangs_stop(k->gangs, gang);
}

static void port_delete(void *ctx, const char *ns, const char *name, const char *uid)
{
    struct kube *k = ctx;

    kube_gangs_delete_pod(k->gangs, ns, name, uid);
}

struct cluster_port kube_port(struct kube *k)
{
    return (struct cluster_port){
        .ctx = k, .gang_start = port_start, .gang_stop = port_stop, .pod_delete = port_delete};
}

static void on_gone(void *ctx, const struct store_gone *gone)
{
    struct kube *k = ctx;

    kube_gangs_gone(k->gangs, gone);
}

/* A plugin's descriptors and those of requests wake the loop by one. */
static int join_fds(struct kube *k, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN};
    const int fds[] = {http_fd(k->http), kube_cred_fd(k->cred)};

    if (fds[1] < 0)
        return 0;
    k->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, fds[i], &ev))
            return err_set(err, ERR_INTERNAL, "cannot make an epoll descriptor: %s",
                           strerror(errno));
    return 0;
}

int kube_create_timed(struct kube **ret, const char *kubeconfig, struct inbox *inbox,
                      const struct kube_times *times, struct err *err)
{
    struct kube *k = xcalloc(1, sizeof(*k));

    k->epoll_fd = -1;
    if (kube_config_load(&k->config, kubeconfig, err) || http_create(&k->http, &k->config, err) ||
        kube_cred_create(&k->cred, &k->config, &k->pace, http_now(), err) || join_fds(k, err)) {
        kube_destroy(k);
        return -1;
    }
    if (getrandom(&k->pace.rng, sizeof(k->pace.rng), GRND_NONBLOCK) != sizeof(k->pace.rng) ||
        !k->pace.rng)
        k->pace.rng = (uint64_t)http_now() | 1; /* only jitter hangs on it */
    k->pace.base_us = times->backoff_base_us;
    k->inbox = inbox;
    k->nodes = kube_watch_create(&store_nodes, k->http, &times->watch, &k->pace);
    k->pods = kube_watch_create(&store_pods, k->http, &times->watch, &k->pace);
    k->gangs = kube_gangs_create(k->http, &k->pace);
    k->events = kube_events_create(k->http, &k->pace);
    kube_store_on_gone(kube_watch_store(k->pods), k, on_gone);
    http_set_note(k->http, k, on_note);
    http_set_refused(k->http, k, on_refused);
    *ret = k;
    return 0;
}

int kube_create(struct kube **ret, const char *kubeconfig, struct inbox *inbox, struct err *err)
{
    struct kube_times times = {0};

    return kube_create_timed(ret, kubeconfig, inbox, &times, err);
}

void kube_set_modes(struct kube *k, const struct kube_modes *modes)
{
    kube_gangs_set_modes(k->gangs, modes->is_direct, modes->has_events ? k->events : NULL);
}

void kube_destroy(struct kube *k)
{
    if (!k)
        return;
    http_drop(k->http, k->uid_req);
    kube_gangs_destroy(k->gangs);
    kube_events_destroy(k->events);
    kube_watch_destroy(k->pods);
    kube_watch_destroy(k->nodes);
    http_destroy(k->http);
    kube_cred_destroy(k->cred);
    if (k->epoll_fd >= 0)
        (void)close(k->epoll_fd); /* it holds nothing */
    kube_config_fini(&k->config);
    free(k);
}
