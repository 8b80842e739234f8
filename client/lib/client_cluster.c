/* SPDX-License-Identifier: Apache-2.0 */
/* client_cluster.c - nodes, topology and tenants: messages around client_call().
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "client_view.h"
#include "util/mem.h"
#include "util/vec.h"

enum { NODE_PAGE = 500 };

struct nodes_box {
    struct queued_nodes pub; /* first: freed by its address */
    VEC(ProtobufCMessage *) pages;
    VEC(struct queued_node) nodes;
    struct arena arena;
};

void queued_nodes_free(struct queued_nodes *nodes)
{
    struct nodes_box *box = (struct nodes_box *)nodes;

    if (!box)
        return;
    for (size_t i = 0; i < box->pages.n; i++)
        protobuf_c_message_free_unpacked(box->pages.v[i], NULL);
    vec_fini(&box->pages);
    vec_fini(&box->nodes);
    arena_fini(&box->arena);
    free(box);
}

/* Fetch the page after the last node that is there. 1: there are more. */
static int fetch_nodes(struct queued_client *c, struct nodes_box *box, struct err *err)
{
    Queued__V1__NodesRequest request = QUEUED__V1__NODES_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    Queued__V1__NodesReply *r;
    char *after = NULL;

    if (box->nodes.n)
        after = xstrdup(box->nodes.v[box->nodes.n - 1].name);
    request.after = after;
    request.has_limit = true;
    request.limit = NODE_PAGE;
    if (client_call(c, QUEUED__V1__METHOD__METHOD_NODES, &request.base, &reply, err)) {
        free(after);
        return -1;
    }
    free(after);
    r = (Queued__V1__NodesReply *)reply;
    *vec_push(&box->pages) = reply;
    for (size_t i = 0; i < r->n_nodes; i++)
        if (r->nodes[i]->name)
            *vec_push(&box->nodes) = view_node(&box->arena, r->nodes[i]);
    return r->more && r->n_nodes > 0;
}

int queued_nodes(struct queued_client *c, struct queued_nodes **ret, struct queued_error *error)
{
    struct nodes_box *box = xcalloc(1, sizeof(*box));
    struct err err;
    int rc;

    do
        rc = fetch_nodes(c, box, &err);
    while (rc > 0);
    if (rc) {
        queued_nodes_free(&box->pub);
        return client_fail(error, &err);
    }
    box->pub = (struct queued_nodes){box->nodes.n, box->nodes.v};
    *ret = &box->pub;
    return 0;
}

/* A change with nothing in its answer. a: what the request is made of, freed. */
static int send_change(struct queued_client *c, uint16_t method, ProtobufCMessage *request,
                       struct arena *a, struct queued_error *error)
{
    ProtobufCMessage *reply = NULL;
    struct err err;
    int rc = client_call(c, method, request, &reply, &err);

    arena_fini(a);
    if (rc)
        return client_fail(error, &err);
    protobuf_c_message_free_unpacked(reply, NULL);
    return 0;
}

static int drain(struct queued_client *c, uint16_t method, const char *node, const char *reason,
                 struct queued_error *error)
{
    Queued__V1__DrainRequest request = QUEUED__V1__DRAIN_REQUEST__INIT;
    struct arena a = {0};

    request.node = arena_strdup(&a, node);
    request.reason = reason ? arena_strdup(&a, reason) : NULL;
    return send_change(c, method, &request.base, &a, error);
}

int queued_drain(struct queued_client *c, const char *node, const char *reason,
                 struct queued_error *error)
{
    return drain(c, QUEUED__V1__METHOD__METHOD_DRAIN, node, reason, error);
}

int queued_undrain(struct queued_client *c, const char *node, struct queued_error *error)
{
    return drain(c, QUEUED__V1__METHOD__METHOD_UNDRAIN, node, NULL, error);
}

struct topology_box {
    struct queued_topology pub; /* first: freed by its address */
    ProtobufCMessage *message;
    struct arena arena;
};

