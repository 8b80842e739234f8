/* SPDX-License-Identifier: Apache-2.0 */
/* wish.c - the simulated site, and random jobs for it. */
#include "wish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

#include "rng.h"

enum { H100, H200, A100 };

/* Of a seed: see wish_mood(). */
#define KEEN    (UINT64_C(1) << 63)
#define CRUMBLY (UINT64_C(1) << 62)

static struct tenant_setting *add_tenant(struct settings *s, const char *path, uint32_t parent)
{
    struct tenant_setting *t = &s->tenants[s->n_tenants++];

    *t = (struct tenant_setting){.parent = parent, .weight = 1};
    (void)snprintf(t->path, sizeof(t->path), "%s", path);
    if (parent == IX_NONE) {
        t->n_namespaces = 1;
        (void)snprintf(t->namespaces[0], sizeof(t->namespaces[0]), "%s", path);
    }
    t->n_tolerations = 1;
    (void)snprintf(t->tolerations[0], sizeof(t->tolerations[0]), "dedicated");
    for (uint32_t m = 0; m < MODELS_MAX; m++)
        t->quota.gpus[m] = t->limit.gpus[m] = -1;
    return t;
}

void site_init(struct settings *s)
{
    struct hierarchy_setting *h;
    struct tenant_setting *t;

    settings_defaults(s);
    /* block and rack are enough: the labels of the nodes have no zone */
    h = &s->hierarchies[0];
    memmove(&h->levels[0], &h->levels[1], 2 * sizeof(h->levels[0]));
    h->n_levels = 2;
    s->min_runtime_us = 20 * USEC_PER_SEC;
    s->n_licences = 1;
    s->licences[0] = (struct licence_setting){"tool", 3};
    s->defrag_gpu_us = UINT64_C(20) * 3600 * USEC_PER_SEC;
    s->tenants = xcalloc(6, sizeof(*s->tenants));
    t = add_tenant(s, "alpha", IX_NONE);
    t->quota.gpus[H100] = 24;
    t->limit.gpus[H100] = 64;
    t = add_tenant(s, "alpha/one", 0);
    t->weight = 3;
    t->user_limit.gpus[H100] = 16;
    t = add_tenant(s, "alpha/two", 0);
    t->limit.gpus[H100] = 16;
    t = add_tenant(s, "beta", IX_NONE);
    t->quota.gpus[H100] = t->unlent.gpus[H100] = 8;
    t->max_runtime_us = 3600 * USEC_PER_SEC;
    t = add_tenant(s, "gamma", IX_NONE);
    t->limit.gpus[H100] = 8;
    t->limit.gpus[H200] = 4;
    t->max_pending = 5;
    t = add_tenant(s, "idle", IX_NONE);
    t->weight = 0;
    s->pools = xcalloc(1, sizeof(*s->pools));
    s->n_pools = 1;
    s->pools[0] = (struct pool_setting){
        .name = "betas", .n_labels = 1, .labels = {{"pool", "beta"}}, .n_exclusive = 1};
    s->pools[0].exclusive[0] = settings_tenant(s, "beta");
}

void site_fini(struct settings *s)
{
    free(s->tenants);
    s->tenants = NULL;
    free(s->pools);
    s->pools = NULL;
}

static void some_models(struct spec *s, struct spec_role *r, struct rng *g)
{
    static const char *const names[] = {"H100", "H200", "A100"};
    uint32_t first = rng_one_in(g, 20) ? A100 : rng_below(g, 2);

    if (rng_one_in(g, 2))
        return;
    r->gpu_models.v = arena_alloc(&s->arena, 2 * sizeof(*r->gpu_models.v));
    r->gpu_models.v[r->gpu_models.n++] = names[first];
    if (rng_one_in(g, 4))
        r->gpu_models.v[r->gpu_models.n++] = names[(first + 1) % 2];
}

static void some_placement(struct spec *s, struct spec_role *r, struct rng *g)
{
    if (rng_one_in(g, 8)) {
        r->n_tolerations = 1;
        r->tolerations = arena_alloc(&s->arena, sizeof(*r->tolerations));
        r->tolerations[0] = (struct spec_toleration){.key = "dedicated", .exists = true};
    }
    if (rng_one_in(g, 16)) {
        r->node_selector.n = 1;
        r->node_selector.v = arena_alloc(&s->arena, sizeof(*r->node_selector.v));
        r->node_selector.v[0].key = "gang.queued/block";
        r->node_selector.v[0].value = rng_one_in(g, 4) ? "nowhere" : "b0";
    }
}

