/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_wire.c - whole requests: frames, hostile bytes, golden files, what a request becomes.
 *
 * Golden requests: tests/golden/wire, written by a second implementation
 * (tests/integration/wire.py).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fake/wire_bytes.h"
#include "core/job_fsm.h"
#include "queue.pb-c.h"
#include "rpc/rpc_check.h"
#include "rpc/rpc_spec.h"
#include "rpc/rpc_wire.h"
#include "util/mem.h"
#include "../fake/fake_site.h"

static const uint8_t id[REQUEST_ID_BYTES] = "0123456789abcdef";

static void add_frame(struct str *b, uint16_t method)
{
    uint8_t frame[RPC_FRAME_BYTES];

    rpc_frame_write(frame, method, 0);
    str_add_bytes(b, frame, sizeof(frame));
}

static void add_header(struct str *b)
{
    struct str h = {0};

    add_bytes(&h, 1, id, sizeof(id));
    add_number(&h, 2, 2000);
    add_bytes(b, 1, str_text(&h), h.len);
    str_fini(&h);
}

static int decode(const struct str *b, struct rpc_request *ret, struct err *err)
{
    struct arena scratch = {0};
    int rc = rpc_wire_decode(&scratch, str_text(b), b->len, ret, err);

    assert_true(scratch.used <= RPC_UNPACK_BYTES_MAX);
    arena_fini(&scratch);
    return rc;
}

static void frames_that_are_not_ours_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {"", 0},
        {"QD", 2},
        {"QD\1\0\0\1\0", 7},
        {"XD\1\0\0\1\0\0", 8},
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"QD\2\0\0\1\0\0", 8}, /* another major */
        {"QD\1\0\0\0\0\0", 8}, /* method 0 */
        {"QD\1\0\0\x0b\0\0", 8},
        {"QD\1\0\xff\xff\0\0", 8},
        {"QD\1\0\0\1\0\1", 8}, /* a reply */
        {"QD\1\0\0\1\0\0", 8}, /* no header */
        {"QD\1\0\0\1\0\0\x0a", 9},
        {"QD\1\0\0\1\0\0\x0a\xff\xff\xff\xff\x7f", 14},
        {"QD\1\0\0\1\0\0\x0b\x0c", 10}, /* groups */
        {"QD\1\0\0\1\0\0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 19},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str b = {0};
        struct rpc_request r;
        struct err err = {0};

        str_add_bytes(&b, rows[i].bytes, rows[i].len);
        assert_int_equal(decode(&b, &r, &err), -1);
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(*err.text);
        assert_int_equal(r.method, RPC_NONE);
        rpc_request_fini(&r);
        str_fini(&b);
    }
}

static void a_message_above_the_limit_is_refused(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    add_frame(&b, RPC_LIST);
    add_header(&b);
    add_filler(&b, 99, RPC_MESSAGE_MAX - b.len - 6); /* unknown field of a read: skipped */
    assert_int_equal(decode(&b, &r, &err), 0);
    rpc_request_fini(&r);
    add_filler(&b, 99, 10);
    assert_int_equal(decode(&b, &r, &err), -1);
    rpc_request_fini(&r);
    str_fini(&b);
}

static void a_refused_message_still_says_whom_to_answer(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    add_frame(&b, RPC_SUBMIT);
    add_header(&b);
    add_number(&b, 3, 7); /* dry_run: 7 */
    assert_int_equal(decode(&b, &r, &err), -1);
    assert_int_equal(r.method_number, RPC_SUBMIT);
    assert_memory_equal(r.request_id, id, sizeof(id));
    rpc_request_fini(&r);
    str_fini(&b);
}

static void unknown_fields_are_refused_in_changes_and_skipped_in_reads(void **state)
{
    static const struct {
        uint16_t method;
        int expected;
    } rows[] = {{RPC_CANCEL, -1},       {RPC_HOLD, -1},    {RPC_RELEASE, -1},
                {RPC_REQUEUE, -1},      {RPC_PREEMPT, -1}, {RPC_UPDATE, -1},
                {RPC_CHECKPOINTED, -1}, {RPC_GET, 0},      {RPC_WHY, 0}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str b = {0};
        struct rpc_request r;
        struct err err;

        add_frame(&b, rows[i].method);
        add_header(&b);
        add_bytes(&b, 2, "job", 3);
        add_number(&b, 77, 1);
        assert_int_equal(decode(&b, &r, &err), rows[i].expected);
        rpc_request_fini(&r);
        str_fini(&b);
    }
}

