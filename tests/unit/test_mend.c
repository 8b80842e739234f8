/* SPDX-License-Identifier: Apache-2.0 */
/* test_mend.c - what a running gang does about pods that it lost, by failurePolicy.scope. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mend.h"
#include "spec/spec_check.h"
#include "util/mem.h"
#include "view/explain.h"

#include "../fake/fake_core.h"
#include "../fake/invariant.h"

/* Whole nodes, of the four that there are. */
static struct spec *scoped(uint32_t pods, enum spec_scope scope)
{
    struct spec *s = site_spec("j", pods, 8);

    s->failure.scope = scope;
    return s;
}

static struct job *running(struct core *c, struct spec *s)
{
    struct job *j = core_running(c, s);

    core_forget(c);
    return j;
}

static void gone(struct core *c, const struct job *j, uint32_t member)
{
    struct event ev = {.kind = EV_POD_GONE, .u.pod_gone = xcalloc(1, sizeof(struct ev_pod_gone))};
    char name[POD_NAME_TEXT];

    (void)snprintf(ev.u.pod_gone->ns, sizeof(ev.u.pod_gone->ns), "%s", j->ns);
    (void)snprintf(ev.u.pod_gone->name, sizeof(ev.u.pod_gone->name), "%s",
                   job_pod_name(name, j, &j->members[member]));
    (void)snprintf(ev.u.pod_gone->uid, sizeof(ev.u.pod_gone->uid), "%s", j->members[member].uid);
    ev.u.pod_gone->job = j->id;
    ev.u.pod_gone->attempt = j->attempt;
    ev.u.pod_gone->member = IX_NONE;
    (void)core_apply(c, &ev);
}

/* The node of a member does not answer, for long enough. */
static void lose_node(struct core *c, const struct job *j, uint32_t member)
{
    const struct node *n = cluster_node(&c->state->cluster, j->members[member].node_ix);
    struct node_fact *f = site_node(n->name, "b0", n->name[1] < '2' ? "r0" : "r1", SITE_H100, 8);

    f->is_ready = false;
    core_node(c, f);
    core_pass(c, c->settings.node_lost_us + USEC_PER_SEC);
}

static void check(const struct core *c)
{
    struct err err = {0};

    if (state_check(c->state, &err))
        fail_msg("%s", err.text);
}

static void with_the_scope_pod_the_others_run_on_and_the_lost_one_is_made_again(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(3, SPEC_SCOPE_POD));
    uint32_t host = j->members[1].node_ix;
    char name[POD_NAME_TEXT];
    struct explain x;

    gone(c, j, 1);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_string_equal(j->reason.code, "MemberLost");
    assert_non_null(strstr(job_reason_text(j), "the others run on"));
    assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 0);
    check(c);
    explain_job(c->state, j, c->now, &x);
    assert_string_equal(x.code, "ReplacingPods");
    assert_non_null(strstr(x.text, "1 of 3 pods lost, the others run"));
    assert_int_equal(core_cycle(c), 1);
    assert_string_equal(j->reason.code, "HostReplaced");
    assert_int_equal(j->members[1].node_ix, host);
    assert_int_equal(j->members[1].phase, MEMBER_PLACED);
    assert_non_null(strstr(job_pod_name(name, j, &j->members[1]), "-worker-1-1-1"));
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_JOB), 1);
    check(c);
    core_see(c, j, 1, POD_RUNNING, 0);
    assert_int_equal(j->lost_at, 0);
    assert_int_equal(j->n_running, 3);
    assert_int_equal(j->attempt, 1);
    check(c);
    core_see_all(c, j->id, POD_SUCCEEDED);
    assert_int_equal(j->outcome, JOB_SUCCEEDED);
}

static void with_the_scope_gang_all_restart(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(3, SPEC_SCOPE_GANG));

    gone(c, j, 1);
    assert_int_equal(j->state, JOB_RESTARTING);
}

