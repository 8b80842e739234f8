/* SPDX-License-Identifier: Apache-2.0 */
/* kube_watch.c - the reflector: list, watch, and what to do when either ends.
 *
 * One request at a time. After each end `next` says what follows and `due` when; the tick starts
 * it. A transfer that curl calls good is no proof that a document is whole: the scanner decides.
 * Lists and watches are asked for as protobuf; the Content-Type of each answer says what came.
 */
#include "kube/kube_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_proto.h"
#include "util/log.h"
#include "util/mem.h"

enum { PAGE_ITEMS = 500, DENIED_QUICK_MAX = 4 };
/* More facts than this that nobody has taken yet: the next page waits. */
enum { FACTS_BEHIND_MAX = 40 * PAGE_ITEMS };
enum { SERVER_ERRORS_MAX = 5 }; /* of a watch, in a row: then all is listed again */
#define SHORT_WATCH_US USEC_PER_SEC
#define HEALTHY_US     (120 * USEC_PER_SEC)

enum step { STEP_LIST, STEP_PROBE, STEP_WATCH };

struct kube_watch {
    struct kube_store *store;
    const struct store_kind *kind;
    struct kube_http *http;
    struct kube_watch_times times;
    struct api_pace *pace;
    struct http_request *req; /* NULL: waiting for due */
    enum step next;           /* of the request, or of what comes at due */
    usec_t due;
    char rv[RV_MAX + 1]; /* to watch from */
    char *continued;     /* token of the next page; NULL: the first page */
    bool is_unpaged;     /* the pages expired: all at once this time */
    uint64_t lists;
    usec_t listed_at;
    struct api_backoff backoff;
    struct api_backoff page_backoff; /* of the page that is asked for */
    unsigned n_denied;               /* answers 403 in a row */
    bool is_refused_proto;           /* the server has no protobuf: JSON from now on */
    bool is_proto;                   /* of the answer that comes now or came last */
    bool is_told, is_told_proto;     /* what the log says of the watch */
    /* the page that comes, in protobuf */
    struct proto_list page;
    struct json_sink sink;
    struct err page_err; /* code 0: nothing wrong so far */
    /* the watch that runs */
    struct json_frame frame;
    struct proto_frame proto_frame;
    usec_t begun_at, heard_at, guard_us;
    uint64_t n_events;       /* objects only: bookmarks are no sign of life */
    bool is_bad;             /* something came that is no event */
    struct api_status error; /* code 0: no ERROR event came */
};

static void plan(struct kube_watch *w, enum step next, usec_t due)
{
    w->next = next;
    w->due = due;
    if (next != STEP_LIST)
        return;
    free(w->continued);
    w->continued = NULL;
}

static void plan_later(struct kube_watch *w, enum step next, const struct api_status *s)
{
    usec_t wait;

    w->n_denied = s->code == 403 ? w->n_denied + 1 : 0;
    if (w->n_denied == 1)
        w->backoff.n = 0; /* it answers again: the wait for that is over */
    wait = api_backoff_next(&w->backoff, s->retry_after_us, w->pace);
    /* a server that has just started forbids all until it has read its roles */
    if (s->code == 403 && w->n_denied > DENIED_QUICK_MAX && wait < API_BACKOFF_CAP_US)
        wait = API_BACKOFF_CAP_US;
    log_debug("asking again later", "what=%s wait_ms=%lld code=%d err=\"%s\"", w->kind->noun,
              (long long)(wait / 1000), s->code, s->message);
    plan(w, next, http_now() + wait);
}

/* The version that we watch from is of no more use. The first time at once; a server that never
 * keeps a version is not to be asked for list after list. */
static void plan_relist(struct kube_watch *w, const struct api_status *s)
{
    if (http_now() - w->listed_at > HEALTHY_US)
        plan(w, STEP_LIST, http_now());
    else
        plan_later(w, STEP_LIST, s);
}

