/* SPDX-License-Identifier: Apache-2.0 */
/* kube_config.h - where the API server is and how we prove who we are.
 *
 * From a kubeconfig file, or from the files that a pod's service account has. Unknown keys are
 * ignored, as every client does; ways to log in that we do not have are refused with a sentence,
 * and every error names line and column. What changes later: kube_cred.h.
 */
#ifndef QUEUED_KUBE_KUBE_CONFIG_H
#define QUEUED_KUBE_KUBE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

/* Texts, each owned; the form of VEC(char *). */
struct kube_words {
    char **v;
    size_t n, room;
};

/* A program that hands out credentials ("exec" of a user). */
struct exec_plugin {
    char *command;     /* with a slash, it is an absolute path */
    char *api_version; /* of the protocol */
    char *hint;        /* how to install it; NULL */
    struct kube_words args;
    struct kube_words env; /* "NAME=value", beside our own environment */
};

struct kube_config {
    char *server;     /* "https://host:port/prefix" to put before a path; no slash at the end */
    char *connect_to; /* curl's CONNECT_TO where the certificate has another name; NULL */
    char *proxy;      /* URL, may hold a password; NULL: connect directly */
    bool is_tls;
    bool is_insecure; /* the server's certificate is not checked */
    char *ca;         /* PEM; NULL: the system's */
    char *cert, *key; /* PEM of the client; NULL */
    char *token;      /* NULL none */
    /* what is read again each minute and after a 401; NULL: it does not change */
    char *ca_file, *cert_file, *key_file, *token_file;
    struct kube_words as;     /* header lines that name whom we act as */
    struct exec_plugin *exec; /* NULL none */
    bool has_warned;          /* of a file that cannot be read again */
    uint64_t generation;      /* counts changes of token, ca, cert and key */
    uint64_t tls_generation;  /* counts those of ca, cert and key */
};

/* path "": in the cluster, by KUBERNETES_SERVICE_HOST and _PORT and the files of the service
 * account in $QUEUED_SERVICE_ACCOUNT_DIR, by default where the kubelet puts them. -1 INVALID,
 * NOT_FOUND or DENIED; *ret is untouched. */
int kube_config_load(struct kube_config *ret, const char *path, struct err *err);
/* The same from a directory with token and ca.crt, and the address that the kubelet gives. */
int kube_config_in_cluster(struct kube_config *ret, const char *dir, const char *host,
                           const char *port, struct err *err);
void kube_config_fini(struct kube_config *c);
/* Read the files again; one that cannot be read leaves things as they are. true: something is
 * another one now. */
bool kube_config_refresh(struct kube_config *c);
/* New credentials, which are taken over: token NULL, or cert and key NULL: none of that kind. true:
 * they are other ones. */
bool kube_config_replace(struct kube_config *c, char *token, char *cert, char *key);

#endif
