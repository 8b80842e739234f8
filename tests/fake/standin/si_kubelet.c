/* SPDX-License-Identifier: Apache-2.0 */
/* si_kubelet.c - simulated kubelets: bound pods run, end and vanish; nodes turn not ready.
 *
 * Timers lie in a binary heap and hold key and uid of their object: what is gone or changed when
 * they fire is left alone.
 */
#include "si_kubelet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "si_audit.h"
#include "si_json.h"

enum timer_kind { TIMER_START, TIMER_REJECT, TIMER_FINISH, TIMER_FAIL, TIMER_REMOVE, TIMER_NODE };

enum { START_US = 20000, STOP_US = 50000, NODE_US = 10000 };

struct timer {
    uint64_t due_us;
    uint64_t seq;
    enum timer_kind kind;
    char *ns;
    char *name;
    char uid[UUID_SIZE];
};

struct node_use {
    char *node;
    uint64_t gpus;
    UT_hash_handle hh;
};

static bool is_before(const struct timer *a, const struct timer *b)
{
    return a->due_us != b->due_us ? a->due_us < b->due_us : a->seq < b->seq;
}

static void timer_add(struct standin *s, enum timer_kind kind, const struct rec *rec,
                      uint64_t delay_us)
{
    if (s->timer_count == s->timer_cap) {
        s->timer_cap = s->timer_cap > 0 ? s->timer_cap * 2 : 64;
        s->timers = xrealloc(s->timers, s->timer_cap * sizeof(*s->timers));
    }
    struct timer timer = {.due_us = clock_mono_us() + delay_us,
                          .seq = s->timer_seq++,
                          .kind = kind,
                          .ns = xstrdup(rec->ns),
                          .name = xstrdup(rec->name)};
    (void)snprintf(timer.uid, sizeof(timer.uid), "%s", rec->uid); /* a longer one never matches */
    size_t at = s->timer_count++;
    while (at > 0 && is_before(&timer, &s->timers[(at - 1) / 2])) {
        s->timers[at] = s->timers[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->timers[at] = timer;
}

static struct timer timer_pop(struct standin *s)
{
    struct timer first = s->timers[0];
    struct timer last = s->timers[--s->timer_count];
    size_t at = 0;
    for (size_t child = 1; child < s->timer_count; child = 2 * at + 1) {
        if (child + 1 < s->timer_count && is_before(&s->timers[child + 1], &s->timers[child])) {
            child++;
        }
        if (!is_before(&s->timers[child], &last)) {
            break;
        }
        s->timers[at] = s->timers[child];
        at = child;
    }
    s->timers[at] = last;
    return first;
}

static struct node_use *use_of(struct standin *s, const char *node)
{
    struct node_use *use = NULL;
    HASH_FIND_STR(s->node_uses, node, use);
    if (use == NULL) {
        use = xcalloc(1, sizeof(*use));
        use->node = xstrdup(node);
        HASH_ADD_KEYPTR(hh, s->node_uses, use->node, strlen(use->node), use);
    }
    return use;
}

uint64_t kubelet_used_gpus(const struct standin *s, const char *node)
{
    struct node_use *use = NULL;
    HASH_FIND_STR(s->node_uses, node, use);
    return use != NULL ? use->gpus : 0;
}

static bool is_counted(const struct rec *rec)
{
    return rec != NULL && rec->admitted && !rec->terminal;
}

static uint64_t annotation_us(const cJSON *json, const char *key, uint64_t other)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(json, "metadata");
    uint64_t value = other;
    (void)duration_parse(json_text(meta, "annotations", key), &value); /* else stays as it is */
    return value;
}

/* A pod has just been bound: is there room for it? */
static void admit(struct standin *s, struct rec *rec, const cJSON *json)
{
    const struct rec *node = store_find(&s->store, RES_NODES, "", rec->node);
    if (node == NULL || rec->terminal) {
        return;
    }
    uint64_t used = kubelet_used_gpus(s, rec->node);
    rec->admitted = used + rec->gpus <= node->gpus;
    if (!rec->admitted) {
        audit_overcommit(s, rec, used, node->gpus);
    }
    if (!s->options.no_kubelet && strcmp(rec->phase, "Pending") == 0) {
        uint64_t delay_us = annotation_us(json, "gang.queued/start-delay", START_US);
        timer_add(s, rec->admitted ? TIMER_START : TIMER_REJECT, rec,
                  rec->admitted ? delay_us : START_US);
    }
}

static void plan_end(struct standin *s, const struct rec *rec, const cJSON *json)
{
    uint64_t fail_us = annotation_us(json, "gang.queued/fail-after", UINT64_MAX);
    uint64_t run_us = annotation_us(json, "gang.queued/run-duration", UINT64_MAX);
    if (fail_us != UINT64_MAX) {
        timer_add(s, TIMER_FAIL, rec, fail_us);
    } else if (run_us != UINT64_MAX) {
        timer_add(s, TIMER_FINISH, rec, run_us);
    }
}

static void observe_pod(struct standin *s, const struct event *event)
{
    struct rec *rec = event->rec;
    const struct rec *old = event->old;
    bool is_deleted = event->type == EVENT_DELETED;
    bool is_bound = *rec->node != '\0';
    bool was_bound = old != NULL && *old->node != '\0';
    bool was_counted = is_counted(old);
    rec->admitted = old != NULL && old->admitted;
    bool starts = strcmp(rec->phase, "Running") == 0 &&
                  (old == NULL || strcmp(old->phase, "Running") != 0) && !s->options.no_kubelet;
    bool stops = rec->deleting && (old == NULL || !old->deleting) && !s->options.no_kubelet;
    if (!is_deleted && is_bound && (!was_bound || starts || stops)) {
        cJSON *json = rec_parse(rec);
        if (!was_bound) {
            admit(s, rec, json);
        }
        if (starts) {
            plan_end(s, rec, json);
        }
        if (stops) {
            timer_add(s, TIMER_REMOVE, rec, annotation_us(json, "gang.queued/stop-delay", STOP_US));
        }
        cJSON_Delete(json);
    }
    bool counts = !is_deleted && is_counted(rec);
    if (was_counted != counts) {
        struct node_use *use = use_of(s, is_bound ? rec->node : old->node);
        use->gpus = counts ? use->gpus + rec->gpus : use->gpus - old->gpus;
    }
}

static void observe_node(struct standin *s, const struct event *event)
{
    const struct rec *rec = event->rec;
    if (event->type == EVENT_DELETED || s->options.no_kubelet) {
        return;
    }
    bool was_marked = event->old != NULL && event->old->marked;
    bool turns_off = rec->marked && rec->ready;
    bool turns_on = !rec->marked && !rec->ready && (was_marked || !rec->has_ready);
    if (turns_off || turns_on) {
        timer_add(s, TIMER_NODE, rec, NODE_US);
    }
}

void kubelet_observe(struct standin *s, const struct event *event)
{
    if (event->rec->res == RES_PODS) {
        observe_pod(s, event);
    } else if (event->rec->res == RES_NODES) {
        observe_node(s, event);
    }
}

void condition_set(cJSON *json, const char *type, const char *status, const char *reason,
                   const char *message)
{
    char now[TIME_SIZE];
    time_print(now, clock_wall_us());
    cJSON *conditions = json_array(json_object(json, "status"), "conditions");
    cJSON *found = NULL;
    cJSON *item = NULL;
    cJSON_ArrayForEach(item, conditions)
    {
        found = strcmp(json_string(item, "type"), type) == 0 ? item : found;
    }
    if (found == NULL) {
        found = cJSON_CreateObject();
        cJSON_AddItemToArray(conditions, found);
        json_set(found, "type", type);
    }
    if (strcmp(json_string(found, "status"), status) != 0) {
        json_set(found, "status", status);
        if (cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "spec"),
                                             "containers") != NULL) {
            json_set_item(found, "lastProbeTime", cJSON_CreateNull());
        }
        json_set(found, "lastTransitionTime", now);
    }
    cJSON_DeleteItemFromObjectCaseSensitive(found, "reason");
    cJSON_DeleteItemFromObjectCaseSensitive(found, "message");
    if (reason != NULL) {
        json_set(found, "reason", reason);
    }
    if (message != NULL) {
        json_set(found, "message", message);
    }
}