/* Without a draw, too. */
static void some_licence(struct spec *s)
{
    if (spec_gpus(s) % 5 != 4)
        return;
    s->n_licences = 1;
    s->licences = arena_alloc(&s->arena, sizeof(*s->licences));
    s->licences[0] = (struct spec_extended){"tool", 1 + (int64_t)(spec_gpus(s) / 5 % 2)};
}

/* Without a draw: a third of a GPU or less, or a half. */
static void some_share(struct spec *s, struct spec_role *r)
{
    if (r->gpus || r->replicas > 4)
        return;
    r->extended = arena_alloc(&s->arena, sizeof(*r->extended));
    r->n_extended = 1;
    r->extended[0] = (struct spec_extended){SHARED_GPU, 1};
    r->gpu_memory_min = INT64_C(7000) * (1 + r->replicas % 3) << 20;
}

/* Without a draw: small ones like one block, and a rack in it more. */
static void some_preference(struct spec *s, struct spec_role *r)
{
    static const char *block[] = {"b1"}, *rack[] = {"r1"};

    if (r->gpus == 0 || r->gpus > 4 || r->replicas > 3)
        return;
    r->n_affinity = 2;
    r->affinity = arena_alloc(&s->arena, 2 * sizeof(*r->affinity));
    r->affinity[0] = (struct spec_match){1, 80, "gang.queued/block", "In", {block, 1}};
    r->affinity[1] = (struct spec_match){2, 20, "gang.queued/rack", "In", {rack, 1}};
}

/* Without a draw, so that older seeds stay what they were. */
static void some_spread(struct spec *s, struct spec_role *r)
{
    if (r->replicas == 3 && r->gpus < 3 && !s->slice_size)
        r->spread = (struct spec_spread){"rack", 1, r->cpu_milli > 0};
    else if (r->replicas == 2 && r->gpus == 1 && !s->slice_size)
        r->spread = (struct spec_spread){"kubernetes.io/hostname", 1, false};
}

/* The same: some have their nodes to themselves. */
static void some_exclusive(struct spec_role *r, uint64_t seed)
{
    r->is_exclusive = r->gpus == 8 && seed % 3 == 0 && !r->n_extended;
}

/* The same: some end with their leader, or with a part of their pods. */
static void some_completion(struct spec *s, uint64_t seed)
{
    uint32_t pods = 0;

    for (uint32_t i = 0; i < s->n_roles; i++)
        pods += spec_role_min(&s->roles[i]);
    if (seed % 7 == 1)
        s->completion = "leader";
    s->roles[s->n_roles - 1].is_leader = seed % 14 == 1;
    if (seed % 7 == 2 && pods > 1) {
        s->completion = "min";
        s->completion_min = 1 + (uint32_t)(seed / 7 % pods);
    }
}

/* The same: some give their level up after a time, or have to end by one. */
static void some_instants(struct spec *s, uint64_t seed)
{
    if (s->topology_required && s->roles[0].replicas > 1)
        s->max_wait_us = s->roles[0].replicas * 30 * USEC_PER_SEC;
    if (s->is_held || seed % 8 == 0)
        s->deadline_us = (INT64_C(1790000000) + (int64_t)(seed % 1500)) * USEC_PER_SEC;
}

/* The same: a small sweep, sometimes with a hole, sometimes with failFast. */
static void some_array(struct spec *s, uint64_t seed)
{
    static const char *const indices[] = {"0-3", "0-9", "1,3,5-7", "0-20:4"};

    if (seed % 7 != 3 || spec_pods(s) > 8)
        return;
    s->array_indices = indices[seed / 7 % ARRAY_LEN(indices)];
    s->array_parallel = (uint32_t)(seed / 31 % 4); /* 0: all */
    s->array_fails_fast = seed / 127 % 3 == 0;
}

static void some_role(struct spec *s, struct spec_role *r, uint32_t ix, struct rng *g)
{
    static const uint32_t gpus[] = {1, 1, 2, 2, 4, 8, 8, 3, 9};
    static const char *const names[] = {"worker", "ps", "data"};

    *r = (struct spec_role){.name = names[ix], .image = "registry.example/train:1"};
    r->cpu_milli = r->memory_bytes = r->shm_bytes = -1;
    r->replicas = 1 + rng_below(g, rng_one_in(g, 4) ? 16 : 4);
    if (ix == 0 ? !rng_one_in(g, 8) : rng_one_in(g, 3)) {
        r->gpus = gpus[rng_below(g, ARRAY_LEN(gpus) - (rng_one_in(g, 6) ? 0 : 1))];
        some_models(s, r, g);
    }
    if (rng_one_in(g, 3)) {
        r->cpu_milli = rng_between(g, 1, 60) * 1000;
        r->memory_bytes = rng_between(g, 1, 400) << 30;
    }
    some_placement(s, r, g);
    if (r->replicas > 1 && rng_one_in(g, 2))
        r->min_replicas = 1 + rng_below(g, r->replicas);
}

