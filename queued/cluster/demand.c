/* SPDX-License-Identifier: Apache-2.0 */
/* demand.c - interning of demands, and what they say about a node.
 *
 * Content is compared as text with separators that no field can hold, so equal text is equal
 * meaning.
 */
#include "cluster/demand.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "spec/mig.h"
#include "util/str.h"

static bool role_takes_model(const struct demand_role *role, const struct node *n)
{
    if (n->model >= MODELS_MAX)
        return false;
    for (uint32_t i = 0; i < role->n_models; i++)
        if (role->models[i] == n->model)
            return true;
    return role->n_models == 0;
}

/* The kubelet picks the GPUs of a pod: one bad choice is one too many. */
static bool has_bad_picks(const struct demand_role *role, const struct node *n)
{
    int64_t gpus = role->each.amount[RES_GPUS];

    return gpus > 1 && gpus < 32 && (n->bad_picks >> gpus & 1);
}

void role_asks(const struct demand_role *role, int64_t cpu_milli, int64_t memory_bytes,
               struct resources *ret)
{
    *ret = role->each;
    if (cpu_milli >= 0)
        ret->amount[RES_CPU] = cpu_milli;
    if (memory_bytes >= 0)
        ret->amount[RES_MEMORY] = memory_bytes;
}

static enum refusal hardware_refusal(const struct demand_role *role, const struct node *n)
{
    bool has_gpus = role->each.amount[RES_GPUS] > 0;
    int64_t shares = role->each.amount[RES_SHARES];

    if (!n->is_known)
        return REFUSED_UNKNOWN;
    if (has_gpus && n->is_shared_gpu)
        return REFUSED_SHARED;
    if (role->takes_gpus && !role_takes_model(role, n))
        return REFUSED_MODEL;
    if (shares && role->each.amount[RES_GPU_BYTES] / shares > n->share_most)
        return REFUSED_MEMORY;
    /* what it closes is what it is charged */
    if (role->is_alone &&
        (n->expected_gpus > role->each.amount[RES_GPUS] || n->total.amount[RES_SHARES]))
        return REFUSED_WHOLE;
    return has_bad_picks(role, n) ? REFUSED_LINKS : REFUSAL_OF_NONE;
}

enum refusal role_refusal(const struct demand_role *role, const struct node *n,
                          const char **ret_key)
{
    enum refusal why = hardware_refusal(role, n);
    struct node_marks marks;

    if (why != REFUSAL_OF_NONE)
        return why;
    marks = node_marks_of(n);
    return constraint_refusal(role->constraint, &marks, ret_key);
}

bool role_allows(const struct demand_role *role, const struct node *n)
{
    int known = constraint_known(role->constraint, n->ix);
    struct node_marks marks;

    if (known == 0 || hardware_refusal(role, n) != REFUSAL_OF_NONE)
        return false;
    if (known > 0)
        return true;
    marks = node_marks_of(n);
    return constraint_allows(role->constraint, n->ix, &marks);
}

uint32_t role_liking(const struct demand_role *role, const struct node *n)
{
    struct node_marks marks;

    if (!n->is_known)
        return 0;
    marks = node_marks_of(n);
    return constraint_liking(role->constraint, n->ix, &marks);
}

uint64_t role_slots_within(const struct demand_role *role, const struct cluster *c,
                           const struct domain *d, uint64_t enough)
{
    uint32_t gpus = (uint32_t)role->each.amount[RES_GPUS];
    uint64_t slots = 0;

    for (size_t i = 0; i < d->children.n && slots < enough; i++) {
        uint32_t ix = d->children.v[i];

        if (c->topology.free_of.v[ix] >= gpus)
            slots += role_slots_within(role, c, c->topology.domains.v[ix], enough - slots);
    }
    for (size_t i = 0; i < d->nodes.n && slots < enough; i++) {
        uint32_t ix = d->nodes.v[i], f = c->free_of.v[ix];

        if (f >= gpus && f != FREE_NONE && constraint_known(role->constraint, ix) != 0 &&
            role_allows(role, c->nodes.v[ix]))
            slots += f < 2 * gpus ? 1 : f / gpus;
    }
    return slots;
}

static void fill_parts(const struct settings *s, struct demand_role *d, const struct spec_role *r)
{
    d->takes_gpus = r->gpus || mig_asked(r);
    for (uint32_t m = 0; m < s->n_models; m++) {
        uint64_t parts = mig_role_parts(s, r, m);

        d->parts[m] = parts < UINT32_MAX ? (uint32_t)parts : UINT32_MAX;
    }
}

