/* SPDX-License-Identifier: Apache-2.0 */
/* spec_check_pod.c - is what a role says of its pods acceptable? Container, variables, volumes, and
 * what they may use of the namespace.
 */
#include <string.h>

#include "spec/spec_check.h"
#include "util/mem.h"
#include "util/str.h"

static bool is_reserved_env(const char *name)
{
    static const char *const names[] = {"MASTER_ADDR",
                                        "MASTER_PORT",
                                        "NNODES",
                                        "NODE_RANK",
                                        "NPROC_PER_NODE",
                                        "WORLD_SIZE",
                                        "RANK",
                                        "LOCAL_RANK",
                                        "LOCAL_WORLD_SIZE",
                                        "RAY_ADDRESS",
                                        "OMPI_MCA_orte_default_hostfile"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "PET_", 4) == 0 || strncmp(name, "QUEUED_", 7) == 0;
}

static int check_env_name(const struct check *c, const char *name)
{
    size_t len = name ? strlen(name) : 0;

    if (len == 0 || len > 255 ||
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstu"
                     "vwxyz0123456789_-.") != len ||
        (name[0] >= '0' && name[0] <= '9'))
        return spec_bad(c, ".env", "names must be letters, digits, '_', '-' or '.'");
    if (is_reserved_env(name) && (strncmp(name, "QUEUED_", 7) == 0 || !c->spec->rendezvous ||
                                  strcmp(c->spec->rendezvous, "none") != 0))
        return err_set(c->err, ERR_INVALID,
                       "%s.env: %s is set by the daemon for the rendezvous; choose another name",
                       c->at, name);
    return 0;
}

static int check_env(const struct check *c, const struct spec_role *r)
{
    if (r->env.n > ROLE_ENV_MAX)
        return spec_bad(c, ".env", "more than 256");
    for (uint32_t i = 0; i < r->env.n; i++) {
        const char *name = r->env.v[i].key;

        if (check_env_name(c, name))
            return -1;
        if (!spec_is_text(r->env.v[i].value, 16384))
            return err_set(c->err, ERR_INVALID,
                           "%s.env.%s: the value must be clean UTF-8 of at most 16384 bytes", c->at,
                           name);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(name, r->env.v[k].key) == 0)
                return err_set(c->err, ERR_INVALID, "%s.env: %s is given twice", c->at, name);
    }
    return 0;
}

static int check_volumes(const struct check *c, const struct spec_role *r)
{
    if (r->n_volumes > ROLE_VOLUMES_MAX)
        return spec_bad(c, ".volumes", "more than 32");
    for (uint32_t i = 0; i < r->n_volumes; i++) {
        const struct spec_volume *v = &r->volumes[i];

        if (!v->name || !str_is_dns_label(v->name, LABEL_MAX, false) ||
            strcmp(v->name, "dshm") == 0 || strncmp(v->name, "queued-", 7) == 0)
            return spec_bad(c, ".volumes",
                            "names must be DNS labels other than dshm and those that begin with "
                            "queued-, which are the daemon's");
        if ((c->spec->checkpoint_signal || spec_rendezvous(c->spec) == SPEC_MPI) && v->mount_path &&
            !strncmp(v->mount_path, "/etc/queued", 11) && strchr("/", v->mount_path[11]))
            return spec_bad(c, ".volumes", "/etc/queued is where the daemon tells the pod things");
        if (!v->mount_path || v->mount_path[0] != '/' || !spec_is_text(v->mount_path, 1024) ||
            strchr(v->mount_path, ':'))
            return spec_bad(c, ".volumes", "mountPath must be absolute and without ':'");
        if (v->kind != SPEC_VOLUME_EMPTY_DIR &&
            (!v->source || !*v->source || !spec_is_text(v->source, 253)))
            return spec_bad(c, ".volumes", "the source (pvc, configMap, secret, nfs) is missing");
        if (v->kind == SPEC_VOLUME_NFS &&
            (!v->path || v->path[0] != '/' || !spec_is_text(v->path, 1024)))
            return spec_bad(c, ".volumes", "nfs needs an absolute path");
        if (v->sub_path && (!*v->sub_path || v->sub_path[0] == '/' || strstr(v->sub_path, "..") ||
                            !spec_is_text(v->sub_path, 1024)))
            return spec_bad(c, ".volumes", "subPath must be relative and without '..'");
        if (v->in_memory && v->kind != SPEC_VOLUME_EMPTY_DIR)
            return spec_bad(c, ".volumes", "only an emptyDir has a medium");
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(v->name, r->volumes[k].name) == 0 ||
                strcmp(v->mount_path, r->volumes[k].mount_path) == 0)
                return spec_bad(c, ".volumes", "a name or mountPath is given twice");
    }
    return 0;
}