static void what_would_be_ignored_is_refused(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    add_frame(&b, RPC_CHECKPOINTED);
    add_header(&b);
    add_bytes(&b, 2, "job", 3);
    add_bytes(&b, 3, "why", 3);
    assert_int_equal(decode(&b, &r, &err), -1);
    assert_non_null(strstr(err.text, "reason: "));
    rpc_request_fini(&r);
    str_fini(&b);
    add_frame(&b, RPC_ESTIMATE);
    add_header(&b);
    add_bytes(&b, 2, "", 0);
    add_bytes(&b, 91, "node", 4); /* added_like, and no added_nodes */
    assert_int_equal(decode(&b, &r, &err), -1);
    assert_non_null(strstr(err.text, "added_nodes: "));
    rpc_request_fini(&r);
    str_fini(&b);
}

static void a_request_id_has_sixteen_bytes(void **state)
{
    (void)state;
    for (size_t len = 0; len < 20; len++) {
        struct str b = {0}, h = {0};
        struct rpc_request r;
        struct err err;

        add_filler(&h, 1, len);
        add_frame(&b, RPC_HELLO);
        add_bytes(&b, 1, str_text(&h), h.len);
        assert_int_equal(decode(&b, &r, &err), len == 16 ? 0 : -1);
        rpc_request_fini(&r);
        str_fini(&b);
        str_fini(&h);
    }
}

static void states_are_words_and_active_is_every_one_that_lives(void **state)
{
    struct str b = {0}, f = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    add_bytes(&f, 4, "active", 6);
    add_frame(&b, RPC_LIST);
    add_header(&b);
    add_bytes(&b, 2, str_text(&f), f.len);
    assert_int_equal(decode(&b, &r, &err), 0);
    for (int s = JOB_HELD; s <= JOB_REJECTED; s++)
        assert_int_equal(!!(r.filter.states & 1u << s), !job_state_is_terminal((enum job_state)s));
    rpc_request_fini(&r);
    str_clear(&b);
    str_clear(&f);
    add_bytes(&f, 4, "Rnuning", 7);
    add_frame(&b, RPC_LIST);
    add_header(&b);
    add_bytes(&b, 2, str_text(&f), f.len);
    assert_int_equal(decode(&b, &r, &err), -1);
    rpc_request_fini(&r);
    str_fini(&b);
    str_fini(&f);
}

/* 64 KiB of empty messages make protobuf-c take 3.7 MB: what is beyond a count takes nothing. */
static void amplification_is_refused_where_a_count_is_passed(void **state)
{
    struct str b = {0}, role = {0}, spec = {0};
    struct arena scratch = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    while (role.len < 40000)
        add_bytes(&role, 13, "", 0);
    add_bytes(&spec, 13, str_text(&role), role.len);
    add_frame(&b, RPC_SUBMIT);
    add_header(&b);
    add_bytes(&b, 2, str_text(&spec), spec.len);
    assert_int_equal(rpc_wire_decode(&scratch, str_text(&b), b.len, &r, &err), -1);
    assert_in_range(scratch.used, 0, (uint64_t)ROLE_ENV_MAX * 128);
    rpc_request_fini(&r);
    arena_fini(&scratch);
    str_fini(&b);
    str_fini(&role);
    str_fini(&spec);
}

