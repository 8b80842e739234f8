/* SPDX-License-Identifier: Apache-2.0 */
/* test_state.c - what each event makes of a job: submission, placement, undo, ends, restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../fake/invariant.h"
#include "core/state.h"
#include "life/expire.h"
#include "life/state_apply.h"
#include "util/str.h"

#include "../fake/fake_core.h"

static int64_t free_gpus(const struct core *c)
{
    int64_t sum = 0;

    for (size_t i = 0; i < c->state->cluster.nodes.n; i++)
        sum += node_free_gpus(c->state->cluster.nodes.v[i]);
    return sum;
}

/* A gang of two whole nodes, placed. */
static struct job *placed(struct core *c)
{
    struct answer a = core_submit(c, site_spec("job", 2, 8));

    assert_int_equal(a.code, ERR_OK);
    assert_int_equal(core_cycle(c), 1);
    return core_job(c, a);
}

static struct job *running(struct core *c)
{
    struct job *j = placed(c);

    core_see_all(c, j->id, POD_RUNNING);
    assert_int_equal(j->state, JOB_RUNNING);
    return j;
}

static void a_submission_is_saved_with_its_spec_and_answered(void **state)
{
    struct core *c = *state;
    struct answer a = core_submit(c, site_spec("job", 2, 8));
    struct job *j = core_job(c, a);

    assert_int_equal(a.code, ERR_OK);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(core_count(c, EFFECT_SAVE_JOB), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_SPEC), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_REQUEST), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_EVENT), 1);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 0);
    assert_memory_equal(j->name, "job-", 4);
}

static void one_gang_is_placed_and_undone(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c);

    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(core_count(c, EFFECT_GANG_START), 1);
    assert_int_equal(free_gpus(c), 16);
    assert_int_equal(c->state->tenants.v[0].used[SITE_H100], 16 * GPU_PARTS);

    core_refuse(c, j, 1, REFUSAL_BIND);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(core_count(c, EFFECT_GANG_STOP), 1);
    assert_int_equal(free_gpus(c), 16); /* held until the pods are gone */
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(free_gpus(c), 32);
    assert_int_equal(c->state->tenants.v[0].used[SITE_H100], 0);
    assert_null(j->members);
}

static void an_undone_gang_backs_off_and_avoids_what_refused(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c);
    uint32_t refused = j->members[1].node_ix;

    core_refuse(c, j, 1, REFUSAL_BIND);
    core_gone_all(c, j->id);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, 2 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->attempt, 2);
    for (uint32_t i = 0; i < j->n_members; i++)
        assert_int_not_equal(j->members[i].node_ix, refused);
}

static void a_gang_runs_when_all_its_members_do_and_succeeds_when_all_have(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c);

    core_see(c, j, 0, POD_PENDING, -1);
    assert_int_equal(j->state, JOB_BINDING);
    core_see(c, j, 1, POD_PENDING, -1);
    assert_int_equal(j->state, JOB_STARTING);
    core_see(c, j, 0, POD_RUNNING, -1);
    assert_int_equal(j->state, JOB_STARTING);
    core_see(c, j, 1, POD_RUNNING, -1);
    assert_int_equal(j->state, JOB_RUNNING);
    core_see(c, j, 0, POD_SUCCEEDED, 0);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(free_gpus(c), 24); /* a finished member holds nothing */
    core_see(c, j, 1, POD_SUCCEEDED, 0);
    assert_int_equal(j->state, JOB_STOPPING);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_SUCCEEDED);
    assert_int_equal(j->exit_code, 0);
    assert_int_equal(core_count(c, EFFECT_SAVE_ATTEMPT), 1);
    assert_int_equal(c->state->tenants.v[0].used[SITE_H100], 0);
}

static void a_failed_member_restarts_the_gang_until_no_restart_is_left(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 2, 8);
    struct job *j;

    s->max_restarts = 1;
    j = core_job(c, core_submit(c, s));
    core_cycle(c);
    core_see_all(c, j->id, POD_RUNNING);
    core_see(c, j, 0, POD_FAILED, 3);
    assert_int_equal(j->state, JOB_RESTARTING);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    core_pass(c, 60 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    core_see(c, j, 1, POD_FAILED, 4);
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_FAILED);
    assert_int_equal(j->exit_code, 4);
}

