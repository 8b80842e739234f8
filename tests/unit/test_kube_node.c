/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_node.c - Node objects of many vendors as facts.
 *
 * node_objects.h says where the objects are; their index.tsv says what a reader must make of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kube/kube_json.h"
#include "kube/kube_node.h"
#include "../fake/node_objects.h"
#include "../fake/proto_bytes.h"
#include "util/mem.h"

static struct node_fact *fact(const cJSON *node)
{
    struct arena scratch = {0};
    struct object_fields fields;
    struct node_fact *n;

    node_fields_json(&scratch, node, &fields);
    n = kube_node_fact(&fields);
    arena_fini(&scratch);
    return n;
}

static int64_t amount(const struct resource_amount *v, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return v[i].amount;
    return -1;
}

static const char *label(const struct node_fact *n, const char *key)
{
    for (uint32_t i = 0; i < n->n_labels; i++)
        if (!strcmp(n->labels[i].key, key))
            return n->labels[i].value;
    return "absent";
}

static const cJSON *item(const cJSON *list, const char *name)
{
    const cJSON *o;

    cJSON_ArrayForEach(o, json_get(list, "items"))
    {
        if (!strcmp(json_text(o, "metadata.name"), name))
            return o;
    }
    fail_msg("no node %s in the list", name);
    return NULL;
}

/* One row of index.tsv: file, scenario, capacity, allocatable, count, product, clique, ready,
 * unschedulable, taints, ... */
enum { COLUMNS = 10 };

static void split_row(char *row, char *ret[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++)
        ret[i] = strsep(&row, "\t");
}

static int64_t wanted(const char *text)
{
    return strcmp(text, "absent") ? strtoll(text, NULL, 10) : -1;
}

static uint32_t taints_in(const char *text)
{
    uint32_t n = 1;

    if (!strcmp(text, "none"))
        return 0;
    for (; *text; text++)
        n += *text == ' ';
    return n;
}

static void check_row(char *const c[COLUMNS], const cJSON *node)
{
    struct node_fact *n = fact(node);

    assert_non_null(n);
    if (amount(n->capacity, n->n_capacity, "nvidia.com/gpu") != wanted(c[2]) ||
        amount(n->allocatable, n->n_allocatable, "nvidia.com/gpu") != wanted(c[3]) ||
        strcmp(label(n, "nvidia.com/gpu.count"), c[4]) || n->is_ready != !strcmp(c[7], "True") ||
        n->is_cordoned != !strcmp(c[8], "yes") || n->n_taints != taints_in(c[9]))
        fail_msg("%s is read otherwise than index.tsv says", c[0]);
    assert_true(n->is_ready == !n->not_ready_since);
    assert_true(n->boot_id[0]);
    assert_true(amount(n->allocatable, n->n_allocatable, "cpu") >= 1000);
    assert_true(amount(n->allocatable, n->n_allocatable, "memory") > 1000000000);
    node_fact_destroy(n);
}

static int check_index(const char *dir)
{
    char *index = recording_read(dir, "index.tsv");
    char *text = recording_read(dir, "nodelist-all.json");
    cJSON *list = cJSON_Parse(text);
    int left = cJSON_GetArraySize(json_get(list, "items"));
    char *rest = index, *row = strsep(&rest, "\n");
    int n = 0;

    row = strsep(&rest, "\n"); /* below the head */
    for (; row && n < left; row = strsep(&rest, "\n"), n++) {
        char *c[COLUMNS];

        split_row(row, c);
        check_row(c, cJSON_GetArrayItem(json_get(list, "items"), n));
    }
    assert_int_equal(n, left);
    cJSON_Delete(list);
    free(text);
    free(index);
    return n;
}

static void every_node_is_read_as_the_index_says(void **state)
{
    char *dir = node_objects_dir();

    (void)state;
    assert_int_equal(check_index(OWN_NODES), 14);
    if (dir)
        assert_true(check_index(dir) >= 30);
    free(dir);
}

/* What the node with odd spellings must read as. */
struct spelling {
    const char *node;
    int64_t cpu_milli, memory, ephemeral, hugepages, pods;
    struct node_taint taint;
};

static void check_spelling(const char *dir, const struct spelling *s)
{
    char *text = recording_read(dir, "nodelist-all.json");
    cJSON *list = cJSON_Parse(text);
    struct node_fact *n = fact(item(list, s->node));

    assert_int_equal(amount(n->allocatable, n->n_allocatable, "cpu"), s->cpu_milli);
    assert_int_equal(amount(n->allocatable, n->n_allocatable, "memory"), s->memory);
    assert_int_equal(amount(n->allocatable, n->n_allocatable, "ephemeral-storage"), s->ephemeral);
    assert_int_equal(amount(n->allocatable, n->n_allocatable, "hugepages-2Mi"), s->hugepages);
    assert_int_equal(amount(n->allocatable, n->n_allocatable, "pods"), s->pods);
    assert_string_equal(n->taints[0].key, s->taint.key);
    assert_string_equal(n->taints[0].value, s->taint.value);
    assert_string_equal(n->taints[0].effect, s->taint.effect);
    node_fact_destroy(n);
    cJSON_Delete(list);
    free(text);
}

static void quantities_of_all_spellings_become_one_unit(void **state)
{
    const struct spelling own = {"own-spelling-0",
                                 63500,
                                 540000000000,
                                 1500000000000,
                                 1024 * 1024 * 1024,
                                 200,
                                 {"own.example/soft", "yes", "PreferNoSchedule"}};
    const struct spelling real = {"hgx-a100-31",
                                  124000,
                                  1012127502336,
                                  1709878914662,
                                  512 * 1024 * 1024,
                                  110,
                                  {"example.com/reserved-for", "team-a", "PreferNoSchedule"}};
    char *dir = node_objects_dir();

    (void)state;
    check_spelling(OWN_NODES, &own);
    if (dir)
        check_spelling(dir, &real);
    free(dir);
}

