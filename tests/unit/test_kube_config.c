/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_config.c - kubeconfigs and service account files, as they are found and as they go
 * wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kube/kube_config.h"
#include "util/log.h"
#include "util/mem.h"

static char dir[] = "/tmp/queued-test-config-XXXXXX";
static const char *const files[] = {"config", "ca.crt", "token", "cert", "key"};

/* "-----BEGIN X-----", which is enough of PEM here, and the same in base64 */
#define PEM      "-----BEGIN X-----"
#define PEM_DATA "LS0tLS1CRUdJTiBYLS0tLS0="

static char *put(const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static int load(struct kube_config *c, const char *text, struct err *err)
{
    char *path = put("config", text);
    int rc = kube_config_load(c, path, err);

    free(path);
    return rc;
}

static void load_well(struct kube_config *c, const char *text)
{
    struct err err = {0};

    if (load(c, text, &err))
        fail_msg("%s", err.text);
}

#define HEAD    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
#define CONTEXT "contexts: [{name: c, context: {cluster: s, user: u, namespace: x}}]\n"
#define CLUSTER "clusters: [{name: s, cluster: {server: 'https://h'}}]\n"
#define EXEC                                                                                       \
    "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./bin/plugin"

static void the_current_context_decides(void **state)
{
    struct kube_config c;

    (void)state;
    load_well(&c, HEAD "preferences: {}\nextensions: []\n"
                       "clusters: [{name: other, cluster: {server: 'https://other'}},\n"
                       "  {name: s, cluster: {server: 'https://h:6443/k8s/c-1/', "
                       "certificate-authority-data: " PEM_DATA ", unknown: [1, {a: b}]}}]\n" CONTEXT
                       "users: [{name: u, user: {token: secret}}]\n");
    assert_string_equal(c.server, "https://h:6443/k8s/c-1");
    assert_string_equal(c.ca, PEM);
    assert_string_equal(c.token, "secret");
    assert_true(c.is_tls);
    assert_null(c.exec);
    assert_null(c.proxy);
    kube_config_fini(&c);
}

static void json_is_a_kubeconfig_too(void **state)
{
    struct kube_config c;

    (void)state;
    load_well(&c, "{\"current-context\": \"c\", \"clusters\": [{\"name\": \"s\", \"cluster\": "
                  "{\"server\": \"https://h\"}}], \"contexts\": [{\"name\": \"c\", \"context\": "
                  "{\"cluster\": \"s\", \"user\": \"u\"}}], \"users\": [{\"name\": \"u\", "
                  "\"user\": {\"token\": \"t\"}}]}");
    assert_string_equal(c.token, "t");
    kube_config_fini(&c);
}

static void files_are_looked_for_beside_the_kubeconfig(void **state)
{
    struct kube_config c;

    (void)state;
    free(put("ca.crt", PEM "ca"));
    free(put("cert", PEM "cert"));
    free(put("key", PEM "key"));
    free(put("token", "first\n"));
    load_well(&c, HEAD "clusters: [{name: s, cluster: {server: 'https://h', "
                       "certificate-authority: ca.crt}}]\n" CONTEXT
                       "users: [{name: u, user: {client-certificate: cert, client-key: key, "
                       "token: unused, tokenFile: token}}]\n");
    assert_string_equal(c.ca, PEM "ca");
    assert_string_equal(c.cert, PEM "cert");
    assert_string_equal(c.key, PEM "key");
    assert_string_equal(c.token, "first");
    kube_config_fini(&c);
}

#define FILES                                                                                      \
    HEAD "clusters: [{name: s, cluster: {server: 'https://h', certificate-authority: "             \
         "ca.crt}}]\n" CONTEXT "users: [{name: u, user: {client-certificate: cert, client-key: "   \
         "key, tokenFile: token}}]\n"

static void files_that_change_are_read_again_and_counted(void **state)
{
    static const struct {
        const char *name, *text;
        bool is_new, is_tls;
    } rows[] = {
        {"token", "first\n", false, false}, {"token", "second\n", true, false},
        {"ca.crt", PEM "ca2", true, true},  {"cert", PEM "cert2", true, true},
        {"key", PEM "key2", true, true},    {"key", PEM "key2", false, false},
    };
    struct kube_config c;

    (void)state;
    free(put("ca.crt", PEM "ca"));
    free(put("cert", PEM "cert"));
    free(put("key", PEM "key"));
    free(put("token", "first"));
    load_well(&c, FILES);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t generation = c.generation, tls_generation = c.tls_generation;

        free(put(rows[i].name, rows[i].text));
        assert_int_equal(kube_config_refresh(&c), rows[i].is_new);
        assert_int_equal(c.generation > generation, rows[i].is_new);
        assert_int_equal(c.tls_generation > tls_generation, rows[i].is_tls);
    }
    assert_string_equal(c.token, "second");
    assert_string_equal(c.ca, PEM "ca2");
    assert_string_equal(c.cert, PEM "cert2");
    assert_string_equal(c.key, PEM "key2");
    kube_config_fini(&c);
}

