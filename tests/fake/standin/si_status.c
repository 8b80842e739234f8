/* SPDX-License-Identifier: Apache-2.0 */
/* si_status.c - answers of the stand-in API server: Status objects and the common refusals.
 *
 * Every function replaces what the reply held before.
 */
#include "si_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_details(struct strbuf *b, const struct status *status)
{
    const char *comma = "";
    const struct {
        const char *key;
        const char *value;
    } texts[] = {{"name", status->name}, {"group", status->group}, {"kind", status->kind}};
    strbuf_puts(b, ",\"details\":{");
    for (size_t i = 0; i < 3; i++) {
        if (texts[i].value != NULL) {
            strbuf_printf(b, "%s\"%s\":", comma, texts[i].key);
            strbuf_quote(b, texts[i].value);
            comma = ",";
        }
    }
    for (size_t i = 0; i < 4 && status->causes[i].reason != NULL; i++) {
        const struct cause *cause = &status->causes[i];
        strbuf_puts(b, i == 0 ? comma : ",");
        strbuf_puts(b, i == 0 ? "\"causes\":[" : "");
        strbuf_printf(b, "{\"reason\":\"%s\",\"message\":", cause->reason);
        strbuf_quote(b, cause->message);
        if (cause->field != NULL) {
            strbuf_puts(b, ",\"field\":");
            strbuf_quote(b, cause->field);
        }
        bool is_last = i == 3 || status->causes[i + 1].reason == NULL;
        strbuf_puts(b, is_last ? "}]" : "}");
        comma = ",";
    }
    if (status->retry_after > 0) {
        strbuf_printf(b, "%s\"retryAfterSeconds\":%u", comma, status->retry_after);
    }
    strbuf_puts(b, "}");
}

