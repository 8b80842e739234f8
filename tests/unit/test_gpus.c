/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpus.c - whole GPUs, shares of GPUs and MIG devices on one cluster, and who counts for what.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/mem.h"
#include "util/str.h"
#include "view/explain.h"

#include "../fake/fake_core.h"

#define MIB (INT64_C(1) << 20)
#define MIG "nvidia.com/mig-1g.10gb"

static struct node *find(struct core *c, const char *name)
{
    return cluster_find(&c->state->cluster, name);
}

/* GPUs of 46,068 MiB, each offered several times under a name of its own. */
static struct node_fact *shared_node(const char *name, const char *replicas, int64_t shares)
{
    struct node_fact *f = site_node(name, "b0", "r0", MODELS_MAX, 0);

    site_node_label(f, "nvidia.com/gpu.product", "NVIDIA-L40S");
    site_node_label(f, "nvidia.com/gpu.memory", "46068");
    site_node_label(f, "nvidia.com/gpu.replicas", replicas);
    site_node_label(f, "nvidia.com/gpu.sharing-strategy", "time-slicing");
    site_node_set(f, SHARED_GPU, shares);
    return f;
}

static struct spec *asks(const char *name, int64_t amount)
{
    struct spec *s = site_spec("job", 1, 0);
    struct spec_role *r = &s->roles[0];

    r->cpu_milli = 1;
    r->memory_bytes = MIB;
    r->extended = arena_alloc(&s->arena, sizeof(*r->extended));
    r->extended[r->n_extended++] = (struct spec_extended){name, amount};
    return s;
}

static struct spec *share_with(int64_t bytes)
{
    struct spec *s = asks(SHARED_GPU, 1);

    s->roles[0].gpu_memory_min = bytes;
    return s;
}

static int start(struct core *c, struct spec *s)
{
    int n;

    (void)core_submit(c, s);
    n = core_cycle(c);
    core_forget(c);
    return n;
}

static void foreign_pod(struct core *c, const char *name, const char *node, const char *resource)
{
    struct event ev = {.kind = EV_POD_SEEN, .u.pod = site_pod(name, node, 1)};

    (void)str_copy(ev.u.pod->requests[0].name, sizeof(ev.u.pod->requests[0].name), resource);
    (void)core_apply(c, &ev);
}

static void foreign_gone(struct core *c, const char *name)
{
    struct event ev = {.kind = EV_POD_GONE, .u.pod_gone = xcalloc(1, sizeof(struct ev_pod_gone))};

    (void)snprintf(ev.u.pod_gone->ns, sizeof(ev.u.pod_gone->ns), "other");
    (void)snprintf(ev.u.pod_gone->name, sizeof(ev.u.pod_gone->name), "%s", name);
    (void)core_apply(c, &ev);
}

static void no_more_shares_of_a_gpu_run_than_fit_in_its_memory(void **state)
{
    struct core *c = *state;
    struct explain x;
    struct job *j;

    core_node(c, shared_node("s0", "24", 24));
    for (int i = 0; i < 23; i++)
        assert_int_equal(start(c, share_with(2000 * MIB)), 1);
    j = core_job(c, core_submit(c, share_with(2000 * MIB)));
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "InsufficientOther");
    assert_non_null(strstr(x.text, "nvidia.com/gpu.memory"));
    assert_int_equal(start(c, share_with(68 * MIB)), 1); /* what is left, to the last MiB */
}

static void what_others_took_of_a_shared_gpu_counts_for_its_part(void **state)
{
    struct core *c = *state;

    foreign_pod(c, "early", "s0", SHARED_GPU); /* seen before its node */
    core_node(c, shared_node("s0", "4", 4));
    foreign_pod(c, "late", "s0", SHARED_GPU);
    foreign_pod(c, "late", "s0", SHARED_GPU); /* the same again */
    assert_int_equal(find(c, "s0")->used.amount[RES_GPU_BYTES], 2 * 46068 / 4 * MIB);
    assert_int_equal(start(c, share_with(46068 / 2 * MIB + 1)), 0);
    core_node(c, shared_node("s0", "12", 12)); /* cut otherwise now */
    assert_int_equal(find(c, "s0")->used.amount[RES_GPU_BYTES], 2 * 46068 / 12 * MIB);
    assert_int_equal(core_cycle(c), 1);
    foreign_gone(c, "early");
    foreign_gone(c, "late");
    assert_int_equal(find(c, "s0")->used.amount[RES_GPU_BYTES], 46068 / 2 * MIB + 1);
}

static void of_several_gpus_no_share_may_ask_for_more_than_its_part(void **state)
{
    struct core *c = *state;
    struct explain x;
    struct job *j;

    core_node(c, shared_node("s0", "4", 8)); /* two, which the plugin chooses from */
    j = core_job(c, core_submit(c, share_with(46068 / 4 * MIB + 1)));
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "NoSuchHardware");
    for (int i = 0; i < 8; i++)
        assert_int_equal(start(c, share_with(46068 / 4 * MIB)), 1);
    assert_int_equal(start(c, share_with(46068 / 4 * MIB)), 0);
}

