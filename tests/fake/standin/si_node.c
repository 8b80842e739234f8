/* SPDX-License-Identifier: Apache-2.0 */
/* si_node.c - the objects that are there at the start: invented nodes, node files, namespaces, a
 * saved state.
 *
 * The state file is JSON: the resourceVersion and the objects of every kind as they are served.
 */
#include "si_node.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "si_json.h"
#include "si_object.h"

static const char system_uid[] = "5f0c7127-9d1e-4c6b-8a55-3f6b75626573";

static void seed_namespace(struct standin *s, const char *name, const char *uid)
{
    if (*name == '\0' || store_find(&s->store, RES_NAMESPACES, "", name) != NULL) {
        return;
    }
    cJSON *json = cJSON_CreateObject();
    cJSON *meta = json_object(json, "metadata");
    json_set(meta, "name", name);
    if (uid != NULL) {
        json_set(meta, "uid", uid);
    }
    (void)object_put_new(s, RES_NAMESPACES, json); /* the version is not needed */
}

static void seed_priority(struct standin *s, const char *name, double value, const char *text)
{
    if (store_find(&s->store, RES_PRIORITIES, "", name) != NULL) {
        return;
    }
    cJSON *json = cJSON_CreateObject();
    json_set(json_object(json, "metadata"), "name", name);
    json_set_number(json, "value", value);
    json_set(json, "description", text);
    (void)object_put_new(s, RES_PRIORITIES, json); /* the version is not needed */
}

