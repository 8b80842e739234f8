/* SPDX-License-Identifier: Apache-2.0 */
/* test_kube_reflector.c - what the reflector asks next after each answer that a server may give.
 *
 * A server of our own plays a script: for each request what it must be, and the answer. "list" is a
 * first page without a version, "next T" the page of token T, "all" a list without pages, "watch N"
 * one from version N, "probe N name" asks for version N and the object that changed last. Waits are
 * a thousandth of the real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <malloc.h>
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

enum { STEPS_MAX = 24, WAIT_S = 20 };

enum how { WHOLE, CUT, NO_ANSWER };

struct step {
    const char *expect;
    unsigned status;
    const char *body;
    enum how how;
    const char *retry_after;
};

struct script {
    const char *name;
    struct step steps[STEPS_MAX];
    const char *told; /* names of nodes that are known at the end, NULL: not looked at */
};

#define EVENT(type, name, rv)                                                                      \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"Node\",\"metadata\":{\"name\":\"" name          \
    "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" rv "\"}}}\n"
#define ITEM(name, rv)                                                                             \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" rv "\"}}"
#define PAGE(rv, more, items)                                                                      \
    "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" rv         \
    "\"" more "},\"items\":[" items "]}\n"
#define BOOKMARK(rv)                                                                               \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"    \
    "\"resourceVersion\":\"" rv "\"},\"spec\":{},\"status\":{}}}\n"
#define STATUS(code, reason, more)                                                                 \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","           \
    "\"message\":\"m\",\"reason\":\"" reason "\"" more ",\"code\":" code "}"
#define ERROR(code, reason, more) "{\"type\":\"ERROR\",\"object\":" STATUS(code, reason, more) "}\n"
#define TOO_LARGE                                                                                  \
    ",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large "   \
    "resource version\"}],\"retryAfterSeconds\":0}"
#define LIST_7                                                                                     \
    {                                                                                              \
        "list", 200, PAGE("7", "", ITEM("a", "5")), WHOLE, NULL                                    \
    }
#define PROBE(rv, name)                                                                            \
    {                                                                                              \
        "probe " rv " " name, 200, PAGE(rv, "", ITEM(name, rv)), WHOLE, NULL                       \
    }
#define PROBE_GONE(rv, name)                                                                       \
    {                                                                                              \
        "probe " rv " " name, 200, PAGE(rv, "", ""), WHOLE, NULL                                   \
    }
#define WATCH(rv, body)                                                                            \
    {                                                                                              \
        "watch " rv, 200, body, WHOLE, NULL                                                        \
    }
#define LAST(expect)                                                                               \
    {                                                                                              \
        expect, 200, PAGE("99", "", ""), WHOLE, NULL                                               \
    }

