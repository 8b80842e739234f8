/* SPDX-License-Identifier: Apache-2.0 */
/* spec_check.c - is this job acceptable? All that can be said without the cluster.
 *
 * Errors name the path of the field in the job file. What the configuration decides is filled
 * in: namespace, class, priority, maxRuntime.
 */
#include "spec/spec_check.h"

#include <stdio.h>
#include <string.h>

#include "spec/mig.h"
#include "util/str.h"

#define OWN_PREFIX "gang.queued/"

int spec_bad(const struct check *c, const char *path, const char *what)
{
    return err_set(c->err, ERR_INVALID, "%s%s: %s", c->at, path, what);
}

bool spec_is_text(const char *s, size_t max)
{
    size_t len = s ? strlen(s) : 0;

    return len <= max && (!len || str_is_clean_utf8(s, len));
}

bool spec_is_qualified(const char *key)
{
    const char *slash = strchr(key, '/');
    const char *name = slash ? slash + 1 : key;
    size_t len = strlen(name);
    char prefix[254];

    if (slash) {
        if (slash == key || (size_t)(slash - key) >= sizeof(prefix))
            return false;
        memcpy(prefix, key, (size_t)(slash - key));
        prefix[slash - key] = '\0';
        if (!str_is_dns_subdomain(prefix))
            return false;
    }
    if (len == 0 || len > 63)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool alnum = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
                     (name[i] >= '0' && name[i] <= '9');

        if (!alnum && (i == 0 || i == len - 1 || !strchr("-_.", name[i])))
            return false;
    }
    return true;
}

bool spec_is_label_value(const char *v)
{
    return *v == '\0' || (strlen(v) <= LABEL_MAX && !strchr(v, '/') && spec_is_qualified(v));
}

