/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_spec.c - a job spec from its message, and back for those who ask for it.
 *
 * Only translates: bounds were checked on the bytes (rpc_check.c), meaning is spec_check()'s.
 * A field that is added to the proto is added in both directions here.
 */
#include "rpc/rpc_spec.h"

#include <stdint.h>
#include <string.h>

static const char *text_from(struct arena *a, const char *s)
{
    return s ? arena_strdup(a, s) : NULL;
}

/* The same, with "" as absent. */
static const char *name_from(struct arena *a, const char *s)
{
    return s && *s ? arena_strdup(a, s) : NULL;
}

struct spec_pairs rpc_pairs_from(struct arena *a, Queued__V1__Pair *const *pairs, size_t n)
{
    struct spec_pairs to = {.n = (uint32_t)n};

    to.v = n ? arena_alloc(a, n * sizeof(*to.v)) : NULL;
    for (size_t i = 0; i < n; i++) {
        to.v[i].key = arena_strdup(a, pairs[i]->key ? pairs[i]->key : "");
        to.v[i].value = arena_strdup(a, pairs[i]->value ? pairs[i]->value : "");
    }
    return to;
}

static struct spec_strings strings_from(struct arena *a, char *const *v, size_t n)
{
    struct spec_strings to = {.n = (uint32_t)n};

    to.v = n ? arena_alloc(a, n * sizeof(*to.v)) : NULL;
    for (size_t i = 0; i < n; i++)
        to.v[i] = arena_strdup(a, v[i]);
    return to;
}

static void tolerations_from(struct arena *a, const Queued__V1__Role *m, struct spec_role *r)
{
    r->n_tolerations = (uint32_t)m->n_tolerations;
    r->tolerations = arena_alloc(a, m->n_tolerations * sizeof(*r->tolerations));
    for (size_t i = 0; i < m->n_tolerations; i++) {
        const Queued__V1__Toleration *t = m->tolerations[i];

        r->tolerations[i].key = name_from(a, t->key);
        r->tolerations[i].exists = t->operator_ && strcmp(t->operator_, "Exists") == 0;
        r->tolerations[i].value = text_from(a, t->value);
        r->tolerations[i].effect = name_from(a, t->effect);
        r->tolerations[i].is_limited = t->has_seconds;
        r->tolerations[i].seconds = t->seconds;
        r->tolerations[i].is_automatic = t->automatic;
    }
}

static void affinity_from(struct arena *a, const Queued__V1__Role *m, struct spec_role *r)
{
    r->n_affinity = (uint32_t)m->n_affinity;
    r->affinity = arena_alloc(a, m->n_affinity * sizeof(*r->affinity));
    for (size_t i = 0; i < m->n_affinity; i++) {
        const Queued__V1__NodeMatch *from = m->affinity[i];

        r->affinity[i].term = from->term;
        r->affinity[i].weight = from->weight;
        r->affinity[i].key = text_from(a, from->key);
        r->affinity[i].op = text_from(a, from->operator_);
        r->affinity[i].values = strings_from(a, from->values, from->n_values);
    }
    r->nodes = strings_from(a, m->nodes, m->n_nodes);
    r->excluded_nodes = strings_from(a, m->excluded_nodes, m->n_excluded_nodes);
    r->gpu_memory_min = (int64_t)m->gpu_memory_min;
    r->driver_min = text_from(a, m->driver_min);
    r->cuda_min = text_from(a, m->cuda_min);
    r->mixed_drivers = m->mixed_drivers;
    r->is_exclusive = m->exclusive_node;
    r->is_leader = m->leader;
    if (m->n_spread)
        r->spread = (struct spec_spread){text_from(a, m->spread[0]->key ? m->spread[0]->key : ""),
                                         m->spread[0]->max_skew, m->spread[0]->soft};
}

