/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_cred.c - when credentials are read and fetched anew, and what requests do meanwhile.
 *
 * Both clocks are moved by hand; the plugins are real, each run adds a line to the file "runs". */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fake/plugin_dir.h"
#include "kube/kube_cred.h"
#include "util/log.h"
#include "util/mem.h"

#define WALL   INT64_C(1800000000000000) /* 2027-01-15T08:00:00Z */
#define MINUTE (60 * USEC_PER_SEC)

struct site {
    struct kube_config config;
    struct api_pace pace;
    struct kube_cred *cred;
    usec_t now; /* monotonic, from 1 h on */
};

/* Answers with what is in the files token and expires; fails with what is in the file fault. */
#define PLUGIN                                                                                     \
    "echo run >> runs\n"                                                                           \
    "if [ -s fault ]; then cat fault >&2; exit 1; fi\n"                                            \
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" PLUGIN_V1 "\",\"status\":{\"token\":'"  \
    "\"\\\"$(cat token)\\\",\\\"expirationTimestamp\\\":\\\"$(cat expires)\\\"}}\"\n"

static void tick(struct site *s)
{
    kube_cred_tick(s->cred,
                   &(struct exec_now){.mono = s->now, .wall = WALL + s->now - 60 * MINUTE});
}

static enum http_gate gate(const struct site *s)
{
    const char *why;

    return kube_cred_gate(s->cred, &why);
}

static const char *why(const struct site *s)
{
    const char *text;

    (void)kube_cred_gate(s->cred, &text);
    return text;
}

static size_t runs(void)
{
    return strlen(plugin_get("runs")) / strlen("run\n");
}

static void site_open(struct site *s)
{
    struct err err = {0};

    s->pace = (struct api_pace){.rng = 7};
    s->now = 60 * MINUTE;
    assert_int_equal(kube_cred_create(&s->cred, &s->config, &s->pace, s->now, &err), 0);
}

/* A site whose plugin gives "one", good for 15 minutes from the start. */
static void site_init(struct site *s)
{
    *s = (struct site){0};
    plugin_put("runs", "", 0600);
    plugin_put("fault", "", 0600);
    plugin_put("token", "one", 0600);
    plugin_put("expires", "2027-01-15T08:15:00Z", 0600);
    plugin_config(&s->config, PLUGIN, "");
    site_open(s);
}

static void site_fini(struct site *s)
{
    kube_cred_destroy(s->cred);
    kube_config_fini(&s->config);
}

