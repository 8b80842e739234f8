/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_dir.h - a temporary folder with credential plugins (shell scripts) and kubeconfigs. */
#ifndef QUEUED_TESTS_FAKE_PLUGIN_DIR_H
#define QUEUED_TESTS_FAKE_PLUGIN_DIR_H

#include "kube/kube_config.h"

#define PLUGIN_V1 "client.authentication.k8s.io/v1"
/* sh: an answer with this status, as the protocol wants it */
#define PLUGIN_SAYS(status)                                                                        \
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" PLUGIN_V1 "\",\"status\":{" status      \
    "}}'\n"

/* Make the folder; once a program. */
void plugin_dir_init(void);
/* Remove it with all that is in it. */
void plugin_dir_fini(void);
/* "FOLDER/name", valid for the next few calls. */
const char *plugin_path(const char *name);
/* Write a file anew; mode as for chmod. */
void plugin_put(const char *name, const char *text, unsigned mode);
/* What a file holds, "" where there is none; valid until the next call. */
const char *plugin_get(const char *name);
/* A kubeconfig whose user runs the script `name` with this body; more: further fields of exec, as
 * ", key: value". Loaded. */
void plugin_config(struct kube_config *ret, const char *body, const char *more);

#endif
