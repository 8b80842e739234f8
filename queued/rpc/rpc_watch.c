/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_watch.c - one list of watches, pushed on by new events and by time. */
#include "rpc/rpc_watch.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_call.h"
#include "util/log.h"

enum { BATCH_NOTES_MAX = 256, RETRY_MS = 100 };

struct watch {
    uint32_t peer;
    uint32_t uid;
    uint8_t request_id[REQUEST_ID_BYTES];
    struct rpc_request req; /* the filter, owned */
    bool has_user;          /* filter by this owner */
    uint32_t user_uid;
    struct job_id job; /* 0: any */
    uint64_t next_seq;
    uint32_t credit;
    usec_t sent_at;
    usec_t full_since; /* 0: the peer takes what is sent */
    bool is_over;      /* to be removed */
};

struct rpc_watches {
    struct rpc_watch_env env;
    struct rpc_out out;
    VEC(struct job_note) notes; /* of one batch */
    VEC(struct watch *) list;
};

struct rpc_watches *rpc_watches_create(const struct rpc_watch_env *env)
{
    struct rpc_watches *w = xcalloc(1, sizeof(*w));

    w->env = *env;
    return w;
}

static void watch_destroy(struct watch *w)
{
    rpc_request_fini(&w->req);
    free(w);
}

void rpc_watches_destroy(struct rpc_watches *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->list.n; i++)
        watch_destroy(w->list.v[i]);
    vec_fini(&w->list);
    vec_fini(&w->notes);
    rpc_out_fini(&w->out);
    free(w);
}

size_t rpc_watches_count(const struct rpc_watches *w)
{
    return w->list.n;
}

static uint64_t newest_seq(const struct rpc_watches *w)
{
    return w->env.setup->state->meta.next_seq - 1;
}

static struct rpc_head head_of(const struct rpc_watches *w, const struct watch *one)
{
    struct rpc_head h = {.instance = w->env.instance, .text = "", .as_of_seq = newest_seq(w)};

    memcpy(h.request_id, one->request_id, REQUEST_ID_BYTES);
    return h;
}

/* Send what is in out. true: the peer has it. */
static bool push(struct rpc_watches *w, struct watch *one, usec_t now)
{
    enum rpc_sent sent = w->env.send(w->env.send_ctx, one->peer, w->out.bytes, w->out.len);

    if (sent == RPC_SENT) {
        one->sent_at = now;
        one->full_since = 0;
        return true;
    }
    if (sent == RPC_FULL && !one->full_since)
        one->full_since = now;
    one->is_over = sent == RPC_GONE;
    return false;
}

/* End a watch with a last word. */
static void end(struct rpc_watches *w, struct watch *one, const struct err *why, usec_t now)
{
    struct rpc_head h = head_of(w, one);

    h.code = why->code;
    h.text = why->text;
    rpc_out_begin(&w->out);
    rpc_out_watch(&w->out, &h, one->next_seq - 1, w->env.setup->state->meta.oldest_seq);
    (void)push(w, one, now); /* it is over either way */
    one->is_over = true;
}

static bool is_wanted(const struct rpc_watches *w, const struct watch *one,
                      const struct rpc_who *who, const struct job_note *note)
{
    const struct rpc_filter *f = &one->req.filter;
    const struct job *j;

    if (!rpc_auth_sees(who, note->tenant))
        return false;
    if (one->job.v && one->job.v != note->job.v)
        return false;
    if (!one->job.v && !f->all && !one->has_user && note->uid != one->uid)
        return false;
    if (one->has_user && note->uid != one->user_uid)
        return false;
    if (*f->tenant && !rpc_auth_is_within(note->tenant, f->tenant))
        return false;
    if (f->states && !(f->states & UINT32_C(1) << note->to))
        return false;
    j = f->labels.n ? state_job(w->env.setup->state, note->job) : NULL;
    return rpc_labels_match(&w->env.setup->store, j ? job_spec_id(j) : note->job, &f->labels);
}

/* Who the watcher is now; ends the watch when they have lost their rights. */
static bool identify(struct rpc_watches *w, struct watch *one, usec_t now, struct rpc_who *ret)
{
    struct err err;

    if (rpc_auth_uid(w->env.auth, one->uid, now, ret, &err) == 0)
        return true;
    end(w, one, &err, now);
    return false;
}

/* Notes are copied out of the read first: a filter may read the store, too. */
static bool take_note(void *arg, const struct job_note *note)
{
    struct rpc_watches *w = arg;

    *vec_push(&w->notes) = *note;
    return w->notes.n < BATCH_NOTES_MAX;
}

