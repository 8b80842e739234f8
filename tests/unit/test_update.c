/* SPDX-License-Identifier: Apache-2.0 */
/* test_update.c - a waiting job asks for something else: what it keeps, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/backfill.h"
#include "life/job_life.h"
#include "util/mem.h"
#include "../fake/fake_core.h"
#include "../fake/invariant.h"

/* Four nodes; tenants t and u with a namespace each, t/inner in that of t. */
static int set_up(void **state)
{
    struct core *c = xcalloc(1, sizeof(*c));

    *c = (struct core){.now = INT64_C(1790000000) * USEC_PER_SEC};
    site_settings_init(&c->settings);
    (void)site_tenant(&c->settings, "t");
    (void)site_tenant(&c->settings, "t/inner");
    (void)site_tenant(&c->settings, "u");
    c->settings.tenants[2].max_pending = 1;
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
    *state = c;
    return 0;
}

static struct job *submitted(struct core *c, const char *name, uint32_t nodes)
{
    return core_job(c, core_submit(c, site_spec(name, nodes, 8)));
}

/* Takes spec, made of the job as it is now. */
static struct answer update(struct core *c, const struct job *j, struct spec *spec)
{
    struct event ev = {.kind = EV_JOB_UPDATE,
                       .u.update = {.job = j->id,
                                    .n_updates = j->n_updates,
                                    .spec = spec,
                                    .why = xstrdup("something new"),
                                    .ref.reply_token = 1,
                                    .caller.user = "alice"}};

    c->n_requests++;
    memcpy(ev.u.update.ref.request_id, &c->n_requests, sizeof(c->n_requests));
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer;
}

static struct spec *of_class(struct spec *s, const char *class, int32_t priority)
{
    s->priority_class = class;
    s->priority = priority;
    return s;
}

static struct spec *of_tenant(struct spec *s, const char *tenant, const char *ns)
{
    s->tenant = tenant;
    s->ns = ns;
    return s;
}

static void a_job_of_a_lower_class_goes_after_the_others_with_its_age(void **state)
{
    struct core *c = *state;
    struct job *old = submitted(c, "old", 4), *young;
    usec_t age = old->submitted_at;

    core_pass(c, 60 * USEC_PER_SEC);
    young = submitted(c, "young", 4);
    core_forget(c);
    assert_int_equal(update(c, old, of_class(site_spec("old", 4, 8), "low", 100)).code, ERR_OK);
    assert_int_equal(core_count(c, EFFECT_SAVE_SPEC), 1);
    assert_int_equal(core_count(c, EFFECT_SAVE_JOB), 1);
    assert_string_equal(old->priority_class, "low");
    assert_int_equal(old->submitted_at, age);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(young->state, JOB_BINDING);
    assert_int_equal(old->state, JOB_PENDING);
}

static void the_history_says_what_changed_and_the_reason_to_wait_stays(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job", 2);
    const struct job_note *n;

    (void)core_verb(c, j->id, VERB_HOLD);
    core_forget(c);
    assert_int_equal(update(c, j, of_class(site_spec("job", 2, 8), "low", 100)).code, ERR_OK);
    n = core_last(c, EFFECT_SAVE_EVENT)->u.note;
    assert_string_equal(n->reason, "Updated");
    assert_string_equal(n->text, "by alice: something new");
    assert_int_equal(n->from, JOB_HELD);
    assert_int_equal(n->to, JOB_HELD);
    assert_string_equal(j->reason.code, "Held");
    assert_int_equal(core_cycle(c), 0);
    (void)core_verb(c, j->id, VERB_RELEASE);
    assert_int_equal(core_cycle(c), 1);
}

