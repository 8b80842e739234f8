/* SPDX-License-Identifier: Apache-2.0 */
/* test_yaml.c - the subset is read into a tree with positions; everything else is refused with
 * line and column; a schema table names unknown keys and what was meant.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/mem.h"
#include "util/str.h"
#include "util/yaml.h"

static struct yaml_doc *parse(const char *text)
{
    struct yaml_doc *d = NULL;
    struct err err;

    if (yaml_parse(&d, "job.yaml", text, strlen(text), &err))
        fail_msg("%s", err.text);
    return d;
}

static void assert_refused(const char *text, size_t len, const char *want)
{
    struct yaml_doc *d = NULL;
    struct err err;

    if (yaml_parse(&d, "job.yaml", text, len, &err) != -1)
        fail_msg("was accepted: %s", text);
    assert_int_equal(err.code, ERR_INVALID);
    assert_null(d);
    if (!strstr(err.text, want))
        fail_msg("\"%s\" lacks \"%s\"", err.text, want);
}

static void maps_lists_and_values_know_their_place(void **state)
{
    struct yaml_doc *d = parse("a: 1\nb:\n- x\n- {c: \"2\", d: null}\n");
    const struct yaml_node *root = d->roots[0], *b, *map;

    (void)state;
    assert_int_equal(d->n, 1);
    assert_int_equal(root->kind, YAML_MAP);
    assert_int_equal(root->n, 2);
    assert_string_equal(yaml_get(root, "a")->text, "1");
    assert_false(yaml_get(root, "a")->is_quoted);
    b = yaml_get(root, "b");
    assert_int_equal(b->kind, YAML_LIST);
    assert_int_equal(b->n, 2);
    map = b->items[1];
    assert_int_equal(map->line, 4);
    assert_int_equal(map->column, 3);
    assert_true(yaml_get(map, "c")->is_quoted);
    assert_int_equal(yaml_get(map, "d")->kind, YAML_NULL);
    assert_null(yaml_get(map, "e"));
    yaml_destroy(d);
}

static void json_is_part_of_it(void **state)
{
    struct yaml_doc *d = parse("{\"a\": [1, {\"b\": \"x\\ny\"}], \"c\": null}");

    (void)state;
    assert_string_equal(yaml_get(yaml_get(d->roots[0], "a")->items[1], "b")->text, "x\ny");
    yaml_destroy(d);
}

static void several_documents_are_kept(void **state)
{
    struct yaml_doc *d = parse("a: 1\n---\na: 2\n---\n- x\n");

    (void)state;
    assert_int_equal(d->n, 3);
    assert_string_equal(yaml_get(d->roots[1], "a")->text, "2");
    assert_int_equal(d->roots[1]->line, 3);
    yaml_destroy(d);
    d = parse("# nothing\n");
    assert_int_equal(d->n, 0);
    yaml_destroy(d);
}

static void what_is_outside_the_subset_is_refused_with_its_place(void **state)
{
    static const char *const rows[][2] = {
        {"a: &x 1\n", "job.yaml:1:4: anchors"},
        {"a: 1\nb: *x\n", "job.yaml:2:4: aliases"},
        {"a: !!str 1\n", "job.yaml:1:4: tags"},
        {"a: ! 1\n", "job.yaml:1:4: tags"},
        {"b: 1\n<<: {a: 1}\n", "job.yaml:2:1: merge keys"},
        {"a: 1\nb: 2\na: 3\n", "job.yaml:3:1: duplicate key \"a\""},
        {"{x: 1, y: 2, z: 3, y: 4}", "job.yaml:1:20: duplicate key \"y\""},
        {"? [a]\n: 1\n", "job.yaml:1:3: a key must be plain text"},
        {"a: [1\nb: 2\n", "job.yaml:2"},
        {"a:\n\t- b\n", "job.yaml:2:1"},
        {"a: \"x\\0y\"\n", "job.yaml:1:4: text with control characters"},
        {"a: \"x\\x07y\"\n", "job.yaml:1:4: text with control characters"},
        {"a: \xff\xfe\n", "UTF-8"},
    };
    static const char with_nul[] = "a: b\0c\n";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_refused(rows[i][0], strlen(rows[i][0]), rows[i][1]);
    assert_refused(with_nul, sizeof(with_nul) - 1, "job.yaml: byte 4: control characters");
}

static void depth_and_size_are_bounded(void **state)
{
    char *text = xmalloc(YAML_BYTES_MAX + 1);

    (void)state;
    memset(text, '[', YAML_BYTES_MAX + 1);
    assert_refused(text, 100000, "nested too deeply");
    assert_refused(text, YAML_BYTES_MAX + 1, "larger than");
    text[0] = '[';
    for (size_t i = 1; i < YAML_BYTES_MAX; i++)
        text[i] = i % 2 ? '1' : ',';
    assert_refused(text, YAML_BYTES_MAX, "too many entries");
    free(text);
}

struct thing {
    const char *name;
    uint64_t count;
    bool is_big;
    uint64_t sum;
};

static int read_name(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_string(at, out, err);
}

static int read_count(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_u64(at, 1, 10, out, err);
}

static int read_flag(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_bool(at, out, err);
}

static int add_up(const struct yaml_at *at, const char *key, void *out, struct err *err)
{
    uint64_t v;

    (void)key;
    if (yaml_u64(at, 0, 100, &v, err))
        return -1;
    *(uint64_t *)out += v;
    return 0;
}

static int read_sum(const struct yaml_at *at, void *out, struct err *err)
{
    return yaml_each(at, add_up, out, err);
}

static const struct yaml_field fields[] = {
    {"name", read_name, offsetof(struct thing, name), true, NULL},
    {"count", read_count, offsetof(struct thing, count), false, NULL},
    {"isBig", read_flag, offsetof(struct thing, is_big), false, NULL},
    {"sum", read_sum, offsetof(struct thing, sum), false, NULL},
    {"comment", NULL, 0, false, NULL},
    {"elastic", NULL, 0, false, "not acted on by this version; remove it"},
};

static int walk(const char *text, struct thing *t, struct err *err)
{
    static char name[64]; /* outlives the tree */
    struct yaml_doc *d = parse(text);
    struct yaml_at at = {d, d->roots[0], "spec"};
    int rc = yaml_walk(&at, fields, ARRAY_LEN(fields), t, err);

    if (t->name) {
        (void)str_copy(name, sizeof(name), t->name);
        t->name = name;
    }
    yaml_destroy(d);
    return rc;
}

