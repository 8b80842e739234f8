/* SPDX-License-Identifier: Apache-2.0 */
/* test_exclusive.c - placement.exclusiveNode: pods that have their nodes to themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "view/explain.h"

#include "../fake/fake_core.h"

static struct spec *alone(const char *name, uint32_t pods, uint32_t gpus)
{
    struct spec *s = site_spec(name, pods, gpus);

    s->roles[0].is_exclusive = true;
    return s;
}

static struct spec *cpu_pod(const char *name)
{
    struct spec *s = site_spec(name, 1, 0);

    s->roles[0].cpu_milli = 100;
    return s;
}

static struct job *submit(struct core *c, struct spec *spec)
{
    struct job *j = core_job(c, core_submit(c, spec));

    core_cycle(c);
    core_forget(c);
    return j;
}

/* A foreign pod without GPUs. */
static void foreign(struct core *c, const char *name, const char *node, bool is_daemon)
{
    struct event ev = {.kind = EV_POD_SEEN, .u.pod = site_pod(name, node, 0)};

    ev.u.pod->is_daemon = is_daemon;
    (void)core_apply(c, &ev);
}

static void foreign_gone(struct core *c, const char *name)
{
    struct event ev = {.kind = EV_POD_GONE, .u.pod_gone = xcalloc(1, sizeof(struct ev_pod_gone))};

    (void)snprintf(ev.u.pod_gone->ns, sizeof(ev.u.pod_gone->ns), "other");
    (void)snprintf(ev.u.pod_gone->name, sizeof(ev.u.pod_gone->name), "%s", name);
    (void)core_apply(c, &ev);
}

static const char *host(const struct core *c, const struct job *j, uint32_t member)
{
    return cluster_node(&c->state->cluster, j->members[member].node_ix)->name;
}

static void nothing_comes_to_a_node_that_a_pod_has_to_itself_until_it_is_gone(void **state)
{
    struct core *c = *state;
    struct job *a = submit(c, alone("a", 4, 8)), *b = submit(c, cpu_pod("b"));

    assert_int_equal(a->state, JOB_BINDING);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(a->members[i].node_ix, a->members[k].node_ix);
    assert_int_equal(b->state, JOB_PENDING);
    core_see_all(c, a->id, POD_RUNNING);
    core_cancel(c, a->id);
    assert_int_equal(core_cycle(c), 0); /* its pods are still there */
    core_gone_all(c, a->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(b->state, JOB_BINDING);
}

static void it_waits_for_nodes_on_which_nothing_runs_and_wakes_when_the_last_pod_goes(void **state)
{
    struct core *c = *state;
    struct job *a, *b = submit(c, cpu_pod("b"));
    struct explain x;

    foreign(c, "web", "n2", false);
    a = submit(c, alone("a", 4, 8));
    assert_int_equal(a->state, JOB_PENDING);
    explain_job(c->state, a, c->now, &x);
    assert_string_equal(x.code, "NeedsWholeNodes");
    assert_non_null(strstr(x.text, "2 of 4 pods of role worker have a node on which nothing else"));
    assert_non_null(strstr(x.asks, "worker alone on nodes"));
    core_cancel(c, b->id);
    core_gone_all(c, b->id);
    assert_int_equal(core_cycle(c), 0);
    foreign_gone(c, "web");
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(a->state, JOB_BINDING);
}

static void pods_of_daemon_sets_and_of_the_node_itself_do_not_count(void **state)
{
    struct core *c = *state;
    struct job *a;

    foreign(c, "exporter", "n0", true);
    foreign(c, "web", "n1", false);
    a = submit(c, alone("a", 1, 8));
    assert_int_equal(a->state, JOB_BINDING);
    assert_string_not_equal(host(c, a, 0), "n1");
    assert_int_equal(submit(c, alone("b", 2, 8))->state, JOB_BINDING);
    assert_int_equal(submit(c, alone("d", 1, 8))->state, JOB_PENDING); /* n1 alone is left */
}

static void it_takes_only_nodes_whose_gpus_it_takes_and_is_charged_all(void **state)
{
    struct core *c = *state;
    struct job *a = submit(c, alone("a", 1, 4)), *b = submit(c, alone("b", 1, 0)), *d;
    struct explain x;

    assert_int_equal(a->state, JOB_PENDING);
    explain_job(c->state, a, c->now, &x);
    assert_string_equal(x.code, "NoSuchHardware");
    assert_non_null(strstr(x.text, "4 more GPUs than an exclusiveNode pod asks"));
    assert_int_equal(b->state, JOB_PENDING); /* it would keep eight GPUs idle for nothing */
    core_node(c, site_node("small", "b0", "r0", SITE_H100, 4));
    core_node(c, site_node("cpu", "b0", "r0", MODELS_MAX, 0));
    assert_int_equal(core_cycle(c), 2);
    assert_string_equal(host(c, a, 0), "small");
    assert_string_equal(host(c, b, 0), "cpu");
    d = submit(c, cpu_pod("d"));
    assert_int_equal(host(c, d, 0)[0], 'n');
    assert_int_equal(a->charged_parts, 4 * GPU_PARTS);
}

static void who_is_in_the_way_leaves_for_a_higher_class(void **state)
{
    struct core *c = *state;
    struct spec *high = alone("high", 4, 8);
    struct job *low[4], *j;

    for (int i = 0; i < 4; i++) {
        struct spec *s = site_spec("low", 1, i < 3); /* the last has no GPUs */

        s->priority = 100;
        s->roles[0].cpu_milli = 60000; /* one for each node */
        low[i] = submit(c, s);
        core_see_all(c, low[i]->id, POD_RUNNING);
    }
    core_pass(c, 900 * USEC_PER_SEC);
    high->priority = 800;
    high->preemption_policy = "LowerPriority";
    j = submit(c, high);
    assert_non_null(j->claim);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(low[i]->state, JOB_PREEMPTING);
        core_gone_all(c, low[i]->id);
    }
    (void)core_cycle(c);
    assert_int_equal(j->state, JOB_BINDING);
}

