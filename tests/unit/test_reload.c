/* SPDX-License-Identifier: Apache-2.0 */
/* test_reload.c - other settings while jobs wait and run: who is judged by them, who goes on.
 *
 * Two tenants a and b on four nodes of 8 H100, n0 and n1 in one rack; every test ends with a
 * recount of all tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/two_tenants.h"
#include "core/share.h"
#include "util/mem.h"
#include "view/explain.h"

enum { NORMAL = 500 };

/* Settings to change beside those in force. */
struct fixture {
    struct core core; /* first: tests of two_tenants.h have one */
    struct settings other;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    void *core;

    if (two_set_up(&core))
        return -1;
    f->core = *(struct core *)core;
    free(core);
    state_destroy(f->core.state); /* its settings have moved */
    f->core.state = state_create(&f->core.settings);
    core_nodes(&f->core, 4);
    core_up(&f->core);
    *state = f;
    return 0;
}

/* The next settings begin as those in force. */
static struct settings *change(struct fixture *f)
{
    const struct settings *s = f->core.state->settings;
    size_t tenants = 16 * sizeof(*s->tenants), pools = 16 * sizeof(*s->pools);

    f->other = *s;
    f->other.tenants = xcalloc(1, tenants);
    memcpy(f->other.tenants, s->tenants, s->n_tenants * sizeof(*s->tenants));
    f->other.pools = xcalloc(1, pools);
    if (s->n_pools)
        memcpy(f->other.pools, s->pools, s->n_pools * sizeof(*s->pools));
    return &f->other;
}

/* Puts them in force; the memory of the old ones is gone. */
static void reload(struct fixture *f)
{
    struct event ev = {.kind = EV_SETTINGS, .u.config = {&f->other, ++f->core.n_requests}};
    struct settings old = f->core.settings;

    (void)core_apply(&f->core, &ev);
    f->core.settings = f->other;
    f->core.state->settings = f->core.state->cluster.settings = &f->core.settings;
    f->core.state->cluster.topology.settings = f->core.state->tenants.settings = &f->core.settings;
    memset(old.tenants, 0x5a, old.n_tenants * sizeof(*old.tenants));
    free(old.tenants);
    free(old.pools);
    two_check(&f->core);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    two_check(&f->core);
    core_fini(&f->core);
    free(f);
    return 0;
}

static uint32_t tenant(const struct fixture *f, const char *path)
{
    return settings_tenant(f->core.state->settings, path);
}

static uint64_t used(const struct fixture *f, const char *path)
{
    return f->core.state->tenants.v[tenant(f, path)].used[SITE_H100] / GPU_PARTS;
}

static void end(struct fixture *f, const struct job *j)
{
    core_see_all(&f->core, j->id, POD_SUCCEEDED);
    core_gone_all(&f->core, j->id);
    core_service_gone(&f->core, j->id);
}

static const char *why(struct fixture *f, const struct job *j)
{
    static char code[32];
    struct explain x;

    explain_job(f->core.state, j, f->core.now, &x);
    (void)snprintf(code, sizeof(code), "%s", x.code);
    return code;
}

static void a_smaller_limit_stops_nobody_and_the_next(void **state)
{
    struct fixture *f = *state;
    struct job *runs = two_running(&f->core, "a", "runs", NORMAL, 2), *next;

    change(f)->tenants[tenant(f, "a")].limit.gpus[SITE_H100] = 8;
    reload(f);
    assert_int_equal(runs->state, JOB_RUNNING);
    assert_int_equal(used(f, "a"), 16);
    next = two_submit(&f->core, "a", "next", NORMAL, 1);
    assert_int_equal(core_cycle(&f->core), 0);
    assert_string_equal(why(f, next), "TenantLimit");
    end(f, runs);
    assert_int_equal(core_cycle(&f->core), 1);
    assert_int_equal(used(f, "a"), 8);
}