/* As many elements as the tables allow. */
static void add_full_role(struct str *spec)
{
    struct str role = {0};

    for (int i = 0; i < ROLE_ENV_MAX; i++)
        add_bytes(&role, 13, "\x0a\x01k", 3);
    for (int i = 0; i < ROLE_ARGS_MAX; i++) {
        add_bytes(&role, 10, "", 0);
        add_bytes(&role, 11, "", 0);
    }
    for (int i = 0; i < ROLE_VOLUMES_MAX; i++)
        add_bytes(&role, 14, "\x10\x01", 2);
    for (int i = 0; i < ROLE_SELECTOR_MAX; i++)
        add_bytes(&role, 15, "\x0a\x01k", 3);
    for (int i = 0; i < ROLE_TOLERATIONS_MAX; i++)
        add_bytes(&role, 16, "", 0);
    for (int i = 0; i < ROLE_EXTENDED_MAX; i++)
        add_bytes(&role, 8, "", 0);
    add_bytes(spec, 13, str_text(&role), role.len);
    str_fini(&role);
}

static void the_fullest_spec_unpacks_within_the_cap(void **state)
{
    struct str b = {0}, spec = {0};
    struct arena scratch = {0};
    struct rpc_request r;
    struct err err;

    (void)state;
    for (int i = 0; i < JOB_ROLES_MAX; i++)
        add_full_role(&spec);
    assert_true(spec.len <= SPEC_BYTES_MAX);
    add_frame(&b, RPC_SUBMIT);
    add_header(&b);
    add_bytes(&b, 2, str_text(&spec), spec.len);
    assert_int_equal(rpc_wire_decode(&scratch, str_text(&b), b.len, &r, &err), 0);
    assert_in_range(scratch.used, 1, RPC_UNPACK_BYTES_MAX);
    assert_int_equal(r.u.submit.spec->n_roles, JOB_ROLES_MAX);
    rpc_request_fini(&r);
    arena_fini(&scratch);
    str_fini(&b);
    str_fini(&spec);
}

/* ---- golden requests */

#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden/wire"
#endif

static void read_golden(struct str *b, const char *name)
{
    char *path = xasprintf("%s/%s", GOLDEN_DIR, name);
    char buf[65536];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f)
        fail_msg("%s: run the tests from the top of the tree", path);
    n = fread(buf, 1, sizeof(buf), f);
    (void)fclose(f); /* was only read */
    str_add_bytes(b, buf, n);
    free(path);
}

static const struct {
    const char *file;
    enum rpc_method method;
} golden[] = {
    {"v1-hello.bin", RPC_HELLO},
    {"v1-submit.bin", RPC_SUBMIT},
    {"v1-cancel.bin", RPC_CANCEL},
    {"v1-get.bin", RPC_GET},
    {"v1-list.bin", RPC_LIST},
    {"v1-why.bin", RPC_WHY},
    {"v1-watch.bin", RPC_WATCH},
    {"v1-nodes.bin", RPC_NODES},
    {"v1-topology.bin", RPC_TOPOLOGY},
    {"v1-tenants.bin", RPC_TENANTS},
    {"v1-hold.bin", RPC_HOLD},
    {"v1-release.bin", RPC_RELEASE},
    {"v1-requeue.bin", RPC_REQUEUE},
    {"v1-preempt.bin", RPC_PREEMPT},
    {"v1-update.bin", RPC_UPDATE},
    {"v1-checkpointed.bin", RPC_CHECKPOINTED},
    {"v1-drain.bin", RPC_DRAIN},
    {"v1-undrain.bin", RPC_UNDRAIN},
    {"v1-tenant-stop.bin", RPC_TENANT_STOP},
    {"v1-tenant-resume.bin", RPC_TENANT_RESUME},
    {"v1-estimate.bin", RPC_ESTIMATE},
    {"v1-reserve.bin", RPC_RESERVE},
    {"v1-unreserve.bin", RPC_UNRESERVE},
    {"v1-reservations.bin", RPC_RESERVATIONS},
    {"v1-defrag.bin", RPC_DEFRAG},
    {"v1-config.bin", RPC_CONFIG},
};

static void golden_requests_decode(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
        struct str b = {0};
        struct rpc_request r;
        struct err err = {0};

        read_golden(&b, golden[i].file);
        if (decode(&b, &r, &err))
            fail_msg("%s: %s", golden[i].file, err.text);
        assert_int_equal(r.method, golden[i].method);
        assert_memory_equal(r.request_id, id, sizeof(id));
        assert_int_equal(r.deadline_ms, 5000);
        rpc_request_fini(&r);
        str_fini(&b);
    }
}

