/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_store.c - lists and watch events into facts, told once and in order.
 *
 * The recordings are in tests/data, looked for from the root of the tree, and where node_objects.h
 * says.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kube/kube_store.h"
#include "../fake/node_objects.h"
#include "../fake/proto_bytes.h"
#include "util/mem.h"
#include "util/str.h"

struct fixture {
    struct kube_store *store;
    struct inbox *inbox;
    char rv[RV_MAX + 1];
    struct api_status status;
    struct str told; /* "+name/uid phase" and "-name/uid", one per fact */
};

static void setup(struct fixture *f, const struct store_kind *kind, size_t room)
{
    *f = (struct fixture){.store = kube_store_create(kind), .inbox = inbox_create(room)};
}

static void teardown(struct fixture *f)
{
    kube_store_destroy(f->store);
    inbox_destroy(f->inbox);
    str_fini(&f->told);
}

static enum store_line line(struct fixture *f, const char *text)
{
    return kube_store_line(f->store, text, strlen(text), f->rv, &f->status);
}

static enum store_line pod(struct fixture *f, const char *type, const char *uid, const char *rv,
                           const char *phase)
{
    char *text =
        xasprintf("{\"type\":\"%s\",\"object\":{\"metadata\":{\"namespace\":\"n\",\"name\":"
                  "\"p\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"},\"status\":{\"phase\":"
                  "\"%s\"}}}",
                  type, uid, rv, phase);
    enum store_line ret = line(f, text);

    free(text);
    return ret;
}

static void note(struct fixture *f, const struct event *ev)
{
    if (ev->kind == EV_POD_SEEN)
        str_addf(&f->told, "+%s/%s %d ", ev->u.pod->name, ev->u.pod->uid, (int)ev->u.pod->phase);
    else if (ev->kind == EV_POD_GONE)
        str_addf(&f->told, "-%s/%s ", ev->u.pod_gone->name, ev->u.pod_gone->uid);
    else if (ev->kind == EV_NODE_SEEN)
        str_addf(&f->told, "+%s ", ev->u.node->name);
    else if (ev->kind == EV_NODE_GONE)
        str_addf(&f->told, "-%s ", ev->u.node_name);
}

/* What the core hears now. */
static const char *hear(struct fixture *f)
{
    struct event ev;

    str_clear(&f->told);
    (void)kube_store_flush(f->store, f->inbox, 0); /* what has no room comes next time */
    while (inbox_pop(f->inbox, &ev)) {
        note(f, &ev);
        event_fini(&ev);
    }
    return str_text(&f->told);
}

static void only_the_newest_fact_of_a_key_waits(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 8);
    assert_int_equal(pod(&f, "ADDED", "u1", "10", "Pending"), LINE_OBJECT);
    assert_int_equal(pod(&f, "MODIFIED", "u1", "11", "Running"), LINE_OBJECT);
    assert_int_equal(pod(&f, "MODIFIED", "u1", "12", "Failed"), LINE_OBJECT);
    assert_string_equal(hear(&f), "+p/u1 3 ");
    assert_string_equal(hear(&f), "");
    assert_string_equal(f.rv, "12");
    teardown(&f);
}

/* Whoever collects a pod marks it first: both may come in one read. */
static void how_a_pod_ended_is_told_before_it_is_gone(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 8);
    pod(&f, "ADDED", "u1", "10", "Running");
    assert_string_equal(hear(&f), "+p/u1 1 ");
    pod(&f, "MODIFIED", "u1", "11", "Failed");
    pod(&f, "DELETED", "u1", "12", "Failed");
    pod(&f, "ADDED", "u2", "13", "Pending");
    assert_string_equal(hear(&f), "+p/u1 3 -p/u1 +p/u2 0 ");
    pod(&f, "MODIFIED", "u2", "14", "Succeeded");
    pod(&f, "ADDED", "u3", "16", "Succeeded"); /* another one has the name */
    assert_string_equal(hear(&f), "+p/u2 2 -p/u2 +p/u3 2 ");
    pod(&f, "DELETED", "u3", "17", "Succeeded");
    assert_string_equal(hear(&f), "-p/u3 ");
    teardown(&f);
}

static void the_first_end_is_the_one_that_is_told(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 8);
    pod(&f, "ADDED", "u1", "10", "Succeeded");
    pod(&f, "MODIFIED", "u1", "11", "Failed");
    assert_string_equal(hear(&f), "+p/u1 2 ");
    pod(&f, "MODIFIED", "u1", "12", "Failed");
    pod(&f, "DELETED", "u1", "13", "Failed");
    teardown(&f); /* what is not told is freed */
}

