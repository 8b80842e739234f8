/* SPDX-License-Identifier: Apache-2.0 */
/* sim_client.c - users that submit, repeat, cancel and remember what they were told. */
#include "sim_client.h"

#include <stdio.h>
#include <string.h>

#include "core/state.h"
#include "util/mem.h"
#include "util/str.h"
#include "wish.h"

enum { KEYS = 12 };

#define HOUR_US (3600 * USEC_PER_SEC)

void client_init(struct client *c, const struct settings *settings, struct rng *rng,
                 struct faults *faults)
{
    *c = (struct client){.settings = settings, .rng = rng, .faults = faults};
    c->run = rng_next(rng);
}

void client_fini(struct client *c)
{
    vec_fini(&c->requests);
    vec_fini(&c->promises);
}

void client_crash(struct client *c)
{
    for (size_t i = 0; i < c->requests.n; i++)
        c->requests.v[i].token = 0;
}

static struct request_ref ref_of(struct client *c, struct request *r)
{
    struct request_ref ref = {.uid = 1000 + r->number % 3};
    uint64_t id[2] = {c->run, r->number};

    _Static_assert(sizeof(id) == REQUEST_ID_BYTES, "two words are a request id");
    memcpy(ref.request_id, id, sizeof(id));
    r->token = ref.reply_token = ++c->last_token;
    return ref;
}

static struct spec *some_spec(const struct client *c, uint64_t seed, const char *submit_key)
{
    struct spec *s = wish_spec(seed, c->is_staged, submit_key);

    if (c->is_wide)
        wish_widen(s, seed);
    return s;
}

static struct spec *spec_of(const struct client *c, const struct request *r)
{
    char key[16];

    (void)snprintf(key, sizeof(key), "key-%u", (unsigned)r->key);
    return some_spec(c, r->seed, r->key ? key : NULL);
}

static struct promise *find_promise(const struct client *c, struct job_id job)
{
    for (size_t i = c->promises.n; i-- > 0;)
        if (c->promises.v[i].job.v == job.v)
            return &c->promises.v[i];
    return NULL;
}

/* Those of the array that the request names; none: all. */
static void part_of(const struct client *c, const struct request *r, struct indices *ret)
{
    const struct job *j = state_job(c->state, r->job);
    struct indices range = {.n = 0};

    if (!r->is_part || !j || !j->array)
        return;
    for (uint32_t i = r->part.from; i <= r->part.to; i++)
        (void)indices_add(&range, i);
    indices_select(ret, &j->array->all, &range, true);
    indices_fini(&range);
}

/* The spec that the job had first, with other wishes: of the tenant's namespace when it moves. */
static void send_update(struct client *c, struct request *r, struct inbox *inbox)
{
    static const char *const tenants[] = {"alpha/one", "alpha/two", "beta", "gamma", "idle"};
    const struct promise *p = find_promise(c, r->job);
    const struct job *j = state_job(c->state, r->job);
    struct event ev = {.kind = EV_JOB_UPDATE};
    struct rng g = {r->seed};
    struct spec *spec;

    if (!p || !j)
        return;
    spec = some_spec(c, p->seed, j->submit_key);
    spec->ns = arena_strdup(&spec->arena, j->ns);
    spec->tenant = rng_one_in(&g, 2) ? arena_strdup(&spec->arena, j->tenant)
                                     : tenants[rng_below(&g, ARRAY_LEN(tenants))];
    spec->priority_class = rng_one_in(&g, 2) ? "low" : "normal";
    spec->max_runtime_us = rng_between(&g, 10, 5000) * USEC_PER_SEC;
    spec->topology_required = rng_one_in(&g, 3) ? "rack" : NULL;
    spec->topology_preferred = NULL;
    if (!settings_has_namespace(c->settings, settings_tenant(c->settings, spec->tenant), spec->ns))
        spec->ns = NULL;
    if (spec_check(spec, c->settings, NULL)) {
        spec_destroy(spec);
        return;
    }
    ev.u.update = (struct ev_update){.job = r->job, .spec = spec, .n_updates = j->n_updates};
    ev.u.update.ref = ref_of(c, r);
    ev.u.update.has_class = r->seed / 3 % 2;
    ev.u.update.has_runtime = !ev.u.update.has_class || r->seed / 6 % 2;
    part_of(c, r, &ev.u.update.part);
    (void)inbox_push(inbox, &ev);
}

