/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_change.c - queuectl hold, release, requeue, preempt: named jobs, one line a job. */
#include <stdio.h>

#include "change_jobs.h"
#include "cli.h"
#include "util/mem.h"

struct change {
    const char *command;
    struct job_change job;
};

static void print_state(const struct queued_changed *j)
{
    (void)printf("job/%s is %s\n", j->name, j->state);
}

static int run(struct change *x, int argc, char **argv)
{
    const struct cli_option options[] = {{"reason", 0, OPTION_TEXT, &x->job.reason}};
    struct queued_client *c = NULL;
    int first, rc = cli_parse(&(struct cli_options){x->command, options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first >= argc)
        return cli_usage("%s: name the jobs; 'queuectl list' shows them", x->command);
    if (change_format(&x->job))
        return EXIT_USAGE;
    x->job.print = print_state;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc == 0)
        rc = change_jobs(&x->job, c, (const char *const *)&argv[first], (size_t)(argc - first));
    queued_close(c);
    return rc;
}

int cmd_hold(int argc, char **argv)
{
    return run(&(struct change){.command = "hold", .job.verb = QUEUED_HOLD}, argc, argv);
}

int cmd_release(int argc, char **argv)
{
    return run(&(struct change){.command = "release", .job.verb = QUEUED_RELEASE}, argc, argv);
}

int cmd_requeue(int argc, char **argv)
{
    return run(&(struct change){.command = "requeue", .job.verb = QUEUED_REQUEUE}, argc, argv);
}

int cmd_preempt(int argc, char **argv)
{
    return run(&(struct change){.command = "preempt", .job.verb = QUEUED_PREEMPT}, argc, argv);
}
