/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - making and copying specs, and what follows from their fields. Checks are in
 * spec_check.c. */
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
    to->checkpoint_signal = copy_text(a, s->checkpoint_signal);
    to->checkpoint_path = copy_text(a, s->checkpoint_path);
    to->checkpoint_target = copy_text(a, s->checkpoint_target);
    to->rendezvous = copy_text(a, s->rendezvous);
    to->keep_pods = copy_text(a, s->keep_pods);
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

uint32_t spec_leading(const struct spec *s)
{
    uint32_t leader = spec_leader(s);

    return leader == JOB_ROLES_MAX ? 0 : leader;
}

bool spec_gets_signal(const struct spec *s, uint32_t role, uint32_t index)
{
    return !s->checkpoint_target || (role == spec_leading(s) && index == 0);
}

enum spec_rendezvous spec_rendezvous(const struct spec *s)
{
    static const char *const words[] = {"none", "torch", "mpi", "ray"};
    uint32_t pods = 0;

    for (int i = 0; s->rendezvous && i < 4; i++)
        if (strcmp(s->rendezvous, words[i]) == 0)
            return (enum spec_rendezvous)i;
    for (uint32_t i = 0; i < s->n_roles; i++)
        pods += s->roles[i].gpus ? s->roles[i].replicas : 0;
    return pods > 1 ? SPEC_TORCH : SPEC_ALONE;
}

uint32_t spec_slots(const struct spec *s, uint32_t role)
{
    bool has_gpus = false;

    for (uint32_t i = 0; i < s->n_roles; i++)
        has_gpus |= s->roles[i].gpus > 0;
    if (has_gpus)
        return s->is_one_process ? s->roles[role].gpus > 0 : s->roles[role].gpus;
    return s->n_roles == 1 || role != spec_leading(s) || spec_rendezvous(s) != SPEC_MPI;
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

/* As words of a command, or inside a script for the shell. */
bool spec_role_is_wrapped(const struct spec_role *r)
{
    uint32_t n = r->command.n + r->args.n;
    bool is_after = false;

    for (uint32_t i = 0; i < n; i++) {
        const char *word = i < r->command.n ? r->command.v[i] : r->args.v[i - r->command.n];
        const char *base = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;

        if ((is_after && !strcmp(word, "pod-run")) || strstr(word, "queuectl pod-run"))
            return true;
        is_after = !strcmp(base, "queuectl");
    }
    return false;
}
