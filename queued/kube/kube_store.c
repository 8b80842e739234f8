/* SPDX-License-Identifier: Apache-2.0 */
/* kube_store.c - entries by key, the queue of facts and the queue of goodbyes.
 *
 * A list is the truth: its objects count even when their version is lower (a restored etcd).
 * An event of a watch counts only when it is newer than what is there for the same uid.
 */
#include "kube/kube_store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/hash.h"
#include <utlist.h>

#include "kube/kube_node.h"
#include "kube/kube_pod.h"
#include "kube/kube_proto.h"
#include "util/log.h"
#include "util/mem.h"

/* An object of ordinary size is decoded without asking for memory. */
enum { ODD_TOLD_MAX = 10, SCRATCH_BYTES = 32 * 1024, BURIED_MAX = 64 };

struct entry {
    UT_hash_handle hh;
    struct entry *prev, *next; /* in the queue of facts, while there is one */
    struct event *fact;        /* not told yet; NULL: all is told */
    uint64_t list;             /* the last list that had it */
    struct job_id job;         /* as in store_gone */
    uint32_t attempt;
    char rv[RV_MAX + 1];
    char uid[UID_MAX + 1];
    char key[]; /* "namespace/name", "/name" of nodes */
};

struct goodbye {
    struct goodbye *prev, *next;
    struct event *last; /* how it ended, told first; NULL: nothing is to be told */
    struct store_gone gone;
};

struct kube_store {
    const struct store_kind *kind;
    struct store_latest latest;
    struct entry *entries; /* by key */
    struct entry *facts;
    size_t n_facts;
    struct goodbye *goodbyes;
    uint64_t list;                        /* number of the list that comes now or came last */
    struct arena scratch;                 /* of the object that is being decoded */
    char buried[BURIED_MAX][UID_MAX + 1]; /* the last uids that a watch deleted, a ring */
    unsigned n_buried;
    unsigned n_odd; /* objects that cannot be used, since that list began */
    void *told_ctx;
    void (*told)(void *ctx, const struct store_gone *gone);
};

int kube_rv_compare(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);

    return la != lb ? (la < lb ? -1 : 1) : strcmp(a, b);
}

static void fact_destroy(struct event *fact)
{
    if (fact)
        event_fini(fact);
    free(fact);
}

/* Out of the queue: the caller has it. */
static struct event *take_fact(struct kube_store *s, struct entry *e)
{
    struct event *fact = e->fact;

    if (!fact)
        return NULL;
    DL_DELETE(s->facts, e);
    s->n_facts--;
    e->fact = NULL;
    return fact;
}

static bool is_final(const struct kube_store *s, const struct event *fact)
{
    return fact && s->kind->is_final && s->kind->is_final(fact);
}

static void say_goodbye(struct kube_store *s, struct entry *e)
{
    struct goodbye *g = xcalloc(1, sizeof(*g));
    const char *slash = strchr(e->key, '/');
    struct event *fact = take_fact(s, e);

    if (is_final(s, fact))
        g->last = fact;
    else
        fact_destroy(fact);
    memcpy(g->gone.ns, e->key, (size_t)(slash - e->key)); /* identify() checked the lengths */
    memcpy(g->gone.name, slash + 1, strlen(slash + 1));
    memcpy(g->gone.uid, e->uid, sizeof(e->uid));
    g->gone.job = e->job;
    g->gone.attempt = e->attempt;
    DL_APPEND(s->goodbyes, g);
    if (s->told)
        s->told(s->told_ctx, &g->gone);
}

static void entry_remove(struct kube_store *s, struct entry *e)
{
    HASH_DEL(s->entries, e);
    free(e);
}

/* Key and identity of an object; false: too long or missing. */
static bool identify(const struct meta_fields *meta, struct store_gone *ret,
                     char key[STORE_KEY_MAX + 1], char rv[RV_MAX + 1])
{
    struct store_gone g = {0};

    if (!str_copy(g.ns, sizeof(g.ns), meta->ns) || !str_copy(g.name, sizeof(g.name), meta->name) ||
        !g.name[0] || !str_copy(g.uid, sizeof(g.uid), meta->uid) || !g.uid[0] ||
        !str_copy(rv, RV_MAX + 1, meta->rv) || !rv[0])
        return false;
    (void)kube_pod_owner(&meta->labels, &g.job, &g.attempt);
    (void)snprintf(key, STORE_KEY_MAX + 1, "%s/%s", g.ns, g.name);
    *ret = g;
    return true;
}