static void a_gang_that_does_not_start_in_time_is_requeued(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c);

    core_see(c, j, 0, POD_RUNNING, -1);
    core_pass(c, j->start_timeout_us - 1);
    assert_int_equal(j->state, JOB_BINDING);
    core_pass(c, 1);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_string_equal(j->reason.code, "StartTimeout");
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
}

static void max_runtime_counts_from_running(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c);

    core_pass(c, 60 * USEC_PER_SEC);
    core_see_all(c, j->id, POD_RUNNING);
    core_pass(c, j->max_runtime_us - 1);
    assert_int_equal(j->state, JOB_RUNNING);
    core_pass(c, 1);
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_TIMED_OUT);
}

static void a_cancel_ends_a_job_in_every_state(void **state)
{
    struct core *c = *state;
    struct job *pending = core_job(c, core_submit(c, site_spec("waits", 9, 8)));
    struct job *j = running(c);

    assert_int_equal(core_cancel(c, pending->id).code, ERR_OK);
    assert_int_equal(pending->state, JOB_CANCELLED);
    assert_int_equal(core_cancel(c, j->id).code, ERR_OK);
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
    assert_true(core_cancel(c, j->id).is_again);
    assert_int_equal(core_cancel(c, (struct job_id){7}).code, ERR_NOT_FOUND);
}

static void a_preempted_gang_goes_back_with_its_age_and_no_restart_counted(void **state)
{
    struct core *c = *state;
    struct job *j = running(c);
    usec_t submitted_at = j->submitted_at;

    assert_int_equal(core_verb(c, j->id, VERB_PREEMPT).code, ERR_OK);
    assert_int_equal(j->state, JOB_PREEMPTING);
    assert_non_null(core_last(c, EFFECT_GANG_STOP));
    assert_true(core_verb(c, j->id, VERB_PREEMPT).is_again);
    core_see(c, j, 0, POD_SUCCEEDED, 0); /* exit code 0 after the notice: saved, not done */
    assert_int_equal(j->state, JOB_PREEMPTING);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    assert_int_equal(j->submitted_at, submitted_at);
    assert_int_equal(j->restarts, 0);
    assert_int_equal(j->charged_parts, 0);
    assert_string_equal(j->reason.code, "Preempted");
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->attempt, 2);
}

static void only_a_running_gang_is_preempted(void **state)
{
    struct core *c = *state;
    struct job *waits = core_job(c, core_submit(c, site_spec("waits", 9, 8)));
    struct job *j = running(c);

    assert_int_equal(core_verb(c, waits->id, VERB_PREEMPT).code, ERR_CONFLICT);
    assert_int_equal(core_verb(c, (struct job_id){7}, VERB_PREEMPT).code, ERR_NOT_FOUND);
    assert_int_equal(core_verb(c, j->id, VERB_PREEMPT).code, ERR_OK);
    assert_int_equal(core_cancel(c, j->id).code, ERR_OK);
    assert_int_equal(j->state, JOB_STOPPING);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
}

static void pods_refused_for_good_end_the_job_as_rejected(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c);

    core_refuse(c, j, 0, REFUSAL_REJECTED);
    core_gone_all(c, j->id);
    core_service_gone(c, j->id);
    assert_int_equal(j->state, JOB_REJECTED);
}

static void a_reason_is_one_line_of_whole_characters(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c);
    char text[400] = "a\nb ";

    for (size_t i = strlen(text); i + 2 < sizeof(text); i += 2)
        memcpy(&text[i], "\xc3\xa4", 3);
    job_set_reason(j, "Code", text);
    assert_true(str_is_clean_utf8(j->reason.text, strlen(j->reason.text)));
    assert_in_range(strlen(j->reason.text), REASON_TEXT_MAX - 1, REASON_TEXT_MAX);
    assert_memory_equal(j->reason.text, "a b ", 4);
}

static void the_same_request_gets_the_same_job(void **state)
{
    struct core *c = *state;
    struct answer first = core_submit(c, site_spec("job", 2, 8)), again;

    c->n_requests--;
    again = core_submit(c, site_spec("job", 2, 8));
    assert_int_equal(again.code, ERR_OK);
    assert_int_equal(again.job.v, first.job.v);
    assert_int_equal(c->state->by_id.n, 1);
}

static struct spec *keyed(uint32_t replicas)
{
    struct spec *s = site_spec("job", replicas, 8);

    s->submit_key = "nightly";
    return s;
}

