/* SPDX-License-Identifier: Apache-2.0 */
/* prop_decide.c - where a gang goes, against a scheduler without tables.
 *
 * It knows nodes, their labels and what is free on them, looks at all of them for every question,
 * and follows contracts.md 7 and scheduling.md 2 in the plainest way: of each level from the host
 * up the two tightest domains in which the gang fits, the best score, the first in a tie. Both must
 * choose the same hosts and count the same score.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/place.h"
#include "core/score.h"

#include "../fake/fake_site.h"
#include "../fake/plain_fill.h"
#include "../sim/rng.h"

/* Newest first. */
static const char *const drivers[] = {"550.54.15", "550.54.9", "535.9", NULL};

enum { SEEDS = 3000 };

struct look {
    struct rng rng;
    struct settings settings;
    struct cluster cluster;
    struct demand *demands, *d;
    struct plain_host hosts[PLAIN_HOSTS_MAX];
    uint32_t n;
    bool on_empty;
    bool any_skew;      /* of roles whose spread is soft */
    const char *driver; /* that every host must have; NULL: any */
    uint32_t excluded[JOB_EXCLUDED_MAX];
    /* the best so far */
    bool is_found;
    uint64_t cost;
    uint32_t topology, packing, score;
    uint32_t best[PLAIN_ROLES][PLAIN_HOSTS_MAX];
    uint64_t empty_cost;
};

/* Domains in the order of their paths, hosts of a domain itself behind those below it, by name. */
static int by_path(const void *a, const void *b)
{
    const struct plain_host *x = a, *y = b;

    for (uint32_t l = 0; l < PLAIN_LEVELS; l++) {
        if (!x->label[l] != !y->label[l])
            return x->label[l] ? -1 : 1;
        if (x->label[l] && strcmp(x->label[l], y->label[l]) != 0)
            return strcmp(x->label[l], y->label[l]);
    }
    return strcmp(x->n->name, y->n->name);
}

static int64_t asks(const struct look *k, uint32_t role)
{
    return k->d->roles[role].each.amount[RES_GPUS];
}

/* ---- spreading a role */

/* Equal text: one group; false: the host is in none. */
static bool group_of(const struct look *k, uint32_t role, const struct plain_host *h, char buf[64])
{
    const char *key = k->d->roles[role].spread.key;
    uint32_t level = strcmp(key, "rack") == 0;

    if (strcmp(key, "host") == 0)
        (void)snprintf(buf, 64, "%s", h->n->name);
    else if (strchr(key, '/'))
        (void)snprintf(buf, 64, "%s", h->label[1] ? h->label[1] : "");
    else
        (void)plain_path(h, level, buf);
    return strcmp(key, "host") == 0 || h->label[strchr(key, '/') ? 1 : level];
}

/* The first of these hosts that is of the same group; groups may be without a name. */
static uint32_t first_of_group(const struct look *k, uint32_t role, struct plain_host *const *v,
                               uint32_t i)
{
    char a[64] = "", b[64] = "";
    bool has_a = group_of(k, role, v[i], a);

    for (uint32_t o = 0; o < i; o++)
        if (v[o]->slots && group_of(k, role, v[o], b) == has_a && (!has_a || strcmp(a, b) == 0))
            return o;
    return i;
}

static bool holds_skew(const struct look *k, uint32_t role, struct plain_host *const *v, uint32_t n,
                       const uint32_t *pods)
{
    uint32_t most = 0, fewest = UINT32_MAX;

    for (uint32_t i = 0; i < n; i++)
        most = pods[i] > most ? pods[i] : most;
    for (uint32_t i = 0; i < k->n; i++) {
        const struct plain_host *h = &k->hosts[i];
        uint32_t has = 0;
        char a[64], b[64];

        if (h->n->model != SITE_H100 || !group_of(k, role, h, a))
            continue;
        if (k->driver && k->d->roles[role].same_driver && strcmp(h->driver, k->driver) != 0)
            continue;
        if (k->d->roles[role].is_alone && h->total != asks(k, role))
            continue;
        if (k->d->required < PLAIN_LEVELS && !plain_is_same(h, v[0], k->d->required))
            continue;
        if (k->d->required == PLAIN_LEVELS && h != v[0])
            continue;
        for (uint32_t o = 0; o < n; o++)
            has += group_of(k, role, v[o], b) && strcmp(a, b) == 0 ? pods[o] : 0;
        fewest = has < fewest ? has : fewest;
    }
    return most - fewest <= k->d->roles[role].spread.max_skew;
}

