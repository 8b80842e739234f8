/* SPDX-License-Identifier: Apache-2.0 */
/* spec_env.c - the variables of a role: plain ones, and those from config maps, secrets and the
 * pod.
 *
 * The variables by which the pods of a gang find each other are the daemon's: a job that sets one
 * of them is refused.
 */
#include <string.h>

#include "spec/limits.h"
#include "spec_read.h"
#include "util/mem.h"
#include "util/str.h"

static const char *const reserved[] = {
    "MASTER_ADDR",    "MASTER_PORT", "NNODES",     "NODE_RANK",
    "WORLD_SIZE",     "RANK",        "LOCAL_RANK", "LOCAL_WORLD_SIZE",
    "RAY_ADDRESS",    "PET_*",       "QUEUED_*",   "OMPI_MCA_orte_default_hostfile",
    "NPROC_PER_NODE",
};

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
        size_t len = strlen(reserved[i]);
        bool is_prefix = reserved[i][len - 1] == '*';

        if (is_prefix ? strncmp(name, reserved[i], len - 1) == 0 : strcmp(name, reserved[i]) == 0)
            return true;
    }
    return false;
}

static int check_name(const struct yaml_at *at, const char *key, struct err *err)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

    if (*key == '\0' || key[strspn(key, chars)] != '\0' || (*key >= '0' && *key <= '9'))
        return yaml_fail(at, err, "\"%.60s\" is no variable name; use letters, digits, _, . and -",
                         key);
    return 0;
}

static int check_env(const struct yaml_at *at, const char *key, const char *value, struct err *err)
{
    (void)value;
    if (check_name(at, key, err))
        return -1;
    if (is_reserved(key))
        return yaml_fail(
            at, err, "%.60s is set by the daemon for the pods to find each other; remove it", key);
    return 0;
}

int read_env_map(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    struct pairs_wish wish = {d->arena, ROLE_ENV_MAX, check_env};

    return read_pairs(at, &wish, &d->role.env, &d->role.n_env, err);
}

/* ---- from elsewhere */

/* {name, key, optional} of a config map or secret. */
static const struct yaml_field key_fields[] = {
    {"name", read_object_name, offsetof(struct queued_env_ref, source), true, NULL},
    {"key", read_text, offsetof(struct queued_env_ref, key), true, NULL},
    {"optional", read_flag, offsetof(struct queued_env_ref, is_optional), false, NULL},
};

static int read_key_of(const struct yaml_at *at, struct queued_env_ref *ref,
                       enum queued_ref_kind kind, struct err *err)
{
    if (ref->kind)
        return yaml_fail(at, err, "a variable has one source; remove the other");
    ref->kind = kind;
    return yaml_walk(at, key_fields, ARRAY_LEN(key_fields), ref, err);
}

static int read_config_map_key(const struct yaml_at *at, void *out, struct err *err)
{
    return read_key_of(at, out, QUEUED_REF_CONFIG_MAP, err);
}

static int read_secret_key(const struct yaml_at *at, void *out, struct err *err)
{
    return read_key_of(at, out, QUEUED_REF_SECRET, err);
}

static const struct yaml_field field_fields[] = {
    {"fieldPath", read_text, offsetof(struct queued_env_ref, key), true, NULL},
    {"apiVersion", NULL, 0, false, "is v1 always; remove it"},
};

static int read_field(const struct yaml_at *at, void *out, struct err *err)
{
    struct queued_env_ref *ref = out;

    if (ref->kind)
        return yaml_fail(at, err, "a variable has one source; remove the other");
    ref->kind = QUEUED_REF_FIELD;
    return yaml_walk(at, field_fields, ARRAY_LEN(field_fields), ref, err);
}

static const struct yaml_field value_from_fields[] = {
    {"configMapKeyRef", read_config_map_key, 0, false, NULL},
    {"secretKeyRef", read_secret_key, 0, false, NULL},
    {"fieldRef", read_field, 0, false, NULL},
    {"resourceFieldRef", NULL, 0, false, SPEC_LATER},
    {"fileKeyRef", NULL, 0, false, SPEC_LATER},
};

/* One more in the list of the role. */
static int push_ref(const struct yaml_at *at, struct role_draft *d,
                    const struct queued_env_ref *ref, struct err *err)
{
    size_t n = d->role.n_env_refs;
    struct queued_env_ref *v = arena_alloc(d->arena, (n + 1) * sizeof(*v));

    if (n == ROLE_REFS_MAX)
        return yaml_fail(at, err, "more than %d variables from elsewhere", ROLE_REFS_MAX);
    if (n)
        memcpy(v, d->role.env_refs, n * sizeof(*v));
    v[n] = *ref;
    d->role.env_refs = v;
    d->role.n_env_refs = n + 1;
    return 0;
}

/* {name, optional} of a config map or secret. */
static const struct yaml_field source_fields[] = {
    {"name", read_object_name, offsetof(struct queued_env_ref, source), true, NULL},
    {"optional", read_flag, offsetof(struct queued_env_ref, is_optional), false, NULL},
};

