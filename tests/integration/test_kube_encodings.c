/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_encodings.c - the stand-in serves protobuf as the real server does, and the adapter
 * does its work with a server that serves it, ignores the wish or refuses it.
 *
 * kube_world.h has the stand-in and the adapter against it; proto_ear.h turns facts into text.
 */
#include "kube_world.h"

#include "../fake/proto_ear.h"

struct body {
    struct str bytes;
    char type[80];
};

/* A list of the stand-in in the encoding of this Accept. */
static void fetch(const struct world *w, const char *path, const char *accept, struct body *ret)
{
    CURL *c = curl_easy_init();
    char *header = xasprintf("Accept: %s", accept);
    struct curl_slist *headers = curl_slist_append(NULL, header);
    char *url = xasprintf("http://127.0.0.1:%u%s", w->port, path);
    char *type = NULL;

    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, 10L);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, ask_data);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &ret->bytes);
    assert_int_equal(curl_easy_perform(c), CURLE_OK);
    assert_int_equal(curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &type), CURLE_OK);
    assert_true(str_copy(ret->type, sizeof(ret->type), type ? type : ""));
    curl_easy_cleanup(c);
    curl_slist_free_all(headers);
    free(header);
    free(url);
}

/* Both encodings of one version; false: something changed between the two. */
static bool lists_agree(const struct world *w, const struct store_kind *kind)
{
    struct body proto = {0}, json = {0};
    struct ear a, b;
    struct err err = {0};
    bool is_same;

    fetch(w, kind->path, PROTO_ACCEPT, &proto);
    fetch(w, kind->path, "application/json", &json);
    assert_string_equal(proto.type, "application/vnd.kubernetes.protobuf");
    assert_string_equal(json.type, "application/json");
    ear_init(&a, kind);
    ear_init(&b, kind);
    if (ear_page(&a, &proto.bytes, 1000, &err) || ear_json_page(&b, &json.bytes, &err))
        fail_msg("%s: %s", kind->noun, err.text);
    is_same = !strncmp(str_text(&a.told), str_text(&b.told), strcspn(str_text(&a.told), "\n"));
    if (is_same)
        assert_string_equal(str_text(&a.told), str_text(&b.told));
    assert_true(kube_store_count(a.store) >= PODS);
    ear_fini(&a);
    ear_fini(&b);
    str_fini(&proto.bytes);
    str_fini(&json.bytes);
    return is_same;
}

static void assert_lists_agree(const struct world *w, const struct store_kind *kind)
{
    for (int i = 0; i < 20; i++) {
        if (lists_agree(w, kind))
            return;
        usleep(100000); /* kubelets are at work */
    }
    fail_msg("the %s never stood still", kind->noun);
}

static void the_stand_in_says_the_same_in_both_encodings(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *ends = team_create(31, "100ms"), *runs = team_create(32, NULL);

    (void)state;
    start(w, ends);
    world_until(w, pods_in(w, POD_SUCCEEDED, ends->gang.job) == PODS);
    start(w, runs);
    world_until(w, pods_in(w, POD_RUNNING, runs->gang.job) == PODS);
    cJSON_Delete(ask(w, "POST", "/_standin/node", "{\"name\":\"node-006\",\"cordon\":true}"));
    cJSON_Delete(ask(w, "POST", "/_standin/node", "{\"name\":\"node-007\",\"ready\":false}"));
    assert_lists_agree(w, &store_nodes);
    assert_lists_agree(w, &store_pods);
    team_destroy(ends);
    team_destroy(runs);
    world_destroy(w);
}

static void an_error_comes_in_the_encoding_that_was_asked_for(void **state)
{
    static const char path[] = "/api/v1/pods?resourceVersion=999999&resourceVersionMatch=Exact";
    struct world *w = world_ready(NULL);
    struct body body = {0};
    struct api_status s = {.retry_after_us = -1};

    (void)state;
    fetch(w, path, PROTO_ACCEPT, &body);
    assert_string_equal(body.type, "application/vnd.kubernetes.protobuf");
    api_read_status(body.bytes.s, body.bytes.len, &s);
    assert_int_equal(s.code, 504);
    assert_string_equal(s.cause, "ResourceVersionTooLarge");
    assert_int_equal(s.retry_after_us, USEC_PER_SEC);
    str_fini(&body.bytes);
    world_destroy(w);
}

static void a_gang_lives_whatever_encoding_the_server_has(void **state)
{
    static const char *const modes[] = {"serve", "ignore", "refuse"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        struct team *t = team_create(40 + i, NULL);
        struct world *w;

        world_protobuf = modes[i];
        w = world_ready(NULL);
        start(w, t);
        world_until(w, pods_in(w, POD_RUNNING, t->gang.job) == PODS);
        cJSON_Delete(ask(w, "POST", "/_standin/drop-watches", "{}"));
        stop_and_wait(w, t);
        assert_int_equal(stat_of(w, "violations"), 0);
        team_destroy(t);
        world_destroy(w);
    }
    world_protobuf = "serve";
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stand_in_says_the_same_in_both_encodings),
        cmocka_unit_test(an_error_comes_in_the_encoding_that_was_asked_for),
        cmocka_unit_test(a_gang_lives_whatever_encoding_the_server_has),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