/* A pod at a time to the group with the fewest, of these the fullest, the first; then each group
 * by itself. pods stands at the first host of each group. */
static bool fill_spread(const struct look *k, struct plain_host **v, uint32_t n, uint32_t level,
                        uint32_t role)
{
    const struct spread *s = &k->d->roles[role].spread;
    bool any = k->any_skew && s->is_soft;
    uint32_t pods[PLAIN_HOSTS_MAX] = {0}, room[PLAIN_HOSTS_MAX] = {0}, of[PLAIN_HOSTS_MAX],
             slots[PLAIN_HOSTS_MAX];
    int64_t free[PLAIN_HOSTS_MAX] = {0};
    char text[64];

    for (uint32_t i = 0; i < n; i++) {
        of[i] = PLAIN_HOSTS_MAX;
        slots[i] = v[i]->slots;
        if (!v[i]->slots || (!any && !group_of(k, role, v[i], text)))
            continue;
        of[i] = first_of_group(k, role, v, i);
        room[of[i]] += v[i]->slots;
        free[of[i]] += v[i]->free;
    }
    for (uint32_t left = k->d->roles[role].replicas; left; left--) {
        uint32_t best = PLAIN_HOSTS_MAX;

        for (uint32_t i = 0; i < n; i++)
            if (pods[i] < room[i] && (best == PLAIN_HOSTS_MAX || pods[i] < pods[best] ||
                                      (pods[i] == pods[best] && free[i] < free[best])))
                best = i;
        if (best == PLAIN_HOSTS_MAX)
            return false;
        pods[best]++;
    }
    if (!any && !holds_skew(k, role, v, n, pods))
        return false;
    for (uint32_t g = 0; g < n; g++) {
        struct plain_host *run[PLAIN_HOSTS_MAX];
        uint32_t last = g;

        for (uint32_t i = 0; i < n; i++) {
            v[i]->slots = of[i] == g ? slots[i] : 0;
            last = of[i] == g ? i : last;
        }
        memcpy(run, &v[g], (last - g + 1) * sizeof(run[0]));
        if (pods[g])
            plain_fill(run, last - g + 1, level, role, pods[g]);
    }
    return true;
}

static bool is_open(const struct look *k, const struct plain_host *h)
{
    return h->n->is_usable && !place_excludes(k->on_empty ? NULL : k->excluded, h->n->ix);
}

/* A pod that is to be alone takes a node on which nothing runs, and all GPUs of it. */
static bool keeps_apart(const struct look *k, uint32_t role, const struct plain_host *h)
{
    uint32_t others = 0;

    for (uint32_t r = 0; r < k->d->n_roles; r++) {
        if (r != role && h->put[r] && k->d->roles[r].is_alone)
            return false;
        others += h->put[r];
    }
    if (!k->d->roles[role].is_alone)
        return true;
    return h->total == asks(k, role) && others == 0 &&
           (k->on_empty || h->n->used.amount[RES_ALONE] == 0);
}

/* All roles, that with the most GPUs first; false: one does not fit. */
static bool fill_roles(struct look *k, struct plain_host **of, uint32_t n_of, uint32_t level)
{
    struct plain_host *v[PLAIN_HOSTS_MAX];
    uint32_t first = k->d->n_roles > 1 && asks(k, 1) > asks(k, 0), n = 0;

    for (uint32_t i = 0; i < n_of; i++)
        if (is_open(k, of[i]))
            v[n++] = of[i];
    for (uint32_t i = 0; i < k->n; i++)
        memset(k->hosts[i].put, 0, sizeof(k->hosts[i].put));
    for (uint32_t turn = 0; turn < k->d->n_roles; turn++) {
        uint32_t role = turn ? !first : first, slots = 0;
        struct plain_host *run[PLAIN_HOSTS_MAX];

        memcpy(run, v, n * sizeof(struct plain_host *));
        for (uint32_t i = 0; i < n; i++) {
            struct plain_host *h = v[i];

            h->free = k->on_empty ? h->total : node_free_gpus(h->n);
            for (uint32_t r = 0; r < k->d->n_roles; r++)
                h->free -= (int64_t)h->put[r] * asks(k, r);
            h->slots = h->n->model == SITE_H100 ? (uint32_t)(h->free / asks(k, role)) : 0;
            if (k->driver && k->d->roles[role].same_driver && strcmp(h->driver, k->driver) != 0)
                h->slots = 0;
            if (!keeps_apart(k, role, h))
                h->slots = 0;
            if (h->slots > k->d->roles[role].replicas)
                h->slots = k->d->roles[role].replicas;
            slots += h->slots;
        }
        if (slots < k->d->roles[role].replicas)
            return false;
        if (!k->d->roles[role].spread.key)
            plain_fill(run, n, level, role, k->d->roles[role].replicas);
        else if (!fill_spread(k, v, n, level, role))
            return false;
    }
    return true;
}

