/* SPDX-License-Identifier: Apache-2.0 */
/* kube_world.h - a stand-in API server and the adapter against it, for test_kube*.c alone.
 *
 * The world runs the adapter with a small poll loop of its own and remembers what its events said.
 * Every wait has a limit, and says what was waited for when it passes. The stand-in is $STANDIN, or
 * the one beside the program's build directory.
 */
#ifndef QUEUED_TESTS_KUBE_WORLD_H
#define QUEUED_TESTS_KUBE_WORLD_H

#include <curl/curl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fake/core_names.h"
#include "kube/kube_json.h"
#include "kube/kube_pod.h"
#include "kube/kube_timed.h"
#include "util/log.h"
#include "util/mem.h"
#include "util/str.h"
#include "util/vec.h"

enum { PODS = 4, WAIT_S = 30 };

struct seen_pod {
    char name[NODE_NAME_MAX + 1], uid[UID_MAX + 1], node[NODE_NAME_MAX + 1];
    enum pod_phase phase;
    bool is_deleting, is_gone;
    struct job_id job;
};

struct world {
    char dir[64];
    pid_t server;
    unsigned port;
    struct inbox *inbox;
    struct kube *kube;
    struct cluster_port cluster;
    /* what the events said */
    unsigned n_synced, n_nodes, n_node_gone, n_service_gone, n_gone;
    unsigned n_budget_gone, n_budget_refused;
    char budget_text[REASON_TEXT_MAX + 1];
    unsigned nodes_at_sync, pods_at_sync;
    int is_up; /* -1 not told */
    char trouble[REASON_TEXT_MAX + 1], cluster_uid[UID_MAX + 1], last_node[NODE_NAME_MAX + 1];
    bool last_node_cordoned;
    bool is_bound[PODS], is_gone[PODS], is_refused[PODS];
    char bound_uid[PODS][UID_MAX + 1];
    enum refusal_kind refusal;
    char refusal_text[REASON_TEXT_MAX + 1];
    VEC(struct seen_pod) pods;
};

static char standin_path[512];
static const char *world_protobuf = "serve"; /* or ignore or refuse: of the next server */

/* First of all: find the stand-in, keep to one test if its name is given. */
static inline void world_setup(int argc, char **argv)
{
    const char *given = getenv("STANDIN");
    int n = given ? snprintf(standin_path, sizeof(standin_path), "%s", given)
                  : snprintf(standin_path, sizeof(standin_path), "%.*s/../standin",
                             (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);

    assert_true(n < (int)sizeof(standin_path));
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (!getenv("QUEUED_TEST_LOG"))
        log_setup(LOG_LEVEL_ERROR, false);
}

/* ---- the server */

static inline void server_start(struct world *w, const char *const *more)
{
    char port[16], port_file[96], kubeconfig[96], audit[96], state[96];
    const char *argv[40] = {standin_path,  "--port",           port,       "--port-file",
                            port_file,     "--audit",          audit,      "--state",
                            state,         "--kubeconfig-out", kubeconfig, "--protobuf",
                            world_protobuf};
    int n = 13;
    FILE *f = NULL;

    (void)snprintf(port, sizeof(port), "%u", w->port);
    (void)snprintf(port_file, sizeof(port_file), "%s/port", w->dir);
    (void)snprintf(kubeconfig, sizeof(kubeconfig), "%s/kubeconfig", w->dir);
    (void)snprintf(audit, sizeof(audit), "%s/audit", w->dir);
    (void)snprintf(state, sizeof(state), "%s/state", w->dir);
    for (; more && *more; more++)
        argv[n++] = *more;
    (void)unlink(port_file);
    w->server = fork();
    assert_true(w->server >= 0);
    if (!w->server) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no server */
        (void)!freopen("/dev/null", "w", stdout);
        (void)!freopen("/dev/null", "w", stderr);
        execv(standin_path, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    for (int i = 0; i < 1000 && !f; i++) {
        usleep(10000);
        f = fopen(port_file, "r");
        if (f && fscanf(f, "%u", &w->port) != 1) {
            (void)fclose(f);
            f = NULL;
        }
    }
    if (!f)
        fail_msg("the stand-in %s did not start", standin_path);
    (void)fclose(f);
}

static inline void server_stop(struct world *w, int signal)
{
    if (w->server <= 0)
        return;
    (void)kill(w->server, signal);
    (void)waitpid(w->server, NULL, 0);
    w->server = 0;
}

static inline size_t ask_data(char *p, size_t size, size_t n, void *ctx)
{
    str_add_bytes(ctx, p, size * n);
    return size * n;
}

/* A request of the test itself; the answer as JSON, which the caller deletes. */
static inline cJSON *ask(const struct world *w, const char *method, const char *path,
                         const char *body)
{
    CURL *c = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    struct str answer = {0};
    char *url = xasprintf("http://127.0.0.1:%u%s", w->port, path);
    cJSON *json;

    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, 10L);
    if (body)
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, ask_data);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
    assert_int_equal(curl_easy_perform(c), CURLE_OK);
    json = cJSON_Parse(str_text(&answer));
    curl_easy_cleanup(c);
    curl_slist_free_all(headers);
    free(url);
    str_fini(&answer);
    return json;
}

