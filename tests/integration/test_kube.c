/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube.c - gangs of the Kubernetes adapter against the stand-in API server, with its faults.
 *
 * Real HTTP on the loopback, simulated kubelets, no daemon. kube_world.h has the stand-in and the
 * adapter against it.
 */
#include "kube_world.h"

static void a_gang_starts_runs_ends_and_is_taken_away(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(7, "2s");
    cJSON *service;

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound));
    service = ask(w, "GET", "/api/v1/namespaces/team/services/train-0007", NULL);
    assert_true(json_is_true(service, "spec.publishNotReadyAddresses"));
    cJSON_Delete(service);
    world_until(w, pods_in(w, POD_RUNNING, t->gang.job) == PODS);
    world_until(w, pods_in(w, POD_SUCCEEDED, t->gang.job) == PODS);
    for (size_t i = 0; i < w->pods.n; i++)
        assert_int_equal(strncmp(w->pods.v[i].node, "node-00", 7), 0);
    stop_and_wait(w, t);
    assert_int_equal(stat_of(w, "objects.pods"), 0);
    assert_int_equal(stat_of(w, "violations"), 0);
    team_destroy(t);
    world_destroy(w);
}

static void running_pods_end_within_their_grace(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(8, NULL);

    (void)state;
    start(w, t);
    world_until(w, pods_in(w, POD_RUNNING, t->gang.job) == PODS);
    stop_and_wait(w, t);
    assert_int_equal(stat_of(w, "objects.pods"), 0);
    team_destroy(t);
    world_destroy(w);
}

