/* SPDX-License-Identifier: Apache-2.0 */
/* spec_doc.c - a spec of the wire as the canonical job file, for --print-spec, describe --spec and
 * the "spec" of JSON.
 */
#include "spec_doc.h"

#include <string.h>

#include "queued.h"
#include "spec/limits.h"
#include "util/parse.h"

static void put_texts(struct arena *a, struct document *map, const char *key, char *const *v,
                      size_t n)
{
    struct document *list;

    if (n == 0)
        return;
    list = document_put_list(a, map, key);
    for (size_t i = 0; i < n; i++)
        document_add(a, list, document_text(a, v[i]));
}

static void put_pairs(struct arena *a, struct document *map, const char *key,
                      Queued__V1__Pair *const *v, size_t n)
{
    struct document *pairs;

    if (n == 0)
        return;
    pairs = document_put_map(a, map, key);
    for (size_t i = 0; i < n; i++)
        document_put(a, pairs, v[i]->key, document_text(a, v[i]->value ? v[i]->value : ""));
}

static void put_duration(struct arena *a, struct document *map, const char *key, bool has,
                         uint64_t usec)
{
    char buf[FORMAT_MAX];

    if (has && usec <= INT64_MAX)
        document_put_text(a, map, key, arena_strdup(a, format_duration_exact(buf, (usec_t)usec)));
}

static void put_instant(struct arena *a, struct document *map, const char *key, usec_t t)
{
    char buf[FORMAT_MAX];

    if (t > 0)
        document_put_text(
            a, map, key,
            arena_strdup(a, t % USEC_PER_SEC ? format_micro_time(buf, t) : format_time(buf, t)));
}

static void put_bytes(struct arena *a, struct document *map, const char *key, bool has, int64_t v)
{
    char buf[FORMAT_MAX];

    if (has)
        document_put_text(a, map, key, arena_strdup(a, format_bytes(buf, v)));
}

static void put_nonempty(struct arena *a, struct document *map, const char *key,
                         struct document *child)
{
    if (!document_is_empty(child))
        document_put(a, map, key, child);
}

/* The one kind of MIG devices that it asks for; n_extended: none, or several. */
static size_t only_mig(const Queued__V1__Role *r)
{
    size_t at = r->n_extended, n = 0;

    for (size_t i = 0; i < r->n_extended; i++) {
        if (strncmp(r->extended[i]->name, MIG_PREFIX, strlen(MIG_PREFIX)) != 0)
            continue;
        at = i;
        n++;
    }
    return n == 1 ? at : r->n_extended;
}

static struct document *resources(struct arena *a, const Queued__V1__Role *r)
{
    struct document *d = document_map(a), *extended = document_map(a);
    char buf[FORMAT_MAX];
    size_t mig = only_mig(r);

    if (r->has_gpus)
        document_put_int(a, d, "gpus", r->gpus);
    if (r->n_gpu_models == 1)
        document_put_text(a, d, "gpuModel", r->gpu_models[0]);
    else
        put_texts(a, d, "gpuModel", r->gpu_models, r->n_gpu_models);
    if (r->has_cpu_milli)
        document_put_text(a, d, "cpu", arena_strdup(a, format_cpu(buf, r->cpu_milli)));
    put_bytes(a, d, "gpuMemoryMin", r->has_gpu_memory_min, (int64_t)r->gpu_memory_min);
    put_bytes(a, d, "memory", r->has_memory_bytes, r->memory_bytes);
    put_bytes(a, d, "shm", r->has_shm_bytes, r->shm_bytes);
    for (size_t i = 0; i < r->n_extended; i++)
        if (strcmp(r->extended[i]->name, "rdma") != 0 &&
            strcmp(r->extended[i]->name, "ephemeral-storage") != 0 && i != mig)
            document_put_int(a, extended, r->extended[i]->name, r->extended[i]->amount);
    put_nonempty(a, d, "extended", extended);
    if (mig < r->n_extended) {
        struct document *m = document_put_map(a, d, "mig");

        document_put_text(a, m, "profile", r->extended[mig]->name + strlen(MIG_PREFIX));
        document_put_int(a, m, "count", r->extended[mig]->amount);
    }
    for (size_t i = 0; i < r->n_extended; i++) {
        if (strcmp(r->extended[i]->name, "rdma") == 0)
            document_put_int(a, d, "rdma", r->extended[i]->amount);
        if (strcmp(r->extended[i]->name, "ephemeral-storage") == 0)
            put_bytes(a, d, "ephemeralStorage", true, r->extended[i]->amount);
    }
    return d;
}