static void a_submit_key_means_one_job_and_one_spec(void **state)
{
    struct core *c = *state;
    struct answer first = core_submit(c, keyed(2)), again = core_submit(c, keyed(2));
    struct answer other = core_submit(c, keyed(3));

    assert_true(again.is_again);
    assert_int_equal(again.job.v, first.job.v);
    assert_int_equal(other.code, ERR_CONFLICT);
    assert_int_equal(c->state->by_id.n, 1);
}

static void a_dry_run_stores_nothing(void **state)
{
    struct core *c = *state;
    struct event ev = {.u.submit = {.spec = site_spec("job", 2, 8), .is_dry_run = true}};

    assert_int_equal(core_ask(c, &ev).code, ERR_OK);
    assert_int_equal(c->state->by_id.n, 0);
    assert_int_equal(core_count(c, EFFECT_SAVE_JOB), 0);
}

static void a_full_store_refuses_submissions_and_takes_cancels(void **state)
{
    struct core *c = *state;
    struct answer a = core_submit(c, site_spec("job", 2, 8));
    struct event low = {.kind = EV_STORE_LOW, .u.is_low = true};

    (void)core_apply(c, &low);
    assert_int_equal(core_submit(c, site_spec("job", 2, 8)).code, ERR_EXHAUSTED);
    assert_int_equal(core_cancel(c, a.job).code, ERR_OK);
}

static void a_late_answer_of_an_attempt_that_is_over_changes_nothing(void **state)
{
    struct core *c = *state;
    struct job *j = placed(c);
    struct job late;

    late = *j;
    late.n_members = 0; /* they go with the attempt */
    core_refuse(c, j, 0, REFUSAL_TRY_LATER);
    core_gone_all(c, j->id);
    core_pass(c, 10 * USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    core_refuse(c, &late, 0, REFUSAL_REJECTED);
    assert_int_equal(j->state, JOB_BINDING);
    assert_int_equal(j->attempt, 2);
}

static void members_of_a_lost_node_move_on_and_stay_charged_to_it(void **state)
{
    struct core *c = *state;
    struct job *j = running(c);
    const struct node *n = cluster_node(&c->state->cluster, j->members[0].node_ix);
    struct node_fact *f = site_node(n->name, "b0", "r0", SITE_H100, 8);

    f->is_ready = false;
    core_node(c, f);
    for (int i = 0; i < 32 && j->state == JOB_RUNNING; i++)
        core_pass(c, 10 * USEC_PER_SEC);
    assert_int_equal(j->state, JOB_RESTARTING);
    assert_int_equal(n->used.amount[RES_GPUS], 8);
    assert_int_equal(n->n_gangs, 0);
    assert_int_equal(core_count(c, EFFECT_POD_DELETE), 1);
}

/* The first member ends after somebody deleted its pod, as the kubelet reports it. */
static void end_deleted(struct core *c, const struct job *j, enum pod_phase phase, int16_t code)
{
    struct event ev = {.kind = EV_POD_SEEN};
    const struct member *m = &j->members[0];
    char name[POD_NAME_TEXT];
    struct pod_fact *p =
        site_pod(job_pod_name(name, j, m), cluster_node(&c->state->cluster, m->node_ix)->name, 8);

    (void)strcpy(p->ns, j->ns);
    (void)strcpy(p->uid, m->uid);
    (void)strcpy(p->role, "worker");
    p->job = j->id;
    p->attempt = j->attempt;
    p->phase = phase;
    p->exit_code = code;
    p->is_deleting = true;
    ev.u.pod = p;
    (void)core_apply(c, &ev);
}

static void a_drained_pod_is_lost_and_neither_a_success_nor_a_failure(void **state)
{
    static const int16_t codes[] = {0, 143};
    struct core *c = *state;

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct job *j = core_job(c, core_submit(c, site_spec("job", 1, 8)));

        j->max_restarts = 0;
        assert_int_equal(core_cycle(c), 1);
        core_see_all(c, j->id, POD_RUNNING);
        assert_int_equal(j->state, JOB_RUNNING);
        end_deleted(c, j, codes[i] ? POD_FAILED : POD_SUCCEEDED, codes[i]);
        assert_int_equal(j->state, JOB_PENDING);
        assert_int_equal(j->restarts, 0);
        assert_string_equal(j->reason.code, "MemberLost");
        assert_int_equal(core_cycle(c), 1);
        assert_int_equal(j->attempt, 2);
        core_see_all(c, j->id, POD_SUCCEEDED);
        assert_int_equal(j->state, JOB_SUCCEEDED);
    }
}