void seed_base(struct standin *s)
{
    seed_namespace(s, "default", NULL);
    seed_namespace(s, "kube-system", system_uid);
    char *list = xstrdup(s->options.namespaces != NULL ? s->options.namespaces : "");
    char *save = NULL;
    for (char *name = strtok_r(list, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
        seed_namespace(s, name, NULL);
    }
    free(list);
    seed_priority(s, "system-cluster-critical", 2000000000,
                  "Used for system critical pods that must run in the cluster, but can be moved to "
                  "another node if necessary.");
    seed_priority(s, "system-node-critical", 2000001000,
                  "Used for system critical pods that must not be moved from their current node.");
}

static void add_resources(cJSON *status, const char *key, const char *gpus)
{
    cJSON *list = json_object(status, key);
    json_set(list, "cpu", "192");
    json_set(list, "ephemeral-storage", "1709878914662");
    json_set(list, "memory", "2113404456Ki");
    json_set(list, "nvidia.com/gpu", gpus);
    json_set(list, "pods", "110");
}

static void add_condition(cJSON *status, const char *type, const char *value, const char *reason)
{
    char now[TIME_SIZE];
    time_print(now, clock_wall_us());
    cJSON *item = cJSON_CreateObject();
    json_set(item, "type", type);
    json_set(item, "status", value);
    json_set(item, "lastHeartbeatTime", now);
    json_set(item, "lastTransitionTime", now);
    json_set(item, "reason", reason);
    json_set(item, "message", "kubelet is well");
    cJSON_AddItemToArray(json_array(status, "conditions"), item);
}

static void add_address(cJSON *status, const char *type, const char *address)
{
    cJSON *item = cJSON_CreateObject();
    json_set(item, "type", type);
    json_set(item, "address", address);
    cJSON_AddItemToArray(json_array(status, "addresses"), item);
}

static void fill_status(cJSON *json, const char *name, const char *gpus, uint64_t index)
{
    cJSON *status = json_object(json, "status");
    char text[64];
    char uid[UUID_SIZE];
    add_resources(status, "capacity", gpus);
    add_resources(status, "allocatable", gpus);
    add_condition(status, "MemoryPressure", "False", "KubeletHasSufficientMemory");
    add_condition(status, "DiskPressure", "False", "KubeletHasNoDiskPressure");
    add_condition(status, "PIDPressure", "False", "KubeletHasSufficientPID");
    add_condition(status, "Ready", "True", "KubeletReady");
    (void)snprintf(text, sizeof(text), "10.20.%" PRIu64 ".%" PRIu64, index / 250, index % 250 + 1);
    add_address(status, "InternalIP", text);
    add_address(status, "Hostname", name);
    cJSON *info = json_object(status, "nodeInfo");
    uuid_make(uid);
    json_set(info, "machineID", name);
    json_set(info, "systemUUID", name);
    json_set(info, "bootID", uid);
    json_set(info, "kernelVersion", "6.1.0-standin");
    json_set(info, "osImage", "Debian GNU/Linux 12 (bookworm)");
    json_set(info, "containerRuntimeVersion", "standin://1");
    json_set(info, "kubeletVersion", "v1.36.3");
    json_set(info, "kubeProxyVersion", "");
    json_set(info, "operatingSystem", "linux");
    json_set(info, "architecture", "amd64");
}

static void seed_node(struct standin *s, uint64_t index, unsigned digits)
{
    const struct options *o = &s->options;
    uint64_t racks = o->blocks * o->racks_per_block;
    uint64_t rack = index * racks / o->make_nodes;
    char name[64];
    char block[40];
    char rack_name[80];
    char gpus[24];
    (void)snprintf(name, sizeof(name), "node-%0*" PRIu64, digits < 20 ? (int)digits : 20, index);
    (void)snprintf(block, sizeof(block), "block-%" PRIu64, rack / o->racks_per_block);
    (void)snprintf(rack_name, sizeof(rack_name), "%s-rack-%" PRIu64, block,
                   rack % o->racks_per_block);
    (void)snprintf(gpus, sizeof(gpus), "%" PRIu64, o->node_gpus);
    cJSON *json = cJSON_CreateObject();
    cJSON *meta = json_object(json, "metadata");
    json_set(meta, "name", name);
    cJSON *labels = json_object(meta, "labels");
    json_set(labels, "kubernetes.io/arch", "amd64");
    json_set(labels, "kubernetes.io/hostname", name);
    json_set(labels, "kubernetes.io/os", "linux");
    json_set(labels, "topology.kubernetes.io/zone", "zone-a");
    json_set(labels, "gang.queued/block", block);
    json_set(labels, "gang.queued/rack", rack_name);
    json_set(labels, "nvidia.com/gpu.count", gpus);
    json_set(labels, "nvidia.com/gpu.memory", "81559");
    json_set(labels, "nvidia.com/gpu.present", "true");
    json_set(labels, "nvidia.com/gpu.product", o->gpu_model);
    fill_status(json, name, gpus, index);
    (void)object_put_new(s, RES_NODES, json); /* the version is not needed */
}

void seed_nodes(struct standin *s)
{
    unsigned digits = 3;
    for (uint64_t limit = 1000; s->options.make_nodes > limit; limit *= 10) {
        digits++;
    }
    for (uint64_t i = 0; i < s->options.make_nodes; i++) {
        seed_node(s, i, digits);
    }
}

static void seed_node_json(struct standin *s, const cJSON *item)
{
    const char *name = json_text(item, "metadata", "name");
    if (*name != '\0' && store_find(&s->store, RES_NODES, "", name) == NULL) {
        (void)object_put_new(s, RES_NODES, cJSON_Duplicate(item, true)); /* not needed */
    }
}

int seed_node_file(struct standin *s, const char *path)
{
    size_t len = 0;
    char *text = file_read(path, &len);
    if (text == NULL) {
        (void)fprintf(stderr, "standin: %s: %s\n", path, strerror(errno));
        return -1;
    }
    cJSON *json = cJSON_ParseWithLength(text, len);
    free(text);
    if (json == NULL) {
        (void)fprintf(stderr, "standin: %s: is no JSON\n", path);
        return -1;
    }
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(json, "items");
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, items)
    {
        seed_node_json(s, item);
    }
    if (items == NULL) {
        seed_node_json(s, json);
    }
    cJSON_Delete(json);
    return 0;
}