static struct document *volume(struct arena *a, const Queued__V1__Volume *v)
{
    struct document *d = document_map(a), *source;

    document_put_text(a, d, "name", v->name);
    if (v->kind == QUEUED__V1__VOLUME_KIND__VOLUME_PVC)
        document_put_text(a, d, "pvc", v->source);
    if (v->kind == QUEUED__V1__VOLUME_KIND__VOLUME_CONFIG_MAP)
        document_put_text(a, d, "configMap", v->source);
    if (v->kind == QUEUED__V1__VOLUME_KIND__VOLUME_SECRET)
        document_put_text(a, d, "secret", v->source);
    if (v->kind == QUEUED__V1__VOLUME_KIND__VOLUME_EMPTY_DIR) {
        source = document_put_map(a, d, "emptyDir");
        if (v->in_memory)
            document_put_text(a, source, "medium", "Memory");
        put_bytes(a, source, "sizeLimit", v->has_size_bytes && v->size_bytes > 0, v->size_bytes);
    }
    if (v->kind == QUEUED__V1__VOLUME_KIND__VOLUME_NFS) {
        source = document_put_map(a, d, "nfs");
        document_put_text(a, source, "server", v->source);
        document_put_text(a, source, "path", v->path);
    }
    document_put_text(a, d, "mountPath", v->mount_path);
    document_put_text(a, d, "subPath", v->sub_path);
    if (v->has_read_only && v->read_only)
        document_put_bool(a, d, "readOnly", true);
    return d;
}

/* A new term, in its list; returns where its expressions go. */
static struct document *put_term(struct arena *a, struct document *terms,
                                 const Queued__V1__NodeMatch *m)
{
    struct document *term = document_map(a), *of = term;

    document_add(a, terms, term);
    if (m->weight) {
        document_put_int(a, term, "weight", m->weight);
        of = document_put_map(a, term, "preference");
    }
    return document_put_list(a, of, "matchExpressions");
}

static struct document *affinity(struct arena *a, const Queued__V1__Role *r)
{
    struct document *d = document_map(a), *matches = NULL, *required = document_map(a);
    struct document *terms = document_put_list(a, required, "nodeSelectorTerms");
    struct document *preferred = document_list(a), *of = document_put_map(a, d, "nodeAffinity");

    for (size_t i = 0; i < r->n_affinity; i++) {
        const Queued__V1__NodeMatch *m = r->affinity[i];
        struct document *one = document_map(a);

        if (i == 0 || m->term != r->affinity[i - 1]->term)
            matches = put_term(a, m->weight ? preferred : terms, m);
        document_put_text(a, one, "key", m->key);
        document_put_text(a, one, "operator", m->operator_);
        put_texts(a, one, "values", m->values, m->n_values);
        document_add(a, matches, one);
    }
    if (r->affinity[0]->weight == 0)
        document_put(a, of, "requiredDuringSchedulingIgnoredDuringExecution", required);
    put_nonempty(a, of, "preferredDuringSchedulingIgnoredDuringExecution", preferred);
    return d;
}

static struct document *spread(struct arena *a, const Queued__V1__Spread *s)
{
    struct document *d = document_map(a);

    document_put_int(a, d, "maxSkew", s->max_skew);
    document_put_text(a, d, "topologyKey", s->key);
    document_put_text(a, d, "whenUnsatisfiable", s->soft ? "ScheduleAnyway" : "DoNotSchedule");
    return d;
}

static struct document *placement(struct arena *a, const Queued__V1__Role *r)
{
    struct document *d = document_map(a), *list = document_list(a), *driver = document_map(a);

