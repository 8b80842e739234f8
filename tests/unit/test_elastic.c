/* SPDX-License-Identifier: Apache-2.0 */
/* test_elastic.c - at what size an elastic gang starts, and how it changes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/elastic.h"
#include "core/window.h"
#include "spec/spec_check.h"
#include "view/explain.h"
#include "util/mem.h"
#include "../fake/two_tenants.h"

/* A gang of tenant a that has least to most whole nodes. */
static struct spec *elastic_spec(const char *name, uint32_t least, uint32_t most, uint32_t step)
{
    struct spec *s = site_spec(name, most, 8);

    s->tenant = s->ns = "a";
    s->roles[0].min_replicas = least;
    s->elastic_step = step;
    return s;
}

static struct job *submit(struct core *c, struct spec *spec)
{
    return core_job(c, core_submit(c, spec));
}

static void it_starts_at_the_largest_size_that_fits_now(void **state)
{
    struct core *c = *state;
    struct job *other = submit(c, elastic_spec("other", 1, 1, 0)), *j;

    (void)core_cycle(c);
    assert_int_equal(other->state, JOB_BINDING);
    j = submit(c, elastic_spec("j", 1, 8, 0));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(job_size(j), 3);
    assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
    assert_int_equal(c->state->tenants.v[j->tenant_ix].used[0], 32 * GPU_PARTS);
    two_check(c);
}

static void it_starts_when_all_its_members_run_and_absent_ones_are_not_waited_for(void **state)
{
    struct core *c = *state;
    struct job *j = submit(c, elastic_spec("j", 1, 8, 0));

    (void)core_cycle(c);
    assert_int_equal(job_size(j), 4);
    for (uint32_t i = 0; i < 4; i++)
        core_see(c, j, i, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    for (uint32_t i = 0; i < 4; i++)
        core_see(c, j, i, POD_SUCCEEDED, 0);
    assert_int_equal(j->outcome, JOB_SUCCEEDED);
    two_check(c);
}

static void surplus_comes_in_steps(void **state)
{
    struct core *c = *state;
    struct job *j = submit(c, elastic_spec("j", 1, 8, 2));

    (void)core_cycle(c);
    assert_int_equal(job_size(j), 3);
}

static void below_its_minimum_nothing_is_held(void **state)
{
    struct core *c = *state;
    struct job *j = submit(c, elastic_spec("j", 5, 8, 0));
    struct explain x;

    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(j->n_members, 0);
    explain_job(c->state, j, c->now, &x);
    assert_non_null(strstr(x.asks, "5 to 8 pods"));
    assert_non_null(strstr(x.text, "room for 5 pods of 8 GPUs"));
}

static void the_minimum_of_each_role_goes_before_surplus(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("j", 6, 8);
    struct job *j;

    s->tenant = s->ns = "a";
    site_role(s, "second", 2, 8);
    s->roles[0].min_replicas = 2;
    s->roles[1].min_replicas = 1;
    j = submit(c, s);
    (void)core_cycle(c);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->size[0], 3);
    assert_int_equal(j->size[1], 1);
    assert_int_equal(j->members[6].role, 1);
    assert_int_equal(j->members[6].phase, MEMBER_PLACED);
    two_check(c);
}

static void surplus_of_non_preemptible_work_stays_inside_the_quota(void **state)
{
    struct core *c = *state;
    struct spec *s = elastic_spec("j", 1, 4, 0);
    struct job *j;

    s->preemptible = SPEC_NO;
    j = submit(c, s);
    (void)core_cycle(c);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(job_size(j), 2); /* a quota of 16 GPUs, 32 are free */
    two_check(c);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
    struct core *c = *state;
    struct spec *s = elastic_spec("j", 3, 2, 0);
    struct err err = {0};

    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    assert_non_null(strstr(err.text, "spec.roles[0].minReplicas"));
    s->roles[0].min_replicas = 0;
    s->elastic_step = 2;
    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    assert_non_null(strstr(err.text, "spec.elastic"));
    s->roles[0].min_replicas = 1;
    assert_int_equal(spec_check(s, &c->settings, &err), 0);
    s->grow_cooldown_us = INT64_C(367) * 24 * 3600 * USEC_PER_SEC;
    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    assert_non_null(strstr(err.text, "spec.elastic.growCooldown"));
    spec_destroy(s);
}

/* Of one node, beside a gang of three; the others leave, and one node more is free each time. */
static struct job *spec_beside(struct core *c, struct spec *s, struct job **other)
{
    struct job *j;

    *other = submit(c, elastic_spec("other", 3, 3, 0));
    (void)core_cycle(c);
    j = submit(c, s);
    (void)core_cycle(c);
    assert_int_equal(job_size(j), 1);
    core_see(c, j, 0, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    return j;
}

static struct job *running_beside(struct core *c, struct job **other)
{
    return spec_beside(c, elastic_spec("j", 1, 4, 0), other);
}

static void end(struct core *c, struct job *j)
{
    core_see_all(c, j->id, POD_RUNNING);
    core_see_all(c, j->id, POD_SUCCEEDED);
    core_service_gone(c, j->id);
}

static void it_grows_by_a_step_after_its_cooldown_while_it_runs(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_beside(c, &other);

    end(c, other);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 600 * USEC_PER_SEC);
    core_forget(c);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 2);
    assert_int_equal(j->charged_parts, 16 * GPU_PARTS);
    assert_int_equal(j->members[1].rank, 1);
    assert_string_equal(j->reason.code, "Grown");
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_JOB), 1);
    two_check(c);
    core_pass(c, 300 * USEC_PER_SEC);
    core_see(c, j, 1, POD_RUNNING, 0);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 300 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(job_size(j), 3);
    two_check(c);
}

