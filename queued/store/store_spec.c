/* SPDX-License-Identifier: Apache-2.0 */
/* store_spec.c - a spec between memory and record: field by field, nothing interpreted.
 *
 * Whatever struct spec holds comes back equal, so that its digest does, too.
 */
#include <inttypes.h>
#include <string.h>

#include "spec/limits.h"
#include "store/store_pack.h"

typedef Queued__Record__SpecRecord spec_record;
typedef Queued__Record__RoleRecord role_record;
typedef Queued__Record__PairRecord pair_record;
typedef Queued__Record__VolumeRecord volume_record;
typedef Queued__Record__TolerationRecord toleration_record;
typedef Queued__Record__ExtendedRecord extended_record;
typedef Queued__Record__MatchRecord match_record;
typedef Queued__Record__RuleRecord rule_record;

/* Borrowed; "" stays "", as NULL means not given. */
static char *text(const char *s)
{
    return (char *)(uintptr_t)s; /* packing does not write to it */
}

/* ---- to the record */

static pair_record **make_pairs(const struct spec_pairs *p, size_t *ret_n, struct arena *a)
{
    pair_record **v = arena_alloc(a, p->n * sizeof(*v));

    for (uint32_t i = 0; i < p->n; i++) {
        v[i] = arena_alloc(a, sizeof(**v));
        queued__record__pair_record__init(v[i]);
        v[i]->key = text(p->v[i].key);
        v[i]->value = text(p->v[i].value);
    }
    *ret_n = p->n;
    return v;
}

static char **make_strings(const struct spec_strings *p, size_t *ret_n, struct arena *a)
{
    char **v = arena_alloc(a, p->n * sizeof(*v));

    for (uint32_t i = 0; i < p->n; i++)
        v[i] = text(p->v[i]);
    *ret_n = p->n;
    return v;
}

static void make_volumes(role_record *r, const struct spec_role *role, struct arena *a)
{
    r->n_volumes = role->n_volumes;
    r->volumes = arena_alloc(a, role->n_volumes * sizeof(*r->volumes));
    for (uint32_t i = 0; i < role->n_volumes; i++) {
        const struct spec_volume *from = &role->volumes[i];
        volume_record *v = arena_alloc(a, sizeof(*v));

        queued__record__volume_record__init(v);
        v->name = text(from->name);
        PACK(v, kind, (uint32_t)from->kind);
        v->source = text(from->source);
        v->path = text(from->path);
        v->mount_path = text(from->mount_path);
        PACK_ALWAYS(v, size_bytes, from->size_bytes);
        PACK(v, read_only, from->read_only);
        v->sub_path = text(from->sub_path);
        PACK(v, in_memory, from->in_memory);
        r->volumes[i] = v;
    }
}

static void make_env_refs(role_record *r, const struct spec_role *role, struct arena *a)
{
    r->n_env_refs = role->n_env_refs;
    r->env_refs = arena_alloc(a, role->n_env_refs * sizeof(*r->env_refs));
    for (uint32_t i = 0; i < role->n_env_refs; i++) {
        const struct spec_env_ref *from = &role->env_refs[i];
        Queued__Record__EnvRefRecord *ref = arena_alloc(a, sizeof(*ref));

        queued__record__env_ref_record__init(ref);
        ref->env = text(from->env);
        ref->prefix = text(from->prefix);
        PACK(ref, kind, (uint32_t)from->kind);
        ref->source = text(from->source);
        ref->key = text(from->key);
        PACK(ref, may_lack, from->may_lack);
        r->env_refs[i] = ref;
    }
    r->pull_policy = text(role->pull_policy);
    r->pull_secrets = make_strings(&role->pull_secrets, &r->n_pull_secrets, a);
    r->service_account = text(role->service_account);
}

