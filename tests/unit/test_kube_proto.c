/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_proto.c - lists, watches and refusals in protobuf say the same as their twins in JSON.
 *
 * The twins are recordings of a real server; proto_ear.h says where they are, and a row without its
 * files says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/proto_ear.h"
#include "util/log.h"
#include "util/mem.h"

struct twin {
    const struct store_kind *kind;
    const char *name;
};

static const size_t pieces[] = {1, 2, 3, 7, 100, 4096, SIZE_MAX / 2};

static bool twins(const char *name, struct str *ret_json, struct str *ret_pb)
{
    char *json = xasprintf("%s.resp.body.json", name), *pb = xasprintf("%s.pb.resp.body.pb", name);
    bool ok = ear_recording(json, ret_json) && ear_recording(pb, ret_pb);

    free(json);
    free(pb);
    return ok;
}

static void check_list(const struct twin *t, const struct str *json, const struct str *pb)
{
    struct ear a, b;
    struct err err = {0};

    ear_init(&a, t->kind);
    assert_int_equal(ear_json_page(&a, json, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        ear_init(&b, t->kind);
        if (ear_page(&b, pb, pieces[i], &err))
            fail_msg("%s in pieces of %zu: %s", t->name, pieces[i], err.text);
        assert_string_equal(str_text(&a.told), str_text(&b.told));
        ear_fini(&b);
    }
    ear_fini(&a);
}

static void lists_in_both_encodings_are_the_same_facts(void **state)
{
    static const struct twin rows[] = {
        {&store_nodes, "list/nodes"},
        {&store_nodes, "list/nodes-page-1"},
        {&store_nodes, "list/nodes-page-2"},
        {&store_nodes, "list/nodes-page-3"},
        {&store_nodes, "list/nodes-empty"},
        {&store_nodes, "list/nodes-rv-exact-1"},
        {&store_pods, "list/pods"},
        {&store_pods, "list/pods-all-namespaces"},
        {&store_pods, "list/pods-empty"},
        {&store_pods, "list/pods-field-name"},
        {&store_pods, "list/pods-field-nodename-empty"},
        {&store_pods, "list/pods-field-nodename"},
        {&store_pods, "list/pods-field-phase"},
        {&store_pods, "list/pods-field-schedulername"},
        {&store_pods, "list/pods-label-notexists"},
        {&store_pods, "list/pods-label"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str json = {0}, pb = {0};

        if (twins(rows[i].name, &json, &pb))
            check_list(&rows[i], &json, &pb);
        str_fini(&json);
        str_fini(&pb);
    }
}

static void check_watch(const struct twin *t, const struct str *json, const struct str *pb)
{
    struct json_frame lines = {0};
    struct ear a, b;

    ear_init(&a, t->kind);
    a.is_masked = true;
    (void)json_frame_feed(&lines, json->s, json->len, ear_line, &a); /* false after an ERROR */
    json_frame_fini(&lines);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        struct proto_frame frames = {0};
        bool ok = true;

        ear_init(&b, t->kind);
        b.is_masked = true;
        for (size_t at = 0; at < pb->len && ok; at += pieces[i])
            ok = proto_frame_feed(&frames, pb->s + at,
                                  pb->len - at < pieces[i] ? pb->len - at : pieces[i], ear_frame,
                                  &b);
        assert_int_equal(frames.partial.len, 0);
        proto_frame_fini(&frames);
        assert_string_equal(str_text(&a.told), str_text(&b.told));
        assert_int_equal(kube_store_count(a.store), kube_store_count(b.store));
        ear_fini(&b);
    }
    ear_fini(&a);
}

static void watches_in_both_encodings_are_the_same_facts(void **state)
{
    static const struct twin rows[] = {
        {&store_nodes, "watch/nodes-add-modify-delete"},
        {&store_nodes, "watch/nodes-from-old-rv"},
        {&store_nodes, "watch/nodes-rv-0"},
        {&store_nodes, "watch/nodes-rv-1-history"},
        {&store_nodes, "watch/nodes-rv-unset"},
        {&store_nodes, "watch/nodes-sendinitialevents"},
        {&store_nodes, "watch/410-after-restart"},
        {&store_nodes, "watch/410-cache-overflow"},
        {&store_nodes, "watch/410-nocache"},
        {&store_nodes, "watch/bookmark-cadence"},
        {&store_nodes, "watch/rv-too-large-sendinitialevents"},
        {&store_nodes, "watch/rv-too-large"},
        {&store_pods, "watch/pods-label-transition"},
        {&store_pods, "watch/pods-life"},
        {&store_pods, "watch/pods-selector-transition"},
        {&store_pods, "watch/pods-sendinitialevents"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str json = {0}, pb = {0};

        if (twins(rows[i].name, &json, &pb))
            check_watch(&rows[i], &json, &pb);
        str_fini(&json);
        str_fini(&pb);
    }
}

static bool feed(struct ear *e, bool is_proto, const struct str *body, size_t split)
{
    struct json_frame lines = {0};
    struct proto_frame frames = {0};
    size_t rest = body->len - split;
    bool ok = is_proto ? proto_frame_feed(&frames, body->s, split, ear_frame, e) &&
                             proto_frame_feed(&frames, body->s + split, rest, ear_frame, e)
                       : json_frame_feed(&lines, body->s, split, ear_line, e) &&
                             json_frame_feed(&lines, body->s + split, rest, ear_line, e);

    json_frame_fini(&lines);
    proto_frame_fini(&frames);
    return ok;
}

static void check_splits(const struct store_kind *kind, const char *name, bool is_proto)
{
    struct str body = {0};
    struct ear whole, e;

    assert_true(ear_recording(name, &body));
    ear_init(&whole, kind);
    assert_true(feed(&whole, is_proto, &body, 0));
    assert_non_null(strchr(str_text(&whole.told), '\n'));
    for (size_t i = 1; i < body.len; i++) {
        ear_init(&e, kind);
        if (!feed(&e, is_proto, &body, i) || strcmp(str_text(&e.told), str_text(&whole.told)) != 0)
            fail_msg("%s is another one when it is split at byte %zu", name, i);
        assert_string_equal(e.rv, whole.rv);
        ear_fini(&e);
    }
    ear_fini(&whole);
    str_fini(&body);
}

static void a_recorded_watch_split_at_any_byte_tells_the_same(void **state)
{
    (void)state;
    check_splits(&store_nodes, "watch/nodes-add-modify-delete.resp.body.json", false);
    check_splits(&store_pods, "bind/watch-bind.resp.body.json", false);
    check_splits(&store_pods, "watch/pod-recreated.resp.body.json", false);
    check_splits(&store_nodes, "watch/nodes-add-modify-delete.pb.resp.body.pb", true);
    check_splits(&store_pods, "watch/pods-life.pb.resp.body.pb", true);
}

/* ---- errors */

static void refusals_say_the_same_in_both_encodings(void **state)
{
    static const struct {
        const char *name;
        int code;
    } rows[] = {{"list/410-continue-expired", 410}, {"list/410-rv-exact-compacted", 410},
                {"list/504-rv-too-large", 504},     {"errors/401-bad-token", 401},
                {"errors/403-list-nodes", 403},     {"errors/404-object", 404},
                {"errors/405-method", 405},         {"fault/etcd-stopped-create", 500}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str body[2] = {{0}, {0}};
        struct api_status s[2];
        enum api_verdict verdict[2];

        if (!twins(rows[i].name, &body[0], &body[1]))
            goto next;
        for (int k = 0; k < 2; k++)
            verdict[k] = api_classify(&(struct http_answer){.status = rows[i].code,
                                                            .body = body[k].s,
                                                            .len = body[k].len,
                                                            .trouble = "",
                                                            .retry_after_us = -1},
                                      &s[k]);
        assert_int_equal(verdict[0], verdict[1]);
        assert_string_equal(s[0].reason, s[1].reason);
        assert_true(s[1].reason[0]);
        assert_string_equal(s[0].kind, s[1].kind);
        assert_string_equal(s[0].cause, s[1].cause);
        assert_int_equal(s[0].retry_after_us, s[1].retry_after_us);
        assert_int_equal(s[0].code, s[1].code);
        assert_true(s[1].message[0]);
    next:
        str_fini(&body[0]);
        str_fini(&body[1]);
    }
}

static void a_damaged_status_says_its_code_only(void **state)
{
    static const char bytes[] = "k8s\0\x0a\x0d\x0a\x02v1\x12\x07Status"; /* and then nothing */
    struct api_status s;

    (void)state;
    assert_int_equal(api_classify(&(struct http_answer){.status = 403,
                                                        .body = bytes,
                                                        .len = sizeof(bytes) - 1,
                                                        .trouble = "",
                                                        .retry_after_us = -1},
                                  &s),
                     API_REFUSED);
    assert_string_equal(s.message, "HTTP status 403");
    assert_string_equal(s.reason, "");
}

static void the_content_type_decides(void **state)
{
    (void)state;
    assert_true(proto_is_type("application/vnd.kubernetes.protobuf"));
    assert_true(proto_is_type("application/vnd.kubernetes.protobuf;stream=watch"));
    assert_true(proto_is_type("Application/vnd.kubernetes.Protobuf ; x=y"));
    assert_false(proto_is_type("application/json"));
    assert_false(proto_is_type("application/vnd.kubernetes.protobufs"));
    assert_false(proto_is_type(""));
    assert_false(proto_is_type(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_in_both_encodings_are_the_same_facts),
        cmocka_unit_test(watches_in_both_encodings_are_the_same_facts),
        cmocka_unit_test(a_recorded_watch_split_at_any_byte_tells_the_same),
        cmocka_unit_test(refusals_say_the_same_in_both_encodings),
        cmocka_unit_test(a_damaged_status_says_its_code_only),
        cmocka_unit_test(the_content_type_decides),
    };

    log_setup(LOG_LEVEL_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