/* What the door would do: check, refuse bad ones at once. */
static void send(struct client *c, struct request *r, struct inbox *inbox, usec_t now)
{
    struct event ev = {.kind = EV_JOB_SUBMIT};
    struct spec *spec;

    r->asked_at = now;
    if (inbox_room(inbox) == 0)
        return;
    if (r->is_update) {
        send_update(c, r, inbox);
        return;
    }
    if (r->is_verb) {
        ev.kind = EV_JOB_VERB;
        ev.u.verb = (struct ev_verb){.job = r->job, .caller.is_admin = true, .verb = r->verb};
        ev.u.verb.ref = ref_of(c, r);
        part_of(c, r, &ev.u.verb.part);
        (void)inbox_push(inbox, &ev);
        return;
    }
    spec = spec_of(c, r);
    if (spec_check(spec, c->settings, NULL)) {
        c->n_bad_specs++;
        r->code = ERR_REFUSED;
        r->answered_at = now;
        spec_destroy(spec);
        return;
    }
    ev.u.submit.ref = ref_of(c, r);
    ev.u.submit.caller.uid = ev.u.submit.ref.uid;
    (void)snprintf(ev.u.submit.caller.user, sizeof(ev.u.submit.caller.user), "user%u",
                   (unsigned)(r->number % 3));
    ev.u.submit.is_dry_run = r->is_dry_run;
    ev.u.submit.require_feasible = r->require_feasible;
    wish_digest(spec, ev.u.submit.digest);
    ev.u.submit.spec = spec;
    (void)inbox_push(inbox, &ev);
}

static struct request *new_request(struct client *c)
{
    struct request *r = vec_push(&c->requests);

    r->number = (uint32_t)c->requests.n;
    r->seed = wish_mood(rng_next(c->rng), c->is_busy, c->is_crumbly);
    return r;
}

static void submit(struct client *c, struct inbox *inbox, usec_t now)
{
    struct request *r = new_request(c);

    if (rng_one_in(c->rng, 4)) {
        r->key = 1 + rng_below(c->rng, KEYS);
        /* mostly one job a key; now and then another one under the same key */
        if (fault_hits(c->faults, FAULT_CLIENT_KEY_CONFLICT, 1500)) {
            r->seed = wish_mood(c->run + r->key + 1000, c->is_busy, c->is_crumbly);
        } else {
            r->seed = wish_mood(c->run + r->key, c->is_busy, c->is_crumbly);
            c->faults->count[FAULT_CLIENT_SAME_KEY]++;
        }
    }
    r->is_dry_run = rng_one_in(c->rng, 20);
    r->require_feasible = rng_one_in(c->rng, 20);
    send(c, r, inbox, now);
}

/* Of an array: the whole, some of its indices, or one that has a job. Without a draw, so that
 * older seeds stay what they were. */
static struct job_id aim(const struct client *c, struct request *r, struct job_id job, usec_t now)
{
    const struct job *j = state_job(c->state, job);
    uint64_t at = (uint64_t)now;
    bool is_saved = r->is_verb && r->verb == VERB_CHECKPOINTED;

    if (!j || !j->array || (c->is_staged && r->is_verb && r->verb == VERB_HOLD))
        return job;
    if ((is_saved || at / 1000 % 3 == 0) && !r->is_update && j->array->live.n)
        return j->array->live.v[at / 7 % j->array->live.n]->id;
    r->is_part = !is_saved && at / 1000 % 3 == 1;
    r->part.from = (uint32_t)(at / 13 % 12);
    r->part.to = r->part.from + (uint32_t)(at / 17 % 8);
    return job;
}

static void cancel(struct client *c, struct inbox *inbox, struct job_id job, usec_t now,
                   bool is_some)
{
    struct request *r = new_request(c);

    r->is_verb = true;
    r->verb = VERB_CANCEL;
    r->job = job;
    if (is_some)
        r->job = aim(c, r, job, now);
    send(c, r, inbox, now);
}

void client_cancel(struct client *c, struct inbox *inbox, usec_t now, struct job_id job)
{
    cancel(c, inbox, job, now, false);
}

/* One of those promised lately, now and then none. */
static struct job_id some_job(const struct client *c, usec_t now)
{
    uint32_t back, last;

    if (!c->promises.n || rng_one_in(c->rng, 10))
        return (struct job_id){now > 0 ? (uint64_t)now : 1};
    last = c->is_staged && rng_one_in(c->rng, 2) ? 2 : 12; /* on its way to run, or any */
    back = rng_below(c->rng, c->promises.n < last ? (uint32_t)c->promises.n : last);
    return c->promises.v[c->promises.n - 1 - back].job;
}

