/* SPDX-License-Identifier: Apache-2.0 */
/* raw_bind.c - the requests that start gangs, sent as fast as a bare libcurl loop can.
 *
 * usage: raw_bind -k KUBECONFIG -n NAMESPACE [-g GANGS] [-p PODS] [-N NODES] [-m bind|direct]
 *                 [-e on|off]
 * The yardstick of bench_bind, not run alone. It makes the same objects as the daemon by the same
 * functions, all before the clock starts; it has as many connections, each in a multi handle of its
 * own, and as many requests in flight, and keeps no list, watch, store or state. Of each gang all
 * creates come first, the service among them, then all bindings, then all events; the next gang
 * fills the gaps. Pods go to the nodes gpu-001.. in turn, eight on each. Prints one line of JSON.
 * Exit 1 when a request failed.
 */
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "kube/kube_api.h"
#include "kube/kube_config.h"
#include "kube/kube_http.h"
#include "kube/kube_pod.h"
#include "util/mem.h"

enum { LANE_CALL_A, LANE_CALL_B, LANE_EVENT, LANES };
enum {
    IN_FLIGHT_MAX = HTTP_CALLS_PER_LANE,
    SOCKETS_MAX = 64,
    ANSWER_MAX = 16384,
    GPUS_OF_A_NODE = 8
};
enum stage { STAGE_CREATE, STAGE_BIND, STAGE_EVENT, STAGE_ENDED };

struct load {
    const char *kubeconfig, *ns;
    unsigned gangs, pods, nodes;
    bool is_direct, has_events;
};

struct pod {
    char *create;
    char uid[UID_MAX + 1];
};

struct batch {
    struct gang gang;
    struct gang_pod *places;
    struct pod *pods;
    char *service;
    enum stage stage;
    unsigned sent, done; /* of this stage */
};

struct call {
    CURL *easy;
    struct batch *batch;
    unsigned pod; /* which of the batch, unless it is the service */
    bool is_service;
    int lane;
    char *body; /* of a binding or an event, made when it is sent */
    char answer[ANSWER_MAX + 1];
    size_t len;
};

struct lane {
    struct raw *raw;
    CURLM *multi;
    struct call calls[IN_FLIGHT_MAX];
    struct call *idle[IN_FLIGHT_MAX];
    unsigned n_idle;
    double timer_at; /* seconds; below 0 none */
};

struct raw {
    struct load load;
    struct kube_config config;
    struct curl_slist *headers, *small_headers; /* of bindings; of all others */
    struct lane lanes[LANES];
    struct pollfd fds[SOCKETS_MAX];
    struct lane *fd_lanes[SOCKETS_MAX];
    unsigned n_fds;
    struct spec *spec;
    struct batch *batches;
    unsigned first; /* batch that has not ended */
    unsigned requests, failed;
};