static int read_source(const struct yaml_at *at, struct queued_env_ref *ref,
                       enum queued_ref_kind kind, struct err *err)
{
    if (ref->kind)
        return yaml_fail(at, err, "one entry has one source; split it into two");
    ref->kind = kind;
    return yaml_walk(at, source_fields, ARRAY_LEN(source_fields), ref, err);
}

static int read_config_map(const struct yaml_at *at, void *out, struct err *err)
{
    return read_source(at, out, QUEUED_REF_CONFIG_MAP, err);
}

static int read_secret(const struct yaml_at *at, void *out, struct err *err)
{
    return read_source(at, out, QUEUED_REF_SECRET, err);
}

/* The short form: the name alone. */
static int read_source_name(const struct yaml_at *at, struct queued_env_ref *ref,
                            enum queued_ref_kind kind, struct err *err)
{
    if (ref->kind)
        return yaml_fail(at, err, "one entry has one source; split it into two");
    ref->kind = kind;
    return read_object_name(at, &ref->source, err);
}

static int read_config_map_name(const struct yaml_at *at, void *out, struct err *err)
{
    return read_source_name(at, out, QUEUED_REF_CONFIG_MAP, err);
}

static int read_secret_name(const struct yaml_at *at, void *out, struct err *err)
{
    return read_source_name(at, out, QUEUED_REF_SECRET, err);
}

static const struct yaml_field env_from_fields[] = {
    {"configMap", read_config_map_name, 0, false, NULL},
    {"secret", read_secret_name, 0, false, NULL},
    {"configMapRef", read_config_map, 0, false, NULL},
    {"secretRef", read_secret, 0, false, NULL},
    {"prefix", read_text, offsetof(struct queued_env_ref, prefix), false, NULL},
};

static int add_env_from(const struct yaml_at *at, const char *key, void *draft, struct err *err)
{
    struct queued_env_ref ref = {0};

    (void)key;
    if (yaml_walk(at, env_from_fields, ARRAY_LEN(env_from_fields), &ref, err))
        return -1;
    if (!ref.kind)
        return yaml_fail(at, err, "has no source; add secret or configMap with a name");
    return push_ref(at, draft, &ref, err);
}

int read_env_from(const struct yaml_at *at, void *draft, struct err *err)
{
    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "must be a list, like [{secret: keys}]");
    return yaml_each(at, add_env_from, draft, err);
}

/* ---- the list */

struct env_draft {
    struct queued_pair pair;
    struct queued_env_ref ref;
};

static int read_value_from(const struct yaml_at *at, void *out, struct err *err)
{
    struct env_draft *e = out;

    if (yaml_walk(at, value_from_fields, ARRAY_LEN(value_from_fields), &e->ref, err))
        return -1;
    return e->ref.kind ? 0 : yaml_fail(at, err, "has no source; add secretKeyRef or another");
}

static const struct yaml_field env_fields[] = {
    {"name", read_text, offsetof(struct env_draft, pair.key), true, NULL},
    {"value", read_value, offsetof(struct env_draft, pair.value), false, NULL},
    {"valueFrom", read_value_from, 0, false, NULL},
};

struct env_list {
    struct role_draft *draft;
    struct queued_pair *v;
    size_t n;
};

static bool is_set(const struct env_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].key, name) == 0)
            return true;
    for (size_t i = 0; i < l->draft->role.n_env_refs; i++)
        if (l->draft->role.env_refs[i].env && strcmp(l->draft->role.env_refs[i].env, name) == 0)
            return true;
    return false;
}

static int add_env(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    struct env_list *l = out;
    struct env_draft e = {0};

    (void)key;
    if (yaml_walk(at, env_fields, ARRAY_LEN(env_fields), &e, err))
        return -1;
    if (is_set(l, e.pair.key))
        return yaml_fail(at, err, "%.60s is set twice; keep one of them", e.pair.key);
    if (l->draft->has_no_rendezvous && strncmp(e.pair.key, "QUEUED_", 7) != 0
            ? check_name(at, e.pair.key, err)
            : check_env(at, e.pair.key, e.pair.value, err))
        return -1;
    if (e.ref.kind && e.pair.value)
        return yaml_fail(at, err, "%.60s has value and valueFrom; keep one of them", e.pair.key);
    if (e.ref.kind) {
        e.ref.env = e.pair.key;
        return push_ref(at, l->draft, &e.ref, err);
    }
    if (!e.pair.value)
        e.pair.value = "";
    l->v[l->n++] = e.pair;
    return 0;
}

int read_env_list(const struct yaml_at *at, void *draft, struct err *err)
{
    struct role_draft *d = draft;
    struct env_list l = {.draft = d};

    if (at->node->kind != YAML_LIST)
        return yaml_fail(at, err, "must be a list, like [{name: A, value: b}]");
    if (at->node->n > ROLE_ENV_MAX)
        return yaml_fail(at, err, "has more than %d entries", ROLE_ENV_MAX);
    l.v = arena_alloc(d->arena, (at->node->n + 1) * sizeof(*l.v));
    if (yaml_each(at, add_env, &l, err))
        return -1;
    d->role.env = l.v;
    d->role.n_env = l.n;
    return 0;
}
