/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_hostile.c - answers that no API server should give: proxies' pages, odd uids, no end of
 * 410.
 *
 * Real HTTP on the loopback, simulated kubelets, no daemon. kube_world.h has the stand-in and the
 * adapter against it.
 */
#include "kube_world.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static const char html[] =
    "[{\"action\":\"status\",\"verb\":\"%s\",\"resource\":\"%s\",\"code\":%d,"
    "\"text\":true,\"count\":%d,\"message\":\"<html>sign in</html>\"}]";

static void page_instead(const struct world *w, const char *verb, const char *what, int code, int n)
{
    char rules[256];

    assert_true(snprintf(rules, sizeof(rules), html, verb, what, code, n) < (int)sizeof(rules));
    faults(w, rules);
}

static void a_page_of_a_proxy_is_no_answer_to_a_start(void **state)
{
    static const struct {
        const char *verb, *what;
        int code;
    } rows[] = {{"create", "services", 200},
                {"create", "pods", 201},
                {"bind", "pods", 200},
                {"bind", "pods", 404},
                {"bind", "pods", 403}};
    struct world *w = world_ready(NULL);

    (void)state;
    for (uint64_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct team *t = team_create(900 + i, NULL);

        world_forget(w);
        page_instead(w, rows[i].verb, rows[i].what, rows[i].code, 3);
        start(w, t);
        world_until(w, all(w->is_bound) || w->refusal_text[0]);
        assert_string_equal(w->refusal_text, "");
        for (uint32_t p = 0; p < PODS; p++) {
            char *path = pod_path(t, p);
            cJSON *pod = ask(w, "GET", path, NULL);

            assert_string_equal(json_text(pod, "spec.nodeName"), t->pods[p].node);
            cJSON_Delete(pod);
            free(path);
        }
        faults(w, NULL);
        stop_and_wait(w, t);
        team_destroy(t);
    }
    assert_int_equal(stat_of(w, "violations"), 0);
    world_destroy(w);
}

static void a_page_of_a_proxy_does_not_end_a_stop(void **state)
{
    static const struct {
        const char *verb, *what;
        int code;
    } rows[] = {{"delete", "pods", 200},     {"delete", "pods", 404}, {"delete", "services", 200},
                {"delete", "services", 404}, {"get", "pods", 404},    {"get", "pods", 200}};
    struct world *w = world_ready(NULL);

    (void)state;
    for (uint64_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct team *t = team_create(920 + i, NULL);

        world_forget(w);
        start(w, t);
        world_until(w, all(w->is_bound));
        page_instead(w, rows[i].verb, rows[i].what, rows[i].code, 3);
        stop_and_wait(w, t);
        world_until(w, stat_of(w, "objects.pods") == 0);
        faults(w, NULL);
        team_destroy(t);
    }
    world_destroy(w);
}

/* What an adapter that died has made of pod i; the core knows its uid. */
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

/* A rule that shows pod i with this uid to whoever asks for it, n times. */
static char *rule_of_uid(const struct team *t, uint32_t i, const char *uid, int n)
{
    struct str body = {0}, rule = {0};
    char name[POD_JSON_NAME];
    cJSON *pod;
    char *text;

    kube_pod_json(&body, &t->gang, &t->pods[i]);
    pod = cJSON_Parse(body.s);
    cJSON_AddStringToObject(cJSON_GetObjectItem(pod, "metadata"), "uid", uid);
    text = cJSON_PrintUnformatted(pod);
    str_addf(&rule,
             "[{\"action\":\"status\",\"verb\":\"get\",\"resource\":\"pods\",\"name\":\"%s\","
             "\"code\":200,\"text\":true,\"count\":%d,\"message\":",
             kube_pod_name(name, &t->gang, &t->pods[i]), n);
    str_add_json(&rule, text);
    str_add(&rule, "}]");
    cJSON_free(text);
    cJSON_Delete(pod);
    str_fini(&body);
    return str_take(&rule);
}

static void a_uid_that_is_too_long_is_not_cut_into_another(void **state)
{
    struct world *w = world_ready(NULL);
    struct team *t = team_create(940, NULL);
    char *rule = rule_of_uid(t, 1, "11111111-2222-3333-4444-555555555555-66666666", 2);

    (void)state;
    make_pod(w, t, 1);
    t->pods[1].uid[0] = '\0'; /* its answer was lost */
    faults(w, rule);
    start(w, t);
    world_until(w, w->is_refused[1]);
    assert_non_null(strstr(w->refusal_text, "too long"));
    stop_and_wait(w, t);
    world_until(w, stat_of(w, "objects.pods") == 0);
    free(rule);
    team_destroy(t);
    world_destroy(w);
}

