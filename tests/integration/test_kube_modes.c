/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_modes.c - ways to write: events on pods, pods that are created with their node, and a
 * member that goes to another host. Against the stand-in API server; see kube_world.h.
 */
#include "kube_world.h"

#include "kube/kube_event.h"

static struct world *world_with(bool is_direct, bool has_events)
{
    struct world *w = world_ready(NULL);

    kube_set_modes(w->kube, &(struct kube_modes){is_direct, has_events});
    return w;
}

static struct team *scored_team(uint64_t job)
{
    struct team *t = team_create(job, NULL);

    t->gang.score = 935;
    (void)snprintf(t->gang.score_text, sizeof(t->gang.score_text),
                   "score 935 (topology 1000 = best 1100 / cost 1100, packing 675)");
    return t;
}

/* ---- events */

static void each_bound_pod_gets_one_event_with_the_score(void **state)
{
    struct world *w = world_with(false, true);
    struct team *t = scored_team(21);
    cJSON *list, *item;
    int n = 0;

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound) && stat_of(w, "objects.events") == PODS);
    list = ask(w, "GET", "/apis/events.k8s.io/v1/namespaces/team/events", NULL);
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(list, "items"))
    {
        n++;
        assert_string_equal(json_text(item, "reason"), "GangPlaced");
        assert_string_equal(json_text(item, "type"), "Normal");
        assert_string_equal(json_text(item, "action"), "Binding");
        assert_string_equal(json_text(item, "reportingController"), "gang.queued/queued");
        assert_string_equal(json_text(item, "regarding.kind"), "Pod");
        assert_int_equal(strlen(json_text(item, "regarding.uid")), 36);
        assert_non_null(strstr(json_text(item, "note"), "of 4 placed on node-00"));
        assert_non_null(strstr(json_text(item, "note"), "score 935 (topology 1000"));
    }
    assert_int_equal(n, PODS);
    cJSON_Delete(list);
    stop_and_wait(w, t);
    assert_int_equal(stat_of(w, "violations"), 0);
    team_destroy(t);
    world_destroy(w);
}

static void events_that_fail_disturb_no_gang_and_are_not_asked_for_for_ever(void **state)
{
    static const char *const rules[] = {
        "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"events\",\"code\":503}]",
        ("[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"events\",\"code\":403,"
         "\"reason\":\"Forbidden\"}]"),
        "[{\"action\":\"lose\",\"verb\":\"create\",\"resource\":\"events\"}]",
    };

    (void)state;
    for (uint64_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct world *w = world_with(false, true);
        struct team *t = scored_team(30 + i);
        int asked;

        faults(w, rules[i]);
        start(w, t);
        world_until(w, all(w->is_bound));
        world_run(w, 1500 * USEC_PER_MSEC);
        assert_int_equal(w->is_up, 1);
        asked = stat_of(w, "requests.create.events");
        assert_in_range(asked, 1, PODS * EVENT_TRIES);
        world_run(w, 500 * USEC_PER_MSEC);
        assert_in_range(stat_of(w, "requests.create.events"), asked, PODS * EVENT_TRIES);
        stop_and_wait(w, t);
        team_destroy(t);
        world_destroy(w);
    }
}

static void a_slow_event_lane_delays_no_other_gang(void **state)
{
    struct world *w = world_with(false, true);
    usec_t began;

    (void)state;
    faults(w, "[{\"action\":\"delay\",\"verb\":\"create\",\"resource\":\"events\",\"ms\":3000}]");
    began = http_now();
    for (uint64_t i = 0; i < 4; i++) {
        struct team *t = scored_team(40 + i);

        world_forget(w);
        start(w, t);
        world_until(w, all(w->is_bound));
        stop_and_wait(w, t);
        team_destroy(t);
    }
    assert_true(http_now() - began < 3 * USEC_PER_SEC);
    world_destroy(w);
}

static void without_the_mode_there_is_no_event(void **state)
{
    struct world *w = world_with(false, false);
    struct team *t = scored_team(50);

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound));
    world_run(w, 300 * USEC_PER_MSEC);
    assert_int_equal(stat_of(w, "objects.events"), 0);
    stop_and_wait(w, t);
    team_destroy(t);
    world_destroy(w);
}