static struct entry *find(struct kube_store *s, const char *key)
{
    struct entry *e;

    HASH_FIND_STR(s->entries, key, e);
    return e;
}

static struct entry *entry_add(struct kube_store *s, const char *key)
{
    size_t len = strlen(key);
    struct entry *e = xcalloc(1, sizeof(*e) + len + 1);

    memcpy(e->key, key, len + 1);
    HASH_ADD_KEYPTR(hh, s->entries, e->key, len, e);
    return e;
}

/* An object that we cannot have: said of the first ones only, as there may be many. */
static void pass_over(struct kube_store *s, const struct meta_fields *meta)
{
    if (s->n_odd++ < ODD_TOLD_MAX)
        log_warn(
            "an object is passed over: it has no name, uid or version, or one that is too long",
            "what=%s namespace=\"%.100s\" name=\"%.300s\" uid=\"%.100s\"", s->kind->noun, meta->ns,
            meta->name, meta->uid);
}

static void note_change(struct kube_store *s, const struct store_gone *id, const char *rv,
                        bool is_gone)
{
    struct store_latest *l = &s->latest;

    if (kube_rv_compare(rv, l->rv) <= 0)
        return;
    memcpy(l->ns, id->ns, sizeof(l->ns));
    memcpy(l->name, id->name, sizeof(l->name));
    memcpy(l->uid, id->uid, sizeof(l->uid));
    (void)str_copy(l->rv, sizeof(l->rv), rv); /* the same bound */
    l->is_gone = is_gone;
}

/* An event of a uid that has ended: it never lives again, so the event is late. Its end was seen,
 * or a newer object has its name. */
static bool is_late(const struct kube_store *s, const struct entry *e, const char *uid,
                    const char *rv)
{
    if (e)
        return kube_rv_compare(rv, e->rv) < 0;
    for (unsigned i = 0; i < BURIED_MAX; i++)
        if (!strcmp(s->buried[i], uid))
            return true;
    return false;
}

/* The object is there, as it is now. */
static void put(struct kube_store *s, const struct object_fields *object, bool is_list)
{
    char key[STORE_KEY_MAX + 1], rv[RV_MAX + 1];
    struct store_gone id;
    struct event fact = {.kind = EV_NONE};
    struct entry *e;
    int order;

    if (!identify(&object->meta, &id, key, rv)) {
        pass_over(s, &object->meta);
        return;
    }
    e = find(s, key);
    if (!is_list && (!e || strcmp(e->uid, id.uid) != 0) && is_late(s, e, id.uid, rv))
        return;
    if (e && strcmp(e->uid, id.uid) != 0) {
        say_goodbye(s, e);
        entry_remove(s, e);
        e = NULL;
    }
    order = e ? kube_rv_compare(rv, e->rv) : 1;
    if (e && is_list)
        e->list = s->list;
    note_change(s, &id, rv, false);
    if (!order || (order < 0 && !is_list))
        return;
    if (!s->kind->seen(object, &fact)) {
        pass_over(s, &object->meta);
        return;
    }
    if (!e)
        e = entry_add(s, key);
    e->list = s->list;
    e->job = id.job;
    e->attempt = id.attempt;
    memcpy(e->uid, id.uid, sizeof(e->uid));
    memcpy(e->rv, rv, sizeof(e->rv));
    if (is_final(s, e->fact)) {
        event_fini(&fact);
    } else if (e->fact) {
        event_fini(e->fact);
        *e->fact = fact;
    } else {
        e->fact = xmemdup(&fact, sizeof(fact));
        DL_APPEND(s->facts, e);
        s->n_facts++;
    }
}

static void take_away(struct kube_store *s, const struct meta_fields *meta)
{
    char key[STORE_KEY_MAX + 1], rv[RV_MAX + 1];
    struct store_gone id;
    struct entry *e = identify(meta, &id, key, rv) ? find(s, key) : NULL;

    /* the end of an older object of the same name is told already */
    if (!e || strcmp(e->uid, id.uid) != 0)
        return;
    note_change(s, &id, rv, true);
    memcpy(s->buried[s->n_buried++ % BURIED_MAX], id.uid, sizeof(id.uid));
    say_goodbye(s, e);
    entry_remove(s, e);
}

/* ---- lists */