static const struct script scripts[] = {
    {"a clean end goes on from the last event, without a list",
     {LIST_7, WATCH("7", EVENT("ADDED", "b", "8") EVENT("ADDED", "c", "12")), PROBE("12", "c"),
      WATCH("12", EVENT("DELETED", "b", "13")), PROBE_GONE("13", "b"), LAST("watch 13")},
     "a c "},
    {"a bookmark moves the version and nothing else",
     {LIST_7, {"watch 7", 200, BOOKMARK("20"), CUT, NULL}, PROBE("20", "a"), LAST("watch 20")},
     "a "},
    {"an event that is cut comes again",
     {LIST_7,
      {"watch 7", 200, EVENT("ADDED", "b", "8") "{\"type\":\"ADDED\",\"object\":{\"ki", CUT, NULL},
      PROBE("8", "b"),
      WATCH("8", EVENT("ADDED", "c", "9")),
      PROBE("9", "c"),
      LAST("watch 9")},
     "a b c "},
    {"a cut event at a clean end comes again, too",
     {LIST_7, WATCH("7", EVENT("ADDED", "b", "8") "{\"type\":\"ADDED\",\"obj"), PROBE("8", "b"),
      LAST("watch 8")},
     "a b "},
    {"410 as a status of a watch: a list without a version",
     {LIST_7, {"watch 7", 410, STATUS("410", "Expired", ""), WHOLE, NULL}, LAST("list")},
     NULL},
    {"410 as an event: a list without a version",
     {LIST_7, WATCH("7", ERROR("410", "Expired", "")), LAST("list")},
     NULL},
    {"410 as an event after others: a list all the same",
     {LIST_7, WATCH("7", EVENT("ADDED", "b", "8") ERROR("410", "Gone", "")), LAST("list")},
     NULL},
    {"410 of a later page: all at once, from the start",
     {{"list", 200, PAGE("7", ",\"continue\":\"T1\"", ITEM("x", "1")), WHOLE, NULL},
      {"next T1", 410,
       STATUS("410", "Expired", "") /* with a token that resumes inconsistently, not used */, WHOLE,
       NULL},
      {"all", 200, PAGE("8", "", ITEM("a", "5")), WHOLE, NULL},
      LAST("watch 8")},
     "a "},
    {"pages are read to the last one and watched from the first one's version",
     {{"list", 200, PAGE("7", ",\"continue\":\"T1\"", ITEM("a", "1")), WHOLE, NULL},
      {"next T1", 200, PAGE("7", ",\"continue\":\"T2\"", ITEM("b", "2")), WHOLE, NULL},
      {"next T2", 200, PAGE("7", "", ITEM("c", "30")), WHOLE, NULL},
      LAST("watch 7")},
     "a b c "},
    {"a version that is too large for a probe: a list without a version",
     {LIST_7,
      WATCH("7", EVENT("ADDED", "b", "900")),
      {"probe 900 b", 504, STATUS("504", "Timeout", TOO_LARGE), WHOLE, NULL},
      {"list", 200, PAGE("30", "", ITEM("a", "5")), WHOLE, NULL},
      LAST("watch 30")},
     "a "},
    {"a probe that shows an older version: a list, for the server was put back",
     {LIST_7,
      WATCH("7", EVENT("ADDED", "b", "900")),
      {"probe 900 b", 200, PAGE("30", "", ""), WHOLE, NULL},
      {"list", 200, PAGE("30", "", ITEM("a", "4")), WHOLE, NULL},
      LAST("watch 30")},
     "a "},
    {"a probe that shows the last object as it was before: a list, though the version is past ours",
     {LIST_7,
      WATCH("7", EVENT("MODIFIED", "a", "900")),
      {"probe 900 a", 200, PAGE("950", "", ITEM("a", "5")), WHOLE, NULL},
      {"list", 200, PAGE("951", "", ITEM("a", "5")), WHOLE, NULL},
      LAST("watch 951")},
     "a "},
    {"a probe that does not show the last object: a list",
     {LIST_7,
      WATCH("7", EVENT("ADDED", "b", "900")),
      {"probe 900 b", 200, PAGE("950", "", ""), WHOLE, NULL},
      {"list", 200, PAGE("951", "", ITEM("a", "5")), WHOLE, NULL},
      LAST("watch 951")},
     "a "},
    {"a probe that shows an object whose end we saw: a list",
     {LIST_7,
      WATCH("7", EVENT("DELETED", "a", "900")),
      {"probe 900 a", 200, PAGE("950", "", ITEM("a", "5")), WHOLE, NULL},
      {"list", 200, PAGE("951", "", ITEM("a", "5")), WHOLE, NULL},
      LAST("watch 951")},
     "a "},
    {"a probe that shows another object of that name is fine",
     {LIST_7,
      WATCH("7", EVENT("DELETED", "a", "900")),
      {"probe 900 a", 200,
       PAGE("950", "",
            "{\"metadata\":{\"name\":\"a\",\"uid\":\"u2\",\"resourceVersion\":\"940\"}}"),
       WHOLE, NULL},
      LAST("watch 900")},
     ""},
    {"a probe that is answered by a page of a proxy says nothing",
     {LIST_7,
      WATCH("7", EVENT("ADDED", "b", "8")),
      {"probe 8 b", 200, "<html>sign in</html>", WHOLE, NULL},
      PROBE("8", "b"),
      LAST("watch 8")},
     "a b "},
    {"a version that is too large for a watch",
     {LIST_7, WATCH("7", ERROR("504", "Timeout", TOO_LARGE)), LAST("list")},
     NULL},
    {"an error 500 of a watch is no reason for a list",
     {LIST_7, WATCH("7", ERROR("500", "InternalError", "")), PROBE("7", "a"), LAST("watch 7")},
     NULL},
    {"five errors 500 are",
     {LIST_7, WATCH("7", ERROR("500", "InternalError", "")), PROBE("7", "a"),
      WATCH("7", ERROR("500", "InternalError", "")), PROBE("7", "a"),
      WATCH("7", ERROR("500", "InternalError", "")), PROBE("7", "a"),
      WATCH("7", ERROR("500", "InternalError", "")), PROBE("7", "a"),
      WATCH("7", ERROR("500", "InternalError", "")), PROBE("7", "a"),
      WATCH("7", ERROR("500", "InternalError", "")), LAST("list")},
     NULL},
    {"any other error of a watch leads to a list",
     {LIST_7, WATCH("7", ERROR("403", "Forbidden", "")), LAST("list")},
     NULL},
    {"a server that is busy is asked again for the same",
     {LIST_7,
      {"watch 7", 429, "Too many requests, please try again later.\n", WHOLE, NULL},
      PROBE("7", "a"),
      {"watch 7", 503, STATUS("503", "ServiceUnavailable", ""), WHOLE, NULL},
      PROBE("7", "a"),
      LAST("watch 7")},
     NULL},
    {"401 of a watch is no reason for a list",
     {LIST_7,
      {"watch 7", 401, STATUS("401", "Unauthorized", ""), WHOLE, NULL},
      PROBE("7", "a"),
      LAST("watch 7")},
     NULL},
    {"a connection that ends without an answer",
     {LIST_7, {"watch 7", 0, "", NO_ANSWER, NULL}, PROBE("7", "a"), LAST("watch 7")},
     NULL},
    {"a probe without a clear answer is made again",
     {LIST_7,
      WATCH("7", EVENT("ADDED", "b", "8")),
      {"probe 8 b", 504, "{\"metadata\":{},\"status\":\"Failure\",\"code\":504}", WHOLE, NULL},
      {"probe 8 b", 500, "no\n", WHOLE, NULL},
      {"probe 8 b", 0, "", NO_ANSWER, NULL},
      PROBE("8", "b"),
      LAST("watch 8")},
     "a b "},
    {"a list without a clear answer is made again, from its first page",
     {{"list", 504, "", WHOLE, NULL},
      {"list", 500, "no\n", WHOLE, NULL},
      {"list", 0, "", NO_ANSWER, NULL},
      {"list", 200, PAGE("7", ",\"continue\":\"T1\"", ITEM("a", "1")), WHOLE, NULL},
      {"next T1", 503, "", WHOLE, NULL},
      LIST_7,
      LAST("watch 7")},
     "a "},
    {"a list whose end is missing is no list, though the transfer went well",
     {{"list", 200, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" ITEM("z", "1"), WHOLE,
       NULL},
      LIST_7,
      LAST("watch 7")},
     "a "},
    {"what is no event is not resumed from",
     {LIST_7, WATCH("7", "<html>sign in</html>\n"), LAST("list")},
     NULL},
    {"a watch that ends at once is asked for again, with a probe",
     {LIST_7, WATCH("7", ""), PROBE("7", "a"), WATCH("7", ""), PROBE("7", "a"), LAST("watch 7")},
     "a "},
    {"doubled and disordered events of a watch",
     {LIST_7,
      WATCH("7", EVENT("ADDED", "b", "9") EVENT("ADDED", "b", "9") EVENT("MODIFIED", "b", "8")
                     EVENT("DELETED", "a", "10") EVENT("DELETED", "a", "10")
                         EVENT("MODIFIED", "a", "6") EVENT("MODIFIED", "c", "8")),
      PROBE_GONE("10", "a"), LAST("watch 10")},
     "b c "},
};

