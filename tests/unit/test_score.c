/* SPDX-License-Identifier: Apache-2.0 */
/* test_score.c - what a placement costs, against the best on the empty cluster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/score.h"

#include "../fake/fake_core.h"

/* Four nodes: n0 n1 in b0/r0, n2 n3 in b0/r1. */
static struct job *placed(struct core *c, uint32_t replicas, uint32_t gpus)
{
    struct job *j = core_job(c, core_submit(c, site_spec("job", replicas, gpus)));

    assert_int_equal(core_cycle(c), 1);
    return j;
}

static void a_gang_in_one_rack_has_the_full_topology_score(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c, 2, 8);
    struct score score;
    char text[SCORE_TEXT_MAX + 1];

    score_job(c->state, j, &score);
    assert_int_equal(score.hosts, 2);
    assert_int_equal(score.cost, 1100);
    assert_int_equal(score.best, 1100);
    assert_int_equal(score.topology, 1000);
    assert_int_equal(score.packing, 1000);
    assert_int_equal(score.total, 1000);
    assert_string_equal(score_text(text, c->state, j, &score),
                        "score 1000 (topology 1000 = best 1100 / cost 1100, packing 1000): 2 hosts "
                        "in rack b0/r0");
}

static void a_gang_that_had_to_spread_pays_for_each_domain_more(void **state)
{
    struct core *c = *state;
    struct event ev = {.kind = EV_POD_SEEN};
    struct score score;
    struct job *j;
    char text[SCORE_TEXT_MAX + 1];

    ev.u.pod = site_pod("a", "n0", 6);
    assert_true(core_apply(c, &ev));
    ev = (struct event){.kind = EV_POD_SEEN, .u.pod = site_pod("b", "n2", 6)};
    assert_true(core_apply(c, &ev));
    j = placed(c, 2, 8); /* n1 and n3: one rack and one host more */
    score_job(c->state, j, &score);
    assert_int_equal(score.cost, 1000 + 500 + 100);
    assert_int_equal(score.best, 1100);
    assert_int_equal(score.topology, 1100 * 1000 / 1600);
    assert_int_equal(score.packing, 1000);
    assert_int_equal(score.total, (687 * 800 + 1000 * 200) / 1000);
    assert_non_null(strstr(score_text(text, c->state, j, &score), "2 hosts in block b0"));
}

static void packing_is_the_share_of_the_hosts_that_is_in_use(void **state)
{
    struct core *c = *state;
    struct score score;

    score_job(c->state, placed(c, 1, 2), &score);
    assert_int_equal(score.hosts, 1);
    assert_int_equal(score.cost, 1000);
    assert_int_equal(score.packing, 250);
}

static void hosts_without_a_label_stand_alone(void **state)
{
    struct core *c = *state;
    struct score score;
    struct job *j;
    char text[SCORE_TEXT_MAX + 1];

    core_node(c, site_node("x0", NULL, NULL, SITE_A100, 8));
    core_node(c, site_node("x1", NULL, NULL, SITE_A100, 8));
    {
        struct spec *s = site_spec("job", 2, 8);
        const char *model = "A100";

        s->roles[0].gpu_models = (struct spec_strings){&model, 1};
        j = core_job(c, core_submit(c, s));
    }
    assert_int_equal(core_cycle(c), 1);
    score_job(c->state, j, &score);
    assert_int_equal(score.cost, 1000 + 100 + 500 + 2000);
    assert_int_equal(score.domain, IX_NONE);
    assert_non_null(strstr(score_text(text, c->state, j, &score), "in no common domain"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_gang_in_one_rack_has_the_full_topology_score, core_set_up,
                                        core_tear_down),
        cmocka_unit_test_setup_teardown(a_gang_that_had_to_spread_pays_for_each_domain_more,
                                        core_set_up, core_tear_down),
        cmocka_unit_test_setup_teardown(packing_is_the_share_of_the_hosts_that_is_in_use,
                                        core_set_up, core_tear_down),
        cmocka_unit_test_setup_teardown(hosts_without_a_label_stand_alone, core_set_up,
                                        core_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
