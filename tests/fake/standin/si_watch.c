/* SPDX-License-Identifier: Apache-2.0 */
/* si_watch.c - endless answers: the changes of one collection from a resourceVersion on.
 *
 * Initial objects are sent from a snapshot bit by bit, so a large one never lies in memory twice.
 * A reader so slow that the ring overtakes it is ended without an error, as the server does.
 */
#include "si_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "si_fault.h"
#include "si_json.h"
#include "si_list.h"
#include "si_select.h"
#include "si_status.h"

enum { CHUNK_BYTES = 65536, GONE_CHECK_US = 1000000, EARLY_BOOKMARK_US = 2000000 };

struct watch {
    struct watch *next;
    struct standin *s;
    struct MHD_Connection *connection;
    struct selector selector;
    struct snapshot *initial; /* NULL = none, or all sent */
    size_t initial_next;
    uint64_t cursor;  /* sequence number of the next event to look at */
    uint64_t from_rv; /* events up to here are not sent */
    uint64_t sent_rv; /* newest resourceVersion the client knows */
    bool is_suspended;
    bool wants_bookmarks;
    bool wants_initial_end; /* WatchList: a bookmark with its annotation is still due */
    bool is_ended;          /* end when the buffer is empty */
    bool is_broken;         /* the client is gone */
    bool is_silent;
    bool is_doubled;
    bool is_proto;
    uint64_t stale_until_us;
    uint64_t bookmark_us; /* when the next one is due */
    uint64_t deadline_us; /* UINT64_MAX = none */
    uint64_t gone_check_us;
    uint64_t cut_bytes;
    uint64_t sent_bytes;
    struct strbuf out;
    size_t out_pos;
};

static const char *const type_names[] = {"ADDED", "MODIFIED", "DELETED"};

/* The object with another resourceVersion than its own. */
static void print_proto_at(struct watch *w, enum event_type type, const struct rec *rec,
                           uint64_t rv)
{
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, rv);
    cJSON *json = rec_parse(rec);
    json_set(json_object(json, "metadata"), "resourceVersion", text);
    proto_put_event_json(&w->out, type_names[type], json);
    cJSON_Delete(json);
}

static void print_proto(struct watch *w, enum event_type type, const struct rec *rec, uint64_t rv)
{
    if (rv != rec->rv) {
        print_proto_at(w, type, rec, rv);
        return;
    }
    const struct strbuf message = {.data = (char *)(uintptr_t)rec->proto, .len = rec->proto_len};
    proto_put_event(&w->out, type_names[type], res_table[rec->res].kind, &message);
}

static void print_event(struct watch *w, enum event_type type, const struct rec *rec, uint64_t rv)
{
    int times = w->is_doubled ? 2 : 1;
    for (int i = 0; i < times; i++) {
        if (w->is_proto) {
            print_proto(w, type, rec, rv);
            continue;
        }
        strbuf_printf(&w->out, "{\"type\":\"%s\",\"object\":", type_names[type]);
        if (rv == rec->rv) {
            strbuf_add(&w->out, rec->text, rec->len);
        } else {
            size_t after = rec->rv_off + rec->rv_len;
            strbuf_add(&w->out, rec->text, rec->rv_off);
            strbuf_printf(&w->out, "%" PRIu64, rv);
            strbuf_add(&w->out, rec->text + after, rec->len - after);
        }
        strbuf_puts(&w->out, "}\n");
    }
}

/* What a watch with a selector sees of a change. */
static void add_event(struct watch *w, const struct event *event)
{
    bool was = event->old != NULL && selector_matches(&w->selector, event->old);
    bool is = event->type != EVENT_DELETED && selector_matches(&w->selector, event->rec);
    if (is) {
        print_event(w, was ? EVENT_MODIFIED : EVENT_ADDED, event->rec, event->rv);
    } else if (was) {
        bool is_gone = event->type == EVENT_DELETED;
        print_event(w, EVENT_DELETED, is_gone ? event->rec : event->old, event->rv);
    }
}

/* An object that is no version of the store. */
static void print_object(struct watch *w, const char *type, const struct strbuf *object)
{
    if (w->is_proto) {
        cJSON *json = cJSON_ParseWithLength(object->data, object->len);
        proto_put_event_json(&w->out, type, json);
        cJSON_Delete(json);
        return;
    }
    strbuf_printf(&w->out, "{\"type\":\"%s\",\"object\":", type);
    strbuf_add(&w->out, object->data, object->len);
    strbuf_puts(&w->out, "}\n");
}