/* ---- the score of what the hosts were given */

static int64_t gpus_put(const struct look *k, const struct plain_host *h)
{
    return h->put[0] * asks(k, 0) + (k->d->n_roles > 1 ? h->put[1] * asks(k, 1) : 0);
}

static uint64_t cost_of(const struct look *k)
{
    uint64_t cost = 1000;
    uint32_t hosts = 0;

    for (uint32_t i = 0; i < k->n; i++)
        hosts += gpus_put(k, &k->hosts[i]) > 0;
    cost += 100 * (uint64_t)(hosts - 1);
    for (uint32_t l = 0; l < PLAIN_LEVELS; l++) {
        uint32_t domains = 0;

        for (uint32_t i = 0; i < k->n; i++) {
            bool is_new = gpus_put(k, &k->hosts[i]) > 0;

            for (uint32_t o = 0; o < i; o++)
                is_new = is_new && !(gpus_put(k, &k->hosts[o]) > 0 &&
                                     plain_is_same(&k->hosts[o], &k->hosts[i], l));
            domains += is_new;
        }
        cost += (uint64_t)k->settings.hierarchies[0].levels[l].cost * (domains - 1);
    }
    return cost;
}

static void judge(struct look *k)
{
    uint64_t cost = cost_of(k), best = k->empty_cost && k->empty_cost < cost ? k->empty_cost : cost;
    uint32_t topology = (uint32_t)(best * 1000 / cost), packing, score;
    int64_t used = 0, total = 0;

    for (uint32_t i = 0; i < k->n; i++) {
        const struct plain_host *h = &k->hosts[i];

        if (gpus_put(k, h) == 0)
            continue;
        used += (k->on_empty ? 0 : h->n->used.amount[RES_GPUS]) + gpus_put(k, h);
        total += h->total;
    }
    packing = total ? (uint32_t)(used * 1000 / total) : 0; /* a gang has GPUs */
    score = (topology * 800 + packing * 200) / 1000;
    if (k->is_found && (k->on_empty ? cost >= k->cost : score <= k->score))
        return;
    k->is_found = true;
    k->cost = cost;
    k->topology = topology;
    k->packing = packing;
    k->score = score;
    for (uint32_t i = 0; i < k->n; i++)
        for (uint32_t r = 0; r < PLAIN_ROLES; r++)
            k->best[r][i] = k->hosts[i].put[r];
}

/* ---- the domains of a level */

struct domain_seen {
    struct plain_host *v[PLAIN_HOSTS_MAX];
    uint32_t n, order;
    int64_t free, around;
};

static int64_t free_on(const struct look *k, const struct plain_host *h)
{
    return !k->on_empty && h->n->is_usable && h->n->model == SITE_H100 ? node_free_gpus(h->n) : 0;
}

/* Free GPUs of the narrowest domain above a level that the host is in. */
static int64_t around(const struct look *k, const struct plain_host *h, uint32_t level)
{
    int64_t sum = 0;

    while (level > 0 && !h->label[level - 1])
        level--;
    for (uint32_t i = 0; i < k->n && level > 0; i++)
        sum += plain_is_same(h, &k->hosts[i], level - 1) ? free_on(k, &k->hosts[i]) : 0;
    return sum;
}

static int by_fit(const void *a, const void *b)
{
    const struct domain_seen *x = a, *y = b;

    if (x->free != y->free)
        return x->free < y->free ? -1 : 1;
    if (x->around != y->around)
        return x->around < y->around ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static uint32_t position_by_name(const struct look *k, const struct plain_host *h)
{
    uint32_t before = 0;

    for (uint32_t i = 0; i < k->n; i++)
        before += strcmp(k->hosts[i].n->name, h->n->name) < 0;
    return before;
}

/* level PLAIN_LEVELS: each host is one. */
static uint32_t list_domains(struct look *k, uint32_t level, struct domain_seen *ret)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < k->n; i++) {
        struct plain_host *h = &k->hosts[i];
        struct domain_seen *d = n ? &ret[n - 1] : NULL;

        if (k->d->required < PLAIN_LEVELS && !h->label[k->d->required])
            continue;
        if (level < PLAIN_LEVELS && !h->label[level])
            continue;
        if (level == PLAIN_LEVELS || !d || !plain_is_same(d->v[0], h, level)) {
            d = &ret[n++];
            *d = (struct domain_seen){.order = level == PLAIN_LEVELS ? position_by_name(k, h) : n,
                                      .around = around(k, h, level)};
        }
        d->v[d->n++] = h;
        d->free +=
            level == PLAIN_LEVELS ? (k->on_empty ? h->total : node_free_gpus(h->n)) : free_on(k, h);
    }
    return n;
}

