/* SPDX-License-Identifier: Apache-2.0 */
/* si_kinds.c - defaults and checks of a new object, kind by kind.
 *
 * Pods have their own file; here are the others and the dispatch.
 */
#include "si_kinds.h"

#include <string.h>

#include "si_json.h"
#include "si_pod.h"
#include "si_status.h"

static void default_service(cJSON *json)
{
    cJSON *spec = json_object(json, "spec");
    cJSON *port = NULL;
    cJSON_ArrayForEach(port, cJSON_GetObjectItemCaseSensitive(spec, "ports"))
    {
        json_default(port, "protocol", "TCP");
        json_default_item(port, "targetPort", cJSON_CreateNumber(json_number(port, "port", 0)));
    }
    json_default(spec, "clusterIP", "10.0.0.10");
    cJSON *ips = cJSON_CreateArray();
    cJSON_AddItemToArray(ips, cJSON_CreateString(json_string(spec, "clusterIP")));
    json_default_item(spec, "clusterIPs", ips);
    json_default(spec, "type", "ClusterIP");
    json_default(spec, "sessionAffinity", "None");
    bool has_selector = cJSON_GetObjectItemCaseSensitive(spec, "selector") != NULL;
    bool is_headless = strcmp(json_string(spec, "clusterIP"), "None") == 0;
    cJSON *families = cJSON_CreateArray();
    cJSON_AddItemToArray(families, cJSON_CreateString("IPv4"));
    if (is_headless && !has_selector) {
        cJSON_AddItemToArray(families, cJSON_CreateString("IPv6"));
    }
    json_default_item(spec, "ipFamilies", families);
    json_default(spec, "ipFamilyPolicy",
                 is_headless && !has_selector ? "RequireDualStack" : "SingleStack");
    json_default(spec, "internalTrafficPolicy", "Cluster");
    json_set_item(json, "status", cJSON_CreateObject());
    json_set_item(json_object(json, "status"), "loadBalancer", cJSON_CreateObject());
}

static void default_namespace(cJSON *json)
{
    cJSON *meta = json_object(json, "metadata");
    json_set(json_object(meta, "labels"), "kubernetes.io/metadata.name", json_string(meta, "name"));
    cJSON *finalizers = json_array(json_object(json, "spec"), "finalizers");
    if (finalizers->child == NULL) {
        cJSON_AddItemToArray(finalizers, cJSON_CreateString("kubernetes"));
    }
    json_default(json_object(json, "status"), "phase", "Active");
}

static void default_node(cJSON *json)
{
    (void)json_object(json, "spec"); /* made when it is not there */
    cJSON *status = json_object(json, "status");
    if (cJSON_GetObjectItemCaseSensitive(status, "allocatable") == NULL) {
        cJSON *capacity = cJSON_GetObjectItemCaseSensitive(status, "capacity");
        if (capacity != NULL) {
            json_set_item(status, "allocatable", cJSON_Duplicate(capacity, true));
        }
    }
    if (cJSON_GetObjectItemCaseSensitive(status, "daemonEndpoints") == NULL) {
        json_set_number(json_object(json_object(status, "daemonEndpoints"), "kubeletEndpoint"),
                        "Port", 0);
    }
    static const char *const info[] = {"machineID",       "systemUUID",
                                       "bootID",          "kernelVersion",
                                       "osImage",         "containerRuntimeVersion",
                                       "kubeletVersion",  "kubeProxyVersion",
                                       "operatingSystem", "architecture"};
    cJSON *node_info = json_object(status, "nodeInfo");
    for (size_t i = 0; i < sizeof(info) / sizeof(info[0]); i++) {
        json_default(node_info, info[i], "");
    }
}

static void default_event(cJSON *json)
{
    static const char *const nulls_v1[] = {"deprecatedFirstTimestamp", "deprecatedLastTimestamp"};
    bool is_v1 = strcmp(json_string(json, "apiVersion"), "events.k8s.io/v1") == 0;
    if (is_v1) {
        json_default_item(json, "deprecatedSource", cJSON_CreateObject());
        json_default_item(json, nulls_v1[0], cJSON_CreateNull());
        json_default_item(json, nulls_v1[1], cJSON_CreateNull());
    } else {
        json_default_item(json, "eventTime", cJSON_CreateNull());
        json_default(json, "reportingComponent", "");
        json_default(json, "reportingInstance", "");
    }
}

void kinds_default(enum res_id res, cJSON *json)
{
    switch (res) {
    case RES_PODS:
        pod_default(json);
        break;
    case RES_SERVICES:
        default_service(json);
        break;
    case RES_NAMESPACES:
        default_namespace(json);
        break;
    case RES_NODES:
        default_node(json);
        break;
    case RES_PRIORITIES:
        json_default(json, "preemptionPolicy", "PreemptLowerPriority");
        break;
    case RES_QUOTAS:
    case RES_BUDGETS:
        (void)json_object(json, "status"); /* made when it is not there */
        break;
    case RES_EVENTS:
        default_event(json);
        break;
    default:
        break;
    }
}

static bool refuse_event(struct request *req, const cJSON *json, struct cause cause)
{
    reply_invalid(req, "Event", json_text(json, "metadata", "name"), cause);
    return false;
}

static bool check_event(struct request *req, cJSON *json)
{
    const char *time = json_string(json, "eventTime");
    json_set(json, "apiVersion", req->is_events_v1 ? "events.k8s.io/v1" : "v1");
    if (*time != '\0' && strchr(time, '.') == NULL) {
        reply_bad_request(req,
                          "Event in version \"v1\" cannot be handled as a Event: parsing time "
                          "\"%s\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as "
                          "\".000000\"",
                          time);
        return false;
    }
    if (!req->is_events_v1) {
        const char *ns = json_text(json, "involvedObject", "namespace");
        char text[320];
        (void)snprintf(text, sizeof(text),
                       "Invalid value: \"%.250s\": does not match event.namespace", ns);
        bool is_own = *ns == '\0' || strcmp(ns, req->ns) == 0;
        return is_own ||
               refuse_event(req, json,
                            (struct cause){"FieldValueInvalid", text, "involvedObject.namespace"});
    }
    if (*time == '\0') {
        return refuse_event(req, json,
                            (struct cause){"FieldValueRequired", "Required value", "eventTime"});
    }
    if (*json_string(json, "action") == '\0') {
        return refuse_event(req, json,
                            (struct cause){"FieldValueRequired", "Required value", "action"});
    }
    if (strlen(json_string(json, "note")) > 1024) {
        return refuse_event(req, json,
                            (struct cause){"FieldValueInvalid",
                                           "Invalid value: \"\": can have at most 1024 characters",
                                           "message"});
    }
    return true;
}

bool kinds_check(struct standin *s, struct request *req, cJSON *json)
{
    if (req->res == RES_EVENTS) {
        return check_event(req, json);
    }
    return req->res != RES_PODS || pod_check(s, req, json);
}
