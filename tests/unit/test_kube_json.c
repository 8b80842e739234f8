/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_json.c - the item scanner of lists and the framing of watch streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kube/kube_json.h"
#include "util/mem.h"

struct items {
    unsigned n;
    char joined[512];
};

static bool take(void *ctx, const char *p, size_t len)
{
    struct items *items = ctx;
    size_t at = strlen(items->joined);

    if (!len)
        return false;
    items->n++;
    (void)snprintf(items->joined + at, sizeof(items->joined) - at, "%.*s|", (int)len, p);
    return true;
}

static int split(const char *text, struct items *items, struct json_page *page)
{
    struct json_sink sink = {.item = take, .ctx = items};

    *items = (struct items){0};
    *page = (struct json_page){0};
    return json_page_split(text, strlen(text), &sink, page, NULL);
}

static void items_are_cut_at_their_own_brackets(void **state)
{
    static const char text[] =
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"42\",\"continue\":\"abc=\"},\n"
        " \"items\":[ {\"a\":\"]},{\\\"\"} , {\"b\":[{},[1,2]],\"c\":\"\\\\\"},{}]}\n";
    struct items items;
    struct json_page page;

    (void)state;
    assert_int_equal(split(text, &items, &page), 0);
    assert_int_equal(page.n, 3);
    assert_string_equal(items.joined, "{\"a\":\"]},{\\\"\"}|{\"b\":[{},[1,2]],\"c\":\"\\\\\"}|{}|");
    assert_string_equal(page.rv, "42");
    assert_string_equal(page.next, "abc=");
    free(page.next);
}

static void empty_lists_are_whole(void **state)
{
    static const char *const texts[] = {
        "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}",
        "{\"items\":null,\"metadata\":{\"resourceVersion\":\"1\"}}",
        "{\"items\":[ ],\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"\"}}",
    };
    struct items items;
    struct json_page page;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(split(texts[i], &items, &page), 0);
        assert_int_equal(items.n, 0);
        assert_null(page.next);
    }
}

static void a_list_cut_anywhere_is_refused(void **state)
{
    static const char text[] = "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},"
                               "\"items\":[{\"a\":1},{\"b\":[\"x\"]}],\"z\":12}";
    struct items items;
    struct json_page page;
    char cut[sizeof(text)];

    (void)state;
    assert_int_equal(split(text, &items, &page), 0);
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        memcpy(cut, text, n);
        cut[n] = '\0';
        assert_int_equal(split(cut, &items, &page), -1);
    }
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "<html>",
        "{}",
        "{\"items\":[]}",
        "{\"items\":{},\"metadata\":{\"resourceVersion\":\"1\"}}",
        "{\"items\":[,],\"metadata\":{\"resourceVersion\":\"1\"}}",
        "{\"items\":[{} {}],\"metadata\":{\"resourceVersion\":\"1\"}}",
        "{\"items\":[],\"metadata\":{\"resourceVersion\":\"1\"}}{}",
        "{\"items\":[],\"metadata\":{\"resourceVersion\":1}}",
        ("{\"items\":[],\"metadata\":{\"resourceVersion\":"
         "\"1234567890123456789012345678901234567890\"}}"),
    };
    struct items items;
    struct json_page page;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(split(texts[i], &items, &page), -1);
}

/* ---- framing */

static const char stream[] =
    "{\"type\":\"ADDED\",\"s\":\"\xc3\xa4\\\"\\n\"}\n\n{\"b\":2}\n{\"c\":3}\n";
static const char lines[] = "{\"type\":\"ADDED\",\"s\":\"\xc3\xa4\\\"\\n\"}|{\"b\":2}|{\"c\":3}|";

static void a_stream_cut_at_every_byte_gives_the_same_lines(void **state)
{
    size_t len = sizeof(stream) - 1;

    (void)state;
    for (size_t a = 0; a <= len; a++) {
        for (size_t b = a; b <= len; b++) {
            struct json_frame f = {0};
            struct items items = {0};

            assert_true(json_frame_feed(&f, stream, a, take, &items));
            assert_true(json_frame_feed(&f, stream + a, b - a, take, &items));
            assert_true(json_frame_feed(&f, stream + b, len - b, take, &items));
            assert_string_equal(items.joined, lines);
            json_frame_fini(&f);
        }
    }
}

static void a_line_without_end_is_given_up(void **state)
{
    static char chunk[1024 * 1024];
    struct json_frame f = {0};
    struct items items = {0};

    (void)state;
    memset(chunk, 'x', sizeof(chunk));
    for (int i = 0; i < 8; i++)
        assert_true(json_frame_feed(&f, chunk, sizeof(chunk), take, &items));
    assert_false(json_frame_feed(&f, chunk, 1, take, &items));
    json_frame_fini(&f);
}

