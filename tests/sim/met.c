/* SPDX-License-Identifier: Apache-2.0 */
/* met.c - what a run met beside rows and faults: reasons of transitions, and what became of claims.
 *
 * The table at the end shows it, so that nobody takes a run for a proof of what never happened.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

void sim_met(struct sim *s, const char *code, uint64_t n)
{
    struct reason_met *m = s->met;

    while (m < s->met + REASONS_MET_MAX - 1 && m->code[0] && strcmp(m->code, code) != 0)
        m++;
    if (!m->code[0])
        (void)snprintf(m->code, sizeof(m->code), "%s", code);
    m->n += n;
}

static bool is_claim(const struct sim *s, struct job_id id)
{
    const struct job *j = state_job(s->state, id);

    return j && j->claim;
}

bool sim_had_claim(const struct sim *s, struct job_id id)
{
    for (uint32_t i = 0; i < s->n_claims; i++)
        if (s->claims[i].v == id.v)
            return true;
    return false;
}

void sim_met_claims(struct sim *s)
{
    const struct state *st = s->state;

    for (uint32_t i = 0; i < s->n_claims; i++) {
        const struct job *j = state_job(st, s->claims[i]);

        if (!j || !j->claim)
            sim_met(s, j && j->state == JOB_BINDING ? "(claim met)" : "(claim dropped)", 1);
    }
    for (size_t i = 0; i < st->claims.n; i++) {
        if (!sim_had_claim(s, st->claims.v[i]->id))
            sim_met(s,
                    st->claims.v[i]->run_until              ? "(place kept)"
                    : st->claims.v[i]->claim->n_victims > 1 ? "(claim of several)"
                                                            : "(claim)",
                    1);
    }
    s->n_claims = 0;
    for (size_t i = 0; i < st->claims.n && s->n_claims < CLAIMS_MET_MAX; i++)
        s->claims[s->n_claims++] = st->claims.v[i]->id;
    if (st->claims.n > 1)
        sim_met(s, "(claims at once)", 1);
}

void sim_met_crash(struct sim *s)
{
    bool is_kept = false;

    for (uint32_t i = 0; i < s->n_claims; i++)
        is_kept = is_kept || is_claim(s, s->claims[i]);
    if (s->n_claims)
        sim_met(s, is_kept ? "(claim over a crash)" : "(claim lost in a crash)", 1);
}