static double clock_s(clockid_t id)
{
    struct timespec ts;

    (void)clock_gettime(id, &ts); /* cannot fail for these clocks */
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- objects: as the daemon makes them of the jobs of bench_bind */

static struct spec *spec_make(unsigned pods)
{
    static const char *command[] = {"sleep", "1"};
    struct spec *s = spec_create();

    s->roles = arena_alloc(&s->arena, sizeof(*s->roles));
    s->n_roles = 1;
    s->roles[0] = (struct spec_role){.name = "worker",
                                     .replicas = pods,
                                     .gpus = 1,
                                     .shm_bytes = -1,
                                     .image = "registry.example.com/test:1",
                                     .command = {command, ARRAY_LEN(command)}};
    return s;
}

/* Like the daemon's, to the length. */
static char *event_make(const struct gang *g, const struct gang_pod *p, const char *uid)
{
    char name[POD_JSON_NAME];

    (void)kube_pod_name(name, g, p);
    return xasprintf(
        "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
        "\"%s.%.8s\",\"namespace\":\"%s\"},\"eventTime\":\"2026-11-30T00:00:00.000000Z\","
        "\"reportingController\":\"gang.queued/queued\",\"reportingInstance\":\"raw-bind-host\","
        "\"type\":\"Normal\",\"reason\":\"GangPlaced\",\"action\":\"Binding\","
        "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"%s\","
        "\"name\":\"%s\",\"uid\":\"%s\"},\"note\":\"rank %u of %u placed on %s by queued, "
        "attempt %u: score 1000 (topology 1000 = best 1500 / cost 1500, packing 1000): "
        "3 hosts in rack zone-1/block-1/rack-1\"}",
        name, uid, g->ns, g->ns, name, uid, p->rank, g->size, p->node, g->attempt);
}

static void batch_make(struct raw *raw, unsigned n)
{
    const struct load *l = &raw->load;
    struct batch *b = &raw->batches[n];
    struct str out = {0};
    struct kube_env *env;

    b->places = xcalloc(l->pods, sizeof(*b->places));
    b->pods = xcalloc(l->pods, sizeof(*b->pods));
    b->gang = (struct gang){.job = {n + 1},
                            .attempt = 1,
                            .spec = raw->spec,
                            .cpu_milli = {1000},
                            .memory_bytes = {INT64_C(1) << 30},
                            .role_names = {"worker"},
                            .kubernetes_class = "",
                            .grace_us = 30 * USEC_PER_SEC,
                            .latest_end_us = INT64_C(1796000000) * USEC_PER_SEC,
                            .has_service = true,
                            .n_pods = l->pods,
                            .size = l->pods,
                            .pods = b->places};
    (void)snprintf(b->gang.job_name, sizeof(b->gang.job_name), "raw-%04u", n);
    (void)snprintf(b->gang.ns, sizeof(b->gang.ns), "%s", l->ns);
    (void)snprintf(b->gang.tenant, sizeof(b->gang.tenant), "bench");
    kube_service_json(&out, &b->gang);
    b->service = out.s;
    for (unsigned i = 0; i < l->pods; i++) {
        struct gang_pod *p = &b->places[i];
        unsigned node = (n * l->pods + i) / GPUS_OF_A_NODE % l->nodes + 1;

        *p = (struct gang_pod){.member = i, .index = i, .rank = i};
        (void)snprintf(p->node, sizeof(p->node), "gpu-%03u", node);
    }
    env = kube_env_create(&b->gang); /* looks at all of them */
    for (unsigned i = 0; i < l->pods; i++) {
        out = (struct str){0};
        kube_pod_write(&out, env, &b->places[i], l->is_direct);
        b->pods[i].create = out.s;
    }
    kube_env_destroy(env);
}

static void batch_fini(struct batch *b, unsigned pods)
{
    for (unsigned i = 0; i < pods; i++)
        free(b->pods[i].create);
    free(b->pods);
    free(b->places);
    free(b->service);
}

/* ---- what is sent next */

static unsigned stage_size(const struct batch *b)
{
    return b->gang.n_pods + (b->stage == STAGE_CREATE); /* the service is made with the pods */
}

static void batch_answered(struct raw *raw, struct batch *b)
{
    const struct load *l = &raw->load;

    if (++b->done < stage_size(b))
        return;
    b->sent = b->done = 0;
    b->stage++;
    if (b->stage == STAGE_BIND && l->is_direct)
        b->stage++;
    if (b->stage == STAGE_EVENT && !l->has_events)
        b->stage++;
    while (raw->first < l->gangs && raw->batches[raw->first].stage == STAGE_ENDED)
        raw->first++;
}

static struct batch *batch_next(struct raw *raw, bool for_events)
{
    for (unsigned i = raw->first; i < raw->load.gangs; i++) {
        struct batch *b = &raw->batches[i];

        if (b->stage != STAGE_ENDED && (b->stage == STAGE_EVENT) == for_events &&
            b->sent < stage_size(b))
            return b;
    }
    return NULL;
}

static void aim(const struct raw *raw, struct call *c)
{
    const struct batch *b = c->batch;
    const struct gang *g = &b->gang;
    struct str body = {0};
    char name[POD_JSON_NAME], *url = NULL;

    switch (b->stage) {
    case STAGE_CREATE:
        url = xasprintf("%s/api/v1/namespaces/%s/%s?fieldManager=queued", raw->config.server, g->ns,
                        c->is_service ? "services" : "pods");
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS,
                         c->is_service ? b->service : b->pods[c->pod].create);
        break;
    case STAGE_BIND:
        url = xasprintf("%s/api/v1/namespaces/%s/pods/%s/binding?fieldManager=queued",
                        raw->config.server, g->ns, kube_pod_name(name, g, &g->pods[c->pod]));
        kube_binding_json(&body, g, &g->pods[c->pod], b->pods[c->pod].uid);
        c->body = body.s;
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->body);
        break;
    case STAGE_EVENT:
        url = xasprintf("%s/apis/events.k8s.io/v1/namespaces/%s/events?fieldManager=queued",
                        raw->config.server, g->ns);
        c->body = event_make(g, &g->pods[c->pod], b->pods[c->pod].uid);
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, c->body);
        break;
    case STAGE_ENDED:
        assert(0);
    }
    curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER,
                     b->stage == STAGE_BIND ? raw->headers : raw->small_headers);
    curl_easy_setopt(c->easy, CURLOPT_URL, url);
    free(url);
}