static void every_fault_of_a_start_ends_in_one_bound_pod_each(void **state)
{
    static const char *const rules[] = {
        "[{\"action\":\"lose\",\"verb\":\"create\",\"resource\":\"services\",\"count\":1}]",
        "[{\"action\":\"lose\",\"verb\":\"create\",\"resource\":\"pods\",\"count\":3}]",
        "[{\"action\":\"lose\",\"verb\":\"bind\",\"count\":3}]",
        "[{\"action\":\"lose\",\"verb\":\"get\",\"count\":1},"
        "{\"action\":\"lose\",\"verb\":\"create\",\"count\":1}]",
        "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":503,"
        "\"retryAfter\":1,\"count\":3}]",
        "[{\"action\":\"status\",\"verb\":\"bind\",\"code\":503,\"count\":3}]",
        "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":429,\"text\":"
        "true,\"count\":2}]",
        "[{\"action\":\"status\",\"verb\":\"bind\",\"code\":409,\"reason\":\"Conflict\",\"count\":"
        "2}]",
        "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":500,\"reason\":"
        "\"ServerTimeout\","
        "\"count\":2}]",
        "[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":409,\"reason\":"
        "\"AlreadyExists\","
        "\"count\":2}]",
        "[{\"action\":\"delay\",\"verb\":\"create\",\"ms\":300,\"count\":9}]",
        "[{\"action\":\"cut\",\"verb\":\"create\",\"resource\":\"pods\",\"bytes\":100,\"count\":2}"
        "]",
    };
    struct world *w = world_ready(NULL);

    (void)state;
    for (uint64_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct team *t = team_create(100 + i, NULL);

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

static void every_fault_of_a_stop_ends_with_nothing_left(void **state)
{
    static const char *const rules[] = {
        "[{\"action\":\"lose\",\"verb\":\"delete\",\"count\":5}]",
        "[{\"action\":\"status\",\"verb\":\"delete\",\"code\":503,\"count\":5}]",
        ("[{\"action\":\"status\",\"verb\":\"delete\",\"code\":429,\"retryAfter\":1,\"count\":2},"
         "{\"action\":\"lose\",\"verb\":\"get\",\"count\":1}]"),
    };
    struct world *w = world_ready(NULL);

    (void)state;
    for (uint64_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct team *t = team_create(200 + i, NULL);

        world_forget(w);
        start(w, t);
        world_until(w, all(w->is_bound));
        faults(w, rules[i]);
        stop_and_wait(w, t);
        world_until(w, stat_of(w, "objects.pods") == 0);
        faults(w, NULL);
        team_destroy(t);
    }
    world_destroy(w);
}

static void a_stop_overtakes_a_start_at_any_moment(void **state)
{
    struct world *w = world_ready(NULL);

    (void)state;
    faults(w, "[{\"action\":\"delay\",\"verb\":\"create\",\"ms\":40},"
              "{\"action\":\"delay\",\"verb\":\"bind\",\"ms\":40}]");
    for (uint64_t i = 0; i < 8; i++) {
        struct team *t = team_create(300 + i, NULL);

        world_forget(w);
        start(w, t);
        world_run(w, (usec_t)i * 20 * USEC_PER_MSEC);
        stop_and_wait(w, t);
        world_until(w, stat_of(w, "objects.pods") == 0);
        team_destroy(t);
    }
    assert_int_equal(stat_of(w, "violations"), 0);
    world_destroy(w);
}

static void a_start_carries_on_after_a_restart(void **state)
{
    struct world *w = world_ready(NULL);

    (void)state;
    faults(w, "[{\"action\":\"delay\",\"verb\":\"bind\",\"ms\":60}]");
    for (uint64_t i = 0; i < 6; i++) {
        struct team *t = team_create(400 + i, NULL);

        world_forget(w);
        start(w, t);
        world_run(w, (usec_t)i * 15 * USEC_PER_MSEC);
        adapter_stop(w);
        w->n_synced = 0;
        adapter_start(w, NULL);
        world_until(w, w->n_synced);
        world_forget(w);
        start(w, t);
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

/* What an adapter that died has made of pod i; the core knows its uid. */
/* A gang that runs with two pods is started with all, and given up to three again meanwhile. */
static void a_running_gang_grows_and_gives_up_what_is_under_way(void **state)
{
    struct world *w = world_ready(NULL);

    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        struct team *t = team_create(450 + i, NULL);

        world_forget(w);
        t->gang.n_pods = 2;
        start(w, t);
        world_until(w, w->is_bound[0] && w->is_bound[1]);
        assert_int_equal(stat_of(w, "objects.pods"), 2);
        t->pods[0].is_bound = t->pods[1].is_bound = true;
        faults(w, "[{\"action\":\"delay\",\"verb\":\"create\",\"ms\":40},"
                  "{\"action\":\"delay\",\"verb\":\"bind\",\"ms\":40}]");
        t->gang.n_pods = PODS;
        start(w, t);
        world_run(w, (usec_t)i * 20 * USEC_PER_MSEC);
        t->gang.n_pods = 3;
        start(w, t);
        world_until(w, w->is_bound[2]);
        t->gang.n_pods = PODS;
        start(w, t);
        world_until(w, all(w->is_bound));
        faults(w, NULL);
        assert_int_equal(stat_of(w, "objects.pods"), PODS);
        stop_and_wait(w, t);
        world_until(w, stat_of(w, "objects.pods") == 0);
        team_destroy(t);
    }
    assert_int_equal(stat_of(w, "violations"), 0);
    world_destroy(w);
}

/* Two pods come later, one after the other. */
static void pods_that_wait_are_made_by_a_later_start(void **state)
{
    struct world *w = world_ready(NULL);

    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        struct team *t = team_create(480 + i, NULL);

        world_forget(w);
        t->pods[2].waits = t->pods[3].waits = true;
        start(w, t);
        world_until(w, w->is_bound[0] && w->is_bound[1]);
        assert_int_equal(stat_of(w, "objects.pods"), 2);
        assert_false(w->is_bound[2] || w->is_bound[3]);
        t->pods[0].is_bound = t->pods[1].is_bound = i % 2;
        t->pods[2].waits = false;
        start(w, t);
        if (i >= 2)
            world_run(w, (usec_t)(i - 2) * 10 * USEC_PER_MSEC); /* the next start may overtake it */
        t->pods[3].waits = false;
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

static void a_gang_is_taken_away_before_all_of_it_was_made(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(490, NULL);

    (void)state;
    t->pods[0].waits = true;
    start(w, t);
    world_until(w, w->is_bound[1] && w->is_bound[2] && w->is_bound[3]);
    stop_and_wait(w, t);
    assert_int_equal(stat_of(w, "objects.pods"), 0);
    team_destroy(t);
    world_destroy(w);
}

static void make_pod(const struct world *w, struct team *t, uint32_t i)
{
    struct str body = {0};
    cJSON *pod;

    kube_pod_json(&body, &t->gang, &t->pods[i]);
    pod = ask(w, "POST", "/api/v1/namespaces/team/pods", body.s);
    assert_true(json_text(pod, "metadata.uid")[0]);
    assert_true(str_copy(t->pods[i].uid, sizeof(t->pods[i].uid), json_text(pod, "metadata.uid")));
    cJSON_Delete(pod);
    str_fini(&body);
}

static void whichever_pods_were_made_before_a_restart_all_are_bound(void **state)
{
    struct world *w = world_ready(NULL);

    (void)state;
    for (uint32_t made = 1; made < 1u << PODS; made++) {
        struct team *t = team_create(800 + made, NULL);

        world_forget(w);
        for (uint32_t i = 0; i < PODS; i++)
            if (made >> i & 1)
                make_pod(w, t, i);
        start(w, t);
        world_until(w, all(w->is_bound));
        for (uint32_t i = 0; i < PODS; i++)
            if (made >> i & 1)
                assert_string_equal(w->bound_uid[i], t->pods[i].uid);
        assert_int_equal(stat_of(w, "objects.pods"), PODS);
        stop_and_wait(w, t);
        world_until(w, stat_of(w, "objects.pods") == 0);
        team_destroy(t);
    }
    assert_int_equal(stat_of(w, "violations"), 0);
    world_destroy(w);
}

static void refusals_are_of_the_kind_that_the_answer_means(void **state)
{
    static const struct {
        const char *rules;
        enum refusal_kind kind;
        const char *text;
    } rows[] = {
        {"[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":403,"
         "\"reason\":"
         "\"Forbidden\",\"message\":\"exceeded quota: gpu\",\"count\":1}]",
         REFUSAL_TRY_LATER, "exceeded quota"},
        {"[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":403,"
         "\"reason\":"
         "\"Forbidden\",\"message\":\"violates PodSecurity\",\"count\":1}]",
         REFUSAL_REJECTED, "PodSecurity"},
        {"[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"pods\",\"code\":422,"
         "\"reason\":"
         "\"Invalid\",\"count\":1}]",
         REFUSAL_REJECTED, "injected"},
        {"[{\"action\":\"status\",\"verb\":\"bind\",\"code\":404,\"reason\":\"NotFound\","
         "\"count\":1}]",
         REFUSAL_BIND, "gone"},
        {"[{\"action\":\"status\",\"verb\":\"create\",\"resource\":\"services\",\"code\":403,"
         "\"reason\":\"Forbidden\",\"count\":1}]",
         REFUSAL_TRY_LATER, "injected"},
    };
    struct world *w = world_ready(NULL);

    (void)state;
    for (uint64_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct team *t = team_create(500 + i, NULL);

        world_forget(w);
        faults(w, rows[i].rules);
        start(w, t);
        world_until(w, w->refusal_text[0]);
        assert_int_equal(w->refusal, rows[i].kind);
        assert_non_null(strstr(w->refusal_text, rows[i].text));
        faults(w, NULL);
        stop_and_wait(w, t);
        world_until(w, stat_of(w, "objects.pods") == 0);
        team_destroy(t);
    }
    world_destroy(w);
}

static void a_missing_namespace_is_tried_later(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(600, NULL);

    (void)state;
    (void)str_copy(t->gang.ns, sizeof(t->gang.ns), "nowhere");
    t->gang.has_service = false;
    start(w, t);
    world_until(w, w->refusal_text[0]);
    assert_int_equal(w->refusal, REFUSAL_TRY_LATER);
    stop(w, t);
    world_until(w, all(w->is_gone));
    team_destroy(t);
    world_destroy(w);
}

static void a_pod_of_someone_else_under_our_name_is_left_alone(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(601, NULL);
    char name[POD_JSON_NAME];
    char *path = pod_path(t, 2);
    char *body = xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"},"
                           "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                           kube_pod_name(name, &t->gang, &t->pods[2]));
    cJSON *pod;

    (void)state;
    cJSON_Delete(ask(w, "POST", "/api/v1/namespaces/team/pods", body));
    start(w, t);
    world_until(w, w->is_refused[2]);
    assert_int_equal(w->refusal, REFUSAL_TRY_LATER);
    stop_and_wait(w, t);
    assert_int_equal(stat_of(w, "objects.pods"), 1);
    pod = ask(w, "GET", path, NULL);
    assert_string_equal(json_text(pod, "metadata.name"), name);
    cJSON_Delete(pod);
    free(path);
    free(body);
    team_destroy(t);
    world_destroy(w);
}

static void a_pod_that_is_replaced_is_gone_and_the_new_one_is_seen(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(602, NULL);
    char *path = pod_path(t, 0);
    char old[UID_MAX + 1];
    char *gone;

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound));
    memcpy(old, w->bound_uid[0], sizeof(old));
    gone = xasprintf("{\"gracePeriodSeconds\":0}");
    cJSON_Delete(ask(w, "DELETE", path, gone));
    w->cluster.gang_stop(w->cluster.ctx, &t->gang);
    world_until(w, all(w->is_gone) && w->n_service_gone);
    assert_true(pod_of(w, "train-0602-worker-0-1", old)->is_gone);
    free(gone);
    free(path);
    team_destroy(t);
    world_destroy(w);
}

/* Seconds that the API gives a deleted pod; -1: there is none. */
static int64_t grace_left(struct world *w, const char *path)
{
    cJSON *pod = ask(w, "GET", path, NULL);
    int64_t left = json_int(pod, "metadata.deletionGracePeriodSeconds", -1);

    cJSON_Delete(pod);
    return left;
}

static void a_gang_that_has_saved_gets_no_more_grace(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(603, NULL);
    struct spec_pair slow = {"gang.queued/stop-delay", "3s"};
    char *path = pod_path(t, 0);

    (void)state;
    t->spec->annotations = (struct spec_pairs){&slow, 1};
    t->gang.grace_us = 60 * USEC_PER_SEC;
    start(w, t);
    world_until(w, all(w->is_bound));
    stop(w, t);
    world_until(w, grace_left(w, path) == 60);
    t->gang.cut_us = USEC_PER_SEC;
    stop(w, t);
    world_until(w, grace_left(w, path) == 1);
    world_until(w, all(w->is_gone) && w->n_service_gone);
    free(path);
    team_destroy(t);
    world_destroy(w);
}

/* Has the pod the annotation, and is it being deleted? */
static bool is_asked(struct world *w, const char *path, bool *ret_goes)
{
    cJSON *pod = ask(w, "GET", path, NULL);
    const cJSON *notes = json_path(pod, "metadata.annotations");
    bool has = cJSON_GetObjectItem(notes, "gang.queued/checkpoint-request") != NULL;

    *ret_goes = json_text(pod, "metadata.deletionTimestamp")[0] != '\0';
    cJSON_Delete(pod);
    return has;
}

static void a_gang_that_is_asked_to_save_has_a_moment_for_it(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(604, NULL);
    struct spec_pair slow = {"gang.queued/stop-delay", "3s"};
    char *path = pod_path(t, 0);
    bool goes = false;

    (void)state;
    t->spec->annotations = (struct spec_pairs){&slow, 1};
    t->gang.grace_us = 60 * USEC_PER_SEC;
    start(w, t);
    world_until(w, all(w->is_bound));
    t->gang.asked_us = INT64_C(1790000000) * USEC_PER_SEC;
    stop(w, t);
    world_until(w, is_asked(w, path, &goes));
    assert_false(goes);
    world_until(w, is_asked(w, path, &goes) && goes);
    world_until(w, all(w->is_gone) && w->n_service_gone);
    free(path);
    team_destroy(t);
    world_destroy(w);
}

static void a_gang_that_is_told_before_its_end_runs_on(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(605, NULL);
    char *path = pod_path(t, 1);
    bool goes = false;

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound));
    t->gang.asked_us = INT64_C(1790000000) * USEC_PER_SEC;
    for (uint32_t i = 0; i < t->gang.n_pods; i++) {
        t->gang.pods[i].is_bound = true;
        memcpy(t->gang.pods[i].uid, w->bound_uid[i], sizeof(w->bound_uid[i]));
    }
    start(w, t);
    world_until(w, is_asked(w, path, &goes));
    assert_false(goes);
    stop(w, t);
    world_until(w, all(w->is_gone) && w->n_service_gone);
    free(path);
    team_destroy(t);
    world_destroy(w);
}