static void a_golden_submission_keeps_every_field(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;
    const struct spec *s;
    const struct spec_role *w;

    (void)state;
    read_golden(&b, "v1-submit.bin");
    assert_int_equal(decode(&b, &r, &err), 0);
    s = r.u.submit.spec;
    assert_string_equal(s->name, "resnet");
    assert_string_equal(s->tenant, "foundation/pretrain");
    assert_string_equal(s->ns, "foundation");
    assert_string_equal(s->labels.v[0].key, "team");
    assert_string_equal(s->labels.v[0].value, "vision");
    assert_string_equal(s->submit_key, "run-17");
    assert_string_equal(s->priority_class, "normal");
    assert_true(s->max_runtime_us == 7200 * USEC_PER_SEC);
    assert_string_equal(s->topology_required, "block");
    assert_string_equal(s->topology_preferred, "rack");
    assert_int_equal(s->max_restarts, 2);
    assert_int_equal(s->n_roles, 2);
    w = &s->roles[1];
    assert_string_equal(s->roles[0].name, "leader");
    assert_int_equal(s->roles[0].replicas, 1); /* absent: the default */
    assert_true(s->roles[0].cpu_milli == -1 && s->roles[0].memory_bytes == -1);
    assert_string_equal(w->name, "worker");
    assert_int_equal(w->replicas, 4);
    assert_int_equal(w->gpus, 8);
    assert_string_equal(w->gpu_models.v[0], "H100");
    assert_true(w->cpu_milli == 96000 && w->memory_bytes == INT64_C(1) << 40);
    assert_string_equal(w->extended[0].name, "rdma/hca");
    assert_true(w->extended[0].amount == 8);
    assert_string_equal(w->command.v[2], "set -e\npython train.py");
    assert_string_equal(w->env.v[0].value, "caf\xc3\xa9");
    assert_int_equal(w->volumes[0].kind, SPEC_VOLUME_NFS);
    assert_string_equal(w->volumes[0].path, "/export/data");
    assert_true(w->volumes[0].read_only && w->volumes[0].size_bytes == -1);
    assert_string_equal(w->node_selector.v[0].key, "gang.queued/block");
    assert_true(w->tolerations[0].exists && !w->tolerations[1].exists);
    assert_string_equal(w->tolerations[1].value, "gpu");
    rpc_request_fini(&r);
    str_fini(&b);
}

static void a_spec_survives_the_way_back_to_its_message(void **state)
{
    struct str b = {0};
    struct rpc_request r;
    struct err err;
    struct arena a = {0};
    Queued__V1__JobSpec *first, *second;
    struct spec *again;
    size_t size;
    uint8_t *x, *y;

    (void)state;
    read_golden(&b, "v1-submit.bin");
    assert_int_equal(decode(&b, &r, &err), 0);
    first = rpc_spec_to(&a, r.u.submit.spec);
    again = rpc_spec_from(first);
    second = rpc_spec_to(&a, again);
    size = queued__v1__job_spec__get_packed_size(first);
    assert_int_equal(queued__v1__job_spec__get_packed_size(second), size);
    x = xmalloc(size);
    y = xmalloc(size);
    (void)queued__v1__job_spec__pack(first, x);
    (void)queued__v1__job_spec__pack(second, y);
    assert_memory_equal(x, y, size);
    assert_non_null(
        rpc_check(&a, &queued__v1__job_spec__descriptor, (struct rpc_bytes){x, size}, true, &err));
    free(x);
    free(y);
    spec_destroy(again);
    arena_fini(&a);
    rpc_request_fini(&r);
    str_fini(&b);
}

static void feed_str(void *ctx, const void *p, size_t len)
{
    str_add_bytes(ctx, p, len);
}

