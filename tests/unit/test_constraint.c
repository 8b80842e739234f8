/* SPDX-License-Identifier: Apache-2.0 */
/* test_constraint.c - which nodes a role accepts: labels, names, GPU memory, versions, taints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "spec/constraint.h"
#include "util/mem.h"

static char *text(const char *s)
{
    union {
        const char *in;
        char *out;
    } u = {s};

    return u.out;
}

/* What one role says of a node with these labels. */
static enum refusal judge(const struct spec_role *role, const char *name,
                          const struct node_label *labels, uint32_t n)
{
    struct node_marks marks = {.name = name, .labels = labels, .n_labels = n, .pool = IX_NONE};
    struct constraint *table = NULL;
    struct constraint *k = constraint_intern(&table, role, 0);
    enum refusal why = constraint_refusal(k, &marks, NULL);

    constraint_release(&table, k);
    assert_null(table);
    return why;
}

static enum refusal with_label(const struct spec_role *role, const char *key, const char *value)
{
    struct node_label l = {text(key), text(value)};

    return judge(role, "n0", &l, 1);
}

static void affinity_matches_as_kubernetes_does(void **state)
{
    static const struct {
        const char *op, *wanted, *value; /* value NULL: the node has no such label */
        bool matches;
    } rows[] = {
        {"In", "a", "a", true},
        {"In", "a", "b", false},
        {"In", "a", NULL, false},
        {"NotIn", "a", "a", false},
        {"NotIn", "a", "b", true},
        {"NotIn", "a", NULL, true},
        {"Exists", NULL, "", true},
        {"Exists", NULL, NULL, false},
        {"DoesNotExist", NULL, "", false},
        {"DoesNotExist", NULL, NULL, true},
        {"Gt", "9", "10", true},
        {"Gt", "10", "10", false},
        {"Gt", "9", "many", false},
        {"Gt", "9", NULL, false},
        {"Lt", "10", "9", true},
        {"Lt", "9", "9", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *values[] = {"x", rows[i].wanted};
        struct spec_match m = {1, 0, "key", rows[i].op, {&values[*rows[i].op != 'I'], 1}};
        struct spec_role role = {.affinity = &m, .n_affinity = 1};

        if (*rows[i].op == 'I') /* the last of several */
            m.values.n = 2;
        if (!rows[i].wanted)
            m.values.n = 0;
        assert_int_equal(
            with_label(&role, rows[i].value ? "key" : "other", rows[i].value ? rows[i].value : "x"),
            rows[i].matches ? REFUSAL_OF_NONE : REFUSED_SELECTOR);
    }
}

static void one_term_is_enough_and_holds_whole(void **state)
{
    const char *a = "a", *b = "b";
    struct spec_match m[] = {{1, 0, "x", "In", {&a, 1}},
                             {1, 0, "y", "In", {&a, 1}},
                             {2, 0, "x", "In", {&b, 1}},
                             {2, 0, "y", "In", {&b, 1}}};
    struct spec_role role = {.affinity = m, .n_affinity = 4};

    (void)state;
    for (int bits = 0; bits < 4; bits++) {
        struct node_label l[] = {{text("x"), text(bits & 1 ? "a" : "b")},
                                 {text("y"), text(bits & 2 ? "a" : "b")}};

        assert_int_equal(judge(&role, "n0", l, 2),
                         bits == 0 || bits == 3 ? REFUSAL_OF_NONE : REFUSED_SELECTOR);
    }
}

static void what_is_preferred_is_not_required_and_weighs(void **state)
{
    const char *a = "a";
    struct spec_match m[] = {{1, 0, "x", "Exists", {0}},
                             {2, 30, "x", "In", {&a, 1}},
                             {2, 30, "y", "Exists", {0}},
                             {3, 10, "x", "In", {&a, 1}}};
    static const struct {
        const char *x, *y;
        uint32_t likes;
    } rows[] = {{"a", "y", 1000}, {"a", "other", 250}, {"b", "y", 0}};
    struct spec_role role = {.affinity = m, .n_affinity = 4}, plain = {.affinity = m};
    struct constraint *table = NULL, *k = constraint_intern(&table, &role, 0);

    (void)state;
    assert_int_equal(with_label(&role, "x", "b"), REFUSAL_OF_NONE);
    assert_int_equal(with_label(&role, "y", "b"), REFUSED_SELECTOR);
    assert_true(constraint_likes_some(k));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct node_label l[] = {{text("x"), text(rows[i].x)}, {text(rows[i].y), text("1")}};
        struct node_marks marks = {.name = "n", .labels = l, .n_labels = 2, .pool = IX_NONE};

        assert_int_equal(constraint_liking(k, 7, &marks), rows[i].likes);
        marks.n_labels = 0;
        assert_int_equal(constraint_liking(k, 7, &marks), rows[i].likes); /* remembered */
        constraint_forget(&table, 7);
    }
    constraint_release(&table, k);
    plain.n_affinity = 1;
    k = constraint_intern(&table, &plain, 0);
    assert_false(constraint_likes_some(k));
    constraint_table_fini(&table);
}

