/* SPDX-License-Identifier: Apache-2.0 */
/* si_http.c - the HTTP side of the stand-in API server: listening, requests in, replies out.
 *
 * A request is collected whole, routed once, perhaps delayed by a fault rule, served by
 * si_api.c, and answered with a fixed body or handed to a watch as an endless one.
 */
#include "si_http.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "si_api.h"
#include "si_fault.h"
#include "si_status.h"
#include "si_watch.h"

enum { BODY_BYTES_MAX = 3145728, WATCH_BLOCK = 32768, CONNECTION_MEMORY = 131072 };

const char *request_query(const struct request *req, const char *name)
{
    return MHD_lookup_connection_value(req->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool request_flag(const struct request *req, const char *name)
{
    const char *value = request_query(req, name);
    return value != NULL && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0);
}

static void request_destroy(void *cls, struct MHD_Connection *connection, void **con_cls,
                            enum MHD_RequestTerminationCode why)
{
    (void)connection;
    (void)why;
    struct standin *s = cls;
    struct request *req = *con_cls;
    if (req == NULL) {
        return;
    }
    for (struct request **at = &s->delayed; *at != NULL; at = &(*at)->next_delayed) {
        if (*at == req) {
            *at = req->next_delayed;
            break;
        }
    }
    strbuf_fini(&req->body);
    strbuf_fini(&req->reply.body);
    free(req->method);
    free(req->path);
    free(req);
    *con_cls = NULL;
}

/* Body reader that breaks the connection after some bytes. */
struct cut_body {
    struct strbuf body;
    uint64_t cut_bytes;
};

static ssize_t cut_read(void *cls, uint64_t pos, char *buf, size_t max)
{
    const struct cut_body *cut = cls;
    uint64_t end = cut->body.len < cut->cut_bytes ? cut->body.len : cut->cut_bytes;
    if (pos >= end) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t part = end - pos < max ? (size_t)(end - pos) : max;
    memcpy(buf, cut->body.data + pos, part);
    return (ssize_t)part;
}

static void cut_free(void *cls)
{
    struct cut_body *cut = cls;
    strbuf_fini(&cut->body);
    free(cut);
}

static struct MHD_Response *make_response(struct request *req)
{
    struct reply *reply = &req->reply;
    if (reply->watch != NULL) {
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, WATCH_BLOCK, watch_read,
                                                 reply->watch, watch_free);
    }
    struct strbuf body = reply->body;
    reply->body = (struct strbuf){0};
    if (req->cut_bytes != UINT64_MAX) {
        struct cut_body *cut = xcalloc(1, sizeof(*cut));
        *cut = (struct cut_body){.body = body, .cut_bytes = req->cut_bytes};
        return MHD_create_response_from_callback(body.len, 4096, cut_read, cut, cut_free);
    }
    return MHD_create_response_from_buffer(body.len, body.data, MHD_RESPMEM_MUST_FREE);
}

/* An answer in JSON becomes protobuf where the client wants that and there is a table for it.
 * Lists and watches have seen to it themselves. */
static void encode_reply(struct request *req)
{
    struct reply *reply = &req->reply;
    struct strbuf body = {0};
    if (!req->wants_proto || reply->type != NULL || reply->watch != NULL ||
        !proto_put_answer(&body, reply->body.data, reply->body.len)) {
        return;
    }
    strbuf_fini(&reply->body);
    reply->body = body;
    reply->type = PROTO_TYPE;
}

static enum MHD_Result send_reply(struct request *req)
{
    encode_reply(req);
    const char *type = req->reply.type != NULL ? req->reply.type : "application/json";
    struct MHD_Response *response = make_response(req);
    if (response == NULL) {
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, "Cache-Control", "no-cache, private");
    (void)MHD_add_response_header(response, "Content-Type", type);
    if (req->reply.retry_after > 0) {
        char seconds[16];
        (void)snprintf(seconds, sizeof(seconds), "%u", req->reply.retry_after);
        (void)MHD_add_response_header(response, "Retry-After", seconds);
    }
    enum MHD_Result result = MHD_queue_response(req->connection, req->reply.status, response);
    MHD_destroy_response(response);
    return result;
}

/* Whether the client showed a certificate of the client CA. The TLS library is there through the
 * HTTP library; its one function is looked up so that the program needs no link to it. */
static bool has_client_certificate(const struct request *req)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    int (*verify)(void *session, unsigned *status) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "gnutls_certificate_verify_peers2");
    unsigned status = 1;
    if (info == NULL || info->tls_session == NULL || symbol == NULL) {
        return false;
    }
    memcpy(&verify, &symbol, sizeof(verify));
    return verify((void *)info->tls_session, &status) == 0 && status == 0;
}

static bool is_authorized(const struct standin *s, const struct request *req)
{
    if (s->options.client_ca != NULL && has_client_certificate(req)) {
        return true;
    }
    if (s->options.token == NULL && s->options.client_ca != NULL && req->has_resource) {
        return false;
    }
    if (s->options.token == NULL || (req->is_plain && !req->has_resource)) {
        return true;
    }
    const char *sent =
        MHD_lookup_connection_value(req->connection, MHD_HEADER_KIND, "Authorization");
    return sent != NULL && strncasecmp(sent, "Bearer ", 7) == 0 &&
           strcmp(sent + 7, s->options.token) == 0;
}

