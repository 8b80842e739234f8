/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - options of the daemon, and what ends before it starts: help, version, checks, dump.
 *
 * Errors before the start go to standard error as one sentence "queued: ..." with an exit code of
 * daemon.h.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "config_doubts.h"
#include "daemon.h"
#include "reconfig.h"
#include "store/store_lmdb.h"
#include "util/log.h"

#define CONFIG_FILE "/etc/queued/queued.yaml"

enum mode { MODE_RUN, MODE_CHECK, MODE_PRINT, MODE_DUMP };

struct options {
    enum mode mode;
    const char *config;
    const char *dump_dir;
    enum log_level level;
    bool as_json;
};

enum {
    OPT_CONFIG = 256,
    OPT_CHECK,
    OPT_PRINT,
    OPT_DUMP,
    OPT_LEVEL,
    OPT_FORMAT,
    OPT_VERSION,
    OPT_HELP
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, OPT_CONFIG},
    {"check-config", no_argument, NULL, OPT_CHECK},
    {"print-config", no_argument, NULL, OPT_PRINT},
    {"dump-store", required_argument, NULL, OPT_DUMP},
    {"log-level", required_argument, NULL, OPT_LEVEL},
    {"log-format", required_argument, NULL, OPT_FORMAT},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "usage: queued [--config FILE] [--log-level LEVEL] [--log-format FORMAT]\n"
    "       queued [--config FILE] --check-config | --print-config\n"
    "       queued --dump-store DIR\n"
    "\n"
    "  --config FILE        configuration (default " CONFIG_FILE ")\n"
    "  --check-config       check the configuration and end\n"
    "  --print-config       print the configuration in force and end\n"
    "  --dump-store DIR     print every record of a store as JSON lines and end\n"
    "  --log-level LEVEL    error, warn, info or debug (default info)\n"
    "  --log-format FORMAT  logfmt or json (default logfmt)\n"
    "  --version            print the version and end\n"
    "  --help               print this and end\n";

static int fail(int exit_code, const char *text)
{
    fprintf(stderr, "queued: %s\n", text);
    return exit_code;
}

static int bad_usage(const char *text)
{
    fprintf(stderr, "queued: %s; see queued --help\n", text);
    return EXIT_USAGE;
}

/* One option into o. -1: go on; else the exit code. */
static int take_option(int opt, struct options *o)
{
    switch (opt) {
    case OPT_CONFIG:
        o->config = optarg;
        return -1;
    case OPT_CHECK:
        o->mode = MODE_CHECK;
        return -1;
    case OPT_PRINT:
        o->mode = MODE_PRINT;
        return -1;
    case OPT_DUMP:
        o->mode = MODE_DUMP;
        o->dump_dir = optarg;
        return -1;
    case OPT_LEVEL:
        if (log_level_parse(optarg, &o->level))
            return bad_usage("--log-level is error, warn, info or debug");
        return -1;
    case OPT_FORMAT:
        o->as_json = strcmp(optarg, "json") == 0;
        if (!o->as_json && strcmp(optarg, "logfmt") != 0)
            return bad_usage("--log-format is logfmt or json");
        return -1;
    case OPT_VERSION:
        puts("queued " QUEUED_VERSION);
        return 0;
    case OPT_HELP:
        fputs(help, stdout);
        return 0;
    default: /* getopt_long has said what is wrong */
        return bad_usage("wrong options");
    }
}

static int run(const char *path, struct config *c)
{
    struct daemon *d = NULL;
    struct err err;
    int code;

    if (daemon_create(&d, path, c, &code, &err))
        return fail(code, err.text);
    code = daemon_run(d);
    daemon_destroy(d);
    return code;
}

static int print_config(struct config *c)
{
    config_print(c, stdout);
    config_destroy(c);
    return fflush(stdout) == 0 ? 0 : fail(1, "cannot write the output");
}

static void print_doubt(const void *ctx, const char *text)
{
    const struct options *o = ctx;

    (void)fprintf(stderr, "%s: warning: %s\n", o->config, text);
}

static int carry_out(const struct options *o)
{
    struct config *c = NULL;
    struct err err;

    if (o->mode == MODE_DUMP) {
        if (store_lmdb_dump(o->dump_dir, stdout, &err))
            return fail(EXIT_STORE, err.text);
        return fflush(stdout) == 0 ? 0 : fail(1, "cannot write the output");
    }
    if (config_load(&c, o->config, &err))
        return fail(EXIT_CONFIG, err.text);
    if (o->mode == MODE_PRINT)
        return print_config(c);
    if (o->mode == MODE_CHECK) {
        (void)config_doubts(&c->settings, print_doubt, o);
        printf("%s: good\n", o->config);
        config_destroy(c);
        return 0;
    }
    reconfig_log_doubts(&c->settings);
    return run(o->config, c);
}

int main(int argc, char **argv)
{
    struct options o = {.config = CONFIG_FILE, .level = LOG_LEVEL_INFO};

    for (;;) {
        int opt = getopt_long(argc, argv, "", long_options, NULL);
        int code = opt == -1 ? -1 : take_option(opt, &o);

        if (code >= 0)
            return code;
        if (opt == -1)
            break;
    }
    if (optind < argc)
        return bad_usage("takes options only");
    log_setup(o.level, o.as_json);
    return carry_out(&o);
}