/* Container statuses with one state; takes nothing, state is copied. */
static void set_containers(cJSON *json, bool is_ready, const char *state_name, const cJSON *state)
{
    cJSON *list = cJSON_CreateArray();
    const cJSON *container = NULL;
    cJSON_ArrayForEach(container, json_at(json, "spec", "containers"))
    {
        cJSON *status = cJSON_CreateObject();
        json_set(status, "name", json_string(container, "name"));
        cJSON_AddItemToObject(json_object(status, "state"), state_name,
                              cJSON_Duplicate(state, true));
        cJSON_AddItemToObject(status, "lastState", cJSON_CreateObject());
        cJSON_AddBoolToObject(status, "ready", is_ready);
        json_set_number(status, "restartCount", 0);
        json_set(status, "image", json_string(container, "image"));
        json_set(status, "imageID", "");
        cJSON_AddBoolToObject(status, "started", is_ready);
        cJSON_AddItemToArray(list, status);
    }
    json_set_item(json_object(json, "status"), "containerStatuses", list);
}

static void start_pod(struct standin *s, const struct rec *rec)
{
    cJSON *json = rec_parse(rec);
    cJSON *status = json_object(json, "status");
    char now[TIME_SIZE];
    char ip[32];
    time_print(now, clock_wall_us());
    s->pod_ips++;
    (void)snprintf(ip, sizeof(ip), "10.%u.%u.%u", s->pod_ips >> 16 & 0xff, s->pod_ips >> 8 & 0xff,
                   s->pod_ips & 0xff);
    json_set(status, "phase", "Running");
    condition_set(json, "Initialized", "True", NULL, NULL);
    condition_set(json, "Ready", "True", NULL, NULL);
    condition_set(json, "ContainersReady", "True", NULL, NULL);
    json_set(status, "hostIP", "192.0.2.1");
    json_set(status, "podIP", ip);
    cJSON *ips = cJSON_CreateArray();
    cJSON *entry = cJSON_CreateObject();
    json_set(entry, "ip", ip);
    cJSON_AddItemToArray(ips, entry);
    json_set_item(status, "podIPs", ips);
    json_set(status, "startTime", now);
    cJSON *state = cJSON_CreateObject();
    json_set(state, "startedAt", now);
    set_containers(json, true, "running", state);
    cJSON_Delete(state);
    (void)store_put(&s->store, RES_PODS, json); /* the version is not needed */
}