static void fill_role(struct cluster *c, struct demand_role *d, const struct spec *spec,
                      const struct spec_role *r, uint64_t closed)
{
    size_t len = strlen(r->name);

    memcpy(d->name, r->name, len < sizeof(d->name) ? len : sizeof(d->name) - 1);
    d->replicas = spec_role_min(r) + r->spares;
    d->most = r->replicas + r->spares;
    d->spares = r->spares;
    d->has_cpu = r->cpu_milli >= 0;
    d->has_memory = r->memory_bytes >= 0;
    d->each.amount[RES_GPUS] = r->gpus;
    d->each.amount[RES_PODS] = 1;
    d->is_alone = r->is_exclusive;
    d->each.amount[RES_ALONE] = r->is_exclusive ? WHOLE_NODE : 1;
    d->each.amount[RES_CPU] = d->has_cpu ? r->cpu_milli : 0;
    d->each.amount[RES_MEMORY] = d->has_memory ? r->memory_bytes : 0;
    for (uint32_t i = 0; i < r->n_extended; i++) {
        int ix = resource_index(&c->names, r->extended[i].name, true);

        if (ix >= 0)
            d->each.amount[ix] += r->extended[i].amount;
        else
            d->each.amount[RES_PODS] = RESOURCE_AMOUNT_MAX; /* no room to count it: fits nowhere */
    }
    d->each.amount[RES_GPU_BYTES] = d->each.amount[RES_SHARES] * r->gpu_memory_min;
    fill_parts(c->settings, d, r);
    for (uint32_t i = 0; i < r->gpu_models.n && d->n_models < ROLE_MODELS_MAX; i++) {
        uint32_t m = settings_model(c->settings, r->gpu_models.v[i]);

        if (m != IX_NONE)
            d->models[d->n_models++] = (uint8_t)m;
    }
    if (r->gpu_models.n && d->n_models == 0) /* all left the configuration */
        d->models[d->n_models++] = MODELS_MAX;
    d->after = r->start_after ? 1 + spec_role(spec, r->start_after) : 0;
    d->constraint = constraint_intern(&c->constraints, r, closed);
    d->same_driver = r->gpus && !r->mixed_drivers;
    if (r->spread.key)
        d->spread = (struct spread){.key = xstrdup(r->spread.key),
                                    .max_skew = r->spread.max_skew,
                                    .is_soft = r->spread.is_soft};
}

/* From the key: "\x1eiNAME\x1fAMOUNT" each, before the roles. */
void demand_find_licences(const struct cluster *c, struct demand *d)
{
    const char *end = strchr(d->key, '\x1d'), *at = d->key;

    memset(d->licences, 0, sizeof(d->licences));
    d->has_licences = d->lost_licence = false;
    while ((at = strstr(at, "\x1ei")) && at < end) {
        char name[LABEL_MAX + 1];
        uint32_t ix;

        at += 2;
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "\x1f"), at);
        ix = settings_licence(c->settings, name);
        d->has_licences = true;
        d->lost_licence |= ix == IX_NONE;
        if (ix != IX_NONE)
            d->licences[ix] += (uint32_t)strtoul(at + strlen(name) + 1, NULL, 10);
    }
}

static void fill_topology(const struct cluster *c, struct demand *d, const struct spec *spec)
{
    const struct settings *st = c->settings;
    const char *preferred = spec->topology_preferred;
    uint32_t h = 0, h2 = 0;

    d->required = d->preferred = IX_NONE;
    d->slice_size = spec->slice_size;
    if (d->slice_size && !settings_level(st, spec->slice_level, &h, &d->slice_level))
        d->has_unknown_level = true;
    if (spec->topology_required && !settings_level(st, spec->topology_required, &h, &d->required))
        d->has_unknown_level = true;
    h2 = h;
    if (preferred && strcmp(preferred, "any") != 0 &&
        !settings_level(st, preferred, &h2, &d->preferred))
        d->has_unknown_level = true;
    d->hierarchy = spec->topology_required ? h : h2;
    if (d->slice_size && strcmp(spec->slice_level, "host") == 0)
        d->slice_level = st->hierarchies[d->hierarchy].n_levels;
    if (!preferred && st->n_hierarchies) {
        uint32_t lowest = st->hierarchies[d->hierarchy].n_levels;

        /* one pod: its host; several: the lowest level above host */
        d->preferred = d->most == 1 || lowest == 0 ? lowest : lowest - 1;
        if (d->required != IX_NONE && d->preferred < d->required)
            d->preferred = d->required;
    }
}