static inline void faults(const struct world *w, const char *rules)
{
    cJSON *old = ask(w, "DELETE", "/_standin/faults", NULL);

    cJSON_Delete(old);
    if (rules)
        cJSON_Delete(ask(w, "POST", "/_standin/faults", rules));
}

static inline int stat_of(const struct world *w, const char *path)
{
    cJSON *stats = ask(w, "GET", "/_standin/stats", NULL);
    int n = json_int(stats, path, -1);

    cJSON_Delete(stats);
    return n;
}

/* ---- the adapter */

static inline struct seen_pod *pod_of(struct world *w, const char *name, const char *uid)
{
    struct seen_pod *p;

    for (size_t i = 0; i < w->pods.n; i++)
        if (!strcmp(w->pods.v[i].name, name) && !strcmp(w->pods.v[i].uid, uid))
            return &w->pods.v[i];
    p = vec_push(&w->pods);
    (void)str_copy(p->name, sizeof(p->name), name);
    (void)str_copy(p->uid, sizeof(p->uid), uid);
    return p;
}

static inline void remember_gone(struct world *w, const struct ev_pod_gone *g)
{
    unsigned index;

    w->n_gone++;
    if (g->job.v && sscanf(g->name, "train-%*u-worker-%u-", &index) == 1 && index < PODS)
        w->is_gone[index] = true;
    if (g->member < PODS)
        w->is_gone[g->member] = true;
    if (!g->uid[0])
        return;
    pod_of(w, g->name, g->uid)->is_gone = true;
}

static inline void remember_pod(struct world *w, const struct pod_fact *f)
{
    struct seen_pod *p = pod_of(w, f->name, f->uid);

    p->phase = f->phase;
    p->is_deleting = f->is_deleting;
    p->job = f->job;
    memcpy(p->node, f->node, sizeof(p->node));
}

