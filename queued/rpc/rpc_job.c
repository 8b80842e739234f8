/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_job.c - one job: submissions and changes become events, get and why are answered
 * from the state.
 *
 * Looking up sees only jobs of the caller's tenants, so that a foreign job and none look alike.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_array.h"
#include "rpc/rpc_call.h"
#include "rpc/rpc_digest.h"
#include "util/mem.h"
#include "util/str.h"
#include "view/defrag.h"

struct rpc_pending rpc_job_pending(const struct rpc_call *c)
{
    struct rpc_pending p = {.peer = c->peer, .method = c->req->method};
    usec_t keep = RPC_TOKEN_KEEP_SEC * USEC_PER_SEC;

    memcpy(p.request_id, c->req->request_id, REQUEST_ID_BYTES);
    if (c->req->deadline_ms)
        keep = c->req->deadline_ms * USEC_PER_MSEC;
    p.expire_at = c->now + keep;
    return p;
}

int rpc_job_post(struct rpc_call *c, struct event *ev, struct request_ref *ref,
                 const struct rpc_pending *p, struct err *err)
{
    struct rpc_pending back;

    ref->uid = c->who->caller.uid;
    memcpy(ref->request_id, c->req->request_id, REQUEST_ID_BYTES);
    ref->reply_token = rpc_tokens_take(c->tokens, p);
    if (!ref->reply_token) {
        c->head.retry_after_ms = RPC_RETRY_MS;
        return err_set(err, ERR_EXHAUSTED,
                       "more than %d unanswered requests on this connection: wait for answers",
                       RPC_PEER_TOKENS_MAX);
    }
    if (!inbox_push(c->setup->inbox, ev)) {
        (void)rpc_tokens_give(c->tokens, ref->reply_token, &back); /* was taken just now */
        c->head.retry_after_ms = RPC_RETRY_MS;
        return err_set(err, ERR_EXHAUSTED, "the server has too much to do: try again");
    }
    c->is_later = true;
    return 0;
}

int rpc_job_submit(struct rpc_call *c, struct err *err)
{
    struct spec *spec = c->req->u.submit.spec;
    struct rpc_pending p = rpc_job_pending(c);
    struct event ev = {.kind = EV_JOB_SUBMIT};
    struct ev_submit *submit = &ev.u.submit;
    const char *tenant;

    if (rpc_auth_tenant(c->who, c->state->settings, spec->tenant, &tenant, err))
        return -1;
    spec->tenant = arena_strdup(&spec->arena, tenant);
    /* before spec_check() fills in defaults: the same file is the same job after they changed */
    rpc_digest(spec, submit->digest);
    if (spec_check(spec, c->state->settings, err))
        return -1;
    submit->caller = c->who->caller;
    submit->spec = spec;
    submit->is_dry_run = p.is_dry_run = c->req->u.submit.is_dry_run;
    submit->require_feasible = c->req->u.submit.require_feasible;
    p.gpus = spec_gpus(spec);
    (void)str_copy(p.tenant, sizeof(p.tenant), spec->tenant); /* both were checked to fit */
    (void)str_copy(p.ns, sizeof(p.ns), spec->ns);
    if (rpc_job_post(c, &ev, &submit->ref, &p, err))
        return -1;
    c->req->u.submit.spec = NULL;
    return 0;
}

void rpc_job_part_text(const struct indices *part, struct rpc_pending *p)
{
    struct str text = {0};

    indices_format(&text, part, 0);
    if (part->n && !str_copy(p->part, sizeof(p->part), str_text(&text)))
        (void)str_copy(p->part, sizeof(p->part), "...");
    str_fini(&text);
}

const char *rpc_job_verb(uint32_t method, enum job_verb *ret)
{
    static const struct {
        enum rpc_method method;
        enum job_verb verb;
        const char *word;
    } verbs[] = {
        {RPC_CANCEL, VERB_CANCEL, "cancel"},
        {RPC_HOLD, VERB_HOLD, "hold"},
        {RPC_RELEASE, VERB_RELEASE, "release"},
        {RPC_REQUEUE, VERB_REQUEUE, "requeue"},
        {RPC_PREEMPT, VERB_PREEMPT, "preempt"},
        {RPC_CHECKPOINTED, VERB_CHECKPOINTED, "tell checkpoints of"},
    };

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (verbs[i].method == method) {
            *ret = verbs[i].verb;
            return verbs[i].word;
        }
    }
    return NULL;
}