    put_pairs(a, d, "nodeSelector", r->node_selector, r->n_node_selector);
    for (size_t i = 0; i < r->n_tolerations; i++) {
        struct document *t = document_map(a);

        document_put_text(a, t, "key", r->tolerations[i]->key);
        document_put_text(a, t, "operator", r->tolerations[i]->operator_);
        document_put_text(a, t, "value", r->tolerations[i]->value);
        document_put_text(a, t, "effect", r->tolerations[i]->effect);
        if (r->tolerations[i]->has_seconds)
            document_put_int(a, t, "tolerationSeconds", (int64_t)r->tolerations[i]->seconds);
        document_add(a, list, t);
    }
    put_nonempty(a, d, "tolerations", list);
    if (r->n_affinity)
        document_put(a, d, "affinity", affinity(a, r));
    put_texts(a, d, "nodes", r->nodes, r->n_nodes);
    put_texts(a, d, "excludeNodes", r->excluded_nodes, r->n_excluded_nodes);
    document_put_text(a, driver, "min", r->driver_min);
    document_put_text(a, driver, "cuda", r->cuda_min);
    if (r->mixed_drivers)
        document_put_bool(a, driver, "sameAcrossGang", false);
    put_nonempty(a, d, "driver", driver);
    if (r->exclusive_node)
        document_put_bool(a, d, "exclusiveNode", true);
    for (size_t i = 0; i < r->n_spread; i++)
        document_add(a, document_put_list(a, d, "topologySpreadConstraints"),
                     spread(a, r->spread[i]));
    return d;
}

/* One variable from elsewhere, or all of a source. */
static struct document *env_ref(struct arena *a, const Queued__V1__EnvRef *ref)
{
    bool is_secret = ref->kind == QUEUED__V1__REF_KIND__REF_SECRET;
    struct document *d = document_map(a), *of;

    if (!ref->env) {
        document_put_text(a, d, "prefix", ref->prefix);
        of = document_put_map(a, d, is_secret ? "secretRef" : "configMapRef");
        document_put_text(a, of, "name", ref->source);
    } else {
        document_put_text(a, d, "name", ref->env);
        of = document_put_map(a, d, "valueFrom");
        if (ref->kind == QUEUED__V1__REF_KIND__REF_FIELD) {
            document_put_text(a, document_put_map(a, of, "fieldRef"), "fieldPath", ref->key);
            return d;
        }
        of = document_put_map(a, of, is_secret ? "secretKeyRef" : "configMapKeyRef");
        document_put_text(a, of, "name", ref->source);
        document_put_text(a, of, "key", ref->key);
    }
    if (ref->may_lack)
        document_put_bool(a, of, "optional", true);
    return d;
}

static struct document *role(struct arena *a, const Queued__V1__Role *r)
{
    struct document *d = document_map(a), *env = document_list(a), *volumes = document_list(a);
    struct document *from = document_list(a);

    document_put_text(a, d, "name", r->name);
    if (r->has_replicas)
        document_put_int(a, d, "replicas", r->replicas);
    if (r->spares)
        document_put_int(a, d, "spares", r->spares);
    document_put_text(a, d, "startAfter", r->start_after);
    if (r->leader)
        document_put_bool(a, d, "leader", true);
    if (r->min_replicas)
        document_put_int(a, d, "minReplicas", r->min_replicas);
    document_put_text(a, d, "image", r->image);
    put_texts(a, d, "command", r->command, r->n_command);
    put_texts(a, d, "args", r->args, r->n_args);
    document_put_text(a, d, "workingDir", r->working_dir);
    for (size_t i = 0; i < r->n_env; i++) {
        struct document *e = document_map(a);

        document_put_text(a, e, "name", r->env[i]->key);
        document_put(a, e, "value", document_text(a, r->env[i]->value ? r->env[i]->value : ""));
        document_add(a, env, e);
    }
    for (size_t i = 0; i < r->n_env_refs; i++)
        document_add(a, r->env_refs[i]->env ? env : from, env_ref(a, r->env_refs[i]));
    put_nonempty(a, d, "env", env);
    put_nonempty(a, d, "envFrom", from);
    document_put_text(a, d, "imagePullPolicy", r->pull_policy);
    put_texts(a, d, "imagePullSecrets", r->pull_secrets, r->n_pull_secrets);
    document_put_text(a, d, "serviceAccountName", r->service_account);
    put_nonempty(a, d, "resources", resources(a, r));
    for (size_t i = 0; i < r->n_volumes; i++)
        document_add(a, volumes, volume(a, r->volumes[i]));
    put_nonempty(a, d, "volumes", volumes);
    put_nonempty(a, d, "placement", placement(a, r));
    return d;
}

static void put_depends(struct arena *a, struct document *d, const Queued__V1__JobSpec *m)
{
    struct document *list = document_list(a);

    for (size_t i = 0; i < m->n_depends_on; i++) {
        struct document *on = document_map(a);

        document_put_text(a, on, "job", m->depends_on[i]->key);
        document_put_text(a, on, "condition", m->depends_on[i]->value);
        document_add(a, list, on);
    }
    put_nonempty(a, d, "dependsOn", list);
}

