/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_list.c - which jobs a filter lets through, and what a page says about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../fake/fake_rpc.h"
#include "../fake/fake_site.h"
#include "rpc/rpc_call.h"
#include "util/log.h"
#include "util/mem.h"

enum { ALICE = 4242, BOB = 4343 };

struct rig {
    struct fake_rpc f;
    struct rpc_setup setup;
    struct rpc_out out;
    struct rpc_who who;
    struct rpc_request req; /* changed by the tests */
    Queued__V1__ListReply *page;
    const struct job *first, *inner, *bobs, *foreign;
};

static int set_up(void **state)
{
    static const char *const vision[] = {"vision"};
    struct rig *g = xcalloc(1, sizeof(*g));

    log_setup(LOG_LEVEL_ERROR, false);
    fake_rpc_init(&g->f);
    g->setup = fake_rpc_setup(&g->f);
    g->who = (struct rpc_who){.caller = {.uid = ALICE, .user = "alice"},
                              .user = {RPC_VIEWER, 1, vision}};
    g->req = (struct rpc_request){.method = RPC_LIST, .job = ""};
    g->req.filter = (struct rpc_filter){.tenant = "", .user = ""};
    g->req.u.list.limit = LIST_PAGE_MAX;
    g->f.replicas = 2;
    g->first = fake_rpc_job(&g->f, "vision", "first", ALICE); /* takes both nodes */
    g->inner = fake_rpc_job(&g->f, "vision/inner", "inner", ALICE);
    g->bobs = fake_rpc_job(&g->f, "vision", "bobs", BOB);
    g->foreign = fake_rpc_job(&g->f, "other", "foreign", ALICE);
    *state = g;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *g = *state;

    if (g->page)
        queued__v1__list_reply__free_unpacked(g->page, NULL);
    rpc_out_fini(&g->out);
    fake_rpc_fini(&g->f);
    free(g);
    return 0;
}

static int list(struct rig *g, struct err *err)
{
    static const uint8_t instance[16] = {1};
    struct rpc_call c = {.setup = &g->setup,
                         .state = g->f.state,
                         .who = &g->who,
                         .req = &g->req,
                         .now = g->f.clock.now,
                         .out = &g->out,
                         .estimates = estimates_create(),
                         .head = {.instance = instance, .text = ""}};
    int rc;

    if (g->page)
        queued__v1__list_reply__free_unpacked(g->page, NULL);
    g->page = NULL;
    rpc_out_begin(&g->out);
    rc = rpc_job_list(&c, err);
    estimates_destroy(c.estimates);
    if (rc)
        return -1;
    g->page = queued__v1__list_reply__unpack(NULL, g->out.len - RPC_FRAME_BYTES,
                                             g->out.bytes + RPC_FRAME_BYTES);
    assert_non_null(g->page);
    return 0;
}

