/* SPDX-License-Identifier: Apache-2.0 */
/* explain_time.c - the reasons that are about time: room reserved for a gang that goes first. */
#include <stdio.h>

#include "core/backfill.h"
#include "core/claim.h"
#include "view/explain.h"

bool explain_reserved(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    usec_t end = backfill_end(j, now), left;
    char at[FORMAT_MAX], window[FORMAT_MAX], run[FORMAT_MAX];
    struct reserved r;

    if (!j->bucket->is_held_back || !backfill_ahead(s, j, end, &r))
        return false;
    left = r.at > now ? r.at - now : 0;
    x->code = "ReservedForLarger";
    (void)snprintf(x->text, sizeof(x->text),
                   "room is kept for %.80s from %s on (%s from now); this job may take %s",
                   r.job->name, format_time(at, r.at), format_duration(window, left),
                   format_duration(run, end - now));
    (void)snprintf(x->next_step, sizeof(x->next_step),
                   "starts before it with a maxRuntime that ends in time, or after it");
    x->numbers[x->n_numbers++] = (struct explain_number){"window_s", left / USEC_PER_SEC};
    x->numbers[x->n_numbers++] = (struct explain_number){"needed_s", (end - now) / USEC_PER_SEC};
    return true;
}

bool explain_claim(const struct state *s, const struct job *j, usec_t now, struct explain *x)
{
    char left[FORMAT_MAX];
    uint32_t gangs;
    uint64_t gpus;
    usec_t grace;

    if (!j->claim)
        return false;
    gpus = (claim_left(s, j, &gangs) + GPU_PARTS - 1) / GPU_PARTS;
    grace = j->claim->until > now ? j->claim->until - now : 0;
    x->code = "WaitingForPreemption";
    if (j->claim->n_victims == 0)
        (void)snprintf(x->text, sizeof(x->text),
                       "was moved by defragmentation; its new nodes are held");
    else
        (void)snprintf(x->text, sizeof(x->text),
                       "%u jobs with %llu GPUs save their work now, grace ends in %s", gangs,
                       (unsigned long long)gpus, format_duration(left, grace));
    (void)snprintf(x->next_step, sizeof(x->next_step), "starts on its nodes when they have left");
    x->numbers[x->n_numbers++] = (struct explain_number){"victims", gangs};
    x->numbers[x->n_numbers++] = (struct explain_number){"victim_gpus", (int64_t)gpus};
    x->numbers[x->n_numbers++] = (struct explain_number){"grace_s", grace / USEC_PER_SEC};
    return true;
}