static struct document *failure_policy(struct arena *a, const Queued__V1__JobSpec *m)
{
    struct document *d = document_map(a), *backoff = document_map(a), *rules = document_list(a);

    if (m->has_max_restarts)
        document_put_int(a, d, "maxRestarts", m->max_restarts);
    put_duration(a, d, "resetAfter", m->has_reset_after_us, m->reset_after_us);
    put_duration(a, backoff, "initial", m->has_backoff_us, m->backoff_us);
    put_duration(a, backoff, "max", m->has_backoff_max_us, m->backoff_max_us);
    put_nonempty(a, d, "backoff", backoff);
    if (m->has_exclude_failed_nodes)
        document_put_bool(a, d, "excludeFailedNodes", m->exclude_failed_nodes);
    if (m->failure_scope)
        document_put_text(a, d, "scope", m->failure_scope);
    for (size_t i = 0; i < m->n_failure_rules; i++) {
        const Queued__V1__FailureRule *from = m->failure_rules[i];
        struct document *rule = document_map(a), *codes = document_list(a);

        for (size_t k = 0; k < from->n_exit_codes; k++)
            document_add(a, codes, document_int(a, from->exit_codes[k]));
        put_nonempty(a, rule, "onExitCodes", codes);
        put_texts(a, rule, "onReason", from->reasons, from->n_reasons);
        document_put_text(a, rule, "action", from->action);
        document_add(a, rules, rule);
    }
    put_nonempty(a, d, "rules", rules);
    return d;
}

static void put_disruption(struct arena *a, struct document *d, const Queued__V1__JobSpec *m)
{
    struct document *disruption = document_map(a);

    if (m->min_available)
        document_put_int(a, disruption, "pdb", m->min_available);
    else if (m->has_pdb)
        document_put_bool(a, disruption, "pdb", m->pdb);
    put_nonempty(a, d, "disruption", disruption);
}

static void put_array(struct arena *a, struct document *d, const Queued__V1__JobSpec *m)
{
    struct document *array = document_map(a), *params = document_map(a);

    if (m->array_indices)
        document_put_text(a, array, "indices", m->array_indices);
    if (m->array_parallel)
        document_put_int(a, array, "maxParallel", m->array_parallel);
    if (m->array_fail_fast)
        document_put_bool(a, array, "failFast", true);
    put_texts(a, params, "lines", m->array_params, m->n_array_params);
    put_nonempty(a, array, "paramsFrom", params);
    put_nonempty(a, d, "array", array);
}

static void put_rendezvous(struct arena *a, struct document *d, const Queued__V1__JobSpec *m)
{
    struct document *rendezvous = document_map(a);

    document_put_text(a, rendezvous, "type", m->rendezvous);
    if (m->rendezvous_port)
        document_put_int(a, rendezvous, "port", m->rendezvous_port);
    if (m->one_process)
        document_put_text(a, rendezvous, "processes", "pod");
    if (m->world_of_nodes)
        document_put_text(a, rendezvous, "worldSize", "nodes");
    put_nonempty(a, d, "rendezvous", rendezvous);
}

static void put_cleanup(struct arena *a, struct document *d, const Queued__V1__JobSpec *m)
{
    struct document *cleanup = document_map(a);

    put_duration(a, cleanup, "ttlAfterFinish", m->has_ttl_us, m->ttl_us);
    put_duration(a, cleanup, "podTTL", m->has_pod_ttl_us, m->pod_ttl_us);
    document_put_text(a, cleanup, "keepPods", m->keep_pods);
    put_nonempty(a, d, "cleanup", cleanup);
}

static void put_checkpoint(struct arena *a, struct document *d, const Queued__V1__JobSpec *m)
{
    struct document *checkpoint = document_map(a);

    document_put_text(a, checkpoint, "signal", m->checkpoint_signal);
    put_duration(a, checkpoint, "grace", m->has_checkpoint_grace_us, m->checkpoint_grace_us);
    put_duration(a, checkpoint, "beforeEnd", m->has_before_end_us, m->before_end_us);
    document_put_text(a, checkpoint, "target", m->checkpoint_target);
    document_put_text(a, checkpoint, "path", m->checkpoint_path);
    document_put_text(a, checkpoint, "exitZero", m->exit_zero);
    put_nonempty(a, d, "checkpoint", checkpoint);
}

