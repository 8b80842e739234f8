/* SPDX-License-Identifier: Apache-2.0 */
/* kube_api.c - classification of answers, back-off and paths.
 *
 * What is known of a real server's answers is in the tests, as recorded exchanges.
 */
#include "kube/kube_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube/kube_fields.h"
#include "kube/kube_proto.h"
#include "util/mem.h"
#include "util/str.h"

static void open_status(struct arena *scratch, const char *p, size_t len, struct status_fields *ret)
{
    char kind[PROTO_KIND_MAX + 1];
    struct proto_span status;

    if (proto_open(p, len, kind, &status) && !strcmp(kind, "Status"))
        (void)status_fields_proto(scratch, status.p, status.len, ret); /* damaged: says nothing */
}

void api_read_status(const char *text, size_t len, struct api_status *ret)
{
    struct arena scratch = {0};
    struct status_fields f = {.reason = "", .kind = "", .cause = "", .message = ""};
    cJSON *o = NULL;

    if (proto_is_envelope(text, len)) {
        open_status(&scratch, text, len, &f);
    } else if (len && text[0] == '{') {
        o = cJSON_ParseWithLength(text, len);
        status_fields_json(o, &f);
    }
    /* cut texts still say enough */
    (void)str_copy(ret->reason, sizeof(ret->reason), f.reason);
    (void)str_copy(ret->kind, sizeof(ret->kind), f.kind);
    (void)str_copy(ret->cause, sizeof(ret->cause), f.cause);
    if (f.message[0])
        (void)str_copy(ret->message, sizeof(ret->message), f.message);
    if (!ret->code)
        ret->code = f.code;
    if (ret->retry_after_us < 0 && f.retry_after_s > 0)
        ret->retry_after_us = (usec_t)f.retry_after_s * USEC_PER_SEC;
    cJSON_Delete(o);
    arena_fini(&scratch);
}

/* The first line of a body that is no Status: flow control and proxies write plain text. */
static void take_first_line(const struct http_answer *a, struct api_status *s)
{
    size_t n = strcspn(a->body, "\r\n");

    if (n && a->body[0] != '{' && a->body[0] != '<' && !proto_is_envelope(a->body, a->len))
        (void)snprintf(s->message, sizeof(s->message), "%.*s", n > 200 ? 200 : (int)n, a->body);
    else
        (void)snprintf(s->message, sizeof(s->message), "HTTP status %d", s->code);
}

static enum api_verdict judge_server_error(const struct api_status *s)
{
    if (s->code == 504 || !strcmp(s->reason, "ServerTimeout") || !strcmp(s->reason, "Timeout"))
        return API_UNKNOWN;
    if (s->code == 500 && strstr(s->message, "request is too large"))
        return API_REFUSED;
    return s->retry_after_us >= 0 ? API_RETRY : API_UNKNOWN;
}

enum api_verdict api_classify(const struct http_answer *a, struct api_status *ret)
{
    struct api_status s = {.code = a->status, .retry_after_us = a->retry_after_us};

    if (!a->status) {
        (void)str_copy(s.message, sizeof(s.message), a->trouble[0] ? a->trouble : "no answer");
        *ret = s;
        return a->was_sent ? API_UNKNOWN : API_RETRY;
    }
    if (a->status >= 200 && a->status < 300) {
        *ret = s;
        return API_OK;
    }
    take_first_line(a, &s);
    api_read_status(a->body, a->len, &s);
    str_make_line(s.message); /* users and logs see it */
    if (!s.message[strspn(s.message, " ")])
        (void)snprintf(s.message, sizeof(s.message), "HTTP status %d", s.code);
    *ret = s;
    if (s.code == 401 || s.code == 429)
        return API_RETRY;
    if (s.code >= 500)
        return judge_server_error(&s);
    return API_REFUSED;
}

bool api_is_not_found(const struct api_status *s)
{
    return s->code == 404 && !strcmp(s->reason, "NotFound");
}

enum refusal_kind api_refusal(const struct api_status *s)
{
    static const char *const for_good[] = {"violates PodSecurity", "denied the request",
                                           "usage per Container",  "usage per Pod",
                                           "ratio per Container",  "request is too large"};

    if (s->code == 400 || s->code == 413 || s->code == 422)
        return REFUSAL_REJECTED;
    for (size_t i = 0; i < ARRAY_LEN(for_good); i++)
        if (strstr(s->message, for_good[i]))
            return REFUSAL_REJECTED;
    return REFUSAL_TRY_LATER;
}

uint64_t api_random(struct api_pace *pace)
{
    pace->rng ^= pace->rng >> 12;
    pace->rng ^= pace->rng << 25;
    pace->rng ^= pace->rng >> 27;
    return pace->rng * UINT64_C(2685821657736338717);
}

usec_t api_pace_base(const struct api_pace *pace)
{
    return pace->base_us ? pace->base_us : API_BACKOFF_BASE_US;
}

usec_t api_retry_after(usec_t retry_after_us, struct api_pace *pace)
{
    if (retry_after_us > API_RETRY_AFTER_MAX_US)
        retry_after_us = API_RETRY_AFTER_MAX_US;
    return retry_after_us + (usec_t)(api_random(pace) % (uint64_t)(retry_after_us / 4 + 1));
}

usec_t api_backoff_next(struct api_backoff *b, usec_t retry_after_us, struct api_pace *pace)
{
    usec_t wait = api_pace_base(pace);

    for (unsigned i = 0; i < b->n && wait < API_BACKOFF_CAP_US; i++)
        wait *= 2;
    if (wait > API_BACKOFF_CAP_US)
        wait = API_BACKOFF_CAP_US;
    b->n++;
    wait += (usec_t)(api_random(pace) % (uint64_t)wait);
    if (retry_after_us >= 0 && wait < retry_after_us)
        wait = api_retry_after(retry_after_us, pace);
    return wait;
}

static void add_escaped(struct str *b, const char *s)
{
    for (; *s; s++) {
        if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
            *s == '-' || *s == '.')
            str_add_bytes(b, s, 1);
        else
            str_addf(b, "%%%02X", (unsigned char)*s);
    }
}

char *api_path(const char *ns, const char *resource, const char *name)
{
    struct str b = {0};

    str_add(&b, strcmp(resource, API_BUDGETS) == 0 ? "/apis/policy/v1/namespaces/"
                                                   : "/api/v1/namespaces/");
    add_escaped(&b, ns);
    str_addf(&b, "/%s", resource);
    if (name) {
        str_add(&b, "/");
        add_escaped(&b, name);
    }
    return str_take(&b);
}
