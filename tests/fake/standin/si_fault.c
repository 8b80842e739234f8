/* SPDX-License-Identifier: Apache-2.0 */
/* si_fault.c - faults on demand of the stand-in API server: rules, and what they do to a request.
 *
 * The first rule that matches and is not used up hits; matching is counted for all of them.
 */
#include "si_fault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "si_json.h"
#include "si_status.h"

static const char *const action_names[] = {"status", "lose",  "delay",  "cut",
                                           "silent", "stale", "double", "belie"};

enum { ACTION_COUNT = sizeof(action_names) / sizeof(action_names[0]) };

static void fault_destroy(struct fault *fault)
{
    free(fault->verb);
    free(fault->resource);
    free(fault->name);
    free(fault->reason);
    free(fault->message);
    free(fault);
}

static void list_free(struct fault *fault)
{
    while (fault != NULL) {
        struct fault *next = fault->next;
        fault_destroy(fault);
        fault = next;
    }
}

void fault_fini(struct standin *s)
{
    list_free(s->faults);
    list_free(s->old_faults);
}

static bool name_matches(const char *pattern, const char *name)
{
    size_t len = strlen(pattern);
    if (len > 0 && pattern[len - 1] == '*') {
        return strncmp(pattern, name, len - 1) == 0;
    }
    return strcmp(pattern, name) == 0;
}

static bool rule_matches(const struct fault *fault, const struct request *req, const char *name)
{
    const char *resource = req->has_resource ? res_table[req->res].plural : "";
    return (fault->verb == NULL || strcmp(fault->verb, verb_names[req->verb]) == 0) &&
           (fault->resource == NULL || strcmp(fault->resource, resource) == 0) &&
           (fault->name == NULL || name_matches(fault->name, name));
}

static void note_hit(struct fault *fault, struct request *req)
{
    fault->hits++;
    req->fault = fault;
    req->is_lost = fault->action == FAULT_LOSE;
    if (fault->action == FAULT_CUT) {
        req->cut_bytes = fault->bytes;
    }
    bool delays = fault->action == FAULT_DELAY ||
                  ((fault->action == FAULT_LOSE || fault->action == FAULT_STATUS ||
                    fault->action == FAULT_BELIE) &&
                   fault->delay_us > 0);
    if (delays) {
        req->wake_us = clock_mono_us() + fault->delay_us;
    }
}

void fault_match(struct standin *s, struct request *req)
{
    if (s->faults == NULL || !req->has_resource) {
        return;
    }
    cJSON *body = NULL;
    const char *name = req->name;
    if (*name == '\0' && req->body.len > 0) {
        body = cJSON_ParseWithLength(req->body.data, req->body.len);
        name = json_text(body, "metadata", "name");
    }
    for (struct fault *fault = s->faults; fault != NULL; fault = fault->next) {
        if (!rule_matches(fault, req, name)) {
            continue;
        }
        fault->matched++;
        if (fault->matched >= fault->nth && fault->hits < fault->count) {
            note_hit(fault, req);
            break;
        }
    }
    cJSON_Delete(body);
}

static bool answers(struct request *req, enum fault_action action)
{
    const struct fault *fault = req->fault;
    if (fault == NULL || fault->action != action) {
        return false;
    }
    if (fault->is_text) {
        reply_plain(req, fault->code, fault->message != NULL ? fault->message : "injected fault\n");
        req->reply.retry_after = fault->retry_after;
        return true;
    }
    reply_status(
        req, &(struct status){.code = fault->code,
                              .reason = fault->reason,
                              .message = fault->message != NULL ? fault->message : "injected fault",
                              .retry_after = fault->retry_after});
    return true;
}

bool fault_answers(struct request *req)
{
    return answers(req, FAULT_STATUS);
}

bool fault_belies(struct request *req)
{
    return req->reply.watch == NULL && answers(req, FAULT_BELIE);
}

static char *copy_text(const cJSON *json, const char *key)
{
    const char *text = json_string(json, key);
    return *text != '\0' ? xstrdup(text) : NULL;
}

/* NULL when the action is unknown. */
static struct fault *fault_read(const cJSON *json)
{
    size_t action = 0;
    while (action < ACTION_COUNT &&
           strcmp(action_names[action], json_string(json, "action")) != 0) {
        action++;
    }
    if (action == ACTION_COUNT) {
        return NULL;
    }
    double count = json_number(json, "count", -1);
    struct fault *fault = xcalloc(1, sizeof(*fault));
    *fault = (struct fault){
        .verb = copy_text(json, "verb"),
        .resource = copy_text(json, "resource"),
        .name = copy_text(json, "name"),
        .action = (enum fault_action)action,
        .nth = (uint64_t)json_number(json, "nth", 1),
        .count = count < 0 ? UINT64_MAX : (uint64_t)count,
        .code = (unsigned)json_number(json, "code", 503),
        .reason = copy_text(json, "reason"),
        .message = copy_text(json, "message"),
        .retry_after = (unsigned)json_number(json, "retryAfter", 0),
        .is_text = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "text")),
        .delay_us = (uint64_t)(json_number(json, "ms", 0) * 1000),
        .bytes = (uint64_t)json_number(json, "bytes", 0),
    };
    return fault;
}

static cJSON *fault_describe(const struct fault *fault)
{
    cJSON *json = cJSON_CreateObject();
    json_set(json, "action", action_names[fault->action]);
    json_set(json, "verb", fault->verb != NULL ? fault->verb : "");
    json_set(json, "resource", fault->resource != NULL ? fault->resource : "");
    json_set(json, "name", fault->name != NULL ? fault->name : "");
    json_set_number(json, "nth", (double)fault->nth);
    if (fault->count != UINT64_MAX) {
        json_set_number(json, "count", (double)fault->count);
    }
    json_set_number(json, "code", fault->code);
    json_set_number(json, "ms", (double)fault->delay_us / 1000);
    json_set_number(json, "bytes", (double)fault->bytes);
    json_set_number(json, "matched", (double)fault->matched);
    json_set_number(json, "hits", (double)fault->hits);
    return json;
}

static void fault_add_all(struct standin *s, struct request *req)
{
    cJSON *list = cJSON_ParseWithLength(req->body.len > 0 ? req->body.data : "", req->body.len);
    struct fault **end = &s->faults;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    bool ok = cJSON_IsArray(list);
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, list)
    {
        *end = fault_read(item);
        ok = ok && *end != NULL;
        end = *end != NULL ? &(*end)->next : end;
    }
    cJSON_Delete(list);
    if (ok) {
        reply_json(req, 201, cJSON_CreateObject());
    } else {
        reply_bad_request(req, "send a JSON list of rules, each with an action of status, lose, "
                               "delay, cut, silent, stale, double, belie");
    }
}

/* Requests and watches in flight may still point at a rule: it is put aside, not freed. */
static void retire(struct standin *s)
{
    while (s->faults != NULL) {
        struct fault *next = s->faults->next;
        s->faults->next = s->old_faults;
        s->old_faults = s->faults;
        s->faults = next;
    }
}

void fault_serve(struct standin *s, struct request *req)
{
    if (strcmp(req->method, "POST") == 0) {
        fault_add_all(s, req);
    } else if (strcmp(req->method, "DELETE") == 0) {
        retire(s);
        reply_json(req, 200, cJSON_CreateObject());
    } else {
        cJSON *list = cJSON_CreateArray();
        for (const struct fault *fault = s->faults; fault != NULL; fault = fault->next) {
            cJSON_AddItemToArray(list, fault_describe(fault));
        }
        reply_json(req, 200, list);
    }
}
