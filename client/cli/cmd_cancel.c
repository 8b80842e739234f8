/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_cancel.c - queuectl cancel: jobs by name, by label, or all of a tenant. */
#include <stdio.h>
#include <string.h>

#include "change_jobs.h"
#include "cli.h"
#include "util/mem.h"

static void print_one(const struct queued_changed *j)
{
    bool is_cancelled = strcmp(j->state, "Cancelled") == 0;

    if (queued_state_is_final(j->state) && !is_cancelled)
        (void)printf("job/%s had ended (%s)\n", j->name, j->state);
    else
        (void)printf("job/%s %s\n", j->name, is_cancelled ? "cancelled" : "is being stopped");
}

int cmd_cancel(int argc, char **argv)
{
    struct job_change change = {.verb = QUEUED_CANCEL, .print = print_one};

    return change_command(&(struct job_command){"cancel", "active", &change}, argc, argv);
}
