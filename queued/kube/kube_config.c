/* SPDX-License-Identifier: Apache-2.0 */
/* kube_config.c - kubeconfig files and service account files.
 *
 * The walk is lax: kubectl writes keys that we do not know. Data beats the file of the same
 * thing, a token file beats a token. Relative paths are relative to the kubeconfig.
 */
#include "kube/kube_config.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/yaml.h"

enum { CREDENTIAL_BYTES_MAX = 1024 * 1024 };

struct reader {
    const struct yaml_doc *doc;
    const char *dir; /* of the kubeconfig, with a slash at the end; "" */
    struct err *err;
};

static int read_file(const char *path, char **ret, struct err *err)
{
    struct str text = {0};
    char buf[4096];
    size_t n;
    FILE *f = fopen(path, "re");

    if (!f)
        return err_set(err, errno == EACCES ? ERR_DENIED : ERR_NOT_FOUND, "%s cannot be read: %s",
                       path, strerror(errno));
    do {
        n = fread(buf, 1, sizeof(buf), f);
        str_add_bytes(&text, buf, n);
    } while (n && text.len <= CREDENTIAL_BYTES_MAX);
    (void)fclose(f); /* only read */
    if (!text.len || text.len > CREDENTIAL_BYTES_MAX || strlen(text.s) != text.len) {
        str_fini(&text);
        return err_set(err, ERR_INVALID, "%s is empty, too large or not text", path);
    }
    *ret = str_take(&text);
    return 0;
}

static void trim(char *s)
{
    size_t n = strlen(s);

    while (n && strchr(" \t\r\n", s[n - 1]))
        s[--n] = '\0';
}

static int read_token(const char *path, char **ret, struct err *err)
{
    char *token;

    if (read_file(path, &token, err))
        return -1;
    trim(token);
    if (!token[0] || strpbrk(token, "\r\n")) {
        free(token);
        return err_set(err, ERR_INVALID, "%s holds no token of one line", path);
    }
    *ret = token;
    return 0;
}

bool kube_config_refresh(struct kube_config *c)
{
    struct err err = {0};
    char *token;
    bool is_new;

    if (!c->token_file)
        return false;
    if (read_token(c->token_file, &token, &err)) {
        log_warn("token not read again, the old one stays in use", "err=\"%s\"", err.text);
        return false;
    }
    is_new = !c->token || strcmp(token, c->token) != 0;
    c->generation += is_new;
    free(c->token);
    c->token = token;
    return is_new;
}

void kube_config_fini(struct kube_config *c)
{
    free(c->server);
    free(c->connect_to);
    free(c->ca);
    free(c->cert);
    free(c->key);
    free(c->token);
    free(c->token_file);
    *c = (struct kube_config){0};
}

/* ---- kubeconfig */

static const char *text_of(const struct yaml_node *map, const char *key)
{
    const struct yaml_node *n = map ? yaml_get(map, key) : NULL;

    return n && n->kind == YAML_SCALAR && n->text[0] ? n->text : NULL;
}

static int fail_at(const struct reader *r, const struct yaml_node *node, const char *path,
                   const char *what)
{
    struct yaml_at at = {.doc = r->doc, .node = node, .path = path};

    return yaml_fail(&at, r->err, "%s", what);
}

/* The entry of a list of {name, <what>: {...}} with this name, or NULL. */
static const struct yaml_node *find_named(const struct yaml_node *root, const char *list,
                                          const char *what, const char *name)
{
    const struct yaml_node *items = yaml_get(root, list);

    if (!items || items->kind != YAML_LIST)
        return NULL;
    for (size_t i = 0; i < items->n; i++) {
        const char *have =
            items->items[i]->kind == YAML_MAP ? text_of(items->items[i], "name") : NULL;
        const struct yaml_node *found;

        if (!have || strcmp(have, name) != 0)
            continue;
        found = yaml_get(items->items[i], what);
        return found && found->kind == YAML_MAP ? found : NULL;
    }
    return NULL;
}

static char *resolve(const struct reader *r, const char *path)
{
    return path[0] == '/' ? xstrdup(path) : xasprintf("%s%s", r->dir, path);
}