static void some_topology(struct spec *s, struct rng *g)
{
    static const char *const levels[] = {"host", "rack", "block"};

    if (rng_one_in(g, 3))
        s->topology_required = levels[rng_below(g, 3)];
    if (rng_one_in(g, 3))
        s->topology_preferred = rng_one_in(g, 3) ? "any" : levels[rng_below(g, 3)];
    if (rng_one_in(g, 100))
        s->topology_required = "galaxy";
    if (rng_one_in(g, 12)) {
        s->slice_level = levels[rng_below(g, 2)];
        s->slice_size = 1 + rng_below(g, 3);
    }
}

static void some_times(struct spec *s, struct rng *g)
{
    static const int64_t runtimes[] = {30, 120, 600, 3600, 36000};

    if (!rng_one_in(g, 3))
        s->max_runtime_us = runtimes[rng_below(g, ARRAY_LEN(runtimes))] * USEC_PER_SEC;
    if (rng_one_in(g, 6))
        s->max_queue_us = rng_between(g, 5, 600) * USEC_PER_SEC;
    if (rng_one_in(g, 2))
        s->start_timeout_us = rng_between(g, 20, 300) * USEC_PER_SEC;
    s->checkpoint_grace_us = rng_between(g, 0, 120) * USEC_PER_SEC;
    s->max_restarts = rng_below(g, 4);
}

/* Codes and reasons are those of world.c. */
static void some_failure(struct spec *s, struct rng *g)
{
    static const uint32_t codes[] = {1, 2, 42, 137, 255};
    static const char *const reasons[] = {"NodeLost", "Rejected", "OOMKilled"};

    if (!rng_one_in(g, 2))
        return;
    s->failure.scope = (enum spec_scope)rng_below(g, SPEC_SCOPES);
    s->failure.excludes_nodes = (enum spec_choice)rng_below(g, 3);
    s->failure.reset_after_us = rng_one_in(g, 2) ? 60 * USEC_PER_SEC : 0;
    s->failure.backoff_us = rng_one_in(g, 2) ? 2 * USEC_PER_SEC : 0;
    s->failure.n_rules = rng_below(g, 4);
    s->failure.rules = arena_alloc(&s->arena, s->failure.n_rules * sizeof(*s->failure.rules));
    for (uint32_t i = 0; i < s->failure.n_rules; i++) {
        struct spec_rule *rule = &s->failure.rules[i];

        rule->action = (enum spec_action)rng_below(g, SPEC_ACTIONS);
        if (rng_one_in(g, 2)) {
            rule->n_codes = 1;
            rule->codes = arena_alloc(&s->arena, sizeof(*rule->codes));
            rule->codes[0] = codes[rng_below(g, ARRAY_LEN(codes))];
        } else {
            rule->reasons.n = 1;
            rule->reasons.v = arena_alloc(&s->arena, sizeof(*rule->reasons.v));
            rule->reasons.v[0] = reasons[rng_below(g, ARRAY_LEN(reasons))];
        }
    }
}

/* Where the number of pods is fixed. */
static void some_spares(struct spec *s, struct rng *g)
{
    for (uint32_t i = 0; i < s->n_roles && (!s->slice_size || strcmp(s->slice_level, "host") != 0);
         i++)
        if (!s->roles[i].min_replicas && !s->array_indices &&
            !(s->slice_size && s->roles[i].spread.key) && rng_one_in(g, s->failure.scope ? 2 : 4))
            s->roles[i].spares = 1 + rng_below(g, 2);
}

/* One after the other, from the first or from the last; or one of them. */
static void some_order(struct spec *s, struct rng *g, bool is_staged)
{
    bool is_back = rng_one_in(g, 2);

    for (uint32_t i = 1; i < s->n_roles; i++)
        if (rng_one_in(g, is_staged ? 1 : 2))
            s->roles[is_back ? i - 1 : i].start_after = s->roles[is_back ? i : i - 1].name;
}

