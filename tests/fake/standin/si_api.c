/* SPDX-License-Identifier: Apache-2.0 */
/* si_api.c - which request means what: paths, verbs, and the dispatch to the kinds.
 *
 * Unknown groups and paths get the server's plain text 404, unknown resources of a served group
 * version a Status.
 */
#include "si_api.h"

#include <string.h>

#include "si_control.h"
#include "si_delete.h"
#include "si_list.h"
#include "si_meta.h"
#include "si_object.h"
#include "si_patch.h"
#include "si_pod.h"
#include "si_status.h"
#include "si_watch.h"

const char *const verb_names[VERB_COUNT] = {"get",    "list",  "watch",  "create", "bind",
                                            "update", "patch", "delete", "evict",  "other"};

static int find_resource(const char *api_version, const char *plural)
{
    for (int i = 0; i < RES_COUNT; i++) {
        if (strcmp(res_table[i].plural, plural) == 0 &&
            strcmp(res_table[i].api_version, api_version) == 0) {
            return i;
        }
    }
    bool is_event = strcmp(api_version, "events.k8s.io/v1") == 0 && strcmp(plural, "events") == 0;
    return is_event ? RES_EVENTS : -1;
}

/* Cut at the next slash; returns the segment ("" at the end) and moves *at behind it. */
static char *next_segment(char **at)
{
    char *start = *at;
    char *slash = strchr(start, '/');
    if (slash == NULL) {
        *at = start + strlen(start);
    } else {
        *slash = '\0';
        *at = slash + 1;
    }
    return start;
}

/* "v1" or "group/version" of a path below /api/ or /apis/, with *at behind it; NULL for the
 * shorter discovery paths. The path stays whole when NULL. */
static const char *cut_version(char *path, char **at)
{
    if (strncmp(path, "/api/v1/", 8) == 0) {
        *at = path + 8;
        return "v1";
    }
    if (strncmp(path, "/apis/", 6) != 0) {
        return NULL;
    }
    char *version = strchr(path + 6, '/');
    char *rest = version != NULL ? strchr(version + 1, '/') : NULL;
    if (rest == NULL) {
        return NULL;
    }
    *rest = '\0';
    *at = rest + 1;
    return path + 6;
}

static enum verb verb_of(const struct request *req)
{
    if (strcmp(req->method, "GET") == 0) {
        if (*req->name != '\0') {
            return VERB_GET;
        }
        return request_flag(req, "watch") ? VERB_WATCH : VERB_LIST;
    }
    if (strcmp(req->method, "POST") == 0) {
        if (strcmp(req->sub, "binding") == 0) {
            return VERB_BIND;
        }
        return strcmp(req->sub, "eviction") == 0 ? VERB_EVICT : VERB_CREATE;
    }
    if (strcmp(req->method, "PUT") == 0) {
        return VERB_UPDATE;
    }
    if (strcmp(req->method, "PATCH") == 0) {
        return VERB_PATCH;
    }
    return strcmp(req->method, "DELETE") == 0 ? VERB_DELETE : VERB_OTHER;
}

void api_route(struct request *req)
{
    req->ns = "";
    req->name = "";
    req->sub = "";
    req->verb = VERB_OTHER;
    char *at = NULL;
    const char *version = cut_version(req->path, &at);
    if (version == NULL) {
        req->is_plain = true;
        req->name = req->path;
        return;
    }
    char *first = next_segment(&at);
    char *second = next_segment(&at);
    char *third = next_segment(&at);
    int res = -1;
    if (strcmp(first, "namespaces") == 0 && *third != '\0' && strcmp(third, "status") != 0) {
        req->ns = second;
        res = find_resource(version, third);
        req->name = next_segment(&at);
        req->sub = next_segment(&at);
        if (strcmp(third, "bindings") == 0) {
            res = RES_PODS;
            req->sub = "binding";
        }
        res = res >= 0 && !res_table[res].namespaced ? -1 : res;
    } else {
        res = find_resource(version, first);
        req->name = second;
        req->sub = third;
    }
    req->has_resource = res >= 0;
    req->res = res >= 0 ? (enum res_id)res : RES_NODES;
    req->is_events_v1 = strcmp(version, "events.k8s.io/v1") == 0;
    req->verb = verb_of(req);
}

static bool sub_is_served(const struct request *req)
{
    if (*req->sub == '\0' || strcmp(req->sub, "status") == 0) {
        return true;
    }
    return req->res == RES_PODS &&
           (strcmp(req->sub, "binding") == 0 || strcmp(req->sub, "eviction") == 0);
}

static void serve_get(struct standin *s, struct request *req)
{
    const struct rec *rec = store_find(&s->store, req->res, req->ns, req->name);
    const char *rv_text = request_query(req, "resourceVersion");
    uint64_t rv = 0;
    if (rv_text != NULL && number_parse(rv_text, &rv) == 0 && rv > s->store.rv) {
        list_reply_too_large(s, req, rv);
    } else if (rec == NULL) {
        reply_not_found(req, res_table[req->res].plural, req->name);
    } else {
        reply_object(req, 200, rec);
    }
}

static bool is_allowed(const struct request *req)
{
    bool has_name = *req->name != '\0';
    bool is_sub = strcmp(req->sub, "binding") == 0 || strcmp(req->sub, "eviction") == 0;
    bool needs_ns = res_table[req->res].namespaced && *req->ns == '\0';
    switch (req->verb) {
    case VERB_CREATE:
        return !has_name && !needs_ns;
    case VERB_BIND:
    case VERB_EVICT:
        return !needs_ns;
    case VERB_GET:
    case VERB_UPDATE:
    case VERB_PATCH:
        return has_name && !is_sub && !needs_ns;
    case VERB_DELETE:
        return *req->sub == '\0' && !needs_ns;
    case VERB_LIST:
    case VERB_WATCH:
        return *req->sub == '\0';
    default:
        return false;
    }
}

void api_serve(struct standin *s, struct request *req)
{
    if (req->is_plain) {
        if (strncmp(req->name, "/_standin/", 10) == 0) {
            control_serve(s, req);
        } else {
            meta_serve(s, req);
        }
        return;
    }
    if (!req->has_resource || !sub_is_served(req)) {
        if (meta_group_is_served(req->path)) {
            reply_no_resource(req);
        } else {
            reply_plain(req, 404, "404 page not found\n");
        }
        return;
    }
    if (!is_allowed(req)) {
        reply_no_method(req);
        return;
    }
    static void (*const handlers[VERB_COUNT])(struct standin *, struct request *) = {
        [VERB_GET] = serve_get,        [VERB_LIST] = list_serve,     [VERB_WATCH] = watch_serve,
        [VERB_CREATE] = object_create, [VERB_BIND] = pod_bind,       [VERB_UPDATE] = object_update,
        [VERB_PATCH] = patch_serve,    [VERB_DELETE] = delete_serve, [VERB_EVICT] = delete_evict,
    };
    handlers[req->verb](s, req);
}