static void volumes_from(struct arena *a, const Queued__V1__Role *m, struct spec_role *r)
{
    r->n_volumes = (uint32_t)m->n_volumes;
    r->volumes = arena_alloc(a, m->n_volumes * sizeof(*r->volumes));
    for (size_t i = 0; i < m->n_volumes; i++) {
        const Queued__V1__Volume *v = m->volumes[i];
        struct spec_volume *to = &r->volumes[i];

        to->name = text_from(a, v->name);
        to->kind = (enum spec_volume_kind)((int)v->kind - 1);
        to->source = name_from(a, v->source);
        to->path = name_from(a, v->path);
        to->mount_path = text_from(a, v->mount_path);
        to->size_bytes = v->has_size_bytes ? v->size_bytes : -1;
        to->read_only = v->read_only;
        to->sub_path = name_from(a, v->sub_path);
        to->in_memory = v->in_memory;
    }
}

static void env_refs_from(struct arena *a, const Queued__V1__Role *m, struct spec_role *r)
{
    r->n_env_refs = (uint32_t)m->n_env_refs;
    r->env_refs = arena_alloc(a, m->n_env_refs * sizeof(*r->env_refs));
    for (size_t i = 0; i < m->n_env_refs; i++) {
        const Queued__V1__EnvRef *from = m->env_refs[i];

        r->env_refs[i] = (struct spec_env_ref){.env = name_from(a, from->env),
                                               .prefix = name_from(a, from->prefix),
                                               .kind = (enum spec_ref_kind)from->kind,
                                               .source = name_from(a, from->source),
                                               .key = name_from(a, from->key),
                                               .may_lack = from->may_lack};
    }
    r->pull_policy = name_from(a, m->pull_policy);
    r->pull_secrets = strings_from(a, m->pull_secrets, m->n_pull_secrets);
    r->service_account = name_from(a, m->service_account);
}

static struct spec_extended *amounts_from(struct arena *a, Queued__V1__Extended *const *v, size_t n)
{
    struct spec_extended *to = arena_alloc(a, n * sizeof(*to));

    for (size_t i = 0; i < n; i++)
        to[i] = (struct spec_extended){text_from(a, v[i]->name ? v[i]->name : ""), v[i]->amount};
    return to;
}

static void role_from(struct arena *a, const Queued__V1__Role *m, struct spec_role *r)
{
    r->name = arena_strdup(a, m->name ? m->name : "worker");
    r->replicas = m->has_replicas ? m->replicas : 1;
    r->min_replicas = m->min_replicas;
    r->spares = m->spares;
    r->start_after = name_from(a, m->start_after);
    r->gpus = m->gpus;
    r->gpu_models = strings_from(a, m->gpu_models, m->n_gpu_models);
    r->cpu_milli = m->has_cpu_milli ? m->cpu_milli : -1;
    r->memory_bytes = m->has_memory_bytes ? m->memory_bytes : -1;
    r->shm_bytes = m->has_shm_bytes ? m->shm_bytes : -1;
    r->n_extended = (uint32_t)m->n_extended;
    r->extended = amounts_from(a, m->extended, m->n_extended);
    r->image = text_from(a, m->image);
    r->command = strings_from(a, m->command, m->n_command);
    r->args = strings_from(a, m->args, m->n_args);
    r->working_dir = name_from(a, m->working_dir);
    r->env = rpc_pairs_from(a, m->env, m->n_env);
    env_refs_from(a, m, r);
    volumes_from(a, m, r);
    r->node_selector = rpc_pairs_from(a, m->node_selector, m->n_node_selector);
    tolerations_from(a, m, r);
    affinity_from(a, m, r);
}

