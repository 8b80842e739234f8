/* SPDX-License-Identifier: Apache-2.0 */
/* si_control.c - /_standin/...: what a test may ask of the stand-in beside the Kubernetes API.
 *
 * faults (si_fault.c), stats, compact, drop-watches, kill-pod {namespace, name, exitCode} and
 * node {name, ready | delete | gpus | cordon}.
 */
#include "si_control.h"

#include <stdlib.h>
#include <string.h>

#include "si_fault.h"
#include "si_json.h"
#include "si_kubelet.h"
#include "si_status.h"
#include "si_watch.h"

static void serve_stats(struct standin *s, struct request *req)
{
    cJSON *json = cJSON_CreateObject();
    json_set_number(json, "rv", (double)s->store.rv);
    json_set_number(json, "compactRv", (double)s->store.compact_rv);
    json_set_number(json, "violations", (double)s->violations);
    size_t watches = 0;
    for (const struct watch *w = s->watches; w != NULL; w = watch_next(w)) {
        watches++;
    }
    json_set_number(json, "watches", (double)watches);
    cJSON *objects = json_object(json, "objects");
    for (size_t r = 0; r < RES_COUNT; r++) {
        json_set_number(objects, res_table[r].plural, (double)s->store.tables[r].count);
    }
    cJSON *requests = json_object(json, "requests");
    for (size_t v = 0; v < VERB_COUNT; v++) {
        for (size_t r = 0; r < RES_COUNT; r++) {
            if (s->requests[v][r] > 0) {
                json_set_number(json_object(requests, verb_names[v]), res_table[r].plural,
                                (double)s->requests[v][r]);
            }
        }
    }
    reply_json(req, 200, json);
}

static void kill_pod(struct standin *s, struct request *req, const cJSON *body)
{
    const char *ns = json_string(body, "namespace");
    const char *name = json_string(body, "name");
    const struct rec *rec = store_find(&s->store, RES_PODS, *ns != '\0' ? ns : "default", name);
    if (rec == NULL) {
        reply_not_found(req, "pods", name);
        return;
    }
    kubelet_end_pod(s, rec, (int)json_number(body, "exitCode", 1));
    reply_json(req, 200, cJSON_CreateObject());
}

static void set_gpus(cJSON *json, double gpus)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%d", (int)gpus);
    json_set(json_object(json_object(json, "status"), "allocatable"), "nvidia.com/gpu", text);
}

static void change_node(struct standin *s, struct request *req, const cJSON *body)
{
    struct rec *rec = store_find(&s->store, RES_NODES, "", json_string(body, "name"));
    if (rec == NULL) {
        reply_not_found(req, "nodes", json_string(body, "name"));
        return;
    }
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(body, "delete"))) {
        store_remove(&s->store, rec);
        reply_json(req, 200, cJSON_CreateObject());
        return;
    }
    const cJSON *ready = cJSON_GetObjectItemCaseSensitive(body, "ready");
    const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(body, "gpus");
    const cJSON *cordon = cJSON_GetObjectItemCaseSensitive(body, "cordon");
    cJSON *json = rec_parse(rec);
    cJSON *annotations = json_object(json_object(json, "metadata"), "annotations");
    cJSON_DeleteItemFromObjectCaseSensitive(annotations,
                                            ready != NULL ? "gang.queued/not-ready" : "");
    if (cJSON_IsFalse(ready)) {
        json_set(annotations, "gang.queued/not-ready", "true");
    }
    if (cJSON_IsNumber(gpus)) {
        set_gpus(json, gpus->valuedouble);
    }
    if (cJSON_IsTrue(cordon)) {
        json_set_item(json_object(json, "spec"), "unschedulable", cJSON_CreateTrue());
    } else if (cordon != NULL) {
        cJSON_DeleteItemFromObjectCaseSensitive(json_object(json, "spec"), "unschedulable");
    }
    reply_object(req, 200, store_put(&s->store, RES_NODES, json));
}

void control_serve(struct standin *s, struct request *req)
{
    const char *what = req->name + strlen("/_standin/");
    bool is_post = strcmp(req->method, "POST") == 0;
    cJSON *body = cJSON_ParseWithLength(req->body.len > 0 ? req->body.data : "", req->body.len);
    if (strcmp(what, "faults") == 0) {
        fault_serve(s, req);
    } else if (strcmp(what, "stats") == 0) {
        serve_stats(s, req);
    } else if (strcmp(what, "compact") == 0 && is_post) {
        store_compact(&s->store);
        reply_json(req, 200, cJSON_CreateObject());
    } else if (strcmp(what, "drop-watches") == 0 && is_post) {
        cJSON *json = cJSON_CreateObject();
        json_set_number(json, "dropped", (double)watch_end_all(s));
        reply_json(req, 200, json);
    } else if (strcmp(what, "kill-pod") == 0 && is_post) {
        kill_pod(s, req, body);
    } else if (strcmp(what, "node") == 0 && is_post) {
        change_node(s, req, body);
    } else {
        reply_plain(req, 404, "404 page not found\n");
    }
    cJSON_Delete(body);
}