static void print_bookmark(struct watch *w, uint64_t rv)
{
    const struct res *res = &res_table[w->selector.res];
    const char *rest = "";
    if (w->selector.res == RES_NODES) {
        rest = ",\"spec\":{},\"status\":{\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":0}},"
               "\"nodeInfo\":{\"machineID\":\"\",\"systemUUID\":\"\",\"bootID\":\"\","
               "\"kernelVersion\":\"\",\"osImage\":\"\",\"containerRuntimeVersion\":\"\","
               "\"kubeletVersion\":\"\",\"kubeProxyVersion\":\"\",\"operatingSystem\":\"\","
               "\"architecture\":\"\"}}";
    } else if (w->selector.res == RES_PODS) {
        rest = ",\"spec\":{\"containers\":null},\"status\":{}";
    } else if (w->selector.res == RES_LEASES) {
        rest = ",\"spec\":{}";
    }
    struct strbuf object = {0};
    strbuf_printf(&object,
                  "{\"kind\":\"%s\",\"apiVersion\":\"%s\","
                  "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"%s}%s}",
                  res->kind, res->api_version, rv,
                  w->wants_initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"
                                       : "",
                  rest);
    print_object(w, "BOOKMARK", &object);
    strbuf_fini(&object);
    w->sent_rv = rv;
}

static void fill_initial(struct watch *w)
{
    while (w->initial != NULL && w->out.len < CHUNK_BYTES) {
        if (w->initial_next == w->initial->count) {
            uint64_t rv = w->initial->rv;
            snapshot_unref(w->initial);
            w->initial = NULL;
            w->sent_rv = rv;
            if (w->wants_initial_end) {
                print_bookmark(w, rv);
                w->wants_initial_end = false;
            }
            return;
        }
        const struct rec *rec = w->initial->items[w->initial_next++];
        if (selector_matches(&w->selector, rec)) {
            print_event(w, EVENT_ADDED, rec, rec->rv);
        }
    }
}

static void fill_events(struct watch *w)
{
    const struct store *store = &w->s->store;
    if (w->cursor < store->ring_first) {
        w->is_ended = true;
        return;
    }
    while (w->cursor < store->ring_next && w->out.len < CHUNK_BYTES) {
        const struct event *event = store_event(store, w->cursor++);
        if (event->rv <= w->from_rv || event->rec->res != w->selector.res) {
            continue;
        }
        size_t before = w->out.len;
        add_event(w, event);
        w->sent_rv = w->out.len > before ? event->rv : w->sent_rv;
    }
}

/* The next one comes after the period, or shortly before the deadline. */
static void plan_bookmark(struct watch *w, uint64_t now_us)
{
    uint64_t early_us = w->deadline_us - EARLY_BOOKMARK_US;
    w->bookmark_us = now_us + w->s->options.bookmark_us;
    if (w->deadline_us != UINT64_MAX && early_us > now_us && early_us < w->bookmark_us) {
        w->bookmark_us = early_us;
    }
}

static void fill_bookmark(struct watch *w, uint64_t now_us)
{
    uint64_t rv = w->s->store.rv;
    bool is_due = now_us >= w->bookmark_us;
    if (!w->wants_bookmarks || !is_due || w->out.len > 0) {
        return;
    }
    plan_bookmark(w, now_us);
    if (rv > w->sent_rv && rv > w->from_rv) {
        print_bookmark(w, rv);
    }
}

/* Put what is due into the empty buffer. */
static void fill(struct watch *w)
{
    uint64_t now_us = clock_mono_us();
    w->out.len = 0;
    w->out_pos = 0;
    if (now_us >= w->deadline_us) {
        w->is_ended = true;
    }
    if (w->is_silent || w->is_ended || now_us < w->stale_until_us) {
        return;
    }
    fill_initial(w);
    if (w->initial == NULL) {
        fill_events(w);
        fill_bookmark(w, now_us);
    }
}

ssize_t watch_read(void *cls, uint64_t pos, char *buf, size_t max)
{
    (void)pos;
    struct watch *w = cls;
    if (w->is_broken || w->sent_bytes >= w->cut_bytes) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (w->out_pos == w->out.len) {
        fill(w);
    }
    size_t left = w->out.len - w->out_pos;
    if (left == 0) {
        if (w->is_ended) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        w->is_suspended = true;
        w->gone_check_us = clock_mono_us() + GONE_CHECK_US;
        MHD_suspend_connection(w->connection);
        return 0;
    }
    size_t part = left < max ? left : max;
    part = part < w->cut_bytes - w->sent_bytes ? part : (size_t)(w->cut_bytes - w->sent_bytes);
    memcpy(buf, w->out.data + w->out_pos, part);
    w->out_pos += part;
    w->sent_bytes += part;
    return (ssize_t)part;
}

void watch_free(void *cls)
{
    struct watch *w = cls;
    for (struct watch **at = &w->s->watches; *at != NULL; at = &(*at)->next) {
        if (*at == w) {
            *at = w->next;
            break;
        }
    }
    selector_fini(&w->selector);
    snapshot_unref(w->initial);
    strbuf_fini(&w->out);
    free(w);
}

static void resume(struct watch *w)
{
    if (w->is_suspended) {
        w->is_suspended = false;
        w->s->has_resumed = true;
        MHD_resume_connection(w->connection);
    }
}

void watch_wake(struct standin *s, enum res_id res)
{
    uint64_t now_us = s->watches != NULL ? clock_mono_us() : 0;
    for (struct watch *w = s->watches; w != NULL; w = w->next) {
        if (w->selector.res == res && !w->is_silent && now_us >= w->stale_until_us) {
            resume(w);
        }
    }
}