static inline void remember(struct world *w, const struct event *ev)
{
    const struct ev_pod_answer *a = ev->u.answer;

    switch (ev->kind) {
    case EV_NODE_SEEN:
        w->n_nodes++;
        memcpy(w->last_node, ev->u.node->name, sizeof(w->last_node));
        w->last_node_cordoned = ev->u.node->is_cordoned;
        break;
    case EV_NODE_GONE:
        w->n_node_gone++;
        break;
    case EV_POD_SEEN:
        remember_pod(w, ev->u.pod);
        break;
    case EV_POD_GONE:
        remember_gone(w, ev->u.pod_gone);
        break;
    case EV_POD_BOUND:
        w->is_bound[a->member] = true;
        memcpy(w->bound_uid[a->member], a->uid, sizeof(a->uid));
        break;
    case EV_POD_REFUSED:
        w->is_refused[a->member] = true;
        w->refusal = a->refusal;
        memcpy(w->refusal_text, a->text, sizeof(w->refusal_text));
        break;
    case EV_SERVICE_GONE:
        w->n_service_gone++;
        break;
    case EV_BUDGET:
        w->n_budget_gone += !ev->u.budget.trouble;
        w->n_budget_refused += ev->u.budget.trouble != NULL;
        if (ev->u.budget.trouble)
            (void)str_copy(w->budget_text, sizeof(w->budget_text), ev->u.budget.trouble);
        break;
    case EV_CLUSTER:
        w->is_up = ev->u.cluster.is_up;
        (void)snprintf(w->trouble, sizeof(w->trouble), "%s",
                       ev->u.cluster.text ? ev->u.cluster.text : "");
        break;
    case EV_SYNCED:
        w->n_synced++;
        w->nodes_at_sync = w->n_nodes;
        w->pods_at_sync = (unsigned)w->pods.n;
        memcpy(w->cluster_uid, ev->u.cluster_uid, sizeof(w->cluster_uid));
        break;
    default:
        fail_msg("unexpected event %s", event_name(ev->kind));
    }
}

static inline void world_turn(struct world *w)
{
    struct event ev;
    usec_t now = http_now();
    usec_t wait = kube_wake(w->kube, now) - now;
    struct pollfd p = {.fd = kube_fd(w->kube), .events = POLLIN};

    (void)poll(&p, 1, wait > 100000 ? 100 : (int)((wait + 999) / 1000));
    kube_ready(w->kube, http_now());
    while (inbox_pop(w->inbox, &ev)) {
        remember(w, &ev);
        event_fini(&ev);
    }
}

#define world_until(w, condition)                                                                  \
    do {                                                                                           \
        usec_t until_ = http_now() + WAIT_S * USEC_PER_SEC;                                        \
        while (!(condition) && http_now() < until_)                                                \
            world_turn(w);                                                                         \
        if (!(condition))                                                                          \
            fail_msg("waited in vain for: %s (trouble \"%s\", refusal \"%s\")", #condition,        \
                     (w)->trouble, (w)->refusal_text);                                             \
    } while (0)

static inline void world_run(struct world *w, usec_t how_long)
{
    usec_t end = http_now() + how_long;

    while (http_now() < end)
        world_turn(w);
}

static inline void world_forget(struct world *w)
{
    memset(w->is_bound, 0, sizeof(w->is_bound));
    memset(w->is_gone, 0, sizeof(w->is_gone));
    memset(w->is_refused, 0, sizeof(w->is_refused));
    memset(w->bound_uid, 0, sizeof(w->bound_uid));
    w->refusal_text[0] = '\0';
    w->n_service_gone = 0;
    w->n_budget_gone = w->n_budget_refused = 0;
    w->n_gone = 0;
}

static inline void adapter_start(struct world *w, const struct kube_times *times)
{
    /* an answer that is late on a busy machine must not be taken for a fault: only waits shrink */
    static const struct kube_times quick = {.backoff_base_us = 50 * USEC_PER_MSEC};
    struct err err = {0};
    char *kubeconfig = xasprintf("%s/kubeconfig", w->dir);

    w->is_up = -1;
    w->inbox = inbox_create(256);
    if (kube_create_timed(&w->kube, kubeconfig, w->inbox, times ? times : &quick, &err))
        fail_msg("kube_create: %s", err.text);
    free(kubeconfig);
    w->cluster = kube_port(w->kube);
}

static inline void adapter_stop(struct world *w)
{
    kube_destroy(w->kube);
    inbox_destroy(w->inbox);
    w->kube = NULL;
    w->inbox = NULL;
}

