/* SPDX-License-Identifier: Apache-2.0 */
/* si_store.c - tables, history ring and snapshots of the stand-in API server.
 *
 * Versions are built in si_rec.c. A snapshot of the past is made by walking the ring backwards
 * and putting the old versions in the place of the new ones.
 */
#include "si_store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "si_rec.h"

const struct res res_table[RES_COUNT] = {
    [RES_NODES] = {"nodes", "Node", "", "v1", false},
    [RES_PODS] = {"pods", "Pod", "", "v1", true},
    [RES_SERVICES] = {"services", "Service", "", "v1", true},
    [RES_NAMESPACES] = {"namespaces", "Namespace", "", "v1", false},
    [RES_CONFIGMAPS] = {"configmaps", "ConfigMap", "", "v1", true},
    [RES_EVENTS] = {"events", "Event", "", "v1", true},
    [RES_QUOTAS] = {"resourcequotas", "ResourceQuota", "", "v1", true},
    [RES_PRIORITIES] = {"priorityclasses", "PriorityClass", "scheduling.k8s.io",
                        "scheduling.k8s.io/v1", false},
    [RES_LEASES] = {"leases", "Lease", "coordination.k8s.io", "coordination.k8s.io/v1", true},
    [RES_BUDGETS] = {"poddisruptionbudgets", "PodDisruptionBudget", "policy", "policy/v1", true},
};

void store_init(struct store *s, size_t history)
{
    *s = (struct store){.rv = 1, .ring_cap = history};
    s->ring = xcalloc(history, sizeof(*s->ring));
}

static void event_drop(struct event *event)
{
    rec_unref(event->rec);
    rec_unref(event->old);
    *event = (struct event){0};
}

static void snapshots_drop(struct store *s)
{
    for (size_t i = 0; i < STORE_SNAPSHOTS; i++) {
        snapshot_unref(s->snapshots[i]);
        s->snapshots[i] = NULL;
    }
}

void store_fini(struct store *s)
{
    snapshots_drop(s);
    for (uint64_t seq = s->ring_first; seq < s->ring_next; seq++) {
        event_drop(&s->ring[seq % s->ring_cap]);
    }
    free(s->ring);
    for (size_t r = 0; r < RES_COUNT; r++) {
        for (size_t i = 0; i < s->tables[r].count; i++) {
            rec_unref(s->tables[r].items[i]);
        }
        free(s->tables[r].items);
    }
    *s = (struct store){0};
}

