/* SPDX-License-Identifier: Apache-2.0 */
/* kube_config.h - where the API server is and how we prove who we are.
 *
 * From a kubeconfig file, or from the files that a pod's service account has. Unknown keys are
 * ignored, as every client does; ways to log in that we do not have are refused with a sentence.
 */
#ifndef QUEUED_KUBE_KUBE_CONFIG_H
#define QUEUED_KUBE_KUBE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

struct kube_config {
    char *server;     /* "https://host:port/prefix" to put before a path; no slash at the end */
    char *connect_to; /* curl's CONNECT_TO where the certificate has another name; NULL */
    bool is_tls;
    bool is_insecure;        /* the server's certificate is not checked */
    char *ca;                /* PEM; NULL: the system's */
    char *cert, *key;        /* PEM of the client; NULL */
    char *token;             /* NULL none */
    char *token_file;        /* read again each minute and after a 401; NULL */
    uint64_t generation;     /* counts changes of anything above */
    uint64_t tls_generation; /* of the certificates among it */
};

/* path "": in the cluster. -1 INVALID, NOT_FOUND or DENIED; *ret is untouched. */
int kube_config_load(struct kube_config *ret, const char *path, struct err *err);
/* The same from a directory with token and ca.crt, and the address that the kubelet gives. */
int kube_config_in_cluster(struct kube_config *ret, const char *dir, const char *host,
                           const char *port, struct err *err);
void kube_config_fini(struct kube_config *c);
/* Read the token file again. true: the token is another one now. */
bool kube_config_refresh(struct kube_config *c);

#endif
