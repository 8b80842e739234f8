/* SPDX-License-Identifier: Apache-2.0 */
/* si_pod.c - rules of pods: what a new one must have, what it is given, and how it is bound.
 *
 * Only rules that a gang scheduler can meet are here; the bind follows the recorded table case by
 * case, with its texts.
 */
#include "si_pod.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "si_json.h"
#include "si_kubelet.h"
#include "si_object.h"
#include "si_status.h"

static bool is_latest(const char *image)
{
    const char *slash = strrchr(image, '/');
    const char *tag = strchr(slash != NULL ? slash : image, ':');
    return tag == NULL || strcmp(tag, ":latest") == 0;
}

static void default_container(cJSON *container)
{
    cJSON *resources = json_object(container, "resources");
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(resources, "limits");
    const cJSON *limit = NULL;
    cJSON_ArrayForEach(limit, limits)
    {
        json_default_item(json_object(resources, "requests"), limit->string,
                          cJSON_Duplicate(limit, true));
    }
    json_default(container, "terminationMessagePath", "/dev/termination-log");
    json_default(container, "terminationMessagePolicy", "File");
    json_default(container, "imagePullPolicy",
                 is_latest(json_string(container, "image")) ? "Always" : "IfNotPresent");
}

static void add_toleration(cJSON *spec, const char *key)
{
    cJSON *list = json_array(spec, "tolerations");
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(json_string(item, "key"), key) == 0) {
            return;
        }
    }
    cJSON *toleration = cJSON_CreateObject();
    json_set(toleration, "key", key);
    json_set(toleration, "operator", "Exists");
    json_set(toleration, "effect", "NoExecute");
    json_set_number(toleration, "tolerationSeconds", 300);
    cJSON_AddItemToArray(list, toleration);
}

/* Guaranteed is not told apart from Burstable: nothing here depends on it. */
static const char *qos_class(const cJSON *spec)
{
    const cJSON *container = NULL;
    cJSON_ArrayForEach(container, cJSON_GetObjectItemCaseSensitive(spec, "containers"))
    {
        const cJSON *requests = json_at(container, "resources", "requests");
        if (cJSON_GetObjectItemCaseSensitive(requests, "cpu") != NULL ||
            cJSON_GetObjectItemCaseSensitive(requests, "memory") != NULL) {
            return "Burstable";
        }
    }
    return "BestEffort";
}

void pod_default(cJSON *json)
{
    cJSON *spec = json_object(json, "spec");
    cJSON *container = NULL;
    cJSON_ArrayForEach(container, cJSON_GetObjectItemCaseSensitive(spec, "containers"))
    {
        default_container(container);
    }
    json_default(spec, "restartPolicy", "Always");
    json_default_item(spec, "terminationGracePeriodSeconds", cJSON_CreateNumber(30));
    json_default(spec, "dnsPolicy", "ClusterFirst");
    json_default_item(spec, "securityContext", cJSON_CreateObject());
    json_default(spec, "schedulerName", "default-scheduler");
    add_toleration(spec, "node.kubernetes.io/not-ready");
    add_toleration(spec, "node.kubernetes.io/unreachable");
    json_default_item(spec, "priority", cJSON_CreateNumber(0));
    json_default_item(spec, "enableServiceLinks", cJSON_CreateTrue());
    json_default(spec, "preemptionPolicy", "PreemptLowerPriority");
    cJSON *status = cJSON_CreateObject();
    json_set_item(json, "status", status);
    json_set(status, "phase", "Pending");
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(spec, "schedulingGates")) > 0) {
        condition_set(json, "PodScheduled", "False", "SchedulingGated",
                      "Scheduling is blocked due to non-empty scheduling gates");
    }
    json_set(status, "qosClass", qos_class(spec));
}

static bool quantity_is_valid(const char *text)
{
    text += *text == '+' || *text == '-' ? 1 : 0;
    size_t digits = strspn(text, "0123456789.");
    size_t letters = strspn(text + digits, "eEinumkKMGTP");
    return digits > 0 &&
           text[digits + letters + strspn(text + digits + letters, "+-0123456789")] == '\0';
}

static bool check_quantities(struct request *req, const cJSON *list)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && !quantity_is_valid(item->valuestring)) {
            reply_bad_request(req,
                              "Pod in version \"v1\" cannot be handled as a Pod: quantities must "
                              "match the regular expression "
                              "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
            return false;
        }
    }
    return true;
}