/* PEM from key-data (base64) or from the file that key names; none is no error. */
static int read_pem(const struct reader *r, const struct yaml_node *map, const char *key,
                    char **ret)
{
    char data_key[64];
    const char *data, *file = text_of(map, key);
    size_t len = 0;
    char *bin, *path;
    int rc;

    (void)snprintf(data_key, sizeof(data_key), "%s-data", key);
    data = text_of(map, data_key);
    if (data) {
        bin = xcalloc(1, strlen(data) + 1);
        if (!sodium_base642bin((unsigned char *)bin, strlen(data), data, strlen(data), " \r\n\t",
                               &len, NULL, sodium_base64_VARIANT_ORIGINAL)) {
            bin[len] = '\0';
            *ret = bin;
            return 0;
        }
        free(bin);
        return fail_at(r, yaml_get(map, data_key), data_key, "is not base64; write the file anew");
    }
    if (!file)
        return 0;
    path = resolve(r, file);
    rc = read_file(path, ret, r->err);
    free(path);
    return rc;
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

static int read_cluster(struct kube_config *c, const struct reader *r, const struct yaml_node *m)
{
    const char *server = text_of(m, "server");
    const char *insecure = text_of(m, "insecure-skip-tls-verify");
    size_t n;

    if (text_of(m, "proxy-url"))
        return fail_at(r, yaml_get(m, "proxy-url"), "proxy-url",
                       "proxies are not supported; give a server that is reached directly");
    if (!server || (strncmp(server, "https://", 8) != 0 && strncmp(server, "http://", 7) != 0))
        return fail_at(r, m, "server", "must begin with https:// or http://");
    c->server = xstrdup(server);
    n = strlen(c->server);
    while (n && c->server[n - 1] == '/')
        c->server[--n] = '\0';
    c->is_tls = server[4] == 's';
    c->is_insecure = insecure && !strcmp(insecure, "true");
    if (read_pem(r, m, "certificate-authority", &c->ca))
        return -1;
    if (c->ca && c->is_insecure)
        return fail_at(r, yaml_get(m, "insecure-skip-tls-verify"), "insecure-skip-tls-verify",
                       "cannot be true beside a certificate authority; take one of them out");
    if (c->is_tls && text_of(m, "tls-server-name"))
        set_tls_name(c, text_of(m, "tls-server-name"));
    return 0;
}

static int read_user(struct kube_config *c, const struct reader *r, const struct yaml_node *m)
{
    static const char *const refused[] = {"exec", "auth-provider", "as", "username"};
    const char *file = text_of(m, "tokenFile"), *token = text_of(m, "token");

    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (yaml_get(m, refused[i]))
            return fail_at(r, yaml_get(m, refused[i]), refused[i],
                           "this way to log in is not supported; use a client certificate, "
                           "a token or a tokenFile");
    if (read_pem(r, m, "client-certificate", &c->cert) || read_pem(r, m, "client-key", &c->key))
        return -1;
    if (!c->cert != !c->key)
        return fail_at(r, m, "client-certificate", "certificate and key are needed together");
    if (file) {
        c->token_file = resolve(r, file);
        return read_token(c->token_file, &c->token, r->err);
    }
    if (token)
        c->token = xstrdup(token);
    return 0;
}

static int read_root(struct kube_config *c, const struct reader *r, const struct yaml_node *root)
{
    const char *name = root->kind == YAML_MAP ? text_of(root, "current-context") : NULL;
    const struct yaml_node *context, *cluster, *user;

    if (!name)
        return fail_at(r, root, "current-context",
                       "is missing; choose one with kubectl config "
                       "use-context");
    context = find_named(root, "contexts", "context", name);
    if (!context)
        return fail_at(r, root, "contexts", "has no entry of the name in current-context");
    name = text_of(context, "cluster");
    cluster = name ? find_named(root, "clusters", "cluster", name) : NULL;
    if (!cluster)
        return fail_at(r, context, "clusters", "has no entry of the name that the context gives");
    if (read_cluster(c, r, cluster))
        return -1;
    name = text_of(context, "user");
    user = name ? find_named(root, "users", "user", name) : NULL;
    /* an entry without content is what kubectl writes for an open server */
    return user ? read_user(c, r, user) : 0;
}

int kube_config_in_cluster(struct kube_config *ret, const char *dir, const char *host,
                           const char *port, struct err *err)
{
    struct kube_config c = {.is_tls = true};
    char *ca = xasprintf("%s/ca.crt", dir);
    int rc = -1;

    c.token_file = xasprintf("%s/token", dir);
    if (!host || !host[0] || !port || !port[0]) {
        err_set(err, ERR_INVALID,
                "no kubeconfig is configured and this is no pod (KUBERNETES_SERVICE_HOST is not "
                "set); set kubernetes.kubeconfig");
    } else if (!read_token(c.token_file, &c.token, err) && !read_file(ca, &c.ca, err)) {
        c.server = strchr(host, ':') ? xasprintf("https://[%s]:%s", host, port)
                                     : xasprintf("https://%s:%s", host, port);
        rc = 0;
    }
    free(ca);
    if (rc)
        kube_config_fini(&c);
    else
        *ret = c;
    return rc;
}

int kube_config_load(struct kube_config *ret, const char *path, struct err *err)
{
    struct kube_config c = {0};
    struct yaml_doc *doc;
    const char *slash = strrchr(path, '/');
    char *dir;
    struct reader r;
    int rc;

    if (!path[0])
        return kube_config_in_cluster(ret, "/var/run/secrets/kubernetes.io/serviceaccount",
                                      getenv("KUBERNETES_SERVICE_HOST"),
                                      getenv("KUBERNETES_SERVICE_PORT"), err);
    if (yaml_parse_file(&doc, path, err))
        return -1;
    dir = slash ? xasprintf("%.*s", (int)(slash - path + 1), path) : xstrdup("");
    r = (struct reader){.doc = doc, .dir = dir, .err = err};
    rc = doc->n == 1 ? read_root(&c, &r, doc->roots[0])
                     : err_set(err, ERR_INVALID, "%s: must hold one document", path);
    free(dir);
    yaml_destroy(doc);
    if (rc)
        kube_config_fini(&c);
    else
        *ret = c;
    return rc;
}