void status_print(struct strbuf *b, const struct status *status)
{
    strbuf_puts(b, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
    if (status->continue_token != NULL) {
        strbuf_printf(b, "\"continue\":\"%s\"", status->continue_token);
    }
    strbuf_puts(b, "},\"status\":\"Failure\",\"message\":");
    strbuf_quote(b, status->message != NULL ? status->message : "");
    if (status->reason != NULL) {
        strbuf_puts(b, ",\"reason\":");
        strbuf_quote(b, status->reason);
    }
    if (status->has_details || status->name != NULL || status->kind != NULL ||
        status->causes[0].reason != NULL || status->retry_after > 0) {
        print_details(b, status);
    }
    strbuf_printf(b, ",\"code\":%u}", status->code);
}

static void reply_reset(struct request *req, unsigned code)
{
    strbuf_fini(&req->reply.body);
    req->reply = (struct reply){.status = code};
}

void reply_status(struct request *req, const struct status *status)
{
    struct strbuf body = {0};
    status_print(&body, status);
    strbuf_puts(&body, "\n");
    unsigned retry_after = status->retry_after;
    reply_reset(req, status->code);
    req->reply.body = body;
    req->reply.retry_after = retry_after;
}

static void reply_text(struct request *req, struct status status, const char *format, va_list args)
{
    char message[2048];
    (void)vsnprintf(message, sizeof(message), format, args); /* a cut message is good enough */
    status.message = message;
    reply_status(req, &status);
}

void reply_error(struct request *req, unsigned code, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    reply_text(req, (struct status){.code = code, .reason = reason}, format, args);
    va_end(args);
}

void reply_bad_request(struct request *req, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    reply_text(req, (struct status){.code = 400, .reason = "BadRequest"}, format, args);
    va_end(args);
}

void reply_not_found(struct request *req, const char *plural, const char *name)
{
    struct strbuf text = {0};
    strbuf_printf(&text, "%s \"%s\" not found", plural, name);
    struct status status = {
        .code = 404, .reason = "NotFound", .message = text.data, .name = name, .kind = plural};
    const char *group = req->has_resource ? res_table[req->res].group : "";
    group = req->has_resource && req->is_events_v1 ? "events.k8s.io" : group;
    bool is_own = req->has_resource && strcmp(plural, res_table[req->res].plural) == 0;
    if (is_own && *group != '\0') {
        strbuf_fini(&text);
        strbuf_printf(&text, "%s.%s \"%s\" not found", plural, group, name);
        status.group = group;
        status.message = text.data;
    }
    reply_status(req, &status);
    strbuf_fini(&text);
}

void reply_conflict(struct request *req, const char *kind, const char *name, const char *text)
{
    struct strbuf message = {0};
    const struct res *res = &res_table[req->res];
    bool is_grouped = strcmp(kind, res->plural) == 0 && *res->group != '\0';
    strbuf_printf(&message, "Operation cannot be fulfilled on %s%s%s \"%s\": %s", kind,
                  is_grouped ? "." : "", is_grouped ? res->group : "", name, text);
    reply_status(req, &(struct status){.code = 409,
                                       .group = is_grouped ? res->group : NULL,
                                       .reason = "Conflict",
                                       .message = message.data,
                                       .name = name,
                                       .kind = kind});
    strbuf_fini(&message);
}

void reply_invalid(struct request *req, const char *kind, const char *name, struct cause cause)
{
    struct strbuf message = {0};
    strbuf_printf(&message, "%s \"%s\" is invalid: %s: %s", kind, name, cause.field, cause.message);
    struct status status = {
        .code = 422, .reason = "Invalid", .message = message.data, .kind = kind, .causes = {cause}};
    status.name = *name != '\0' ? name : NULL;
    if (strcmp(kind, "ListOptions") == 0) {
        strbuf_fini(&message);
        strbuf_printf(&message, "ListOptions.meta.k8s.io \"\" is invalid: %s: %s", cause.field,
                      cause.message);
        status.message = message.data;
        status.group = "meta.k8s.io";
    }
    reply_status(req, &status);
    strbuf_fini(&message);
}

void reply_invalid_all(struct request *req, const char *kind, const char *name,
                       const struct cause *causes, size_t count)
{
    struct strbuf message = {0};
    struct status status = {.code = 422, .reason = "Invalid", .name = name, .kind = kind};
    strbuf_printf(&message, "%s \"%s\" is invalid: [", kind, name);
    for (size_t i = 0; i < count && i < 4; i++) {
        strbuf_printf(&message, "%s%s: %s", i > 0 ? ", " : "", causes[i].field, causes[i].message);
        status.causes[i] = causes[i];
    }
    strbuf_puts(&message, "]");
    status.message = message.data;
    reply_status(req, &status);
    strbuf_fini(&message);
}

void reply_no_resource(struct request *req)
{
    reply_status(req,
                 &(struct status){.code = 404,
                                  .reason = "NotFound",
                                  .message = "the server could not find the requested resource",
                                  .has_details = true});
}

void reply_no_method(struct request *req)
{
    reply_status(req,
                 &(struct status){
                     .code = 405,
                     .reason = "MethodNotAllowed",
                     .message = "the server does not allow this method on the requested resource",
                     .has_details = true});
}

void reply_plain(struct request *req, unsigned code, const char *text)
{
    reply_reset(req, code);
    strbuf_puts(&req->reply.body, text);
    req->reply.type = "text/plain; charset=utf-8";
}

void reply_object(struct request *req, unsigned code, const struct rec *rec)
{
    reply_reset(req, code);
    strbuf_add(&req->reply.body, rec->text, rec->len);
    strbuf_puts(&req->reply.body, "\n");
}

void reply_json(struct request *req, unsigned code, cJSON *json)
{
    reply_reset(req, code);
    char *text = cJSON_PrintUnformatted(json);
    strbuf_puts(&req->reply.body, text != NULL ? text : "{}");
    strbuf_puts(&req->reply.body, "\n");
    free(text);
    cJSON_Delete(json);
}