/* ---- direct */

static void a_direct_gang_is_made_with_one_write_a_pod(void **state)
{
    struct world *w = world_with(true, true);
    struct team *t = scored_team(60);

    (void)state;
    start(w, t);
    world_until(w, pods_in(w, POD_RUNNING, t->gang.job) == PODS);
    assert_true(all(w->is_bound));
    assert_int_equal(stat_of(w, "requests.create.pods"), PODS);
    assert_int_equal(stat_of(w, "requests.create.services"), 1);
    for (size_t i = 0; i < w->pods.n; i++)
        assert_int_equal(strncmp(w->pods.v[i].node, "node-00", 7), 0);
    world_until(w, stat_of(w, "objects.events") == PODS);
    stop_and_wait(w, t);
    assert_int_equal(stat_of(w, "objects.pods"), 0);
    assert_int_equal(stat_of(w, "violations"), 0);
    team_destroy(t);
    world_destroy(w);
}

static void every_fault_of_a_direct_start_ends_in_one_bound_pod_each(void **state)
{
    static const char *const rules[] = {
        "[{\"action\":\"lose\",\"verb\":\"create\",\"resource\":\"pods\",\"count\":3}]",
        "[{\"action\":\"lose\",\"verb\":\"get\",\"count\":2},"
        "{\"action\":\"lose\",\"verb\":\"create\",\"count\":2}]",
        "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":503,\"count\":"
        "3}]",
        "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":409,\"reason\":"
        "\"AlreadyExists\",\"count\":2}]",
        "[{\"action\":\"cut\",\"verb\":\"create\",\"resource\":\"pods\",\"bytes\":100,\"count\":2}"
        "]",
    };
    struct world *w = world_with(true, false);

    (void)state;
    for (uint64_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct team *t = scored_team(70 + i);

        faults(w, rules[i]);
        world_forget(w);
        start(w, t);
        world_until(w, all(w->is_bound));
        assert_int_equal(stat_of(w, "objects.pods"), PODS);
        faults(w, NULL);
        stop_and_wait(w, t);
        team_destroy(t);
    }
    assert_int_equal(stat_of(w, "violations"), 0);
    world_destroy(w);
}

/* Some run already when a later one is refused: all of them go. */
static void a_quota_in_the_midst_of_a_direct_gang_undoes_what_runs(void **state)
{
    struct world *w = world_with(true, false);
    struct team *t = scored_team(80);

    (void)state;
    faults(w, "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":403,"
              "\"reason\":\"Forbidden\",\"message\":\"exceeded quota: gpu\",\"nth\":4}]");
    start(w, t);
    world_until(w, w->refusal_text[0]);
    assert_int_equal(w->refusal, REFUSAL_TRY_LATER);
    stop_and_wait(w, t);
    world_until(w, stat_of(w, "objects.pods") == 0);
    team_destroy(t);
    world_destroy(w);
}

/* The name of the pod in the refusal is no name of a host. */
static void a_quota_is_no_refusal_of_a_host_whose_name_is_in_the_pods(void **state)
{
    struct world *w = world_with(true, false);
    struct team *t = scored_team(81);

    (void)state;
    (void)str_copy(t->pods[3].node, sizeof(t->pods[3].node), "worker");
    faults(w, "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"name\":"
              "\"train-0081-worker-3*\",\"code\":403,\"reason\":\"Forbidden\",\"message\":"
              "\"pods \\\"train-0081-worker-3-1\\\" is forbidden: exceeded quota: gpu\"}]");
    start(w, t);
    world_until(w, w->is_refused[3]);
    assert_int_equal(w->refusal, REFUSAL_TRY_LATER);
    stop_and_wait(w, t);
    team_destroy(t);
    world_destroy(w);
}