static int check_container(const struct check *c, const struct spec_role *r)
{
    if (!r->image || !*r->image || !spec_is_text(r->image, 512) || strpbrk(r->image, " \t\n"))
        return spec_bad(c, ".image", "is missing or has blanks");
    if (r->command.n + r->args.n > ROLE_ARGS_MAX)
        return spec_bad(c, ".command", "more than 256 words with args");
    for (uint32_t i = 0; i < r->command.n + r->args.n; i++) {
        const char *word = i < r->command.n ? r->command.v[i] : r->args.v[i - r->command.n];

        if (!spec_is_text(word, 32768))
            return spec_bad(c, ".command", "words must be clean UTF-8");
    }
    if (r->working_dir && (r->working_dir[0] != '/' || !spec_is_text(r->working_dir, 1024)))
        return spec_bad(c, ".workingDir", "must be absolute");
    return 0;
}

/* ---- what the pod has from elsewhere */

static bool is_pod_field(const char *path)
{
    static const char *const paths[] = {
        "metadata.name",   "metadata.namespace", "metadata.uid",        "spec.nodeName",
        "status.hostIP",   "status.podIP",       "status.podIPs",       "spec.serviceAccountName",
        "metadata.labels", "status.hostIPs",     "metadata.annotations"};
    size_t len = strcspn(path, "[");
    bool has_key = path[len] == '[';

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (strlen(paths[i]) == len && strncmp(paths[i], path, len) == 0)
            return has_key == (strstr(paths[i], "metadata.labels") || strstr(paths[i], "annot"));
    return false;
}

static int check_env_ref(const struct check *c, const struct spec_role *r, uint32_t ix)
{
    const struct spec_env_ref *ref = &r->env_refs[ix];

    if (ref->kind < SPEC_REF_CONFIG_MAP || ref->kind >= SPEC_REFS)
        return spec_bad(c, ".env", "must come from a config map, a secret or a field");
    if (ref->kind == SPEC_REF_FIELD && (!ref->env || !ref->key || !is_pod_field(ref->key)))
        return spec_bad(c, ".env", "fieldPath must be one that Kubernetes knows");
    if (ref->kind != SPEC_REF_FIELD && (!ref->source || !str_is_dns_subdomain(ref->source)))
        return spec_bad(c, ".env", "needs the name of a config map or secret");
    if (!ref->env)
        return ref->prefix && check_env_name(c, ref->prefix) ? -1 : 0;
    if (ref->prefix || !ref->key || !*ref->key)
        return spec_bad(c, ".env", "of a variable needs a key, and no prefix");
    if (check_env_name(c, ref->env))
        return -1;
    for (uint32_t i = 0; i < r->env.n; i++)
        if (strcmp(ref->env, r->env.v[i].key) == 0)
            return err_set(c->err, ERR_INVALID, "%s.env: %s is given twice", c->at, ref->env);
    for (uint32_t i = 0; i < ix; i++)
        if (r->env_refs[i].env && strcmp(ref->env, r->env_refs[i].env) == 0)
            return err_set(c->err, ERR_INVALID, "%s.env: %s is given twice", c->at, ref->env);
    return 0;
}

/* In the list of the tenant, or of one above it. */
static bool may_use_account(const struct check *c, const char *account)
{
    for (uint32_t t = c->tenant; t != IX_NONE; t = c->settings->tenants[t].parent) {
        const struct tenant_setting *ts = &c->settings->tenants[t];

        for (uint32_t i = 0; i < ts->n_accounts; i++)
            if (strcmp(ts->accounts[i], account) == 0)
                return true;
    }
    return false;
}

static int check_access(const struct check *c, const struct spec_role *r)
{
    static const char *const policies[] = {"Always", "IfNotPresent", "Never"};
    bool is_known = !r->pull_policy;

    for (size_t i = 0; i < ARRAY_LEN(policies); i++)
        is_known |= r->pull_policy && strcmp(r->pull_policy, policies[i]) == 0;
    if (!is_known)
        return spec_bad(c, ".imagePullPolicy", "must be Always, IfNotPresent or Never");
    if (r->pull_secrets.n > ROLE_PULL_SECRETS_MAX)
        return spec_bad(c, ".imagePullSecrets", "more than 8");
    for (uint32_t i = 0; i < r->pull_secrets.n; i++)
        if (!str_is_dns_subdomain(r->pull_secrets.v[i]))
            return spec_bad(c, ".imagePullSecrets", "must be names of secrets");
    if (r->service_account && !may_use_account(c, r->service_account))
        return err_set(c->err, ERR_REFUSED,
                       "%s.serviceAccountName: tenant %s may not use '%.63s'; its list is in the "
                       "configuration",
                       c->at, c->spec->tenant, r->service_account);
    return 0;
}

int spec_check_pod(const struct check *c, const struct spec_role *r)
{
    if (check_container(c, r) || check_env(c, r) || check_volumes(c, r) || check_access(c, r))
        return -1;
    if (r->n_env_refs > ROLE_REFS_MAX)
        return spec_bad(c, ".env", "more than 64 from elsewhere");
    for (uint32_t i = 0; i < r->n_env_refs; i++)
        if (check_env_ref(c, r, i))
            return -1;
    return 0;
}
