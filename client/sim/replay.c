/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - the loop over virtual time around struct state.
 *
 * Nodes, racks and blocks go in under numbers, so that the order of names in the core is the order
 * of the file.
 */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/state.h"
#include "util/mem.h"
#include "util/str.h"

#define BASE (1000000 * USEC_PER_SEC) /* 0 has a meaning of its own in the core */

struct replay {
    struct trace *trace;
    struct settings settings;
    const char *models[MODELS_MAX];
    struct state *state;
    const struct policy *policy;
    struct plain *plain;
    struct effects fx;
    usec_t now;                   /* of the trace */
    size_t next;                  /* job to be submitted */
    size_t oldest;                /* that may still wait */
    VEC(struct trace_job *) ends; /* heap */
    VEC(struct trace_job *) by_key;
    uint64_t free_gpus;
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

static bool apply(struct replay *r, struct event *ev)
{
    bool is_admitted;

    ev->at = BASE + r->now;
    is_admitted = state_admit(r->state, ev, &r->fx);
    if (is_admitted)
        state_apply(r->state, ev, &r->fx);
    event_fini(ev);
    effects_clear(&r->fx);
    r->state->turn++;
    return is_admitted;
}

/* ---- the site */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int set_tenants(struct replay *r, struct err *err)
{
    struct settings *s = &r->settings;
    size_t n = r->trace->jobs.n;
    char **names = xmalloc(n * sizeof(*names));

    for (size_t i = 0; i < n; i++)
        names[i] = r->trace->jobs.v[i].tenant;
    qsort(names, n, sizeof(*names), compare_names);
    s->tenants = xcalloc(TENANTS_MAX, sizeof(*s->tenants));
    for (size_t i = 0; i < n; i++) {
        struct tenant_setting *t = &s->tenants[s->n_tenants];

        if (i && strcmp(names[i], names[i - 1]) == 0)
            continue;
        if (s->n_tenants == TENANTS_MAX || strlen(names[i]) > TENANT_PATH_MAX || !*names[i]) {
            (void)err_set(err, ERR_INVALID, "tenant '%.80s': at most %d tenants, names of 1 to %d",
                          names[i], TENANTS_MAX, TENANT_PATH_MAX);
            free(names);
            return -1;
        }
        *t = (struct tenant_setting){.parent = IX_NONE, .weight = 1, .max_pending = UINT32_MAX};
        memcpy(t->path, names[i], strlen(names[i]) + 1);
        for (uint32_t m = 0; m < MODELS_MAX; m++)
            t->quota.gpus[m] = t->limit.gpus[m] = -1;
        t->n_namespaces = 1;
        memcpy(t->namespaces[0], "sim", sizeof("sim"));
        s->n_tenants++;
    }
    free(names);
    return 0;
}

static uint32_t model_of(const struct replay *r, const char *name, size_t len)
{
    for (uint32_t m = 0; m < r->settings.n_models; m++)
        if (strlen(r->models[m]) == len && memcmp(r->models[m], name, len) == 0)
            return m;
    return IX_NONE;
}

static int set_models(struct replay *r, struct err *err)
{
    struct settings *s = &r->settings;

    s->n_models = 0;
    for (size_t i = 0; i < r->trace->nodes.n; i++) {
        const char *name = r->trace->nodes.v[i].model;
        struct model_setting *m = &s->models[s->n_models];

        if (model_of(r, name, strlen(name)) != IX_NONE)
            continue;
        if (s->n_models == MODELS_MAX)
            return err_set(err, ERR_INVALID, "gpu_model: more than %d models", MODELS_MAX);
        *m = (struct model_setting){.n_products = 1};
        (void)snprintf(m->name, sizeof(m->name), "m%u", (unsigned)s->n_models);
        (void)snprintf(m->products[0], sizeof(m->products[0]), "m%u", (unsigned)s->n_models);
        r->models[s->n_models++] = name;
    }
    return 0;
}

static void set_label(struct node_fact *f, const char *key, const char *form, uint32_t value)
{
    char text[16];

    (void)snprintf(text, sizeof(text), form, (unsigned)value);
    f->labels[f->n_labels++] = (struct node_label){xstrdup(key), xstrdup(text)};
}

static void set_amount(struct resource_amount *a, const char *name, int64_t amount)
{
    a->amount = amount;
    (void)snprintf(a->name, sizeof(a->name), "%s", name);
}

static void add_node(struct replay *r, uint32_t ix)
{
    const struct trace_node *n = &r->trace->nodes.v[ix];
    struct node_fact *f = xcalloc(1, sizeof(*f));
    struct event ev = {.kind = EV_NODE_SEEN, .u.node = f};

    (void)snprintf(f->name, sizeof(f->name), "%06u", (unsigned)ix);
    (void)snprintf(f->uid, sizeof(f->uid), "%06u", (unsigned)ix);
    f->allocatable = xcalloc(4, sizeof(*f->allocatable));
    f->n_allocatable = 4;
    set_amount(&f->allocatable[0], "cpu", 1000000);
    set_amount(&f->allocatable[1], "memory", INT64_C(1) << 40);
    set_amount(&f->allocatable[2], "pods", 1000);
    set_amount(&f->allocatable[3], "nvidia.com/gpu", n->gpus);
    f->capacity = xcalloc(1, sizeof(*f->capacity));
    f->n_capacity = 1;
    set_amount(&f->capacity[0], "nvidia.com/gpu", n->gpus);
    f->labels = xcalloc(3, sizeof(*f->labels));
    set_label(f, "gang.queued/block", "%06u", n->block_ix);
    set_label(f, "gang.queued/rack", "%06u", n->rack_ix);
    set_label(f, "nvidia.com/gpu.product", "m%u", model_of(r, n->model, strlen(n->model)));
    f->is_ready = true;
    (void)apply(r, &ev);
}

static int open_site(struct replay *r, struct err *err)
{
    struct event up = {.kind = EV_CLUSTER, .u.cluster.is_up = true};
    struct event synced = {.kind = EV_SYNCED, .u.cluster_uid = "simulated"};

    settings_defaults(&r->settings);
    r->settings.n_hierarchies = 1; /* block and rack: a trace knows no zones */
    r->settings.hierarchies[0].n_levels = 2;
    memmove(&r->settings.hierarchies[0].levels[0], &r->settings.hierarchies[0].levels[1],
            2 * sizeof(r->settings.hierarchies[0].levels[0]));
    if (set_tenants(r, err) || set_models(r, err))
        return -1;
    r->state = state_create(&r->settings);
    r->plain = plain_create(r->state, r->policy);
    for (size_t i = 0; i < r->trace->nodes.n; i++)
        add_node(r, (uint32_t)i);
    (void)apply(r, &up);
    (void)apply(r, &synced);
    r->free_gpus = r->trace->gpus;
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
        uint32_t m = model_of(r, at, len);

        if (m != IX_NONE)
            ret[n++] = m;
        at += len + (at[len] == '|');
    }
    for (uint32_t m = 0; !*j->models && m < r->settings.n_models; m++)
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