/* Extended resources: limits needed, whole, equal to the request. */
static bool check_gpus(struct request *req, const char *name, const cJSON *container, int index)
{
    const cJSON *limit = cJSON_GetObjectItemCaseSensitive(json_at(container, "resources", "limits"),
                                                          "nvidia.com/gpu");
    const cJSON *request = cJSON_GetObjectItemCaseSensitive(
        json_at(container, "resources", "requests"), "nvidia.com/gpu");
    char field[96];
    char text[160];
    if (request != NULL && limit == NULL) {
        (void)snprintf(field, sizeof(field), "spec.containers[%d].resources.limits", index);
        reply_invalid(req, "Pod", name,
                      (struct cause){"FieldValueRequired",
                                     "Required value: Limit must be set for non overcommitable "
                                     "resources",
                                     field});
        return false;
    }
    const char *value = cJSON_IsString(limit) ? limit->valuestring : "0";
    uint64_t number = 0;
    if (number_parse(value, &number) != 0) {
        (void)snprintf(field, sizeof(field), "spec.containers[%d].resources.limits[nvidia.com/gpu]",
                       index);
        char second[96];
        (void)snprintf(second, sizeof(second),
                       "spec.containers[%d].resources.requests[nvidia.com/gpu]", index);
        (void)snprintf(text, sizeof(text), "Invalid value: \"%.60s\": must be an integer", value);
        const struct cause causes[] = {{"FieldValueInvalid", text, field},
                                       {"FieldValueInvalid", text, second}};
        reply_invalid_all(req, "Pod", name, causes, 2);
        return false;
    }
    if (cJSON_IsString(request) && strcmp(request->valuestring, value) != 0) {
        (void)snprintf(field, sizeof(field), "spec.containers[%d].resources.requests", index);
        (void)snprintf(text, sizeof(text),
                       "Invalid value: \"%.40s\": must be equal to nvidia.com/gpu limit of %.40s",
                       request->valuestring, value);
        reply_invalid(req, "Pod", name, (struct cause){"FieldValueInvalid", text, field});
        return false;
    }
    return true;
}

static bool check_containers(struct request *req, const char *name, const cJSON *spec)
{
    const cJSON *containers = cJSON_GetObjectItemCaseSensitive(spec, "containers");
    if (cJSON_GetArraySize(containers) == 0) {
        reply_invalid(req, "Pod", name,
                      (struct cause){"FieldValueRequired", "Required value", "spec.containers"});
        return false;
    }
    int index = 0;
    const cJSON *container = NULL;
    cJSON_ArrayForEach(container, containers)
    {
        if (!check_quantities(req, json_at(container, "resources", "limits")) ||
            !check_quantities(req, json_at(container, "resources", "requests")) ||
            !check_gpus(req, name, container, index)) {
            return false;
        }
        index++;
    }
    return true;
}

static void reply_priority(struct request *req, const char *name, const char *text)
{
    struct strbuf message = {0};
    strbuf_printf(&message, "pods \"%s\" is forbidden: %s", name, text);
    reply_status(req, &(struct status){.code = 403,
                                       .reason = "Forbidden",
                                       .message = message.data,
                                       .name = name,
                                       .kind = "pods"});
    strbuf_fini(&message);
}

static bool resolve_priority(struct standin *s, struct request *req, const char *name, cJSON *spec)
{
    const char *class_name = json_string(spec, "priorityClassName");
    if (*class_name == '\0') {
        return true;
    }
    char text[400];
    const struct rec *rec = store_find(&s->store, RES_PRIORITIES, "", class_name);
    if (rec == NULL) {
        (void)snprintf(text, sizeof(text), "no PriorityClass with name %.250s was found",
                       class_name);
        reply_priority(req, name, text);
        return false;
    }
    cJSON *json = rec_parse(rec);
    double value = json_number(json, "value", 0);
    double sent = json_number(spec, "priority", value);
    const char *policy = json_string(json, "preemptionPolicy");
    if ((int)sent == (int)value) {
        json_set_number(spec, "priority", value);
        json_set(spec, "preemptionPolicy", *policy != '\0' ? policy : "PreemptLowerPriority");
    } else {
        (void)snprintf(text, sizeof(text),
                       "the integer value of priority (%d) must not be provided in pod spec; "
                       "priority admission controller computed %d from the given PriorityClass "
                       "name",
                       (int)sent, (int)value);
        reply_priority(req, name, text);
    }
    cJSON_Delete(json);
    return (int)sent == (int)value;
}

bool pod_check(struct standin *s, struct request *req, cJSON *json)
{
    const char *name = json_text(json, "metadata", "name");
    cJSON *spec = json_object(json, "spec");
    bool is_gated =
        cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(spec, "schedulingGates")) > 0;
    if (is_gated && *json_string(spec, "nodeName") != '\0') {
        reply_invalid(req, "Pod", name,
                      (struct cause){"FieldValueForbidden",
                                     "Forbidden: cannot be set until all schedulingGates have been "
                                     "cleared",
                                     "spec.nodeName"});
        return false;
    }
    return check_containers(req, name, spec) && resolve_priority(s, req, name, spec);
}

