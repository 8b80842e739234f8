/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_watch.c - lists and watches of the adapter, and a server that comes and goes.
 *
 * Real HTTP on the loopback, simulated kubelets, no daemon. kube_world.h has the stand-in and the
 * adapter against it.
 */
#include "kube_world.h"

static const struct kube_times short_times = {.watch = {.timeout_min_us = USEC_PER_SEC,
                                                        .timeout_max_us = USEC_PER_SEC,
                                                        .guard_us = 500 * USEC_PER_MSEC},
                                              .backoff_base_us = 50 * USEC_PER_MSEC};

/* ---- lists */

static void synced_comes_after_every_fact_of_both_lists(void **state)
{
    static const char *const options[] = {"--make-nodes", "1201", "--namespaces", "team", NULL};
    struct world *w = world_create();

    (void)state;
    server_start(w, options);
    cJSON_Delete(ask(w, "POST", "/api/v1/namespaces/default/pods",
                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"foreign\"},"
                     "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"));
    adapter_start(w, NULL);
    world_until(w, w->n_synced);
    assert_int_equal(w->nodes_at_sync, 1201);
    assert_int_equal(w->pods_at_sync, 1);
    assert_int_equal(w->is_up, 1);
    assert_int_equal(strlen(w->cluster_uid), 36);
    assert_int_equal(w->pods.v[0].job.v, 0);
    assert_int_equal(stat_of(w, "requests.list.nodes"), 3);
    world_destroy(w);
}

static void a_server_that_is_down_at_first_is_said_and_waited_for(void **state)
{
    static const char *const options[] = {"--make-nodes", "2", NULL};
    struct world *w = world_create();

    (void)state;
    server_start(w, options);
    server_stop(w, SIGKILL);
    adapter_start(w, NULL);
    world_until(w, w->is_up == 0);
    assert_non_null(strstr(w->trouble, "GET http://127.0.0.1:"));
    assert_non_null(strstr(w->trouble, ": connection refused"));
    server_start(w, options);
    world_until(w, w->is_up == 1 && w->n_synced);
    assert_int_equal(w->n_nodes, 2);
    world_destroy(w);
}

static void a_list_that_breaks_off_is_made_again(void **state)
{
    static const char *const options[] = {"--make-nodes", "20", NULL};
    struct world *w = world_create();

    (void)state;
    server_start(w, options);
    faults(w, "[{\"action\":\"cut\",\"verb\":\"list\",\"resource\":\"nodes\",\"bytes\":9000,"
              "\"count\":1},{\"action\":\"status\",\"verb\":\"list\",\"resource\":\"pods\","
              "\"code\":429,\"text\":true,\"retryAfter\":1,\"count\":1}]");
    adapter_start(w, NULL);
    world_until(w, w->n_synced);
    assert_int_equal(w->nodes_at_sync, 20);
    world_destroy(w);
}

static void a_page_that_a_busy_server_refuses_is_asked_for_again_alone(void **state)
{
    static const char *const options[] = {"--make-nodes", "1200", NULL};
    struct world *w = world_create();

    (void)state;
    server_start(w, options);
    faults(w, "[{\"action\":\"status\",\"verb\":\"list\",\"resource\":\"nodes\",\"code\":429,"
              "\"text\":true,\"retryAfter\":1,\"nth\":2,\"count\":1}]");
    adapter_start(w, NULL);
    world_until(w, w->n_synced);
    assert_int_equal(w->nodes_at_sync, 1200);
    assert_int_equal(stat_of(w, "requests.list.nodes"), 4); /* three pages, one of them twice */
    world_destroy(w);
}

/* ---- watches */

static void cordon(struct world *w, const char *node, bool on)
{
    char *body = xasprintf("{\"name\":\"%s\",\"cordon\":%s}", node, on ? "true" : "false");

    cJSON_Delete(ask(w, "POST", "/_standin/node", body));
    free(body);
}

static bool shows(const struct world *w, const char *node, bool cordoned)
{
    return !strcmp(w->last_node, node) && w->last_node_cordoned == cordoned;
}

static void news_arrive_after_any_trouble_of_a_watch(void **state)
{
    static const struct {
        const char *rules, *control;
    } rows[] = {
        {NULL, NULL},
        {NULL, "/_standin/drop-watches"},
        {"[{\"action\":\"silent\",\"verb\":\"watch\",\"resource\":\"nodes\",\"count\":1}]",
         "/_standin/drop-watches"},
        {"[{\"action\":\"status\",\"verb\":\"watch\",\"code\":410,\"reason\":\"Expired\","
         "\"count\":2}]",
         "/_standin/drop-watches"},
        {"[{\"action\":\"status\",\"verb\":\"watch\",\"code\":429,\"text\":true,\"retryAfter\":1,"
         "\"count\":2}]",
         "/_standin/drop-watches"},
        {"[{\"action\":\"cut\",\"verb\":\"watch\",\"bytes\":700,\"count\":4}]",
         "/_standin/drop-watches"},
        {"[{\"action\":\"stale\",\"verb\":\"watch\",\"count\":1}]", "/_standin/drop-watches"},
        {"[{\"action\":\"double\",\"verb\":\"watch\"}]", "/_standin/drop-watches"},
        {"[{\"action\":\"status\",\"verb\":\"list\",\"code\":504,\"reason\":\"Timeout\",\"count\":"
         "2}]",
         "/_standin/drop-watches"},
    };
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        const char *rules = rows[i / 2].rules, *control = rows[i / 2].control;
        struct world *w;
        char node[16];

        world_protobuf = i % 2 ? "ignore" : "serve";
        w = world_ready(&short_times);

        (void)snprintf(node, sizeof(node), "node-%03zu", i % 8);
        faults(w, rules);
        if (control)
            cJSON_Delete(ask(w, "POST", control, "{}"));
        cordon(w, node, true);
        world_until(w, shows(w, node, true));
        world_destroy(w);
    }
    world_protobuf = "serve";
}

