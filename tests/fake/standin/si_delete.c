/* SPDX-License-Identifier: Apache-2.0 */
/* si_delete.c - deletes of the stand-in API server: options, preconditions, grace, eviction.
 *
 * A pod gives a MODIFIED event with its deletionTimestamp first, also when it goes at once; other
 * kinds go at once with a DELETED event only.
 */
#include "si_delete.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "si_json.h"
#include "si_kubelet.h"
#include "si_object.h"
#include "si_select.h"
#include "si_status.h"

struct delete_options {
    double grace_s; /* NAN = not given */
    char uid[64];
    char rv[32];
    bool is_dry_run;
    const char *finalizer; /* of the propagation policy, NULL = none */
};

static void read_members(const cJSON *json, struct delete_options *o)
{
    const cJSON *grace = cJSON_GetObjectItemCaseSensitive(json, "gracePeriodSeconds");
    const char *policy = json_string(json, "propagationPolicy");
    o->grace_s = cJSON_IsNumber(grace) ? grace->valuedouble : o->grace_s;
    (void)snprintf(o->uid, sizeof(o->uid), "%s", json_text(json, "preconditions", "uid"));
    (void)snprintf(o->rv, sizeof(o->rv), "%s", json_text(json, "preconditions", "resourceVersion"));
    o->is_dry_run = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "dryRun")) > 0;
    if (strcmp(policy, "Foreground") == 0) {
        o->finalizer = "foregroundDeletion";
    } else if (strcmp(policy, "Orphan") == 0) {
        o->finalizer = "orphan";
    }
}

/* Options of the query and of json (may be NULL). False after a 400 reply. */
static bool read_options(struct request *req, const cJSON *json, struct delete_options *o)
{
    const char *grace = request_query(req, "gracePeriodSeconds");
    const cJSON *sent = cJSON_GetObjectItemCaseSensitive(json, "gracePeriodSeconds");
    o->grace_s = grace != NULL ? strtod(grace, NULL) : NAN;
    if (sent != NULL && !cJSON_IsNumber(sent) && !cJSON_IsNull(sent)) {
        reply_bad_request(req, "json: cannot unmarshal string into Go struct field "
                               "DeleteOptions.gracePeriodSeconds of type int64");
        return false;
    }
    read_members(json, o);
    return true;
}

/* False after a 409 reply. */
static bool check_preconditions(struct request *req, const struct delete_options *o,
                                const struct rec *rec)
{
    const char *kind = res_table[rec->res].kind;
    char text[400];
    char current[24];
    (void)snprintf(current, sizeof(current), "%" PRIu64, rec->rv);
    if (*o->uid != '\0' && strcmp(o->uid, rec->uid) != 0) {
        (void)snprintf(text, sizeof(text),
                       "the UID in the precondition (%s) does not match the UID in record (%s). "
                       "The object might have been deleted and then recreated",
                       o->uid, rec->uid);
        reply_conflict(req, kind, rec->name, text);
        return false;
    }
    if (*o->rv != '\0' && strcmp(o->rv, current) != 0) {
        (void)snprintf(text, sizeof(text),
                       "the ResourceVersion in the precondition (%s) does not match the "
                       "ResourceVersion in record (%s). The object might have been modified",
                       o->rv, current);
        reply_conflict(req, kind, rec->name, text);
        return false;
    }
    return true;
}

static double grace_of(const struct rec *rec, const cJSON *json, double asked_s)
{
    if (*rec->node == '\0' || rec->terminal) {
        return 0;
    }
    const cJSON *spec = cJSON_GetObjectItemCaseSensitive(json, "spec");
    double grace_s =
        isnan(asked_s) ? json_number(spec, "terminationGracePeriodSeconds", 30) : asked_s;
    return grace_s < 0 ? 1 : grace_s;
}

/* The pod with its deletion noted; *ret_grace_s is what applies. NULL when nothing changes. */
static cJSON *mark_pod(const struct rec *rec, const struct delete_options *o, double *ret_grace_s)
{
    cJSON *json = rec_parse(rec);
    cJSON *meta = cJSON_GetObjectItemCaseSensitive(json, "metadata");
    double grace_s = grace_of(rec, json, o->grace_s);
    double before_s = json_number(meta, "deletionGracePeriodSeconds", INFINITY);
    if (o->finalizer != NULL) {
        grace_s = *rec->node == '\0' ? 0 : grace_s;
        cJSON_AddItemToArray(json_array(meta, "finalizers"), cJSON_CreateString(o->finalizer));
    }
    *ret_grace_s = grace_s;
    if (rec->deleting && grace_s >= before_s) {
        *ret_grace_s = before_s;
        cJSON_Delete(json);
        return NULL;
    }
    char when[TIME_SIZE];
    time_print(when, clock_wall_us() + (uint64_t)(grace_s * 1e6));
    json_set(meta, "deletionTimestamp", when);
    json_set_number(meta, "deletionGracePeriodSeconds", grace_s);
    if (!rec->deleting) {
        json_set_number(meta, "generation", json_number(meta, "generation", 1) + 1);
    }
    return json;
}

