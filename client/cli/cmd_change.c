/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_change.c - queuectl hold, release, requeue, preempt, checkpointed: one line a job. */
#include <stdio.h>

#include "change_jobs.h"
#include "cli.h"

static void print_state(const struct queued_changed *j)
{
    (void)printf("job/%s is %s\n", j->name, j->state);
}

static int run(const char *command, const char *states, enum queued_verb verb, int argc,
               char **argv)
{
    struct job_change change = {.verb = verb, .print = print_state};

    return change_command(&(struct job_command){command, states, &change}, argc, argv);
}

int cmd_hold(int argc, char **argv)
{
    return run("hold", "Pending", QUEUED_HOLD, argc, argv);
}

int cmd_release(int argc, char **argv)
{
    return run("release", "Held", QUEUED_RELEASE, argc, argv);
}

int cmd_requeue(int argc, char **argv)
{
    return run("requeue", "Binding,Starting,Running", QUEUED_REQUEUE, argc, argv);
}

int cmd_preempt(int argc, char **argv)
{
    return run("preempt", "Running", QUEUED_PREEMPT, argc, argv);
}

int cmd_checkpointed(int argc, char **argv)
{
    return run("checkpointed", "Running,Preempting", QUEUED_CHECKPOINTED, argc, argv);
}
