/* SPDX-License-Identifier: Apache-2.0 */
/* client_watch.c - a stream of events on a socket of its own, resumed after every break.
 *
 * The subscription is made again, after the last number seen, when the connection came back, when
 * the daemon is another one, or when nothing came for three times the keep-alive pause. Events at
 * or below the last number are dropped, so a resumed stream doubles nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "client_endpoint.h"
#include "client_view.h"
#include "util/arena.h"
#include "util/mem.h"
#include "util/str.h"

enum { CREDIT = 256, SILENCE_MS = 30000 };

struct queued_watch {
    struct queued_client *client;
    struct link link;
    struct arena arena; /* of the request */
    Queued__V1__WatchRequest request;
    Queued__V1__RequestHeader header;
    Queued__V1__JobFilter filter;
    uint8_t id[REQUEST_ID_BYTES];
    uint8_t instance[REQUEST_ID_BYTES]; /* of the daemon that serves the stream */
    bool has_instance;
    bool is_subscribed;
    uint32_t credit;
    uint32_t taken;    /* events since credit was last given */
    uint64_t seq;      /* complete through */
    uint64_t heard_ms; /* when the daemon was last heard, or asked first */
    uint64_t asked_ms;
    uint64_t wait_ms;       /* back-off of subscriptions */
    struct link_reply left; /* a reply that the callback stopped in */
    size_t left_at;         /* its next event */
};

static char *copy(struct arena *a, const char *s)
{
    return s ? arena_strdup(a, s) : NULL;
}

static void copy_filter(struct queued_watch *w, const struct queued_filter *f)
{
    struct queued_filter mine = *f;
    const char **states = arena_alloc(&w->arena, (f->n_states + 1) * sizeof(*states));
    struct queued_pair *labels = arena_alloc(&w->arena, (f->n_labels + 1) * sizeof(*labels));

    for (size_t i = 0; i < f->n_states; i++)
        states[i] = copy(&w->arena, f->states[i]);
    for (size_t i = 0; i < f->n_labels; i++)
        labels[i] = (struct queued_pair){copy(&w->arena, f->labels[i].key),
                                         copy(&w->arena, f->labels[i].value)};
    mine.tenant = copy(&w->arena, f->tenant);
    mine.user = copy(&w->arena, f->user);
    mine.array = copy(&w->arena, f->array);
    mine.states = states;
    mine.labels = labels;
    view_filter(&w->filter, &mine, &w->arena);
}

int queued_watch_open(struct queued_client *c, const struct queued_watch_options *o,
                      struct queued_watch **ret, struct queued_error *error)
{
    struct queued_watch *w = xcalloc(1, sizeof(*w));
    struct err err;

    w->client = c;
    w->seq = o->after_seq;
    w->credit = o->credit ? o->credit : CREDIT;
    queued__v1__watch_request__init(&w->request);
    queued__v1__request_header__init(&w->header);
    copy_filter(w, &o->filter);
    w->request.header = &w->header;
    w->request.filter = &w->filter;
    w->request.job = copy(&w->arena, o->job);
    w->request.has_from_now = o->from_now;
    w->request.from_now = o->from_now;
    w->header.has_request_id = true;
    w->header.request_id = (ProtobufCBinaryData){REQUEST_ID_BYTES, w->id};
    w->wait_ms = c->options.retry_first_ms;
    w->heard_ms = link_now_ms();
    if (link_open(&w->link, c->zmq, c->endpoint, &err)) {
        queued_watch_close(w);
        return client_fail(error, &err);
    }
    *ret = w;
    return 0;
}

void queued_watch_close(struct queued_watch *w)
{
    if (!w)
        return;
    if (w->left.message)
        protobuf_c_message_free_unpacked(w->left.message, NULL);
    link_close(&w->link);
    arena_fini(&w->arena);
    free(w);
}

uint64_t queued_watch_seq(const struct queued_watch *w)
{
    return w->seq;
}

/* Ask for the events after w->seq, as a new intent. */
static void subscribe(struct queued_watch *w, uint64_t now)
{
    client_draw_id(w->id);
    w->request.has_after_seq = true;
    w->request.after_seq = w->seq;
    w->request.has_credit = true;
    w->request.credit = w->credit;
    w->is_subscribed = link_send(&w->link, QUEUED__V1__METHOD__METHOD_WATCH, &w->request.base);
    w->link.has_come_back = w->link.has_come_back && !w->is_subscribed;
    w->has_instance = false;
    w->taken = 0;
    w->asked_ms = now;
}

/* Give back the credit that was used, under the same id. */
static void give_credit(struct queued_watch *w)
{
    w->request.credit = w->taken;
    if (link_send(&w->link, QUEUED__V1__METHOD__METHOD_WATCH, &w->request.base))
        w->taken = 0;
}

static bool is_due(const struct queued_watch *w, uint64_t now)
{
    if (!w->is_subscribed || w->link.has_come_back)
        return true;
    return now - w->heard_ms > SILENCE_MS && now - w->asked_ms > SILENCE_MS;
}