/* Whether something of what the client takes can be served; sets wants_proto. */
static bool negotiate(const struct standin *s, struct request *req)
{
    const char *sent = MHD_lookup_connection_value(req->connection, MHD_HEADER_KIND, "Accept");
    if (!req->has_resource || sent == NULL) {
        return true;
    }
    const char *proto = strstr(sent, PROTO_TYPE);
    const char *json = strstr(sent, "json");
    if (proto != NULL && s->options.proto == PROTO_REFUSE) {
        return false;
    }
    req->wants_proto = proto != NULL && s->options.proto == PROTO_SERVE &&
                       (json == NULL || proto < json) && strstr(sent, "as=") == NULL;
    return req->wants_proto || json != NULL || strstr(sent, "*/*") != NULL ||
           strstr(sent, "application/*") != NULL;
}

static void serve(struct standin *s, struct request *req)
{
    if (!is_authorized(s, req)) {
        reply_error(req, 401, "Unauthorized", "Unauthorized");
    } else if (req->body.len > BODY_BYTES_MAX) {
        reply_error(req, 413, "RequestEntityTooLarge",
                    "Request entity too large: limit is 3145728");
    } else if (!negotiate(s, req)) {
        reply_status(req, &(struct status){.code = 406,
                                           .reason = "NotAcceptable",
                                           .message =
                                               "406: Not Acceptable\n\nAvailable representations: "
                                               "application/json, application/yaml, "
                                               "application/vnd.kubernetes.protobuf, "
                                               "application/json;stream=watch, "
                                               "application/vnd.kubernetes.protobuf;stream=watch",
                                           .has_details = true});
    } else if (!fault_answers(req)) {
        api_serve(s, req);
    }
}

static enum MHD_Result finish(struct standin *s, struct request *req)
{
    if (!req->is_routed) {
        req->is_routed = true;
        api_route(req);
        s->requests[req->verb][req->has_resource ? req->res : RES_COUNT]++;
        fault_match(s, req);
        if (req->wake_us > 0) {
            req->next_delayed = s->delayed;
            s->delayed = req;
            req->is_suspended = true;
            MHD_suspend_connection(req->connection);
            return MHD_YES;
        }
    }
    serve(s, req);
    (void)fault_belies(req); /* the reply is as it must be in both cases */
    if (req->is_lost) {
        if (req->reply.watch != NULL) {
            watch_free(req->reply.watch);
        }
        return MHD_NO;
    }
    return send_reply(req);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_len, void **con_cls)
{
    (void)version;
    struct request *req = *con_cls;
    if (req == NULL) {
        req = xcalloc(1, sizeof(*req));
        *req = (struct request){.connection = connection,
                                .method = xstrdup(method),
                                .path = xstrdup(url),
                                .cut_bytes = UINT64_MAX};
        *con_cls = req;
        return MHD_YES;
    }
    if (*data_len > 0) {
        if (req->body.len <= BODY_BYTES_MAX) {
            strbuf_add(&req->body, data, *data_len);
        }
        *data_len = 0;
        return MHD_YES;
    }
    if (req->is_suspended) {
        return MHD_YES;
    }
    return finish(cls, req);
}

uint64_t http_wake_delayed(struct standin *s, uint64_t now_us)
{
    uint64_t next_us = UINT64_MAX;
    struct request **at = &s->delayed;
    while (*at != NULL) {
        struct request *req = *at;
        if (req->wake_us > now_us) {
            next_us = req->wake_us < next_us ? req->wake_us : next_us;
            at = &req->next_delayed;
            continue;
        }
        *at = req->next_delayed;
        req->is_suspended = false;
        s->has_resumed = true;
        MHD_resume_connection(req->connection);
    }
    return next_us;
}

static void add_tls(struct standin *s, struct MHD_OptionItem *items)
{
    const struct options *o = &s->options;
    const struct {
        enum MHD_OPTION option;
        const char *path;
    } files[] = {{MHD_OPTION_HTTPS_MEM_CERT, o->tls_cert},
                 {MHD_OPTION_HTTPS_MEM_KEY, o->tls_key},
                 {MHD_OPTION_HTTPS_MEM_TRUST, o->client_ca}};
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t len = 0;
        char *text = files[i].path != NULL ? file_read(files[i].path, &len) : NULL;
        if (text != NULL) {
            s->tls_texts[count] = text;
            items[count++] = (struct MHD_OptionItem){files[i].option, 0, text};
        } else if (files[i].path != NULL) {
            (void)fprintf(stderr, "standin: %s: %s\n", files[i].path, strerror(errno));
        }
    }
    items[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

int http_start(struct standin *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(s->options.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[4] = {{MHD_OPTION_END, 0, NULL}};
    if (s->options.tls_cert != NULL) {
        flags |= MHD_USE_TLS;
        add_tls(s, tls);
    }
    s->daemon = MHD_start_daemon(
        flags, s->options.port, NULL, NULL, on_request, s, MHD_OPTION_NOTIFY_COMPLETED,
        request_destroy, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (s->daemon == NULL) {
        (void)fprintf(stderr, "standin: cannot listen on 127.0.0.1:%u: %s\n", s->options.port,
                      strerror(errno));
        return -1;
    }
    s->options.port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    return 0;
}

void http_stop(struct standin *s)
{
    (void)http_wake_delayed(s, UINT64_MAX - 1);
    http_run(s);
    MHD_stop_daemon(s->daemon);
    for (size_t i = 0; i < 3; i++) {
        free(s->tls_texts[i]);
    }
}

int http_fd(const struct standin *s)
{
    return MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

void http_run(struct standin *s)
{
    (void)MHD_run(s->daemon); /* fails only for a daemon with threads */
}