static void a_dropped_topology_starts_what_did_not_fit(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 3, 8);
    struct job *j;

    s->topology_required = "rack";
    j = core_job(c, core_submit(c, s));
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(update(c, j, site_spec("job", 3, 8)).code, ERR_OK);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void a_job_that_waits_for_another_is_changed_and_waits_on(void **state)
{
    struct core *c = *state;
    struct job *first = submitted(c, "first", 1), *j;
    struct spec_pair on = {"first", "succeeded"};
    struct spec *s = site_spec("job", 1, 8);

    s->depends_on.n = 1;
    s->depends_on.v = &on;
    j = core_job(c, core_submit(c, s));
    assert_int_equal(update(c, j, of_class(site_spec("job", 1, 8), "low", 100)).code, ERR_OK);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(first->state, JOB_BINDING);
    assert_int_equal(j->state, JOB_PENDING);
}

static void a_job_whose_nodes_are_being_freed_gives_them_up_when_it_is_changed(void **state)
{
    struct core *c = *state;
    struct job *low, *taker;
    struct err err;

    low = core_job(c, core_submit(c, of_class(site_spec("low", 4, 8), "low", 100)));
    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, low->id, POD_RUNNING);
    core_pass(c, 660 * USEC_PER_SEC);
    taker = core_job(c, core_submit(c, of_class(site_spec("taker", 1, 8), "high", 800)));
    (void)core_cycle(c);
    assert_non_null(taker->claim);
    assert_int_equal(update(c, taker, of_tenant(site_spec("taker", 2, 4), "u", "u")).code, ERR_OK);
    assert_null(taker->claim);
    assert_int_equal(state_check(c->state, &err), 0);
    core_gone_all(c, low->id);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(taker->state, JOB_BINDING);
}

static void a_job_moves_to_another_tenant_with_its_count(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job", 5), *found = NULL;
    const struct tenant *t = c->state->tenants.v;
    char was[JOB_NAME_MAX + 3], is[JOB_NAME_MAX + 3];

    (void)snprintf(was, sizeof(was), "t/%s", j->name);
    (void)snprintf(is, sizeof(is), "u/%s", j->name);
    assert_int_equal(update(c, j, of_tenant(site_spec("job", 5, 8), "u", "u")).code, ERR_OK);
    assert_int_equal(t[0].pending, 0);
    assert_int_equal(t[2].pending, 1);
    HASH_FIND(hh_name, c->state->jobs_by_name, was, strlen(was), found);
    assert_null(found);
    HASH_FIND(hh_name, c->state->jobs_by_name, is, strlen(is), found);
    assert_ptr_equal(found, j);
    assert_string_equal(j->tenant, "u");
    /* u may have one pending job */
    j = submitted(c, "more", 5);
    assert_int_equal(update(c, j, of_tenant(site_spec("more", 5, 8), "u", "u")).code,
                     ERR_EXHAUSTED);
    assert_string_equal(j->tenant, "t");
}

static void a_job_that_had_pods_stays_in_its_namespace(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job", 2);
    struct answer a;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, j->id, POD_RUNNING);
    (void)core_verb(c, j->id, VERB_REQUEUE);
    core_gone_all(c, j->id);
    assert_int_equal(j->state, JOB_PENDING);
    a = update(c, j, of_tenant(site_spec("job", 2, 8), "u", "u"));
    assert_int_equal(a.code, ERR_CONFLICT);
    assert_non_null(strstr(a.text, "submit it anew to u"));
    assert_int_equal(update(c, j, of_tenant(site_spec("job", 2, 8), "t/inner", "t")).code, ERR_OK);
    assert_string_equal(j->tenant, "t/inner");
}

/* An array never has an attempt of its own; what began of it may be forgotten by now. */
static void a_job_with_a_service_stays_in_its_namespace(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job", 2);

    j->has_service = true;
    assert_int_equal(update(c, j, of_tenant(site_spec("job", 2, 8), "u", "u")).code, ERR_CONFLICT);
    j->has_service = false;
    assert_int_equal(update(c, j, of_tenant(site_spec("job", 2, 8), "u", "u")).code, ERR_OK);
}