/* Held jobs are released more often than others are held: they have to end, too. */
static void change(struct client *c, struct inbox *inbox, usec_t now)
{
    static const enum job_verb verbs[] = {VERB_HOLD,    VERB_HOLD,         VERB_RELEASE,
                                          VERB_RELEASE, VERB_REQUEUE,      VERB_REQUEUE,
                                          VERB_REQUEUE, VERB_PREEMPT,      VERB_PREEMPT,
                                          VERB_PREEMPT, VERB_CHECKPOINTED, VERB_CHECKPOINTED};
    struct job_id job = some_job(c, now);
    struct request *r = new_request(c);

    r->is_verb = true;
    r->verb = verbs[rng_below(c->rng, ARRAY_LEN(verbs))];
    if (c->is_staged && rng_one_in(c->rng, 4))
        r->verb = VERB_HOLD;
    r->job = job = aim(c, r, job, now);
    send(c, r, inbox, now);
    if (r->verb == VERB_PREEMPT && rng_one_in(c->rng, 2)) { /* it saves at once */
        r = new_request(c);
        r->is_verb = true;
        r->verb = VERB_CHECKPOINTED;
        r->job = job;
        send(c, r, inbox, now);
    }
    if (r->verb >= VERB_REQUEUE && rng_one_in(c->rng, 3)) /* on its way back to the queue */
        cancel(c, inbox, job, now, true);
}

static void update(struct client *c, struct inbox *inbox, usec_t now)
{
    struct job_id job = some_job(c, now);
    bool is_held = rng_one_in(c->rng, 3);
    struct request *r;

    for (int n = is_held ? 0 : 1; n < 2; n++) {
        r = new_request(c);
        r->is_verb = true;
        r->is_update = n == 1;
        r->verb = VERB_HOLD;
        r->job = job;
        if (r->is_update)
            (void)aim(c, r, job, now);
        send(c, r, inbox, now);
    }
}

/* An operator stops a tenant and, more often, resumes it. */
static void stop(struct client *c, struct inbox *inbox)
{
    struct event ev = {.kind = EV_TENANT_STOP};
    uint32_t ix = rng_below(c->rng, c->settings->n_tenants);

    if (inbox_room(inbox) == 0)
        return;
    ev.u.drain = (struct ev_drain){.node = xstrdup(c->settings->tenants[ix].path),
                                   .is_back = !rng_one_in(c->rng, 3)};
    ev.u.drain.ref.uid = 1;
    memcpy(ev.u.drain.ref.request_id, &(uint64_t){rng_next(c->rng)}, sizeof(uint64_t));
    (void)inbox_push(inbox, &ev);
}

/* An operator, without memory of his own: no request of his is repeated. */
static void drain(struct client *c, struct inbox *inbox)
{
    struct event ev = {.kind = EV_NODE_DRAIN};
    char name[32];

    if (inbox_room(inbox) == 0)
        return;
    (void)snprintf(name, sizeof(name), "node-%02u", (unsigned)rng_below(c->rng, 16));
    ev.u.drain = (struct ev_drain){.node = xstrdup(name), .is_back = !rng_one_in(c->rng, 3)};
    ev.u.drain.ref.uid = 1;
    memcpy(ev.u.drain.ref.request_id, &(uint64_t){rng_next(c->rng)}, sizeof(uint64_t));
    (void)inbox_push(inbox, &ev);
}

/* Nodes are reserved for a tenant or for nobody, or an old reservation is cancelled. */
static void reserve(struct client *c, struct inbox *inbox, usec_t now)
{
    struct event ev = {.kind = EV_WINDOW};
    struct ev_window *w;
    struct str nodes = {0};

    if (inbox_room(inbox) == 0)
        return;
    w = ev.u.window = xcalloc(1, sizeof(*w));
    w->ref.uid = 1;
    memcpy(w->ref.request_id, &(uint64_t){rng_next(c->rng)}, sizeof(uint64_t));
    w->is_over = rng_one_in(c->rng, 3);
    (void)snprintf(w->window.name, sizeof(w->window.name), "w-%u", (unsigned)rng_below(c->rng, 6));
    if (rng_one_in(c->rng, 2))
        (void)str_copy(w->window.tenant, sizeof(w->window.tenant),
                       c->settings->tenants[rng_below(c->rng, c->settings->n_tenants)].path);
    w->window.from = now + (rng_one_in(c->rng, 3) ? 0 : rng_below(c->rng, 3600) * USEC_PER_SEC);
    w->window.to = w->window.from + rng_between(c->rng, 30, 3600) * USEC_PER_SEC;
    for (uint32_t i = 0, first = rng_below(c->rng, 16), n = 1 + rng_below(c->rng, 6); i < n; i++)
        str_addf(&nodes, "node-%02u\n", (unsigned)((first + i) % 16));
    w->nodes = str_take(&nodes);
    (void)inbox_push(inbox, &ev);
}