static void a_file_that_is_broken_later_leaves_the_old_credentials(void **state)
{
    static const char *const names[] = {"token", "ca.crt", "cert", "key"};
    static const char *const texts[] = {"", "two words\nand lines", "\xff\x01"};
    struct kube_config c;

    (void)state;
    free(put("ca.crt", PEM "ca"));
    free(put("cert", PEM "cert"));
    free(put("key", PEM "key"));
    free(put("token", "first"));
    load_well(&c, FILES);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (size_t t = 0; t < ARRAY_LEN(texts); t++) {
            free(put(names[i], texts[t]));
            assert_false(kube_config_refresh(&c));
        }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = put(names[i], "");

        assert_int_equal(unlink(path), 0);
        assert_false(kube_config_refresh(&c));
        free(path);
    }
    assert_string_equal(c.token, "first");
    assert_string_equal(c.cert, PEM "cert");
    assert_string_equal(c.key, PEM "key");
    assert_string_equal(c.ca, PEM "ca");
    kube_config_fini(&c);
}

static void another_name_of_the_server_is_verified_and_its_host_connected(void **state)
{
    static const struct {
        const char *server, *want_server, *want_connect;
    } rows[] = {
        {"https://10.0.0.1:6443/p", "https://name:6443/p", "name:6443:10.0.0.1:6443"},
        {"https://10.0.0.1", "https://name", "name:443:10.0.0.1:443"},
        {"https://[::1]:6443", "https://name:6443", "name:6443:[::1]:6443"},
        {"https://[::1]", "https://name", "name:443:[::1]:443"},
    };
    struct kube_config c;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *text = xasprintf(HEAD "clusters: [{name: s, cluster: {server: '%s', tls-server-name: "
                                    "name}}]\n" CONTEXT "users: [{name: u, user: {}}]\n",
                               rows[i].server);

        load_well(&c, text);
        assert_string_equal(c.server, rows[i].want_server);
        assert_string_equal(c.connect_to, rows[i].want_connect);
        kube_config_fini(&c);
        free(text);
    }
}

static void proxies_of_the_cluster_are_taken(void **state)
{
    static const char *const proxies[] = {"http://p:3128", "https://user:pw@p", "socks5://[::1]:1",
                                          "socks5h://p"};
    struct kube_config c;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(proxies); i++) {
        char *text = xasprintf(HEAD "clusters: [{name: s, cluster: {server: 'https://h', "
                                    "proxy-url: '%s'}}]\n" CONTEXT "users: [{name: u, user: }]\n",
                               proxies[i]);

        load_well(&c, text);
        assert_string_equal(c.proxy, proxies[i]);
        kube_config_fini(&c);
        free(text);
    }
}

