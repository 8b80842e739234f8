/* SPDX-License-Identifier: Apache-2.0 */
/* spec_pack.c - a spec as the message of the wire: what is not given stays absent.
 *
 * Read-only casts: protobuf-c has no const, and packing does not write.
 */
#include <string.h>

#include "spec_pack.h"

#include "spec/limits.h"

_Static_assert((int)SPEC_PACKED_MAX == (int)SPEC_BYTES_MAX, "client and daemon agree");

/* protobuf-c declares what it only reads as writable. */
static char *text(const char *s)
{
    union {
        const char *in;
        char *out;
    } u = {s};

    return u.out;
}

static char **texts(const char *const *v, size_t n, struct arena *arena)
{
    char **out = arena_alloc(arena, (n + 1) * sizeof(*out));

    for (size_t i = 0; i < n; i++)
        out[i] = text(v[i]);
    return out;
}

static Queued__V1__Pair **pairs(const struct queued_pair *v, size_t n, struct arena *arena)
{
    Queued__V1__Pair **out = arena_alloc(arena, (n + 1) * sizeof(*out));

    for (size_t i = 0; i < n; i++) {
        out[i] = arena_alloc(arena, sizeof(**out));
        queued__v1__pair__init(out[i]);
        out[i]->key = text(v[i].key);
        out[i]->value = text(v[i].value);
    }
    return out;
}

static void pack_volumes(Queued__V1__Role *m, const struct queued_role *r, struct arena *arena)
{
    m->n_volumes = r->n_volumes;
    m->volumes = arena_alloc(arena, (r->n_volumes + 1) * sizeof(*m->volumes));
    for (size_t i = 0; i < r->n_volumes; i++) {
        const struct queued_volume *v = &r->volumes[i];
        Queued__V1__Volume *o = arena_alloc(arena, sizeof(*o));

        queued__v1__volume__init(o);
        o->name = text(v->name);
        o->has_kind = true;
        o->kind = (Queued__V1__VolumeKind)v->kind;
        o->source = text(v->source);
        o->path = text(v->path);
        o->mount_path = text(v->mount_path);
        o->has_size_bytes = v->size_bytes > 0;
        o->size_bytes = v->size_bytes;
        o->has_read_only = v->is_read_only;
        o->read_only = v->is_read_only;
        o->sub_path = text(v->sub_path);
        o->has_in_memory = o->in_memory = v->is_in_memory;
        m->volumes[i] = o;
    }
}

static void pack_env_refs(Queued__V1__Role *m, const struct queued_role *r, struct arena *arena)
{
    m->n_env_refs = r->n_env_refs;
    m->env_refs = arena_alloc(arena, (r->n_env_refs + 1) * sizeof(*m->env_refs));
    for (size_t i = 0; i < r->n_env_refs; i++) {
        const struct queued_env_ref *from = &r->env_refs[i];
        Queued__V1__EnvRef *o = arena_alloc(arena, sizeof(*o));

        queued__v1__env_ref__init(o);
        o->env = text(from->env);
        o->prefix = text(from->prefix);
        o->has_kind = true;
        o->kind = (Queued__V1__RefKind)from->kind;
        o->source = text(from->source);
        o->key = text(from->key);
        o->has_may_lack = o->may_lack = from->is_optional;
        m->env_refs[i] = o;
    }
    m->pull_policy = text(r->pull_policy);
    m->n_pull_secrets = r->n_pull_secrets;
    m->pull_secrets = texts(r->pull_secrets, r->n_pull_secrets, arena);
    m->service_account = text(r->service_account);
}

static void pack_tolerations(Queued__V1__Role *m, const struct queued_role *r, struct arena *arena)
{
    m->n_tolerations = r->n_tolerations;
    m->tolerations = arena_alloc(arena, (r->n_tolerations + 1) * sizeof(*m->tolerations));
    for (size_t i = 0; i < r->n_tolerations; i++) {
        const struct queued_toleration *t = &r->tolerations[i];
        Queued__V1__Toleration *o = arena_alloc(arena, sizeof(*o));

        queued__v1__toleration__init(o);
        o->key = text(t->key);
        o->operator_ = text(t->operator_);
        o->value = text(t->value);
        o->effect = text(t->effect);
        o->has_seconds = t->has_seconds;
        o->seconds = t->seconds;
        m->tolerations[i] = o;
    }
}