/* The gang has three nodes of its block; the fourth is outside of the rack that it needs. */
static void a_dead_host_is_replaced_inside_the_domain_or_the_gang_restarts(void **state)
{
    static const struct {
        const char *level;
        uint32_t pods;
        bool is_found;
    } rows[] = {{"block", 3, true}, {"rack", 2, false}};
    struct core *c = *state;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct spec *s = scoped(rows[i].pods, SPEC_SCOPE_POD);
        struct job *j;
        uint32_t host;

        s->topology_required = rows[i].level;
        j = running(c, s);
        host = j->members[1].node_ix;
        lose_node(c, j, 1);
        assert_int_equal(j->state, JOB_RUNNING);
        assert_int_equal(core_count(c, EFFECT_POD_DELETE), 1);
        assert_int_equal(core_cycle(c), rows[i].is_found);
        check(c);
        if (rows[i].is_found) {
            assert_int_not_equal(j->members[1].node_ix, host);
            core_see(c, j, 1, POD_RUNNING, 0);
            assert_int_equal(mend_missing(j), 0);
        } else {
            core_pass(c, j->start_timeout_us - USEC_PER_SEC);
            assert_int_equal(j->state, JOB_RUNNING);
            core_pass(c, USEC_PER_SEC);
            assert_int_equal(j->state, JOB_RESTARTING);
            assert_string_equal(j->reason.code, "ReplaceTimeout");
        }
        (void)core_cancel(c, j->id);
        core_gone_all(c, j->id);
        core_service_gone(c, j->id);
        for (uint32_t n = 0; n < 4; n++) { /* all are well again */
            char name[8], rack[8];

            (void)snprintf(name, sizeof(name), "n%u", n);
            (void)snprintf(rack, sizeof(rack), "r%u", n / 2);
            core_node(c, site_node(name, "b0", rack, SITE_H100, 8));
        }
        core_forget(c);
    }
}

static void what_was_known_of_the_old_pod_says_nothing_of_the_new(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(2, SPEC_SCOPE_POD));
    struct event ev = {.kind = EV_POD_BOUND, .u.answer = xcalloc(1, sizeof(struct ev_pod_answer))};
    struct member old = j->members[1];

    gone(c, j, 1);
    (void)core_cycle(c);
    core_forget(c);
    ev.u.answer->job = j->id;
    ev.u.answer->attempt = j->attempt;
    ev.u.answer->member = 1;
    memcpy(ev.u.answer->uid, old.uid, sizeof(old.uid));
    (void)core_apply(c, &ev);
    assert_int_equal(j->members[1].phase, MEMBER_PLACED);
    j->members[1].run = 0; /* a late fact carries the old name */
    {
        struct member now = j->members[1];
        struct event seen = {.kind = EV_POD_SEEN, .u.pod = xcalloc(1, sizeof(struct pod_fact))};

        (void)job_pod_name(seen.u.pod->name, j, &now);
        j->members[1].run = 1;
        (void)snprintf(seen.u.pod->ns, sizeof(seen.u.pod->ns), "%s", j->ns);
        memcpy(seen.u.pod->uid, old.uid, sizeof(old.uid));
        (void)snprintf(seen.u.pod->node, sizeof(seen.u.pod->node), "n3");
        memcpy(seen.u.pod->role, j->demand->roles[0].name, sizeof(seen.u.pod->role));
        seen.u.pod->phase = POD_RUNNING;
        seen.u.pod->job = j->id;
        seen.u.pod->index = 1;
        seen.u.pod->attempt = j->attempt;
        (void)core_apply(c, &seen);
    }
    assert_int_equal(j->members[1].phase, MEMBER_PLACED);
    assert_int_equal(core_count(c, EFFECT_POD_DELETE), 1);
    check(c);
}

static void a_failure_of_its_own_counts_and_waits(void **state)
{
    struct core *c = *state;
    struct spec *s = scoped(2, SPEC_SCOPE_POD);
    struct job *j;

    s->max_restarts = 1;
    j = running(c, s);
    core_see(c, j, 1, POD_FAILED, 3);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(j->restarts, 1);
    assert_int_equal(core_count(c, EFFECT_POD_DELETE), 1);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, BACKOFF_S * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    core_see(c, j, 1, POD_FAILED, 3);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_FAILED);
    check(c);
}

