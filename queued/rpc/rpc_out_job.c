/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_out_job.c - the message of a job: its record, why it is where it is, its pods. */
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_array.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_placement.h"
#include "rpc/rpc_spec.h"
#include "util/mem.h"
#include "util/str.h"

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static bool is_holding(const struct job *j, const struct member *m)
{
    return job_state_is_active(j->state) && m->phase <= MEMBER_RUNNING;
}

static uint32_t gpus_of(const struct job *j, const struct member *m)
{
    return (uint32_t)j->demand->roles[m->role].each.amount[RES_GPUS];
}

struct held {
    VEC(uint32_t) nodes;
    uint64_t gpus, charged;
};

static void add_held(struct held *h, const struct job *j)
{
    h->charged += j->charged_parts;
    for (uint32_t i = 0; i < j->n_members; i++) {
        if (!is_holding(j, &j->members[i]))
            continue;
        h->gpus += gpus_of(j, &j->members[i]);
        *vec_push(&h->nodes) = j->members[i].node_ix;
    }
}

/* GPUs and distinct nodes held now, by all indices of an array. */
static void fill_held(const struct job *j, Queued__V1__Job *m)
{
    struct held h = {.gpus = 0};
    uint32_t *nodes, n;

    add_held(&h, j);
    for (size_t i = 0; j->array && i < j->array->live.n; i++)
        add_held(&h, j->array->live.v[i]);
    m->has_held_gpus = m->has_held_nodes = m->has_charged_gpus = true;
    m->held_gpus = h.gpus;
    m->charged_gpus = h.charged / GPU_PARTS;
    m->charged_milli = mig_milli(h.charged % GPU_PARTS);
    m->has_charged_milli = m->charged_milli > 0;
    nodes = h.nodes.v;
    n = (uint32_t)h.nodes.n;
    if (n > 1)
        qsort(nodes, n, sizeof(*nodes), by_value);
    for (uint32_t i = 0; i < n; i++)
        m->held_nodes += i == 0 || nodes[i] != nodes[i - 1];
    vec_fini(&h.nodes);
}

static void add_once(struct str *text, const char *name)
{
    if (!text->len)
        str_add(text, name);
    else if (!strstr(str_text(text), name))
        str_addf(text, ",%s", name);
}

/* The models that the gang was placed on; before that, those that its roles name. */
static char *model_of(struct arena *a, const struct state *s, const struct job *j)
{
    const struct settings *settings = s->settings;
    const struct demand *d = j->demand;
    struct str text = {0};
    char *ret;

    for (uint32_t r = 0; r < d->n_roles; r++) {
        const struct demand_role *role = &d->roles[r];

        if (!role->takes_gpus)
            continue;
        if (j->n_members && j->models[r] < settings->n_models)
            add_once(&text, settings->models[j->models[r]].name);
        for (uint32_t i = 0; !j->n_members && i < role->n_models; i++)
            if (role->models[i] < settings->n_models) /* else it left the configuration */
                add_once(&text, settings->models[role->models[i]].name);
    }
    ret = text.len ? arena_strdup(a, str_text(&text)) : NULL;
    str_fini(&text);
    return ret;
}

static void fill_reason(struct arena *a, const struct rpc_job_view *v, Queued__V1__Job *m)
{
    const struct explain *why = v->why;

    if (v->job->array && why && !*why->code)
        return; /* nothing keeps it: its counts say it all */
    if (!why || !*why->code) {
        m->reason_code = *v->job->reason.code ? rpc_text(v->job->reason.code) : NULL;
        m->reason_text = v->job->reason.text;
        return;
    }
    m->reason_code = arena_strdup(a, why->code);
    m->reason_text = arena_strdup(a, why->text);
    m->has_position = why->position > 0;
    m->position = why->position;
    m->n_reason_numbers = why->n_numbers;
    m->reason_numbers = arena_alloc(a, why->n_numbers * sizeof(*m->reason_numbers));
    for (uint32_t i = 0; i < why->n_numbers; i++) {
        Queued__V1__Number *n = arena_alloc(a, sizeof(*n));

        queued__v1__number__init(n);
        n->name = rpc_text(why->numbers[i].name);
        n->has_value = true;
        n->value = why->numbers[i].value;
        m->reason_numbers[i] = n;
    }
}

static void fill_estimate(struct arena *a, const struct estimate *e, Queued__V1__Job *m)
{
    char text[ESTIMATE_TEXT_MAX];

    if (!e || e->kind == ESTIMATE_NONE)
        return;
    m->has_predicted_start_us = e->kind == ESTIMATE_START;
    m->predicted_start_us = (uint64_t)e->at;
    m->predicted_basis = arena_strdup(a, estimate_text(text, e));
    m->has_predicted_usual_start_us = e->usual_at > 0;
    m->predicted_usual_start_us = (uint64_t)e->usual_at;
    if (e->usual_at)
        m->predicted_usual_basis = arena_strdup(a, estimate_usual_text(text, e));
    m->has_predicted_last_start_us = e->last_at > 0;
    m->predicted_last_start_us = (uint64_t)e->last_at;
    m->has_predicted_end_us = e->end_at > 0;
    m->predicted_end_us = (uint64_t)e->end_at;
}

static const char *phase_name(uint8_t phase)
{
    static const char *const names[] = {
        [MEMBER_SPARE] = "Spare",     [MEMBER_PLACED] = "Placed",       [MEMBER_BOUND] = "Bound",
        [MEMBER_RUNNING] = "Running", [MEMBER_SUCCEEDED] = "Succeeded", [MEMBER_FAILED] = "Failed",
        [MEMBER_GONE] = "Gone",       [MEMBER_KEPT] = "Kept",
    };

    return phase < ARRAY_LEN(names) ? names[phase] : "Unknown";
}

