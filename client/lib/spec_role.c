/* SPDX-License-Identifier: Apache-2.0 */
/* spec_role.c - one role of a job file: container, resources, placement. */
#include <stdio.h>
#include <string.h>

#include "spec/limits.h"
#include "spec_read.h"
#include "util/mem.h"
#include "util/str.h"

int read_replicas(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    uint64_t v;

    if (yaml_u64(at, 1, JOB_PODS_MAX, &v, err))
        return -1;
    d->role.replicas = (uint32_t)v;
    return 0;
}

static int read_min_replicas(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    uint64_t v;

    if (yaml_u64(at, 1, JOB_PODS_MAX, &v, err))
        return -1;
    d->role.min_replicas = (uint32_t)v;
    return 0;
}

static int read_spares(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    uint64_t v;

    if (yaml_u64(at, 0, JOB_PODS_MAX, &v, err))
        return -1;
    d->role.spares = (uint32_t)v;
    return 0;
}

int read_gpus(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    uint64_t v;

    if (yaml_u64(at, 0, POD_GPUS_MAX, &v, err))
        return -1;
    d->role.gpus = (uint32_t)v;
    return 0;
}

int read_gpu_models(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    const char **one;

    if (at->node->kind != YAML_SCALAR) {
        if (at->node->n > ROLE_MODELS_MAX || at->node->n == 0)
            return yaml_fail(at, err, "name 1 to %d models", ROLE_MODELS_MAX);
        return read_texts(at, d->arena, &d->role.gpu_models, &d->role.n_gpu_models, err);
    }
    one = arena_alloc(d->arena, sizeof(*one));
    if (read_text(at, one, err))
        return -1;
    d->role.gpu_models = one;
    d->role.n_gpu_models = 1;
    return 0;
}

static int read_role_name(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (!str_is_dns_label(s, ROLE_NAME_MAX, false))
        return yaml_fail(at, err,
                         "\"%.40s\" is no role name; use at most %d characters of a-z, 0-9 and -",
                         s, ROLE_NAME_MAX);
    d->role.name = s;
    return 0;
}

static int read_command(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;

    return read_texts(at, d->arena, &d->role.command, &d->role.n_command, err);
}

static int read_args(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;

    return read_texts(at, d->arena, &d->role.args, &d->role.n_args, err);
}

int read_value(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_string(at, out, err); /* may be empty */
}

/* ---- resources */

/* Named ones come first, so that what is printed reads back in the same order. */
static int place_of(const char *name)
{
    if (strcmp(name, "ephemeral-storage") == 0)
        return 3;
    return strcmp(name, "rdma") == 0 ? 2 : strncmp(name, MIG_PREFIX, strlen(MIG_PREFIX)) == 0;
}

/* One more in the list of amounts. */
static int push_amount(const struct yaml_at *at, struct role_draft *d, struct queued_amount amount,
                       struct err *err)
{
    size_t n = d->role.n_extended;
    struct queued_amount *v = arena_alloc(d->arena, (n + 1) * sizeof(*v));

    if (n == ROLE_EXTENDED_MAX)
        return yaml_fail(at, err, "more than %d kinds of resources", ROLE_EXTENDED_MAX);
    if (n)
        memcpy(v, d->role.extended, n * sizeof(*v));
    d->role.extended = v;
    d->role.n_extended = n + 1;
    for (; n > 0 && place_of(v[n - 1].name) > place_of(amount.name); n--)
        v[n] = v[n - 1];
    v[n] = amount;
    return 0;
}

static int add_amount(const struct yaml_at *at, const char *key, void *draft, struct err *err)
{
    uint64_t v;

    if (yaml_u64(at, 1, 1000000, &v, err))
        return -1;
    return push_amount(at, draft, (struct queued_amount){key, (int64_t)v}, err);
}

static int read_extended(const struct yaml_at *at, void *draft, struct err *err)
{
    if (at->node->kind != YAML_MAP)
        return yaml_fail(at, err, "must be a map, like {example.com/device: 1}");
    return yaml_each(at, add_amount, draft, err);
}

/* The daemon knows what the alias stands for. */
static int read_rdma(const struct yaml_at *at, void *draft, struct err *err)
{
    return add_amount(at, "rdma", draft, err);
}

static int read_ephemeral(const struct yaml_at *at, void *draft, struct err *err)
{
    int64_t bytes;

    if (read_bytes(at, &bytes, err))
        return -1;
    return push_amount(at, draft, (struct queued_amount){"ephemeral-storage", bytes}, err);
}

struct mig {
    const char *profile;
    uint64_t count;
};

static int read_profile(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (!*s || strlen(s) > MIG_PROFILE_MAX ||
        strspn(s, "0123456789abcdefghijklmnopqrstuvwxyz.-") != strlen(s))
        return yaml_fail(at, err, "\"%.40s\" is no MIG profile; write it like 1g.10gb", s);
    ((struct mig *)out)->profile = s;
    return 0;
}

static int read_mig_count(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_u64(at, 1, POD_MIG_MAX, &((struct mig *)out)->count, err);
}

static const struct yaml_field mig_fields[] = {
    {"profile", read_profile, 0, true, NULL},
    {"count", read_mig_count, 0, false, NULL},
};

