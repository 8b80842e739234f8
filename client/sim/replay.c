/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - the loop over virtual time around struct state.
 *
 * The part of the cluster is played here: pods run at once and for as long as the trace says, and
 * what the core stops is gone at once.
 */
#include "replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/state.h"
#include "life/state_apply.h"
#include "site.h"
#include "util/mem.h"
#include "util/str.h"

#define BASE (1000000 * USEC_PER_SEC) /* 0 has a meaning of its own in the core */
/* Nothing runs and nothing comes: what waits has so long to start by time alone. */
#define IDLE_MAX_US (INT64_C(30) * 86400 * USEC_PER_SEC)

struct replay {
    struct trace *trace;
    struct site site;
    struct state *state;
    const struct policy *policy;
    struct plain *plain; /* NULL: the daemon's own policy */
    struct effects fx;
    VEC(struct job_id) started, stopped; /* by the core; not yet played */
    usec_t now;                          /* of the trace */
    size_t next;                         /* job to be submitted */
    size_t oldest;                       /* that may still wait */
    VEC(struct trace_job *) ends;        /* heap */
    VEC(struct trace_job *) by_key;
    uint64_t free_gpus;
    size_t n_waiting;
    usec_t moved_at; /* something ran */
    struct totals *totals;
};

static bool ends_before(const struct trace_job *a, const struct trace_job *b)
{
    return a->end != b->end ? a->end < b->end : a->key < b->key;
}

static void ends_push(struct replay *r, struct trace_job *j)
{
    size_t i = r->ends.n;

    *vec_push(&r->ends) = j;
    for (; i && ends_before(j, r->ends.v[(i - 1) / 2]); i = (i - 1) / 2)
        r->ends.v[i] = r->ends.v[(i - 1) / 2];
    r->ends.v[i] = j;
}

static struct trace_job *ends_pop(struct replay *r)
{
    struct trace_job *top = r->ends.v[0], *last = r->ends.v[--r->ends.n];
    size_t i = 0;

    while (2 * i + 1 < r->ends.n) {
        size_t c = 2 * i + 1;

        if (c + 1 < r->ends.n && ends_before(r->ends.v[c + 1], r->ends.v[c]))
            c++;
        if (!ends_before(r->ends.v[c], last))
            break;
        r->ends.v[i] = r->ends.v[c];
        i = c;
    }
    r->ends.v[i] = last;
    return top;
}

static void ends_remove(struct replay *r, struct trace_job *j)
{
    size_t i = 0;

    while (r->ends.v[i] != j)
        i++;
    j->end = INT64_MIN;
    for (; i; i = (i - 1) / 2)
        r->ends.v[i] = r->ends.v[(i - 1) / 2];
    r->ends.v[0] = j;
    (void)ends_pop(r);
}

static void take_effects(struct replay *r)
{
    for (size_t i = 0; i < r->fx.list.n; i++) {
        const struct effect *e = &r->fx.list.v[i];

        if (e->kind == EFFECT_GANG_START)
            *vec_push(&r->started) = e->job;
        else if (e->kind == EFFECT_GANG_STOP)
            *vec_push(&r->stopped) = e->job;
    }
    effects_clear(&r->fx);
}

static bool apply(struct replay *r, struct event *ev)
{
    bool is_admitted;

    ev->at = BASE + r->now;
    is_admitted = state_admit(r->state, ev, &r->fx);
    if (is_admitted)
        state_apply(r->state, ev, &r->fx);
    event_fini(ev);
    take_effects(r);
    r->state->turn++;
    return is_admitted;
}

/* ---- the site */

