/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - nodes that belong to some tenants only: whom they take, who waits, and why.
 *
 * Of the four nodes of two tenants, n0 and n1 are rack r0, n2 and n3 rack r1.
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
#include "util/mem.h"
#include "view/explain.h"

enum { NORMAL = 500 };

static void add_pool(struct settings *s, const char *name, const char *rack, const char *tenant)
{
    struct pool_setting *p;

    s->pools = xrealloc(s->pools, (s->n_pools + 1) * sizeof(*s->pools));
    p = &s->pools[s->n_pools++];
    *p = (struct pool_setting){.n_labels = 1};
    (void)snprintf(p->name, sizeof(p->name), "%s", name);
    (void)snprintf(p->labels[0].key, sizeof(p->labels[0].key), "gang.queued/rack");
    (void)snprintf(p->labels[0].value, sizeof(p->labels[0].value), "%s", rack);
    if (tenant)
        p->exclusive[p->n_exclusive++] = settings_tenant(s, tenant);
}

static void restart(struct core *c)
{
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
}

static int pool_set_up(void **state)
{
    struct core *c;

    if (two_set_up(state))
        return -1;
    c = *state;
    site_tenant(&c->settings, "a/child");
    add_pool(&c->settings, "own", "r0", "a");
    restart(c);
    return 0;
}

static const char *pool_of(const struct core *c, const struct job *j, uint32_t member)
{
    const struct node *n = cluster_node(&c->state->cluster, j->members[member].node_ix);

    return n->pool == IX_NONE ? "" : c->settings.pools[n->pool].name;
}

static struct explain why(struct core *c, const struct job *j)
{
    struct explain x;

    core_forget(c);
    explain_job(c->state, j, c->now, &x);
    return x;
}

static void nodes_of_an_exclusive_pool_take_only_gangs_of_its_tenants(void **state)
{
    struct core *c = *state;
    struct job *other = two_submit(c, "b", "other", NORMAL, 2), *next;
    struct explain x;

    assert_int_equal(core_cycle(c), 1);
    assert_string_equal(pool_of(c, other, 0), "");
    assert_string_equal(pool_of(c, other, 1), "");
    next = two_submit(c, "b", "next", NORMAL, 1);
    assert_int_equal(core_cycle(c), 0);
    x = why(c, next);
    assert_string_equal(x.code, "InsufficientGpus");
    assert_non_null(strstr(x.text, "needs 8 GPUs, 0 free"));
    assert_non_null(strstr(x.text, "; 16 GPUs are free in pool own, exclusive to a"));
    assert_string_equal(x.numbers[x.n_numbers - 1].name, "closed_gpus");
    assert_int_equal(x.numbers[x.n_numbers - 1].value, 16);
}

static void a_tenant_and_its_children_use_their_pool_and_what_is_open(void **state)
{
    struct core *c = *state;
    struct job *all = two_submit(c, "a", "all", NORMAL, 3);
    struct job *child = two_submit(c, "a/child", "child", NORMAL, 1);

    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(all->state, JOB_BINDING);
    assert_int_equal(child->state, JOB_BINDING);
}

static void what_would_need_the_pool_of_others_can_never_run(void **state)
{
    struct core *c = *state;
    struct explain x = why(c, two_submit(c, "b", "big", NORMAL, 3));

    assert_string_equal(x.code, "NoSuchHardware");
    assert_non_null(strstr(x.text, "the whole cluster has 2, healthy or not"));
    assert_non_null(strstr(x.text, "2 in a pool exclusive to other tenants"));
}

static void the_first_pool_that_matches_has_the_node(void **state)
{
    struct core *c = *state;
    struct job *j;

    add_pool(&c->settings, "later", "r0", "b");
    restart(c);
    j = two_submit(c, "b", "big", NORMAL, 3);
    assert_int_equal(core_cycle(c), 0);
    assert_string_equal(why(c, j).code, "NoSuchHardware");
}

static void a_pool_without_tenants_is_for_everybody(void **state)
{
    struct core *c = *state;

    c->settings.pools[0].n_exclusive = 0;
    restart(c);
    (void)two_submit(c, "b", "big", NORMAL, 4);
    assert_int_equal(core_cycle(c), 1);
}

