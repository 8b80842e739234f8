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

#define HEAD    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
#define CONTEXT "contexts: [{name: c, context: {cluster: s, user: u, namespace: x}}]\n"

static void the_current_context_decides(void **state)
{
    struct kube_config c;
    struct err err = {0};

    (void)state;
    assert_int_equal(load(&c,
                          HEAD "preferences: {}\nextensions: []\n"
                               "clusters: [{name: other, cluster: {server: 'https://other'}},\n"
                               "  {name: s, cluster: {server: 'https://h:6443/k8s/c-1/', "
                               "certificate-authority-data: Q0E=}}]\n" CONTEXT
                               "users: [{name: u, user: {token: secret}}]\n",
                          &err),
                     0);
    assert_string_equal(c.server, "https://h:6443/k8s/c-1");
    assert_string_equal(c.ca, "CA");
    assert_string_equal(c.token, "secret");
    assert_true(c.is_tls);
    kube_config_fini(&c);
}

static void files_are_looked_for_beside_the_kubeconfig(void **state)
{
    struct kube_config c;
    struct err err = {0};

    (void)state;
    free(put("ca.crt", "the ca"));
    free(put("cert", "the cert"));
    free(put("key", "the key"));
    free(put("token", "first\n"));
    assert_int_equal(load(&c,
                          HEAD
                          "clusters: [{name: s, cluster: {server: 'https://h', "
                          "certificate-authority: ca.crt}}]\n" CONTEXT
                          "users: [{name: u, user: {client-certificate: cert, client-key: key, "
                          "token: unused, tokenFile: token}}]\n",
                          &err),
                     0);
    assert_string_equal(c.ca, "the ca");
    assert_string_equal(c.cert, "the cert");
    assert_string_equal(c.key, "the key");
    assert_string_equal(c.token, "first");
    assert_false(kube_config_refresh(&c));
    free(put("token", "second\n"));
    assert_true(kube_config_refresh(&c));
    assert_string_equal(c.token, "second");
    free(put("token", ""));
    assert_false(kube_config_refresh(&c));
    assert_string_equal(c.token, "second");
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
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *text = xasprintf(HEAD "clusters: [{name: s, cluster: {server: '%s', tls-server-name: "
                                    "name}}]\n" CONTEXT "users: []\n",
                               rows[i].server);

        assert_int_equal(load(&c, text, &err), 0);
        assert_string_equal(c.server, rows[i].want_server);
        assert_string_equal(c.connect_to, rows[i].want_connect);
        kube_config_fini(&c);
        free(text);
    }
}

static void what_we_cannot_use_is_refused_with_a_sentence(void **state)
{
#define CLUSTER "clusters: [{name: s, cluster: {server: 'https://h'}}]\n"
    static const struct {
        const char *text, *want;
    } rows[] = {
        {HEAD CLUSTER CONTEXT "users: [{name: u, user: {exec: {command: aws}}}]\n",
         "not supported"},
        {HEAD CLUSTER CONTEXT "users: [{name: u, user: {auth-provider: {name: oidc}}}]\n",
         "not supported"},
        {HEAD CLUSTER CONTEXT "users: [{name: u, user: {client-certificate-data: Q0E=}}]\n",
         "needed together"},
        {HEAD
         "clusters: [{name: s, cluster: {server: 'https://h', proxy-url: 'http://p'}}]\n" CONTEXT,
         "prox"},
        {HEAD "clusters: [{name: s, cluster: {server: 'ftp://h'}}]\n" CONTEXT, "https://"},
        {HEAD "clusters: [{name: s, cluster: {server: 'https://h', "
              "certificate-authority-data: '*'}}]\n" CONTEXT,
         "base64"},
        {HEAD "clusters: [{name: s, cluster: {server: 'https://h', insecure-skip-tls-verify: true, "
              "certificate-authority-data: Q0E=}}]\n" CONTEXT,
         "beside a certificate authority"},
        {HEAD "clusters: []\n" CONTEXT, "clusters"},
        {HEAD CLUSTER "contexts: []\n", "current-context"},
        {"kind: Config\n", "current-context"},
    };
    struct kube_config c;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};

        assert_int_equal(load(&c, rows[i].text, &err), -1);
        if (!strstr(err.text, rows[i].want))
            fail_msg("row %zu: \"%s\" does not say \"%s\"", i, err.text, rows[i].want);
    }
}

static void a_pod_uses_its_service_account(void **state)
{
    struct kube_config c;
    struct err err = {0};

    (void)state;
    free(put("ca.crt", "the ca"));
    free(put("token", "mounted"));
    assert_int_equal(kube_config_in_cluster(&c, dir, "10.96.0.1", "443", &err), 0);
    assert_string_equal(c.server, "https://10.96.0.1:443");
    assert_string_equal(c.ca, "the ca");
    assert_string_equal(c.token, "mounted");
    kube_config_fini(&c);
    assert_int_equal(kube_config_in_cluster(&c, dir, "fd00::1", "443", &err), 0);
    assert_string_equal(c.server, "https://[fd00::1]:443");
    kube_config_fini(&c);
    assert_int_equal(kube_config_in_cluster(&c, dir, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "kubernetes.kubeconfig"));
    assert_int_equal(kube_config_in_cluster(&c, "/nonexistent", "h", "1", &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_current_context_decides),
        cmocka_unit_test(files_are_looked_for_beside_the_kubeconfig),
        cmocka_unit_test(another_name_of_the_server_is_verified_and_its_host_connected),
        cmocka_unit_test(what_we_cannot_use_is_refused_with_a_sentence),
        cmocka_unit_test(a_pod_uses_its_service_account),
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