/* The daemon was started anew with the other mode while a gang was between create and bind. */
static void a_change_of_mode_finishes_gangs_of_the_other(void **state)
{
    struct world *w = world_with(false, false);

    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        struct team *t = scored_team(90 + i);

        faults(w, "[{\"action\":\"delay\",\"verb\":\"bind\",\"ms\":60}]");
        world_forget(w);
        start(w, t);
        world_run(w, (usec_t)i * 15 * USEC_PER_MSEC);
        adapter_stop(w);
        w->n_synced = 0;
        adapter_start(w, NULL);
        kube_set_modes(w->kube, &(struct kube_modes){.is_direct = i % 2 == 0});
        world_until(w, w->n_synced);
        world_forget(w);
        start(w, t);
        world_until(w, all(w->is_bound));
        assert_int_equal(stat_of(w, "objects.pods"), PODS);
        stop_and_wait(w, t);
        world_until(w, stat_of(w, "objects.pods") == 0);
        team_destroy(t);
    }
    assert_int_equal(stat_of(w, "violations"), 0);
    world_destroy(w);
}

/* ---- another host */

static void a_refused_binding_goes_to_the_host_that_the_core_names(void **state)
{
    struct world *w = world_with(false, false);
    struct team *t = scored_team(110);
    char *path = pod_path(t, 2);
    cJSON *pod;

    (void)state;
    faults(w, "[{\"action\":\"status\",\"verb\":\"bind\",\"name\":\"train-0110-worker-2*\","
              "\"code\":403,\"reason\":\"Forbidden\",\"message\":\"admission webhook denied the "
              "request: node-002 is closed\",\"count\":1}]");
    start(w, t);
    world_until(w, w->is_refused[2]);
    assert_int_equal(w->refusal, REFUSAL_HOST);
    assert_non_null(strstr(w->refusal_text, "node-002 is closed"));
    (void)str_copy(t->pods[2].node, sizeof(t->pods[2].node), "node-006");
    start(w, t);
    world_until(w, all(w->is_bound));
    assert_int_equal(stat_of(w, "requests.create.pods"), PODS); /* none was made again */
    pod = ask(w, "GET", path, NULL);
    assert_string_equal(json_text(pod, "spec.nodeName"), "node-006");
    assert_string_equal(
        json_get(json_path(pod, "metadata.annotations"), "gang.queued/placement")->valuestring,
        "node-006");
    cJSON_Delete(pod);
    stop_and_wait(w, t);
    assert_int_equal(stat_of(w, "violations"), 0);
    free(path);
    team_destroy(t);
    world_destroy(w);
}

static void a_direct_create_that_names_a_refused_host_goes_to_another(void **state)
{
    struct world *w = world_with(true, false);
    struct team *t = scored_team(115);
    char *path = pod_path(t, 2);
    cJSON *pod;

    (void)state;
    faults(w, "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"name\":"
              "\"train-0115-worker-2*\",\"code\":422,\"reason\":\"Invalid\",\"message\":"
              "\"denied request: node-002 is closed\",\"count\":1}]");
    start(w, t);
    world_until(w, w->is_refused[2]);
    assert_int_equal(w->refusal, REFUSAL_HOST);
    (void)str_copy(t->pods[2].node, sizeof(t->pods[2].node), "node-006");
    start(w, t);
    world_until(w, all(w->is_bound));
    assert_int_equal(stat_of(w, "objects.pods"), PODS);
    pod = ask(w, "GET", path, NULL);
    assert_string_equal(json_text(pod, "spec.nodeName"), "node-006");
    cJSON_Delete(pod);
    stop_and_wait(w, t);
    assert_int_equal(stat_of(w, "violations"), 0);
    free(path);
    team_destroy(t);
    world_destroy(w);
}

static void what_hangs_on_no_host_is_not_told_as_if(void **state)
{
    struct world *w = world_with(false, false);
    struct team *t = scored_team(120);

    (void)state;
    faults(w, "[{\"action\":\"status\",\"verb\":\"bind\",\"code\":403,\"reason\":\"Forbidden\","
              "\"message\":\"pods is forbidden: User \\\"queued\\\" cannot create resource "
              "\\\"pods/binding\\\"\",\"count\":1}]");
    start(w, t);
    world_until(w, w->refusal_text[0]);
    assert_int_equal(w->refusal, REFUSAL_BIND);
    faults(w, NULL);
    stop_and_wait(w, t);
    team_destroy(t);
    world_destroy(w);
}

/* ---- a server that has no room */

enum { MANY = 200 };

/* The same for a gang that none of the flags of the world are for: it never gets to a binding. */
static struct gang_pod *make_many(struct team *t)
{
    struct gang_pod *pods = xcalloc(MANY, sizeof(*pods));

