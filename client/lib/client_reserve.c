/* SPDX-License-Identifier: Apache-2.0 */
/* client_reserve.c - reservations of nodes: messages around client_call(). */
#include <stdlib.h>

#include "client.h"
#include "util/arena.h"
#include "util/mem.h"
#include "util/str.h"

struct reservations_box {
    struct queued_reservations pub; /* first: freed by its address */
    ProtobufCMessage *message;
    struct arena arena;
};

static int change(struct queued_client *c, uint16_t method, ProtobufCMessage *request,
                  struct queued_reserved *ret, struct queued_error *error)
{
    ProtobufCMessage *reply = NULL;
    const Queued__V1__ReplyHeader *h;
    struct err err;

    if (client_call(c, method, request, &reply, &err))
        return client_fail(error, &err);
    h = ((const Queued__V1__ChangeReply *)reply)->header;
    if (ret)
        (void)str_copy(ret->warning, sizeof(ret->warning), h && h->text ? h->text : "");
    protobuf_c_message_free_unpacked(reply, NULL);
    return 0;
}

int queued_reserve(struct queued_client *c, const struct queued_reserve *wish,
                   struct queued_reserved *ret, struct queued_error *error)
{
    Queued__V1__ReserveRequest request = QUEUED__V1__RESERVE_REQUEST__INIT;
    struct arena a = {0};
    int rc;

    request.name = arena_strdup(&a, wish->name);
    request.tenant = wish->tenant ? arena_strdup(&a, wish->tenant) : NULL;
    request.domain = wish->domain ? arena_strdup(&a, wish->domain) : NULL;
    request.reason = wish->reason ? arena_strdup(&a, wish->reason) : NULL;
    request.has_from_us = request.has_to_us = request.has_dry_run = true;
    request.from_us = (uint64_t)wish->from_us;
    request.to_us = (uint64_t)wish->to_us;
    request.dry_run = wish->is_dry_run;
    request.nodes = arena_alloc(&a, (wish->n_nodes + 1) * sizeof(*request.nodes));
    for (size_t i = 0; i < wish->n_nodes; i++)
        request.nodes[request.n_nodes++] = arena_strdup(&a, wish->nodes[i]);
    request.labels = arena_alloc(&a, (wish->n_labels + 1) * sizeof(*request.labels));
    for (size_t i = 0; i < wish->n_labels; i++) {
        Queued__V1__Pair *pair = arena_alloc(&a, sizeof(*pair));

        queued__v1__pair__init(pair);
        pair->key = arena_strdup(&a, wish->labels[i].key);
        pair->value = arena_strdup(&a, wish->labels[i].value);
        request.labels[request.n_labels++] = pair;
    }
    rc = change(c, QUEUED__V1__METHOD__METHOD_RESERVE, &request.base, ret, error);
    arena_fini(&a);
    return rc;
}

int queued_unreserve(struct queued_client *c, const char *name, struct queued_error *error)
{
    Queued__V1__UnreserveRequest request = QUEUED__V1__UNRESERVE_REQUEST__INIT;
    struct arena a = {0};
    int rc;

    request.name = arena_strdup(&a, name);
    rc = change(c, QUEUED__V1__METHOD__METHOD_UNRESERVE, &request.base, NULL, error);
    arena_fini(&a);
    return rc;
}

int queued_reservations(struct queued_client *c, struct queued_reservations **ret,
                        struct queued_error *error)
{
    Queued__V1__ReservationsRequest request = QUEUED__V1__RESERVATIONS_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    const Queued__V1__ReservationsReply *r;
    struct queued_reservation *v;
    struct reservations_box *box;
    struct err err;

    if (client_call(c, QUEUED__V1__METHOD__METHOD_RESERVATIONS, &request.base, &reply, &err))
        return client_fail(error, &err);
    r = (const Queued__V1__ReservationsReply *)reply;
    box = xcalloc(1, sizeof(*box));
    box->message = reply;
    v = arena_alloc(&box->arena, (r->n_reservations + 1) * sizeof(*v));
    for (size_t i = 0; i < r->n_reservations; i++) {
        const Queued__V1__Reservation *m = r->reservations[i];

        v[i] = (struct queued_reservation){
            .name = m->name,
            .tenant = m->tenant,
            .from_us = (int64_t)m->from_us,
            .to_us = (int64_t)m->to_us,
            .made_us = (int64_t)m->made_us,
            .text = m->text,
            .n_nodes = m->n_nodes,
            .nodes = (const char *const *)m->nodes,
            .n_jobs = m->n_jobs,
            .jobs = (const char *const *)m->jobs,
        };
    }
    box->pub = (struct queued_reservations){r->n_reservations, v};
    *ret = &box->pub;
    return 0;
}

void queued_reservations_free(struct queued_reservations *reservations)
{
    struct reservations_box *box = (struct reservations_box *)reservations;

    if (!box)
        return;
    protobuf_c_message_free_unpacked(box->message, NULL);
    arena_fini(&box->arena);
    free(box);
}