/* Devices of one profile: an extended resource, as the device plugin names it. */
static int read_mig(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    struct mig mig = {.count = 1};
    char name[sizeof(MIG_PREFIX) + MIG_PROFILE_MAX];

    if (yaml_walk(at, mig_fields, ARRAY_LEN(mig_fields), &mig, err))
        return -1;
    (void)snprintf(name, sizeof(name), MIG_PREFIX "%s", mig.profile);
    return push_amount(
        at, d, (struct queued_amount){arena_strdup(d->arena, name), (int64_t)mig.count}, err);
}

static const struct yaml_field resource_fields[] = {
    {"gpus", read_gpus, 0, false, NULL},
    {"gpuModel", read_gpu_models, 0, false, NULL},
    {"cpu", read_cpu, offsetof(struct role_draft, role.cpu_milli), false, NULL},
    {"memory", read_bytes, offsetof(struct role_draft, role.memory_bytes), false, NULL},
    {"shm", read_bytes, offsetof(struct role_draft, role.shm_bytes), false, NULL},
    {"extended", read_extended, 0, false, NULL},
    {"gpuMemoryMin", read_gpu_memory, offsetof(struct role_draft, role.gpu_memory_min), false,
     NULL},
    {"mig", read_mig, 0, false, NULL},
    {"rdma", read_rdma, 0, false, NULL},
    {"ephemeralStorage", read_ephemeral, 0, false, NULL},
};

static int read_resources(const struct yaml_at *at, void *draft, struct err *err)
{
    return yaml_walk(at, resource_fields, ARRAY_LEN(resource_fields), draft, err);
}

static int read_pull_policy(const struct yaml_at *at, void *out, struct err *err)
{
    const char *s;

    if (yaml_string(at, &s, err))
        return -1;
    if (strcmp(s, "Always") != 0 && strcmp(s, "IfNotPresent") != 0 && strcmp(s, "Never") != 0)
        return yaml_fail(at, err, "\"%.40s\" is none of Always, IfNotPresent and Never", s);
    *(const char **)out = s;
    return 0;
}

struct name_list {
    const char **v;
    size_t *n;
};

static const struct yaml_field name_fields[] = {
    {"name", read_object_name, 0, true, NULL},
};

static int add_pull_secret(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct name_list *l = out;
    const char **name = &l->v[(*l->n)++];

    (void)key;
    if (at->node->kind == YAML_SCALAR)
        return read_object_name(at, name, err);
    return yaml_walk(at, name_fields, ARRAY_LEN(name_fields), name, err);
}

/* Names, or {name: NAME} as in Kubernetes. */
static int read_pull_secrets(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    const char **names;

    if (at->node->kind != YAML_LIST || at->node->n > ROLE_PULL_SECRETS_MAX)
        return yaml_fail(at, err, "must be a list of at most %d names of secrets",
                         ROLE_PULL_SECRETS_MAX);
    names = arena_alloc(d->arena, (at->node->n + 1) * sizeof(*names));
    d->role.pull_secrets = names;
    d->role.n_pull_secrets = 0;
    return yaml_each(at, add_pull_secret, &(struct name_list){names, &d->role.n_pull_secrets}, err);
}

static const struct yaml_field role_fields[] = {
    {"name", read_role_name, 0, false, NULL},
    {"replicas", read_replicas, 0, false, NULL},
    {"image", read_text, offsetof(struct role_draft, role.image), true, NULL},
    {"command", read_command, 0, false, NULL},
    {"args", read_args, 0, false, NULL},
    {"workingDir", read_path, offsetof(struct role_draft, role.working_dir), false, NULL},
    {"env", read_env_list, 0, false, NULL},
    {"resources", read_resources, 0, false, NULL},
    {"volumes", read_volumes, 0, false, NULL},
    {"placement", read_placement, 0, false, NULL},
    {"minReplicas", read_min_replicas, 0, false, NULL},
    {"spares", read_spares, 0, false, NULL},
    {"leader", read_flag, offsetof(struct role_draft, role.is_leader), false, NULL},
    {"startAfter", read_text, offsetof(struct role_draft, role.start_after), false, NULL},
    {"template", NULL, 0, false, SPEC_LATER},
    {"envFrom", read_env_from, 0, false, NULL},
    {"secrets", NULL, 0, false, "is not acted on by this version; use envFrom or valueFrom of env"},
    {"ports", NULL, 0, false, SPEC_LATER},
    {"imagePullPolicy", read_pull_policy, offsetof(struct role_draft, role.pull_policy), false,
     NULL},
    {"imagePullSecrets", read_pull_secrets, 0, false, NULL},
    {"serviceAccountName", read_object_name, offsetof(struct role_draft, role.service_account),
     false, NULL},
};

int role_read(const struct yaml_at *at, const struct spec_draft *job, struct queued_role *ret,
              struct err *err)
{
    struct role_draft d = {.arena = job->arena, .has_no_rendezvous = job->has_no_rendezvous};
    const struct yaml_node *template = yaml_get(at->node, "template");

    if (template && !yaml_get(at->node, "image"))
        return yaml_fail(at, err, "a pod template " SPEC_LATER " and give image and command");
    if (yaml_walk(at, role_fields, ARRAY_LEN(role_fields), &d, err))
        return -1;
    *ret = d.role;
    return 0;
}