static void it_does_not_grow_into_what_others_wait_for(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_beside(c, &other);

    (void)submit(c, elastic_spec("wide", 4, 4, 0));
    end(c, other);
    core_pass(c, 600 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(job_size(j), 1);
}

/* The three free nodes are reserved for somebody else; then the window is over. */
static void it_does_not_grow_into_a_window(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_beside(c, &other);
    struct window w = {
        .from = c->now, .to = c->now + 900 * USEC_PER_SEC, .name = "power", .made_at = c->now};

    window_make(c->state, &w, "n0\nn1\nn2\nn3\n");
    end(c, other);
    core_pass(c, 600 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(job_size(j), 1);
    core_pass(c, 900 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(job_size(j), 2);
}

static void new_pods_that_are_refused_or_late_are_dropped_and_it_runs_on(void **state)
{
    struct core *c = *state;
    struct job *other, *j = running_beside(c, &other);

    end(c, other);
    core_pass(c, 600 * USEC_PER_SEC);
    (void)core_cycle(c);
    assert_int_equal(job_size(j), 2);
    core_refuse(c, j, 1, REFUSAL_TRY_LATER);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 1);
    assert_int_equal(j->charged_parts, 8 * GPU_PARTS);
    assert_string_equal(j->reason.code, "Shrunk");
    two_check(c);
    core_pass(c, 600 * USEC_PER_SEC);
    (void)core_cycle(c);
    assert_int_equal(job_size(j), 2);
    core_pass(c, j->start_timeout_us);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 1);
    assert_non_null(strstr(job_reason_text(j), "startTimeout"));
    two_check(c);
}

/* A pod has joined and ended before anybody saw it run. */
static struct job *ended_new(struct core *c, enum pod_phase phase, int16_t exit_code)
{
    struct spec *s = elastic_spec("j", 1, 2, 0);
    struct job *other, *j;

    s->failure.scope = SPEC_SCOPE_POD;
    s->max_restarts = 1;
    j = spec_beside(c, s, &other);
    end(c, other);
    core_pass(c, 600 * USEC_PER_SEC);
    (void)core_cycle(c);
    assert_int_equal(job_size(j), 2);
    core_see(c, j, 1, phase, exit_code);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_false(elastic_is_growing(j));
    two_check(c);
    return j;
}

static void a_new_pod_that_fails_unseen_is_dropped_not_made_again(void **state)
{
    struct core *c = *state;
    struct job *j = ended_new(c, POD_FAILED, 3);

    assert_int_equal(job_size(j), 1);
    assert_int_equal(j->lost_at, 0);
    assert_int_equal(j->restarts, 1);
    assert_string_equal(j->reason.code, "Shrunk");
    assert_non_null(strstr(job_reason_text(j), "exit code 3"));
}

/* With its minimum of two it grows, and loses the second: the third may never run. */
static void a_pod_that_it_needs_is_not_dropped_for_one_that_has_only_joined(void **state)
{
    struct core *c = *state;
    struct job *other, *j;

    other = submit(c, elastic_spec("other", 2, 2, 0));
    (void)core_cycle(c);
    j = core_running(c, elastic_spec("j", 2, 3, 0));
    end(c, other);
    core_pass(c, 600 * USEC_PER_SEC);
    (void)core_cycle(c);
    assert_int_equal(job_size(j), 3);
    core_gone(c, j, 1);
    assert_int_equal(j->state, JOB_RESTARTING);
    two_check(c);
}

static void a_new_pod_that_succeeds_unseen_has_joined(void **state)
{
    struct core *c = *state;
    struct job *j = ended_new(c, POD_SUCCEEDED, 0);

    core_pass(c, j->start_timeout_us + USEC_PER_SEC);
    assert_int_equal(job_size(j), 2);
    assert_int_equal(j->members[1].phase, MEMBER_SUCCEEDED);
    two_check(c);
}

static void it_runs_on_without_surplus_that_it_lost_and_not_below_its_minimum(void **state)
{
    struct core *c = *state;
    struct job *j = submit(c, elastic_spec("j", 3, 4, 0));
    struct ev_pod_gone gone = {.member = 3};
    char name[POD_NAME_TEXT];

    (void)core_cycle(c);
    core_see_all(c, j->id, POD_RUNNING);
    gone.job = j->id;
    gone.attempt = j->attempt;
    (void)strcpy(gone.ns, j->ns);
    for (int i = 0; i < 2; i++, gone.member--) {
        struct event ev = {.kind = EV_POD_GONE, .u.pod_gone = xmemdup(&gone, sizeof(gone))};

        (void)strcpy(ev.u.pod_gone->name, job_pod_name(name, j, &j->members[gone.member]));
        assert_int_equal(j->state, JOB_RUNNING);
        assert_true(core_apply(c, &ev));
        assert_int_equal(job_size(j), 3);
        assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
        two_check(c);
    }
    assert_int_equal(j->state, JOB_RESTARTING);
}

static void numbers_that_are_alike_in_a_row_are_other_demands(void **state)
{
    struct core *c = *state;
    struct job *a[2], *b[2];

    for (uint32_t i = 0; i < 2; i++) {
        struct spec *s = elastic_spec("j", i ? 11 : 1, 32, 0);

        s->roles[0].gpus = i ? 2 : 12; /* "1" and "12", "11" and "2" */
        a[i] = submit(c, s);
        s = elastic_spec("k", 1, 1, 0);
        s->roles[0].spread.key = i ? "zone" : "0zone";
        s->roles[0].spread.max_skew = i ? 11 : 1;
        s->roles[0].spread.is_soft = i == 0;
        b[i] = submit(c, s);
    }
    assert_ptr_not_equal(a[0]->demand, a[1]->demand);
    assert_ptr_not_equal(b[0]->demand, b[1]->demand);
}

static void surplus_does_not_go_where_the_job_was_refused(void **state)
{
    struct core *c = *state;
    struct job *j = submit(c, elastic_spec("j", 1, 4, 0));

    j->excluded[0] = 2;
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(job_size(j), 3);
    for (uint32_t i = 0; i < j->n_members; i++)
        assert_int_not_equal(j->members[i].node_ix, 2);
    two_check(c);
}

/* Runs, and would run on without one of its pods. */
static void a_pod_that_failed_by_itself_restarts_the_gang_though_its_rule_is_free(void **state)
{
    static const enum spec_action actions[] = {SPEC_RESTART_FREE, SPEC_EXCLUDE};
    struct core *c = *state;

    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        struct spec *s = elastic_spec("j", 1, 2, 0);
        struct job *j;

        s->failure.rules = arena_alloc(&s->arena, sizeof(*s->failure.rules));
        s->failure.n_rules = 1;
        s->failure.rules[0] = (struct spec_rule){.n_codes = 1, .action = actions[i]};
        s->failure.rules[0].codes = arena_alloc(&s->arena, sizeof(uint32_t));
        s->failure.rules[0].codes[0] = 75;
        j = core_running(c, s);
        core_see(c, j, 1, POD_FAILED, 75);
        assert_int_equal(j->state, JOB_RESTARTING);
        assert_int_equal(job_size(j), 2);
    }
}

