/* SPDX-License-Identifier: Apache-2.0 */
/* test_rpc_auth.c - who is who, and the whole matrix of method x role x own or foreign tenant.
 *
 * The expected answers stand in a table of their own here; every method of the dispatch table
 * must have a row, so that a new one cannot be forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fake/fake_rpc.h"
#include "rpc/rpc_dispatch.h"
#include "rpc/rpc_watch.h"
#include "util/log.h"
#include "util/mem.h"

enum { ALICE = 4242, BOB = 4343 };

static void a_peer_address_is_parsed_strictly(void **state)
{
    static const struct {
        const char *address;
        bool good;
        uint32_t uid;
    } rows[] = {
        {"localhost:4321:1234:77", true, 4321},
        {"localhost:0:0:1", true, 0},
        {"localhost:4294967294:0:1", true, 4294967294u},
        {"localhost:4294967295:0:1", false, 0},
        {"localhost:4294967296:0:1", false, 0},
        {"localhost:18446744073709551616:0:1", false, 0},
        {"localhost:-1:0:1", false, 0},
        {"localhost:+1:0:1", false, 0},
        {"localhost: 1:0:1", false, 0},
        {"localhost:00:0:1", false, 0},
        {"localhost:01:0:1", false, 0},
        {"localhost:1:0", false, 0},
        {"localhost:1:0:", false, 0},
        {"localhost:1:0:1:1", false, 0},
        {"localhost:1:0:1 ", false, 0},
        {"localhost:::", false, 0},
        {"localhost", false, 0},
        {"xlocalhost:1:0:1", false, 0},
        {"127.0.0.1", false, 0},
        {"", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t uid = 99;

        if (rpc_auth_parse(rows[i].address, &uid) != rows[i].good)
            fail_msg("%s", rows[i].address);
        assert_int_equal(uid, rows[i].good ? rows[i].uid : 99);
    }
}

static bool nobody(void *ctx, const char *name, struct rpc_user *ret)
{
    (void)ctx;
    (void)name;
    (void)ret;
    return false;
}

static bool everybody_views(void *ctx, const char *name, struct rpc_user *ret)
{
    (void)ctx;
    (void)name;
    *ret = (struct rpc_user){.role = RPC_VIEWER};
    return true;
}

static void identity_comes_from_the_address_and_the_configuration(void **state)
{
    struct rpc_setup setup = {.user = nobody, .loopback_user = ""};
    struct passwd *daemon = getpwnam("daemon");
    struct rpc_auth a;
    struct rpc_who who;
    struct err err;
    char address[64];

    (void)state;
    assert_non_null(daemon);
    (void)snprintf(address, sizeof(address), "localhost:%u:1:1", (unsigned)daemon->pw_uid);
    rpc_auth_init(&a, &setup);
    assert_int_equal(rpc_auth_peer(&a, "localhost:0:0:1", 1, &who, &err), 0);
    assert_true(who.caller.is_admin && who.user.role == RPC_ADMIN);
    assert_string_equal(who.caller.user, "root");
    assert_int_equal(rpc_auth_peer(&a, address, 1, &who, &err), -1);
    assert_int_equal(err.code, ERR_DENIED); /* known to the system, not to the configuration */
    assert_int_equal(rpc_auth_peer(&a, "localhost:3999999999:1:1", 1, &who, &err), -1);
    assert_int_equal(err.code, ERR_UNAUTHENTICATED);
    assert_int_equal(rpc_auth_peer(&a, NULL, 1, &who, &err), -1);
    assert_int_equal(err.code, ERR_UNAUTHENTICATED);
    assert_int_equal(rpc_auth_peer(&a, "127.0.0.1", 1, &who, &err), -1);
    assert_int_equal(err.code, ERR_UNAUTHENTICATED); /* no loopback user */

    setup.user = everybody_views;
    setup.loopback_user = "somebody-without-account";
    rpc_auth_init(&a, &setup);
    assert_int_equal(rpc_auth_peer(&a, address, 1, &who, &err), 0);
    assert_string_equal(who.caller.user, "daemon");
    assert_false(who.caller.is_admin);
    assert_int_equal(rpc_auth_peer(&a, "127.0.0.1", 1, &who, &err), 0);
    assert_string_equal(who.caller.user, "somebody-without-account");
    assert_false(who.caller.is_admin);
    assert_int_equal(rpc_auth_peer(&a, "10.1.2.3", 1, &who, &err), -1);
}

static void a_tenant_includes_its_subtree_and_no_namesake(void **state)
{
    (void)state;
    assert_true(rpc_auth_is_within("vision", "vision"));
    assert_true(rpc_auth_is_within("vision/a/b", "vision"));
    assert_false(rpc_auth_is_within("visionary", "vision"));
    assert_false(rpc_auth_is_within("vision", "vision/a"));
    assert_false(rpc_auth_is_within("", "vision"));
}

