/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_drain.c - queuectl drain, undrain: take nodes out of use for new gangs, and give them back.
 *
 * The daemon keeps a drain by itself. --requeue is done from here, job by job: nothing new comes
 * to the node meanwhile.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "util/mem.h"

struct drain {
    const char *command, *reason;
    bool is_back, requeue;
};

/* A running job is told to save first; one that is still starting is stopped at once. */
static int send_away(struct queued_client *c, const char *job, const char *reason)
{
    struct queued_change change = {.verb = QUEUED_PREEMPT, .job = job, .reason = reason};
    struct queued_changed done;
    struct queued_error e;

    if (queued_change(c, &change, &done, &e) == 0) {
        (void)printf("job/%s is %s\n", done.name, done.state);
        return 0;
    }
    change.verb = QUEUED_REQUEUE;
    if (e.code == QUEUED_CONFLICT && queued_change(c, &change, &done, &e) == 0) {
        (void)printf("job/%s is %s\n", done.name, done.state);
        return 0;
    }
    return e.code == QUEUED_CONFLICT ? 0 : cli_error(&e); /* it is on its way out already */
}

/* What is left on a node that was drained. */
static int tell_rest(const struct drain *x, struct queued_client *c, const char *node)
{
    struct queued_nodes *nodes = NULL;
    struct queued_error e;
    int rc = 0;

    if (queued_nodes(c, &nodes, &e))
        return cli_error(&e);
    for (size_t i = 0; i < nodes->n; i++) {
        const struct queued_node *n = &nodes->v[i];

        if (strcmp(n->name, node) != 0)
            continue;
        (void)printf("node/%s drained, %zu jobs on it%s\n", node, n->n_jobs,
                     n->n_jobs && !x->requeue ? " run on" : "");
        for (size_t k = 0; k < n->n_jobs && x->requeue && rc == 0; k++)
            rc = send_away(c, n->jobs[k], x->reason ? x->reason : "its node is drained");
    }
    queued_nodes_free(nodes);
    return rc;
}

static int drain_one(const struct drain *x, struct queued_client *c, const char *node)
{
    struct queued_error e;
    int rc = x->is_back ? queued_undrain(c, node, &e) : queued_drain(c, node, x->reason, &e);

    if (rc)
        return cli_error(&e);
    if (!x->is_back)
        return tell_rest(x, c, node);
    (void)printf("node/%s takes jobs again\n", node);
    return 0;
}

static int run(struct drain *x, int argc, char **argv)
{
    const struct cli_option options[] = {{"reason", 0, OPTION_TEXT, &x->reason},
                                         {"requeue", 0, OPTION_FLAG, &x->requeue}};
    struct queued_client *c = NULL;
    enum cli_format format;
    int first, rc = cli_parse(&(struct cli_options){x->command, options, x->is_back ? 0 : 2}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first >= argc)
        return cli_usage("%s: name the nodes; 'queuectl nodes' shows them", x->command);
    if (cli_format(1u << FORMAT_TABLE, &format))
        return EXIT_USAGE;
    rc = cli_connect(&c, cli_timeout_ms());
    if (rc)
        return rc;
    for (int i = first; i < argc; i++) {
        int one = drain_one(x, c, argv[i]);

        rc = rc ? rc : one;
    }
    queued_close(c);
    return rc;
}

int cmd_drain(int argc, char **argv)
{
    return run(&(struct drain){.command = "drain"}, argc, argv);
}

int cmd_undrain(int argc, char **argv)
{
    return run(&(struct drain){.command = "undrain", .is_back = true}, argc, argv);
}