static void a_pod_that_was_dropped_leaves_no_exit_code(void **state)
{
    struct core *c = *state;
    struct job *j = core_running(c, elastic_spec("j", 1, 2, 0));
    const struct member *m = &j->members[1];
    struct event ev = {.kind = EV_POD_SEEN, .u.pod = xcalloc(1, sizeof(struct pod_fact))};
    struct pod_fact *p = ev.u.pod;

    (void)strcpy(p->ns, j->ns);
    (void)job_pod_name(p->name, j, m);
    (void)strcpy(p->uid, m->uid);
    (void)strcpy(p->node, cluster_node(&c->state->cluster, m->node_ix)->name);
    (void)strcpy(p->role, j->demand->roles[0].name);
    (void)strcpy(p->reason, "Evicted");
    p->phase = POD_FAILED;
    p->exit_code = 137;
    p->job = j->id;
    p->index = m->index;
    p->attempt = j->attempt;
    assert_true(core_apply(c, &ev));
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 1);
    assert_int_equal(j->exit_code, -1);
    two_check(c);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, two_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(it_starts_at_the_largest_size_that_fits_now),
        WITH(it_starts_when_all_its_members_run_and_absent_ones_are_not_waited_for),
        WITH(surplus_comes_in_steps),
        WITH(below_its_minimum_nothing_is_held),
        WITH(the_minimum_of_each_role_goes_before_surplus),
        WITH(surplus_of_non_preemptible_work_stays_inside_the_quota),
        WITH(sizes_that_cannot_be_are_refused),
        WITH(it_grows_by_a_step_after_its_cooldown_while_it_runs),
        WITH(it_does_not_grow_into_what_others_wait_for),
        WITH(it_does_not_grow_into_a_window),
        WITH(new_pods_that_are_refused_or_late_are_dropped_and_it_runs_on),
        WITH(a_new_pod_that_fails_unseen_is_dropped_not_made_again),
        WITH(a_pod_that_it_needs_is_not_dropped_for_one_that_has_only_joined),
        WITH(a_new_pod_that_succeeds_unseen_has_joined),
        WITH(it_runs_on_without_surplus_that_it_lost_and_not_below_its_minimum),
        WITH(numbers_that_are_alike_in_a_row_are_other_demands),
        WITH(surplus_does_not_go_where_the_job_was_refused),
        WITH(a_pod_that_failed_by_itself_restarts_the_gang_though_its_rule_is_free),
        WITH(a_pod_that_was_dropped_leaves_no_exit_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
