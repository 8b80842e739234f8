/* SPDX-License-Identifier: Apache-2.0 */
/* si_object.c - what all kinds share: reading a body, creating and replacing an object.
 *
 * A create gives uid, creationTimestamp and a small managedFields entry, as the server does; a
 * replacement that changes nothing keeps the resourceVersion and makes no event.
 */
#include "si_object.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "si_json.h"
#include "si_kinds.h"
#include "si_status.h"

static bool type_is_known(const struct request *req)
{
    const char *type =
        MHD_lookup_connection_value(req->connection, MHD_HEADER_KIND, "Content-Type");
    return type == NULL || strncasecmp(type, "application/json", 16) == 0;
}

cJSON *object_read_body(struct request *req, const char *kind)
{
    if (!type_is_known(req)) {
        reply_error(req, 415, "UnsupportedMediaType",
                    "the body of the request was in an unknown format - accepted media types "
                    "include: application/json, application/yaml, "
                    "application/vnd.kubernetes.protobuf");
        return NULL;
    }
    const char *text = req->body.len > 0 ? req->body.data : "";
    cJSON *json = cJSON_ParseWithLength(text, req->body.len);
    if (!cJSON_IsObject(json)) {
        cJSON_Delete(json);
        reply_bad_request(
            req,
            "the object provided is unrecognized (must be of type %s): couldn't get "
            "version/kind; json parse error: unexpected end of JSON input (%s%.30s%s)",
            kind, req->body.len > 0 ? "" : "<empty>", text, req->body.len > 30 ? " ..." : "");
        return NULL;
    }
    const char *sent = json_string(json, "kind");
    if (*sent != '\0' && strcmp(sent, kind) != 0) {
        reply_bad_request(req,
                          "%s in version \"v1\" cannot be handled as a %s: converting (v1.%s) to "
                          "(core.%s): unknown conversion",
                          sent, kind, sent, kind);
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

/* A member of metadata that is no object is dropped; null and empty ones too, as Go does. */
static void move_meta(cJSON *from, cJSON *to, const char *key)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(from, key);
    bool is_empty = item == NULL || cJSON_IsNull(item) ||
                    ((cJSON_IsObject(item) || cJSON_IsArray(item)) && item->child == NULL);
    if (is_empty) {
        cJSON_Delete(item);
    } else {
        cJSON_AddItemToObject(to, key, item);
    }
}

static void add_managed(cJSON *meta, const struct request *req, const char *now)
{
    const char *manager = req != NULL ? request_query(req, "fieldManager") : "standin";
    char name[64] = "unknown";
    if (manager == NULL) {
        manager = MHD_lookup_connection_value(req->connection, MHD_HEADER_KIND, "User-Agent");
    }
    if (manager != NULL) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(manager, "/ "), manager);
    }
    cJSON *entry = cJSON_CreateObject();
    json_set(entry, "manager", name);
    json_set(entry, "operation", "Update");
    json_set(entry, "apiVersion", "v1");
    json_set(entry, "time", now);
    json_set(entry, "fieldsType", "FieldsV1");
    json_set_item(entry, "fieldsV1", cJSON_CreateObject());
    cJSON_AddItemToArray(json_array(meta, "managedFields"), entry);
}

/* New metadata in the server's order, with uid and time. */
static void set_meta(cJSON *json, enum res_id res, const struct request *req)
{
    static const char *const before[] = {"name", "generateName", "namespace"};
    static const char *const after[] = {"labels", "annotations", "ownerReferences", "finalizers"};
    cJSON *old = cJSON_DetachItemFromObjectCaseSensitive(json, "metadata");
    cJSON *meta = cJSON_CreateObject();
    char uid[UUID_SIZE];
    char now[TIME_SIZE];
    uuid_make(uid);
    time_print(now, clock_wall_us());
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        move_meta(old, meta, before[i]);
    }
    json_set(meta, "uid",
             req == NULL && *json_string(old, "uid") != '\0' ? json_string(old, "uid") : uid);
    json_set(meta, "resourceVersion", "");
    if (res == RES_PODS || res == RES_BUDGETS || res == RES_PRIORITIES) {
        json_set_number(meta, "generation", 1);
    }
    json_set(meta, "creationTimestamp", now);
    for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
        move_meta(old, meta, after[i]);
    }
    add_managed(meta, req, now);
    cJSON_Delete(old);
    cJSON_AddItemToObject(json, "metadata", meta);
}

struct rec *object_put_new(struct standin *s, enum res_id res, cJSON *json)
{
    set_meta(json, res, NULL);
    kinds_default(res, json);
    return store_put(&s->store, res, json);
}

static bool name_is_valid(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        bool is_edge = i == 0 || i + 1 == len || name[i - 1] == '.' || name[i + 1] == '.';
        if (!is_alnum && (is_edge || (c != '-' && c != '.'))) {
            return false;
        }
    }
    return len > 0 && len <= 253;
}