static void add_amount(struct str *b, int64_t amount)
{
    if (amount < 0)
        str_add(b, "-");
    else
        str_add_u64(b, (uint64_t)amount);
    str_add(b, ",");
}

static void describe_role(struct str *b, const struct spec_role *r)
{
    str_add(b, "\x1d");
    str_add(b, r->name);
    str_add(b, ",");
    add_amount(b, r->replicas);
    if (r->spares)
        str_addf(b, "\x1eh%u,", r->spares);
    if (r->start_after)
        str_addf(b,
                 "\x1e"
                 "a%s,",
                 r->start_after);
    if (spec_role_min(r) != r->replicas)
        str_addf(b, "\x1ei%u,", r->min_replicas);
    add_amount(b, r->gpus);
    add_amount(b, r->cpu_milli);
    add_amount(b, r->memory_bytes);
    for (uint32_t i = 0; i < r->n_extended; i++) {
        str_add(b, "\x1e"
                   "e");
        str_add(b, r->extended[i].name);
        str_add(b, "\x1f");
        add_amount(b, r->extended[i].amount);
    }
    for (uint32_t i = 0; i < r->gpu_models.n; i++) {
        str_add(b, "\x1em");
        str_add(b, r->gpu_models.v[i]);
    }
    str_add(b, r->mixed_drivers ? "\x1e"
                                  "d"
                                : "");
    str_add(b, r->is_exclusive ? "\x1ex" : "");
    if (r->spread.key)
        str_addf(b, "\x1ew%u,%u,%s", r->spread.max_skew, r->spread.is_soft, r->spread.key);
    constraint_describe(b, r);
}

static void describe_closed(struct str *b, uint64_t closed)
{
    if (closed)
        str_addf(b, "%llx\x1eP", (unsigned long long)closed);
}

/* All of a spec that a demand is made of, as text, and the pools closed to its tenant. */
static void describe_demand(struct str *b, const struct spec *spec, uint64_t closed)
{
    describe_closed(b, closed);
    str_add(b, spec->ns ? spec->ns : "");
    str_add(b, spec->preemptible == SPEC_NO ? "\x1en" : "");
    if (spec->preemption_policy || spec->max_lost_gpu_hours)
        str_addf(b, "\x1ev%s,%u", spec->preemption_policy ? spec->preemption_policy : "",
                 spec->max_lost_gpu_hours);
    if (spec->pdb != SPEC_UNSAID)
        str_addf(b, "\x1ek%d,%u", (int)spec->pdb, spec->min_available);
    str_add(b, "\x1er");
    str_add(b, spec->topology_required ? spec->topology_required : "");
    if (spec->elastic_step || spec->grow_cooldown_us)
        str_addf(b, "\x1es%u,%lld", spec->elastic_step, (long long)spec->grow_cooldown_us);
    if (spec->slice_size)
        str_addf(b, "\x1el%u,%s", spec->slice_size, spec->slice_level);
    str_add(b, "\x1ep");
    str_add(b, spec->topology_preferred ? spec->topology_preferred : "");
    for (uint32_t i = 0; i < spec->n_licences; i++)
        str_addf(b, "\x1ei%s\x1f%lld", spec->licences[i].name, (long long)spec->licences[i].amount);
    for (uint32_t i = 0; i < spec->n_roles; i++)
        describe_role(b, &spec->roles[i]);
}

static void demand_destroy(struct cluster *c, struct demand *d)
{
    for (uint32_t i = 0; i < d->n_roles; i++) {
        constraint_release(&c->constraints, d->roles[i].constraint);
        spread_fini(&d->roles[i].spread);
    }
    free(d->key);
    free(d);
}

struct demand *demand_of(struct cluster *c, struct demand **table, const struct spec *spec)
{
    struct demand *d = NULL;
    struct str key = {0};
    uint64_t closed = 0;

