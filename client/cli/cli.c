/* SPDX-License-Identifier: Apache-2.0 */
/* cli.c - queuectl: main, the table of subcommands, errors and output shared by them.
 *
 * Each command is a function in its own cmd_*.c; the table is all that main knows of them.
 */
#include "cli.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli_help.h"
#include "print_path.h"
#include "util/err.h"
#include "util/mem.h"
#include "util/str.h"

const struct cli_command cli_commands[] = {
    {"submit", "store jobs from files and print their names", HELP_SUBMIT, cmd_submit},
    {"run", "submit a program as a job and follow it", HELP_RUN, cmd_run},
    {"list", "jobs, mine by default", HELP_LIST, cmd_list},
    {"describe", "everything about one job", HELP_DESCRIBE, cmd_describe},
    {"why", "why a job waits, and what to do about it", HELP_WHY, cmd_why},
    {"explain", "what a reason code means", HELP_EXPLAIN, cmd_explain},
    {"estimate", "whether a job would start, and when", HELP_ESTIMATE, cmd_estimate},
    {"cancel", "stop jobs", HELP_CANCEL, cmd_cancel},
    {"hold", "keep waiting jobs from starting", HELP_HOLD, cmd_hold},
    {"release", "let held jobs wait for nodes again", HELP_RELEASE, cmd_release},
    {"requeue", "stop the pods of jobs and let them wait again", HELP_REQUEUE, cmd_requeue},
    {"preempt", "take its nodes from running jobs, which wait again", HELP_PREEMPT, cmd_preempt},
    {"checkpointed", "say that running jobs have saved", HELP_CHECKPOINTED, cmd_checkpointed},
    {"pod-run", "in a pod: run a program, tell it when to save", HELP_POD_RUN, cmd_pod_run},
    {"prioritize", "give waiting jobs another priority class", HELP_PRIORITIZE, cmd_prioritize},
    {"update", "change what waiting jobs ask for", HELP_UPDATE, cmd_update},
    {"wait", "block until jobs are finished, running or scheduled", HELP_WAIT, cmd_wait},
    {"watch", "stream of events", HELP_WATCH, cmd_watch},
    {"logs", "what the pods of a job have written", HELP_LOGS, cmd_logs},
    {"exec", "run a program in a pod of a job", HELP_EXEC, cmd_exec},
    {"shell", "a shell in a pod of a job", HELP_SHELL, cmd_shell},
    {"attach", "the terminal of a pod of a job", HELP_ATTACH, cmd_attach},
    {"port-forward", "local ports to a pod of a job", HELP_PORT_FORWARD, cmd_port_forward},
    {"top", "GPUs, tenants and jobs on one screen", HELP_TOP, cmd_top},
    {"nodes", "nodes and their GPUs", HELP_NODES, cmd_nodes},
    {"free", "the largest gangs that free GPUs allow", HELP_FREE, cmd_free},
    {"drain", "place nothing new on nodes", HELP_DRAIN, cmd_drain},
    {"undrain", "give drained nodes back", HELP_UNDRAIN, cmd_undrain},
    {"topology", "free GPUs by level of the network", HELP_TOPOLOGY, cmd_topology},
    {"quota", "what tenants may use and do use", HELP_QUOTA, cmd_quota},
    {"tenant", "tenants; stop one and resume it", HELP_TENANT, cmd_tenant},
    {"reserve", "keep nodes for a tenant or for maintenance", HELP_RESERVE, cmd_reserve},
    {"defrag", "whom defragmentation would move", HELP_DEFRAG, cmd_defrag},
    {"config", "check a configuration, compare it with the daemon's", HELP_CONFIG, cmd_config},
    {"completion", "a script that completes commands in the shell", HELP_COMPLETION,
     cmd_completion},
    {"version", "versions of this program and of the daemon", HELP_VERSION, cmd_version},
    {"help", "this list, or the help of a command", HELP_HELP, cmd_help},
};
const size_t cli_n_commands = ARRAY_LEN(cli_commands);

