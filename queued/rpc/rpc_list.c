/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_list.c - jobs in pages, by ascending id.
 *
 * No snapshot is kept: a page token is the last id with a digest of the filter. A page ends when
 * it is full, big, or has cost enough; the client asks on.
 */
#include <sodium.h>
#include <string.h>

#include "core/array.h"
#include "rpc/rpc_call.h"
#include "util/mem.h"

enum {
    LIST_BYTES_MAX = 1024 * 1024, /* then the page ends; one job may be bigger */
    LIST_WORK_MAX = 50000,
    WORK_OF_SPEC = 20,
    DIGEST_BYTES = RPC_TOKEN_BYTES - 8,
};

static void feed(crypto_generichash_state *hash, const char *text)
{
    (void)crypto_generichash_update(hash, (const uint8_t *)text, strlen(text) + 1);
}

/* Of everything that decides which jobs are in the list. */
static void digest_filter(const struct rpc_call *c, uint8_t digest[DIGEST_BYTES])
{
    const struct rpc_filter *f = &c->req->filter;
    uint32_t numbers[3] = {f->all, f->states, c->who->caller.uid};
    crypto_generichash_state hash;

    (void)crypto_generichash_init(&hash, NULL, 0, DIGEST_BYTES);
    (void)crypto_generichash_update(&hash, (const uint8_t *)numbers, sizeof(numbers));
    feed(&hash, f->tenant);
    feed(&hash, f->user);
    if (f->array && *f->array)
        feed(&hash, f->array);
    for (uint32_t i = 0; i < f->labels.n; i++) {
        feed(&hash, f->labels.v[i].key);
        feed(&hash, f->labels.v[i].value);
    }
    (void)crypto_generichash_final(&hash, digest, DIGEST_BYTES);
}

static bool has_label(const struct spec *s, const struct spec_pair *wanted)
{
    for (uint32_t i = 0; i < s->labels.n; i++)
        if (strcmp(s->labels.v[i].key, wanted->key) == 0)
            return strcmp(s->labels.v[i].value, wanted->value) == 0;
    return false;
}

static bool has_labels(const struct spec *s, const struct spec_pairs *wanted)
{
    for (uint32_t i = 0; i < wanted->n; i++)
        if (!has_label(s, &wanted->v[i]))
            return false;
    return true;
}

bool rpc_labels_match(const struct store_port *store, struct job_id id,
                      const struct spec_pairs *wanted)
{
    struct spec *spec = NULL;
    bool is_match;

    if (wanted->n == 0)
        return true;
    if (store->read_spec(store->ctx, id, &spec, NULL))
        return false; /* damaged or gone: the store has said so */
    is_match = has_labels(spec, wanted);
    spec_destroy(spec);
    return is_match;
}

/* array: only its indices; NULL: no index. */
static bool is_wanted(const struct rpc_call *c, const struct job *j, const struct job *array)
{
    const struct rpc_filter *f = &c->req->filter;

    if (j->array_id.v != (array ? array->id.v : 0))
        return false;
    if (array)
        return !f->states || (f->states & UINT32_C(1) << j->state);
    if (!rpc_auth_sees(c->who, j->tenant))
        return false;
    if (!f->all && !*f->user && j->uid != c->who->caller.uid)
        return false;
    if (*f->user && strcmp(j->user, f->user) != 0)
        return false;
    if (*f->tenant && !rpc_auth_is_within(j->tenant, f->tenant))
        return false;
    return !f->states || (f->states & UINT32_C(1) << array_shown_state(j));
}

/* Add a job that passed is_wanted(), unless its labels say no. */
static void add(struct rpc_call *c, const struct job *j)
{
    const struct store_port *store = &c->setup->store;
    struct rpc_job_view v = {.state = c->state, .job = j, .full = c->req->u.list.full};
    struct spec *spec = NULL;
    struct estimate eta;
    struct explain why;

    if (v.full || c->req->filter.labels.n > 0) {
        c->work += WORK_OF_SPEC;
        (void)store->read_spec(store->ctx, job_spec_id(j), &spec,
                               NULL); /* damaged: shown without */
        if (c->req->filter.labels.n > 0 && (!spec || !has_labels(spec, &c->req->filter.labels))) {
            spec_destroy(spec);
            return;
        }
    }
    v.spec = spec;
    v.why = rpc_job_explain(c, j, &why);
    v.eta = rpc_job_estimate(c, j, &eta);
    rpc_out_add_job(c->out, &v);
    rpc_out_keep(c->out, spec);
}

