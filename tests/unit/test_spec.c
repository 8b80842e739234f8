/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec.c - what of a job is accepted, filled in, copied and digested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "spec/spec.h"

#include "../fake/fake_site.h"

static struct settings settings;

static int set_up(void **state)
{
    (void)state;
    site_settings_init(&settings);
    (void)site_tenant(&settings, "t");
    (void)site_tenant(&settings, "t/child");
    settings.tenants[0].limit.gpus[SITE_H100] = 32;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    site_settings_fini(&settings);
    return 0;
}

/* ---- one change each to a job that is good */

static void no_change(struct spec *s)
{
    (void)s;
}

static void long_name(struct spec *s)
{
    s->name = "a-name-of-one-character-more-than-allowed-";
}

static void name_with_capital(struct spec *s)
{
    s->name = "Train";
}

static void name_begins_with_digit(struct spec *s)
{
    s->name = "1train";
}

static void unknown_tenant(struct spec *s)
{
    s->tenant = "nobody";
}

static void foreign_namespace(struct spec *s)
{
    s->ns = "kube-system";
}

static void unknown_class(struct spec *s)
{
    s->priority_class = "gold";
}

static void unknown_level(struct spec *s)
{
    s->topology_required = "galaxy";
}

static void preferred_is_wider(struct spec *s)
{
    s->topology_required = "rack";
    s->topology_preferred = "block";
}

static void preferred_is_narrower(struct spec *s)
{
    s->topology_required = "block";
    s->topology_preferred = "rack";
}

static void other_hierarchy(struct spec *s)
{
    s->topology_required = "rack";
    s->topology_preferred = "nvl-domain";
}

static void no_replicas(struct spec *s)
{
    s->roles[0].replicas = 0;
}

static void too_many_gpus(struct spec *s)
{
    s->roles[0].gpus = 65;
}

static void unknown_model(struct spec *s)
{
    s->roles[0].gpu_models.v = arena_alloc(&s->arena, sizeof(*s->roles[0].gpu_models.v));
    s->roles[0].gpu_models.v[0] = "H1000";
    s->roles[0].gpu_models.n = 1;
}

static void above_the_limit(struct spec *s)
{
    unknown_model(s);
    s->roles[0].gpu_models.v[0] = "H100";
    s->roles[0].replicas = 5;
}

static void model_without_gpus(struct spec *s)
{
    unknown_model(s);
    s->roles[0].gpu_models.v[0] = "H100";
    s->roles[0].gpus = 0;
}

static void no_image(struct spec *s)
{
    s->roles[0].image = NULL;
}

static void two_roles_of_a_name(struct spec *s)
{
    site_role(s, "worker", 1, 0);
}

static void long_role_name(struct spec *s)
{
    s->roles[0].name = "thirteen-char";
}

static void reserved_variable(struct spec *s)
{
    s->roles[0].env.v = arena_alloc(&s->arena, sizeof(*s->roles[0].env.v));
    s->roles[0].env.v[0] = (struct spec_pair){"MASTER_ADDR", "x"};
    s->roles[0].env.n = 1;
}

static void own_label(struct spec *s)
{
    s->labels.v = arena_alloc(&s->arena, sizeof(*s->labels.v));
    s->labels.v[0] = (struct spec_pair){"gang.queued/job", "x"};
    s->labels.n = 1;
}

static void simulated_run(struct spec *s)
{
    s->annotations.v = arena_alloc(&s->arena, sizeof(*s->annotations.v));
    s->annotations.v[0] = (struct spec_pair){"gang.queued/run-duration", "1s"};
    s->annotations.n = 1;
}

static void toleration_not_allowed(struct spec *s)
{
    s->roles[0].tolerations = arena_alloc(&s->arena, sizeof(*s->roles[0].tolerations));
    s->roles[0].tolerations[0] = (struct spec_toleration){.key = "dedicated", .exists = true};
    s->roles[0].n_tolerations = 1;
}

static void long_grace(struct spec *s)
{
    s->checkpoint_grace_us = settings.grace_cap_us + 1;
}

static void empty_key(struct spec *s)
{
    s->submit_key = "";
}

static void damaged_text(struct spec *s)
{
    s->submit_key = "\xff";
}

