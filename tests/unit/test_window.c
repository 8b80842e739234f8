/* SPDX-License-Identifier: Apache-2.0 */
/* test_window.c - nodes that an operator reserves for a time: who may use them until then and
 * meanwhile, and what is said.
 *
 * The latest end of a run of site_spec() is startTimeout + maxRuntime + grace after its decision.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/backfill.h"
#include "core/window.h"
#include "life/state_apply.h"
#include "util/mem.h"
#include "view/estimate.h"
#include "view/explain.h"

#include "../fake/fake_core.h"

#define HOUR (3600 * USEC_PER_SEC)

static struct answer ask(struct core *c, const struct ev_window *what)
{
    struct event ev = {.kind = EV_WINDOW, .u.window = xmalloc(sizeof(*what))};

    *ev.u.window = *what;
    ev.u.window->ref.reply_token = 1;
    ev.u.window->nodes = what->nodes ? xstrdup(what->nodes) : NULL;
    (void)snprintf(ev.u.window->caller.user, sizeof(ev.u.window->caller.user), "alice");
    c->n_requests++;
    memcpy(ev.u.window->ref.request_id, &c->n_requests, sizeof(c->n_requests));
    (void)core_apply(c, &ev);
    return core_last(c, EFFECT_REPLY)->u.reply->answer;
}

/* Reserve nodes from so many hours on: "demo" for a tenant, "power" for nobody. */
static struct answer reserve(struct core *c, const char *tenant, const char *nodes, int from,
                             int hours)
{
    struct ev_window w = {
        .nodes = (char *)nodes,
        .window = {.from = c->now + from * HOUR, .to = c->now + (from + hours) * HOUR}};

    (void)snprintf(w.window.name, sizeof(w.window.name), *tenant ? "demo" : "power");
    (void)snprintf(w.window.tenant, sizeof(w.window.tenant), "%s", tenant);
    return ask(c, &w);
}

static struct answer cancel(struct core *c, const char *name)
{
    struct ev_window w = {.is_over = true};

    (void)snprintf(w.window.name, sizeof(w.window.name), "%s", name);
    return ask(c, &w);
}

static struct job *submitted(struct core *c, const char *name, const char *tenant, uint32_t pods,
                             int64_t minutes)
{
    struct spec *s = site_spec(name, pods, 8);

    s->tenant = tenant;
    s->max_runtime_us = minutes * 60 * USEC_PER_SEC;
    s->start_timeout_us = 600 * USEC_PER_SEC;
    s->checkpoint_grace_us = 0;
    return core_job(c, core_submit(c, s));
}

static const char all[] = "n0\nn1\nn2\nn3\n";

static void a_gang_that_ends_before_a_window_uses_its_nodes_and_a_longer_one_waits(void **state)
{
    struct core *c = *state;
    struct job *fits, *late;
    struct explain x;

    assert_int_equal(reserve(c, "", all, 2, 1).code, ERR_OK);
    late = submitted(c, "late", "t", 2, 111);
    fits = submitted(c, "fits", "t", 2, 110);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(fits->state, JOB_BINDING);
    assert_int_equal(late->state, JOB_PENDING);
    explain_job(c->state, late, c->now, &x);
    assert_string_equal(x.code, "Maintenance");
    assert_non_null(strstr(x.text, "4 nodes are reserved for maintenance (power)"));
    assert_non_null(strstr(x.next_step, "maxRuntime of at most 1h50m"));
}

static void a_deadline_just_before_a_window_is_planned_around(void **state)
{
    struct core *c = *state;
    struct job *j, *fill = submitted(c, "fill", "t", 4, 600);
    struct spec *s = site_spec("j", 1, 8);
    struct reserved own;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, fill->id, POD_RUNNING);
    (void)reserve(c, "", all, 2, 1);
    s->tenant = "t";
    s->max_runtime_us = 4 * HOUR;
    s->deadline_us = c->now + 2 * HOUR;
    s->start_timeout_us = 600 * USEC_PER_SEC;
    s->checkpoint_grace_us = 0;
    j = core_job(c, core_submit(c, s));
    (void)alarm(20); /* not instant by instant until the window */
    assert_int_equal(core_cycle(c), 0);
    (void)alarm(0);
    assert_true(backfill_own(c->state, j, &own));
    assert_int_equal(own.at, backfill_end(fill, 0));
    /* it changes where a start would run into the window */
    assert_int_equal(window_changes(c->state, j, c->now), c->now + 110 * 60 * USEC_PER_SEC + 1);
    j->deadline_at += 1;
    assert_int_equal(window_changes(c->state, j, c->now - 3 * HOUR),
                     c->now - 130 * 60 * USEC_PER_SEC + 1);
}

