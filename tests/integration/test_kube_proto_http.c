/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_proto_http.c - a list and its watch over HTTP from a server that speaks protobuf, one
 * that refuses it, and one that breaks off.
 *
 * The bodies are recordings (proto_ear.h). The server runs on a thread of libmicrohttpd; what the
 * test reads of it is under its lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <microhttpd.h>

#include "../fake/proto_ear.h"
#include "kube/kube_watch.h"
#include "util/log.h"
#include "util/mem.h"

enum { ASKED_MAX = 16, WAIT_S = 20 };

static const char proto_type[] = "application/vnd.kubernetes.protobuf";

struct server {
    pthread_mutex_t lock;
    struct MHD_Daemon *mhd;
    bool is_refusing;   /* 406 for whatever names protobuf */
    unsigned n_damaged; /* so many lists come with half their bytes */
    struct str list_pb, list_json, watch_pb, watch_json;
    unsigned n_asked;
    char asked[ASKED_MAX][160]; /* "list|watch|probe ACCEPT", the first of them */
};

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type,
                              const struct str *body, size_t len)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)str_text(body),
                                                             MHD_RESPMEM_MUST_COPY);
    enum MHD_Result ret;

    (void)MHD_add_response_header(r, "Content-Type", type); /* the test would see it */
    ret = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return ret;
}

static enum MHD_Result serve(struct server *s, struct MHD_Connection *c)
{
    const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
    bool is_watch = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "watch") != NULL;
    const char *match =
        MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "resourceVersionMatch");
    bool is_proto = accept && strstr(accept, proto_type) && !match;
    static const struct str refused = {.s = (char *)"406: Not Acceptable", .len = 19};
    const struct str *body;

    if (s->n_asked < ASKED_MAX)
        (void)snprintf(s->asked[s->n_asked++], sizeof(s->asked[0]), "%s %s",
                       is_watch ? "watch"
                       : match  ? "probe"
                                : "list",
                       accept ? accept : "");
    if (is_proto && s->is_refusing)
        return answer(c, 406, "text/plain", &refused, refused.len);
    if (is_watch)
        body = is_proto ? &s->watch_pb : &s->watch_json;
    else
        body = is_proto ? &s->list_pb : &s->list_json;
    if (!is_watch && !match && s->n_damaged) {
        s->n_damaged--;
        return answer(c, 200, proto_type, body, body->len / 2);
    }
    if (!is_proto)
        return answer(c, 200, "application/json", body, body->len);
    return answer(c, 200,
                  is_watch ? "application/vnd.kubernetes.protobuf;stream=watch" : proto_type, body,
                  body->len);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **req)
{
    struct server *s = ctx;
    enum MHD_Result ret;

    (void)url;
    (void)method;
    (void)version;
    (void)data;
    (void)len;
    (void)req;
    (void)pthread_mutex_lock(&s->lock); /* neither can fail: it is ours and in order */
    ret = serve(s, c);
    (void)pthread_mutex_unlock(&s->lock);
    return ret;
}

struct rig {
    struct server server;
    struct kube_config config;
    struct kube_http *http;
    struct api_pace pace;
    struct kube_watch *watch;
    struct ear ear; /* of no store: it says what the watch's store tells */
};

static struct rig *rig_create(void)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    struct kube_watch_times times = {0};
    struct server *s = &r->server;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const union MHD_DaemonInfo *info;

    assert_true(ear_recording("list/nodes.pb.resp.body.pb", &s->list_pb));
    assert_true(ear_recording("list/nodes.resp.body.json", &s->list_json));
    assert_true(ear_recording("watch/nodes-add-modify-delete.pb.resp.body.pb", &s->watch_pb));
    assert_true(ear_recording("watch/nodes-add-modify-delete.resp.body.json", &s->watch_json));
    assert_int_equal(pthread_mutex_init(&s->lock, NULL), 0);
    s->mhd = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, s,
                              MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_END);
    assert_non_null(s->mhd);
    info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_BIND_PORT);
    r->config.server = xasprintf("http://127.0.0.1:%u", (unsigned)info->port);
    assert_int_equal(http_create(&r->http, &r->config, NULL), 0);
    r->pace = (struct api_pace){.rng = 1, .base_us = 1000};
    r->watch = kube_watch_create(&store_nodes, r->http, &times, &r->pace);
    ear_init(&r->ear, &store_nodes);
    return r;
}

