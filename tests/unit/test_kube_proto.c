/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_proto.c - lists and watches in protobuf: the same facts as in JSON, and hostile bytes.
 *
 * Recordings are in tests/data/apiserver-traces, looked for from the root of the tree; more of them
 * lie beside the tree, in ../shared/data/apiserver-traces or $QUEUED_SHARED/data/apiserver-traces,
 * and a row without its file says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/proto_bytes.h"
#include "kube/kube_proto.h"
#include "kube/kube_store.h"
#include "util/mem.h"

/* ---- what a store tells, as text */

struct ear {
    const struct store_kind *kind;
    struct kube_store *store;
    struct inbox *inbox;
    struct json_sink sink;
    char rv[RV_MAX + 1];
    struct api_status status;
    bool is_masked; /* uids and times are those of another recording */
    struct str told;
};

static void say_amounts(struct str *b, const struct resource_amount *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        str_addf(b, " %s=%lld", v[i].name, (long long)v[i].amount);
}

static void say_node(struct ear *e, const struct node_fact *n)
{
    struct str *b = &e->told;

    str_addf(b, "node %s %s boot=%s ready=%d since=%lld cordoned=%d deleting=%d", n->name,
             e->is_masked ? "" : n->uid, n->boot_id, n->is_ready,
             e->is_masked ? 0 : (long long)n->not_ready_since, n->is_cordoned, n->is_deleting);
    say_amounts(b, n->capacity, n->n_capacity);
    str_add(b, " /");
    say_amounts(b, n->allocatable, n->n_allocatable);
    for (uint32_t i = 0; i < n->n_labels; i++)
        str_addf(b, " %s:%s", n->labels[i].key, n->labels[i].value);
    for (uint32_t i = 0; i < n->n_taints; i++)
        str_addf(b, " %s=%s!%s", n->taints[i].key, n->taints[i].value, n->taints[i].effect);
    str_add(b, "\n");
}

static void say_pod(struct ear *e, const struct pod_fact *p)
{
    struct str *b = &e->told;

    str_addf(b, "pod %s/%s %s on=%s phase=%d deleting=%d ready=%d exit=%d reason=%s", p->ns,
             p->name, e->is_masked ? "" : p->uid, p->node, (int)p->phase, p->is_deleting,
             p->is_ready, p->exit_code, p->reason);
    str_addf(b, " job=%llu/%u/%s/%u", (unsigned long long)p->job.v, p->attempt, p->role, p->index);
    say_amounts(b, p->requests, p->n_requests);
    str_add(b, "\n");
}

static void hear(struct ear *e)
{
    struct event ev;

    (void)kube_store_flush(e->store, e->inbox, 0); /* what has no room comes next time */
    while (inbox_pop(e->inbox, &ev)) {
        if (ev.kind == EV_NODE_SEEN)
            say_node(e, ev.u.node);
        else if (ev.kind == EV_POD_SEEN)
            say_pod(e, ev.u.pod);
        else if (ev.kind == EV_NODE_GONE)
            str_addf(&e->told, "gone %s\n", ev.u.node_name);
        else if (ev.kind == EV_POD_GONE)
            str_addf(&e->told, "gone %s/%s\n", ev.u.pod_gone->ns, ev.u.pod_gone->name);
        event_fini(&ev);
    }
}

static bool on_item(void *ctx, const char *p, size_t len)
{
    struct ear *e = ctx;

    return kube_store_list_item(e->store, p, len);
}

static void ear_init(struct ear *e, const struct store_kind *kind)
{
    *e = (struct ear){.kind = kind, .store = kube_store_create(kind), .inbox = inbox_create(1024)};
    e->sink = (struct json_sink){.item = on_item, .ctx = e};
}

static void ear_fini(struct ear *e)
{
    kube_store_destroy(e->store);
    inbox_destroy(e->inbox);
    str_fini(&e->told);
}

static bool took(struct ear *e, enum store_line line)
{
    if (line == LINE_BOOKMARK) /* come when they like */
        return true;
    hear(e);
    if (line == LINE_ERROR)
        str_addf(&e->told, "error %d %s %s\n", e->status.code, e->status.reason, e->status.cause);
    else if (line == LINE_BAD)
        str_add(&e->told, "no event\n");
    return line == LINE_OBJECT;
}

static bool on_line(void *ctx, const char *p, size_t len)
{
    struct ear *e = ctx;

    return took(e, kube_store_line(e->store, p, len, e->rv, &e->status));
}

static bool on_frame(void *ctx, const char *p, size_t len)
{
    struct ear *e = ctx;

    return took(e, kube_store_frame(e->store, p, len, e->rv, &e->status));
}

static void say_page(struct ear *e, struct json_page *page)
{
    str_addf(&e->told, "version %s items %zu more %s\n", page->rv, page->n,
             page->next ? page->next : "");
    free(page->next);
    hear(e);
}

/* A page in pieces; -1 and the reason. */
static int feed_list(struct ear *e, const struct str *body, size_t piece, struct err *err)
{
    struct proto_list l = {.kind = e->kind->list_kind, .sink = &e->sink};
    struct json_page page = {0};
    int rc = 0;

    kube_store_list_begin(e->store);
    for (size_t at = 0; at < body->len && !rc; at += piece)
        rc =
            proto_list_feed(&l, body->s + at, body->len - at < piece ? body->len - at : piece, err);
    if (!rc)
        rc = proto_list_end(&l, &page, err);
    proto_list_fini(&l);
    if (!rc)
        say_page(e, &page);
    return rc;
}