/* Checks of the Binding itself; false after a reply. */
static bool check_binding(struct request *req, const cJSON *json, const char *name)
{
    const char *ns = json_text(json, "metadata", "namespace");
    const char *kind = json_text(json, "target", "kind");
    if (*ns != '\0' && strcmp(ns, req->ns) != 0) {
        reply_bad_request(req, "the namespace of the provided object does not match the namespace "
                               "sent on the request");
    } else if (*req->name != '\0' && strcmp(name, req->name) != 0) {
        reply_bad_request(req, "name in URL does not match name in Binding object");
    } else if (*kind != '\0' && strcmp(kind, "Node") != 0) {
        reply_error(req, 500, NULL,
                    "target.kind: Unsupported value: \"%s\": supported values: \"Node\", "
                    "\"<empty>\"",
                    kind);
    } else if (*json_text(json, "target", "name") == '\0') {
        reply_error(req, 500, NULL, "target.name: Required value");
    } else {
        return true;
    }
    return false;
}

static void reply_precondition(struct request *req, const struct rec *rec, const char *what)
{
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "StorageError: invalid object, Code: 4, Key: /registry/pods/%s, "
                  "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s",
                  rec->key, what);
    reply_conflict(req, "pods", rec->name, text.data);
    strbuf_fini(&text);
}

/* Checks of the pod against the Binding; false after a reply. */
static bool check_target(struct request *req, const cJSON *json, const struct rec *rec)
{
    const char *uid = json_text(json, "metadata", "uid");
    const char *rv = json_text(json, "metadata", "resourceVersion");
    char text[640];
    char current[24];
    (void)snprintf(current, sizeof(current), "%" PRIu64, rec->rv);
    if (*uid != '\0' && strcmp(uid, rec->uid) != 0) {
        (void)snprintf(text, sizeof(text), "UID in precondition: %.100s, UID in object meta: %s",
                       uid, rec->uid);
        reply_precondition(req, rec, text);
    } else if (*rv != '\0' && strcmp(rv, current) != 0) {
        (void)snprintf(text, sizeof(text),
                       "ResourceVersion in precondition: %.40s, ResourceVersion in object meta: %s",
                       rv, current);
        reply_precondition(req, rec, text);
    } else if (rec->deleting) {
        (void)snprintf(text, sizeof(text), "pod %s is being deleted, cannot be assigned to a host",
                       rec->name);
        reply_conflict(req, "pods/binding", rec->name, text);
    } else if (*rec->node != '\0') {
        (void)snprintf(text, sizeof(text), "pod %s is already assigned to node \"%s\"", rec->name,
                       rec->node);
        reply_conflict(req, "pods/binding", rec->name, text);
    } else if (rec->gated) {
        (void)snprintf(text, sizeof(text), "pod %s has non-empty .spec.schedulingGates", rec->name);
        reply_conflict(req, "pods/binding", rec->name, text);
    } else {
        return true;
    }
    return false;
}

static void merge_texts(cJSON *pod, const cJSON *binding, const char *key)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, json_at(binding, "metadata", key))
    {
        if (cJSON_IsString(item)) {
            json_set(json_object(json_object(pod, "metadata"), key), item->string,
                     item->valuestring);
        }
    }
}

static void store_bound(struct standin *s, const struct rec *rec, const cJSON *binding)
{
    static const char *const topology[] = {"topology.kubernetes.io/zone",
                                           "topology.kubernetes.io/region"};
    const char *node_name = json_text(binding, "target", "name");
    const struct rec *node = store_find(&s->store, RES_NODES, "", node_name);
    cJSON *pod = rec_parse(rec);
    json_set(json_object(pod, "spec"), "nodeName", node_name);
    merge_texts(pod, binding, "annotations");
    merge_texts(pod, binding, "labels");
    for (size_t i = 0; i < 2; i++) {
        const char *value = node != NULL ? rec_label(node, topology[i]) : NULL;
        if (value != NULL) {
            json_set(json_object(json_object(pod, "metadata"), "labels"), topology[i], value);
        }
    }
    cJSON_DeleteItemFromObjectCaseSensitive(json_object(pod, "status"), "nominatedNodeName");
    condition_set(pod, "PodScheduled", "True", NULL, NULL);
    (void)store_put(&s->store, RES_PODS, pod); /* a bind does not answer with the pod */
}

void pod_bind(struct standin *s, struct request *req)
{
    cJSON *json = object_read_body(req, "Binding");
    if (json == NULL) {
        return;
    }
    const char *name = json_text(json, "metadata", "name");
    const char *dry_run = request_query(req, "dryRun");
    if (check_binding(req, json, name)) {
        const struct rec *rec = store_find(&s->store, RES_PODS, req->ns, name);
        if (rec == NULL) {
            reply_not_found(req, "pods", name);
        } else if (check_target(req, json, rec)) {
            if (dry_run == NULL) {
                store_bound(s, rec, json);
            }
            reply_plain(req, 201,
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                        "\"status\":\"Success\",\"code\":201}\n");
            req->reply.type = NULL;
        }
    }
    cJSON_Delete(json);
}