static void pack_spread(Queued__V1__Role *m, const struct queued_role *r, struct arena *arena)
{
    m->n_spread = 1;
    m->spread = arena_alloc(arena, sizeof(*m->spread));
    m->spread[0] = arena_alloc(arena, sizeof(**m->spread));
    queued__v1__spread__init(m->spread[0]);
    m->spread[0]->key = text(r->spread_key);
    m->spread[0]->has_max_skew = true;
    m->spread[0]->max_skew = r->spread_max_skew;
    m->spread[0]->has_soft = m->spread[0]->soft = r->is_spread_soft;
}

static void pack_affinity(Queued__V1__Role *m, const struct queued_role *r, struct arena *arena)
{
    m->n_affinity = r->n_affinity;
    m->affinity = arena_alloc(arena, (r->n_affinity + 1) * sizeof(*m->affinity));
    for (size_t i = 0; i < r->n_affinity; i++) {
        const struct queued_match *from = &r->affinity[i];
        Queued__V1__NodeMatch *o = arena_alloc(arena, sizeof(*o));

        queued__v1__node_match__init(o);
        o->has_term = true;
        o->term = from->term;
        o->has_weight = from->weight > 0;
        o->weight = from->weight;
        o->key = text(from->key);
        o->operator_ = text(from->operator_);
        o->n_values = from->n_values;
        o->values = texts(from->values, from->n_values, arena);
        m->affinity[i] = o;
    }
    m->n_nodes = r->n_nodes;
    m->nodes = texts(r->nodes, r->n_nodes, arena);
    m->n_excluded_nodes = r->n_excluded_nodes;
    m->excluded_nodes = texts(r->excluded_nodes, r->n_excluded_nodes, arena);
    m->has_gpu_memory_min = r->gpu_memory_min > 0;
    m->gpu_memory_min = (uint64_t)r->gpu_memory_min;
    m->driver_min = text(r->driver_min);
    m->cuda_min = text(r->cuda_min);
    m->has_mixed_drivers = m->mixed_drivers = r->has_mixed_drivers;
    m->has_leader = m->leader = r->is_leader;
    m->has_exclusive_node = m->exclusive_node = r->is_exclusive;
    if (r->spread_key)
        pack_spread(m, r, arena);
}

static Queued__V1__Extended **amounts(const struct queued_amount *v, size_t n, struct arena *arena)
{
    Queued__V1__Extended **to = arena_alloc(arena, (n + 1) * sizeof(*to));

    for (size_t i = 0; i < n; i++) {
        to[i] = arena_alloc(arena, sizeof(**to));
        queued__v1__extended__init(to[i]);
        to[i]->name = text(v[i].name);
        to[i]->has_amount = true;
        to[i]->amount = v[i].amount;
    }
    return to;
}

static void pack_resources(Queued__V1__Role *m, const struct queued_role *r, struct arena *arena)
{
    m->has_gpus = r->gpus > 0;
    m->gpus = r->gpus;
    m->n_gpu_models = r->n_gpu_models;
    m->gpu_models = texts(r->gpu_models, r->n_gpu_models, arena);
    m->has_cpu_milli = r->cpu_milli > 0;
    m->cpu_milli = r->cpu_milli;
    m->has_memory_bytes = r->memory_bytes > 0;
    m->memory_bytes = r->memory_bytes;
    m->has_shm_bytes = r->shm_bytes > 0;
    m->shm_bytes = r->shm_bytes;
    m->n_extended = r->n_extended;
    m->extended = amounts(r->extended, r->n_extended, arena);
}