/* Is this one of the annotations that steer a simulated kubelet? */
static bool is_simulation(const char *key)
{
    static const char *const keys[] = {OWN_PREFIX "start-delay", OWN_PREFIX "run-duration",
                                       OWN_PREFIX "fail-after", OWN_PREFIX "stop-delay"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static int check_key(const struct check *c, const char *path, const char *key, bool is_annotation)
{
    if (!key || !spec_is_qualified(key))
        return err_set(c->err, ERR_INVALID, "%s: key '%s' is not [prefix/]name", path,
                       key ? key : "");
    if (strncmp(key, OWN_PREFIX, strlen(OWN_PREFIX)) != 0)
        return 0;
    if (is_annotation && is_simulation(key)) {
        if (c->settings->allow_simulation)
            return 0;
        return err_set(c->err, ERR_INVALID,
                       "%s: '%s' steers simulated kubelets and this daemon has allowSimulation: "
                       "false; remove it",
                       path, key);
    }
    return err_set(c->err, ERR_INVALID, "%s: '%s': the prefix " OWN_PREFIX " is the daemon's own",
                   path, key);
}

static int check_metadata(const struct check *c)
{
    const struct spec *s = c->spec;

    if (!s->name || !str_is_dns_label(s->name, JOB_BASE_NAME_MAX, true))
        return spec_bad(
            c, "metadata.name",
            "must be 1 to 40 of a-z, 0-9 and '-', begin with a letter and not end in '-'");
    if (s->labels.n > JOB_LABELS_MAX)
        return spec_bad(c, "metadata.labels", "more than 32");
    for (uint32_t i = 0; i < s->labels.n; i++) {
        if (check_key(c, "metadata.labels", s->labels.v[i].key, false))
            return -1;
        if (!s->labels.v[i].value || !spec_is_label_value(s->labels.v[i].value))
            return err_set(c->err, ERR_INVALID,
                           "metadata.labels.%s: the value must be at most 63 letters, digits, "
                           "'-', '_' or '.'",
                           s->labels.v[i].key);
    }
    if (s->annotations.n > JOB_LABELS_MAX)
        return spec_bad(c, "metadata.annotations", "more than 32");
    for (uint32_t i = 0; i < s->annotations.n; i++) {
        if (check_key(c, "metadata.annotations", s->annotations.v[i].key, true))
            return -1;
        if (!spec_is_text(s->annotations.v[i].value, 4096))
            return err_set(c->err, ERR_INVALID,
                           "metadata.annotations.%s: the value must be clean UTF-8 of at most "
                           "4096 bytes",
                           s->annotations.v[i].key);
    }
    return 0;
}

static int check_tenant(struct check *c)
{
    struct spec *s = c->spec;
    const char *ns;

    if (!s->tenant || !*s->tenant)
        return spec_bad(c, "spec.tenant",
                        "is missing; name one of the tenants of the configuration");
    c->tenant = settings_tenant(c->settings, s->tenant);
    if (c->tenant == IX_NONE)
        return err_set(c->err, ERR_REFUSED,
                       "spec.tenant: no tenant '%.63s' in the configuration; 'queuectl quota' "
                       "lists them",
                       s->tenant);
    ns = settings_namespace(c->settings, c->tenant);
    if (!ns)
        return err_set(c->err, ERR_REFUSED,
                       "spec.tenant: tenant %s has no namespace in the configuration", s->tenant);
    if (!s->ns || !*s->ns)
        s->ns = arena_strdup(&s->arena, ns);
    if (!settings_has_namespace(c->settings, c->tenant, s->ns))
        return err_set(c->err, ERR_REFUSED,
                       "spec.namespace: '%.63s' is not a namespace of tenant %s; its default is %s",
                       s->ns, s->tenant, ns);
    return 0;
}

static int check_class(struct check *c)
{
    struct spec *s = c->spec;
    uint32_t cls;

    if (!s->priority_class || !*s->priority_class)
        s->priority_class = arena_strdup(&s->arena, "normal");
    cls = settings_class(c->settings, s->priority_class);
    if (cls == IX_NONE)
        return err_set(c->err, ERR_REFUSED,
                       "spec.priorityClass: no class '%.31s' in the configuration",
                       s->priority_class);
    s->priority = c->settings->classes[cls].value;
    cls = settings_class(c->settings, "normal");
    if (s->preemptible == SPEC_UNSAID)
        s->preemptible =
            cls == IX_NONE || s->priority <= c->settings->classes[cls].value ? SPEC_YES : SPEC_NO;
    return 0;
}

static int check_preemption(struct check *c)
{
    const char *policy = c->spec->preemption_policy, *then = c->spec->on_preemption;

    if (policy && strcmp(policy, "Never") != 0 && strcmp(policy, "LowerPriority") != 0)
        return err_set(c->err, ERR_INVALID,
                       "spec.preemption.policy: '%.31s' is none of Never, LowerPriority", policy);
    if (then && strcmp(then, "requeue") != 0 && strcmp(then, "end") != 0)
        return err_set(c->err, ERR_INVALID, "spec.onPreemption: '%.31s' is none of requeue, end",
                       then);
    if (c->spec->is_movable && (c->spec->preemptible != SPEC_YES || spec_gpus(c->spec) == 0 ||
                                (then && strcmp(then, "end") == 0)))
        return spec_bad(c, "spec.preemption.movable",
                        "is for a preemptible job with GPUs that is requeued when it has to leave");
    return 0;
}

static int check_times(struct check *c)
{
    struct spec *s = c->spec;
    const usec_t year = INT64_C(366) * 24 * 3600 * USEC_PER_SEC;

    if (s->max_runtime_us == 0)
        s->max_runtime_us = settings_max_runtime(c->settings, c->tenant);
    if (s->max_runtime_us < USEC_PER_SEC || s->max_runtime_us > year)
        return spec_bad(c, "spec.maxRuntime", "must be 1s to 366d");
    if (s->max_queue_us && (s->max_queue_us < USEC_PER_SEC || s->max_queue_us > year))
        return spec_bad(c, "spec.maxQueueTime", "must be 1s to 366d");
    if (s->max_wait_us && (s->max_wait_us < USEC_PER_SEC || s->max_wait_us > year))
        return spec_bad(c, "spec.topology.maxWait", "must be 1s to 366d");
    if (s->max_wait_us && !s->topology_required)
        return spec_bad(c, "spec.topology.maxWait", "is for topology.required, which is missing");
    if (s->deadline_us < 0 || s->deadline_us > SPEC_TIME_MAX)
        return spec_bad(c, "spec.deadline", "is no time before the year 2200");
    if (s->start_timeout_us < USEC_PER_SEC || s->start_timeout_us > 24 * 3600 * USEC_PER_SEC)
        return spec_bad(c, "spec.gang.startTimeout", "must be 1s to 24h");
    if (s->checkpoint_grace_us < 0 || s->checkpoint_grace_us > c->settings->grace_cap_us)
        return err_set(c->err, ERR_INVALID,
                       "spec.checkpoint.grace: must be 0s to %llds, the site's cap",
                       (long long)(c->settings->grace_cap_us / USEC_PER_SEC));
    if (s->submit_key && (!*s->submit_key || !spec_is_text(s->submit_key, SUBMIT_KEY_MAX) ||
                          strchr(s->submit_key, '\n')))
        return spec_bad(c, "spec.submitKey",
                        "must be 1 to 128 bytes of clean UTF-8 without line feeds");
    return 0;
}

static int check_depends(struct check *c)
{
    struct spec *s = c->spec;

    if (s->depends_on.n > JOB_DEPENDS_MAX)
        return spec_bad(c, "spec.dependsOn", "more than 16");
    for (uint32_t i = 0; i < s->depends_on.n; i++) {
        struct spec_pair *p = &s->depends_on.v[i];

        if (!p->key || !str_is_dns_label(p->key, JOB_NAME_MAX, false))
            return spec_bad(c, "spec.dependsOn", "job must be the name or the id of a job");
        if (!p->value || !*p->value)
            p->value = arena_strdup(&s->arena, "succeeded");
        if (spec_condition(p->value) == SPEC_CONDITIONS)
            return err_set(c->err, ERR_INVALID,
                           "spec.dependsOn[%u].condition: '%.20s' is none; use succeeded, "
                           "finished, started or failed",
                           i, p->value);
    }
    return 0;
}

static int check_level(struct check *c, const char *path, const char *level,
                       uint32_t *ret_hierarchy, uint32_t *ret_level)
{
    if (settings_level(c->settings, level, ret_hierarchy, ret_level))
        return 0;
    return err_set(c->err, ERR_REFUSED,
                   "%s: no topology level '%.63s' in the configuration; 'queuectl topology' shows "
                   "the levels",
                   path, level);
}

/* A slice lies in the hierarchy of the other levels, and is not wider than the required one. */
static int check_slice(struct check *c, uint32_t required)
{
    const struct spec *s = c->spec;
    const char *other = s->topology_required ? s->topology_required : s->topology_preferred;
    uint32_t h = 0, l = 0, oh = 0, ol = 0, roles = 0;

    if (!s->slice_size && !s->slice_level)
        return 0;
    if (!s->slice_size || !s->slice_level)
        return spec_bad(c, "spec.topology.slice", "needs both size and required");
    if (check_level(c, "spec.topology.slice.required", s->slice_level, &h, &l))
        return -1;
    if (other && strcmp(other, "any") != 0 && strcmp(other, "host") != 0 &&
        strcmp(s->slice_level, "host") != 0 && settings_level(c->settings, other, &oh, &ol) &&
        oh != h)
        return spec_bad(c, "spec.topology.slice.required",
                        "is of another hierarchy than the job's level");
    if (s->topology_required && strcmp(s->slice_level, "host") != 0 && l < required)
        return spec_bad(c, "spec.topology.slice.required", "is wider than topology.required");
    for (uint32_t i = 0; i < s->n_roles; i++) {
        roles += s->roles[i].gpus > 0;
        if (s->roles[i].gpus && s->roles[i].replicas % s->slice_size)
            return err_set(c->err, ERR_INVALID,
                           "spec.topology.slice.size: role %s has %u pods, which do not part into "
                           "slices of %u",
                           s->roles[i].name, s->roles[i].replicas, s->slice_size);
    }
    return roles ? 0
                 : spec_bad(c, "spec.topology.slice", "is of pods with GPUs, and no role has any");
}

static int check_topology(struct check *c)
{
    struct spec *s = c->spec;
    uint32_t rh = 0, rl = 0, ph = 0, pl = 0;

    if (s->topology_required &&
        check_level(c, "spec.topology.required", s->topology_required, &rh, &rl))
        return -1;
    if (check_slice(c, rl))
        return -1;
    if (!s->topology_preferred || strcmp(s->topology_preferred, "any") == 0)
        return 0;
    if (check_level(c, "spec.topology.preferred", s->topology_preferred, &ph, &pl))
        return -1;
    if (s->topology_required && ph != rh)
        return spec_bad(c, "spec.topology.preferred", "is of another hierarchy than required");
    if (s->topology_required && pl < rl)
        return spec_bad(c, "spec.topology.preferred", "is wider than required");
    return 0;
}

static int check_elastic(struct check *c)
{
    const struct spec *s = c->spec;
    uint32_t step = s->elastic_step ? s->elastic_step : 1;
    bool is_elastic = false;

    for (uint32_t i = 0; i < s->n_roles; i++) {
        const struct spec_role *r = &s->roles[i];

        if (spec_role_min(r) == r->replicas)
            continue;
        is_elastic = true;
        if (s->slice_size && r->gpus && (spec_role_min(r) % s->slice_size || step % s->slice_size))
            return err_set(c->err, ERR_INVALID,
                           "spec.roles[%u].minReplicas: %u pods and elastic.step %u do not part "
                           "into slices of %u",
                           i, r->min_replicas, step, s->slice_size);
    }
    if (is_elastic && s->is_movable)
        return spec_bad(c, "spec.preemption.movable",
                        "of a job with minReplicas is not acted on by this version");
    if (s->elastic_step > JOB_PODS_MAX)
        return spec_bad(c, "spec.elastic.step", "must be 1 to 10000");
    if (s->grow_cooldown_us < 0 || s->grow_cooldown_us > INT64_C(366) * 24 * 3600 * USEC_PER_SEC)
        return spec_bad(c, "spec.elastic.growCooldown", "must be at most 366d");
    if ((s->elastic_step || s->grow_cooldown_us) && !is_elastic)
        return spec_bad(c, "spec.elastic",
                        "is given, and no role has minReplicas below its replicas");
    return 0;
}

static int check_disruption(struct check *c)
{
    const struct spec *s = c->spec;
    uint32_t pods = 0;

    for (uint32_t i = 0; i < s->n_roles; i++)
        pods += s->roles[i].replicas;
    if (s->min_available && s->pdb != SPEC_YES)
        return spec_bad(c, "spec.disruption.pdb", "has a number of pods, and is false");
    if (s->min_available > pods)
        return err_set(c->err, ERR_INVALID,
                       "spec.disruption.pdb: %u pods are more than the %u that the job may have",
                       s->min_available, pods);
    return 0;
}

static bool role_takes(const struct spec_role *r, const char *model)
{
    for (uint32_t i = 0; i < r->gpu_models.n; i++)
        if (strcmp(r->gpu_models.v[i], model) == 0)
            return true;
    return r->gpu_models.n == 0;
}

/* What the roles which take no other model must be charged of this one, in parts. */
static uint64_t forced_parts(const struct check *c, uint32_t model)
{
    const struct spec *s = c->spec;
    const char *name = c->settings->models[model].name;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s->n_roles; i++)
        if (s->roles[i].gpu_models.n == 1 && role_takes(&s->roles[i], name))
            sum += (uint64_t)spec_role_min(&s->roles[i]) *
                   mig_role_parts(c->settings, &s->roles[i], model);
    return sum;
}

/* What one role needs of a model at least, with those that can take nothing else. */
static uint64_t parts_needed(const struct check *c, const struct spec_role *r, uint32_t model)
{
    return r->gpu_models.n == 1 ? forced_parts(c, model)
                                : spec_role_min(r) * mig_role_parts(c->settings, r, model);
}

/* Can one role never be placed under this limit, on whichever of its models? ret: which has most.
 */
static bool is_above(const struct check *c, const struct spec_role *r,
                     const struct model_amounts *limit, uint32_t *ret)
{
    bool is = false;

    for (uint32_t m = 0; m < c->settings->n_models && (r->gpus || mig_asked(r)); m++) {
        if (!role_takes(r, c->settings->models[m].name))
            continue;
        if (limit->gpus[m] < 0 || parts_needed(c, r, m) <= (uint64_t)limit->gpus[m] * GPU_PARTS)
            return false;
        *ret = is && limit->gpus[*ret] >= limit->gpus[m] ? *ret : m;
        is = true;
    }
    return is;
}

static int check_limit(struct check *c, uint32_t tenant, const struct model_amounts *limit,
                       const char *whose)
{
    char need[FORMAT_MAX];
    uint32_t m = 0;

    for (uint32_t r = 0; r < c->spec->n_roles; r++)
        if (is_above(c, &c->spec->roles[r], limit, &m))
            return err_set(c->err, ERR_REFUSED,
                           "ExceedsTenantLimit: needs %s %s, the limit of %s %s is %lld: can never "
                           "run; ask for less or have the limit raised",
                           mig_text(need, parts_needed(c, &c->spec->roles[r], m)),
                           c->settings->models[m].name, whose, c->settings->tenants[tenant].path,
                           (long long)limit->gpus[m]);
    return 0;
}

static int check_limits(struct check *c)
{
    for (uint32_t t = c->tenant; t != IX_NONE; t = c->settings->tenants[t].parent) {
        struct model_amounts user = c->settings->tenants[t].user_limit;

        for (uint32_t m = 0; m < MODELS_MAX; m++)
            user.gpus[m] = user.gpus[m] ? user.gpus[m] : -1;
        if (check_limit(c, t, &c->settings->tenants[t].limit, "tenant") ||
            check_limit(c, t, &user, "a user in tenant"))
            return -1;
    }
    return 0;
}

/* One extended resource, whose alias is replaced by what it stands for. */
static int check_amount(const struct check *c, struct spec_extended *x)
{
    const char *alias = x->name ? settings_alias(c->settings, x->name) : NULL;
    int64_t max = 1000000;

    if (alias)
        x->name = arena_strdup(&c->spec->arena, alias);
    if (x->name && strcmp(x->name, EPHEMERAL_STORAGE) == 0)
        max = INT64_C(1) << 50;
    else if (!x->name || !strchr(x->name, '/') || !spec_is_qualified(x->name) ||
             strlen(x->name) > LABEL_KEY_MAX)
        return spec_bad(
            c, ".resources.extended",
            "names must have the form domain/name, or be an alias of the configuration");
    if (strcmp(x->name, "nvidia.com/gpu") == 0)
        return spec_bad(c, ".resources.extended", "nvidia.com/gpu is given by resources.gpus");
    if (strcmp(x->name, SHARED_GPU_MEMORY) == 0)
        return spec_bad(c, ".resources.extended",
                        SHARED_GPU_MEMORY " is given by resources.gpuMemoryMin");
    if (mig_is(x->name) && !mig_slices(x->name))
        return err_set(c->err, ERR_INVALID,
                       "%s.resources.mig: no MIG profile '%.63s'; a profile is SLICESg.MEMORYgb "
                       "with 1, 2, 3, 4 or 7 slices, like 1g.10gb",
                       c->at, x->name + strlen(MIG_PREFIX));
    if (mig_is(x->name) && (x->amount < 1 || x->amount > POD_MIG_MAX))
        return err_set(c->err, ERR_INVALID, "%s.resources.mig.count: must be 1 to %d", c->at,
                       POD_MIG_MAX);
    if (x->amount < 1 || x->amount > max)
        return spec_bad(c, ".resources.extended",
                        "amounts must be 1 to 1000000, of ephemeral storage 1 to 1Pi");
    return 0;
}

static int check_extended(const struct check *c, const struct spec_role *r)
{
    if (r->n_extended > ROLE_EXTENDED_MAX)
        return spec_bad(c, ".resources.extended", "more than 8");
    for (uint32_t i = 0; i < r->n_extended; i++) {
        if (check_amount(c, &r->extended[i]))
            return -1;
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(r->extended[i].name, r->extended[k].name) == 0)
                return err_set(c->err, ERR_INVALID, "%s.resources.extended: %s is asked for twice",
                               c->at, r->extended[i].name);
    }
    if (r->gpus && mig_asked(r))
        return spec_bad(c, ".resources.mig",
                        "is asked for with gpus, and no process can use both; give each a role");
    return 0;
}

