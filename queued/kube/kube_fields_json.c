/* SPDX-License-Identifier: Apache-2.0 */
/* kube_fields_json.c - the fields of nodes and pods out of cJSON trees. Judges nothing. */
#include <stdio.h>
#include <string.h>

#include "kube/kube_fields.h"
#include "kube/kube_json.h"
#include "util/str.h"

/* Room for one element per child; NULL when there are none. */
static void *room(struct arena *a, const cJSON *list, size_t size)
{
    size_t n = 0;
    const cJSON *c;

    cJSON_ArrayForEach(c, list) n++;
    return n ? arena_alloc(a, n * size) : NULL;
}

/* The server writes quantities as strings, other clients may write numbers. "" is no quantity. */
static const char *quantity(struct arena *a, const cJSON *q)
{
    char number[32];
    int n;

    if (cJSON_IsString(q))
        return q->valuestring;
    if (!cJSON_IsNumber(q))
        return "";
    n = snprintf(number, sizeof(number), "%.0f", q->valuedouble);
    /* a cut one would be another number */
    return n > 0 && n < (int)sizeof(number) ? arena_strdup(a, number) : "";
}

static struct field_pairs read_amounts(struct arena *a, const cJSON *map)
{
    struct field_pairs p = {.v = room(a, map, sizeof(*p.v))};
    const cJSON *q;

    cJSON_ArrayForEach(q, map)
    {
        if (q->string)
            p.v[p.n++] = (struct field_pair){q->string, quantity(a, q)};
    }
    return p;
}

static struct field_pairs read_labels(struct arena *a, const cJSON *map)
{
    struct field_pairs p = {0};
    const cJSON *l;

    if (!cJSON_IsObject(map))
        return p;
    p.v = room(a, map, sizeof(*p.v));
    cJSON_ArrayForEach(l, map)
    {
        if (cJSON_IsString(l))
            p.v[p.n++] = (struct field_pair){l->string, l->valuestring};
    }
    return p;
}

/* Kind of the owner that manages it. */
static const char *read_controller(const cJSON *owners)
{
    const cJSON *o;

    cJSON_ArrayForEach(o, owners)
    {
        if (json_is_true(o, "controller"))
            return json_text(o, "kind");
    }
    return "";
}

static struct meta_fields read_meta(struct arena *a, const cJSON *object)
{
    const cJSON *meta = json_get(object, "metadata");

    return (struct meta_fields){.ns = json_text(meta, "namespace"),
                                .name = json_text(meta, "name"),
                                .uid = json_text(meta, "uid"),
                                .rv = json_text(meta, "resourceVersion"),
                                .labels = read_labels(a, json_get(meta, "labels")),
                                .is_deleting = json_text(meta, "deletionTimestamp")[0] != '\0',
                                .controller = read_controller(json_get(meta, "ownerReferences"))};
}

static struct conditions read_conditions(struct arena *a, const cJSON *list)
{
    struct conditions all = {.v = room(a, list, sizeof(*all.v))};
    const cJSON *c;

    cJSON_ArrayForEach(c, list)
    {
        struct condition_fields *f = &all.v[all.n++];

        f->type = json_text(c, "type");
        f->status = json_text(c, "status");
        if (parse_time(json_text(c, "lastTransitionTime"), &f->since, NULL))
            f->since = 0;
    }
    return all;
}

static void read_taints(struct arena *a, const cJSON *list, struct node_fields *n)
{
    const cJSON *t;

    if (!cJSON_IsArray(list))
        return;
    n->taints = room(a, list, sizeof(*n->taints));
    cJSON_ArrayForEach(t, list)
    {
        n->taints[n->n_taints++] = (struct taint_fields){json_text(t, "key"), json_text(t, "value"),
                                                         json_text(t, "effect")};
    }
}

void node_fields_json(struct arena *a, const cJSON *node, struct object_fields *ret)
{
    const cJSON *status = json_get(node, "status");
    const cJSON *links = json_get(json_path(node, "metadata.annotations"), GPU_TOPOLOGY_KEY);

    *ret = (struct object_fields){.meta = read_meta(a, node)};
    ret->u.node = (struct node_fields){
        .boot_id = json_text(status, "nodeInfo.bootID"),
        .gpu_topology = cJSON_IsString(links) ? links->valuestring : "",
        .capacity = read_amounts(a, json_get(status, "capacity")),
        .allocatable = read_amounts(a, json_get(status, "allocatable")),
        .conditions = read_conditions(a, json_get(status, "conditions")),
        .is_cordoned = json_is_true(node, "spec.unschedulable"),
    };
    read_taints(a, json_path(node, "spec.taints"), &ret->u.node);
}

static struct containers read_containers(struct arena *a, const cJSON *list)
{
    struct containers all = {.v = room(a, list, sizeof(*all.v))};
    const cJSON *c;

    cJSON_ArrayForEach(c, list)
    {
        all.v[all.n++] = (struct container_fields){
            .name = json_text(c, "name"),
            .restart_policy = json_text(c, "restartPolicy"),
            .requests = read_amounts(a, json_path(c, "resources.requests")),
            .limits = read_amounts(a, json_path(c, "resources.limits"))};
    }
    return all;
}

static void read_statuses(struct arena *a, const cJSON *list, struct pod_fields *p)
{
    const cJSON *s;

    p->statuses = room(a, list, sizeof(*p->statuses));
    cJSON_ArrayForEach(s, list)
    {
        p->statuses[p->n_statuses++] = (struct container_status_fields){
            .name = json_text(s, "name"),
            .ended_reason = json_text(s, "state.terminated.reason"),
            .waiting_reason = json_text(s, "state.waiting.reason"),
            .exit_code = json_int(s, "state.terminated.exitCode", -1)};
    }
}

void pod_fields_json(struct arena *a, const cJSON *pod, struct object_fields *ret)
{
    const cJSON *spec = json_get(pod, "spec"), *status = json_get(pod, "status");

    *ret = (struct object_fields){.meta = read_meta(a, pod)};
    ret->u.pod = (struct pod_fields){
        .node = json_text(spec, "nodeName"),
        .phase = json_text(status, "phase"),
        .reason = json_text(status, "reason"),
        .containers = read_containers(a, json_get(spec, "containers")),
        .init_containers = read_containers(a, json_get(spec, "initContainers")),
        .requests = read_amounts(a, json_path(spec, "resources.requests")),
        .overhead = read_amounts(a, json_get(spec, "overhead")),
        .conditions = read_conditions(a, json_get(status, "conditions")),
    };
    read_statuses(a, json_get(status, "containerStatuses"), &ret->u.pod);
}

void status_fields_json(const cJSON *status, struct status_fields *ret)
{
    const cJSON *causes = json_path(status, "details.causes");

    *ret =
        (struct status_fields){.reason = json_text(status, "reason"),
                               .kind = json_text(status, "details.kind"),
                               .cause = json_text(cJSON_GetArrayItem(causes, 0), "reason"),
                               .message = json_text(status, "message"),
                               .code = json_int(status, "code", 0),
                               .retry_after_s = json_int(status, "details.retryAfterSeconds", 0)};
}