int rpc_job_change(struct rpc_call *c, struct err *err)
{
    struct rpc_pending p = rpc_job_pending(c);
    struct event ev = {.kind = EV_JOB_VERB};
    struct ev_verb *change = &ev.u.verb;
    const char *word = rpc_job_verb(c->req->method, &change->verb);
    const struct job *j;

    if (rpc_job_find_part(c, c->req->job, &j, &change->part, err) ||
        rpc_auth_change(c->who, j, word, err)) {
        indices_fini(&change->part);
        return -1;
    }
    if (change->part.n && c->req->method == RPC_CHECKPOINTED) {
        (void)err_set(err, ERR_CONFLICT, "%s: name one index that runs", c->req->job);
        indices_fini(&change->part);
        return -1;
    }
    if (change->part.n > 1 && c->req->u.change.grace_us) {
        (void)err_set(err, ERR_INVALID, "%s: a grace is for a whole job or one index", c->req->job);
        indices_fini(&change->part);
        return -1;
    }
    rpc_job_part_text(&change->part, &p);
    change->grace_us = c->req->u.change.grace_us;
    change->caller = c->who->caller;
    change->job = j->id;
    if (*c->req->u.change.reason)
        change->why = xstrdup(c->req->u.change.reason);
    if (rpc_job_post(c, &ev, &change->ref, &p, err)) {
        event_fini(&ev);
        return -1;
    }
    return 0;
}

struct search {
    const char *what;
    size_t len;
    uint64_t low, high; /* ids that begin with it; low > high: none */
    const struct job *found;
    unsigned n;
    char names[160]; /* of those that match */
};

/* The ids that a prefix stands for. */
static void id_range(struct search *s)
{
    char text[JOB_ID_TEXT + 1] = "0000000000000";
    struct job_id id;

    s->low = 1;
    s->high = 0;
    if (s->len > JOB_ID_TEXT)
        return;
    memcpy(text, s->what, s->len);
    if (job_id_parse(text, &id))
        return;
    s->low = id.v;
    memset(text + s->len, 'v', JOB_ID_TEXT - s->len);
    s->high = job_id_parse(text, &id) ? UINT64_MAX : id.v; /* beyond 64 bits */
}

static bool is_prefix_of(const struct search *s, const struct job *j)
{
    return (!j->array_id.v && strncmp(j->name, s->what, s->len) == 0) ||
           (j->id.v >= s->low && j->id.v <= s->high);
}

static void note_match(struct search *s, const struct job *j)
{
    size_t len = strlen(s->names);

    if (s->found == j)
        return;
    s->found = j;
    s->n++;
    if (len + JOB_SHOWN_MAX + 3 >= sizeof(s->names))
        return;
    (void)str_copy(s->names + len, sizeof(s->names) - len, len ? ", " : "");
    len = strlen(s->names);
    (void)str_copy(s->names + len, sizeof(s->names) - len, j->name);
}

/* By a whole id or name, through the indices. Names are unique in a namespace. */
static void find_exact(struct rpc_call *c, struct search *s)
{
    const struct settings *settings = c->state->settings;
    char key[LABEL_MAX + 1 + JOB_SHOWN_MAX + 1];
    struct job *j = NULL;
    struct job_id id;

    if (job_id_parse(s->what, &id) == 0)
        j = state_job(c->state, id);
    if (j && rpc_auth_sees(c->who, j->tenant))
        note_match(s, j);
    for (uint32_t t = 0; t < settings->n_tenants && s->len <= JOB_SHOWN_MAX; t++) {
        for (uint32_t n = 0; n < settings->tenants[t].n_namespaces; n++) {
            (void)snprintf(key, sizeof(key), "%s/%s", settings->tenants[t].namespaces[n], s->what);
            HASH_FIND(hh_name, c->state->jobs_by_name, key, strlen(key), j);
            if (j && rpc_auth_sees(c->who, j->tenant))
                note_match(s, j);
        }
    }
}

static void find_prefix(struct rpc_call *c, struct search *s)
{
    const struct job *exact = NULL;

    id_range(s);
    for (size_t i = 0; i < c->state->by_id.n; i++) {
        const struct job *j = c->state->by_id.v[i];

        if (!is_prefix_of(s, j) || !rpc_auth_sees(c->who, j->tenant))
            continue;
        note_match(s, j);
        if (strcmp(j->name, s->what) == 0) /* in a namespace that left the configuration */
            exact = j;
    }
    c->work += c->state->by_id.n / 16;
    if (exact) {
        s->found = exact;
        s->n = 1;
    }
}

/* "@last": the newest job of the caller. */
static void find_last(struct rpc_call *c, struct search *s)
{
    size_t i = c->state->by_id.n;

    while (i-- > 0 && s->n == 0) {
        const struct job *j = c->state->by_id.v[i];

        if (!j->array_id.v && j->uid == c->who->caller.uid && rpc_auth_sees(c->who, j->tenant))
            note_match(s, j);
    }
    c->work += (c->state->by_id.n - (i + 1)) / 16;
}

