/* SPDX-License-Identifier: Apache-2.0 */
/* kube_config_exec.c - the field exec of a kubeconfig's user: which plugin, with what arguments,
 * environment and knowledge of the cluster.
 *
 * What is wrong is found here, before a plugin runs. Running it: kube_exec.h.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_exec.h"
#include "kube/kube_section.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"

#define CLUSTER_EXTENSION "client.authentication.k8s.io/exec"

void exec_plugin_destroy(struct exec_plugin *p)
{
    if (!p)
        return;
    free(p->command);
    free(p->api_version);
    free(p->hint);
    kube_words_fini(&p->args);
    kube_words_fini(&p->env);
    free(p);
}

/* A number as JSON writes it. */
static bool is_number(const char *s)
{
    size_t n;

    s += *s == '-';
    n = strspn(s, "0123456789");
    if (!n || (n > 1 && s[0] == '0'))
        return false;
    s += n;
    if (*s == '.') {
        n = strspn(s + 1, "0123456789");
        s += n ? n + 1 : 0;
    }
    if (*s == 'e' || *s == 'E') {
        size_t sign = s[1] == '+' || s[1] == '-';

        n = strspn(s + 1 + sign, "0123456789");
        s += n ? n + 1 + sign : 0;
    }
    return !*s;
}

static void add_scalar(struct str *out, const struct yaml_node *n)
{
    bool is_plain = !n->is_quoted &&
                    (!strcmp(n->text, "true") || !strcmp(n->text, "false") || is_number(n->text));

    if (n->kind == YAML_NULL)
        str_add(out, "null");
    else if (is_plain)
        str_add(out, n->text);
    else
        str_add_json(out, n->text);
}

/* A tree of YAML as JSON; its depth is bounded by the parser. */
static void add_tree(struct str *out, const struct yaml_node *root)
{
    struct {
        const struct yaml_node *node;
        size_t i; /* next child */
    } stack[YAML_DEPTH_MAX + 2], *top;
    size_t depth = 0;
    const struct yaml_node *n = root;

    do {
        if (n && (n->kind == YAML_MAP || n->kind == YAML_LIST)) {
            str_add(out, n->kind == YAML_MAP ? "{" : "[");
            stack[depth].node = n;
            stack[depth++].i = 0;
        } else if (n) {
            add_scalar(out, n);
        }
        if (!depth)
            return;
        top = &stack[depth - 1];
        n = NULL;
        if (top->i == top->node->n) {
            str_add(out, top->node->kind == YAML_MAP ? "}" : "]");
            depth--;
            continue;
        }
        str_add(out, top->i ? "," : "");
        if (top->node->kind == YAML_MAP) {
            str_add_json(out, top->node->keys[top->i]->text);
            str_add(out, ":");
        }
        n = top->node->items[top->i++];
    } while (depth);
}

static void add_field(struct str *out, const char *name, const char *value)
{
    if (!value)
        return;
    str_addf(out, ",\"%s\":", name);
    str_add_json(out, value);
}

static int add_cluster(struct str *out, const struct section *s, const char *ca)
{
    const char *server, *tls_name, *proxy;
    const struct yaml_node *extensions = yaml_get(s->map, "extensions");
    bool is_insecure;

    if (section_text(s, "server", &server) || section_text(s, "tls-server-name", &tls_name) ||
        section_text(s, "proxy-url", &proxy) ||
        section_bool(s, "insecure-skip-tls-verify", &is_insecure))
        return -1;
    str_add(out, ",\"cluster\":{\"server\":");
    str_add_json(out, server);
    add_field(out, "tls-server-name", tls_name);
    add_field(out, "proxy-url", proxy);
    if (is_insecure)
        str_add(out, ",\"insecure-skip-tls-verify\":true");
    if (ca) {
        size_t len = sodium_base64_ENCODED_LEN(strlen(ca), sodium_base64_VARIANT_ORIGINAL);
        char *text = xmalloc(len);

        add_field(out, "certificate-authority-data",
                  sodium_bin2base64(text, len, (const unsigned char *)ca, strlen(ca),
                                    sodium_base64_VARIANT_ORIGINAL));
        free(text);
    }
    for (size_t i = 0; extensions && extensions->kind == YAML_LIST && i < extensions->n; i++) {
        const struct yaml_node *name = yaml_get(extensions->items[i], "name");
        const struct yaml_node *what = yaml_get(extensions->items[i], "extension");

        if (!name || name->kind != YAML_SCALAR || strcmp(name->text, CLUSTER_EXTENSION) != 0 ||
            !what)
            continue;
        str_add(out, ",\"config\":");
        add_tree(out, what);
        break;
    }
    str_add(out, "}");
    return 0;
}