static Queued__V1__Role *pack_role(const struct queued_role *r, struct arena *arena)
{
    Queued__V1__Role *m = arena_alloc(arena, sizeof(*m));

    queued__v1__role__init(m);
    m->name = text(r->name);
    m->has_replicas = r->replicas > 0;
    m->replicas = r->replicas;
    m->has_min_replicas = r->min_replicas > 0;
    m->min_replicas = r->min_replicas;
    m->has_spares = r->spares > 0;
    m->spares = r->spares;
    m->start_after = text(r->start_after);
    pack_resources(m, r, arena);
    m->image = text(r->image);
    m->n_command = r->n_command;
    m->command = texts(r->command, r->n_command, arena);
    m->n_args = r->n_args;
    m->args = texts(r->args, r->n_args, arena);
    m->working_dir = text(r->working_dir);
    m->n_env = r->n_env;
    m->env = pairs(r->env, r->n_env, arena);
    pack_env_refs(m, r, arena);
    pack_volumes(m, r, arena);
    m->n_node_selector = r->n_node_selector;
    m->node_selector = pairs(r->node_selector, r->n_node_selector, arena);
    pack_tolerations(m, r, arena);
    pack_affinity(m, r, arena);
    return m;
}

static void pack_times(Queued__V1__JobSpec *m, const struct queued_spec *s)
{
    m->has_max_runtime_us = s->max_runtime_us > 0;
    m->max_runtime_us = (uint64_t)s->max_runtime_us;
    m->has_max_queue_us = s->max_queue_us > 0;
    m->max_queue_us = (uint64_t)s->max_queue_us;
    m->has_start_timeout_us = s->start_timeout_us > 0;
    m->start_timeout_us = (uint64_t)s->start_timeout_us;
    m->has_checkpoint_grace_us = s->checkpoint_grace_us > 0;
    m->checkpoint_grace_us = (uint64_t)s->checkpoint_grace_us;
    m->has_preemptible = s->has_preemptible;
    m->preemptible = s->is_preemptible;
    m->has_hold = m->hold = s->is_held;
    m->preemption_policy = text(s->preemption_policy);
    m->has_max_lost_gpu_hours = s->max_lost_gpu_hours > 0;
    m->max_lost_gpu_hours = s->max_lost_gpu_hours;
    m->on_preemption = text(s->on_preemption);
    m->exit_zero = text(s->exit_zero);
    m->checkpoint_signal = text(s->checkpoint_signal);
    m->checkpoint_path = text(s->checkpoint_path);
    m->checkpoint_target = text(s->checkpoint_target);
    m->has_ttl_us = s->ttl_us > 0;
    m->ttl_us = (uint64_t)s->ttl_us;
    m->has_pod_ttl_us = s->pod_ttl_us > 0;
    m->pod_ttl_us = (uint64_t)s->pod_ttl_us;
    m->keep_pods = text(s->keep_pods);
    m->rendezvous = text(s->rendezvous);
    m->has_rendezvous_port = s->rendezvous_port > 0;
    m->rendezvous_port = s->rendezvous_port;
    m->has_one_process = m->one_process = s->is_one_process;
    m->has_world_of_nodes = m->world_of_nodes = s->is_world_of_nodes;
    m->has_before_end_us = s->before_end_us > 0;
    m->before_end_us = (uint64_t)s->before_end_us;
    m->completion = text(s->completion);
    m->has_completion_min = s->completion_min > 0;
    m->completion_min = s->completion_min;
    m->has_movable = m->movable = s->is_movable;
    m->has_pdb = s->has_pdb;
    m->pdb = s->wants_pdb;
    m->has_min_available = s->min_available > 0;
    m->min_available = s->min_available;
    m->slice_level = text(s->slice_level);
    m->has_slice_size = s->slice_size > 0;
    m->slice_size = s->slice_size;
    m->array_indices = text(s->array_indices);
    m->has_array_parallel = s->array_parallel > 0;
    m->array_parallel = s->array_parallel;
    m->has_array_fail_fast = m->array_fail_fast = s->array_fails_fast;
    m->has_elastic_step = s->elastic_step > 0;
    m->elastic_step = s->elastic_step;
    m->has_grow_cooldown_us = s->grow_cooldown_us > 0;
    m->grow_cooldown_us = (uint64_t)s->grow_cooldown_us;
    m->has_max_wait_us = s->max_wait_us > 0;
    m->max_wait_us = (uint64_t)s->max_wait_us;
    m->has_deadline_us = s->deadline_us > 0;
    m->deadline_us = (uint64_t)s->deadline_us;
}