void kubelet_end_pod(struct standin *s, const struct rec *rec, int exit_code)
{
    cJSON *json = rec_parse(rec);
    cJSON *status = json_object(json, "status");
    const char *reason = exit_code == 0 ? "PodCompleted" : "PodFailed";
    char now[TIME_SIZE];
    time_print(now, clock_wall_us());
    const char *started = json_string(status, "startTime");
    cJSON *state = cJSON_CreateObject();
    json_set_number(state, "exitCode", exit_code);
    json_set(state, "reason", exit_code == 0 ? "Completed" : "Error");
    json_set(state, "startedAt", *started != '\0' ? started : now);
    json_set(state, "finishedAt", now);
    json_set(status, "phase", exit_code == 0 ? "Succeeded" : "Failed");
    condition_set(json, "Ready", "False", reason, NULL);
    condition_set(json, "ContainersReady", "False", reason, NULL);
    set_containers(json, false, "terminated", state);
    cJSON_Delete(state);
    (void)store_put(&s->store, RES_PODS, json); /* the version is not needed */
}

static void reject_pod(struct standin *s, const struct rec *rec)
{
    const struct rec *node = store_find(&s->store, RES_NODES, "", rec->node);
    struct strbuf text = {0};
    strbuf_printf(&text,
                  "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, "
                  "requested: %u, used: %" PRIu64 ", capacity: %u",
                  rec->gpus, kubelet_used_gpus(s, rec->node), node != NULL ? node->gpus : 0);
    cJSON *json = rec_parse(rec);
    cJSON *status = json_object(json, "status");
    json_set(status, "phase", "Failed");
    json_set(status, "reason", "OutOfnvidia.com/gpu");
    json_set(status, "message", text.data);
    strbuf_fini(&text);
    (void)store_put(&s->store, RES_PODS, json); /* the version is not needed */
}

static void turn_node(struct standin *s, const struct rec *rec)
{
    if (rec->marked != rec->ready && rec->has_ready) {
        return;
    }
    cJSON *json = rec_parse(rec);
    condition_set(json, "Ready", rec->marked ? "False" : "True",
                  rec->marked ? "KubeletNotReady" : "KubeletReady",
                  rec->marked ? "set by annotation" : "kubelet is posting ready status");
    (void)store_put(&s->store, RES_NODES, json); /* the version is not needed */
}

static void fire(struct standin *s, const struct timer *timer)
{
    bool is_node = timer->kind == TIMER_NODE;
    struct rec *rec = store_find(&s->store, is_node ? RES_NODES : RES_PODS, timer->ns, timer->name);
    if (rec == NULL || strcmp(rec->uid, timer->uid) != 0) {
        return;
    }
    bool is_pending = strcmp(rec->phase, "Pending") == 0 && !rec->deleting;
    bool is_running = strcmp(rec->phase, "Running") == 0 && !rec->deleting;
    if (is_node) {
        turn_node(s, rec);
    } else if (timer->kind == TIMER_START && is_pending) {
        start_pod(s, rec);
    } else if (timer->kind == TIMER_REJECT && is_pending) {
        reject_pod(s, rec);
    } else if (timer->kind == TIMER_FINISH && is_running) {
        kubelet_end_pod(s, rec, 0);
    } else if (timer->kind == TIMER_FAIL && is_running) {
        kubelet_end_pod(s, rec, 1);
    } else if (timer->kind == TIMER_REMOVE && rec->deleting && !rec->held) {
        store_remove(&s->store, rec);
    }
}

uint64_t kubelet_run(struct standin *s, uint64_t now_us)
{
    while (s->timer_count > 0 && s->timers[0].due_us <= now_us) {
        struct timer timer = timer_pop(s);
        fire(s, &timer);
        free(timer.ns);
        free(timer.name);
    }
    return s->timer_count > 0 ? s->timers[0].due_us : UINT64_MAX;
}

void kubelet_fini(struct standin *s)
{
    while (s->timer_count > 0) {
        struct timer timer = timer_pop(s);
        free(timer.ns);
        free(timer.name);
    }
    free(s->timers);
    struct node_use *use = NULL;
    struct node_use *next = NULL;
    HASH_ITER(hh, s->node_uses, use, next)
    {
        HASH_DEL(s->node_uses, use);
        free(use->node);
        free(use);
    }
}