/* ---- the server */

struct server {
    pthread_mutex_t lock;
    struct MHD_Daemon *mhd;
    const struct step *steps; /* NULL: what it is asked is counted, and each watch ends at once */
    unsigned n_asked;
    char asked[STEPS_MAX + 1][64];
    bool is_odd; /* a watch without bookmarks, or with a strange timeout */
};

static ssize_t read_cut(void *ctx, uint64_t pos, char *buf, size_t max)
{
    const char *body = ctx;
    size_t left = strlen(body) - (size_t)pos;
    size_t n = left < max ? left : max;

    memcpy(buf, body + pos, n);
    return n ? (ssize_t)n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static enum MHD_Result answer(struct MHD_Connection *c, const struct step *s)
{
    struct MHD_Response *r;
    enum MHD_Result ret;

    if (s->how == NO_ANSWER)
        return MHD_NO;
    if (s->how == CUT)
        r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_cut,
                                              (void *)(uintptr_t)s->body, NULL);
    else
        r = MHD_create_response_from_buffer(strlen(s->body), (void *)(uintptr_t)s->body,
                                            MHD_RESPMEM_PERSISTENT);
    (void)MHD_add_response_header(r, "Content-Type", "application/json"); /* the test would see */
    if (s->retry_after)
        (void)MHD_add_response_header(r, "Retry-After", s->retry_after); /* likewise */
    ret = MHD_queue_response(c, s->status, r);
    MHD_destroy_response(r);
    return ret;
}