static int open_site(struct replay *r, const struct settings *given, struct err *err)
{
    struct event up = {.kind = EV_CLUSTER, .u.cluster.is_up = true};
    struct event synced = {.kind = EV_SYNCED, .u.cluster_uid = "simulated"};

    if (site_init(&r->site, r->trace, given, err))
        return -1;
    r->state = state_create(&r->site.settings);
    if (!given)
        r->plain = plain_create(r->state, r->policy);
    for (size_t i = 0; i < r->trace->nodes.n; i++) {
        struct event ev = {.kind = EV_NODE_SEEN,
                           .u.node = site_node(&r->site, r->trace, (uint32_t)i)};

        (void)apply(r, &ev);
    }
    (void)apply(r, &up);
    (void)apply(r, &synced);
    r->free_gpus = r->trace->gpus;
    shares_init(&r->totals->shares, &r->site.settings, r->trace->gpus);
    return 0;
}

/* ---- jobs */

/* Names of the models that the job may use; none: any. */
static uint32_t list_models(const struct replay *r, const struct trace_job *j,
                            uint32_t ret[MODELS_MAX])
{
    uint32_t n = 0;

    for (const char *at = j->models; *at && n < ROLE_MODELS_MAX;) {
        size_t len = strcspn(at, "|");
        uint32_t m = site_model(&r->site, at, len);

        if (m != IX_NONE)
            ret[n++] = m;
        at += len + (at[len] == '|');
    }
    for (uint32_t m = 0; !*j->models && m < r->site.settings.n_models; m++)
        ret[n++] = m;
    return n;
}

/* Would it fit if nothing else ran? */
static bool may_ever_fit(const struct replay *r, const struct trace_job *j)
{
    uint32_t models[MODELS_MAX];
    uint32_t n = list_models(r, j, models);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t slots = 0;

        for (size_t k = 0; k < r->trace->nodes.n; k++) {
            const struct trace_node *node = &r->trace->nodes.v[k];

            if (site_model(&r->site, node->model, strlen(node->model)) == models[i])
                slots += node->gpus / j->gpus;
        }
        if (slots >= j->pods)
            return true;
    }
    return false;
}

static struct spec *spec_of(const struct replay *r, const struct trace_job *j)
{
    struct spec *s = spec_create();
    uint32_t models[MODELS_MAX];
    uint32_t n = *j->models ? list_models(r, j, models) : 0;

    s->name = arena_strdup(&s->arena, "job");
    s->tenant = arena_strdup(&s->arena, j->tenant);
    s->ns = settings_namespace(&r->site.settings, settings_tenant(&r->site.settings, j->tenant));
    s->preemptible = SPEC_YES;
    s->start_timeout_us = s->checkpoint_grace_us = 0; /* pods start and stop at once */
    s->priority_class = "normal";
    s->priority = j->priority;
    s->max_runtime_us = j->said;
    s->roles = arena_alloc(&s->arena, sizeof(*s->roles));
    s->n_roles = 1;
    s->roles[0] = (struct spec_role){
        .name = "worker", .replicas = j->pods, .gpus = j->gpus, .shm_bytes = -1, .image = "none"};
    s->roles[0].gpu_models.v = arena_alloc(&s->arena, (n + 1) * sizeof(char *));
    s->roles[0].gpu_models.n = n;
    for (uint32_t i = 0; i < n; i++)
        s->roles[0].gpu_models.v[i] =
            arena_strdup(&s->arena, r->site.settings.models[models[i]].name);
    return s;
}

static struct tenant_share *share_of(struct replay *r, const struct trace_job *j)
{
    return &r->totals->shares.v[settings_tenant(&r->site.settings, j->tenant)];
}

static uint64_t gpus_of(const struct trace_job *j)
{
    return (uint64_t)j->pods * j->gpus;
}

static void count_waiting(struct replay *r, struct trace_job *j)
{
    struct tenant_share *share = share_of(r, j);

    j->queued_at = r->now;
    share->has_jobs = true;
    share->waits += gpus_of(j);
    r->totals->shares.largest_gang =
        fmax(r->totals->shares.largest_gang, (double)gpus_of(j) * (double)j->duration / 1e6);
    r->n_waiting++;
}

