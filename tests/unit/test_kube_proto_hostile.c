/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_proto_hostile.c - protobuf that no API server should send: cut, flipped, huge, deep.
 *
 * Refused with a reason or read for what it is; never a crash, and no text is cut silently.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/proto_bytes.h"
#include "../fake/proto_ear.h"
#include "util/log.h"
#include "util/mem.h"

static void a_list_that_is_cut_anywhere_is_no_list(void **state)
{
    struct str pb = {0}, cut;
    struct err err;

    (void)state;
    assert_true(ear_recording("list/pods.pb.resp.body.pb", &pb));
    /* the last four bytes are two empty fields of the envelope, after the list */
    for (size_t n = 0; n < pb.len - 4; n++) {
        struct ear e;

        cut = pb;
        cut.len = n;
        ear_init(&e, &store_pods);
        err = (struct err){0};
        if (!ear_page(&e, &cut, 1000, &err))
            fail_msg("%zu of %zu bytes are taken for a list", n, pb.len);
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(err.text[0]);
        ear_fini(&e);
    }
    str_fini(&pb);
}

static void flipped_bytes_are_read_or_refused(void **state)
{
    struct str pb = {0};
    unsigned n_refused = 0;

    (void)state;
    assert_true(ear_recording("list/pods.pb.resp.body.pb", &pb));
    for (size_t i = 0; i < pb.len; i++) {
        char was = pb.s[i];
        struct ear e;
        struct err err = {0};

        pb.s[i] = (char)(was ^ (char)(1 << i % 8));
        ear_init(&e, &store_pods);
        if (ear_page(&e, &pb, 997, &err)) {
            assert_int_equal(err.code, ERR_INVALID);
            n_refused++;
        }
        ear_fini(&e);
        pb.s[i] = was;
    }
    assert_in_range(n_refused, 10, pb.len - 10);
    str_fini(&pb);
}

/* A list of pods around the bytes of one item. */
static void wrap(struct str *out, struct str *item)
{
    struct str meta = {0}, list = {0};

    pb_text(&meta, 2, "77");
    pb_message(&list, 1, &meta);
    pb_message(&list, 2, item);
    pb_envelope(out, "PodList", &list);
}

static void pod_of(struct str *item, const char *name, size_t name_len, const char *reason)
{
    struct str meta = {0}, status = {0};

    pb_bytes(&meta, 1, name, name_len);
    pb_text(&meta, 3, "ns");
    pb_text(&meta, 5, "uid");
    pb_text(&meta, 6, "7");
    pb_message(item, 1, &meta);
    pb_text(&status, 1, "Running");
    pb_text(&status, 4, reason);
    pb_message(item, 3, &status);
}

/* What the store tells of a list of this one item; the caller frees it. "" when it is refused. */
static char *told_of(struct str *item)
{
    struct str body = {0};
    struct ear e;
    char *ret;

    wrap(&body, item);
    ear_init(&e, &store_pods);
    if (ear_page(&e, &body, 5, NULL))
        str_clear(&e.told);
    ret = xstrdup(str_text(&e.told));
    str_fini(&body);
    ear_fini(&e);
    return ret;
}

static void assert_told(struct str *item, const char *has, const char *has_not)
{
    char *text = told_of(item);

    if (has && !strstr(text, has))
        fail_msg("no \"%s\" in \"%s\"", has, text);
    if (has_not && strstr(text, has_not))
        fail_msg("\"%s\" in \"%s\"", has_not, text);
    free(text);
}