static void make_tolerations(role_record *r, const struct spec_role *role, struct arena *a)
{
    r->n_tolerations = role->n_tolerations;
    r->tolerations = arena_alloc(a, role->n_tolerations * sizeof(*r->tolerations));
    for (uint32_t i = 0; i < role->n_tolerations; i++) {
        const struct spec_toleration *from = &role->tolerations[i];
        toleration_record *t = arena_alloc(a, sizeof(*t));

        queued__record__toleration_record__init(t);
        t->key = text(from->key);
        PACK(t, exists, from->exists);
        t->value = text(from->value);
        t->effect = text(from->effect);
        t->has_seconds = from->is_limited;
        t->seconds = from->seconds;
        PACK(t, automatic, from->is_automatic);
        r->tolerations[i] = t;
    }
}

static void make_affinity(role_record *r, const struct spec_role *role, struct arena *a)
{
    r->n_affinity = role->n_affinity;
    r->affinity = arena_alloc(a, role->n_affinity * sizeof(*r->affinity));
    for (uint32_t i = 0; i < role->n_affinity; i++) {
        match_record *m = arena_alloc(a, sizeof(*m));

        queued__record__match_record__init(m);
        PACK(m, term, role->affinity[i].term);
        PACK(m, weight, role->affinity[i].weight);
        m->key = text(role->affinity[i].key);
        m->operator_ = text(role->affinity[i].op);
        m->values = make_strings(&role->affinity[i].values, &m->n_values, a);
        r->affinity[i] = m;
    }
    r->nodes = make_strings(&role->nodes, &r->n_nodes, a);
    r->excluded_nodes = make_strings(&role->excluded_nodes, &r->n_excluded_nodes, a);
    PACK(r, gpu_memory_min, role->gpu_memory_min);
    r->driver_min = text(role->driver_min);
    r->cuda_min = text(role->cuda_min);
    r->has_mixed_drivers = r->mixed_drivers = role->mixed_drivers;
    r->has_exclusive_node = r->exclusive_node = role->is_exclusive;
    r->has_leader = r->leader = role->is_leader;
    r->spread_key = text(role->spread.key);
    r->has_spread_max_skew = role->spread.key != NULL;
    r->spread_max_skew = role->spread.max_skew;
    r->has_spread_soft = r->spread_soft = role->spread.is_soft;
}

static extended_record **make_amounts(const struct spec_extended *v, uint32_t n, struct arena *a)
{
    extended_record **to = arena_alloc(a, n * sizeof(*to));

    for (uint32_t i = 0; i < n; i++) {
        to[i] = arena_alloc(a, sizeof(**to));
        queued__record__extended_record__init(to[i]);
        to[i]->name = text(v[i].name);
        PACK(to[i], amount, v[i].amount);
    }
    return to;
}

static role_record *make_role(const struct spec_role *role, struct arena *a)
{
    role_record *r = arena_alloc(a, sizeof(*r));

    queued__record__role_record__init(r);
    r->name = text(role->name);
    PACK(r, replicas, role->replicas);
    PACK(r, min_replicas, role->min_replicas);
    PACK(r, spares, role->spares);
    r->start_after = text(role->start_after);
    PACK(r, gpus, role->gpus);
    r->gpu_models = make_strings(&role->gpu_models, &r->n_gpu_models, a);
    PACK_ALWAYS(r, cpu_milli, role->cpu_milli);
    PACK_ALWAYS(r, memory_bytes, role->memory_bytes);
    PACK_ALWAYS(r, shm_bytes, role->shm_bytes);
    r->n_extended = role->n_extended;
    r->extended = make_amounts(role->extended, role->n_extended, a);
    r->image = text(role->image);
    r->command = make_strings(&role->command, &r->n_command, a);
    r->args = make_strings(&role->args, &r->n_args, a);
    r->working_dir = text(role->working_dir);
    r->env = make_pairs(&role->env, &r->n_env, a);
    make_env_refs(r, role, a);
    make_volumes(r, role, a);
    r->node_selector = make_pairs(&role->node_selector, &r->n_node_selector, a);
    make_tolerations(r, role, a);
    make_affinity(r, role, a);
    return r;
}