static void a_stray_pod_goes_only_with_its_own_uid(void **state)
{
    struct world *w = world_ready(NULL);
    cJSON *pod = ask(w, "POST", "/api/v1/namespaces/team/pods",
                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"stray\"},"
                     "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");

    (void)state;
    w->cluster.pod_delete(w->cluster.ctx, "team", "stray", "11111111-2222-3333-4444-555555555555");
    world_until(w, w->n_gone);
    assert_int_equal(stat_of(w, "objects.pods"), 1);
    w->cluster.pod_delete(w->cluster.ctx, "team", "stray", json_text(pod, "metadata.uid"));
    world_until(w, stat_of(w, "objects.pods") == 0);
    world_until(w, pod_of(w, "stray", json_text(pod, "metadata.uid"))->is_gone);
    cJSON_Delete(pod);
    world_destroy(w);
}

/* Its pod was cleaned up: the others start, and it does not run a second time. */
static void a_member_that_has_ended_is_not_made_again(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(650, NULL);

    (void)state;
    t->pods[1].has_ended = true;
    start(w, t);
    world_until(w, w->is_bound[0] && w->is_bound[2] && w->is_bound[PODS - 1]);
    world_run(w, 300 * USEC_PER_MSEC);
    assert_false(w->is_bound[1]);
    assert_int_equal(stat_of(w, "objects.pods"), PODS - 1);
    team_destroy(t);
    world_destroy(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_starts_runs_ends_and_is_taken_away),
        cmocka_unit_test(running_pods_end_within_their_grace),
        cmocka_unit_test(every_fault_of_a_start_ends_in_one_bound_pod_each),
        cmocka_unit_test(every_fault_of_a_stop_ends_with_nothing_left),
        cmocka_unit_test(a_stop_overtakes_a_start_at_any_moment),
        cmocka_unit_test(a_start_carries_on_after_a_restart),
        cmocka_unit_test(a_running_gang_grows_and_gives_up_what_is_under_way),
        cmocka_unit_test(pods_that_wait_are_made_by_a_later_start),
        cmocka_unit_test(a_gang_is_taken_away_before_all_of_it_was_made),
        cmocka_unit_test(whichever_pods_were_made_before_a_restart_all_are_bound),
        cmocka_unit_test(a_member_that_has_ended_is_not_made_again),
        cmocka_unit_test(refusals_are_of_the_kind_that_the_answer_means),
        cmocka_unit_test(a_missing_namespace_is_tried_later),
        cmocka_unit_test(a_pod_of_someone_else_under_our_name_is_left_alone),
        cmocka_unit_test(a_pod_that_is_replaced_is_gone_and_the_new_one_is_seen),
        cmocka_unit_test(a_gang_that_has_saved_gets_no_more_grace),
        cmocka_unit_test(a_gang_that_is_asked_to_save_has_a_moment_for_it),
        cmocka_unit_test(a_gang_that_is_told_before_its_end_runs_on),
        cmocka_unit_test(a_stray_pod_goes_only_with_its_own_uid),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