static void expect(struct rig *g, const struct job *a, const struct job *b, const struct job *c)
{
    const struct job *jobs[] = {a, b, c};
    struct err err;
    size_t n = 0;

    assert_int_equal(list(g, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(jobs) && jobs[i]; i++, n++) {
        assert_true(n < g->page->n_jobs);
        assert_string_equal(g->page->jobs[n]->name, jobs[i]->name);
    }
    assert_int_equal(g->page->n_jobs, n);
    assert_false(g->page->has_page_token);
}

static void without_a_filter_ones_own_jobs_are_listed(void **state)
{
    struct rig *g = *state;

    expect(g, g->first, g->inner, NULL); /* not the one in a tenant that she has no more */
}

static void all_is_every_tenant_that_one_sees(void **state)
{
    struct rig *g = *state;

    g->req.filter.all = true;
    expect(g, g->first, g->inner, g->bobs);
    g->who.caller.is_admin = true;
    g->who.user.role = RPC_ADMIN;
    g->req.filter.tenant = "other";
    expect(g, g->foreign, NULL, NULL);
}

static void a_tenant_is_listed_with_its_subtree(void **state)
{
    struct rig *g = *state;

    g->req.filter.all = true;
    g->req.filter.tenant = "vision/inner";
    expect(g, g->inner, NULL, NULL);
    g->req.filter.tenant = "vision";
    expect(g, g->first, g->inner, g->bobs);
}

static void states_choose(void **state)
{
    struct rig *g = *state;

    g->req.filter.all = true;
    g->req.filter.states = UINT32_C(1) << JOB_PENDING;
    expect(g, g->inner, g->bobs, NULL);
    g->req.filter.states = UINT32_C(1) << JOB_BINDING;
    expect(g, g->first, NULL, NULL);
    g->req.filter.states = UINT32_C(1) << JOB_FAILED;
    expect(g, NULL, NULL, NULL);
}

static void a_user_is_chosen_by_name(void **state)
{
    struct rig *g = *state;

    g->req.filter.user = "nobody";
    expect(g, NULL, NULL, NULL);
    g->req.filter.user = "alice"; /* the rig calls every submitter so */
    expect(g, g->first, g->inner, g->bobs);
}

static void labels_are_those_of_the_stored_spec(void **state)
{
    static struct spec_pair wanted[] = {{"team", "vision"}, {"kind", "test"}};
    struct rig *g = *state;
    struct event ev = {.kind = EV_JOB_SUBMIT};
    struct spec *s = ev.u.submit.spec = site_spec("labelled", 1, 0);
    usec_t wake;
    struct err err;

    s->tenant = s->ns = "vision";
    s->roles[0].image = "i/i:1";
    s->labels = (struct spec_pairs){wanted, 2};
    ev.u.submit.caller = (struct caller){.uid = ALICE, .user = "alice"};
    ev.u.submit.ref.request_id[0] = 0xab;
    assert_true(inbox_push(g->f.inbox, &ev));
    assert_int_equal(engine_turn(&g->f.engine, &wake, &err), 0);
    engine_acked(&g->f.engine);
    g->req.filter.all = true;
    g->req.filter.labels = (struct spec_pairs){wanted, 1};
    expect(g, g->f.state->by_id.v[4], NULL, NULL);
    assert_int_equal(g->page->jobs[0]->n_labels, 2);
    assert_null(g->page->jobs[0]->spec);
    g->req.filter.labels = (struct spec_pairs){(struct spec_pair[]){{"team", "audio"}}, 1};
    expect(g, NULL, NULL, NULL);
}

static void a_full_list_has_specs_and_attempts(void **state)
{
    struct rig *g = *state;

    g->req.u.list.full = true;
    expect(g, g->first, g->inner, NULL);
    assert_string_equal(g->page->jobs[0]->spec->name, "first");
    assert_string_equal(g->page->jobs[0]->spec->roles[0]->image, "registry.local/train:1");
    assert_int_equal(g->page->jobs[0]->attempts[0]->n_pods, 2);
    assert_string_equal(g->page->jobs[1]->spec->name, "inner");
    assert_int_equal(g->page->jobs[1]->n_attempts, 0);
}

static void a_token_goes_on_behind_the_last_job(void **state)
{
    struct rig *g = *state;
    struct err err;

    g->req.filter.all = true;
    g->req.u.list.limit = 1;
    assert_int_equal(list(g, &err), 0);
    assert_string_equal(g->page->jobs[0]->name, g->first->name);
    assert_int_equal(g->page->page_token.len, RPC_TOKEN_BYTES);
    memcpy(g->req.u.list.token, g->page->page_token.data, RPC_TOKEN_BYTES);
    g->req.u.list.has_token = true;
    g->req.u.list.limit = LIST_PAGE_MAX;
    expect(g, g->inner, g->bobs, NULL);
    g->who.caller.uid = BOB; /* somebody else's token */
    assert_int_equal(list(g, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_filter_ones_own_jobs_are_listed),
        TEST(all_is_every_tenant_that_one_sees),
        TEST(a_tenant_is_listed_with_its_subtree),
        TEST(states_choose),
        TEST(a_user_is_chosen_by_name),
        TEST(labels_are_those_of_the_stored_spec),
        TEST(a_full_list_has_specs_and_attempts),
        TEST(a_token_goes_on_behind_the_last_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