    if (c->settings->n_pools)
        closed = settings_closed_pools(c->settings, settings_tenant(c->settings, spec->tenant));
    describe_demand(&key, spec, closed);
    HASH_FIND_STR(*table, key.s, d);
    if (d) {
        str_fini(&key);
        d->n_jobs++;
        return d;
    }
    d = xcalloc(1, sizeof(*d));
    d->key = str_take(&key);
    d->n_jobs = 1;
    d->closed = closed;
    d->n_roles = spec->n_roles;
    d->most = spec_pods(spec);
    d->step = spec->elastic_step ? spec->elastic_step : 1;
    d->cooldown_us =
        spec->grow_cooldown_us ? spec->grow_cooldown_us : ELASTIC_COOLDOWN_S * USEC_PER_SEC;
    d->is_preemptible = spec->preemptible != SPEC_NO;
    d->min_available = spec_min_available(spec);
    if (spec->preemption_policy)
        d->preempts =
            strcmp(spec->preemption_policy, "Never") == 0 ? PREEMPTS_NOBODY : PREEMPTS_LOWER;
    d->max_lost = spec->max_lost_gpu_hours * GPU_HOUR_US;
    d->max_lost = d->max_lost ? d->max_lost : UINT64_MAX;
    for (uint32_t i = 0; i < spec->n_roles; i++) {
        fill_role(c, &d->roles[i], spec, &spec->roles[i], closed);
        d->pods += d->roles[i].replicas;
        d->gpus += (uint64_t)d->roles[i].replicas * spec->roles[i].gpus;
    }
    for (uint32_t i = 0; i < spec->n_roles; i++) {
        d->takes_gpus |= d->roles[i].takes_gpus;
        d->same_driver |= d->roles[i].same_driver && d->most > 1;
        d->has_after |= d->roles[i].after > 0;
        d->has_soft_spread |= d->roles[i].spread.is_soft;
        d->has_likings |= constraint_likes_some(d->roles[i].constraint);
    }
    fill_topology(c, d, spec);
    demand_find_licences(c, d);
    HASH_ADD_KEYPTR(hh, *table, d->key, strlen(d->key), d);
    return d;
}

void demand_release(struct cluster *c, struct demand **table, struct demand *d)
{
    if (--d->n_jobs)
        return;
    HASH_DELETE(hh, *table, d);
    demand_destroy(c, d);
}

struct demand *demand_reclose(struct cluster *c, struct demand **table, struct demand *d,
                              uint64_t closed)
{
    struct demand *to = NULL;
    struct str key = {0};

    if (d->closed == closed)
        return d;
    describe_closed(&key, closed);
    str_add(&key, d->closed ? strstr(d->key, "\x1eP") + 2 : d->key);
    HASH_FIND_STR(*table, str_text(&key), to);
    if (!to) {
        to = xcalloc(1, sizeof(*to));
        *to = *d;
        to->n_jobs = 0;
        to->closed = closed;
        to->key = xstrdup(str_text(&key));
        to->no_room = to->behind = (struct room_verdict){0};
        to->is_hardware_known = false;
        to->best_gen = 0;
        for (uint32_t i = 0; i < to->n_roles; i++) {
            struct demand_role *r = &to->roles[i];

            r->constraint = constraint_reclose(&c->constraints, r->constraint, closed);
            r->share_gen = 0;
            r->spread = (struct spread){.key = r->spread.key ? xstrdup(r->spread.key) : NULL,
                                        .max_skew = r->spread.max_skew,
                                        .is_soft = r->spread.is_soft};
        }
        HASH_ADD_KEYPTR(hh, *table, to->key, strlen(to->key), to);
    }
    to->n_jobs++;
    str_fini(&key);
    demand_release(c, table, d);
    return to;
}

bool demand_share(const struct cluster *c, const struct demand_role *role, int64_t *ret_cpu_milli,
                  int64_t *ret_memory_bytes)
{
    int64_t gpus = role->each.amount[RES_GPUS];
    int64_t cpu = INT64_MAX, memory = INT64_MAX;

    if (gpus == 0) {
        *ret_cpu_milli = 1000;
        *ret_memory_bytes = INT64_C(4) << 30;
        return true;
    }
    for (size_t i = 0; i < c->by_name.n; i++) {
        const struct node *n = c->nodes.v[c->by_name.v[i]];
        int64_t has = n->total.amount[RES_GPUS];
        int64_t x;

        if (has < gpus || !role_allows(role, n))
            continue;
        x = n->total.amount[RES_CPU] / n->expected_gpus * gpus;
        cpu = x < cpu ? x : cpu;
        x = n->total.amount[RES_MEMORY] / n->expected_gpus * gpus;
        memory = x < memory ? x : memory;
    }
    if (cpu == INT64_MAX)
        return false;
    *ret_cpu_milli = cpu - cpu / 20;
    *ret_memory_bytes = memory - memory / 20;
    return true;
}
