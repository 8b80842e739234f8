/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_out.c - what answers say about jobs, nodes, domains and tenants of a known state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../fake/fake_rpc.h"
#include "rpc/rpc_out.h"
#include "rpc/rpc_placement.h"
#include "util/log.h"
#include "util/mem.h"

struct rig {
    struct fake_rpc f;
    struct rpc_out out;
};

static int set_up(void **state)
{
    struct rig *g = xcalloc(1, sizeof(*g));

    log_setup(LOG_LEVEL_ERROR, false);
    fake_rpc_init(&g->f);
    *state = g;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *g = *state;

    rpc_out_fini(&g->out);
    fake_rpc_fini(&g->f);
    free(g);
    return 0;
}

static struct rpc_head head(void)
{
    static const uint8_t instance[16] = {7};

    return (struct rpc_head){
        .request_id = {1}, .instance = instance, .text = "a warning", .as_of_seq = 12};
}

static void *unpack(const struct rig *g, const ProtobufCMessageDescriptor *d)
{
    void *m = protobuf_c_message_unpack(d, NULL, g->out.len - RPC_FRAME_BYTES,
                                        g->out.bytes + RPC_FRAME_BYTES);

    assert_non_null(m);
    assert_memory_equal(g->out.bytes, "QD\1\0", 4);
    assert_int_equal(g->out.bytes[7], RPC_FLAG_REPLY);
    return m;
}

static Queued__V1__GetReply *get(struct rig *g, const struct job *j, const struct explain *why)
{
    struct rpc_job_view v = {.state = g->f.state, .job = j, .why = why, .full = true};
    struct rpc_head h = head();

    rpc_out_begin(&g->out);
    rpc_out_get(&g->out, &h, &v);
    return unpack(g, &queued__v1__get_reply__descriptor);
}

static void a_placed_gang_shows_what_it_holds_and_where(void **state)
{
    struct rig *g = *state;
    Queued__V1__GetReply *r;
    const struct job *j;

    g->f.replicas = 2;
    j = fake_rpc_job(&g->f, "vision", "resnet", 4242);
    assert_int_equal(j->state, JOB_BINDING);
    r = get(g, j, NULL);
    assert_string_equal(r->header->text, "a warning");
    assert_int_equal(r->header->as_of_seq, 12);
    assert_string_equal(r->job->state, "Binding");
    assert_string_equal(r->job->placement, "block-1/rack-1,2");
    assert_int_equal(r->job->gpus, 16);
    assert_int_equal(r->job->pods, 2);
    assert_int_equal(r->job->held_gpus, 16);
    assert_int_equal(r->job->held_nodes, 2);
    assert_int_equal(r->job->charged_gpus, 16);
    assert_string_equal(r->job->gpu_model, "H100");
    assert_false(r->job->has_exit_code);
    assert_int_equal(r->job->n_attempts, 1);
    assert_int_equal(r->job->attempts[0]->number, 1);
    assert_int_equal(r->job->attempts[0]->n_pods, 2);
    assert_string_equal(r->job->attempts[0]->pods[0]->phase, "Placed");
    assert_int_equal(r->job->attempts[0]->pods[0]->gpus, 8);
    assert_int_equal(r->job->attempts[0]->pods[1]->rank, 1);
    assert_false(r->job->attempts[0]->pods[0]->has_exit_code);
    queued__v1__get_reply__free_unpacked(r, NULL);
}

static void a_requeued_job_shows_its_attempt_as_ended(void **state)
{
    struct rig *g = *state;
    struct job j = *fake_rpc_job(&g->f, "vision", "resnet", 4242);
    Queued__V1__GetReply *r;

    j.state = JOB_PENDING; /* as it is left when its pods are gone */
    j.members = NULL;
    j.n_members = 0;
    j.state_since = j.attempt_at + 77;
    r = get(g, &j, NULL);
    assert_int_equal(r->job->n_attempts, 1);
    assert_true(r->job->attempts[0]->has_ended_us);
    assert_int_equal(r->job->attempts[0]->ended_us, j.attempt_at + 77);
    assert_false(r->job->has_ended_us);
    queued__v1__get_reply__free_unpacked(r, NULL);
}

