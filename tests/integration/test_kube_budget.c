/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_budget.c - the PodDisruptionBudget of a gang in the API, against the stand-in. */
#include "kube_world.h"

#define BUDGETS "/apis/policy/v1/namespaces/team/poddisruptionbudgets"

static struct team *guarded(uint64_t job)
{
    struct team *t = team_create(job, NULL);

    t->gang.has_budget = true;
    t->gang.min_available = 3;
    return t;
}

static cJSON *budget(struct world *w, const char *name)
{
    char *path = xasprintf(BUDGETS "/%s", name);
    cJSON *ret = ask(w, "GET", path, NULL);

    free(path);
    return ret;
}

static void it_comes_with_the_start_and_goes_with_any_stop(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = guarded(901);
    char id[JOB_ID_TEXT + 1];
    cJSON *o;

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound) && stat_of(w, "objects.poddisruptionbudgets") == 1);
    o = budget(w, "train-0901");
    assert_int_equal(json_int(o, "spec.minAvailable", -1), 3);
    assert_string_equal(
        json_get(json_path(o, "spec.selector.matchLabels"), LABEL_PREFIX "job-id")->valuestring,
        job_id_format(id, t->gang.job));
    cJSON_Delete(o);
    t->gang.has_service = false; /* the job goes on with another attempt */
    stop(w, t);
    world_until(w, all(w->is_gone) && w->n_budget_gone);
    assert_int_equal(stat_of(w, "objects.poddisruptionbudgets"), 0);
    assert_int_equal(stat_of(w, "objects.services"), 1);
    team_destroy(t);
    world_destroy(w);
}

static void one_of_somebody_else_is_left_alone_and_the_gang_runs(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = guarded(902);
    cJSON *o;

    (void)state;
    cJSON_Delete(ask(w, "POST", BUDGETS,
                     "{\"metadata\":{\"name\":\"train-0902\"},\"spec\":{\"minAvailable\":7}}"));
    start(w, t);
    world_until(w, all(w->is_bound) && w->n_budget_refused);
    assert_non_null(strstr(w->budget_text, "not ours"));
    stop(w, t);
    world_until(w, all(w->is_gone) && w->n_service_gone && w->n_budget_gone);
    o = budget(w, "train-0902");
    assert_int_equal(json_int(o, "spec.minAvailable", -1), 7);
    cJSON_Delete(o);
    assert_int_equal(w->n_budget_refused, 1);
    team_destroy(t);
    world_destroy(w);
}

#define FORBID(verb)                                                                               \
    "[{\"action\":\"status\",\"verb\":\"" verb "\",\"resource\":\"poddisruptionbudgets\","         \
    "\"code\":403,\"reason\":\"Forbidden\",\"message\":\"poddisruptionbudgets.policy is "          \
    "forbidden: User \\\"queued\\\" cannot " verb " resource\"}]"

static void without_the_right_to_make_it_the_gang_runs(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = guarded(903);

    (void)state;
    faults(w, FORBID("create"));
    start(w, t);
    world_until(w, all(w->is_bound) && w->n_budget_refused);
    assert_non_null(strstr(w->budget_text, "cannot create resource"));
    assert_false(w->is_refused[0]);
    stop(w, t);
    world_until(w, all(w->is_gone) && w->n_service_gone && w->n_budget_gone);
    team_destroy(t);
    world_destroy(w);
}

static void a_server_too_busy_for_it_holds_up_no_pod(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = guarded(904);

    (void)state;
    faults(w, "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"poddisruptionbudgets\","
              "\"code\":429,\"retryAfter\":1,\"count\":1}]");
    start(w, t);
    world_until(w, all(w->is_bound));
    assert_int_equal(stat_of(w, "objects.poddisruptionbudgets"), 0);
    world_until(w, stat_of(w, "objects.poddisruptionbudgets") == 1);
    t->gang.has_budget = true;
    stop_and_wait(w, t);
    world_until(w, w->n_budget_gone);
    team_destroy(t);
    world_destroy(w);
}

static void one_that_may_not_be_deleted_keeps_no_gang_from_its_end(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = guarded(905);

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound) && stat_of(w, "objects.poddisruptionbudgets") == 1);
    faults(w, FORBID("delete"));
    stop(w, t);
    world_until(w, all(w->is_gone) && w->n_service_gone && w->n_budget_gone);
    assert_int_equal(stat_of(w, "objects.poddisruptionbudgets"), 1);
    team_destroy(t);
    world_destroy(w);
}

static void a_create_whose_answer_is_lost_is_found(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = guarded(906);

    (void)state;
    faults(w, "[{\"action\":\"lose\",\"verb\":\"create\",\"resource\":\"poddisruptionbudgets\","
              "\"count\":1}]");
    start(w, t);
    world_until(w, all(w->is_bound) && stat_of(w, "objects.poddisruptionbudgets") == 1);
    stop_and_wait(w, t);
    world_until(w, w->n_budget_gone);
    assert_int_equal(stat_of(w, "objects.poddisruptionbudgets"), 0);
    assert_int_equal(w->n_budget_refused, 0);
    team_destroy(t);
    world_destroy(w);
}

static void each_index_of_an_array_has_its_own(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = guarded(907);
    cJSON *o;

    (void)state;
    t->gang.array = (struct job_id){900};
    t->gang.array_index = 5;
    start(w, t);
    world_until(w, all(w->is_bound) && stat_of(w, "objects.poddisruptionbudgets") == 1);
    o = budget(w, "train-0907-5");
    assert_int_equal(json_int(o, "spec.minAvailable", -1), 3);
    cJSON_Delete(o);
    t->gang.has_service = false; /* it is the array's */
    stop(w, t);
    world_until(w, all(w->is_gone) && w->n_budget_gone);
    assert_int_equal(stat_of(w, "objects.poddisruptionbudgets"), 0);
    team_destroy(t);
    world_destroy(w);
}

static void a_stop_by_the_next_daemon_finds_and_deletes_it(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = guarded(908);

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound) && stat_of(w, "objects.poddisruptionbudgets") == 1);
    adapter_stop(w);
    world_forget(w);
    adapter_start(w, NULL);
    stop_and_wait(w, t);
    world_until(w, w->n_budget_gone);
    assert_int_equal(stat_of(w, "objects.poddisruptionbudgets"), 0);
    team_destroy(t);
    world_destroy(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_with_the_start_and_goes_with_any_stop),
        cmocka_unit_test(one_of_somebody_else_is_left_alone_and_the_gang_runs),
        cmocka_unit_test(without_the_right_to_make_it_the_gang_runs),
        cmocka_unit_test(a_server_too_busy_for_it_holds_up_no_pod),
        cmocka_unit_test(one_that_may_not_be_deleted_keeps_no_gang_from_its_end),
        cmocka_unit_test(a_create_whose_answer_is_lost_is_found),
        cmocka_unit_test(each_index_of_an_array_has_its_own),
        cmocka_unit_test(a_stop_by_the_next_daemon_finds_and_deletes_it),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