static void make_failure(spec_record *r, const struct spec_failure *f, struct arena *a)
{
    PACK(r, reset_after_us, f->reset_after_us);
    PACK(r, backoff_us, f->backoff_us);
    PACK(r, backoff_max_us, f->backoff_max_us);
    r->has_excludes_nodes = f->excludes_nodes != SPEC_UNSAID;
    r->excludes_nodes = f->excludes_nodes == SPEC_YES;
    r->failure_scope = f->scope ? text(spec_scope_word(f->scope)) : NULL;
    r->n_failure_rules = f->n_rules;
    r->failure_rules = arena_alloc(a, f->n_rules * sizeof(*r->failure_rules));
    for (uint32_t i = 0; i < f->n_rules; i++) {
        rule_record *rule = arena_alloc(a, sizeof(*rule));

        queued__record__rule_record__init(rule);
        rule->n_codes = f->rules[i].n_codes;
        rule->codes = f->rules[i].codes;
        rule->reasons = make_strings(&f->rules[i].reasons, &rule->n_reasons, a);
        rule->action = text(spec_action_word(f->rules[i].action));
        r->failure_rules[i] = rule;
    }
}

void store_make_spec(spec_record *r, const struct spec *s, struct arena *a)
{
    r->name = text(s->name);
    r->tenant = text(s->tenant);
    r->namespace_ = text(s->ns);
    r->labels = make_pairs(&s->labels, &r->n_labels, a);
    r->annotations = make_pairs(&s->annotations, &r->n_annotations, a);
    r->submit_key = text(s->submit_key);
    r->priority_class = text(s->priority_class);
    PACK(r, priority, s->priority);
    PACK(r, max_runtime_us, s->max_runtime_us);
    PACK(r, max_queue_us, s->max_queue_us);
    PACK(r, start_timeout_us, s->start_timeout_us);
    r->topology_required = text(s->topology_required);
    r->topology_preferred = text(s->topology_preferred);
    r->n_roles = s->n_roles;
    r->roles = arena_alloc(a, s->n_roles * sizeof(*r->roles));
    for (uint32_t i = 0; i < s->n_roles; i++)
        r->roles[i] = make_role(&s->roles[i], a);
    PACK(r, max_restarts, s->max_restarts);
    make_failure(r, &s->failure, a);
    PACK(r, checkpoint_grace_us, s->checkpoint_grace_us);
    r->has_preemptible = s->preemptible != SPEC_UNSAID;
    r->preemptible = s->preemptible == SPEC_YES;
    PACK(r, hold, s->is_held);
    r->preemption_policy = text(s->preemption_policy);
    PACK(r, max_lost_gpu_hours, s->max_lost_gpu_hours);
    r->on_preemption = text(s->on_preemption);
    r->exit_zero = text(s->exit_zero);
    r->checkpoint_signal = text(s->checkpoint_signal);
    r->checkpoint_path = text(s->checkpoint_path);
    r->checkpoint_target = text(s->checkpoint_target);
    PACK(r, before_end_us, s->before_end_us);
    PACK(r, ttl_us, s->ttl_us);
    PACK(r, pod_ttl_us, s->pod_ttl_us);
    r->keep_pods = text(s->keep_pods);
    r->rendezvous = text(s->rendezvous);
    PACK(r, rendezvous_port, s->rendezvous_port);
    PACK(r, one_process, s->is_one_process);
    PACK(r, world_of_nodes, s->is_world_of_nodes);
    r->completion = text(s->completion);
    PACK(r, completion_min, s->completion_min);
    PACK(r, movable, s->is_movable);
    r->has_pdb = s->pdb != SPEC_UNSAID;
    r->pdb = s->pdb == SPEC_YES;
    PACK(r, min_available, s->min_available);
    r->slice_level = text(s->slice_level);
    PACK(r, slice_size, s->slice_size);
    r->n_licences = s->n_licences;
    r->licences = make_amounts(s->licences, s->n_licences, a);
    r->array_indices = store_text(s->array_indices);
    PACK(r, array_parallel, s->array_parallel);
    PACK(r, array_fail_fast, s->array_fails_fast);
    r->array_params = make_strings(&s->array_params, &r->n_array_params, a);
    PACK(r, elastic_step, s->elastic_step);
    PACK(r, grow_cooldown_us, s->grow_cooldown_us);
    PACK(r, max_wait_us, s->max_wait_us);
    PACK(r, deadline_us, s->deadline_us);
    r->depends_on = make_pairs(&s->depends_on, &r->n_depends_on, a);
}