/* A job of one pod that asks for n extended resources of these names. */
static struct spec *asking(const char *base, uint32_t n)
{
    struct spec *s = site_spec("job", 1, 8);
    struct spec_extended *list = arena_alloc(&s->arena, n * sizeof(*list));

    for (uint32_t i = 0; i < n; i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "%s%u", base, (unsigned)i);
        list[i].name = arena_strdup(&s->arena, name);
        list[i].amount = 1;
    }
    s->roles[0].extended = list;
    s->roles[0].n_extended = n;
    return s;
}

/* As a start finds it, in which all members but the first are seen as they were. */
static void come_back(struct core *c, struct job *j)
{
    struct event ev = {.kind = EV_POD_SEEN, .u.pod = xcalloc(1, sizeof(struct pod_fact))};
    struct pod_fact *p = ev.u.pod;

    for (uint32_t i = 0; i < j->n_members; i++) {
        job_set_phase(j, &j->members[i], MEMBER_PLACED);
        j->members[i].uid[0] = '\0';
        j->members[i].is_seen = j->is_resumed = false;
        if (i)
            core_see(c, j, i, POD_RUNNING, 0);
    }
    (void)str_copy(p->ns, sizeof(p->ns), j->ns);
    (void)job_pod_name(p->name, j, &j->members[0]);
    (void)str_copy(p->uid, sizeof(p->uid), "another");
    (void)str_copy(p->role, sizeof(p->role), j->demand->roles[0].name);
    p->phase = POD_PENDING;
    p->job = j->id;
    p->attempt = j->attempt;
    (void)core_apply(c, &ev);
    core_up(c);
}

static void a_pod_without_a_node_is_not_the_one_that_a_crash_left(void **state)
{
    struct core *c = *state;
    struct job *j;

    j = core_running(c, site_spec("runs", 2, 8));
    come_back(c, j);
    assert_int_equal(j->state, JOB_RESTARTING);
    assert_non_null(strstr(job_reason_text(j), "was replaced by another pod"));
    j = core_job(c, core_submit(c, site_spec("starts", 2, 8)));
    (void)core_cycle(c);
    core_see_all(c, j->id, POD_PENDING);
    assert_int_equal(j->state, JOB_STARTING);
    come_back(c, j);
    assert_int_equal(j->state, JOB_STOPPING);
    assert_int_equal(j->outcome, JOB_PENDING);
}

static void names_that_no_node_has_leave_room_for_those_of_nodes(void **state)
{
    struct core *c = *state;
    struct node_fact *f = site_node("n9", "b9", "r9", SITE_H100, 8);
    struct answer a = {.code = ERR_OK};
    struct job *j;

    for (int i = 0; i < 8 && a.code == ERR_OK; i++) {
        char base[32];

        (void)snprintf(base, sizeof(base), "junk.example/%d-", i);
        a = core_submit(c, asking(base, 8));
    }
    assert_int_equal(a.code, ERR_EXHAUSTED);
    site_node_set(f, "rdma/hca0", 8);
    core_node(c, f);
    a = core_submit(c, asking("rdma/hca", 1));
    assert_int_equal(a.code, ERR_OK);
    j = core_job(c, a);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_string_equal(cluster_node(&c->state->cluster, j->members[0].node_ix)->name, "n9");
}

static struct spec *with_disk(void)
{
    struct spec *s = site_spec("job", 1, 8);

    s->roles[0].n_extended = 1;
    s->roles[0].extended = arena_alloc(&s->arena, sizeof(*s->roles[0].extended));
    s->roles[0].extended[0] = (struct spec_extended){EPHEMERAL_STORAGE, INT64_C(60) << 30};
    return s;
}

static void disk_is_counted_like_any_other_resource(void **state)
{
    struct core *c = *state;
    struct node_fact *f = site_node("n9", "b0", "r0", SITE_H100, 8);
    struct job *j;

    site_node_set(f, "ephemeral-storage", INT64_C(100) << 30);
    core_node(c, f);
    j = core_job(c, core_submit(c, with_disk()));
    assert_int_equal(core_cycle(c), 1);
    assert_string_equal(cluster_node(&c->state->cluster, j->members[0].node_ix)->name, "n9");
    (void)core_submit(c, with_disk());
    assert_int_equal(core_cycle(c), 0);
}

