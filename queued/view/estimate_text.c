/* SPDX-License-Identifier: Apache-2.0 */
/* estimate_text.c - an estimate in words. */
#include <stdio.h>

#include "view/estimate.h"

const char *estimate_text(char buf[ESTIMATE_TEXT_MAX], const struct estimate *e)
{
    char at[FORMAT_MAX] = "";

    if (e->at)
        (void)format_time(at, e->at);
    switch (e->kind) {
    case ESTIMATE_NONE:
        return "";
    case ESTIMATE_START:
        return "if gangs run until their maxRuntime and nothing new arrives";
    case ESTIMATE_TIMES_OUT:
        (void)snprintf(buf, ESTIMATE_TEXT_MAX,
                       "unknown: its maxQueueTime or deadline is over first, at %s", at);
        return buf;
    case ESTIMATE_NEVER:
        return "unknown: the ends of all gangs do not suffice";
    case ESTIMATE_CUT:
        (void)snprintf(buf, ESTIMATE_TEXT_MAX, "unknown: not before %s, where the plan was cut",
                       at);
        return buf;
    case ESTIMATE_LEFT_OUT:
        return "unknown: too many wait before it to be planned";
    }
    return "";
}

const char *estimate_usual_text(char buf[ESTIMATE_TEXT_MAX], const struct estimate *e)
{
    if (!e->usual_part)
        return "if gangs run as long as usual in their tenants (in its own that is not known yet: "
               "until maxRuntime) and nothing new arrives";
    (void)snprintf(buf, ESTIMATE_TEXT_MAX,
                   "if gangs run as long as usual in their tenants (in its own: %u.%u %% of "
                   "maxRuntime) and nothing new arrives",
                   (unsigned)(e->usual_part / 10), (unsigned)(e->usual_part % 10));
    return buf;
}
