/* SPDX-License-Identifier: Apache-2.0 */
/* surplus.c - role by role, domain by domain, from the highest index down.
 *
 * A size between two steps (a pod was lost) is mended first: then fewer than a step go.
 */
#include "core/surplus.h"

#include <stdlib.h>

#include "core/elastic.h"
#include "util/mem.h"

struct candidate {
    uint32_t domain, pod;
};

static int by_domain(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    return x->pod > y->pod ? -1 : x->pod < y->pod;
}

static bool may_go(const struct member *m, uint32_t role)
{
    return m->role == role && m->index > 0 && m->phase == MEMBER_RUNNING;
}

/* Pods that are not in the domain, until the step has so many. */
static void fill(const struct job *j, const uint32_t *domains, struct surplus_step *step,
                 uint32_t want, struct surplus *ret)
{
    for (uint32_t i = j->n_members; i-- > 0 && step->n < want;) {
        if (!may_go(&j->members[i], step->role) || domains[i] == step->domain)
            continue;
        *vec_push(&ret->pods) = i;
        step->n++;
    }
}

/* The n candidates of one domain. */
static void list_domain(const struct job *j, const uint32_t *domains, const struct candidate *c,
                        uint32_t n, struct surplus *ret)
{
    uint32_t role = j->members[c->pod].role, by = j->demand->step;
    uint32_t left = elastic_surplus(j, role), want = left % by ? left % by : by, at = 0;

    while (left && at < n) {
        struct surplus_step step = {c->domain, role, (uint32_t)ret->pods.n, 0};

        for (; at < n && step.n < want; step.n++)
            *vec_push(&ret->pods) = c[at++].pod;
        fill(j, domains, &step, want, ret);
        if (step.n < want)
            return;
        *vec_push(&ret->steps) = step;
        left -= want;
        want = by;
    }
}

static void list_role(const struct job *j, const uint32_t *domains, uint32_t role,
                      struct surplus *ret)
{
    struct candidate *c = xcalloc(j->n_members, sizeof(*c));
    uint32_t n = 0;

    for (uint32_t i = 0; i < j->n_members; i++)
        if (may_go(&j->members[i], role) && domains[i] != IX_NONE)
            c[n++] = (struct candidate){domains[i], i};
    qsort(c, n, sizeof(*c), by_domain);
    for (uint32_t i = 0, end = 0; i < n; i = end) {
        while (end < n && c[end].domain == c[i].domain)
            end++;
        list_domain(j, domains, &c[i], end - i, ret);
    }
    free(c);
}

void surplus_list(const struct job *j, const uint32_t *domains, struct surplus *ret)
{
    for (uint32_t r = 0; r < j->demand->n_roles; r++)
        if (elastic_surplus(j, r))
            list_role(j, domains, r, ret);
}
