/* SPDX-License-Identifier: Apache-2.0 */
/* kube_easy.h - a curl easy handle that is used again and again; inside of kube_http.h. */
#ifndef QUEUED_KUBE_KUBE_EASY_H
#define QUEUED_KUBE_KUBE_EASY_H

#include <curl/curl.h>
#include <stdint.h>

#include "kube/kube_config.h"
#include "util/parse.h"

struct kube_easy {
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    uint64_t credentials;   /* generation that headers were made for */
    const char *accept;     /* likewise */
    struct kube_easy *next; /* of the idle ones */
    char trouble[CURL_ERROR_SIZE];
};

struct kube_easy_order {
    const char *method, *path;
    const char *accept; /* a constant */
    const char *body;   /* borrowed until the transfer has ended; NULL none */
    usec_t timeout_us;  /* 0 none */
    void *ctx;          /* of the data function, and CURLINFO_PRIVATE */
};

/* config is borrowed: its certificates are not copied. */
struct kube_easy *kube_easy_create(const struct kube_config *c,
                                   size_t (*data)(char *p, size_t size, size_t n, void *ctx));
void kube_easy_destroy(struct kube_easy *s);
/* Make it ready for one request. credentials: generation of c's token. */
void kube_easy_aim(struct kube_easy *s, const struct kube_config *c, uint64_t credentials,
                   const struct kube_easy_order *o);

#endif
