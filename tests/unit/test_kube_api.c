/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_api.c - what answers mean, held against exchanges recorded with a real API server.
 *
 * The recordings are in tests/data/apiserver-traces and, where the stand-in has no use for them,
 * in tests/data/answers, looked for from the root of the tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kube/kube_api.h"
#include "kube/kube_json.h"
#include "util/mem.h"
#include "util/str.h"

static bool read_all(const char *path, struct str *ret)
{
    char buf[4096];
    size_t n;
    FILE *f = fopen(path, "r");

    if (!f)
        return false;
    do {
        n = fread(buf, 1, sizeof(buf), f);
        str_add_bytes(ret, buf, n);
    } while (n);
    (void)fclose(f);
    return true;
}

/* A file of a recorded exchange; false: neither directory has it. */
static bool read_part(const char *id, const char *part, struct str *ret)
{
    static const char *const roots[] = {"apiserver-traces", "answers"};
    bool found = false;

    for (size_t i = 0; !found && i < ARRAY_LEN(roots); i++) {
        char *path = xasprintf("tests/data/%s/%s.resp.%s", roots[i], id, part);

        found = read_all(path, ret);
        free(path);
    }
    return found;
}

/* The recorded answer of an exchange; says so loudly when it is not there. */
static enum api_verdict replay(const char *id, struct api_status *ret)
{
    struct http_answer a = {.was_sent = true, .trouble = "", .retry_after_us = -1};
    struct str head = {0}, body = {0};
    enum api_verdict verdict;
    const char *retry;

    if (!read_part(id, "head.txt", &head) ||
        (!read_part(id, "body.json", &body) && !read_part(id, "body.txt", &body)))
        fail_msg("RECORDING MISSING: %s in tests/data (run from the root of the tree)", id);
    assert_int_equal(sscanf(head.s, "HTTP/1.1 %d", &a.status), 1);
    retry = strstr(head.s, "\nRetry-After: ");
    if (retry)
        a.retry_after_us = strtol(retry + 14, NULL, 10) * USEC_PER_SEC;
    a.body = str_text(&body);
    a.len = body.len;
    verdict = api_classify(&a, ret);
    str_fini(&head);
    str_fini(&body);
    return verdict;
}

static void recorded_answers_mean_what_they_say(void **state)
{
    static const struct {
        const char *id;
        enum api_verdict verdict;
        const char *reason, *text;
    } rows[] = {
        {"bind/ok", API_OK, "", ""},
        {"write/pod-create", API_OK, "", ""},
        {"bind/again-same-node", API_REFUSED, "Conflict", "already assigned to node"},
        {"bind/again-other-node", API_REFUSED, "Conflict", "already assigned to node"},
        {"bind/wrong-uid", API_REFUSED, "Conflict", "UID in precondition"},
        {"bind/terminating-bound", API_REFUSED, "Conflict", "is being deleted"},
        {"bind/pod-missing", API_REFUSED, "NotFound", "not found"},
        {"bind/target-empty", API_UNKNOWN, "", "target.name: Required value"},
        {"delete/not-found", API_REFUSED, "NotFound", "not found"},
        {"delete/uid-mismatch", API_REFUSED, "Conflict", "does not match the UID in record"},
        {"delete/unbound", API_OK, "", ""},
        {"write/pod-create-again", API_REFUSED, "AlreadyExists", "already exists"},
        {"errors/401-bad-token", API_RETRY, "Unauthorized", "Unauthorized"},
        {"errors/404-path", API_REFUSED, "", "404 page not found"},
        {"errors/etcd-request-too-large", API_REFUSED, "", "request is too large"},
        {"list/504-rv-too-large", API_UNKNOWN, "Timeout", "Too large resource version"},
        {"list/410-continue-expired", API_REFUSED, "Expired", "continue"},
    };
    struct api_status s;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum api_verdict verdict = replay(rows[i].id, &s);

        if (verdict != rows[i].verdict || strcmp(s.reason, rows[i].reason) ||
            !strstr(s.message, rows[i].text))
            fail_msg("%s: verdict %d, reason \"%s\", message \"%s\"", rows[i].id, (int)verdict,
                     s.reason, s.message);
    }
    (void)replay("list/504-rv-too-large", &s);
    assert_string_equal(s.cause, "ResourceVersionTooLarge");
    assert_int_equal(s.retry_after_us, USEC_PER_SEC);
}

static void recorded_refusals_are_sorted_by_whether_waiting_helps(void **state)
{
    static const struct {
        const char *id;
        enum refusal_kind kind;
    } rows[] = {
        {"write/quota-exceeded", REFUSAL_TRY_LATER},
        {"write/quota-must-specify", REFUSAL_TRY_LATER},
        {"write/quota-status-unknown", REFUSAL_TRY_LATER},
        {"write/namespace-terminating", REFUSAL_TRY_LATER},
        {"write/priority-unknown", REFUSAL_TRY_LATER},
        {"errors/404-namespace", REFUSAL_TRY_LATER},
        {"errors/403-create-pod", REFUSAL_TRY_LATER},
        {"write/podsecurity-reject", REFUSAL_REJECTED},
        {"write/limitrange-violation", REFUSAL_REJECTED},
        {"write/pod-create-invalid", REFUSAL_REJECTED},
        {"write/pod-create-gpu-fraction", REFUSAL_REJECTED},
        {"write/pod-create-bad-quantity", REFUSAL_REJECTED},
        {"errors/413-body", REFUSAL_REJECTED},
        {"errors/etcd-request-too-large", REFUSAL_REJECTED},
    };
    struct api_status s;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(replay(rows[i].id, &s), API_REFUSED);
        if (api_refusal(&s) != rows[i].kind)
            fail_msg("%s: kind %d, message \"%s\"", rows[i].id, (int)api_refusal(&s), s.message);
    }
}

