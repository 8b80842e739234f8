/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_defrag.c - the plan that defragmentation would carry out next, and what it costs. Nothing is
 * carried out here.
 */
#include "core/claim.h"
#include "rpc/rpc_call.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_spec.h"
#include "util/str.h"
#include "view/defrag.h"

enum { NODES_SHOWN = 8 };

static uint64_t gpu_seconds(uint64_t lost)
{
    return lost / USEC_PER_SEC;
}

/* Nodes by name, each once where members follow each other: "gpu-1,gpu-2". */
static char *nodes_text(struct arena *a, const struct state *s, const uint32_t *nodes, uint32_t n)
{
    struct str b = {0};
    uint32_t shown = 0;
    char *text;

    for (uint32_t i = 0; i < n; i++) {
        const struct node *node = cluster_node(&s->cluster, nodes[i]);

        if (!node || (i && nodes[i] == nodes[i - 1]) || shown++ >= NODES_SHOWN)
            continue;
        str_addf(&b, "%s%s", shown > 1 ? "," : "", node->name);
    }
    if (shown > NODES_SHOWN)
        str_addf(&b, " and %u more", shown - NODES_SHOWN);
    text = arena_strdup(a, str_text(&b));
    str_fini(&b);
    return text;
}

static char *placed_text(struct arena *a, const struct state *s, const struct ev_placed *p)
{
    uint32_t *nodes = arena_alloc(a, p->n * sizeof(*nodes));

    for (uint32_t i = 0; i < p->n; i++)
        nodes[i] = p->members[i].node_ix;
    return nodes_text(a, s, nodes, p->n);
}

static Queued__V1__DefragMove *move_message(struct arena *a, const struct state *s,
                                            const struct defrag_move *move)
{
    Queued__V1__DefragMove *m = arena_alloc(a, sizeof(*m));
    const struct job *j = move->job;
    uint32_t *nodes = arena_alloc(a, j->n_members * sizeof(*nodes));

    queued__v1__defrag_move__init(m);
    for (uint32_t i = 0; i < j->n_members; i++)
        nodes[i] = j->members[i].node_ix;
    m->job = rpc_text(j->name);
    m->tenant = rpc_text(j->tenant);
    m->has_gpus = m->has_lost_gpu_s = true;
    m->gpus = (uint32_t)(j->charged_parts / GPU_PARTS);
    m->lost_gpu_s = gpu_seconds(move->lost);
    m->from_nodes = nodes_text(a, s, nodes, j->n_members);
    m->to_nodes = placed_text(a, s, &move->to);
    return m;
}

static void fill_plan(struct arena *a, const struct state *s, const struct defrag_plan *p,
                      Queued__V1__DefragReply *m)
{
    char text[DEFRAG_TEXT_MAX];

    m->job = rpc_text(p->taker->name);
    m->tenant = rpc_text(p->taker->tenant);
    m->has_gpus = m->has_lost_gpu_s = true;
    m->gpus = p->taker->demand->gpus;
    m->lost_gpu_s = gpu_seconds(p->lost);
    m->gives = arena_strdup(a, defrag_text(text, s, p));
    m->nodes = placed_text(a, s, &p->place);
    m->n_moves = p->n_moves;
    m->moves = arena_alloc(a, p->n_moves * sizeof(*m->moves));
    for (uint32_t i = 0; i < p->n_moves; i++)
        m->moves[i] = move_message(a, s, &p->moves[i]);
}

int rpc_defrag_plan(struct rpc_call *c, struct err *err)
{
    const struct state *s = c->state;
    uint64_t left = claim_moves_left(s, c->now);
    Queued__V1__DefragReply m = QUEUED__V1__DEFRAG_REPLY__INIT;
    struct defrag_plan p;

    (void)err;
    m.header = rpc_message_head(c->out, &c->head);
    m.has_budget_gpu_s = m.has_left_gpu_s = m.has_dry_run = m.has_movable = true;
    m.budget_gpu_s = gpu_seconds(s->settings->defrag_gpu_us);
    m.left_gpu_s = gpu_seconds(left);
    m.dry_run = s->settings->is_defrag_dry;
    for (size_t i = 0; i < s->active.n; i++)
        m.movable += s->active.v[i]->is_movable;
    if (defrag_plan_next(s, c->now, s->settings->defrag_gpu_us ? left : UINT64_MAX, &p))
        fill_plan(&c->out->arena, s, &p, &m);
    c->work += s->by_id.n + s->cluster.nodes.n;
    rpc_message_close(c->out, RPC_DEFRAG, &m.base);
    defrag_plan_fini(&p);
    return 0;
}