static void it_starts_when_the_window_is_over_and_is_told_so_before(void **state)
{
    struct core *c = *state;
    struct job *j;
    struct estimates *e = estimates_create();
    struct estimate eta;
    usec_t over = c->now + 3 * HOUR;

    (void)reserve(c, "", all, 1, 2);
    j = submitted(c, "j", "t", 2, 240);
    assert_int_equal(core_cycle(c), 0);
    estimate_of(e, c->state, j, c->now, &eta);
    assert_int_equal(eta.kind, ESTIMATE_START);
    assert_int_equal(eta.at, over);
    core_pass(c, 2 * HOUR);
    assert_int_equal(core_cycle(c), 0);
    assert_true(state_next_wake(c->state, c->now) <= over);
    core_pass(c, HOUR);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
    assert_null(window_find(c->state, "power"));
    estimates_destroy(e);
}

static void while_it_runs_the_tenant_alone_uses_the_nodes_and_others_the_rest(void **state)
{
    struct core *c = *state;
    struct job *own, *other, *too_many;
    struct explain x;

    (void)reserve(c, "t", "n0\nn1\n", 0, 10);
    too_many = submitted(c, "too-many", "u", 3, 60);
    other = submitted(c, "other", "u", 2, 60);
    own = submitted(c, "own", "t", 2, 60);
    assert_int_equal(core_cycle(c), 2);
    assert_int_equal(own->state, JOB_BINDING);
    assert_int_equal(other->state, JOB_BINDING);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(other->members[i].node_ix != cluster_find(&c->state->cluster, "n0")->ix &&
                    other->members[i].node_ix != cluster_find(&c->state->cluster, "n1")->ix);
    core_see_all(c, other->id, POD_SUCCEEDED);
    core_see_all(c, own->id, POD_SUCCEEDED);
    assert_int_equal(core_cycle(c), 0);
    explain_job(c->state, too_many, c->now, &x);
    assert_string_equal(x.code, "ReservedForTenant");
}

static void the_tenants_gang_waits_for_the_begin_and_starts_then(void **state)
{
    struct core *c = *state;
    struct job *own;

    (void)reserve(c, "t", all, 1, 2);
    own = submitted(c, "own", "t", 4, 300);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, HOUR - USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 0);
    core_pass(c, USEC_PER_SEC);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(own->state, JOB_BINDING);
}

static void room_for_a_blocked_gang_is_kept_beside_a_window_not_in_it(void **state)
{
    struct core *c = *state;
    struct job *a = submitted(c, "a", "t", 4, 50), *blocked;
    struct reserved r;

    assert_int_equal(core_cycle(c), 1);
    core_see_all(c, a->id, POD_RUNNING);
    blocked = submitted(c, "blocked", "t", 4, 120);
    (void)reserve(c, "", "n2\n", 2, 1);
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, blocked, &r));
    assert_int_equal(r.at, c->now + 3 * HOUR); /* a ends after 50 min, too late for 2 h */
    assert_int_equal(cancel(c, "power").code, ERR_OK);
    core_pass(c, 11 * USEC_PER_SEC);
    c->state->is_quiet = false;
    assert_int_equal(core_cycle(c), 0);
    assert_true(backfill_own(c->state, blocked, &r));
    assert_true(r.at < c->now + HOUR);
}

static void a_cancelled_window_lets_who_waits_for_it_start(void **state)
{
    struct core *c = *state;
    struct job *j;

    (void)reserve(c, "", all, 1, 1);
    j = submitted(c, "j", "t", 4, 240);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(cancel(c, "power").code, ERR_OK);
    assert_int_equal(core_count(c, EFFECT_SAVE_WINDOW), 2);
    assert_int_equal(core_cycle(c), 1);
    assert_int_equal(j->state, JOB_BINDING);
}