static bool launch_on(struct raw *raw, struct lane *lane)
{
    struct batch *b = lane->n_idle ? batch_next(raw, lane == &raw->lanes[LANE_EVENT]) : NULL;
    struct call *c;

    if (!b)
        return false;
    c = lane->idle[--lane->n_idle];
    c->batch = b;
    c->is_service = b->stage == STAGE_CREATE && b->sent == b->gang.n_pods;
    c->pod = b->sent++;
    c->len = 0;
    aim(raw, c);
    if (curl_multi_add_handle(lane->multi, c->easy) != CURLM_OK) {
        (void)fprintf(stderr, "raw_bind: curl takes no more transfers\n");
        exit(2);
    }
    return true;
}

static bool launch_next(struct raw *raw)
{
    struct lane *a = &raw->lanes[LANE_CALL_A], *b = &raw->lanes[LANE_CALL_B];

    return launch_on(raw, a->n_idle >= b->n_idle ? a : b) ||
           launch_on(raw, &raw->lanes[LANE_EVENT]);
}

/* ---- answers */

static size_t on_data(char *p, size_t size, size_t n, void *ctx)
{
    struct call *c = ctx;
    size_t len = size * n, room = ANSWER_MAX - c->len;

    memcpy(c->answer + c->len, p, len < room ? len : room);
    c->len += len < room ? len : room;
    return len;
}

/* The uid of a created pod, found without parsing. */
static bool take_uid(struct call *c)
{
    char *uid = c->batch->pods[c->pod].uid;
    const char *at;

    c->answer[c->len] = '\0';
    at = strstr(c->answer, "\"uid\":\"");
    return at && sscanf(at, "\"uid\":\"%39[^\"]\"", uid) == 1;
}

static void finish(struct raw *raw, struct call *c, CURLcode code)
{
    struct lane *lane = &raw->lanes[c->lane];
    long status = 0;

    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status); /* 0 stays when unknown */
    (void)curl_multi_remove_handle(lane->multi, c->easy);              /* it was on it */
    raw->requests++;
    if (code != CURLE_OK || status != 201 ||
        (c->batch->stage == STAGE_CREATE && !c->is_service && !take_uid(c))) {
        c->answer[c->len] = '\0';
        if (raw->failed++ == 0)
            (void)fprintf(stderr, "raw_bind: %s, status %ld: %.300s\n", curl_easy_strerror(code),
                          status, c->answer);
    }
    free(c->body);
    c->body = NULL;
    lane->idle[lane->n_idle++] = c;
    batch_answered(raw, c->batch);
}

static void drain(struct raw *raw)
{
    for (int i = 0; i < LANES; i++) {
        int left = 0;
        const CURLMsg *msg = curl_multi_info_read(raw->lanes[i].multi, &left);

        while (msg) {
            char *c = NULL;
            CURLcode code = msg->data.result;

            (void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &c); /* set by lane_make */
            finish(raw, (struct call *)(void *)c, code);
            msg = curl_multi_info_read(raw->lanes[i].multi, &left);
        }
    }
}