void kube_store_list_begin(struct kube_store *s)
{
    s->list++;
    s->n_odd = 0;
    s->latest = (struct store_latest){0};
    memset(s->buried, 0, sizeof(s->buried)); /* a restored server may show them again */
}

static bool take_item(void *ctx, const char *p, size_t len)
{
    cJSON *o = cJSON_ParseWithLength(p, len);
    bool ok = cJSON_IsObject(o);
    struct kube_store *s = ctx;
    struct object_fields fields;

    if (ok) {
        arena_reset(&s->scratch);
        s->kind->read_json(&s->scratch, o, &fields);
        put(s, &fields, true);
    }
    cJSON_Delete(o);
    return ok;
}

bool kube_store_list_item(struct kube_store *s, const char *bytes, size_t len)
{
    struct object_fields fields;

    arena_reset(&s->scratch);
    if (!s->kind->read_proto(&s->scratch, bytes, len, &fields))
        return false;
    put(s, &fields, true);
    return true;
}

int kube_store_list_page(struct kube_store *s, const char *text, size_t len, struct json_page *ret,
                         struct err *err)
{
    struct json_sink sink = {.item = take_item, .ctx = s};

    return json_page_split(text, len, &sink, ret, err);
}

void kube_store_list_end(struct kube_store *s)
{
    struct entry *e, *next;

    HASH_ITER(hh, s->entries, e, next)
    {
        if (e->list == s->list)
            continue;
        say_goodbye(s, e);
        entry_remove(s, e);
    }
}

/* ---- watches */

static enum store_line take_event(struct kube_store *s, const char *type,
                                  const struct object_fields *object, char rv[RV_MAX + 1])
{
    const char *now = object->meta.rv;

    if (!now[0] || strlen(now) > RV_MAX)
        return LINE_BAD;
    if (kube_rv_compare(now, rv) > 0)
        (void)str_copy(rv, RV_MAX + 1, now); /* it fits */
    if (!strcmp(type, "BOOKMARK"))
        return LINE_BOOKMARK;
    if (!strcmp(type, "DELETED"))
        take_away(s, &object->meta);
    else if (!strcmp(type, "ADDED") || !strcmp(type, "MODIFIED"))
        put(s, object, false);
    else
        return LINE_BAD;
    return LINE_OBJECT;
}

enum store_line kube_store_line(struct kube_store *s, const char *text, size_t len,
                                char rv[RV_MAX + 1], struct api_status *ret_status)
{
    cJSON *event = cJSON_ParseWithLength(text, len);
    const cJSON *object = json_get(event, "object");
    const char *type = json_text(event, "type");
    struct object_fields fields;
    enum store_line line;

    if (!cJSON_IsObject(object)) {
        line = LINE_BAD;
    } else if (!strcmp(type, "ERROR")) {
        char *status = cJSON_PrintUnformatted(object);

        *ret_status = (struct api_status){.retry_after_us = -1};
        if (status)
            api_read_status(status, strlen(status), ret_status);
        cJSON_free(status);
        line = LINE_ERROR;
    } else {
        arena_reset(&s->scratch);
        s->kind->read_json(&s->scratch, object, &fields);
        line = take_event(s, type, &fields, rv);
    }
    cJSON_Delete(event);
    return line;
}

enum store_line kube_store_frame(struct kube_store *s, const char *bytes, size_t len,
                                 char rv[RV_MAX + 1], struct api_status *ret_status)
{
    char kind[PROTO_KIND_MAX + 1];
    struct object_fields fields;
    struct proto_event event;
    struct proto_span object;

    if (!proto_event_read(bytes, len, &event))
        return LINE_BAD;
    if (!strcmp(event.type, "ERROR")) {
        *ret_status = (struct api_status){.retry_after_us = -1};
        api_read_status((const char *)event.object.p, event.object.len, ret_status);
        return LINE_ERROR;
    }
    arena_reset(&s->scratch);
    if (!proto_open(event.object.p, event.object.len, kind, &object) ||
        strcmp(kind, s->kind->kind) != 0 ||
        !s->kind->read_proto(&s->scratch, object.p, object.len, &fields))
        return LINE_BAD;
    return take_event(s, event.type, &fields, rv);
}

/* ---- towards the core */