static void some_growth(struct spec *s, struct rng *g)
{
    bool is_elastic = false;

    for (uint32_t i = 0; i < s->n_roles; i++)
        is_elastic |= spec_role_min(&s->roles[i]) < s->roles[i].replicas;
    if (!is_elastic)
        return;
    s->is_movable = false;
    s->elastic_step = rng_below(g, 3);
    s->grow_cooldown_us = rng_between(g, 0, 60) * USEC_PER_SEC;
}

static void some_budget(struct spec *s, struct rng *g)
{
    if (!rng_one_in(g, 6))
        return;
    s->pdb = rng_one_in(g, 3) ? SPEC_NO : SPEC_YES;
    if (s->pdb == SPEC_YES && rng_one_in(g, 2))
        s->min_available = 1 + (uint32_t)rng_below(g, s->roles[0].replicas);
}

/* On the newest job of a name. Held jobs of a kind wait more often, so that they end waiting. */
static void some_dependency(struct spec *s, struct rng *g)
{
    static const char *const conditions[] = {"succeeded", "succeeded", "started",
                                             "finished",  "failed",    "failed"};

    if (!rng_one_in(g, s->is_held ? 2 : 6))
        return;
    s->depends_on.n = 1;
    s->depends_on.v = arena_alloc(&s->arena, sizeof(*s->depends_on.v));
    s->depends_on.v[0].key = "train";
    s->depends_on.v[0].value = conditions[rng_below(g, ARRAY_LEN(conditions))];
}

/* A part of a node that may move, or a whole node: what defragmentation is about. */
static void crumb_or_node(struct spec *s, struct rng *g)
{
    struct spec_role *r = &s->roles[0];

    s->is_movable = rng_below(g, 3) > 0;
    s->priority_class = s->is_movable ? NULL : "normal";
    s->preemptible = SPEC_YES;
    s->on_preemption = NULL;
    s->tenant = "beta";
    s->n_roles = r->replicas = 1;
    r->min_replicas = 0;
    r->gpus = s->is_movable ? 2 + rng_below(g, 3) : 8;
    r->gpu_models.n = 0;
    r->cpu_milli = r->memory_bytes = -1;
    r->n_tolerations = r->node_selector.n = 0;
    s->topology_required = s->slice_level = NULL;
    s->slice_size = 0;
    s->max_runtime_us = 36000 * USEC_PER_SEC;
}

uint64_t wish_mood(uint64_t seed, bool is_keen, bool is_crumbly)
{
    return (seed & ~(KEEN | CRUMBLY)) | (is_keen ? KEEN : 0) | (is_crumbly ? CRUMBLY : 0);
}

/* Roles that soon have room, so that those after them come to their turn. */
static void be_small(struct spec *s)
{
    for (uint32_t i = 0; i < s->n_roles; i++) {
        struct spec_role *r = &s->roles[i];

        r->replicas = 1 + r->replicas % 3;
        r->min_replicas = r->min_replicas > r->replicas ? 0 : r->min_replicas;
        r->gpus = r->gpus > 4 ? 4 : r->gpus;
    }
}

/* Long enough to be in the way of others, and some of them of a higher class. */
static void be_keen(struct spec *s, struct rng *g)
{
    static const char *const classes[] = {"low", "low", "normal", "high", "urgent", NULL};

    s->priority_class = classes[rng_below(g, ARRAY_LEN(classes))];
    s->preemptible = rng_one_in(g, 6) ? SPEC_NO : SPEC_YES;
    if (s->max_runtime_us && s->max_runtime_us < 600 * USEC_PER_SEC)
        s->max_runtime_us = 0;
    if (!rng_one_in(g, 4))
        s->topology_required = NULL;
    if (!rng_one_in(g, 3))
        s->max_queue_us = 0;
}

/* Told to save before the end, too. */
static void some_checkpoint(struct spec *s)
{
    static const char *wrapped[] = {"queuectl", "pod-run", "--", "train"};

    if (!s->exit_zero || s->max_runtime_us < 120 * USEC_PER_SEC)
        return;
    s->checkpoint_signal = "SIGUSR1";
    s->before_end_us = s->max_runtime_us / 3;
    s->roles[0].command = (struct spec_strings){wrapped, ARRAY_LEN(wrapped)};
}

struct spec *wish_spec(uint64_t seed, bool is_staged, const char *submit_key)
{
    static const char *const tenants[] = {"alpha", "alpha/one", "alpha/one", "alpha/two",
                                          "beta",  "beta",      "gamma",     "idle"};
    struct spec *s = spec_create();
    struct rng g = {seed};