static void a_model_that_left_the_configuration_is_not_named(void **state)
{
    struct rig *g = *state;
    Queued__V1__GetReply *r;
    const struct job *j;

    g->f.replicas = 2;
    (void)fake_rpc_job(&g->f, "vision", "first", 4242);
    j = fake_rpc_job(&g->f, "vision", "second", 4242);
    j->demand->roles[0].n_models = 1;
    j->demand->roles[0].models[0] = MODELS_MAX;
    r = get(g, j, NULL);
    assert_null(r->job->gpu_model);
    queued__v1__get_reply__free_unpacked(r, NULL);
}

static void a_waiting_job_shows_its_reason_with_numbers(void **state)
{
    struct rig *g = *state;
    struct explain why;
    Queued__V1__GetReply *r;
    const struct job *j;

    g->f.replicas = 2;
    (void)fake_rpc_job(&g->f, "vision", "first", 4242);
    j = fake_rpc_job(&g->f, "vision", "second", 4242);
    assert_int_equal(j->state, JOB_PENDING);
    explain_job(g->f.state, j, g->f.clock.now, &why);
    assert_true(why.n_numbers > 0);
    r = get(g, j, &why);
    assert_string_equal(r->job->reason_code, why.code);
    assert_string_equal(r->job->reason_text, why.text);
    assert_int_equal(r->job->n_reason_numbers, why.n_numbers);
    assert_string_equal(r->job->reason_numbers[0]->name, why.numbers[0].name);
    assert_int_equal(r->job->reason_numbers[0]->value, why.numbers[0].value);
    assert_int_equal(r->job->position, 1);
    assert_int_equal(r->job->held_gpus, 0);
    assert_null(r->job->placement);
    assert_int_equal(r->job->n_attempts, 0);
    queued__v1__get_reply__free_unpacked(r, NULL);
}

static void a_waiting_job_shows_when_it_will_start_or_why_that_is_unknown(void **state)
{
    struct rig *g = *state;
    struct rpc_head h = head();
    struct rpc_job_view v = {.state = g->f.state};
    Queued__V1__GetReply *r;
    struct estimates *e = estimates_create();
    struct estimate eta;

    g->f.replicas = 2;
    (void)fake_rpc_job(&g->f, "vision", "first", 4242);
    v.job = fake_rpc_job(&g->f, "vision", "second", 4242);
    estimate_of(e, g->f.state, v.job, g->f.clock.now, &eta);
    assert_int_equal(eta.kind, ESTIMATE_START);
    assert_true(eta.at > g->f.clock.now);
    v.eta = &eta;
    eta.usual_at = g->f.clock.now + 1;
    for (int i = 0; i < 2; i++) {
        rpc_out_begin(&g->out);
        rpc_out_get(&g->out, &h, &v);
        r = unpack(g, &queued__v1__get_reply__descriptor);
        assert_int_equal(r->job->has_predicted_start_us, i == 0);
        assert_string_equal(r->job->predicted_basis,
                            i ? "unknown: the ends of all gangs do not suffice"
                              : "if gangs run until their maxRuntime and nothing new arrives");
        assert_int_equal(r->job->predicted_usual_start_us, i ? 0 : g->f.clock.now + 1);
        assert_int_equal(r->job->predicted_usual_basis != NULL, i == 0);
        queued__v1__get_reply__free_unpacked(r, NULL);
        eta.kind = ESTIMATE_NEVER;
        eta.usual_at = 0;
    }
    estimates_destroy(e);
}

static void nodes_show_amounts_domains_and_jobs(void **state)
{
    static const char *const jobs[] = {"resnet-aaaa"};
    struct rig *g = *state;
    struct rpc_head h = head();
    Queued__V1__NodesReply *r;

    (void)fake_rpc_job(&g->f, "vision", "resnet", 4242);
    rpc_out_begin(&g->out);
    rpc_out_add_node(&g->out, g->f.state, cluster_find(&g->f.state->cluster, "n1"), jobs, 1);
    rpc_out_add_node(&g->out, g->f.state, cluster_find(&g->f.state->cluster, "n2"), NULL, 0);
    rpc_out_nodes(&g->out, &h, true);
    r = unpack(g, &queued__v1__nodes_reply__descriptor);
    assert_true(r->more);
    assert_int_equal(r->n_nodes, 2);
    assert_string_equal(r->nodes[0]->name, "n1");
    assert_string_equal(r->nodes[0]->model, "H100");
    assert_int_equal(r->nodes[0]->gpus_allocatable, 8);
    assert_int_equal(r->nodes[0]->gpus_used + r->nodes[1]->gpus_used, 8);
    assert_int_equal(r->nodes[0]->gpus_free + r->nodes[1]->gpus_free, 8);
    assert_true(r->nodes[0]->usable && r->nodes[0]->known);
    assert_string_equal(r->nodes[0]->domains[0], "block-1/rack-1");
    assert_string_equal(r->nodes[0]->jobs[0], "resnet-aaaa");
    assert_int_equal(r->nodes[1]->n_jobs, 0);
    queued__v1__nodes_reply__free_unpacked(r, NULL);
}