    for (uint32_t i = 0; i < MANY; i++) {
        pods[i] = t->pods[i % PODS];
        pods[i].member = pods[i].index = pods[i].rank = i;
    }
    t->gang.pods = pods;
    t->gang.n_pods = t->gang.size = MANY;
    return pods;
}

static void a_whole_gang_backs_off_as_long_as_the_server_asks(void **state)
{
    struct world *w = world_with(false, false);
    struct team *t = scored_team(130);
    struct gang_pod *pods = make_many(t);
    int asked;

    (void)state;
    faults(w, "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":429,"
              "\"text\":true,\"retryAfter\":20}]");
    start(w, t);
    world_until(w, stat_of(w, "requests.create.pods") >= 2 * HTTP_CALLS_PER_LANE);
    world_run(w, 1500 * USEC_PER_MSEC);
    asked = stat_of(w, "requests.create.pods");
    /* what was on its way or in the queue when the first answer came */
    assert_in_range(asked, 1, 2 * HTTP_CALLS_PER_LANE + HTTP_QUEUE_ROOM);
    world_run(w, 500 * USEC_PER_MSEC);
    assert_int_equal(stat_of(w, "requests.create.pods"), asked);
    free(pods);
    team_destroy(t);
    world_destroy(w);
}

static void one_gang_that_is_sent_away_holds_up_no_other(void **state)
{
    struct world *w = world_with(false, false);
    struct team *away = scored_team(140), *other = scored_team(141);

    (void)state;
    faults(w, "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"name\":"
              "\"train-0140*\",\"code\":429,\"text\":true,\"retryAfter\":20}]");
    start(w, away);
    world_run(w, 200 * USEC_PER_MSEC);
    world_forget(w);
    start(w, other);
    world_until(w, all(w->is_bound));
    assert_int_equal(stat_of(w, "objects.pods"), PODS);
    team_destroy(away);
    team_destroy(other);
    world_destroy(w);
}

static void a_server_that_comes_back_is_used_within_a_moment(void **state)
{
    /* so long a back-off that only the news of the server can end it in time */
    static const struct kube_times slow = {.backoff_base_us = 2 * USEC_PER_SEC};
    struct world *w = world_ready(&slow);
    struct team *t = scored_team(150);
    usec_t back;

    (void)state;
    server_stop(w, SIGKILL);
    start(w, t);
    world_until(w, w->is_up == 0);
    world_run(w, 6 * USEC_PER_SEC);
    server_start(w, (const char *const[]){"--make-nodes", "8", "--namespaces", "team", NULL});
    world_until(w, w->is_up == 1);
    back = http_now();
    world_until(w, all(w->is_bound));
    assert_true(http_now() - back < 3 * USEC_PER_SEC);
    team_destroy(t);
    world_destroy(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bound_pod_gets_one_event_with_the_score),
        cmocka_unit_test(events_that_fail_disturb_no_gang_and_are_not_asked_for_for_ever),
        cmocka_unit_test(a_slow_event_lane_delays_no_other_gang),
        cmocka_unit_test(without_the_mode_there_is_no_event),
        cmocka_unit_test(a_direct_gang_is_made_with_one_write_a_pod),
        cmocka_unit_test(every_fault_of_a_direct_start_ends_in_one_bound_pod_each),
        cmocka_unit_test(a_quota_in_the_midst_of_a_direct_gang_undoes_what_runs),
        cmocka_unit_test(a_quota_is_no_refusal_of_a_host_whose_name_is_in_the_pods),
        cmocka_unit_test(a_change_of_mode_finishes_gangs_of_the_other),
        cmocka_unit_test(a_refused_binding_goes_to_the_host_that_the_core_names),
        cmocka_unit_test(a_direct_create_that_names_a_refused_host_goes_to_another),
        cmocka_unit_test(what_hangs_on_no_host_is_not_told_as_if),
        cmocka_unit_test(a_whole_gang_backs_off_as_long_as_the_server_asks),
        cmocka_unit_test(one_gang_that_is_sent_away_holds_up_no_other),
        cmocka_unit_test(a_server_that_comes_back_is_used_within_a_moment),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