/* ---- from the record: everything is copied into the arena of the spec */

static const char *copy(struct arena *a, const char *s)
{
    return s ? arena_strdup(a, s) : NULL;
}

static void take_pairs(struct spec_pairs *ret, pair_record *const *v, size_t n, struct arena *a)
{
    ret->n = (uint32_t)n;
    ret->v = arena_alloc(a, n * sizeof(*ret->v));
    for (size_t i = 0; i < n; i++) {
        ret->v[i].key = copy(a, v[i]->key);
        ret->v[i].value = copy(a, v[i]->value);
    }
}

static void take_strings(struct spec_strings *ret, char *const *v, size_t n, struct arena *a)
{
    ret->n = (uint32_t)n;
    ret->v = arena_alloc(a, n * sizeof(*ret->v));
    for (size_t i = 0; i < n; i++)
        ret->v[i] = copy(a, v[i]);
}

static void take_volumes(struct spec_role *role, const role_record *r, struct arena *a)
{
    role->n_volumes = (uint32_t)r->n_volumes;
    role->volumes = arena_alloc(a, r->n_volumes * sizeof(*role->volumes));
    for (size_t i = 0; i < r->n_volumes; i++) {
        const volume_record *v = r->volumes[i];

        role->volumes[i] = (struct spec_volume){
            .name = copy(a, v->name),
            .kind = (enum spec_volume_kind)v->kind,
            .source = copy(a, v->source),
            .path = copy(a, v->path),
            .mount_path = copy(a, v->mount_path),
            .size_bytes = v->has_size_bytes ? v->size_bytes : -1,
            .read_only = v->read_only,
            .sub_path = copy(a, v->sub_path),
            .in_memory = v->in_memory,
        };
    }
}

static void take_env_refs(struct spec_role *role, const role_record *r, struct arena *a)
{
    role->n_env_refs = (uint32_t)r->n_env_refs;
    role->env_refs = arena_alloc(a, r->n_env_refs * sizeof(*role->env_refs));
    for (size_t i = 0; i < r->n_env_refs; i++) {
        const Queued__Record__EnvRefRecord *from = r->env_refs[i];

        role->env_refs[i] = (struct spec_env_ref){
            .env = copy(a, from->env),
            .prefix = copy(a, from->prefix),
            .kind = (enum spec_ref_kind)from->kind,
            .source = copy(a, from->source),
            .key = copy(a, from->key),
            .may_lack = from->may_lack,
        };
    }
    role->pull_policy = copy(a, r->pull_policy);
    take_strings(&role->pull_secrets, r->pull_secrets, r->n_pull_secrets, a);
    role->service_account = copy(a, r->service_account);
}

static void take_tolerations(struct spec_role *role, const role_record *r, struct arena *a)
{
    role->n_tolerations = (uint32_t)r->n_tolerations;
    role->tolerations = arena_alloc(a, r->n_tolerations * sizeof(*role->tolerations));
    for (size_t i = 0; i < r->n_tolerations; i++) {
        const toleration_record *t = r->tolerations[i];

        role->tolerations[i] = (struct spec_toleration){
            .key = copy(a, t->key),
            .exists = t->exists,
            .value = copy(a, t->value),
            .effect = copy(a, t->effect),
            .is_limited = t->has_seconds,
            .seconds = t->seconds,
            .is_automatic = t->automatic,
        };
    }
}