static void rig_destroy(struct rig *r)
{
    kube_watch_destroy(r->watch);
    http_destroy(r->http);
    kube_config_fini(&r->config);
    MHD_stop_daemon(r->server.mhd);
    (void)pthread_mutex_destroy(&r->server.lock); /* nobody holds it any more */
    str_fini(&r->server.list_pb);
    str_fini(&r->server.list_json);
    str_fini(&r->server.watch_pb);
    str_fini(&r->server.watch_json);
    ear_fini(&r->ear);
    free(r);
}

/* Run until the server was asked for the n-th time after which nothing is to come. */
static void run_until_asked(struct rig *r, unsigned n)
{
    usec_t end = http_now() + WAIT_S * USEC_PER_SEC;
    unsigned asked = 0;

    while (asked < n) {
        struct pollfd p = {.fd = http_fd(r->http), .events = POLLIN};

        if (http_now() > end)
            fail_msg("the server was asked %u times, not %u", asked, n);
        (void)poll(&p, 1, 2); /* it comes back soon in any case */
        http_ready(r->http);
        kube_watch_tick(r->watch, http_now());
        (void)pthread_mutex_lock(&r->server.lock);
        asked = r->server.n_asked;
        (void)pthread_mutex_unlock(&r->server.lock);
    }
}

/* What the watch tells of the nodes, without uids and times. */
static const char *told_by(struct rig *r)
{
    struct kube_store *own = r->ear.store;

    r->ear.store = kube_watch_store(r->watch);
    r->ear.is_masked = true;
    ear_hear(&r->ear);
    r->ear.store = own;
    return str_text(&r->ear.told);
}

static void lists_and_watches_come_as_protobuf(void **state)
{
    struct rig *r = rig_create();

    (void)state;
    run_until_asked(r, 3);
    assert_string_equal(r->server.asked[0],
                        "list application/vnd.kubernetes.protobuf,application/json;q=0.9");
    assert_string_equal(r->server.asked[1], "watch application/vnd.kubernetes.protobuf;stream="
                                            "watch,application/json;q=0.9");
    assert_string_equal(r->server.asked[2], "probe application/json"); /* the watch ended well */
    assert_int_equal(kube_watch_lists(r->watch), 1);
    assert_int_equal(kube_store_count(kube_watch_store(r->watch)), 9);
    assert_non_null(strstr(told_by(r), "node n-a "));
    assert_non_null(strstr(told_by(r), "gone wnode"));
    rig_destroy(r);
}

static void a_server_that_refuses_protobuf_is_read_as_json(void **state)
{
    struct rig *r = rig_create(), *proto = rig_create();

    (void)state;
    r->server.is_refusing = true;
    run_until_asked(r, 4);
    run_until_asked(proto, 3);
    assert_string_equal(r->server.asked[1], "list application/json");
    assert_string_equal(r->server.asked[2], "watch application/json");
    assert_string_equal(r->server.asked[3], "probe application/json");
    assert_int_equal(kube_watch_lists(r->watch), 1);
    assert_string_equal(told_by(r), told_by(proto));
    rig_destroy(proto);
    rig_destroy(r);
}

static void a_list_that_breaks_off_is_asked_for_again(void **state)
{
    struct rig *r = rig_create();

    (void)state;
    r->server.n_damaged = 2;
    run_until_asked(r, 5);
    assert_string_equal(r->server.asked[2],
                        "list application/vnd.kubernetes.protobuf,application/json;q=0.9");
    assert_int_equal(strncmp(r->server.asked[3], "watch", 5), 0);
    assert_int_equal(kube_watch_lists(r->watch), 1);
    assert_int_equal(kube_store_count(kube_watch_store(r->watch)), 9);
    rig_destroy(r);
}

static void bytes_that_are_no_event_bring_a_new_list(void **state)
{
    struct rig *r = rig_create();

    (void)state;
    memcpy(r->server.watch_pb.s, "\xff\xff\xff\xff", 4); /* a frame of four gigabytes */
    run_until_asked(r, 3);
    assert_int_equal(strncmp(r->server.asked[2], "list", 4), 0);
    assert_int_equal(kube_store_count(kube_watch_store(r->watch)), 9);
    rig_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_watches_come_as_protobuf),
        cmocka_unit_test(a_server_that_refuses_protobuf_is_read_as_json),
        cmocka_unit_test(a_list_that_breaks_off_is_asked_for_again),
        cmocka_unit_test(bytes_that_are_no_event_bring_a_new_list),
    };

    log_setup(LOG_LEVEL_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
