/* SPDX-License-Identifier: Apache-2.0 */
/* si_rec.c - building one version of an object of the stand-in API server from its JSON.
 *
 * The text always begins with kind, apiVersion and metadata in this order, so that a list can
 * leave the first two out by an offset, and the resourceVersion is the first one in the text.
 */
#include "si_rec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "si_json.h"
#include "si_proto.h"

void rec_ref(struct rec *rec)
{
    rec->refs++;
}

void rec_unref(struct rec *rec)
{
    if (rec != NULL && --rec->refs == 0) {
        free(rec);
    }
}

cJSON *rec_parse(const struct rec *rec)
{
    cJSON *json = cJSON_ParseWithLength(rec->text, rec->len);
    assert(json != NULL);
    return json;
}

const char *rec_label(const struct rec *rec, const char *key)
{
    for (const char *p = rec->labels; *p != '\0'; p += strlen(p) + 1) {
        const char *value = p + strlen(p) + 1;
        if (strcmp(p, key) == 0) {
            return value;
        }
        p = value;
    }
    return NULL;
}

static void move_member(cJSON *from, cJSON *to, const char *key)
{
    cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(from, key);
    if (item != NULL) {
        cJSON_AddItemToObject(to, key, item);
    }
}

/* The same object with kind, apiVersion and metadata first. */
static cJSON *ordered(enum res_id res, cJSON *json)
{
    cJSON *root = cJSON_CreateObject();
    const char *sent_version = json_string(json, "apiVersion"); /* events have two groups */
    json_set(root, "kind", res_table[res].kind);
    json_set(root, "apiVersion",
             *sent_version != '\0' && res == RES_EVENTS ? sent_version
                                                        : res_table[res].api_version);
    move_member(json, root, "metadata");
    cJSON_DeleteItemFromObjectCaseSensitive(json, "kind");
    cJSON_DeleteItemFromObjectCaseSensitive(json, "apiVersion");
    while (json->child != NULL) {
        char *key = xstrdup(json->child->string);
        cJSON *item = cJSON_DetachItemViaPointer(json, json->child);
        cJSON_AddItemToObject(root, key, item);
        free(key);
    }
    cJSON_Delete(json);
    return root;
}

static uint32_t pod_gpus(const cJSON *json)
{
    uint32_t sum = 0;
    const cJSON *container = NULL;
    cJSON_ArrayForEach(container, json_at(json, "spec", "containers"))
    {
        sum += json_gpus(json_at(container, "resources", "limits"));
    }
    return sum;
}

static void put_labels(struct strbuf *pool, const cJSON *labels)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, labels)
    {
        const char *value = cJSON_IsString(item) ? item->valuestring : "";
        strbuf_add(pool, item->string, strlen(item->string) + 1);
        strbuf_add(pool, value, strlen(value) + 1);
    }
    strbuf_add(pool, "\0", 2); /* an empty key ends the list, also an empty list */
}

static size_t put_text(struct strbuf *pool, const char *text)
{
    size_t at = pool->len;
    strbuf_add(pool, text, strlen(text) + 1);
    return at;
}

/* Offsets of the texts in the pool, in the order of struct rec. */
struct offsets {
    size_t key, ns, name, uid, phase, node, sched, labels, text, proto;
};

static struct offsets fill_pool(struct strbuf *pool, enum res_id res, const cJSON *json)
{
    const char *name = json_text(json, "metadata", "name");
    const char *ns = res_table[res].namespaced ? json_text(json, "metadata", "namespace") : "";
    struct offsets at = {.key = 0};
    strbuf_printf(pool, "%s%s%s", ns, *ns != '\0' ? "/" : "", name);
    strbuf_add(pool, "", 1);
    at.ns = put_text(pool, ns);
    at.name = put_text(pool, name);
    at.uid = put_text(pool, json_text(json, "metadata", "uid"));
    at.phase = put_text(pool, json_text(json, "status", "phase"));
    at.node = put_text(pool, json_text(json, "spec", "nodeName"));
    at.sched = put_text(pool, json_text(json, "spec", "schedulerName"));
    at.labels = pool->len;
    put_labels(pool, json_at(json, "metadata", "labels"));
    at.text = pool->len;
    char *text = cJSON_PrintBuffered(json, 4096, 0);
    assert(text != NULL);
    (void)put_text(pool, text);
    free(text);
    at.proto = pool->len;
    if (proto_table(res_table[res].kind) != NULL) {
        proto_put(pool, proto_table(res_table[res].kind), json);
    }
    return at;
}

static void locate(struct rec *rec)
{
    static const char marker[] = "\"resourceVersion\":\"";
    const char *meta = strstr(rec->text, "\"metadata\":");
    const char *rv = strstr(rec->text, marker);
    assert(meta != NULL && rv != NULL);
    rec->body_off = (size_t)(meta - rec->text);
    rec->rv_off = (size_t)(rv - rec->text) + sizeof(marker) - 1;
    rec->rv_len = strspn(rec->text + rec->rv_off, "0123456789");
}

static void read_node(struct rec *rec, const cJSON *json)
{
    if (rec->res != RES_NODES) {
        return;
    }
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(json, "metadata");
    rec->marked = json_at(meta, "annotations", "gang.queued/not-ready") != NULL;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, json_at(json, "status", "conditions"))
    {
        if (strcmp(json_string(item, "type"), "Ready") == 0) {
            rec->has_ready = true;
            rec->ready = strcmp(json_string(item, "status"), "True") == 0;
        }
    }
}

struct rec *rec_build(enum res_id res, cJSON *json, uint64_t rv)
{
    char digits[24];
    (void)snprintf(digits, sizeof(digits), "%" PRIu64, rv);
    json = ordered(res, json);
    json_set(cJSON_GetObjectItemCaseSensitive(json, "metadata"), "resourceVersion", digits);
    struct strbuf pool = {0};
    struct offsets at = fill_pool(&pool, res, json);
    struct rec *rec = xmalloc(sizeof(*rec) + pool.len);
    char *base = memcpy(rec + 1, pool.data, pool.len);
    *rec = (struct rec){
        .refs = 1,
        .res = res,
        .rv = rv,
        .gpus =
            res == RES_PODS ? pod_gpus(json) : json_gpus(json_at(json, "status", "allocatable")),
        .deleting = json_at(json, "metadata", "deletionTimestamp") != NULL,
        .held = cJSON_GetArraySize(json_at(json, "metadata", "finalizers")) > 0,
        .gated = cJSON_GetArraySize(json_at(json, "spec", "schedulingGates")) > 0,
        .key = base + at.key,
        .ns = base + at.ns,
        .name = base + at.name,
        .uid = base + at.uid,
        .phase = base + at.phase,
        .node = base + at.node,
        .sched = base + at.sched,
        .labels = base + at.labels,
        .text = base + at.text,
        .len = at.proto - at.text - 1,
        .proto = base + at.proto,
        .proto_len = pool.len - at.proto,
    };
    read_node(rec, json);
    rec->terminal = strcmp(rec->phase, "Succeeded") == 0 || strcmp(rec->phase, "Failed") == 0;
    locate(rec);
    strbuf_fini(&pool);
    cJSON_Delete(json);
    return rec;
}