static int submit(struct replay *r, struct trace_job *j, struct err *err)
{
    struct event ev = {.kind = EV_JOB_SUBMIT};
    uint64_t number = r->next;
    struct job *job;

    if (!may_ever_fit(r, j)) {
        r->totals->dropped++;
        return 0;
    }
    ev.u.submit.spec = spec_of(r, j);
    memcpy(ev.u.submit.ref.request_id, &number, sizeof(number));
    if (!apply(r, &ev))
        return err_set(err, ERR_INVALID, "job %s: the core refuses it: above its tenant's limit?",
                       j->id);
    job = r->state->by_id.v[r->state->by_id.n - 1];
    j->key = job->id.v;
    j->left = j->duration;
    if (r->plain)
        plain_add(r->plain, job);
    *vec_push(&r->by_key) = j;
    count_waiting(r, j);
    return 0;
}

static void tell(struct replay *r, const struct trace_job *t, enum pod_phase phase)
{
    const struct job *j = state_job(r->state, (struct job_id){t->key});

    for (uint32_t i = 0; i < t->pods; i++) {
        struct pod_fact *p = xcalloc(1, sizeof(*p));
        struct event ev = {.kind = EV_POD_SEEN, .u.pod = p};
        const struct member *m = &j->members[i];
        char name[POD_NAME_TEXT];

        (void)snprintf(p->ns, sizeof(p->ns), "%s", j->ns);
        (void)snprintf(p->name, sizeof(p->name), "%s", job_pod_name(name, j, m));
        (void)snprintf(p->uid, sizeof(p->uid), "u%u-%u", (unsigned)j->attempt, (unsigned)i);
        (void)snprintf(p->node, sizeof(p->node), "%s",
                       cluster_node(&r->state->cluster, m->node_ix)->name);
        p->phase = phase;
        p->exit_code = phase == POD_SUCCEEDED ? 0 : -1;
        p->job = j->id;
        memcpy(p->role, j->demand->roles[m->role].name, sizeof(p->role));
        p->index = job_pod_index(j, m);
        p->attempt = j->attempt;
        (void)apply(r, &ev);
    }
}

/* "node:gpus ..." and the racks and blocks of a gang. */
static void write_nodes(struct replay *r, struct trace_job *t)
{
    const struct job *j = state_job(r->state, (struct job_id){t->key});
    struct str text = {0};
    VEC(uint32_t) nodes = {0};
    uint32_t racks = 0, blocks = 0;

    for (uint32_t i = 0; i < j->n_members; i++)
        *vec_push(&nodes) =
            (uint32_t)atoi(cluster_node(&r->state->cluster, j->members[i].node_ix)->name);
    for (size_t i = 0; i < nodes.n; i++) {
        const struct trace_node *n = &r->trace->nodes.v[nodes.v[i]];
        uint32_t gpus = 0;
        bool new_node = true, new_rack = true, new_block = true;

        for (size_t k = 0; k < nodes.n; k++) {
            const struct trace_node *o = &r->trace->nodes.v[nodes.v[k]];

            gpus += o == n ? t->gpus : 0;
            new_node = new_node && !(k < i && o == n);
            new_rack = new_rack && !(k < i && o->rack_ix == n->rack_ix);
            new_block = new_block && !(k < i && o->block_ix == n->block_ix);
        }
        if (new_node)
            str_addf(&text, "%s%s:%u", text.len ? " " : "", n->name, (unsigned)gpus);
        racks += new_rack;
        blocks += new_block;
    }
    t->nodes = xstrdup(text.s);
    if (strchr(t->nodes, ' ')) {
        r->totals->multi++;
        r->totals->one_rack += racks == 1;
        r->totals->one_block += blocks == 1;
        r->totals->avg_racks += racks;
    }
    vec_fini(&nodes);
    str_fini(&text);
}