static void repeat(struct client *c, struct inbox *inbox, usec_t now)
{
    struct request *r;
    uint32_t back;

    if (c->requests.n == 0)
        return;
    back = rng_below(c->rng, c->requests.n < 20 ? (uint32_t)c->requests.n : 20);
    r = &c->requests.v[c->requests.n - 1 - back];
    if (fault_hits(c->faults, FAULT_CLIENT_REPEATS, 10000))
        send(c, r, inbox, now);
}

void client_step(struct client *c, struct inbox *inbox, usec_t now)
{
    uint32_t what = rng_below(c->rng, 100);

    if (what < (c->is_calm ? 3 : 14) || ((c->is_busy || c->is_staged) && what >= 90))
        submit(c, inbox, now);
    else if (what < 18)
        cancel(c, inbox, some_job(c, now), now, true);
    else if (what < 22)
        repeat(c, inbox, now);
    else if (what < 28 || (c->is_staged && what >= 80))
        change(c, inbox, now);
    else if (what < 31)
        update(c, inbox, now);
    else if (what < 34)
        drain(c, inbox);
    else if (what < 36)
        stop(c, inbox);
    else if (what < 38)
        reserve(c, inbox, now);
}

/* The same key in the same tenant must always mean one job, as long as keys are kept. */
static int check_key(const struct client *c, const struct promise *p, struct err *err)
{
    for (size_t i = 0; p->key && i < c->promises.n; i++) {
        const struct promise *q = &c->promises.v[i];

        if (q->key == p->key && q->job.v != p->job.v && strcmp(q->tenant, p->tenant) == 0 &&
            p->at - q->at < 7 * 24 * HOUR_US)
            return err_set(err, ERR_INTERNAL, "key %u of %s: two jobs, %llx and %llx",
                           (unsigned)p->key, p->tenant, (unsigned long long)q->job.v,
                           (unsigned long long)p->job.v);
    }
    return 0;
}

static int note_promise(struct client *c, const struct request *r, struct job_id job, usec_t now,
                        struct err *err)
{
    struct promise *p = find_promise(c, job);
    struct spec *spec;

    if (p)
        return 0;
    p = vec_push(&c->promises);
    p->job = job;
    p->key = r->key;
    p->seed = r->seed;
    p->at = now;
    spec = spec_of(c, r);
    (void)snprintf(p->tenant, sizeof(p->tenant), "%s", spec->tenant);
    spec_destroy(spec);
    return check_key(c, p, err);
}

int client_answer(struct client *c, const struct reply *reply, usec_t now, struct err *err)
{
    const struct answer *a = &reply->answer;
    struct request *r = NULL;

    for (size_t i = c->requests.n; i-- > 0 && !r;)
        if (c->requests.v[i].token == reply->token)
            r = &c->requests.v[i];
    if (!r)
        return 0; /* of a try that was given up */
    r->token = 0;
    if (a->code == ERR_CONFLICT)
        c->n_conflicts++;
    else if (a->code != ERR_OK)
        c->n_refused++;
    else if (a->is_again)
        c->n_again++;
    else
        c->n_accepted++;
    c->n_parts += a->code == ERR_OK && r->is_part;
    if (a->code == ERR_OK && !r->is_verb && !r->is_dry_run) {
        if (a->job.v == 0)
            return err_set(err, ERR_INTERNAL, "request %u: accepted without a job", r->number);
        if (r->answered_at && r->code == ERR_OK && r->job.v != a->job.v &&
            now - r->answered_at < 24 * HOUR_US)
            return err_set(err, ERR_INTERNAL, "request %u: first job %llx, then %llx", r->number,
                           (unsigned long long)r->job.v, (unsigned long long)a->job.v);
        r->job = a->job;
        if (note_promise(c, r, a->job, now, err))
            return -1;
    }
    r->answered_at = now;
    r->code = a->code;
    return 0;
}