static void an_end_that_finds_no_room_is_told_later(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 1);
    pod(&f, "ADDED", "u1", "10", "Failed");
    pod(&f, "DELETED", "u1", "11", "Failed");
    assert_string_equal(hear(&f), "+p/u1 3 ");
    assert_string_equal(hear(&f), "-p/u1 ");
    assert_string_equal(hear(&f), "");
    teardown(&f);
}

static void an_older_version_of_the_same_uid_is_passed_over(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 8);
    pod(&f, "ADDED", "u1", "100", "Running");
    assert_string_equal(hear(&f), "+p/u1 1 ");
    pod(&f, "MODIFIED", "u1", "99", "Pending");
    pod(&f, "MODIFIED", "u1", "100", "Pending");
    assert_string_equal(hear(&f), "");
    pod(&f, "MODIFIED", "u1", "101", "Succeeded");
    assert_string_equal(hear(&f), "+p/u1 2 ");
    teardown(&f);
}

static void another_uid_under_the_same_name_is_an_end_and_a_beginning(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 8);
    pod(&f, "ADDED", "u1", "10", "Running");
    assert_string_equal(hear(&f), "+p/u1 1 ");
    pod(&f, "ADDED", "u2", "12", "Pending");
    pod(&f, "DELETED", "u1", "11", "Running");
    assert_string_equal(hear(&f), "-p/u1 +p/u2 0 ");
    pod(&f, "DELETED", "u2", "13", "Pending");
    pod(&f, "ADDED", "u3", "14", "Pending");
    pod(&f, "DELETED", "u3", "15", "Pending");
    assert_string_equal(hear(&f), "-p/u2 -p/u3 ");
    assert_int_equal(kube_store_count(f.store), 0);
    teardown(&f);
}

static void an_event_of_a_uid_that_has_ended_is_late(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 8);
    pod(&f, "ADDED", "u1", "10", "Running");
    pod(&f, "DELETED", "u1", "12", "Running");
    assert_string_equal(hear(&f), "-p/u1 ");
    pod(&f, "MODIFIED", "u1", "11", "Running");
    pod(&f, "ADDED", "u1", "13", "Running"); /* whatever its version says */
    assert_string_equal(hear(&f), "");
    pod(&f, "ADDED", "u2", "20", "Pending");
    pod(&f, "MODIFIED", "u3", "19", "Running"); /* its name has gone on to another */
    assert_string_equal(hear(&f), "+p/u2 0 ");
    assert_int_equal(kube_store_count(f.store), 1);
    assert_string_equal(f.rv, "20");
    teardown(&f);
}

static void the_last_change_is_known_by_version(void **state)
{
    const struct store_latest *l;
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 8);
    l = kube_store_latest(f.store);
    assert_string_equal(l->rv, "");
    pod(&f, "ADDED", "u1", "10", "Running");
    pod(&f, "MODIFIED", "u1", "9", "Running");
    assert_string_equal(l->ns, "n");
    assert_string_equal(l->name, "p");
    assert_string_equal(l->uid, "u1");
    assert_string_equal(l->rv, "10");
    assert_false(l->is_gone);
    pod(&f, "DELETED", "u1", "12", "Running");
    assert_string_equal(l->rv, "12");
    assert_true(l->is_gone);
    kube_store_list_begin(f.store);
    assert_string_equal(l->rv, "");
    teardown(&f);
}

/* A list of a hundred megabytes: while its items come, no more lies in memory than one of them and
 * what is known of it. */
static void a_list_takes_no_more_memory_than_an_item(void **state)
{
    struct str item = {0}, meta = {0};
    struct fixture f;
    size_t before, most = 0;

    (void)state;
    setup(&f, &store_nodes, 8);
    pb_text(&meta, 1, "a");
    pb_text(&meta, 5, "u");
    pb_text(&meta, 6, "7");
    pb_message(&item, 1, &meta);
    while (item.len < 100 * 1024)
        pb_text(&item, 15, "something that nobody reads, and of which there is much");
    before = mallinfo2().uordblks;
    kube_store_list_begin(f.store);
    for (int i = 0; i < 1000; i++) {
        size_t now;

        assert_true(kube_store_list_item(f.store, item.s, item.len));
        now = mallinfo2().uordblks + mallinfo2().hblkhd - before;
        most = now > most ? now : most;
    }
    kube_store_list_end(f.store);
    assert_true(most < 2 * 1024 * 1024);
    assert_int_equal(kube_store_waiting(f.store), 1);
    assert_string_equal(hear(&f), "+a ");
    assert_int_equal(kube_store_waiting(f.store), 0);
    str_fini(&item);
    teardown(&f);
}