static void failure_from(struct arena *a, const Queued__V1__JobSpec *m, struct spec_failure *f)
{
    f->reset_after_us = (usec_t)m->reset_after_us;
    f->backoff_us = (usec_t)m->backoff_us;
    f->backoff_max_us = (usec_t)m->backoff_max_us;
    if (m->has_exclude_failed_nodes)
        f->excludes_nodes = m->exclude_failed_nodes ? SPEC_YES : SPEC_NO;
    if (m->failure_scope)
        f->scope = spec_scope(m->failure_scope);
    f->n_rules = (uint32_t)m->n_failure_rules;
    f->rules = arena_alloc(a, m->n_failure_rules * sizeof(*f->rules));
    for (size_t i = 0; i < m->n_failure_rules; i++) {
        const Queued__V1__FailureRule *from = m->failure_rules[i];
        struct spec_rule *rule = &f->rules[i];

        rule->n_codes = (uint32_t)from->n_exit_codes;
        rule->codes = arena_alloc(a, from->n_exit_codes * sizeof(*rule->codes));
        for (size_t k = 0; k < from->n_exit_codes; k++)
            rule->codes[k] = from->exit_codes[k];
        rule->reasons = strings_from(a, from->reasons, from->n_reasons);
        rule->action = spec_action(from->action ? from->action : "");
    }
}

struct spec *rpc_spec_from(const Queued__V1__JobSpec *m)
{
    struct spec *s = spec_create();
    struct arena *a = &s->arena;

    s->name = text_from(a, m->name);
    s->tenant = name_from(a, m->tenant);
    s->ns = text_from(a, m->namespace_);
    s->labels = rpc_pairs_from(a, m->labels, m->n_labels);
    s->annotations = rpc_pairs_from(a, m->annotations, m->n_annotations);
    s->submit_key = text_from(a, m->submit_key);
    s->priority_class = text_from(a, m->priority_class);
    if (m->has_max_runtime_us)
        s->max_runtime_us = (usec_t)m->max_runtime_us;
    if (m->has_max_queue_us)
        s->max_queue_us = (usec_t)m->max_queue_us;
    if (m->has_start_timeout_us)
        s->start_timeout_us = (usec_t)m->start_timeout_us;
    s->topology_required = text_from(a, m->topology_required);
    s->topology_preferred = text_from(a, m->topology_preferred);
    s->n_roles = (uint32_t)m->n_roles;
    s->roles = arena_alloc(a, m->n_roles * sizeof(*s->roles));
    for (size_t i = 0; i < m->n_roles; i++)
        role_from(a, m->roles[i], &s->roles[i]);
    if (m->has_max_restarts)
        s->max_restarts = m->max_restarts;
    failure_from(a, m, &s->failure);
    if (m->has_checkpoint_grace_us)
        s->checkpoint_grace_us = (usec_t)m->checkpoint_grace_us;
    if (m->has_preemptible)
        s->preemptible = m->preemptible ? SPEC_YES : SPEC_NO;
    s->is_held = m->hold;
    s->preemption_policy = text_from(a, m->preemption_policy);
    s->max_lost_gpu_hours = m->max_lost_gpu_hours;
    s->on_preemption = text_from(a, m->on_preemption);
    s->exit_zero = text_from(a, m->exit_zero);
    s->checkpoint_signal = text_from(a, m->checkpoint_signal);
    s->checkpoint_path = text_from(a, m->checkpoint_path);
    s->checkpoint_target = text_from(a, m->checkpoint_target);
    s->before_end_us = (usec_t)m->before_end_us;
    s->ttl_us = (usec_t)m->ttl_us;
    s->pod_ttl_us = (usec_t)m->pod_ttl_us;
    s->keep_pods = text_from(a, m->keep_pods);
    s->rendezvous = text_from(a, m->rendezvous);
    s->rendezvous_port = m->rendezvous_port;
    s->is_one_process = m->one_process;
    s->is_world_of_nodes = m->world_of_nodes;
    s->completion = text_from(a, m->completion);
    s->completion_min = m->completion_min;
    s->is_movable = m->movable;
    if (m->has_pdb)
        s->pdb = m->pdb ? SPEC_YES : SPEC_NO;
    s->min_available = m->min_available;
    s->array_indices = text_from(a, m->array_indices);
    s->array_parallel = m->array_parallel;
    s->array_fails_fast = m->array_fail_fast;
    s->array_params = strings_from(a, m->array_params, m->n_array_params);
    s->slice_level = text_from(a, m->slice_level);
    s->slice_size = m->slice_size;
    s->n_licences = (uint32_t)m->n_licences;
    s->licences = amounts_from(a, m->licences, m->n_licences);
    s->elastic_step = m->elastic_step;
    s->grow_cooldown_us = (usec_t)m->grow_cooldown_us;
    s->max_wait_us = (usec_t)m->max_wait_us;
    s->deadline_us = (usec_t)m->deadline_us;
    s->depends_on = rpc_pairs_from(a, m->depends_on, m->n_depends_on);
    return s;
}

