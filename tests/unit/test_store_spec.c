/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_spec.c - what a job says comes back from its record, whatever of it is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/store_pack.h"
#include "store/store_record.h"

#include "../fake/store_fixture.h"

static void feed_str(void *ctx, const void *p, size_t len)
{
    str_add_bytes(ctx, p, len);
}

static void assert_digests_equal(const struct spec *x, const struct spec *y)
{
    struct str a = {0}, b = {0};

    spec_feed(x, feed_str, &a);
    spec_feed(y, feed_str, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.s, b.s, a.len);
    str_fini(&a);
    str_fini(&b);
}

/* What is told to pods that run. */
static void want_told(struct spec *want, int choice)
{
    want->checkpoint_signal = "SIGUSR1";
    want->checkpoint_path = "/ckpt";
    want->checkpoint_target = "leader";
    want->before_end_us = INT64_C(600000000);
    want->ttl_us = 3;
    want->pod_ttl_us = 2;
    want->keep_pods = "failed";
    want->rendezvous = "ray";
    want->rendezvous_port = 7000;
    want->is_one_process = choice == SPEC_YES;
    want->is_world_of_nodes = choice == SPEC_NO;
}

static void what_a_job_says_of_its_nodes_and_its_wait_comes_back(void **state)
{
    const struct store_bytes key = {"12345678", 8};

    const char *values[] = {"a", "b"};
    struct spec_match match = {3, 7, "zone", "NotIn", {values, 2}};
    uint32_t codes[] = {3, 137};
    struct spec_rule rule = {codes, 2, {values, 2}, SPEC_EXCLUDE};

    (void)state;
    for (int choice = SPEC_UNSAID; choice <= SPEC_NO; choice++) { /* held with two of them */
        Queued__Record__SpecRecord r = QUEUED__RECORD__SPEC_RECORD__INIT;
        struct spec *want = store_fixture_full_spec(), *got = NULL;
        struct arena a = {0};
        struct spec_extended licence = {"abaqus", 2};
        struct pack pack = {0};
        struct err err;

        want->preemptible = (enum spec_choice)choice;
        want->is_held = choice != SPEC_YES;
        want->depends_on = want->labels;
        want->licences = &licence;
        want->n_licences = 1;
        want->preemption_policy = "Never";
        want->max_lost_gpu_hours = 40;
        want->on_preemption = "end";
        want->exit_zero = "done";
        want_told(want, choice);
        want->is_movable = choice == SPEC_NO;
        want->pdb = (enum spec_choice)choice;
        want->min_available = choice == SPEC_YES ? 3 : 0;
        want->array_indices = "0-49,60";
        want->array_fails_fast = choice == SPEC_NO;
        want->array_params = match.values;
        want->failure =
            (struct spec_failure){SPEC_SCOPE_POD, 1, 2, 3, (enum spec_choice)choice, &rule, 1};
        want->slice_size = 4;
        want->slice_level = "rack";
        want->roles[0].n_affinity = 1;
        want->roles[0].affinity = &match;
        want->roles[0].nodes = match.values;
        want->roles[0].gpu_memory_min = INT64_C(80000000000);
        want->roles[0].driver_min = want->roles[0].cuda_min = "550.54";
        want->roles[0].mixed_drivers = true;
        want->roles[0].spares = 2;
        want->roles[0].start_after = "worker";
        want->roles[0].is_exclusive = want->roles[0].is_leader = choice == SPEC_NO;
        want->completion = "min";
        want->completion_min = 3;
        want->roles[0].spread = (struct spec_spread){"rack", 2, choice == SPEC_YES};
        store_make_spec(&r, want, &a);
        assert_int_equal(
            store_decode_spec(key, store_pack(&pack, STORE_SPECS, key, &r.base), &got, &err), 0);
        assert_int_equal(got->preemptible, choice);
        assert_int_equal(got->is_movable, choice == SPEC_NO);
        assert_int_equal(got->pdb, choice);
        assert_int_equal(got->min_available, want->min_available);
        assert_int_equal(got->is_held, want->is_held);
        assert_digests_equal(got, want);
        assert_int_equal(got->depends_on.n, want->labels.n);
        assert_string_equal(got->depends_on.v[0].key, want->labels.v[0].key);
        pack_fini(&pack);
        arena_fini(&a);
        spec_destroy(want);
        spec_destroy(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_job_says_of_its_nodes_and_its_wait_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