static size_t lower_bound(struct rec *const *items, size_t count, const char *key)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(items[middle]->key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct rec *store_find(const struct store *s, enum res_id res, const char *ns, const char *name)
{
    char key[1024];
    int len = snprintf(key, sizeof(key), "%s%s%s", ns, *ns != '\0' ? "/" : "", name);
    if (len < 0 || (size_t)len >= sizeof(key)) {
        return NULL;
    }
    const struct table *t = &s->tables[res];
    size_t at = lower_bound(t->items, t->count, key);
    return at < t->count && strcmp(t->items[at]->key, key) == 0 ? t->items[at] : NULL;
}

static void table_insert(struct table *t, size_t at, struct rec *rec)
{
    if (t->count == t->cap) {
        t->cap = t->cap > 0 ? t->cap * 2 : 64;
        t->items = xrealloc(t->items, t->cap * sizeof(struct rec *));
    }
    memmove(&t->items[at + 1], &t->items[at], (t->count - at) * sizeof(struct rec *));
    t->items[at] = rec;
    t->count++;
}

/* Takes the references of event. */
static void ring_push(struct store *s, struct event event)
{
    if (s->ring_next - s->ring_first == s->ring_cap) {
        struct event *oldest = &s->ring[s->ring_first % s->ring_cap];
        s->tables[oldest->rec->res].lost_rv = oldest->rv;
        event_drop(oldest);
        s->ring_first++;
    }
    s->ring[s->ring_next % s->ring_cap] = event;
    s->ring_next++;
    if (s->on_change != NULL) {
        s->on_change(s->ctx, &event);
    }
}

struct rec *store_put(struct store *s, enum res_id res, cJSON *json)
{
    s->rv++;
    struct rec *rec = rec_build(res, json, s->rv);
    struct table *t = &s->tables[res];
    size_t at = lower_bound(t->items, t->count, rec->key);
    struct event event = {.rv = s->rv, .type = EVENT_ADDED, .rec = rec};
    rec_ref(rec);
    if (at < t->count && strcmp(t->items[at]->key, rec->key) == 0) {
        event.type = EVENT_MODIFIED;
        event.old = t->items[at]; /* the table's reference goes to the ring */
        t->items[at] = rec;
    } else {
        table_insert(t, at, rec);
    }
    ring_push(s, event);
    return rec;
}

void store_remove(struct store *s, struct rec *rec)
{
    struct table *t = &s->tables[rec->res];
    size_t at = lower_bound(t->items, t->count, rec->key);
    assert(at < t->count && t->items[at] == rec);
    s->rv++;
    struct rec *last = rec_build(rec->res, rec_parse(rec), s->rv);
    t->count--;
    memmove(&t->items[at], &t->items[at + 1], (t->count - at) * sizeof(struct rec *));
    ring_push(s, (struct event){.rv = s->rv, .type = EVENT_DELETED, .rec = last, .old = rec});
}

const struct event *store_event(const struct store *s, uint64_t seq)
{
    assert(seq >= s->ring_first && seq < s->ring_next);
    return &s->ring[seq % s->ring_cap];
}

uint64_t store_seek(const struct store *s, uint64_t rv)
{
    uint64_t low = s->ring_first;
    uint64_t high = s->ring_next;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (store_event(s, middle)->rv <= rv) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void snapshot_unref(struct snapshot *snapshot)
{
    if (snapshot == NULL || --snapshot->refs > 0) {
        return;
    }
    for (size_t i = 0; i < snapshot->count; i++) {
        rec_unref(snapshot->items[i]);
    }
    free(snapshot->items);
    free(snapshot);
}

/* Undo one event in a copy of a table that holds no references of its own. */
static void undo(struct table *t, const struct event *event)
{
    size_t at = lower_bound(t->items, t->count, event->rec->key);
    switch (event->type) {
    case EVENT_ADDED:
        t->count--;
        memmove(&t->items[at], &t->items[at + 1], (t->count - at) * sizeof(struct rec *));
        break;
    case EVENT_MODIFIED:
        t->items[at] = event->old;
        break;
    case EVENT_DELETED:
        table_insert(t, at, event->old);
        break;
    }
}

static struct snapshot *snapshot_make(struct store *s, enum res_id res, uint64_t rv)
{
    const struct table *now = &s->tables[res];
    struct table t = {.cap = now->count + 1, .count = now->count};
    t.items = xmalloc(t.cap * sizeof(struct rec *));
    if (now->count > 0) {
        memcpy(t.items, now->items, now->count * sizeof(struct rec *));
    }
    for (uint64_t seq = s->ring_next; seq > s->ring_first; seq--) {
        const struct event *event = store_event(s, seq - 1);
        if (event->rv <= rv) {
            break;
        }
        if (event->rec->res == res) {
            undo(&t, event);
        }
    }
    struct snapshot *snapshot = xcalloc(1, sizeof(*snapshot));
    *snapshot =
        (struct snapshot){.refs = 1, .res = res, .rv = rv, .count = t.count, .items = t.items};
    for (size_t i = 0; i < t.count; i++) {
        rec_ref(t.items[i]);
    }
    return snapshot;
}

struct snapshot *store_snapshot(struct store *s, enum res_id res, uint64_t rv)
{
    for (size_t i = 0; i < STORE_SNAPSHOTS; i++) {
        struct snapshot *kept = s->snapshots[i];
        if (kept != NULL && kept->res == res && kept->rv == rv) {
            kept->refs++;
            return kept;
        }
    }
    if (rv < s->compact_rv || rv < s->tables[res].lost_rv) {
        return NULL;
    }
    struct snapshot *made = snapshot_make(s, res, rv);
    snapshot_unref(s->snapshots[s->snapshot_next]);
    s->snapshots[s->snapshot_next] = made;
    s->snapshot_next = (s->snapshot_next + 1) % STORE_SNAPSHOTS;
    made->refs++;
    return made;
}

void store_compact(struct store *s)
{
    s->compact_rv = s->rv;
    snapshots_drop(s);
}

void store_forget(struct store *s)
{
    while (s->ring_first < s->ring_next) {
        event_drop(&s->ring[s->ring_first % s->ring_cap]);
        s->ring_first++;
    }
    store_compact(s);
}