static void the_topology_is_depth_first_with_free_slots(void **state)
{
    static const char *const paths[] = {"block-1", "block-1/rack-1", "block-1/rack-2"};
    struct rig *g = *state;
    struct rpc_head h = head();
    Queued__V1__TopologyReply *r;

    rpc_out_begin(&g->out);
    rpc_out_topology(&g->out, &h, g->f.state);
    r = unpack(g, &queued__v1__topology_reply__descriptor);
    assert_int_equal(r->n_cluster, 1);
    assert_int_equal(r->cluster[0]->nodes, 2);
    assert_int_equal(r->cluster[0]->gpus, 16);
    assert_int_equal(r->cluster[0]->free, 16);
    assert_int_equal(r->cluster[0]->slots_1, 16);
    assert_int_equal(r->cluster[0]->slots_8, 2);
    assert_int_equal(r->n_domains, ARRAY_LEN(paths));
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        assert_string_equal(r->domains[i]->path, paths[i]);
        assert_int_equal(r->domains[i]->depth, i > 0);
        assert_string_equal(r->domains[i]->level, i ? "rack" : "block");
        assert_int_equal(r->domains[i]->models[0]->gpus, i ? 8 : 16);
        assert_int_equal(r->domains[i]->models[0]->slots_8, i ? 1 : 2);
    }
    queued__v1__topology_reply__free_unpacked(r, NULL);
}

static void pools_are_one_more_hierarchy_and_nodes_name_theirs(void **state)
{
    struct pool_setting pools[2] = {{.name = "own", .n_exclusive = 1}, {.name = "empty"}};
    struct rig *g = *state;
    struct rpc_head h = head();
    Queued__V1__TopologyReply *r;
    Queued__V1__NodesReply *nodes;

    g->f.settings.n_pools = 2;
    g->f.settings.pools = pools;
    cluster_find(&g->f.state->cluster, "n1")->pool = 0;
    rpc_out_begin(&g->out);
    rpc_out_topology(&g->out, &h, g->f.state);
    r = unpack(g, &queued__v1__topology_reply__descriptor);
    assert_int_equal(r->n_domains, 3 + 2);
    assert_string_equal(r->domains[3]->level, "pool");
    assert_string_equal(r->domains[3]->path, "own");
    assert_string_equal(r->domains[3]->exclusive[0], g->f.settings.tenants[0].path);
    assert_int_equal(r->domains[3]->models[0]->gpus, 8);
    assert_int_equal(r->domains[3]->models[0]->slots_8, 1);
    assert_string_equal(r->domains[4]->path, "empty");
    assert_int_equal(r->domains[4]->n_models + r->domains[4]->n_exclusive, 0);
    queued__v1__topology_reply__free_unpacked(r, NULL);
    rpc_out_begin(&g->out);
    rpc_out_add_node(&g->out, g->f.state, cluster_find(&g->f.state->cluster, "n1"), NULL, 0);
    rpc_out_add_node(&g->out, g->f.state, cluster_find(&g->f.state->cluster, "n2"), NULL, 0);
    rpc_out_nodes(&g->out, &h, false);
    nodes = unpack(g, &queued__v1__nodes_reply__descriptor);
    assert_string_equal(nodes->nodes[0]->pool, "own");
    assert_null(nodes->nodes[1]->pool);
    queued__v1__nodes_reply__free_unpacked(nodes, NULL);
    g->f.settings.n_pools = 0;
    g->f.settings.pools = NULL;
}

