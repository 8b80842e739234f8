/* SPDX-License-Identifier: Apache-2.0 */
/* spec_feed.c - what the digest of a spec is made of.
 *
 * One walk, spec_feed(), visits every field in a fixed order with its length; a new field is fed
 * only when it is set, so that old digests hold.
 */
#include "spec/spec.h"

#include <string.h>

struct feed {
    void (*sink)(void *ctx, const void *p, size_t len);
    void *ctx;
};

/* Zigzag and base 128, as protobuf writes sint64: most numbers are one byte. */
static void feed_number(const struct feed *f, int64_t v)
{
    uint64_t n = (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
    uint8_t bytes[10];
    size_t len = 0;

    for (; n > 0x7f; n >>= 7)
        bytes[len++] = (uint8_t)(n | 0x80);
    bytes[len++] = (uint8_t)n;
    f->sink(f->ctx, bytes, len);
}

static void feed_text(const struct feed *f, const char *text)
{
    feed_number(f, text ? (int64_t)strlen(text) : -1);
    if (text)
        f->sink(f->ctx, text, strlen(text));
}

static void feed_pairs(const struct feed *f, const struct spec_pairs *p)
{
    feed_number(f, p->n);
    for (uint32_t i = 0; i < p->n; i++) {
        feed_text(f, p->v[i].key);
        feed_text(f, p->v[i].value);
    }
}

static void feed_strings(const struct feed *f, const struct spec_strings *p)
{
    feed_number(f, p->n);
    for (uint32_t i = 0; i < p->n; i++)
        feed_text(f, p->v[i]);
}

static void feed_role_lists(const struct feed *f, const struct spec_role *r)
{
    feed_number(f, r->n_extended);
    for (uint32_t i = 0; i < r->n_extended; i++) {
        feed_text(f, r->extended[i].name);
        feed_number(f, r->extended[i].amount);
    }
    feed_number(f, r->n_volumes);
    for (uint32_t i = 0; i < r->n_volumes; i++) {
        feed_text(f, r->volumes[i].name);
        feed_number(f, r->volumes[i].kind);
        feed_text(f, r->volumes[i].source);
        feed_text(f, r->volumes[i].path);
        feed_text(f, r->volumes[i].mount_path);
        feed_number(f, r->volumes[i].size_bytes);
        feed_number(f, r->volumes[i].read_only);
    }
    feed_number(f, r->n_tolerations);
    for (uint32_t i = 0; i < r->n_tolerations; i++) {
        feed_text(f, r->tolerations[i].key);
        feed_number(f, r->tolerations[i].exists);
        feed_text(f, r->tolerations[i].value);
        feed_text(f, r->tolerations[i].effect);
    }
}

/* What came later is fed behind its name, where it is given. */
static void feed_role_more(const struct feed *f, const struct spec_role *r)
{
    for (uint32_t i = 0; i < r->n_affinity; i++) {
        feed_text(f, "affinity");
        feed_number(f, r->affinity[i].term);
        feed_text(f, r->affinity[i].key);
        feed_text(f, r->affinity[i].op);
        feed_strings(f, &r->affinity[i].values);
        if (!r->affinity[i].weight)
            continue;
        feed_text(f, "weight");
        feed_number(f, r->affinity[i].weight);
    }
    for (uint32_t i = 0; i < r->n_tolerations; i++) {
        if (!r->tolerations[i].is_limited)
            continue;
        feed_text(f, "tolerationSeconds");
        feed_number(f, i);
        feed_number(f, (int64_t)r->tolerations[i].seconds);
    }
    if (r->nodes.n || r->excluded_nodes.n) {
        feed_text(f, "nodes");
        feed_strings(f, &r->nodes);
        feed_strings(f, &r->excluded_nodes);
    }
    if (r->gpu_memory_min || r->driver_min || r->cuda_min) {
        feed_text(f, "versions");
        feed_number(f, r->gpu_memory_min);
        feed_text(f, r->driver_min);
        feed_text(f, r->cuda_min);
    }
    if (r->mixed_drivers)
        feed_text(f, "mixedDrivers");
    if (r->is_exclusive)
        feed_text(f, "exclusiveNode");
    if (r->is_leader)
        feed_text(f, "leader");
    if (r->spread.key) {
        feed_text(f, "spread");
        feed_text(f, r->spread.key);
        feed_number(f, r->spread.max_skew);
        feed_number(f, r->spread.is_soft);
    }
}

/* The same, of what only the pod knows. */
static void feed_pod_more(const struct feed *f, const struct spec_role *r)
{
    for (uint32_t i = 0; i < r->n_env_refs; i++) {
        const struct spec_env_ref *ref = &r->env_refs[i];

        feed_text(f, "envRef");
        feed_text(f, ref->env);
        feed_text(f, ref->prefix);
        feed_number(f, ref->kind);
        feed_text(f, ref->source);
        feed_text(f, ref->key);
        feed_number(f, ref->may_lack);
    }
    if (r->pull_policy || r->pull_secrets.n || r->service_account) {
        feed_text(f, "pod");
        feed_text(f, r->pull_policy);
        feed_strings(f, &r->pull_secrets);
        feed_text(f, r->service_account);
    }
    for (uint32_t i = 0; i < r->n_volumes; i++) {
        if (!r->volumes[i].sub_path && !r->volumes[i].in_memory)
            continue;
        feed_text(f, "volume");
        feed_number(f, i);
        feed_text(f, r->volumes[i].sub_path);
        feed_number(f, r->volumes[i].in_memory);
    }
}

/* What was given of it, so that a spec without it keeps its digest. */
static void feed_elastic(const struct feed *f, const struct spec *s)
{
    for (uint32_t i = 0; i < s->n_roles; i++) {
        if (s->roles[i].spares) {
            feed_text(f, "spares");
            feed_number(f, i);
            feed_number(f, s->roles[i].spares);
        }
        if (s->roles[i].start_after) {
            feed_text(f, "startAfter");
            feed_number(f, i);
            feed_text(f, s->roles[i].start_after);
        }
        if (!s->roles[i].min_replicas)
            continue;
        feed_text(f, "minReplicas");
        feed_number(f, i);
        feed_number(f, s->roles[i].min_replicas);
    }
    if (s->elastic_step || s->grow_cooldown_us) {
        feed_text(f, "elastic");
        feed_number(f, s->elastic_step);
        feed_number(f, s->grow_cooldown_us);
    }
    if (s->pdb != SPEC_UNSAID) {
        feed_text(f, "pdb");
        feed_number(f, s->pdb);
        feed_number(f, s->min_available);
    }
}

static void feed_role(const struct feed *f, const struct spec_role *r)
{
    feed_text(f, r->name);
    feed_number(f, r->replicas);
    feed_number(f, r->gpus);
    feed_strings(f, &r->gpu_models);
    feed_number(f, r->cpu_milli);
    feed_number(f, r->memory_bytes);
    feed_number(f, r->shm_bytes);
    feed_text(f, r->image);
    feed_strings(f, &r->command);
    feed_strings(f, &r->args);
    feed_text(f, r->working_dir);
    feed_pairs(f, &r->env);
    feed_pairs(f, &r->node_selector);
    feed_role_lists(f, r);
    feed_role_more(f, r);
    feed_pod_more(f, r);
}

static void feed_array(const struct feed *f, const struct spec *s)
{
    if (!s->array_indices)
        return;
    feed_text(f, "array");
    feed_text(f, s->array_indices);
    feed_number(f, s->array_parallel);
    feed_number(f, s->array_fails_fast);
    if (s->array_params.n) {
        feed_text(f, "params");
        feed_strings(f, &s->array_params);
    }
}

static void feed_failure(const struct feed *f, const struct spec_failure *policy)
{
    if (spec_failure_is_default(policy))
        return;
    feed_text(f, "failurePolicy");
    feed_number(f, policy->reset_after_us);
    feed_number(f, policy->backoff_us);
    feed_number(f, policy->backoff_max_us);
    feed_number(f, policy->excludes_nodes);
    feed_number(f, policy->n_rules);
    for (uint32_t i = 0; i < policy->n_rules; i++) {
        const struct spec_rule *rule = &policy->rules[i];

        feed_number(f, rule->n_codes);
        for (uint32_t k = 0; k < rule->n_codes; k++)
            feed_number(f, rule->codes[k]);
        feed_strings(f, &rule->reasons);
        feed_number(f, rule->action);
    }
    if (policy->scope)
        feed_text(f, spec_scope_word(policy->scope));
}

static void feed_checkpoint(const struct feed *f, const struct spec *s)
{
    if (s->exit_zero) {
        feed_text(f, "exitZero");
        feed_text(f, s->exit_zero);
    }
    if (s->checkpoint_signal || s->checkpoint_path) {
        feed_text(f, "checkpoint");
        feed_text(f, s->checkpoint_signal);
        feed_text(f, s->checkpoint_path);
    }
    if (s->checkpoint_target || s->before_end_us) {
        feed_text(f, "beforeEnd");
        feed_text(f, s->checkpoint_target);
        feed_number(f, s->before_end_us);
    }
}

static void feed_rendezvous(const struct feed *f, const struct spec *s)
{
    if (!s->rendezvous && !s->rendezvous_port && !s->is_one_process && !s->is_world_of_nodes)
        return;
    feed_text(f, "rendezvous");
    feed_text(f, s->rendezvous);
    feed_number(f, s->rendezvous_port);
    feed_number(f, s->is_one_process);
    feed_number(f, s->is_world_of_nodes);
}

static void feed_cleanup(const struct feed *f, const struct spec *s)
{
    if (!s->ttl_us && !s->pod_ttl_us && !s->keep_pods)
        return;
    feed_text(f, "cleanup");
    feed_number(f, s->ttl_us);
    feed_number(f, s->pod_ttl_us);
    feed_text(f, s->keep_pods);
}

static void feed_completion(const struct feed *f, const struct spec *s)
{
    if (!s->completion)
        return;
    feed_text(f, "completion");
    feed_text(f, s->completion);
    feed_number(f, s->completion_min);
}

void spec_feed(const struct spec *s, void (*sink)(void *ctx, const void *p, size_t len), void *ctx)
{
    const struct feed f = {.sink = sink, .ctx = ctx};

    feed_number(&f, SPEC_DIGEST_VERSION);
    feed_text(&f, s->name);
    feed_text(&f, s->tenant);
    feed_text(&f, s->ns);
    feed_pairs(&f, &s->labels);
    feed_pairs(&f, &s->annotations);
    feed_text(&f, s->submit_key);
    feed_text(&f, s->priority_class);
    feed_number(&f, s->max_runtime_us);
    feed_number(&f, s->max_queue_us);
    feed_number(&f, s->start_timeout_us);
    feed_text(&f, s->topology_required);
    feed_text(&f, s->topology_preferred);
    feed_number(&f, s->max_restarts);
    feed_number(&f, s->checkpoint_grace_us);
    feed_number(&f, s->n_roles);
    for (uint32_t i = 0; i < s->n_roles; i++)
        feed_role(&f, &s->roles[i]);
    if (s->preemptible != SPEC_UNSAID) {
        feed_text(&f, "preemptible");
        feed_number(&f, s->preemptible);
    }
    if (s->preemption_policy || s->max_lost_gpu_hours) {
        feed_text(&f, "preemption");
        feed_text(&f, s->preemption_policy);
        feed_number(&f, s->max_lost_gpu_hours);
    }
    if (s->is_movable)
        feed_text(&f, "movable");
    if (s->on_preemption) {
        feed_text(&f, "onPreemption");
        feed_text(&f, s->on_preemption);
    }
    feed_elastic(&f, s);
    if (s->is_held)
        feed_text(&f, "hold");
    if (s->slice_size) {
        feed_text(&f, "slice");
        feed_number(&f, s->slice_size);
        feed_text(&f, s->slice_level);
    }
    for (uint32_t i = 0; i < s->n_licences; i++) {
        feed_text(&f, "licence");
        feed_text(&f, s->licences[i].name);
        feed_number(&f, s->licences[i].amount);
    }
    if (s->depends_on.n) {
        feed_text(&f, "dependsOn");
        feed_pairs(&f, &s->depends_on);
    }
    feed_failure(&f, &s->failure);
    feed_array(&f, s);
    feed_checkpoint(&f, s);
    if (s->max_wait_us || s->deadline_us) {
        feed_text(&f, "time");
        feed_number(&f, s->max_wait_us);
        feed_number(&f, s->deadline_us);
    }
    feed_completion(&f, s);
    feed_rendezvous(&f, s);
    feed_cleanup(&f, s);
}