/* KUBERNETES_EXEC_INFO, which tells the plugin what is asked of it. */
static int add_info(struct exec_plugin *p, const struct section *exec,
                    const struct section *cluster, const char *ca)
{
    struct str info = {0};
    bool with_cluster;

    if (section_bool(exec, "provideClusterInfo", &with_cluster))
        return -1;
    str_addf(&info,
             EXEC_INFO "={\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",\"spec\":{"
                       "\"interactive\":false",
             p->api_version);
    if (with_cluster && add_cluster(&info, cluster, ca)) {
        str_fini(&info);
        return -1;
    }
    str_add(&info, "}}");
    *vec_push(&p->env) = str_take(&info);
    return 0;
}

static int read_env(struct exec_plugin *p, const struct section *exec)
{
    const struct yaml_node *list = yaml_get(exec->map, "env");

    if (!list || list->kind == YAML_NULL)
        return 0;
    if (list->kind != YAML_LIST)
        return section_fail(exec, "env", "must be a list of name and value");
    for (size_t i = 0; i < list->n; i++) {
        const struct yaml_node *name = yaml_get(list->items[i], "name");
        const struct yaml_node *value = yaml_get(list->items[i], "value");

        if (!name || name->kind != YAML_SCALAR || !name->text[0] || strchr(name->text, '=') ||
            (value && value->kind != YAML_SCALAR && value->kind != YAML_NULL))
            return section_fail(exec, "env", "must be a list of name and value");
        *vec_push(&p->env) = xasprintf("%s=%s", name->text, value ? value->text : "");
    }
    return 0;
}

static int check_protocol(const struct section *exec, const char *version)
{
    static const char prefix[] = "client.authentication.k8s.io/";
    bool is_v1 = version && !strcmp(version, "client.authentication.k8s.io/v1");
    const char *mode;

    if (!is_v1 && (!version || strcmp(version, "client.authentication.k8s.io/v1beta1") != 0))
        return section_fail(exec, "apiVersion",
                            version && !strncmp(version, prefix, sizeof(prefix) - 1)
                                ? "is too old or too new: v1 and v1beta1 are known; update the "
                                  "plugin or its entry"
                                : "must be client.authentication.k8s.io/v1 or .../v1beta1");
    if (section_text(exec, "interactiveMode", &mode))
        return -1;
    if (!mode && is_v1)
        return section_fail(exec, "interactiveMode", "is missing; set it to Never");
    if (mode && !strcmp(mode, "Always"))
        return section_fail(exec, "interactiveMode",
                            "Always needs a person at a terminal, and a daemon has none; set it to "
                            "Never or IfAvailable if the plugin can do without");
    if (mode && strcmp(mode, "Never") != 0 && strcmp(mode, "IfAvailable") != 0)
        return section_fail(exec, "interactiveMode", "must be Never or IfAvailable");
    return 0;
}

/* With a slash: relative to the kubeconfig, else looked for in PATH. */
static char *command_path(const struct section *exec, const char *command)
{
    char *path, *whole;

    if (!strchr(command, '/'))
        return xstrdup(command);
    path = section_file(exec, command);
    whole = realpath(path, NULL);
    if (!whole)
        return path; /* running it will say what is wrong */
    free(path);
    return whole;
}

int exec_plugin_read(struct exec_plugin **ret, const struct section *exec,
                     const struct section *cluster, const char *ca)
{
    struct exec_plugin *p = NULL;
    const char *command, *version, *hint;

    if (section_text(exec, "command", &command) || section_text(exec, "apiVersion", &version) ||
        section_text(exec, "installHint", &hint) || check_protocol(exec, version))
        return -1;
    if (!command)
        return section_fail(exec, "command", "is missing");
    p = xcalloc(1, sizeof(*p));
    p->command = command_path(exec, command);
    p->api_version = xstrdup(version);
    p->hint = hint ? xstrdup(hint) : NULL;
    if (section_list(exec, "args", "", &p->args) || read_env(p, exec) ||
        add_info(p, exec, cluster, ca)) {
        exec_plugin_destroy(p);
        return -1;
    }
    *ret = p;
    return 0;
}
