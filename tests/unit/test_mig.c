/* SPDX-License-Identifier: Apache-2.0 */
/* test_mig.c - MIG devices where whole GPUs are counted too: what others do not lend, what is said
 * of who waits, what is accounted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/fake_core.h"
#include "view/explain.h"

#define MIG "nvidia.com/mig-3g.40gb"

static void ask_mig(struct spec *s, uint32_t role, int64_t n)
{
    struct spec_role *r = &s->roles[role];

    r->extended = arena_alloc(&s->arena, sizeof(*r->extended));
    r->extended[r->n_extended++] = (struct spec_extended){MIG, n};
}

/* One pod with so many devices of 3/7. */
static struct job *submit_mig(struct core *c, int64_t n)
{
    struct spec *s = site_spec("mig", 1, 0);

    ask_mig(s, 0, n);
    return core_job(c, core_submit(c, s));
}

/* Two nodes of eight GPUs and one whose GPUs are cut up; tenant t has no quota, u keeps six. */
static int set_up(void **state)
{
    struct node_fact *cut = site_node("m0", "b0", "r0", SITE_H100, 0);
    struct core *c;
    uint32_t u;

    if (core_set_up(state))
        return -1;
    c = *state;
    u = site_tenant(&c->settings, "u");
    c->settings.tenants[u].quota.gpus[SITE_H100] = 8;
    c->settings.tenants[u].unlent.gpus[SITE_H100] = 6;
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    core_nodes(c, 2);
    site_node_label(cut, "nvidia.com/mig.strategy", "mixed");
    site_node_set(cut, MIG, 8);
    core_node(c, cut);
    core_up(c);
    return 0;
}

/* Of 16 whole GPUs 10 are lent; the devices are none of them. */
static void devices_of_a_gang_take_nothing_of_what_others_keep(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("both", 2, 5);
    struct job *j;

    site_role(s, "mig", 1, 0);
    ask_mig(s, 1, 2);
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->charged_parts, 10 * GPU_PARTS + 6 * GPU_PARTS / 7);
    j = core_job(c, core_submit(c, site_spec("whole", 1, 1)));
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(j->state, JOB_PENDING);
}

static void who_waits_is_told_of_the_parts_of_those_ahead(void **state)
{
    struct core *c = *state;
    char text[REASON_TEXT_MAX + 1];
    struct explain x;
    struct job *first, *second;

    first = submit_mig(c, 2);
    second = submit_mig(c, 1);
    explain_job(c->state, second, c->now, &x);
    assert_string_equal(x.code, "Priority");
    (void)snprintf(text, sizeof(text), "1 job of t is ahead: %s (0.857)", first->name);
    assert_string_equal(x.text, text);
}

static void parts_of_gpus_are_accounted(void **state)
{
    struct core *c = *state;
    const struct attempt_row *row;
    struct job *j = submit_mig(c, 3);

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    core_see_all(c, j->id, POD_SUCCEEDED);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_SUCCEEDED);
    row = core_last(c, EFFECT_SAVE_ATTEMPT)->u.attempt;
    assert_int_equal(row->gpus, 1);
    assert_int_equal(row->parts, 2 * GPU_PARTS / 7);
    assert_string_equal(row->model, "H100");
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(devices_of_a_gang_take_nothing_of_what_others_keep),
        T(who_waits_is_told_of_the_parts_of_those_ahead),
        T(parts_of_gpus_are_accounted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
