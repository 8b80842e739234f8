/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_exec.c - queuectl exec, shell, attach and port-forward: kubectl on one pod of a job.
 *
 * The daemon says only which pod; what is allowed in it is the API server's matter, with the
 * user's own credentials. kubectl takes this process over, so its exit code is ours.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "pods.h"
#include "util/mem.h"

struct reach {
    const char *command, *verb; /* ours, kubectl's */
    const char *container;
    struct pod_choice choice;
    bool has_terminal; /* it talks with the user */
};

static int run_on(const struct reach *r, const struct pod_list *l, char **rest, size_t n_rest)
{
    const char **argv = xcalloc(n_rest + 16, sizeof(*argv));
    size_t n = 0;

    argv[n++] = pods_program();
    argv[n++] = r->verb;
    argv[n++] = "--namespace";
    argv[n++] = l->ns;
    if (r->has_terminal)
        argv[n++] = isatty(STDIN_FILENO) == 1 ? "--stdin=true" : "--stdin=false";
    if (r->has_terminal)
        argv[n++] = isatty(STDIN_FILENO) == 1 ? "--tty=true" : "--tty=false";
    if (r->container) {
        argv[n++] = "--container";
        argv[n++] = r->container;
    }
    argv[n++] = l->pods.v[0]->name;
    if (strcmp(r->verb, "exec") == 0)
        argv[n++] = "--";
    for (size_t i = 0; i < n_rest; i++)
        argv[n++] = rest[i];
    (void)execvp(argv[0], (char **)(void *)argv);
    cli_note("%s: cannot run %s: %s; name the program in $QUEUED_KUBECTL", r->command, argv[0],
             strerror(errno));
    free(argv);
    return EXIT_FAILED;
}

/* JOB and then, where the verb takes it, what is to be run or forwarded. */
static int reach(struct reach *r, int argc, char **argv)
{
    const struct cli_option options[] = {
        {"role", 0, OPTION_TEXT, &r->choice.role},
        {"rank", 0, OPTION_TEXT, &r->choice.ranks},
        {"container", 'c', OPTION_TEXT, &r->container},
    };
    char path[] = "/bin/sh", *shell[] = {path};
    bool takes_more = strcmp(r->command, "exec") == 0 || strcmp(r->command, "port-forward") == 0;
    struct pod_list l;
    int first, rc = cli_parse(&(struct cli_options){r->command, options, ARRAY_LEN(options)}, argc,
                              argv, &first);

    if (rc)
        return rc - 1;
    if (first == argc || takes_more != (argc - first > 1))
        return cli_usage("%s: name one job%s", r->command,
                         takes_more ? (*r->command == 'e' ? " and a program: JOB -- PROGRAM ..."
                                                          : " and ports: JOB 8080:80 ...")
                                    : "");
    r->choice.job = argv[first];
    rc = pods_find(r->command, &r->choice, &l);
    if (rc)
        return rc;
    if (strcmp(r->command, "shell") == 0)
        rc = run_on(r, &l, shell, 1);
    else
        rc = run_on(r, &l, &argv[first + 1], (size_t)(argc - first - 1));
    pods_fini(&l);
    return rc;
}

int cmd_exec(int argc, char **argv)
{
    struct reach r = {.command = "exec", .verb = "exec", .has_terminal = true};

    return reach(&r, argc, argv);
}

int cmd_shell(int argc, char **argv)
{
    struct reach r = {.command = "shell", .verb = "exec", .has_terminal = true};

    return reach(&r, argc, argv);
}

int cmd_attach(int argc, char **argv)
{
    struct reach r = {.command = "attach", .verb = "attach", .has_terminal = true};

    return reach(&r, argc, argv);
}

int cmd_port_forward(int argc, char **argv)
{
    struct reach r = {.command = "port-forward", .verb = "port-forward"};

    return reach(&r, argc, argv);
}