static void missing_members_read_as_nothing(void **state)
{
    cJSON *o = cJSON_Parse("{\"a\":{\"b\":\"x\",\"n\":3,\"t\":true},\"l\":[1]}");

    (void)state;
    assert_string_equal(json_text(o, "a.b"), "x");
    assert_string_equal(json_text(o, "a.c.d"), "");
    assert_string_equal(json_text(o, "l.b"), "");
    assert_string_equal(json_text(NULL, "a"), "");
    assert_int_equal(json_int(o, "a.n", -1), 3);
    assert_int_equal(json_int(o, "a.b", -1), -1);
    assert_true(json_is_true(o, "a.t"));
    assert_false(json_is_true(o, "a.n"));
    cJSON_Delete(o);
}

static const char *scanned(const char *text, const char *path, char *buf, size_t size)
{
    return json_scan_text(text, strlen(text), path, buf, size) ? buf : NULL;
}

static void a_text_is_found_at_its_path_only(void **state)
{
    static const struct {
        const char *text, *path, *found;
    } rows[] = {
        {"{\"metadata\":{\"uid\":\"u-1\"}}", "metadata.uid", "u-1"},
        {" { \"kind\" : \"Pod\" , \"metadata\" : { \"name\":\"a}\\\"{\", \"uid\" : \"u-1\" } }\n",
         "metadata.uid", "u-1"},
        {"{\"spec\":{\"metadata\":{\"uid\":\"no\"}},\"metadata\":{\"owners\":[{\"uid\":\"no\"}],"
         "\"uid\":\"u-1\",\"x\":[1,2]},\"uid\":\"no\"}",
         "metadata.uid", "u-1"},
        {"{\"uid\":\"u-1\",\"metadata\":{}}", "uid", "u-1"},
        {"{\"metadata\":{\"uid\":\"u-1\"},\"metadata\":{\"uid\":\"u-2\"}}", "metadata.uid", "u-1"},
        {"{\"metadata\":{},\"uid\":\"no\"}", "metadata.uid", NULL},
        {"{\"uid\":\"no\"}", "metadata.uid", NULL},
        {"{\"metadata\":\"no\"}", "metadata.uid", NULL},
        {"{\"metadata\":{\"uid\":7}}", "metadata.uid", NULL},
        {"{\"metadata\":{\"uid\":\"\"}}", "metadata.uid", NULL},
        {"{\"metadata\":{\"uid\":\"a\\\\b\"}}", "metadata.uid", NULL},
        {"{\"metadata\":{\"uid\":\"longer-than-8\"}}", "metadata.uid", NULL},
        {"[{\"metadata\":{\"uid\":\"no\"}}]", "metadata.uid", NULL},
        {"{\"metadata\":{},\"metadata\":{\"uid\":\"u-2\"}}", "metadata.uid", NULL},
        {"", "metadata.uid", NULL},
    };
    char buf[9];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *found = scanned(rows[i].text, rows[i].path, buf, sizeof(buf));

        if (!found != !rows[i].found || (found && strcmp(found, rows[i].found) != 0))
            fail_msg("row %zu: %s", i, found ? found : "(none)");
    }
}

/* A stream that was broken off may be reported as a good answer. */
static void a_text_is_taken_whole_or_not_at_all(void **state)
{
    static const char text[] =
        "{\"a\":[{}],\"metadata\":{\"uid\":\"u-1\",\"n\":\"x\"},\"b\":{\"c\":[1]}}";
    size_t whole = (size_t)(strstr(text, "u-1\"") + 4 - text);
    char buf[9];

    (void)state;
    for (size_t n = 0; n <= strlen(text); n++) {
        char *cut = xmalloc(n + 1); /* the sanitizer sees a read beyond it */
        bool is_found;

        memcpy(cut, text, n);
        is_found = json_scan_text(cut, n, "metadata.uid", buf, sizeof(buf));
        if (is_found != (n >= whole) || (is_found && strcmp(buf, "u-1") != 0))
            fail_msg("cut at %zu", n);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_cut_at_their_own_brackets),
        cmocka_unit_test(empty_lists_are_whole),
        cmocka_unit_test(a_list_cut_anywhere_is_refused),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(a_stream_cut_at_every_byte_gives_the_same_lines),
        cmocka_unit_test(a_line_without_end_is_given_up),
        cmocka_unit_test(missing_members_read_as_nothing),
        cmocka_unit_test(a_text_is_found_at_its_path_only),
        cmocka_unit_test(a_text_is_taken_whole_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
