/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_exec.c - credential plugins as they are: good, slow, silent, loud and hostile.
 *
 * The plugins are shell scripts that really run; only the clock of the time limit is moved. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kube/kube_exec.h"
#include "../fake/plugin_dir.h"
#include "util/log.h"
#include "util/mem.h"

#define WALL INT64_C(1800000000000000) /* 2027-01-15T08:00:00Z */

struct run {
    struct kube_config config;
    struct kube_exec *exec;
    struct exec_answer answer;
    struct err err;
};

static enum exec_result go_on(struct run *r, usec_t now)
{
    return kube_exec_poll(r->exec, &(struct exec_now){.mono = now, .wall = WALL}, &r->answer,
                          &r->err);
}

static void run_init(struct run *r, const char *body, const char *more)
{
    *r = (struct run){.answer.expires_at = INT64_MAX};
    plugin_config(&r->config, body, more);
    r->exec = kube_exec_create(&r->config);
    assert_non_null(r->exec);
}

/* To its end, which must come by itself. */
static enum exec_result run_through(struct run *r)
{
    enum exec_result rc = EXEC_RUNNING;

    assert_int_equal(kube_exec_start(r->exec, 0, &r->err), 0);
    assert_true(kube_exec_is_running(r->exec));
    for (int i = 0; i < 10000 && rc == EXEC_RUNNING; i++) {
        struct pollfd p = {.fd = kube_exec_fd(r->exec), .events = POLLIN};

        if (poll(&p, 1, 20000) <= 0)
            fail_msg("the plugin does not end");
        rc = go_on(r, 0);
    }
    assert_false(kube_exec_is_running(r->exec));
    assert_int_equal(kube_exec_wake(r->exec), INT64_MAX);
    return rc;
}

static void run_fini(struct run *r)
{
    exec_answer_fini(&r->answer);
    kube_exec_destroy(r->exec);
    kube_config_fini(&r->config);
}

static void a_token_is_taken_with_its_end(void **state)
{
    struct run r;

    (void)state;
    run_init(&r, PLUGIN_SAYS("\"token\":\"t0k\",\"expirationTimestamp\":\"2027-01-15T08:15:00Z\""),
             "");
    assert_int_equal(run_through(&r), EXEC_ANSWERED);
    assert_string_equal(r.answer.token, "t0k");
    assert_null(r.answer.cert);
    assert_int_equal(r.answer.expires_at - WALL, 15 * 60 * USEC_PER_SEC);
    run_fini(&r);
}

static void a_certificate_is_taken_with_its_key(void **state)
{
    struct run r;

    (void)state;
    run_init(&r,
             PLUGIN_SAYS("\"clientCertificateData\":\"-----BEGIN C-----\","
                         "\"clientKeyData\":\"-----BEGIN K-----\""),
             "");
    assert_int_equal(run_through(&r), EXEC_ANSWERED);
    assert_null(r.answer.token);
    assert_string_equal(r.answer.cert, "-----BEGIN C-----");
    assert_string_equal(r.answer.key, "-----BEGIN K-----");
    assert_int_equal(r.answer.expires_at, INT64_MAX);
    run_fini(&r);
}

static void the_plugin_sees_its_arguments_its_environment_and_nothing_else(void **state)
{
    struct run r;
    sigset_t mask, old;
    int fds[20];

    (void)state;
    assert_int_equal(setenv("OURS", "1", 1), 0);
    assert_int_equal(setenv("THEIRS", "ours", 1), 0);
    (void)sigfillset(&mask); /* as the daemon, which reads its signals */
    (void)sigprocmask(SIG_BLOCK, &mask, &old);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = open("/dev/null", O_RDONLY);
    run_init(&r,
             "while read -r k v; do [ \"$k\" != SigBlk: ] || mask=$v; done < /proc/$$/status\n"
             "cat > input\n"
             "n=$(ls /proc/$$/fd | wc -l)\n"
             "times=$(tr '\\0' '\\n' < /proc/$$/environ | grep -c '^THEIRS=')\n"
             "echo \"$1|$2|$OURS|$THEIRS $times|$KUBERNETES_EXEC_INFO|$((n < 12))|$mask\" > "
             "seen\n" PLUGIN_SAYS("\"token\":\"t\""),
             ", args: [a b, c], env: [{name: THEIRS, value: theirs}]");
    assert_int_equal(run_through(&r), EXEC_ANSWERED);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    assert_string_equal(plugin_get("seen"),
                        "a b|c|1|theirs 1|{\"kind\":\"ExecCredential\",\"apiVersion\":\"" PLUGIN_V1
                        "\",\"spec\":{\"interactive\":false}}|1|0000000000000000\n");
    assert_string_equal(plugin_get("input"), "");
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        (void)close(fds[i]);
    run_fini(&r);
}

