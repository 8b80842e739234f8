/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_token.c - a table of slots with generations and a count for each peer that waits. */
#include "rpc/rpc_token.h"

#include <stdlib.h>

#include "util/mem.h"

struct rpc_peer_count {
    uint32_t peer;
    uint32_t n;
    UT_hash_handle hh;
};

void rpc_tokens_fini(struct rpc_tokens *t)
{
    struct rpc_peer_count *p, *next;

    HASH_ITER(hh, t->peers, p, next)
    {
        HASH_DEL(t->peers, p);
        free(p);
    }
    vec_fini(&t->slots);
    vec_fini(&t->unused);
}

static struct rpc_peer_count *count_of(const struct rpc_tokens *t, uint32_t peer)
{
    struct rpc_peer_count *p;

    HASH_FIND(hh, t->peers, &peer, sizeof(peer), p);
    return p;
}

uint32_t rpc_tokens_of(const struct rpc_tokens *t, uint32_t peer)
{
    const struct rpc_peer_count *p = count_of(t, peer);

    return p ? p->n : 0;
}

static bool count_up(struct rpc_tokens *t, uint32_t peer)
{
    struct rpc_peer_count *p = count_of(t, peer);

    if (!p) {
        p = xcalloc(1, sizeof(*p));
        p->peer = peer;
        HASH_ADD(hh, t->peers, peer, sizeof(p->peer), p);
    }
    if (p->n == RPC_PEER_TOKENS_MAX)
        return false;
    p->n++;
    return true;
}

static void count_down(struct rpc_tokens *t, uint32_t peer)
{
    struct rpc_peer_count *p = count_of(t, peer);

    if (--p->n > 0)
        return;
    HASH_DEL(t->peers, p); /* NOLINT(clang-analyzer-core.NullDereference): p is in the table */
    free(p);
}

static uint32_t free_slot(struct rpc_tokens *t)
{
    if (t->unused.n > 0)
        return t->unused.v[--t->unused.n];
    (void)vec_push(&t->slots);
    return (uint32_t)t->slots.n - 1;
}

uint64_t rpc_tokens_take(struct rpc_tokens *t, const struct rpc_pending *p)
{
    struct rpc_slot *s;
    uint32_t i;

    if ((t->unused.n == 0 && t->slots.n == RPC_TOKENS_MAX) || !count_up(t, p->peer))
        return 0;
    i = free_slot(t);
    s = &t->slots.v[i];
    s->generation++;
    s->pending = *p;
    return (uint64_t)s->generation << 32 | i;
}

static void release(struct rpc_tokens *t, uint32_t i)
{
    count_down(t, t->slots.v[i].pending.peer);
    t->slots.v[i].generation++;
    *vec_push(&t->unused) = i;
}

bool rpc_tokens_give(struct rpc_tokens *t, uint64_t token, struct rpc_pending *ret)
{
    uint32_t i = (uint32_t)token, generation = (uint32_t)(token >> 32);

    if (i >= t->slots.n || generation % 2 == 0 || t->slots.v[i].generation != generation)
        return false;
    *ret = t->slots.v[i].pending;
    release(t, i);
    return true;
}

usec_t rpc_tokens_expire(struct rpc_tokens *t, usec_t now)
{
    if (now < t->next_sweep)
        return t->next_sweep;
    for (uint32_t i = 0; i < t->slots.n; i++)
        if (t->slots.v[i].generation % 2 == 1 && t->slots.v[i].pending.expire_at <= now)
            release(t, i);
    t->next_sweep = now + USEC_PER_SEC;
    return t->peers ? t->next_sweep : INT64_MAX;
}