char *rpc_text(const char *s)
{
    char *p;

    memcpy(&p, &s, sizeof(p)); /* the cast that drops const, without the warning */
    return p;
}

Queued__V1__Pair **rpc_pairs_to(struct arena *a, const struct spec_pairs *pairs)
{
    Queued__V1__Pair **to = arena_alloc(a, pairs->n * sizeof(*to));

    for (uint32_t i = 0; i < pairs->n; i++) {
        to[i] = arena_alloc(a, sizeof(**to));
        queued__v1__pair__init(to[i]);
        to[i]->key = rpc_text(pairs->v[i].key);
        to[i]->value = rpc_text(pairs->v[i].value);
    }
    return to;
}

static char **strings_to(struct arena *a, const struct spec_strings *from)
{
    char **to = arena_alloc(a, from->n * sizeof(*to));

    for (uint32_t i = 0; i < from->n; i++)
        to[i] = rpc_text(from->v[i]);
    return to;
}

static void tolerations_to(struct arena *a, const struct spec_role *r, Queued__V1__Role *m)
{
    m->n_tolerations = r->n_tolerations;
    m->tolerations = arena_alloc(a, r->n_tolerations * sizeof(*m->tolerations));
    for (uint32_t i = 0; i < r->n_tolerations; i++) {
        Queued__V1__Toleration *t = arena_alloc(a, sizeof(*t));

        queued__v1__toleration__init(t);
        t->key = rpc_text(r->tolerations[i].key);
        t->operator_ = rpc_text(r->tolerations[i].exists ? "Exists" : "Equal");
        t->value = rpc_text(r->tolerations[i].value);
        t->effect = rpc_text(r->tolerations[i].effect);
        t->has_seconds = r->tolerations[i].is_limited;
        t->seconds = r->tolerations[i].seconds;
        t->has_automatic = t->automatic = r->tolerations[i].is_automatic;
        m->tolerations[i] = t;
    }
}

static void spread_to(struct arena *a, const struct spec_role *r, Queued__V1__Role *m)
{
    m->n_spread = 1;
    m->spread = arena_alloc(a, sizeof(*m->spread));
    m->spread[0] = arena_alloc(a, sizeof(**m->spread));
    queued__v1__spread__init(m->spread[0]);
    m->spread[0]->key = rpc_text(r->spread.key);
    m->spread[0]->has_max_skew = true;
    m->spread[0]->max_skew = r->spread.max_skew;
    m->spread[0]->has_soft = m->spread[0]->soft = r->spread.is_soft;
}

static void affinity_to(struct arena *a, const struct spec_role *r, Queued__V1__Role *m)
{
    m->n_affinity = r->n_affinity;
    m->affinity = arena_alloc(a, r->n_affinity * sizeof(*m->affinity));
    for (uint32_t i = 0; i < r->n_affinity; i++) {
        Queued__V1__NodeMatch *to = arena_alloc(a, sizeof(*to));

        queued__v1__node_match__init(to);
        to->has_term = true;
        to->term = r->affinity[i].term;
        to->has_weight = r->affinity[i].weight > 0;
        to->weight = r->affinity[i].weight;
        to->key = rpc_text(r->affinity[i].key);
        to->operator_ = rpc_text(r->affinity[i].op);
        to->n_values = r->affinity[i].values.n;
        to->values = strings_to(a, &r->affinity[i].values);
        m->affinity[i] = to;
    }
    m->n_nodes = r->nodes.n;
    m->nodes = strings_to(a, &r->nodes);
    m->n_excluded_nodes = r->excluded_nodes.n;
    m->excluded_nodes = strings_to(a, &r->excluded_nodes);
    m->has_gpu_memory_min = r->gpu_memory_min > 0;
    m->gpu_memory_min = (uint64_t)r->gpu_memory_min;
    m->driver_min = rpc_text(r->driver_min);
    m->cuda_min = rpc_text(r->cuda_min);
    m->has_mixed_drivers = m->mixed_drivers = r->mixed_drivers;
    m->has_exclusive_node = m->exclusive_node = r->is_exclusive;
    m->has_leader = m->leader = r->is_leader;
    if (r->spread.key)
        spread_to(a, r, m);
}