    s->name = rng_one_in(&g, 2) ? "train" : "fine-tune-with-a-name-of-forty-character";
    s->tenant = rng_one_in(&g, 60) ? "nobody" : tenants[rng_below(&g, ARRAY_LEN(tenants))];
    if (submit_key)
        s->submit_key = arena_strdup(&s->arena, submit_key);
    if (rng_one_in(&g, 3))
        s->priority_class = rng_one_in(&g, 20)  ? "gold"
                            : rng_one_in(&g, 4) ? "urgent"
                            : rng_one_in(&g, 3) ? "high"
                                                : "low";
    if (rng_one_in(&g, 3))
        s->preemptible = rng_one_in(&g, 4) ? SPEC_NO : SPEC_YES;
    if (rng_one_in(&g, is_staged ? 1 : 4))
        s->on_preemption = rng_one_in(&g, 2) || is_staged ? "end" : "requeue";
    if (rng_one_in(&g, 4))
        s->exit_zero = "done";
    if (rng_one_in(&g, 8))
        s->preemption_policy = rng_one_in(&g, 2) ? "Never" : "LowerPriority";
    if (rng_one_in(&g, 20))
        s->max_lost_gpu_hours = 1;
    s->is_held = rng_one_in(&g, is_staged ? 8 : 25);
    some_dependency(s, &g);
    some_times(s, &g);
    some_failure(s, &g);
    some_topology(s, &g);
    s->n_roles = rng_one_in(&g, is_staged ? 1 : 4) ? 1 + rng_below(&g, 3) : 1;
    s->roles = arena_alloc(&s->arena, s->n_roles * sizeof(*s->roles));
    for (uint32_t i = 0; i < s->n_roles; i++)
        some_role(s, &s->roles[i], i, &g);
    if (is_staged)
        be_small(s);
    if (seed & KEEN)
        be_keen(s, &g);
    s->is_movable = s->preemptible == SPEC_YES ||
                    (!s->priority_class && s->preemptible == SPEC_UNSAID && rng_one_in(&g, 2));
    s->is_movable = s->is_movable && !rng_one_in(&g, 50) && spec_gpus(s) > 0 &&
                    !(s->on_preemption && strcmp(s->on_preemption, "end") == 0);
    if (seed & CRUMBLY ? !rng_one_in(&g, 5) : rng_one_in(&g, 5))
        crumb_or_node(s, &g);
    for (uint32_t i = 0; i < s->n_roles; i++) {
        some_spread(s, &s->roles[i]);
        some_preference(s, &s->roles[i]);
        some_share(s, &s->roles[i]);
        some_exclusive(&s->roles[i], seed);
    }
    if (is_staged)
        some_array(s, seed + 1); /* has no spares then */
    some_spares(s, &g);
    some_order(s, &g, is_staged);
    some_growth(s, &g);
    some_budget(s, &g);
    some_completion(s, seed);
    some_instants(s, seed);
    some_array(s, seed);
    some_licence(s);
    some_checkpoint(s);
    return s;
}

/* Small pods, on MIG devices of one of two kinds. */
static void some_mig(struct spec *s, struct spec_role *r, uint64_t seed)
{
    if (r->gpus > 4 || r->gpu_memory_min || r->is_exclusive || seed % 3)
        return;
    r->gpus = 0;
    r->n_extended = 1;
    r->extended = arena_alloc(&s->arena, sizeof(*r->extended));
    r->extended[0] =
        (struct spec_extended){seed / 3 % 2 ? "nvidia.com/mig-1g.10gb" : "nvidia.com/mig-2g.20gb",
                               1 + (int64_t)(seed / 6 % 3)};
}

void wish_widen(struct spec *s, uint64_t seed)
{
    static const char *command[] = {"queuectl", "pod-run", "--", "train"};

    for (uint32_t i = 0; i < s->n_roles; i++)
        some_mig(s, &s->roles[i], seed / 5 + i);
    if (seed % 5 > 1)
        return;
    s->checkpoint_signal = "SIGUSR1";
    s->roles[0].command = (struct spec_strings){command, ARRAY_LEN(command)};
}

static void sink(void *ctx, const void *p, size_t len)
{
    uint64_t *h = ctx;
    const unsigned char *b = p;

    for (size_t i = 0; i < len; i++)
        *h = (*h ^ b[i]) * UINT64_C(0x100000001b3);
}

void wish_digest(const struct spec *s, uint8_t ret[SPEC_DIGEST_BYTES])
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    struct rng g;

    spec_feed(s, sink, &h);
    g = (struct rng){h};
    for (int i = 0; i < SPEC_DIGEST_BYTES; i++)
        ret[i] = (uint8_t)rng_next(&g);
}