static void waits(struct spec *s, const char *job, const char *condition)
{
    s->depends_on.n = 1;
    s->depends_on.v = arena_alloc(&s->arena, sizeof(*s->depends_on.v));
    s->depends_on.v[0] = (struct spec_pair){job, condition};
}

static void waits_for_success(struct spec *s)
{
    waits(s, "other", "succeeded");
}

static void waits_for_failure(struct spec *s)
{
    waits(s, "other", "failed");
}

static void no_condition(struct spec *s)
{
    waits(s, "other", "done");
}

static void affinity(struct spec *s, const char *op, uint32_t n)
{
    static const char *values[] = {"1", "2"};

    s->roles[0].n_affinity = 1;
    s->roles[0].affinity = arena_alloc(&s->arena, sizeof(*s->roles[0].affinity));
    s->roles[0].affinity[0] = (struct spec_match){1, 0, "zone", op, {values, n}};
}

static void odd_slices(struct spec *s)
{
    s->slice_size = 3;
    s->slice_level = "rack";
}

static void wide_slices(struct spec *s)
{
    s->slice_size = 2;
    s->slice_level = "block";
    s->topology_required = "rack";
}

static void lost_slices(struct spec *s)
{
    s->slice_size = 2;
    s->slice_level = "galaxy";
}

static void wait_for_nothing(struct spec *s)
{
    s->max_wait_us = 60 * USEC_PER_SEC;
}

static void far_deadline(struct spec *s)
{
    s->deadline_us = INT64_MAX;
}

static void bad_operator(struct spec *s)
{
    affinity(s, "Is", 1);
}

static void too_many_values(struct spec *s)
{
    affinity(s, "Gt", 2);
}

static void no_skew(struct spec *s)
{
    s->roles[0].spread = (struct spec_spread){"rack", 0, false};
}

static void bad_spread(struct spec *s)
{
    s->roles[0].spread = (struct spec_spread){"no label/at all/", 1, false};
}

static void spread_slices(struct spec *s)
{
    s->slice_size = 1;
    s->slice_level = "rack";
    s->roles[0].spread = (struct spec_spread){"rack", 1, false};
}

static void bad_version(struct spec *s)
{
    s->roles[0].driver_min = "new";
}

static void bad_node(struct spec *s)
{
    static const char *name = "gpu_1";

    s->roles[0].nodes = (struct spec_strings){&name, 1};
}

static void memory_without_gpus(struct spec *s)
{
    s->roles[0].gpus = 0;
    s->roles[0].gpu_memory_min = 1 << 30;
}