static void volumes_to(struct arena *a, const struct spec_role *r, Queued__V1__Role *m)
{
    m->n_volumes = r->n_volumes;
    m->volumes = arena_alloc(a, r->n_volumes * sizeof(*m->volumes));
    for (uint32_t i = 0; i < r->n_volumes; i++) {
        const struct spec_volume *from = &r->volumes[i];
        Queued__V1__Volume *v = arena_alloc(a, sizeof(*v));

        queued__v1__volume__init(v);
        v->name = rpc_text(from->name);
        v->has_kind = true;
        v->kind = (Queued__V1__VolumeKind)((int)from->kind + 1);
        v->source = rpc_text(from->source);
        v->path = rpc_text(from->path);
        v->mount_path = rpc_text(from->mount_path);
        v->has_size_bytes = from->size_bytes >= 0;
        v->size_bytes = from->size_bytes;
        v->has_read_only = true;
        v->read_only = from->read_only;
        v->sub_path = rpc_text(from->sub_path);
        v->has_in_memory = v->in_memory = from->in_memory;
        m->volumes[i] = v;
    }
}

static void env_refs_to(struct arena *a, const struct spec_role *r, Queued__V1__Role *m)
{
    m->n_env_refs = r->n_env_refs;
    m->env_refs = arena_alloc(a, r->n_env_refs * sizeof(*m->env_refs));
    for (uint32_t i = 0; i < r->n_env_refs; i++) {
        const struct spec_env_ref *from = &r->env_refs[i];
        Queued__V1__EnvRef *to = arena_alloc(a, sizeof(*to));

        queued__v1__env_ref__init(to);
        to->env = rpc_text(from->env);
        to->prefix = rpc_text(from->prefix);
        to->has_kind = true;
        to->kind = (Queued__V1__RefKind)from->kind;
        to->source = rpc_text(from->source);
        to->key = rpc_text(from->key);
        to->has_may_lack = to->may_lack = from->may_lack;
        m->env_refs[i] = to;
    }
    m->pull_policy = rpc_text(r->pull_policy);
    m->n_pull_secrets = r->pull_secrets.n;
    m->pull_secrets = strings_to(a, &r->pull_secrets);
    m->service_account = rpc_text(r->service_account);
}

static Queued__V1__Extended **amounts_to(struct arena *a, const struct spec_extended *v, uint32_t n)
{
    Queued__V1__Extended **to = arena_alloc(a, n * sizeof(*to));

    for (uint32_t i = 0; i < n; i++) {
        to[i] = arena_alloc(a, sizeof(**to));
        queued__v1__extended__init(to[i]);
        to[i]->name = rpc_text(v[i].name);
        to[i]->has_amount = true;
        to[i]->amount = v[i].amount;
    }
    return to;
}

