/* SPDX-License-Identifier: Apache-2.0 */
/* maxmin.c - weighted max-min fairness by progressive filling.
 *
 * Bertsekas and Gallager, "Data Networks", 2nd ed., 6.5.2: all levels rise together, whoever has
 * all that it asks for drops out and leaves the rest to the others.
 */
#include "maxmin.h"

#include <stdlib.h>

#include "util/mem.h"

enum { COUNTS_FROM = 3 /* tenants of one weight that wait */ };

void shares_init(struct shares *s, const struct settings *settings, uint64_t gpus)
{
    *s = (struct shares){.settings = settings, .gpus = gpus, .n = settings->n_tenants};
    s->v = xcalloc(settings->n_tenants, sizeof(*s->v));
    for (uint32_t t = 0; t < settings->n_tenants; t++)
        s->v[t].name = xstrdup(settings->tenants[t].path);
}

void shares_fini(struct shares *s)
{
    for (uint32_t t = 0; t < s->n; t++)
        free(s->v[t].name);
    free(s->v);
}

static bool counts(const struct shares *s)
{
    for (uint32_t t = 0; t < s->settings->n_tenants; t++) {
        uint32_t weight = s->settings->tenants[t].weight, n = 0;

        if (!weight || !s->v[t].waits)
            continue;
        for (uint32_t o = t; o < s->settings->n_tenants; o++)
            n += s->v[o].waits && s->settings->tenants[o].weight == weight;
        if (n >= COUNTS_FROM)
            return true;
    }
    return false;
}

static double wish(const struct tenant_share *t)
{
    return (double)(t->used + t->waits);
}

/* The level per weight at which all GPUs, or all wishes, are given. */
static double level(const struct shares *s)
{
    double at = 0, left, weights, next;

    do {
        left = (double)s->gpus;
        weights = 0;
        next = -1;
        for (uint32_t t = 0; t < s->settings->n_tenants; t++) {
            double weight = s->settings->tenants[t].weight, full;

            full = weight > 0 ? wish(&s->v[t]) / weight : 0;
            left -= full <= at ? full * weight : 0;
            if (full <= at)
                continue;
            weights += weight;
            next = next < 0 || full < next ? full : next;
        }
        if (next < 0 || left <= next * weights)
            return next < 0 ? at : left / weights;
        at = next;
    } while (1);
}

void shares_pass(struct shares *s, double seconds)
{
    double at;

    if (seconds <= 0 || !counts(s))
        return;
    at = level(s);
    s->seconds += seconds;
    for (uint32_t t = 0; t < s->settings->n_tenants; t++) {
        double part = at * s->settings->tenants[t].weight;

        s->v[t].had += (double)s->v[t].used * seconds;
        s->v[t].share += (part < wish(&s->v[t]) ? part : wish(&s->v[t])) * seconds;
    }
}