static bool is_expired(const struct api_status *s)
{
    return s->code == 410 || !strcmp(s->reason, "Expired") || !strcmp(s->reason, "Gone") ||
           !strcmp(s->cause, "ResourceVersionTooLarge");
}

/* The server refused our choice of encodings: once more, and from now on, with JSON alone. */
static bool fall_back(struct kube_watch *w, const struct api_status *s, enum step next)
{
    if (s->code != 406 || w->is_refused_proto)
        return false;
    w->is_refused_proto = true;
    log_info("the API server refuses protobuf, JSON is read", "what=%s", w->kind->noun);
    plan(w, next, http_now());
    return true;
}

static const char *encoding(const struct kube_watch *w)
{
    return w->is_proto ? "protobuf" : "json";
}

/* ---- list */

static bool on_list_begin(void *ctx, const char *content_type)
{
    struct kube_watch *w = ctx;

    w->is_proto = proto_is_type(content_type);
    return w->is_proto;
}

static bool on_item(void *ctx, const char *p, size_t len)
{
    struct kube_watch *w = ctx;

    return kube_store_list_item(w->store, p, len);
}

static bool on_list_data(void *ctx, const char *p, size_t len)
{
    struct kube_watch *w = ctx;

    return !proto_list_feed(&w->page, p, len, &w->page_err);
}

static int read_page(struct kube_watch *w, const struct http_answer *a, struct json_page *ret,
                     struct err *err)
{
    if (w->is_proto)
        return proto_list_end(&w->page, ret, err);
    return kube_store_list_page(w->store, a->body, a->len, ret, err);
}

static void list_bad(struct kube_watch *w, const struct err *err)
{
    struct api_status s = {.retry_after_us = -1};

    (void)str_copy(s.message, sizeof(s.message), err->text); /* a cut text still tells */
    log_warn("a list cannot be used and is asked for again", "what=%s encoding=%s err=\"%s\"",
             w->kind->noun, encoding(w), err->text);
    plan_later(w, STEP_LIST, &s);
}

static void list_whole(struct kube_watch *w)
{
    kube_store_list_end(w->store);
    w->lists++;
    w->listed_at = http_now();
    w->is_unpaged = false;
    log_info("list complete", "what=%s count=%zu version=%s encoding=%s", w->kind->noun,
             kube_store_count(w->store), w->rv, encoding(w));
    plan(w, STEP_WATCH, http_now());
}

static void take_page(struct kube_watch *w, const struct http_answer *a)
{
    struct json_page page = {0};
    struct err err = {0};

    if (read_page(w, a, &page, &err)) {
        list_bad(w, &err);
        return;
    }
    memcpy(w->rv, page.rv, sizeof(w->rv));
    w->page_backoff.n = 0;
    free(w->continued);
    w->continued = page.next;
    if (w->continued)
        w->due = http_now();
    else
        list_whole(w);
}

static void on_list(void *ctx, const struct http_answer *a)
{
    struct kube_watch *w = ctx;
    struct api_status s;
    enum api_verdict verdict;

    w->req = NULL;
    if (w->page_err.code) {
        list_bad(w, &w->page_err);
        return;
    }
    verdict = api_classify(a, &s);
    if (verdict == API_OK) {
        take_page(w, a);
        return;
    }
    if (fall_back(w, &s, STEP_LIST))
        return;
    if (w->continued && verdict == API_RETRY && a->status) {
        /* the server is busy: to begin with the first page again would keep it so */
        w->due = http_now() + api_backoff_next(&w->page_backoff, s.retry_after_us, w->pace);
        return;
    }
    if (w->continued && is_expired(&s) && !w->is_unpaged) {
        w->is_unpaged = true;
        plan(w, STEP_LIST, http_now());
        return;
    }
    w->is_unpaged = false;
    plan_later(w, STEP_LIST, &s);
}

/* ---- probe: does the server know the version that we want to resume from? */

enum finding { FOUND_NOTHING, FOUND_OK, FOUND_PUT_BACK };

