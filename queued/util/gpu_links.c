/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_links.c - what follows from a pair matrix: link classes, cliques, contiguous sets.
 *
 * Sets are bit masks of at most 16 GPUs and all of them are looked at: 65,536 at the most.
 * Reading the text is gpu_links_text.c.
 */
#include "util/gpu_links.h"

#include <stdio.h>
#include <string.h>

#include "util/gpu_links_text.h"

static enum link_class class_of(uint16_t distance)
{
    return distance < LINK_FAR ? LINK_NV : (enum link_class)(distance - LINK_FAR);
}

const char *gpu_link_text(char buf[LINK_TEXT_MAX], uint16_t distance)
{
    if (distance && distance < LINK_FAR)
        (void)snprintf(buf, LINK_TEXT_MAX, "NV%u", (unsigned)(LINK_FAR - distance));
    else
        (void)snprintf(buf, LINK_TEXT_MAX, "%s", distance ? link_words[distance - LINK_FAR] : "-");
    return buf;
}

const char *gpu_link_class_text(enum link_class c)
{
    return link_words[c];
}

/* The GPUs that each one reaches directly by links of a class or a nearer one. */
static void neighbours(const struct gpu_links *x, enum link_class farthest,
                       uint32_t ret[LINK_GPUS_MAX])
{
    memset(ret, 0, LINK_GPUS_MAX * sizeof(ret[0]));
    for (uint32_t i = 0; i < x->n_gpus; i++)
        for (uint32_t k = 0; k < x->n_gpus; k++)
            if (i == k || class_of(x->distance[i][k]) <= farthest)
                ret[i] |= 1u << k;
}

static uint32_t lowest(uint32_t mask)
{
    return (uint32_t)__builtin_ctz(mask);
}

static uint32_t count(uint32_t mask)
{
    return (uint32_t)__builtin_popcount(mask);
}

/* What of mask the first GPU of it reaches inside mask. */
static uint32_t reached(uint32_t mask, const uint32_t *near)
{
    uint32_t seen = mask & -mask, todo = seen;

    while (todo) {
        uint32_t more = near[lowest(todo)] & mask & ~seen;

        todo = (todo & (todo - 1)) | more;
        seen |= more;
    }
    return seen;
}

static uint32_t largest_component(uint32_t n, const uint32_t *near)
{
    uint32_t left = (1u << n) - 1, max = 0;

    while (left) {
        uint32_t part = reached(left, near);

        left &= ~part;
        if (count(part) > max)
            max = count(part);
    }
    return max;
}

static bool is_clique(uint32_t mask, const uint32_t *near)
{
    for (uint32_t left = mask; left; left &= left - 1)
        if (mask & ~near[lowest(left)])
            return false;
    return true;
}

struct set_score {
    uint32_t sum;
    uint16_t farthest;
};

static struct set_score score_of(const struct gpu_links *x, uint32_t mask)
{
    struct set_score s = {0};

    for (uint32_t a = mask; a; a &= a - 1)
        for (uint32_t b = a & (a - 1); b; b &= b - 1) {
            uint16_t d = x->distance[lowest(a)][lowest(b)];

            s.sum += d;
            s.farthest = d > s.farthest ? d : s.farthest;
        }
    return s;
}

/* Of two sets of one size: does a hold the lower numbers? */
static bool is_lower(uint32_t a, uint32_t b)
{
    return a != b && (a & (1u << lowest(a ^ b)));
}

static bool is_better(const struct set_score *a, uint32_t mask, const struct set_score *b,
                      uint32_t than)
{
    if (!than)
        return true;
    if (a->farthest != b->farthest)
        return a->farthest < b->farthest;
    return a->sum != b->sum ? a->sum < b->sum : is_lower(mask, than);
}

static void find_sets(const struct gpu_links *x, uint32_t near[LINK_N][LINK_GPUS_MAX],
                      struct gpu_link_facts *f)
{
    struct set_score best[LINK_GPUS_MAX + 1] = {{0}};

    for (uint32_t mask = 1; mask < 1u << x->n_gpus; mask++) {
        uint32_t k = count(mask);
        struct gpu_set *set = &f->sets[k];
        struct set_score s;

        if (k > f->clique && is_clique(mask, near[LINK_NV]))
            f->clique = k;
        if (reached(mask, near[set->linked]) != mask) {
            set->is_any_good = false;
            continue;
        }
        s = score_of(x, mask);
        if (is_better(&s, mask, &best[k], set->mask)) {
            best[k] = s;
            set->mask = mask;
            set->farthest = s.farthest;
        }
    }
}

static bool is_uniform(const struct gpu_links *x)
{
    for (uint32_t i = 0; i < x->n_gpus; i++)
        for (uint32_t k = i + 1; k < x->n_gpus; k++)
            if (x->distance[i][k] != x->distance[0][1])
                return false;
    return true;
}

void gpu_links_facts(const struct gpu_links *x, struct gpu_link_facts *ret)
{
    uint32_t near[LINK_N][LINK_GPUS_MAX], largest[LINK_N];

    memset(ret, 0, sizeof(*ret));
    ret->is_uniform = is_uniform(x);
    for (uint32_t i = 0; i < x->n_gpus; i++)
        for (uint32_t k = i + 1; k < x->n_gpus; k++) {
            uint16_t d = x->distance[i][k];

            if (!ret->best || d < ret->best)
                ret->best = d;
        }
    for (enum link_class c = LINK_NV; c < LINK_N; c++) {
        neighbours(x, c, near[c]);
        largest[c] = largest_component(x->n_gpus, near[c]);
    }
    ret->connected = largest[LINK_NV];
    for (uint32_t k = 1; k <= x->n_gpus; k++) {
        ret->sets[k].is_any_good = true;
        while (largest[ret->sets[k].linked] < k)
            ret->sets[k].linked++;
    }
    find_sets(x, near, ret);
}

uint32_t gpu_links_bad_picks(const struct gpu_links *x)
{
    struct gpu_link_facts f;
    uint32_t bad = 0;

    if (is_uniform(x))
        return 0; /* most hosts: no set has to be tried */
    gpu_links_facts(x, &f);
    for (uint32_t k = 1; k <= x->n_gpus; k++)
        if (!f.sets[k].is_any_good)
            bad |= 1u << k;
    return bad;
}