/* ---- the matrix */

enum whose { OWN, COLLEAGUES, FOREIGN, WHOSES };

/* Expected codes by role, for a job (or tenant) that is the caller's own, a colleague's in the same
 * tenant, or of a foreign tenant. */
static const struct expected {
    enum rpc_method method;
    enum err_code code[WHOSES][RPC_ADMIN + 1]; /* viewer, submitter, tenant-admin, admin */
} expected[] = {
    {RPC_HELLO, {{ERR_OK, ERR_OK, ERR_OK, ERR_OK}, {0}, {0}}},
    {RPC_SUBMIT,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK}}},
    {RPC_ESTIMATE,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK}}},
    {RPC_CANCEL,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_HOLD,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_RELEASE,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_REQUEUE,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_PREEMPT,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_CHECKPOINTED,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_UPDATE,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_GET, {{0}, {0}, {ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_WHY, {{0}, {0}, {ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_WATCH, {{0}, {0}, {ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_LIST, {{0}, {0}, {ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_NODES, {{0}, {0}, {0}}},
    {RPC_DRAIN,
     {{ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK}}},
    {RPC_UNDRAIN,
     {{ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK}}},
    {RPC_TENANT_STOP,
     {{ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_TENANT_RESUME,
     {{ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_RESERVE,
     {{ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK}}},
    {RPC_UNRESERVE,
     {{ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK}}},
    {RPC_RESERVATIONS, {{0}, {0}, {0}}},
    {RPC_DEFRAG,
     {{ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK}}},
    {RPC_CHANGE_SELECTED,
     {{ERR_DENIED, ERR_OK, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_OK, ERR_OK},
      {ERR_DENIED, ERR_NOT_FOUND, ERR_NOT_FOUND, ERR_OK}}},
    {RPC_CONFIG,
     {{ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK},
      {ERR_DENIED, ERR_DENIED, ERR_DENIED, ERR_OK}}},
    {RPC_TOPOLOGY, {{0}, {0}, {0}}},
    {RPC_TENANTS, {{0}, {0}, {0}}},
};

struct rig {
    struct fake_rpc f;
    struct rpc_setup setup;
    struct rpc_auth auth;
    struct rpc_tokens tokens;
    struct rpc_watches *watches;
    struct estimates *estimates;
    struct rpc_out out;
    const struct job *jobs[WHOSES];
};

static enum rpc_sent swallow(void *ctx, uint32_t peer, const void *bytes, size_t len)
{
    (void)ctx;
    (void)peer;
    (void)bytes;
    (void)len;
    return RPC_SENT;
}

static int set_up(void **state)
{
    static const uint8_t instance[16] = {1};
    struct rig *g = xcalloc(1, sizeof(*g));

    log_setup(LOG_LEVEL_ERROR, false);
    fake_rpc_init(&g->f);
    g->setup = fake_rpc_setup(&g->f);
    rpc_auth_init(&g->auth, &g->setup);
    g->estimates = estimates_create();
    g->watches =
        rpc_watches_create(&(struct rpc_watch_env){&g->setup, &g->auth, instance, swallow, NULL});
    g->jobs[OWN] = fake_rpc_job(&g->f, "vision", "own", ALICE);
    g->jobs[COLLEAGUES] = fake_rpc_job(&g->f, "vision/inner", "colleagues", BOB);
    g->jobs[FOREIGN] = fake_rpc_job(&g->f, "other", "foreign", BOB);
    *state = g;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *g = *state;

    rpc_watches_destroy(g->watches);
    estimates_destroy(g->estimates);
    rpc_tokens_fini(&g->tokens);
    rpc_out_fini(&g->out);
    fake_rpc_fini(&g->f);
    free(g);
    return 0;
}

static bool changes_job(enum rpc_method method)
{
    return method == RPC_CANCEL || method == RPC_HOLD || method == RPC_RELEASE ||
           method == RPC_REQUEUE || method == RPC_PREEMPT || method == RPC_CHECKPOINTED ||
           method == RPC_UPDATE;
}

static void fill_request(struct rig *g, struct rpc_request *r, enum rpc_method method,
                         enum whose whose)
{
    const struct job *j = g->jobs[whose];
    struct spec *s;

    *r = (struct rpc_request){.method = method, .method_number = (uint16_t)method, .job = ""};
    r->filter = (struct rpc_filter){.all = true, .tenant = "", .user = ""};
    if (changes_job(method) || method == RPC_GET || method == RPC_WHY || method == RPC_WATCH)
        r->job = arena_strdup(&r->arena, j->name);
    if (changes_job(method))
        r->u.change.reason = "";
    if (method == RPC_UPDATE) {
        r->u.update.reason = r->u.update.tenant = "";
        r->u.update.priority_class = r->u.update.required = r->u.update.preferred = "";
        r->u.update.max_runtime_us = 7200 * USEC_PER_SEC;
    }
    if (method == RPC_LIST || method == RPC_CHANGE_SELECTED)
        r->filter.tenant = arena_strdup(&r->arena, j->tenant);
    if (method == RPC_LIST)
        r->u.list.limit = LIST_PAGE_MAX;
    if (method == RPC_CHANGE_SELECTED) {
        r->filter.all = whose != OWN;
        r->u.change.reason = "";
        r->u.change.method = RPC_HOLD;
    }
    if (method == RPC_WATCH)
        r->u.watch.credit = 1;
    if (method == RPC_NODES) {
        r->u.nodes.limit = LIST_PAGE_MAX;
        r->u.nodes.after = "";
    }
    if (method == RPC_DRAIN || method == RPC_UNDRAIN) {
        r->u.drain.node = "n0";
        r->u.drain.reason = "";
    }
    if (method == RPC_RESERVE || method == RPC_UNRESERVE) {
        static const char *node = "n0";

        r->u.window.name = "power";
        r->u.window.tenant = r->u.window.domain = r->u.window.reason = "";
        r->u.window.nodes = &node;
        r->u.window.n_nodes = 1;
        r->u.window.to = INT64_C(1) << 60;
    }
    if (method == RPC_TENANT_STOP || method == RPC_TENANT_RESUME) {
        r->u.drain.node = arena_strdup(&r->arena, j->tenant);
        r->u.drain.reason = "";
    }
    if (method != RPC_SUBMIT && method != RPC_ESTIMATE)
        return;
    s = spec_create();
    if (method == RPC_SUBMIT)
        r->u.submit.spec = s;
    else
        r->u.estimate.spec = s;
    s->name = "new";
    s->tenant = arena_strdup(&s->arena, j->tenant);
    s->n_roles = 1;
    s->roles = arena_alloc(&s->arena, sizeof(*s->roles));
    s->roles[0] = (struct spec_role){.name = "worker",
                                     .replicas = 1,
                                     .cpu_milli = -1,
                                     .memory_bytes = -1,
                                     .shm_bytes = -1,
                                     .image = "i/i:1"};
}

/* The code of a call. The answer is left in g->out. */
static enum err_code call(struct rig *g, enum rpc_role role, enum rpc_method method,
                          enum whose whose)
{
    static const char *const tenants[] = {"vision"};
    static const uint8_t instance[16] = {1};
    static uint32_t peer;
    struct rpc_who who = {.caller = {.uid = ALICE, .user = "alice", .is_admin = role == RPC_ADMIN},
                          .user = {role, 1, tenants}};
    struct rpc_request req;
    struct rpc_call c = {.setup = &g->setup,
                         .state = g->f.state,
                         .who = &who,
                         .req = &req,
                         .peer = ++peer,
                         .now = g->f.clock.now,
                         .out = &g->out,
                         .tokens = &g->tokens,
                         .watches = g->watches,
                         .estimates = g->estimates,
                         .head = {.instance = instance, .text = ""}};
    struct err err = {0};
    int rc;

    fill_request(g, &req, method, whose);
    rpc_out_begin(&g->out);
    rc = rpc_dispatch(&c, &err);
    rpc_request_fini(&req);
    assert_true(rc == 0 || err.code != ERR_OK);
    return rc ? err.code : ERR_OK;
}

static const struct expected *row_of(enum rpc_method method)
{
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        if (expected[i].method == method)
            return &expected[i];
    fail_msg("method %d has no row in the matrix of the test", (int)method);
    return NULL;
}

static void check_row(struct rig *g, const struct rpc_method_row *method, int role)
{
    const struct expected *row = row_of(method->method);

    for (int whose = OWN; whose < WHOSES; whose++) {
        enum err_code code = call(g, (enum rpc_role)role, method->method, (enum whose)whose);

        if (code != row->code[whose][role])
            fail_msg("%s, role %d, whose %d: %s, expected %s", method->name, role, whose,
                     err_word((int)code), err_word((int)row->code[whose][role]));
    }
}

static void every_method_role_and_tenant_gets_the_answer_of_the_matrix(void **state)
{
    struct rig *g = *state;
    unsigned n;
    const struct rpc_method_row *methods = rpc_methods(&n);

    assert_int_equal(n, ARRAY_LEN(expected));
    for (unsigned i = 0; i < n; i++)
        for (int role = RPC_VIEWER; role <= RPC_ADMIN; role++)
            check_row(g, &methods[i], role);
}

static bool answer_says(const struct rig *g, const char *text)
{
    return memmem(g->out.bytes, g->out.len, text, strlen(text)) != NULL;
}

static void answers_hold_nothing_of_foreign_tenants(void **state)
{
    static const enum rpc_method reads[] = {RPC_HELLO, RPC_NODES, RPC_TENANTS, RPC_LIST};
    struct rig *g = *state;

    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        assert_int_equal(call(g, RPC_TENANT_ADMIN, reads[i], OWN), ERR_OK);
        assert_false(answer_says(g, "other"));
        assert_false(answer_says(g, "foreign"));
    }
    assert_int_equal(call(g, RPC_ADMIN, RPC_TENANTS, OWN), ERR_OK);
    assert_true(answer_says(g, "other"));
    assert_int_equal(call(g, RPC_ADMIN, RPC_LIST, FOREIGN), ERR_OK);
    assert_true(answer_says(g, g->jobs[FOREIGN]->name));
}

static void a_foreign_job_and_no_job_give_the_same_answer(void **state)
{
    static const char *const tenants[] = {"vision"};
    struct rig *g = *state;
    struct rpc_who who = {.caller = {.uid = ALICE, .user = "alice"},
                          .user = {RPC_TENANT_ADMIN, 1, tenants}};
    struct rpc_request req = {0};
    struct rpc_call c = {.setup = &g->setup, .state = g->f.state, .who = &who, .req = &req};
    const struct job *j = NULL;
    struct err foreign = {0}, none = {0};
    char id[JOB_ID_TEXT + 1];

    assert_int_equal(rpc_job_find(&c, "foreign", &j, &foreign), -1);
    assert_int_equal(rpc_job_find(&c, "nothing", &j, &none), -1);
    assert_int_equal(foreign.code, none.code);
    assert_string_equal(strchr(foreign.text + 10, ' '), strchr(none.text + 10, ' '));
    (void)job_id_format(id, g->jobs[FOREIGN]->id);
    assert_int_equal(rpc_job_find(&c, id, &j, &foreign), -1);
    assert_int_equal(foreign.code, ERR_NOT_FOUND);
    assert_null(j);
}

static void a_prefix_is_unique_among_the_jobs_that_one_sees(void **state)
{
    static const char *const tenants[] = {"vision"};
    struct rig *g = *state;
    struct rpc_who who = {.caller = {.uid = ALICE, .user = "alice"},
                          .user = {RPC_VIEWER, 1, tenants}};
    struct rpc_request req = {0};
    struct rpc_call c = {.setup = &g->setup, .state = g->f.state, .who = &who, .req = &req};
    const struct job *own = fake_rpc_job(&g->f, "vision", "pretrain", ALICE);
    char id[JOB_ID_TEXT + 1];
    const struct job *j = NULL;
    struct err err;

    (void)fake_rpc_job(&g->f, "other", "pretrain", BOB);
    assert_int_equal(rpc_job_find(&c, "pretrain", &j, &err), 0);
    assert_ptr_equal(j, own);
    (void)fake_rpc_job(&g->f, "vision", "pretrain", ALICE);
    assert_int_equal(rpc_job_find(&c, "pretrain", &j, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(rpc_job_find(&c, own->name, &j, &err), 0);
    assert_ptr_equal(j, own);
    (void)job_id_format(id, own->id);
    assert_int_equal(rpc_job_find(&c, id, &j, &err), 0);
    assert_ptr_equal(j, own);
    id[3] = '\0'; /* what all ids of this year share */
    assert_int_equal(rpc_job_find(&c, id, &j, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    assert_int_equal(rpc_job_find(&c, "v", &j, &err), -1); /* beyond any id */
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void the_only_tenant_is_the_default(void **state)
{
    static const char *const one[] = {"vision"}, *const two[] = {"vision", "other"};
    struct rig *g = *state;
    struct rpc_who who = {.user = {RPC_SUBMITTER, 1, one}};
    const char *tenant = NULL;
    struct err err;

    assert_int_equal(rpc_auth_tenant(&who, &g->f.settings, NULL, &tenant, &err), 0);
    assert_string_equal(tenant, "vision");
    who.user = (struct rpc_user){RPC_SUBMITTER, 2, two};
    assert_int_equal(rpc_auth_tenant(&who, &g->f.settings, NULL, &tenant, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
    who.user = (struct rpc_user){RPC_SUBMITTER, 0, NULL};
    assert_int_equal(rpc_auth_tenant(&who, &g->f.settings, NULL, &tenant, &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_address_is_parsed_strictly),
        cmocka_unit_test(identity_comes_from_the_address_and_the_configuration),
        cmocka_unit_test(a_tenant_includes_its_subtree_and_no_namesake),
        TEST(every_method_role_and_tenant_gets_the_answer_of_the_matrix),
        TEST(answers_hold_nothing_of_foreign_tenants),
        TEST(a_foreign_job_and_no_job_give_the_same_answer),
        TEST(a_prefix_is_unique_among_the_jobs_that_one_sees),
        TEST(the_only_tenant_is_the_default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