static void whom_we_act_as_is_in_the_headers(void **state)
{
    static const char *const want[] = {"Impersonate-User: system:serviceaccount:a:b",
                                       "Impersonate-Uid: 7",
                                       "Impersonate-Group: g1",
                                       "Impersonate-Group: g 2",
                                       "Impersonate-Extra-example.org%2Fscopes: x",
                                       "Impersonate-Extra-example.org%2Fscopes: y"};
    struct kube_config c;

    (void)state;
    load_well(&c, HEAD CLUSTER CONTEXT
              "users: [{name: u, user: {token: t, as: 'system:serviceaccount:a:b', as-uid: 7, "
              "as-groups: [g1, g 2], as-user-extra: {Example.org/Scopes: [x, y]}}}]\n");
    assert_int_equal(c.as.n, ARRAY_LEN(want));
    for (size_t i = 0; i < c.as.n; i++)
        assert_string_equal(c.as.v[i], want[i]);
    kube_config_fini(&c);
}

static void a_plugin_is_told_what_the_kubeconfig_says(void **state)
{
    struct kube_config c;
    char *command = xasprintf("%s/./bin/plugin", dir);

    (void)state;
    load_well(&c, HEAD
              "clusters: [{name: s, cluster: {server: 'https://h:1/', proxy-url: "
              "'http://p', certificate-authority-data: " PEM_DATA ", extensions: ["
              "{name: other, extension: 1},"
              "{name: client.authentication.k8s.io/exec, extension: {audience: 06f, n: -1.5e3, "
              "yes: true, q: 'true', deep: [{}, [], null, \"a\\\"b\"]}}]}}]\n" CONTEXT
              "users: [{name: u, user: {exec: {" EXEC ", args: [get, 1], env: [{name: A, "
              "value: b=c}, {name: E}], installHint: see the docs, provideClusterInfo: "
              "true}}}]\n");
    assert_non_null(c.exec);
    assert_string_equal(c.exec->command, command);
    assert_string_equal(c.exec->hint, "see the docs");
    assert_int_equal(c.exec->args.n, 2);
    assert_string_equal(c.exec->args.v[1], "1");
    assert_int_equal(c.exec->env.n, 3);
    assert_string_equal(c.exec->env.v[0], "A=b=c");
    assert_string_equal(c.exec->env.v[1], "E=");
    assert_string_equal(
        c.exec->env.v[2],
        "KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication."
        "k8s.io/v1\",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"https://h:1/\","
        "\"proxy-url\":\"http://p\",\"certificate-authority-data\":\"" PEM_DATA "\",\"config\":{"
        "\"audience\":\"06f\",\"n\":-1.5e3,\"yes\":true,\"q\":\"true\",\"deep\":[{},[],null,"
        "\"a\\\"b\"]}}}}");
    kube_config_fini(&c);
    free(command);
}

static void a_plugin_is_not_needed_beside_a_token(void **state)
{
    struct kube_config c;

    (void)state;
    load_well(&c, HEAD CLUSTER CONTEXT "users: [{name: u, user: {token: t, exec: {" EXEC "}}}]\n");
    assert_null(c.exec);
    assert_string_equal(c.token, "t");
    kube_config_fini(&c);
}

/* users[0].user begins at line 6 */
#define USER(x) HEAD CLUSTER CONTEXT "users: [{name: u, user: {" x "}}]\n"
#define CLUS(x) HEAD "clusters: [{name: s, cluster: {" x "}}]\n" CONTEXT

