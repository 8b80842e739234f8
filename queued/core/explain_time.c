/* SPDX-License-Identifier: Apache-2.0 */
/* explain_time.c - the reasons that are about time: room reserved for a gang that goes first. */
#include <stdio.h>

#include "core/backfill.h"
#include "core/explain.h"

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