static Queued__V1__Role *role_to(struct arena *a, const struct spec_role *r)
{
    Queued__V1__Role *m = arena_alloc(a, sizeof(*m));

    queued__v1__role__init(m);
    m->name = rpc_text(r->name);
    m->has_replicas = true;
    m->replicas = r->replicas;
    m->has_min_replicas = r->min_replicas > 0;
    m->min_replicas = r->min_replicas;
    m->has_spares = r->spares > 0;
    m->spares = r->spares;
    m->start_after = rpc_text(r->start_after);
    m->has_gpus = true;
    m->gpus = r->gpus;
    m->n_gpu_models = r->gpu_models.n;
    m->gpu_models = strings_to(a, &r->gpu_models);
    m->has_cpu_milli = r->cpu_milli >= 0;
    m->cpu_milli = r->cpu_milli;
    m->has_memory_bytes = r->memory_bytes >= 0;
    m->memory_bytes = r->memory_bytes;
    m->has_shm_bytes = r->shm_bytes >= 0;
    m->shm_bytes = r->shm_bytes;
    m->n_extended = r->n_extended;
    m->extended = amounts_to(a, r->extended, r->n_extended);
    m->image = rpc_text(r->image);
    m->n_command = r->command.n;
    m->command = strings_to(a, &r->command);
    m->n_args = r->args.n;
    m->args = strings_to(a, &r->args);
    m->working_dir = rpc_text(r->working_dir);
    m->n_env = r->env.n;
    m->env = rpc_pairs_to(a, &r->env);
    env_refs_to(a, r, m);
    volumes_to(a, r, m);
    m->n_node_selector = r->node_selector.n;
    m->node_selector = rpc_pairs_to(a, &r->node_selector);
    tolerations_to(a, r, m);
    affinity_to(a, r, m);
    return m;
}

static void failure_to(struct arena *a, const struct spec_failure *f, Queued__V1__JobSpec *m)
{
    m->has_reset_after_us = f->reset_after_us > 0;
    m->reset_after_us = (uint64_t)f->reset_after_us;
    m->has_backoff_us = f->backoff_us > 0;
    m->backoff_us = (uint64_t)f->backoff_us;
    m->has_backoff_max_us = f->backoff_max_us > 0;
    m->backoff_max_us = (uint64_t)f->backoff_max_us;
    m->has_exclude_failed_nodes = f->excludes_nodes != SPEC_UNSAID;
    m->exclude_failed_nodes = f->excludes_nodes == SPEC_YES;
    m->failure_scope = f->scope ? rpc_text(spec_scope_word(f->scope)) : NULL;
    m->n_failure_rules = f->n_rules;
    m->failure_rules = arena_alloc(a, f->n_rules * sizeof(*m->failure_rules));
    for (uint32_t i = 0; i < f->n_rules; i++) {
        Queued__V1__FailureRule *to = arena_alloc(a, sizeof(*to));

        queued__v1__failure_rule__init(to);
        to->n_exit_codes = f->rules[i].n_codes;
        to->exit_codes = f->rules[i].codes;
        to->n_reasons = f->rules[i].reasons.n;
        to->reasons = strings_to(a, &f->rules[i].reasons);
        to->action = rpc_text(spec_action_word(f->rules[i].action));
        m->failure_rules[i] = to;
    }
}

static void checkpoint_to(const struct spec *s, Queued__V1__JobSpec *m)
{
    m->has_checkpoint_grace_us = true;
    m->checkpoint_grace_us = (uint64_t)s->checkpoint_grace_us;
    m->checkpoint_signal = rpc_text(s->checkpoint_signal);
    m->checkpoint_path = rpc_text(s->checkpoint_path);
    m->checkpoint_target = rpc_text(s->checkpoint_target);
    m->has_ttl_us = s->ttl_us > 0;
    m->ttl_us = (uint64_t)s->ttl_us;
    m->has_pod_ttl_us = s->pod_ttl_us > 0;
    m->pod_ttl_us = (uint64_t)s->pod_ttl_us;
    m->keep_pods = rpc_text(s->keep_pods);
    m->rendezvous = rpc_text(s->rendezvous);
    m->has_rendezvous_port = s->rendezvous_port > 0;
    m->rendezvous_port = s->rendezvous_port;
    m->has_one_process = m->one_process = s->is_one_process;
    m->has_world_of_nodes = m->world_of_nodes = s->is_world_of_nodes;
    m->has_before_end_us = s->before_end_us > 0;
    m->before_end_us = (uint64_t)s->before_end_us;
    m->exit_zero = rpc_text(s->exit_zero);
}

