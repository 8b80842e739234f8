/* SPDX-License-Identifier: Apache-2.0 */
/* client_view.c - the only place that reads the messages of jobs, nodes and tenants.
 *
 * Numbers of the daemon that do not fit the public type are cut to its maximum.
 */
#include "client_view.h"

static int64_t usec(uint64_t v)
{
    return v <= INT64_MAX ? (int64_t)v : INT64_MAX;
}

static const struct queued_pair *pairs(struct arena *a, Queued__V1__Pair *const *m, size_t n)
{
    struct queued_pair *v = arena_alloc(a, (n + 1) * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = (struct queued_pair){m[i]->key, m[i]->value};
    return v;
}

static const struct queued_pod *pods(struct arena *a, Queued__V1__PodStatus *const *m, size_t n)
{
    struct queued_pod *v = arena_alloc(a, (n + 1) * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = (struct queued_pod){
            .name = m[i]->name,
            .role = m[i]->role,
            .index = m[i]->index,
            .rank = m[i]->rank,
            .node = m[i]->node,
            .gpus = m[i]->gpus,
            .phase = m[i]->phase,
            .has_exit_code = m[i]->has_exit_code,
            .exit_code = m[i]->exit_code,
        };
    return v;
}

static const struct queued_attempt *attempts(struct arena *a, Queued__V1__Attempt *const *m,
                                             size_t n)
{
    struct queued_attempt *v = arena_alloc(a, (n + 1) * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = (struct queued_attempt){
            .number = m[i]->number,
            .started_us = usec(m[i]->started_us),
            .running_us = usec(m[i]->running_us),
            .ended_us = usec(m[i]->ended_us),
            .reason = m[i]->reason,
            .has_exit_code = m[i]->has_exit_code,
            .exit_code = m[i]->exit_code,
            .n_pods = m[i]->n_pods,
            .pods = pods(a, m[i]->pods, m[i]->n_pods),
        };
    return v;
}

static const struct queued_number *numbers(struct arena *a, Queued__V1__Number *const *m, size_t n)
{
    struct queued_number *v = arena_alloc(a, (n + 1) * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = (struct queued_number){m[i]->name, m[i]->value};
    return v;
}

static const struct queued_array *array(struct arena *a, const Queued__V1__Array *m)
{
    struct queued_array *v;

    if (!m)
        return NULL;
    v = arena_alloc(a, sizeof(*v));
    *v = (struct queued_array){
        .indices = m->indices,
        .succeeded = m->succeeded,
        .failed = m->failed,
        .cancelled = m->cancelled,
        .running = m->running,
        .waiting = m->waiting,
        .open = m->open,
        .failed_indices = m->failed_indices,
    };
    return v;
}

struct queued_job view_job(struct arena *a, const Queued__V1__Job *m)
{
    return (struct queued_job){
        .id = m->id,
        .name = m->name,
        .ns = m->namespace_,
        .tenant = m->tenant,
        .user = m->user,
        .n_labels = m->n_labels,
        .labels = pairs(a, m->labels, m->n_labels),
        .created_us = usec(m->created_us),
        .state = m->state,
        .outcome = m->outcome && *m->outcome ? m->outcome : NULL,
        .reason_code = m->reason_code && *m->reason_code ? m->reason_code : NULL,
        .reason_text = m->reason_text && *m->reason_text ? m->reason_text : NULL,
        .n_numbers = m->n_reason_numbers,
        .numbers = numbers(a, m->reason_numbers, m->n_reason_numbers),
        .position = m->position,
        .priority_class = m->priority_class,
        .gpus = m->gpus,
        .pods = m->pods,
        .most_pods = m->most_pods,
        .now_pods = m->now_pods,
        .held_gpus = m->held_gpus,
        .held_nodes = m->held_nodes,
        .charged_gpus = m->charged_gpus,
        .charged_milli = m->charged_milli,
        .state_since_us = usec(m->state_since_us),
        .running_us = usec(m->running_us),
        .ended_us = usec(m->ended_us),
        .checkpointed_us = usec(m->checkpointed_us),
        .restarts = m->restarts,
        .has_exit_code = m->has_exit_code,
        .exit_code = m->exit_code,
        .gpu_model = m->gpu_model,
        .placement = m->placement,
        .submit_key = m->submit_key,
        .n_attempts = m->n_attempts,
        .attempts = attempts(a, m->attempts, m->n_attempts),
        .spec = (const struct queued_stored_spec *)(const void *)m->spec,
        .predicted_start_us = usec(m->predicted_start_us),
        .predicted_last_start_us = usec(m->predicted_last_start_us),
        .predicted_end_us = usec(m->predicted_end_us),
        .predicted_usual_start_us = usec(m->predicted_usual_start_us),
        .predicted_usual_basis = m->predicted_usual_basis,
        .predicted_basis = m->predicted_basis && *m->predicted_basis ? m->predicted_basis : NULL,
        .array = array(a, m->array),
        .array_id = m->array_id,
        .array_index = m->array_index,
    };
}

struct queued_event view_event(const Queued__V1__JobEvent *m)
{
    return (struct queued_event){
        .seq = m->seq,
        .at_us = usec(m->at_us),
        .job_id = m->job_id,
        .job_name = m->job_name,
        .tenant = m->tenant,
        .from = m->from,
        .to = m->to,
        .attempt = m->attempt,
        .reason = m->reason,
        .text = m->text,
    };
}

struct queued_node view_node(struct arena *a, const Queued__V1__Node *m)
{
    struct queued_device *mig = arena_alloc(a, (m->n_mig + 1) * sizeof(*mig));

    for (size_t i = 0; i < m->n_mig; i++)
        mig[i] =
            (struct queued_device){m->mig[i]->resource, m->mig[i]->allocatable, m->mig[i]->used};
    return (struct queued_node){
        .name = m->name,
        .model = m->model && *m->model ? m->model : NULL,
        .gpus_capacity = m->gpus_capacity,
        .gpus_allocatable = m->gpus_allocatable,
        .gpus_expected = m->gpus_expected,
        .gpus_used = m->gpus_used,
        .gpus_free = m->gpus_free,
        .is_usable = m->usable,
        .is_known = !m->has_known || m->known,
        .trouble = m->trouble && *m->trouble ? m->trouble : NULL,
        .n_domains = m->n_domains,
        .domains = (const char *const *)m->domains,
        .cpu_milli = m->cpu_milli,
        .cpu_milli_used = m->cpu_milli_used,
        .memory_bytes = m->memory_bytes,
        .memory_bytes_used = m->memory_bytes_used,
        .pods = m->pods,
        .n_jobs = m->n_jobs,
        .jobs = (const char *const *)m->jobs,
        .n_taints = m->n_taints,
        .taints = (const char *const *)m->taints,
        .drained = m->drained && *m->drained ? m->drained : NULL,
        .drained_us = (int64_t)m->drained_us,
        .pool = m->pool,
        .n_mig = m->n_mig,
        .mig = mig,
    };
}

const struct queued_model *view_models(struct arena *a, Queued__V1__ModelFree *const *m, size_t n)
{
    struct queued_model *v = arena_alloc(a, (n + 1) * sizeof(*v));

    for (size_t i = 0; i < n; i++)
        v[i] = (struct queued_model){
            .model = m[i]->model,
            .nodes = m[i]->nodes,
            .gpus = m[i]->gpus,
            .free = m[i]->free,
            .slots = {m[i]->slots_1, m[i]->slots_2, m[i]->slots_4, m[i]->slots_8},
        };
    return v;
}

struct queued_tenant view_tenant(struct arena *a, const Queued__V1__Tenant *m)
{
    struct queued_quota *v = arena_alloc(a, (m->n_models + 1) * sizeof(*v));

    for (size_t i = 0; i < m->n_models; i++)
        v[i] = (struct queued_quota){
            .model = m->models[i]->model,
            .has_quota = m->models[i]->has_quota,
            .quota = m->models[i]->quota,
            .has_limit = m->models[i]->has_limit,
            .limit = m->models[i]->limit,
            .used = m->models[i]->used,
            .used_milli = m->models[i]->used_milli,
            .past_milli = m->models[i]->past_milli,
            .share_permille = m->models[i]->share_permille,
            .lent = m->models[i]->lent,
        };
    return (struct queued_tenant){
        .path = m->path,
        .weight = m->weight,
        .pending = m->pending,
        .active = m->active,
        .n_quotas = m->n_models,
        .quotas = v,
        .stopped = m->stopped && *m->stopped ? m->stopped : NULL,
        .stopped_us = (int64_t)m->stopped_us,
        .rank = m->rank,
        .n_windows = m->n_windows,
        .windows = (const char *const *)m->windows,
        .utc_offset = m->utc_offset && *m->utc_offset ? m->utc_offset : NULL,
        .opens_us = (int64_t)m->opens_us,
        .closes_us = (int64_t)m->closes_us,
        .usual_permille = m->usual_permille,
    };
}

/* protobuf-c declares what it only reads as writable. */
static char *text(const char *s)
{
    union {
        const char *in;
        char *out;
    } u = {s};

    return u.out;
}

void view_filter(Queued__V1__JobFilter *m, const struct queued_filter *f, struct arena *a)
{
    queued__v1__job_filter__init(m);
    m->has_all = f->all;
    m->all = f->all;
    m->tenant = text(f->tenant);
    m->user = text(f->user);
    m->array = text(f->array);
    m->n_states = f->n_states;
    m->states = arena_alloc(a, (f->n_states + 1) * sizeof(*m->states));
    for (size_t i = 0; i < f->n_states; i++)
        m->states[i] = text(f->states[i]);
    m->n_labels = f->n_labels;
    m->labels = arena_alloc(a, (f->n_labels + 1) * sizeof(*m->labels));
    for (size_t i = 0; i < f->n_labels; i++) {
        m->labels[i] = arena_alloc(a, sizeof(**m->labels));
        queued__v1__pair__init(m->labels[i]);
        m->labels[i]->key = text(f->labels[i].key);
        m->labels[i]->value = text(f->labels[i].value);
    }
}
