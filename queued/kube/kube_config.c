/* SPDX-License-Identifier: Apache-2.0 */
/* kube_config.c - kubeconfig files and service account files.
 *
 * The walk is lax: kubectl writes keys that we do not know. Data beats the file of the same
 * thing, a token file beats a token, and both beat a plugin. Relative paths are relative to the
 * kubeconfig.
 */
#include "kube/kube_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_secret.h"
#include "kube/kube_section.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/yaml.h"

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

bool kube_config_replace(struct kube_config *c, char *token, char *cert, char *key)
{
    bool is_new_tls = !secret_equal(c->cert, cert) || !secret_equal(c->key, key);
    bool is_new = is_new_tls || !secret_equal(c->token, token);

    secret_free(c->token);
    secret_free(c->cert);
    secret_free(c->key);
    c->token = token;
    c->cert = cert;
    c->key = key;
    c->generation += is_new;
    c->tls_generation += is_new_tls;
    return is_new;
}

static char *copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

/* Once, until all can be read again: a server that refuses us makes us look often. */
static bool warn_old(struct kube_config *c, const struct err *err)
{
    if (!c->has_warned)
        log_warn("credentials not read again, the old ones stay in use", "err=\"%s\"", err->text);
    c->has_warned = true;
    return false;
}

/* Certificate and key of one moment: a folder may be swapped between the two. */
static bool read_pair(struct kube_config *c, char **ret_cert, char **ret_key)
{
    char *cert = NULL, *key = NULL, *cert_after = NULL;
    struct err err = {0};
    bool ok = !secret_read_pem(c->cert_file, &cert, &err) &&
              !secret_read_pem(c->key_file, &key, &err) &&
              !secret_read_pem(c->cert_file, &cert_after, &err);

    if (!ok)
        (void)warn_old(c, &err);
    else if (!secret_equal(cert, cert_after))
        ok = false; /* the next reading finds them at rest */
    secret_free(cert_after);
    if (ok) {
        *ret_cert = cert;
        *ret_key = key;
        return true;
    }
    secret_free(cert);
    secret_free(key);
    return false;
}

static bool refresh_ca(struct kube_config *c, bool *ok)
{
    struct err err = {0};
    bool is_new;
    char *ca;

    if (!c->ca_file)
        return false;
    if (secret_read_pem(c->ca_file, &ca, &err)) {
        *ok = false;
        return warn_old(c, &err);
    }
    is_new = !secret_equal(ca, c->ca);
    secret_free(c->ca);
    c->ca = ca;
    c->generation += is_new;
    c->tls_generation += is_new;
    return is_new;
}

bool kube_config_refresh(struct kube_config *c)
{
    char *token = NULL, *cert = NULL, *key = NULL;
    struct err err = {0};
    bool ok = true, is_new = refresh_ca(c, &ok);

    if (c->token_file && secret_read_token(c->token_file, &token, &err))
        ok = warn_old(c, &err);
    if (c->cert_file)
        ok &= read_pair(c, &cert, &key);
    if (ok)
        c->has_warned = false;
    if (!token)
        token = copy(c->token);
    if (!cert) {
        cert = copy(c->cert);
        key = copy(c->key);
    }
    is_new |= kube_config_replace(c, token, cert, key);
    if (is_new)
        log_info("credentials read again, new ones are in use", "err=none");
    return is_new;
}

void kube_config_fini(struct kube_config *c)
{
    free(c->server);
    free(c->connect_to);
    secret_free(c->proxy);
    secret_free(c->ca);
    secret_free(c->cert);
    secret_free(c->key);
    secret_free(c->token);
    free(c->ca_file);
    free(c->cert_file);
    free(c->key_file);
    free(c->token_file);
    kube_words_fini(&c->as);
    exec_plugin_destroy(c->exec);
    *c = (struct kube_config){0};
}

/* ---- kubeconfig */