static void a_full_inbox_loses_nothing(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 1);
    pod(&f, "ADDED", "u1", "10", "Running");
    pod(&f, "ADDED", "u2", "11", "Running");
    pod(&f, "ADDED", "u3", "12", "Running");
    assert_string_equal(hear(&f), "-p/u1 ");
    assert_string_equal(hear(&f), "-p/u2 ");
    assert_string_equal(hear(&f), "+p/u3 1 ");
    assert_string_equal(hear(&f), "");
    teardown(&f);
}

static void list(struct fixture *f, const char *items)
{
    char *text = xasprintf("{\"metadata\":{\"resourceVersion\":\"50\"},\"items\":[%s]}", items);
    struct json_page page;

    assert_int_equal(kube_store_list_page(f->store, text, strlen(text), &page, NULL), 0);
    free(text);
}

#define NODE(name, uid, rv)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv "\"}}"

static void a_new_list_says_goodbye_to_what_it_does_not_have(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_nodes, 8);
    kube_store_list_begin(f.store);
    list(&f, NODE("a", "1", "10") "," NODE("b", "2", "11"));
    list(&f, NODE("c", "3", "12"));
    kube_store_list_end(f.store);
    assert_string_equal(hear(&f), "+a +b +c ");
    kube_store_list_begin(f.store);
    list(&f, NODE("c", "9", "20"));
    kube_store_list_begin(f.store); /* broke off: again from the start */
    list(&f, NODE("a", "1", "10") "," NODE("c", "9", "20"));
    kube_store_list_end(f.store);
    assert_string_equal(hear(&f), "-c -b +c ");
    teardown(&f);
}

static void a_list_is_believed_even_when_versions_went_back(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_nodes, 8);
    kube_store_list_begin(f.store);
    list(&f, NODE("a", "1", "1000"));
    kube_store_list_end(f.store);
    assert_string_equal(hear(&f), "+a ");
    kube_store_list_begin(f.store);
    list(&f, NODE("a", "1", "7"));
    kube_store_list_end(f.store);
    assert_string_equal(hear(&f), "+a ");
    teardown(&f);
}

static void bookmarks_move_the_version_and_nothing_else(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, &store_nodes, 8);
    assert_int_equal(line(&f, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Node\",\"metadata\":{"
                              "\"resourceVersion\":\"77\"},\"spec\":{},\"status\":{}}}"),
                     LINE_BOOKMARK);
    assert_string_equal(f.rv, "77");
    assert_string_equal(hear(&f), "");
    teardown(&f);
}

static void what_is_no_event_is_said_so(void **state)
{
    static const char *const texts[] = {
        "",
        "{}",
        "null",
        "{\"type\":\"ADDED\"}",
        "{\"type\":\"ADDED\",\"object\":{}}",
        "{\"type\":\"WHAT\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}",
        "{\"type\":",
    };
    struct fixture f;

    (void)state;
    setup(&f, &store_pods, 8);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(line(&f, texts[i]), LINE_BAD);
    assert_string_equal(hear(&f), "");
    teardown(&f);
}

static void read_lines(struct fixture *f, const char *path, enum store_line *ret_last)
{
    FILE *in = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    ssize_t n;

    if (!in)
        fail_msg("RECORDING MISSING: %s (run from the root of the tree)", path);
    n = getline(&text, &room, in);
    while (n > 0) {
        *ret_last = kube_store_line(f->store, text, (size_t)n, f->rv, &f->status);
        n = getline(&text, &room, in);
    }
    free(text);
    (void)fclose(in);
}

struct recording {
    const char *path;
    const struct store_kind *kind;
    enum store_line last;
    size_t count;
};

static void check_recording(const struct recording *r)
{
    enum store_line last = LINE_BAD;
    struct fixture f;

    setup(&f, r->kind, 64);
    read_lines(&f, r->path, &last);
    if (last != r->last || kube_store_count(f.store) != r->count)
        fail_msg("%s: last %d, count %zu", r->path, (int)last, kube_store_count(f.store));
    if (last == LINE_ERROR)
        assert_int_equal(f.status.code, 410);
    (void)hear(&f);
    teardown(&f);
}

static void recorded_watches_are_understood(void **state)
{
    static const struct recording rows[] = {
        {OWN_NODES "/watch-plugin-restart.jsonl", &store_nodes, LINE_ERROR, 0},
        {"tests/data/apiserver-traces/bind/watch-bind.resp.body.json", &store_pods, LINE_OBJECT, 2},
        {"tests/data/apiserver-traces/watch/pods-life.resp.body.json", &store_pods, LINE_OBJECT, 0},
        {"tests/data/apiserver-traces/watch/nodes-add-modify-delete.resp.body.json", &store_nodes,
         LINE_BOOKMARK, 0},
        {"tests/data/apiserver-traces/watch/410-cache-overflow.resp.body.json", &store_nodes,
         LINE_ERROR, 0},
    };
    char *dir = node_objects_dir();
    char *path = xasprintf("%s/watch-plugin-restart.jsonl", dir ? dir : OWN_NODES);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_recording(&rows[i]);
    check_recording(&(struct recording){path, &store_nodes, LINE_ERROR, 0});
    free(path);
    free(dir);
}