static void answers_that_are_no_status_are_judged_by_their_code(void **state)
{
    static const struct {
        int status;
        const char *body;
        usec_t retry_after;
        enum api_verdict verdict;
        const char *text;
    } rows[] = {
        {429, "Too many requests, please try again later.\n", USEC_PER_SEC, API_RETRY, "Too many"},
        {503, "", USEC_PER_SEC, API_RETRY, "HTTP status 503"},
        {503, "<html><body>bad gateway", -1, API_UNKNOWN, "HTTP status 503"},
        {504, "{\"metadata\":{},\"reason\":\"Timeout\",\"code\":504}", -1, API_UNKNOWN, "504"},
        {500, "{\"reason\":\"ServerTimeout\",\"code\":500,\"details\":{\"retryAfterSeconds\":2}}",
         -1, API_UNKNOWN, "500"},
        {500, "{broken", -1, API_UNKNOWN, "HTTP status 500"},
        {302, "", -1, API_REFUSED, "HTTP status 302"},
        {403, "{\"code\":403,\"message\":\"denied:\\nline \\u001b[2Jtwo\"}", -1, API_REFUSED,
         "denied: line  [2Jtwo"},
        {410, "{\"code\":410,\"message\":\"\\n\\u001b \"}", -1, API_REFUSED, "HTTP status 410"},
    };
    struct api_status s;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_answer a = {.status = rows[i].status,
                                .was_sent = true,
                                .trouble = "",
                                .body = rows[i].body,
                                .len = strlen(rows[i].body),
                                .retry_after_us = rows[i].retry_after};

        if (api_classify(&a, &s) != rows[i].verdict || !strstr(s.message, rows[i].text))
            fail_msg("row %zu: verdict %d, message \"%s\"", i, (int)api_classify(&a, &s),
                     s.message);
    }
}

static void without_an_answer_it_counts_whether_it_was_sent(void **state)
{
    struct http_answer a = {.trouble = "connection refused", .body = "", .retry_after_us = -1};
    struct api_status s;

    (void)state;
    assert_int_equal(api_classify(&a, &s), API_RETRY);
    assert_string_equal(s.message, "connection refused");
    a.was_sent = true;
    assert_int_equal(api_classify(&a, &s), API_UNKNOWN);
}

static void back_off_doubles_to_its_cap_and_heeds_the_server(void **state)
{
    struct api_backoff b = {0};
    struct api_pace pace = {.rng = 88172645463325252u};
    usec_t base = API_BACKOFF_BASE_US;

    (void)state;
    for (int i = 0; i < 12; i++) {
        usec_t wait = api_backoff_next(&b, -1, &pace);

        assert_true(wait >= base && wait <= 2 * base);
        base = base * 2 < API_BACKOFF_CAP_US ? base * 2 : API_BACKOFF_CAP_US;
    }
    b.n = 0;
    assert_true(api_backoff_next(&b, 90 * USEC_PER_SEC, &pace) >= 90 * USEC_PER_SEC);
    b.n = 0;
    pace.base_us = 20;
    assert_true(api_backoff_next(&b, -1, &pace) <= 40);
}

static void no_server_makes_us_wait_longer_than_five_minutes(void **state)
{
    static const char body[] =
        "{\"kind\":\"Status\",\"code\":429,\"details\":{\"retryAfterSeconds\":999999999999}}";
    struct http_answer a = {.status = 429,
                            .was_sent = true,
                            .trouble = "",
                            .body = body,
                            .len = sizeof(body) - 1,
                            .retry_after_us = -1};
    struct api_pace pace = {.rng = 88172645463325252u};
    struct api_status s;

    (void)state;
    assert_int_equal(api_classify(&a, &s), API_RETRY);
    for (int i = 0; i < 1000; i++) {
        struct api_backoff b = {0};
        usec_t wait = api_backoff_next(&b, s.retry_after_us, &pace);

        assert_true(wait >= API_RETRY_AFTER_MAX_US && wait <= 300 * USEC_PER_SEC);
    }
}

static void paths_are_escaped(void **state)
{
    char *path = api_path("team", "pods", "a-0.b");

    (void)state;
    assert_string_equal(path, "/api/v1/namespaces/team/pods/a-0.b");
    free(path);
    path = api_path("a/../b", "pods", NULL);
    assert_string_equal(path, "/api/v1/namespaces/a%2F..%2Fb/pods");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_answers_mean_what_they_say),
        cmocka_unit_test(recorded_refusals_are_sorted_by_whether_waiting_helps),
        cmocka_unit_test(answers_that_are_no_status_are_judged_by_their_code),
        cmocka_unit_test(without_an_answer_it_counts_whether_it_was_sent),
        cmocka_unit_test(back_off_doubles_to_its_cap_and_heeds_the_server),
        cmocka_unit_test(no_server_makes_us_wait_longer_than_five_minutes),
        cmocka_unit_test(paths_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