/* A file of the kubeconfig that cannot be used: the error gets its place. */
static int fail_file(const struct section *s, const char *key, const struct err *why)
{
    (void)section_fail(s, key, why->text);
    if (s->err)
        s->err->code = why->code;
    return -1;
}

/* PEM from KEY-data (base64) or from the file that KEY names; none is no error. */
static int read_pem(const struct section *s, const char *key, char **ret, char **ret_file)
{
    char data_key[64];
    const char *data, *file;
    struct err why = {0};
    char *path;

    (void)snprintf(data_key, sizeof(data_key), "%s-data", key);
    if (section_text(s, data_key, &data) || section_text(s, key, &file))
        return -1;
    if (data) {
        if (!secret_decode(data, ret))
            return section_fail(s, data_key, "is not base64 of text; write the file anew");
        return secret_is_pem(*ret) ? 0 : section_fail(s, data_key, "holds no PEM block");
    }
    if (!file)
        return 0;
    path = section_file(s, file);
    if (secret_read_pem(path, ret, &why)) {
        free(path);
        return fail_file(s, key, &why);
    }
    *ret_file = path;
    return 0;
}

/* tls-server-name: the URL carries the name, CONNECT_TO the real host. */
static void set_tls_name(struct kube_config *c, const char *name)
{
    const char *host = c->server + strlen("https://");
    size_t host_len = strcspn(host, "/");
    const char *colon = memrchr(host, ':', host_len);
    const char *bracket = memrchr(host, ']', host_len);
    size_t name_len;
    char *old = c->server;

    if (colon && bracket && colon < bracket)
        colon = NULL;
    name_len = colon ? (size_t)(colon - host) : host_len;
    c->connect_to = colon ? xasprintf("%s:%.*s:%.*s", name, (int)(host_len - name_len - 1),
                                      colon + 1, (int)host_len, host)
                          : xasprintf("%s:443:%.*s:443", name, (int)host_len, host);
    c->server = xasprintf("https://%s%s", name, host + name_len);
    free(old);
}

static int read_server(struct kube_config *c, const struct section *s)
{
    const char *server, *host;
    size_t n;

    if (section_text(s, "server", &server))
        return -1;
    if (!server || (strncmp(server, "https://", 8) != 0 && strncmp(server, "http://", 7) != 0))
        return section_fail(s, "server", "must begin with https:// or http://");
    host = strstr(server, "://") + 3;
    n = strcspn(host, "/?#");
    if (!n || host[n] == '?' || host[n] == '#' || strcspn(server, " \t\n") < strlen(server))
        return section_fail(s, "server", "must be https://HOST:PORT, perhaps with a path");
    if (memchr(host, '@', n))
        return section_fail(s, "server",
                            "holds a user name; put a token or a certificate into users");
    c->server = xstrdup(server);
    n = strlen(c->server);
    while (n && c->server[n - 1] == '/')
        c->server[--n] = '\0';
    c->is_tls = server[4] == 's';
    return 0;
}

static int read_proxy(struct kube_config *c, const struct section *s)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    const char *proxy;

    if (section_text(s, "proxy-url", &proxy))
        return -1;
    if (!proxy)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (!strncmp(proxy, schemes[i], strlen(schemes[i])) && secret_is_token(proxy)) {
            c->proxy = xstrdup(proxy);
            return 0;
        }
    return section_fail(s, "proxy-url",
                        "must begin with http://, https://, socks5:// or socks5h://");
}

static int read_cluster(struct kube_config *c, const struct section *s)
{
    const char *name;

    if (!s->map)
        return section_fail(s, "server", "is missing");
    if (read_server(c, s) || read_proxy(c, s) ||
        section_bool(s, "insecure-skip-tls-verify", &c->is_insecure) ||
        read_pem(s, "certificate-authority", &c->ca, &c->ca_file) ||
        section_text(s, "tls-server-name", &name))
        return -1;
    if (c->ca && c->is_insecure)
        return section_fail(s, "insecure-skip-tls-verify",
                            "cannot be true beside a certificate authority; take one of them out");
    if (name && !str_is_dns_subdomain(name))
        return section_fail(s, "tls-server-name", "must be a DNS name in lower case");
    if (c->is_tls && name)
        set_tls_name(c, name);
    return 0;
}