static void what_a_job_says_of_its_nodes_and_its_wait_survives_the_wire(void **state)
{
    const char *names[] = {"n0", "n1"};
    struct spec_match match = {2, 7, "zone", "NotIn", {names, 2}};
    struct spec_toleration limited = {
        .key = "sick", .effect = "NoExecute", .is_limited = true, .seconds = 90};
    struct spec_pair waits = {"first", "failed"};
    uint32_t codes[] = {3, 137};
    struct spec_rule rules[] = {{codes, 2, {NULL, 0}, SPEC_FAIL},
                                {NULL, 0, {names, 2}, SPEC_EXCLUDE}};
    struct spec *s = site_spec("job", 4, 8), *again;
    struct spec_role *role = &s->roles[0];
    struct spec_extended licence = {"abaqus", 2};
    struct str a = {0}, b = {0};
    struct arena arena = {0};

    (void)state;
    s->is_held = true;
    s->depends_on = (struct spec_pairs){&waits, 1};
    s->slice_size = 2;
    s->slice_level = "rack";
    s->licences = &licence;
    s->n_licences = 1;
    role->affinity = &match;
    role->tolerations = &limited;
    role->n_tolerations = 1;
    role->n_affinity = 1;
    role->nodes = match.values;
    role->excluded_nodes = (struct spec_strings){names, 1};
    role->gpu_memory_min = INT64_C(80000000000);
    role->driver_min = "550.54";
    role->cuda_min = "12.4";
    role->mixed_drivers = true;
    role->is_exclusive = role->is_leader = true;
    s->completion = "min";
    s->completion_min = 2;
    role->spares = 3;
    role->start_after = "worker";
    s->exit_zero = "done";
    s->checkpoint_signal = "SIGUSR1";
    s->checkpoint_path = "/ckpt";
    s->checkpoint_target = "leader";
    s->ttl_us = 3;
    s->pod_ttl_us = 2;
    s->keep_pods = "failed";
    s->rendezvous = "ray";
    s->rendezvous_port = 7000;
    s->is_one_process = s->is_world_of_nodes = true;
    s->before_end_us = INT64_C(600000000);
    s->failure = (struct spec_failure){SPEC_SCOPE_ROLE, 1, 2, 3, SPEC_NO, rules, 2};
    role->spread = (struct spec_spread){"rack", 2, true};
    again = rpc_spec_from(rpc_spec_to(&arena, s));
    spec_feed(s, feed_str, &a);
    spec_feed(again, feed_str, &b);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.s, b.s, a.len);
    spec_destroy(again);
    spec_destroy(s);
    arena_fini(&arena);
    str_fini(&a);
    str_fini(&b);
}

static void truncated_and_damaged_requests_never_do_harm(void **state)
{
    unsigned rng = 1;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
        struct str b = {0};

        read_golden(&b, golden[i].file);
        for (size_t len = 0; len < b.len + 200; len++) {
            uint8_t *p = xmemdup(str_text(&b), b.len);
            size_t n = len < b.len ? len : b.len;
            struct arena scratch = {0};
            struct rpc_request r;
            struct err err;

            if (len >= b.len) /* the whole, with one byte changed */
                p[8 + (size_t)rand_r(&rng) % (n - 8)] ^= (uint8_t)(1 + rand_r(&rng) % 255);
            p = xrealloc(p, n ? n : 1); /* so that the sanitizer sees a step beyond */
            (void)rpc_wire_decode(&scratch, p, n, &r, &err); /* either way is right */
            rpc_request_fini(&r);
            arena_fini(&scratch);
            free(p);
        }
        str_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_are_not_ours_are_refused),
        cmocka_unit_test(a_message_above_the_limit_is_refused),
        cmocka_unit_test(a_refused_message_still_says_whom_to_answer),
        cmocka_unit_test(unknown_fields_are_refused_in_changes_and_skipped_in_reads),
        cmocka_unit_test(what_would_be_ignored_is_refused),
        cmocka_unit_test(a_request_id_has_sixteen_bytes),
        cmocka_unit_test(states_are_words_and_active_is_every_one_that_lives),
        cmocka_unit_test(amplification_is_refused_where_a_count_is_passed),
        cmocka_unit_test(the_fullest_spec_unpacks_within_the_cap),
        cmocka_unit_test(golden_requests_decode),
        cmocka_unit_test(a_golden_submission_keeps_every_field),
        cmocka_unit_test(a_spec_survives_the_way_back_to_its_message),
        cmocka_unit_test(what_a_job_says_of_its_nodes_and_its_wait_survives_the_wire),
        cmocka_unit_test(truncated_and_damaged_requests_never_do_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