/* ---- recordings */

/* false, and a line that says SKIPPED: it is not here. */
static bool recording(const char *name, struct str *ret)
{
    const char *shared = getenv("QUEUED_SHARED");
    char *paths[] = {xasprintf("tests/data/apiserver-traces/%s", name),
                     xasprintf("%s/data/apiserver-traces/%s", shared ? shared : "../shared", name)};
    FILE *f = fopen(paths[0], "r");
    char buf[4096];
    size_t n;

    f = f ? f : fopen(paths[1], "r");
    free(paths[0]);
    free(paths[1]);
    if (!f) {
        printf("SKIPPED: the recording %s is not here\n", name);
        (void)fflush(stdout);
        return false;
    }
    str_add(ret, "");
    do {
        n = fread(buf, 1, sizeof(buf), f);
        str_add_bytes(ret, buf, n);
    } while (n);
    (void)fclose(f);
    return true;
}

struct twin {
    const struct store_kind *kind;
    const char *name;
};

static const size_t pieces[] = {1, 2, 3, 7, 100, 4096, SIZE_MAX / 2};

static bool twins(const char *name, struct str *ret_json, struct str *ret_pb)
{
    char *json = xasprintf("%s.resp.body.json", name), *pb = xasprintf("%s.pb.resp.body.pb", name);
    bool ok = recording(json, ret_json) && recording(pb, ret_pb);

    free(json);
    free(pb);
    return ok;
}

static void check_list(const struct twin *t, const struct str *json, const struct str *pb)
{
    struct json_page page = {0};
    struct ear a, b;
    struct err err = {0};

    ear_init(&a, t->kind);
    kube_store_list_begin(a.store);
    assert_int_equal(kube_store_list_page(a.store, json->s, json->len, &page, &err), 0);
    say_page(&a, &page);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        ear_init(&b, t->kind);
        if (feed_list(&b, pb, pieces[i], &err))
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
    (void)json_frame_feed(&lines, json->s, json->len, on_line, &a); /* false after an ERROR */
    json_frame_fini(&lines);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        struct proto_frame frames = {0};
        bool ok = true;

        ear_init(&b, t->kind);
        b.is_masked = true;
        for (size_t at = 0; at < pb->len && ok; at += pieces[i])
            ok =
                proto_frame_feed(&frames, pb->s + at,
                                 pb->len - at < pieces[i] ? pb->len - at : pieces[i], on_frame, &b);
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

/* ---- hostile bytes */

static void a_list_that_is_cut_anywhere_is_no_list(void **state)
{
    struct str pb = {0}, cut;
    struct err err;

    (void)state;
    assert_true(recording("list/pods.pb.resp.body.pb", &pb));
    /* the last four bytes are two empty fields of the envelope, after the list */
    for (size_t n = 0; n < pb.len - 4; n++) {
        struct ear e;

        cut = pb;
        cut.len = n;
        ear_init(&e, &store_pods);
        err = (struct err){0};
        if (!feed_list(&e, &cut, 1000, &err))
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
    assert_true(recording("list/pods.pb.resp.body.pb", &pb));
    for (size_t i = 0; i < pb.len; i++) {
        char was = pb.s[i];
        struct ear e;
        struct err err = {0};

        pb.s[i] = (char)(was ^ (char)(1 << i % 8));
        ear_init(&e, &store_pods);
        if (feed_list(&e, &pb, 997, &err)) {
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
    if (feed_list(&e, &body, 5, NULL))
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
    assert_true(recording("list/pods.pb.resp.body.pb", &pb));
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
    struct str item = {0};
    struct ear e;

    (void)state;
    while (item.len < FRAME_LINE_MAX - 16)
        pb_text(&item, 15, ""); /* two bytes, and a hundred in memory */
    ear_init(&e, &store_pods);
    assert_false(kube_store_list_item(e.store, item.s, item.len));
    str_fini(&item);
    pod_of(&item, "p", 1, "");
    assert_true(kube_store_list_item(e.store, item.s, item.len));
    str_fini(&item);
    ear_fini(&e);
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
        cmocka_unit_test(lists_in_both_encodings_are_the_same_facts),
        cmocka_unit_test(watches_in_both_encodings_are_the_same_facts),
        cmocka_unit_test(refusals_say_the_same_in_both_encodings),
        cmocka_unit_test(a_damaged_status_says_its_code_only),
        cmocka_unit_test(the_content_type_decides),
        cmocka_unit_test(a_list_that_is_cut_anywhere_is_no_list),
        cmocka_unit_test(flipped_bytes_are_read_or_refused),
        cmocka_unit_test(what_is_no_text_is_not_cut),
        cmocka_unit_test(names_that_are_too_long_are_passed_over),
        cmocka_unit_test(unknown_fields_are_skipped_however_deep),
        cmocka_unit_test(other_wire_types_are_refused),
        cmocka_unit_test(another_kind_of_list_is_refused),
        cmocka_unit_test(an_item_of_nine_megabytes_is_refused_before_it_comes),
        cmocka_unit_test(millions_of_tiny_fields_are_refused),
        cmocka_unit_test(a_frame_of_nine_megabytes_ends_the_stream),
        cmocka_unit_test(what_is_no_event_is_said_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