static void pack_failure(Queued__V1__JobSpec *m, const struct queued_spec *s, struct arena *arena)
{
    m->has_reset_after_us = s->reset_after_us > 0;
    m->reset_after_us = (uint64_t)s->reset_after_us;
    m->has_backoff_us = s->backoff_us > 0;
    m->backoff_us = (uint64_t)s->backoff_us;
    m->has_backoff_max_us = s->backoff_max_us > 0;
    m->backoff_max_us = (uint64_t)s->backoff_max_us;
    m->has_exclude_failed_nodes = s->has_exclude_nodes;
    m->exclude_failed_nodes = s->excludes_nodes;
    if (s->failure_scope && strcmp(s->failure_scope, "gang") != 0)
        m->failure_scope = text(s->failure_scope);
    m->n_failure_rules = s->n_rules;
    m->failure_rules = arena_alloc(arena, (s->n_rules + 1) * sizeof(*m->failure_rules));
    for (size_t i = 0; i < s->n_rules; i++) {
        Queued__V1__FailureRule *to = arena_alloc(arena, sizeof(*to));

        queued__v1__failure_rule__init(to);
        to->n_exit_codes = s->rules[i].n_codes;
        to->exit_codes = arena_alloc(arena, (s->rules[i].n_codes + 1) * sizeof(*to->exit_codes));
        for (size_t k = 0; k < s->rules[i].n_codes; k++)
            to->exit_codes[k] = s->rules[i].codes[k];
        to->n_reasons = s->rules[i].n_reasons;
        to->reasons = texts(s->rules[i].reasons, s->rules[i].n_reasons, arena);
        to->action = text(s->rules[i].action);
        m->failure_rules[i] = to;
    }
}

/* What a caller of the C interface may have left out, and the packer could not stand. */
static int check_shape(const struct queued_spec *s, struct err *err)
{
    if (!s->name)
        return err_set(err, ERR_INVALID, "metadata.name is missing; give the job a name");
    if (s->n_roles == 0)
        return err_set(err, ERR_INVALID, "spec.roles is empty; a job has at least one role");
    for (size_t i = 0; i < s->n_roles; i++)
        if (!s->roles[i].image)
            return err_set(err, ERR_INVALID, "spec.roles[%zu].image is missing; name an image", i);
    return 0;
}

int spec_pack(Queued__V1__JobSpec **ret, const struct queued_spec *s, struct arena *arena,
              struct err *err)
{
    Queued__V1__JobSpec *m;
    size_t bytes;

    if (check_shape(s, err))
        return -1;
    m = arena_alloc(arena, sizeof(*m));
    queued__v1__job_spec__init(m);
    m->name = text(s->name);
    m->tenant = text(s->tenant);
    m->namespace_ = text(s->ns);
    m->n_labels = s->n_labels;
    m->labels = pairs(s->labels, s->n_labels, arena);
    m->n_annotations = s->n_annotations;
    m->annotations = pairs(s->annotations, s->n_annotations, arena);
    m->submit_key = text(s->submit_key);
    m->priority_class = text(s->priority_class);
    pack_times(m, s);
    m->topology_required = text(s->topology_required);
    m->topology_preferred = text(s->topology_preferred);
    m->n_licences = s->n_licences;
    m->licences = amounts(s->licences, s->n_licences, arena);
    m->n_depends_on = s->n_depends_on;
    m->depends_on = pairs(s->depends_on, s->n_depends_on, arena);
    m->n_roles = s->n_roles;
    m->roles = arena_alloc(arena, s->n_roles * sizeof(*m->roles));
    for (size_t i = 0; i < s->n_roles; i++)
        m->roles[i] = pack_role(&s->roles[i], arena);
    m->has_max_restarts = s->has_max_restarts;
    m->max_restarts = s->max_restarts;
    pack_failure(m, s, arena);
    m->n_array_params = s->n_array_params;
    m->array_params = texts(s->array_params, s->n_array_params, arena);
    bytes = queued__v1__job_spec__get_packed_size(m);
    if (bytes > SPEC_PACKED_MAX)
        return err_set(err, ERR_INVALID,
                       "job %.40s has %zu bytes, at most %d are allowed; move large environment, "
                       "arguments or annotations into a config map",
                       s->name, bytes, SPEC_PACKED_MAX);
    *ret = m;
    return 0;
}