static void a_schema_reads_what_it_names(void **state)
{
    struct thing t = {0};
    struct err err;

    (void)state;
    assert_int_equal(
        walk("name: x\ncount: 7\nisBig: true\nsum: [1, 2, 3]\ncomment: [hm]\n", &t, &err), 0);
    assert_string_equal(t.name, "x");
    assert_int_equal(t.count, 7);
    assert_true(t.is_big);
    assert_int_equal(t.sum, 6);
    t.sum = 0;
    assert_int_equal(walk("name: x\nsum: {a: 4, b: 5}\n", &t, &err), 0);
    assert_int_equal(t.sum, 9);
    t.count = 3;
    assert_int_equal(walk("name: x\ncount:\n", &t, &err), 0);
    assert_int_equal(t.count, 3); /* an empty value is: not given */
}

static void schema_errors_name_place_path_and_remedy(void **state)
{
    static const char *const rows[][2] = {
        {"name: x\ncuont: 3\n", "job.yaml:2:1: spec.cuont: unknown key; did you mean count?"},
        {"name: x\nzzzzzzzz: 3\n", "known here are: name, count, isBig, sum, comment"},
        {"name: x\na.b/c: 3\n", "job.yaml:2:1: spec[\"a.b/c\"]: unknown key"},
        {"name: x\nelastic: {}\n", "job.yaml:2:1: spec.elastic: not acted on by this version"},
        {"count: 3\n", "job.yaml:1:1: spec: \"name\" is missing"},
        {"name:\n", "\"name\" is missing"},
        {"name: [x]\n", "job.yaml:1:7: spec.name: expected text, this is a list"},
        {"name: x\ncount: 11\n", "spec.count: 11 is out of range; allowed are 1 to 10"},
        {"name: x\ncount: 0x5\n", "is no whole number"},
        {"name: x\ncount: \"5\"\n", "drop the quotes"},
        {"name: x\nisBig: yes\n", "expected true or false, this is a single value \"yes\""},
        {"name: x\nisBig: True\n", "expected true or false"},
        {"name: x\nsum: [1, 2, 300]\n", "job.yaml:2:13: spec.sum[2]: 300 is out of range"},
        {"name: x\nsum: {a: 1, b.c: z}\n", "spec.sum[\"b.c\"]: "},
        {"name: x\nsum: 3\n", "expected a list or a map"},
        {"- x\n", "job.yaml:1:1: spec: expected a map"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct thing t = {0};
        struct err err = {0};

        assert_int_equal(walk(rows[i][0], &t, &err), -1);
        if (!strstr(err.text, rows[i][1]))
            fail_msg("\"%s\" lacks \"%s\"", err.text, rows[i][1]);
    }
}

static void files_that_cannot_be_read_say_why(void **state)
{
    char path[] = "/tmp/test_yaml.XXXXXX";
    int fd = mkstemp(path);
    struct yaml_doc *d = NULL;
    struct err err;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1\n", 5), 5);
    (void)close(fd);
    assert_int_equal(yaml_parse_file(&d, path, &err), 0);
    assert_string_equal(yaml_get(d->roots[0], "a")->text, "1");
    yaml_destroy(d);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(yaml_parse_file(&d, path, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(yaml_parse_file(&d, "/", &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_lists_and_values_know_their_place),
        cmocka_unit_test(json_is_part_of_it),
        cmocka_unit_test(several_documents_are_kept),
        cmocka_unit_test(what_is_outside_the_subset_is_refused_with_its_place),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(a_schema_reads_what_it_names),
        cmocka_unit_test(schema_errors_name_place_path_and_remedy),
        cmocka_unit_test(files_that_cannot_be_read_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