static void take_affinity(struct spec_role *role, const role_record *r, struct arena *a)
{
    role->n_affinity = (uint32_t)r->n_affinity;
    role->affinity = arena_alloc(a, r->n_affinity * sizeof(*role->affinity));
    for (size_t i = 0; i < r->n_affinity; i++) {
        role->affinity[i].term = r->affinity[i]->term;
        role->affinity[i].weight = r->affinity[i]->weight;
        role->affinity[i].key = copy(a, r->affinity[i]->key);
        role->affinity[i].op = copy(a, r->affinity[i]->operator_);
        take_strings(&role->affinity[i].values, r->affinity[i]->values, r->affinity[i]->n_values,
                     a);
    }
    take_strings(&role->nodes, r->nodes, r->n_nodes, a);
    take_strings(&role->excluded_nodes, r->excluded_nodes, r->n_excluded_nodes, a);
    role->gpu_memory_min = r->gpu_memory_min;
    role->driver_min = copy(a, r->driver_min);
    role->cuda_min = copy(a, r->cuda_min);
    role->mixed_drivers = r->mixed_drivers;
    role->is_exclusive = r->exclusive_node;
    role->is_leader = r->leader;
    role->spread = (struct spec_spread){copy(a, r->spread_key), r->spread_max_skew, r->spread_soft};
}

static struct spec_extended *take_amounts(extended_record *const *v, size_t n, struct arena *a)
{
    struct spec_extended *to = arena_alloc(a, n * sizeof(*to));

    for (size_t i = 0; i < n; i++)
        to[i] = (struct spec_extended){copy(a, v[i]->name), v[i]->amount};
    return to;
}

static void take_role(struct spec_role *role, const role_record *r, struct arena *a)
{
    role->name = copy(a, r->name);
    role->replicas = r->replicas;
    role->min_replicas = r->min_replicas;
    role->spares = r->spares;
    role->start_after = copy(a, r->start_after);
    role->gpus = r->gpus;
    take_strings(&role->gpu_models, r->gpu_models, r->n_gpu_models, a);
    role->cpu_milli = r->has_cpu_milli ? r->cpu_milli : -1;
    role->memory_bytes = r->has_memory_bytes ? r->memory_bytes : -1;
    role->shm_bytes = r->has_shm_bytes ? r->shm_bytes : -1;
    role->n_extended = (uint32_t)r->n_extended;
    role->extended = take_amounts(r->extended, r->n_extended, a);
    role->image = copy(a, r->image);
    take_strings(&role->command, r->command, r->n_command, a);
    take_strings(&role->args, r->args, r->n_args, a);
    role->working_dir = copy(a, r->working_dir);
    take_pairs(&role->env, r->env, r->n_env, a);
    take_env_refs(role, r, a);
    take_volumes(role, r, a);
    take_pairs(&role->node_selector, r->node_selector, r->n_node_selector, a);
    take_tolerations(role, r, a);
    take_affinity(role, r, a);
}

/* What the core relies on, whatever wrote the record. */
static int check_role(const role_record *r, struct err *err)
{
    if (!r->name || strlen(r->name) > ROLE_NAME_MAX || r->replicas == 0 ||
        r->replicas > JOB_PODS_MAX || r->min_replicas > r->replicas || r->spares > JOB_PODS_MAX ||
        r->gpus > POD_GPUS_MAX)
        return err_set(err, ERR_INVALID, "role %.20s with %u replicas of %u GPUs",
                       r->name ? r->name : "without name", r->replicas, r->gpus);
    if (r->n_gpu_models > ROLE_MODELS_MAX || r->n_extended > ROLE_EXTENDED_MAX ||
        r->n_command > ROLE_ARGS_MAX || r->n_args > ROLE_ARGS_MAX || r->n_env > ROLE_ENV_MAX ||
        r->n_volumes > ROLE_VOLUMES_MAX || r->n_node_selector > ROLE_SELECTOR_MAX ||
        r->n_tolerations > ROLE_TOLERATIONS_MAX)
        return err_set(err, ERR_INVALID, "role %s has a list above its limit", r->name);
    for (size_t i = 0; i < r->n_volumes; i++)
        if (r->volumes[i]->kind > SPEC_VOLUME_NFS)
            return err_set(err, ERR_INVALID, "no such kind of volume: %u", r->volumes[i]->kind);
    for (size_t i = 0; i < r->n_env_refs; i++)
        if (r->env_refs[i]->kind < SPEC_REF_CONFIG_MAP || r->env_refs[i]->kind >= SPEC_REFS)
            return err_set(err, ERR_INVALID, "no such source of a variable: %u",
                           r->env_refs[i]->kind);
    for (size_t i = 0; i < r->n_extended; i++)
        if (!r->extended[i]->name || r->extended[i]->amount < 1 ||
            r->extended[i]->amount > RESOURCE_AMOUNT_MAX)
            return err_set(err, ERR_INVALID, "an extended resource without name or amount");
    for (size_t i = 0; i < r->n_affinity; i++)
        if (!r->affinity[i]->key ||
            !spec_match_fits(r->affinity[i]->operator_, r->affinity[i]->n_values))
            return err_set(err, ERR_INVALID, "an affinity without key, operator or values");
    for (size_t i = 0; i < r->n_node_selector; i++)
        if (!r->node_selector[i]->key || !r->node_selector[i]->value)
            return err_set(err, ERR_INVALID, "a node selector without key or value");
    if (r->has_cpu_milli && (r->cpu_milli < -1 || r->cpu_milli > RESOURCE_AMOUNT_MAX))
        return err_set(err, ERR_INVALID, "role %s: CPU out of range", r->name);
    if (r->has_memory_bytes && (r->memory_bytes < -1 || r->memory_bytes > RESOURCE_AMOUNT_MAX))
        return err_set(err, ERR_INVALID, "role %s: memory out of range", r->name);
    return 0;
}

