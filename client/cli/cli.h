/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - what all subcommands of queuectl share: options, output, exit codes.
 *
 * Data goes to stdout, everything else to stderr. A command returns the exit code of the program.
 */
#ifndef QUEUED_CLI_CLI_H
#define QUEUED_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "document.h"
#include "queued.h"
#include "util/arena.h"
#include "util/vec.h"

enum cli_exit {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_FOUND = 3,
    EXIT_CANCELLED = 120,
    EXIT_PREEMPTED = 121,
    EXIT_LOST = 122,
    EXIT_TIMED_OUT = 123,
    EXIT_WAIT_OVER = 124,
    EXIT_WAIT_FAILED = 125,
    EXIT_INTERRUPTED = 130,
};

enum cli_format {
    FORMAT_TABLE,
    FORMAT_WIDE,
    FORMAT_JSON,
    FORMAT_YAML,
    FORMAT_NAME,
    FORMAT_JSONL,
    FORMAT_CSV,
};

struct cli_command {
    const char *name;
    const char *summary; /* one line */
    const char *help;    /* examples first */
    int (*run)(int argc, char **argv);
};

extern const struct cli_command cli_commands[];
extern const size_t cli_n_commands;

/* ---- options (cli_options.c) */

/* Texts of a repeated option. */
struct cli_texts {
    const char **v;
    size_t n;
    size_t room;
};

enum option_kind {
    OPTION_FLAG,     /* bool * */
    OPTION_TEXT,     /* const char ** */
    OPTION_MAYBE,    /* const char **; "" when given without a value */
    OPTION_REPEATED, /* struct cli_texts * */
};

struct cli_option {
    const char *name;
    char letter; /* 0: none */
    enum option_kind kind;
    void *out;
};

/* The options of one command. */
struct cli_options {
    const char *command;
    const struct cli_option *v;
    size_t n;
};

/* Read options into their places, and the common ones (--endpoint, --timeout, --color, --help, -o);
 * operands are moved behind them and *ret_first is the first of them. 0, or an exit code + 1
 * (--help: 1): the command is then over. */
int cli_parse(const struct cli_options *options, int argc, char **argv, int *ret_first);

/* What "-o name" writes before the operands of a command, "job/" or "node/"; "": they have no kind.
 * cli_parse() takes it away. */
const char *cli_operands(const char *command);

/* -o, as parsed; allowed: bits of 1 << enum cli_format. Where JSON is, jsonpath= and
 * custom-columns= are, too: FORMAT_JSON, of which cli_print() prints a part. -1 after a message. */
int cli_format(unsigned allowed, enum cli_format *ret);
/* Of what is JSON: the template or columns of -o; NULL: all of it. */
const char *cli_template(void);
const char *cli_columns(void);
/* --timeout in milliseconds; 0: not given. */
uint64_t cli_timeout_ms(void);
/* May escape sequences go to stdout? By --color, else only on a terminal. */
bool cli_use_color(void);
void cli_texts_fini(struct cli_texts *t);
/* "a=b,c=d" and repeated ones as pairs; the texts are cut in place. -1 after a message. */
int cli_pairs(struct cli_texts *texts, struct queued_pair **ret, size_t *ret_n, struct arena *a);

/* ---- errors (cli.c) */

/* "queuectl: ..." on stderr; returns EXIT_USAGE. */
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The error on stderr; returns its exit code. */
int cli_error(const struct queued_error *e);
/* Connect as the options say. timeout_ms: of each answer, 0 the default. 0, or the exit code after
 * a message. */
int cli_connect(struct queued_client **ret, uint64_t timeout_ms);
/* Flush stdout; the code, or EXIT_FAILED when it could not be written. */
int cli_finish(int code);
/* Print a document as JSON or YAML (or one line of JSON). */
void cli_print(const struct document *d, enum cli_format format);
/* Microseconds since 1970. */
int64_t cli_now_us(void);

/* ---- waiting (cmd_wait.c) */

/* The exit code that a finished job stands for. */
int cli_job_exit(const struct queued_job *job);
/* Wait for all of them, with progress on stderr; the exit code. */
int cli_wait_all(struct queued_client *c, const char *const *jobs, size_t n);

/* Instead of a detach, on Ctrl-C: set before one of the others is called. */
void cli_wait_stops_by(void (*handler)(int signo));
/* Until one job runs, with progress: -1; it has ended, or waiting failed: the exit code. */
int cli_wait_running(struct queued_client *c, const char *job);
/* Until it has ended: the exit code. on_running is called each time that it begins to run again. */
int cli_wait_end(struct queued_client *c, const char *job,
                 void (*on_running)(const char *job, void *ctx), void *ctx);

/* ---- links inside a host (cmd_matrix.c) */

/* What the pair matrix in a file says; the exit code. */
int show_matrix(const char *file, enum cli_format format);

int cmd_submit(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_describe(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_estimate(int argc, char **argv);
int cmd_cancel(int argc, char **argv);
int cmd_hold(int argc, char **argv);
int cmd_release(int argc, char **argv);
int cmd_requeue(int argc, char **argv);
int cmd_preempt(int argc, char **argv);
int cmd_checkpointed(int argc, char **argv);
int cmd_pod_run(int argc, char **argv);
int cmd_prioritize(int argc, char **argv);
int cmd_update(int argc, char **argv);
int cmd_logs(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_shell(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_port_forward(int argc, char **argv);
int cmd_wait(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_nodes(int argc, char **argv);
int cmd_topology(int argc, char **argv);
int cmd_free(int argc, char **argv);
int cmd_drain(int argc, char **argv);
int cmd_undrain(int argc, char **argv);
int cmd_quota(int argc, char **argv);
int cmd_tenant(int argc, char **argv);
int cmd_reserve(int argc, char **argv);
int cmd_defrag(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_help(int argc, char **argv);

#endif