/* Is what the server knows at least what we know? Versions alone do not tell it: an etcd that was
 * put back soon counts past ours again. So the last object that changed must be as we know it, or
 * newer. One that went while nobody watched looks like that, too: a list for nothing. */
static enum finding judge_probe(const struct kube_watch *w, const struct http_answer *a)
{
    const struct store_latest *l = kube_store_latest(w->store);
    cJSON *list = cJSON_ParseWithLength(a->body, a->len);
    const char *rv = json_text(list, "metadata.resourceVersion");
    const cJSON *item = cJSON_GetArrayItem(json_get(list, "items"), 0);
    bool is_same = l->rv[0] && !strcmp(json_text(item, "metadata.uid"), l->uid);
    bool is_older =
        !is_same || kube_rv_compare(json_text(item, "metadata.resourceVersion"), l->rv) < 0;
    enum finding ret = FOUND_OK;

    if (!rv[0])
        ret = FOUND_NOTHING;
    else if (kube_rv_compare(rv, w->rv) < 0 || (l->rv[0] && (l->is_gone ? is_same : is_older)))
        ret = FOUND_PUT_BACK;
    cJSON_Delete(list);
    return ret;
}

static void on_probe(void *ctx, const struct http_answer *a)
{
    struct kube_watch *w = ctx;
    struct api_status s;

    enum finding found = FOUND_NOTHING;

    w->req = NULL;
    if (api_classify(a, &s) == API_OK)
        found = judge_probe(w, a);
    if (found == FOUND_PUT_BACK)
        log_info("the API server knows less than we do, all is listed again", "what=%s version=%s",
                 w->kind->noun, w->rv);
    if (found == FOUND_OK)
        plan(w, STEP_WATCH, http_now());
    else if (found == FOUND_PUT_BACK || is_expired(&s))
        plan_relist(w, &s);
    else
        plan_later(w, STEP_PROBE, &s);
}

/* ---- watch */

static bool took(struct kube_watch *w, enum store_line line)
{
    w->n_events += line == LINE_OBJECT;
    return line == LINE_OBJECT || line == LINE_BOOKMARK;
}

static bool on_line(void *ctx, const char *p, size_t len)
{
    struct kube_watch *w = ctx;

    return took(w, kube_store_line(w->store, p, len, w->rv, &w->error));
}

static bool on_frame(void *ctx, const char *p, size_t len)
{
    struct kube_watch *w = ctx;

    return took(w, kube_store_frame(w->store, p, len, w->rv, &w->error));
}

static bool on_watch_begin(void *ctx, const char *content_type)
{
    struct kube_watch *w = ctx;

    w->is_proto = proto_is_type(content_type);
    if (!w->is_told || w->is_proto != w->is_told_proto)
        log_info("watch open", "what=%s encoding=%s", w->kind->noun, encoding(w));
    w->is_told = true;
    w->is_told_proto = w->is_proto;
    w->n_denied = 0;
    return true;
}

static bool on_data(void *ctx, const char *p, size_t len)
{
    struct kube_watch *w = ctx;

    w->heard_at = http_now();
    if (w->heard_at - w->begun_at > HEALTHY_US)
        w->backoff.n = 0;
    if (w->is_proto ? proto_frame_feed(&w->proto_frame, p, len, on_frame, w)
                    : json_frame_feed(&w->frame, p, len, on_line, w))
        return true;
    w->is_bad = !w->error.code;
    return false;
}

static void frames_fini(struct kube_watch *w)
{
    json_frame_fini(&w->frame);
    proto_frame_fini(&w->proto_frame);
}