static const char *query(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
}

static void describe(struct server *s, struct MHD_Connection *c, char *ret, size_t size)
{
    const char *rv = query(c, "resourceVersion"), *next = query(c, "continue");
    const char *limit = query(c, "limit"), *timeout = query(c, "timeoutSeconds");
    const char *field = query(c, "fieldSelector");

    if (query(c, "watch")) {
        int seconds = timeout ? atoi(timeout) : 0;
        const char *bookmarks = query(c, "allowWatchBookmarks");

        if (!bookmarks || strcmp(bookmarks, "true") != 0 || seconds < 300 || seconds > 600)
            s->is_odd = true;
        (void)snprintf(ret, size, "watch %s", rv ? rv : "");
    } else if (query(c, "resourceVersionMatch")) {
        s->is_odd = s->is_odd || !limit || strcmp(limit, "1") != 0;
        (void)snprintf(ret, size, "probe %s %s", rv ? rv : "",
                       field && !strncmp(field, "metadata.name=", 14) ? field + 14 : "");
    } else if (next) {
        (void)snprintf(ret, size, "next %s", next);
    } else {
        s->is_odd = s->is_odd || rv || (limit && strcmp(limit, "500") != 0);
        (void)snprintf(ret, size, limit ? "list" : "all");
    }
}

static enum MHD_Result serve(struct server *s, struct MHD_Connection *c)
{
    static const struct step list = LIST_7, probe = PROBE("7", "a"), ended = WATCH("7", ""),
                             nothing = {"", 500, "", WHOLE, NULL};
    unsigned i = s->n_asked;
    char what[64];

    describe(s, c, what, sizeof(what));
    if (i < STEPS_MAX)
        memcpy(s->asked[i], what, sizeof(what));
    s->n_asked++;
    if (!s->steps)
        return answer(c, what[0] == 'l' ? &list : what[0] == 'p' ? &probe : &ended);
    return answer(c, i < STEPS_MAX && s->steps[i].expect ? &s->steps[i] : &nothing);
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

/* ---- the reflector against it */

struct rig {
    struct server server;
    struct kube_config config;
    struct kube_http *http;
    struct api_pace pace;
    struct kube_watch *watch;
};

static void rig_init(struct rig *r, const struct step *steps, usec_t base_us)
{
    static const struct kube_watch_times times = {0};
    struct server *s = &r->server;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const union MHD_DaemonInfo *info;

    *r = (struct rig){.server.steps = steps, .pace = {.rng = 1, .base_us = base_us}};
    assert_int_equal(pthread_mutex_init(&s->lock, NULL), 0);
    s->mhd = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, s,
                              MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_END);
    assert_non_null(s->mhd);
    info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_BIND_PORT);
    r->config.server = xasprintf("http://127.0.0.1:%u", (unsigned)info->port);
    assert_int_equal(http_create(&r->http, &r->config, NULL), 0);
    r->watch = kube_watch_create(&store_nodes, r->http, &times, &r->pace);
}

static void rig_fini(struct rig *r)
{
    kube_watch_destroy(r->watch);
    http_destroy(r->http);
    kube_config_fini(&r->config);
    MHD_stop_daemon(r->server.mhd);
    (void)pthread_mutex_destroy(&r->server.lock); /* nobody holds it any more */
}

static unsigned n_asked(struct rig *r)
{
    unsigned n;

    (void)pthread_mutex_lock(&r->server.lock); /* as above */
    n = r->server.n_asked;
    (void)pthread_mutex_unlock(&r->server.lock);
    return n;
}

static void rig_turn(struct rig *r)
{
    struct pollfd p = {.fd = http_fd(r->http), .events = POLLIN};

    (void)poll(&p, 1, 1); /* it comes back soon in any case */
    http_ready(r->http);
    kube_watch_tick(r->watch, http_now());
}

static void assert_known(struct rig *r, const char *expected)
{
    struct inbox *inbox = inbox_create(64);
    char known[26] = "", text[64] = "";
    struct event ev;

    assert_true(kube_store_flush(kube_watch_store(r->watch), inbox, 0));
    while (inbox_pop(inbox, &ev)) { /* names have one letter */
        if (ev.kind == EV_NODE_SEEN)
            known[ev.u.node->name[0] - 'a'] = 1;
        else if (ev.kind == EV_NODE_GONE)
            known[ev.u.node_name[0] - 'a'] = 0;
        event_fini(&ev);
    }
    for (int i = 0; i < 26; i++)
        if (known[i])
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c ", 'a' + i);
    assert_string_equal(text, expected);
    inbox_destroy(inbox);
}