int queued_topology(struct queued_client *c, struct queued_topology **ret,
                    struct queued_error *error)
{
    Queued__V1__TopologyRequest request = QUEUED__V1__TOPOLOGY_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct topology_box *box;
    struct queued_domain *v;
    Queued__V1__TopologyReply *r;
    struct err err;

    if (client_call(c, QUEUED__V1__METHOD__METHOD_TOPOLOGY, &request.base, &reply, &err))
        return client_fail(error, &err);
    r = (Queued__V1__TopologyReply *)reply;
    box = xcalloc(1, sizeof(*box));
    box->message = reply;
    v = arena_alloc(&box->arena, (r->n_domains + 1) * sizeof(*v));
    for (size_t i = 0; i < r->n_domains; i++)
        v[i] = (struct queued_domain){
            .hierarchy = r->domains[i]->hierarchy,
            .level = r->domains[i]->level,
            .path = r->domains[i]->path,
            .depth = r->domains[i]->depth,
            .n_models = r->domains[i]->n_models,
            .models = view_models(&box->arena, r->domains[i]->models, r->domains[i]->n_models),
            .n_exclusive = r->domains[i]->n_exclusive,
            .exclusive = (const char *const *)r->domains[i]->exclusive,
        };
    box->pub = (struct queued_topology){
        .n_models = r->n_cluster,
        .models = view_models(&box->arena, r->cluster, r->n_cluster),
        .n = r->n_domains,
        .v = v,
    };
    *ret = &box->pub;
    return 0;
}

void queued_topology_free(struct queued_topology *topology)
{
    struct topology_box *box = (struct topology_box *)topology;

    if (!box)
        return;
    protobuf_c_message_free_unpacked(box->message, NULL);
    arena_fini(&box->arena);
    free(box);
}

struct tenants_box {
    struct queued_tenants pub; /* first: freed by its address */
    ProtobufCMessage *message;
    struct arena arena;
};

int queued_tenants(struct queued_client *c, struct queued_tenants **ret, struct queued_error *error)
{
    Queued__V1__TenantsRequest request = QUEUED__V1__TENANTS_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct tenants_box *box;
    struct queued_tenant *v;
    Queued__V1__TenantsReply *r;
    struct err err;

    if (client_call(c, QUEUED__V1__METHOD__METHOD_TENANTS, &request.base, &reply, &err))
        return client_fail(error, &err);
    r = (Queued__V1__TenantsReply *)reply;
    box = xcalloc(1, sizeof(*box));
    box->message = reply;
    v = arena_alloc(&box->arena, (r->n_tenants + 1) * sizeof(*v));
    for (size_t i = 0; i < r->n_tenants; i++)
        v[i] = view_tenant(&box->arena, r->tenants[i]);
    box->pub = (struct queued_tenants){r->n_tenants, v};
    *ret = &box->pub;
    return 0;
}

void queued_tenants_free(struct queued_tenants *tenants)
{
    struct tenants_box *box = (struct tenants_box *)tenants;

    if (!box)
        return;
    protobuf_c_message_free_unpacked(box->message, NULL);
    arena_fini(&box->arena);
    free(box);
}

static int stop(struct queued_client *c, uint16_t method, const char *tenant, const char *reason,
                struct queued_error *error)
{
    Queued__V1__TenantStopRequest request = QUEUED__V1__TENANT_STOP_REQUEST__INIT;
    struct arena a = {0};

    request.tenant = arena_strdup(&a, tenant);
    request.reason = reason ? arena_strdup(&a, reason) : NULL;
    return send_change(c, method, &request.base, &a, error);
}

int queued_tenant_stop(struct queued_client *c, const char *tenant, const char *reason,
                       struct queued_error *error)
{
    return stop(c, QUEUED__V1__METHOD__METHOD_TENANT_STOP, tenant, reason, error);
}

int queued_tenant_resume(struct queued_client *c, const char *tenant, struct queued_error *error)
{
    return stop(c, QUEUED__V1__METHOD__METHOD_TENANT_RESUME, tenant, NULL, error);
}
