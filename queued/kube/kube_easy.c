/* SPDX-License-Identifier: Apache-2.0 */
/* kube_easy.c - the options of a curl easy handle: TLS, headers, keepalive, one request.
 *
 * Everything that is the same for all requests is set once; what differs is set by aiming.
 */
#include "kube/kube_easy.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "kube/kube_secret.h"
#include "util/mem.h"
#include "util/str.h"

/* Without this a dead peer goes unnoticed for a quarter of an hour. */
static int on_sockopt(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    unsigned timeout_ms = 30000;

    (void)ctx;
    (void)purpose;
    /* a kernel without the option still has keepalive */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
    return CURL_SOCKOPT_OK;
}

void kube_easy_destroy(struct kube_easy *s)
{
    curl_easy_cleanup(s->easy);
    curl_slist_free_all(s->headers);
    curl_slist_free_all(s->connect_to);
    free(s);
}

static void set_blob(CURL *easy, CURLoption option, const char *pem)
{
    struct curl_blob blob = {0};

    if (!pem)
        return;
    blob.data = (void *)(uintptr_t)pem; /* never written to */
    blob.len = strlen(pem);
    blob.flags = CURL_BLOB_COPY; /* files rotate while requests are under way */
    curl_easy_setopt(easy, option, &blob);
}

static void set_tls(struct kube_easy *s, const struct kube_config *c)
{
    CURL *e = s->easy;

    set_blob(e, CURLOPT_CAINFO_BLOB, c->ca);
    set_blob(e, CURLOPT_SSLCERT_BLOB, c->cert);
    set_blob(e, CURLOPT_SSLKEY_BLOB, c->key);
    curl_easy_setopt(e, CURLOPT_SSLCERTTYPE, "PEM");
    curl_easy_setopt(e, CURLOPT_SSLKEYTYPE, "PEM");
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, c->is_insecure ? 0L : 1L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, c->is_insecure ? 0L : 2L);
    if (c->connect_to) {
        s->connect_to = curl_slist_append(NULL, c->connect_to);
        curl_easy_setopt(e, CURLOPT_CONNECT_TO, s->connect_to);
    }
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
                     c->is_tls ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
}

struct kube_easy *kube_easy_create(const struct kube_config *c,
                                   size_t (*data)(char *p, size_t size, size_t n, void *ctx))
{
    struct kube_easy *s = xcalloc(1, sizeof(*s));
    CURL *e = curl_easy_init();

    assert(e); /* curl_global_init() went well: only memory could lack */
    s->easy = e;
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* else the end of a request waits for its DNS */
    curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(e, CURLOPT_USERAGENT, "queued/" QUEUED_VERSION);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_PROXY, c->proxy ? c->proxy : ""); /* none of the environment */
    curl_easy_setopt(e, CURLOPT_NOPROXY, "");
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, 20L);
    curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, 5L);
    curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, on_sockopt);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, data);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, s->trouble);
    set_tls(s, c);
    s->tls_generation = c->tls_generation;
    return s;
}

static void set_headers(struct kube_easy *s, const struct kube_config *c, const char *accept,
                        bool is_patch)
{
    const char *fixed[] = {is_patch ? "Content-Type: application/merge-patch+json"
                                    : "Content-Type: application/json",
                           "Expect:"};
    char *accepts;

    if (s->headers && s->generation == c->generation && !strcmp(s->accept, accept) &&
        s->is_patch == is_patch)
        return;
    curl_slist_free_all(s->headers);
    accepts = xasprintf("Accept: %s", accept);
    s->headers = curl_slist_append(NULL, accepts);
    free(accepts);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        s->headers = curl_slist_append(s->headers, fixed[i]);
    if (c->token) {
        char *line = xasprintf("Authorization: Bearer %s", c->token);

        s->headers = curl_slist_append(s->headers, line);
        secret_free(line);
    }
    for (size_t i = 0; i < c->as.n; i++)
        s->headers = curl_slist_append(s->headers, c->as.v[i]);
    s->generation = c->generation;
    s->accept = accept;
    s->is_patch = is_patch;
    curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->headers);
}

void kube_easy_aim(struct kube_easy *s, const struct kube_config *c,
                   const struct kube_easy_order *o)
{
    char *url = xasprintf("%s%s", c->server, o->path);
    bool is_get = !strcmp(o->method, "GET");

    set_headers(s, c, o->accept, !strcmp(o->method, "PATCH"));
    s->trouble[0] = '\0';
    curl_easy_setopt(s->easy, CURLOPT_URL, url);
    free(url);
    curl_easy_setopt(s->easy, CURLOPT_HTTPGET, 1L);
    if (!is_get) {
        const char *body = o->body ? o->body : "";

        curl_easy_setopt(s->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
        curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, body);
    }
    curl_easy_setopt(s->easy, CURLOPT_CUSTOMREQUEST, is_get ? NULL : o->method);
    curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, (long)(o->timeout_us / 1000));
    curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, o->ctx);
    curl_easy_setopt(s->easy, CURLOPT_PRIVATE, o->ctx);
}

bool kube_easy_was_sent(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION:
        return false;
    default:
        return true;
    }
}

bool kube_easy_is_lost(const struct kube_easy *s, CURLcode code)
{
    curl_off_t begun_us = 0; /* a transfer begins on a connection that is there, new or not */

    if (code == CURLE_OK || code == CURLE_WRITE_ERROR) /* we broke it off */
        return false;
    (void)curl_easy_getinfo(s->easy, CURLINFO_PRETRANSFER_TIME_T, &begun_us);
    return begun_us > 0;
}

bool kube_easy_is_refused(CURLcode code, long status)
{
    return code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE ||
           code == CURLE_PEER_FAILED_VERIFICATION || (code == CURLE_OK && status == 401);
}

void kube_easy_trouble(const struct kube_easy *s, CURLcode code, char *buf, size_t size)
{
    long os_errno = 0;

    (void)curl_easy_getinfo(s->easy, CURLINFO_OS_ERRNO, &os_errno);
    if (code == CURLE_COULDNT_CONNECT && os_errno == ECONNREFUSED)
        (void)str_copy(buf, size, "connection refused");
    else
        (void)str_copy(buf, size, s->trouble[0] ? s->trouble : curl_easy_strerror(code));
}