static bool check_name(struct request *req, cJSON *meta)
{
    const char *kind = res_table[req->res].kind;
    const char *prefix = json_string(meta, "generateName");
    const char *name = json_string(meta, "name");
    if (*name == '\0' && *prefix != '\0') {
        static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
        char made[320];
        char uid[UUID_SIZE];
        uuid_make(uid);
        int len = snprintf(made, sizeof(made), "%.58s", prefix);
        for (int i = 0; i < 5; i++) {
            size_t pick = (size_t)(uid[i] + uid[i + 9] * 3) % (sizeof(letters) - 1);
            made[len++] = letters[pick];
        }
        made[len] = '\0';
        json_set(meta, "name", made);
        return true;
    }
    if (*name == '\0') {
        reply_invalid(req, kind, "",
                      (struct cause){"FieldValueRequired",
                                     "Required value: name or generateName is required",
                                     "metadata.name"});
        return false;
    }
    if (name_is_valid(name)) {
        return true;
    }
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "Invalid value: \"%s\": a lowercase RFC 1123 subdomain must consist of lower "
                  "case alphanumeric characters, '-' or '.', and must start and end with an "
                  "alphanumeric character (e.g. 'example.com', regex used for validation is "
                  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                  name);
    reply_invalid(req, kind, name, (struct cause){"FieldValueInvalid", text.data, "metadata.name"});
    strbuf_fini(&text);
    return false;
}

/* The namespace must be there and alive. */
static bool check_namespace(struct standin *s, struct request *req, const char *name)
{
    if (!res_table[req->res].namespaced) {
        return true;
    }
    const struct rec *ns = store_find(&s->store, RES_NAMESPACES, "", req->ns);
    if (ns == NULL) {
        reply_not_found(req, "namespaces", req->ns);
        return false;
    }
    if (strcmp(ns->phase, "Terminating") != 0) {
        return true;
    }
    struct strbuf text = {0};
    struct strbuf cause = {0};
    strbuf_printf(&text,
                  "%s \"%s\" is forbidden: unable to create new content in namespace %s because "
                  "it is being terminated",
                  res_table[req->res].plural, name, req->ns);
    strbuf_printf(&cause, "namespace %s is being terminated", req->ns);
    reply_status(req, &(struct status){
                          .code = 403,
                          .reason = "Forbidden",
                          .message = text.data,
                          .name = name,
                          .kind = res_table[req->res].plural,
                          .causes = {{"NamespaceTerminating", cause.data, "metadata.namespace"}}});
    strbuf_fini(&text);
    strbuf_fini(&cause);
    return false;
}

static bool check_new(struct standin *s, struct request *req, cJSON *json)
{
    cJSON *meta = json_object(json, "metadata");
    const char *ns = json_string(meta, "namespace");
    if (*ns != '\0' && strcmp(ns, req->ns) != 0) {
        reply_bad_request(req, "the namespace of the provided object does not match the namespace "
                               "sent on the request");
        return false;
    }
    if (*json_string(meta, "resourceVersion") != '\0') {
        reply_error(req, 500, NULL, "resourceVersion should not be set on objects to be created");
        return false;
    }
    return check_namespace(s, req, json_string(meta, "name")) && check_name(req, meta) &&
           kinds_check(s, req, json);
}

static void reply_exists(struct request *req, const char *name)
{
    const struct res *res = &res_table[req->res];
    struct strbuf text = {0};
    strbuf_printf(&text, "%s%s%s \"%s\" already exists", res->plural,
                  *res->group != '\0' ? "." : "", res->group, name);
    reply_status(req, &(struct status){.code = 409,
                                       .reason = "AlreadyExists",
                                       .message = text.data,
                                       .name = name,
                                       .group = *res->group != '\0' ? res->group : NULL,
                                       .kind = res->plural});
    strbuf_fini(&text);
}

static bool is_dry_run(const struct request *req)
{
    const char *value = request_query(req, "dryRun");
    return value != NULL && strcmp(value, "All") == 0;
}

void object_create(struct standin *s, struct request *req)
{
    cJSON *json = object_read_body(req, res_table[req->res].kind);
    if (json == NULL) {
        return;
    }
    if (!check_new(s, req, json)) {
        cJSON_Delete(json);
        return;
    }
    cJSON *meta = cJSON_GetObjectItemCaseSensitive(json, "metadata");
    const char *name = json_string(meta, "name");
    if (store_find(&s->store, req->res, req->ns, name) != NULL) {
        reply_exists(req, name);
        cJSON_Delete(json);
        return;
    }
    if (res_table[req->res].namespaced) {
        json_set(meta, "namespace", req->ns);
    }
    set_meta(json, req->res, req);
    kinds_default(req->res, json);
    if (is_dry_run(req)) {
        json_set(json, "kind", res_table[req->res].kind);
        json_set(json, "apiVersion", res_table[req->res].api_version);
        meta = cJSON_GetObjectItemCaseSensitive(json, "metadata");
        cJSON_DeleteItemFromObjectCaseSensitive(meta, "resourceVersion");
        reply_json(req, 201, json);
        return;
    }
    reply_object(req, 201, store_put(&s->store, req->res, json));
}