/* What a plugin that runs meanwhile brings about; the clocks stand still. */
#define until(s, condition)                                                                        \
    do {                                                                                           \
        for (int i_ = 0; i_ < 400 && !(condition); i_++) {                                         \
            struct pollfd p_ = {.fd = kube_cred_fd((s)->cred), .events = POLLIN};                  \
            (void)poll(&p_, 1, 50);                                                                \
            tick(s);                                                                               \
        }                                                                                          \
        if (!(condition))                                                                          \
            fail_msg("waited in vain for: %s (%s)", #condition, why(s));                           \
    } while (0)

static void requests_wait_for_the_first_answer(void **state)
{
    struct site s;

    (void)state;
    site_init(&s);
    assert_int_equal(gate(&s), HTTP_GATE_WAIT);
    assert_true(kube_cred_wake(s.cred) <= s.now);
    tick(&s);
    assert_int_equal(gate(&s), HTTP_GATE_WAIT);
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    assert_string_equal(s.config.token, "one");
    assert_int_equal(s.config.generation, 1);
    assert_int_equal(runs(), 1);
    site_fini(&s);
}

static void a_credential_is_fetched_anew_ahead_of_its_end_while_requests_go_on(void **state)
{
    struct site s;

    (void)state;
    site_init(&s);
    tick(&s);
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    plugin_put("token", "two", 0600);
    plugin_put("expires", "2027-01-15T09:00:00Z", 0600);
    s.now += 12 * MINUTE - 1; /* a fifth of its life before its end */
    tick(&s);
    assert_int_equal(kube_cred_wake(s.cred), s.now + 1);
    s.now += 1;
    assert_true(kube_cred_wake(s.cred) <= s.now);
    tick(&s);
    assert_int_equal(gate(&s), HTTP_GATE_OPEN);
    assert_string_equal(s.config.token, "one");
    until(&s, !strcmp(s.config.token, "two"));
    assert_int_equal(s.config.generation, 2);
    assert_int_equal(runs(), 2);
    site_fini(&s);
}

static void failing_to_fetch_hurts_only_at_the_end_of_the_old_one(void **state)
{
    struct site s;

    (void)state;
    site_init(&s);
    tick(&s);
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    plugin_put("fault", "no network", 0600);
    s.now += 14 * MINUTE;
    until(&s, why(&s)[0]);
    assert_int_equal(gate(&s), HTTP_GATE_OPEN);
    for (int i = 0; i < 5; i++)
        tick(&s); /* it is asked again after a back-off only */
    assert_int_equal(runs(), 2);
    s.now += MINUTE;
    tick(&s);
    assert_int_equal(gate(&s), HTTP_GATE_WAIT);
    until(&s, gate(&s) == HTTP_GATE_SHUT);
    assert_int_equal(runs(), 3);
    assert_non_null(strstr(why(&s), "it says 'no network'"));
    plugin_put("fault", "", 0600);
    plugin_put("expires", "2027-01-15T09:00:00Z", 0600);
    s.now += 2 * MINUTE;
    tick(&s);
    assert_int_equal(gate(&s), HTTP_GATE_WAIT);
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    site_fini(&s);
}

static void a_refusal_starts_one_run_for_all_who_were_refused(void **state)
{
    struct site s;

    (void)state;
    site_init(&s);
    tick(&s);
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    plugin_put("token", "two", 0600);
    for (int i = 0; i < 5; i++) {
        assert_true(kube_cred_refused(s.cred, 1, s.now));
        assert_int_equal(gate(&s), HTTP_GATE_WAIT);
        tick(&s);
    }
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    assert_int_equal(runs(), 2);
    assert_string_equal(s.config.token, "two");
    /* late answers to what was sent before: there is something newer */
    assert_true(kube_cred_refused(s.cred, 1, s.now));
    assert_int_equal(gate(&s), HTTP_GATE_OPEN);
    site_fini(&s);
}

static void a_server_that_refuses_what_is_new_does_not_make_the_plugin_run_and_run(void **state)
{
    struct site s;
    size_t n;

    (void)state;
    site_init(&s);
    tick(&s);
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    assert_true(kube_cred_refused(s.cred, 1, s.now));
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    for (int i = 0; i < 50; i++) {
        assert_false(kube_cred_refused(s.cred, s.config.generation, s.now));
        tick(&s);
        s.now += 10 * USEC_PER_MSEC;
    }
    assert_int_equal(runs(), 2);
    for (int i = 0; i < 60; i++) { /* one minute of refusals, each second */
        s.now += USEC_PER_SEC;
        if (kube_cred_refused(s.cred, s.config.generation, s.now))
            until(&s, gate(&s) == HTTP_GATE_OPEN);
    }
    n = runs();
    assert_in_range(n, 4, 9);
    site_fini(&s);
}

static void a_refused_credential_is_of_no_use_when_the_plugin_fails(void **state)
{
    struct site s;

    (void)state;
    site_init(&s);
    tick(&s);
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    plugin_put("fault", "locked", 0600);
    assert_true(kube_cred_refused(s.cred, 1, s.now));
    until(&s, gate(&s) == HTTP_GATE_SHUT);
    assert_non_null(strstr(why(&s), "locked"));
    site_fini(&s);
}

static void a_credential_that_lives_a_moment_does_not_make_the_plugin_storm(void **state)
{
    struct site s;

    (void)state;
    site_init(&s);
    plugin_put("expires", "2027-01-15T08:00:00.010Z", 0600);
    tick(&s);
    until(&s, gate(&s) == HTTP_GATE_OPEN);
    assert_int_equal(kube_cred_wake(s.cred), s.now + 10 * USEC_PER_MSEC);
    s.now += 10 * USEC_PER_MSEC;
    tick(&s);
    assert_int_equal(kube_cred_wake(s.cred), s.now + 990 * USEC_PER_MSEC);
    for (int i = 0; i < 10; i++) {
        tick(&s);
        assert_int_equal(gate(&s), HTTP_GATE_WAIT);
        s.now += 10 * USEC_PER_MSEC;
    }
    assert_int_equal(runs(), 1);
    site_fini(&s);
}

static void a_plugin_that_is_not_there_shuts_the_gate_with_its_hint(void **state)
{
    struct site s;

    (void)state;
    site_init(&s);
    assert_int_equal(unlink(plugin_path("plugin")), 0);
    tick(&s);
    assert_int_equal(gate(&s), HTTP_GATE_SHUT);
    assert_non_null(strstr(why(&s), "install it"));
    assert_true(kube_cred_wake(s.cred) > s.now);
    site_fini(&s);
}

/* ---- files */

static void token_site(struct site *s)
{
    struct err err = {0};

    *s = (struct site){0};
    plugin_put("token", "one\n", 0600);
    plugin_put("ca.crt", "-----BEGIN X-----", 0600);
    assert_int_equal(kube_config_in_cluster(&s->config, plugin_path("."), "h", "1", &err), 0);
    site_open(s);
    assert_int_equal(kube_cred_fd(s->cred), -1);
    assert_int_equal(gate(s), HTTP_GATE_OPEN);
}

static void a_token_file_is_read_again_each_minute(void **state)
{
    struct site s;

    (void)state;
    token_site(&s);
    plugin_put("token", "two\n", 0600);
    s.now += MINUTE - 1;
    tick(&s);
    assert_string_equal(s.config.token, "one");
    s.now += 1;
    assert_true(kube_cred_wake(s.cred) <= s.now);
    tick(&s);
    assert_string_equal(s.config.token, "two");
    assert_true(kube_cred_wake(s.cred) > s.now);
    site_fini(&s);
}

static void a_token_file_is_read_again_when_the_server_refuses(void **state)
{
    struct site s;

    (void)state;
    token_site(&s);
    assert_false(kube_cred_refused(s.cred, 0, s.now)); /* the file holds nothing new */
    plugin_put("token", "two\n", 0600);
    assert_true(kube_cred_refused(s.cred, 0, s.now));
    assert_string_equal(s.config.token, "two");
    assert_true(kube_cred_refused(s.cred, 0, s.now)); /* sent before that */
    assert_false(kube_cred_refused(s.cred, s.config.generation, s.now));
    assert_int_equal(gate(&s), HTTP_GATE_OPEN);
    site_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_wait_for_the_first_answer),
        cmocka_unit_test(a_credential_is_fetched_anew_ahead_of_its_end_while_requests_go_on),
        cmocka_unit_test(failing_to_fetch_hurts_only_at_the_end_of_the_old_one),
        cmocka_unit_test(a_refusal_starts_one_run_for_all_who_were_refused),
        cmocka_unit_test(a_server_that_refuses_what_is_new_does_not_make_the_plugin_run_and_run),
        cmocka_unit_test(a_refused_credential_is_of_no_use_when_the_plugin_fails),
        cmocka_unit_test(a_credential_that_lives_a_moment_does_not_make_the_plugin_storm),
        cmocka_unit_test(a_plugin_that_is_not_there_shuts_the_gate_with_its_hint),
        cmocka_unit_test(a_token_file_is_read_again_each_minute),
        cmocka_unit_test(a_token_file_is_read_again_when_the_server_refuses),
    };
    int failed;

    log_setup(LOG_LEVEL_ERROR, false);
    plugin_dir_init();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    plugin_dir_fini();
    return failed;
}
