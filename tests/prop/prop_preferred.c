/* SPDX-License-Identifier: Apache-2.0 */
/* prop_preferred.c - what a gang prefers never costs it its place nor its topology, and is given to
 * it where the preferred hosts alone, named one by one, would do as well.
 *
 * Without the term of packing, so that the cheapest candidate wins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/score.h"

#include "../fake/fake_site.h"
#include "../fake/place_fixture.h"
#include "../sim/rng.h"

enum { SEEDS = 1500, NODES = 12, WEIGHT_DISK = 60, WEIGHT_NET = 40 };

struct look {
    struct place_fixture *f;
    struct rng rng;
    uint32_t likes[NODES]; /* by node_ix, 0..1000 */
    uint32_t pods, gpus;
    const char *required;
};

static void add_nodes(struct look *k)
{
    char name[8], rack[4];

    for (uint32_t i = 0; i < NODES; i++) {
        bool has_disk = rng_one_in(&k->rng, 3), has_net = rng_one_in(&k->rng, 3);
        struct node_fact *fact;

        (void)snprintf(name, sizeof(name), "n%02u", i);
        (void)snprintf(rack, sizeof(rack), "r%u", (unsigned)rng_below(&k->rng, 4));
        fact = site_node(name, rng_one_in(&k->rng, 2) ? "b0" : "b1", rack, SITE_H100, 8);
        if (has_disk)
            site_node_label(fact, "disk", "ssd");
        if (has_net)
            site_node_label(fact, "net", "fast");
        k->likes[cluster_node_seen(&k->f->cluster, fact)->ix] =
            (has_disk ? WEIGHT_DISK * 10U : 0U) + (has_net ? WEIGHT_NET * 10U : 0U);
        place_take(k->f, name, rng_below(&k->rng, 9));
    }
}

static struct spec *wish(const struct look *k)
{
    struct spec *s = site_spec("job", k->pods, k->gpus);

    s->topology_required = k->required;
    return s;
}

/* The cost of where it goes, and how much it likes the worst of its hosts; 0: nowhere. */
static uint64_t placed(struct look *k, struct spec *s, uint32_t *ret_likes)
{
    struct demand *d = demand_of(&k->f->cluster, &k->f->demands, s);
    uint32_t hosts[NODES * 8];
    struct score score = {0};

    *ret_likes = 1000;
    if (place_spec(k->f, s)) {
        for (uint32_t i = 0; i < k->pods; i++) {
            hosts[i] = k->f->result.members[i].node_ix;
            if (k->likes[hosts[i]] < *ret_likes)
                *ret_likes = k->likes[hosts[i]];
        }
        score_cost(&k->f->cluster, d, hosts, k->pods, &score);
    }
    demand_release(&k->f->cluster, &k->f->demands, d);
    return score.cost;
}

static struct spec *preferring(const struct look *k)
{
    struct spec *s = wish(k);
    struct spec_role *r = &s->roles[0];

    r->n_affinity = 2;
    r->affinity = arena_alloc(&s->arena, 2 * sizeof(*r->affinity));
    r->affinity[0] = (struct spec_match){1, WEIGHT_DISK, "disk", "Exists", {NULL, 0}};
    r->affinity[1] = (struct spec_match){2, WEIGHT_NET, "net", "Exists", {NULL, 0}};
    return s;
}

static struct spec *naming(const struct look *k, uint32_t least)
{
    struct spec *s = wish(k);
    struct spec_role *r = &s->roles[0];

    r->nodes.v = arena_alloc(&s->arena, NODES * sizeof(*r->nodes.v));
    for (uint32_t ix = 0; ix < NODES; ix++)
        if (k->likes[ix] >= least)
            r->nodes.v[r->nodes.n++] =
                arena_strdup(&s->arena, cluster_node(&k->f->cluster, ix)->name);
    if (!r->nodes.n)
        r->nodes.v[r->nodes.n++] = "none";
    return s;
}

static void one(void **state, uint64_t seed, uint32_t *ret_moved)
{
    static const char *const levels[] = {NULL, NULL, "block", "rack"};
    static const uint32_t likings[] = {1000, WEIGHT_DISK * 10, WEIGHT_NET * 10};
    struct look k = {.f = *state};
    uint32_t plain_likes, likes, any;
    uint64_t plain, cost;

    k.rng.s = seed;
    k.f->settings.weight_topology = 1000;
    k.f->settings.weight_packing = 0;
    add_nodes(&k);
    k.pods = 1 + rng_below(&k.rng, 4);
    k.gpus = 1 + rng_below(&k.rng, 8);
    k.required = levels[rng_below(&k.rng, 4)];
    plain = placed(&k, wish(&k), &plain_likes);
    cost = placed(&k, preferring(&k), &likes);
    if (!plain != !cost || cost > plain)
        fail_msg("seed %llu: cost %llu, without preference %llu", (unsigned long long)seed,
                 (unsigned long long)cost, (unsigned long long)plain);
    for (size_t i = 0; i < 3 && plain; i++) {
        uint64_t named = placed(&k, naming(&k, likings[i]), &any);

        if (named && named <= plain && likes < likings[i])
            fail_msg("seed %llu: hosts liked %u, where some liked %u would do",
                     (unsigned long long)seed, likes, likings[i]);
    }
    *ret_moved += plain && likes > plain_likes;
}

static void preferred_hosts_are_taken_where_they_do_as_well(void **state)
{
    uint32_t moved = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        void *f = NULL;

        assert_int_equal(place_set_up(&f), 0);
        one(&f, seed, &moved);
        assert_int_equal(place_tear_down(&f), 0);
    }
    assert_in_range(moved, SEEDS / 10, SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preferred_hosts_are_taken_where_they_do_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