static void with_the_scope_role_its_pods_restart_where_they_were(void **state)
{
    struct core *c = *state;
    struct spec *s = scoped(1, SPEC_SCOPE_ROLE);
    struct job *j;
    uint32_t hosts[3];

    site_role(s, "second", 2, 8);
    j = running(c, s);
    for (uint32_t i = 0; i < 3; i++)
        hosts[i] = j->members[i].node_ix;
    gone(c, j, 2);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(core_count(c, EFFECT_POD_DELETE), 1); /* of the other of the role */
    assert_int_equal(core_cycle(c), 0);
    check(c);
    core_see(c, j, 1, POD_FAILED, 143);
    assert_int_equal(j->restarts, 0);
    check(c);
    assert_int_equal(core_cycle(c), 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(j->members[i].node_ix, hosts[i]);
        assert_int_equal(j->members[i].run, i > 0);
    }
    core_see(c, j, 1, POD_RUNNING, 0);
    assert_int_equal(mend_missing(j), 1);
    core_see(c, j, 2, POD_RUNNING, 0);
    assert_int_equal(mend_missing(j), 0);
    check(c);
}

/* All nodes are in use; the hosts of the role stay held while its pods go. */
static void nobody_takes_the_hosts_of_a_role_that_restarts(void **state)
{
    struct core *c = *state;
    struct spec *s = scoped(1, SPEC_SCOPE_ROLE);
    struct job *j;
    uint32_t hosts[4];

    site_role(s, "second", 3, 8);
    j = running(c, s);
    (void)core_submit(c, site_spec("other", 1, 8));
    for (uint32_t i = 0; i < 4; i++)
        hosts[i] = j->members[i].node_ix;
    gone(c, j, 2);
    assert_int_equal(core_cycle(c), 0);
    gone(c, j, 1); /* it was told to */
    assert_int_equal(core_cycle(c), 0);
    check(c);
    gone(c, j, 3);
    assert_int_equal(core_cycle(c), 1);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(j->members[i].node_ix, hosts[i]);
    check(c);
}

static void a_gang_of_which_nothing_is_left_restarts(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(2, SPEC_SCOPE_ROLE));

    gone(c, j, 1);
    assert_int_equal(j->state, JOB_RESTARTING);
    (void)core_cancel(c, j->id);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    j = running(c, scoped(1, SPEC_SCOPE_POD));
    gone(c, j, 0);
    assert_int_equal(j->state, JOB_PENDING);
}

static void a_missing_member_goes_before_gangs_that_wait(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(3, SPEC_SCOPE_POD)), *other;

    lose_node(c, j, 1);
    other = core_job(c, core_submit(c, site_spec("other", 1, 8)));
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->members[1].phase, MEMBER_PLACED);
    assert_int_equal(other->state, JOB_PENDING);
    check(c);
}

static void one_that_is_refused_goes_to_another_host(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(3, SPEC_SCOPE_POD));
    uint32_t host = j->members[1].node_ix;

    gone(c, j, 1);
    (void)core_cycle(c);
    core_refuse(c, j, 1, REFUSAL_BIND);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(j->members[1].run, 2);
    check(c);
    core_pass(c, BACKOFF_S * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    assert_int_not_equal(j->members[1].node_ix, host);
    check(c);
}

static void one_that_is_refused_again_and_again_restarts_the_gang(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(3, SPEC_SCOPE_POD));
    uint32_t tries = (uint32_t)(j->start_timeout_us / USEC_PER_SEC / BACKOFF_S) + 1;

    gone(c, j, 1);
    for (uint32_t i = 0; i < tries && j->state == JOB_RUNNING; i++) {
        (void)core_cycle(c);
        core_refuse(c, j, 1, REFUSAL_TRY_LATER);
        core_pass(c, BACKOFF_S * USEC_PER_SEC);
        check(c);
    }
    assert_int_equal(j->state, JOB_RESTARTING);
    assert_string_equal(j->reason.code, "ReplaceTimeout");
}

static void it_may_be_cancelled_while_it_lacks_pods(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(3, SPEC_SCOPE_POD));

    lose_node(c, j, 1);
    (void)core_cancel(c, j->id);
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
    assert_int_equal(core_cycle(c), 0);
    check(c);
}

static struct spec *spared(uint32_t pods, uint32_t spares)
{
    struct spec *s = scoped(pods, SPEC_SCOPE_POD);

    s->roles[0].spares = spares;
    return s;
}