/* The first tenant has one window, which begins a minute after the present one; or a minute ago. */
static void tenants_show_their_windows_and_when_they_open_or_close(void **state)
{
    struct rig *g = *state;
    struct rpc_head h = head();
    struct tenant_setting *t = &g->f.settings.tenants[0];
    usec_t minute = 60 * USEC_PER_SEC, at = g->f.state->now / minute * minute + minute;

    t->n_windows = 1;
    t->windows[0] = (struct opening_setting){
        .name = "w", .days = 0x7f, .from_min = (uint32_t)(at / minute % (24 * 60))};
    t->windows[0].to_min = t->windows[0].from_min + 1;
    for (int i = 0; i < 2; i++) {
        Queued__V1__TenantsReply *r;

        rpc_out_begin(&g->out);
        rpc_out_add_tenant(&g->out, g->f.state, 0, at - !i);
        rpc_out_add_tenant(&g->out, g->f.state, 2, at - !i); /* below it */
        rpc_out_tenants(&g->out, &h);
        r = unpack(g, &queued__v1__tenants_reply__descriptor);
        assert_int_equal(r->tenants[0]->n_windows, 1);
        assert_memory_equal(r->tenants[0]->windows[0], "w: Mon-Sun ", 11);
        assert_string_equal(r->tenants[0]->utc_offset, "+00:00");
        assert_int_equal(r->tenants[1]->n_windows, 0);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(r->tenants[k]->opens_us, i == 0 ? (uint64_t)at : 0);
            assert_int_equal(r->tenants[k]->closes_us, i == 1 ? (uint64_t)(at + minute) : 0);
        }
        queued__v1__tenants_reply__free_unpacked(r, NULL);
    }
    t->n_windows = 0;
}

static void tenants_show_what_their_subtree_uses(void **state)
{
    struct rig *g = *state;
    struct rpc_head h = head();
    Queued__V1__TenantsReply *r;

    (void)fake_rpc_job(&g->f, "vision/inner", "resnet", 4242);
    rpc_out_begin(&g->out);
    for (uint32_t i = 0; i < g->f.settings.n_tenants; i++)
        rpc_out_add_tenant(&g->out, g->f.state, i, g->f.state->now);
    rpc_out_tenants(&g->out, &h);
    r = unpack(g, &queued__v1__tenants_reply__descriptor);
    assert_int_equal(r->n_tenants, 3);
    assert_string_equal(r->tenants[0]->path, "vision");
    assert_int_equal(r->tenants[0]->models[0]->used, 8);
    assert_int_equal(r->tenants[0]->active, 0);
    assert_false(r->tenants[0]->models[0]->has_quota);
    assert_int_equal(r->tenants[1]->n_models, 0);
    assert_int_equal(r->tenants[2]->active, 1);
    assert_int_equal(r->tenants[0]->n_windows, 0);
    assert_false(r->tenants[0]->has_opens_us || r->tenants[0]->has_closes_us);
    queued__v1__tenants_reply__free_unpacked(r, NULL);
}

static void an_error_is_readable_as_the_reply_of_any_method(void **state)
{
    static const ProtobufCMessageDescriptor *const replies[] = {
        &queued__v1__hello_reply__descriptor, &queued__v1__submit_reply__descriptor,
        &queued__v1__list_reply__descriptor, &queued__v1__watch_reply__descriptor};
    struct rig *g = *state;
    struct rpc_head h = head();

    h.code = ERR_EXHAUSTED;
    h.retry_after_ms = 200;
    rpc_out_begin(&g->out);
    rpc_out_head(&g->out, 77, &h);
    assert_int_equal(g->out.bytes[5], 77);
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        Queued__V1__HelloReply *r = unpack(g, replies[i]); /* the header is the first member */

        assert_int_equal(r->header->code, ERR_EXHAUSTED);
        assert_int_equal(r->header->retry_after_ms, 200);
        protobuf_c_message_free_unpacked(&r->base, NULL);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_placed_gang_shows_what_it_holds_and_where),
        TEST(a_requeued_job_shows_its_attempt_as_ended),
        TEST(a_model_that_left_the_configuration_is_not_named),
        TEST(a_waiting_job_shows_its_reason_with_numbers),
        TEST(a_waiting_job_shows_when_it_will_start_or_why_that_is_unknown),
        TEST(nodes_show_amounts_domains_and_jobs),
        TEST(the_topology_is_depth_first_with_free_slots),
        TEST(pools_are_one_more_hierarchy_and_nodes_name_theirs),
        TEST(tenants_show_what_their_subtree_uses),
        TEST(tenants_show_their_windows_and_when_they_open_or_close),
        TEST(an_error_is_readable_as_the_reply_of_any_method),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
