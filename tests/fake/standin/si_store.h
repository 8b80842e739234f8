/* SPDX-License-Identifier: Apache-2.0 */
/* si_store.h - the objects of the stand-in API server, their history and its snapshots.
 *
 * Keeps every object as immutable versions (struct rec) with its JSON text; leaves HTTP, rules of
 * single kinds and watching to others. Always holds: resourceVersions grow by one a write, over
 * all kinds; tables are sorted by key; a version lives as long as somebody holds a reference.
 */
#ifndef QUEUED_STANDIN_STORE_H
#define QUEUED_STANDIN_STORE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "si_util.h"

enum res_id {
    RES_NODES,
    RES_PODS,
    RES_SERVICES,
    RES_NAMESPACES,
    RES_CONFIGMAPS,
    RES_EVENTS,
    RES_QUOTAS,
    RES_PRIORITIES,
    RES_LEASES,
    RES_BUDGETS,
    RES_COUNT
};

enum event_type { EVENT_ADDED, EVENT_MODIFIED, EVENT_DELETED };

enum { STORE_SNAPSHOTS = 8 };

/* One kind of object. */
struct res {
    const char *plural;
    const char *kind;
    const char *group; /* "" for core */
    const char *api_version;
    bool namespaced;
};

/* One version of one object; immutable but for refs. All texts live in the same allocation. */
struct rec {
    uint32_t refs;
    enum res_id res;
    uint64_t rv;
    uint32_t gpus;   /* pods: sum of nvidia.com/gpu limits; nodes: allocatable */
    bool deleting;   /* deletionTimestamp is set */
    bool terminal;   /* phase Succeeded or Failed */
    bool admitted;   /* pods: a simulated kubelet took it, so its GPUs are counted */
    bool gated;      /* pods: schedulingGates not empty */
    bool held;       /* finalizers not empty */
    bool marked;     /* nodes: annotation gang.queued/not-ready is there */
    bool has_ready;  /* nodes: there is a condition Ready */
    bool ready;      /* nodes: and it is True */
    const char *key; /* "namespace/name", or "name" */
    const char *ns;  /* "" for cluster kinds */
    const char *name;
    const char *uid;
    const char *phase;  /* status.phase or "" */
    const char *node;   /* spec.nodeName or "" */
    const char *sched;  /* spec.schedulerName or "" */
    const char *labels; /* k\0v\0 ... \0 */
    const char *text;   /* the object as JSON */
    size_t len;
    size_t body_off; /* text from here on is the object without kind and apiVersion */
    size_t rv_off;   /* where the digits of metadata.resourceVersion begin */
    size_t rv_len;
    const char *proto; /* nodes and pods: the object as protobuf, without its envelope */
    size_t proto_len;
};

/* One change. rec is the new version (of a deletion: the last content with the new rv). */
struct event {
    uint64_t rv;
    enum event_type type;
    struct rec *rec;
    struct rec *old; /* NULL when ADDED */
};

/* A whole table at one resourceVersion. */
struct snapshot {
    uint32_t refs;
    enum res_id res;
    uint64_t rv;
    size_t count;
    struct rec **items;
};

struct table {
    struct rec **items;
    size_t count;
    size_t cap;
    uint64_t lost_rv; /* newest change of this table that the ring no longer holds */
};

struct store {
    uint64_t rv;
    uint64_t compact_rv; /* older resourceVersions are refused */
    struct table tables[RES_COUNT];
    struct event *ring;
    size_t ring_cap;
    uint64_t ring_first; /* sequence number of the oldest event held */
    uint64_t ring_next;  /* sequence number of the next event */
    struct snapshot *snapshots[STORE_SNAPSHOTS];
    size_t snapshot_next;
    void (*on_change)(void *ctx, const struct event *event);
    void *ctx;
};

extern const struct res res_table[RES_COUNT];

/* Make s empty, with room for history events. */
void store_init(struct store *s, size_t history);
/* Free everything. */
void store_fini(struct store *s);

/* The current version, borrowed until the next write; NULL when there is none. */
struct rec *store_find(const struct store *s, enum res_id res, const char *ns, const char *name);

/* Store json (takes it) as the new version of its object and tell on_change. metadata must hold
 * name and uid. Returns the version, borrowed. */
struct rec *store_put(struct store *s, enum res_id res, cJSON *json);
/* Remove the object; its last content with a new rv becomes the DELETED event. */
void store_remove(struct store *s, struct rec *rec);

/* The table at rv (<= s->rv); NULL when its history is gone. The caller calls snapshot_unref. */
struct snapshot *store_snapshot(struct store *s, enum res_id res, uint64_t rv);
void snapshot_unref(struct snapshot *snapshot);
/* Forget the past: everything older than now is refused from here on. */
void store_compact(struct store *s);
/* The same, and drop the history itself: for a store just loaded, whose order of events is none. */
void store_forget(struct store *s);

void rec_ref(struct rec *rec);
void rec_unref(struct rec *rec);
/* The object as cJSON; the caller deletes it. */
cJSON *rec_parse(const struct rec *rec);
/* Value of a label, NULL when not there. */
const char *rec_label(const struct rec *rec, const char *key);
/* The event of the ring by its sequence number, which must be held. */
const struct event *store_event(const struct store *s, uint64_t seq);
/* Sequence number of the first event held that is newer than rv. */
uint64_t store_seek(const struct store *s, uint64_t rv);

#endif