static void a_job_that_does_not_wait_is_refused_with_what_to_do(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job", 2);
    struct answer a;

    assert_int_equal(core_cycle(c), 1);
    a = update(c, j, of_class(site_spec("job", 2, 8), "low", 100));
    assert_int_equal(a.code, ERR_CONFLICT);
    assert_non_null(strstr(a.text, "is Binding: only a waiting job is changed"));
    assert_string_equal(j->priority_class, "normal");
}

static void of_two_changes_of_one_spec_the_second_is_refused(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job", 5), before = *j;
    struct answer a;

    assert_int_equal(update(c, j, of_class(site_spec("job", 5, 8), "low", 100)).code, ERR_OK);
    a = update(c, &before, site_spec("job", 5, 8));
    assert_int_equal(a.code, ERR_CONFLICT);
    assert_non_null(strstr(a.text, "changed meanwhile"));
    assert_string_equal(j->priority_class, "low");
}

static void the_same_request_again_changes_nothing(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "job", 5);

    assert_int_equal(update(c, j, of_class(site_spec("job", 5, 8), "low", 100)).code, ERR_OK);
    c->n_requests--;
    core_forget(c);
    assert_int_equal(update(c, j, site_spec("job", 5, 8)).code, ERR_OK);
    assert_int_equal(core_count(c, EFFECT_SAVE_SPEC), 0);
    assert_string_equal(j->priority_class, "low");
}

static void the_submit_key_stays_with_the_tenant_it_was_given_in(void **state)
{
    struct core *c = *state;
    struct spec *s = site_spec("job", 5, 8);
    struct job *j;
    struct answer again;

    s->submit_key = "k";
    j = core_job(c, core_submit(c, s));
    s = of_tenant(site_spec("job", 5, 8), "u", "u");
    s->submit_key = "k";
    assert_int_equal(update(c, j, s).code, ERR_OK);
    s = site_spec("job", 5, 8);
    s->submit_key = "k";
    again = core_submit(c, s);
    assert_true(again.is_again);
    assert_int_equal(again.job.v, j->id.v);
    /* and it expires with the job's record */
    (void)core_cancel(c, j->id);
    assert_int_equal(j->state, JOB_CANCELLED);
    core_forget(c);
    core_pass(c, JOB_KEEP_RECORD_S * USEC_PER_SEC);
    assert_int_equal(core_count(c, EFFECT_DROP_JOB), 1);
    assert_true(state_key(c->state, "t", "k")->drop_at > c->now);
}

static void room_that_was_kept_for_other_wishes_is_open_to_the_next(void **state)
{
    struct core *c = *state;
    struct job *runs = submitted(c, "runs", 2), *first, *next;
    struct reserved r;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, runs->id, POD_RUNNING);
    first = submitted(c, "first", 4);
    next = submitted(c, "next", 3);
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, first, &r));
    assert_int_equal(update(c, first, of_class(site_spec("first", 4, 8), "low", 100)).code, ERR_OK);
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, next, &r));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_of_a_lower_class_goes_after_the_others_with_its_age),
        TEST(the_history_says_what_changed_and_the_reason_to_wait_stays),
        TEST(a_dropped_topology_starts_what_did_not_fit),
        TEST(a_job_that_waits_for_another_is_changed_and_waits_on),
        TEST(a_job_whose_nodes_are_being_freed_gives_them_up_when_it_is_changed),
        TEST(a_job_moves_to_another_tenant_with_its_count),
        TEST(a_job_that_had_pods_stays_in_its_namespace),
        TEST(a_job_with_a_service_stays_in_its_namespace),
        TEST(a_job_that_does_not_wait_is_refused_with_what_to_do),
        TEST(of_two_changes_of_one_spec_the_second_is_refused),
        TEST(the_same_request_again_changes_nothing),
        TEST(the_submit_key_stays_with_the_tenant_it_was_given_in),
        TEST(room_that_was_kept_for_other_wishes_is_open_to_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