static const struct {
    const char *body, *want;
} bad[] = {
    {"exit 0\n", "wrote nothing to standard output"},
    {"printf ' \\n\\t '\n", "wrote nothing to standard output"},
    {"exec >&-\nsleep 0.05\nexit 0\n", "wrote nothing to standard output"},
    {"echo '{{{'\n", "something else than an ExecCredential"},
    {"head -c 3000 /dev/urandom\n", "ExecCredential"},
    {"printf '%0100000d' 0 | tr 0 '['\n", "something else than an ExecCredential"},
    {"echo '[]'\n", "something else than an ExecCredential"},
    {"echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\","
     "\"status\":{\"token\":\"t\"}}'\n",
     "another apiVersion"},
    {PLUGIN_SAYS(""), "without a token and without a certificate"},
    {PLUGIN_SAYS("\"token\":\"\""), "without a token"},
    {PLUGIN_SAYS("\"token\":7"), "without a token"},
    {PLUGIN_SAYS("\"token\":\"a\\\\nX-Evil: 1\""), "not one line"},
    {PLUGIN_SAYS("\"clientKeyData\":\"-----BEGIN \""), "certificate without its key"},
    {PLUGIN_SAYS("\"clientKeyData\":\"k\",\"clientCertificateData\":\"c\""), "no PEM"},
    {PLUGIN_SAYS("\"token\":\"t\",\"expirationTimestamp\":\"soon\""), "is no time"},
    {PLUGIN_SAYS("\"token\":\"t\",\"expirationTimestamp\":\"2027-01-15T08:00:00Z\""),
     "has expired already"},
    {"head -c 10000000 /dev/zero | tr '\\0' x\nsleep 100\n", "wrote more than 1 MiB"},
    {"yes >&2\n", "wrote more than 1 MiB"},
    {"echo 'no region is set' >&2\nexit 3\n", "exit code 3; it says 'no region is set '"},
    {PLUGIN_SAYS("\"token\":\"t\"") "exit 1\n", "exit code 1"},
    {"kill -9 $$\n", "ended by signal 9 (Killed)"},
    {"kill -TERM $$\nsleep 100\n", "ended by signal 15"},
    {"kill -PIPE $$\nsleep 100\n", "ended by signal 13"},
};

static void what_a_bad_plugin_does_is_told(void **state)
{
    sigset_t mask, old;

    (void)state;
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGTERM); /* as the daemon, which reads its signals */
    (void)sigprocmask(SIG_BLOCK, &mask, &old);
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct run r;

        run_init(&r, bad[i].body, "");
        if (run_through(&r) != EXEC_FAILED)
            fail_msg("row %zu was taken for good", i);
        if (!strstr(r.err.text, bad[i].want) || !strstr(r.err.text, "/plugin "))
            fail_msg("row %zu: \"%s\" does not say \"%s\"", i, r.err.text, bad[i].want);
        run_fini(&r);
    }
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
}

/* The script wrote its process number; a zombie counts as gone. */
static bool is_gone(const char *file)
{
    char *path = xasprintf("/proc/%d/stat", atoi(plugin_get(file)));
    char state = 0;
    FILE *f = fopen(path, "re");
    bool gone = !f || fscanf(f, "%*d %*s %c", &state) != 1 || state == 'Z' || state == 'X';

    if (f)
        (void)fclose(f);
    free(path);
    return gone;
}