static void what_is_no_text_is_not_cut(void **state)
{
    struct str item = {0};

    (void)state;
    pod_of(&item, "a\0b", 3, "R\xff\xc3(");
    assert_told(&item,
                "pod ns/a\xef\xbf\xbd"
                "b uid",
                NULL);
    pod_of(&item, "p", 1, "R\xff\xc3(");
    assert_told(&item, "reason=R\xef\xbf\xbd\xef\xbf\xbd(", NULL);
    pod_of(&item, "p", 1, "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
    assert_told(&item, "reason=\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", NULL);
}

static void names_that_are_too_long_are_passed_over(void **state)
{
    char name[NODE_NAME_MAX + 2];
    struct str item = {0};

    (void)state;
    memset(name, 'a', sizeof(name));
    pod_of(&item, name, NODE_NAME_MAX, "");
    assert_told(&item, "pod ns/aaaa", NULL);
    pod_of(&item, name, NODE_NAME_MAX + 1, "");
    assert_told(&item, "items 1", "pod ns/");
}

static void unknown_fields_are_skipped_however_deep(void **state)
{
    struct str item = {0}, deep = {0};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct str inner = deep;

        deep = (struct str){0};
        pb_message(&deep, 500, &inner);
    }
    pb_message(&item, 900, &deep);
    pb_int(&item, 901, UINT64_MAX);
    pb_tag(&item, 902, 1);
    str_add(&item, "12345678");
    pb_tag(&item, 903, 5);
    str_add(&item, "1234");
    pod_of(&item, "p", 1, "");
    assert_told(&item, "pod ns/p uid", NULL);
}

static void other_wire_types_are_refused(void **state)
{
    struct str item = {0}, body = {0};
    struct proto_list l = {.kind = "PodList"};

    (void)state;
    pb_int(&item, 1, 5); /* metadata */
    assert_told(&item, NULL, "items");
    pb_tag(&item, 900, 3); /* a group */
    assert_told(&item, NULL, "items");
    str_add_bytes(&item, "\0", 1); /* field 0 */
    assert_told(&item, NULL, "items");
    str_add_bytes(&body, "k8s", 4);
    pb_int(&body, 2, 5); /* raw */
    assert_int_equal(proto_list_feed(&l, body.s, body.len, NULL), -1);
    proto_list_fini(&l);
    str_fini(&body);
}

static void another_kind_of_list_is_refused(void **state)
{
    struct str pb = {0};
    struct proto_list l = {.kind = "NodeList"};
    struct err err = {0};

    (void)state;
    assert_true(ear_recording("list/pods.pb.resp.body.pb", &pb));
    assert_int_equal(proto_list_feed(&l, pb.s, pb.len, &err), -1);
    assert_string_equal(err.text, "the answer is a \"PodList\" and no NodeList");
    proto_list_fini(&l);
    str_fini(&pb);
}

static void an_item_of_nine_megabytes_is_refused_before_it_comes(void **state)
{
    struct str body = {0}, type = {0}, meta = {0};
    struct proto_list l = {.kind = "PodList"};
    struct err err = {0};

    (void)state;
    str_add_bytes(&body, "k8s", 4);
    pb_text(&type, 2, "PodList");
    pb_message(&body, 1, &type);
    pb_tag(&body, 2, 2);
    pb_varint(&body, 20 * 1024 * 1024);
    pb_text(&meta, 2, "77");
    pb_message(&body, 1, &meta);
    pb_tag(&body, 2, 2);
    pb_varint(&body, 9 * 1024 * 1024);
    assert_int_equal(proto_list_feed(&l, body.s, body.len, &err), -1);
    assert_string_equal(err.text, "an item has 9437184 bytes");
    assert_int_equal(l.partial.len, 0);
    proto_list_fini(&l);
    str_fini(&body);
}

static void millions_of_tiny_fields_are_refused(void **state)
{
    struct str item = {0}, meta = {0};
    struct ear e;

    (void)state;
    while (meta.len < FRAME_LINE_MAX - 16)
        pb_text(&meta, 11, ""); /* a label: two bytes, and a hundred in memory */
    pb_message(&item, 1, &meta);
    ear_init(&e, &store_pods);
    assert_false(kube_store_list_item(e.store, item.s, item.len));
    str_fini(&item);
    pod_of(&item, "p", 1, "");
    assert_true(kube_store_list_item(e.store, item.s, item.len));
    while (item.len < FRAME_LINE_MAX - 16)
        pb_text(&item, 15, ""); /* what nobody knows takes no memory */
    assert_true(kube_store_list_item(e.store, item.s, item.len));
    str_fini(&item);
    ear_fini(&e);
}