static uint64_t last_of(const uint8_t token[RPC_TOKEN_BYTES])
{
    uint64_t id = 0;

    for (int i = 0; i < 8; i++)
        id = id << 8 | token[i];
    return id;
}

static int begin_after(const struct rpc_call *c, const uint8_t digest[DIGEST_BYTES],
                       struct job_id *ret, struct err *err)
{
    if (!c->req->u.list.has_token)
        return 0;
    if (memcmp(c->req->u.list.token + 8, digest, DIGEST_BYTES) != 0)
        return err_set(err, ERR_INVALID,
                       "page_token: belongs to another filter: begin the list again");
    ret->v = last_of(c->req->u.list.token);
    return 0;
}

int rpc_job_list(struct rpc_call *c, struct err *err)
{
    const struct rpc_filter *f = &c->req->filter;
    uint8_t token[RPC_TOKEN_BYTES];
    const struct job *array = NULL;
    struct job_id last = {0};
    bool more = false;

    if (*f->tenant && !rpc_auth_sees(c->who, f->tenant))
        return err_set(err, ERR_NOT_FOUND, "no tenant %s that you may see", f->tenant);
    if (f->array && *f->array && rpc_job_find(c, f->array, &array, err))
        return -1;
    digest_filter(c, token + 8);
    if (begin_after(c, token + 8, &last, err))
        return -1;
    for (size_t i = state_jobs_after(c->state, last); i < c->state->by_id.n && !more; i++) {
        const struct job *j = c->state->by_id.v[i];

        more = c->out->items.n >= c->req->u.list.limit || c->out->items_bytes > LIST_BYTES_MAX ||
               c->work > LIST_WORK_MAX;
        if (more)
            break;
        last = j->id;
        c->work++;
        if (is_wanted(c, j, array))
            add(c, j);
    }
    for (int i = 0; i < 8; i++)
        token[i] = (uint8_t)(last.v >> (56 - 8 * i));
    rpc_out_list(c->out, &c->head, more ? token : NULL);
    return 0;
}

/* ---- a change of all that match */

/* Their ids in the event. -1: one of them is not the caller's to change. */
static int collect(struct rpc_call *c, struct ev_selected *ev, const char *word, struct err *err)
{
    const struct rpc_filter *f = &c->req->filter;

    c->work += c->state->by_id.n / 16;
    for (size_t i = 0; i < c->state->by_id.n; i++) {
        const struct job *j = c->state->by_id.v[i];

        if (!is_wanted(c, j, NULL))
            continue;
        c->work += f->labels.n ? WORK_OF_SPEC : 1;
        if (!rpc_labels_match(&c->setup->store, job_spec_id(j), &f->labels))
            continue;
        if (rpc_auth_change(c->who, j, word, err))
            return -1;
        *vec_push(&ev->jobs) = j->id;
    }
    return 0;
}

int rpc_job_change_selected(struct rpc_call *c, struct err *err)
{
    const struct rpc_filter *f = &c->req->filter;
    struct rpc_pending p = rpc_job_pending(c);
    struct event ev = {.kind = EV_JOBS_SELECTED};
    struct ev_selected *change = ev.u.selected = xcalloc(1, sizeof(*change));
    const char *word = rpc_job_verb(c->req->u.change.method, &change->verb);
    int rc = 0;

    if (!word)
        rc = err_set(err, ERR_INVALID, "method: %u is no change of a job", c->req->u.change.method);
    else if (*f->tenant && !rpc_auth_sees(c->who, f->tenant))
        rc = err_set(err, ERR_NOT_FOUND, "no tenant %s that you may see", f->tenant);
    else
        rc = collect(c, change, word, err);
    change->caller = c->who->caller;
    change->grace_us = c->req->u.change.grace_us;
    if (*c->req->u.change.reason)
        change->why = xstrdup(c->req->u.change.reason);
    if (rc || rpc_job_post(c, &ev, &change->ref, &p, err)) {
        event_fini(&ev);
        return -1;
    }
    return 0;
}
