/* SPDX-License-Identifier: Apache-2.0 */
/* kube_easy.h - a curl easy handle that is used again and again; inside of kube_http.h. */
#ifndef QUEUED_KUBE_KUBE_EASY_H
#define QUEUED_KUBE_KUBE_EASY_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/kube_config.h"
#include "util/parse.h"

struct kube_easy {
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    uint64_t generation;     /* of the credentials that headers were made for */
    uint64_t tls_generation; /* of the certificates */
    const char *accept;      /* that headers were made for */
    bool is_patch;           /* the same */
    struct kube_easy *next;  /* of the idle ones */
    char trouble[CURL_ERROR_SIZE];
};

struct kube_easy_order {
    const char *method, *path;
    const char *accept; /* a constant */
    const char *body;   /* borrowed until the transfer has ended; NULL none */
    usec_t timeout_us;  /* 0 none */
    void *ctx;          /* of the data function, and CURLINFO_PRIVATE */
};

/* Nothing of config is kept. */
struct kube_easy *kube_easy_create(const struct kube_config *c,
                                   size_t (*data)(char *p, size_t size, size_t n, void *ctx));
void kube_easy_destroy(struct kube_easy *s);
/* Make it ready for one request. */
void kube_easy_aim(struct kube_easy *s, const struct kube_config *c,
                   const struct kube_easy_order *o);
/* May the server have seen a request that ended so? */
bool kube_easy_was_sent(CURLcode code);
/* Did it end because an established connection, or what is behind it, was gone or silent? */
bool kube_easy_is_lost(const struct kube_easy *s, CURLcode code);
/* Did it end for credentials or certificates that may be out of date? */
bool kube_easy_is_refused(CURLcode code, long status);
/* Why it ended so, in words. */
void kube_easy_trouble(const struct kube_easy *s, CURLcode code, char *buf, size_t size);

#endif
