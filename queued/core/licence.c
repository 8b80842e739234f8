/* SPDX-License-Identifier: Apache-2.0 */
/* licence.c - who holds how many; the lists of gangs are short beside those that wait. */
#include "core/licence.h"

uint32_t licence_held(const struct state *s, uint32_t licence, const struct job *j)
{
    uint32_t held = 0;

    for (size_t i = 0; i < s->active.n; i++)
        if (s->active.v[i] != j && s->active.v[i]->n_members)
            held += s->active.v[i]->demand->licences[licence];
    for (size_t i = 0; i < s->claims.n; i++)
        held += s->claims.v[i] != j ? s->claims.v[i]->demand->licences[licence] : 0;
    return held;
}

bool licence_admits(const struct state *s, const struct job *j, uint32_t *ret_short)
{
    const struct demand *d = j->demand;

    for (uint32_t l = 0; l < s->settings->n_licences && d->has_licences; l++) {
        if (!d->licences[l] ||
            licence_held(s, l, j) + d->licences[l] <= s->settings->licences[l].count)
            continue;
        if (ret_short)
            *ret_short = l;
        return false;
    }
    return !d->lost_licence;
}