static bool is_too_old(struct rpc_watches *w, struct watch *one, usec_t now)
{
    uint64_t oldest = w->env.setup->state->meta.oldest_seq;
    struct err err;

    if (one->next_seq >= oldest)
        return false;
    err_set(&err, ERR_OUT_OF_RANGE,
            "events before %" PRIu64 " are no longer kept: list, then watch from its as_of_seq",
            oldest);
    end(w, one, &err, now);
    return true;
}

/* Put what the watcher wants into out. Returns the last number that was looked at. */
static uint64_t filter_notes(struct rpc_watches *w, const struct watch *one,
                             const struct rpc_who *who)
{
    uint64_t through = one->next_seq - 1;

    for (size_t i = 0; i < w->notes.n && w->out.items.n < one->credit; i++) {
        through = w->notes.v[i].seq;
        if (is_wanted(w, one, who, &w->notes.v[i]))
            rpc_out_add_note(&w->out, &w->notes.v[i]);
    }
    return through;
}

static bool is_behind(const struct rpc_watches *w, const struct watch *one)
{
    return one->next_seq <= newest_seq(w);
}

static void keep_alive(struct rpc_watches *w, struct watch *one, usec_t now)
{
    struct rpc_head h = head_of(w, one);

    rpc_out_begin(&w->out);
    rpc_out_watch(&w->out, &h, one->next_seq - 1, 0);
    (void)push(w, one, now); /* a later tick tries again */
}

/* One batch from the store. Leaves the cursor where it was when the peer cannot take it. */
static void replay(struct rpc_watches *w, struct watch *one, usec_t now)
{
    const struct store_port *store = &w->env.setup->store;
    struct rpc_head h = head_of(w, one);
    struct rpc_who who;
    struct err err;
    uint64_t through;

    if (is_too_old(w, one, now) || !identify(w, one, now, &who))
        return;
    w->notes.n = 0;
    if (store->read_notes(store->ctx, (struct note_range){one->next_seq, BATCH_NOTES_MAX},
                          take_note, w, &err)) {
        log_error("events cannot be read, a watch ends", "err=\"%s\"", err.text);
        end(w, one, &err, now);
        return;
    }
    rpc_out_begin(&w->out);
    through = filter_notes(w, one, &who);
    if (w->out.items.n > 0) {
        uint32_t n = (uint32_t)w->out.items.n;

        rpc_out_watch(&w->out, &h, through, 0);
        if (!push(w, one, now))
            return;
        one->credit -= n;
    }
    one->next_seq = through + 1;
    if (w->out.items.n == 0 && !is_behind(w, one))
        keep_alive(w, one, now); /* who waits for the end of what there was has it */
}

static void sweep(struct rpc_watches *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->list.n; i++) {
        if (w->list.v[i]->is_over)
            watch_destroy(w->list.v[i]);
        else
            w->list.v[kept++] = w->list.v[i];
    }
    w->list.n = kept;
}

void rpc_watches_note(struct rpc_watches *w, const struct job_note *note, usec_t now)
{
    for (size_t i = 0; i < w->list.n; i++) {
        struct watch *one = w->list.v[i];
        struct rpc_head h = head_of(w, one);
        struct rpc_who who;

        if (one->next_seq != note->seq || !identify(w, one, now, &who))
            continue; /* behind: the store has it */
        if (is_wanted(w, one, &who, note)) {
            if (one->credit == 0)
                continue;
            rpc_out_begin(&w->out);
            rpc_out_add_note(&w->out, note);
            rpc_out_watch(&w->out, &h, note->seq, 0);
            if (!push(w, one, now))
                continue;
            one->credit--;
        }
        one->next_seq++;
    }
    sweep(w);
}

/* What is due for one watch; returns when it is due again. */
static usec_t tick_one(struct rpc_watches *w, struct watch *one, usec_t now)
{
    uint64_t before = one->next_seq;

    if (one->credit > 0 && is_behind(w, one))
        replay(w, one, now);
    if (!one->is_over && now - one->sent_at >= RPC_KEEPALIVE_SEC * USEC_PER_SEC)
        keep_alive(w, one, now);
    if (one->full_since && now - one->full_since > RPC_SLOW_SEC * USEC_PER_SEC) {
        log_warn("watch dropped: its reader is too slow", "uid=%u", one->uid);
        one->is_over = true;
    }
    if (one->is_over)
        return INT64_MAX;
    if (one->full_since)
        return now + RETRY_MS * USEC_PER_MSEC;
    if (one->credit > 0 && is_behind(w, one)) /* nothing read: not stored yet, or set aside */
        return one->next_seq == before ? now + RETRY_MS * USEC_PER_MSEC : now;
    return one->sent_at + RPC_KEEPALIVE_SEC * USEC_PER_SEC;
}