/* A suspended connection is not polled by the library, so a closed one is looked for here. */
static bool is_gone(const struct watch *w)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(w->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    char byte = 0;
    return info != NULL && recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns when w must be looked at again. */
static uint64_t tick(struct watch *w, uint64_t now_us)
{
    bool was_due = now_us >= w->deadline_us;
    uint64_t next_us = w->deadline_us;
    if (w->wants_bookmarks && !w->is_silent) {
        was_due = was_due || (now_us >= w->bookmark_us && now_us >= w->stale_until_us);
        next_us = smaller(next_us, now_us < w->bookmark_us ? w->bookmark_us : UINT64_MAX);
    }
    if (w->stale_until_us > 0 && !w->is_silent) {
        bool is_over = now_us >= w->stale_until_us;
        was_due = was_due || is_over;
        next_us = smaller(next_us, is_over ? UINT64_MAX : w->stale_until_us);
        w->stale_until_us = is_over ? 0 : w->stale_until_us;
    }
    if (w->is_suspended && now_us >= w->gone_check_us) {
        w->gone_check_us = now_us + GONE_CHECK_US;
        w->is_broken = is_gone(w);
        was_due = was_due || w->is_broken;
    }
    if (w->is_suspended && was_due) {
        resume(w);
    }
    return smaller(next_us, w->is_suspended ? w->gone_check_us : UINT64_MAX);
}

uint64_t watch_tick(struct standin *s, uint64_t now_us)
{
    uint64_t next_us = UINT64_MAX;
    for (struct watch *w = s->watches; w != NULL; w = w->next) {
        next_us = smaller(next_us, tick(w, now_us));
    }
    return next_us;
}

const struct watch *watch_next(const struct watch *w)
{
    return w->next;
}

size_t watch_end_all(struct standin *s)
{
    size_t count = 0;
    for (struct watch *w = s->watches; w != NULL; w = w->next) {
        w->is_ended = true;
        resume(w);
        count++;
    }
    return count;
}

static void end_with_error(struct watch *w, const struct strbuf *status)
{
    print_object(w, "ERROR", status);
    w->is_ended = true;
}

/* Set where the watch begins. */
static void set_start(struct watch *w, uint64_t rv, bool is_list)
{
    struct store *store = &w->s->store;
    struct strbuf error = {0};
    w->cursor = store->ring_next;
    w->from_rv = rv;
    w->sent_rv = rv;
    if (rv > store->rv && is_list) {
        list_print_too_large(&error, rv, store->rv);
        end_with_error(w, &error);
    } else if (rv == 0 || is_list) {
        w->initial = store_snapshot(store, w->selector.res, store->rv);
        w->from_rv = store->rv;
        w->wants_initial_end = is_list;
    } else if (rv < store->compact_rv || rv < store->tables[w->selector.res].lost_rv) {
        char text[96];
        (void)snprintf(text, sizeof(text), "too old resource version: %" PRIu64 " (%" PRIu64 ")",
                       rv, store->rv);
        status_print(&error, &(struct status){.code = 410, .reason = "Expired", .message = text});
        end_with_error(w, &error);
    } else if (rv < store->rv) {
        w->cursor = store_seek(store, rv);
    }
    strbuf_fini(&error);
}

static void apply_fault(struct watch *w, const struct request *req, uint64_t now_us)
{
    w->cut_bytes = req->cut_bytes;
    if (req->fault == NULL) {
        return;
    }
    if (req->fault->action == FAULT_SILENT) {
        w->is_silent = true;
        w->deadline_us = UINT64_MAX;
    }
    w->is_doubled = req->fault->action == FAULT_DOUBLE;
    if (req->fault->action == FAULT_STALE) {
        w->stale_until_us = now_us + req->fault->delay_us;
    }
}

void watch_serve(struct standin *s, struct request *req)
{
    uint64_t rv = 0;
    uint64_t timeout_s = 0;
    const char *timeout = request_query(req, "timeoutSeconds");
    if (!list_check_match(req, true) || !list_read_rv(req, &rv)) {
        return;
    }
    struct watch *w = xcalloc(1, sizeof(*w));
    if (!selector_parse(&w->selector, req)) {
        selector_fini(&w->selector);
        free(w);
        return;
    }
    uint64_t now_us = clock_mono_us();
    w->s = s;
    w->connection = req->connection;
    w->wants_bookmarks = request_flag(req, "allowWatchBookmarks");
    w->deadline_us = UINT64_MAX;
    if (timeout != NULL && number_parse(timeout, &timeout_s) == 0 && timeout_s > 0) {
        w->deadline_us = now_us + timeout_s * 1000000;
    }
    w->is_proto = req->wants_proto && proto_table(res_table[req->res].kind) != NULL;
    plan_bookmark(w, now_us);
    apply_fault(w, req, now_us);
    set_start(w, rv, request_flag(req, "sendInitialEvents"));
    w->next = s->watches;
    s->watches = w;
    reply_plain(req, 200, "");
    req->reply.type = w->is_proto ? PROTO_TYPE ";stream=watch" : NULL;
    req->reply.watch = w;
}