/* A header value must not begin another header. */
static int add_header(struct kube_config *c, const struct section *s, const char *key, char *line)
{
    for (const char *p = line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            free(line);
            return section_fail(s, key, "must be of one line");
        }
    *vec_push(&c->as) = line;
    return 0;
}

static int read_extra(struct kube_config *c, const struct section *s)
{
    struct section extra;

    if (section_map(s, "as-user-extra", &extra))
        return -1;
    for (size_t i = 0; extra.map && i < extra.map->n; i++) {
        struct kube_words values = {0};
        struct str name = {0};
        int rc = section_list(&extra, extra.map->keys[i]->text, "", &values);

        for (const char *p = extra.map->keys[i]->text; *p; p++) {
            char lower = *p >= 'A' && *p <= 'Z' ? (char)(*p + ('a' - 'A')) : *p;

            if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') ||
                strchr("-._", lower))
                str_add_bytes(&name, &lower, 1);
            else
                str_addf(&name, "%%%02X", (unsigned char)lower);
        }
        for (size_t v = 0; v < values.n && !rc; v++)
            rc = add_header(c, &extra, extra.map->keys[i]->text,
                            xasprintf("Impersonate-Extra-%s: %s", str_text(&name), values.v[v]));
        str_fini(&name);
        kube_words_fini(&values);
        if (rc)
            return -1;
    }
    return 0;
}

static int read_as(struct kube_config *c, const struct section *s)
{
    static const char *const need[] = {"as-uid", "as-groups", "as-user-extra"};
    struct kube_words groups = {0};
    const char *as, *uid;
    int rc;

    if (section_text(s, "as", &as) || section_text(s, "as-uid", &uid))
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(need) && !as; i++)
        if (yaml_get(s->map, need[i]))
            return section_fail(s, need[i], "says nothing without as: whom do we act as?");
    if (!as)
        return 0;
    rc = add_header(c, s, "as", xasprintf("Impersonate-User: %s", as));
    if (!rc && uid)
        rc = add_header(c, s, "as-uid", xasprintf("Impersonate-Uid: %s", uid));
    if (!rc)
        rc = section_list(s, "as-groups", "Impersonate-Group: ", &groups);
    for (size_t i = 0; i < groups.n && !rc; i++)
        rc = add_header(c, s, "as-groups", xstrdup(groups.v[i]));
    kube_words_fini(&groups);
    return rc ? rc : read_extra(c, s);
}

static int read_token(struct kube_config *c, const struct section *s)
{
    const char *file, *token;
    struct err why = {0};

    if (section_text(s, "tokenFile", &file) || section_text(s, "token", &token))
        return -1;
    if (file) {
        c->token_file = section_file(s, file);
        return secret_read_token(c->token_file, &c->token, &why) ? fail_file(s, "tokenFile", &why)
                                                                 : 0;
    }
    if (token && !secret_is_token(token))
        return section_fail(s, "token", "is not one line without blanks");
    c->token = copy(token);
    return 0;
}