/* Two pods and a spare, of which no pods are seen. */
static struct job *running_spared(struct core *c)
{
    struct answer a = core_submit(c, spared(2, 1));
    struct job *j = core_job(c, a);

    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    core_see(c, j, 0, POD_RUNNING, 0);
    core_see(c, j, 1, POD_RUNNING, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    core_forget(c);
    return j;
}

static void a_spare_is_held_and_charged_and_counts_for_no_pod(void **state)
{
    struct core *c = *state;
    struct job *j = running_spared(c);
    struct explain x;

    assert_int_equal(job_size(j), 2);
    assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
    assert_int_equal(j->members[2].phase, MEMBER_SPARE);
    assert_int_equal(j->members[2].rank, 2);
    explain_job(c->state, j, c->now, &x);
    assert_non_null(strstr(x.asks, "2 and 1 spare pods x 8"));
    (void)core_submit(c, site_spec("other", 2, 8));
    assert_int_equal(core_cycle(c), 0);
    check(c);
    core_see(c, j, 0, POD_SUCCEEDED, 0);
    core_see(c, j, 1, POD_SUCCEEDED, 0);
    assert_int_equal(j->outcome, JOB_SUCCEEDED);
    assert_int_equal(j->n_spare, 0);
    check(c);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_SUCCEEDED);
    assert_int_equal(core_cycle(c), 1);
}

/* The fourth node would do too, and is taken. */
static void a_spare_takes_over_at_once_and_another_is_held_when_there_is_room(void **state)
{
    struct core *c = *state;
    struct job *j = running_spared(c);
    struct answer other = core_submit(c, site_spec("other", 1, 8));
    uint32_t spare = j->members[2].node_ix;

    assert_int_equal(core_cycle(c), 1);
    lose_node(c, j, 1);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->members[1].node_ix, spare);
    assert_int_equal(j->members[1].phase, MEMBER_PLACED);
    assert_int_equal(j->members[2].phase, MEMBER_ABSENT);
    assert_int_equal(j->charged_parts, 16 * GPU_PARTS);
    check(c);
    core_see(c, j, 1, POD_RUNNING, 0);
    (void)core_cancel(c, other.job);
    core_gone_all(c, other.job);
    core_service_gone(c, other.job);
    core_pass(c, ELASTIC_COOLDOWN_S * USEC_PER_SEC);
    core_forget(c);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->members[2].phase, MEMBER_SPARE);
    assert_string_equal(j->reason.code, "SpareHeld");
    assert_int_equal(core_count(c, EFFECT_GANG_START), 0);
    assert_int_equal(j->charged_parts, 24 * GPU_PARTS);
    check(c);
}

static void a_spare_whose_node_is_lost_costs_the_gang_nothing(void **state)
{
    struct core *c = *state;
    struct job *j = running_spared(c);

    lose_node(c, j, 2);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(j->lost_at, 0);
    assert_int_equal(j->members[2].phase, MEMBER_ABSENT);
    assert_int_equal(j->charged_parts, 16 * GPU_PARTS);
    check(c);
}

/* The role of two and its spare; the other role runs on. */
static void a_role_that_restarts_does_not_wait_for_its_spare(void **state)
{
    struct core *c = *state;
    struct spec *s = scoped(1, SPEC_SCOPE_ROLE);
    struct job *j;

    site_role(s, "second", 2, 8);
    s->roles[1].spares = 1;
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 1);
    for (uint32_t i = 0; i < 3; i++)
        core_see(c, j, i, POD_RUNNING, 0);
    gone(c, j, 1);
    gone(c, j, 2); /* it was told to */
    assert_int_equal(j->members[3].mend, MEND_NONE);
    check(c);
    assert_int_equal(core_cycle(c), 1);
    core_see(c, j, 1, POD_RUNNING, 0);
    core_see(c, j, 2, POD_RUNNING, 0);
    assert_int_equal(j->lost_at, 0);
    assert_int_equal(j->members[3].phase, MEMBER_SPARE);
    check(c);
}

static void a_pod_made_again_may_be_seen_only_when_it_has_ended(void **state)
{
    struct core *c = *state;
    struct job *j = running(c, scoped(3, SPEC_SCOPE_POD));

    gone(c, j, 1);
    assert_int_equal(core_cycle(c), 1);
    core_see(c, j, 1, POD_SUCCEEDED, 0);
    assert_int_equal(j->lost_at, 0);
    check(c);
    core_pass(c, j->start_timeout_us + USEC_PER_SEC);
    assert_int_equal(j->state, JOB_RUNNING);
}