static bool flush_goodbyes(struct kube_store *s, struct inbox *inbox, size_t spare)
{
    while (s->goodbyes && inbox_room(inbox) > spare) {
        struct goodbye *g = s->goodbyes;
        struct event ev = {.kind = EV_NONE};

        if (g->last) {
            if (!inbox_push(inbox, g->last))
                return false;
            free(g->last);
            g->last = NULL;
            continue;
        }
        s->kind->gone(&g->gone, &ev);
        if (!inbox_push(inbox, &ev)) {
            event_fini(&ev);
            return false;
        }
        DL_DELETE(s->goodbyes, g);
        free(g);
    }
    return !s->goodbyes;
}

bool kube_store_flush(struct kube_store *s, struct inbox *inbox, size_t spare)
{
    if (!flush_goodbyes(s, inbox, spare))
        return false;
    while (s->facts && inbox_room(inbox) > spare) {
        struct entry *e = s->facts;

        if (!inbox_push(inbox, e->fact))
            return false;
        free(take_fact(s, e)); /* what it holds is the inbox's now */
    }
    return !s->facts;
}

const struct store_latest *kube_store_latest(const struct kube_store *s)
{
    return &s->latest;
}

size_t kube_store_waiting(const struct kube_store *s)
{
    return s->n_facts;
}

size_t kube_store_count(const struct kube_store *s)
{
    return HASH_COUNT(s->entries);
}

void kube_store_on_gone(struct kube_store *s, void *ctx,
                        void (*told)(void *ctx, const struct store_gone *gone))
{
    s->told_ctx = ctx;
    s->told = told;
}

struct kube_store *kube_store_create(const struct store_kind *kind)
{
    struct kube_store *s = xcalloc(1, sizeof(*s));

    s->kind = kind;
    (void)arena_alloc(&s->scratch, SCRATCH_BYTES); /* the block that each reset keeps */
    return s;
}

void kube_store_destroy(struct kube_store *s)
{
    struct entry *e, *next;
    struct goodbye *g, *after;

    if (!s)
        return;
    HASH_ITER(hh, s->entries, e, next)
    {
        fact_destroy(take_fact(s, e));
        entry_remove(s, e);
    }
    DL_FOREACH_SAFE(s->goodbyes, g, after)
    {
        fact_destroy(g->last);
        free(g);
    }
    arena_fini(&s->scratch);
    free(s);
}

/* ---- nodes and pods */

static bool node_seen(const struct object_fields *object, struct event *ret)
{
    ret->u.node = kube_node_fact(object);
    ret->kind = ret->u.node ? EV_NODE_SEEN : EV_NONE;
    return ret->u.node != NULL;
}

static void node_gone(const struct store_gone *gone, struct event *ret)
{
    ret->kind = EV_NODE_GONE;
    ret->u.node_name = xstrdup(gone->name);
}

static bool pod_seen(const struct object_fields *object, struct event *ret)
{
    ret->u.pod = kube_pod_fact(object);
    ret->kind = ret->u.pod ? EV_POD_SEEN : EV_NONE;
    return ret->u.pod != NULL;
}

static void pod_gone(const struct store_gone *gone, struct event *ret)
{
    struct ev_pod_gone *p = xcalloc(1, sizeof(*p));

    memcpy(p->ns, gone->ns, sizeof(p->ns));
    memcpy(p->name, gone->name, sizeof(p->name));
    memcpy(p->uid, gone->uid, sizeof(p->uid));
    p->job = gone->job;
    p->attempt = gone->attempt;
    p->member = IX_NONE;
    ret->kind = EV_POD_GONE;
    ret->u.pod_gone = p;
}

static bool pod_is_final(const struct event *seen)
{
    return seen->u.pod->phase == POD_SUCCEEDED || seen->u.pod->phase == POD_FAILED;
}

const struct store_kind store_nodes = {.noun = "nodes",
                                       .path = "/api/v1/nodes",
                                       .kind = "Node",
                                       .list_kind = "NodeList",
                                       .read_json = node_fields_json,
                                       .read_proto = node_fields_proto,
                                       .seen = node_seen,
                                       .gone = node_gone};
const struct store_kind store_pods = {.noun = "pods",
                                      .path = "/api/v1/pods",
                                      .kind = "Pod",
                                      .list_kind = "PodList",
                                      .read_json = pod_fields_json,
                                      .read_proto = pod_fields_proto,
                                      .seen = pod_seen,
                                      .gone = pod_gone,
                                      .is_final = pod_is_final};
