/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - making, copying and digesting specs. Checks are in spec_check.c.
 *
 * One walk, spec_feed(), visits every field in a fixed order with its length; it is what the
 * digest is made of, so a new field is fed only when it is set.
 */
#include "spec/spec.h"

#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

struct spec *spec_create(void)
{
    struct spec *s = xcalloc(1, sizeof(*s));

    s->max_restarts = 3;
    s->start_timeout_us = 10 * 60 * USEC_PER_SEC;
    s->checkpoint_grace_us = 30 * USEC_PER_SEC;
    return s;
}

void spec_destroy(struct spec *s)
{
    if (!s)
        return;
    arena_fini(&s->arena);
    free(s);
}

static const char *copy_text(struct arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

static struct spec_pairs copy_pairs(struct arena *a, const struct spec_pairs *from)
{
    struct spec_pairs to = {.n = from->n};

    if (from->n)
        to.v = arena_alloc(a, from->n * sizeof(*to.v));
    for (uint32_t i = 0; i < from->n; i++) {
        to.v[i].key = copy_text(a, from->v[i].key);
        to.v[i].value = copy_text(a, from->v[i].value);
    }
    return to;
}

static struct spec_strings copy_strings(struct arena *a, const struct spec_strings *from)
{
    struct spec_strings to = {.n = from->n};

    if (from->n)
        to.v = arena_alloc(a, from->n * sizeof(*to.v));
    for (uint32_t i = 0; i < from->n; i++)
        to.v[i] = copy_text(a, from->v[i]);
    return to;
}

static struct spec_extended *copy_amounts(struct arena *a, const struct spec_extended *from,
                                          uint32_t n)
{
    struct spec_extended *to = arena_alloc(a, n * sizeof(*to));

    for (uint32_t i = 0; i < n; i++)
        to[i] = (struct spec_extended){copy_text(a, from[i].name), from[i].amount};
    return to;
}

void spec_copy_placement(struct arena *a, struct spec_role *to, const struct spec_role *from)
{
    to->node_selector = copy_pairs(a, &from->node_selector);
    to->n_tolerations = from->n_tolerations;
    to->tolerations = arena_alloc(a, from->n_tolerations * sizeof(*to->tolerations));
    for (uint32_t i = 0; i < from->n_tolerations; i++) {
        to->tolerations[i] = from->tolerations[i];
        to->tolerations[i].key = copy_text(a, from->tolerations[i].key);
        to->tolerations[i].value = copy_text(a, from->tolerations[i].value);
        to->tolerations[i].effect = copy_text(a, from->tolerations[i].effect);
    }
    to->n_affinity = from->n_affinity;
    to->affinity = arena_alloc(a, from->n_affinity * sizeof(*to->affinity));
    for (uint32_t i = 0; i < from->n_affinity; i++) {
        to->affinity[i].term = from->affinity[i].term;
        to->affinity[i].weight = from->affinity[i].weight;
        to->affinity[i].key = copy_text(a, from->affinity[i].key);
        to->affinity[i].op = copy_text(a, from->affinity[i].op);
        to->affinity[i].values = copy_strings(a, &from->affinity[i].values);
    }
    to->nodes = copy_strings(a, &from->nodes);
    to->excluded_nodes = copy_strings(a, &from->excluded_nodes);
    to->gpu_memory_min = from->gpu_memory_min;
    to->driver_min = copy_text(a, from->driver_min);
    to->cuda_min = copy_text(a, from->cuda_min);
}

void spec_copy_failure(struct arena *a, struct spec_failure *to, const struct spec_failure *from)
{
    *to = *from;
    to->rules = arena_alloc(a, from->n_rules * sizeof(*to->rules));
    for (uint32_t i = 0; i < from->n_rules; i++) {
        const struct spec_rule *rule = &from->rules[i];

        to->rules[i] = *rule;
        to->rules[i].codes = arena_alloc(a, rule->n_codes * sizeof(*rule->codes));
        for (uint32_t k = 0; k < rule->n_codes; k++)
            to->rules[i].codes[k] = rule->codes[k];
        to->rules[i].reasons = copy_strings(a, &rule->reasons);
    }
}

bool spec_failure_is_default(const struct spec_failure *f)
{
    return !f->reset_after_us && !f->backoff_us && !f->backoff_max_us && !f->n_rules &&
           f->excludes_nodes == SPEC_UNSAID && f->scope == SPEC_SCOPE_GANG;
}

static const char *const scopes[SPEC_SCOPES] = {"gang", "role", "pod"};

enum spec_scope spec_scope(const char *word)
{
    int i = 0;

    while (i < SPEC_SCOPES && strcmp(scopes[i], word) != 0)
        i++;
    return (enum spec_scope)i;
}

const char *spec_scope_word(enum spec_scope scope)
{
    return scope < SPEC_SCOPES ? scopes[scope] : "";
}

static const char *const actions[SPEC_ACTIONS] = {
    [SPEC_RESTART] = "Restart",
    [SPEC_RESTART_FREE] = "RestartFree",
    [SPEC_FAIL] = "Fail",
    [SPEC_EXCLUDE] = "ExcludeNodeAndRestart",
};

enum spec_action spec_action(const char *word)
{
    int a = 0;

    while (a < SPEC_ACTIONS && strcmp(actions[a], word) != 0)
        a++;
    return (enum spec_action)a;
}

const char *spec_action_word(enum spec_action action)
{
    return actions[action];
}

static void copy_role(struct arena *a, struct spec_role *to, const struct spec_role *from)
{
    *to = *from;
    to->name = copy_text(a, from->name);
    to->gpu_models = copy_strings(a, &from->gpu_models);
    to->image = copy_text(a, from->image);
    to->command = copy_strings(a, &from->command);
    to->args = copy_strings(a, &from->args);
    to->working_dir = copy_text(a, from->working_dir);
    to->env = copy_pairs(a, &from->env);
    to->extended = copy_amounts(a, from->extended, from->n_extended);
    to->volumes = arena_alloc(a, from->n_volumes * sizeof(*to->volumes));
    for (uint32_t i = 0; i < from->n_volumes; i++) {
        to->volumes[i] = from->volumes[i];
        to->volumes[i].name = copy_text(a, from->volumes[i].name);
        to->volumes[i].source = copy_text(a, from->volumes[i].source);
        to->volumes[i].path = copy_text(a, from->volumes[i].path);
        to->volumes[i].mount_path = copy_text(a, from->volumes[i].mount_path);
        to->volumes[i].sub_path = copy_text(a, from->volumes[i].sub_path);
    }
    to->env_refs = arena_alloc(a, from->n_env_refs * sizeof(*to->env_refs));
    for (uint32_t i = 0; i < from->n_env_refs; i++) {
        to->env_refs[i] = from->env_refs[i];
        to->env_refs[i].env = copy_text(a, from->env_refs[i].env);
        to->env_refs[i].prefix = copy_text(a, from->env_refs[i].prefix);
        to->env_refs[i].source = copy_text(a, from->env_refs[i].source);
        to->env_refs[i].key = copy_text(a, from->env_refs[i].key);
    }
    to->pull_policy = copy_text(a, from->pull_policy);
    to->pull_secrets = copy_strings(a, &from->pull_secrets);
    to->service_account = copy_text(a, from->service_account);
    to->start_after = copy_text(a, from->start_after);
    to->spread.key = copy_text(a, from->spread.key);
    spec_copy_placement(a, to, from);
}

struct spec *spec_copy(const struct spec *s)
{
    struct spec *to = spec_create();
    struct arena *a = &to->arena;

    *to = *s;
    to->arena = (struct arena){0};
    to->name = copy_text(a, s->name);
    to->tenant = copy_text(a, s->tenant);
    to->ns = copy_text(a, s->ns);
    to->labels = copy_pairs(a, &s->labels);
    to->annotations = copy_pairs(a, &s->annotations);
    to->submit_key = copy_text(a, s->submit_key);
    to->priority_class = copy_text(a, s->priority_class);
    to->topology_required = copy_text(a, s->topology_required);
    to->slice_level = copy_text(a, s->slice_level);
    to->preemption_policy = copy_text(a, s->preemption_policy);
    to->on_preemption = copy_text(a, s->on_preemption);
    to->exit_zero = copy_text(a, s->exit_zero);
    to->completion = copy_text(a, s->completion);
    to->array_indices = copy_text(a, s->array_indices);
    to->array_params = copy_strings(a, &s->array_params);
    to->licences = copy_amounts(a, s->licences, s->n_licences);
    to->depends_on = copy_pairs(a, &s->depends_on);
    spec_copy_failure(a, &to->failure, &s->failure);
    to->topology_preferred = copy_text(a, s->topology_preferred);
    to->roles = arena_alloc(a, s->n_roles * sizeof(*to->roles));
    for (uint32_t i = 0; i < s->n_roles; i++)
        copy_role(a, &to->roles[i], &s->roles[i]);
    return to;
}

bool spec_match_fits(const char *op, size_t n_values)
{
    if (!op)
        return false;
    if (strcmp(op, "Exists") == 0 || strcmp(op, "DoesNotExist") == 0)
        return n_values == 0;
    if (strcmp(op, "Gt") == 0 || strcmp(op, "Lt") == 0)
        return n_values == 1;
    return n_values > 0 && (strcmp(op, "In") == 0 || strcmp(op, "NotIn") == 0);
}

enum spec_condition spec_condition(const char *word)
{
    static const char *const words[SPEC_CONDITIONS] = {"succeeded", "finished", "started",
                                                       "failed"};
    int c = SPEC_SUCCEEDED;

    while (c < SPEC_CONDITIONS && strcmp(words[c], word) != 0)
        c++;
    return (enum spec_condition)c;
}

const char *spec_condition_words(enum spec_condition condition)
{
    static const char *const words[] = {
        [SPEC_SUCCEEDED] = "to succeed",
        [SPEC_FINISHED] = "to finish",
        [SPEC_STARTED] = "to start",
        [SPEC_FAILED] = "to fail",
    };

    return words[condition];
}

uint32_t spec_role_min(const struct spec_role *r)
{
    return r->min_replicas ? r->min_replicas : r->replicas;
}

uint32_t spec_role(const struct spec *s, const char *name)
{
    uint32_t i = 0;

    while (i < s->n_roles && strcmp(s->roles[i].name, name) != 0)
        i++;
    return i;
}

uint32_t spec_leader(const struct spec *s)
{
    for (uint32_t r = 0; r < s->n_roles; r++)
        if (s->roles[r].is_leader)
            return r;
    return s->completion && strcmp(s->completion, "leader") == 0 ? 0 : JOB_ROLES_MAX;
}

uint32_t spec_pods(const struct spec *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_roles; i++)
        n += s->roles[i].replicas + s->roles[i].spares;
    return n;
}

uint32_t spec_min_available(const struct spec *s)
{
    uint32_t least = 0, most = 0;

    for (uint32_t i = 0; i < s->n_roles; i++) {
        least += spec_role_min(&s->roles[i]);
        most += s->roles[i].replicas;
    }
    if (s->pdb == SPEC_NO || (s->pdb == SPEC_UNSAID && s->preemptible != SPEC_NO && least == most))
        return 0;
    return s->min_available ? s->min_available : least;
}

uint64_t spec_gpus(const struct spec *s)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < s->n_roles; i++)
        n += (uint64_t)(s->roles[i].replicas + s->roles[i].spares) * s->roles[i].gpus;
    return n;
}

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
    if (s->exit_zero) {
        feed_text(&f, "exitZero");
        feed_text(&f, s->exit_zero);
    }
    if (s->max_wait_us || s->deadline_us) {
        feed_text(&f, "time");
        feed_number(&f, s->max_wait_us);
        feed_number(&f, s->deadline_us);
    }
    feed_completion(&f, s);
}
