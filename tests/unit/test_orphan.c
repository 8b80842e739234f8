/* SPDX-License-Identifier: Apache-2.0 */
/* test_orphan.c - pods with our labels whose job nobody knows: told, deleted, or held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "life/orphan.h"

#include "../fake/fake_core.h"

enum { LAST_STORED = 1000 };

static int set_up(void **state)
{
    int rc = core_set_up(state);
    struct core *c = *state;

    c->state->meta.last_id.v = LAST_STORED;
    return rc;
}

static struct pod_fact *pod_of(uint64_t job)
{
    char name[40];
    struct pod_fact *p;

    (void)snprintf(name, sizeof(name), "job-%llu-worker-0-1", (unsigned long long)job);
    p = site_pod(name, "n0", 8);
    p->job.v = job;
    p->attempt = 1;
    memcpy(p->role, "worker", sizeof("worker"));
    return p;
}

static void see(struct core *c, uint64_t job)
{
    struct event ev = {.kind = EV_POD_SEEN, .u.pod = pod_of(job)};

    (void)core_apply(c, &ev);
}

static void gone(struct core *c, uint64_t job)
{
    struct pod_fact *p = pod_of(job);
    struct event ev = {.kind = EV_POD_GONE, .u.pod_gone = xcalloc(1, sizeof(struct ev_pod_gone))};

    memcpy(ev.u.pod_gone->ns, p->ns, sizeof(p->ns));
    memcpy(ev.u.pod_gone->name, p->name, sizeof(p->name));
    memcpy(ev.u.pod_gone->uid, p->uid, sizeof(p->uid));
    ev.u.pod_gone->job.v = job;
    ev.u.pod_gone->member = IX_NONE;
    pod_fact_destroy(p);
    (void)core_apply(c, &ev);
}

static unsigned deletes_after(struct core *c, int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i += 10)
        core_pass(c, 10 * USEC_PER_SEC);
    return core_count(c, EFFECT_POD_DELETE);
}

static void an_orphan_is_told_once_and_deleted_after_ten_minutes(void **state)
{
    struct core *c = *state;

    see(c, LAST_STORED - 1);
    see(c, LAST_STORED - 1);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_FOUND), 1);
    assert_int_equal(deletes_after(c, 590), 0);
    assert_int_equal(deletes_after(c, 20), 1);
    assert_string_equal(core_last(c, EFFECT_POD_DELETE)->u.pod->name, "job-999-worker-0-1");
    assert_true(core_last(c, EFFECT_POD_DELETE)->u.pod->uid[0]);
}

static void an_orphan_that_went_by_itself_is_forgotten(void **state)
{
    struct core *c = *state;

    see(c, LAST_STORED - 1);
    gone(c, LAST_STORED - 1);
    assert_int_equal(deletes_after(c, 700), 0);
}

static void nothing_is_deleted_while_an_id_is_there_that_was_never_given(void **state)
{
    struct core *c = *state;

    see(c, LAST_STORED - 1);
    see(c, LAST_STORED + 1);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_FOUND), 1);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_HELD), 1);
    assert_int_equal(deletes_after(c, 700), 0);
    gone(c, LAST_STORED + 1);
    assert_int_equal(deletes_after(c, 10), 1);
    assert_int_equal(c->state->meta.foreign_to.v, 0);
}

/* New jobs get ids above those of the lost ones. */
static void new_jobs_do_not_make_foreign_ids_known(void **state)
{
    struct core *c = *state;
    struct job *j = core_job(c, core_submit(c, site_spec("job", 2, 8)));

    assert_true(j->id.v > LAST_STORED + 1);
    see(c, LAST_STORED + 1);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_HELD), 1);
    assert_int_equal(deletes_after(c, 700), 0);
}

/* Nor does a restart, after which the last stored id is above them. */
static void foreign_ids_are_remembered_over_a_restart(void **state)
{
    struct core *c = *state;

    c->state->meta.foreign_from.v = LAST_STORED - 20;
    c->state->meta.foreign_to.v = LAST_STORED - 10;
    see(c, LAST_STORED - 15);
    see(c, LAST_STORED - 5);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_HELD), 1);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_FOUND), 1);
    assert_int_equal(deletes_after(c, 700), 0);
    assert_int_equal(c->state->meta.foreign_to.v, LAST_STORED - 10);
}

/* A start of the core that knows only what the store kept of the one before; no lists yet. */
static void restart(struct core *c)
{
    struct store_meta meta = c->state->meta;

    effects_clear(&c->fx);
    state_destroy(c->state);
    c->state = state_create(&c->settings);
    c->state->meta = meta;
}

/* Jobs may be taken, and the daemon end, before a list has shown a pod of the lost jobs. */
static void ids_that_were_skipped_before_the_lists_are_remembered_over_a_restart(void **state)
{
    struct core *c = *state;

    restart(c);
    (void)core_submit(c, site_spec("job", 2, 8));
    restart(c);
    see(c, LAST_STORED + 1);
    core_up(c);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_HELD), 1);
    assert_int_equal(deletes_after(c, 700), 0);
    gone(c, LAST_STORED + 1);
    assert_int_equal(c->state->meta.foreign_to.v, 0);
}

static void ids_that_were_skipped_are_no_riddle_when_the_lists_show_none(void **state)
{
    struct core *c = *state;

    restart(c);
    (void)core_submit(c, site_spec("job", 2, 8));
    assert_int_equal(c->state->meta.foreign_from.v, LAST_STORED + 1);
    core_up(c);
    assert_int_equal(c->state->meta.foreign_from.v, 0);
    assert_int_equal(c->state->meta.foreign_to.v, 0);
}

static void ids_that_this_process_gave_are_no_riddle(void **state)
{
    struct core *c = *state;
    struct job *j = core_job(c, core_submit(c, site_spec("job", 2, 8)));
    uint64_t id = j->id.v;

    (void)core_submit(c, site_spec("job", 2, 8));
    see(c, id + 1 < c->state->meta.last_id.v ? id + 1 : LAST_STORED);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_HELD), 0);
    assert_int_equal(core_count(c, EFFECT_ORPHAN_FOUND), 1);
}

static void pods_of_another_cluster_than_the_stores_are_left_alone(void **state)
{
    struct core *c = *state;
    struct event other = {.kind = EV_SYNCED, .u.cluster_uid = "cluster-2"};

    see(c, LAST_STORED - 1);
    (void)core_apply(c, &other);
    assert_int_equal(deletes_after(c, 1000), 0);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(an_orphan_is_told_once_and_deleted_after_ten_minutes),
        WITH(an_orphan_that_went_by_itself_is_forgotten),
        WITH(nothing_is_deleted_while_an_id_is_there_that_was_never_given),
        WITH(new_jobs_do_not_make_foreign_ids_known),
        WITH(foreign_ids_are_remembered_over_a_restart),
        WITH(ids_that_were_skipped_before_the_lists_are_remembered_over_a_restart),
        WITH(ids_that_were_skipped_are_no_riddle_when_the_lists_show_none),
        WITH(ids_that_this_process_gave_are_no_riddle),
        WITH(pods_of_another_cluster_than_the_stores_are_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
