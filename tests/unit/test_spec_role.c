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

static void (*const good[])(struct spec *s) = {
    preferred, more_preferred, tolerated, tolerated_for_a_time, tolerated_for_no_time,
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
    struct str out = {0};
    struct spec *got = NULL;
    struct err err;

    store_make_spec(&r, s, &a);
    store_pack(&out, STORE_SPECS, key, &r.base);
    if (store_decode_spec(key, (struct store_bytes){out.s, out.len}, &got, &err))
        fail_msg("%s", err.text);
    str_fini(&out);
    arena_fini(&a);
    return got;
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
        cmocka_unit_test_setup_teardown(each_field_of_a_role_travels_and_changes_the_digest, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