static int check_resources(struct check *c, const struct spec_role *r)
{
    const int64_t max_bytes = INT64_C(1) << 50;

    if (r->replicas < 1 || r->replicas > JOB_PODS_MAX)
        return spec_bad(c, ".replicas", "must be 1 to 10000");
    if (r->min_replicas > r->replicas)
        return err_set(c->err, ERR_INVALID, "%s.minReplicas: must be 1 to %u, its replicas", c->at,
                       r->replicas);
    if (r->gpus > POD_GPUS_MAX)
        return spec_bad(c, ".resources.gpus", "must be at most 64 per pod; use more replicas");
    if (r->gpu_models.n > ROLE_MODELS_MAX)
        return spec_bad(c, ".resources.gpuModel", "more than 8");
    if (check_extended(c, r)) /* aliases stand for MIG devices, too */
        return -1;
    if (r->gpu_models.n && r->gpus == 0 && !mig_asked(r))
        return spec_bad(c, ".resources.gpuModel", "is given without gpus or mig");
    for (uint32_t i = 0; i < r->gpu_models.n; i++)
        if (settings_model(c->settings, r->gpu_models.v[i]) == IX_NONE)
            return err_set(c->err, ERR_REFUSED,
                           "%s.resources.gpuModel: no GPU model '%.63s' in the configuration",
                           c->at, r->gpu_models.v[i]);
    if (r->cpu_milli != -1 && (r->cpu_milli < 1 || r->cpu_milli > 10000000))
        return spec_bad(c, ".resources.cpu", "must be 1m to 10000");
    if (r->memory_bytes != -1 && (r->memory_bytes < 1 << 20 || r->memory_bytes > max_bytes))
        return spec_bad(c, ".resources.memory", "must be 1Mi to 1Pi; write the unit (16Gi)");
    if (r->shm_bytes != -1 && (r->shm_bytes < 1 << 20 || r->shm_bytes > max_bytes))
        return spec_bad(c, ".resources.shm", "must be 1Mi to 1Pi; write the unit (16Gi)");
    if (r->shm_bytes != -1 && r->memory_bytes != -1 && r->shm_bytes > r->memory_bytes)
        return spec_bad(c, ".resources.shm", "is counted inside memory and cannot exceed it");
    return 0;
}

