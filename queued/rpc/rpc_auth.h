/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_auth.h - who is it, and what may they do. Denied unless allowed.
 *
 * Identity comes from the kernel (uid of the peer of a Unix socket) and the user database, never
 * from a message; role and tenants from the configuration, asked anew for every request.
 * What a caller may not see does not exist for them: NOT_FOUND.
 */
#ifndef QUEUED_RPC_RPC_AUTH_H
#define QUEUED_RPC_RPC_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "core/job.h"
#include "spec/settings.h"
#include "rpc/rpc_server.h"
#include "rpc/rpc_wire.h"
#include "util/err.h"

enum { RPC_NAMES_MAX = 64, RPC_NAME_KEEP_SEC = 60 };

/* Names of uids, remembered for RPC_NAME_KEEP_SEC. */
struct rpc_auth {
    const struct rpc_setup *setup;
    uint32_t own_uid;      /* of this process */
    uint32_t loopback_uid; /* of loopback_user */
    struct rpc_name {
        uint32_t uid;
        usec_t until; /* 0: empty */
        char name[USER_NAME_MAX + 1];
    } names[RPC_NAMES_MAX];
};

/* A caller with rights; user.tenants is borrowed from the configuration for this request. */
struct rpc_who {
    struct caller caller;
    struct rpc_user user;
};

void rpc_auth_init(struct rpc_auth *a, const struct rpc_setup *setup);
/* uid of a Peer-Address "localhost:UID:GID:PID", strictly. */
bool rpc_auth_parse(const char *address, uint32_t *ret_uid);
/* Who is behind a Peer-Address (NULL: unknown). -1 UNAUTHENTICATED: no identity; DENIED: the
 * configuration does not name this user. */
int rpc_auth_peer(struct rpc_auth *a, const char *address, usec_t now, struct rpc_who *ret,
                  struct err *err);
/* The same by a uid that was authenticated before. */
int rpc_auth_uid(struct rpc_auth *a, uint32_t uid, usec_t now, struct rpc_who *ret,
                 struct err *err);

/* May they call a method that needs this role at all? -1 DENIED. */
int rpc_auth_role(const struct rpc_who *who, enum rpc_role needed, const char *method,
                  struct err *err);
/* Does a tenant, with its jobs and events, exist for them? */
bool rpc_auth_sees(const struct rpc_who *who, const char *tenant);
/* May they cancel this job, or change it otherwise (verb), which they see? Own jobs; those of their
 * tenants as tenant-admin. -1 DENIED. */
int rpc_auth_change(const struct rpc_who *who, const struct job *j, const char *verb,
                    struct err *err);
/* The tenant that a submission goes to: wanted, or with NULL the only one they have.
 * -1 DENIED, or INVALID when a choice must be made. */
int rpc_auth_tenant(const struct rpc_who *who, const struct settings *settings, const char *wanted,
                    const char **ret, struct err *err);
/* Is path the tenant or below it? */
bool rpc_auth_is_within(const char *path, const char *tenant);

#endif