static void a_taint_that_is_tolerated_for_a_time_is_no_place_to_start(void **state)
{
    struct spec_toleration t = {.key = "bad", .exists = true, .effect = "NoExecute"};
    struct spec_role role = {.tolerations = &t, .n_tolerations = 1};
    struct node_taint taint = {text("bad"), text(""), "NoExecute"};
    struct node_marks marks = {.name = "n", .taints = &taint, .n_taints = 1, .pool = IX_NONE};
    struct constraint *table = NULL, *ever = constraint_intern(&table, &role, 0), *limited;

    (void)state;
    t.is_limited = true;
    t.seconds = 300;
    limited = constraint_intern(&table, &role, 0);
    assert_int_equal(constraint_refusal(ever, &marks, NULL), REFUSAL_OF_NONE);
    assert_int_equal(constraint_refusal(limited, &marks, NULL), REFUSED_TAINT);
    constraint_table_fini(&table);
}

static void nodes_are_named_and_excluded(void **state)
{
    const char *names[] = {"n0", "n1"};
    struct spec_role only = {.nodes = {names, 2}}, not = {.excluded_nodes = {names, 1}};

    (void)state;
    assert_int_equal(judge(&only, "n1", NULL, 0), REFUSAL_OF_NONE);
    assert_int_equal(judge(&only, "n2", NULL, 0), REFUSED_NAME);
    assert_int_equal(judge(&not, "n1", NULL, 0), REFUSAL_OF_NONE);
    assert_int_equal(judge(&not, "n0", NULL, 0), REFUSED_NAME);
}

static void gpu_memory_is_compared_in_bytes(void **state)
{
    struct spec_role gb80 = {.gpu_memory_min = INT64_C(80000000000)};
    struct spec_role gib80 = {.gpu_memory_min = INT64_C(80) << 30};

    (void)state;
    assert_int_equal(with_label(&gb80, "nvidia.com/gpu.memory", "81559"), REFUSAL_OF_NONE);
    assert_int_equal(with_label(&gib80, "nvidia.com/gpu.memory", "81559"), REFUSED_MEMORY);
    assert_int_equal(with_label(&gb80, "nvidia.com/gpu.memory", "40960"), REFUSED_MEMORY);
    assert_int_equal(with_label(&gb80, "other", "81559"), REFUSED_MEMORY);
}

static void drivers_are_compared_by_number(void **state)
{
    static const char full[] = "nvidia.com/cuda.driver-version.full";
    struct spec_role role = {.driver_min = "550.54"};
    struct node_label old[] = {{text("nvidia.com/cuda.driver.major"), text("550")},
                               {text("nvidia.com/cuda.driver.minor"), text("127")}};

    (void)state;
    assert_int_equal(with_label(&role, full, "550.54.14"), REFUSAL_OF_NONE);
    assert_int_equal(with_label(&role, full, "550.54"), REFUSAL_OF_NONE);
    assert_int_equal(with_label(&role, full, "1000.1"), REFUSAL_OF_NONE);
    assert_int_equal(with_label(&role, full, "550.9"), REFUSED_DRIVER);
    assert_int_equal(with_label(&role, full, "99.99"), REFUSED_DRIVER);
    assert_int_equal(with_label(&role, "other", "570"), REFUSED_DRIVER);
    assert_int_equal(judge(&role, "n0", old, 2), REFUSAL_OF_NONE);
    role = (struct spec_role){.cuda_min = "12.4"};
    assert_int_equal(with_label(&role, "nvidia.com/cuda.runtime-version.full", "12.10"),
                     REFUSAL_OF_NONE);
    assert_int_equal(with_label(&role, "nvidia.com/cuda.runtime.major", "12"), REFUSED_CUDA);
}

static void equal_wishes_share_a_constraint_and_others_do_not(void **state)
{
    const char *name = "n0";
    struct spec_match m = {1, 0, "n0", "Exists", {0}}, liked = {1, 5, "n0", "Exists", {0}};
    const struct spec_role roles[] = {
        {.nodes = {&name, 1}},
        {.excluded_nodes = {&name, 1}},
        {.affinity = &m, .n_affinity = 1},
        {.affinity = &liked, .n_affinity = 1},
        {.gpu_memory_min = 1 << 30},
        {.driver_min = "550"},
        {.cuda_min = "550"},
    };
    struct constraint *table = NULL, *k[ARRAY_LEN(roles)], *closed;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        k[i] = constraint_intern(&table, &roles[i], 0);
        assert_ptr_equal(constraint_intern(&table, &roles[i], 0), k[i]);
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(k[i], k[j]);
    }
    closed = constraint_intern(&table, &roles[0], 1); /* a tenant that may not use pool 0 */
    assert_ptr_not_equal(closed, k[0]);
    assert_ptr_equal(constraint_intern(&table, &roles[0], 1), closed);
    constraint_table_fini(&table);
    assert_null(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(affinity_matches_as_kubernetes_does),
        cmocka_unit_test(one_term_is_enough_and_holds_whole),
        cmocka_unit_test(what_is_preferred_is_not_required_and_weighs),
        cmocka_unit_test(a_taint_that_is_tolerated_for_a_time_is_no_place_to_start),
        cmocka_unit_test(nodes_are_named_and_excluded),
        cmocka_unit_test(gpu_memory_is_compared_in_bytes),
        cmocka_unit_test(drivers_are_compared_by_number),
        cmocka_unit_test(equal_wishes_share_a_constraint_and_others_do_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