Queued__V1__JobSpec *rpc_spec_to(struct arena *a, const struct spec *s)
{
    Queued__V1__JobSpec *m = arena_alloc(a, sizeof(*m));

    queued__v1__job_spec__init(m);
    m->name = rpc_text(s->name);
    m->tenant = rpc_text(s->tenant);
    m->namespace_ = rpc_text(s->ns);
    m->n_labels = s->labels.n;
    m->labels = rpc_pairs_to(a, &s->labels);
    m->n_annotations = s->annotations.n;
    m->annotations = rpc_pairs_to(a, &s->annotations);
    m->submit_key = rpc_text(s->submit_key);
    m->priority_class = rpc_text(s->priority_class);
    m->has_max_runtime_us = s->max_runtime_us > 0;
    m->max_runtime_us = (uint64_t)s->max_runtime_us;
    m->has_max_queue_us = s->max_queue_us > 0;
    m->max_queue_us = (uint64_t)s->max_queue_us;
    m->has_start_timeout_us = true;
    m->start_timeout_us = (uint64_t)s->start_timeout_us;
    m->topology_required = rpc_text(s->topology_required);
    m->topology_preferred = rpc_text(s->topology_preferred);
    m->n_roles = s->n_roles;
    m->roles = arena_alloc(a, s->n_roles * sizeof(*m->roles));
    for (uint32_t i = 0; i < s->n_roles; i++)
        m->roles[i] = role_to(a, &s->roles[i]);
    m->has_max_restarts = true;
    m->max_restarts = s->max_restarts;
    failure_to(a, &s->failure, m);
    checkpoint_to(s, m);
    m->has_preemptible = s->preemptible != SPEC_UNSAID;
    m->preemptible = s->preemptible == SPEC_YES;
    m->has_hold = m->hold = s->is_held;
    m->preemption_policy = rpc_text(s->preemption_policy);
    m->has_max_lost_gpu_hours = s->max_lost_gpu_hours > 0;
    m->max_lost_gpu_hours = s->max_lost_gpu_hours;
    m->on_preemption = rpc_text(s->on_preemption);
    m->completion = rpc_text(s->completion);
    m->has_completion_min = s->completion_min > 0;
    m->completion_min = s->completion_min;
    m->has_movable = m->movable = s->is_movable;
    m->has_pdb = s->pdb != SPEC_UNSAID;
    m->pdb = s->pdb == SPEC_YES;
    m->has_min_available = s->min_available > 0;
    m->min_available = s->min_available;
    m->array_indices = rpc_text(s->array_indices);
    m->has_array_parallel = s->array_parallel > 0;
    m->array_parallel = s->array_parallel;
    m->has_array_fail_fast = m->array_fail_fast = s->array_fails_fast;
    m->n_array_params = s->array_params.n;
    m->array_params = strings_to(a, &s->array_params);
    m->slice_level = rpc_text(s->slice_level);
    m->has_slice_size = s->slice_size > 0;
    m->slice_size = s->slice_size;
    m->n_licences = s->n_licences;
    m->licences = amounts_to(a, s->licences, s->n_licences);
    m->has_elastic_step = s->elastic_step > 0;
    m->elastic_step = s->elastic_step;
    m->has_grow_cooldown_us = s->grow_cooldown_us > 0;
    m->grow_cooldown_us = (uint64_t)s->grow_cooldown_us;
    m->has_max_wait_us = s->max_wait_us > 0;
    m->max_wait_us = (uint64_t)s->max_wait_us;
    m->has_deadline_us = s->deadline_us > 0;
    m->deadline_us = (uint64_t)s->deadline_us;
    m->n_depends_on = s->depends_on.n;
    m->depends_on = rpc_pairs_to(a, &s->depends_on);
    return m;
}