static void why_says_so_to_others(void **state)
{
    struct core *c = *state;
    struct job *j;
    struct explain x;

    (void)submit(c, alone("a", 4, 8));
    j = submit(c, cpu_pod("b"));
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "InsufficientOther");
    assert_non_null(strstr(x.text, "0 of 1 pods of role worker have a node; others are taken"));
}

static void roles_beside_it_go_to_other_nodes(void **state)
{
    struct core *c = *state;
    struct spec *s = alone("a", 3, 8);
    struct job *j;

    site_role(s, "launcher", 1, 0);
    s->roles[1].cpu_milli = 100;
    j = submit(c, s);
    assert_int_equal(j->state, JOB_BINDING);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_not_equal(j->members[i].node_ix, j->members[3].node_ix);
}

static void parts_of_gpus_cannot_be_had_alone(void **state)
{
    struct core *c = *state;
    struct spec *s = alone("a", 1, 0);
    struct err err;

    s->roles[0].n_extended = 1;
    s->roles[0].extended = arena_alloc(&s->arena, sizeof(*s->roles[0].extended));
    s->roles[0].extended[0] = (struct spec_extended){"nvidia.com/gpu.shared", 1};
    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    assert_non_null(strstr(err.text, "spec.roles[0].placement.exclusiveNode: takes all GPUs"));
    spec_destroy(s);
}

static void sink(void *ctx, const void *p, size_t len)
{
    uint64_t *h = ctx;
    const unsigned char *b = p;

    for (size_t i = 0; i < len; i++)
        *h = *h * 31 + b[i];
}

static void the_digest_knows_it(void **state)
{
    struct spec *s = alone("a", 1, 8);
    uint64_t with = 0, without = 0;

    (void)state;
    spec_feed(s, sink, &with);
    s->roles[0].is_exclusive = false;
    spec_feed(s, sink, &without);
    assert_int_not_equal(with, without);
    spec_destroy(s);
}

static void name_nodes(struct spec *s, struct spec_strings *to, uint32_t n)
{
    static const char *const names[] = {"gpu-1", "gpu-2"};

    to->v = arena_alloc(&s->arena, sizeof(names));
    for (uint32_t i = 0; i < n; i++)
        to->v[i] = arena_strdup(&s->arena, names[i]);
    to->n = n;
}

static void nodes_that_cannot_be_enough_are_refused(void **state)
{
    static const struct {
        uint32_t nodes, excluded;
        bool is_alone, in_host;
        const char *path; /* NULL: it is good */
    } rows[] = {
        {2, 0, true, false, NULL},
        {2, 1, false, false, NULL},
        {0, 2, true, false, NULL},
        {0, 0, false, true, NULL},
        {1, 2, false, false, "spec.roles[0].placement.excludeNodes: leaves none"},
        {2, 1, true, false, "spec.roles[0].placement.nodes: leaves 1 nodes"},
        {0, 0, true, true, "spec.roles[0].placement.exclusiveNode: gives each pod a node"},
    };
    struct core *c = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct spec *s = site_spec("job", 2, 8);
        struct err err = {.text = ""};
        int rc;

        s->roles[0].is_exclusive = rows[i].is_alone;
        s->topology_required = rows[i].in_host ? "host" : NULL;
        name_nodes(s, &s->roles[0].nodes, rows[i].nodes);
        name_nodes(s, &s->roles[0].excluded_nodes, rows[i].excluded);
        rc = spec_check(s, &c->settings, &err);
        if (rc != (rows[i].path ? -1 : 0) || (rc && !strstr(err.text, rows[i].path)))
            fail_msg("row %zu: %s", i, err.text);
        spec_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)
        T(nothing_comes_to_a_node_that_a_pod_has_to_itself_until_it_is_gone),
        T(it_waits_for_nodes_on_which_nothing_runs_and_wakes_when_the_last_pod_goes),
        T(pods_of_daemon_sets_and_of_the_node_itself_do_not_count),
        T(it_takes_only_nodes_whose_gpus_it_takes_and_is_charged_all),
        T(who_is_in_the_way_leaves_for_a_higher_class),
        T(why_says_so_to_others),
        T(roles_beside_it_go_to_other_nodes),
        T(parts_of_gpus_cannot_be_had_alone),
        T(nodes_that_cannot_be_enough_are_refused),
        T(the_digest_knows_it),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