static void each_fault_is_refused_with_its_path(void **state)
{
    static const struct {
        void (*change)(struct spec *s);
        enum err_code code;
        const char *path; /* part of the text */
    } rows[] = {
        {no_change, ERR_OK, NULL},
        {preferred_is_narrower, ERR_OK, NULL},
        {long_name, ERR_INVALID, "metadata.name"},
        {name_with_capital, ERR_INVALID, "metadata.name"},
        {name_begins_with_digit, ERR_INVALID, "metadata.name"},
        {own_label, ERR_INVALID, "metadata.labels"},
        {simulated_run, ERR_INVALID, "metadata.annotations"},
        {unknown_tenant, ERR_REFUSED, "spec.tenant"},
        {foreign_namespace, ERR_REFUSED, "spec.namespace"},
        {unknown_class, ERR_REFUSED, "spec.priorityClass"},
        {unknown_level, ERR_REFUSED, "spec.topology.required"},
        {odd_slices, ERR_INVALID, "spec.topology.slice.size"},
        {wide_slices, ERR_INVALID, "spec.topology.slice.required"},
        {lost_slices, ERR_REFUSED, "spec.topology.slice.required"},
        {wait_for_nothing, ERR_INVALID, "spec.topology.maxWait"},
        {far_deadline, ERR_INVALID, "spec.deadline"},
        {bad_operator, ERR_INVALID, "spec.roles[0].placement.affinity"},
        {too_many_values, ERR_INVALID, "spec.roles[0].placement.affinity"},
        {bad_version, ERR_INVALID, "spec.roles[0].placement.driver.min"},
        {no_skew, ERR_INVALID, "spec.roles[0].placement.topologySpreadConstraints[0]"},
        {bad_spread, ERR_INVALID, "spec.roles[0].placement.topologySpreadConstraints[0]"},
        {spread_slices, ERR_INVALID, "spec.roles[0].placement.topologySpreadConstraints[0]"},
        {bad_node, ERR_INVALID, "spec.roles[0].placement.nodes"},
        {memory_without_gpus, ERR_INVALID, "spec.roles[0].resources.gpus"},
        {no_condition, ERR_INVALID, "spec.dependsOn[0].condition"},
        {preferred_is_wider, ERR_INVALID, "spec.topology.preferred"},
        {other_hierarchy, ERR_INVALID, "spec.topology.preferred"},
        {above_the_limit, ERR_REFUSED, "ExceedsTenantLimit: needs 40 H100, the limit of "},
        {long_grace, ERR_INVALID, "spec.checkpoint.grace"},
        {empty_key, ERR_INVALID, "spec.submitKey"},
        {damaged_text, ERR_INVALID, "spec.submitKey"},
        {no_replicas, ERR_INVALID, "spec.roles[0].replicas"},
        {too_many_gpus, ERR_INVALID, "spec.roles[0].resources.gpus"},
        {unknown_model, ERR_REFUSED, "spec.roles[0].resources.gpuModel"},
        {model_without_gpus, ERR_INVALID, "spec.roles[0].resources.gpuModel"},
        {no_image, ERR_INVALID, "spec.roles[0]"},
        {two_roles_of_a_name, ERR_INVALID, "spec.roles[1]"},
        {long_role_name, ERR_INVALID, "spec.roles[0]"},
        {reserved_variable, ERR_INVALID, "spec.roles[0].env"},
        {toleration_not_allowed, ERR_REFUSED, "spec.roles[0].placement.tolerations"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct spec *s = site_spec("job", 2, 8);
        struct err err = {.code = ERR_OK};
        int rc;

        rows[i].change(s);
        rc = spec_check(s, &settings, &err);
        if (rc != (rows[i].code == ERR_OK ? 0 : -1) || (rc && err.code != rows[i].code) ||
            (rc && !strstr(err.text, rows[i].path)))
            fail_msg("row %zu: %d, code %d: %s", i, rc, err.code, err.text);
        spec_destroy(s);
    }
}

static void what_the_configuration_decides_is_filled_in(void **state)
{
    struct spec *s = site_spec("job", 2, 8);

    (void)state;
    s->tenant = "t/child";
    s->ns = NULL;
    s->priority_class = NULL;
    s->priority = 0;
    s->max_runtime_us = 0;
    assert_int_equal(spec_check(s, &settings, NULL), 0);
    assert_string_equal(s->ns, "t"); /* a child without namespaces uses its parent's */
    assert_string_equal(s->priority_class, "normal");
    assert_int_equal(s->priority, 500);
    assert_int_equal(s->max_runtime_us, INT64_C(24) * 3600 * USEC_PER_SEC);
    spec_destroy(s);
}

static void sums_are_over_all_roles(void **state)
{
    struct spec *s = site_spec("job", 2, 8);

    (void)state;
    site_role(s, "data", 3, 0);
    site_role(s, "eval", 1, 4);
    assert_int_equal(spec_pods(s), 6);
    assert_int_equal(spec_gpus(s), 20);
    spec_destroy(s);
}

static void sink(void *ctx, const void *p, size_t len)
{
    uint64_t *h = ctx;

    for (size_t i = 0; i < len; i++)
        *h = (*h ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
}

static uint64_t digest(const struct spec *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    spec_feed(s, sink, &h);
    return h;
}

static void a_copy_has_the_same_digest_and_none_of_the_memory(void **state)
{
    struct spec *s = site_spec("job", 2, 8), *copy;
    uint64_t before;

    (void)state;
    own_label(s);
    unknown_model(s);
    reserved_variable(s);
    toleration_not_allowed(s);
    site_role(s, "data", 3, 0);
    before = digest(s);
    copy = spec_copy(s);
    spec_destroy(s);
    assert_int_equal(digest(copy), before);
    assert_string_equal(copy->roles[0].env.v[0].key, "MASTER_ADDR");
    spec_destroy(copy);
}

static void said_preemptible(struct spec *s)
{
    s->preemptible = SPEC_YES;
}

static void not_preemptible(struct spec *s)
{
    s->preemptible = SPEC_NO;
}

static void held(struct spec *s)
{
    s->is_held = true;
}

static void on_nodes(struct spec *s)
{
    static const char *names[] = {"n0", "n1"};

    s->roles[0].nodes = (struct spec_strings){names, 2};
}

static void not_on_nodes(struct spec *s)
{
    on_nodes(s);
    s->roles[0].excluded_nodes = s->roles[0].nodes;
    s->roles[0].nodes.n = 0;
}

static void gpu_memory(struct spec *s)
{
    s->roles[0].gpu_memory_min = 1 << 30;
}

static void driver(struct spec *s)
{
    s->roles[0].driver_min = "550";
}

static void mixed_drivers(struct spec *s)
{
    s->roles[0].mixed_drivers = true;
}

static void spread(struct spec *s)
{
    s->roles[0].spread = (struct spec_spread){"rack", 1, false};
}

static void licence(struct spec *s)
{
    static struct spec_extended one = {"abaqus", 1};

    s->licences = &one;
    s->n_licences = 1;
}

static void cuda(struct spec *s)
{
    s->roles[0].cuda_min = "550";
}

static void asks(struct spec *s, const char *name, int64_t amount)
{
    struct spec_role *r = &s->roles[0];
    struct spec_extended *v = arena_alloc(&s->arena, (r->n_extended + 1) * sizeof(*v));

    if (r->n_extended)
        memcpy(v, r->extended, r->n_extended * sizeof(*v));
    v[r->n_extended++] = (struct spec_extended){name, amount};
    r->extended = v;
}

static void an_alias_is_what_the_site_calls_it(void **state)
{
    struct spec *s = site_spec("job", 2, 8);
    struct err err;

    (void)state;
    asks(s, "rdma", 8);
    asks(s, "ephemeral-storage", INT64_C(20) << 30);
    assert_int_equal(spec_check(s, &settings, &err), 0);
    assert_string_equal(s->roles[0].extended[0].name, "rdma/hca");
    asks(s, "rdma", 1);
    assert_int_equal(spec_check(s, &settings, &err), -1);
    assert_non_null(
        strstr(err.text, "spec.roles[0].resources.extended: rdma/hca is asked for twice"));
    s->roles[0].n_extended = 0;
    asks(s, "qpu", 1);
    assert_int_equal(spec_check(s, &settings, &err), -1);
    spec_destroy(s);
}

static void a_job_up_to_normal_is_preemptible_unless_it_says_no(void **state)
{
    struct spec *s = site_spec("job", 2, 8);

    (void)state;
    assert_int_equal(spec_check(s, &settings, NULL), 0);
    assert_int_equal(s->preemptible, SPEC_YES);
    s->preemptible = SPEC_NO;
    assert_int_equal(spec_check(s, &settings, NULL), 0);
    assert_int_equal(s->preemptible, SPEC_NO);
    spec_destroy(s);
}

static void every_change_changes_the_digest(void **state)
{
    static void (*const changes[])(struct spec * s) = {
        long_name,
        unknown_tenant,
        foreign_namespace,
        unknown_class,
        unknown_level,
        no_replicas,
        too_many_gpus,
        unknown_model,
        reserved_variable,
        own_label,
        simulated_run,
        long_grace,
        empty_key,
        no_image,
        two_roles_of_a_name,
        long_role_name,
        toleration_not_allowed,
        said_preemptible,
        not_preemptible,
        held,
        waits_for_success,
        waits_for_failure,
        no_condition,
        odd_slices,
        wait_for_nothing,
        far_deadline,
        lost_slices,
        bad_operator,
        too_many_values,
        bad_version,
        bad_node,
        on_nodes,
        not_on_nodes,
        gpu_memory,
        driver,
        mixed_drivers,
        spread,
        licence,
        cuda,
    };
    enum { N = sizeof(changes) / sizeof(changes[0]) };
    uint64_t seen[N + 1];

    (void)state;
    for (size_t i = 0; i <= N; i++) {
        struct spec *s = site_spec("job", 2, 8);

        if (i < N)
            changes[i](s);
        seen[i] = digest(s);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(seen[i], seen[k]);
        spec_destroy(s);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_fault_is_refused_with_its_path),
        TEST(what_the_configuration_decides_is_filled_in),
        TEST(sums_are_over_all_roles),
        TEST(a_copy_has_the_same_digest_and_none_of_the_memory),
        TEST(an_alias_is_what_the_site_calls_it),
        TEST(a_job_up_to_normal_is_preemptible_unless_it_says_no),
        TEST(every_change_changes_the_digest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
