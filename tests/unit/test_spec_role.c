/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec_role.c - fields of a role: each travels over the wire, into the store and into a copy,
 * and changes the digest; what is wrong with one is said with its path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record.pb-c.h"
#include "rpc/rpc_spec.h"
#include "store/store_pack.h"
#include "store/store_record.h"

#include "../fake/fake_site.h"

static struct settings settings;

static int set_up(void **state)
{
    (void)state;
    site_settings_init(&settings);
    (void)site_tenant(&settings, "t");
    settings.tenants[0].n_tolerations = 1;
    memcpy(settings.tenants[0].tolerations[0], "sick", 5);
    settings.tenants[0].n_accounts = 1;
    memcpy(settings.tenants[0].accounts[0], "trainer", 8);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    site_settings_fini(&settings);
    return 0;
}

static void prefer(struct spec *s, uint32_t weight, uint32_t weight_after)
{
    struct spec_role *r = &s->roles[0];

    r->n_affinity = 2;
    r->affinity = arena_alloc(&s->arena, 2 * sizeof(*r->affinity));
    r->affinity[0] = (struct spec_match){1, weight, "zone", "Exists", {NULL, 0}};
    r->affinity[1] = (struct spec_match){2, weight_after, "zone", "Exists", {NULL, 0}};
}

static void preferred(struct spec *s)
{
    prefer(s, 0, 5);
}

static void more_preferred(struct spec *s)
{
    prefer(s, 0, 6);
}

static void heavy_preference(struct spec *s)
{
    prefer(s, 0, MATCH_WEIGHT_MAX + 1);
}

static void required_behind_preferred(struct spec *s)
{
    prefer(s, 5, 0);
}

static void two_weights_in_a_term(struct spec *s)
{
    prefer(s, 5, 6);
    s->roles[0].affinity[1].term = 1;
}

static void tolerate(struct spec *s, const char *effect, bool is_limited, uint64_t seconds)
{
    struct spec_role *r = &s->roles[0];

    r->n_tolerations = 1;
    r->tolerations = arena_alloc(&s->arena, sizeof(*r->tolerations));
    r->tolerations[0] = (struct spec_toleration){.key = "sick",
                                                 .exists = true,
                                                 .effect = effect,
                                                 .is_limited = is_limited,
                                                 .seconds = seconds};
}

static void tolerated(struct spec *s)
{
    tolerate(s, "NoExecute", false, 0);
}

static void tolerated_for_a_time(struct spec *s)
{
    tolerate(s, "NoExecute", true, 90);
}

static void tolerated_for_no_time(struct spec *s)
{
    tolerate(s, "NoExecute", true, 0);
}

static void limited_for_nothing(struct spec *s)
{
    tolerate(s, "NoSchedule", true, 90);
}

static void refer(struct spec *s, struct spec_env_ref ref)
{
    struct spec_role *r = &s->roles[0];

    r->n_env_refs = 1;
    r->env_refs = arena_alloc(&s->arena, sizeof(ref));
    r->env_refs[0] = ref;
}

static void secret_key(struct spec *s)
{
    refer(s, (struct spec_env_ref){"A", NULL, SPEC_REF_SECRET, "keys", "a", false});
}

static void config_key(struct spec *s)
{
    refer(s, (struct spec_env_ref){"A", NULL, SPEC_REF_CONFIG_MAP, "keys", "a", false});
}

static void optional_key(struct spec *s)
{
    refer(s, (struct spec_env_ref){"A", NULL, SPEC_REF_SECRET, "keys", "a", true});
}

static void all_keys(struct spec *s)
{
    refer(s, (struct spec_env_ref){NULL, "P_", SPEC_REF_SECRET, "keys", NULL, false});
}

static void pod_field(struct spec *s)
{
    refer(s, (struct spec_env_ref){"A", NULL, SPEC_REF_FIELD, NULL, "status.podIP", false});
}

static void pod_label(struct spec *s)
{
    refer(s, (struct spec_env_ref){"A", NULL, SPEC_REF_FIELD, NULL, "metadata.labels['a']", false});
}

static void no_field(struct spec *s)
{
    refer(s, (struct spec_env_ref){"A", NULL, SPEC_REF_FIELD, NULL, "spec.volumes", false});
}

static void all_labels(struct spec *s)
{
    refer(s, (struct spec_env_ref){"A", NULL, SPEC_REF_FIELD, NULL, "metadata.labels", false});
}

