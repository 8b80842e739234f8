/* SPDX-License-Identifier: Apache-2.0 */
/* test_reasons.c - reasons that come from the configuration, from operators and from the queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/mem.h"
#include "util/str.h"
#include "view/explain.h"
#include "../fake/fake_core.h"

static struct explain why(const struct core *c, const struct job *j, const char *code)
{
    struct explain x;

    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, code);
    assert_true(*x.text != '\0');
    return x;
}

static struct job *submit(struct core *c, uint32_t pods, uint32_t gpus)
{
    return core_job(c, core_submit(c, site_spec("job", pods, gpus)));
}

static void what_left_the_configuration_is_named(void **state)
{
    struct core *c = *state;
    struct job copy = *submit(c, 1, 8);
    struct demand demand = *copy.demand;

    demand.has_unknown_level = true;
    copy.demand = &demand;
    (void)why(c, &copy, "InvalidLevel");
    copy.tenant_ix = IX_NONE;
    assert_non_null(strstr(why(c, &copy, "UnknownTenant").text, "tenant t is no longer"));
}

static void a_resource_quota_that_refuses_is_named(void **state)
{
    struct core *c = *state;
    struct job *j = submit(c, 2, 8);
    struct event ev = {.kind = EV_POD_REFUSED, .at = c->now};
    struct explain x;

    (void)core_cycle(c);
    ev.u.answer = xcalloc(1, sizeof(*ev.u.answer));
    *ev.u.answer =
        (struct ev_pod_answer){.job = j->id, .attempt = j->attempt, .refusal = REFUSAL_TRY_LATER};
    (void)str_copy(ev.u.answer->text, sizeof(ev.u.answer->text),
                   "pods \"job-0\" is forbidden: exceeded quota: gpu-quota, requested: "
                   "requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, limited: "
                   "requests.nvidia.com/gpu=8");
    (void)core_apply(c, &ev);
    core_gone_all(c, j->id);
    x = why(c, j, "NamespaceQuota");
    assert_non_null(strstr(x.text, "ResourceQuota of namespace t: gpu-quota, requested: "));
    assert_string_equal(x.numbers[0].name, "retry_s");
}

static void what_drained_nodes_would_give_is_told_from_trouble(void **state)
{
    struct core *c = *state;
    struct job *j;
    struct explain x;

    cluster_drain(&c->state->cluster, "n0", "by alice: disks", c->now);
    j = submit(c, 4, 8);
    (void)core_cycle(c);
    x = why(c, j, "Draining");
    assert_string_equal(x.text, "would fit, but 1 nodes are drained (n0: drained)");
    assert_string_equal(x.next_step, "starts after 'queuectl undrain n0'");
}

static void what_can_never_fit_the_quota_is_told_from_what_waits(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("fixed", 3, 8);

    c->settings.tenants[0].quota.gpus[SITE_H100] = 16;
    s->preemptible = SPEC_NO;
    assert_non_null(strstr(why(c, core_job(c, core_submit(c, s)), "QuotaExhausted").text,
                           "inside the quota of t, which is 16: can never run"));
}

static void who_is_ahead_is_named(void **state)
{
    struct core *c = *state;
    struct job *j[6];
    struct explain x;
    char text[REASON_TEXT_MAX + 1];

    for (int i = 0; i < 6; i++)
        j[i] = submit(c, 1, 8);
    (void)why(c, j[0], "NotEvaluated");
    x = why(c, j[1], "Priority");
    (void)snprintf(text, sizeof(text), "1 job of t is ahead: %s (8)", j[0]->name);
    assert_string_equal(x.text, text);
    x = why(c, j[4], "Priority");
    (void)snprintf(text, sizeof(text), "4 jobs of t are ahead: %s (8), %s (8), %s (8), ...",
                   j[0]->name, j[1]->name, j[2]->name);
    assert_string_equal(x.text, text);
    assert_int_equal(x.numbers[0].value, 4);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_left_the_configuration_is_named),
        TEST(a_resource_quota_that_refuses_is_named),
        TEST(what_drained_nodes_would_give_is_told_from_trouble),
        TEST(what_can_never_fit_the_quota_is_told_from_what_waits),
        TEST(who_is_ahead_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