static void an_expired_version_leads_to_a_new_list(void **state)
{
    struct world *w = world_ready(&short_times);

    (void)state;
    faults(w, "[{\"action\":\"delay\",\"verb\":\"list\",\"ms\":200}]");
    cJSON_Delete(ask(w, "POST", "/_standin/drop-watches", "{}"));
    cordon(w, "node-001", true);
    cJSON_Delete(ask(w, "POST", "/_standin/node", "{\"name\":\"node-005\",\"delete\":true}"));
    cordon(w, "node-002", true);
    cJSON_Delete(ask(w, "POST", "/_standin/compact", "{}"));
    faults(w, NULL);
    world_until(w, w->n_node_gone == 1 && w->n_synced >= 2);
    world_destroy(w);
}

static void a_server_that_restarts_is_found_again(void **state)
{
    static const char *const options[] = {"--make-nodes", "8", "--namespaces", "team", NULL};
    struct world *w = world_ready(NULL);
    struct team *t = team_create(700, NULL);

    (void)state;
    start(w, t);
    world_until(w, all(w->is_bound));
    server_stop(w, SIGTERM);
    world_until(w, w->is_up == 0);
    server_start(w, options);
    world_until(w, w->is_up == 1);
    stop_and_wait(w, t);
    world_until(w, stat_of(w, "objects.pods") == 0);
    cordon(w, "node-006", true);
    world_until(w, shows(w, "node-006", true));
    team_destroy(t);
    world_destroy(w);
}

/* The stand-in forgets everything: versions start again, below those that we know. */
static void a_server_put_back_to_an_older_state_is_listed_anew(void **state)
{
    static const char *const options[] = {"--make-nodes", "3", "--namespaces", "team", NULL};
    struct world *w = world_ready(NULL);

    (void)state;
    for (int i = 0; i < 20; i++)
        cordon(w, "node-001", i % 2);
    world_until(w, shows(w, "node-001", true));
    server_stop(w, SIGKILL);
    server_start(w, options);
    world_until(w, w->n_synced >= 2 && w->n_node_gone == 8);
    world_destroy(w);
}

/* The caller's clock is of the calendar and may jump; waits are of another. */
static void the_calendar_of_the_caller_does_not_matter(void **state)
{
    static const usec_t clocks[] = {0, 1, INT64_C(1800000000) * USEC_PER_SEC,
                                    INT64_C(253402300799) * USEC_PER_SEC};
    struct world *w = world_ready(NULL);

    (void)state;
    world_run(w, 300 * USEC_PER_MSEC); /* all is quiet then */
    for (size_t i = 0; i < ARRAY_LEN(clocks); i++) {
        usec_t wait = kube_wake(w->kube, clocks[i]) - clocks[i];

        if (wait < USEC_PER_SEC || wait > 60 * USEC_PER_SEC)
            fail_msg("at %lld: %lld us", (long long)clocks[i], (long long)wait);
        kube_ready(w->kube, clocks[i]);
    }
    world_destroy(w);
}

static void write_token(const struct world *w, const char *token)
{
    char *path = xasprintf("%s/token", w->dir);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    (void)fputs(token, f);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static void a_new_token_is_read_after_a_401(void **state)
{
    static const char *const options[] = {"--make-nodes", "2", "--token", "right", NULL};
    struct world *w = world_create();
    char *path = xasprintf("%s/kubeconfig", w->dir);
    FILE *f;

    (void)state;
    server_start(w, options);
    write_token(w, "wrong\n");
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f,
                  "current-context: c\n"
                  "clusters: [{name: s, cluster: {server: \"http://127.0.0.1:%u/\"}}]\n"
                  "users: [{name: u, user: {tokenFile: token}}]\n"
                  "contexts: [{name: c, context: {cluster: s, user: u}}]\n",
                  w->port);
    assert_int_equal(fclose(f), 0);
    adapter_start(w, NULL);
    world_until(w, w->is_up == 0);
    assert_non_null(strstr(w->trouble, "Unauthorized"));
    write_token(w, "right\n");
    world_until(w, w->is_up == 1 && w->n_synced);
    free(path);
    world_destroy(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synced_comes_after_every_fact_of_both_lists),
        cmocka_unit_test(a_server_that_is_down_at_first_is_said_and_waited_for),
        cmocka_unit_test(a_list_that_breaks_off_is_made_again),
        cmocka_unit_test(a_page_that_a_busy_server_refuses_is_asked_for_again_alone),
        cmocka_unit_test(news_arrive_after_any_trouble_of_a_watch),
        cmocka_unit_test(an_expired_version_leads_to_a_new_list),
        cmocka_unit_test(a_server_that_restarts_is_found_again),
        cmocka_unit_test(a_server_put_back_to_an_older_state_is_listed_anew),
        cmocka_unit_test(the_calendar_of_the_caller_does_not_matter),
        cmocka_unit_test(a_new_token_is_read_after_a_401),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