static Queued__V1__PodStatus *pod_message(struct arena *a, const struct rpc_job_view *v,
                                          const struct member *m)
{
    Queued__V1__PodStatus *p = arena_alloc(a, sizeof(*p));
    const struct node *node = cluster_node(&v->state->cluster, m->node_ix);
    char name[POD_NAME_TEXT];

    queued__v1__pod_status__init(p);
    p->name = arena_strdup(a, job_pod_name(name, v->job, m));
    p->role = rpc_text(v->job->demand->roles[m->role].name);
    p->has_index = p->has_rank = p->has_gpus = true;
    p->index = job_pod_index(v->job, m);
    p->rank = m->rank;
    p->node = node ? rpc_text(node->name) : NULL;
    p->gpus = gpus_of(v->job, m);
    p->phase = rpc_text(m->waits ? "Waiting" : phase_name(m->phase));
    p->has_exit_code = m->exit_code >= 0;
    p->exit_code = m->exit_code;
    return p;
}

/* The current or last attempt; earlier ones are in the accounting rows of the store. */
static void fill_attempts(struct arena *a, const struct rpc_job_view *v, Queued__V1__Job *m)
{
    const struct job *j = v->job;
    Queued__V1__Attempt *t;

    if (j->attempt == 0)
        return;
    t = arena_alloc(a, sizeof(*t));
    queued__v1__attempt__init(t);
    t->has_number = t->has_started_us = true;
    t->number = j->attempt;
    t->started_us = (uint64_t)j->attempt_at;
    t->has_running_us = j->running_at > 0;
    t->running_us = (uint64_t)j->running_at;
    t->has_ended_us = j->ended_at > 0 || j->state == JOB_PENDING;
    t->ended_us = (uint64_t)(j->ended_at > 0 ? j->ended_at : j->state_since);
    t->reason = *j->reason.code ? rpc_text(j->reason.code) : NULL;
    t->has_exit_code = j->exit_code >= 0;
    t->exit_code = j->exit_code;
    t->pods = arena_alloc(a, j->n_members * sizeof(*t->pods));
    for (uint32_t i = 0; i < j->n_members; i++)
        if (j->members[i].phase != MEMBER_ABSENT)
            t->pods[t->n_pods++] = pod_message(a, v, &j->members[i]);
    m->n_attempts = 1;
    m->attempts = arena_alloc(a, sizeof(*m->attempts));
    m->attempts[0] = t;
}

static void fill_times(const struct job *j, Queued__V1__Job *m)
{
    m->has_created_us = m->has_state_since_us = true;
    m->created_us = (uint64_t)j->submitted_at;
    m->state_since_us = (uint64_t)j->state_since;
    m->has_running_us = j->running_at > 0;
    m->running_us = (uint64_t)j->running_at;
    m->has_checkpointed_us = j->checkpointed_at > 0;
    m->checkpointed_us = (uint64_t)j->checkpointed_at;
    m->has_ended_us = j->ended_at > 0;
    m->ended_us = (uint64_t)j->ended_at;
}

static void fill_names(struct arena *a, const struct job *j, Queued__V1__Job *m)
{
    char id[JOB_ID_TEXT + 1];

    m->id = arena_strdup(a, job_id_format(id, j->id));
    m->name = rpc_text(j->name);
    m->namespace_ = rpc_text(j->ns);
    m->tenant = rpc_text(j->tenant);
    m->user = rpc_text(j->user);
    m->state = rpc_text(job_state_name(array_shown_state(j)));
    m->outcome = j->outcome ? rpc_text(job_state_name(j->outcome)) : NULL;
    m->priority_class = rpc_text(j->priority_class);
    m->submit_key = j->submit_key ? rpc_text(j->submit_key) : NULL;
}

Queued__V1__Job *rpc_message_job(struct arena *a, const struct rpc_job_view *v)
{
    Queued__V1__Job *m = arena_alloc(a, sizeof(*m));
    const struct job *j = v->job;
    const char *placement = rpc_placement(a, v->state, j);

    queued__v1__job__init(m);
    fill_names(a, j, m);
    fill_times(j, m);
    fill_reason(a, v, m);
    fill_estimate(a, v->eta, m);
    fill_held(j, m);
    rpc_array_fill(a, v->state, j, m);
    m->has_gpus = m->has_pods = m->has_restarts = true;
    m->gpus = j->demand->gpus;
    m->pods = j->demand->pods;
    m->has_most_pods = j->demand->most > j->demand->pods;
    m->most_pods = j->demand->most;
    m->has_now_pods = m->has_most_pods && job_state_is_active(j->state) && j->n_members;
    m->now_pods = m->has_now_pods ? job_size(j) : 0;
    m->restarts = j->restarts;
    m->has_exit_code = j->exit_code >= 0;
    m->exit_code = j->exit_code;
    m->gpu_model = model_of(a, v->state, j);
    m->placement = *placement ? rpc_text(placement) : NULL;
    if (v->spec) {
        m->n_labels = v->spec->labels.n;
        m->labels = rpc_pairs_to(a, &v->spec->labels);
    }
    if (v->full && v->spec)
        m->spec = rpc_spec_to(a, v->spec);
    if (v->full)
        fill_attempts(a, v, m);
    if (v->is_index)
        rpc_array_show(a, j, v->index, m);
    return m;
}
