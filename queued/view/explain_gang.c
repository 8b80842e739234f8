/* SPDX-License-Identifier: Apache-2.0 */
/* explain_gang.c - what a gang needs as a whole: one driver, a spread, licences of the site. Each
 * role would fit by itself, the gang does not.
 */
#include <stdlib.h>

#include "cluster/cluster.h"
#include "cluster/hardware.h"
#include "core/licence.h"
#include "core/order.h"
#include "util/str.h"
#include "view/explain_say.h"

/* Pods of a role that fit now, by the driver of their hosts. */
static void slots_by_driver(const struct state *s, const struct demand_role *r, uint64_t *slots)
{
    const struct cluster *c = &s->cluster;
    struct resources asks, free_now;

    hardware_asks(r, &asks);
    for (size_t i = 0; i < c->by_name.n; i++) {
        const struct node *n = c->nodes.v[c->by_name.v[i]];

        if (!n->is_usable || !role_allows(r, n))
            continue;
        node_free(n, &free_now);
        slots[n->driver] += resources_times(&asks, &free_now, JOB_PODS_MAX);
    }
}

static bool say_drivers(const struct state *s, const struct demand_role *r, const uint64_t *slots,
                        struct explain *x)
{
    const struct cluster *c = &s->cluster;
    struct str b = {0};
    uint64_t best = 0;

    for (uint32_t d = cluster_older_driver(c, IX_NONE); d != IX_NONE;
         d = cluster_older_driver(c, d)) {
        const char *version = c->drivers.v[d].version;

        best = slots[d] > best ? slots[d] : best;
        if (slots[d])
            str_addf(&b, "%s%.40s for %llu", b.len ? ", " : "", *version ? version : "unknown",
                     (unsigned long long)slots[d]);
    }
    if (best < r->replicas) {
        say(x, "InsufficientGpus",
            "no GPU driver has room for all %u pods of role %s (%.200s), and a gang has one",
            r->replicas, r->name, str_text(&b));
        next_step(x, "placement.driver.sameAcrossGang: false lets the drivers of hosts differ");
        number(x, "needed_pods", r->replicas);
        number(x, "best_driver_pods", best);
    }
    str_fini(&b);
    return best < r->replicas;
}

bool explain_driver(const struct state *s, const struct demand *d, struct explain *x)
{
    uint64_t *slots;
    bool is_said = false;

    if (!d->same_driver || s->cluster.drivers.n < 2)
        return false;
    for (uint32_t r = 0; r < d->n_roles && !is_said; r++) {
        if (!d->roles[r].same_driver)
            continue;
        slots = xcalloc(s->cluster.drivers.n, sizeof(*slots));
        slots_by_driver(s, &d->roles[r], slots);
        is_said = say_drivers(s, &d->roles[r], slots, x);
        free(slots);
    }
    return is_said;
}

/* Groups with room for a pod of the role now. */
static uint32_t groups_with_room(const struct state *s, const struct demand_role *r)
{
    const struct spread *groups = spread_groups(&s->cluster, r);
    bool *seen = xcalloc(groups->n_groups + 1, sizeof(*seen));
    struct resources asks, free_now;
    uint32_t n = 0;

    hardware_asks(r, &asks);
    for (size_t i = 0; i < s->cluster.by_name.n; i++) {
        const struct node *node = s->cluster.nodes.v[s->cluster.by_name.v[i]];
        uint32_t g = spread_group(groups, node->ix);

        if (g == IX_NONE || seen[g] || !node->is_usable || !role_allows(r, node))
            continue;
        node_free(node, &free_now);
        seen[g] = resources_times(&asks, &free_now, 1) == 1;
        n += seen[g];
    }
    free(seen);
    return n;
}

bool explain_spread(const struct state *s, const struct demand *d, struct explain *x)
{
    for (uint32_t i = 0; i < d->n_roles; i++) {
        const struct demand_role *r = &d->roles[i];
        struct spread_scope scope = {r, MODELS_MAX, IX_NONE, IX_NONE};
        uint32_t all, open;

        if (!r->spread.key || r->spread.is_soft)
            continue;
        all = spread_count(&s->cluster, &scope);
        open = groups_with_room(s, r);
        say(x, "TopologyUnavailable",
            "%u pods of role %s cannot be spread over %.80s with maxSkew %u: %u of %u have room",
            r->replicas, r->name, r->spread.key, r->spread.max_skew, open, all);
        next_step(x, "with whenUnsatisfiable: ScheduleAnyway the smallest skew is taken at once");
        number(x, "spread_domains", all);
        number(x, "domains_with_room", open);
        return true;
    }
    return false;
}

/* "6 by a (vision), 2 by b (eval) and 3 more gangs". */
static void add_holders(struct str *b, const struct state *s, uint32_t licence)
{
    uint32_t n = 0;

    for (size_t i = 0; i < s->active.n + s->claims.n; i++) {
        const struct job *o = i < s->active.n ? s->active.v[i] : s->claims.v[i - s->active.n];

        if (!o->demand->licences[licence] || !o->n_members)
            continue;
        if (n++ < 3)
            str_addf(b, "%s%u by %s (%s)", n > 1 ? ", " : "", o->demand->licences[licence], o->name,
                     o->tenant);
    }
    if (n > 3)
        str_addf(b, " and %u more jobs", n - 3);
}

/* The first in order of those that wait for a licence. */
static const struct job *first_for(const struct state *s, uint32_t licence)
{
    (void)order_number(s);
    for (size_t i = 0; i < s->positions->order.n; i++)
        if (s->positions->order.v[i]->demand->licences[licence])
            return s->positions->order.v[i];
    return NULL;
}

bool explain_licences(const struct state *s, const struct job *j, struct explain *x)
{
    const struct job *next;
    struct str holders = {0};
    uint32_t l = IX_NONE, held;

    if (licence_admits(s, j, &l))
        return false;
    if (l == IX_NONE) {
        say(x, "LicencesInUse", "a licence that it needs is no longer in the configuration");
        next_step(x, "have it added again, or cancel and submit without it");
        return true;
    }
    held = licence_held(s, l, j);
    next = first_for(s, l);
    add_holders(&holders, s, l);
    say(x, "LicencesInUse", "needs %u of licence %s, %u of %u are held: %.200s; next is %s",
        j->demand->licences[l], s->settings->licences[l].name, held, s->settings->licences[l].count,
        str_text(&holders), next == j || !next ? "this job" : next->name);
    str_fini(&holders);
    next_step(x, "starts when enough of these jobs end");
    number(x, "needed_licences", j->demand->licences[l]);
    number(x, "held_licences", held);
    number(x, "licences", s->settings->licences[l].count);
    return true;
}
