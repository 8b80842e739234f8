/* SPDX-License-Identifier: Apache-2.0 */
/* config_tenants.c - the section tenants: a tree in the file, a flat list of paths for the core.
 *
 * Read level by level from a list of what is still to read, so that parents come before children
 * and a deep file costs no stack. Read after the models, which quotas and limits name.
 */
#include <stdlib.h>
#include <string.h>

#include "config_read.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"

enum { AMOUNT_GPUS_MAX = 1000000, WEIGHT_MAX = 1000000, PENDING_MAX = 500000 };

/* A list of tenants that is still to read. */
struct todo {
    const struct yaml_node *list;
    char *path; /* of the list in the file; owned */
    uint32_t parent;
    uint32_t depth;
};

struct tenant_reading {
    struct config_reading *r;
    VEC(struct todo) todo;
    VEC(struct tenant_setting) tenants;
    struct todo now;         /* the list that is being read */
    struct tenant_setting t; /* the entry that is being read */
    struct model_amounts lendable;
    char name[LABEL_MAX + 1];
    const struct yaml_node *children;
    char *children_path;
};

struct amounts_reading {
    const struct settings *settings;
    struct model_amounts *amounts;
};

static int read_amount(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct amounts_reading *a = out;
    uint32_t model = settings_model(a->settings, key);
    uint64_t gpus;

    if (strcmp(key, "cpu") == 0)
        return yaml_fail(at, err, NOT_YET);
    if (model == IX_NONE)
        return yaml_fail(at, err, "\"%.80s\" is not a model of the section models; add it there",
                         key);
    if (yaml_u64(at, 0, AMOUNT_GPUS_MAX, &gpus, err))
        return -1;
    a->amounts->gpus[model] = (int64_t)gpus;
    return 0;
}

int config_read_amounts(const struct yaml_at *at, const struct settings *s,
                        struct model_amounts *amounts, struct err *err)
{
    struct amounts_reading a = {s, amounts};

    if (at->node->kind != YAML_MAP)
        return yaml_fail(at, err, "expected GPUs by model; write {H100: 64}");
    return yaml_each(at, read_amount, &a, err);
}

static int read_amounts(const struct yaml_at *at, struct tenant_reading *tr,
                        struct model_amounts *amounts, struct err *err)
{
    return config_read_amounts(at, &tr->r->c->settings, amounts, err);
}

static int read_quota(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    return read_amounts(at, tr, &tr->t.quota, err);
}

static int read_limit(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    return read_amounts(at, tr, &tr->t.limit, err);
}

static int read_lendable(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    return read_amounts(at, tr, &tr->lendable, err);
}

static int read_weight(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;
    uint64_t weight;

    if (yaml_u64(at, 0, WEIGHT_MAX, &weight, err))
        return -1;
    tr->t.weight = (uint32_t)weight;
    return 0;
}

static int read_tenant_namespaces(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    return config_read_list(at,
                            &(struct text_list){.first = tr->t.namespaces[0],
                                                .size = sizeof(tr->t.namespaces[0]),
                                                .max = ARRAY_LEN(tr->t.namespaces),
                                                .n = &tr->t.n_namespaces,
                                                .is_good = is_label,
                                                .form = "a namespace (a DNS label)"},
                            err);
}

static bool is_toleration(const char *s)
{
    return strcmp(s, "*") == 0 || is_label_key(s);
}

static int read_tolerations(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    return config_read_list(at,
                            &(struct text_list){.first = tr->t.tolerations[0],
                                                .size = sizeof(tr->t.tolerations[0]),
                                                .max = ARRAY_LEN(tr->t.tolerations),
                                                .n = &tr->t.n_tolerations,
                                                .is_good = is_toleration,
                                                .form = "a taint key (prefix/name) or \"*\""},
                            err);
}

