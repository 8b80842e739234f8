/* SPDX-License-Identifier: Apache-2.0 */
/* kube_http.c - requests: queues, lanes to fly on, answers.
 *
 * A lane is kube_lane.h, which descriptors wait kube_socks.h, what a request looks like
 * kube_easy.h. A multi handle that reports an error is unusable and is built anew.
 */
#include "kube/kube_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "kube/kube_easy.h"
#include "kube/kube_lane.h"
#include "kube/kube_socks.h"
#include "kube/kube_window.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"

enum { LANE_WATCH, LANE_CALL_A, LANE_CALL_B, LANE_EVENT, LANES };
enum { QUEUE_URGENT, QUEUE_CREATE, QUEUE_EVENT, QUEUES };
enum { READY_ROUNDS = 8, EVENTS_AT_ONCE = 64, ERROR_BODY_MAX = 64 * 1024 };
#define CALL_TIMEOUT_US (45 * USEC_PER_SEC)

struct http_request {
    struct http_request *prev, *next; /* in a queue, or in flight on its lane */
    struct http_order order;          /* method, path and body are owned */
    struct kube_http *http;
    struct kube_easy *slot; /* NULL: waiting */
    int lane;
    struct str answer;
    bool is_too_large, is_broken_off;
    bool has_begun, is_collected; /* a body with status 200 */
    bool is_again;                /* it was sent before, with credentials that were refused */
};

struct kube_http {
    const struct kube_config *config;
    enum http_gate gate;
    char *why; /* the gate is shut; NULL */
    struct kube_lane lanes[LANES];
    struct http_request *flying[LANES];
    struct kube_window window; /* of calls and events */
    struct http_request *queue[QUEUES];
    size_t n_waiting[QUEUES];
    struct kube_easy *idle;
    struct socks socks;
    void *note_ctx;
    void (*note)(void *ctx, const struct http_order *order, const struct http_answer *answer);
    void *refused_ctx;
    bool (*refused)(void *ctx, uint64_t generation);
};