/* The stream ended after status 200. */
static void watch_ended(struct kube_watch *w)
{
    usec_t now = http_now();
    struct api_status s = {.retry_after_us = -1};

    if (now - w->begun_at > HEALTHY_US)
        w->backoff.n = 0;
    if (w->error.code && is_expired(&w->error)) {
        plan_relist(w, &w->error);
    } else if (w->error.code) {
        bool can_resume = w->error.code == 500 && w->backoff.n < SERVER_ERRORS_MAX;

        plan_later(w, can_resume ? STEP_PROBE : STEP_LIST, &w->error);
    } else if (w->is_bad) {
        (void)str_copy(s.message, sizeof(s.message), "the watch sent something that is no event");
        log_warn("a watch sent something that is no event, all is listed again",
                 "what=%s events=%llu", w->kind->noun, (unsigned long long)w->n_events);
        plan_later(w, STEP_LIST, &s);
    } else if (!w->n_events && now - w->begun_at < SHORT_WATCH_US) {
        (void)str_copy(s.message, sizeof(s.message), "the watch ended at once"); /* it fits */
        w->backoff.n += !w->backoff.n; /* each turn is two requests: fewer than ten in 30 s */
        plan_later(w, STEP_PROBE, &s);
    } else {
        /* a stream that ends after one event each time must not keep us busy */
        plan(w, STEP_PROBE, w->begun_at + api_pace_base(w->pace));
    }
}

static void on_watch(void *ctx, const struct http_answer *a)
{
    struct kube_watch *w = ctx;
    struct api_status s;

    w->req = NULL;
    frames_fini(w);
    if (a->status == 200) {
        log_debug("watch ended", "what=%s events=%llu err=\"%s\"", w->kind->noun,
                  (unsigned long long)w->n_events, a->trouble);
        watch_ended(w);
        return;
    }
    (void)api_classify(a, &s);
    if (fall_back(w, &s, STEP_WATCH))
        return;
    if (is_expired(&s))
        plan_relist(w, &s);
    else
        plan_later(w, STEP_PROBE, &s);
}

/* ---- starting */

static void add_escaped(struct str *path, const char *text)
{
    for (; *text; text++) {
        if (strchr("+/=&%# ", *text))
            str_addf(path, "%%%02X", (unsigned char)*text);
        else
            str_add_bytes(path, text, 1);
    }
}

static void start_list(struct kube_watch *w)
{
    struct str path = {0};
    struct http_order order = {.kind = HTTP_READ,
                               .method = "GET",
                               .body_max = HTTP_PAGE_MAX,
                               .timeout_us = 60 * USEC_PER_SEC,
                               .accept = w->is_refused_proto ? NULL : PROTO_ACCEPT,
                               .begin = on_list_begin,
                               .data = on_list_data,
                               .done = on_list,
                               .ctx = w};

    if (!w->continued)
        kube_store_list_begin(w->store);
    proto_list_fini(&w->page);
    w->page = (struct proto_list){.kind = w->kind->list_kind, .sink = &w->sink};
    w->page_err = (struct err){0};
    w->is_proto = false;
    str_add(&path, w->kind->path);
    if (!w->is_unpaged)
        str_addf(&path, "?limit=%d", PAGE_ITEMS);
    if (w->continued) {
        str_add(&path, w->is_unpaged ? "?continue=" : "&continue=");
        add_escaped(&path, w->continued);
    }
    order.path = path.s;
    w->req = http_send(w->http, &order);
    str_fini(&path);
}

static void start_probe(struct kube_watch *w)
{
    const struct store_latest *l = kube_store_latest(w->store);
    char *within = l->ns[0] ? api_path(l->ns, w->kind->noun, NULL) : xstrdup(w->kind->path);
    struct str path = {0};
    struct http_order order = {.kind = HTTP_READ, .method = "GET", .done = on_probe, .ctx = w};

    str_addf(&path, "%s?limit=1&resourceVersion=%s&resourceVersionMatch=NotOlderThan", within,
             w->rv);
    if (l->rv[0]) {
        str_add(&path, "&fieldSelector=metadata.name%3D");
        add_escaped(&path, l->name);
    }
    order.path = path.s;
    w->req = http_send(w->http, &order);
    str_fini(&path);
    free(within);
}