static int read_auto_tolerations(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    return config_read_list(at,
                            &(struct text_list){.first = tr->t.auto_tolerations[0],
                                                .size = sizeof(tr->t.auto_tolerations[0]),
                                                .max = ARRAY_LEN(tr->t.auto_tolerations),
                                                .n = &tr->t.n_auto_tolerations,
                                                .is_good = is_label_key,
                                                .form = "a taint key (prefix/name)"},
                            err);
}

static bool is_account(const char *s)
{
    return str_is_dns_label(s, LABEL_MAX, false);
}

static int read_accounts(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    return config_read_list(at,
                            &(struct text_list){.first = tr->t.accounts[0],
                                                .size = sizeof(tr->t.accounts[0]),
                                                .max = ARRAY_LEN(tr->t.accounts),
                                                .n = &tr->t.n_accounts,
                                                .is_good = is_account,
                                                .form = "the name of a service account"},
                            err);
}

static int read_pending(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;
    uint64_t n;

    if (yaml_u64(at, 1, PENDING_MAX, &n, err))
        return -1;
    tr->t.max_pending = (uint32_t)n;
    return 0;
}

static int read_running(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;
    struct model_amounts *a = &tr->t.user_limit;
    int rc;

    for (uint32_t m = 0; m < MODELS_MAX; m++)
        a->gpus[m] = -1;
    rc = read_amounts(at, tr, a, err);
    for (uint32_t m = 0; m < MODELS_MAX && rc == 0; m++) {
        if (a->gpus[m] == 0)
            rc = yaml_fail(at, err, "must be at least 1; leave a model without limit out");
        if (a->gpus[m] < 0)
            a->gpus[m] = 0;
    }
    return rc;
}

static const struct yaml_field user_limit_fields[] = {
    {.key = "pending", .read = read_pending},
    {.key = "running", .read = read_running},
};

static int read_user_limits(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_walk(at, user_limit_fields, ARRAY_LEN(user_limit_fields), out, err);
}

static int read_windows(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    return config_read_windows(at, &tr->r->c->settings, &tr->t, err);
}

static int keep_children(const struct yaml_at *at, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "expected a list of tenants");
    tr->children = at->node;
    tr->children_path = xstrdup(at->path);
    return 0;
}

static const struct yaml_field tenant_fields[] = {
    {.key = "name",
     .read = config_read_label,
     .offset = offsetof(struct tenant_reading, name),
     .is_required = true},
    {.key = "quota", .read = read_quota},
    {.key = "limit", .read = read_limit},
    {.key = "weight", .read = read_weight},
    {.key = "namespaces", .read = read_tenant_namespaces},
    {.key = "tolerations", .read = read_tolerations},
    {.key = "maxRuntime",
     .read = config_read_duration,
     .offset = offsetof(struct tenant_reading, t.max_runtime_us)},
    {.key = "userLimits", .read = read_user_limits},
    {.key = "children", .read = keep_children},
    {.key = "autoTolerations", .read = read_auto_tolerations},
    {.key = "serviceAccounts", .read = read_accounts},
    {.key = "lendable", .read = read_lendable},
    {.key = "windows", .read = read_windows},
};

/* A namespace belongs to one tenant, a name to one child of its parent. */
static int check_unique(const struct yaml_at *at, const struct tenant_reading *tr, struct err *err)
{
    for (size_t i = 0; i < tr->tenants.n; i++) {
        const struct tenant_setting *o = &tr->tenants.v[i];

        if (strcmp(o->path, tr->t.path) == 0)
            return yaml_fail(at, err, "there is a tenant \"%s\" already; take another name",
                             o->path);
        for (uint32_t n = 0; n < tr->t.n_namespaces * o->n_namespaces; n++) {
            const char *ns = tr->t.namespaces[n / o->n_namespaces];

            if (strcmp(o->namespaces[n % o->n_namespaces], ns) == 0)
                return yaml_fail(at, err, "namespace \"%s\" belongs to tenant \"%s\" already", ns,
                                 o->path);
        }
    }
    return 0;
}