static int check_spec(const spec_record *r, struct err *err)
{
    uint64_t pods = 0;

    if (!r->name || !r->tenant || !r->namespace_)
        return err_set(err, ERR_INVALID, "spec without name, tenant or namespace");
    if (r->n_roles == 0 || r->n_roles > JOB_ROLES_MAX)
        return err_set(err, ERR_INVALID, "%zu roles", r->n_roles);
    for (size_t i = 0; i < r->n_roles; i++) {
        if (check_role(r->roles[i], err) < 0)
            return -1;
        pods += (uint64_t)r->roles[i]->replicas + r->roles[i]->spares;
    }
    if (pods > JOB_PODS_MAX)
        return err_set(err, ERR_INVALID, "%" PRIu64 " pods", pods);
    for (size_t i = 0; i < r->n_licences; i++)
        if (!r->licences[i]->name || r->licences[i]->amount < 1 ||
            r->licences[i]->amount > LICENCE_COUNT_MAX)
            return err_set(err, ERR_INVALID, "a licence without name or amount");
    for (size_t i = 0; i < r->n_failure_rules; i++)
        if (!r->failure_rules[i]->action ||
            spec_action(r->failure_rules[i]->action) == SPEC_ACTIONS)
            return err_set(err, ERR_INVALID, "a rule of failurePolicy without an action");
    if (r->failure_scope && spec_scope(r->failure_scope) == SPEC_SCOPES)
        return err_set(err, ERR_INVALID, "failurePolicy with an unknown scope");
    return 0;
}

static void take_failure(struct spec_failure *f, const spec_record *r, struct arena *a)
{
    f->reset_after_us = r->reset_after_us;
    f->backoff_us = r->backoff_us;
    f->backoff_max_us = r->backoff_max_us;
    if (r->has_excludes_nodes)
        f->excludes_nodes = r->excludes_nodes ? SPEC_YES : SPEC_NO;
    f->scope = r->failure_scope ? spec_scope(r->failure_scope) : SPEC_SCOPE_GANG; /* check_spec() */
    f->n_rules = (uint32_t)r->n_failure_rules;
    f->rules = arena_alloc(a, r->n_failure_rules * sizeof(*f->rules));
    for (size_t i = 0; i < r->n_failure_rules; i++) {
        const rule_record *from = r->failure_rules[i];
        struct spec_rule *rule = &f->rules[i];

        rule->n_codes = (uint32_t)from->n_codes;
        rule->codes = arena_alloc(a, from->n_codes * sizeof(*rule->codes));
        for (size_t k = 0; k < from->n_codes; k++)
            rule->codes[k] = from->codes[k];
        take_strings(&rule->reasons, from->reasons, from->n_reasons, a);
        rule->action = spec_action(from->action); /* check_spec() */
    }
}