            if (model_of(r, node->model, strlen(node->model)) == models[i])
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
    s->ns = "sim";
    s->priority_class = "normal";
    s->priority = j->priority;
    s->max_runtime_us = j->duration;
    s->roles = arena_alloc(&s->arena, sizeof(*s->roles));
    s->n_roles = 1;
    s->roles[0] = (struct spec_role){
        .name = "worker", .replicas = j->pods, .gpus = j->gpus, .shm_bytes = -1, .image = "none"};
    s->roles[0].gpu_models.v = arena_alloc(&s->arena, (n + 1) * sizeof(char *));
    s->roles[0].gpu_models.n = n;
    for (uint32_t i = 0; i < n; i++)
        s->roles[0].gpu_models.v[i] = arena_strdup(&s->arena, r->settings.models[models[i]].name);
    return s;
}

static int submit(struct replay *r, struct trace_job *j, struct err *err)
{
    struct event ev = {.kind = EV_JOB_SUBMIT};
    uint64_t number = r->next;

    if (!may_ever_fit(r, j)) {
        r->totals->dropped++;
        return 0;
    }
    ev.u.submit.spec = spec_of(r, j);
    memcpy(ev.u.submit.ref.request_id, &number, sizeof(number));
    if (!apply(r, &ev))
        return err_set(err, ERR_INVALID, "job %s: the core refuses it", j->id);
    j->key = r->state->by_id.v[r->state->by_id.n - 1]->id.v;
    plain_add(r->plain, r->state->by_id.v[r->state->by_id.n - 1]);
    *vec_push(&r->by_key) = j;
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
        p->index = m->index;
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

static void decide(struct replay *r)
{
    struct timespec a, b;
    struct event ev;
    bool found = true;

    while (found) {
        struct trace_job *j;

        r->state->turn_evaluations = 0;
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        found = plain_next(r->plain, BASE + r->now, &ev);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        r->totals->seconds += (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
        if (!found)
            break;
        r->totals->decisions++;
        j = job_of(r, ev.u.placed.job);
        plain_remove(r->plain, state_job(r->state, ev.u.placed.job));
        (void)apply(r, &ev);
        j->is_started = true;
        j->start = r->now;
        j->end = r->now + j->duration;
        r->free_gpus -= (uint64_t)j->pods * j->gpus;
        write_nodes(r, j);
        tell(r, j, POD_RUNNING);
        ends_push(r, j);
    }
}

static void end_job(struct replay *r)
{
    struct trace_job *j = ends_pop(r);

    tell(r, j, POD_SUCCEEDED);
    r->free_gpus += (uint64_t)j->pods * j->gpus;
}

/* Time passes with what runs and waits now. */
static void pass(struct replay *r, usec_t to)
{
    usec_t last = r->trace->jobs.v[r->trace->jobs.n - 1].submit;
    double used = (double)(r->trace->gpus - r->free_gpus), dt = (double)(to - r->now) / 1e6;
    const struct job *first = plain_first(r->plain);
    struct trace_job *head = NULL;

    if (r->now < last)
        r->totals->alloc += used * (double)((to < last ? to : last) - r->now) / 1e6;
    while (r->oldest < r->by_key.n && r->by_key.v[r->oldest]->is_started)
        r->oldest++;
    if (r->policy->order != ORDER_FAIR && first)
        head = job_of(r, first->id);
    else if (r->oldest < r->by_key.n)
        head = r->by_key.v[r->oldest];
    if (head) {
        r->totals->queued += dt;
        r->totals->fragmented += r->free_gpus >= (uint64_t)head->pods * head->gpus ? dt : 0;
    }
    r->now = to;
}

static int run(struct replay *r, struct err *err)
{
    struct trace *t = r->trace;

    while (r->next < t->jobs.n || r->ends.n) {
        usec_t at = r->next < t->jobs.n ? t->jobs.v[r->next].submit : INT64_MAX;

        if (r->ends.n && r->ends.v[0]->end < at)
            at = r->ends.v[0]->end;
        pass(r, at);
        while (r->ends.n && r->ends.v[0]->end == at)
            end_job(r);
        for (; r->next < t->jobs.n && t->jobs.v[r->next].submit == at; r->next++)
            if (submit(r, &t->jobs.v[r->next], err))
                return -1;
        decide(r);
    }
    for (size_t i = 0; i < r->by_key.n; i++)
        if (!r->by_key.v[i]->is_started)
            return err_set(err, ERR_INTERNAL, "job %s never started", r->by_key.v[i]->id);
    return 0;
}

int replay_run(struct trace *t, const struct policy *policy, struct totals *ret, struct err *err)
{
    struct replay r = {.trace = t, .policy = policy, .totals = ret};
    int rc;

    *ret = (struct totals){0};
    r.now = t->jobs.v[0].submit;
    rc = open_site(&r, err) || run(&r, err) ? -1 : 0;
    if (!rc)
        totals_count(t, ret);
    effects_fini(&r.fx);
    plain_destroy(r.plain);
    state_destroy(r.state);
    free(r.settings.tenants);
    vec_fini(&r.ends);
    vec_fini(&r.by_key);
    return rc;
}