static const struct {
    const char *text, *want;
} broken[] = {
    {USER("auth-provider: {name: oidc}"), "config:6:41: users[0].user.auth-provider: this way"},
    {USER("username: a, password: b"), "config:6:36: users[0].user.username: this way"},
    {USER("password: b"), "users[0].user.password: this way"},
    {USER("client-certificate-data: " PEM_DATA), "needed together"},
    {USER("client-key-data: " PEM_DATA), "users[0].user.client-key: certificate and key"},
    {USER("client-key-data: '*'"), "users[0].user.client-key-data: is not base64"},
    {USER("client-key-data: Q0E="), "users[0].user.client-key-data: holds no PEM"},
    {USER("client-key: none"), "users[0].user.client-key: "},
    {USER("tokenFile: none"), "config:6:37: users[0].user.tokenFile: "},
    {USER("token: [t]"), "users[0].user.token: must be one text"},
    {USER("token: \"a\\nb\""), "users[0].user.token: is not one line"},
    {USER("as-groups: [g]"), "users[0].user.as-groups: says nothing without as"},
    {USER("as: \"a\\nX: y\""), "users[0].user.as: must be of one line"},
    {USER("as: a, as-groups: [\"a\\nX: y\"]"), "users[0].user.as-groups: must be of one line"},
    {USER("as: a, as-user-extra: [b]"), "users[0].user.as-user-extra: must be a map"},
    {USER("exec: [a]"), "users[0].user.exec: must be a map"},
    {USER("exec: {command: aws}"), "users[0].user.exec.apiVersion: must be client.auth"},
    {USER("exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: a}"), "update the"},
    {USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: a}"),
     "users[0].user.exec.interactiveMode: is missing"},
    {USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: a, interactiveMode: "
          "Always}"),
     "a daemon has none"},
    {USER("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: a, interactiveMode: "
          "Maybe}"),
     "must be Never or IfAvailable"},
    {USER("exec: {apiVersion: client.authentication.k8s.io/v1beta1}"), "exec.command: is missing"},
    {USER("exec: {" EXEC ", args: get}"), "users[0].user.exec.args: must be a list"},
    {USER("exec: {" EXEC ", env: {A: b}}"), "users[0].user.exec.env: must be a list"},
    {USER("exec: {" EXEC ", env: [{value: b}]}"), "users[0].user.exec.env: must be a list"},
    {USER("exec: {" EXEC ", provideClusterInfo: 1}"), "must be true or false"},
    {CLUS("server: 'https://h', proxy-url: 'ftp://p'"),
     "config:4:64: clusters[0].cluster.proxy-url: must begin with"},
    {CLUS("server: 'ftp://h'"), "config:4:40: clusters[0].cluster.server: must begin"},
    {CLUS("server: 'https://a:b@h'"), "clusters[0].cluster.server: holds a user name"},
    {CLUS("server: 'https://'"), "must be https://HOST:PORT"},
    {CLUS("server: 'https://h?x=y'"), "must be https://HOST:PORT"},
    {CLUS("server: 'https://h', tls-server-name: 'a b'"), "tls-server-name: must be a DNS name"},
    {CLUS("server: 'https://h', insecure-skip-tls-verify: yes"), "must be true or false"},
    {CLUS("server: 'https://h', certificate-authority-data: '*'"), "base64"},
    {CLUS("server: 'https://h', certificate-authority: none"), "No such file"},
    {CLUS("server: 'https://h', insecure-skip-tls-verify: true, "
          "certificate-authority-data: " PEM_DATA),
     "beside a certificate authority"},
    {HEAD "clusters: []\n" CONTEXT, "config:4:11: clusters: has no entry of the name"},
    {HEAD "clusters: {s: {}}\n" CONTEXT, "clusters: must be a list"},
    {HEAD "clusters: [{name: s}]\n" CONTEXT, "clusters[0].cluster.server: is missing"},
    {HEAD CLUSTER CONTEXT "users: []\n", "users: has no entry of the name"},
    {HEAD CLUSTER "contexts: []\n", "contexts: has no entry of the name"},
    {HEAD CLUSTER "contexts: [{name: c}]\n", "contexts[0].context.cluster: is missing"},
    {"kind: Config\n", "current-context: is missing"},
    {"- a\n", "must hold one kubeconfig"},
    {"", "must hold one kubeconfig"},
    {"a: b\n--- \nc: d\n", "must hold one kubeconfig"},
    {HEAD "clusters: [\n", "config:5:1: "},
};

static void what_is_broken_is_named_with_line_column_and_field(void **state)
{
    struct kube_config c;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct err err = {0};

        assert_int_equal(load(&c, broken[i].text, &err), -1);
        if (!strstr(err.text, broken[i].want))
            fail_msg("row %zu: \"%s\" does not say \"%s\"", i, err.text, broken[i].want);
    }
}