static void a_node_that_leaves_its_pool_wakes_who_waits(void **state)
{
    struct core *c = *state;

    (void)two_submit(c, "b", "big", NORMAL, 3);
    assert_int_equal(core_cycle(c), 0);
    core_node(c, site_node("n0", "b0", "r7", SITE_H100, 8));
    assert_int_equal(core_cycle(c), 1);
}

/* b is 16 GPUs above its quota, so one of its gangs may be taken: the dearer one, for the cheaper
 * is in its own pool. */
static void reclaim_takes_no_victim_whose_nodes_the_taker_may_not_use(void **state)
{
    struct core *c = *state;
    struct job *useful, *useless, *taker;

    memcpy(c->settings.pools[0].labels[0].value, "r1", 3);
    c->settings.pools[0].exclusive[0] = settings_tenant(&c->settings, "b");
    restart(c);
    useful = two_running(c, "b", "useful", NORMAL, 2);
    useless = two_running(c, "b", "useless", NORMAL, 2);
    assert_string_equal(pool_of(c, useful, 0), "");
    assert_string_equal(pool_of(c, useless, 0), "own");
    taker = two_submit(c, "a", "taker", NORMAL, 2);
    (void)core_cycle(c);
    assert_int_equal(useless->state, JOB_RUNNING);
    assert_int_equal(useful->state, JOB_PREEMPTING);
    assert_string_equal(pool_of(c, taker, 0), "");
}

/* t keeps 16 GPUs idle and may not use the pool of a: what is free there is not what it is left. */
static void what_is_not_lent_is_left_where_its_owner_may_go(void **state)
{
    struct core *c = *state;
    struct job *j;
    struct explain x;

    c->settings.tenants[0].quota.gpus[SITE_H100] = 16;
    c->settings.tenants[0].unlent.gpus[SITE_H100] = 16;
    c->settings.tenants[settings_tenant(&c->settings, "b")].quota.gpus[SITE_H100] = 0;
    restart(c);
    j = two_submit(c, "b", "beyond", NORMAL, 1);
    assert_int_equal(core_cycle(c), 0);
    x = why(c, j);
    assert_string_equal(x.code, "TenantShare");
    assert_non_null(strstr(x.text, "16 are free, of which 16 are kept"));
    c->settings.pools[0].exclusive[0] = 0; /* now the pool is t's: it finds its own there */
    restart(c);
    j = two_submit(c, "b", "beyond", NORMAL, 2);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void a_job_that_changes_its_tenant_may_use_that_ones_pool(void **state)
{
    struct core *c = *state;
    struct job *j = two_submit(c, "b", "big", NORMAL, 3);
    struct event ev = {.kind = EV_JOB_UPDATE, .at = c->now};
    struct spec *s = site_spec("big", 3, 8);

    assert_int_equal(core_cycle(c), 0);
    s->tenant = s->ns = arena_strdup(&s->arena, "a");
    s->priority = NORMAL;
    ev.u.update = (struct ev_update){.job = j->id, .spec = s};
    ev.u.update.ref.request_id[0] = 77;
    assert_true(core_apply(c, &ev));
    assert_int_equal(core_cycle(c), 1);
}

int main(void)
{
#define POOL_TEST(f) cmocka_unit_test_setup_teardown(f, pool_set_up, core_tear_down)
    const struct CMUnitTest tests[] = {
        POOL_TEST(nodes_of_an_exclusive_pool_take_only_gangs_of_its_tenants),
        POOL_TEST(a_tenant_and_its_children_use_their_pool_and_what_is_open),
        POOL_TEST(what_would_need_the_pool_of_others_can_never_run),
        POOL_TEST(the_first_pool_that_matches_has_the_node),
        POOL_TEST(a_pool_without_tenants_is_for_everybody),
        POOL_TEST(a_node_that_leaves_its_pool_wakes_who_waits),
        POOL_TEST(reclaim_takes_no_victim_whose_nodes_the_taker_may_not_use),
        POOL_TEST(what_is_not_lent_is_left_where_its_owner_may_go),
        POOL_TEST(a_job_that_changes_its_tenant_may_use_that_ones_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
