/* SPDX-License-Identifier: Apache-2.0 */
/* si_patch.c - patches of the stand-in API server: merge, strategic merge and JSON patch.
 *
 * Strategic lists are merged by one key each (conditions by type, gates and containers by name,
 * taints by key, references by uid); other lists are replaced. Spec changes of pods that the
 * server forbids are refused with its code but a shorter text.
 */
#include "si_patch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "si_json.h"
#include "si_jsonpatch.h"
#include "si_object.h"
#include "si_status.h"

enum { MERGE_DEPTH_MAX = 64 };

static const char *merge_key(const char *list)
{
    static const char *const keys[][2] = {
        {"conditions", "type"},        {"schedulingGates", "name"},
        {"containers", "name"},        {"taints", "key"},
        {"ownerReferences", "uid"},    {"env", "name"},
        {"containerStatuses", "name"}, {"addresses", "type"},
        {"volumes", "name"},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strcmp(keys[i][0], list) == 0) {
            return keys[i][1];
        }
    }
    return NULL;
}

static void merge(cJSON *target, const cJSON *patch, bool is_strategic, int depth);

/* The item of list with the same key, NULL when there is none. */
static cJSON *find_by_key(cJSON *list, const char *key, const char *value)
{
    cJSON *item = NULL;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(json_string(item, key), value) == 0) {
            return item;
        }
    }
    return NULL;
}

/* New items come first, as the server puts them. */
static void merge_list(cJSON *list, const cJSON *patch, const char *key, int depth)
{
    const cJSON *change = NULL;
    int added = 0;
    cJSON_ArrayForEach(change, patch)
    {
        cJSON *item = find_by_key(list, key, json_string(change, key));
        if (strcmp(json_string(change, "$patch"), "delete") == 0) {
            cJSON_Delete(item != NULL ? cJSON_DetachItemViaPointer(list, item) : NULL);
        } else if (item != NULL) {
            merge(item, change, true, depth + 1);
        } else {
            cJSON_InsertItemInArray(list, added++, cJSON_Duplicate(change, true));
        }
    }
}

static void merge(cJSON *target, const cJSON *patch, bool is_strategic, int depth)
{
    const cJSON *change = NULL;
    cJSON_ArrayForEach(change, patch)
    {
        cJSON *old = cJSON_GetObjectItemCaseSensitive(target, change->string);
        const char *key = is_strategic ? merge_key(change->string) : NULL;
        if (change->string[0] == '$') {
            continue;
        }
        if (cJSON_IsNull(change)) {
            cJSON_DeleteItemFromObjectCaseSensitive(target, change->string);
        } else if (cJSON_IsObject(change) && depth < MERGE_DEPTH_MAX) {
            merge(json_object(target, change->string), change, is_strategic, depth + 1);
        } else if (cJSON_IsArray(change) && cJSON_IsArray(old) && key != NULL &&
                   depth < MERGE_DEPTH_MAX) {
            merge_list(old, change, key, depth + 1);
        } else {
            json_set_item(target, change->string, cJSON_Duplicate(change, true));
        }
    }
}

enum patch_type { PATCH_MERGE, PATCH_STRATEGIC, PATCH_JSON, PATCH_UNKNOWN };

static enum patch_type type_of(const struct request *req)
{
    const char *type =
        MHD_lookup_connection_value(req->connection, MHD_HEADER_KIND, "Content-Type");
    if (type == NULL) {
        return PATCH_UNKNOWN;
    }
    if (strncasecmp(type, "application/merge-patch+json", 28) == 0) {
        return PATCH_MERGE;
    }
    if (strncasecmp(type, "application/strategic-merge-patch+json", 38) == 0) {
        return PATCH_STRATEGIC;
    }
    return strncasecmp(type, "application/json-patch+json", 27) == 0 ? PATCH_JSON : PATCH_UNKNOWN;
}

/* uid and resourceVersion named in a patch must be the object's. */
static bool check_guards(struct request *req, const struct rec *rec, const cJSON *patch)
{
    const char *uid = json_text(patch, "metadata", "uid");
    const char *rv = json_text(patch, "metadata", "resourceVersion");
    char current[24];
    (void)snprintf(current, sizeof(current), "%" PRIu64, rec->rv);
    if (*rv != '\0' && strcmp(rv, current) != 0) {
        reply_conflict(req, res_table[rec->res].plural, rec->name,
                       "the object has been modified; please apply your changes to the latest "
                       "version and try again");
        return false;
    }
    if (*uid == '\0' || strcmp(uid, rec->uid) == 0) {
        return true;
    }
    const char *kind = res_table[rec->res].kind;
    char text[160];
    struct strbuf message = {0};
    (void)snprintf(text, sizeof(text), "Invalid value: \"%.100s\": field is immutable", uid);
    strbuf_printf(&message, "%s \"%s\" is invalid: metadata.uid: %s", kind, rec->name, text);
    struct cause cause = {"FieldValueInvalid", text, "metadata.uid"};
    reply_status(req, &(struct status){.code = 422,
                                       .reason = "Invalid",
                                       .message = message.data,
                                       .name = rec->name,
                                       .kind = kind,
                                       .causes = {cause, cause}}); /* the server says it twice */
    strbuf_fini(&message);
    return false;
}

