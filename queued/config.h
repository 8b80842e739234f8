/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the configuration file of the daemon: read whole, checked whole, then used.
 *
 * One YAML file over one schema table (contracts.md 5 is the form). Keys of later versions are
 * refused with their path, like unknown ones.
 */
#ifndef QUEUED_CONFIG_H
#define QUEUED_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "spec/settings.h"
#include "util/err.h"
#include "util/str.h"

enum { CONFIG_PATH_MAX = 255, CONFIG_LISTEN_MAX = 4, CONFIG_USERS_MAX = 4096 };

enum config_role { ROLE_VIEWER, ROLE_SUBMITTER, ROLE_TENANT_ADMIN, ROLE_ADMIN };

struct config_user {
    char name[USER_NAME_MAX + 1];
    enum config_role role;
    uint32_t n_tenants; /* 0: none. Paths; a tenant includes its subtree */
    char (*tenants)[TENANT_PATH_MAX + 1];
};

struct config {
    char store_dir[CONFIG_PATH_MAX + 1];
    uint32_t n_rpc;
    char rpc[CONFIG_LISTEN_MAX][CONFIG_PATH_MAX + 1]; /* ipc:///..., tcp://127.0.0.1:port */
    char insecure_loopback_user[USER_NAME_MAX + 1];   /* "" : TCP is refused */
    char http[CONFIG_PATH_MAX + 1];                   /* host:port; "" off */
    char kubeconfig[CONFIG_PATH_MAX + 1];             /* "" : in the cluster */
    bool is_bind_direct;                              /* kubernetes.bindMode: direct */
    bool has_pod_events;                              /* kubernetes.events: pods */
    uint32_t n_users;
    struct config_user *users;
    struct settings settings;
};

/* Read and check a file. -1 INVALID with "FILE:LINE:COLUMN: path: what, and what to do". */
int config_load(struct config **ret, const char *path, struct err *err);
/* The same of a text; name stands for the file in errors. */
int config_parse(struct config **ret, const char *name, const char *text, size_t len,
                 struct err *err);
void config_destroy(struct config *c);
/* The configuration in force, defaults filled in, as YAML that config_load() reads back. */
void config_print(const struct config *c, FILE *out);
void config_text(const struct config *c, struct str *b);                         /* appended to b */
const struct config_user *config_user(const struct config *c, const char *name); /* NULL */

#endif