static void of_a_field_that_comes_twice_the_last_one_counts(void **state)
{
    struct str item = {0}, meta = {0};
    struct object_fields fields;
    struct arena a = {0};

    (void)state;
    pb_text(&meta, 1, "first");
    pb_text(&meta, 1, "last");
    pb_message(&item, 1, &meta);
    assert_true(pod_fields_proto(&a, item.s, item.len, &fields));
    assert_string_equal(fields.meta.name, "last");
    arena_fini(&a);
    str_fini(&item);
}

static bool count_frame(void *ctx, const char *p, size_t len)
{
    (void)p;
    (void)len;
    ++*(unsigned *)ctx;
    return true;
}

static void a_frame_of_nine_megabytes_ends_the_stream(void **state)
{
    struct proto_frame whole = {0}, parts = {0};
    const uint8_t head[] = {0, 0x90, 0, 0, 1};
    unsigned n = 0;

    (void)state;
    assert_false(proto_frame_feed(&whole, head, sizeof(head), count_frame, &n));
    assert_true(proto_frame_feed(&parts, head, 3, count_frame, &n));
    assert_false(proto_frame_feed(&parts, head + 3, 1, count_frame, &n));
    assert_int_equal(n, 0);
    proto_frame_fini(&whole);
    proto_frame_fini(&parts);
}

static void what_is_no_event_is_said_so(void **state)
{
    struct str frames[6] = {{0}}, object = {0}, event = {0};
    struct ear e;

    (void)state;
    ear_init(&e, &store_pods);
    str_add_bytes(&frames[0], "\0\0\0\0", 4); /* empty */
    pod_of(&object, "p", 1, "");
    pb_envelope(&event, "Node", &object); /* another kind */
    pb_frame(&frames[1], "ADDED", &event);
    pod_of(&object, "p", 1, "");
    pb_envelope(&event, "Pod", &object);
    pb_frame(&frames[2], "WHATEVER", &event);
    pod_of(&object, "p", 1, "");
    pb_frame(&frames[3], "ADDED", &object); /* no envelope */
    pb_envelope(&event, "Pod", &object);    /* no version */
    pb_frame(&frames[4], "ADDED", &event);
    pb_envelope(&event, "Pod", &object);
    pb_frame(&frames[5], "ERROR", &event); /* no Status */
    for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
        enum store_line line =
            kube_store_frame(e.store, frames[i].s + 4, frames[i].len - 4, e.rv, &e.status);

        assert_int_equal(line, i == 5 ? LINE_ERROR : LINE_BAD);
        assert_int_equal(e.status.code, 0);
        str_fini(&frames[i]);
    }
    assert_int_equal(kube_store_count(e.store), 0);
    ear_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_that_is_cut_anywhere_is_no_list),
        cmocka_unit_test(flipped_bytes_are_read_or_refused),
        cmocka_unit_test(what_is_no_text_is_not_cut),
        cmocka_unit_test(names_that_are_too_long_are_passed_over),
        cmocka_unit_test(unknown_fields_are_skipped_however_deep),
        cmocka_unit_test(other_wire_types_are_refused),
        cmocka_unit_test(another_kind_of_list_is_refused),
        cmocka_unit_test(an_item_of_nine_megabytes_is_refused_before_it_comes),
        cmocka_unit_test(millions_of_tiny_fields_are_refused),
        cmocka_unit_test(of_a_field_that_comes_twice_the_last_one_counts),
        cmocka_unit_test(a_frame_of_nine_megabytes_ends_the_stream),
        cmocka_unit_test(what_is_no_event_is_said_so),
    };

    log_setup(LOG_LEVEL_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