static bool is_mine(const struct queued_watch *w, const struct link_reply *r)
{
    return r->method == QUEUED__V1__METHOD__METHOD_WATCH && r->header->has_request_id &&
           r->header->request_id.len == REQUEST_ID_BYTES &&
           memcmp(r->header->request_id.data, w->id, REQUEST_ID_BYTES) == 0;
}

/* Another daemon than the one that served this stream: its events may have a gap. */
static bool is_other_daemon(struct queued_watch *w, const Queued__V1__ReplyHeader *h)
{
    if (!h->has_server_instance || h->server_instance.len != REQUEST_ID_BYTES)
        return false;
    if (w->has_instance && memcmp(w->instance, h->server_instance.data, REQUEST_ID_BYTES) != 0)
        return true;
    memcpy(w->instance, h->server_instance.data, REQUEST_ID_BYTES);
    w->has_instance = true;
    return false;
}

/* Hand on the events of the reply that is left. 1: the callback ended it. */
static int hand_on(struct queued_watch *w, queued_on_event *on_event, void *ctx)
{
    const Queued__V1__WatchReply *r = (const Queued__V1__WatchReply *)w->left.message;
    int stop = 0;

    while (w->left_at < r->n_events && !stop) {
        struct queued_event e = view_event(r->events[w->left_at++]);

        w->taken++;
        if (e.seq != 0 && e.seq <= w->seq && !w->request.from_now)
            continue; /* seen before a break */
        if (e.seq > w->seq)
            w->seq = e.seq;
        w->request.has_from_now = false; /* from here on there is a number to resume from */
        w->request.from_now = false;
        stop = on_event(&e, ctx) != 0;
    }
    if (w->left_at < r->n_events)
        return stop;
    if (r->has_complete_through && r->complete_through > w->seq)
        w->seq = r->complete_through;
    if (r->has_complete_through)
        w->request.has_from_now = w->request.from_now = false;
    protobuf_c_message_free_unpacked(w->left.message, NULL);
    w->left = (struct link_reply){0};
    if (w->taken >= w->credit / 2 + 1)
        give_credit(w);
    return stop;
}

/* What a reply of this stream says beside events. 0: it has some; 1: ask again; -1: it is over. */
static int judge(struct queued_watch *w, const struct link_reply *r, struct err *err)
{
    const Queued__V1__WatchReply *m = (const Queued__V1__WatchReply *)r->message;
    uint32_t code = r->header->code;

    if (code == ERR_OK)
        return 0;
    if (code == ERR_UNAVAILABLE || code == ERR_NOT_LEADER) {
        w->is_subscribed = false;
        return 1;
    }
    if (code == ERR_OUT_OF_RANGE && w->seq == 0 && m->oldest_seq > 1) {
        w->seq = m->oldest_seq - 1; /* all that are kept were asked for: they begin here */
        w->is_subscribed = false;
        w->asked_ms = 0;
        return 1;
    }
    (void)client_refused(r->header, err);
    if (code == ERR_OUT_OF_RANGE)
        return err_set(err, ERR_OUT_OF_RANGE,
                       "events after %llu are gone, the oldest is %llu; list the jobs and watch "
                       "from there",
                       (unsigned long long)w->seq, (unsigned long long)m->oldest_seq);
    return -1;
}

/* One look at the socket. 1: the callback ended it. */
static int step(struct queued_watch *w, uint64_t wait_ms, queued_on_event *on_event, void *ctx,
                struct err *err)
{
    struct link_reply r;
    int rc = link_receive(&w->link, wait_ms, &r, err);

    if (rc <= 0)
        return rc;
    if (!is_mine(w, &r) || is_other_daemon(w, r.header)) {
        w->is_subscribed = w->is_subscribed && !is_mine(w, &r);
        protobuf_c_message_free_unpacked(r.message, NULL);
        return 0;
    }
    w->heard_ms = link_now_ms();
    w->wait_ms = w->client->options.retry_first_ms;
    rc = judge(w, &r, err);
    if (rc) {
        protobuf_c_message_free_unpacked(r.message, NULL);
        return rc < 0 ? -1 : 0;
    }
    w->left = r;
    w->left_at = 0;
    return hand_on(w, on_event, ctx);
}

/* A subscription that could not be made, or was refused for now, is tried again after a pause. */
static bool may_ask(struct queued_watch *w, uint64_t now)
{
    if (w->link.has_come_back || w->asked_ms == 0)
        return true;
    if (now - w->asked_ms < w->wait_ms)
        return false;
    (void)client_next_wait(w->client, &w->wait_ms);
    return true;
}

int queued_watch_next(struct queued_watch *w, int64_t wait_ms, queued_on_event *on_event, void *ctx,
                      struct queued_error *error)
{
    uint64_t now = link_now_ms();
    uint64_t end = wait_ms < 0 ? UINT64_MAX : now + (uint64_t)wait_ms;
    struct err err;
    int rc = 0;

    if (w->left.message)
        rc = hand_on(w, on_event, ctx);
    for (; rc == 0 && now < end; now = link_now_ms()) {
        if (is_due(w, now) && may_ask(w, now))
            subscribe(w, now);
        rc = step(w, end - now, on_event, ctx, &err);
    }
    return rc < 0 ? client_fail(error, &err) : rc;
}