static int name_tenant(const struct yaml_at *at, struct tenant_reading *tr, struct err *err)
{
    const char *parent = tr->now.parent == IX_NONE ? "" : tr->tenants.v[tr->now.parent].path;
    int n =
        snprintf(tr->t.path, sizeof(tr->t.path), "%s%s%s", parent, *parent ? "/" : "", tr->name);

    if (n < 0 || (size_t)n >= sizeof(tr->t.path))
        return yaml_fail(
            at, err, "the path of tenant \"%s\" is longer than %d characters; shorten the names",
            tr->name, TENANT_PATH_MAX);
    if (tr->tenants.n == TENANTS_MAX)
        return yaml_fail(at, err, "at most %d tenants", TENANTS_MAX);
    if (tr->now.depth > TENANT_DEPTH_MAX)
        return yaml_fail(at, err, "tenants are nested at most %d deep", TENANT_DEPTH_MAX);
    return check_unique(at, tr, err);
}

/* What is not lent of a quota. */
static void keep_unlent(const struct model_amounts *quota, const struct model_amounts *lendable,
                        struct model_amounts *ret)
{
    for (size_t i = 0; i < MODELS_MAX; i++)
        if (lendable->gpus[i] >= 0 && quota->gpus[i] > lendable->gpus[i])
            ret->gpus[i] = quota->gpus[i] - lendable->gpus[i];
}

static int read_tenant(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct tenant_reading *tr = out;

    (void)key; /* a list has none */
    tr->t = (struct tenant_setting){.parent = tr->now.parent, .weight = 1};
    for (size_t i = 0; i < MODELS_MAX; i++)
        tr->t.quota.gpus[i] = tr->t.limit.gpus[i] = tr->lendable.gpus[i] = -1;
    tr->children = NULL;
    if (yaml_walk(at, tenant_fields, ARRAY_LEN(tenant_fields), tr, err) || name_tenant(at, tr, err))
        return -1;
    keep_unlent(&tr->t.quota, &tr->lendable, &tr->t.unlent);
    for (uint32_t i = 0; i < tr->t.n_windows; i++)
        keep_unlent(&tr->t.windows[i].quota, &tr->lendable, &tr->t.windows[i].unlent);
    *vec_push(&tr->tenants) = tr->t;
    if (tr->children) {
        *vec_push(&tr->todo) = (struct todo){tr->children, tr->children_path,
                                             (uint32_t)tr->tenants.n - 1, tr->now.depth + 1};
        tr->children_path = NULL;
    }
    return 0;
}

int config_read_tenants(struct config_reading *r, struct err *err)
{
    struct tenant_reading *tr = xcalloc(1, sizeof(*tr));
    int rc = 0;

    tr->r = r;
    if (r->tenants)
        *vec_push(&tr->todo) = (struct todo){r->tenants, xstrdup("tenants"), IX_NONE, 1};
    for (size_t i = 0; i < tr->todo.n && rc == 0; i++) {
        struct yaml_at at = {r->doc, tr->todo.v[i].list, tr->todo.v[i].path};

        tr->now = tr->todo.v[i];
        if (at.node->kind != YAML_LIST)
            rc = yaml_fail(&at, err, "expected a list of tenants");
        else
            rc = yaml_each(&at, read_tenant, tr, err);
    }
    if (rc == 0) {
        r->c->settings.tenants = tr->tenants.v;
        r->c->settings.n_tenants = (uint32_t)tr->tenants.n;
        tr->tenants.v = NULL;
        settings_index_tenants(&r->c->settings);
    }
    for (size_t i = 0; i < tr->todo.n; i++)
        free(tr->todo.v[i].path);
    free(tr->children_path);
    vec_fini(&tr->todo);
    vec_fini(&tr->tenants);
    free(tr);
    return rc;
}

const struct config_section config_tenant_sections[] = {
    {"tenants[]", tenant_fields, ARRAY_LEN(tenant_fields)},
    {"tenants[].userLimits", user_limit_fields, ARRAY_LEN(user_limit_fields)},
    {NULL, NULL, 0},
};