static void shared_gpus_never_serve_a_job_that_asks_for_whole_ones(void **state)
{
    static const struct {
        const char *key, *value;
        bool is_shared;
    } rows[] = {
        {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3-SHARED", true},
        {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", true},
        {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-INVALID", true},
        {"nvidia.com/gpu.sharing-strategy", "time-slicing", true},
        {"nvidia.com/gpu.sharing-strategy", "mps", true},
        {"nvidia.com/gpu.sharing-strategy", "none", false},
        {"nvidia.com/gpu.sharing-strategy", "", false},
        {"nvidia.com/gpu.replicas", "2", true},
        {"nvidia.com/gpu.replicas", "1", false},
        {"nvidia.com/gpu.replicas", "0", false}, /* all of another kind of device are cut up */
        {"nvidia.com/mig.strategy", "mixed", false},
        {"nvidia.com/mig.strategy", "single", false}, /* by itself: none is cut up */
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct core *c = *state;
        bool is_product = strstr(rows[i].key, "product") != NULL;
        struct node_fact *f = site_node("s0", "b0", "r0", is_product ? MODELS_MAX : SITE_H100, 8);

        site_node_label(f, rows[i].key, rows[i].value);
        core_node(c, f);
        if (find(c, "s0")->is_shared_gpu != rows[i].is_shared ||
            start(c, site_spec("job", 1, 8)) != !rows[i].is_shared)
            fail_msg("row %zu", i);
        core_fini(c);
        core_init(c);
        core_up(c);
    }
}

/* Two of four GPUs are cut up. */
static struct node_fact *mixed_node(void)
{
    struct node_fact *f = site_node("m0", "b0", "r0", SITE_H100, 2);

    site_node_label(f, "nvidia.com/gpu.count", "4");
    site_node_label(f, "nvidia.com/mig.strategy", "mixed");
    site_node_set(f, MIG, 6);
    site_node_set(f, "nvidia.com/mig-3g.40gb", 0);
    return f;
}

static void a_mig_device_is_counted_once_whoever_placed_it(void **state)
{
    struct core *c = *state;
    int dim;

    core_node(c, mixed_node());
    dim = resource_index(&c->state->cluster.names, MIG, false);
    foreign_pod(c, "a", "m0", MIG);
    foreign_pod(c, "b", "m0", MIG);
    foreign_pod(c, "b", "m0", MIG);
    core_node(c, mixed_node());
    assert_int_equal(find(c, "m0")->used.amount[dim], 2);
    assert_int_equal(node_free_gpus(find(c, "m0")), 2); /* whole ones are others */
    assert_int_equal(start(c, asks(MIG, 3)), 1);
    assert_int_equal(find(c, "m0")->used.amount[dim], 5);
    assert_int_equal(start(c, asks(MIG, 2)), 0);
    assert_int_equal(start(c, asks(MIG, 1)), 1);
    assert_int_equal(start(c, site_spec("job", 1, 2)), 1);
    foreign_gone(c, "b");
    foreign_gone(c, "b");
    assert_int_equal(find(c, "m0")->used.amount[dim], 5);
    foreign_gone(c, "a");
    assert_int_equal(core_cycle(c), 1); /* the one that asked for two */
    assert_int_equal(find(c, "m0")->used.amount[dim], 6);
}

/* The pods of our own gang come back from the API server with what they ask. */
static void a_mig_device_of_our_own_pod_is_not_counted_again(void **state)
{
    struct core *c = *state;
    struct job *j;
    int dim;

    core_node(c, mixed_node());
    dim = resource_index(&c->state->cluster.names, MIG, false);
    j = core_job(c, core_submit(c, asks(MIG, 3)));
    assert_int_equal(core_cycle(c), 1);
    core_see(c, j, 0, POD_RUNNING, 0);
    core_see(c, j, 0, POD_RUNNING, 0);
    assert_int_equal(find(c, "m0")->used.amount[dim], 3);
    core_see_all(c, j->id, POD_SUCCEEDED);
    assert_int_equal(find(c, "m0")->used.amount[dim], 0);
}

/* Seven devices of a seventh are a GPU; nobody holds more than his tenant's limit. */
static void a_tenant_is_charged_the_slices_of_its_mig_devices(void **state)
{
    struct core *c = *state;
    const struct tenant *t = &c->state->tenants.v[0];
    struct node_fact *f = site_node("m0", "b0", "r0", SITE_H100, 2);
    struct job *j[8];
    struct explain x;
    int running = 0;

    site_node_label(f, "nvidia.com/gpu.count", "4");
    site_node_set(f, MIG, 14);
    core_node(c, f);
    c->settings.tenants[0].limit.gpus[SITE_H100] = 1;
    for (int i = 0; i < 8; i++)
        j[i] = core_job(c, core_submit(c, asks(MIG, 1)));
    (void)core_cycle(c);
    for (int i = 0; i < 8; i++)
        running += j[i]->charged_parts == GPU_PARTS / 7;
    assert_int_equal(running, 7);
    assert_int_equal(t->used[SITE_H100], GPU_PARTS);
    assert_int_equal(j[7]->state, JOB_PENDING);
    explain_job(c->state, j[7], c->now, &x);
    assert_string_equal(x.code, "TenantLimit");
    assert_non_null(strstr(x.text, "uses 1 of its limit of 1 H100, this needs 0.143"));
    core_see_all(c, j[0]->id, POD_SUCCEEDED);
    assert_int_equal(t->used[SITE_H100], GPU_PARTS - GPU_PARTS / 7);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(t->used[SITE_H100], GPU_PARTS);
}

static void a_profile_that_no_node_has_free_is_named_with_numbers(void **state)
{
    struct core *c = *state;
    struct explain x;
    struct job *j;

    core_node(c, mixed_node());
    assert_int_equal(start(c, asks(MIG, 5)), 1);
    j = core_job(c, core_submit(c, asks(MIG, 2)));
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "InsufficientGpus");
    assert_non_null(strstr(x.text, "2 " MIG " asked for each pod"));
    j = core_job(c, core_submit(c, asks(MIG_PREFIX "7g.80gb", 1)));
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "NoSuchHardware");
    assert_non_null(
        strstr(x.text, "1 pods with 1 nvidia.com/mig-7g.80gb, the whole cluster has 0"));
}

static void a_limit_that_devices_pass_is_told_in_parts(void **state)
{
    struct core *c = *state;
    struct spec *s = asks(MIG, 60);
    struct err err;

    for (uint32_t m = 0; m < c->settings.n_models; m++)
        c->settings.tenants[0].limit.gpus[m] = m == SITE_H100 ? 32 : 0;
    s->roles[0].replicas = 4;
    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    assert_non_null(
        strstr(err.text, "ExceedsTenantLimit: needs 34.286 H100, the limit of tenant "));
    spec_destroy(s);
}

static void slices_of_profiles(void **state)
{
    static const struct {
        const char *name;
        uint32_t slices;
    } rows[] = {
        {MIG_PREFIX "1g.10gb", 1},
        {MIG_PREFIX "3g.40gb", 3},
        {MIG_PREFIX "7g.141gb", 7},
        {MIG_PREFIX "1g.10gb.me", 1},
        {MIG_PREFIX "1g.24gb-me", 1},
        {MIG_PREFIX "1g.10gb.shared", 0},
        {MIG_PREFIX "1g.10gb.me.shared", 0},
        {MIG_PREFIX "1g.10gb.", 0},
        {MIG_PREFIX "5g.10gb", 0},
        {MIG_PREFIX "1g.gb", 0},
        {MIG_PREFIX "8g.10gb", 0},
        {MIG_PREFIX "", 0},
        {MIG_PREFIX "1g.10gbx", 0},
        {MIG_PREFIX "1c.3g.20gb", 0},
        {"nvidia.com/gpu", 0},
        {"example.com/mig-1g.10gb", 0},
    };
    char text[FORMAT_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (mig_slices(rows[i].name) != rows[i].slices)
            fail_msg("%s: %u", rows[i].name, mig_slices(rows[i].name));
    assert_string_equal(mig_text(text, 0), "0");
    assert_string_equal(mig_text(text, 120), "0.143");
    assert_string_equal(mig_text(text, 420), "0.5");
    assert_string_equal(mig_text(text, 100 * GPU_PARTS), "100");
    assert_string_equal(mig_text(text, 9 * GPU_PARTS + 210), "9.25");
}

static int up(void **state)
{
    struct core *c = xcalloc(1, sizeof(*c));

    core_init(c);
    core_up(c);
    *state = c;
    return 0;
}

#define CORE(test) cmocka_unit_test_setup_teardown(test, up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CORE(no_more_shares_of_a_gpu_run_than_fit_in_its_memory),
        CORE(what_others_took_of_a_shared_gpu_counts_for_its_part),
        CORE(of_several_gpus_no_share_may_ask_for_more_than_its_part),
        CORE(shared_gpus_never_serve_a_job_that_asks_for_whole_ones),
        CORE(a_mig_device_is_counted_once_whoever_placed_it),
        CORE(a_mig_device_of_our_own_pod_is_not_counted_again),
        CORE(a_tenant_is_charged_the_slices_of_its_mig_devices),
        CORE(a_profile_that_no_node_has_free_is_named_with_numbers),
        CORE(a_limit_that_devices_pass_is_told_in_parts),
        cmocka_unit_test(slices_of_profiles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