static void wait_gone(const char *file)
{
    for (int i = 0; i < 2000 && !is_gone(file); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_true(is_gone(file));
}

static void a_plugin_that_hangs_is_killed_with_what_it_started(void **state)
{
    struct run r;

    (void)state;
    run_init(&r, "sleep 100 &\necho $! > child\necho $$ > own\necho waiting >&2\nwait\n", "");
    assert_int_equal(kube_exec_start(r.exec, 1000, &r.err), 0);
    assert_int_equal(kube_exec_wake(r.exec), 1000 + EXEC_TIMEOUT_US);
    for (int i = 0; i < 5000 && !plugin_get("own")[0]; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(go_on(&r, 1000 + EXEC_TIMEOUT_US - 1), EXEC_RUNNING);
    assert_int_equal(go_on(&r, 1000 + EXEC_TIMEOUT_US), EXEC_FAILED);
    assert_non_null(strstr(r.err.text, "no answer within 30 s"));
    wait_gone("own");
    wait_gone("child");
    plugin_put("plugin", "#!/bin/sh\n" PLUGIN_SAYS("\"token\":\"t\""), 0700);
    assert_int_equal(run_through(&r), EXEC_ANSWERED);
    run_fini(&r);
}

static void an_end_in_the_middle_of_a_run_leaves_no_child(void **state)
{
    struct run r;

    (void)state;
    plugin_put("own", "", 0600);
    run_init(&r, "echo $$ > own\nsleep 100\n", "");
    assert_int_equal(kube_exec_start(r.exec, 0, &r.err), 0);
    for (int i = 0; i < 5000 && !plugin_get("own")[0]; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    run_fini(&r);
    wait_gone("own");
}

static void an_answer_counts_whoever_holds_the_pipe_and_for_how_long(void **state)
{
    static const char *const bodies[] = {
        PLUGIN_SAYS("\"token\":\"t\"") "sleep 3 &\nexit 0\n",
        PLUGIN_SAYS("\"token\":\"t\"") "exec >&-\nsleep 0.1\nexit 0\n",
        "exec 2>&-\n" PLUGIN_SAYS("\"token\":\"t\""),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct timespec a, b;
        struct run r;

        (void)clock_gettime(CLOCK_MONOTONIC, &a);
        run_init(&r, bodies[i], "");
        assert_int_equal(run_through(&r), EXEC_ANSWERED);
        assert_string_equal(r.answer.token, "t");
        run_fini(&r);
        (void)clock_gettime(CLOCK_MONOTONIC, &b);
        assert_true(b.tv_sec - a.tv_sec < 3);
    }
}

static void a_plugin_that_is_not_there_is_told_with_its_hint(void **state)
{
    struct run r;

    (void)state;
    run_init(&r, "", ", installHint: see https://docs.example/plugin");
    assert_int_equal(unlink(plugin_path("plugin")), 0);
    assert_int_equal(kube_exec_start(r.exec, 0, &r.err), -1);
    assert_non_null(strstr(r.err.text, "cannot be run: No such file or directory; see https://"));
    assert_false(kube_exec_is_running(r.exec));
    plugin_put("plugin", "#!/bin/sh\n", 0600);
    assert_int_equal(kube_exec_start(r.exec, 0, &r.err), -1);
    assert_non_null(strstr(r.err.text, "Permission denied"));
    run_fini(&r);
}

static void nothing_secret_is_shown(void **state)
{
    static const char *const bodies[] = {
        /* the token on both ways out */
        PLUGIN_SAYS(
            "\"token\":\"sekrit-kettle-words\"") "echo 'got sekrit-kettle-words.' >&2\nexit 1\n",
        /* a web token nowhere else seen */
        "echo 'Bearer eyJhbGciOi5IUzI1NiJ9.sekritA1b2C3d4e5F6g7h8I9' >&2\nexit 1\n",
        /* the environment of the plugin */
        "echo \"key=$AWS_SECRET\" >&2\nexit 1\n",
        /* the token in use */
        "echo 'refused: sekrit-in-use-now' >&2\nexit 1\n",
        /* a key */
        "printf -- '-----BEGIN K-----\\nsekritMIIEvQIBADANBgkqhkiG9w0BAQEFAASC1\\n' >&2\nexit 1\n",
        /* the same behind a byte that ends texts */
        "printf '\\000sekrit-after-nul'\necho 'got sekrit-after-nul' >&2\nexit 1\n",
        /* an answer that is none */
        "echo 'token: sekrit-plain-text'\necho 'printed sekrit-plain-text' >&2\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct run r;

        run_init(&r, bodies[i], ", env: [{name: AWS_SECRET, value: sekrit-of-the-env}]");
        (void)kube_config_replace(&r.config, xstrdup("sekrit-in-use-now"), NULL, NULL);
        assert_int_equal(run_through(&r), EXEC_FAILED);
        if (strstr(r.err.text, "sekrit") || !strstr(r.err.text, "(hidden)"))
            fail_msg("row %zu: %s", i, r.err.text);
        run_fini(&r);
    }
}

static void what_is_no_secret_is_shown(void **state)
{
    static const char *const hide[] = {"{\"token\":\"abcdefgh12\"}", NULL};
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"cannot reach https://sts.eu-central-1.amazonaws.com/ (timeout)",
         "cannot reach https://sts.eu-central-1.amazonaws.com/ (timeout)"},
        {"/usr/lib/python3/dist-packages/botocore/session.py:12",
         "/usr/lib/python3/dist-packages/botocore/session.py:12"},
        {"profile \"prod\"\nnot\tfound\x1b[0m", "profile  prod  not found [0m"},
        {"abcdefgh12", "(hidden)"},
        {"x=abcdefgh1;", "x=(hidden);"},
        {"0123456789abcdef0123456789abcdef", "(hidden)"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *got = exec_redact(rows[i].text, hide);

        assert_string_equal(got, rows[i].want);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_taken_with_its_end),
        cmocka_unit_test(a_certificate_is_taken_with_its_key),
        cmocka_unit_test(the_plugin_sees_its_arguments_its_environment_and_nothing_else),
        cmocka_unit_test(what_a_bad_plugin_does_is_told),
        cmocka_unit_test(a_plugin_that_hangs_is_killed_with_what_it_started),
        cmocka_unit_test(an_end_in_the_middle_of_a_run_leaves_no_child),
        cmocka_unit_test(an_answer_counts_whoever_holds_the_pipe_and_for_how_long),
        cmocka_unit_test(a_plugin_that_is_not_there_is_told_with_its_hint),
        cmocka_unit_test(nothing_secret_is_shown),
        cmocka_unit_test(what_is_no_secret_is_shown),
    };
    int failed;

    log_setup(LOG_LEVEL_ERROR, false);
    plugin_dir_init();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    plugin_dir_fini();
    return failed;
}