static bool try_level(struct look *k, uint32_t level)
{
    struct domain_seen seen[PLAIN_HOSTS_MAX];
    uint32_t n = list_domains(k, level, seen), fits = 0;

    qsort(seen, n, sizeof(seen[0]), by_fit);
    for (uint32_t i = 0; i < n && fits < 2; i++) {
        if (!fill_roles(k, seen[i].v, seen[i].n, level < PLAIN_LEVELS ? level + 1 : PLAIN_LEVELS))
            continue;
        judge(k);
        fits++;
    }
    return fits > 0;
}

static void look_at_levels(struct look *k)
{
    struct plain_host *all[PLAIN_HOSTS_MAX];

    if (k->any_skew && k->d->required != IX_NONE)
        (void)try_level(k, k->d->required);
    for (uint32_t l = PLAIN_LEVELS + 1;
         !k->any_skew && l-- > (k->d->required == IX_NONE ? 0 : k->d->required);)
        if (try_level(k, l) && k->d->preferred != IX_NONE && l >= k->d->preferred)
            return;
    for (uint32_t i = 0; i < k->n; i++)
        all[i] = &k->hosts[i];
    if (k->d->required == IX_NONE && fill_roles(k, all, k->n, 0))
        judge(k);
}

/* Under each driver by itself where a gang must have one, the newest first. */
static void look_at_drivers(struct look *k)
{
    k->driver = NULL;
    for (size_t i = 0; i < ARRAY_LEN(drivers) && k->d->same_driver; i++) {
        k->driver = drivers[i] ? drivers[i] : "";
        look_at_levels(k);
    }
    if (!k->driver)
        look_at_levels(k);
}

/* Where a soft spread cannot hold, as even as can be in the widest domain allowed. */
static bool look(struct look *k, bool on_empty)
{
    k->on_empty = on_empty;
    k->is_found = k->any_skew = false;
    look_at_drivers(k);
    k->any_skew = !k->is_found;
    if (k->d->has_soft_spread && k->any_skew)
        look_at_drivers(k);
    return k->is_found;
}

/* ---- trials */

static const char *some(struct rng *g, const char *const *of, uint32_t n)
{
    return rng_one_in(g, 7) ? NULL : of[rng_below(g, n)];
}

static void make_hosts(struct look *k)
{
    static const char *const blocks[] = {"b0", "b1"}, *const racks[] = {"r0", "r1", "r2"};

    uint32_t n_drivers = rng_below(&k->rng, ARRAY_LEN(drivers) + 1);

    k->n = 1 + rng_below(&k->rng, PLAIN_HOSTS_MAX);
    for (uint32_t i = 0; i < k->n; i++) {
        char name[8];
        struct resources held = {0};
        struct node_fact *f;
        int64_t gpus = rng_one_in(&k->rng, 5) ? 4 : 8;

        (void)snprintf(name, sizeof(name), "n%02u", (unsigned)(i * 5 % 17));
        f = site_node(name, some(&k->rng, blocks, 2), some(&k->rng, racks, 3),
                      rng_one_in(&k->rng, 6) ? SITE_H200 : SITE_H100, gpus);
        k->hosts[i].driver = "";
        if (n_drivers > 1)
            k->hosts[i].driver = drivers[rng_below(&k->rng, n_drivers)];
        k->hosts[i].driver = k->hosts[i].driver ? k->hosts[i].driver : "";
        if (*k->hosts[i].driver)
            site_node_label(f, "nvidia.com/cuda.driver-version.full", k->hosts[i].driver);
        f->is_cordoned = rng_one_in(&k->rng, 12);
        k->hosts[i].n = cluster_node_seen(&k->cluster, f);
        k->hosts[i].total = gpus;
        held.amount[RES_GPUS] = rng_one_in(&k->rng, 3) ? 0 : rng_between(&k->rng, 0, gpus);
        held.amount[RES_ALONE] = held.amount[RES_GPUS] || rng_one_in(&k->rng, 6);
        if (held.amount[RES_ALONE])
            cluster_hold(&k->cluster, k->hosts[i].n->ix, &held);
    }
    for (uint32_t i = 0; i < k->n; i++) {
        struct plain_host *h = &k->hosts[i];

        h->label[0] = node_label(h->n, "gang.queued/block");
        h->label[1] = node_label(h->n, "gang.queued/rack");
    }
    qsort(k->hosts, k->n, sizeof(k->hosts[0]), by_path);
}