/* The path of a role; each check asks for it, so it is not printed. */
static void at_role(struct check *c, uint32_t i)
{
    static const char path[] = "spec.roles[0]";

    _Static_assert(JOB_ROLES_MAX <= 10, "one digit says which role");
    memcpy(c->at, path, sizeof(path));
    c->at[sizeof(path) - 3] = (char)('0' + i);
}

/* Pods of a role that starts after others are made at last: there is an order of the roles. */
static int check_start_after(struct check *c)
{
    const struct spec *s = c->spec;

    for (uint32_t i = 0; i < s->n_roles; i++) {
        uint32_t at = i, steps = 0;

        at_role(c, i);
        while (at < s->n_roles && s->roles[at].start_after && steps++ <= s->n_roles)
            at = spec_role(s, s->roles[at].start_after);
        if (s->roles[i].start_after && spec_role(s, s->roles[i].start_after) == s->n_roles)
            return spec_bad(c, ".startAfter", "no role of the job has this name");
        if (steps > s->n_roles)
            return spec_bad(c, ".startAfter", "the role would wait for itself");
    }
    c->at[0] = '\0';
    return 0;
}

static int check_roles(struct check *c)
{
    struct spec *s = c->spec;
    uint64_t pods = 0;

    if (s->n_roles < 1 || s->n_roles > JOB_ROLES_MAX)
        return spec_bad(c, "spec.roles", "must be 1 to 8");
    for (uint32_t i = 0; i < s->n_roles; i++) {
        struct spec_role *r = &s->roles[i];

        at_role(c, i);
        if (!r->name || !str_is_dns_label(r->name, ROLE_NAME_MAX, true))
            return spec_bad(c, ".name",
                            "must be 1 to 12 of a-z, 0-9 and '-', beginning with a letter");
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(s->roles[k].name, r->name) == 0)
                return spec_bad(c, ".name", "is used by another role");
        if (check_resources(c, r) || spec_check_pod(c, r) || spec_check_placement(c, r))
            return -1;
        pods += (uint64_t)r->replicas + r->spares;
    }
    c->at[0] = '\0';
    if (pods > JOB_PODS_MAX)
        return spec_bad(c, "spec.roles", "more than 10000 pods in all");
    return check_start_after(c);
}

int spec_check(struct spec *s, const struct settings *settings, struct err *err)
{
    struct check c = {.spec = s, .settings = settings, .err = err, .tenant = IX_NONE};

    if (check_metadata(&c) || check_tenant(&c) || check_class(&c) || check_preemption(&c) ||
        check_times(&c) || spec_check_failure(&c) || check_depends(&c) || spec_check_licences(&c) ||
        check_roles(&c) || check_topology(&c) || check_elastic(&c) || check_disruption(&c) ||
        spec_check_array(&c))
        return -1;
    return check_limits(&c);
}