static void a_record_of_a_gang_without_members_is_not_loaded(void **state)
{
    static const enum job_state states[] = {JOB_BINDING, JOB_STARTING, JOB_RUNNING};
    struct core *c = *state;
    struct spec *spec = site_spec("job", 2, 8);
    struct job *j = test_calloc(1, sizeof(*j));
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        j->id.v = c->state->meta.last_id.v + 1;
        j->state = states[i];
        assert_int_equal(state_load_job(c->state, j, spec, &err), -1);
        assert_int_equal(err.code, ERR_INVALID);
    }
    assert_int_equal(c->state->by_id.n, 0);
    test_free(j);
    spec_destroy(spec);
}

static void a_finished_job_is_forgotten_after_its_time(void **state)
{
    struct core *c = *state;
    struct answer a = core_submit(c, site_spec("job", 9, 8));

    (void)core_cancel(c, a.job);
    core_pass(c, INT64_C(72) * 3600 * USEC_PER_SEC - 1);
    assert_non_null(core_job(c, a));
    core_pass(c, 1);
    assert_null(core_job(c, a));
    assert_int_equal(core_count(c, EFFECT_DROP_JOB), 1);
    assert_null(c->state->demands);
}

static void many_events_are_trimmed_faster_than_they_come(void **state)
{
    struct core *c = *state;

    c->state->meta.next_seq = c->state->meta.oldest_seq + EXPIRE_NOTES_MAX + 100000;
    for (int i = 0; i < 100; i++)
        core_pass(c, USEC_PER_SEC / 10);
    assert_in_range(c->state->meta.next_seq - c->state->meta.oldest_seq, 1,
                    EXPIRE_NOTES_MAX + 1000);
}

static void accounting_is_dropped_once_a_day_by_the_time_of_submission(void **state)
{
    struct core *c = *state;
    uint64_t now_ms, days = 0;

    core_pass(c, INT64_C(60) * USEC_PER_SEC);
    for (int i = 0; i < 3 * 144; i++) { /* three days, ten minutes a step */
        core_forget(c);
        core_pass(c, INT64_C(600) * USEC_PER_SEC);
        days += core_count(c, EFFECT_DROP_ATTEMPTS);
        if (core_count(c, EFFECT_DROP_ATTEMPTS) == 0)
            continue;
        now_ms = (uint64_t)(c->now / USEC_PER_MSEC);
        assert_true(core_last(c, EFFECT_DROP_ATTEMPTS)->job.v >> 12 ==
                    now_ms - UINT64_C(800) * 86400 * 1000);
    }
    assert_int_equal(days, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, core_set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_submission_is_saved_with_its_spec_and_answered),
        TEST(one_gang_is_placed_and_undone),
        TEST(an_undone_gang_backs_off_and_avoids_what_refused),
        TEST(a_gang_runs_when_all_its_members_do_and_succeeds_when_all_have),
        TEST(a_failed_member_restarts_the_gang_until_no_restart_is_left),
        TEST(a_gang_that_does_not_start_in_time_is_requeued),
        TEST(max_runtime_counts_from_running),
        TEST(a_cancel_ends_a_job_in_every_state),
        TEST(a_preempted_gang_goes_back_with_its_age_and_no_restart_counted),
        TEST(only_a_running_gang_is_preempted),
        TEST(pods_refused_for_good_end_the_job_as_rejected),
        TEST(a_reason_is_one_line_of_whole_characters),
        TEST(the_same_request_gets_the_same_job),
        TEST(a_submit_key_means_one_job_and_one_spec),
        TEST(a_dry_run_stores_nothing),
        TEST(a_full_store_refuses_submissions_and_takes_cancels),
        TEST(a_late_answer_of_an_attempt_that_is_over_changes_nothing),
        TEST(members_of_a_lost_node_move_on_and_stay_charged_to_it),
        TEST(a_pod_without_a_node_is_not_the_one_that_a_crash_left),
        TEST(a_drained_pod_is_lost_and_neither_a_success_nor_a_failure),
        TEST(names_that_no_node_has_leave_room_for_those_of_nodes),
        TEST(disk_is_counted_like_any_other_resource),
        TEST(a_record_of_a_gang_without_members_is_not_loaded),
        TEST(a_finished_job_is_forgotten_after_its_time),
        TEST(many_events_are_trimmed_faster_than_they_come),
        TEST(accounting_is_dropped_once_a_day_by_the_time_of_submission),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
