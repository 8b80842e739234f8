/* SPDX-License-Identifier: Apache-2.0 */
/* client_defrag.c - the plan of defragmentation: a message around client_call(). */
#include <stdlib.h>

#include "client.h"
#include "util/arena.h"
#include "util/mem.h"

struct plan_box {
    struct queued_defrag pub; /* first: freed by its address */
    ProtobufCMessage *message;
    struct arena arena;
};

static struct queued_move view_move(const Queued__V1__DefragMove *m)
{
    return (struct queued_move){
        .job = m->job,
        .tenant = m->tenant,
        .gpus = m->gpus,
        .lost_gpu_s = m->lost_gpu_s,
        .from_nodes = m->from_nodes,
        .to_nodes = m->to_nodes,
    };
}

int queued_defrag_plan(struct queued_client *c, struct queued_defrag **ret,
                       struct queued_error *error)
{
    Queued__V1__DefragRequest request = QUEUED__V1__DEFRAG_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    const Queued__V1__DefragReply *r;
    struct queued_move *moves;
    struct plan_box *box;
    struct err err;

    if (client_call(c, QUEUED__V1__METHOD__METHOD_DEFRAG, &request.base, &reply, &err))
        return client_fail(error, &err);
    r = (const Queued__V1__DefragReply *)reply;
    box = xcalloc(1, sizeof(*box));
    box->message = reply;
    moves = arena_alloc(&box->arena, (r->n_moves + 1) * sizeof(*moves));
    for (size_t i = 0; i < r->n_moves; i++)
        moves[i] = view_move(r->moves[i]);
    box->pub = (struct queued_defrag){
        .budget_gpu_s = r->budget_gpu_s,
        .left_gpu_s = r->left_gpu_s,
        .is_dry_run = r->dry_run,
        .movable = r->movable,
        .job = r->job,
        .tenant = r->tenant,
        .gpus = r->gpus,
        .gives = r->gives,
        .nodes = r->nodes,
        .lost_gpu_s = r->lost_gpu_s,
        .n_moves = r->n_moves,
        .moves = moves,
    };
    *ret = &box->pub;
    return 0;
}

void queued_defrag_free(struct queued_defrag *plan)
{
    struct plan_box *box = (struct plan_box *)plan;

    if (!box)
        return;
    protobuf_c_message_free_unpacked(box->message, NULL);
    arena_fini(&box->arena);
    free(box);
}
