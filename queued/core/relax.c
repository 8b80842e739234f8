/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - the demand of a job with topology.maxWait, and the one after that time. */
#include "core/relax.h"

#include "core/order.h"

void relax_init(struct state *s, struct job *j, const struct spec *spec)
{
    struct spec loose = *spec; /* only read: what it points to is the other's */
    bool is_preferred = spec->topology_preferred && strcmp(spec->topology_preferred, "any") != 0;

    j->demand = demand_of(&s->cluster, &s->demands, spec);
    j->max_wait_us = spec->max_wait_us;
    j->other = NULL;
    j->is_relaxed = false;
    if (!spec->max_wait_us)
        return;
    loose.topology_required = NULL;
    loose.topology_preferred = is_preferred ? spec->topology_preferred : spec->topology_required;
    j->other = demand_of(&s->cluster, &s->demands, &loose);
}

void relax_share(struct job *j, const struct job *like)
{
    j->demand = like->demand;
    j->demand->n_jobs++;
    j->other = like->other;
    if (j->other)
        j->other->n_jobs++;
    j->max_wait_us = like->max_wait_us;
    j->is_relaxed = false;
}

void relax_fini(struct state *s, struct job *j)
{
    demand_release(&s->cluster, &s->demands, j->demand);
    if (j->other)
        demand_release(&s->cluster, &s->demands, j->other);
}

void relax_look(struct state *s, struct job *j, usec_t now)
{
    bool is_relaxed = j->other && !j->array && now >= j->queued_at + j->max_wait_us;
    bool is_ordered = j->bucket != NULL;
    struct demand *swap = j->other;

    if (is_relaxed == j->is_relaxed)
        return;
    if (is_ordered)
        order_remove(s, j);
    j->other = j->demand;
    j->demand = swap;
    j->is_relaxed = is_relaxed;
    if (is_ordered)
        order_add(s, j);
}

usec_t relax_at(const struct job *j)
{
    return j->other && !j->is_relaxed ? j->queued_at + j->max_wait_us : 0;
}