static struct spec *make_spec(struct look *k, uint32_t n_roles)
{
    static const uint32_t gpus[] = {1, 1, 2, 3, 4, 8, 8};
    static const char *const levels[] = {NULL, NULL, "block", "rack", "host"};
    static const char *const spreads[] = {"rack", "block", "host", "gang.queued/rack"};
    uint32_t required = rng_below(&k->rng, 5), preferred = rng_below(&k->rng, 5);
    uint32_t each = gpus[rng_below(&k->rng, 7)];
    struct spec *s = site_spec("job", 1 + rng_below(&k->rng, 7), each);

    if (n_roles > 1) {
        each = gpus[rng_below(&k->rng, 7)];
        site_role(s, "second", 1 + rng_below(&k->rng, 3), each);
    }
    for (uint32_t r = 0; r < n_roles; r++) {
        s->roles[r].mixed_drivers = rng_one_in(&k->rng, 6);
        s->roles[r].is_exclusive = s->roles[r].gpus >= 4 && rng_one_in(&k->rng, 3);
        if (rng_one_in(&k->rng, 3))
            s->roles[r].spread = (struct spec_spread){
                spreads[rng_below(&k->rng, 4)], 1 + rng_below(&k->rng, 3), rng_one_in(&k->rng, 3)};
    }
    s->topology_required = levels[required];
    s->topology_preferred = preferred >= required ? levels[preferred] : NULL;
    return s;
}

static const char *compare(struct look *k, const struct place_result *r, bool fits)
{
    uint32_t at = 0;

    k->empty_cost = look(k, true) ? k->cost : 0;
    if (look(k, false) != fits)
        return fits ? "it would not fit" : "it would fit";
    if (!fits)
        return NULL;
    for (uint32_t role = 0; role < k->d->n_roles; role++)
        for (uint32_t i = 0; i < k->d->roles[role].replicas; i++, at++) {
            uint32_t h = 0;

            while (k->hosts[h].n->ix != r->members[at].node_ix)
                h++;
            if (k->best[role][h]-- == 0)
                return "other hosts are better";
        }
    return r->topology != k->topology || r->packing != k->packing || r->score != k->score
               ? "the score is another"
               : NULL;
}

static void trial(uint64_t seed, uint32_t *ret_placed)
{
    struct look *k = xcalloc(1, sizeof(*k));
    uint8_t models[JOB_ROLES_MAX];
    struct place_wish wish = {.models = models, .excluded = k->excluded};
    struct place_result r = {0};
    uint32_t n_roles = 1 + (uint32_t)(seed % PLAIN_ROLES);
    const char *broken;
    struct spec *spec;
    bool fits;

    k->rng = (struct rng){seed};
    memset(models, MODELS_MAX, sizeof(models));
    memset(models, SITE_H100, n_roles);
    site_settings_init(&k->settings);
    cluster_init(&k->cluster, &k->settings);
    make_hosts(k);
    for (int i = 0; i < JOB_EXCLUDED_MAX; i++)
        k->excluded[i] = i == 0 && rng_one_in(&k->rng, 4) ? rng_below(&k->rng, k->n) : IX_NONE;
    spec = make_spec(k, n_roles);
    wish.demand = k->d = demand_of(&k->cluster, &k->demands, spec);
    fits = place_gang(&k->cluster, &wish, &r);
    broken = compare(k, &r, fits);
    if (broken)
        fail_msg("seed %llu: %s", (unsigned long long)seed, broken);
    *ret_placed += fits;
    free(r.members);
    demand_release(&k->cluster, &k->demands, k->d);
    spec_destroy(spec);
    cluster_fini(&k->cluster);
    site_settings_fini(&k->settings);
    free(k);
}

static void a_gang_goes_where_one_that_looks_at_every_domain_and_host_would_put_it(void **state)
{
    uint32_t placed = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        trial(seed, &placed);
    assert_in_range(placed, SEEDS / 4, SEEDS * 9 / 10); /* both answers were tried */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_goes_where_one_that_looks_at_every_domain_and_host_would_put_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
