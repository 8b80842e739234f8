/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_auth.c - identity from the peer's uid, rights from the configuration. */
#include "rpc/rpc_auth.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "util/str.h"

/* A uid that no user has: of a loopback user that the user database does not know. */
#define UID_NOBODY_REAL (UINT32_MAX - 1)

void rpc_auth_init(struct rpc_auth *a, const struct rpc_setup *setup)
{
    struct passwd pw, *found = NULL;
    char buf[4096];

    *a = (struct rpc_auth){.setup = setup, .own_uid = (uint32_t)geteuid()};
    a->loopback_uid = UID_NOBODY_REAL;
    if (setup->loopback_user && *setup->loopback_user &&
        getpwnam_r(setup->loopback_user, &pw, buf, sizeof(buf), &found) == 0 && found)
        a->loopback_uid = (uint32_t)found->pw_uid;
}

/* A decimal number without sign, blanks or needless zeros, up to a separator. */
static bool take_number(const char **p, char stop, uint64_t max, uint64_t *ret)
{
    const char *s = *p;
    uint64_t v = 0;

    if (*s < '0' || *s > '9' || (s[0] == '0' && s[1] >= '0' && s[1] <= '9'))
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        v = v * 10 + (uint64_t)(*s - '0');
        if (v > max)
            return false;
    }
    if (*s != stop)
        return false;
    *p = stop ? s + 1 : s;
    *ret = v;
    return true;
}

bool rpc_auth_parse(const char *address, uint32_t *ret_uid)
{
    static const char prefix[] = "localhost:";
    const char *p = address;
    uint64_t uid, other;

    if (strncmp(p, prefix, sizeof(prefix) - 1) != 0)
        return false;
    p += sizeof(prefix) - 1;
    /* UINT32_MAX is no uid: it means "do not change" to the kernel */
    if (!take_number(&p, ':', UINT32_MAX - 1, &uid) ||
        !take_number(&p, ':', UINT32_MAX - 1, &other) || !take_number(&p, '\0', INT32_MAX, &other))
        return false;
    *ret_uid = (uint32_t)uid;
    return true;
}

/* Name of a uid; NULL when the user database has none. */
static const char *name_of(struct rpc_auth *a, uint32_t uid, usec_t now)
{
    struct rpc_name *n = &a->names[uid % RPC_NAMES_MAX];
    struct passwd pw, *found = NULL;
    char buf[4096];

    if (n->until > now && n->uid == uid)
        return n->name;
    if (getpwuid_r((uid_t)uid, &pw, buf, sizeof(buf), &found) != 0 || !found)
        return NULL;
    if (!str_copy(n->name, sizeof(n->name), found->pw_name)) {
        n->until = 0; /* a name cut short would be another user's */
        return NULL;
    }
    n->uid = uid;
    n->until = now + RPC_NAME_KEEP_SEC * USEC_PER_SEC;
    return n->name;
}

static int with_rights(const struct rpc_auth *a, struct rpc_who *who, struct err *err)
{
    bool is_configured = a->setup->user(a->setup->user_ctx, who->caller.user, &who->user);

    if (who->caller.uid == 0 || who->caller.uid == a->own_uid)
        who->user = (struct rpc_user){.role = RPC_ADMIN};
    else if (!is_configured)
        return err_set(err, ERR_DENIED,
                       "user %s may do nothing here: have an administrator add it to users: in the "
                       "configuration",
                       who->caller.user);
    who->caller.is_admin = who->user.role == RPC_ADMIN;
    return 0;
}

int rpc_auth_uid(struct rpc_auth *a, uint32_t uid, usec_t now, struct rpc_who *ret, struct err *err)
{
    struct rpc_who who = {.caller = {.uid = uid}};
    const char *name;

    if (a->setup->loopback_user && *a->setup->loopback_user && uid == a->loopback_uid)
        name = a->setup->loopback_user;
    else
        name = name_of(a, uid, now);
    if (!name && uid != 0 && uid != a->own_uid)
        return err_set(err, ERR_UNAUTHENTICATED, "uid %u has no name in the server's user database",
                       uid);
    (void)str_copy(who.caller.user, sizeof(who.caller.user), name ? name : "root"); /* fits */
    if (with_rights(a, &who, err))
        return -1;
    *ret = who;
    return 0;
}

int rpc_auth_peer(struct rpc_auth *a, const char *address, usec_t now, struct rpc_who *ret,
                  struct err *err)
{
    bool has_loopback = a->setup->loopback_user && *a->setup->loopback_user;
    uint32_t uid;

    if (address && rpc_auth_parse(address, &uid))
        return rpc_auth_uid(a, uid, now, ret, err);
    if (address && has_loopback &&
        (strcmp(address, "127.0.0.1") == 0 || strcmp(address, "::1") == 0))
        return rpc_auth_uid(a, a->loopback_uid, now, ret, err);
    return err_set(err, ERR_UNAUTHENTICATED,
                   "the server cannot tell who you are: connect over its ipc:// endpoint");
}

int rpc_auth_role(const struct rpc_who *who, enum rpc_role needed, const char *method,
                  struct err *err)
{
    static const char *const names[] = {"viewer", "submitter", "tenant-admin", "admin"};

    if (who->user.role >= needed)
        return 0;
    return err_set(err, ERR_DENIED,
                   "user %s may not call %s: it needs the role %s, the configuration gives %s",
                   who->caller.user, method, names[needed], names[who->user.role]);
}

bool rpc_auth_is_within(const char *path, const char *tenant)
{
    size_t len = strlen(tenant);

    return strncmp(path, tenant, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool rpc_auth_sees(const struct rpc_who *who, const char *tenant)
{
    if (who->caller.is_admin)
        return true;
    for (uint32_t i = 0; i < who->user.n_tenants; i++)
        if (rpc_auth_is_within(tenant, who->user.tenants[i]))
            return true;
    return false;
}

int rpc_auth_change(const struct rpc_who *who, const struct job *j, const char *verb,
                    struct err *err)
{
    if (who->user.role >= RPC_TENANT_ADMIN)
        return 0;
    if (who->user.role == RPC_SUBMITTER && j->uid == who->caller.uid)
        return 0;
    return err_set(err, ERR_DENIED, "job %s is %s's: its owner or a tenant-admin of %s may %s it",
                   j->name, j->user, j->tenant, verb);
}

static int only_tenant(const struct rpc_who *who, const struct settings *settings, const char **ret,
                       struct err *err)
{
    if (who->caller.is_admin && settings->n_tenants == 1)
        *ret = settings->tenants[0].path;
    else if (!who->caller.is_admin && who->user.n_tenants == 1)
        *ret = who->user.tenants[0];
    else if (!who->caller.is_admin && who->user.n_tenants == 0)
        return err_set(err, ERR_DENIED,
                       "user %s has no tenant: have an administrator add one to "
                       "users: in the configuration",
                       who->caller.user);
    else
        return err_set(err, ERR_INVALID,
                       "tenant: say which (spec.tenant or --tenant), there are several");
    return 0;
}

int rpc_auth_tenant(const struct rpc_who *who, const struct settings *settings, const char *wanted,
                    const char **ret, struct err *err)
{
    if (!wanted || !*wanted)
        return only_tenant(who, settings, ret, err);
    if (!rpc_auth_sees(who, wanted))
        return err_set(err, ERR_DENIED, "user %s may not submit to tenant %s%s%s", who->caller.user,
                       wanted, who->user.n_tenants ? "; allowed is " : "",
                       who->user.n_tenants ? who->user.tenants[0] : "");
    *ret = wanted;
    return 0;
}
