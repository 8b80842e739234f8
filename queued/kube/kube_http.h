/* SPDX-License-Identifier: Apache-2.0 */
/* kube_http.h - HTTP requests that never block: curl multi handles on one epoll descriptor.
 *
 * Four multi handles: one for watches, two for calls with CALLS_PER_LANE in flight each, one for
 * what may as well be lost (events), so that bursts of writes and slow watches do not disturb each
 * other. What does not fit waits in a queue, reads and deletes before creates; events go only while
 * none of those waits. Callbacks run in http_ready() only, never inside http_send().
 * A transfer is never paused; each body has a bound.
 */
#ifndef QUEUED_KUBE_KUBE_HTTP_H
#define QUEUED_KUBE_KUBE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/kube_config.h"
#include "util/err.h"
#include "util/parse.h"

/* With HTTP/2 one connection carries all calls of a lane, beside one that drains after a GOAWAY;
 * without, each call in flight has its own. */
#define HTTP_H2_CONNECTIONS 2L
enum { HTTP_CALLS_PER_LANE = 16, HTTP_EVENTS_AT_ONCE = 8, HTTP_QUEUE_ROOM = 64 };
#define HTTP_OBJECT_MAX ((size_t)4 * 1024 * 1024)
#define HTTP_PAGE_MAX   ((size_t)64 * 1024 * 1024)

struct kube_http;
struct http_request;

enum http_class { HTTP_WATCH, HTTP_READ, HTTP_DELETE, HTTP_CREATE, HTTP_EVENT };

struct http_answer {
    int status;          /* HTTP status; 0: no whole answer */
    bool was_sent;       /* false: no connection, so the server cannot have seen it */
    bool is_refused;     /* the connection was refused */
    const char *trouble; /* why status is 0, or why the body broke off; "" */
    const char *body;    /* NUL-terminated; "" where data() took it */
    size_t len;
    usec_t retry_after_us; /* of the header; -1 none */
};

struct http_order {
    enum http_class kind;
    const char *method;
    const char *path;   /* from the first slash, with the query; copied */
    const char *body;   /* JSON, copied; NULL none */
    size_t body_max;    /* of the answer; 0: HTTP_OBJECT_MAX */
    usec_t timeout_us;  /* 0: 45 s; watches have none */
    const char *accept; /* a constant, not copied; NULL: JSON */
    /* Before the first piece of a body with status 200: its Content-Type ("" none). true: data()
     * takes it, false: it is collected. NULL: as if true. */
    bool (*begin)(void *ctx, const char *content_type);
    /* Pieces of a body with status 200, as they come; false breaks the transfer off. NULL: collect.
     */
    bool (*data)(void *ctx, const char *p, size_t len);
    /* Once, unless the request is dropped. The request is gone afterwards. */
    void (*done)(void *ctx, const struct http_answer *answer);
    void *ctx;
};

/* May requests be sent? Where credentials are being fetched they wait; where there are none they
 * are answered with the reason. */
enum http_gate { HTTP_GATE_OPEN, HTTP_GATE_WAIT, HTTP_GATE_SHUT };

/* config is borrowed; its generations say when its contents have changed. note (may be NULL) sees
 * every answer before its done(). */
int http_create(struct kube_http **ret, const struct kube_config *config, struct err *err);
void http_destroy(struct kube_http *h);
void http_set_note(struct kube_http *h, void *ctx,
                   void (*note)(void *ctx, const struct http_order *order,
                                const struct http_answer *answer));
/* Queue a request. Valid until done() was called or it was dropped. */
struct http_request *http_send(struct kube_http *h, const struct http_order *order);
/* Forget a request that was not sent yet; false: it is on its way, done() will come. */
bool http_cancel_unsent(struct kube_http *h, struct http_request *req);
/* Break a request off wherever it is; done() is not called. Not from inside a callback of it. */
void http_drop(struct kube_http *h, struct http_request *req);
/* Do fewer than HTTP_QUEUE_ROOM requests of this kind wait? Bodies are made only while there is
 * room. */
bool http_has_room(const struct kube_http *h, enum http_class kind);
/* why: the trouble of a shut gate, copied. Open at first. */
void http_set_gate(struct kube_http *h, enum http_gate gate, const char *why);
/* refused() hears of each request whose credentials (of that generation) were refused; true: it is
 * sent once more with those that are there when the gate is open. It must not send or drop. */
void http_set_refused(struct kube_http *h, void *ctx,
                      bool (*refused)(void *ctx, uint64_t generation));

int http_fd(const struct kube_http *h);
/* Monotonic microseconds, the clock of everything below queued/kube. */
usec_t http_now(void);
/* When http_ready() must run at the latest, by http_now(); INT64_MAX never. */
usec_t http_wake(const struct kube_http *h);
void http_ready(struct kube_http *h);

#endif