static struct rec *remove_pod(struct standin *s, struct rec *rec, const struct delete_options *o)
{
    double grace_s = 0;
    cJSON *json = mark_pod(rec, o, &grace_s);
    if (json != NULL) {
        rec = store_put(&s->store, RES_PODS, json);
    }
    if (grace_s <= 0 && !rec->held) {
        rec_ref(rec); /* it stays readable for the reply: the ring holds it as the old version */
        store_remove(&s->store, rec);
        rec_unref(rec);
    }
    return rec;
}

static void reply_gone(struct request *req, const struct rec *rec)
{
    reply_plain(req, 200, "");
    req->reply.type = NULL;
    strbuf_printf(&req->reply.body,
                  "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                  "\"Success\",\"details\":{\"name\":\"%s\",",
                  rec->name);
    if (*res_table[rec->res].group != '\0') {
        strbuf_printf(&req->reply.body, "\"group\":\"%s\",", res_table[rec->res].group);
    }
    strbuf_printf(&req->reply.body, "\"kind\":\"%s\",\"uid\":\"%s\"}}\n",
                  res_table[rec->res].plural, rec->uid);
}

static void remove_other(struct standin *s, struct request *req, struct rec *rec)
{
    if (req->res == RES_NAMESPACES) {
        cJSON *json = rec_parse(rec);
        char now[TIME_SIZE];
        time_print(now, clock_wall_us());
        json_set(json_object(json, "metadata"), "deletionTimestamp", now);
        json_set(json_object(json, "status"), "phase", "Terminating");
        reply_object(req, 200, store_put(&s->store, RES_NAMESPACES, json));
        return;
    }
    if (req->res == RES_SERVICES) {
        reply_object(req, 200, rec);
    } else {
        reply_gone(req, rec);
    }
    store_remove(&s->store, rec);
}

static void delete_one(struct standin *s, struct request *req, const struct delete_options *o)
{
    struct rec *rec = store_find(&s->store, req->res, req->ns, req->name);
    if (rec == NULL) {
        reply_not_found(req, res_table[req->res].plural, req->name);
        return;
    }
    if (!check_preconditions(req, o, rec)) {
        return;
    }
    const char *query = request_query(req, "dryRun");
    if (o->is_dry_run || query != NULL) {
        double grace_s = 0;
        cJSON *json = req->res == RES_PODS ? mark_pod(rec, o, &grace_s) : NULL;
        if (json != NULL) {
            reply_json(req, 200, json);
        } else {
            reply_object(req, 200, rec);
        }
    } else if (req->res == RES_PODS) {
        reply_object(req, 200, remove_pod(s, rec, o));
    } else {
        remove_other(s, req, rec);
    }
}

static void delete_collection(struct standin *s, struct request *req,
                              const struct delete_options *o)
{
    struct selector selector = {0};
    if (!selector_parse(&selector, req)) {
        selector_fini(&selector);
        return;
    }
    struct snapshot *all = store_snapshot(&s->store, req->res, s->store.rv);
    struct strbuf items = {0};
    for (size_t i = 0; i < all->count; i++) {
        struct rec *rec = all->items[i];
        if (!selector_matches(&selector, rec)) {
            continue;
        }
        strbuf_puts(&items, items.len > 0 ? ",{" : "{");
        strbuf_add(&items, rec->text + rec->body_off, rec->len - rec->body_off);
        if (req->res == RES_PODS) {
            (void)remove_pod(s, rec, o); /* the list shows what was there before */
        } else {
            store_remove(&s->store, rec);
        }
    }
    snapshot_unref(all);
    selector_fini(&selector);
    reply_plain(req, 200, "");
    req->reply.type = NULL;
    strbuf_printf(&req->reply.body,
                  "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":"
                  "\"%" PRIu64 "\"},\"items\":[%s]}\n",
                  res_table[req->res].kind, res_table[req->res].api_version, s->store.rv,
                  items.data != NULL ? items.data : "");
    strbuf_fini(&items);
}

void delete_serve(struct standin *s, struct request *req)
{
    struct delete_options o = {0};
    cJSON *json = NULL;
    if (req->body.len > 0) {
        json = object_read_body(req, "DeleteOptions");
        if (json == NULL) {
            return;
        }
    }
    if (read_options(req, json, &o)) {
        if (*req->name != '\0') {
            delete_one(s, req, &o);
        } else {
            delete_collection(s, req, &o);
        }
    }
    cJSON_Delete(json);
}

void delete_evict(struct standin *s, struct request *req)
{
    cJSON *json = object_read_body(req, "Eviction");
    if (json == NULL) {
        return;
    }
    struct delete_options o = {0};
    struct rec *rec = store_find(&s->store, RES_PODS, req->ns, req->name);
    if (rec == NULL) {
        reply_not_found(req, "pods", req->name);
    } else if (read_options(req, cJSON_GetObjectItemCaseSensitive(json, "deleteOptions"), &o) &&
               check_preconditions(req, &o, rec)) {
        cJSON *pod = rec_parse(rec);
        condition_set(pod, "DisruptionTarget", "True", "EvictionByEvictionAPI",
                      "Eviction API: evicting");
        (void)remove_pod(s, store_put(&s->store, RES_PODS, pod), &o); /* not in the reply */
        reply_plain(req, 201,
                    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                    "\"status\":\"Success\",\"code\":201}\n");
        req->reply.type = NULL;
    }
    cJSON_Delete(json);
}