/* What is logged while the page is read; NULL-terminated, the caller frees it. */
static char *logged_by(struct fixture *f, const char *items)
{
    char path[] = "/tmp/queued-test-log-XXXXXX";
    int fd = mkstemp(path), old = dup(STDERR_FILENO);
    char *text = xcalloc(1, 16384);

    assert_true(fd >= 0 && old >= 0);
    (void)unlink(path);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    list(f, items);
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    assert_true(pread(fd, text, 16383, 0) >= 0);
    (void)close(fd);
    (void)close(old);
    return text;
}

static unsigned lines_in(const char *text)
{
    unsigned n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void what_cannot_be_had_is_said_and_passed_over(void **state)
{
    char name[NODE_NAME_MAX + 2], uid[UID_MAX + 2], rv[RV_MAX + 2];
    struct fixture f;
    char *items, *text;

    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    memset(uid, '1', sizeof(uid) - 1);
    memset(rv, '1', sizeof(rv) - 1);
    name[sizeof(name) - 1] = uid[sizeof(uid) - 1] = rv[sizeof(rv) - 1] = '\0';
    setup(&f, &store_nodes, 8);
    kube_store_list_begin(f.store);
    list(&f, NODE("good", "1", "10"));
    kube_store_list_end(f.store);
    assert_string_equal(hear(&f), "+good ");
    kube_store_list_begin(f.store);
    items = xasprintf(
        NODE("%s", "1", "10") "," NODE("long-uid", "%s", "10") "," NODE(
            "long-version", "1",
            "%s") "," NODE("", "1", "10") "," NODE("no-uid", "",
                                                   "10") ",{},{\"metadata\":[]},{\"metadata\":{"
                                                         "\"name\":{}}}," NODE("good", "1", "10"),
        name, uid, rv);
    text = logged_by(&f, items);
    kube_store_list_end(f.store);
    assert_string_equal(hear(&f), "");
    assert_int_equal(kube_store_count(f.store), 1);
    assert_int_equal(lines_in(text), 8);
    assert_non_null(strstr(text, "passed over"));
    assert_non_null(strstr(text, "name=\"long-uid\""));
    free(items);
    free(text);
    teardown(&f);
}

static void many_odd_objects_do_not_fill_the_log(void **state)
{
    struct str items = {0};
    struct fixture f;
    char *text;

    (void)state;
    setup(&f, &store_pods, 8);
    for (int i = 0; i < 500; i++)
        str_add(&items, i ? ",{}" : "{}");
    text = logged_by(&f, items.s);
    assert_in_range(lines_in(text), 1, 20);
    free(text);
    str_fini(&items);
    teardown(&f);
}

static void versions_are_ordered_by_length_first(void **state)
{
    (void)state;
    assert_true(kube_rv_compare("9", "10") < 0);
    assert_true(kube_rv_compare("200", "199") > 0);
    assert_true(kube_rv_compare("99999999999999999999999", "100000000000000000000000") < 0);
    assert_int_equal(kube_rv_compare("7", "7"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_newest_fact_of_a_key_waits),
        cmocka_unit_test(how_a_pod_ended_is_told_before_it_is_gone),
        cmocka_unit_test(the_first_end_is_the_one_that_is_told),
        cmocka_unit_test(an_end_that_finds_no_room_is_told_later),
        cmocka_unit_test(an_older_version_of_the_same_uid_is_passed_over),
        cmocka_unit_test(another_uid_under_the_same_name_is_an_end_and_a_beginning),
        cmocka_unit_test(an_event_of_a_uid_that_has_ended_is_late),
        cmocka_unit_test(the_last_change_is_known_by_version),
        cmocka_unit_test(a_list_takes_no_more_memory_than_an_item),
        cmocka_unit_test(a_full_inbox_loses_nothing),
        cmocka_unit_test(a_new_list_says_goodbye_to_what_it_does_not_have),
        cmocka_unit_test(a_list_is_believed_even_when_versions_went_back),
        cmocka_unit_test(bookmarks_move_the_version_and_nothing_else),
        cmocka_unit_test(what_is_no_event_is_said_so),
        cmocka_unit_test(recorded_watches_are_understood),
        cmocka_unit_test(what_cannot_be_had_is_said_and_passed_over),
        cmocka_unit_test(many_odd_objects_do_not_fill_the_log),
        cmocka_unit_test(versions_are_ordered_by_length_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