static void key_of_nothing(struct spec *s)
{
    refer(s, (struct spec_env_ref){"A", NULL, SPEC_REF_SECRET, NULL, "a", false});
}

static void reserved_prefix(struct spec *s)
{
    refer(s, (struct spec_env_ref){NULL, "QUEUED_", SPEC_REF_SECRET, "keys", NULL, false});
}

static void reserved_ref(struct spec *s)
{
    refer(s, (struct spec_env_ref){"RANK", NULL, SPEC_REF_SECRET, "keys", "a", false});
}

static void set_twice(struct spec *s)
{
    static struct spec_pair a = {"A", "1"};

    secret_key(s);
    s->roles[0].env = (struct spec_pairs){&a, 1};
}

static void always_pulled(struct spec *s)
{
    s->roles[0].pull_policy = "Always";
}

static void pulled_sometimes(struct spec *s)
{
    s->roles[0].pull_policy = "Sometimes";
}

static void pulled_by(struct spec *s, const char *name)
{
    s->roles[0].pull_secrets.v = arena_alloc(&s->arena, sizeof(const char *));
    s->roles[0].pull_secrets.v[0] = name;
    s->roles[0].pull_secrets.n = 1;
}

static void pull_secret(struct spec *s)
{
    pulled_by(s, "registry");
}

static void no_pull_secret(struct spec *s)
{
    pulled_by(s, "No Name");
}

static void account(struct spec *s)
{
    s->roles[0].service_account = "trainer";
}

static void other_account(struct spec *s)
{
    s->roles[0].service_account = "admin";
}

static void mount(struct spec *s, const char *sub_path, bool in_memory)
{
    struct spec_role *r = &s->roles[0];

    r->n_volumes = 1;
    r->volumes = arena_alloc(&s->arena, sizeof(*r->volumes));
    r->volumes[0] = (struct spec_volume){.name = "data",
                                         .kind = SPEC_VOLUME_EMPTY_DIR,
                                         .mount_path = "/data",
                                         .size_bytes = -1,
                                         .sub_path = sub_path,
                                         .in_memory = in_memory};
}

static void mounted(struct spec *s)
{
    mount(s, NULL, false);
}

static void part_mounted(struct spec *s)
{
    mount(s, "a/b", false);
}

static void in_memory(struct spec *s)
{
    mount(s, NULL, true);
}

static void mounted_outside(struct spec *s)
{
    mount(s, "a/../..", false);
}

static void (*const good[])(struct spec *s) = {
    preferred,    more_preferred, tolerated, tolerated_for_a_time, tolerated_for_no_time,
    secret_key,   config_key,     all_keys,  optional_key,         pod_field,
    pod_label,    always_pulled,  account,   pull_secret,          mounted,
    part_mounted, in_memory,
};