/* ---- sockets and timers */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *unused)
{
    struct lane *lane = ctx;
    struct raw *raw = lane->raw;
    unsigned i = 0;

    (void)easy;
    (void)unused;
    while (i < raw->n_fds && raw->fds[i].fd != fd)
        i++;
    if (what == CURL_POLL_REMOVE) {
        if (i < raw->n_fds) {
            raw->fds[i] = raw->fds[--raw->n_fds];
            raw->fd_lanes[i] = raw->fd_lanes[raw->n_fds];
        }
        return 0;
    }
    assert(i < SOCKETS_MAX);
    raw->n_fds += i == raw->n_fds;
    raw->fd_lanes[i] = lane;
    raw->fds[i] = (struct pollfd){.fd = fd,
                                  .events = (short)((what & CURL_POLL_IN ? POLLIN : 0) |
                                                    (what & CURL_POLL_OUT ? POLLOUT : 0))};
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *ctx)
{
    struct lane *lane = ctx;

    (void)multi;
    lane->timer_at = timeout_ms < 0 ? -1 : clock_s(CLOCK_MONOTONIC) + (double)timeout_ms / 1000.0;
    return 0;
}

static void act(struct lane *lane, curl_socket_t fd, int mask)
{
    int running = 0;

    if (curl_multi_socket_action(lane->multi, fd, mask, &running) != CURLM_OK) {
        (void)fprintf(stderr, "raw_bind: curl failed\n");
        exit(2);
    }
}

static bool run_timers(struct raw *raw)
{
    double now = clock_s(CLOCK_MONOTONIC);
    bool did = false;

    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &raw->lanes[i];

        if (lane->timer_at < 0 || lane->timer_at > now)
            continue;
        lane->timer_at = -1;
        act(lane, CURL_SOCKET_TIMEOUT, 0);
        did = true;
    }
    return did;
}

static void take_sockets(struct raw *raw)
{
    struct pollfd fds[SOCKETS_MAX];
    struct lane *lanes[SOCKETS_MAX];
    unsigned n = raw->n_fds;

    memcpy(fds, raw->fds, sizeof(fds));
    memcpy(lanes, raw->fd_lanes, sizeof(lanes));
    if (poll(fds, n, 100) <= 0)
        return;
    for (unsigned i = 0; i < n; i++)
        if (fds[i].revents)
            act(lanes[i], fds[i].fd,
                (fds[i].revents & POLLIN ? CURL_CSELECT_IN : 0) |
                    (fds[i].revents & POLLOUT ? CURL_CSELECT_OUT : 0) |
                    (fds[i].revents & (POLLERR | POLLHUP) ? CURL_CSELECT_ERR : 0));
}

/* Finished transfers are read and new ones added before each poll. */
static void run(struct raw *raw)
{
    while (raw->first < raw->load.gangs) {
        drain(raw);
        while (launch_next(raw))
            ;
        if (!run_timers(raw))
            take_sockets(raw);
    }
}

/* ---- begin and end */

static void easy_make(struct raw *raw, struct call *c)
{
    struct curl_blob ca = {.data = raw->config.ca, .len = strlen(raw->config.ca)};
    struct curl_blob cert = {.data = raw->config.cert, .len = strlen(raw->config.cert)};
    struct curl_blob key = {.data = raw->config.key, .len = strlen(raw->config.key)};

    c->easy = curl_easy_init();
    assert(c->easy);
    curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(c->easy, CURLOPT_USERAGENT, "raw_bind");
    curl_easy_setopt(c->easy, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(c->easy, CURLOPT_SSLCERT_BLOB, &cert);
    curl_easy_setopt(c->easy, CURLOPT_SSLKEY_BLOB, &key);
    curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
    curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
    curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, 45000L);
}

