/* SPDX-License-Identifier: Apache-2.0 */
/* test_drain.c - nodes that an operator takes out of use: nothing new goes there, and it is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "view/explain.h"
#include "util/mem.h"
#include "../fake/fake_core.h"

static struct answer drain(struct core *c, const char *node, bool is_back)
{
    struct event ev = {.kind = EV_NODE_DRAIN,
                       .u.drain = {.node = xstrdup(node),
                                   .is_back = is_back,
                                   .why = xstrdup("disk swap"),
                                   .ref.reply_token = 1,
                                   .caller.user = "alice"}};

    c->n_requests++;
    memcpy(ev.u.drain.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer;
}

static struct job *submitted(struct core *c, const char *name, uint32_t nodes)
{
    return core_job(c, core_submit(c, site_spec(name, nodes, 8)));
}

static int64_t number_of(const struct explain *x, const char *name)
{
    for (uint32_t i = 0; i < x->n_numbers; i++)
        if (strcmp(x->numbers[i].name, name) == 0)
            return x->numbers[i].value;
    return -1;
}

static void nothing_new_goes_to_a_drained_node_and_why_says_so(void **state)
{
    struct core *c = *state;
    struct job *j;
    struct explain x;

    assert_int_equal(drain(c, "n1", false).code, ERR_OK);
    assert_int_equal(core_count(c, EFFECT_SAVE_DRAIN), 1);
    j = submitted(c, "job", 4);
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "Draining");
    assert_non_null(strstr(x.text, "n1: drained"));
    assert_int_equal(number_of(&x, "drained_nodes"), 1);
    assert_int_equal(drain(c, "n1", true).code, ERR_OK);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void a_gang_on_a_drained_node_runs_on(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job", 4);

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    (void)drain(c, "n1", false);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(j->state, JOB_RUNNING);
    core_see_all(c, j->id, POD_SUCCEEDED);
    assert_int_equal(j->outcome ? j->outcome : j->state, JOB_SUCCEEDED);
}

static void a_drain_outlives_the_node_object(void **state)
{
    struct core *c = *state;
    struct event gone = {.kind = EV_NODE_GONE, .u.node_name = xstrdup("n1")};

    (void)drain(c, "n1", false);
    (void)core_apply(c, &gone);
    core_node(c, site_node("n1", "b0", "r0", SITE_H100, 8));
    (void)submitted(c, "job", 4);
    assert_int_equal(core_cycle(c), 0);
    assert_string_equal(node_trouble(cluster_find(&c->state->cluster, "n1")), "drained");
}

static void room_that_was_kept_on_a_node_is_looked_for_elsewhere_once_it_is_drained(void **state)
{
    struct core *c = *state;
    struct job *a = submitted(c, "a", 3), *b, *d;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, a->id, POD_RUNNING);
    b = submitted(c, "b", 2);
    assert_int_equal(core_cycle(c), 0);
    (void)drain(c, "n3", false);
    assert_int_equal(core_cycle(c), 0);
    core_see_all(c, a->id, POD_SUCCEEDED);
    core_gone_all(c, a->id);
    d = submitted(c, "d", 1);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(b->state, JOB_BINDING);
    assert_int_equal(d->state, JOB_BINDING);
}

static void only_nodes_that_are_there_are_drained_and_only_once_given_back(void **state)
{
    struct core *c = *state;

    assert_int_equal(drain(c, "nosuch", false).code, ERR_NOT_FOUND);
    assert_int_equal(drain(c, "nosuch", true).code, ERR_NOT_FOUND);
    assert_true(drain(c, "n2", true).is_again);
    assert_int_equal(core_count(c, EFFECT_SAVE_DRAIN), 0);
    assert_int_equal(drain(c, "n2", false).code, ERR_OK);
    assert_int_equal(drain(c, "n2", false).code, ERR_OK);
    assert_string_equal(cluster_drained(&c->state->cluster, "n2")->text, "by alice: disk swap");
}

/* A thousand demands that differ, so that no two share a verdict. */
static void jobs_that_need_a_drained_node_keep_no_other_from_starting(void **state)
{
    static struct spec_pair site = {"site", "special"};
    struct core *c = *state;
    struct node_fact *n1 = site_node("n1", "b0", "r0", SITE_H100, 8);
    struct job *j;

    site_node_label(n1, "site", "special");
    core_node(c, n1);
    (void)drain(c, "n1", false);
    for (int i = 0; i < 1000; i++) {
        struct spec *s = site_spec("needs", 1, 8);

        s->roles[0].cpu_milli = 1000 + i;
        s->roles[0].node_selector = (struct spec_pairs){&site, 1};
        (void)core_submit(c, s);
    }
    j = submitted(c, "any", 2);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(core_job(c, core_submit(c, site_spec("more", 1, 8)))->state, JOB_PENDING);
    assert_int_equal(core_cycle(c), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_new_goes_to_a_drained_node_and_why_says_so),
        TEST(a_gang_on_a_drained_node_runs_on),
        TEST(a_drain_outlives_the_node_object),
        TEST(room_that_was_kept_on_a_node_is_looked_for_elsewhere_once_it_is_drained),
        TEST(jobs_that_need_a_drained_node_keep_no_other_from_starting),
        TEST(only_nodes_that_are_there_are_drained_and_only_once_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