static int seed_object_line(struct standin *s, const char *line, size_t len)
{
    cJSON *json = cJSON_ParseWithLength(line, len);
    for (int r = 0; r < RES_COUNT; r++) {
        if (strcmp(res_table[r].kind, json_string(json, "kind")) == 0 &&
            *json_text(json, "metadata", "name") != '\0') {
            (void)store_put(&s->store, (enum res_id)r, json); /* the version is not needed */
            return 0;
        }
    }
    cJSON_Delete(json);
    return -1;
}

int seed_object_file(struct standin *s, const char *path)
{
    FILE *in = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    size_t number = 0;
    ssize_t len = in != NULL ? getline(&line, &room, in) : -1;
    int result = in != NULL ? 0 : -1;
    FILE *audit = s->audit;
    s->audit = NULL; /* what was there before is no news */
    for (; len > 0 && result == 0; len = getline(&line, &room, in)) {
        number++;
        result = seed_object_line(s, line, (size_t)len);
    }
    s->audit = audit;
    if (result != 0) {
        (void)fprintf(stderr, "standin: %s: line %zu: %s\n", path, number,
                      in != NULL ? "is no object of a kind that is served" : strerror(errno));
    }
    free(line);
    if (in != NULL) {
        (void)fclose(in); /* only read */
    }
    store_forget(&s->store);
    return result;
}

int state_save(const struct standin *s, const char *path)
{
    struct strbuf b = {0};
    strbuf_printf(&b, "{\"rv\":\"%" PRIu64 "\",\"podIps\":%u,\"objects\":{", s->store.rv,
                  s->pod_ips);
    for (size_t r = 0; r < RES_COUNT; r++) {
        const struct table *table = &s->store.tables[r];
        strbuf_printf(&b, "%s\n\"%s\":[", r > 0 ? "," : "", res_table[r].plural);
        for (size_t i = 0; i < table->count; i++) {
            strbuf_puts(&b, i > 0 ? ",\n" : "\n");
            strbuf_add(&b, table->items[i]->text, table->items[i]->len);
        }
        strbuf_puts(&b, "]");
    }
    strbuf_puts(&b, "}}\n");
    int result = file_write(path, b.data, b.len);
    strbuf_fini(&b);
    return result;
}

static void load_objects(struct standin *s, const cJSON *json)
{
    for (int r = 0; r < RES_COUNT; r++) {
        cJSON *list = json_at(json, "objects", res_table[r].plural);
        while (list != NULL && list->child != NULL) {
            cJSON *item = cJSON_DetachItemViaPointer(list, list->child);
            uint64_t rv = 0;
            if (number_parse(json_text(item, "metadata", "resourceVersion"), &rv) == 0 && rv > 0) {
                s->store.rv = rv - 1; /* the put below gives it the same one again */
                (void)store_put(&s->store, (enum res_id)r, item); /* the version is not needed */
            } else {
                cJSON_Delete(item);
            }
        }
    }
}

int state_load(struct standin *s, const char *path)
{
    size_t len = 0;
    char *text = file_read(path, &len);
    if (text == NULL && errno == ENOENT) {
        return 1;
    }
    cJSON *json = text != NULL ? cJSON_ParseWithLength(text, len) : NULL;
    free(text);
    uint64_t rv = 0;
    if (json == NULL || number_parse(json_string(json, "rv"), &rv) != 0) {
        (void)fprintf(stderr, "standin: %s: cannot be read as a saved state\n", path);
        cJSON_Delete(json);
        return -1;
    }
    FILE *audit = s->audit;
    s->audit = NULL; /* what was there before is no news */
    load_objects(s, json);
    s->audit = audit;
    s->store.rv = rv;
    s->pod_ips = (uint32_t)json_number(json, "podIps", 0);
    store_forget(&s->store);
    cJSON_Delete(json);
    return 0;
}