static void each_fault_of_a_role_is_refused_with_its_path(void **state)
{
    static const struct {
        void (*change)(struct spec *s);
        enum err_code code;
        const char *path;
    } rows[] = {
        {heavy_preference, ERR_INVALID, "spec.roles[0].placement.affinity"},
        {required_behind_preferred, ERR_INVALID, "spec.roles[0].placement.affinity"},
        {two_weights_in_a_term, ERR_INVALID, "spec.roles[0].placement.affinity"},
        {limited_for_nothing, ERR_INVALID, "spec.roles[0].placement.tolerations"},
        {no_field, ERR_INVALID, "spec.roles[0].env"},
        {all_labels, ERR_INVALID, "spec.roles[0].env"},
        {key_of_nothing, ERR_INVALID, "spec.roles[0].env"},
        {reserved_prefix, ERR_INVALID, "spec.roles[0].env"},
        {reserved_ref, ERR_INVALID, "spec.roles[0].env"},
        {set_twice, ERR_INVALID, "A is given twice"},
        {pulled_sometimes, ERR_INVALID, "spec.roles[0].imagePullPolicy"},
        {no_pull_secret, ERR_INVALID, "spec.roles[0].imagePullSecrets"},
        {other_account, ERR_REFUSED, "spec.roles[0].serviceAccountName"},
        {mounted_outside, ERR_INVALID, "spec.roles[0].volumes"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct spec *s = site_spec("job", 2, 8);
        struct err err = {.code = ERR_OK};

        rows[i].change(s);
        if (!spec_check(s, &settings, &err) || err.code != rows[i].code ||
            !strstr(err.text, rows[i].path))
            fail_msg("row %zu: code %d: %s", i, err.code, err.text);
        spec_destroy(s);
    }
}

static void feed(void *ctx, const void *p, size_t len)
{
    str_add_bytes(ctx, p, len);
}

static void fed(struct str *ret, const struct spec *s)
{
    *ret = (struct str){0};
    spec_feed(s, feed, ret);
}

static void assert_equal(size_t row, const struct str *want, struct spec *got)
{
    struct str b;

    fed(&b, got);
    if (want->len != b.len || memcmp(want->s, b.s, b.len) != 0)
        fail_msg("row %zu is lost", row);
    str_fini(&b);
    spec_destroy(got);
}

static struct spec *stored(const struct spec *s)
{
    const struct store_bytes key = {"12345678", 8};
    Queued__Record__SpecRecord r = QUEUED__RECORD__SPEC_RECORD__INIT;
    struct arena a = {0};
    struct pack pack = {0};
    struct spec *got = NULL;
    struct err err;

    store_make_spec(&r, s, &a);
    if (store_decode_spec(key, store_pack(&pack, STORE_SPECS, key, &r.base), &got, &err))
        fail_msg("%s", err.text);
    pack_fini(&pack);
    arena_fini(&a);
    return got;
}

static void a_job_tolerates_what_its_tenant_always_does(void **state)
{
    struct spec *s = site_spec("job", 2, 8), *again;
    uint32_t child = site_tenant(&settings, "t/child"), other = site_tenant(&settings, "u");
    struct spec_role *r = &s->roles[0];
    struct err err;

    (void)state;
    settings.tenants[0].n_auto_tolerations = settings.tenants[child].n_auto_tolerations = 1;
    (void)strcpy(settings.tenants[0].auto_tolerations[0], "team");
    (void)strcpy(settings.tenants[child].auto_tolerations[0], "nvidia.com/gpu");
    settings.tenants[other].n_tolerations = 1;
    (void)strcpy(settings.tenants[other].tolerations[0], "sick");
    s->tenant = "t/child";
    tolerated_for_a_time(s);
    for (int i = 0; i < 2; i++) { /* checked again: not taken twice */
        if (spec_check(s, &settings, &err))
            fail_msg("%s", err.text);
        assert_int_equal(r->n_tolerations, 3);
        assert_string_equal(r->tolerations[1].key, "nvidia.com/gpu");
        assert_string_equal(r->tolerations[2].key, "team");
        assert_true(r->tolerations[2].exists && r->tolerations[2].is_automatic);
    }
    again = stored(s);
    assert_true(again->roles[0].tolerations[2].is_automatic);
    again->tenant = "u"; /* another tenant has others */
    again->ns = NULL;
    assert_int_equal(spec_check(again, &settings, NULL), 0);
    assert_int_equal(again->roles[0].n_tolerations, 1);
    r->tolerations[2].is_automatic = false; /* said by the job, and allowed to it */
    assert_int_equal(spec_check(s, &settings, NULL), 0);
    assert_int_equal(r->n_tolerations, 3);
    s->tenant = "u";
    s->ns = NULL;
    assert_int_equal(spec_check(s, &settings, NULL), -1);
    spec_destroy(again);
    spec_destroy(s);
}

static void each_field_of_a_role_travels_and_changes_the_digest(void **state)
{
    struct str seen[ARRAY_LEN(good) + 1];

    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(good); i++) {
        struct spec *s = site_spec("job", 2, 8);
        struct arena a = {0};
        struct err err;

        if (i)
            good[i - 1](s);
        if (spec_check(s, &settings, &err))
            fail_msg("row %zu: %s", i, err.text);
        fed(&seen[i], s);
        for (size_t k = 0; k < i; k++)
            assert_false(seen[i].len == seen[k].len &&
                         memcmp(seen[i].s, seen[k].s, seen[k].len) == 0);
        assert_equal(i, &seen[i], rpc_spec_from(rpc_spec_to(&a, s)));
        assert_equal(i, &seen[i], stored(s));
        assert_equal(i, &seen[i], spec_copy(s));
        arena_fini(&a);
        spec_destroy(s);
    }
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        str_fini(&seen[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_fault_of_a_role_is_refused_with_its_path, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_job_tolerates_what_its_tenant_always_does, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_field_of_a_role_travels_and_changes_the_digest, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