static void running_gangs_that_overlap_are_left_alone_and_named(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "long", "t", 2, 240), *k = submitted(c, "short", "t", 1, 10);
    struct window w = {.from = c->now + HOUR, .to = c->now + 2 * HOUR};
    char *warning;

    assert_int_equal(core_cycle(c), 2);
    core_see_all(c, j->id, POD_RUNNING);
    core_see_all(c, k->id, POD_RUNNING);
    for (uint32_t i = 0; i < 4; i++)
        *vec_push(&w.nodes) = i;
    warning = window_warning(c->state, &w);
    assert_non_null(strstr(warning, j->name));
    assert_null(strstr(warning, k->name));
    free(warning);
    vec_fini(&w.nodes);
    assert_int_equal(reserve(c, "", all, 1, 1).code, ERR_OK);
    core_pass(c, HOUR);
    assert_int_equal(core_cycle(c), 0);
    assert_int_equal(j->state, JOB_RUNNING);
}

static void a_host_is_not_replaced_by_a_reserved_one(void **state)
{
    struct core *c = *state;
    struct job *j = submitted(c, "j", "t", 2, 240);
    uint32_t reserved = IX_NONE;
    char nodes[NODE_NAME_MAX + 2] = "";

    assert_int_equal(core_cycle(c), 1);
    for (uint32_t i = 0; i < 4; i++)
        if (j->members[0].node_ix != i && j->members[1].node_ix != i && nodes[0] == '\0') {
            reserved = i;
            (void)snprintf(nodes, sizeof(nodes), "%s\n", cluster_node(&c->state->cluster, i)->name);
        }
    (void)reserve(c, "", nodes, 1, 1);
    core_refuse(c, j, 0, REFUSAL_HOST);
    (void)core_cycle(c);
    assert_int_equal(j->n_replaced, 1);
    assert_int_not_equal(j->members[0].node_ix, reserved);
}

static void wishes_that_cannot_be_are_refused_and_say_why(void **state)
{
    struct core *c = *state;

    assert_int_equal(reserve(c, "", "nosuch\n", 1, 1).code, ERR_NOT_FOUND);
    assert_int_equal(reserve(c, "nosuch", all, 1, 1).code, ERR_NOT_FOUND);
    assert_int_equal(reserve(c, "", all, 1, 0).code, ERR_INVALID);
    assert_int_equal(reserve(c, "", all, -2, 1).code, ERR_INVALID);
    assert_int_equal(cancel(c, "power").code, ERR_NOT_FOUND);
    assert_int_equal(reserve(c, "", all, 1, 1).code, ERR_OK);
    assert_int_equal(reserve(c, "", all, 3, 1).code, ERR_CONFLICT);
    assert_int_equal(core_count(c, EFFECT_SAVE_WINDOW), 1);
}

/* The core of fake_core.h with a second tenant, "u". */
static int set_up(void **state)
{
    struct core *c;

    (void)core_set_up(state);
    c = *state;
    state_destroy(c->state);
    (void)site_tenant(&c->settings, "u");
    c->state = state_create(&c->settings);
    core_nodes(c, 4);
    core_up(c);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, core_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gang_that_ends_before_a_window_uses_its_nodes_and_a_longer_one_waits),
        TEST(a_deadline_just_before_a_window_is_planned_around),
        TEST(it_starts_when_the_window_is_over_and_is_told_so_before),
        TEST(while_it_runs_the_tenant_alone_uses_the_nodes_and_others_the_rest),
        TEST(the_tenants_gang_waits_for_the_begin_and_starts_then),
        TEST(room_for_a_blocked_gang_is_kept_beside_a_window_not_in_it),
        TEST(a_cancelled_window_lets_who_waits_for_it_start),
        TEST(running_gangs_that_overlap_are_left_alone_and_named),
        TEST(a_host_is_not_replaced_by_a_reserved_one),
        TEST(wishes_that_cannot_be_are_refused_and_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