static void lane_make(struct raw *raw, int which)
{
    struct lane *lane = &raw->lanes[which];
    unsigned in_flight = which == LANE_EVENT ? HTTP_EVENTS_AT_ONCE : HTTP_CALLS_PER_LANE;

    lane->raw = raw;
    lane->timer_at = -1;
    lane->multi = curl_multi_init();
    assert(lane->multi);
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    for (unsigned i = 0; i < in_flight; i++) {
        lane->calls[i].lane = which;
        easy_make(raw, &lane->calls[i]);
        lane->idle[lane->n_idle++] = &lane->calls[i];
    }
}

static struct curl_slist *headers_make(const char *accept)
{
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");

    list = curl_slist_append(list, "Expect:");
    return curl_slist_append(list, accept);
}

static void raw_make(struct raw *raw)
{
    struct err err;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) ||
        kube_config_load(&raw->config, raw->load.kubeconfig, &err)) {
        (void)fprintf(stderr, "raw_bind: cannot use %s\n", raw->load.kubeconfig);
        exit(2);
    }
    if (!raw->config.ca || !raw->config.cert || !raw->config.key) {
        (void)fprintf(stderr, "raw_bind: %s: a client certificate is needed\n",
                      raw->load.kubeconfig);
        exit(2);
    }
    raw->headers = headers_make("Accept: application/json");
    raw->small_headers = headers_make("Accept: " API_ACCEPT_SMALL);
    raw->spec = spec_make(raw->load.pods);
    raw->batches = xcalloc(raw->load.gangs, sizeof(*raw->batches));
    for (unsigned i = 0; i < raw->load.gangs; i++)
        batch_make(raw, i);
    for (int i = 0; i < LANES; i++)
        lane_make(raw, i);
}

static void raw_fini(struct raw *raw)
{
    for (int i = 0; i < LANES; i++) {
        for (unsigned k = 0; k < raw->lanes[i].n_idle; k++)
            curl_easy_cleanup(raw->lanes[i].idle[k]->easy);
        (void)curl_multi_cleanup(raw->lanes[i].multi); /* the process ends */
    }
    for (unsigned i = 0; i < raw->load.gangs; i++)
        batch_fini(&raw->batches[i], raw->load.pods);
    free(raw->batches);
    spec_destroy(raw->spec);
    curl_slist_free_all(raw->headers);
    curl_slist_free_all(raw->small_headers);
    kube_config_fini(&raw->config);
    curl_global_cleanup();
}

static int usage(void)
{
    (void)fprintf(stderr,
                  "usage: raw_bind -k KUBECONFIG -n NAMESPACE [-g GANGS] [-p PODS] [-N NODES]\n"
                  "                [-m bind|direct] [-e on|off]\n");
    return 64;
}

static bool options(struct load *l, int argc, char **argv)
{
    int c;

    *l = (struct load){.gangs = 1, .pods = 20, .nodes = 1280, .has_events = true};
    while (c = getopt(argc, argv, "k:n:g:p:N:m:e:"), c != -1) {
        switch (c) {
        case 'k':
            l->kubeconfig = optarg;
            break;
        case 'n':
            l->ns = optarg;
            break;
        case 'g':
            l->gangs = (unsigned)atoi(optarg);
            break;
        case 'p':
            l->pods = (unsigned)atoi(optarg);
            break;
        case 'N':
            l->nodes = (unsigned)atoi(optarg);
            break;
        case 'm':
            l->is_direct = !strcmp(optarg, "direct");
            break;
        case 'e':
            l->has_events = !strcmp(optarg, "on");
            break;
        default:
            return false;
        }
    }
    return l->kubeconfig && l->ns && l->gangs && l->pods && l->nodes;
}

int main(int argc, char **argv)
{
    static struct raw raw; /* large */
    double began, cpu;

    if (!options(&raw.load, argc, argv))
        return usage();
    raw_make(&raw);
    began = clock_s(CLOCK_MONOTONIC);
    cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    run(&raw);
    (void)printf("{\"seconds\": %.4f, \"cpu_s\": %.4f, \"requests\": %u, \"failed\": %u}\n",
                 clock_s(CLOCK_MONOTONIC) - began, clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu,
                 raw.requests, raw.failed);
    raw_fini(&raw);
    return raw.failed ? 1 : 0;
}