static void note(const char *fmt, va_list ap)
{
    (void)fflush(stdout); /* keep the order of data and notes on a terminal */
    (void)fputs("queuectl: ", stderr);
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
}

void cli_note(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    note(fmt, ap);
    va_end(ap);
}

int cli_usage(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    note(fmt, ap);
    va_end(ap);
    return EXIT_USAGE;
}

int cli_error(const struct queued_error *e)
{
    cli_note("%s", e->text);
    return err_exit_code(e->code);
}

int cli_finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    cli_note("cannot write to stdout");
    return code ? code : EXIT_FAILED;
}

void cli_print(const struct document *d, enum cli_format format)
{
    const char *template = cli_template(), *columns = cli_columns();
    struct str out = {0};

    if (format == FORMAT_JSON && columns) {
        path_print_columns(d, columns);
        return;
    }
    if (format == FORMAT_JSON && template) {
        path_print(&out, d, template);
        if (out.len && out.s[out.len - 1] != '\n')
            str_add(&out, "\n");
    } else if (format == FORMAT_YAML) {
        document_yaml(&out, d);
    } else {
        document_json(&out, d, format == FORMAT_JSONL);
    }
    (void)fwrite(str_text(&out), 1, out.len, stdout); /* cli_finish() looks for errors */
    str_fini(&out);
}

int64_t cli_now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t); /* always there on Linux */
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static const struct cli_command *find(const char *name)
{
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i].name, name) == 0)
            return &cli_commands[i];
    return NULL;
}

static int fail_command(const char *name)
{
    const char *names[ARRAY_LEN(cli_commands)];
    const char *near;

    for (size_t i = 0; i < cli_n_commands; i++)
        names[i] = cli_commands[i].name;
    near = str_nearest(name, names, cli_n_commands);
    if (near)
        return cli_usage("there is no command %s; did you mean %s?", name, near);
    return cli_usage("there is no command %s; see queuectl help", name);
}

static void print_overview(FILE *f)
{
    (void)fputs(HELP_OVERVIEW, f);
    for (size_t i = 0; i < cli_n_commands; i++)
        (void)fprintf(f, "  %-12s %s\n", cli_commands[i].name, cli_commands[i].summary);
    (void)fputs(HELP_COMMON, f);
}

int cmd_help(int argc, char **argv)
{
    const struct cli_command *command;

    if (argc < 2) {
        print_overview(stdout);
        return EXIT_OK;
    }
    command = find(argv[1]);
    if (!command)
        return fail_command(argv[1]);
    (void)printf("%s" HELP_COMMON, command->help);
    return EXIT_OK;
}

/* Common options may come before the command, too: skip them. Returns the command's position. */
static int find_position(int argc, char **argv)
{
    static const char *const with_value[] = {"--endpoint", "--timeout", "--color", "-o",
                                             "--output"};
    int i = 1;

    while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0') {
        bool takes_next = false;

        for (size_t k = 0; k < ARRAY_LEN(with_value); k++)
            takes_next = takes_next || strcmp(argv[i], with_value[k]) == 0;
        i += takes_next ? 2 : 1;
    }
    return i;
}

int main(int argc, char **argv)
{
    int at = find_position(argc, argv);
    const struct cli_command *command;
    char *name;

    (void)signal(SIGPIPE, SIG_DFL);
    for (int i = 1; i < argc && i < at; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return cmd_help(1, argv);
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return cli_finish(cmd_version(2, (char *[]){argv[0], "--client", NULL}));
    if (at >= argc) {
        print_overview(stderr);
        return EXIT_USAGE;
    }
    command = find(argv[at]);
    if (!command)
        return fail_command(argv[at]);
    /* what came before the command is read with the command's own options */
    name = argv[at];
    memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(char *));
    argv[1] = name;
    return cli_finish(command->run(argc - 1, argv + 1));
}
