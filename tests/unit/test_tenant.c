/* SPDX-License-Identifier: Apache-2.0 */
/* test_tenant.c - charges along the tree of tenants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/tenant.h"

#include "../fake/fake_site.h"

struct fixture {
    struct settings settings;
    struct tenants tenants;
    uint32_t top, child, other;
};

static int set_up(void **state)
{
    struct fixture *f = test_calloc(1, sizeof(*f));

    site_settings_init(&f->settings);
    f->top = site_tenant(&f->settings, "top");
    f->child = site_tenant(&f->settings, "top/child");
    f->other = site_tenant(&f->settings, "other");
    f->settings.tenants[f->top].limit.gpus[SITE_H100] = 16;
    f->settings.tenants[f->top].quota.gpus[SITE_H100] = 8;
    f->settings.tenants[f->child].limit.gpus[SITE_H100] = 12;
    tenants_init(&f->tenants, &f->settings);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tenants_fini(&f->tenants);
    site_settings_fini(&f->settings);
    test_free(f);
    return 0;
}

static void a_charge_counts_at_every_ancestor_and_nowhere_else(void **state)
{
    struct fixture *f = *state;

    tenant_charge(&f->tenants, f->child, SITE_H100, 5 * GPU_PARTS);
    assert_int_equal(f->tenants.v[f->child].used[SITE_H100], 5 * GPU_PARTS);
    assert_int_equal(f->tenants.v[f->top].used[SITE_H100], 5 * GPU_PARTS);
    assert_int_equal(f->tenants.v[f->other].used[SITE_H100], 0);
    assert_int_equal(f->tenants.v[f->top].used[SITE_H200], 0);
}

static void admission_names_the_tenant_that_is_full(void **state)
{
    struct fixture *f = *state;
    uint32_t at = IX_NONE;

    assert_true(tenant_admits(&f->tenants, f->child, SITE_H100, 12 * GPU_PARTS, &at));
    assert_int_equal(at, IX_NONE);
    assert_false(tenant_admits(&f->tenants, f->child, SITE_H100, 13 * GPU_PARTS, &at));
    assert_int_equal(at, f->child);
    tenant_charge(&f->tenants, f->top, SITE_H100, 10 * GPU_PARTS);
    assert_false(tenant_admits(&f->tenants, f->child, SITE_H100, 7 * GPU_PARTS, &at));
    assert_int_equal(at, f->top);
    assert_true(tenant_admits(&f->tenants, f->child, SITE_H100, 6 * GPU_PARTS, NULL));
}

static void what_is_used_now_does_not_matter_for_what_could_ever_fit(void **state)
{
    struct fixture *f = *state;
    uint32_t at = IX_NONE;

    tenant_charge(&f->tenants, f->top, SITE_H100, 16 * GPU_PARTS);
    assert_true(tenant_could_admit(&f->tenants, f->child, SITE_H100, 12 * GPU_PARTS, &at));
    assert_false(tenant_could_admit(&f->tenants, f->child, SITE_H100, 13 * GPU_PARTS, &at));
    assert_int_equal(at, f->child);
    assert_false(tenant_could_admit(&f->tenants, f->top, SITE_H100, 17 * GPU_PARTS, &at));
    assert_int_equal(at, f->top);
}

static void a_model_without_a_limit_is_not_limited(void **state)
{
    struct fixture *f = *state;

    assert_true(tenant_admits(&f->tenants, f->child, SITE_H200, 1000000 * GPU_PARTS, NULL));
    assert_true(tenant_admits(&f->tenants, f->other, SITE_H100, 1000000 * GPU_PARTS, NULL));
}

static void a_refund_undoes_a_charge_and_wakes_the_path(void **state)
{
    struct fixture *f = *state;
    uint64_t child_gen = f->tenants.v[f->child].released_gen;
    uint64_t top_gen = f->tenants.v[f->top].released_gen;
    uint64_t other_gen = f->tenants.v[f->other].released_gen;

    tenant_charge(&f->tenants, f->child, SITE_H100, 5 * GPU_PARTS);
    tenant_refund(&f->tenants, f->child, SITE_H100, 5 * GPU_PARTS);
    assert_int_equal(f->tenants.v[f->child].used[SITE_H100], 0);
    assert_int_equal(f->tenants.v[f->top].used[SITE_H100], 0);
    assert_true(f->tenants.v[f->child].released_gen > child_gen);
    assert_true(f->tenants.v[f->top].released_gen > top_gen);
    assert_int_equal(f->tenants.v[f->other].released_gen, other_gen);
}

static void a_child_without_quota_is_judged_by_its_nearest_ancestor(void **state)
{
    struct fixture *f = *state;
    uint32_t at = 99;

    assert_int_equal(tenant_quota(&f->tenants, f->child, SITE_H100, &at), 8 * GPU_PARTS);
    assert_int_equal(at, f->top);
    assert_int_equal(tenant_quota(&f->tenants, f->other, SITE_H100, &at), 0);
    assert_int_equal(at, IX_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_charge_counts_at_every_ancestor_and_nowhere_else, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(admission_names_the_tenant_that_is_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_used_now_does_not_matter_for_what_could_ever_fit,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_model_without_a_limit_is_not_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refund_undoes_a_charge_and_wakes_the_path, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_child_without_quota_is_judged_by_its_nearest_ancestor,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