static void a_larger_limit_wakes_who_sleeps(void **state)
{
    struct fixture *f = *state;
    struct job *j;

    change(f)->tenants[tenant(f, "a")].limit.gpus[SITE_H100] = 8;
    reload(f);
    j = two_submit(&f->core, "a", "wide", NORMAL, 2);
    assert_int_equal(core_cycle(&f->core), 0);
    change(f)->tenants[tenant(f, "a")].limit.gpus[SITE_H100] = 16;
    reload(f);
    assert_int_equal(core_cycle(&f->core), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

/* In the file b is before a now, and t is gone. */
static void tenants_keep_what_they_hold_in_another_order(void **state)
{
    struct fixture *f = *state;
    struct settings *s;
    struct job *a, *b;
    uint32_t n = 0;

    (void)two_running(&f->core, "a", "of-a", NORMAL, 1);
    b = two_running(&f->core, "b", "of-b", NORMAL, 2);
    a = two_submit(&f->core, "a", "next", NORMAL, 1);
    s = change(f);
    s->tenants[n++] = f->core.settings.tenants[tenant(f, "b")];
    s->tenants[n++] = f->core.settings.tenants[tenant(f, "a")];
    s->n_tenants = n;
    reload(f);
    assert_int_equal(used(f, "a"), 8);
    assert_int_equal(used(f, "b"), 16);
    assert_int_equal(b->tenant_ix, 0);
    assert_int_equal(core_cycle(&f->core), 1);
    assert_int_equal(a->state, JOB_BINDING);
    end(f, b);
    assert_int_equal(used(f, "b"), 0);
}

static void a_tenant_that_is_gone_runs_on_and_starts_nothing_until_it_is_back(void **state)
{
    struct fixture *f = *state;
    struct job *runs = two_running(&f->core, "b", "runs", NORMAL, 1);
    struct job *waits = two_submit(&f->core, "b", "waits", NORMAL, 1);

    change(f)->n_tenants--;
    reload(f);
    assert_int_equal(tenant(f, "b"), IX_NONE);
    assert_int_equal(core_cycle(&f->core), 0);
    assert_string_equal(why(f, waits), "UnknownTenant");
    assert_int_equal(runs->state, JOB_RUNNING);
    site_tenant(change(f), "b");
    reload(f);
    assert_int_equal(used(f, "b"), 8);
    assert_int_equal(core_cycle(&f->core), 1);
    end(f, runs);
    assert_int_equal(used(f, "b"), 8);
}

static void a_stopped_tenant_stays_stopped(void **state)
{
    struct fixture *f = *state;
    struct event ev = {.kind = EV_TENANT_STOP,
                       .u.drain = {.node = xstrdup("a"), .caller.user = "root"}};
    struct job *j;

    assert_true(core_apply(&f->core, &ev));
    j = two_submit(&f->core, "a", "waits", NORMAL, 1);
    change(f)->tenants[tenant(f, "a")].weight = 7;
    reload(f);
    assert_int_equal(core_cycle(&f->core), 0);
    assert_string_equal(why(f, j), "QueueStopped");
}

static void what_runs_usually_take_is_still_known(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < PACE_RUNS_MIN; i++)
        tenant_ran(&f->core.state->tenants, tenant(f, "b"), 1, 4);
    change(f)->tenants[tenant(f, "b")].weight = 7;
    reload(f);
    assert_int_equal(tenant_usual(&f->core.state->tenants, tenant(f, "b")), 250);
    assert_int_equal(tenant_usual(&f->core.state->tenants, tenant(f, "a")), 0);
}

static void what_was_used_is_decayed_up_to_the_change_by_the_old_half_life(void **state)
{
    struct fixture *f = *state;
    struct share_past *p;
    uint64_t before;

    change(f)->half_life_us = 3600 * USEC_PER_SEC;
    reload(f);
    (void)two_running(&f->core, "a", "runs", NORMAL, 2);
    core_pass(&f->core, 3600 * USEC_PER_SEC);
    p = &f->core.state->tenants.v[tenant(f, "a")].past[SITE_H100];
    before = share_usage(p, 16 * GPU_PARTS, 3600 * USEC_PER_SEC, f->core.now);
    assert_true(before > 0);
    change(f)->half_life_us = 60 * USEC_PER_SEC;
    reload(f);
    p = &f->core.state->tenants.v[tenant(f, "a")].past[SITE_H100];
    assert_int_equal(share_usage(p, 16 * GPU_PARTS, 60 * USEC_PER_SEC, f->core.now), before);
    assert_int_equal(f->core.state->tenants.v[tenant(f, "a")].saved_turn, f->core.state->turn);
    assert_int_equal(core_count(&f->core, EFFECT_SAVE_CONFIG), 2);
}

static void users_share_from_now_on(void **state)
{
    struct fixture *f = *state;

    (void)two_running(&f->core, "a", "runs", NORMAL, 2);
    (void)two_submit(&f->core, "a", "waits", NORMAL, 4);
    change(f)->shares_users = true;
    reload(f);
    (void)core_cycle(&f->core);
    two_check(&f->core);
    change(f)->shares_users = false;
    reload(f);
    (void)core_cycle(&f->core);
}

static void put_pool(struct settings *s, const char *rack, uint32_t owner)
{
    struct pool_setting *p = &s->pools[s->n_pools++];

    *p = (struct pool_setting){.name = "own", .n_labels = 1, .n_exclusive = 1};
    (void)snprintf(p->labels[0].key, sizeof(p->labels[0].key), "gang.queued/rack");
    (void)snprintf(p->labels[0].value, sizeof(p->labels[0].value), "%s", rack);
    p->exclusive[0] = owner;
}

static void nodes_of_a_new_pool_take_its_tenants_only(void **state)
{
    struct fixture *f = *state;
    struct settings *s;
    struct job *b = two_submit(&f->core, "b", "of-b", NORMAL, 4), *a;

    s = change(f);
    put_pool(s, "r0", tenant(f, "a"));
    reload(f);
    assert_int_equal(core_cycle(&f->core), 0);
    assert_string_equal(why(f, b), "NoSuchHardware");
    a = two_submit(&f->core, "a", "of-a", NORMAL, 2);
    assert_int_equal(core_cycle(&f->core), 1);
    assert_int_equal(a->state, JOB_BINDING);
    core_see_all(&f->core, a->id, POD_RUNNING);
    end(f, a);
    change(f)->n_pools = 0;
    reload(f);
    assert_int_equal(core_cycle(&f->core), 1);
    assert_int_equal(b->state, JOB_BINDING);
}

static void a_gang_stays_in_a_pool_that_became_another_s(void **state)
{
    struct fixture *f = *state;
    struct job *b = two_running(&f->core, "b", "of-b", NORMAL, 4);
    struct settings *s = change(f);

    put_pool(s, "r0", tenant(f, "a"));
    reload(f);
    assert_int_equal(b->state, JOB_RUNNING);
    assert_int_equal(used(f, "b"), 32);
}

static struct spec *with_licence(const char *name, const char *licence)
{
    struct spec *s = site_spec(name, 1, 1);

    s->n_licences = 1;
    s->licences = arena_alloc(&s->arena, sizeof(*s->licences));
    s->licences[0] = (struct spec_extended){licence, 1};
    return s;
}

static void licences_are_found_by_name_and_more_of_them_wake(void **state)
{
    struct fixture *f = *state;
    struct settings *s = change(f);
    struct job *first, *second;

    s->n_licences = 1;
    s->licences[0] = (struct licence_setting){"abaqus", 1};
    reload(f);
    first = core_job(&f->core, core_submit(&f->core, with_licence("first", "abaqus")));
    second = core_job(&f->core, core_submit(&f->core, with_licence("second", "abaqus")));
    assert_int_equal(core_cycle(&f->core), 1);
    assert_int_equal(first->state, JOB_BINDING);
    assert_int_equal(second->state, JOB_PENDING);
    s = change(f);
    s->n_licences = 2;
    s->licences[0] = (struct licence_setting){"matlab", 9};
    s->licences[1] = (struct licence_setting){"abaqus", 1};
    reload(f);
    assert_int_equal(core_cycle(&f->core), 0);
    change(f)->licences[1].count = 2;
    reload(f);
    assert_int_equal(core_cycle(&f->core), 1);
    assert_int_equal(second->state, JOB_BINDING);
}

static void claims_go_on_under_other_settings(void **state)
{
    struct fixture *f = *state;
    struct job *b = two_running(&f->core, "b", "of-b", NORMAL, 4);
    struct job *a = two_submit(&f->core, "a", "of-a", NORMAL, 2);

    (void)core_cycle(&f->core);
    assert_non_null(a->claim);
    assert_int_equal(b->state, JOB_PREEMPTING);
    change(f)->tenants[tenant(f, "b")].quota.gpus[SITE_H100] = 0;
    reload(f);
    core_gone_all(&f->core, b->id);
    (void)core_cycle(&f->core);
    assert_int_equal(a->state, JOB_BINDING);
}

static void a_claim_for_a_licence_that_is_gone_comes_to_nothing(void **state)
{
    struct fixture *f = *state;
    struct settings *s = change(f);
    struct spec *wish = site_spec("of-a", 2, 8);
    struct job *a, *b;

    s->n_licences = 1;
    s->licences[0] = (struct licence_setting){"abaqus", 1};
    reload(f);
    b = two_running(&f->core, "b", "of-b", NORMAL, 4);
    wish->tenant = wish->ns = "a";
    wish->priority = NORMAL;
    wish->n_licences = 1;
    wish->licences = arena_alloc(&wish->arena, sizeof(*wish->licences));
    wish->licences[0] = (struct spec_extended){"abaqus", 1};
    a = core_job(&f->core, core_submit(&f->core, wish));
    (void)core_cycle(&f->core);
    assert_non_null(a->claim);
    change(f)->licences[0] = (struct licence_setting){"matlab", 1};
    reload(f);
    core_gone_all(&f->core, b->id);
    (void)core_cycle(&f->core);
    assert_null(a->claim);
    assert_int_equal(a->state, JOB_PENDING);
}

static void a_claim_on_nodes_of_another_s_new_pool_comes_to_nothing(void **state)
{
    struct fixture *f = *state;
    struct job *b = two_running(&f->core, "b", "of-b", NORMAL, 4);
    struct job *a = two_submit(&f->core, "a", "of-a", NORMAL, 2);
    uint32_t node_ix;

    (void)core_cycle(&f->core);
    assert_non_null(a->claim);
    node_ix = a->members[0].node_ix;
    put_pool(change(f), node_ix < 2 ? "r0" : "r1", tenant(f, "b"));
    reload(f);
    core_gone_all(&f->core, b->id);
    (void)core_cycle(&f->core);
    assert_null(a->claim);
    for (uint32_t i = 0; i < a->n_members; i++)
        assert_int_not_equal(a->members[i].node_ix / 2, node_ix / 2);
}

/* n0 and n1, in one rack, have 7 GPUs free; n4 and n6, in two racks of another block, have 4. */
static void fill(struct fixture *f)
{
    static const int64_t busy[] = {1, 1, 8, 8, 4, 8, 4, 8};

    core_nodes(&f->core, 8);
    for (uint32_t i = 0; i < ARRAY_LEN(busy); i++) {
        struct event ev = {.kind = EV_POD_SEEN};
        char node[16], pod[16];

        (void)snprintf(node, sizeof(node), "n%u", (unsigned)i);
        (void)snprintf(pod, sizeof(pod), "p%u", (unsigned)i);
        ev.u.pod = site_pod(pod, node, busy[i]);
        (void)core_apply(&f->core, &ev);
    }
}

/* Where a gang of 2 x 4 GPUs goes; it ends at once. */
static const char *place(struct fixture *f, const char *name)
{
    static char hosts[64];
    struct spec *s = site_spec(name, 2, 4);
    struct job *j;

    s->topology_preferred = "any";
    j = core_job(&f->core, core_submit(&f->core, s));
    assert_int_equal(core_cycle(&f->core), 1);
    assert_int_equal(j->config_generation, f->core.state->meta.config_generation);
    (void)snprintf(hosts, sizeof(hosts), "%s %s",
                   cluster_node(&f->core.state->cluster, j->members[0].node_ix)->name,
                   cluster_node(&f->core.state->cluster, j->members[1].node_ix)->name);
    core_see_all(&f->core, j->id, POD_RUNNING);
    end(f, j);
    return hosts;
}

static void set_weights(struct fixture *f, uint32_t topology, uint32_t packing)
{
    struct settings *s = change(f);

    s->weight_topology = topology;
    s->weight_packing = packing;
    reload(f);
}

static void a_place_flips_with_the_weights_and_back(void **state)
{
    struct fixture *f = *state;
    uint64_t first;

    fill(f);
    set_weights(f, 800, 200);
    first = f->core.state->meta.config_generation;
    assert_string_equal(place(f, "near"), "n0 n1");
    set_weights(f, 200, 800);
    assert_string_equal(place(f, "full"), "n4 n6");
    assert_int_equal(f->core.state->meta.config_generation, first + 1);
    set_weights(f, 800, 200);
    assert_string_equal(place(f, "again"), "n0 n1");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_smaller_limit_stops_nobody_and_the_next),
        TEST(a_larger_limit_wakes_who_sleeps),
        TEST(tenants_keep_what_they_hold_in_another_order),
        TEST(a_tenant_that_is_gone_runs_on_and_starts_nothing_until_it_is_back),
        TEST(a_stopped_tenant_stays_stopped),
        TEST(what_runs_usually_take_is_still_known),
        TEST(what_was_used_is_decayed_up_to_the_change_by_the_old_half_life),
        TEST(users_share_from_now_on),
        TEST(nodes_of_a_new_pool_take_its_tenants_only),
        TEST(a_gang_stays_in_a_pool_that_became_another_s),
        TEST(licences_are_found_by_name_and_more_of_them_wake),
        TEST(claims_go_on_under_other_settings),
        TEST(a_claim_for_a_licence_that_is_gone_comes_to_nothing),
        TEST(a_claim_on_nodes_of_another_s_new_pool_comes_to_nothing),
        TEST(a_place_flips_with_the_weights_and_back),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