static void no_error_repeats_a_secret(void **state)
{
    static const char *const texts[] = {
        USER("token: \"S3cretS3cret\\nb\""),
        USER("token: [S3cretS3cret]"),
        USER("client-key-data: S3cretS3cret"),
        USER("client-key-data: 'S3cretS3cret*'"),
        USER("username: S3cretS3cret"),
        USER("password: S3cretS3cret"),
        USER("exec: {" EXEC ", env: [{name: A, value: [S3cretS3cret]}]}"),
        CLUS("server: 'https://a:S3cretS3cret@h'"),
        CLUS("server: 'https://h', proxy-url: 'ftp://a:S3cretS3cret@p'"),
        USER("token: &S3cretS3cret"),
        USER("token: S3cretS3cret: b"),
    };
    struct kube_config c;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = {0};

        assert_int_equal(load(&c, texts[i], &err), -1);
        if (strstr(err.text, "S3cret"))
            fail_msg("row %zu: \"%s\" tells the secret", i, err.text);
    }
}

static void a_pod_uses_its_service_account(void **state)
{
    struct kube_config c;
    struct err err = {0};

    (void)state;
    free(put("ca.crt", PEM "ca"));
    free(put("token", "mounted"));
    assert_int_equal(kube_config_in_cluster(&c, dir, "10.96.0.1", "443", &err), 0);
    assert_string_equal(c.server, "https://10.96.0.1:443");
    assert_string_equal(c.ca, PEM "ca");
    assert_string_equal(c.token, "mounted");
    free(put("token", "rotated"));
    free(put("ca.crt", PEM "ca2"));
    assert_true(kube_config_refresh(&c));
    assert_string_equal(c.token, "rotated");
    assert_string_equal(c.ca, PEM "ca2");
    kube_config_fini(&c);
    assert_int_equal(kube_config_in_cluster(&c, dir, "fd00::1", "443", &err), 0);
    assert_string_equal(c.server, "https://[fd00::1]:443");
    kube_config_fini(&c);
    assert_int_equal(kube_config_in_cluster(&c, dir, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "kubernetes.kubeconfig"));
    assert_int_equal(kube_config_in_cluster(&c, "/nonexistent", "h", "1", &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/token"));
}

static void the_folder_of_the_account_may_be_another(void **state)
{
    struct kube_config c;
    struct err err = {0};

    (void)state;
    free(put("ca.crt", PEM "ca"));
    free(put("token", "elsewhere"));
    assert_int_equal(setenv("QUEUED_SERVICE_ACCOUNT_DIR", dir, 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
    assert_int_equal(kube_config_load(&c, "", &err), 0);
    assert_string_equal(c.token, "elsewhere");
    kube_config_fini(&c);
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_int_equal(kube_config_load(&c, "", &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_current_context_decides),
        cmocka_unit_test(json_is_a_kubeconfig_too),
        cmocka_unit_test(files_are_looked_for_beside_the_kubeconfig),
        cmocka_unit_test(files_that_change_are_read_again_and_counted),
        cmocka_unit_test(a_file_that_is_broken_later_leaves_the_old_credentials),
        cmocka_unit_test(another_name_of_the_server_is_verified_and_its_host_connected),
        cmocka_unit_test(proxies_of_the_cluster_are_taken),
        cmocka_unit_test(whom_we_act_as_is_in_the_headers),
        cmocka_unit_test(a_plugin_is_told_what_the_kubeconfig_says),
        cmocka_unit_test(a_plugin_is_not_needed_beside_a_token),
        cmocka_unit_test(what_is_broken_is_named_with_line_column_and_field),
        cmocka_unit_test(no_error_repeats_a_secret),
        cmocka_unit_test(a_pod_uses_its_service_account),
        cmocka_unit_test(the_folder_of_the_account_may_be_another),
    };
    int failed;

    log_setup(LOG_LEVEL_ERROR, false);
    if (!mkdtemp(dir))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char *path = xasprintf("%s/%s", dir, files[i]);

        (void)unlink(path);
        free(path);
    }
    (void)rmdir(dir);
    return failed;
}