static void start_watch(struct kube_watch *w)
{
    usec_t range = w->times.timeout_max_us - w->times.timeout_min_us;
    usec_t timeout =
        w->times.timeout_min_us + (usec_t)(api_random(w->pace) % (uint64_t)(range + 1));
    long long seconds = timeout / USEC_PER_SEC;
    char *path = xasprintf("%s?watch=1&allowWatchBookmarks=true&resourceVersion=%s"
                           "&timeoutSeconds=%lld",
                           w->kind->path, w->rv, seconds > 0 ? seconds : 1);
    struct http_order order = {.kind = HTTP_WATCH,
                               .method = "GET",
                               .path = path,
                               .accept = w->is_refused_proto ? NULL : PROTO_ACCEPT_WATCH,
                               .begin = on_watch_begin,
                               .data = on_data,
                               .done = on_watch,
                               .ctx = w};

    w->begun_at = w->heard_at = http_now();
    w->guard_us = timeout + w->times.guard_us;
    w->n_events = 0;
    w->is_bad = false;
    w->error = (struct api_status){.retry_after_us = -1};
    w->req = http_send(w->http, &order);
    free(path);
}

static void check_guard(struct kube_watch *w, usec_t now)
{
    if (w->next != STEP_WATCH || now < w->heard_at + w->guard_us)
        return;
    log_warn("a watch is silent and is opened again", "what=%s", w->kind->noun);
    http_drop(w->http, w->req);
    w->req = NULL;
    frames_fini(w);
    plan(w, STEP_PROBE, now);
}

/* The next page would only lie in memory: what came before it has not been taken. */
static bool is_ahead(const struct kube_watch *w)
{
    return w->next == STEP_LIST && w->continued && kube_store_waiting(w->store) > FACTS_BEHIND_MAX;
}

void kube_watch_tick(struct kube_watch *w, usec_t now)
{
    if (w->req) {
        check_guard(w, now);
        return;
    }
    if (now < w->due || is_ahead(w))
        return;
    if (w->next == STEP_PROBE && now - w->listed_at > w->times.relist_us)
        plan(w, STEP_LIST, now);
    if (w->next == STEP_LIST)
        start_list(w);
    else if (w->next == STEP_PROBE)
        start_probe(w);
    else
        start_watch(w);
}

usec_t kube_watch_wake(const struct kube_watch *w)
{
    if (!w->req)
        return is_ahead(w) ? INT64_MAX : w->due; /* who takes the facts ticks us afterwards */
    return w->next == STEP_WATCH ? w->heard_at + w->guard_us : INT64_MAX;
}

uint64_t kube_watch_lists(const struct kube_watch *w)
{
    return w->lists;
}

struct kube_store *kube_watch_store(struct kube_watch *w)
{
    return w->store;
}

struct kube_watch *kube_watch_create(const struct store_kind *kind, struct kube_http *http,
                                     const struct kube_watch_times *times, struct api_pace *pace)
{
    struct kube_watch *w = xcalloc(1, sizeof(*w));

    w->kind = kind;
    w->sink = (struct json_sink){.item = on_item, .ctx = w};
    w->store = kube_store_create(kind);
    w->http = http;
    w->pace = pace;
    w->times = *times;
    if (!w->times.timeout_min_us)
        w->times.timeout_min_us = 300 * USEC_PER_SEC;
    if (!w->times.timeout_max_us)
        w->times.timeout_max_us = 600 * USEC_PER_SEC;
    if (!w->times.guard_us)
        w->times.guard_us = 30 * USEC_PER_SEC;
    if (!w->times.relist_us)
        w->times.relist_us = 3600 * USEC_PER_SEC;
    return w;
}

void kube_watch_destroy(struct kube_watch *w)
{
    if (!w)
        return;
    http_drop(w->http, w->req);
    frames_fini(w);
    proto_list_fini(&w->page);
    free(w->continued);
    kube_store_destroy(w->store);
    free(w);
}