static struct node_fact *fact_of(const char *text)
{
    cJSON *o = cJSON_Parse(text);
    struct node_fact *n = fact(o);

    cJSON_Delete(o);
    return n;
}

static void fractions_of_a_core_are_kept_and_nonsense_is_left_out(void **state)
{
    struct node_fact *n =
        fact_of("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"labels\":{\"a\":1,\"b\":\"c\"}},"
                "\"status\":{\"allocatable\":{\"cpu\":\"191450m\",\"memory\":\"lots\",\"pods\":110,"
                "\"x.example/y\":\"-3\"}}}");

    (void)state;
    assert_int_equal(n->n_allocatable, 2);
    assert_int_equal(amount(n->allocatable, 2, "cpu"), 191450);
    assert_int_equal(amount(n->allocatable, 2, "pods"), 110);
    assert_int_equal(n->n_labels, 1);
    assert_false(n->is_ready);
    node_fact_destroy(n);
}

static void the_links_of_a_host_are_read_from_its_annotation(void **state)
{
    static const struct {
        const char *text;
        uint32_t bad_picks;
    } rows[] = {
        {"\\tGPU0\\tGPU1\\tGPU2\\nGPU0\\tX\\tNV4\\tSYS\\nGPU1\\tNV4\\tX\\tSYS\\n"
         "GPU2\\tSYS\\tSYS\\tX\\n",
         1u << 2},
        {"\\tGPU0\\tGPU1\\nGPU0\\tX\\tPIX\\nGPU1\\tPIX\\tX\\n", 0},
        {"\\tGPU0\\tGPU1\\tGPU2\\nGPU0\\tX\\tNV4\\tSYS\\n", 0}, /* damaged: left out */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *text = xasprintf("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"annotations\":"
                               "{\"a\":\"b\",\"gang.queued/gpu-topology\":\"%s\"}}}",
                               rows[i].text);
        struct node_fact *n = fact_of(text);

        assert_int_equal(n->bad_picks, rows[i].bad_picks);
        node_fact_destroy(n);
        free(text);
    }
}

static void an_annotation_is_found_in_protobuf_too(void **state)
{
    struct str meta = {0}, node = {0};
    struct arena a = {0};
    struct object_fields f;

    (void)state;
    pb_text(&meta, 1, "n");
    pb_pair(&meta, 12, "a", "b");
    pb_pair(&meta, 12, GPU_TOPOLOGY_KEY, "a matrix");
    pb_message(&node, 1, &meta);
    assert_true(node_fields_proto(&a, node.s, node.len, &f));
    assert_string_equal(f.meta.name, "n");
    assert_string_equal(f.u.node.gpu_topology, "a matrix");
    str_fini(&meta);
    str_fini(&node);
    arena_fini(&a);
}

static void amounts_that_cannot_be_read_are_none(void **state)
{
    static const char *const texts[] = {
        "{}", "[]",    "null",    "true",   "\"\"",     "\"8 \"",  "\"eight\"", "\"-1\"",
        "-1", "1e300", "\"0x8\"", "\"8Q\"", "\"1e99\"", "\"nan\"", "\"8;\"",    "\"8\\u0000\""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char *text = xasprintf("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\"},\"status\":"
                               "{\"capacity\":{\"nvidia.com/gpu\":%s}}}",
                               texts[i]);
        struct node_fact *n = fact_of(text);
        int64_t gpus = amount(n->capacity, n->n_capacity, "nvidia.com/gpu");

        if (gpus > 8 || (i < 15 && gpus != -1))
            fail_msg("%s reads as %lld", texts[i], (long long)gpus);
        node_fact_destroy(n);
        free(text);
    }
}

static void names_that_are_too_long_are_not_cut(void **state)
{
    char name[NODE_NAME_MAX + 2], resource[LABEL_KEY_MAX + 2];
    struct node_fact *n;
    char *text;

    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    memset(resource, 'r', sizeof(resource) - 1);
    name[sizeof(name) - 1] = resource[sizeof(resource) - 1] = '\0';
    text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\"}}", name);
    assert_null(fact_of(text));
    free(text);
    text = xasprintf("{\"metadata\":{\"name\":\"n\",\"uid\":\"%s\"}}", name);
    assert_null(fact_of(text));
    free(text);
    text = xasprintf("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\"},\"status\":{\"allocatable\":{"
                     "\"%s\":\"1\",\"cpu\":\"2\"}}}",
                     resource);
    n = fact_of(text);
    assert_int_equal(n->n_allocatable, 1);
    assert_string_equal(n->allocatable[0].name, "cpu");
    node_fact_destroy(n);
    free(text);
}

static void a_node_without_name_or_uid_is_none(void **state)
{
    (void)state;
    assert_null(fact_of("{}"));
    assert_null(fact_of("[]"));
    assert_null(fact_of("{\"metadata\":{\"name\":\"n\"}}"));
    assert_null(fact_of("{\"metadata\":{\"name\":7,\"uid\":\"u\"}}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_is_read_as_the_index_says),
        cmocka_unit_test(quantities_of_all_spellings_become_one_unit),
        cmocka_unit_test(fractions_of_a_core_are_kept_and_nonsense_is_left_out),
        cmocka_unit_test(the_links_of_a_host_are_read_from_its_annotation),
        cmocka_unit_test(an_annotation_is_found_in_protobuf_too),
        cmocka_unit_test(amounts_that_cannot_be_read_are_none),
        cmocka_unit_test(names_that_are_too_long_are_not_cut),
        cmocka_unit_test(a_node_without_name_or_uid_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