/* What the server never prints empty, and what it always prints. */
static void normalize(enum res_id res, cJSON *json)
{
    static const char *const members[][2] = {{"status", "conditions"}, {"spec", "schedulingGates"},
                                             {"spec", "taints"},       {"metadata", "annotations"},
                                             {"metadata", "labels"},   {"metadata", "finalizers"}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const cJSON *item = json_at(json, members[i][0], members[i][1]);
        if (item != NULL && item->child == NULL) {
            cJSON_DeleteItemFromObjectCaseSensitive(json_object(json, members[i][0]),
                                                    members[i][1]);
        }
    }
    cJSON *condition = NULL;
    cJSON_ArrayForEach(condition, json_at(json, "status", "conditions"))
    {
        json_default_item(condition, res == RES_PODS ? "lastProbeTime" : "lastHeartbeatTime",
                          cJSON_CreateNull());
        json_default_item(condition, "lastTransitionTime", cJSON_CreateNull());
    }
}

/* A pod's generation counts the changes of its spec. */
static void raise_generation(const cJSON *before, cJSON *json)
{
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(before, "spec");
    const cJSON *b = cJSON_GetObjectItemCaseSensitive(json, "spec");
    cJSON *meta = json_object(json, "metadata");
    if (!cJSON_Compare(a, b, true)) {
        json_set_number(meta, "generation", json_number(meta, "generation", 1) + 1);
    }
}

void object_replace(struct standin *s, struct request *req, const struct rec *old, cJSON *json)
{
    json_set(json_object(json, "metadata"), "resourceVersion", "");
    cJSON *before = rec_parse(old);
    json_set(json_object(before, "metadata"), "resourceVersion", "");
    if (req->res == RES_PODS || req->res == RES_NODES) {
        normalize(req->res, json);
    }
    if (req->res == RES_PODS) {
        raise_generation(before, json);
    }
    bool is_same = cJSON_Compare(before, json, true);
    cJSON_Delete(before);
    if (is_same || is_dry_run(req)) {
        cJSON_Delete(json);
        reply_object(req, 200, old);
        return;
    }
    struct rec *rec = store_put(&s->store, req->res, json);
    reply_object(req, 200, rec);
    if (rec->deleting && !rec->held && old->held && *rec->node == '\0') {
        store_remove(&s->store, rec); /* the last finalizer is gone */
    }
}

static void reply_no_rv(struct request *req)
{
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "leases.coordination.k8s.io \"%s\" is invalid: metadata.resourceVersion: Invalid "
                  "value: 0: must be specified for an update",
                  req->name);
    reply_status(req, &(struct status){.code = 422,
                                       .reason = "Invalid",
                                       .message = text.data,
                                       .name = req->name,
                                       .group = "coordination.k8s.io",
                                       .kind = "leases",
                                       .causes = {{"FieldValueInvalid",
                                                   "Invalid value: 0: must be specified for an "
                                                   "update",
                                                   "metadata.resourceVersion"}}});
    strbuf_fini(&text);
}

void object_update(struct standin *s, struct request *req)
{
    cJSON *json = object_read_body(req, res_table[req->res].kind);
    if (json == NULL) {
        return;
    }
    cJSON *meta = json_object(json, "metadata");
    const char *name = json_string(meta, "name");
    const char *rv = json_string(meta, "resourceVersion");
    const struct rec *old = store_find(&s->store, req->res, req->ns, req->name);
    char current[24] = "";
    if (old != NULL) {
        (void)snprintf(current, sizeof(current), "%" PRIu64, old->rv);
    }
    if (strcmp(name, req->name) != 0) {
        reply_bad_request(req,
                          "the name of the object (%s) does not match the name on the URL (%s)",
                          name, req->name);
    } else if (old == NULL && req->res == RES_LEASES) {
        cJSON_DeleteItemFromObjectCaseSensitive(meta, "resourceVersion");
        set_meta(json, req->res, req); /* a PUT makes a lease that is not there */
        reply_object(req, 201, store_put(&s->store, req->res, json));
        return;
    } else if (old == NULL) {
        reply_not_found(req, res_table[req->res].plural, req->name);
    } else if (*rv == '\0' && req->res == RES_LEASES) {
        reply_no_rv(req);
    } else if (*rv != '\0' && strcmp(rv, current) != 0) {
        reply_conflict(req, res_table[req->res].plural, req->name,
                       "the object has been modified; please apply your changes to the latest "
                       "version and try again");
    } else {
        static const char *const kept[] = {"uid",           "creationTimestamp",
                                           "generation",    "deletionTimestamp",
                                           "managedFields", "namespace"};
        cJSON *before = rec_parse(old);
        cJSON *old_meta = cJSON_GetObjectItemCaseSensitive(before, "metadata");
        for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
            cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(old_meta, kept[i]);
            if (item != NULL) {
                json_set_item(meta, kept[i], item);
            }
        }
        cJSON_Delete(before);
        json_set(json, "kind", res_table[req->res].kind);
        json_set(json, "apiVersion", res_table[req->res].api_version);
        object_replace(s, req, old, json);
        return;
    }
    cJSON_Delete(json);
}
