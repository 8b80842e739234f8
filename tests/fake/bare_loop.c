/* SPDX-License-Identifier: Apache-2.0 */
/* bare_loop.c - see bare_loop.h; kept as plain as it is fast, as it is a measure and no product. */
#include "bare_loop.h"

#include <stdlib.h>

#include "util/mem.h"

static uint32_t free_on(const struct bare_loop *b, uint32_t host)
{
    uint16_t bit = (uint16_t)(1u << (host % BARE_HOSTS_A_RACK));
    uint32_t f = 0;

    while (!(b->hosts[host / BARE_HOSTS_A_RACK][f] & bit))
        f++;
    return f;
}

static void count(struct bare_domain *d, uint32_t f, uint32_t by)
{
    d->count[f] += by; /* wraps around for minus one */
    d->free_gpus += f * by;
}

static void count_all(struct bare_loop *b, uint32_t rack, uint32_t f, uint32_t by)
{
    count(&b->racks[rack], f, by);
    count(&b->blocks[rack / BARE_RACKS_A_BLOCK], f, by);
    count(&b->all, f, by);
}

static void move(struct bare_loop *b, uint32_t host, uint32_t from, uint32_t to)
{
    uint32_t rack = host / BARE_HOSTS_A_RACK;
    uint16_t bit = (uint16_t)(1u << (host % BARE_HOSTS_A_RACK));

    b->hosts[rack][from] = (uint16_t)(b->hosts[rack][from] & ~bit);
    b->hosts[rack][to] = (uint16_t)(b->hosts[rack][to] | bit);
    count_all(b, rack, from, UINT32_MAX);
    count_all(b, rack, to, 1);
}

void bare_loop_init(struct bare_loop *b, uint32_t hosts)
{
    b->n_racks = (hosts + BARE_HOSTS_A_RACK - 1) / BARE_HOSTS_A_RACK;
    b->n_blocks = (b->n_racks + BARE_RACKS_A_BLOCK - 1) / BARE_RACKS_A_BLOCK;
    b->racks = xcalloc(b->n_racks, sizeof(*b->racks));
    b->blocks = xcalloc(b->n_blocks, sizeof(*b->blocks));
    b->hosts = xcalloc(b->n_racks, sizeof(*b->hosts));
    b->all = (struct bare_domain){0};
    for (uint32_t r = 0; r < b->n_racks; r++) {
        b->hosts[r][BARE_GPUS] = UINT16_MAX;
        for (uint32_t i = 0; i < BARE_HOSTS_A_RACK; i++)
            count_all(b, r, BARE_GPUS, 1);
    }
}

void bare_loop_fini(struct bare_loop *b)
{
    free(b->racks);
    free(b->blocks);
    free(b->hosts);
}

static uint32_t slots(const struct bare_domain *d, uint32_t gpus)
{
    uint32_t sum = 0;

    for (uint32_t f = gpus; f <= BARE_GPUS; f++)
        sum += d->count[f] * (f / gpus);
    return sum;
}

/* The domain with the fewest free GPUs that has the slots; n: none. */
static uint32_t best_fit(const struct bare_domain *v, uint32_t n, uint32_t pods, uint32_t gpus)
{
    uint32_t best = n;

    for (uint32_t i = 0; i < n; i++)
        if ((best == n || v[i].free_gpus < v[best].free_gpus) && v[i].free_gpus >= pods * gpus &&
            slots(&v[i], gpus) >= pods)
            best = i;
    return best;
}

struct bare_gang {
    uint32_t pods, gpus, n_parts;
    struct bare_part *parts;
};

/* As many pods as go into a rack, fullest hosts first. */
static void fill_rack(struct bare_loop *b, uint32_t rack, struct bare_gang *g)
{
    for (uint32_t f = g->gpus; f <= BARE_GPUS && g->pods; f++) {
        while (b->hosts[rack][f] && g->pods) {
            uint32_t host = rack * BARE_HOSTS_A_RACK + (uint32_t)__builtin_ctz(b->hosts[rack][f]);
            uint32_t pods = f / g->gpus < g->pods ? f / g->gpus : g->pods;

            move(b, host, f, f - pods * g->gpus);
            g->parts[g->n_parts++] = (struct bare_part){host, pods * g->gpus};
            g->pods -= pods;
        }
    }
}

static void fill_block(struct bare_loop *b, uint32_t block, struct bare_gang *g)
{
    uint32_t end = (block + 1) * BARE_RACKS_A_BLOCK;

    for (uint32_t r = block * BARE_RACKS_A_BLOCK; r < end && r < b->n_racks && g->pods; r++)
        fill_rack(b, r, g);
}

uint32_t bare_loop_place(struct bare_loop *b, uint32_t pods, uint32_t gpus, struct bare_part *ret)
{
    struct bare_gang g = {.pods = pods, .gpus = gpus, .parts = ret};
    uint32_t rack, block;

    if (slots(&b->all, gpus) < pods)
        return 0;
    rack = best_fit(b->racks, b->n_racks, pods, gpus);
    if (rack < b->n_racks) {
        fill_rack(b, rack, &g);
        return g.n_parts;
    }
    block = best_fit(b->blocks, b->n_blocks, pods, gpus);
    if (block < b->n_blocks)
        fill_block(b, block, &g);
    for (block = 0; g.pods; block++)
        fill_block(b, block, &g);
    return g.n_parts;
}

void bare_loop_release(struct bare_loop *b, const struct bare_part *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t f = free_on(b, parts[i].host);

        move(b, parts[i].host, f, f + parts[i].gpus);
    }
}