/* Whether b has only gates that a has. */
static const char *added_gate(const cJSON *a, const cJSON *b)
{
    const cJSON *gate = NULL;
    cJSON_ArrayForEach(gate, json_at(b, "spec", "schedulingGates"))
    {
        const char *name = json_string(gate, "name");
        if (find_by_key(json_at(a, "spec", "schedulingGates"), "name", name) == NULL) {
            return name;
        }
    }
    return NULL;
}

/* Pod updates may change little of the spec. False after a 422 reply. */
static bool check_pod(struct request *req, const struct rec *rec, const cJSON *after)
{
    cJSON *before = rec_parse(rec);
    const char *gate = added_gate(before, after);
    static const char *const free_keys[] = {"schedulingGates", "tolerations",
                                            "activeDeadlineSeconds"};
    cJSON *a = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(before, "spec"), true);
    cJSON *b = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(after, "spec"), true);
    for (size_t i = 0; i < sizeof(free_keys) / sizeof(free_keys[0]); i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(a, free_keys[i]);
        cJSON_DeleteItemFromObjectCaseSensitive(b, free_keys[i]);
    }
    if (rec->gated) {
        cJSON_DeleteItemFromObjectCaseSensitive(a, "nodeSelector");
        cJSON_DeleteItemFromObjectCaseSensitive(b, "nodeSelector");
    }
    bool is_same = cJSON_Compare(a, b, true);
    if (gate != NULL) {
        char text[160];
        (void)snprintf(text, sizeof(text),
                       "Forbidden: only deletion is allowed, but found new scheduling gate '%.60s'",
                       gate);
        reply_invalid(req, "Pod", rec->name,
                      (struct cause){"FieldValueForbidden", text, "spec.schedulingGates[0].name"});
    } else if (!is_same) {
        reply_invalid(req, "Pod", rec->name,
                      (struct cause){"FieldValueForbidden",
                                     "Forbidden: pod updates may not change fields other than "
                                     "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                                     "`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
                                     "additions to existing tolerations),"
                                     "`spec.terminationGracePeriodSeconds`",
                                     "spec"});
    }
    cJSON_Delete(a);
    cJSON_Delete(b);
    cJSON_Delete(before);
    return gate == NULL && is_same;
}

/* A write of the main resource leaves the status, one of the status leaves the spec. */
static void keep_other_half(struct request *req, const struct rec *rec, cJSON *after)
{
    bool has_status_sub = rec->res == RES_PODS || rec->res == RES_NODES;
    if (!has_status_sub) {
        return;
    }
    const char *kept = strcmp(req->sub, "status") == 0 ? "spec" : "status";
    cJSON *before = rec_parse(rec);
    cJSON *half = cJSON_DetachItemFromObjectCaseSensitive(before, kept);
    if (half != NULL) {
        json_set_item(after, kept, half);
    } else {
        cJSON_DeleteItemFromObjectCaseSensitive(after, kept);
    }
    cJSON_Delete(before);
}

/* Apply patch to json. False after a 422 reply. */
static bool apply(struct request *req, enum patch_type type, cJSON *json, const cJSON *patch)
{
    if (type != PATCH_JSON) {
        merge(json, patch, type == PATCH_STRATEGIC, 0);
        return true;
    }
    if (jsonpatch_apply(json, patch) == 0) {
        return true;
    }
    reply_status(req,
                 &(struct status){
                     .code = 422,
                     .reason = "Invalid",
                     .message = "the server rejected our request due to an error in our request",
                     .has_details = true});
    return false;
}

static void patch_object(struct standin *s, struct request *req, const struct rec *rec,
                         const cJSON *patch)
{
    enum patch_type type = type_of(req);
    if (type != PATCH_JSON && !check_guards(req, rec, patch)) {
        return;
    }
    cJSON *json = rec_parse(rec);
    bool ok = apply(req, type, json, patch);
    if (ok) {
        keep_other_half(req, rec, json);
        ok = rec->res != RES_PODS || check_pod(req, rec, json);
    }
    if (ok) {
        object_replace(s, req, rec, json);
    } else {
        cJSON_Delete(json);
    }
}

void patch_serve(struct standin *s, struct request *req)
{
    if (type_of(req) == PATCH_UNKNOWN) {
        reply_status(req, &(struct status){.code = 415,
                                           .reason = "UnsupportedMediaType",
                                           .message = "415: Unsupported Media Type",
                                           .has_details = true});
        return;
    }
    const struct rec *rec = store_find(&s->store, req->res, req->ns, req->name);
    if (rec == NULL) {
        reply_not_found(req, res_table[req->res].plural, req->name);
        return;
    }
    cJSON *patch = cJSON_ParseWithLength(req->body.len > 0 ? req->body.data : "", req->body.len);
    bool is_list = type_of(req) == PATCH_JSON;
    if (patch == NULL || (is_list ? !cJSON_IsArray(patch) : !cJSON_IsObject(patch))) {
        reply_bad_request(req, "error decoding patch: unexpected end of JSON input");
    } else {
        patch_object(s, req, rec, patch);
    }
    cJSON_Delete(patch);
}
