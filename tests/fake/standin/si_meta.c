/* SPDX-License-Identifier: Apache-2.0 */
/* si_meta.c - version, health and discovery documents of the stand-in API server.
 *
 * Discovery is minimal: the groups and resources served, with their verbs.
 */
#include "si_meta.h"

#include <string.h>

#include "si_status.h"

/* Group versions, in the order of their discovery. */
static const char *const group_versions[] = {"events.k8s.io/v1", "policy/v1",
                                             "coordination.k8s.io/v1", "scheduling.k8s.io/v1"};

enum { GROUP_COUNT = sizeof(group_versions) / sizeof(group_versions[0]) };

static const char version_text[] = "{\n"
                                   "  \"major\": \"1\",\n"
                                   "  \"minor\": \"36\",\n"
                                   "  \"emulationMajor\": \"1\",\n"
                                   "  \"emulationMinor\": \"36\",\n"
                                   "  \"minCompatibilityMajor\": \"1\",\n"
                                   "  \"minCompatibilityMinor\": \"35\",\n"
                                   "  \"gitVersion\": \"v1.36.3-standin\",\n"
                                   "  \"gitCommit\": \"\",\n"
                                   "  \"gitTreeState\": \"clean\",\n"
                                   "  \"buildDate\": \"2026-11-29T00:00:00Z\",\n"
                                   "  \"goVersion\": \"none\",\n"
                                   "  \"compiler\": \"cc\",\n"
                                   "  \"platform\": \"linux/amd64\"\n"
                                   "}";

bool meta_group_is_served(const char *path)
{
    if (strncmp(path, "/apis/", 6) != 0) {
        return strncmp(path, "/api/", 5) == 0;
    }
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        size_t group_len = strcspn(group_versions[i], "/");
        if (strncmp(path + 6, group_versions[i], group_len) == 0 && path[6 + group_len] == '/') {
            return true;
        }
    }
    return false;
}

static void add_group(struct strbuf *b, const char *group_version)
{
    size_t len = strcspn(group_version, "/");
    strbuf_printf(b,
                  "\"name\":\"%.*s\",\"versions\":[{\"groupVersion\":\"%s\",\"version\":\"v1\"}],"
                  "\"preferredVersion\":{\"groupVersion\":\"%s\",\"version\":\"v1\"}}",
                  (int)len, group_version, group_version, group_version);
}

static void add_resource(struct strbuf *b, const char *name, const struct res *res,
                         const char *kind, const char *verbs)
{
    char singular[64];
    size_t len = 0;
    for (const char *p = res->kind; *p != '\0' && len < sizeof(singular) - 1; p++) {
        singular[len++] = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    }
    singular[len] = '\0';
    bool is_sub = strchr(name, '/') != NULL;
    strbuf_printf(b,
                  "%s{\"name\":\"%s\",\"singularName\":\"%s\",\"namespaced\":%s,\"kind\":\"%s\","
                  "\"verbs\":[%s]}",
                  b->data[b->len - 1] == '[' ? "" : ",", name, is_sub ? "" : singular,
                  res->namespaced ? "true" : "false", kind, verbs);
}

static void reply_resources(struct request *req, const char *group_version)
{
    static const char all_verbs[] = "\"create\",\"delete\",\"deletecollection\",\"get\",\"list\","
                                    "\"patch\",\"update\",\"watch\"";
    bool is_core = strcmp(group_version, "v1") == 0;
    reply_plain(req, 200, "");
    req->reply.type = NULL;
    struct strbuf *b = &req->reply.body;
    strbuf_printf(b, "{\"kind\":\"APIResourceList\",%s\"groupVersion\":\"%s\",\"resources\":[",
                  is_core ? "" : "\"apiVersion\":\"v1\",", group_version);
    for (int i = 0; i < RES_COUNT; i++) {
        bool is_here = strcmp(res_table[i].api_version, group_version) == 0 ||
                       (i == RES_EVENTS && strcmp(group_version, "events.k8s.io/v1") == 0);
        if (is_here) {
            add_resource(b, res_table[i].plural, &res_table[i], res_table[i].kind, all_verbs);
        }
    }
    if (is_core) {
        add_resource(b, "pods/binding", &res_table[RES_PODS], "Binding", "\"create\"");
        add_resource(b, "pods/eviction", &res_table[RES_PODS], "Eviction", "\"create\"");
        add_resource(b, "pods/status", &res_table[RES_PODS], "Pod", "\"get\",\"patch\"");
        add_resource(b, "nodes/status", &res_table[RES_NODES], "Node", "\"get\",\"patch\"");
    }
    strbuf_puts(b, "]}\n");
}

static void reply_groups(struct request *req)
{
    reply_plain(req, 200, "");
    req->reply.type = NULL;
    struct strbuf *b = &req->reply.body;
    strbuf_puts(b, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        strbuf_puts(b, i > 0 ? ",{" : "{");
        add_group(b, group_versions[i]);
    }
    strbuf_puts(b, "]}\n");
}

/* /apis/GROUP or /apis/GROUP/VERSION. */
static void reply_group(struct request *req, const char *name)
{
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        size_t group_len = strcspn(group_versions[i], "/");
        if (strcmp(name, group_versions[i]) == 0) {
            reply_resources(req, group_versions[i]);
            return;
        }
        if (strncmp(name, group_versions[i], group_len) != 0) {
            continue;
        }
        if (name[group_len] == '\0') {
            reply_plain(req, 200, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
            req->reply.type = NULL;
            add_group(&req->reply.body, group_versions[i]);
            strbuf_puts(&req->reply.body, "\n");
            return;
        }
        if (name[group_len] == '/') {
            reply_no_resource(req);
            return;
        }
    }
    reply_plain(req, 404, "404 page not found\n");
}

void meta_serve(struct standin *s, struct request *req)
{
    const char *path = req->name;
    if (strcmp(req->method, "GET") != 0) {
        reply_no_method(req);
    } else if (strcmp(path, "/version") == 0) {
        reply_plain(req, 200, version_text);
        req->reply.type = NULL;
    } else if (strcmp(path, "/readyz") == 0 || strcmp(path, "/livez") == 0 ||
               strcmp(path, "/healthz") == 0) {
        reply_plain(req, 200, "ok");
    } else if (strcmp(path, "/api") == 0) {
        reply_plain(req, 200,
                    "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
                    "\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\","
                    "\"serverAddress\":\"");
        req->reply.type = NULL;
        strbuf_printf(&req->reply.body, "127.0.0.1:%u\"}]}\n", s->options.port);
    } else if (strcmp(path, "/api/v1") == 0) {
        reply_resources(req, "v1");
    } else if (strcmp(path, "/apis") == 0) {
        reply_groups(req);
    } else if (strncmp(path, "/apis/", 6) == 0) {
        reply_group(req, path + 6);
    } else {
        reply_plain(req, 404, "404 page not found\n");
    }
}