static struct trace_job *job_of(const struct replay *r, struct job_id id)
{
    size_t from = 0, to = r->by_key.n;

    while (to - from > 1) {
        size_t middle = (from + to) / 2;

        *(r->by_key.v[middle]->key <= id.v ? &from : &to) = middle;
    }
    return r->by_key.v[from];
}

/* One decision, and the processor time of it. */
static bool next_decision(struct replay *r, struct event *ev)
{
    struct timespec a, b;
    bool found;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    do {
        r->state->turn_evaluations = 0;
        found = r->plain ? plain_next(r->plain, BASE + r->now, ev)
                         : cycle_next(r->state, BASE + r->now, ev);
    } while (!found && !r->plain && r->state->turn_evaluations >= TURN_EVALUATIONS_MAX);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    r->totals->seconds += (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    return found;
}

static void start(struct replay *r, struct trace_job *j)
{
    struct tenant_share *share = share_of(r, j);

    if (j->is_started)
        return;
    j->is_started = true;
    j->start = r->now;
    j->end = r->now + j->left;
    j->wait += r->now - j->queued_at;
    r->free_gpus -= gpus_of(j);
    r->n_waiting--;
    share->waits -= gpus_of(j);
    share->used += gpus_of(j);
    write_nodes(r, j);
    tell(r, j, POD_RUNNING);
    ends_push(r, j);
}

static void free_gpus(struct replay *r, const struct trace_job *j)
{
    r->free_gpus += gpus_of(j);
    share_of(r, j)->used -= gpus_of(j);
}

static void end_job(struct replay *r)
{
    struct trace_job *j = ends_pop(r);

    tell(r, j, POD_SUCCEEDED);
    free_gpus(r, j);
}

static void tell_pod_gone(struct replay *r, const struct job *j, const struct member *m)
{
    struct ev_pod_gone *gone = xcalloc(1, sizeof(*gone));
    struct event ev = {.kind = EV_POD_GONE, .u.pod_gone = gone};
    char name[POD_NAME_TEXT];

    (void)snprintf(gone->ns, sizeof(gone->ns), "%s", j->ns);
    (void)snprintf(gone->name, sizeof(gone->name), "%s", job_pod_name(name, j, m));
    (void)snprintf(gone->uid, sizeof(gone->uid), "%s", m->uid);
    gone->job = j->id;
    gone->attempt = j->attempt;
    gone->member = IX_NONE;
    (void)apply(r, &ev);
}

/* What the core has stopped is gone; a job that then waits again was evicted. */
static void stop(struct replay *r, struct job_id id)
{
    struct trace_job *t = job_of(r, id);
    const struct job *j = state_job(r->state, id);
    struct event gone = {.kind = EV_SERVICE_GONE, .u.service_job = id};
    uint32_t attempt = j ? j->attempt : 0;
    struct event no_budget = {.kind = EV_BUDGET, .u.budget = {.job = id, .attempt = attempt}};
    bool was_active = j && job_state_is_active(j->state);

    for (uint32_t i = 0; j && j->attempt == attempt && i < j->n_members; i++) {
        tell_pod_gone(r, j, &j->members[i]);
        j = state_job(r->state, id);
    }
    if (j && j->has_service)
        (void)apply(r, &gone);
    j = state_job(r->state, id);
    if (j && j->has_budget)
        (void)apply(r, &no_budget);
    j = state_job(r->state, id);
    if (!was_active || !j || j->state != JOB_PENDING)
        return;
    if (r->policy->is_resumed)
        t->left = t->end - r->now;
    ends_remove(r, t);
    free_gpus(r, t);
    t->is_started = false;
    free(t->nodes);
    t->nodes = NULL;
    r->totals->evictions++;
    r->oldest = 0;
    count_waiting(r, t);
}

/* The cluster does at once what it is told. */
static void play(struct replay *r)
{
    while (r->started.n || r->stopped.n) {
        if (r->stopped.n)
            stop(r, r->stopped.v[--r->stopped.n]);
        else
            start(r, job_of(r, r->started.v[--r->started.n]));
    }
}

static void decide(struct replay *r)
{
    struct event ev;

    while (next_decision(r, &ev)) {
        r->totals->decisions++;
        if (r->plain && ev.kind == EV_GANG_PLACED)
            plain_remove(r->plain, state_job(r->state, ev.u.placed.job));
        (void)apply(r, &ev);
        play(r);
    }
}

/* Time passes with what runs and waits now. */
static void pass(struct replay *r, usec_t to)
{
    usec_t last = r->trace->jobs.v[r->trace->jobs.n - 1].submit;
    double used = (double)(r->trace->gpus - r->free_gpus), dt = (double)(to - r->now) / 1e6;
    const struct job *first = r->plain ? plain_first(r->plain) : NULL;
    struct trace_job *head = NULL;

    if (r->now < last)
        r->totals->alloc += used * (double)((to < last ? to : last) - r->now) / 1e6;
    while (r->oldest < r->by_key.n && r->by_key.v[r->oldest]->is_started)
        r->oldest++;
    if (first && r->policy->order != ORDER_FAIR)
        head = job_of(r, first->id);
    else if (r->oldest < r->by_key.n)
        head = r->by_key.v[r->oldest];
    if (head) {
        r->totals->queued += dt;
        r->totals->fragmented += r->free_gpus >= gpus_of(head) ? dt : 0;
    }
    shares_pass(&r->totals->shares, dt);
    r->now = to;
}

/* When something happens next; INT64_MAX: nothing any more. */
static usec_t next_instant(const struct replay *r)
{
    usec_t at = INT64_MAX, wake;

    if (r->next < r->trace->jobs.n)
        at = r->trace->jobs.v[r->next].submit;
    if (r->ends.n && r->ends.v[0]->end < at)
        at = r->ends.v[0]->end;
    if (r->plain || !r->n_waiting || (at == INT64_MAX && r->now - r->moved_at > IDLE_MAX_US))
        return at;
    wake = state_next_wake(r->state, BASE + r->now) - BASE;
    wake = wake <= r->now ? r->now + 1 : wake;
    return wake < at ? wake : at;
}

static int run(struct replay *r, struct err *err)
{
    struct trace *t = r->trace;
    usec_t at;

    for (at = next_instant(r); at != INT64_MAX; at = next_instant(r)) {
        pass(r, at);
        while (r->ends.n && r->ends.v[0]->end == at)
            end_job(r);
        if (!r->plain) {
            state_tick(r->state, BASE + at, &r->fx);
            take_effects(r);
        }
        for (; r->next < t->jobs.n && t->jobs.v[r->next].submit == at; r->next++)
            if (submit(r, &t->jobs.v[r->next], err))
                return -1;
        play(r);
        decide(r);
        r->moved_at = r->ends.n ? at : r->moved_at;
    }
    for (size_t i = 0; i < r->by_key.n; i++)
        if (!r->by_key.v[i]->is_started)
            return err_set(err, ERR_INTERNAL, "job %s never started", r->by_key.v[i]->id);
    return 0;
}

int replay_run(struct trace *t, const struct policy *plain, const struct settings *site,
               struct totals *ret, struct err *err)
{
    struct replay r = {.trace = t, .policy = plain, .totals = ret};
    int rc;

    *ret = (struct totals){0};
    r.now = t->jobs.v[0].submit;
    rc = open_site(&r, site, err) || run(&r, err) ? -1 : 0;
    if (!rc)
        totals_count(t, ret);
    effects_fini(&r.fx);
    plain_destroy(r.plain);
    state_destroy(r.state);
    site_fini(&r.site);
    vec_fini(&r.ends);
    vec_fini(&r.by_key);
    vec_fini(&r.started);
    vec_fini(&r.stopped);
    return rc;
}
