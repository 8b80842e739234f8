/* SPDX-License-Identifier: Apache-2.0 */
/* prop_gpu_links.c - sets of GPUs against brute force that shares no code: pairs are relaxed until
 * nothing changes, all subsets are compared one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/gpu_links.h"
#include "util/mem.h"
#include "util/str.h"

#include "../sim/rng.h"

enum { SEEDS = 400, BIG_SEEDS = 3 };

static const char *const cells[] = {"NV12", "NV2", "NV1",  "PSB", "PIX",
                                    "PXB",  "PHB", "NODE", "SYS"};

struct host {
    uint32_t n;
    int cell[LINK_GPUS_MAX][LINK_GPUS_MAX]; /* index of cells */
};

/* NV# counts as one class. */
static bool is_link(const struct host *h, uint32_t i, uint32_t k, int class)
{
    return i != k && (h->cell[i][k] < 3 ? 0 : h->cell[i][k] - 2) <= class;
}

/* One round over all pairs: what is seen spreads inside mask; true when something was new. */
static bool spread(const struct host *h, uint32_t mask, int class, bool *seen)
{
    bool is_changed = false;

    for (uint32_t pair = 0; pair < h->n * h->n; pair++) {
        uint32_t i = pair / h->n, k = pair % h->n;

        if ((mask >> i & 1) && (mask >> k & 1) && seen[i] && !seen[k] && is_link(h, i, k, class))
            seen[k] = is_changed = true;
    }
    return is_changed;
}

static bool is_connected(const struct host *h, uint32_t mask, int class)
{
    bool seen[LINK_GPUS_MAX] = {false};
    uint32_t first = 0;

    while (!(mask >> first & 1))
        first++;
    seen[first] = true;
    while (spread(h, mask, class, seen))
        ;
    for (uint32_t i = 0; i < h->n; i++)
        if ((mask >> i & 1) && !seen[i])
            return false;
    return true;
}

static int worst(const struct host *h, uint32_t mask)
{
    int w = -1;

    for (uint32_t i = 0; i < h->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if ((mask >> i & 1) && (mask >> k & 1) && h->cell[i][k] > w)
                w = h->cell[i][k];
    return w;
}

static struct host some_host(struct rng *g, uint32_t n)
{
    struct host h = {.n = n};
    uint32_t kinds = 1 + rng_below(g, ARRAY_LEN(cells));

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            h.cell[i][k] = h.cell[k][i] =
                rng_one_in(g, 3) ? (int)rng_below(g, kinds) : (int)ARRAY_LEN(cells) - 1;
    return h;
}

static void read_host(const struct host *h, struct gpu_links *ret)
{
    struct str s = {0};
    struct err err = {0};

    for (uint32_t i = 0; i < h->n; i++)
        str_addf(&s, "\tGPU%u", i);
    for (uint32_t i = 0; i < h->n; i++) {
        str_addf(&s, "\nGPU%u", i);
        for (uint32_t k = 0; k < h->n; k++)
            str_addf(&s, "\t%s", i == k ? " X " : cells[h->cell[i][k]]);
    }
    if (gpu_links_parse(str_text(&s), s.len, ret, &err))
        fail_msg("%s\n%s", err.text, str_text(&s));
    str_fini(&s);
}

static void check_size(const struct host *h, const struct gpu_link_facts *f, uint32_t k)
{
    const struct gpu_set *set = &f->sets[k];
    int class = LINK_N, least = 99;
    bool all = true;

    for (uint32_t mask = 1; mask < 1u << h->n; mask++)
        for (int c = 0; c < class && (uint32_t)__builtin_popcount(mask) == k; c++)
            if (is_connected(h, mask, c))
                class = c;
    for (uint32_t mask = 1; mask < 1u << h->n; mask++) {
        if ((uint32_t)__builtin_popcount(mask) != k)
            continue;
        if (!is_connected(h, mask, class))
            all = false;
        else if (worst(h, mask) < least)
            least = worst(h, mask);
    }
    assert_int_equal(set->linked, class);
    assert_int_equal(set->is_any_good, all);
    assert_int_equal(__builtin_popcount(set->mask), k);
    assert_true(is_connected(h, set->mask, class));
    assert_int_equal(worst(h, set->mask), least);
}

static void check_host(struct rng *g, uint32_t n)
{
    struct host h = some_host(g, n);
    struct gpu_links x;
    struct gpu_link_facts f;
    uint32_t clique = 1, connected = 1;

    read_host(&h, &x);
    gpu_links_facts(&x, &f);
    for (uint32_t mask = 1; mask < 1u << n; mask++) {
        uint32_t k = (uint32_t)__builtin_popcount(mask);

        if (k > clique && worst(&h, mask) < 3)
            clique = k;
        if (k > connected && is_connected(&h, mask, 0))
            connected = k;
    }
    assert_int_equal(f.clique, clique);
    assert_int_equal(f.connected, connected);
    for (uint32_t k = 1; k <= n; k++)
        check_size(&h, &f, k);
}

static void sets_are_those_of_brute_force(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        check_host(&(struct rng){seed}, 1 + (uint32_t)(seed % 7));
    for (uint64_t seed = 1; seed <= BIG_SEEDS; seed++)
        check_host(&(struct rng){seed}, 10);
}

static void sixteen_gpus_are_enough_and_no_more(void **state)
{
    struct host h = some_host(&(struct rng){7}, LINK_GPUS_MAX);
    struct gpu_links x;
    struct gpu_link_facts f;

    (void)state;
    read_host(&h, &x);
    gpu_links_facts(&x, &f);
    assert_int_equal(f.sets[LINK_GPUS_MAX].mask, 0xffff);
    assert_true(f.sets[2].farthest == f.best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_those_of_brute_force),
        cmocka_unit_test(sixteen_gpus_are_enough_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