static int read_user(struct kube_config *c, const struct section *s, const struct section *cluster)
{
    static const char *const refused[] = {"auth-provider", "username", "password"};
    struct section exec;

    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (yaml_get(s->map, refused[i]))
            return section_fail(s, refused[i],
                                "this way to log in is not supported; use a client certificate, a "
                                "token, a tokenFile or an exec plugin");
    if (read_pem(s, "client-certificate", &c->cert, &c->cert_file) ||
        read_pem(s, "client-key", &c->key, &c->key_file))
        return -1;
    if (!c->cert != !c->key)
        return section_fail(s, c->cert ? "client-certificate" : "client-key",
                            "certificate and key are needed together");
    if (!c->cert_file != !c->key_file) { /* one of them is data: nothing to read again */
        free(c->cert_file);
        free(c->key_file);
        c->cert_file = c->key_file = NULL;
    }
    if (read_token(c, s) || read_as(c, s) || section_map(s, "exec", &exec))
        return -1;
    if (exec.map && exec_plugin_read(&c->exec, &exec, cluster, c->ca))
        return -1;
    if (c->exec && (c->token || c->cert)) {
        exec_plugin_destroy(c->exec);
        c->exec = NULL;
    }
    return 0;
}

static int read_root(struct kube_config *c, const struct section *root)
{
    const char *context_name, *name;
    struct section context, cluster, user;

    if (section_text(root, "current-context", &context_name))
        return -1;
    if (!context_name)
        return section_fail(root, "current-context",
                            "is missing; choose one with kubectl config use-context");
    if (section_named(root, "contexts", "context", context_name, &context))
        return -1;
    if (section_text(&context, "cluster", &name))
        return -1;
    if (!name)
        return section_fail(&context, "cluster", "is missing");
    if (section_named(root, "clusters", "cluster", name, &cluster) || read_cluster(c, &cluster) ||
        section_text(&context, "user", &name))
        return -1;
    if (!name)
        return 0;
    if (section_named(root, "users", "user", name, &user))
        return -1;
    /* an entry without content is what kubectl writes for an open server */
    return user.map ? read_user(c, &user, &cluster) : 0;
}

int kube_config_in_cluster(struct kube_config *ret, const char *dir, const char *host,
                           const char *port, struct err *err)
{
    struct kube_config c = {.is_tls = true};

    if (!host || !host[0] || !port || !port[0])
        return err_set(err, ERR_INVALID,
                       "no kubeconfig is configured and this is no pod (KUBERNETES_SERVICE_HOST is "
                       "not set); set kubernetes.kubeconfig");
    c.token_file = xasprintf("%s/token", dir);
    c.ca_file = xasprintf("%s/ca.crt", dir);
    c.server = strchr(host, ':') ? xasprintf("https://[%s]:%s", host, port)
                                 : xasprintf("https://%s:%s", host, port);
    if (secret_read_token(c.token_file, &c.token, err) || secret_read_pem(c.ca_file, &c.ca, err)) {
        kube_config_fini(&c);
        return err_wrap(err, "the service account of this pod (does the pod mount its token?)");
    }
    *ret = c;
    return 0;
}

int kube_config_load(struct kube_config *ret, const char *path, struct err *err)
{
    struct kube_config c = {0};
    struct section root = {.err = err};
    struct yaml_doc *doc;
    const char *slash = strrchr(path, '/'), *account = getenv("QUEUED_SERVICE_ACCOUNT_DIR");
    char *dir;
    int rc;

    if (!path[0])
        return kube_config_in_cluster(ret, account && account[0] ? account : ACCOUNT_DIR,
                                      getenv("KUBERNETES_SERVICE_HOST"),
                                      getenv("KUBERNETES_SERVICE_PORT"), err);
    if (yaml_parse_file(&doc, path, err))
        return -1;
    dir = slash ? xasprintf("%.*s", (int)(slash - path + 1), path) : xstrdup("");
    root.doc = doc;
    root.dir = dir;
    root.map = doc->n ? doc->roots[0] : NULL;
    rc = doc->n == 1 && root.map->kind == YAML_MAP
             ? read_root(&c, &root)
             : err_set(err, ERR_INVALID, "%s: must hold one kubeconfig, a map", path);
    free(dir);
    yaml_destroy(doc);
    if (rc)
        kube_config_fini(&c);
    else
        *ret = c;
    return rc;
}