static void play(const struct script *script)
{
    usec_t end = http_now() + WAIT_S * USEC_PER_SEC;
    unsigned n = 0;
    struct rig r;

    while (n < STEPS_MAX && script->steps[n].expect)
        n++;
    rig_init(&r, script->steps, USEC_PER_MSEC);
    while (n_asked(&r) < n && http_now() < end)
        rig_turn(&r);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(r.server.asked[i], script->steps[i].expect) != 0)
            fail_msg("%s: request %u is \"%s\", not \"%s\"", script->name, i, r.server.asked[i],
                     script->steps[i].expect);
    if (r.server.is_odd)
        fail_msg("%s: a request has odd parameters", script->name);
    if (script->told)
        assert_known(&r, script->told);
    rig_fini(&r);
}

static void each_answer_is_followed_by_the_right_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
        play(&scripts[i]);
}

static void a_retry_after_of_the_server_is_waited_for(void **state)
{
    static const struct step steps[STEPS_MAX] = {
        LIST_7, {"watch 7", 429, "busy\n", WHOLE, "1"}, PROBE("7", "a"), LAST("watch 7")};
    struct rig r;
    usec_t begun = http_now(), end = begun + WAIT_S * USEC_PER_SEC;

    (void)state;
    rig_init(&r, steps, USEC_PER_MSEC);
    while (n_asked(&r) < 3 && http_now() < end)
        rig_turn(&r);
    assert_in_range(http_now() - begun, USEC_PER_SEC, 10 * USEC_PER_SEC);
    rig_fini(&r);
}

/* In hundredths: 8 ms for the 0.8 s of a real back-off, and 300 ms for 30 s. */
static void watches_that_end_at_once_make_fewer_than_ten_requests_in_30_s(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct rig r;
        usec_t end;
        unsigned before, n;

        rig_init(&r, NULL, 8 * USEC_PER_MSEC);
        r.pace.rng = seed * UINT64_C(0x9e3779b97f4a7c15);
        while (n_asked(&r) < 1)
            rig_turn(&r);
        before = n_asked(&r);
        end = http_now() + 300 * USEC_PER_MSEC;
        while (http_now() < end)
            rig_turn(&r);
        n = n_asked(&r) - before;
        if (n < 3 || n >= 10)
            fail_msg("seed %llu: %u requests", (unsigned long long)seed, n);
        rig_fini(&r);
    }
}

/* ---- many lives */

enum { LIVES = 1000, WARM = 100 };

/* One adapter in four dies after each of its first four requests, whatever is under way then. */
static void live_and_die(struct rig *r, unsigned i)
{
    unsigned before = n_asked(r);
    usec_t end = http_now() + WAIT_S * USEC_PER_SEC;
    static const struct kube_watch_times times = {0};

    assert_int_equal(http_create(&r->http, &r->config, NULL), 0);
    r->watch = kube_watch_create(&store_nodes, r->http, &times, &r->pace);
    while (n_asked(r) - before <= i % 4 && http_now() < end)
        rig_turn(r);
    assert_true(n_asked(r) - before > i % 4);
    kube_watch_destroy(r->watch);
    http_destroy(r->http);
}

static unsigned n_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n;
}

static void a_thousand_watches_begun_and_dropped_leave_nothing(void **state)
{
    struct rig r;
    struct mallinfo2 warm = {0};
    unsigned fds = 0;

    (void)state;
    rig_init(&r, NULL, USEC_PER_MSEC);
    for (unsigned i = 0; i < LIVES; i++) {
        if (i == WARM) {
            warm = mallinfo2();
            fds = n_fds();
        }
        kube_watch_destroy(r.watch);
        http_destroy(r.http);
        live_and_die(&r, i);
        r.watch = NULL;
        r.http = NULL;
    }
    assert_in_range(n_fds(), 1, fds + 8); /* the server closes its ends when it sees that */
    assert_true(mallinfo2().uordblks < warm.uordblks + 256 * 1024);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_is_followed_by_the_right_request),
        cmocka_unit_test(a_retry_after_of_the_server_is_waited_for),
        cmocka_unit_test(watches_that_end_at_once_make_fewer_than_ten_requests_in_30_s),
        cmocka_unit_test(a_thousand_watches_begun_and_dropped_leave_nothing),
    };

    log_setup(LOG_LEVEL_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