usec_t rpc_watches_tick(struct rpc_watches *w, usec_t now)
{
    usec_t next = INT64_MAX;

    for (size_t i = 0; i < w->list.n; i++) {
        usec_t due = tick_one(w, w->list.v[i], now);

        next = due < next ? due : next;
    }
    sweep(w);
    return next;
}

static struct watch *find(struct rpc_watches *w, uint32_t peer, const uint8_t *request_id,
                          unsigned *ret_of_peer)
{
    *ret_of_peer = 0;
    for (size_t i = 0; i < w->list.n; i++) {
        struct watch *one = w->list.v[i];

        if (one->peer != peer)
            continue;
        if (memcmp(one->request_id, request_id, REQUEST_ID_BYTES) == 0)
            return one;
        ++*ret_of_peer;
    }
    return NULL;
}

static int resolve_user(const struct rpc_filter *f, struct watch *one, struct err *err)
{
    struct passwd pw, *found = NULL;
    char buf[4096];

    if (!*f->user)
        return 0;
    if (getpwnam_r(f->user, &pw, buf, sizeof(buf), &found) != 0 || !found)
        return err_set(err, ERR_NOT_FOUND, "no user %s in the server's user database", f->user);
    one->has_user = true;
    one->user_uid = (uint32_t)found->pw_uid;
    return 0;
}

/* Fill in what the request asks for. OUT_OF_RANGE: its events are not (or not yet) there. */
static int set_up(struct rpc_call *c, struct watch *one, struct err *err)
{
    const struct store_meta *meta = &c->state->meta;
    const struct rpc_filter *f = &c->req->filter;
    uint64_t after = c->req->u.watch.from_now ? meta->next_seq - 1 : c->req->u.watch.after_seq;
    const struct job *j;

    if (*c->req->job && rpc_job_find(c, c->req->job, &j, err))
        return -1;
    if (*f->tenant && !rpc_auth_sees(c->who, f->tenant))
        return err_set(err, ERR_NOT_FOUND, "no tenant %s that you may see", f->tenant);
    if (resolve_user(f, one, err))
        return -1;
    if (after >= meta->next_seq || after + 1 < meta->oldest_seq)
        return err_set(err, ERR_OUT_OF_RANGE,
                       "event %" PRIu64 " is not kept here (%" PRIu64 "..%" PRIu64 "): list, then "
                       "watch from its as_of_seq",
                       after, meta->oldest_seq, meta->next_seq - 1);
    one->job = *c->req->job ? j->id : (struct job_id){0};
    one->next_seq = after + 1;
    one->credit = c->req->u.watch.credit;
    one->peer = c->peer;
    one->uid = c->who->caller.uid;
    one->sent_at = c->now;
    memcpy(one->request_id, c->req->request_id, REQUEST_ID_BYTES);
    return 0;
}

static int add_credit(struct rpc_call *c, struct watch *one)
{
    uint64_t credit = (uint64_t)one->credit + c->req->u.watch.credit;

    one->credit = credit > RPC_CREDIT_MAX ? RPC_CREDIT_MAX : (uint32_t)credit;
    c->is_later = true; /* events are the answer; the next tick sends them */
    return 0;
}

int rpc_watch_open(struct rpc_call *c, struct err *err)
{
    struct rpc_watches *w = c->watches;
    unsigned of_peer;
    struct watch *one = find(w, c->peer, c->req->request_id, &of_peer);

    if (one && one->uid == c->who->caller.uid)
        return add_credit(c, one);
    if (one || of_peer >= RPC_PEER_WATCHES_MAX || w->list.n >= RPC_WATCHES_MAX)
        return err_set(err, ERR_EXHAUSTED, "too many watches: %d a connection, %d in all",
                       RPC_PEER_WATCHES_MAX, RPC_WATCHES_MAX);
    one = xcalloc(1, sizeof(*one));
    if (set_up(c, one, err)) {
        free(one);
        if (!err || err->code != ERR_OUT_OF_RANGE)
            return -1;
        c->head.code = ERR_OUT_OF_RANGE;
        c->head.text = err->text;
        rpc_out_watch(c->out, &c->head, c->state->meta.next_seq - 1, c->state->meta.oldest_seq);
        return 0;
    }
    one->req = *c->req; /* its strings now belong to the watch */
    *c->req = (struct rpc_request){.job = ""};
    *vec_push(&w->list) = one;
    rpc_out_watch(c->out, &c->head, one->next_seq - 1, 0);
    return 0;
}