/* One of three fails; made again it is lost with its node, and is surplus then. */
static void a_surplus_pod_that_is_lost_again_is_not_waited_for(void **state)
{
    struct core *c = *state;
    struct spec *s = scoped(3, SPEC_SCOPE_POD);
    struct job *j;

    s->roles[0].min_replicas = 2;
    s->max_restarts = 1;
    j = running(c, s);
    core_see(c, j, 2, POD_FAILED, 3);
    core_pass(c, BACKOFF_S * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    lose_node(c, j, 2);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(job_size(j), 2);
    assert_int_equal(j->lost_at, 0);
    check(c);
}

/* The pod that joins is no reason to go on, nor does its leaving end the gang well. */
static void a_failed_pod_beside_one_that_joins_is_no_success(void **state)
{
    struct core *c = *state;
    struct job *j, *others[2];
    struct spec *s = scoped(3, SPEC_SCOPE_POD);

    for (uint32_t i = 0; i < 2; i++) {
        others[i] = core_job(c, core_submit(c, site_spec(i ? "x" : "y", i ? 1 : 2, 8)));
        assert_int_equal(core_cycle(c), 1);
    }
    s->roles[0].min_replicas = 1;
    s->max_restarts = 1;
    j = running(c, s);
    assert_int_equal(job_size(j), 1);
    (void)core_cancel(c, others[1]->id);
    core_gone_all(c, others[1]->id);
    core_service_gone(c, others[1]->id);
    core_pass(c, ELASTIC_COOLDOWN_S * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(job_size(j), 2);
    core_see(c, j, 0, POD_FAILED, 3);
    assert_int_equal(j->state, JOB_RESTARTING);
    check(c);
}

static void spares_that_could_not_take_over_are_refused(void **state)
{
    struct core *c = *state;
    struct spec *s = spared(2, 1);
    struct err err;

    s->roles[0].min_replicas = 1;
    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    assert_non_null(strstr(err.text, "spec.roles[0].spares"));
    s->roles[0].min_replicas = 0;
    assert_int_equal(spec_check(s, &c->settings, &err), 0);
    spec_destroy(s);
}

static void an_unknown_scope_is_refused(void **state)
{
    struct core *c = *state;
    struct spec *s = scoped(2, SPEC_SCOPES);
    struct err err;

    assert_int_equal(spec_check(s, &c->settings, &err), -1);
    assert_non_null(strstr(err.text, "spec.failurePolicy.scope"));
    spec_destroy(s);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(with_the_scope_pod_the_others_run_on_and_the_lost_one_is_made_again),
        WITH(with_the_scope_gang_all_restart),
        WITH(a_dead_host_is_replaced_inside_the_domain_or_the_gang_restarts),
        WITH(what_was_known_of_the_old_pod_says_nothing_of_the_new),
        WITH(a_failure_of_its_own_counts_and_waits),
        WITH(with_the_scope_role_its_pods_restart_where_they_were),
        WITH(nobody_takes_the_hosts_of_a_role_that_restarts),
        WITH(a_gang_of_which_nothing_is_left_restarts),
        WITH(a_missing_member_goes_before_gangs_that_wait),
        WITH(one_that_is_refused_goes_to_another_host),
        WITH(one_that_is_refused_again_and_again_restarts_the_gang),
        WITH(it_may_be_cancelled_while_it_lacks_pods),
        WITH(a_spare_is_held_and_charged_and_counts_for_no_pod),
        WITH(a_spare_takes_over_at_once_and_another_is_held_when_there_is_room),
        WITH(a_spare_whose_node_is_lost_costs_the_gang_nothing),
        WITH(a_role_that_restarts_does_not_wait_for_its_spare),
        WITH(a_pod_made_again_may_be_seen_only_when_it_has_ended),
        WITH(a_surplus_pod_that_is_lost_again_is_not_waited_for),
        WITH(a_failed_pod_beside_one_that_joins_is_no_success),
        WITH(spares_that_could_not_take_over_are_refused),
        WITH(an_unknown_scope_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