struct document *spec_doc_body(struct arena *a, const Queued__V1__JobSpec *m)
{
    struct document *d = document_map(a), *gang = document_map(a), *topology = document_map(a);
    struct document *licences = document_map(a), *roles;
    struct document *preemption = document_map(a), *elastic = document_map(a);

    document_put_text(a, d, "tenant", m->tenant);
    document_put_text(a, d, "namespace", m->namespace_);
    document_put_text(a, d, "submitKey", m->submit_key);
    document_put_text(a, d, "priorityClass", m->priority_class);
    if (m->has_preemptible)
        document_put_bool(a, d, "preemptible", m->preemptible);
    document_put_text(a, preemption, "policy", m->preemption_policy);
    if (m->max_lost_gpu_hours)
        document_put_int(a, preemption, "maxLostGpuHours", m->max_lost_gpu_hours);
    if (m->movable)
        document_put_bool(a, preemption, "movable", true);
    put_nonempty(a, d, "preemption", preemption);
    document_put_text(a, d, "onPreemption", m->on_preemption);
    if (m->elastic_step)
        document_put_int(a, elastic, "step", m->elastic_step);
    put_duration(a, elastic, "growCooldown", m->has_grow_cooldown_us, m->grow_cooldown_us);
    put_nonempty(a, d, "elastic", elastic);
    put_disruption(a, d, m);
    put_array(a, d, m);
    if (m->hold)
        document_put_bool(a, d, "hold", true);
    put_depends(a, d, m);
    for (size_t i = 0; i < m->n_licences; i++)
        document_put_int(a, licences, m->licences[i]->name, m->licences[i]->amount);
    put_nonempty(a, d, "licences", licences);
    put_duration(a, d, "maxRuntime", m->has_max_runtime_us && m->max_runtime_us, m->max_runtime_us);
    put_duration(a, d, "maxQueueTime", m->has_max_queue_us && m->max_queue_us, m->max_queue_us);
    put_instant(a, d, "deadline", (usec_t)m->deadline_us);
    put_duration(a, gang, "startTimeout", m->has_start_timeout_us, m->start_timeout_us);
    put_nonempty(a, d, "gang", gang);
    document_put_text(a, topology, "required", m->topology_required);
    document_put_text(a, topology, "preferred", m->topology_preferred);
    put_duration(a, topology, "maxWait", m->max_wait_us > 0, m->max_wait_us);
    if (m->slice_level) {
        struct document *slice = document_put_map(a, topology, "slice");

        document_put_int(a, slice, "size", m->slice_size);
        document_put_text(a, slice, "required", m->slice_level);
    }
    put_nonempty(a, d, "topology", topology);
    roles = document_put_list(a, d, "roles");
    for (size_t i = 0; i < m->n_roles; i++)
        document_add(a, roles, role(a, m->roles[i]));
    if (m->completion) {
        struct document *completion = document_put_map(a, d, "completion");

        document_put_text(a, completion, "policy", m->completion);
        if (m->completion_min)
            document_put_int(a, completion, "n", m->completion_min);
    }
    put_nonempty(a, d, "failurePolicy", failure_policy(a, m));
    put_checkpoint(a, d, m);
    put_rendezvous(a, d, m);
    put_cleanup(a, d, m);
    return d;
}

struct document *spec_doc_file(struct arena *a, const Queued__V1__JobSpec *m)
{
    struct document *d = document_map(a), *metadata;

    document_put_text(a, d, "apiVersion", "gang.queued/v1");
    document_put_text(a, d, "kind", "GangJob");
    metadata = document_put_map(a, d, "metadata");
    document_put_text(a, metadata, "name", m->name);
    put_pairs(a, metadata, "labels", m->labels, m->n_labels);
    put_pairs(a, metadata, "annotations", m->annotations, m->n_annotations);
    document_put(a, d, "spec", spec_doc_body(a, m));
    return d;
}

char *queued_spec_text(const struct queued_stored_spec *spec, enum queued_format format)
{
    struct arena a = {0};
    struct str out = {0};
    struct document *d = spec_doc_file(&a, (const Queued__V1__JobSpec *)(const void *)spec);

    if (format == QUEUED_JSON)
        document_json(&out, d, false);
    else
        document_yaml(&out, d);
    arena_fini(&a);
    return str_take(&out);
}