static struct spec *take_spec(const spec_record *r)
{
    struct spec *s = spec_create();
    struct arena *a = &s->arena;

    s->name = copy(a, r->name);
    s->tenant = copy(a, r->tenant);
    s->ns = copy(a, r->namespace_);
    take_pairs(&s->labels, r->labels, r->n_labels, a);
    take_pairs(&s->annotations, r->annotations, r->n_annotations, a);
    s->submit_key = copy(a, r->submit_key);
    s->priority_class = copy(a, r->priority_class);
    s->priority = r->priority;
    s->max_runtime_us = r->max_runtime_us;
    s->max_queue_us = r->max_queue_us;
    s->start_timeout_us = r->start_timeout_us;
    s->topology_required = copy(a, r->topology_required);
    s->topology_preferred = copy(a, r->topology_preferred);
    s->n_roles = (uint32_t)r->n_roles;
    s->roles = arena_alloc(a, r->n_roles * sizeof(*s->roles));
    for (size_t i = 0; i < r->n_roles; i++)
        take_role(&s->roles[i], r->roles[i], a);
    s->max_restarts = r->max_restarts;
    take_failure(&s->failure, r, a);
    s->checkpoint_grace_us = r->checkpoint_grace_us;
    if (r->has_preemptible)
        s->preemptible = r->preemptible ? SPEC_YES : SPEC_NO;
    s->is_held = r->hold;
    s->preemption_policy = copy(a, r->preemption_policy);
    s->max_lost_gpu_hours = r->max_lost_gpu_hours;
    s->on_preemption = copy(a, r->on_preemption);
    s->exit_zero = copy(a, r->exit_zero);
    s->checkpoint_signal = copy(a, r->checkpoint_signal);
    s->checkpoint_path = copy(a, r->checkpoint_path);
    s->checkpoint_target = copy(a, r->checkpoint_target);
    s->before_end_us = r->before_end_us;
    s->ttl_us = r->ttl_us;
    s->pod_ttl_us = r->pod_ttl_us;
    s->keep_pods = copy(a, r->keep_pods);
    s->rendezvous = copy(a, r->rendezvous);
    s->rendezvous_port = r->rendezvous_port;
    s->is_one_process = r->one_process;
    s->is_world_of_nodes = r->world_of_nodes;
    s->completion = copy(a, r->completion);
    s->completion_min = r->completion_min;
    s->is_movable = r->movable;
    if (r->has_pdb)
        s->pdb = r->pdb ? SPEC_YES : SPEC_NO;
    s->min_available = r->min_available;
    s->array_indices = copy(a, r->array_indices);
    s->array_parallel = r->array_parallel;
    s->array_fails_fast = r->array_fail_fast;
    take_strings(&s->array_params, r->array_params, r->n_array_params, a);
    s->slice_level = copy(a, r->slice_level);
    s->slice_size = s->slice_level ? r->slice_size : 0;
    s->n_licences = (uint32_t)r->n_licences;
    s->licences = take_amounts(r->licences, r->n_licences, a);
    s->elastic_step = r->elastic_step;
    s->grow_cooldown_us = r->grow_cooldown_us;
    s->max_wait_us = s->topology_required && r->max_wait_us > 0 ? r->max_wait_us : 0;
    s->deadline_us = r->deadline_us > 0 ? r->deadline_us : 0;
    take_pairs(&s->depends_on, r->depends_on, r->n_depends_on, a);
    return s;
}

int store_decode_spec(struct store_bytes key, struct store_bytes value, struct spec **ret,
                      struct err *err)
{
    ProtobufCMessage *m =
        store_unpack(STORE_SPECS, key, value, &queued__record__spec_record__descriptor, err);
    const spec_record *r = (const spec_record *)m;
    int rc;

    if (!m)
        return -1;
    rc = check_spec(r, err);
    if (rc == 0)
        *ret = take_spec(r);
    protobuf_c_message_free_unpacked(m, NULL);
    return rc;
}