static inline struct world *world_create(void)
{
    struct world *w = xcalloc(1, sizeof(*w));

    (void)str_copy(w->dir, sizeof(w->dir), "/tmp/queued-test-kube-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    return w;
}

static inline void world_destroy(struct world *w)
{
    static const char *const files[] = {"port", "kubeconfig", "audit", "state", "token", "own"};

    if (w->kube)
        adapter_stop(w);
    server_stop(w, SIGKILL);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char *path = xasprintf("%s/%s", w->dir, files[i]);

        (void)unlink(path);
        free(path);
    }
    (void)rmdir(w->dir);
    vec_fini(&w->pods);
    free(w);
}

/* A server with nodes, and the adapter in step with it. */
static inline struct world *world_ready(const struct kube_times *times)
{
    static const char *const options[] = {"--make-nodes", "8", "--namespaces", "team", NULL};
    struct world *w = world_create();

    server_start(w, options);
    adapter_start(w, times);
    world_until(w, w->n_synced == 1);
    return w;
}

static inline bool all(const bool flags[PODS])
{
    for (int i = 0; i < PODS; i++)
        if (!flags[i])
            return false;
    return true;
}

static inline unsigned pods_in(const struct world *w, enum pod_phase phase, struct job_id job)
{
    unsigned n = 0;

    for (size_t i = 0; i < w->pods.n; i++)
        n += w->pods.v[i].job.v == job.v && w->pods.v[i].phase == phase && !w->pods.v[i].is_gone;
    return n;
}

/* ---- a gang of four pods with eight GPUs each, on node-000 to node-003 */

struct team {
    struct spec *spec;
    struct gang_pod pods[PODS];
    struct gang gang;
};

static inline struct team *team_create(uint64_t job, const char *run_duration)
{
    struct team *t = xcalloc(1, sizeof(*t));
    struct spec *s = spec_create();
    struct spec_role *r = arena_alloc(&s->arena, sizeof(*r));

    *r = (struct spec_role){.name = "worker",
                            .replicas = PODS,
                            .gpus = 8,
                            .cpu_milli = -1,
                            .memory_bytes = -1,
                            .shm_bytes = -1,
                            .image = "registry.example/train:1"};
    s->roles = r;
    s->n_roles = 1;
    if (run_duration) {
        s->annotations.v = arena_alloc(&s->arena, sizeof(*s->annotations.v));
        s->annotations.v[0] = (struct spec_pair){"gang.queued/run-duration", run_duration};
        s->annotations.n = 1;
    }
    t->spec = s;
    t->gang = (struct gang){.job = {job},
                            .ns = "team",
                            .tenant = "vision",
                            .attempt = 1,
                            .spec = s,
                            .cpu_milli = {32000},
                            .memory_bytes = {INT64_C(256) << 30},
                            .role_names = {"worker"},
                            .kubernetes_class = "",
                            .grace_us = 2 * USEC_PER_SEC,
                            .has_service = true,
                            .n_pods = PODS,
                            .size = PODS,
                            .pods = t->pods};
    (void)snprintf(t->gang.job_name, sizeof(t->gang.job_name), "train-%04u", (unsigned)job);
    for (uint32_t i = 0; i < PODS; i++) {
        t->pods[i] = (struct gang_pod){.member = i, .index = i, .rank = i};
        (void)snprintf(t->pods[i].node, sizeof(t->pods[i].node), "node-%03u", i);
    }
    return t;
}

static inline void team_destroy(struct team *t)
{
    spec_destroy(t->spec);
    free(t);
}

static inline void start(struct world *w, const struct team *t)
{
    w->cluster.gang_start(w->cluster.ctx, &t->gang);
}

static inline void stop(struct world *w, const struct team *t)
{
    struct gang g = t->gang;

    g.spec = NULL;
    w->cluster.gang_stop(w->cluster.ctx, &g);
}

static inline void stop_and_wait(struct world *w, const struct team *t)
{
    stop(w, t);
    world_until(w, all(w->is_gone) && w->n_service_gone);
    assert_int_equal(stat_of(w, "objects.services"), 0);
}

static inline char *pod_path(const struct team *t, uint32_t i)
{
    char name[POD_JSON_NAME];

    return api_path("team", "pods", kube_pod_name(name, &t->gang, &t->pods[i]));
}

#endif