static void lists_and_watches_wait_until_the_pages_end(void **state)
{
    static const char *const options[] = {"--make-nodes", "3", NULL};
    static const char *const verbs[] = {"list", "watch"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        struct world *w = world_create();

        server_start(w, options);
        page_instead(w, verbs[i], "nodes", 200, 3);
        adapter_start(w, NULL);
        world_until(w, w->n_synced);
        assert_int_equal(w->nodes_at_sync, 3);
        cJSON_Delete(ask(w, "POST", "/_standin/node", "{\"name\":\"node-001\",\"cordon\":true}"));
        world_until(w, w->last_node_cordoned && !strcmp(w->last_node, "node-001"));
        world_destroy(w);
    }
}

static int asked_in_a_second(const char *rules)
{
    struct world *w = world_ready(NULL);
    int before, n;

    faults(w, rules);
    cJSON_Delete(ask(w, "POST", "/_standin/drop-watches", "{}"));
    before = stat_of(w, "requests.list.nodes") + stat_of(w, "requests.watch.nodes");
    world_run(w, USEC_PER_SEC);
    n = stat_of(w, "requests.list.nodes") + stat_of(w, "requests.watch.nodes") - before;
    faults(w, NULL);
    world_destroy(w);
    return n;
}

/* Tests ask again after 50 ms at first: 60 requests are a probe and a watch each time. */
static void a_server_that_never_lets_us_watch_is_not_stormed(void **state)
{
    static const char *const rules[] = {
        "[{\"action\":\"status\",\"verb\":\"watch\",\"code\":410,\"reason\":\"Expired\"}]",
        "[{\"action\":\"status\",\"verb\":\"watch\",\"code\":200,\"text\":true,\"message\":"
        "\"{\\\"type\\\":\\\"BOOKMARK\\\",\\\"object\\\":{\\\"kind\\\":\\\"Node\\\","
        "\\\"metadata\\\":"
        "{\\\"resourceVersion\\\":\\\"1\\\"}}}\\n\"}]",
        "[{\"action\":\"cut\",\"verb\":\"watch\",\"bytes\":1}]",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        int n = asked_in_a_second(rules[i]);

        if (n < 2 || n > 60)
            fail_msg("rule %zu: %d requests in a second", i, n);
    }
}

/* ---- a server of our own, which answers one request per connection */

enum { LONG_LINE = 9 * 1024 * 1024 };

static void reply(int fd, const char *more, const char *body, int times)
{
    char *head = xasprintf("HTTP/1.1 200 OK\r\nConnection: close\r\n%s\r\n", more);
    size_t len = strlen(body);
    ssize_t n = send(fd, head, strlen(head), MSG_NOSIGNAL);

    for (int i = 0; n > 0 && i < times; i++)
        n = send(fd, body, len, MSG_NOSIGNAL);
    free(head);
}

static void serve_one(int fd)
{
    static char block[65536];
    char request[4096];
    ssize_t n = recv(fd, request, sizeof(request) - 1, 0);

    if (n <= 0)
        return;
    request[n] = '\0';
    memset(block, 'x', sizeof(block) - 1);
    if (strstr(request, "watch=1"))
        reply(fd, "", block, LONG_LINE / (int)sizeof(block) + 1);
    else if (strstr(request, "kube-system"))
        reply(fd, "", "{\"metadata\":{\"uid\":\"u\"}}", 1);
    else
        reply(fd, "", "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}", 1);
}

/* Serve for ever in a child, which dies with us; its port and kubeconfig are the world's. */
static void own_server_start(struct world *w)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *path = xasprintf("%s/kubeconfig", w->dir);
    FILE *f = fopen(path, "w");

    assert_true(fd >= 0 && !bind(fd, (struct sockaddr *)&at, len) && !listen(fd, 64));
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    assert_non_null(f);
    (void)fprintf(f,
                  "current-context: c\n"
                  "clusters: [{name: s, cluster: {server: \"http://127.0.0.1:%u\"}}]\n"
                  "users: [{name: u, user: {token: t}}]\n"
                  "contexts: [{name: c, context: {cluster: s, user: u}}]\n",
                  ntohs(at.sin_port));
    assert_int_equal(fclose(f), 0);
    free(path);
    w->server = fork();
    assert_true(w->server >= 0);
    if (!w->server)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (!w->server) {
        int client = accept(fd, NULL, NULL);

        serve_one(client);
        (void)close(client);
    }
    (void)close(fd);
}

static void a_watch_line_without_end_is_given_up_and_all_is_listed_anew(void **state)
{
    struct world *w = world_create();

    (void)state;
    own_server_start(w);
    adapter_start(w, NULL);
    world_until(w, w->n_synced >= 3);
    assert_int_equal(w->is_up, 1);
    world_destroy(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_of_a_proxy_is_no_answer_to_a_start),
        cmocka_unit_test(a_page_of_a_proxy_does_not_end_a_stop),
        cmocka_unit_test(a_uid_that_is_too_long_is_not_cut_into_another),
        cmocka_unit_test(lists_and_watches_wait_until_the_pages_end),
        cmocka_unit_test(a_watch_line_without_end_is_given_up_and_all_is_listed_anew),
        cmocka_unit_test(a_server_that_never_lets_us_watch_is_not_stormed),
    };

    world_setup(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