usec_t http_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (usec_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

/* Does data() take the body? */
static bool is_streamed(struct http_request *req)
{
    char *type = NULL;

    if (req->has_begun || !req->order.begin)
        return !req->is_collected;
    (void)curl_easy_getinfo(req->slot->easy, CURLINFO_CONTENT_TYPE, &type); /* NULL: none came */
    req->has_begun = true;
    req->is_collected = !req->order.begin(req->order.ctx, type ? type : "");
    return !req->is_collected;
}

static size_t on_data(char *p, size_t size, size_t n, void *ctx)
{
    struct http_request *req = ctx;
    size_t len = size * n;
    size_t max = req->order.body_max;
    long status = 0;

    if (req->order.data) {
        (void)curl_easy_getinfo(req->slot->easy, CURLINFO_RESPONSE_CODE, &status);
        if (status == 200 && is_streamed(req)) {
            if (req->order.data(req->order.ctx, p, len))
                return len;
            req->is_broken_off = true;
            return 0;
        }
        if (status != 200)
            max = ERROR_BODY_MAX;
    }
    if (req->answer.len + len > max) {
        req->is_too_large = true;
        return 0;
    }
    str_add_bytes(&req->answer, p, len);
    return len;
}

/* ---- requests */

static void request_destroy(struct http_request *req)
{
    free((void *)(uintptr_t)req->order.method);
    free((void *)(uintptr_t)req->order.path);
    free((void *)(uintptr_t)req->order.body);
    str_fini(&req->answer);
    free(req);
}

/* Which queue: what ends or reads something goes before what makes something. */
static int queue_of(enum http_class kind)
{
    return kind == HTTP_EVENT ? QUEUE_EVENT : kind == HTTP_CREATE ? QUEUE_CREATE : QUEUE_URGENT;
}

struct http_request *http_send(struct kube_http *h, const struct http_order *order)
{
    struct http_request *req = xcalloc(1, sizeof(*req));

    req->http = h;
    req->order = *order;
    req->order.method = xstrdup(order->method);
    req->order.path = xstrdup(order->path);
    req->order.body = order->body ? xstrdup(order->body) : NULL;
    if (!req->order.body_max)
        req->order.body_max = HTTP_OBJECT_MAX;
    if (!req->order.timeout_us)
        req->order.timeout_us = CALL_TIMEOUT_US;
    DL_APPEND(h->queue[queue_of(order->kind)], req);
    h->n_waiting[queue_of(order->kind)]++;
    return req;
}

static void unqueue(struct kube_http *h, struct http_request *req)
{
    int q = queue_of(req->order.kind);

    DL_DELETE(h->queue[q], req);
    h->n_waiting[q]--;
}

/* Take a request off its lane; its slot goes back. */
static void land(struct kube_http *h, struct http_request *req)
{
    lane_remove(&h->lanes[req->lane], req->slot->easy);
    DL_DELETE(h->flying[req->lane], req);
    LL_PREPEND(h->idle, req->slot);
}

static size_t calls_flying(const struct kube_http *h)
{
    return h->lanes[LANE_CALL_A].n_flying + h->lanes[LANE_CALL_B].n_flying +
           h->lanes[LANE_EVENT].n_flying;
}

static bool has_room(const struct kube_http *h, int lane)
{
    size_t max = lane == LANE_EVENT ? HTTP_EVENTS_AT_ONCE : HTTP_CALLS_PER_LANE;

    return h->lanes[lane].n_flying < max && kube_window_has_room(&h->window, calls_flying(h));
}

bool http_cancel_unsent(struct kube_http *h, struct http_request *req)
{
    if (req->slot)
        return false;
    unqueue(h, req);
    request_destroy(req);
    return true;
}

void http_drop(struct kube_http *h, struct http_request *req)
{
    if (!req || http_cancel_unsent(h, req))
        return;
    land(h, req);
    req->slot = NULL;
    request_destroy(req);
}

bool http_has_room(const struct kube_http *h, enum http_class kind)
{
    return h->n_waiting[queue_of(kind)] < HTTP_QUEUE_ROOM;
}

/* A slot with today's certificates; older ones go, their connections drain. */
static struct kube_easy *easy_of(struct kube_http *h)
{
    struct kube_easy *e = h->idle;

    while (e) {
        LL_DELETE(h->idle, e);
        if (e->tls_generation == h->config->tls_generation)
            return e;
        kube_easy_destroy(e);
        e = h->idle;
    }
    e = kube_easy_create(h->config, on_data);
    lane_own_sockets(e->easy, &h->socks);
    return e;
}

/* ---- answers */

static void describe(const struct http_request *req, CURLcode code, char *buf, size_t size)
{
    if (req->is_too_large)
        (void)snprintf(buf, size, "the answer is larger than %zu bytes", req->order.body_max);
    else
        kube_easy_trouble(req->slot, code, buf, size);
}

static void answer_with(struct kube_http *h, struct http_request *req,
                        const struct http_answer *answer)
{
    if (h->note)
        h->note(h->note_ctx, &req->order, answer);
    if (req->order.done)
        req->order.done(req->order.ctx, answer);
    request_destroy(req);
}

/* Refused for its credentials, and there are or will be newer ones: back into the queue, once. */
static bool send_again(struct kube_http *h, struct http_request *req, CURLcode code, long status)
{
    int q = queue_of(req->order.kind);

    if (req->is_again || !h->refused || !kube_easy_is_refused(code, status) ||
        !h->refused(h->refused_ctx, req->slot->generation))
        return false;
    land(h, req);
    req->slot = NULL;
    req->is_again = true;
    str_clear(&req->answer);
    DL_PREPEND(h->queue[q], req);
    h->n_waiting[q]++;
    return true;
}

/* A connection that was there broke: what lies idle is not to be trusted any more. */
static void doubt_all(struct kube_http *h)
{
    for (int i = 0; i < LANES; i++)
        h->lanes[i].is_in_doubt = true;
}

static void finish(struct kube_http *h, struct http_request *req, CURLcode code)
{
    struct http_answer answer = {.was_sent = true, .trouble = "", .retry_after_us = -1};
    char trouble[CURL_ERROR_SIZE] = "";
    long status = 0;
    curl_off_t retry_after = 0;

    (void)curl_easy_getinfo(req->slot->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(req->slot->easy, CURLINFO_RETRY_AFTER, &retry_after);
    if (send_again(h, req, code, status))
        return;
    if (kube_easy_is_lost(req->slot, code))
        doubt_all(h);
    if (code != CURLE_OK && !req->is_broken_off)
        describe(req, code, trouble, sizeof(trouble));
    if (code == CURLE_OK || req->order.kind == HTTP_WATCH)
        answer.status = (int)status;
    answer.was_sent = kube_easy_was_sent(code);
    answer.is_refused = code == CURLE_COULDNT_CONNECT;
    answer.trouble = trouble;
    answer.body = str_text(&req->answer);
    answer.len = req->answer.len;
    if (retry_after > 0)
        answer.retry_after_us = (usec_t)(retry_after > 600 ? 600 : retry_after) * USEC_PER_SEC;
    land(h, req);
    kube_window_note(&h->window, answer.status, calls_flying(h));
    answer_with(h, req, &answer);
}

/* The multi handle failed: nothing that flew on it has an answer. */
static void rebuild(struct kube_http *h, int which, CURLMcode code)
{
    struct http_request *lost = h->flying[which], *req;
    struct http_answer answer = {.was_sent = true, .body = "", .retry_after_us = -1};

    log_warn("the connections to the API server are made anew", "err=\"%s\"",
             curl_multi_strerror(code));
    answer.trouble = curl_multi_strerror(code);
    for (req = lost; req; req = req->next) {
        lane_remove(&h->lanes[which], req->slot->easy);
        kube_easy_destroy(req->slot);
    }
    h->flying[which] = NULL;
    lane_rebuild(&h->lanes[which]);
    while (lost) {
        req = lost;
        DL_DELETE(lost, req); /* NOLINT(clang-analyzer-core.NullDereference): the head has a prev */
        answer_with(h, req, &answer);
    }
}

static void launch(struct kube_http *h, struct http_request *req, int lane)
{
    struct kube_easy *s = easy_of(h);
    CURLMcode code;

    unqueue(h, req);
    req->slot = s;
    req->lane = lane;
    kube_easy_aim(s, h->config,
                  &(struct kube_easy_order){
                      .method = req->order.method,
                      .path = req->order.path,
                      .accept = req->order.accept ? req->order.accept : "application/json",
                      .body = req->order.body,
                      .timeout_us = req->order.kind == HTTP_WATCH ? 0 : req->order.timeout_us,
                      .ctx = req});
    DL_APPEND(h->flying[lane], req);
    code = lane_add(&h->lanes[lane], s->easy);
    if (code != CURLM_OK)
        rebuild(h, lane, code);
}

static bool launch_event(struct kube_http *h)
{
    if (!h->queue[QUEUE_EVENT] || !has_room(h, LANE_EVENT))
        return false;
    launch(h, h->queue[QUEUE_EVENT], LANE_EVENT);
    return true;
}

/* There are no credentials: one request is answered with the reason. */
static bool turn_away(struct kube_http *h)
{
    struct http_answer answer = {.trouble = h->why, .body = "", .retry_after_us = -1};
    struct http_request *req = NULL;

    for (int q = 0; q < QUEUES && !req; q++)
        req = h->queue[q];
    if (!req)
        return false;
    unqueue(h, req);
    answer_with(h, req, &answer);
    return true;
}

static bool launch_next(struct kube_http *h)
{
    const struct kube_lane *a = &h->lanes[LANE_CALL_A], *b = &h->lanes[LANE_CALL_B];
    int lane = a->n_flying <= b->n_flying ? LANE_CALL_A : LANE_CALL_B;
    struct http_request *req;

    if (h->gate != HTTP_GATE_OPEN)
        return h->gate == HTTP_GATE_SHUT && turn_away(h);
    for (req = h->queue[QUEUE_URGENT]; req; req = req->next)
        if (req->order.kind == HTTP_WATCH) {
            launch(h, req, LANE_WATCH);
            return true;
        }
    req = h->queue[QUEUE_URGENT] ? h->queue[QUEUE_URGENT] : h->queue[QUEUE_CREATE];
    if (!req)
        return launch_event(h);
    if (!has_room(h, lane))
        return false;
    launch(h, req, lane);
    return true;
}

static void act(struct kube_http *h, int which, curl_socket_t fd, int mask)
{
    CURLMcode code = lane_act(&h->lanes[which], fd, mask);

    if (code != CURLM_OK)
        rebuild(h, which, code);
}

/* Hand out all finished transfers; a callback may send and drop others. */
static bool drain(struct kube_http *h)
{
    bool did = false;

    for (int i = 0; i < LANES; i++) {
        int left = 0;
        const CURLMsg *msg = curl_multi_info_read(h->lanes[i].multi, &left);

        while (msg) {
            char *req = NULL;
            CURLcode code = msg->data.result;

            (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &req);
            finish(h, (struct http_request *)(void *)req, code);
            did = true;
            msg = curl_multi_info_read(h->lanes[i].multi, &left);
        }
    }
    return did;
}

static void take_socket_events(struct kube_http *h)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(h->socks.epoll_fd, events, EVENTS_AT_ONCE, 0);

    for (int i = 0; i < n; i++) {
        int fd, mask = 0;
        int lane = socks_lane(&h->socks, &events[i], &fd);

        if (lane < 0)
            continue;
        mask |= events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0;
        mask |= events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
        mask |= events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0;
        act(h, lane, fd, mask);
    }
}

void http_ready(struct kube_http *h)
{
    bool again = true;

    take_socket_events(h);
    /* New transfers start with a timeout of 0: carry on while that is so. */
    for (int round = 0; again && round < READY_ROUNDS; round++) {
        usec_t now = http_now();

        for (int i = 0; i < LANES; i++)
            if (h->lanes[i].timeout_at <= now)
                act(h, i, CURL_SOCKET_TIMEOUT, 0);
        again = drain(h);
        while (launch_next(h))
            again = true;
    }
}

usec_t http_wake(const struct kube_http *h)
{
    usec_t wake = INT64_MAX;
    bool can_call =
        h->gate != HTTP_GATE_WAIT && (has_room(h, LANE_CALL_A) || has_room(h, LANE_CALL_B));

    if ((h->n_waiting[QUEUE_URGENT] || h->n_waiting[QUEUE_CREATE]) && can_call)
        return 0;
    if (h->gate != HTTP_GATE_WAIT && h->n_waiting[QUEUE_EVENT] && !h->n_waiting[QUEUE_URGENT] &&
        !h->n_waiting[QUEUE_CREATE] && has_room(h, LANE_EVENT))
        return 0;
    for (int i = 0; i < LANES; i++)
        if (h->lanes[i].timeout_at < wake)
            wake = h->lanes[i].timeout_at;
    return wake;
}

int http_fd(const struct kube_http *h)
{
    return h->socks.epoll_fd;
}

void http_set_note(struct kube_http *h, void *ctx,
                   void (*note)(void *ctx, const struct http_order *order,
                                const struct http_answer *answer))
{
    h->note_ctx = ctx;
    h->note = note;
}

void http_set_refused(struct kube_http *h, void *ctx,
                      bool (*refused)(void *ctx, uint64_t generation))
{
    h->refused_ctx = ctx;
    h->refused = refused;
}

void http_set_gate(struct kube_http *h, enum http_gate gate, const char *why)
{
    h->gate = gate;
    if (gate == HTTP_GATE_SHUT && (!h->why || strcmp(h->why, why) != 0)) {
        free(h->why);
        h->why = xstrdup(why);
    }
}

int http_create(struct kube_http **ret, const struct kube_config *config, struct err *err)
{
    struct kube_http *h;
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        return err_set(err, ERR_INTERNAL, "cannot make an epoll descriptor: %s", strerror(errno));
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
        (void)close(fd);
        return err_set(err, ERR_INTERNAL, "libcurl cannot be initialised");
    }
    h = xcalloc(1, sizeof(*h));
    h->config = config;
    kube_window_init(&h->window, 2 * HTTP_CALLS_PER_LANE + HTTP_EVENTS_AT_ONCE);
    h->socks.epoll_fd = fd;
    for (int i = 0; i < LANES; i++)
        lane_init(&h->lanes[i], &h->socks, i,
                  i == LANE_WATCH  ? 0
                  : config->is_tls ? HTTP_H2_CONNECTIONS
                                   : HTTP_CALLS_PER_LANE);
    *ret = h;
    return 0;
}

static void drop_all(struct kube_http *h, struct http_request **list)
{
    while (*list)
        http_drop(h, *list);
}

void http_destroy(struct kube_http *h)
{
    if (!h)
        return;
    for (int i = 0; i < QUEUES; i++)
        drop_all(h, &h->queue[i]);
    for (int i = 0; i < LANES; i++)
        drop_all(h, &h->flying[i]);
    while (h->idle) {
        struct kube_easy *s = h->idle;

        LL_DELETE(h->idle, s);
        kube_easy_destroy(s);
    }
    for (int i = 0; i < LANES; i++)
        lane_fini(&h->lanes[i]);
    (void)close(h->socks.epoll_fd);
    vec_fini(&h->socks.v);
    free(h->why);
    free(h);
    curl_global_cleanup();
}