static int find_job(struct rpc_call *c, const char *what, const struct job **ret, struct err *err)
{
    struct search s = {.what = what, .len = strlen(what)};

    if (strcmp(what, "@last") == 0)
        find_last(c, &s);
    else
        find_exact(c, &s);
    if (s.n == 0 && *what != '@')
        find_prefix(c, &s);
    if (s.n > 1)
        return err_set(err, ERR_INVALID, "%s names %u jobs (%s%s): write more of it, or the id",
                       what, s.n, s.names, s.n > 3 ? " ..." : "");
    if (s.n == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no job %s that you may see: queuectl list -A shows them", what);
    *ret = s.found;
    return 0;
}

int rpc_job_find_part(struct rpc_call *c, const char *what, const struct job **ret,
                      struct indices *ret_part, struct err *err)
{
    const char *indices = NULL, *name = rpc_array_split(&c->req->arena, what, &indices);

    *ret_part = (struct indices){.n = 0};
    if (find_job(c, name ? name : what, ret, err))
        return -1;
    return name ? rpc_array_part(c->state, ret, indices, ret_part, err) : 0;
}

int rpc_job_find(struct rpc_call *c, const char *what, const struct job **ret, struct err *err)
{
    struct indices part;
    int rc = rpc_job_find_part(c, what, ret, &part, err);

    if (rc == 0 && part.n > 1)
        rc = err_set(err, ERR_INVALID, "%s: name one index", what);
    else if (rc == 0 && part.n)
        rc = rpc_array_missing(*ret, part.ranges.v[0].from, err);
    indices_fini(&part);
    return rc;
}

const struct explain *rpc_job_explain(struct rpc_call *c, const struct job *j, struct explain *buf)
{
    if (j->state != JOB_HELD && j->state != JOB_PENDING && j->state != JOB_BINDING &&
        j->state != JOB_STARTING)
        return NULL;
    explain_job(c->state, j, c->now, buf);
    c->work += 20;
    return buf;
}

const struct estimate *rpc_job_estimate(struct rpc_call *c, const struct job *j,
                                        struct estimate *buf)
{
    if (j->state != JOB_PENDING)
        return NULL;
    estimate_of(c->estimates, c->state, j, c->now, buf);
    return buf;
}

/* A job, or an index of an array that has none. */
static int find_shown(struct rpc_call *c, struct rpc_job_view *v, struct err *err)
{
    struct indices part;
    int rc = rpc_job_find_part(c, c->req->job, &v->job, &part, err);

    v->is_index = part.n == 1;
    v->index = v->is_index ? part.ranges.v[0].from : 0;
    if (rc == 0 && part.n > 1)
        rc = err_set(err, ERR_INVALID, "%s: name one index", c->req->job);
    indices_fini(&part);
    return rc;
}

int rpc_job_get(struct rpc_call *c, struct err *err)
{
    struct rpc_job_view v = {.state = c->state, .full = true};
    struct spec *spec = NULL;
    struct estimate eta;
    struct explain why;

    if (find_shown(c, &v, err))
        return -1;
    if (c->setup->store.read_spec(c->setup->store.ctx, job_spec_id(v.job), &spec, NULL))
        c->head.text = "the stored spec of this job cannot be read; the daemon's log says why";
    v.spec = spec;
    if (v.is_index) {
        explain_index(c->state, v.job, v.index, c->now, &why);
        v.why = &why;
    } else {
        v.why = rpc_job_explain(c, v.job, &why);
        v.eta = rpc_job_estimate(c, v.job, &eta);
    }
    rpc_out_get(c->out, &c->head, &v);
    spec_destroy(spec);
    return 0;
}

int rpc_job_why(struct rpc_call *c, struct err *err)
{
    struct rpc_job_view v = {.state = c->state};
    struct estimate eta;
    struct explain why;

    if (find_shown(c, &v, err))
        return -1;
    v.why = &why;
    if (v.is_index) {
        explain_index(c->state, v.job, v.index, c->now, &why);
    } else {
        explain_job(c->state, v.job, c->now, &why);
        defrag_explain(c->state, v.job, c->now, &why);
        v.eta = rpc_job_estimate(c, v.job, &eta);
    }
    rpc_out_why(c->out, RPC_WHY, &c->head, &v);
    return 0;
}

int rpc_job_try(struct rpc_call *c, struct err *err)
{
    struct rpc_request *req = c->req;
    struct estimate_wish wish = {
        .spec = req->u.estimate.spec,
        .caller = c->who->caller,
        .n_without = req->u.estimate.n_without,
        .without = req->u.estimate.without,
        .more = {req->u.estimate.n_added, req->u.estimate.like, req->u.estimate.domains}};
    struct estimate_try t;
    const char *tenant;

    if (rpc_auth_tenant(c->who, c->state->settings, wish.spec->tenant, &tenant, err))
        return -1;
    wish.spec->tenant = arena_strdup(&wish.spec->arena, tenant);
    if (spec_check(wish.spec, c->state->settings, err) ||
        estimate_try(c->state, &wish, c->now, &t, err))
        return -1;
    req->u.estimate.spec = NULL;
    rpc_out_why(
        c->out, RPC_ESTIMATE, &c->head,
        &(struct rpc_job_view){.state = c->state, .job = &t.job, .why = &t.why, .eta = &t.eta});
    c->work += t.work;
    estimate_try_fini(&t);
    return 0;
}
