/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_completion.c - queuectl completion bash: a script for the shell, made of the tables of help.
 *
 * Jobs, nodes and tenants are asked of the daemon while one types: an answer within 100 ms or none.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "util/mem.h"
#include "util/str.h"

static const char *const with_jobs[] = {"describe",   "why",          "cancel", "hold", "release",
                                        "requeue",    "preempt",      "update", "wait", "watch",
                                        "prioritize", "checkpointed", NULL};
/* Of which one is a job, and kubectl's the rest. */
static const char *const with_pods[] = {"logs", "exec", "shell", "attach", "port-forward", NULL};
static const char *const with_nodes[] = {"drain", "undrain", NULL};

static bool is_one_of(const char *const *v, const char *word)
{
    while (*v && strcmp(*v, word) != 0)
        v++;
    return *v != NULL;
}

const char *cli_operands(const char *command)
{
    return is_one_of(with_jobs, command) ? "job/" : is_one_of(with_nodes, command) ? "node/" : "";
}

/* The options that a help text names, each once. */
static void add_options(struct str *to, const char *help)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz-";

    for (const char *p = strstr(help, "--"); p; p = strstr(p, "--")) {
        size_t len = 2 + strspn(p + 2, letters);
        struct str one = {0};

        str_addf(&one, " %.*s ", (int)len, p);
        if (len > 2 && !strstr(str_text(to), str_text(&one)))
            str_add(to, str_text(&one));
        str_fini(&one);
        p += len;
    }
}

static void print_list(const char *const *v)
{
    for (size_t i = 0; v[i]; i++)
        (void)printf("%s%s", i ? "|" : "", v[i]);
}

static void print_bash(void)
{
    (void)printf("# bash completion of queuectl: source <(queuectl completion bash)\n"
                 "_queuectl() {\n"
                 "    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=\n"
                 "    local ask=\"${COMP_WORDS[0]} --timeout 100ms\"\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                 "        words=\"");
    for (size_t i = 0; i < cli_n_commands; i++)
        (void)printf("%s%s", i ? " " : "", cli_commands[i].name);
    (void)printf("\"\n"
                 "    elif [ \"${COMP_WORDS[COMP_CWORD-1]}\" = --tenant ]; then\n"
                 "        words=$($ask quota --no-headers 2>/dev/null | cut -d' ' -f1)\n"
                 "    elif [ \"${cur:0:1}\" = - ]; then\n"
                 "        case $command in\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        struct str options = {0};

        add_options(&options, cli_commands[i].help);
        (void)printf("        %s) words=\"%s\" ;;\n", cli_commands[i].name, str_text(&options));
        str_fini(&options);
    }
    (void)printf("        esac\n"
                 "        words=\"$words --endpoint --timeout --color --help\"\n"
                 "    else\n"
                 "        case $command in\n"
                 "        ");
    print_list(with_jobs);
    (void)putchar('|');
    print_list(with_pods);
    (void)printf(") words=\"$($ask list -A --state active -o name 2>/dev/null) @last\" ;;\n"
                 "        ");
    print_list(with_nodes);
    (void)printf(") words=$($ask nodes -o name 2>/dev/null) ;;\n"
                 "        esac\n"
                 "        words=${words//job\\//}\n"
                 "        words=${words//node\\//}\n"
                 "    fi\n"
                 "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                 "}\n"
                 "complete -o default -F _queuectl queuectl\n");
}

int cmd_completion(int argc, char **argv)
{
    int first, rc = cli_parse(&(struct cli_options){.command = "completion"}, argc, argv, &first);

    if (rc)
        return rc - 1;
    if (argc - first != 1 || strcmp(argv[first], "bash") != 0)
        return cli_usage("completion: say for which shell: bash");
    print_bash();
    return EXIT_OK;
}
